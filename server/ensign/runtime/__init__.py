"""One agent: its conversation, its loop, the gate its calls pass. Start reading at `turn.py`."""
