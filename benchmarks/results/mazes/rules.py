"""Reset function of `perfect-maze.yaml`."""

from collections.abc import Sequence

import numpy as np

from gv_engine import RESET, World, system
from systems.reset import build_closed_cells


@system(RESET)
def spanning_tree(w: World, shape: Sequence[int]) -> None:
    """Build a maze without loops by Kruskal's algorithm: take the walls between cells with odd
    coordinates in random order, and remove those that part two regions."""
    height, width = shape[0], shape[1]
    build_closed_cells(w, height, width)
    regions = np.arange(height * width)
    walls = np.empty(height * width, np.int64)
    count = 0
    for y in range(1, height - 1):
        for x in range(1 + y % 2, width - 1, 2):
            walls[count] = y * width + x
            count += 1
    while count > 0:
        picked = w.rng.integers(0, count)
        wall = walls[picked]
        count -= 1
        walls[picked] = walls[count]
        step = 1 if wall // width % 2 == 1 else width
        one, other = regions[wall - step], regions[wall + step]
        if one != other:
            w.remove(w.at[wall // width, wall % width])
            regions[regions == other] = one
