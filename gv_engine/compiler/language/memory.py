"""Numbers and records in memory, and the arena, from which the temporary arrays of a step are
allocated."""

from __future__ import annotations

import ast
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.body import Body
from gv_engine.compiler.language.emitter import EMPTY_METADATA
from gv_engine.compiler.language.values import (
    HIGHEST,
    AnyValue,
    ArrayValue,
    FieldNames,
    Kind,
    Method,
    Record,
    RecordType,
    Scalar,
    Writer,
    kind_of_dtype,
)
from gv_engine.rules.errors import suggest_similar

ARENA_IS_FULL = "MemoryError: the arrays of a rule need more than the arena"
ALIGN = 16


def load_value(
    body: Body,
    pointer: str,
    dtype: np.dtype[Any],
    is_numpy: bool = False,
    is_constant: bool = False,
) -> Scalar:
    """Emit a load of a number; `is_constant` if nothing writes it while the program runs."""
    number = _load(body, pointer, dtype, is_constant)
    is_narrow = is_numpy and dtype.itemsize < 8 and number.kind is not Kind.BOOL
    return replace(number, narrow_dtype=dtype.name) if is_narrow else number


def _load(body: Body, pointer: str, dtype: np.dtype[Any], is_constant: bool) -> Scalar:
    """Emit a load of a number of `dtype` from the address `pointer`. `is_constant` promises that
    the number never changes."""
    kind, stored = kind_of_dtype(dtype), storage_type(dtype)
    metadata = f", !invariant.load {EMPTY_METADATA}" if is_constant else ""
    number = body.emit.value(f"load {stored}, ptr {pointer}{metadata}")
    if kind is Kind.BOOL:
        return Scalar(kind, body.emit.value(f"trunc i8 {number} to i1"), 0, 1)
    if kind is Kind.FLOAT:
        if stored == "float":
            number = body.emit.value(f"fpext float {number} to double")
        return Scalar(kind, number)
    if kind is Kind.UINT:
        return Scalar(kind, number)
    info = np.iinfo(dtype)
    if stored != "i64":
        extension = "sext" if dtype.kind == "i" else "zext"
        number = body.emit.value(f"{extension} {stored} {number} to i64")
    return Scalar(kind, number, int(info.min), int(info.max))


def store(body: Body, pointer: str, dtype: np.dtype[Any], value: AnyValue) -> None:
    """Emit a store of a number as `dtype` at the address `pointer`. With checks on, the program
    fails if the number does not fit."""
    kind, stored = kind_of_dtype(dtype), storage_type(dtype)
    if kind is Kind.BOOL:
        truth = arithmetic.to_number(body, arithmetic.emit_truth(body, value))
        operand = body.emit.value(f"zext i1 {truth.operand} to i8")
    elif kind is Kind.FLOAT:
        operand = arithmetic.to_kind(body, value, Kind.FLOAT).operand
        if stored == "float":
            operand = _to_float32(body, operand)
    else:
        number = arithmetic.to_number(body, value)
        number = number if number.kind is Kind.UINT else arithmetic.to_int(body, number)
        operand = number.operand
        require_fit(body, number, dtype)
        if stored != "i64":
            operand = body.emit.value(f"trunc i64 {operand} to {stored}")
    body.emit.do(f"store {stored} {operand}, ptr {pointer}")


def _to_float32(body: Body, operand: str) -> str:
    """Emit the conversion of a 64-bit float to 32 bits. With checks on, the program fails if a
    finite number becomes infinite."""
    converted = body.emit.value(f"fptrunc double {operand} to float")
    if body.is_checked:
        # x - x is nan if x is infinite or nan, else 0
        difference = body.emit.value(f"fsub float {converted}, {converted}")
        double_difference = body.emit.value(f"fsub double {operand}, {operand}")
        is_infinite = body.emit.condition(f"fcmp uno float {difference}, {difference}")
        pair = f"{double_difference}, {double_difference}"
        was_finite = body.emit.condition(f"fcmp ord double {pair}")
        overflows = arithmetic.emit_and(body, is_infinite, was_finite)
        body.fail_if(overflows, "FloatingPointError: overflow of a float32")
    return converted


def require_fit(body: Body, number: Scalar, dtype: np.dtype[Any]) -> None:
    """Emit code that fails if an integer is out of the range of `dtype`, such as 300 for uint8.
    Without checks, emit nothing."""
    info, error = np.iinfo(dtype), f"OverflowError: the number does not fit into {dtype}"
    low, high = int(info.min), int(info.max)
    if not body.is_checked or (number.kind, kind_of_dtype(dtype)) == (Kind.UINT, Kind.UINT):
        return
    if number.kind is Kind.UINT:  # also one with the highest bit, which an i64 takes as its sign
        is_above = body.emit.value(f"icmp ugt i64 {number.operand}, {high}")
        body.fail_if(Scalar(Kind.BOOL, is_above), error)
    elif number.low < low or number.high > high:
        is_above = arithmetic.emit_scalar_comparison(body, ast.Gt(), number, min(high, HIGHEST))
        is_below = arithmetic.emit_scalar_comparison(body, ast.Lt(), number, low)
        body.fail_if(arithmetic.emit_or(body, is_below, is_above), error)


def emit_memcpy(body: Body, target: str, source: str, size: int | str) -> None:
    """Emit a copy of `size` bytes between addresses; the bytes do not overlap."""
    arguments = f"ptr {target}", f"ptr {source}", f"i64 {size}", "i1 false"
    body.call_external("llvm.memcpy.p0.p0.i64", "void", *arguments)


