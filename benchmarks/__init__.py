"""How fast the engine is, beside its peers; `make bench` runs it."""
