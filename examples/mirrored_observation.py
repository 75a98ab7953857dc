"""Observation function: the agent sees the world mirrored, with left and right exchanged."""

from typing import Any

import numpy as np

from gv_engine.gridverse import (
    Agent,
    Grid,
    Observation,
    Orientation,
    Position,
    Shape,
    State,
    make_rng,
    observation_function_registry,
    reset_function_registry,
)


@observation_function_registry.register
def mirrored(
    state: State, *, area: Any = ((-4, 0), (-2, 2)), rng: np.random.Generator | None = None
) -> Observation:
    """Return the fully transparent observation with left and right exchanged."""
    seen = observation_function_registry["fully_transparent"](state, area=area, rng=rng)
    height, width = seen.grid.shape
    grid = Grid([[seen.grid[y, width - 1 - x] for x in range(width)] for y in range(height)])
    y, x = seen.agent.position
    agent = Agent(Position(y, width - 1 - x), Orientation.F, seen.agent.grid_object)
    return Observation(grid, agent)


if __name__ == "__main__":
    state = reset_function_registry["empty"](shape=Shape(5, 5), rng=make_rng(0))
    for name in ("fully_transparent", "mirrored"):
        observation = observation_function_registry[name](state, area=[[-3, 0], [-1, 1]])
        print(name, [type(thing).__name__ for thing in observation.grid][-3:])
