"""Policies, and what becomes of them: episodes, and worlds, on disk."""
