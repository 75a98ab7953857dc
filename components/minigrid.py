"""The object types of MiniGrid that the built-in ones lack; only its levels have them."""

from components.appearance import Color
from components.items import Box
from components.matter import Portable
from gv_engine.language.objects import object_type

BALL = object_type("Ball", Portable, Color)
PARCEL = object_type("Parcel", Box, Portable, Color)
LAVA = object_type("Lava")
