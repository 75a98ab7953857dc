"""Observations in compiled code: cutting the view out of the grid, writing it, and blitting
tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir

from components.appearance import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.compiler.numba_pipeline import cgutils, emit_as, make_array, types
from gv_engine.compiler.simd import cut_looks, write_seen_looks
from gv_engine.rules.component import NOTHING, OUTSIDE
from gv_engine.rules.geometry import step_x, step_y, to_relative
from gv_engine.scenario.layout import Layout

# ---- views ---------------------------------------------------------------------------------------

STATE = np.uint32(0xFF00)
"""Bits of an appearance that hold the state."""


def cut_view(w: Any, agent: int, view: Any) -> None:
    """Copy the cells around an agent from the grid into `view`, turned so that the agent looks up.
    All cells count as unseen afterwards."""
    facing = w.agent.facing[agent]
    y, x = w.position.y[agent], w.position.x[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    # grid row and cell of the view's first row; with `turned`, of its first column
    turned = ahead_x != 0
    if turned:
        line, next_line = y - view.x * ahead_x, ahead_x
        cell, next_cell = x + view.y * ahead_x, -ahead_x
    else:
        line, next_line = y + view.y * ahead_y, -ahead_y
        cell, next_cell = x + view.x * ahead_y, -ahead_y
    view.cut(w, turned, line, next_line, cell, next_cell)


def cover_other_agents(w: Any, agent: int, view: Any) -> None:
    """Draw the other agents into `view`, with their directions relative to `agent`. In a cell with
    several agents the one with the lowest number shows."""
    # read once: a write to the view might alias these fields
    facing = w.agent.facing[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    y, x = w.position.y[agent], w.position.x[agent]
    first, middle, height, width = view.y, view.x, view.height, view.width
    for number in range(len(w.order)):
        other = len(w.order) - number
        dy, dx = w.position.y[other] - y, w.position.x[other] - x
        i, j = first - dy * ahead_y - dx * ahead_x, middle + dy * ahead_x - dx * ahead_y
        if 0 <= i < height and 0 <= j < width and other != agent and y + dy >= 0:
            way = to_relative(w.agent.facing[other], facing)
            view.cover(i, j, other, w.look_of(other) & ~STATE | np.uint32(way) << np.uint32(8))


def write_view(w: Any, agent: int, view: Any, grid: Any, item: Any) -> None:
    """Write the seen cells of `view` into `grid` and the held object into `item`, as (type, state,
    colour), for the `default` representation.

    Args:
        grid: (h, w, 3) uint8 to fill; Hidden where nothing is seen.
        item: (3,) uint8 to fill; NoneGridObject for an empty hand.
    """
    view.show(grid)
    held = w.agent.holding[agent]
    item[0] = NONE_GRID_OBJECT if held == NOTHING else w.kind.value[held]
    item[1] = w.state_of(held)
    item[2] = w.color.value[held]


def make_write_view(layout: Layout) -> Any:
    """Return a function `(world, agent, view, grid, item)` that does what `write_view` does and
    makes directions of objects relative to the agent."""
    turn, has_oriented = make_state_turner(layout)
    if not has_oriented:
        return write_view

    def write_turned(w: Any, agent: int, view: Any, grid: Any, item: Any) -> None:
        """Write the view and rotate oriented objects."""
        write_view(w, agent, view, grid, item)
        turn(w, agent, grid)

    return write_turned


def make_state_turner(layout: Layout) -> tuple[Any, bool]:
    """Return a function `(world, agent, grid)` that makes the directions of objects in (h, w, 3)
    cells relative to the agent, and True if the layout has such objects.

    Agents are left out, as `cover_other_agents` has turned them.
    """
    kinds = tuple(kind for kind in layout.oriented if kind not in layout.agent_types)

    def turn(w: Any, agent: int, grid: Any) -> None:
        """Replace the direction of each oriented object in `grid` by the direction relative to the
        agent."""
        facing = w.agent.facing[agent]
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                if grid[i, j, 0] in kinds:
                    grid[i, j, 1] = to_relative(grid[i, j, 1], facing)

    return turn, bool(kinds)


def make_ground_writer(layout: Layout) -> Any:
    """Return a function `(world, agent, view, grid, out)` that writes the ground of the seen cells
    into `out`.

    `grid` is the result of `write_view`. `out` is (h, w, 3) uint8 to fill: Floor where nothing
    lies, Hidden where nothing is seen.
    """
    has_ground = len(layout.layers) > 1
    turn, has_oriented = make_state_turner(layout)

    def write_ground(w: Any, agent: int, view: Any, grid: Any, out: Any) -> None:
        """Write the ground of the cells that are seen in `grid` into `out`, as (type, state,
        colour)."""
        facing = w.agent.facing[agent]
        y, x = w.position.y[agent], w.position.x[agent]
        ahead_y, ahead_x = step_y(facing), step_x(facing)
        for i in range(view.height):
            for j in range(view.width):
                ahead, right = view.y - i, j - view.x
                shown = HIDDEN
                if grid[i, j, 0] != HIDDEN:
                    shown = FLOOR
                    if has_ground:
                        to_y = y + ahead * ahead_y + right * ahead_x
                        shown = w.beneath[to_y, x + ahead * ahead_x - right * ahead_y]
                for channel in range(3):
                    out[i, j, channel] = shown >> 8 * channel & 255
        if has_oriented:
            turn(w, agent, out)

    return write_ground


def write_whole(w: Any, agent: int, out: Any) -> None:
    """Write all cells of the grid and all agents, seen or not, as (type, state, colour) into (H, W,
    3) uint8 `out`."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            shown = w.looks[y, x] if y < w.height and x < w.width else HIDDEN
            for channel in range(3):
                out[y, x, channel] = shown >> 8 * channel & 255
    own = NONE_GRID_OBJECT | w.agent.facing[agent] << 8 | NONE << 16
    for number in range(len(w.agents())):
        # of several in a cell the first shows; the agent itself has precedence
        other = len(w.agents()) - number
        if other != agent:
            write_agent_look(w, other, w.look_of(other), out)
    write_agent_look(w, agent, own, out)


