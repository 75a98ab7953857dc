"""Values of many component fields at once, such as those of a new object: in the compiled language
a loop over the fields would be unrolled, and take most of the time that programs compile."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.language import arithmetic, arrays, flow, memory
from gv_engine.compiler.language.body import Body, emits
from gv_engine.compiler.language.values import Kind, Record, RecordType, Scalar

Table = tuple[str, str, NDArray[Any]]
"""Component, field, and the field's value by number of a set of values."""
WORDS = (1, 2, 4, 8)
"""Sizes of integers, in bytes."""


@dataclass(frozen=True, eq=False)
class FieldValues:
    """Values of fields whose columns have one length and one size of elements, by number of a set
    of values.

    Attributes:
        length: number of entities in the columns.
        starts: place of each column in a row, in bytes.
        bytes: (sets, fields, size) uint8, the values in memory.
    """

    length: int
    starts: tuple[int, ...]
    bytes: NDArray[np.uint8]

    def places(self) -> Iterator[tuple[int, int]]:
        """Yield the place of each column in a row, and that of its value in a set of values."""
        size = self.bytes.shape[2]
        return zip(self.starts, range(0, size * len(self.starts), size))


def group_fields(row: RecordType, tables: Iterable[Table]) -> tuple[FieldValues, ...]:
    """Return the values of fields of a row's columns, grouped by length and size."""
    groups: dict[tuple[int, int], list[tuple[int, NDArray[np.uint8]]]] = {}
    for column, field, table in tables:
        columns, start = row.fields[column]
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


def copy_values(w: Any, e: int, number: int, values: FieldValues) -> None:
    """Write set number `number` of values into the fields of an entity."""


@emits(copy_values)
def _copy_values(body: Body, w: Record, e: Any, number: Any, values: FieldValues) -> None:
    size = values.bytes.shape[2]
    entity, word = _offset_of(body, w.pointer, e, size), f"i{8 * size}"
    if isinstance(number, int) and size in WORDS:
        for start, data in zip(values.starts, values.bytes[number]):
            body.emit.do(f"store {word} {_word(data)}, ptr {body.emit.offset(entity, start)}")
        return
    table = arrays.constant_array(body, values.bytes.reshape(-1)).pointer
    source = _offset_of(body, table, number, values.bytes[0].size)
    for start, offset in values.places():
        target, place = body.emit.offset(entity, start), body.emit.offset(source, offset)
        if size in WORDS:
            value = body.emit.value(f"load {word}, ptr {place}, align 1")
            body.emit.do(f"store {word} {value}, ptr {target}")
        else:
            memory.emit_memcpy(body, target, place, size)


def fill_values(w: Any, count: int, number: int, values: FieldValues, is_zeroed: bool) -> None:
    """Write set number `number` of values, which is known, into the fields of the entities before
    `count`; only those other than 0 if `is_zeroed`."""


@emits(fill_values)
def _fill_values(
    body: Body, w: Record, count: Any, number: int, values: FieldValues, is_zeroed: bool
) -> None:
    size, mixed = values.bytes.shape[2], []
    whole = body.emit.value(f"mul i64 {arithmetic.to_int(body, count).operand}, {size}")
    for k, start in enumerate(values.starts):
        data = values.bytes[number, k]
        if (data != data[0]).any():
            mixed.append(k)
        elif data[0] or not is_zeroed:
            memory.emit_memset(body, body.emit.offset(w.pointer, start), _word(data[:1]), whole)
    if mixed:
        starts = tuple(values.starts[k] for k in mixed)
        part = FieldValues(values.length, starts, values.bytes[:, mixed])
        flow.emit_loop(body, count, lambda e: _copy_values(body, w, e, number, part))


def differ_from(w: Any, e: int, number: int, values: FieldValues) -> bool:
    """Return True if a field of an entity, each of one byte, has another value than in set number
    `number`."""
    raise NotImplementedError


@emits(differ_from)
def _differ_from(body: Body, w: Record, e: Any, number: Any, values: FieldValues) -> Scalar:
    get, found = body.emit.value, "0"
    table = arrays.constant_array(body, values.bytes.reshape(-1)).pointer
    entity, source = (
        _offset_of(body, w.pointer, e, 1),
        _offset_of(body, table, number, len(values.starts)),
    )
    for start, offset in values.places():
        is_value, should = (
            get(f"load i8, ptr {body.emit.offset(*each)}")
            for each in ((entity, start), (source, offset))
        )
        found = get(f"or i8 {found}, {get(f'xor i8 {is_value}, {should}')}")
    return Scalar(Kind.BOOL, get(f"icmp ne i8 {found}, 0"), 0, 1)


def _offset_of(body: Body, pointer: str, index: Any, size: int) -> str:
    """Return the address of the element with an index behind another address."""
    if isinstance(index, int):
        return body.emit.offset(pointer, index * size)
    return body.emit.offset(
        pointer, body.emit.value(f"mul i64 {arithmetic.to_int(body, index).operand}, {size}")
    )


def _word(data: NDArray[np.uint8]) -> int:
    return int.from_bytes(data.tobytes(), sys.byteorder, signed=True)
