"""Rows of a view as vectors of looks, which processors take eight or more cells of at once.

A look is four bytes, see `Layout.looks_dtype`. LLVM makes of these vectors what the machine has:
SSE, AVX, AVX-512 or NEON.
"""

from __future__ import annotations

from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import make_array

from components.appearance import HIDDEN
from gv_engine.compiler.intrinsics import intrinsic

# what numba says of their types leads nowhere
_types, _cgutils, _make_array = cast(Any, (types, cgutils, make_array))

_BYTE, _SIDE, _HALF, _LOOK, _INDEX = (ir.IntType(size) for size in (8, 16, 32, 32, 64))
_OPAQUE = 1 << 31
_REVERSED = ir.Constant(
    ir.ArrayType(_BYTE, 256), [int(f"{byte:08b}"[::-1], 2) for byte in range(256)]
)
"""Of each byte, its bits in reverse."""

_STORE = 16
"""Bytes that are written at once."""


def _splat(value: int, count: int) -> Any:
    return ir.Constant(ir.VectorType(_LOOK, count), [value] * count)


def _pick(builder: Any, vector: Any, other: Any = None, *, numbers: list[int]) -> Any:
    """Emit a vector of these elements of one or two vectors."""
    order = ir.Constant(ir.VectorType(_HALF, len(numbers)), numbers)
    other = other or ir.Constant(vector.type, ir.Undefined)
    return builder.shuffle_vector(vector, other, order)


def _place(builder: Any, record: Any, pointer: Any, name: str, index: Any) -> Any:
    """Emit the address of the bytes of a record's field, so many further on."""
    start = builder.add(index, _INDEX(record.fields[name].offset))
    return builder.gep(builder.bitcast(pointer, _BYTE.as_pointer()), [start])


