"""Components that the engine itself reads: place and looks of objects, agents and missions."""

from typing import Annotated

from gv_engine.rules.component import NOTHING, Bounds, Coordinate, EntityId, Int8, component
from gv_engine.rules.geometry import FORWARD, RIGHT
from gv_engine.rules.objects import COLORS


@component(often=True)
class Position:
    """Cell (y, x), or (-1, -1) for an entity without a cell; change it through `w.place`."""

    y: Coordinate = -1
    x: Coordinate = -1


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


@component(often=True)
class Agent:
    """Agent: faces a direction and holds at most one object."""

    facing: Annotated[Int8, Bounds(FORWARD, RIGHT)] = FORWARD
    holding: EntityId = NOTHING


@component
class Mission:
    """Mission of an agent: its text, and the type and colour of the objects that the mission is
    about.

    Scenarios may add fields in a subclass of the same name. Fields called `kind` or `…_kind` hold
    types, `color` or `…_color` hold colours. Agents see whole numbers only; entities, coordinates
    and floats are for rules.
    """

    wording: Int8 = 0
    """Index of the mission's text among the texts of the scenario."""
    kind: Int8 = NONE_GRID_OBJECT
    color: Int8 = NONE
