"""Missions of agents: text, clauses and numbers."""
