"""Grids: what this domain hands out to the rest of the house."""
