"""SIMD intrinsics over the appearances of cells: eight or more cells per instruction.

An appearance is a uint32, see `Layout.looks_dtype`. LLVM compiles the vectors to SSE, AVX, AVX-512
or NEON.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from llvmlite import ir

from components.appearance import HIDDEN
from gv_engine.compiler.numba_pipeline import cgutils, emit_as, make_array, types

_BYTE, _SIDE, _HALF, _LOOK, _INDEX = (ir.IntType(size) for size in (8, 16, 32, 32, 64))
_OPAQUE = 1 << 31
_REVERSED = ir.Constant(
    ir.ArrayType(_BYTE, 256), [int(f"{byte:08b}"[::-1], 2) for byte in range(256)]
)
"""Each byte with its bits in reverse order."""

_STORE = 16
"""Bytes of one vector store."""


def _splat(value: int, count: int) -> Any:
    """Return an LLVM constant: a vector of `count` equal appearances."""
    return ir.Constant(ir.VectorType(_LOOK, count), [value] * count)


def _shuffle(builder: Any, vector: Any, other: Any = None, *, lanes: list[int]) -> Any:
    """Return an LLVM vector of the elements `lanes` of `vector`; numbers beyond its length select
    elements of `other`."""
    order = ir.Constant(ir.VectorType(_HALF, len(lanes)), lanes)
    other = other or ir.Constant(vector.type, ir.Undefined)
    return builder.shuffle_vector(vector, other, order)


def _field_address(builder: Any, record: Any, pointer: Any, name: str, index: Any) -> Any:
    """Emit a byte pointer to a record's field, `index` bytes further on."""
    start = builder.add(index, _INDEX(record.fields[name].offset))
    return builder.gep(builder.bitcast(pointer, _BYTE.as_pointer()), [start])


