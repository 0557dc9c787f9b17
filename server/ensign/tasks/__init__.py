"""Many agents: every subagent from birth to death. Start reading at `manager.py`."""
