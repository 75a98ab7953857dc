"""Actions of agents. The GridVerse documents use both names of the class."""

from gv_engine.rules.geometry import Action

__all__ = ["Action", "Actions"]

Actions = Action
