"""Public paths of the adapters in `gv_engine.plugins.adapters`."""
