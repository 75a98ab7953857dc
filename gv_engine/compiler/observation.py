"""Pictures of views, put together by compiled code from pictures of cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import make_array

from components.appearance import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.compiler.intrinsics import intrinsic
from gv_engine.compiler.simd import cut, show
from gv_engine.rules.component import NOTHING, OUTSIDE
from gv_engine.rules.geometry import step_x, step_y, to_relative
from gv_engine.scenario.layout import Layout

# ---- sight ---------------------------------------------------------------------------------------

STATE = np.uint32(0xFF00)
"""The bits of a look that are its state."""


def look(w: Any, agent: int, view: Any) -> None:
    """Cut the area around the agent out of the grid, turned so that it looks up.

    Nothing is seen yet.
    """
    facing = w.agent.facing[agent]
    y, x = w.position.y[agent], w.position.x[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    # the first row of the view and its first cell, or, turned, its first column
    turned = ahead_x != 0
    if turned:
        line, next_line = y - view.x * ahead_x, ahead_x
        cell, next_cell = x + view.y * ahead_x, -ahead_x
    else:
        line, next_line = y + view.y * ahead_y, -ahead_y
        cell, next_cell = x + view.x * ahead_y, -ahead_y
    view.cut(w, turned, line, next_line, cell, next_cell)


def look_at_others(w: Any, agent: int, view: Any) -> None:
    """Lay the other agents over a view, turned as it is; of several in a cell, the first shows."""
    # read once: what is written to the view might be anywhere
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
    """Write what is seen as (type, state, colour): the `default` representation.

    Args:
        grid: (h, w, 3) to be filled; Hidden where nothing is seen.
        item: (3,) to be filled; NoneGridObject for an empty hand.
    """
    view.show(grid)
    held = w.agent.holding[agent]
    item[0] = NONE_GRID_OBJECT if held == NOTHING else w.kind.value[held]
    item[1] = w.state_of(held)
    item[2] = w.color.value[held]


def view_writer(layout: Layout) -> Any:
    """`write_view`, in which the objects that look some way look as the agent sees them."""
    turn = turner(layout)
    if turn is nothing_to_turn:
        return write_view

    def write_turned(w: Any, agent: int, view: Any, grid: Any, item: Any) -> None:
        write_view(w, agent, view, grid, item)
        turn(w, agent, grid)

    return write_turned


def turner(layout: Layout) -> Any:
    """`(w, agent, grid)`: turn the states of the objects in (h, w, 3) that look some way, but for
    agents, which `look_at_others` has turned."""
    kinds = tuple(kind for kind in layout.oriented if kind not in layout.agent_types)
    if not kinds:
        return nothing_to_turn

    def turn(w: Any, agent: int, grid: Any) -> None:
        facing = w.agent.facing[agent]
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                if grid[i, j, 0] in kinds:
                    grid[i, j, 1] = to_relative(grid[i, j, 1], facing)

    return turn


def nothing_to_turn(w: Any, agent: int, grid: Any) -> None:
    """Leave all as it is."""


def ground_writer(layout: Layout) -> Any:
    """`(w, agent, view, grid, out)`: write what lies on the ground of the cells that are seen.

    `grid` is as `write_view` has written it, `out` (h, w, 3) to be filled in the same way; Floor
    where nothing lies, and Hidden where nothing is seen.
    """
    look_of = ground_look if len(layout.layers) > 1 else floor_look
    turn = turner(layout)

    def write_ground(w: Any, agent: int, view: Any, grid: Any, out: Any) -> None:
        facing = w.agent.facing[agent]
        y, x = w.position.y[agent], w.position.x[agent]
        ahead_y, ahead_x = step_y(facing), step_x(facing)
        for i in range(view.height):
            for j in range(view.width):
                ahead, right = view.y - i, j - view.x
                shown = HIDDEN
                if grid[i, j, 0] != HIDDEN:
                    to_y = y + ahead * ahead_y + right * ahead_x
                    shown = look_of(w, to_y, x + ahead * ahead_x - right * ahead_y)
                for channel in range(3):
                    out[i, j, channel] = shown >> 8 * channel & 255
        turn(w, agent, out)

    return write_ground


def ground_look(w: Any, y: int, x: int) -> int:
    """How the ground of a cell looks."""
    return w.beneath[y, x]  # type: ignore[no-any-return]


def floor_look(w: Any, y: int, x: int) -> int:
    """How it looks in worlds without ground."""
    return FLOOR


def write_whole(w: Any, agent: int, out: Any) -> None:
    """Write how all cells look, seen or not, as `StepArrays.whole` has it."""
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            shown = w.looks[y, x] if y < w.height and x < w.width else HIDDEN
            for channel in range(3):
                out[y, x, channel] = shown >> 8 * channel & 255
    own = NONE_GRID_OBJECT | w.agent.facing[agent] << 8 | NONE << 16
    for number in range(len(w.agents())):
        # of several in a cell the first shows, and above all the agent itself
        other = len(w.agents()) - number
        if other != agent:
            show_in(w, other, w.look_of(other), out)
    show_in(w, agent, own, out)


def show_in(w: Any, agent: int, look: int, out: Any) -> None:
    """Write how an agent looks into its cell of a picture of the grid, if that is there."""
    y, x = w.position.y[agent], w.position.x[agent]
    if w.inside(y, x) and y < out.shape[0] and x < out.shape[1]:
        for channel in range(3):
            out[y, x, channel] = look >> 8 * channel & 255


# ---- a view by rows of bits: bit j is the cell in column j ---------------------------------------


def cut_bits(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Take it from the grid, see `vectors.cut`."""
    cut(w, view, turned, line, next_line, cell, next_cell)
    for i in range(view.height):
        view.seen_rows[i] = view.seen_from_right[i] = 0


