"""Compiled code below the level of Python: arrays over memory, hints to it, fields and columns.

What is here compiles at once, without the 40 ms that Numba takes for a function.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, cast
from zlib import crc32

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.np.arrayobj import make_array, populate_array
from numba.np.numpy_support import as_dtype
from numpy.typing import NDArray

from gv_engine.compiler.bounds import refuse_beyond
from gv_engine.compiler.parameters import mark
from gv_engine.compiler.records import world_of

# what numba says of their types leads nowhere
intrinsic: Callable[[Callable[..., Any]], Callable[..., Any]] = cast(Any, extending.intrinsic)
_types, _cgutils, _make_array, _populate = cast(Any, (types, cgutils, make_array, populate_array))

LINE = 64
"""Bytes that memory hands out at once."""

_RUN = 16
"""Bytes that are worth a call of their own."""

_BYTE, _INDEX = ir.IntType(8), ir.IntType(64)
_FIRST = ir.IntType(32)(0)

LANES = 16
"""Entities whose columns are written at once."""


def array_at(context: Any, builder: Any, kind: Any, pointer: Any, length: Any) -> Any:
    """Emit an array of so many elements over memory, to which no references are counted."""
    array = _make_array(kind)(context, builder)
    size = context.get_constant(
        types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype))
    )
    _populate(
        array,
        data=builder.bitcast(pointer, array.data.type),
        shape=[length],
        strides=[size],
        itemsize=size,
        meminfo=None,
    )
    return array._getvalue()


def _ask_for(builder: Any, address: Any) -> None:
    """Emit a hint that a line of memory will be read and written soon; no address can fail."""
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), number, number, number])
    function = _cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [address, number(1), number(3), number(1)])


def fetching(offsets: Collection[int]) -> Callable[[Any, int], None]:
    """`(rows, index)`: ask for these bytes of a row, with those near them, ahead of their use, so
    that memory is not waited for."""

    @intrinsic
    def fetch(typing_context: Any, rows: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = _make_array(rows)(context, builder, arguments[0]).data
            row = builder.bitcast(builder.gep(data, [arguments[1]]), _BYTE.as_pointer())
            for offset in sorted(offsets):
                _ask_for(builder, builder.gep(row, [_INDEX(offset)]))
            return context.get_dummy_value()

        return types.none(rows, types.intp), generate

    # so that programs can be told apart
    fetch.__name__ = f"fetch {sorted(offsets)}"
    return fetch


def _prefetching_cell(names: tuple[str, ...]) -> Callable[[Any, int, int], None]:
    @intrinsic
    def prefetch_cell(typing_context: Any, w: Any, y: Any, x: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row = builder.bitcast(arguments[0], _BYTE.as_pointer())
            for name in names:
                cells = w.fields[name]
                first = builder.mul(arguments[1], _INDEX(cells.type.shape[1]))
                size = _INDEX(cells.type.dtype.bitwidth // 8)
                start = builder.mul(builder.add(first, arguments[2]), size)
                _ask_for(builder, builder.gep(row, [builder.add(start, _INDEX(cells.offset))]))
            return context.get_dummy_value()

        return types.none(w, types.intp, types.intp), generate

    prefetch_cell.__name__ = f"prefetch_cell {names}"
    return prefetch_cell


prefetch_cell = _prefetching_cell(("at", "looks"))
"""`(w, y, x)`: ask for a cell ahead of its use; it need not be on the grid."""

prefetch_look = _prefetching_cell(("looks",))
"""`(w, y, x)`: ask for the look of a cell, likewise."""


def agents_of(w: Any) -> int:
    """How many agents the worlds of a record have."""
    return w.fields["reward"].type.shape[0] - 1  # type: ignore[no-any-return]  # numba's


def whose_turn(context: Any, builder: Any, w: Any, world: Any) -> Any:
    """Emit the agent whose turn it is."""
    if agents_of(w) == 1:  # a constant, so that nothing is left of the question
        return _INDEX(1)
    return context.get_getattr(w, "turn")(context, builder, w, world, "turn")


@intrinsic
def whose(typing_context: Any, w: Any) -> Any:
    """`(w)`: the agent whose turn it is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return whose_turn(context, builder, w, arguments[0])

    return types.intp(w), generate


