"""Environments and the modules of their functions."""
