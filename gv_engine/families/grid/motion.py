"""Motion between two frames of a grid, found by comparing them, so that no rule tells."""

from typing import NamedTuple

import numpy as np

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
    ys, xs = np.nonzero((before.grid != after.grid).any(2))
    if len(ys) > TOO_MUCH or (not len(ys) and before.agent == after.agent):
        return None
    cells = list(zip(ys.tolist(), xs.tolist(), strict=True))
    left, come = ({cell: _thing(frame, cell) for cell in cells} for frame in (before, after))
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


def _thing(frame: Frame, cell: Cell) -> Thing:
    kind, state, color = frame.grid[cell].tolist()
    return kind, state, color