def place_in(context: Any, builder: Any, world: Any, offset: int, kind: Any) -> Any:
    """Emit the place of a value of this type in a world's row."""
    row = builder.bitcast(world, _BYTE.as_pointer())
    pointer = context.get_data_type(kind).as_pointer()
    return builder.bitcast(builder.gep(row, [_INDEX(offset)]), pointer)


def figure(context: Any, builder: Any, w: Any, world: Any, name: str, agent: Any) -> Any:
    """Emit the place of a number of an agent, such as its reward, in a world's row."""
    numbers = w.fields[name]
    first = place_in(context, builder, world, numbers.offset, numbers.type.dtype)
    return builder.gep(first, [agent])


@intrinsic
def cells(typing_context: Any, w: Any) -> Any:
    """`(w)`: all of `w.at` as one line of cells, row by row."""
    at = w.fields["at"]
    kind = types.Array(at.type.dtype, 1, "C")

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        row = builder.bitcast(arguments[0], _BYTE.as_pointer())
        first = builder.gep(row, [_INDEX(at.offset)])
        return array_at(context, builder, kind, first, _INDEX(at.type.nitems))

    return kind(w), generate


@intrinsic
def line_of(typing_context: Any, array: Any) -> Any:
    """`(array)`: all its values as one line, row by row; it lies in one piece."""
    kind = _types.Array(array.dtype, 1, "C", readonly=not array.mutable)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = _make_array(array)(context, builder, arguments[0])
        sizes = _cgutils.unpack_tuple(builder, whole.shape)
        return array_at(context, builder, kind, whole.data, reduce(builder.mul, sizes))

    return kind(array), generate


@intrinsic
def part_of_line(typing_context: Any, line: Any, number: Any, size: Any) -> Any:
    """`(line, number, size)`: one of the rows of so many values that lie in one line."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first = _make_array(line)(context, builder, arguments[0]).data
        start = builder.gep(first, [builder.mul(arguments[1], arguments[2])])
        return array_at(context, builder, line, start, arguments[2])

    return line(line, types.intp, types.intp), generate


@intrinsic
def count_ones(typing_context: Any, bits: Any) -> Any:
    """`(bits)`: how many of them are set."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.int64), generate


@intrinsic
def multiply_high(typing_context: Any, a: Any, b: Any) -> Any:
    """`(a, b)`: the upper half of their product."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        whole = ir.IntType(128)
        product = builder.mul(*(builder.zext(factor, whole) for factor in arguments))
        return builder.trunc(builder.lshr(product, whole(64)), _INDEX)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def lowest_one(typing_context: Any, bits: Any) -> Any:
    """`(bits)`: the number of the lowest bit that is set; one is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.IntType(1)(1))

    return types.int64(types.uint64), generate


@intrinsic
def to_write(typing_context: Any, kept: Any) -> Any:
    """`(kept)`: the array itself, to be written without telling anybody."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return arguments[0]

    return _types.Array(kept.dtype, kept.ndim, "C")(kept), generate


@intrinsic
def around(typing_context: Any, kept: Any) -> Any:
    """`(kept)`: the world in whose row an array is."""
    world = world_of(kept)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = _make_array(kept)(context, builder, arguments[0]).data
        row = builder.gep(builder.bitcast(data, _BYTE.as_pointer()), [_INDEX(-kept.start)])
        return builder.bitcast(row, context.get_value_type(world))

    return world(kept), generate


@intrinsic
def another(typing_context: Any, record: Any) -> Any:
    """`(record)`: a record of the same type with anything in it, while this function runs.

    Nobody else has its address, so that what is written and read again need not go to memory. A
    view by cells is too large for that, and stays where it is.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if "seen" in record.fields:
            return arguments[0]
        place = _cgutils.alloca_once(builder, ir.ArrayType(_BYTE, record.size))
        place.align = LINE
        return builder.bitcast(place, context.get_value_type(record))

    return record(record), generate


