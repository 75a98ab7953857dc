"""Speed of the engine beside its peers; `make bench` runs all comparisons."""