def _element_address(builder: Any, record: Any, pointer: Any, name: str, *index: Any) -> Any:
    """Return an LLVM byte pointer to an element of the array in field `name` of a record."""
    field = record.fields[name].type
    number = index[0]
    if len(index) > 1:
        number = builder.add(builder.mul(number, _INDEX(field.shape[1])), index[1])
    return _field_address(
        builder, record, pointer, name, builder.mul(number, _INDEX(field.dtype.bitwidth // 8))
    )


def _load(builder: Any, place: Any, llvm_type: Any) -> Any:
    """Emit an unaligned load of type `llvm_type` from a pointer."""
    return builder.load(builder.bitcast(place, llvm_type.as_pointer()), align=1)


def _store(builder: Any, value: Any, place: Any) -> None:
    """Emit an unaligned store of a value to a pointer."""
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=1)


def _clamp(builder: Any, value: Any, low: int, high: int) -> Any:
    """Return an LLVM int64: `value` limited to [low, high]."""
    for bound, sign in ((low, "<"), (high, ">")):
        limit = _INDEX(bound)
        value = builder.select(builder.icmp_signed(sign, value, limit), limit, value)
    return value


def _bit_range(builder: Any, low: Any, high: Any, size: int) -> Any:
    """Return an LLVM int64 whose bits `low` to `high - 1` are set, as far as they are among the
    first `size` bits."""
    ends = [builder.shl(_INDEX(1), _clamp(builder, end, 0, size)) for end in (low, high)]
    lower, upper = (builder.sub(end, _INDEX(1)) for end in ends)
    return builder.and_(upper, builder.not_(lower))


def _unpack_mask(builder: Any, bits: Any, count: int) -> Any:
    """Emit a vector of `count` booleans from the bits of a word."""
    word = builder.trunc(bits, ir.IntType(count))
    return builder.bitcast(word, ir.VectorType(ir.IntType(1), count))


def _pack_mask(builder: Any, mask: Any) -> Any:
    """Emit the bits of a word from a vector of booleans."""
    return builder.zext(builder.bitcast(mask, ir.IntType(mask.type.count)), _INDEX)


def _constant_address(builder: Any, value: Any) -> Any:
    """Emit a byte pointer to a global constant."""
    place = cgutils.global_constant(builder, "constant", value)
    return builder.bitcast(place, _BYTE.as_pointer())


def _reverse_bits(builder: Any, word: Any, size: int, reversed_bytes: Any) -> Any:
    """Return an LLVM int64 with the lowest `size` bits of `word` in reverse order. `reversed_bytes`
    points to a table of reversed bytes."""
    reversed_word = _INDEX(0)
    for shift in range(0, size, 8):
        byte = builder.and_(builder.lshr(word, _INDEX(shift)), _INDEX(255))
        back = builder.zext(builder.load(builder.gep(reversed_bytes, [byte])), _INDEX)
        reversed_word = builder.or_(reversed_word, builder.shl(back, _INDEX(size - 8 - shift)))
    return reversed_word


def _transpose(builder: Any, rows: list[Any]) -> list[Any]:
    """Return the transpose of a square matrix whose `rows` are LLVM vectors, as rows."""
    size, step = len(rows), 1
    lanes = range(size)
    while step < size:
        for r in (r for r in lanes if not r & step):
            pair = rows[r], rows[r + step]
            orders = (
                [size + k - step if k & step else k for k in lanes],
                [size + k if k & step else k + step for k in lanes],
            )
            rows[r], rows[r + step] = (_shuffle(builder, *pair, lanes=order) for order in orders)
        step *= 2
    return rows


@emit_as(
    lambda w, view, turned, line, next_line, cell, next_cell: types.none(
        w, view, *[types.int64] * 5
    )
)
def cut_looks(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `cut_looks(world, view, turned, line, next_line, cell,
    next_cell)`, which copies the appearances of grid cells into a view.

    Row i of the view is grid row `line + i * next_line`, where `next_line` is 1 or -1; its cell j
    is `cell + j * next_cell`. With `turned`, columns take the place of rows. Cells off the grid
    look Hidden and are opaque. Nothing is set in the view's seen cells.
    """
    w, view, *_ = signature.args
    size = view.tile
    height, width = view.size_of["height"], view.size_of["width"]
    stride, by_bits = w.fields["at"].type.shape[1], "clear_rows" in view.fields
    kind, hidden = ir.VectorType(_LOOK, size), _splat(HIDDEN | _OPAQUE, size)
    lanes = list(range(size))
    world, record, turned, line, next_line, cell, next_cell = arguments
    turned = builder.icmp_signed("!=", turned, _INDEX(0))
    backward = builder.icmp_signed("<", next_cell, _INDEX(0))
    one = builder.insert_element(_splat(0, size), builder.sext(backward, _LOOK), _HALF(0))
    turns = _shuffle(builder, one, lanes=[0] * size)
    nothing = _constant_address(builder, hidden)
    reversed_bytes = _constant_address(builder, _REVERSED)
    rows, columns = (
        builder.sext(
            _load(builder, _field_address(builder, w, world, name, _INDEX(0)), _SIDE), _INDEX
        )
        for name in ("height", "width")
    )

    def tile(i: Any, j: Any) -> list[Any]:
        """Return a square tile of the view, with its first cell at (i, j), as LLVM vectors: the
        appearances of each row."""
        along = builder.select(turned, i, j), builder.select(turned, j, i)
        near = builder.add(cell, builder.mul(along[0], next_cell))
        far = builder.add(line, builder.mul(along[1], next_line))
        first = builder.select(backward, builder.sub(near, _INDEX(size - 1)), near)
        # bits of the loaded cells that are on the grid; the first may be off the grid
        low, high = builder.neg(first), builder.sub(columns, first)
        inside = _bit_range(builder, low, high, size)
        first = _clamp(builder, first, -size, stride)
        mask = _unpack_mask(builder, inside, size)
        start = builder.add(builder.mul(far, _INDEX(stride)), first)
        further = builder.mul(next_line, _INDEX(stride))
        tile_rows = []
        for _ in lanes:
            on_grid = builder.icmp_unsigned("<", far, rows)
            place = _element_address(builder, w, world, "looks", _INDEX(0), start)
            look = _load(builder, builder.select(on_grid, place, nothing), kind)
            look = builder.select(mask, look, hidden)
            far, start = builder.add(far, next_line), builder.add(start, further)
            reversed_look = _shuffle(builder, look, lanes=lanes[::-1])
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
        bits = [[_INDEX(0)] * size, [_INDEX(0)] * size]
        address = partial(_element_address, builder, view, record)
        for j in range(0, width, size):
            count = min(size, width - j)
            for number, look in enumerate(tile(i, _INDEX(j))):
                row = builder.add(i, _INDEX(number))
                _store(builder, look, address("looks", row, _INDEX(j)))
                if not by_bits:
                    opaque = builder.icmp_signed("<", look, _splat(0, size))
                    # a store may run over the row's end only if the next row is stored later
                    opaque = _shuffle(builder, opaque, lanes=lanes[: count if j else size])
                    opaque = builder.zext(opaque, ir.VectorType(_BYTE, opaque.type.count))
                    _store(builder, opaque, address("opaque", row, _INDEX(j)))
                if by_bits:
                    clear = _pack_mask(builder, builder.icmp_signed(">=", look, _splat(0, size)))
                    clear = builder.and_(clear, _INDEX((1 << count) - 1))
                    mirrored = _reverse_bits(builder, clear, size, reversed_bytes)
                    mirrored = builder.lshr(mirrored, _INDEX(size - count))
                    for side, word, shift in ((0, clear, j), (1, mirrored, width - j - count)):
                        word = builder.shl(word, _INDEX(shift))
                        bits[side][number] = builder.or_(bits[side][number], word)
        for name, words in zip(("clear_rows", "clear_from_right"), bits, strict=True):
            for number, word in enumerate(words if by_bits else ()):
                row = builder.add(i, _INDEX(number))
                _store(builder, word, address(name, row))

    tiles = -(-height // size)
    if tiles == 1:
        write(_INDEX(0))
    else:
        with cgutils.for_range(builder, _INDEX(tiles)) as loop:
            write(builder.mul(loop.index, _INDEX(size)))
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
    with cgutils.for_range(builder, _INDEX(height)) as loop:
        i = loop.index
        row = builder.gep(data, [builder.mul(i, _INDEX(3 * width))])
        for begin in range(0, width, size):
            count = min(size, width - begin)
            place = _element_address(builder, view, record, "looks", i, _INDEX(begin))
            look = _load(builder, place, ir.VectorType(_LOOK, size))
            if by_bits:
                seen = _load_seen(builder, view, record, i, begin, size, width)
            else:
                place = _element_address(builder, view, record, "seen", i, _INDEX(begin))
                cells = _load(builder, place, ir.VectorType(_BYTE, size))
                seen = builder.icmp_unsigned("!=", cells, ir.Constant(cells.type, [0] * size))
            look = builder.select(seen, look, _splat(HIDDEN, size))
            parts = builder.bitcast(look, ir.VectorType(_BYTE, 4 * size))
            whole = 3 * count
            for start in [*range(0, whole - _STORE, _STORE), max(0, whole - _STORE)]:
                order = [k // 3 * 4 + k % 3 for k in range(start, min(whole, start + _STORE))]
                to = builder.gep(row, [_INDEX(3 * begin + start)])
                _store(builder, _shuffle(builder, parts, lanes=order), to)
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
        word = _load(builder, _element_address(builder, view, record, name, i), _INDEX)
        first = max(0, min(bits))
        word = builder.trunc(builder.lshr(word, _INDEX(first)), _LOOK)
        one = builder.insert_element(_splat(0, size), word, _HALF(0))
        repeated = _shuffle(builder, one, lanes=[0] * size)
        bits_by_lane = [1 << bit - first if bit >= 0 else 0 for bit in bits]
        seen = builder.or_(seen, builder.and_(repeated, ir.Constant(repeated.type, bits_by_lane)))
    return builder.icmp_unsigned("!=", seen, _splat(0, size))


@emit_as(lambda w, i, kinds: types.uint64(w, types.intp, types.uint64))
def find_typed_cells(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `find_typed_cells(world, i, kinds)`, which returns 64
    bits: which of the cells from 64 * i on look like one of the types in the bit mask `kinds`.

    Bit k of `kinds` stands for the types k, k + 32, k + 64 and so on.
    """
    w, (world, i, kinds) = signature.args[0], arguments
    cells, size = w.fields["at"].type.nitems, 16
    one = builder.insert_element(_splat(0, size), builder.trunc(kinds, _LOOK), _HALF(0))
    type_bits, cell_bits = _shuffle(builder, one, lanes=[0] * size), _INDEX(0)
    first = builder.shl(i, _INDEX(6))
    for begin in range(0, 64, size):
        start = builder.add(first, _INDEX(begin))
        # may read past the last cell, into the spare last row
        place = _element_address(builder, w, world, "looks", _INDEX(0), start)
        kind = builder.and_(_load(builder, place, type_bits.type), _splat(31, size))
        same = builder.and_(builder.lshr(type_bits, kind), _splat(1, size))
        same = _pack_mask(builder, builder.icmp_unsigned("!=", same, _splat(0, size)))
        cell_bits = builder.or_(cell_bits, builder.shl(same, _INDEX(begin)))
    last = builder.icmp_signed("==", i, _INDEX((cells - 1) // 64))
    existing_cells = builder.select(last, _INDEX((1 << (cells - 1) % 64 + 1) - 1), _INDEX(-1))
    return builder.and_(cell_bits, existing_cells)