def _at(builder: Any, record: Any, pointer: Any, name: str, *index: Any) -> Any:
    """Emit the address of an element of a record's array."""
    field = record.fields[name].type
    number = index[0]
    if len(index) > 1:
        number = builder.add(builder.mul(number, _INDEX(field.shape[1])), index[1])
    return _place(
        builder, record, pointer, name, builder.mul(number, _INDEX(field.dtype.bitwidth // 8))
    )


def _load(builder: Any, place: Any, kind: Any) -> Any:
    return builder.load(builder.bitcast(place, kind.as_pointer()), align=1)


def _store(builder: Any, value: Any, place: Any) -> None:
    builder.store(value, builder.bitcast(place, value.type.as_pointer()), align=1)


def _clamped(builder: Any, value: Any, low: int, high: int) -> Any:
    for bound, sign in ((low, "<"), (high, ">")):
        limit = _INDEX(bound)
        value = builder.select(builder.icmp_signed(sign, value, limit), limit, value)
    return value


def _from_to(builder: Any, low: Any, high: Any, size: int) -> Any:
    """Emit bits low, ..., high - 1 of a word, within the first so many."""
    ends = [builder.shl(_INDEX(1), _clamped(builder, end, 0, size)) for end in (low, high)]
    lower, upper = (builder.sub(end, _INDEX(1)) for end in ends)
    return builder.and_(upper, builder.not_(lower))


def _mask(builder: Any, bits: Any, count: int) -> Any:
    """Emit truth by lane from the bits of a word."""
    word = builder.trunc(bits, ir.IntType(count))
    return builder.bitcast(word, ir.VectorType(ir.IntType(1), count))


def _bits(builder: Any, mask: Any) -> Any:
    """Emit the bits of a word from truth by lane."""
    return builder.zext(builder.bitcast(mask, ir.IntType(mask.type.count)), _INDEX)


def _constant(builder: Any, value: Any) -> Any:
    """Emit the address of the bytes of a constant."""
    place = _cgutils.global_constant(builder, "constant", value)
    return builder.bitcast(place, _BYTE.as_pointer())


def _from_right(builder: Any, word: Any, size: int, reversed_bytes: Any) -> Any:
    """Emit the lowest bits of a word, so many, in reverse."""
    found = _INDEX(0)
    for shift in range(0, size, 8):
        byte = builder.and_(builder.lshr(word, _INDEX(shift)), _INDEX(255))
        back = builder.zext(builder.load(builder.gep(reversed_bytes, [byte])), _INDEX)
        found = builder.or_(found, builder.shl(back, _INDEX(size - 8 - shift)))
    return found


def _transposed(builder: Any, rows: list[Any]) -> list[Any]:
    """Emit the columns of a square of vectors, as vectors."""
    size, step = len(rows), 1
    lanes = range(size)
    while step < size:
        for r in (r for r in lanes if not r & step):
            pair = rows[r], rows[r + step]
            orders = (
                [size + k - step if k & step else k for k in lanes],
                [size + k if k & step else k + step for k in lanes],
            )
            rows[r], rows[r + step] = (_pick(builder, *pair, numbers=order) for order in orders)
        step *= 2
    return rows


@intrinsic
def cut(
    typing_context: Any,
    w: Any,
    view: Any,
    turned: Any,
    line: Any,
    next_line: Any,
    cell: Any,
    next_cell: Any,
) -> Any:
    """`(w, view, turned, line, next_line, cell, next_cell)`: fill a view with looks.

    Its rows are those of the grid, from the one numbered `line` on, the next one `next_line`
    further, which is 1 or -1; their cells likewise. Turned, that holds for its columns. Cells
    beyond the grid look Hidden, and block vision.
    """
    size = view.tile
    height, width = view.size_of["height"], view.size_of["width"]
    stride, by_bits = w.fields["at"].type.shape[1], "clear_rows" in view.fields
    kind, hidden = ir.VectorType(_LOOK, size), _splat(HIDDEN | _OPAQUE, size)
    lanes = list(range(size))

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        world, record, turned, line, next_line, cell, next_cell = arguments
        turned = builder.icmp_signed("!=", turned, _INDEX(0))
        backward = builder.icmp_signed("<", next_cell, _INDEX(0))
        one = builder.insert_element(_splat(0, size), builder.sext(backward, _LOOK), _HALF(0))
        turns = _pick(builder, one, numbers=[0] * size)
        nothing = _constant(builder, hidden)
        reversed_bytes = _constant(builder, _REVERSED)
        rows, columns = (
            builder.sext(_load(builder, _place(builder, w, world, name, _INDEX(0)), _SIDE), _INDEX)
            for name in ("height", "width")
        )

        def tile(i: Any, j: Any) -> list[Any]:
            """The rows of a square of the view."""
            along = builder.select(turned, i, j), builder.select(turned, j, i)
            near = builder.add(cell, builder.mul(along[0], next_cell))
            far = builder.add(line, builder.mul(along[1], next_line))
            first = builder.select(backward, builder.sub(near, _INDEX(size - 1)), near)
            # bits by the cells that are loaded, of which the first may lie beyond the grid
            low, high = builder.neg(first), builder.sub(columns, first)
            inside = _from_to(builder, low, high, size)
            first = _clamped(builder, first, -size, stride)
            mask = _mask(builder, inside, size)
            start = builder.add(builder.mul(far, _INDEX(stride)), first)
            further = builder.mul(next_line, _INDEX(stride))
            found = []
            for _ in lanes:
                on_grid = builder.icmp_unsigned("<", far, rows)
                place = _at(builder, w, world, "looks", _INDEX(0), start)
                look = _load(builder, builder.select(on_grid, place, nothing), kind)
                look = builder.select(mask, look, hidden)
                far, start = builder.add(far, next_line), builder.add(start, further)
                back = _pick(builder, look, numbers=lanes[::-1])
                # by bits, as LLVM would make a branch of a choice, which processors guess wrongly
                other = builder.and_(builder.xor(look, back), turns)
                found.append(builder.xor(look, other))
            before = builder.block
            with builder.if_then(turned):
                inner = _transposed(builder, found.copy())
                after = builder.block
            for number in lanes:
                either = builder.phi(kind)
                either.add_incoming(found[number], before)
                either.add_incoming(inner[number], after)
                found[number] = either
            return found

        def write(i: Any) -> None:
            """Fill the rows of a line of tiles."""
            bits = [[_INDEX(0)] * size, [_INDEX(0)] * size]
            for j in range(0, width, size):
                count = min(size, width - j)
                for number, look in enumerate(tile(i, _INDEX(j))):
                    row = builder.add(i, _INDEX(number))
                    _store(builder, look, _at(builder, view, record, "looks", row, _INDEX(j)))
                    if not by_bits:
                        opaque = builder.icmp_signed("<", look, _splat(0, size))
                        # beyond the row only where the next one is still to be written
                        opaque = _pick(builder, opaque, numbers=lanes[: count if j else size])
                        opaque = builder.zext(opaque, ir.VectorType(_BYTE, opaque.type.count))
                        _store(
                            builder, opaque, _at(builder, view, record, "opaque", row, _INDEX(j))
                        )
                    if by_bits:
                        clear = _bits(builder, builder.icmp_signed(">=", look, _splat(0, size)))
                        clear = builder.and_(clear, _INDEX((1 << count) - 1))
                        back = _from_right(builder, clear, size, reversed_bytes)
                        back = builder.lshr(back, _INDEX(size - count))
                        for side, word, shift in ((0, clear, j), (1, back, width - j - count)):
                            word = builder.shl(word, _INDEX(shift))
                            bits[side][number] = builder.or_(bits[side][number], word)
            for name, words in zip(("clear_rows", "clear_from_right"), bits, strict=True):
                for number, word in enumerate(words if by_bits else ()):
                    row = builder.add(i, _INDEX(number))
                    _store(builder, word, _at(builder, view, record, name, row))

        tiles = -(-height // size)
        if tiles == 1:
            write(_INDEX(0))
        else:
            with _cgutils.for_range(builder, _INDEX(tiles)) as loop:
                write(builder.mul(loop.index, _INDEX(size)))
        return context.get_dummy_value()

    return types.none(w, view, *[_types.int64] * 5), generate


@intrinsic
def show(typing_context: Any, view: Any, grid: Any) -> Any:
    """`(view, grid)`: write what is seen of a view into (h, w, 3) bytes."""
    size = view.tile
    height, width = view.size_of["height"], view.size_of["width"]
    by_bits = "clear_rows" in view.fields

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        record, array = arguments
        data = _make_array(grid)(context, builder, array).data
        data = builder.bitcast(data, _BYTE.as_pointer())
        with _cgutils.for_range(builder, _INDEX(height)) as loop:
            i = loop.index
            row = builder.gep(data, [builder.mul(i, _INDEX(3 * width))])
            for begin in range(0, width, size):
                count = min(size, width - begin)
                place = _at(builder, view, record, "looks", i, _INDEX(begin))
                look = _load(builder, place, ir.VectorType(_LOOK, size))
                if by_bits:
                    seen = _seen(builder, view, record, i, begin, size, width)
                else:
                    place = _at(builder, view, record, "seen", i, _INDEX(begin))
                    cells = _load(builder, place, ir.VectorType(_BYTE, size))
                    seen = builder.icmp_unsigned("!=", cells, ir.Constant(cells.type, [0] * size))
                look = builder.select(seen, look, _splat(HIDDEN, size))
                parts = builder.bitcast(look, ir.VectorType(_BYTE, 4 * size))
                whole = 3 * count
                for start in [*range(0, whole - _STORE, _STORE), max(0, whole - _STORE)]:
                    order = [k // 3 * 4 + k % 3 for k in range(start, min(whole, start + _STORE))]
                    to = builder.gep(row, [_INDEX(3 * begin + start)])
                    _store(builder, _pick(builder, parts, numbers=order), to)
        return context.get_dummy_value()

    return types.none(view, grid), generate


def _seen(builder: Any, view: Any, record: Any, i: Any, begin: int, size: int, width: int) -> Any:
    """Emit which cells of a row, from one on, are among its bits, counted from either side."""
    found = _splat(0, size)
    for name, bits in (
        ("seen_rows", [begin + k for k in range(size)]),
        ("seen_from_right", [width - 1 - begin - k for k in range(size)]),
    ):
        word = _load(builder, _at(builder, view, record, name, i), _INDEX)
        first = max(0, min(bits))
        word = builder.trunc(builder.lshr(word, _INDEX(first)), _LOOK)
        one = builder.insert_element(_splat(0, size), word, _HALF(0))
        every = _pick(builder, one, numbers=[0] * size)
        each = [1 << bit - first if bit >= 0 else 0 for bit in bits]
        found = builder.or_(found, builder.and_(every, ir.Constant(every.type, each)))
    return builder.icmp_unsigned("!=", found, _splat(0, size))


@intrinsic
def cells_of(typing_context: Any, w: Any, i: Any, kinds: Any) -> Any:
    """`(w, i, kinds)`: bits of 64 cells, the i-th so many of all row by row, that look like objects
    of these types; bit k of `kinds` is type k, and each 32nd behind it."""
    cells, size = w.fields["at"].type.nitems, 16

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        world, i, kinds = arguments
        one = builder.insert_element(_splat(0, size), builder.trunc(kinds, _LOOK), _HALF(0))
        asked, found = _pick(builder, one, numbers=[0] * size), _INDEX(0)
        first = builder.shl(i, _INDEX(6))
        for begin in range(0, 64, size):
            start = builder.add(first, _INDEX(begin))
            # beyond the last cell too, as behind the last row there is one more
            place = _at(builder, w, world, "looks", _INDEX(0), start)
            kind = builder.and_(_load(builder, place, asked.type), _splat(31, size))
            same = builder.and_(builder.lshr(asked, kind), _splat(1, size))
            same = _bits(builder, builder.icmp_unsigned("!=", same, _splat(0, size)))
            found = builder.or_(found, builder.shl(same, _INDEX(begin)))
        last = builder.icmp_signed("==", i, _INDEX((cells - 1) // 64))
        there = builder.select(last, _INDEX((1 << (cells - 1) % 64 + 1) - 1), _INDEX(-1))
        return builder.and_(found, there)

    return types.uint64(w, types.intp, types.uint64), generate
