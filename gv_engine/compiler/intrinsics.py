"""Numba intrinsics: arrays over raw memory, prefetches, and reads and writes of fields of a world's
record; and the Numba type of a batch's arrays, built from their addresses.

An intrinsic compiles at once, without the 40 ms that Numba takes for a function.

A program gets the address of an address record (`parameters.make_address_record`). In compiled code
that is `b`, and `b.rewards` is an array. Inside a program, a world's row is passed as an int64
address.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import reduce
from itertools import groupby
from typing import Any
from zlib import crc32

import numpy as np
from llvmlite import ir
from numba.core.types import Type
from numba.core.typing.templates import AttributeTemplate
from numba.np.numpy_support import as_dtype, from_dtype
from numpy.typing import NDArray

from gv_engine.compiler.numba_pipeline import (
    cgutils,
    emit_array,
    emit_as,
    emit_bounds_check,
    extending,
    get_type_code,
    intrinsic,
    make_array,
    types,
)
from gv_engine.compiler.parameters import Dtypes, address_record_dtype, rule_id
from gv_engine.compiler.records import get_world_record, to_engine_record
from gv_engine.compiler.short_columns import emit_stored_index

CACHE_LINE = 64
"""Bytes of a cache line."""

_MIN_RUN = 16
"""Minimum number of successive equal bytes that are written by memset."""

_BYTE, _INDEX = ir.IntType(8), ir.IntType(64)
_ZERO = ir.IntType(32)(0)

LANES = 16
"""Number of entities whose values are written in one vector store."""


def _emit_prefetch(builder: Any, address: Any) -> None:
    """Emit LLVM IR that prefetches the cache line at `address` for reading and writing. An invalid
    address is allowed."""
    number = ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [_BYTE.as_pointer(), number, number, number])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(function, [address, number(1), number(3), number(1)])


def make_row_prefetch(offsets: Collection[int]) -> Callable[[Any, int], None]:
    """Return an intrinsic `(rows, index)` that prefetches the cache lines at these byte `offsets`
    of world `index` in the array `rows`."""

    @emit_as(lambda rows, index: types.none(rows, types.intp))
    def fetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that prefetches each of the cache lines."""
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        row = builder.bitcast(builder.gep(data, [arguments[1]]), _BYTE.as_pointer())
        for offset in sorted(offsets):
            _emit_prefetch(builder, builder.gep(row, [_INDEX(offset)]))
        return context.get_dummy_value()

    # the name is part of program digests
    fetch.__name__ = f"fetch {sorted(offsets)}"
    return fetch


