"""Model clients: one file per wire format, vendors as data. Start reading at `base.py`."""
