"""Agent of a state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import components
from gv_engine.plugins.gridverse.geometry import Orientation, Position, Transform
from gv_engine.plugins.gridverse.grid_object import Floor, GridObject, NoneGridObject
from gv_engine.plugins.gridverse.object_store import ObjectStore, Value, get_store
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.world.world import ObjectWorld


class Agent(Value):
    """Agent that stands in a cell, faces a direction and holds one object or nothing.

    Within a state the agent is a view of the world: `agent.orientation` and `w.agent.facing[AGENT]`
    are one value.

    Args:
        position: (y, x) of the cell.
        orientation: direction that the agent faces.
        grid_object: held object, by default nothing.

    Raises:
        ValueError: the object cannot be held.
    """

    def __init__(
        self,
        position: tuple[int, int],
        orientation: Orientation | int,
        grid_object: GridObject | None = None,
    ) -> None:
        """Make an agent that belongs to no world yet. It holds `grid_object`, or nothing if that is
        None."""
        self._store: ObjectStore | None = None
        self._agent_component = components.Agent()
        self._position_component = components.Position()
        self._item: GridObject = NoneGridObject()
        self.position = Position(*position)
        self.orientation = Orientation(orientation)
        if grid_object is not None:
            self.grid_object = grid_object

    @classmethod
    def of(cls, world: ObjectWorld) -> Agent:
        """Return an agent that reads and writes the first agent of `world`."""
        agent = cls((0, 0), Orientation.F)
        agent._store = get_store(world)
        return agent

    def bind_to_world(self, world: ObjectWorld) -> Agent:
        """Attach this agent to `world`, so that its attributes read and write the world's agent.
        Return this agent, or a bound copy if it already belongs to a world."""
        if self._store is not None:
            return self.copy().bind_to_world(world)
        store = get_store(world)
        item = NOTHING if isinstance(self._item, NoneGridObject) else store.add(self._item)
        self._agent_component.holding = item
        world.attach(AGENT, self._agent_component)
        world.attach(AGENT, self._position_component)
        self._store = store
        return self

    @property
    def position(self) -> Position:
        """Return (y, x) of the agent's cell."""
        _, component = self._components()
        return Position(component.y, component.x)

    @position.setter
    def position(self, position: tuple[int, int]) -> None:
        """Move the agent to (y, x). Raise ValueError if the cell is outside the grid of its
        world."""
        y, x = position
        store = self._store
        if store is not None and not store.world.inside(y, x):
            raise ValueError(
                f"the agent cannot stand at ({y}, {x}), outside the grid of "
                f"{store.world.height}×{store.world.width} cells"
            )
        _, component = self._components()
        component.y, component.x = int(y), int(x)

    @property
    def orientation(self) -> Orientation:
        """Return the direction that the agent faces."""
        return Orientation(self._components()[0].facing)

    @orientation.setter
    def orientation(self, orientation: int) -> None:
        self._components()[0].facing = int(Orientation(orientation))

    def _components(self) -> tuple[components.Agent, components.Position]:
        """Return the components Agent and Position, which hold the agent's data. An agent in a
        world uses the world's components, any other agent its own."""
        if self._store is None:
            return self._agent_component, self._position_component
        world = self._store.world
        return world.agent.rows[AGENT], world.position.rows[AGENT]

    @property
    def grid_object(self) -> GridObject:
        """Return the object that the agent holds; a NoneGridObject if it holds nothing."""
        if self._store is None:
            return self._item
        held = self._components()[0].holding
        return NoneGridObject() if held == NOTHING else self._store.get_object(held)

    @grid_object.setter
    def grid_object(self, obj: GridObject) -> None:
        """Replace the held object; raise ValueError if the object cannot be held."""
        if not isinstance(obj, GridObject):
            raise TypeError(f"agent.grid_object = {obj!r}: expected a grid object")
        is_nothing = isinstance(obj, NoneGridObject)
        if not is_nothing and (not obj.kind.in_grid or isinstance(obj, Floor)):
            raise ValueError(f"{obj!r} cannot be held; NoneGridObject() stands for nothing")
        if self._store is None:
            self._item = obj.copy() if obj.is_in_world else obj
            return
        component, _ = self._components()
        replaced = component.holding
        if not is_nothing and obj is self._store.get_object(replaced):
            return
        held = NOTHING if is_nothing else self._store.add(obj)
        self._store.remove(replaced)
        component.holding = held

    @property
    def transform(self) -> Transform:
        """Return the transform from cells relative to the agent, with the agent at (0, 0), to grid
        cells."""
        return Transform(self.position, self.orientation)

    @transform.setter
    def transform(self, transform: Transform) -> None:
        self.position, self.orientation = transform.position, transform.orientation

    def front(self) -> Position:
        """Return the cell ahead, which may lie outside the grid."""
        return self.position + Position.from_orientation(self.orientation)

    def copy(self) -> Agent:
        """Return a copy that belongs to no world."""
        return Agent(self.position, self.orientation, self.grid_object.copy())

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the agent as two arrays by name. `agent` is (3,) int64: y, x and orientation.
        `item` is (3,) uint8: type, state and colour of the held object."""
        return {
            "agent": np.array([*self.position, self.orientation], np.int64),
            "item": np.array(self.grid_object.appearance, np.uint8),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return Agent, (self.position, self.orientation, self.grid_object.copy())

    def _content_key(self) -> tuple[Any, ...]:
        return Agent, self.position, self.orientation, self.grid_object

    def __repr__(self) -> str:
        item = "" if isinstance(self.grid_object, NoneGridObject) else f", {self.grid_object!r}"
        return f"Agent({self.position!r}, Orientation.{self.orientation.name}{item})"
