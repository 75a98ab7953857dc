"""Grid objects: the objects in cells, in boxes and in the agent's hand.

An object owns the component instances that the columns of a world read: after `state.grid[1, 2] =
door`, `door.status` and `state.world.door.status[e]` are one value. Objects without a world own
their components alone.

Users add types by subclassing `GridObject`; annotated numbers with a default become columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import components
from components.core import FLOOR, HIDDEN, NONE_GRID_OBJECT
from components.items import OPEN, Opaque, Solid
from components.objects import BEACON, BOX, DOOR, EXIT, KEY, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine.plugins.gridverse.component_fields import Flag
from gv_engine.plugins.gridverse.object_store import CLASSES, register_class
from gv_engine.plugins.gridverse.object_store import GridObject as GridObject
from gv_engine.plugins.gridverse.object_store import class_of as class_of
from gv_engine.plugins.gridverse.object_store import index_of as index_of
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.rules.objects import Color as Color


class NoneGridObject(GridObject, kind=NONE_GRID_OBJECT):
    """Nothing: the content of an empty hand."""


class Hidden(GridObject, kind=HIDDEN):
    """Cell of an observation that the agent does not see."""


class Floor(GridObject, kind=FLOOR):
    """Cell without an object; worlds have no entity for it."""


class Wall(GridObject, kind=WALL):
    """Blocks movement and vision."""


class Exit(GridObject, kind=EXIT):
    """Goal of a level."""

    def __init__(self, color: int = Color.NONE) -> None:
        super().__init__(color=color)


class UnlessOpen(Flag):
    """Flag that is True while a door is not open."""

    def of(self, obj: Any) -> bool:
        """Return True if a door is not open."""
        return bool(obj.part(components.Door).status != OPEN)

    def __set__(self, obj: Any, value: bool) -> None:
        raise AttributeError(
            f"a {type(obj).__name__} blocks because of its status; set the status instead"
        )


class Door(GridObject, kind=DOOR):
    """Blocks movement and vision unless open. A LOCKED door needs a key of its colour."""

    Status: TypeAlias = components.Door.Status

    status: Door.Status

    def __init__(self, status: int, color: int) -> None:
        super().__init__(Door.Status(status), color=color)

    @property
    def state(self) -> Door.Status:
        """Return the status, by its name in GridVerse."""
        return self.status

    @state.setter
    def state(self, status: Door.Status) -> None:
        self.status = status

    @property
    def is_open(self) -> bool:
        """Return True if the door is open."""
        return bool(self.status == OPEN)

    @property
    def is_locked(self) -> bool:
        """Return True if the door is locked."""
        return self.status == Door.Status.LOCKED

    blocks_movement = UnlessOpen(
        Solid, "True if no agent can enter its cell, which is so unless it is open."
    )
    blocks_vision = UnlessOpen(
        Opaque, "True if it hides the cells behind it, which is so unless it is open."
    )


class Key(GridObject, kind=KEY):
    """Opens locked doors of its colour."""

    def __init__(self, color: int) -> None:
        super().__init__(color=color)


class MovingObstacle(GridObject, kind=MOVING_OBSTACLE):
    """Moves over free floor at random."""


class Box(GridObject, kind=BOX):
    """Holds one object, which replaces the box when the box is opened.

    Args:
        content: object that can be in a cell, which may be another box.

    Raises:
        ValueError: the content is a NoneGridObject or Hidden.
    """

    def __init__(self, content: GridObject) -> None:
        super().__init__()
        self.content = content

    @property
    def content(self) -> GridObject:
        """Return the object in the box; a Floor for none."""
        return self._get_held(components.Box, "content") or Floor()

    @content.setter
    def content(self, content: GridObject) -> None:
        """Put another object into the box. Raise ValueError if the object cannot lie in a cell."""
        if not content.kind.in_grid:
            raise ValueError(f"a Box holds an object that can stand in a cell, found {content!r}")
        floor = isinstance(content, Floor)
        self._set_held(components.Box, "content", None if floor else content)

    def __repr__(self) -> str:
        return f"Box({self.content!r})"


class Telepod(GridObject, kind=TELEPOD):
    """Moves whoever enters to another telepod of its colour."""

    def __init__(self, color: int) -> None:
        super().__init__(color=color)


class Beacon(GridObject, kind=BEACON):
    """Shows by its colour which exit is the right one."""

    def __init__(self, color: int) -> None:
        super().__init__(color=color)


GridObjectFactory: TypeAlias = Callable[[], GridObject]
"""Function or class that returns a new object."""


class GridObjectRegistry(Sequence[type[GridObject]]):
    """Classes of all object types that Python code has declared, by type index. Subclasses of
    `GridObject` register themselves."""

    def __len__(self) -> int:
        return len(OBJECT_TYPES)

    def __getitem__(self, index: Any) -> Any:
        """Return the class of a type index; for a slice a list of classes."""
        indices = range(len(self))[index]
        return list(map(class_of, indices)) if isinstance(index, slice) else class_of(indices)

    def __contains__(self, cls: object) -> bool:
        """Return True for a class with a type of its own."""
        kind: Any = vars(cls).get("kind") if isinstance(cls, type) else None
        return CLASSES.get(kind) is cls and cls is not None

    def register(self, cls: type[GridObject]) -> type[GridObject]:
        """Declare a type for a class that was defined with `register=False`; return the class."""
        if cls not in self:
            register_class(cls)
        return cls

    def names(self) -> list[str]:
        """Return the names of all types, in order of their indices."""
        return [kind.name for kind in OBJECT_TYPES]

    def from_name(self, name: str) -> type[GridObject]:
        """Return the registered class of grid objects with this name.

        Raises:
            ValueError: the name is unknown.
        """
        try:
            return class_of(OBJECT_TYPES[name])
        except KeyError as error:
            raise ValueError(error.args[0]) from None


grid_object_registry = GridObjectRegistry()
