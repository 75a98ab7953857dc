"""Readers of the keys of grid scenarios."""
