"""What outlives the process: transcripts, who owns them, and an index over them. Start reading at `store.py`."""
