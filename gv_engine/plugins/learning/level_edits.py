"""Random edits of start states, for the curriculum `accel`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.learning.config import ConfigError
from gv_engine.rules.component import NOTHING
from gv_engine.rules.errors import CapacityError
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation

_Cell = tuple[int, int]
_WALL = "Wall"
"""Name of the object type that edits add and remove."""
_ATTEMPTS = 20
"""Random edits that are tried until one is possible."""


class LevelEditor:
    """World whose start state is changed by random edits: a wall is added or removed, or an object
    or an agent moves to a free cell. The edge of the grid stays as it is.

    A wall is only added where it cuts off no cell, so that cells without walls that were connected
    stay connected. Whether the level can be won is not tested further.

    Args:
        scenario: scenario of the levels.

    Raises:
        ConfigError: the scenario has missions, or no agents on the grid.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Make a world of `scenario` to edit levels in."""
        if scenario.missions or scenario.layout.is_bodiless:
            obstacle = "missions" if scenario.missions else "no agents on the grid"
            raise ConfigError(
                f"the curriculum accel moves objects and agents, and {scenario.name} has "
                f"{obstacle}: choose plr or random"
            )
        self._world = Simulation(scenario).world
        walls = [k.index for k in scenario.layout.types if k.name == _WALL]
        # terrain walls share one entity: a single one cannot be added or removed
        self._wall = next((k for k in walls if self._world.terrain_of(k) < 0), -1)

    def load(self, row: Any) -> None:
        """Set the world to the state in the () record `row`."""
        self._world.restore(row)

    def row(self) -> NDArray[np.void]:
        """Return the state of the world as a () record."""
        return self._world.snapshot()

    def edit(self, rng: np.random.Generator) -> None:
        """Change the world by one random edit; leave it unchanged if no random edit is possible."""
        for _ in range(_ATTEMPTS):
            if (self._move_agent, self._move_object, self._toggle_wall)[rng.integers(3)](rng):
                return

    def _inner_cells(self) -> list[_Cell]:
        height, width = self._world.height, self._world.width
        return [(y, x) for y in range(1, height - 1) for x in range(1, width - 1)]

    def _is_free(self, cell: _Cell) -> bool:
        world = self._world
        is_empty = all(world[name][cell] == NOTHING for name in world.layout.layers)
        return is_empty and world.agent_at(*cell) == NOTHING

    def _is_wall(self, cell: _Cell) -> bool:
        e = self._world.at[cell]
        return bool(e != NOTHING and self._world.kind.value[e] == self._wall)

    def _pick(self, cells: list[_Cell], rng: np.random.Generator) -> _Cell | None:
        return cells[rng.integers(len(cells))] if cells else None

    def _pick_free(self, rng: np.random.Generator) -> _Cell | None:
        return self._pick([*filter(self._is_free, self._inner_cells())], rng)

    def _move_agent(self, rng: np.random.Generator) -> bool:
        """Move a random agent to a free cell and turn it in a random direction. Return False if no
        cell is free."""
        agents, cell = self._world.agents(), self._pick_free(rng)
        agent = int(agents[rng.integers(len(agents))])
        if cell is None or self._world.position.y[agent] < 0:
            return False
        self._world.stand(agent, *cell)
        self._world.agent.facing[agent] = int(rng.integers(4))
        return True

    def _move_object(self, rng: np.random.Generator) -> bool:
        """Move a random object, other than a wall, to a free cell. Return False if that is
        impossible."""
        world, free = self._world, self._pick_free(rng)
        objects = [
            cell
            for cell in self._inner_cells()
            if world.at[cell] != NOTHING and not self._is_wall(cell)
        ]
        cell = self._pick(objects, rng)
        if cell is None or free is None or world.is_terrain(e := world.at[cell]):
            return False
        world.place(e, *free)
        return True

    def _toggle_wall(self, rng: np.random.Generator) -> bool:
        """Pick a random inner cell, and remove its wall or add one. Return False if that is
        impossible, or if the new wall would cut a region in two."""
        world, cell = self._world, self._pick(self._inner_cells(), rng)
        if self._wall < 0 or cell is None:
            return False
        if self._is_wall(cell):
            world.remove(world.at[cell])
            return True
        if not self._is_free(cell):
            return False
        num_regions = self._count_regions()
        try:
            wall = world.spawn(self._wall)
        except CapacityError:
            return False
        world.place(wall, *cell)
        if self._count_regions() <= num_regions:
            return True
        world.remove(wall)
        return False

    def _count_regions(self) -> int:
        """Return the number of connected regions of cells that the walls leave."""
        unvisited = {cell for cell in self._inner_cells() if not self._is_wall(cell)}
        num_regions = 0
        while unvisited:
            num_regions += 1
            stack = [unvisited.pop()]
            while stack:
                y, x = stack.pop()
                neighbors = {(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)} & unvisited
                unvisited -= neighbors
                stack += neighbors
        return num_regions
