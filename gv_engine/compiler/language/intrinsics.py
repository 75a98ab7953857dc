"""Functions that only compiled code of the engine calls, for what Python code cannot say."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gv_engine.compiler.language import arithmetic, arrays, flow, memory
from gv_engine.compiler.language.body import ARENA_HEAD, BLAME, Body, emits
from gv_engine.compiler.language.values import (
    ArrayValue,
    Iterated,
    Kind,
    ListValue,
    Record,
    RecordType,
    Scalar,
    leaves,
    rebuild,
)
from gv_engine.rules.geometry import count_bits

_KINDS = {kind.llvm: kind for kind in (Kind.BOOL, Kind.FLOAT, Kind.INT)}
_ZEROS = {"i1": "false", "double": "0.0", "i64": "0", "ptr": "null"}


def without_writer(array: Any) -> Any:
    """Return the same array for plain writes of elements, which `RecordType.writers` does not see:
    the caller keeps what depends on them up to date."""


@emits(without_writer)
def _without_writer(body: Body, array: Any) -> Any:
    return replace(array, writer=None) if isinstance(array, ArrayValue) else array


def attempt(function: Callable[..., Any], *values: Any) -> int:
    """Call a function; return the code of the error that it ends with, or 0."""
    raise NotImplementedError


@emits(attempt)
def _attempt(body: Body, function: Callable[..., Any], *values: Any) -> Any:
    body.emit.do(f"store i64 0, ptr {body.emit.offset('%arena', BLAME)}")
    used = body.emit.value("load i64, ptr %arena")
    _, code = body.call_with_code(function, *values)
    body.emit.do(f"store i64 {used}, ptr %arena")
    if code is None:
        return 0
    return Scalar(Kind.INT, body.emit.value(f"zext i32 {code} to i64"), 0, (1 << 32) - 1)


def save_failure(record: Any) -> None:
    """Copy the mark that `call_marked` has stored and the numbers of the last error into a record
    of them."""


@emits(save_failure)
def _save_failure(body: Body, record: Record) -> None:
    place = body.emit.offset("%arena", BLAME)
    memory.emit_memcpy(body, record.pointer, place, ARENA_HEAD - BLAME)


def call_marked(mark: int, function: Callable[..., Any], *values: Any) -> Any:
    """Return `function(*values)`. If it fails, the caller fails with the same error, and `mark` is
    stored in the arena's head, unless a call inside has stored its own. Where loops are guarded, it
    is stored there while the call runs, so that it is known if a loop does not end."""


@emits(call_marked)
def _call_marked(body: Body, mark: int, function: Callable[..., Any], *values: Any) -> Any:
    if body.library.get(function) is not None:
        return body.call_function(function, *values)
    place = body.emit.offset("%arena", BLAME)
    if body.module.guards_loops:
        outer = body.emit.value(f"load i64, ptr {place}")
        body.emit.do(f"store i64 {mark}, ptr {place}")
        result, code = body.call_with_code(function, *values)
        if code is not None:
            body.propagate_failure(code)
        body.emit.do(f"store i64 {outer}, ptr {place}")
        return result
    result, code = body.call_with_code(function, *values)

    def note() -> None:
        before = body.emit.value(f"load i64, ptr {place}")
        none = body.emit.value(f"icmp eq i64 {before}, 0")
        after = body.emit.value(f"select i1 {none}, i64 {mark}, i64 {before}")
        body.emit.do(f"store i64 {after}, ptr {place}")

    if code is not None:
        body.propagate_failure(code, note)
    return result


def call_or_zeros(condition: bool, function: Callable[..., Any], *values: Any) -> Any:
    """Return `function(*values)` if a condition is true; else do not call it, and return zeros in
    place of its numbers."""


@emits(call_or_zeros)
def _call_or_zeros(body: Body, condition: Any, function: Callable[..., Any], *values: Any) -> Any:
    found: list[Any] = []

    def call() -> Any:
        found.append(body.call_function(function, *values))
        return found[0]

    def zeros() -> Any:
        return rebuild(found[0], (_ZEROS[leaf.llvm] for leaf in leaves(found[0])))

    return flow.emit_conditional(body, arithmetic.emit_truth(body, condition), call, zeros)


def tabulate(count: int, function: Callable[..., Any], *values: Any) -> list[Any]:
    """Return `[function(k, *values) for k in range(count)]`; the results may be nested tuples of
    numbers, which a comprehension does not take in compiled code."""
    raise NotImplementedError


@emits(tabulate)
def _tabulate(body: Body, count: int, function: Callable[..., Any], *values: Any) -> Any:
    version, _ = body.find_version(function, Scalar(Kind.INT, "0"), *values)
    dtypes = [_KINDS[leaf.llvm].dtype for leaf in leaves(version.result)]
    columns = tuple(arrays.allocate_array(body, count, dtype) for dtype in dtypes)

    def fill(k: Scalar) -> None:
        result = body.call_function(function, k, *values)
        for column, leaf in zip(columns, leaves(result)):
            value = Scalar(_KINDS[leaf.llvm], leaf.operand)
            memory.store(
                body,
                arrays.element_address(body, column, (k,), is_inside=True),
                column.dtype,
                value,
            )

    flow.emit_loop(body, count, fill)
    return ListValue(columns, version.result)


def copy_constant(record: Any, start: int, values: Any) -> None:
    """Copy a known array of bytes into a record, from an offset on."""


@emits(copy_constant)
def _copy_constant(body: Body, record: Record, start: int, values: Any) -> None:
    source, place = arrays.constant_array(body, values), body.emit.offset(record.pointer, start)
    memory.emit_memcpy(body, place, source.pointer, len(values))


def zero_bytes(record: Any, start: int) -> None:
    """Set all bytes of a record from an offset on to zero."""


@emits(zero_bytes)
def _zero_bytes(body: Body, record: Record, start: int) -> None:
    place, size = body.emit.offset(record.pointer, start), record.type.dtype.itemsize - start
    memory.emit_memset(body, place, 0, size)


def set_bits(word: Any, first: int) -> list[int]:
    """Return the places of the bits that are set in a uint64, counted from `first` on."""
    return [first + k for k in range(64) if int(word) >> k & 1]


@emits(set_bits)
def _set_bits(body: Body, word: Any, first: Any) -> Iterated:
    left, get = body.emit.alloca("i64"), body.emit.value
    body.emit.do(f"store i64 {arithmetic.to_number(body, word).operand}, ptr {left}")

    def take_lowest(_: Scalar) -> Any:
        bits = get(f"load i64, ptr {left}")
        lowest = body.call_external("llvm.cttz.i64", "i64", f"i64 {bits}", "i1 true")
        less = get(f"sub i64 {bits}, 1")
        body.emit.do(f"store i64 {get(f'and i64 {bits}, {less}')}, ptr {left}")
        return arithmetic.emit_arithmetic(body, ast.Add(), first, Scalar(Kind.INT, lowest, 0, 63))

    return Iterated(body.call_function(count_bits, word), take_lowest)


def prefetch(array: Any, *indices: int) -> None:
    """Fetch the memory of an element into the cache, inside of the array or not."""


@emits(prefetch)
def _prefetch(body: Body, array: ArrayValue, *indices: Any) -> None:
    place = arrays.element_address(body, array, indices, is_inside=True)
    memory.emit_prefetch(body, place)


def new_record(kind: RecordType) -> Any:
    """Return a record on the stack, not initialized."""


@emits(new_record)
def _new_record(body: Body, kind: RecordType) -> Record:
    return Record(body.emit.alloca(f"[{kind.dtype.itemsize} x i8], align 64"), kind)


def prefetch_record(record: Any, start: int) -> None:
    """Fetch the memory at an offset in a record into the cache, there or not."""


@emits(prefetch_record)
def _prefetch_record(body: Body, record: Record, start: int) -> None:
    memory.emit_prefetch(body, body.emit.offset(record.pointer, start))