def write_agent_look(w: Any, agent: int, look: int, out: Any) -> None:
    """Write the appearance `look` of an agent into the agent's cell of the array `out`, if the cell
    is inside the grid and the array."""
    y, x = w.position.y[agent], w.position.x[agent]
    if w.inside(y, x) and y < out.shape[0] and x < out.shape[1]:
        for channel in range(3):
            out[y, x, channel] = look >> 8 * channel & 255


# ---- a view by rows of bits: bit j is the cell in column j ---------------------------------------


def cut_bits(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Copy grid cells into a view (the area that an agent sees) that stores its rows as bits; all
    cells count as unseen. For the arguments see `simd.cut_looks`."""
    cut_looks(w, view, turned, line, next_line, cell, next_cell)
    for i in range(view.height):
        view.seen_rows[i] = view.seen_from_right[i] = 0


def cover_bits(view: Any, i: int, j: int, e: int, look: int) -> None:
    """Draw the appearance `look` of an entity into cell (i, j) of a view that stores its rows as
    bits."""
    view.looks[i, j] = look
    if look >> 31:
        view.clear_rows[i] &= ~(np.int64(1) << j)
        view.clear_from_right[i] &= ~(np.int64(1) << (view.width - 1 - j))


def get_clear_bits(view: Any, i: int) -> int:
    """Return the transparent cells of a row as bits (bit j is column j); cells off the grid are
    opaque."""
    return view.clear_rows[i]  # type: ignore[no-any-return]


def get_clear_bits_from_right(view: Any, i: int) -> int:
    """Return the transparent cells of a row as bits, counted from the right."""
    return view.clear_from_right[i]  # type: ignore[no-any-return]


def set_seen_bits(view: Any, i: int, seen: int, from_right: int = 0) -> None:
    """Set which cells in row `i` of a view are seen. Bit j of `seen` is the cell j from the left,
    bit j of `from_right` the cell j from the right."""
    view.seen_rows[i] = seen
    view.seen_from_right[i] = from_right


# ---- a view by cells -----------------------------------------------------------------------------


def cut_cells(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Copy grid cells into a view (the area that an agent sees) that stores a number per cell; all
    cells count as unseen. For the arguments see `simd.cut_looks`."""
    cut_looks(w, view, turned, line, next_line, cell, next_cell)
    view.seen.fill(0)


def cut_entities(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Copy grid cells into a view (the area that an agent sees) that also stores the entity in each
    cell. For the arguments see `simd.cut_looks`."""
    cut_cells(view, w, turned, line, next_line, cell, next_cell)
    at = w.in_line()
    for i in range(view.height):
        for j in range(view.width):
            along, away = (i, j) if turned else (j, i)
            y, x = line + away * next_line, cell + along * next_cell
            on_grid = np.uint64(y) < np.uint64(w.height) and np.uint64(x) < np.uint64(w.width)
            e = at[np.uint32(y * w.at.shape[1] + x if on_grid else 0)]
            if on_grid and e == NOTHING:
                e = w.ground[y, x]
            view.entity[i, j] = e if on_grid else OUTSIDE


def cover_cells(view: Any, i: int, j: int, e: int, look: int) -> None:
    """Put an entity's appearance into a cell of a view by cells."""
    view.looks[i, j] = look
    view.opaque[i, j] |= look >> 31


def cover_entities(view: Any, i: int, j: int, e: int, look: int) -> None:
    """Put an entity and its appearance into a cell of a view by cells."""
    cover_cells(view, i, j, e, look)
    view.entity[i, j] = e


def compute_clear_bits(view: Any, i: int) -> int:
    """Return the transparent cells in row `i` of a view as bits; bit j is the cell in column j."""
    clear = 0
    for j in range(view.opaque.shape[1]):
        clear |= (view.opaque[i, j] == 0) << j
    return clear


def compute_clear_bits_from_right(view: Any, i: int) -> int:
    """Return the transparent cells in row `i` of a view as bits; bit j is the cell j from the
    right."""
    clear = 0
    for j in range(view.width):
        clear |= (view.opaque[i, view.width - 1 - j] == 0) << j
    return clear


def set_seen_cells(view: Any, i: int, seen: int, from_right: int = 0) -> None:
    """Set which cells in row `i` of a view are seen. Bit j of `seen` is the cell j from the left,
    bit j of `from_right` the cell j from the right."""
    for j in range(view.width):
        view.seen[i, j] = (seen >> j | from_right >> view.width - 1 - j) & 1


def write_seen_cells(view: Any, grid: Any) -> None:
    """Write the seen cells of a view as (type, state, colour) into (h, w, 3) uint8."""
    write_seen_looks(view, grid)


BIT_VIEW_METHODS: dict[str, Callable[..., Any]] = {
    "cut": cut_bits,
    "cover": cover_bits,
    "clear_row": get_clear_bits,
    "clear_row_from_right": get_clear_bits_from_right,
    "see_row": set_seen_bits,
    "show": write_seen_cells,
}
CELL_VIEW_METHODS: dict[str, Callable[..., Any]] = {
    "cut": cut_cells,
    "cover": cover_cells,
    "clear_row": compute_clear_bits,
    "clear_row_from_right": compute_clear_bits_from_right,
    "see_row": set_seen_cells,
    "show": write_seen_cells,
}
ENTITY_VIEW_METHODS = CELL_VIEW_METHODS | {"cut": cut_entities, "cover": cover_entities}
"""Functions of a compiled view, by method name."""


# ---- tiles ---------------------------------------------------------------------------------------

_INDEX = ir.IntType(64)


def _make_byte_copy(count: int) -> Callable[[Any, int, Any, int], None]:
    """Return an intrinsic `(source, start, goal, place)` that copies `count` bytes from index
    `start` of the array `source` to index `place` of the array `goal`."""

    @emit_as(lambda source, start, goal, place: types.none(source, types.intp, goal, types.intp))
    def move(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that copies the bytes by memcpy."""
        at, to = (
            builder.gep(
                make_array(signature.args[k])(context, builder, arguments[k]).data,
                [arguments[k + 1]],
            )
            for k in (0, 2)
        )
        cgutils.raw_memcpy(builder, to, at, _INDEX(count), 1)
        return context.get_dummy_value()

    # the name is part of program digests
    move.__name__ = f"move {count}"
    return move


@cache
def make_tile_blit(run: int) -> FunctionType:
    """Return the function `paint(codes, cells, out)`, to be compiled, which draws images from
    tiles. Each pixel line of a tile has `run` bytes."""
    move = _make_byte_copy(run)

    def paint(codes: Any, cells: Any, out: Any) -> None:
        """Draw images into `out` by copying the tile of each cell.

        Args:
            codes: (N, h, w) tile number of each cell.
            cells: (n, planes, side, run) uint8 tiles.
            out: (N, planes, h, side, w * run) uint8 to fill.
        """
        many, height, width = codes.shape
        planes, side = cells.shape[1:3]
        place = 0
        for i in range(many):
            for plane in range(planes):
                for y in range(height):
                    for line in range(side):
                        for x in range(width):
                            picture = (codes[i, y, x] * planes + plane) * side + line
                            move(cells, picture * run, out, place)
                            place += run

    return paint  # type: ignore[return-value]  # mypy does not know it as a FunctionType
