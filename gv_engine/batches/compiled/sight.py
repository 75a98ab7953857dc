"""Observations of compiled worlds (GridVerse specification, section 6).

The object world has its own in `gv_engine.worlds.view.ObjectView`. This is the hottest code of all.
It goes through all cells of a view without asking which lie on the grid, which processors like
better than loops of unknown length, and counts them without a sign, which saves asking whether an
index counts from the end.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from gv_engine.language.component import NOTHING, OUTSIDE
from gv_engine.language.geometry import step_x, step_y


def look(w: Any, agent: int, view: Any) -> None:
    """Cut the area around the agent out of the grid, turned so that it looks up.

    Nothing is seen yet.
    """
    facing = w.agent.facing[agent]
    y, x = w.position.y[agent], w.position.x[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    # where in `at`, taken as one line of cells, the rows of the view and their cells are
    stride = w.at.shape[1]
    if ahead_x == 0:
        row, down, rows, line = y, -ahead_y, w.height, stride
        column, right, columns, cell = x, -ahead_y, w.width, 1
    else:
        row, down, rows, line = x, -ahead_x, w.width, 1
        column, right, columns, cell = y, ahead_x, w.height, stride
    height, width = view.entity.shape
    inside: Any = 0
    for j in range(width):
        k = column + (j - view.x) * right
        on_grid = np.uint64(k) < np.uint64(columns)
        inside |= on_grid << j
        view.on_grid[j] = on_grid
        view.across[j] = k * cell if on_grid else 0
    for i in range(height):
        k = row + (i - view.y) * down
        if np.uint64(k) < np.uint64(rows):
            view.cut_row(w, i, k * line, inside)
        else:
            view.skip_row(i)


def write_view(w: Any, agent: int, view: Any, grid: Any, item: Any) -> None:
    """Write what is seen as (type, state, colour): the `default` representation.

    Args:
        grid: (h, w, 3) to be filled; Hidden where nothing is seen.
        item: (3,) to be filled; NoneGridObject for an empty hand.
    """
    height, width = view.entity.shape
    for i in range(height):
        for j in range(width):
            visible = view.shows(i, j)
            e = np.uint32(view.entity[i, j] if visible else NOTHING)
            grid[i, j, 0] = w.kind.value[e] if visible else HIDDEN
            grid[i, j, 1] = w.state_of(e)
            grid[i, j, 2] = w.color.value[e]
    held = w.agent.holding[agent]
    item[0] = NONE_GRID_OBJECT if held == NOTHING else w.kind.value[held]
    item[1] = w.state_of(held)
    item[2] = w.color.value[held]


# ---- a view by rows of bits: bit j is the cell in column j ---------------------------------------


def cut_bits(view: Any, w: Any, i: int, first: int, inside: int) -> None:
    """Take a row from the grid."""
    at = w.in_line()
    clear = 0
    for j in range(view.entity.shape[1]):
        e = at[np.uint32(first + view.across[j])]
        view.entity[np.uint32(i), j] = e
        clear |= (not w.blocks_vision(e)) << j
    view.clear_rows[np.uint32(i)] = clear & inside
    view.inside_rows[np.uint32(i)] = inside
    view.seen_rows[np.uint32(i)] = 0


def skip_bits(view: Any, i: int) -> None:
    """A row beyond the grid."""
    view.clear_rows[i] = view.inside_rows[i] = view.seen_rows[i] = 0


def clear_bits(view: Any, i: int) -> int:
    """Which cells of a row let sight through; none of those beyond the grid."""
    return view.clear_rows[i]  # type: ignore[no-any-return]


def see_bits(view: Any, i: int, seen: int) -> None:
    """Let the agent see cells of a row."""
    view.seen_rows[i] = seen & view.inside_rows[i]


def shows_bit(view: Any, i: int, j: int) -> bool:
    """Whether the agent sees a cell of the grid there."""
    return view.seen_rows[i] >> j & 1 != 0  # type: ignore[no-any-return]


# ---- a view by cells -----------------------------------------------------------------------------


def cut_cells(view: Any, w: Any, i: int, first: int, inside: int) -> None:
    """Take a row from the grid."""
    at = w.in_line()
    for j in range(view.entity.shape[1]):
        e = at[np.uint32(first + view.across[j])]
        view.entity[i, j] = e if view.on_grid[j] else OUTSIDE
        view.opaque[i, j] = w.blocks_vision(e) or not view.on_grid[j]
        view.seen[i, j] = 0


def skip_cells(view: Any, i: int) -> None:
    """A row beyond the grid."""
    view.entity[i].fill(OUTSIDE)
    view.opaque[i].fill(1)
    view.seen[i].fill(0)


def clear_cells(view: Any, i: int) -> int:
    """Which cells of a row let sight through; none of those beyond the grid."""
    clear = 0
    for j in range(view.opaque.shape[1]):
        clear |= (view.opaque[i, j] == 0) << j
    return clear


def see_cells(view: Any, i: int, seen: int) -> None:
    """Let the agent see cells of a row."""
    for j in range(view.seen.shape[1]):
        view.seen[i, j] = seen >> j & 1


def shows_cell(view: Any, i: int, j: int) -> bool:
    """Whether the agent sees a cell of the grid there."""
    return view.seen[i, j] != 0 and view.entity[i, j] != OUTSIDE  # type: ignore[no-any-return]


BY_BITS: dict[str, Callable[..., Any]] = {
    "cut_row": cut_bits,
    "skip_row": skip_bits,
    "clear_row": clear_bits,
    "see_row": see_bits,
    "shows": shows_bit,
}
BY_CELLS: dict[str, Callable[..., Any]] = {
    "cut_row": cut_cells,
    "skip_row": skip_cells,
    "clear_row": clear_cells,
    "see_row": see_cells,
    "shows": shows_cell,
}
"""Functions of a view in compiled code, by the methods' names."""
