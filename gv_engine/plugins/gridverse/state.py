"""States: a grid and an agent, as a live view of a world."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.plugins.gridverse.agent import Agent
from gv_engine.plugins.gridverse.geometry import Position
from gv_engine.plugins.gridverse.grid import Grid
from gv_engine.plugins.gridverse.grid_object import Box, Hidden
from gv_engine.plugins.gridverse.object_store import Value, get_store
from gv_engine.plugins.gridverse.observation import (
    agent_from_array,
    item_from_array,
    objects_from_array,
)
from gv_engine.rules.component import NOTHING
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.world.world import ObjectWorld


class State(Value):
    """Whole state of an environment: a grid and the agent in it.

    `state.world` is the `ObjectWorld` that the state shows, whose columns rules read. States are
    equal if the cells, the agent's position and orientation, and the held object are equal.

    Args:
        grid: grid; copied if it belongs to another state.
        agent: agent; copied if it belongs to another state.

    Raises:
        ValueError: the agent is outside the grid, or the grid has Hidden cells.
    """

    def __init__(self, grid: Grid, agent: Agent) -> None:
        """Make a state from a grid and an agent. A grid that belongs to another state is copied.
        Raise ValueError if a cell is Hidden or the agent is outside the grid."""
        hidden = next(grid.positions(Hidden), None)
        if hidden is not None:
            raise ValueError(f"the cell {tuple(hidden)} is Hidden, no cell of a state can be")
        if agent.position not in grid:
            y, x = agent.position
            raise ValueError(
                f"the agent stands at ({y}, {x}), outside the grid of "
                f"{grid.shape.height}×{grid.shape.width} cells"
            )
        self.grid = grid.copy() if grid._in_state else grid
        self.grid._in_state = True
        self.agent = agent.bind_to_world(self.grid.world)

    @classmethod
    def of(cls, world: ObjectWorld) -> State:
        """Return a state that reads and writes `world` directly."""
        state = object.__new__(cls)
        state.grid = Grid.of(world)
        state.grid._in_state = True
        state.agent = Agent.of(world)
        return state

    @property
    def world(self) -> ObjectWorld:
        """Return the world of the state."""
        return self.grid.world

    def copy(self) -> State:
        """Return an independent copy, with a copy of the generator."""
        return State.of(self.world.fork())

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle, (self.grid, self.agent.copy(), self.world.rng, self.world.steps)

    # ---- arrays ------------------------------------------------------------------------------

    @classmethod
    def from_arrays(
        cls,
        grid: ArrayLike,
        agent: ArrayLike,
        item: ArrayLike,
        content: ArrayLike | None = None,
        ground: ArrayLike | None = None,
        *,
        types: ObjectTypes = OBJECT_TYPES,
    ) -> State:
        """Return the state that arrays of type, state and colour indices describe.

        Args:
            grid: (H, W, 3) type, state and colour index of every cell.
            agent: (3,) y, x, orientation.
            item: (3,) held object; type 0 for nothing.
            content: (H, W, 3) contents of boxes, zeros elsewhere; by default boxes hold Floor.
            ground: (H, W, 3) objects on the ground, Floor elsewhere; by default those in `grid`
                whose layer is the ground.
            types: types that the indices refer to; `scenario.types` for a scenario with its own.

        Raises:
            ValueError: a shape or an index is wrong, or content lies outside of boxes.
        """
        objects = objects_from_array(grid, types, content)
        below = () if ground is None else objects_from_array(ground, types)
        return cls(Grid(objects, below), agent_from_array(agent, item_from_array(item, types)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as a dict of arrays, the input of `from_arrays`. The key `ground` exists
        only if an object lies on the ground.

        The content of a box inside a box is left out.
        """
        cells = self.grid.to_array()
        content = np.zeros_like(cells)
        for position in self.grid.positions(Box):
            box: Any = self.grid[position]
            content[position] = box.content.appearance
        arrays = {"grid": cells, **self.agent.to_arrays(), "content": content}
        below = self.world.beneath() if self.grid.has_ground else None
        return arrays if below is None else {**arrays, "ground": below}

    def _content_key(self) -> tuple[Any, ...]:
        return State, self.grid, self.agent

    def __repr__(self) -> str:
        return f"State({self.grid!r}, {self.agent!r})"


def _unpickle(grid: Grid, agent: Agent, rng: np.random.Generator, steps: int) -> State:
    state = State(grid, agent)
    state.world.rng, state.world.steps = rng, steps
    return state


def state_of(world: ObjectWorld) -> State:
    """Return the state that reads and writes `world`. Each world has one state, which is cached."""
    store = get_store(world)
    if store.state is None:
        store.state = State.of(world)
    return store.state  # type: ignore[no-any-return]  # `ObjectStore.state` is Any


def load_state(world: ObjectWorld, state: State) -> None:
    """Copy grid and agent of `state` into `world`. The random generator of the world does not
    change.

    Raises:
        RuleError: the grid is larger than that of the world, or has types that the world lacks.
    """
    if world is state.world:
        return
    world.clear()
    world.set_shape(*state.grid.shape)
    grid = state_of(world).grid
    for position in state.grid.area.positions():
        if state.world.at[position] != NOTHING:
            grid[position] = state.grid[position]
        if state.world.ground[position] != NOTHING:
            grid.ground[position] = state.grid.ground[position]
    agent = state_of(world).agent
    agent.position = Position(*state.agent.position)
    agent.orientation = state.agent.orientation
    agent.grid_object = state.agent.grid_object
