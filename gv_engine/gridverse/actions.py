"""The older names that some documents of the GridVerse family use."""

from gv_engine.gridverse.action import Action

Actions = Action
