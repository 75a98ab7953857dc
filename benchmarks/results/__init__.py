"""Published results, repeated: one TOML file a table, see `__main__.py`."""
