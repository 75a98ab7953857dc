"""States: a grid and an agent, as a live view of a world."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.gridverse.agent import Agent
from gv_engine.gridverse.arrays import agent_from, item_from, rows_from
from gv_engine.gridverse.geometry import Position
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.grid_object import Box, Hidden
from gv_engine.gridverse.object_store import household
from gv_engine.gridverse.values import Value
from gv_engine.rules.component import NOTHING
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.world.world import ObjectWorld


class State(Value):
    """All that there is: a grid, and an agent in it.

    `state.world` is the `ObjectWorld` behind it, whose columns rules read. States are equal when
    type, state and colour of every cell, position and orientation of the agent, and what it holds
    are.

    Args:
        grid: copied if it is another state's already.
        agent: copied if it is another state's already.

    Raises:
        ValueError: the agent is outside the grid, or the grid has Hidden cells.
    """

    def __init__(self, grid: Grid, agent: Agent) -> None:
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
        self.agent = agent.enter(self.grid.world)

    @classmethod
    def of(cls, world: ObjectWorld) -> State:
        """The state of a world, as a view."""
        state = object.__new__(cls)
        state.grid = Grid.of(world)
        state.grid._in_state = True
        state.agent = Agent.of(world)
        return state

    @property
    def world(self) -> ObjectWorld:
        """The world that it shows."""
        return self.grid.world

    def copy(self) -> State:
        """An independent state with the same future, its generator included."""
        return State.of(self.world.fork())

    def __reduce__(self) -> tuple[Any, ...]:
        return _thaw, (self.grid, self.agent.copy(), self.world.rng, self.world.steps)

    # ---- as arrays ---------------------------------------------------------------------------

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
        """The state that arrays describe.

        Args:
            grid: (H, W, 3) type, state and colour index of every cell.
            agent: (3,) y, x, orientation.
            item: (3,) the held object; type 0 for nothing.
            content: (H, W, 3) what is in each Box, zeros elsewhere; without it boxes hold Floor.
            ground: (H, W, 3) what lies on the ground, Floor elsewhere; without it, what shows.
            types: which the indices mean: those of a scenario that declares its own are
                `scenario.types`.

        Raises:
            ValueError: wrong shapes, numbers that mean nothing, or content outside of boxes.
        """
        things = rows_from(grid, types, content)
        below = () if ground is None else rows_from(ground, types)
        return cls(Grid(things, below), agent_from(agent, item_from(item, types)))

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` takes: uint8 but for `agent`, which is int64; `ground` only if
        anything lies there.

        What is in a box within a box is not shown.
        """
        cells = self.grid.to_array()
        content = np.zeros_like(cells)
        for position in self.grid.positions(Box):
            box: Any = self.grid[position]
            content[position] = box.content.appearance
        arrays = {"grid": cells, **self.agent.to_arrays(), "content": content}
        below = self.world.beneath() if self.grid.has_ground else None
        return arrays if below is None else {**arrays, "ground": below}

    def _key(self) -> tuple[Any, ...]:
        return State, self.grid, self.agent

    def __repr__(self) -> str:
        return f"State({self.grid!r}, {self.agent!r})"


def _thaw(grid: Grid, agent: Agent, rng: np.random.Generator, steps: int) -> State:
    state = State(grid, agent)
    state.world.rng, state.world.steps = rng, steps
    return state


def state_of(world: ObjectWorld) -> State:
    """The state of a world; always the same one."""
    home = household(world)
    if home.state is None:
        home.state = State.of(world)
    return home.state  # type: ignore[no-any-return]  # a household does not know what a state is


def become(world: ObjectWorld, state: State) -> None:
    """Let a world be like a state, with copies of its objects; its generator stays.

    Raises:
        RuleError: the grid is larger than the world's, or has objects that it does not know.
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
