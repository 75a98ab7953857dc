"""Observations in compiled code: cutting the view out of the grid, and writing it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir

from components.core import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.compiler.intrinsics import emit_lanes, emit_repeated
from gv_engine.compiler.numba_pipeline import cgutils, emit_as, make_array, types
from gv_engine.rules.component import NOTHING, OUTSIDE
from gv_engine.rules.geometry import step_x, step_y, to_relative, up_in_view
from gv_engine.scenario.layout import Layout

_BYTE, _SIDE, _LOOK, _WORD = (ir.IntType(size) for size in (8, 16, 32, 64))
_OPAQUE = 1 << 31
_REVERSED = ir.Constant(
    ir.ArrayType(_BYTE, 256), [int(f"{byte:08b}"[::-1], 2) for byte in range(256)]
)
"""Each byte with its bits in reverse order."""

_STORE = 16
"""Bytes of one vector store."""


def _splat(value: int, count: int) -> Any:
    """Return an LLVM constant: a vector with `count` copies of the appearance `value`."""
    return ir.Constant(ir.VectorType(_LOOK, count), [value] * count)


def _field_address(builder: Any, record: Any, pointer: Any, name: str, index: Any) -> Any:
    """Return an LLVM byte pointer: `index` bytes after the start of field `name` of the record at
    `pointer`."""
    start = builder.add(index, _WORD(record.fields[name].offset))
    return builder.gep(builder.bitcast(pointer, _BYTE.as_pointer()), [start])


def _element_address(builder: Any, record: Any, pointer: Any, name: str, *index: Any) -> Any:
    """Return an LLVM byte pointer to an element of the array in field `name` of a record."""
    field = record.fields[name].type
    number = index[0]
    if len(index) > 1:
        number = builder.add(builder.mul(number, _WORD(field.shape[1])), index[1])
    return _field_address(
        builder, record, pointer, name, builder.mul(number, _WORD(field.dtype.bitwidth // 8))
    )


def _load(builder: Any, place: Any, llvm_type: Any) -> Any:
    """Emit an unaligned load of type `llvm_type` from a pointer."""
    return builder.load(builder.bitcast(place, llvm_type.as_pointer()), align=1)


def _store(builder: Any, value: Any, place: Any) -> None:
    """Emit LLVM IR for an unaligned store of `value` at the pointer `place`, of any type."""
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=1)


def _clamp(builder: Any, value: Any, low: int, high: int) -> Any:
    """Return an LLVM int64: `value` limited to [low, high]."""
    for bound, sign in ((low, "<"), (high, ">")):
        limit = _WORD(bound)
        value = builder.select(builder.icmp_signed(sign, value, limit), limit, value)
    return value


def _bit_range(builder: Any, low: Any, high: Any, size: int) -> Any:
    """Return an LLVM int64 whose bits `low` to `high - 1` are set, as far as they are among the
    first `size` bits."""
    ends = [builder.shl(_WORD(1), _clamp(builder, end, 0, size)) for end in (low, high)]
    lower, upper = (builder.sub(end, _WORD(1)) for end in ends)
    return builder.and_(upper, builder.not_(lower))


def _unpack_mask(builder: Any, bits: Any, count: int) -> Any:
    """Emit a vector of `count` booleans from the bits of a word."""
    word = builder.trunc(bits, ir.IntType(count))
    return builder.bitcast(word, ir.VectorType(ir.IntType(1), count))


def _pack_mask(builder: Any, mask: Any) -> Any:
    """Emit the bits of a word from a vector of booleans."""
    return builder.zext(builder.bitcast(mask, ir.IntType(mask.type.count)), _WORD)


def _constant_address(builder: Any, value: Any) -> Any:
    """Emit a byte pointer to a global constant."""
    place = cgutils.global_constant(builder, "constant", value)
    return builder.bitcast(place, _BYTE.as_pointer())


def _reverse_bits(builder: Any, word: Any, size: int, reversed_bytes: Any) -> Any:
    """Return an LLVM int64 with the lowest `size` bits of `word` in reverse order. `reversed_bytes`
    points to a table of reversed bytes."""
    reversed_word = _WORD(0)
    for shift in range(0, size, 8):
        byte = builder.and_(builder.lshr(word, _WORD(shift)), _WORD(255))
        back = builder.zext(builder.load(builder.gep(reversed_bytes, [byte])), _WORD)
        reversed_word = builder.or_(reversed_word, builder.shl(back, _WORD(size - 8 - shift)))
    return reversed_word


def _transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the transpose of a square matrix whose `rows` are LLVM vectors, as rows."""
    size, step = len(rows), 1
    lanes = range(size)
    while step < size:
        for r in (r for r in lanes if not r & step):
            one, two = rows[r], rows[r + step]
            orders = (
                [size + k - step if k & step else k for k in lanes],
                [size + k if k & step else k + step for k in lanes],
            )
            rows[r], rows[r + step] = (emit_lanes(builder, one, order, two) for order in orders)
        step *= 2
    return rows


