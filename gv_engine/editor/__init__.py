"""Scenario files while they are edited: their text, their level, their rules, and what is wrong."""
