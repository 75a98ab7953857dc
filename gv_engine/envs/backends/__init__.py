"""Batches of worlds of one scenario: compiled rows, or Python objects."""
