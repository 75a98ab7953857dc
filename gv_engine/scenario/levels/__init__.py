"""Levels in files of many formats."""
