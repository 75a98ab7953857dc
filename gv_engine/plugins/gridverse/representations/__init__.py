"""Representations: arrays by name for states and observations."""
