"""Families of worlds: each is a folder, and hands out the same things by one protocol."""

from gv_engine.reading.families import FAMILIES, Examination, Family, Hooks, hooks_of, names
from gv_engine.reading.loading import load_scenario

__all__ = ["FAMILIES", "Examination", "Family", "Hooks", "hooks_of", "load_scenario", "names"]
