"""The permission engine: what a call would touch, held against rules, protected paths, containment and mode.

Start reading at `engine.py`; `shell.py` is where a command line becomes accesses.
"""
