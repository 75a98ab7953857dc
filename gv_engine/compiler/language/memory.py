"""Numbers and records in memory, and the arena."""

from __future__ import annotations

import ast
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.body import Body
from gv_engine.compiler.language.emitter import NOTHING_MORE
from gv_engine.compiler.language.values import (
    HIGHEST,
    ArrayValue,
    Kind,
    Method,
    Record,
    RecordType,
    Scalar,
    Writer,
    kind_of_dtype,
)
from gv_engine.rules.errors import suggest_similar

ARENA = "MemoryError: the arrays of a rule need more than the arena"
ALIGN = 16


def load_value(
    body: Body,
    pointer: str,
    dtype: np.dtype[Any],
    is_numpy: bool = False,
    is_constant: bool = False,
) -> Scalar:
    """Return the number at an address; `is_constant` if nothing writes it during the run."""
    number = _load(body, pointer, dtype, is_constant)
    is_narrow = is_numpy and dtype.itemsize < 8 and number.kind is not Kind.BOOL
    return replace(number, narrow=dtype.name) if is_narrow else number


def _load(body: Body, pointer: str, dtype: np.dtype[Any], is_constant: bool) -> Scalar:
    kind, stored = kind_of_dtype(dtype), storage(dtype)
    mark = f", !invariant.load {NOTHING_MORE}" if is_constant else ""
    text = body.emit.get(f"load {stored}, ptr {pointer}{mark}")
    if kind is Kind.BOOL:
        return Scalar(kind, body.emit.get(f"trunc i8 {text} to i1"), 0, 1)
    if kind is Kind.FLOAT:
        widened = text if stored == "double" else body.emit.get(f"fpext float {text} to double")
        return Scalar(kind, widened)
    if kind is Kind.UINT:
        return Scalar(kind, text)
    info = np.iinfo(dtype)
    if stored != "i64":
        text = body.emit.get(f"{'sext' if dtype.kind == 'i' else 'zext'} {stored} {text} to i64")
    return Scalar(kind, text, int(info.min), int(info.max))


def store(body: Body, pointer: str, dtype: np.dtype[Any], value: Any) -> None:
    """Write a number to an address; fail if it does not fit."""
    kind, stored = kind_of_dtype(dtype), storage(dtype)
    if kind is Kind.BOOL:
        text = body.emit.get(
            f"zext i1 {arithmetic.to_number(body, arithmetic.truth(body, value)).text} to i8"
        )
    elif kind is Kind.FLOAT:
        text = arithmetic.convert(body, value, Kind.FLOAT).text
        if stored == "float":
            text = _to_float32(body, text)
    else:
        number = arithmetic.to_number(body, value)
        number = number if number.kind is Kind.UINT else arithmetic.to_int(body, number)
        text = number.text
        require_fit(body, number, dtype)
        if stored != "i64":
            text = body.emit.get(f"trunc i64 {text} to {stored}")
    body.emit.do(f"store {stored} {text}, ptr {pointer}")


def _to_float32(body: Body, text: str) -> str:
    """Return a double as a float; fail if only an infinite one is near it."""
    short = body.emit.get(f"fptrunc double {text} to float")
    if body.is_checked:
        far = body.emit.get(f"fsub float {short}, {short}")  # nan of infinite ones
        near = body.emit.get(f"fsub double {text}, {text}")
        texts = f"fcmp uno float {far}, {far}", f"fcmp ord double {near}, {near}"
        lost, finite = (body.emit.test(each) for each in texts)
        body.fail_if(
            arithmetic.both(body, lost, finite), "FloatingPointError: overflow of a float32"
        )
    return short


def require_fit(body: Body, number: Scalar, dtype: np.dtype[Any]) -> None:
    """Fail if an integer is not one of a dtype."""
    info, error = np.iinfo(dtype), f"OverflowError: the number does not fit into {dtype}"
    low, high = int(info.min), int(info.max)
    if not body.is_checked or (number.kind, kind_of_dtype(dtype)) == (Kind.UINT, Kind.UINT):
        return
    if number.kind is Kind.UINT:  # also one with the highest bit, which an i64 takes as its sign
        above = body.emit.get(f"icmp ugt i64 {number.text}, {high}")
        body.fail_if(Scalar(Kind.BOOL, above), error)
    elif number.low < low or number.high > high:
        above = arithmetic.emit_scalar_comparison(body, ast.Gt(), number, min(high, HIGHEST))
        body.fail_if(
            arithmetic.either(
                body, arithmetic.emit_scalar_comparison(body, ast.Lt(), number, low), above
            ),
            error,
        )


