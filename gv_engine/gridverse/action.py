"""What an agent can do; documents of the GridVerse family know it by both names."""

from gv_engine.language.geometry import Action

__all__ = ["Action", "Actions"]

Actions = Action
