"""Actions of agents; documents of the GridVerse family know the class by both names."""

from gv_engine.rules.geometry import Action

__all__ = ["Action", "Actions"]

Actions = Action
