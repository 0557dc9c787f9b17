"""What an editor asks about an agent file while it is typed; start reading at `files.py`."""