def emit_copy(body: Body, target: str, source: str, size: int | str) -> None:
    """Copy bytes between addresses that do not overlap."""
    parts = f"ptr {target}", f"ptr {source}", f"i64 {size}", "i1 false"
    body.call_external("llvm.memcpy.p0.p0.i64", "void", *parts)


def fill_bytes(body: Body, target: str, byte: int, size: int | str) -> None:
    """Set bytes from an address on to one value."""
    parts = f"ptr {target}", f"i8 {byte}", f"i64 {size}", "i1 false"
    body.call_external("llvm.memset.p0.i64", "void", *parts)


def emit_prefetch(body: Body, place: str) -> None:
    """Fetch memory into the cache, there or not."""
    body.call_external("llvm.prefetch.p0", "void", f"ptr {place}", "i32 0", "i32 3", "i32 1")


def read_field(body: Body, record: Record, name: str) -> Any:
    """Return a field of a record, or an attribute of its type."""
    fields = record.type.fields
    if name in fields:
        dtype, start = fields[name]
        return _field(body, record, name, start, dtype)
    if name not in record.type.attributes:
        near = suggest_similar(name, [*fields, *record.type.attributes])
        body.refuse(f"there is no {name!r} here{near}")
    value = record.type.attributes[name]
    return Method(record, value) if callable(value) else value


def _field(body: Body, record: Record, name: str, start: int, dtype: np.dtype[Any]) -> Any:
    """Return the field at an offset in a record."""
    part, pointer = record.type.parts.get(name), body.emit.offset(record.pointer, start)
    if name in record.type.arrays:
        return _array_at(body, pointer, *record.type.arrays[name])
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        strides = tuple(prod(shape[k + 1 :]) * base.itemsize for k in range(len(shape)))
        capacity = record.type.capacity
        capacity = capacity if capacity is not None and shape[0] < capacity else None
        shared = record.type.is_writable, part
        function, (_, back) = record.type.writers.get(name), record.type.outer or (None, 0)
        writer = function and Writer(record, back, start, function)
        wraps = body.is_checked or record.type.wraps
        return ArrayValue(
            *(pointer, shape, strides, base, *shared),
            capacity=capacity,
            is_numpy=False,
            writer=writer,
            wraps=wraps,
        )
    if dtype.names:
        if part is None:
            body.refuse(f"the record {name!r} has no type in compiled code")
        return Record(pointer, part)
    return load_value(body, pointer, dtype, is_constant=not record.type.is_writable)


def _array_at(
    body: Body,
    place: str,
    inner: tuple[int, ...],
    dtype: np.dtype[Any],
    part: RecordType | None,
) -> ArrayValue:
    """Return the array whose address and length stand at a place."""
    word = np.dtype(np.int64)
    address, length = (
        load_value(body, each, word, is_constant=True)
        for each in (place, body.emit.offset(place, 8))
    )
    pointer = body.emit.get(f"inttoptr i64 {address.text} to ptr")
    shape: tuple[int | Scalar, ...] = (replace(length, low=0), *inner)
    strides = tuple(prod(inner[k:]) * dtype.itemsize for k in range(len(shape)))
    return ArrayValue(pointer, shape, strides, dtype, record=part, is_numpy=False)


def write_field(body: Body, record: Record, name: str, value: Any) -> None:
    """Write a number into a field of a record."""
    fields = record.type.fields
    if name not in fields or fields[name][0].names or fields[name][0].subdtype:
        body.refuse(f"{name!r} cannot be assigned here")
    dtype, start = fields[name]
    store(body, body.emit.offset(record.pointer, start), dtype, value)


def allocate(body: Body, size: Scalar) -> str:
    """Return the address of new memory in the arena: its used and its whole size, then data."""
    used = body.emit.get("load i64, ptr %arena")
    place = body.emit.get(f"getelementptr i8, ptr %arena, i64 {used}")
    limit = body.emit.get("getelementptr i8, ptr %arena, i64 8")
    most = body.emit.get(f"load i64, ptr {limit}")
    left = body.emit.get(f"sub i64 {most}, {used}")
    rounded = body.emit.get(f"add i64 {size.text}, {ALIGN - 1}")
    rounded = body.emit.get(f"and i64 {rounded}, {-ALIGN}")
    body.fail_if(body.emit.test(f"icmp ugt i64 {rounded}, {left}"), ARENA)
    after = body.emit.get(f"add i64 {used}, {rounded}")
    body.emit.do(f"store i64 {after}, ptr %arena")
    body.has_arrays = True
    return place


def storage(dtype: np.dtype[Any]) -> str:
    """Return the LLVM type of a number in memory."""
    if dtype.kind == "f":
        return "double" if dtype.itemsize == 8 else "float"
    return f"i{8 * dtype.itemsize}"
