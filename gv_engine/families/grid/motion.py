"""Motion between two frames of a grid, found by comparing them, so that no rule tells."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.language.frame import Frame

Cell = tuple[int, int]
"""y, x."""

Thing = tuple[int, int, int]
"""Type, state and colour."""

TOO_MUCH = 200  # changed cells: more than happens in a step, not to be followed by the eye


class Motion(NamedTuple):
    """The way from one frame to the next.

    Attributes:
        agent: y, x and facing before.
        glides: things that move on by a cell: what, from where, to where.
        leaves, comes: things that vanish and appear: what and where.
    """

    agent: tuple[int, int, int]
    glides: tuple[tuple[Thing, Cell, Cell], ...]
    leaves: tuple[tuple[Thing, Cell], ...]
    comes: tuple[tuple[Thing, Cell], ...]


def motion(before: Frame, after: Frame) -> Motion | None:
    """What moves from one frame to the next; None if nothing does, or if too much is different."""
    if before.grid.shape != after.grid.shape:
        return None
    grids = _things(before), _things(after)
    ys, xs = np.nonzero((grids[0] != grids[1]).any(2))
    if len(ys) > TOO_MUCH or (not len(ys) and before.agent == after.agent):
        return None
    cells = list(zip(ys.tolist(), xs.tolist(), strict=True))
    left, come = ({cell: _thing(grid, cell) for cell in cells} for grid in grids)
    glides = []
    for (y, x), thing in come.items():
        for start in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if thing[0] != FLOOR and left.get(start) == thing:
                glides.append((thing, start, (y, x)))
                del left[start]
                break
    gone = {goal for _, _, goal in glides}
    return Motion(
        before.agent,
        tuple(glides),
        tuple((thing, cell) for cell, thing in left.items() if thing[0] != FLOOR),
        tuple(
            (thing, cell) for cell, thing in come.items() if thing[0] != FLOOR and cell not in gone
        ),
    )


def _things(frame: Frame) -> NDArray[np.uint8]:
    """(H, W, 3) the grid without its ground, which stays where it is."""
    if frame.beneath is None:
        return frame.grid
    is_ground = (frame.grid == frame.beneath).all(-1, keepdims=True)
    return np.where(is_ground, np.array([FLOOR, 0, 0], np.uint8), frame.grid)


def _thing(grid: NDArray[np.uint8], cell: Cell) -> Thing:
    kind, state, color = grid[cell].tolist()
    return kind, state, color