def cover_bits(view: Any, i: int, j: int, e: int, look: int) -> None:
    """Let an entity be seen in place of what is in a cell."""
    view.looks[i, j] = look
    if look >> 31:
        view.clear_rows[i] &= ~(np.int64(1) << j)
        view.clear_from_right[i] &= ~(np.int64(1) << (view.width - 1 - j))


def clear_bits(view: Any, i: int) -> int:
    """Which cells of a row let sight through; none of those beyond the grid."""
    return view.clear_rows[i]  # type: ignore[no-any-return]


def clear_bits_from_right(view: Any, i: int) -> int:
    """The same, counted from the right."""
    return view.clear_from_right[i]  # type: ignore[no-any-return]


def see_bits(view: Any, i: int, seen: int, from_right: int = 0) -> None:
    """Let the agent see cells of a row, counted from either side."""
    view.seen_rows[i] = seen
    view.seen_from_right[i] = from_right


# ---- a view by cells -----------------------------------------------------------------------------


def cut_cells(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Take it from the grid, see `vectors.cut`."""
    cut(w, view, turned, line, next_line, cell, next_cell)
    view.seen.fill(0)


def cut_entities(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """The same, for who asks which entities these are."""
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
    """Let an entity be seen in place of what is in a cell."""
    view.looks[i, j] = look
    view.opaque[i, j] |= look >> 31


def cover_entities(view: Any, i: int, j: int, e: int, look: int) -> None:
    """The same, for who asks which entities these are."""
    cover_cells(view, i, j, e, look)
    view.entity[i, j] = e


def clear_cells(view: Any, i: int) -> int:
    """Which cells of a row let sight through; none of those beyond the grid."""
    clear = 0
    for j in range(view.opaque.shape[1]):
        clear |= (view.opaque[i, j] == 0) << j
    return clear


def clear_cells_from_right(view: Any, i: int) -> int:
    """The same, counted from the right."""
    clear = 0
    for j in range(view.width):
        clear |= (view.opaque[i, view.width - 1 - j] == 0) << j
    return clear


def see_cells(view: Any, i: int, seen: int, from_right: int = 0) -> None:
    """Let the agent see cells of a row, counted from either side."""
    for j in range(view.width):
        view.seen[i, j] = (seen >> j | from_right >> view.width - 1 - j) & 1


def show_view(view: Any, grid: Any) -> None:
    """Write what is seen as (type, state, colour)."""
    show(view, grid)


BY_BITS: dict[str, Callable[..., Any]] = {
    "cut": cut_bits,
    "cover": cover_bits,
    "clear_row": clear_bits,
    "clear_row_from_right": clear_bits_from_right,
    "see_row": see_bits,
    "show": show_view,
}
BY_CELLS: dict[str, Callable[..., Any]] = {
    "cut": cut_cells,
    "cover": cover_cells,
    "clear_row": clear_cells,
    "clear_row_from_right": clear_cells_from_right,
    "see_row": see_cells,
    "show": show_view,
}
BY_ENTITIES = BY_CELLS | {"cut": cut_entities, "cover": cover_entities}
"""Functions of a view in compiled code, by the methods' names."""


# ---- painting ------------------------------------------------------------------------------------

# what numba says of their types leads nowhere
_cgutils, _make_array = cast(Any, (cgutils, make_array))

_INDEX = ir.IntType(64)


def _moving(count: int) -> Callable[[Any, int, Any, int], None]:
    """`(source, start, goal, place)`: copy so many bytes from one array of bytes to another."""

    @intrinsic
    def move(typing_context: Any, source: Any, start: Any, goal: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            at, to = (
                builder.gep(_make_array(kind)(context, builder, array).data, [offset])
                for kind, array, offset in ((source, *arguments[:2]), (goal, *arguments[2:]))
            )
            _cgutils.raw_memcpy(builder, to, at, _INDEX(count), 1)
            return context.get_dummy_value()

        return types.none(source, types.intp, goal, types.intp), generate

    # so that programs can be told apart
    move.__name__ = f"move {count}"
    return move


@cache
def painter(run: int) -> FunctionType:
    """The function `paint`, to be compiled, for cells whose lines have so many bytes."""
    move = _moving(run)

    def paint(codes: Any, cells: Any, out: Any) -> None:
        """Fill pictures.

        Args:
            codes: (N, h, w) the number of each cell's picture.
            cells: (n, planes, side, run) uint8 pictures of cells.
            out: (N, planes, h, side, w * run) uint8.
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
