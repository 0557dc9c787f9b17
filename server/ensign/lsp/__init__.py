"""The LSP face: any editor that speaks the protocol. Start reading in `server.py`; bytes are in `transport.py`."""
