"""Visibility function: the agent sees every second cell, like one colour of a chessboard."""

import numpy as np
from numpy.typing import NDArray

from gv_engine.gridverse import (
    Grid,
    Hidden,
    Position,
    Shape,
    make_rng,
    observation_function_registry,
    reset_function_registry,
    visibility_function_registry,
)


@visibility_function_registry.register
def checkered(
    grid: Grid, position: Position, *, rng: np.random.Generator | None = None
) -> NDArray[np.bool_]:
    """Return a mask of the cells with the chessboard colour of the agent's cell."""
    ys, xs = np.indices(grid.shape)
    same_color: NDArray[np.bool_] = (ys + xs) % 2 == sum(position) % 2
    return same_color


if __name__ == "__main__":
    state = reset_function_registry["empty"](shape=Shape(6, 6), rng=make_rng(0))
    look = observation_function_registry["from_visibility"]
    observation = look(state, area=[[-4, 0], [-2, 2]], visibility_function=checkered)
    for y in range(observation.grid.shape.height):
        row = [observation.grid[y, x] for x in range(observation.grid.shape.width)]
        print(*("?" if isinstance(thing, Hidden) else type(thing).__name__[0] for thing in row))
