"""Functions that only the engine's own compiled code calls, for operations that Python cannot
express."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gv_engine.compiler.language import arithmetic, arrays, flow, memory
from gv_engine.compiler.language.body import ARENA_HEAD, BLAME, Body, emits
from gv_engine.compiler.language.values import (
    AnyValue,
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
def _without_writer(body: Body, array: AnyValue) -> AnyValue:
    return replace(array, writer=None) if isinstance(array, ArrayValue) else array


def attempt(function: Callable[..., Any], *values: Any) -> int:
    """Call a function; return the code of the error that it ends with, or 0."""
    raise NotImplementedError


@emits(attempt)
def _attempt(body: Body, function: Callable[..., Any], *values: AnyValue) -> AnyValue:
    """Emit code for `attempt(function, *values)`: call the function and return its error code, 0
    for success. Its error does not end the caller."""
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
    source = body.emit.offset("%arena", BLAME)
    memory.emit_memcpy(body, record.pointer, source, ARENA_HEAD - BLAME)


def call_marked(mark: int, function: Callable[..., Any], *values: Any) -> Any:
    """Return `function(*values)`. If it fails, the caller fails with the same error, and `mark` is
    stored in the arena's head, unless a call inside has stored its own. Where loops are guarded, it
    is stored there while the call runs, so that it is known if a loop does not end."""


@emits(call_marked)
def _call_marked(
    body: Body, mark: int, function: Callable[..., Any], *values: AnyValue
) -> AnyValue:
    """Emit a call of a rule's function and return its result. If it fails, `mark`, the number of
    the rule, is stored first, so that the error can name it."""
    if body.library.get(function) is not None:
        return body.call_function(function, *values)
    pointer = body.emit.offset("%arena", BLAME)
    if body.module.guards_loops:
        outer_mark = body.emit.value(f"load i64, ptr {pointer}")
        body.emit.do(f"store i64 {mark}, ptr {pointer}")
        result = body.call_function(function, *values)
        body.emit.do(f"store i64 {outer_mark}, ptr {pointer}")
        return result
    result, code = body.call_with_code(function, *values)

    def emit_mark() -> None:
        inner_mark = body.emit.value(f"load i64, ptr {pointer}")
        has_none = body.emit.value(f"icmp eq i64 {inner_mark}, 0")
        new_mark = body.emit.value(f"select i1 {has_none}, i64 {mark}, i64 {inner_mark}")
        body.emit.do(f"store i64 {new_mark}, ptr {pointer}")

    if code is not None:
        body.propagate_failure(code, emit_mark)
    return result


def call_or_zeros(condition: bool, function: Callable[..., Any], *values: Any) -> Any:
    """Return `function(*values)` if a condition is true; else do not call it, and return zeros in
    place of its numbers."""


@emits(call_or_zeros)
def _call_or_zeros(
    body: Body, condition: AnyValue, function: Callable[..., Any], *values: AnyValue
) -> AnyValue:
    """Emit a call of `function` that is skipped unless `condition` holds. Return its result, or
    zeros of the same types."""
    result: Any = None

    def emit_call() -> Any:
        nonlocal result
        result = body.call_function(function, *values)
        return result

    def make_zeros() -> Any:
        return rebuild(result, (_ZEROS[leaf.llvm] for leaf in leaves(result)))

    test = arithmetic.emit_truth(body, condition)
    return flow.emit_conditional(body, test, emit_call, make_zeros)


def tabulate(count: int, function: Callable[..., Any], *values: Any) -> list[Any]:
    """Return `[function(k, *values) for k in range(count)]`; the results may be nested tuples of
    numbers, which a comprehension does not take in compiled code."""
    raise NotImplementedError


@emits(tabulate)
def _tabulate(body: Body, count: int, function: Callable[..., Any], *values: AnyValue) -> AnyValue:
    """Emit a loop that calls `function(k, *values)` for k from 0 to `count` - 1; return the results
    as an array."""
    version, _ = body.find_version(function, Scalar(Kind.INT, "0"), *values)
    dtypes = [_KINDS[leaf.llvm].dtype for leaf in leaves(version.result)]
    columns = tuple(arrays.allocate_array(body, count, dtype) for dtype in dtypes)

    def emit_item(k: Scalar) -> None:
        result = body.call_function(function, k, *values)
        for column, leaf in zip(columns, leaves(result)):
            value = Scalar(_KINDS[leaf.llvm], leaf.operand)
            pointer = arrays.element_address(body, column, (k,), is_inside=True)
            memory.store(body, pointer, column.dtype, value)

    flow.emit_loop(body, count, emit_item)
    return ListValue(columns, version.result)


def copy_constant(record: Any, start: int, values: Any) -> None:
    """Copy a known array of bytes into a record, from an offset on."""


@emits(copy_constant)
def _copy_constant(body: Body, record: Record, start: int, values: AnyValue) -> None:
    source, target = arrays.constant_array(body, values), body.emit.offset(record.pointer, start)
    memory.emit_memcpy(body, target, source.pointer, len(values))


def zero_bytes(record: Any, start: int) -> None:
    """Set all bytes of a record from an offset on to zero."""


@emits(zero_bytes)
def _zero_bytes(body: Body, record: Record, start: int) -> None:
    target, size = body.emit.offset(record.pointer, start), record.type.dtype.itemsize - start
    memory.emit_memset(body, target, 0, size)


def set_bits(word: Any, first: int) -> list[int]:
    """Return the indices of the bits that are set in a uint64, with `first` for the lowest bit."""
    return [first + k for k in range(64) if int(word) >> k & 1]


@emits(set_bits)
def _set_bits(body: Body, word: AnyValue, first: AnyValue) -> Iterated:
    """Return the indices of the bits of a 64-bit integer that are 1, as items of a `for` loop:
    0b101 gives `first` and `first` + 2."""
    remaining_bits = body.emit.alloca("i64")
    body.emit.do(f"store i64 {arithmetic.to_number(body, word).operand}, ptr {remaining_bits}")

    def emit_lowest_bit(_: Scalar) -> Any:
        bits = body.emit.value(f"load i64, ptr {remaining_bits}")
        lowest = body.call_external("llvm.cttz.i64", "i64", f"i64 {bits}", "i1 true")
        less_one = body.emit.value(f"sub i64 {bits}, 1")
        without_lowest = body.emit.value(f"and i64 {bits}, {less_one}")
        body.emit.do(f"store i64 {without_lowest}, ptr {remaining_bits}")
        return arithmetic.emit_arithmetic(body, ast.Add(), first, Scalar(Kind.INT, lowest, 0, 63))

    return Iterated(body.call_function(count_bits, word), emit_lowest_bit)


def prefetch(array: Any, *indices: int) -> None:
    """Fetch the memory of an element into the cache, inside of the array or not."""


@emits(prefetch)
def _prefetch(body: Body, array: ArrayValue, *indices: AnyValue) -> None:
    memory.emit_prefetch(body, arrays.element_address(body, array, indices, is_inside=True))


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
