"""Commands of `gv-engine` that speak to other libraries."""
