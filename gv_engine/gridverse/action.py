"""Actions of agents; documents of the GridVerse family know the class by both names."""

from gv_engine.language.geometry import Action

__all__ = ["Action", "Actions"]

Actions = Action
