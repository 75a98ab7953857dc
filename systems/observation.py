"""Observations: what the agent is shown (GridVerse specification, section 6)."""

from typing import Any

from components.objects import HIDDEN, NONE_GRID_OBJECT
from gv_engine.component import NOTHING, OUTSIDE
from gv_engine.geometry import BACKWARD, FORWARD, RIGHT
from systems.queries import blocks_vision


def look(w: Any, agent: int, view: Any) -> None:
    """Cut the area around the agent out of the grid, turned so that the agent looks up."""
    facing = w.agent.facing[agent]
    # steps in the grid for one cell down and one cell right in the view
    if facing == FORWARD:
        down_y, down_x, right_y, right_x = 1, 0, 0, 1
    elif facing == BACKWARD:
        down_y, down_x, right_y, right_x = -1, 0, 0, -1
    elif facing == RIGHT:
        down_y, down_x, right_y, right_x = 0, -1, 1, 0
    else:
        down_y, down_x, right_y, right_x = 0, 1, -1, 0
    y, x = w.position.y[agent], w.position.x[agent]
    top = y - view.y * down_y - view.x * right_y
    left = x - view.y * down_x - view.x * right_x
    view.entity.fill(OUTSIDE)
    view.opaque.fill(1)
    height, width = view.entity.shape
    # the part of the view that lies on the grid: rows of the view run along y or along x
    if down_x == 0:
        i_from, i_to = span(top, down_y, w.height, height)
        j_from, j_to = span(left, right_x, w.width, width)
    else:
        i_from, i_to = span(left, down_x, w.width, height)
        j_from, j_to = span(top, right_y, w.height, width)
    for i in range(i_from, i_to):
        for j in range(j_from, j_to):
            e = w.at[top + i * down_y + j * right_y, left + i * down_x + j * right_x]
            view.entity[i, j] = e
            view.opaque[i, j] = blocks_vision(w, e)


def span(start: int, step: int, size: int, count: int) -> tuple[int, int]:
    """The k in 0 … count - 1 for which start + k * step is in 0 … size - 1, as a range."""
    if step > 0:
        return max(0, -start), min(count, size - start)
    return max(0, start - size + 1), min(count, start + 1)


def show(w: Any, agent: int, view: Any, grid: Any, item: Any) -> None:
    """Write what is seen as (type, state, colour): the `default` representation.

    Args:
        grid: (h, w, 3) to be filled; Hidden where nothing is seen.
        item: (3,) to be filled; NoneGridObject for an empty hand.
    """
    height, width = view.entity.shape
    for i in range(height):
        for j in range(width):
            visible = view.seen[i, j] != 0 and view.entity[i, j] != OUTSIDE
            e = view.entity[i, j] if visible else NOTHING
            grid[i, j, 0] = w.kind.value[e] if visible else HIDDEN
            grid[i, j, 1] = w.state_of(e)
            grid[i, j, 2] = w.color.value[e]
    held = w.agent.holding[agent]
    item[0] = NONE_GRID_OBJECT if held == NOTHING else w.kind.value[held]
    item[1] = w.state_of(held)
    item[2] = w.color.value[held]