@emit_as(
    lambda w, view, turned, line, next_line, cell, next_cell: types.none(
        w, view, *[types.int64] * 5
    )
)
def cut_looks(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `cut_looks(world, view, turned, line, next_line, cell,
    next_cell)`, which copies the appearances of grid cells into a view, from the cell in grid row
    `line` and column `cell` on.

    Row i of the view is grid row `line + i * next_line`, where `next_line` is 1 or -1; its cell j
    is `cell + j * next_cell`. With `turned`, columns take the place of rows. Cells off the grid
    look Hidden and are opaque. The view's record of seen cells is not changed.
    """
    w, view, *_ = signature.args
    size = view.tile
    height, width = view.size_of["height"], view.size_of["width"]
    stride, by_bits = w.fields["at"].type.shape[1], "clear_rows" in view.fields
    kind, hidden = ir.VectorType(_LOOK, size), _splat(HIDDEN | _OPAQUE, size)
    lanes = list(range(size))
    world, record, turned, line, next_line, cell, next_cell = arguments
    turned = builder.icmp_signed("!=", turned, _WORD(0))
    backward = builder.icmp_signed("<", next_cell, _WORD(0))
    turns = emit_repeated(builder, builder.sext(backward, _LOOK), size)
    nothing = _constant_address(builder, hidden)
    reversed_bytes = _constant_address(builder, _REVERSED)
    rows, columns = (
        builder.sext(
            _load(builder, _field_address(builder, w, world, name, _WORD(0)), _SIDE), _WORD
        )
        for name in ("height", "width")
    )

    def tile(i: Any, j: Any) -> list[Any]:
        """Return a square tile of the view, with its first cell at (i, j), as LLVM vectors: the
        appearances of each row."""
        along = builder.select(turned, i, j), builder.select(turned, j, i)
        near = builder.add(cell, builder.mul(along[0], next_cell))
        far = builder.add(line, builder.mul(along[1], next_line))
        first = builder.select(backward, builder.sub(near, _WORD(size - 1)), near)
        # bits of the loaded cells that are on the grid; the first may be off the grid
        low, high = builder.neg(first), builder.sub(columns, first)
        inside = _bit_range(builder, low, high, size)
        first = _clamp(builder, first, -size, stride)
        mask = _unpack_mask(builder, inside, size)
        start = builder.add(builder.mul(far, _WORD(stride)), first)
        further = builder.mul(next_line, _WORD(stride))
        tile_rows = []
        for _ in lanes:
            on_grid = builder.icmp_unsigned("<", far, rows)
            place = _element_address(builder, w, world, "looks", _WORD(0), start)
            look = _load(builder, builder.select(on_grid, place, nothing), kind)
            look = builder.select(mask, look, hidden)
            far, start = builder.add(far, next_line), builder.add(start, further)
            reversed_look = emit_lanes(builder, look, lanes[::-1])
            # by XOR, as LLVM would turn a select into a branch, which processors mispredict
            other = builder.and_(builder.xor(look, reversed_look), turns)
            tile_rows.append(builder.xor(look, other))
        before = builder.block
        with builder.if_then(turned):
            inner = _transpose(builder, tile_rows.copy())
            after = builder.block
        for number in lanes:
            either = builder.phi(kind)
            either.add_incoming(tile_rows[number], before)
            either.add_incoming(inner[number], after)
            tile_rows[number] = either
        return tile_rows

    def write(i: Any) -> None:
        """Emit LLVM IR that stores the tiles from row `i` of the view on: appearances, and which
        cells are opaque."""
        bits = [[_WORD(0)] * size, [_WORD(0)] * size]
        address = partial(_element_address, builder, view, record)
        for j in range(0, width, size):
            count = min(size, width - j)
            for number, look in enumerate(tile(i, _WORD(j))):
                row = builder.add(i, _WORD(number))
                _store(builder, look, address("looks", row, _WORD(j)))
                if not by_bits:
                    opaque = builder.icmp_signed("<", look, _splat(0, size))
                    # a store may run over the row's end only if the next row is stored later
                    opaque = emit_lanes(builder, opaque, lanes[: count if j else size])
                    opaque = builder.zext(opaque, ir.VectorType(_BYTE, opaque.type.count))
                    _store(builder, opaque, address("opaque", row, _WORD(j)))
                if by_bits:
                    clear = _pack_mask(builder, builder.icmp_signed(">=", look, _splat(0, size)))
                    clear = builder.and_(clear, _WORD((1 << count) - 1))
                    mirrored = _reverse_bits(builder, clear, size, reversed_bytes)
                    mirrored = builder.lshr(mirrored, _WORD(size - count))
                    for side, word, shift in ((0, clear, j), (1, mirrored, width - j - count)):
                        word = builder.shl(word, _WORD(shift))
                        bits[side][number] = builder.or_(bits[side][number], word)
        for name, words in zip(("clear_rows", "clear_from_right"), bits, strict=True):
            for number, word in enumerate(words if by_bits else ()):
                row = builder.add(i, _WORD(number))
                _store(builder, word, address(name, row))

    tiles = -(-height // size)
    if tiles == 1:
        write(_WORD(0))
    else:
        with cgutils.for_range(builder, _WORD(tiles)) as loop:
            write(builder.mul(loop.index, _WORD(size)))
    return context.get_dummy_value()


@emit_as(lambda view, grid: types.none(view, grid))
def write_seen_looks(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `write_seen_looks(view, grid)`, which writes the seen
    cells of a view as (type, state, colour) into (h, w, 3) uint8 `grid`, and Hidden for others."""
    view, grid = signature.args
    size = view.tile
    height, width = view.size_of["height"], view.size_of["width"]
    by_bits, record = "clear_rows" in view.fields, arguments[0]
    data = make_array(grid)(context, builder, arguments[1]).data
    data = builder.bitcast(data, _BYTE.as_pointer())
    with cgutils.for_range(builder, _WORD(height)) as loop:
        i = loop.index
        row = builder.gep(data, [builder.mul(i, _WORD(3 * width))])
        for begin in range(0, width, size):
            count = min(size, width - begin)
            place = _element_address(builder, view, record, "looks", i, _WORD(begin))
            look = _load(builder, place, ir.VectorType(_LOOK, size))
            if by_bits:
                seen = _load_seen(builder, view, record, i, begin, size, width)
            else:
                place = _element_address(builder, view, record, "seen", i, _WORD(begin))
                cells = _load(builder, place, ir.VectorType(_BYTE, size))
                seen = builder.icmp_unsigned("!=", cells, ir.Constant(cells.type, [0] * size))
            look = builder.select(seen, look, _splat(HIDDEN, size))
            parts = builder.bitcast(look, ir.VectorType(_BYTE, 4 * size))
            whole = 3 * count
            for start in [*range(0, whole - _STORE, _STORE), max(0, whole - _STORE)]:
                order = [k // 3 * 4 + k % 3 for k in range(start, min(whole, start + _STORE))]
                to = builder.gep(row, [_WORD(3 * begin + start)])
                _store(builder, emit_lanes(builder, parts, order), to)
    return context.get_dummy_value()


def _load_seen(
    builder: Any, view: Any, record: Any, i: Any, begin: int, size: int, width: int
) -> Any:
    """Return an LLVM vector of booleans: which of the cells `begin` to `begin + size - 1` in row
    `i` of a view are seen. The view stores rows as bits."""
    seen = _splat(0, size)
    for name, bits in (
        ("seen_rows", [begin + k for k in range(size)]),
        ("seen_from_right", [width - 1 - begin - k for k in range(size)]),
    ):
        word = _load(builder, _element_address(builder, view, record, name, i), _WORD)
        first = max(0, min(bits))
        word = builder.trunc(builder.lshr(word, _WORD(first)), _LOOK)
        repeated = emit_repeated(builder, word, size)
        bits_by_lane = [1 << bit - first if bit >= 0 else 0 for bit in bits]
        seen = builder.or_(seen, builder.and_(repeated, ir.Constant(repeated.type, bits_by_lane)))
    return builder.icmp_unsigned("!=", seen, _splat(0, size))


@emit_as(lambda w, i, kinds: types.uint64(w, types.intp, types.uint64))
def find_typed_cells(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `find_typed_cells(world, i, kinds)`, which returns 64
    bits: bit k is 1 if the cell 64 * i + k shows an object of a type in the bit mask `kinds`.

    Bit k of `kinds` stands for the types k, k + 32, k + 64 and so on.
    """
    w, (world, i, kinds) = signature.args[0], arguments
    cells, size = w.fields["at"].type.nitems, 16
    type_bits, cell_bits = emit_repeated(builder, builder.trunc(kinds, _LOOK), size), _WORD(0)
    first = builder.shl(i, _WORD(6))
    for begin in range(0, 64, size):
        start = builder.add(first, _WORD(begin))
        # may read past the last cell, into the spare last row
        place = _element_address(builder, w, world, "looks", _WORD(0), start)
        kind = builder.and_(_load(builder, place, type_bits.type), _splat(31, size))
        same = builder.and_(builder.lshr(type_bits, kind), _splat(1, size))
        same = _pack_mask(builder, builder.icmp_unsigned("!=", same, _splat(0, size)))
        cell_bits = builder.or_(cell_bits, builder.shl(same, _WORD(begin)))
    last = builder.icmp_signed("==", i, _WORD((cells - 1) // 64))
    existing_cells = builder.select(last, _WORD((1 << (cells - 1) % 64 + 1) - 1), _WORD(-1))
    return builder.and_(cell_bits, existing_cells)


# ---- views ---------------------------------------------------------------------------------------


def cut_view(w: Any, agent: int, view: Any) -> None:
    """Copy the cells around an agent from the grid into `view`, rotated so that the agent looks up
    if the view rotates with the agent. All cells count as unseen afterwards."""
    facing = up_in_view(w, agent, view.turns)
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
    """Draw the other agents into `view`, each with its direction relative to the view. In a cell
    with several agents, the agent with the lowest number is drawn."""
    # read once: a write to the view might alias these fields
    facing = up_in_view(w, agent, view.turns)
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    y, x = w.position.y[agent], w.position.x[agent]
    first, middle, height, width = view.y, view.x, view.height, view.width
    for number in range(len(w.order)):
        other = len(w.order) - number
        dy, dx = w.position.y[other] - y, w.position.x[other] - x
        i, j = first - dy * ahead_y - dx * ahead_x, middle + dy * ahead_x - dx * ahead_y
        # one branch instead of six, which processors predict badly
        if (i >= 0) & (i < height) & (j >= 0) & (j < width) & (other != agent) & (y + dy >= 0):
            way = to_relative(w.agent.facing[other], facing)
            look = w.kind.value[other] & 255 | way << 8 | (w.color.value[other] & 255) << 16
            view.cover(i, j, other, np.uint32(look | (w.blocks_vision(other) != 0) << 31))


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
    """Return `write_view`, or, if the layout has objects with a direction, a function with the same
    arguments that also rotates these directions into the view."""
    turn, has_oriented = make_state_turner(layout)
    if not has_oriented:
        return write_view

    def write_turned(w: Any, agent: int, view: Any, grid: Any, item: Any) -> None:
        """Write the view and rotate oriented objects."""
        write_view(w, agent, view, grid, item)
        turn(grid, up_in_view(w, agent, view.turns))

    return write_turned


def make_state_turner(layout: Layout) -> tuple[Any, bool]:
    """Return a function `(grid, up)` that makes the directions of objects in (h, w, 3) cells
    relative to the direction `up`, and whether the layout has such objects.

    Agents are left out, as `cover_other_agents` has turned them.
    """
    kinds = tuple(kind for kind in layout.oriented if kind not in layout.agent_types)

    def turn(grid: Any, up: int) -> None:
        """Replace the direction of each oriented object in `grid` by the direction relative to
        `up`."""
        for i in range(grid.shape[0]):
            for j in range(grid.shape[1]):
                if grid[i, j, 0] in kinds:
                    grid[i, j, 1] = to_relative(grid[i, j, 1], up)

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
        facing = up_in_view(w, agent, view.turns)
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
                        shown = w.look_beneath(to_y, x + ahead * ahead_x - right * ahead_y)
                for channel in range(3):
                    out[i, j, channel] = shown >> 8 * channel & 255
        if has_oriented:
            turn(out, facing)

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
    cells count as unseen. For the arguments see `cut_looks`."""
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
    """Set which cells in row `i` of a view are seen. In the bit mask `seen`, bit j is the cell with
    index j from the left; in `from_right`, the cell with index j from the right."""
    view.seen_rows[i] = seen
    view.seen_from_right[i] = from_right


# ---- a view by cells -----------------------------------------------------------------------------


def cut_cells(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Copy grid cells into a view (the area that an agent sees) that stores a number per cell; all
    cells count as unseen. For the arguments see `cut_looks`."""
    cut_looks(w, view, turned, line, next_line, cell, next_cell)
    view.seen.fill(0)


def cut_entities(
    view: Any, w: Any, turned: bool, line: int, next_line: int, cell: int, next_cell: int
) -> None:
    """Copy grid cells into a view (the area that an agent sees) that also stores the entity in each
    cell. For the arguments see `cut_looks`."""
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
    """Draw the appearance `look` of entity `e` into cell (i, j) of a view that stores a number per
    cell."""
    view.looks[i, j] = look
    view.opaque[i, j] |= look >> 31


def cover_entities(view: Any, i: int, j: int, e: int, look: int) -> None:
    """Draw the appearance `look` of entity `e` into cell (i, j) of a view that stores a number per
    cell, and store the entity there."""
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
    """Set which cells in row `i` of a view are seen. In the bit mask `seen`, bit j is the cell with
    index j from the left; in `from_right`, the cell with index j from the right."""
    for j in range(view.width):
        view.seen[i, j] = (seen >> j | from_right >> view.width - 1 - j) & 1


def write_seen_cells(view: Any, grid: Any) -> None:
    """Write the seen cells of a view as (type, state, colour) into (h, w, 3) uint8."""
    write_seen_looks(view, grid)


Methods = dict[str, Callable[..., Any]]
"""Functions of a compiled view, by method name."""
_NAMES = "cut", "cover", "clear_row", "clear_row_from_right", "see_row", "show"
_BY_BITS = cut_bits, cover_bits, get_clear_bits, get_clear_bits_from_right, set_seen_bits
_CLEAR_BITS = compute_clear_bits, compute_clear_bits_from_right
_BY_CELLS = cut_cells, cover_cells, *_CLEAR_BITS, set_seen_cells
BIT_VIEW_METHODS: Methods = dict(zip(_NAMES, (*_BY_BITS, write_seen_cells), strict=True))
CELL_VIEW_METHODS: Methods = dict(zip(_NAMES, (*_BY_CELLS, write_seen_cells), strict=True))
ENTITY_VIEW_METHODS = CELL_VIEW_METHODS | {"cut": cut_entities, "cover": cover_entities}
