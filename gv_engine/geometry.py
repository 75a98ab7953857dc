"""Public path of coordinates, orientations and actions."""

from gv_engine.rules.geometry import *
