"""Visible properties of an object: its type and colour."""

from gv_engine.rules.component import Int8, component
from gv_engine.rules.objects import COLORS

NONE, RED, GREEN, BLUE, YELLOW, PURPLE, GREY, ORANGE, CYAN = range(len(COLORS))
NONE_GRID_OBJECT, HIDDEN, FLOOR = range(3)
"""Type indices of an empty hand, of an unseen cell, and of the floor, which is the type of an empty
cell and needs no entity."""


@component(often=True)
class Kind:
    """Type index of an object."""

    value: Int8 = FLOOR


@component(often=True)
class Color:
    """Colour of an object, an index of `gv_engine.objects.COLORS`: NONE, RED, GREEN, BLUE, YELLOW
    and others."""

    value: Int8 = NONE
