"""Observations in compiled code: the view is copied from the grid, visibility rules mark the seen
cells, and these are written into the observation arrays.

A view by rows stores a bit for each cell, bit j for column j; a view by cells stores a number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from components.core import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.compiler.cells import WorldRow
from gv_engine.compiler.language.intrinsics import prefetch
from gv_engine.compiler.language.values import RecordType
from gv_engine.compiler.vectors import cut_looks, write_seen_looks
from gv_engine.rules.component import AGENT, NOTHING, OUTSIDE
from gv_engine.rules.geometry import Area, step_x, step_y, to_relative, up_in_view
from gv_engine.world.view import get_view_tile_size


def make_view_type(area: Area, by_rows: bool, with_entities: bool) -> RecordType:
    """Return the record type of an agent's view of `area`, the `view` that visibility rules get. If
    `by_rows`, seen and transparent cells are stored as one bit mask per row, else as one byte per
    cell. `with_entities` adds the entity of each cell."""
    tile, (height, width) = get_view_tile_size(area.shape), area.shape
    whole = [-(-size // tile) * tile for size in area.shape]
    fields: list[Any] = [("looks", np.uint32, whole)]
    if by_rows:
        fields += [(name, np.int64, whole[:1]) for name in ("clear_rows", "clear_from_right")]
        fields += [(name, np.int64, area.shape[:1]) for name in ("seen_rows", "seen_from_right")]
    else:
        fields += [("entity", np.int32, area.shape)] * with_entities
        fields += [("lit", np.int32, height * width)]
        fields += [(name, np.uint8, area.shape) for name in ("opaque", "seen")]
        # spare bytes: rows are read and written in whole tiles
        fields += [("spare", np.uint8, (whole[0] - height + 1) * width + tile)]
    sizes = {"height": height, "width": width, "y": area.observer[0], "x": area.observer[1]}
    own = {
        "tile": tile,
        "turns": int(area.turns),
        "by_rows": by_rows,
        "with_entities": with_entities,
    }
    return RecordType(np.dtype(fields, align=True), {**VIEW_METHODS, **sizes, **own})


# ---- views ---------------------------------------------------------------------------------------


def cut_view(w: WorldRow, agent: int, view: Any) -> None:
    """Copy the cells around an agent into the record `view`, all marked as unseen. The view is
    rotated so that the agent faces up, unless its area has a fixed direction."""
    facing = up_in_view(w, agent, view.turns)
    y, x = w.position.y[agent], w.position.x[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    # grid row and cell of the view's first row; if turned, of its first column
    if ahead_x != 0:
        line, next_line = y - view.x * ahead_x, ahead_x
        cell, next_cell = x + view.y * ahead_x, -ahead_x
    else:
        line, next_line = y + view.y * ahead_y, -ahead_y
        cell, next_cell = x + view.x * ahead_y, -ahead_y
    cut_looks(w, view, ahead_x != 0, line, next_line, cell, next_cell)
    if view.by_rows:
        view.seen_rows[:] = 0
        view.seen_from_right[:] = 0
    else:
        view.seen[:] = 0
    if view.with_entities:
        copy_entities(w, view, ahead_x != 0, line, next_line, cell, next_cell)
    if w.layout.agents > 1:
        draw_other_agents(w, agent, view)


def prefetch_view(w: WorldRow, area: Area) -> None:
    """Load the cells that the first agent will see into the processor's cache. This affects only
    speed."""
    facing = up_in_view(w, AGENT, area.turns)
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    y, x = w.position.y[AGENT], w.position.x[AGENT]
    far, left = area.observer
    near, right = far - area.shape[0] + 1, left - area.shape[1] + 1
    # two opposite corners: far left and near right
    rows = y + far * ahead_y - left * ahead_x, y + near * ahead_y - right * ahead_x
    columns = x + far * ahead_x + left * ahead_y, x + near * ahead_x + right * ahead_y
    for row in range(min(rows), max(rows) + 1):
        for column in columns:
            prefetch(w.looks.ravel(), row * w.looks.shape[1] + column)


def copy_entities(
    w: WorldRow,
    view: Any,
    is_turned: bool,
    row_start: int,
    row_step: int,
    column_start: int,
    column_step: int,
) -> None:
    """Copy the entities of grid cells into `view.entity`. View cell (i, j) shows the grid cell
    (`row_start` + i * `row_step`, `column_start` + j * `column_step`); if `is_turned`, i and j
    change places."""
    for i in range(view.height):
        for j in range(view.width):
            along, away = (i, j) if is_turned else (j, i)
            y, x = row_start + away * row_step, column_start + along * column_step
            e = OUTSIDE
            if w.inside(y, x):
                e = w.at[y, x] if w.at[y, x] != NOTHING else w.ground[y, x]
                if w.between:
                    e = find_shown(w, y, x)
            view.entity[i, j] = e


def find_shown(w: WorldRow, y: int, x: int) -> Any:
    """Return the topmost entity in cell (y, x), or NOTHING."""
    for name in w.layout.layers:
        if w[name][y, x] != NOTHING:
            return w[name][y, x]
    return NOTHING


def draw_other_agents(w: WorldRow, agent: int, view: Any) -> None:
    """Draw all agents except `agent` into its `view`. If several stand in one cell, the one with
    the lowest number is drawn."""
    # read once: a write to the view might change these fields
    facing = up_in_view(w, agent, view.turns)
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    y, x = w.position.y[agent], w.position.x[agent]
    for number in range(w.layout.agents):
        other = w.layout.agents - number
        dy, dx = w.position.y[other] - y, w.position.x[other] - x
        i, j = view.y - dy * ahead_y - dx * ahead_x, view.x + dy * ahead_x - dx * ahead_y
        # one branch instead of six, which processors predict badly
        within = (i >= 0) & (i < view.height) & (j >= 0) & (j < view.width)
        if within & (other != agent) & (y + dy >= 0):
            way = to_relative(w.agent.facing[other], facing)
            look = w.kind.value[other] & 255 | way << 8 | (w.color.value[other] & 255) << 16
            draw_entity(view, i, j, other, look | (w.blocks_vision(other) != 0) << 31)


def draw_entity(view: Any, i: int, j: int, e: int, appearance: int) -> None:
    """Draw entity `e` into cell (i, j) of the view: its `appearance` (an integer, see
    `cells.look_of`) and whether it blocks vision."""
    view.looks[i, j] = appearance
    if view.with_entities:
        view.entity[i, j] = e
    if not view.by_rows:
        view.opaque[i, j] |= appearance >> 31
    elif appearance >> 31:
        view.clear_rows[i] &= ~(1 << j)
        view.clear_from_right[i] &= ~(1 << (view.width - 1 - j))


def clear_row(view: Any, i: int) -> Any:
    """Return a bit mask of the transparent cells in row `i` of the view: bit j is 1 if light passes
    through column j. 0 for a row outside of the view."""
    if not 0 <= i < view.height:
        return 0
    if view.by_rows:
        return view.clear_rows[i]
    clear = 0
    for j in range(view.width):
        clear |= (view.opaque[i, j] == 0) << j
    return clear


def clear_row_from_right(view: Any, i: int) -> Any:
    """Return a bit mask of the transparent cells in row `i` of the view, counted from the right:
    bit 0 is the last column. 0 for a row outside of the view."""
    if not 0 <= i < view.height:
        return 0
    if view.by_rows:
        return view.clear_from_right[i]
    clear = 0
    for j in range(view.width):
        clear |= (view.opaque[i, view.width - 1 - j] == 0) << j
    return clear


def see_row(view: Any, i: int, seen: int, from_right: int = 0) -> None:
    """Mark cells of row `i` as seen: column j for each bit j that is set in `seen`, and the column
    j from the right for each bit of `from_right`."""
    if view.by_rows:
        view.seen_rows[i] = seen
        view.seen_from_right[i] = from_right
        return
    for j in range(view.width):
        view.seen[i, j] = (seen >> j | from_right >> (view.width - 1 - j)) & 1


VIEW_METHODS: dict[str, Callable[..., Any]] = {
    method.__name__: method for method in (clear_row, clear_row_from_right, see_row)
}
"""Methods of views by name."""

# ---- observations --------------------------------------------------------------------------------


def write_seen(w: WorldRow, agent: int, view: Any, grid: Any, item: Any) -> None:
    """Write the observation of an agent: (type, state, colour) of the seen cells of `view` into
    `grid` (h, w, 3), with Hidden for unseen cells, and of the held object into `item` (3,)."""
    write_seen_looks(view, grid)
    turn_states(w, grid, up_in_view(w, agent, view.turns))
    held = w.agent.holding[agent]
    item[0] = NONE_GRID_OBJECT if held == NOTHING else w.kind.value[held]
    item[1] = w.state_of(held)
    item[2] = w.color.value[held]


def write_look(grid: Any, i: int, j: int, look: int) -> None:
    """Write the type, state and colour of an appearance into a cell of an (h, w, 3) array."""
    for channel in range(3):
        grid[i, j, channel] = look >> 8 * channel & 255


def turn_states(w: WorldRow, grid: Any, up: int) -> None:
    """Rotate the states of objects whose states are directions, such as guards, in the observation
    `grid` (h, w, 3), so that they are relative to the view. `up` is the grid direction at the top
    of the view. Agents are rotated elsewhere."""
    if len(w.tables.turned) > 0:
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                if grid[i, j, 0] in w.tables.turned:
                    grid[i, j, 1] = to_relative(grid[i, j, 1], up)


def write_ground_seen(w: WorldRow, agent: int, view: Any, grid: Any, out: Any) -> None:
    """Write (type, state, colour) of the ground of the view's cells into `out` (h, w, 3): Floor if
    there is no ground object, and Hidden where the observation `grid` (h, w, 3) is Hidden."""
    facing = up_in_view(w, agent, view.turns)
    y, x = w.position.y[agent], w.position.x[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    for i in range(view.height):
        for j in range(view.width):
            ahead, right = view.y - i, j - view.x
            shown = HIDDEN
            if grid[i, j, 0] != HIDDEN:
                shown = FLOOR
                if len(w.layout.layers) > 1:
                    to_y = y + ahead * ahead_y + right * ahead_x
                    shown = w.look_beneath(to_y, x + ahead * ahead_x - right * ahead_y)
            write_look(out, i, j, shown)
    turn_states(w, out, facing)


def write_whole(w: WorldRow, agent: int, out: Any) -> None:
    """Write (type, state, colour) of the whole grid into `out` (H, W, 3), with the object or agent
    that each cell shows."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            write_look(out, y, x, w.looks[y, x] if y < w.height and x < w.width else HIDDEN)
    for number in range(len(w.agents())):
        # of several in a cell the first shows; the agent itself has precedence
        other = len(w.agents()) - number
        if other != agent:
            write_agent(w, other, w.look_of(other), out)
    write_agent(w, agent, NONE_GRID_OBJECT | w.agent.facing[agent] << 8 | NONE << 16, out)


def write_agent(w: WorldRow, agent: int, look: int, out: Any) -> None:
    """Write the appearance of an agent into its cell of (H, W, 3) `out`."""
    y, x = w.position.y[agent], w.position.x[agent]
    if w.inside(y, x) and y < out.shape[0] and x < out.shape[1]:
        write_look(out, y, x, look)


def hide_all(grid: Any, item: Any) -> None:
    """Write the observation of an agent that is off the grid: Hidden in all cells of `grid` (h, w,
    3), and no object in `item` (3,)."""
    item[:] = 0
    item[0] = NONE_GRID_OBJECT
    grid[:] = 0
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            grid[i, j, 0] = HIDDEN
