"""Grids: what this family hands out to the rest of the house."""