def emit_memset(body: Body, target: str, byte: int, size: int | str) -> None:
    """Emit code that sets `size` bytes from an address on to one value."""
    arguments = f"ptr {target}", f"i8 {byte}", f"i64 {size}", "i1 false"
    body.call_external("llvm.memset.p0.i64", "void", *arguments)


def emit_prefetch(body: Body, pointer: str) -> None:
    """Emit a prefetch of the data at an address, which need not be valid."""
    is_write, locality, is_data = "i32 0", "i32 3", "i32 1"
    arguments = f"ptr {pointer}", is_write, locality, is_data
    body.call_external("llvm.prefetch.p0", "void", *arguments)


def read_field(body: Body, record: Record, name: str) -> AnyValue:
    """Emit code for `record.name` and return its value: a field is loaded, any other name is an
    attribute of the record's type."""
    fields = record.type.fields
    if name in fields:
        dtype, start = fields[name]
        return _read_field_at(body, record, name, start, dtype)
    if name not in record.type.attributes:
        near = suggest_similar(name, [*fields, *record.type.attributes])
        body.refuse(f"there is no {name!r} here{near}")
    value = record.type.attributes[name]
    if isinstance(value, FieldNames):
        return tuple(read_field(body, record, field) for field in value)
    return Method(record, value) if callable(value) else value


def _read_field_at(
    body: Body, record: Record, name: str, start: int, dtype: np.dtype[Any]
) -> AnyValue:
    """Emit a load of a field at the byte offset `start` of a record. Return its value; for an
    array, a view."""
    part, pointer = record.type.parts.get(name), body.emit.offset(record.pointer, start)
    if name in record.type.arrays:
        return _load_array(body, pointer, *record.type.arrays[name])
    if dtype.subdtype is not None:
        element_dtype, shape = dtype.subdtype
        strides = tuple(prod(shape[k + 1 :]) * element_dtype.itemsize for k in range(len(shape)))
        capacity = record.type.capacity
        if capacity is not None and shape[0] >= capacity:
            capacity = None
        write = record.type.writers.get(name)
        _, offset_in_outer = record.type.outer or (None, 0)
        return ArrayValue(
            pointer,
            shape,
            strides,
            element_dtype,
            is_writable=record.type.is_writable,
            record=part,
            capacity=capacity,
            is_numpy=False,
            writer=write and Writer(record, offset_in_outer, start, write),
            wraps=body.is_checked or record.type.wraps,
        )
    if dtype.names:
        if part is None:
            body.refuse(f"the record {name!r} has no type in compiled code")
        return Record(pointer, part)
    return load_value(body, pointer, dtype, is_constant=not record.type.is_writable)


def _load_array(
    body: Body,
    descriptor: str,
    element_shape: tuple[int, ...],
    dtype: np.dtype[Any],
    record: RecordType | None,
) -> ArrayValue:
    """Emit loads of an array's address and length, two int64 at the address `descriptor`, and
    return the array. Its elements have shape `element_shape`, and a `dtype` or `record` type."""
    int64 = np.dtype(np.int64)
    length_pointer = body.emit.offset(descriptor, int64.itemsize)
    address = load_value(body, descriptor, int64, is_constant=True)
    length = load_value(body, length_pointer, int64, is_constant=True)
    pointer = body.emit.value(f"inttoptr i64 {address.operand} to ptr")
    shape: tuple[int | Scalar, ...] = (replace(length, low=0), *element_shape)
    strides = tuple(prod(element_shape[k:]) * dtype.itemsize for k in range(len(shape)))
    return ArrayValue(pointer, shape, strides, dtype, record=record, is_numpy=False)


def write_field(body: Body, record: Record, name: str, value: AnyValue) -> None:
    """Emit a store of a number into the field `name` of a record. Raise an error for a field that
    is an array or record."""
    fields = record.type.fields
    if name not in fields or fields[name][0].names or fields[name][0].subdtype:
        body.refuse(f"{name!r} cannot be assigned here")
    dtype, start = fields[name]
    store(body, body.emit.offset(record.pointer, start), dtype, value)


def allocate(body: Body, size: Scalar) -> str:
    """Emit the allocation of `size` bytes and return their address. They lie in scratch memory, the
    arena, which each run reuses; it begins with two integers: bytes in use, and all bytes."""
    used = body.emit.value("load i64, ptr %arena")
    pointer = body.emit.value(f"getelementptr i8, ptr %arena, i64 {used}")
    capacity_pointer = body.emit.value("getelementptr i8, ptr %arena, i64 8")
    capacity = body.emit.value(f"load i64, ptr {capacity_pointer}")
    available = body.emit.value(f"sub i64 {capacity}, {used}")
    aligned = body.emit.value(f"add i64 {size.operand}, {ALIGN - 1}")
    aligned = body.emit.value(f"and i64 {aligned}, {-ALIGN}")
    body.fail_if(body.emit.condition(f"icmp ugt i64 {aligned}, {available}"), ARENA_IS_FULL)
    new_used = body.emit.value(f"add i64 {used}, {aligned}")
    body.emit.do(f"store i64 {new_used}, ptr %arena")
    body.uses_arena = True
    return pointer


def storage_type(dtype: np.dtype[Any]) -> str:
    """Return the LLVM type of a number in memory."""
    if dtype.kind == "f":
        return "double" if dtype.itemsize == 8 else "float"
    return f"i{8 * dtype.itemsize}"
