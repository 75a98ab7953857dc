"""Commands of `gv-engine` that train and compare policies."""