def _make_cell_prefetch(names: tuple[str, ...]) -> Callable[[Any, int, int], None]:
    """Return an intrinsic `(world, y, x)` that prefetches cell (y, x) of each of the world's fields
    named in `names` into the CPU cache."""

    @emit_as(lambda w, y, x: types.none(w, types.intp, types.intp))
    def prefetch_cell(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that prefetches the cell in each field."""
        w = signature.args[0]
        row = builder.bitcast(arguments[0], _BYTE.as_pointer())
        for name in names:
            cells = w.fields[name]
            first = builder.mul(arguments[1], _INDEX(cells.type.shape[1]))
            size = _INDEX(cells.type.dtype.bitwidth // 8)
            start = builder.mul(builder.add(first, arguments[2]), size)
            _emit_prefetch(builder, builder.gep(row, [builder.add(start, _INDEX(cells.offset))]))
        return context.get_dummy_value()

    prefetch_cell.__name__ = f"prefetch_cell {names}"
    return prefetch_cell


prefetch_cell = _make_cell_prefetch(("at", "looks"))
"""Intrinsic `(world, y, x)`: prefetch a cell's entity and appearance; the cell may be off the grid.
"""

prefetch_look = _make_cell_prefetch(("looks",))
"""Intrinsic `(world, y, x)`: prefetch a cell's appearance; the cell may be off the grid."""


def count_agents(w: Any) -> int:
    """Return the number of agents of a world record type."""
    return w.fields["reward"].type.shape[0] - 1  # type: ignore[no-any-return]  # numba's


def emit_current_agent(context: Any, builder: Any, world_type: Any, world: Any) -> Any:
    """Return the LLVM value of the number of the agent whose turn it is, from 1: a constant in
    worlds with one agent. `world_type` is the Numba type of the world, and `world` its value."""
    if count_agents(world_type) == 1:  # a constant, so that LLVM removes the branch
        return _INDEX(1)
    return context.get_getattr(world_type, "turn")(context, builder, world_type, world, "turn")


@emit_as(lambda w: types.intp(w))
def current_agent(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `current_agent(world)`, which returns the index of the
    agent whose turn it is."""
    return emit_current_agent(context, builder, signature.args[0], arguments[0])


def emit_pointer(context: Any, builder: Any, world: Any, offset: int, numba_type: Any) -> Any:
    """Emit LLVM IR that computes a pointer to a value of type `numba_type`, `offset` bytes after
    the start of a world's record; return the pointer."""
    row = builder.bitcast(world, _BYTE.as_pointer())
    pointer = context.get_data_type(numba_type).as_pointer()
    return builder.bitcast(builder.gep(row, [_INDEX(offset)]), pointer)


def emit_agent_pointer(
    context: Any, builder: Any, w: Any, world: Any, name: str, agent: Any
) -> Any:
    """Emit LLVM IR that computes a pointer to element `agent` of the per-agent field `name`, such
    as `reward`, of a world; return the pointer."""
    numbers = w.fields[name]
    first = emit_pointer(context, builder, world, numbers.offset, numbers.type.dtype)
    return builder.gep(first, [agent])


@emit_as(lambda w: types.Array(w.fields["at"].type.dtype, 1, "C")(w))
def flat_cells(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `flat_cells(world)`, which returns the cells `world.at`
    as a one-dimensional array, row by row."""
    at = signature.args[0].fields["at"]
    row = builder.bitcast(arguments[0], _BYTE.as_pointer())
    first = builder.gep(row, [_INDEX(at.offset)])
    return emit_array(context, builder, signature.return_type, first, _INDEX(at.type.nitems))


@emit_as(lambda array: types.Array(array.dtype, 1, "C", readonly=not array.mutable)(array))
def flat_array_view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `flat_array_view(array)`, which returns a one-dimensional
    view of a C-contiguous array."""
    source = make_array(signature.args[0])(context, builder, arguments[0])
    length = reduce(builder.mul, cgutils.unpack_tuple(builder, source.shape))
    return emit_array(context, builder, signature.return_type, source.data, length)


@emit_as(lambda array, number, size: array(array, types.intp, types.intp))
def chunk_view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `chunk_view(array, number, size)`, which returns a view
    of elements `number * size` to `(number + 1) * size - 1`."""
    array = signature.args[0]
    first = make_array(array)(context, builder, arguments[0]).data
    start = builder.gep(first, [builder.mul(arguments[1], arguments[2])])
    return emit_array(context, builder, array, start, arguments[2])


@emit_as(lambda bits: types.int64(types.int64))
def count_set_bits(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `count_set_bits(bits)`, which returns the number of set
    bits of an int64."""
    return builder.ctpop(arguments[0])


@emit_as(lambda a, b: types.uint64(types.uint64, types.uint64))
def multiply_high(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `multiply_high(a, b)`, which returns the upper 64 bits of
    the product of two uint64."""
    whole = ir.IntType(128)
    product = builder.mul(*(builder.zext(factor, whole) for factor in arguments))
    return builder.trunc(builder.lshr(product, whole(64)), _INDEX)


@emit_as(lambda bits: types.int64(types.uint64))
def lowest_set_bit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `lowest_set_bit(bits)`, which returns the index of the
    lowest set bit of a uint64 that is not 0."""
    return builder.cttz(arguments[0], ir.IntType(1)(1))


@emit_as(lambda column: types.Array(column.dtype, column.ndim, "C")(column))
def writable_view(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `writable_view(column)`, which returns an array on which
    appearances depend as a plain array: writes to it update no appearances."""
    return arguments[0]


@emit_as(lambda column: get_world_record(column)(column))
def owning_world(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `owning_world(column)`, which returns the world record
    that contains the array `column`, a `ShownColumn`."""
    column = signature.args[0]
    data = make_array(column)(context, builder, arguments[0]).data
    row = builder.gep(builder.bitcast(data, _BYTE.as_pointer()), [_INDEX(-column.start)])
    return builder.bitcast(row, context.get_value_type(signature.return_type))


@emit_as(lambda record: record(record))
def allocate_like(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `allocate_like(record)`, which returns a new
    uninitialised record of the same type on the stack, or, for a view that stores a number per
    cell, `record` itself.

    As no other code has its address, LLVM can keep its fields in registers; a view with a number
    per cell is too large for that.
    """
    record = signature.args[0]
    if "seen" in record.fields:
        return arguments[0]
    place = cgutils.alloca_once(builder, ir.ArrayType(_BYTE, record.size))
    place.align = CACHE_LINE
    return builder.bitcast(place, context.get_value_type(record))


def make_field_getter(
    names: Sequence[str], past: int | None = None, rule: str | None = None, agent: bool = False
) -> Callable[[Any, Any, Any], Any]:
    """Return an intrinsic `(world, parameters, measurements)` that returns a tuple: the current
    agent's index if `agent`, the measurement with index `past` if given, and the parameter record's
    fields `names`. It also notes that `rule` is running, in programs with bounds checks.

    The arrays are read-only, as all worlds share them.

    Args:
        names: fields of `p`.
        past: index in `was` of a value to put before the fields; None for no value.
        rule: prefix of the rule to note as running, if `p` has a field `running`.
        agent: put the index of the current agent first.
    """

    def pick(typing_context: Any, w: Any, p: Any, was: Any) -> Any:
        """Type check the reads of the fields; return the intrinsic's signature and code
        generator."""
        before = [] if past is None else [was[past]]
        inside = [typing_context.resolve_getattr(p, name) for name in names]
        shared = [
            types.Array(part.dtype, part.ndim, "C", readonly=True)
            if isinstance(part, types.NestedArray)
            else part
            for part in inside
        ]
        kind = types.Tuple([types.intp] * agent + [*before, *shared])

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit LLVM IR that reads the fields and packs them into a tuple."""
            if rule is not None and "running" in p.fields:
                context.get_setattr("running", types.void(p, types.uint32))(
                    builder, (arguments[1], ir.IntType(32)(rule_id(rule)))
                )
            values = [emit_current_agent(context, builder, w, arguments[0])] if agent else []
            if past is not None:
                values.append(builder.extract_value(arguments[2], past))
            for name, part, element_type in zip(names, inside, shared, strict=True):
                value = context.get_getattr(p, name)(context, builder, p, arguments[1], name)
                values.append(context.cast(builder, value, part, element_type))
            return context.make_tuple(builder, kind, values)

        return kind(w, p, was), generate

    # the name is part of program digests
    pick.__name__ = f"fields {rule} {agent} {past} {' '.join(names)}"
    return intrinsic(pick)


def make_row_fill(start: int, values: bytes) -> Callable[[Any], None]:
    """Return an intrinsic `(world)` that writes the bytes `values` into the world's record, from
    byte offset `start` on.

    Long runs of one byte become a memset, all others a memcpy.
    """
    runs: list[list[bytes]] = [[]]
    for _, same in groupby(values):
        run = bytes(same)
        if len(run) >= _MIN_RUN:
            runs += [[run], []]
        else:
            runs[-1].append(run)

    @emit_as(lambda w: types.none(w))
    def fill(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that writes each run of bytes by memset or memcpy."""
        row, at = builder.bitcast(arguments[0], _BYTE.as_pointer()), start
        for run in map(b"".join, runs):
            place = builder.gep(row, [_INDEX(at)])
            if len(set(run)) == 1:
                cgutils.memset(builder, place, _INDEX(len(run)), run[0])
            elif run:
                data = cgutils.global_constant(builder, "row", cgutils.make_bytearray(run))
                source = builder.bitcast(data, _BYTE.as_pointer())
                cgutils.raw_memcpy(builder, place, source, _INDEX(len(run)), 1)
            at += len(run)
        return context.get_dummy_value()

    # the name is part of program digests
    fill.__name__ = f"fill {start} {crc32(values):08x}"
    return fill


_Tables = list[tuple[str, str, NDArray[Any]]]
"""Lists of (column, field, table): the table has a value per prefab number."""


def make_entity_write(columns: _Tables) -> Callable[[Any, int, int], None]:
    """Return an intrinsic `(world, entity, number)`: for each (column, field, table) of `columns`,
    it writes `table[number]` into the field of the entity."""

    @emit_as(lambda w, e, number: types.none(w, types.intp, types.intp))
    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that stores a value for the entity in each column."""
        w = signature.args[0]
        if context.enable_boundscheck:
            capacity = w.fields["alive"].type.shape[0]
            emit_bounds_check(context, builder, arguments[1], _INDEX(capacity))
        for place, value in _emit_entity_cells(builder, w, columns, arguments):
            builder.store(value, place, align=1)
        return context.get_dummy_value()

    return write


def emit_lanes(builder: Any, vector: Any, lanes: Sequence[int], other: Any = None) -> Any:
    """Emit a shuffle of LLVM vectors: a vector of the elements of `vector` with the indices
    `lanes`; indices beyond its length select from the vector `other`."""
    order = ir.Constant(ir.VectorType(_ZERO.type, len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, other or ir.Constant(vector.type, ir.Undefined), order)


def emit_repeated(builder: Any, value: Any, count: int) -> Any:
    """Emit a vector of `count` copies of a number."""
    nothing = ir.Constant(ir.VectorType(value.type, count), ir.Undefined)
    return emit_lanes(builder, builder.insert_element(nothing, value, _ZERO), [0] * count)


def make_entity_range_write(columns: _Tables) -> Callable[[Any, int, int, int], None]:
    """Return an intrinsic `(world, first, count, number)` that writes `table[number]` into each of
    the `columns`, given as (column, field, table), of the `count` entities from `first` on.

    `count` is at least `LANES`; the stores are vectors of `LANES` entities.
    """

    @emit_as(lambda w, first, count, number: types.none(w, types.intp, types.intp, types.intp))
    def spread(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that stores the values of `LANES` entities at once in each column."""
        w, (world, first, count, number) = signature.args[0], arguments
        stop, step = builder.add(first, count), _INDEX(LANES)
        last = builder.sub(stop, step)
        with cgutils.for_range_slice(builder, first, stop, step, _INDEX) as (start, _):
            # the last lanes may be written twice
            e = builder.select(builder.icmp_signed(">", start, last), last, start)
            for place, value in _emit_entity_cells(builder, w, columns, (world, e, number)):
                repeated = emit_repeated(builder, value, LANES)
                to = builder.bitcast(place, repeated.type.as_pointer())
                builder.store(repeated, to, align=1)
        return context.get_dummy_value()

    return spread


def make_column_reset(columns: Sequence[tuple[str, str, Any]]) -> Callable[[Any, int], None]:
    """Return an intrinsic `(world, last)` that resets entities 1 to `last`: it writes a constant
    into each of the `columns`, given as (column, field, constant)."""

    @emit_as(lambda w, last: types.none(w, types.intp))
    def clear(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that fills each column by memset or by a loop of stores."""
        w = signature.args[0]
        row = builder.bitcast(arguments[0], _BYTE.as_pointer())
        for column, field, number in columns:
            place = w.fields[column].type.fields[field]
            value = number.astype(as_dtype(place.type.dtype)).tobytes()
            first = w.fields[column].offset + place.offset + len(value)
            start, last = builder.gep(row, [_INDEX(first)]), arguments[1]
            behind = _INDEX(place.type.shape[0] - 1)
            last = builder.select(builder.icmp_unsigned("<", last, behind), last, behind)
            if len(set(value)) == 1:
                size = builder.mul(last, _INDEX(len(value)))
                cgutils.memset(builder, start, size, value[0])
                continue
            word = ir.IntType(8 * len(value))
            with cgutils.for_range(builder, last) as loop:
                each = builder.gep(start, [builder.mul(loop.index, _INDEX(len(value)))])
                each = builder.bitcast(each, word.as_pointer())
                builder.store(word(int.from_bytes(value, sys.byteorder)), each, align=1)
        return context.get_dummy_value()

    # the name is part of program digests
    clear.__name__ = f"clear {[(*names, number.tolist()) for *names, number in columns]}"
    return clear


def make_entity_compare(columns: _Tables) -> Callable[[Any, int, int], bool]:
    """Return an intrinsic `(world, entity, number)` that returns True if the entity's value in each
    of the `columns`, given as (column, field, table), equals `table[number]`."""

    @emit_as(lambda w, e, number: types.boolean(w, types.intp, types.intp))
    def agrees(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR that compares the entity's value in all columns."""
        equal = ir.IntType(1)(1)
        for place, value in _emit_entity_cells(builder, signature.args[0], columns, arguments):
            stored = builder.load(place, align=1)
            equal = builder.and_(equal, builder.icmp_unsigned("==", stored, value))
        return equal

    return agrees


def _emit_entity_cells(
    builder: Any, w: Any, columns: _Tables, arguments: Any
) -> Iterator[tuple[Any, Any]]:
    """Emit LLVM IR for each of the `columns`, given as (column, field, table), and yield two values
    as integers: the pointer to the entity's value, and the value from the table."""
    start, e, number = arguments
    row = builder.bitcast(start, _BYTE.as_pointer())
    for column, field, table in columns:
        place = w.fields[column].type.fields[field]
        values = [each.tobytes() for each in table.astype(as_dtype(place.type.dtype))]
        # an array is one wide integer
        word = ir.IntType(8 * len(values[0]))
        bits = [int.from_bytes(value, sys.byteorder) for value in values]
        constant = cgutils.global_constant(
            builder, "prefabs", ir.Constant(ir.ArrayType(word, len(bits)), bits)
        )
        first = builder.gep(row, [_INDEX(w.fields[column].offset + place.offset)])
        length = place.type.shape[0]
        is_short = length < w.fields["alive"].type.shape[0]
        # entities beyond a short column have the defaults, as NOTHING has
        stored = emit_stored_index(builder, e, length) if is_short else e
        each = builder.gep(first, [builder.mul(stored, _INDEX(len(values[0])))])
        yield (
            builder.bitcast(each, word.as_pointer()),
            builder.load(builder.gep(constant, [ir.IntType(32)(0), number])),
        )


class BatchType(Type):
    """Numba type of `b`, the arrays of a batch.

    Attributes:
        arrays: Numba array type of each attribute, by name.
        offsets: byte offset of each attribute in the address record, by name.
    """

    def __init__(self, dtypes: Dtypes) -> None:
        """Make the Numba type of a batch from the element dtypes of its arrays, by name."""
        self.arrays = {
            name: types.Array(_element_type(dtype), 1, "C") for name, dtype in dtypes.items()
        }
        fields: Any = address_record_dtype(dtypes).fields
        self.offsets = {name: offset for name, (_, offset) in fields.items()}
        super().__init__(f"Batch({dtypes})")  # the name identifies the type

    @property
    def mangling_args(self) -> Any:
        """Return the short name that Numba uses in symbol names."""
        return "Batch", (get_type_code(self),)


def _element_type(dtype: np.dtype[Any]) -> Any:
    """Return the Numba type of an array element; a record becomes an `EngineRecord`."""
    kind = from_dtype(dtype)
    return to_engine_record(kind) if isinstance(kind, types.Record) else kind


extending.register_model(BatchType)(extending.models.OpaqueModel)


@extending.infer_getattr
class _BatchAttributes(AttributeTemplate):
    """Typing of `b.<name>` for Numba."""

    key = BatchType

    def generic_resolve(self, batch: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        """Return the Numba type of the array `b.<name>`; None if the batch has no such array."""
        return batch.arrays.get(name)


@extending.lower_getattr_generic(BatchType)  # type: ignore[untyped-decorator]  # numba's
def _lower_array_attribute(context: Any, builder: Any, batch: Any, value: Any, name: str) -> Any:
    """Emit LLVM IR that builds the array `b.<name>` from its address and length, which the batch's
    address record contains."""
    start = builder.gep(value, [context.get_constant(types.intp, batch.offsets[name])])
    kind = batch.arrays[name]
    pointer = context.get_data_type(kind.dtype).as_pointer()
    place = builder.bitcast(start, ir.LiteralStructType([pointer, ir.IntType(64)]).as_pointer())
    address, length = (builder.load(cgutils.gep_inbounds(builder, place, 0, k)) for k in range(2))
    return emit_array(context, builder, kind, address, length)


def make_batch_cast(dtypes: Dtypes) -> Callable[[int], Any]:
    """Return an intrinsic `(address)` that casts the int64 address of an address record to a
    batch."""
    return _make_cast(BatchType, dtypes)


def make_record_cast(dtype: np.dtype[Any]) -> Callable[[int], Any]:
    """Return an intrinsic `(address)` that casts an int64 address to a record of this dtype."""
    return _make_cast(_element_type, dtype)


def _make_cast(make_type: Callable[[Any], Any], description: Any) -> Callable[[int], Any]:
    """Return an intrinsic `(address)` that casts a memory address to an object of the Numba type
    `make_type(description)`."""

    @emit_as(lambda address: make_type(description)(types.intp))
    def cast_address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit the conversion of the address to a pointer."""
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return cast_address


@emit_as(lambda record: types.intp(record))
def get_address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `get_address(record)`, which returns the memory address
    of a record as int64."""
    return builder.ptrtoint(arguments[0], context.get_value_type(types.intp))