def fields(
    names: Sequence[str],
    past: int | None = None,
    rule: str | None = None,
    agent: bool = False,
) -> Callable[[Any, Any, Any], Any]:
    """`(w, p, was)`: whose turn it is and the part `past` of a tuple `was`, if asked for, and these
    fields of a record `p`, all as one tuple. Arrays can only be read: all worlds share them.
    If `p` says which rule runs, it is this one from now on."""

    def pick(typing_context: Any, w: Any, p: Any, was: Any) -> Any:
        before = [] if past is None else [was[past]]
        inside = [typing_context.resolve_getattr(p, name) for name in names]
        shared = [
            _types.Array(part.dtype, part.ndim, "C", readonly=True)
            if isinstance(part, types.NestedArray)
            else part
            for part in inside
        ]
        kind = _types.Tuple([_types.intp] * agent + [*before, *shared])

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if rule is not None and "running" in p.fields:
                context.get_setattr("running", types.void(p, types.uint32))(
                    builder, (arguments[1], ir.IntType(32)(mark(rule)))
                )
            values = [whose_turn(context, builder, w, arguments[0])] if agent else []
            if past is not None:
                values.append(builder.extract_value(arguments[2], past))
            for name, part, given in zip(names, inside, shared, strict=True):
                value = context.get_getattr(p, name)(context, builder, p, arguments[1], name)
                values.append(context.cast(builder, value, part, given))
            return context.make_tuple(builder, kind, values)

        return kind(w, p, was), generate

    # so that programs can be told apart
    pick.__name__ = f"fields {rule} {agent} {past} {' '.join(names)}"
    return intrinsic(pick)


