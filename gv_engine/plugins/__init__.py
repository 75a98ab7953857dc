"""Plugins: additions to the engine, a folder each, which it finds by their `plugin.py`."""
