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
    top = w.position.y[agent] - view.y * down_y - view.x * right_y
    left = w.position.x[agent] - view.y * down_x - view.x * right_x
    for i in range(view.height):
        for j in range(view.width):
            y = top + i * down_y + j * right_y
            x = left + i * down_x + j * right_x
            if w.inside(y, x):
                e = w.at[y, x]
                view.entity[i, j] = e
                view.opaque[i, j] = e != NOTHING and blocks_vision(w, e)
            else:
                view.entity[i, j] = OUTSIDE
                view.opaque[i, j] = True


def show(w: Any, agent: int, view: Any, grid: Any, item: Any) -> None:
    """Write what is seen as (type, state, colour): the `default` representation.

    Args:
        grid: (h, w, 3) to be filled; Hidden where nothing is seen.
        item: (3,) to be filled; NoneGridObject for an empty hand.
    """
    for i in range(view.height):
        for j in range(view.width):
            e = view.entity[i, j]
            if view.seen[i, j] and e != OUTSIDE:
                grid[i, j, 0] = w.kind.value[e]
                grid[i, j, 1] = w.state_of(e)
                grid[i, j, 2] = w.color.value[e]
            else:
                grid[i, j, 0] = HIDDEN
                grid[i, j, 1] = 0
                grid[i, j, 2] = 0
    held = w.agent.holding[agent]
    item[0] = NONE_GRID_OBJECT if held == NOTHING else w.kind.value[held]
    item[1] = w.state_of(held)
    item[2] = w.color.value[held]
