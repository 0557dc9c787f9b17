"""Agent files become `AgentDefinition`s, with diagnostics; start reading at `load.py`."""