def filling(start: int, values: bytes) -> Callable[[Any], None]:
    """`(w)`: write these bytes into a row from `start` on, most of which are long runs of one."""
    runs: list[list[bytes]] = [[]]
    for _, same in groupby(values):
        run = bytes(same)
        if len(run) >= _RUN:
            runs += [[run], []]
        else:
            runs[-1].append(run)

    @intrinsic
    def fill(typing_context: Any, w: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row, at = builder.bitcast(arguments[0], _BYTE.as_pointer()), start
            for run in map(b"".join, runs):
                place = builder.gep(row, [_INDEX(at)])
                if len(set(run)) == 1:
                    _cgutils.memset(builder, place, _INDEX(len(run)), run[0])
                elif run:
                    data = _cgutils.global_constant(builder, "row", _cgutils.make_bytearray(run))
                    source = builder.bitcast(data, _BYTE.as_pointer())
                    _cgutils.raw_memcpy(builder, place, source, _INDEX(len(run)), 1)
                at += len(run)
            return context.get_dummy_value()

        return types.none(w), generate

    # so that programs can be told apart
    fill.__name__ = f"fill {start} {crc32(values):08x}"
    return fill


_Columns = list[tuple[str, str, NDArray[Any]]]


def writing(columns: _Columns) -> Callable[[Any, int, int], None]:
    """`(w, e, number)`: write into each column (name, field) the number of its table."""

    @intrinsic
    def write(typing_context: Any, w: Any, e: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            if context.enable_boundscheck:
                capacity = w.fields["alive"].type.shape[0]
                refuse_beyond(context, builder, arguments[1], _INDEX(capacity))
            for place, value in _cells(builder, w, columns, arguments):
                builder.store(value, place, align=1)
            return context.get_dummy_value()

        return types.none(w, types.intp, types.intp), generate

    return write


def spreading(columns: _Columns) -> Callable[[Any, int, int, int], None]:
    """`(w, first, count, number)`: write into each column (name, field) the number of its table,
    for so many entities from the first on, at least `LANES`."""

    @intrinsic
    def spread(typing_context: Any, w: Any, first: Any, count: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            world, first, count, number = arguments
            behind, many = builder.add(first, count), _INDEX(LANES)
            last = builder.sub(behind, many)
            with _cgutils.for_range_slice(builder, first, behind, many, _INDEX) as (start, _):
                # the last of them may be written twice
                e = builder.select(builder.icmp_signed(">", start, last), last, start)
                for place, value in _cells(builder, w, columns, (world, e, number)):
                    kind = ir.VectorType(value.type, LANES)
                    nothing = ir.Constant(kind, ir.Undefined)
                    one = builder.insert_element(nothing, value, _FIRST)
                    order = ir.Constant(ir.VectorType(_FIRST.type, LANES), [0] * LANES)
                    every = builder.shuffle_vector(one, nothing, order)
                    builder.store(every, builder.bitcast(place, kind.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.none(w, types.intp, types.intp, types.intp), generate

    return spread


def clearing(columns: Sequence[tuple[str, str, Any]]) -> Callable[[Any, int], None]:
    """`(w, last)`: write into each column (name, field) its number for entities 1, …, last."""

    @intrinsic
    def clear(typing_context: Any, w: Any, last: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            row = builder.bitcast(arguments[0], _BYTE.as_pointer())
            for column, field, number in columns:
                place = w.fields[column].type.fields[field]
                value = number.astype(as_dtype(place.type.dtype)).tobytes()
                first = w.fields[column].offset + place.offset + len(value)
                start = builder.gep(row, [_INDEX(first)])
                if len(set(value)) == 1:
                    size = builder.mul(arguments[1], _INDEX(len(value)))
                    _cgutils.memset(builder, start, size, value[0])
                    continue
                word = ir.IntType(8 * len(value))
                cells = builder.bitcast(start, word.as_pointer())
                with _cgutils.for_range(builder, arguments[1]) as loop:
                    each = builder.gep(cells, [loop.index])
                    builder.store(word(int.from_bytes(value, sys.byteorder)), each, align=1)
            return context.get_dummy_value()

        return types.none(w, types.intp), generate

    # so that programs can be told apart
    clear.__name__ = f"clear {[(*names, number.tolist()) for *names, number in columns]}"
    return clear


def agreeing(columns: _Columns) -> Callable[[Any, int, int], bool]:
    """`(w, e, number)`: whether in each column (name, field) stands the number of its table."""

    @intrinsic
    def agrees(typing_context: Any, w: Any, e: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            equal = ir.IntType(1)(1)
            for place, value in _cells(builder, w, columns, arguments):
                found = builder.load(place, align=1)
                equal = builder.and_(equal, builder.icmp_unsigned("==", found, value))
            return equal

        return types.boolean(w, types.intp, types.intp), generate

    return agrees


def _cells(builder: Any, w: Any, columns: _Columns, arguments: Any) -> Iterator[tuple[Any, Any]]:
    """For each column the place of an entity in it, and the number of its table, both as bits."""
    start, e, number = arguments
    row = builder.bitcast(start, _BYTE.as_pointer())
    for column, field, table in columns:
        place = w.fields[column].type.fields[field]
        dtype = as_dtype(place.type.dtype)
        word = ir.IntType(8 * dtype.itemsize)
        bits = table.astype(dtype).view(f"u{dtype.itemsize}").tolist()
        constant = _cgutils.global_constant(
            builder, "prefabs", ir.Constant(ir.ArrayType(word, len(bits)), bits)
        )
        first = builder.gep(row, [_INDEX(w.fields[column].offset + place.offset)])
        yield (
            builder.gep(builder.bitcast(first, word.as_pointer()), [e]),
            builder.load(builder.gep(constant, [ir.IntType(32)(0), number])),
        )
