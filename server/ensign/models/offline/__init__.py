"""The embedded default: no language model, but real work through the real loop. Start reading at `policy.py`."""
