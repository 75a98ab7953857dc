"""Readers of scenario files; every error message names the file, the line and the key."""
