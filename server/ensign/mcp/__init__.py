"""Servers of the Model Context Protocol: started, spoken with through the official SDK, and ended; see `servers.py`.

The SDK costs most of a second to import, so only a server that is started imports it.
"""
