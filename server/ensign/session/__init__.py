"""Commands in, events out: a session is one main agent and the tasks started in it. Start reading at `session.py`."""
