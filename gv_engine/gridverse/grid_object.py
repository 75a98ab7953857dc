"""Grid objects: what stands in cells, lies in boxes and is held in the hand.

An object owns the very component instances that the columns of a world read: after
`state.grid[1, 2] = door`, `door.status` and `state.world.door.status[e]` are one value. Objects
without a world own theirs alone.

Authors add types by subclassing; numbers with a default become columns:

>>> class Lamp(GridObject):
...     '''Can be lit.'''
...     class Status(IntEnum):
...         OFF = 0
...         ON = 1
...     status: Status = Status.OFF
...     watts: int = 40
...     holdable = True
>>> lamp = Lamp(Lamp.Status.ON, watts=60)
>>> lamp, lamp.state_index, lamp.holdable, lamp.blocks_movement
(Lamp(Lamp.Status.ON, 60), 1, True, False)
"""

from __future__ import annotations

from typing import Any, TypeAlias

import components
from components.appearance import FLOOR, HIDDEN, NONE_GRID_OBJECT
from components.doors import OPEN
from components.matter import Opaque, Solid
from components.objects import (
    BEACON,
    BOX,
    DOOR,
    EXIT,
    KEY,
    MOVING_OBSTACLE,
    TELEPOD,
    WALL,
)
from gv_engine.gridverse.attributes import Flag
from gv_engine.gridverse.object_store import GridObject as GridObject
from gv_engine.gridverse.object_store import class_of as class_of
from gv_engine.gridverse.object_store import index_of as index_of
from gv_engine.rules.objects import Color as Color


class NoneGridObject(GridObject, kind=NONE_GRID_OBJECT):
    """Nothing: what an empty hand holds."""


class Hidden(GridObject, kind=HIDDEN):
    """What an observation shows where nothing is seen."""


class Floor(GridObject, kind=FLOOR):
    """A cell with nothing else in it; worlds need no entity for it."""


class Wall(GridObject, kind=WALL):
    """Stops everyone and hides what is behind it."""


class Exit(GridObject, kind=EXIT):
    """Where one wants to be."""

    def __init__(self, color: int = Color.NONE) -> None:
        super().__init__(color=color)


class UnlessOpen(Flag):
    """Whether a door is not open."""

    def of(self, thing: Any) -> bool:
        return bool(thing.part(components.Door).status != OPEN)

    def __set__(self, thing: Any, value: bool) -> None:
        raise AttributeError(f"what blocks a {type(thing).__name__} is its status; change that")


class Door(GridObject, kind=DOOR):
    """Lets pass and see through while it is open; LOCKED asks for a key of its colour."""

    Status: TypeAlias = components.Door.Status

    status: Door.Status

    def __init__(self, status: int, color: int) -> None:
        super().__init__(Door.Status(status), color=color)

    @property
    def is_open(self) -> bool:
        return bool(self.status == OPEN)

    @property
    def is_locked(self) -> bool:
        return self.status == Door.Status.LOCKED

    blocks_movement = UnlessOpen(Solid, "Nobody can enter its cell, unless it is open.")
    blocks_vision = UnlessOpen(Opaque, "Nobody can see past it, unless it is open.")


class Key(GridObject, kind=KEY):
    """Opens locked doors of its colour."""

    def __init__(self, color: int) -> None:
        super().__init__(color=color)


class MovingObstacle(GridObject, kind=MOVING_OBSTACLE):
    """Wanders over free floor."""


class Box(GridObject, kind=BOX):
    """Holds one object, which takes its place when the box is opened.

    Args:
        content: any object that can stand in a cell, another box too.

    Raises:
        ValueError: it is a NoneGridObject or Hidden.
    """

    def __init__(self, content: GridObject) -> None:
        super().__init__()
        self.content = content

    @property
    def content(self) -> GridObject:
        return self._held(components.Box, "content") or Floor()

    @content.setter
    def content(self, content: GridObject) -> None:
        if not content.kind.in_grid:
            raise ValueError(f"a Box holds an object that can stand in a cell, found {content!r}")
        floor = isinstance(content, Floor)
        self._hold(components.Box, "content", None if floor else content)

    def __repr__(self) -> str:
        return f"Box({self.content!r})"


class Telepod(GridObject, kind=TELEPOD):
    """Sends whoever steps on it to another one of its colour."""

    def __init__(self, color: int) -> None:
        super().__init__(color=color)


class Beacon(GridObject, kind=BEACON):
    """Shows by its colour which exit is the good one."""

    def __init__(self, color: int) -> None:
        super().__init__(color=color)
