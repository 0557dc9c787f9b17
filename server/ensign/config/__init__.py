"""Settings: the only reader of settings files and of the environment; start reading at `load.py`."""
