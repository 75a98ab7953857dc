"""The agent of the object-level API."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import components
from gv_engine.gridverse.geometry import Orientation, Position, Transform
from gv_engine.gridverse.grid_object import Floor, GridObject, NoneGridObject
from gv_engine.gridverse.object_store import ObjectStore, household
from gv_engine.gridverse.values import Value
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.world.world import ObjectWorld


class Agent(Value):
    """Stands in a cell, looks in a direction, and holds one object or nothing.

    Within a state it is a view of the world: `agent.orientation` and `w.agent.facing[AGENT]` are
    one value.

    Args:
        position: (y, x) of its cell.
        orientation: where it looks.
        grid_object: what it holds, by default nothing.

    Raises:
        ValueError: it is to hold something that nobody can.
    """

    def __init__(
        self,
        position: tuple[int, int],
        orientation: Orientation | int,
        grid_object: GridObject | None = None,
    ) -> None:
        self._household: ObjectStore | None = None
        self._looks = components.Agent()
        self._stands = components.Position()
        self._item: GridObject = NoneGridObject()
        self.position = Position(*position)
        self.orientation = Orientation(orientation)
        if grid_object is not None:
            self.grid_object = grid_object

    @classmethod
    def of(cls, world: ObjectWorld) -> Agent:
        """The agent of a world."""
        agent = cls((0, 0), Orientation.F)
        agent._household = household(world)
        return agent

    def enter(self, world: ObjectWorld) -> Agent:
        """Become the agent of a world, or let a copy become it, if this is one's already."""
        if self._household is not None:
            return self.copy().enter(world)
        home = household(world)
        item = NOTHING if isinstance(self._item, NoneGridObject) else home.take_in(self._item)
        self._looks.holding = item
        world.attach(AGENT, self._looks)
        world.attach(AGENT, self._stands)
        self._household = home
        return self

    @property
    def position(self) -> Position:
        """(y, x) of its cell."""
        stands = self._parts()[1]
        return Position(stands.y, stands.x)

    @position.setter
    def position(self, position: tuple[int, int]) -> None:
        y, x = position
        home = self._household
        if home is not None and not home.world.inside(y, x):
            raise ValueError(
                f"the agent cannot stand at ({y}, {x}), outside the grid of "
                f"{home.world.height}×{home.world.width} cells"
            )
        stands = self._parts()[1]
        stands.y, stands.x = int(y), int(x)

    @property
    def orientation(self) -> Orientation:
        """The direction in which it looks."""
        return Orientation(self._parts()[0].facing)

    @orientation.setter
    def orientation(self, orientation: int) -> None:
        self._parts()[0].facing = int(Orientation(orientation))

    def _parts(self) -> tuple[components.Agent, components.Position]:
        if self._household is None:
            return self._looks, self._stands
        world = self._household.world
        return world.agent.rows[AGENT], world.position.rows[AGENT]

    @property
    def grid_object(self) -> GridObject:
        """The object that it holds, a NoneGridObject for nothing."""
        if self._household is None:
            return self._item
        held = self._parts()[0].holding
        return NoneGridObject() if held == NOTHING else self._household.thing(held)

    @grid_object.setter
    def grid_object(self, thing: GridObject) -> None:
        if not isinstance(thing, GridObject):
            raise TypeError(f"agent.grid_object = {thing!r}: expected a grid object")
        empty = isinstance(thing, NoneGridObject)
        if not empty and (not thing.kind.in_grid or isinstance(thing, Floor)):
            raise ValueError(f"nobody can hold {thing!r}; NoneGridObject() stands for nothing")
        if self._household is None:
            self._item = thing.copy() if thing.is_housed else thing
            return
        looks = self._parts()[0]
        before = looks.holding
        if not empty and thing is self._household.thing(before):
            return
        held = NOTHING if empty else self._household.take_in(thing)
        self._household.release(before)
        looks.holding = held

    @property
    def transform(self) -> Transform:
        """Carries cells as the agent sees them, itself at (0, 0), to those of the grid."""
        return Transform(self.position, self.orientation)

    def front(self) -> Position:
        """The cell ahead, which may lie outside the grid."""
        return self.position + Position.from_orientation(self.orientation)

    def copy(self) -> Agent:
        """An agent like this one, without a world."""
        return Agent(self.position, self.orientation, self.grid_object.copy())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """`agent` (3,) int64, y, x and orientation, and `item` (3,) uint8, what it holds."""
        return {
            "agent": np.array([*self.position, self.orientation], np.int64),
            "item": np.array(self.grid_object.appearance, np.uint8),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Agent, (self.position, self.orientation, self.grid_object.copy())

    def _key(self) -> tuple[Any, ...]:
        return Agent, self.position, self.orientation, self.grid_object

    def __repr__(self) -> str:
        shown = "" if isinstance(self.grid_object, NoneGridObject) else f", {self.grid_object!r}"
        return f"Agent({self.position!r}, Orientation.{self.orientation.name}{shown})"
