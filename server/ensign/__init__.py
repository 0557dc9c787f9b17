"""Ensign, a coding-agent server for editors. Start reading at `runtime/turn.py`."""

__version__ = "0.1.0"
