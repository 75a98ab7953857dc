"""Reads and writes many component fields at once, such as those of a new object: a loop over fields
in a rule would be unrolled, and make compilation slow."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.language import arithmetic, arrays, flow, memory
from gv_engine.compiler.language.body import Body, emits
from gv_engine.compiler.language.values import Record, RecordType, Scalar

Table = tuple[str, str, NDArray[Any]]
"""Component, field, and the field's value by number of a set of values."""
WORDS = (1, 2, 4, 8)
"""Sizes of integers, in bytes."""


@dataclass(frozen=True, eq=False)
class FieldValues:
    """Table of values for several fields of components, whose columns have the same length and
    element size. Each line of the table has one value for each field, such as the initial values of
    one object type.

    Attributes:
        length: number of entities in the columns.
        starts: offset of each column in a row, in bytes.
        bytes: (sets, fields, size) uint8, the values in memory.
    """

    length: int
    starts: tuple[int, ...]
    bytes: NDArray[np.uint8]

    def iter_offsets(self) -> Iterator[tuple[int, int]]:
        """Yield the offset of each column in a row, and that of its value in a set of values."""
        size = self.bytes.shape[2]
        return zip(self.starts, range(0, size * len(self.starts), size))


def group_fields(row_type: RecordType, tables: Iterable[Table]) -> tuple[FieldValues, ...]:
    """Return `tables`, each with (column, field, values), merged into few `FieldValues`: one for
    all fields whose columns have the same length and element size. `row_type` is the record type of
    a world."""
    groups: dict[tuple[int, int], list[tuple[int, NDArray[np.uint8]]]] = {}
    for column, field, table in tables:
        columns, start = row_type.fields[column]
        dtype, offset = RecordType(columns).fields[field]
        length, *shape = dtype.shape
        values = np.empty((len(table), *shape), dtype.base)
        values.T[...] = table.T
        data = values.reshape(len(table), -1).view(np.uint8)
        groups.setdefault((length, data.shape[1]), []).append((start + offset, data))
    return tuple(
        FieldValues(length, tuple(start for start, _ in parts), np.stack([x for _, x in parts], 1))
        for (length, _), parts in groups.items()
    )


def copy_values(w: Any, e: int, line: int, values: FieldValues) -> None:
    """Write line `line` of the table `values` into the fields of an entity."""


@emits(copy_values)
def _copy_values(body: Body, w: Record, e: Any, line: Any, values: FieldValues) -> None:
    """Emit code that writes line `line` of the table `values` into the fields of entity `e`."""
    size = values.bytes.shape[2]
    entity, llvm = _emit_offset(body, w.pointer, e, size), f"i{8 * size}"
    if isinstance(line, int) and size in WORDS:
        for start, data in zip(values.starts, values.bytes[line]):
            pointer = body.emit.offset(entity, start)
            body.emit.do(f"store {llvm} {_to_integer(data)}, ptr {pointer}")
        return
    table = arrays.constant_array(body, values.bytes.reshape(-1)).pointer
    value_set = _emit_offset(body, table, line, values.bytes[0].size)
    for start, offset in values.iter_offsets():
        target, source = body.emit.offset(entity, start), body.emit.offset(value_set, offset)
        if size in WORDS:
            value = body.emit.value(f"load {llvm}, ptr {source}, align 1")
            body.emit.do(f"store {llvm} {value}, ptr {target}")
        else:
            memory.emit_memcpy(body, target, source, size)


def fill_values(w: Any, count: int, number: int, values: FieldValues, is_zeroed: bool) -> None:
    """Write set number `number` of values, which is known, into the fields of the entities before
    `count`; only those other than 0 if `is_zeroed`."""


@emits(fill_values)
def _fill_values(
    body: Body, w: Record, count: Any, line: int, values: FieldValues, is_zeroed: bool
) -> None:
    """Emit code that writes line `line` of the table `values` into the fields of all entities below
    `count`. If `is_zeroed`, the fields are 0 already, and zeros are not written."""
    size, mixed_fields = values.bytes.shape[2], []  # fields whose bytes differ
    num_bytes = body.emit.value(f"mul i64 {arithmetic.to_int(body, count).operand}, {size}")
    for k, start in enumerate(values.starts):
        data = values.bytes[line, k]
        if (data != data[0]).any():
            mixed_fields.append(k)
        elif data[0] or not is_zeroed:
            pointer = body.emit.offset(w.pointer, start)
            memory.emit_memset(body, pointer, _to_integer(data[:1]), num_bytes)
    if mixed_fields:
        starts = tuple(values.starts[k] for k in mixed_fields)
        mixed = FieldValues(values.length, starts, values.bytes[:, mixed_fields])
        flow.emit_loop(body, count, lambda e: _copy_values(body, w, e, line, mixed))


def differ_from(w: Any, e: int, number: int, values: FieldValues) -> bool:
    """Return True if a field of an entity, each of one byte, has another value than in set number
    `number`."""
    raise NotImplementedError


@emits(differ_from)
def _differ_from(body: Body, w: Record, e: Any, line: Any, values: FieldValues) -> Scalar:
    """Emit code that compares the fields of entity `e` with line `line` of the table `values`.
    Return a flag, true if a field differs."""
    table = arrays.constant_array(body, values.bytes.reshape(-1)).pointer
    entity = _emit_offset(body, w.pointer, e, 1)
    value_set = _emit_offset(body, table, line, len(values.starts))
    different_bits = "0"
    for start, offset in values.iter_offsets():
        value = body.emit.value(f"load i8, ptr {body.emit.offset(entity, start)}")
        expected = body.emit.value(f"load i8, ptr {body.emit.offset(value_set, offset)}")
        difference = body.emit.value(f"xor i8 {value}, {expected}")
        different_bits = body.emit.value(f"or i8 {different_bits}, {difference}")
    return body.emit.condition(f"icmp ne i8 {different_bits}, 0")


def _emit_offset(body: Body, pointer: str, index: Any, size: int) -> str:
    """Emit the address `pointer` + `index` * `size`: of an element in an array whose elements have
    `size` bytes."""
    if isinstance(index, int):
        return body.emit.offset(pointer, index * size)
    offset = body.emit.value(f"mul i64 {arithmetic.to_int(body, index).operand}, {size}")
    return body.emit.offset(pointer, offset)


def _to_integer(data: NDArray[np.uint8]) -> int:
    return int.from_bytes(data.tobytes(), sys.byteorder, signed=True)
