"""Arrays in compiled code: views, elements, copies, and allocation in the arena (the memory of one
step)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic, flow, memory
from gv_engine.compiler.language.body import LIBRARY, Body
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.values import (
    AnyValue,
    ArrayValue,
    Kind,
    ListValue,
    Method,
    Record,
    Scalar,
    array_of,
    bounds_of,
    describe,
    is_number,
    kind_of,
)

OUT_OF_RANGE = "IndexError: index {{0}} is out of bounds for axis {} with size {}"
ARRAY_INDEX = "an array is no index in compiled code, unless it marks elements of another"

ARRAY_METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of arrays, by name; filled by the library."""


def add_methods(**methods: Callable[..., Any]) -> None:
    """Add functions that emit the code of methods of arrays."""
    ARRAY_METHODS.update(methods)
    LIBRARY.update((emit, emit) for emit in methods.values())


def store_element(body: Body, array: ArrayValue, pointer: str, value: AnyValue) -> None:
    """Emit a store of the number `value` into the element of an array at the address `pointer`. If
    the array has a writer function, call that instead."""
    writer = array.writer
    if writer is None:
        memory.store(body, pointer, array.dtype, value)
        return
    outer_pointer = body.emit.offset(writer.record.pointer, -writer.offset_in_outer)
    outer_type, _ = writer.record.type.outer or (writer.record.type, 0)
    # the writer gets an index: back from the address of the element
    start_address = body.emit.value(f"ptrtoint ptr {outer_pointer} to i64")
    address = body.emit.value(f"ptrtoint ptr {pointer} to i64")
    offset = body.emit.value(f"sub i64 {address}, {start_address}")
    offset = body.emit.value(f"sub i64 {offset}, {writer.offset_in_outer + writer.start}")
    index = body.emit.value(f"sdiv exact i64 {offset}, {array.dtype.itemsize}")
    record = Record(outer_pointer, outer_type)
    body.call_function(writer.function, record, Scalar(Kind.INT, index, 0), value)


def constant_array(body: Body, values: np.ndarray[Any, Any]) -> ArrayValue:
    """Store a NumPy array in the constant memory of the module, and return it as a compile-time
    array value."""
    is_broadcast = not any(values.strides)  # one number in memory stands for all
    if not is_broadcast:
        values = np.ascontiguousarray(values)
    pointer = body.module.array(values.reshape(-1)[:1] if is_broadcast else values)
    return ArrayValue(
        pointer,
        values.shape,
        values.strides,
        values.dtype,
        is_writable=False,
        is_contiguous=values.flags.c_contiguous,
    )


def to_mutable(body: Body, value: AnyValue) -> ArrayValue | ListValue:
    """Return `value` if it is an array or list in memory, which a rule can change; raise an error
    for anything else."""
    if isinstance(value, np.ndarray):
        return constant_array(body, value)
    if not isinstance(array_of(value), ArrayValue):
        body.refuse(f"{describe(value)} cannot be changed in compiled code")
    return value  # type: ignore[no-any-return]


def normalize_index(
    body: Body, index: Scalar, length: int | Scalar, is_inside: bool = False, axis: int = 0
) -> Scalar:
    """Emit code that turns a Python index into one from 0 on: -1 becomes `length` - 1. With checks
    on, the program fails if it is out of bounds. `is_inside` promises that it is neither negative
    nor out of bounds. `axis` is for the error message."""
    size, given_index = arithmetic.to_int(body, length), index
    if index.low < 0 and not is_inside:
        comparison = arithmetic.emit_scalar_comparison(body, ast.Lt(), index, 0)
        from_end = body.emit.value(f"add i64 {index.operand}, {size.operand}")
        is_negative = arithmetic.to_number(body, comparison)
        operands = f"i64 {from_end}, i64 {index.operand}"
        index = Scalar(Kind.INT, body.emit.value(f"select i1 {is_negative.operand}, {operands}"))
    is_always_inside = is_inside or (index.low >= 0 and index.high < size.low)
    if body.is_checked and not is_always_inside:
        # unsigned, a negative index is larger than any size
        is_outside = body.emit.value(f"icmp uge i64 {index.operand}, {size.operand}")
        error = OUT_OF_RANGE.format(axis, length if isinstance(length, int) else "{1}")
        body.fail_if(Scalar(Kind.BOOL, is_outside), error, given_index, size)
    return Scalar(Kind.INT, index.operand, max(index.low, 0), index.high)


def make_view(
    body: Body, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
) -> ArrayValue:
    """Emit code for `array[indices]` that copies nothing: return the selected part of the array as
    a view. An index for each axis gives a view of shape ()."""
    if len(indices) > len(array.shape):
        body.refuse(f"found {len(indices)} indices for {len(array.shape)} axes")
    pointer, shape, strides = array.pointer, [], []
    # a slice leaves gaps, unless it is of the last axis that is indexed
    has_gaps = any(isinstance(index, slice) for index in indices[:-1])
    for axis, (length, stride) in enumerate(zip(array.shape, array.strides)):
        index = indices[axis] if axis < len(indices) else slice(None)
        if is_number(index) and kind_of(index) is Kind.BOOL:
            body.refuse("a truth value is no index of an array: write int(...)")
        start: int | Scalar
        if isinstance(index, slice):
            start, length, step = _resolve_slice(body, index, length)
            shape.append(length)
            product = _multiply_sizes(body, stride, step)
            strides.append(product if isinstance(product, int) else Scalar(Kind.INT, product))
            has_gaps |= step != 1
        elif array.capacity is not None and axis == 0:
            start = _normalize_stored_index(body, index, length, array.capacity, array.wraps)
        elif isinstance(index, int) and isinstance(length, int) and -length <= index < length:
            start = index % length
        else:
            number, is_promised = arithmetic.to_int(body, index), is_inside or not array.wraps
            start = normalize_index(body, number, length, is_promised, axis)
        pointer = body.emit.offset(pointer, _multiply_sizes(body, start, stride))
    return replace(
        array,
        pointer=pointer,
        shape=tuple(shape),
        strides=tuple(strides),
        capacity=None,
        is_contiguous=array.is_contiguous and not has_gaps,
        wraps=array.wraps or len(indices) > 0,
    )


def element_address(
    body: Body, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
) -> str:
    """Emit the address of an element of an array, for an index of each axis."""
    return make_view(body, array, indices, is_inside).pointer


def _normalize_stored_index(
    body: Body, index: AnyValue, length: int | Scalar, capacity: int, wraps: bool
) -> Scalar:
    """Emit the conversion of an index to one that counts from 0; to 0 beyond the end of the array,
    which seems to be as long as `capacity`."""
    number = normalize_index(body, arithmetic.to_int(body, index), capacity, not wraps)
    is_stored = arithmetic.emit_scalar_comparison(body, ast.Lt(), number, length)
    return arithmetic.emit_select(body, is_stored, number, 0)  # type: ignore[no-any-return]


def _multiply_sizes(body: Body, a: int | Scalar, b: int | Scalar) -> int | str:
    """Emit the product of two sizes in bytes or elements. Return an int if both are constants, else
    an LLVM name."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    x, y = arithmetic.to_int(body, a), arithmetic.to_int(body, b)
    return x.operand if b == 1 else body.emit.value(f"mul i64 {x.operand}, {y.operand}")


def load_element(
    body: Body, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
) -> AnyValue:
    """Emit code for `array[indices]`: return the element's value, or a view if there are fewer
    indices than axes. `is_inside` promises that all are in bounds."""
    view = make_view(body, array, indices, is_inside)
    if view.shape:
        return view
    if array.record is not None:
        return Record(view.pointer, array.record)
    is_constant = not array.is_writable
    return memory.load_value(body, view.pointer, array.dtype, array.is_numpy, is_constant)


def read_array(body: Body, array: ArrayValue, index: AnyValue, is_inside: bool = False) -> AnyValue:
    """Emit code for `array[index]`; return the value. The index is an integer, a slice, a tuple of
    them, or a mask."""
    if isinstance(index, ArrayValue):
        return body.call_function(take_masked, *_check_mask(body, array, index))
    return load_element(body, array, index if isinstance(index, tuple) else (index,), is_inside)


def _resolve_slice(
    body: Body, index: slice, length: int | Scalar
) -> tuple[int | Scalar, int | Scalar, int]:
    """Emit code that computes what a slice selects of an axis with `length` items: return (start,
    number of items, step)."""
    step = 1 if index.step is None else index.step
    if not isinstance(step, int) or step == 0:
        body.refuse("the step of a slice is a number that is known while compiling, not 0")
    has_known_ends = isinstance(index.start, int | None) and isinstance(index.stop, int | None)
    if has_known_ends and isinstance(length, int):
        indices = range(length)[index]
        return indices.start, len(indices), step
    if step < 0:
        if index.start is not None or index.stop is not None:
            body.refuse("a slice with a negative step has no ends in compiled code")
        count = _divide_rounding_up(body, length, -step)
        return arithmetic.emit_arithmetic(body, ast.Sub(), length, 1), count, step
    start = _clip_slice_end(body, index.start, length, 0)
    stop = _clip_slice_end(body, index.stop, length, length)
    span = Scalar(Kind.INT, body.emit.value(f"sub i64 {stop.operand}, {start.operand}"))
    is_positive = arithmetic.emit_scalar_comparison(body, ast.Gt(), span, 0)
    span = arithmetic.emit_select(body, is_positive, span, constant(0))
    span = replace(span, low=0, high=bounds_of(length)[1])
    return start, span if step == 1 else _divide_rounding_up(body, span, step), step


def _divide_rounding_up(body: Body, a: int | Scalar, divisor: int) -> AnyValue:
    total = arithmetic.emit_arithmetic(body, ast.Add(), a, divisor - 1)
    return arithmetic.emit_arithmetic(body, ast.FloorDiv(), total, divisor)


def _clip_slice_end(
    body: Body, value: AnyValue, length: int | Scalar, default: int | Scalar
) -> Scalar:
    """Emit code that turns a slice's start or stop into an index from 0 to `length`: -1 becomes
    `length` - 1, and a number that is too large becomes `length`. `default` replaces None."""
    if value is None:
        return arithmetic.to_int(body, default)
    index, size = arithmetic.to_int(body, value), arithmetic.to_int(body, length)
    if index.low < 0:
        from_end = Scalar(Kind.INT, body.emit.value(f"add i64 {index.operand}, {size.operand}"))
        is_negative = arithmetic.emit_scalar_comparison(body, ast.Lt(), index, 0)
        index = arithmetic.emit_select(body, is_negative, from_end, index)
        is_before_start = arithmetic.emit_scalar_comparison(body, ast.Lt(), index, 0)
        index = arithmetic.emit_select(body, is_before_start, constant(0), index)
        index = replace(index, low=0)
    if index.high > size.low:
        is_beyond_end = arithmetic.emit_scalar_comparison(body, ast.Gt(), index, size)
        index = arithmetic.emit_select(body, is_beyond_end, size, index)
    return index


def write_array(body: Body, array: ArrayValue, index: AnyValue, value: AnyValue) -> None:
    """Emit code for `array[index] = value`, where `index` may also be a mask or a slice. The
    program fails for an array that rules must not change."""
    if not array.is_writable:
        body.fail_if(True, "ValueError: assignment destination is read-only")
        return
    if isinstance(index, ArrayValue):
        _fill_masked(body, array, index, value)
        return
    indices = index if isinstance(index, tuple) else (index,)
    if array.capacity is not None:
        entity = arithmetic.to_int(body, indices[0])
        entity = normalize_index(body, entity, array.capacity, not array.wraps)
        is_beyond = arithmetic.emit_scalar_comparison(body, ast.GtE(), entity, array.shape[0])
        body.fail_if(is_beyond, "IndexError: only the first entities can have this component")
    view = make_view(body, array, indices)
    if view.shape:
        fill(body, view, value)
        return
    store_element(body, array, view.pointer, value)


def _fill_masked(body: Body, array: ArrayValue, mask: ArrayValue, value: AnyValue) -> None:
    """Emit code for `array[mask] = value`: write the number `value` into each element where `mask`
    is True."""
    array, mask = _check_mask(body, array, mask)
    value = _to_element(body, array, value)

    def emit_masked_store(k: Scalar) -> None:
        is_marked = read_array(body, mask, k, is_inside=True)
        old_value = read_array(body, array, k, is_inside=True)
        pointer = element_address(body, array, (k,), is_inside=True)
        new_value = arithmetic.emit_select(body, is_marked, value, old_value)
        store_element(body, array, pointer, new_value)

    flow.emit_loop(body, array.shape[0], emit_masked_store)


def _check_mask(body: Body, array: ArrayValue, mask: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
    """Return `array` and the bool array `mask` in a form with one axis each. Raise an error if that
    is impossible; emit code that fails if their shapes differ."""
    if mask.dtype != np.bool_ or len(array.shape) != len(mask.shape):
        body.refuse(ARRAY_INDEX)
    for x, y in zip(array.shape, mask.shape):
        differs = arithmetic.emit_scalar_comparison(body, ast.NotEq(), x, y)
        body.fail_if(differs, "IndexError: boolean index did not match indexed array")
    return ravel(body, array), flatten(body, mask)


def ravel(body: Body, array: ArrayValue) -> ArrayValue:
    """Return a view of an array with a single axis; raise an error if the array has gaps in
    memory."""
    if len(array.shape) == 1:
        return array
    if not array.is_contiguous:
        body.refuse("this part of an array has gaps: loop over its rows")
    size = read_array_attribute(body, array, "size")
    return replace(array, shape=(size,), strides=(array.dtype.itemsize,))


def flatten(body: Body, array: ArrayValue) -> ArrayValue:
    """Return a view with one axis of an array, or of a copy if it is not contiguous."""
    if not array.is_contiguous and len(array.shape) > 1:
        array = copy_array(body, array)
    return ravel(body, array)


def fill(body: Body, array: ArrayValue, value: AnyValue) -> None:
    """Emit code that writes `value` into all elements of an array: a number, or the items of a
    tuple or of an array of the same shape."""
    value = constant_array(body, value) if isinstance(value, np.ndarray) else array_of(value)
    if isinstance(value, tuple | list) and array.shape[0] == len(value):
        for k, item in enumerate(value):
            write_array(body, array, k, item)
        return
    if not isinstance(value, ArrayValue):
        value = _to_element(body, array, value)
        if array.is_contiguous:  # one loop is faster
            array = ravel(body, array)
    elif len(value.shape) != len(array.shape):
        body.refuse("both arrays need the same number of axes")
    elif value.is_writable:  # they may overlap
        value = copy_array(body, value)
    if isinstance(value, ArrayValue):
        for a, b in zip(array.shape, value.shape):
            differs = arithmetic.emit_scalar_comparison(body, ast.NotEq(), a, b)
            body.fail_if(differs, "ValueError: the arrays differ in shape")
    _for_each_element(body, array, value, partial(store_element, body, array))


def copy_array(body: Body, array: ArrayValue) -> ArrayValue:
    """Emit code that copies an array into a new one; return the new array."""
    copied = allocate_array(body, array.shape, array.dtype, array.is_numpy)
    _for_each_element(
        body,
        copied,
        array,
        lambda pointer, number: memory.store(body, pointer, array.dtype, number),
    )
    return copied


def _to_element(body: Body, array: ArrayValue, value: AnyValue) -> Scalar:
    """Emit the conversion of a number to the dtype of an array. The program fails if it does not
    fit, even if the array is empty, as in NumPy."""
    if not is_number(value):
        body.refuse(f"found {describe(value)} in place of a number or an array")
    number = arithmetic.to_number(body, value)
    if array.dtype.kind in "iu" and number.kind in (Kind.INT, Kind.UINT):
        memory.require_fit(body, number, array.dtype)
    return number


def _for_each_element(
    body: Body, array: ArrayValue, value: AnyValue, emit_store: Callable[[str, Any], None]
) -> None:
    """Emit nested loops over the elements of an array. `emit_store(pointer, number)` emits the code
    for one element: its address, and the number for it, which is an element of `value` or `value`
    itself."""

    def emit_iteration(k: Scalar) -> None:
        row = read_array(body, array, k, is_inside=True) if len(array.shape) > 1 else None
        is_array = isinstance(value, ArrayValue)
        new_value = read_array(body, value, k, is_inside=True) if is_array else value
        if row is not None:
            _for_each_element(body, row, new_value, emit_store)
        else:
            emit_store(element_address(body, array, (k,), is_inside=True), new_value)

    flow.emit_loop(body, array.shape[0], emit_iteration)


def read_array_attribute(body: Body, array: ArrayValue, name: str) -> AnyValue:
    """Return the value of `array.name`: an attribute such as `shape`, or a method such as `sum` as
    a `Method`."""
    match name:
        case "shape":
            return array.shape
        case "ndim":
            return len(array.shape)
        case "dtype":
            return array.dtype
        case "size":
            size: Any = 1
            for length in array.shape:
                size = arithmetic.emit_arithmetic(body, ast.Mult(), size, length)
            return size
    if name in ARRAY_METHODS:
        return Method(array, ARRAY_METHODS[name])
    body.refuse(f"an array has no {name!r} in compiled code")


def allocate_array(
    body: Body, shape: AnyValue, dtype: np.dtype[Any], is_numpy: bool = True
) -> ArrayValue:
    """Emit the allocation of a new array, and return it; its elements are not initialized. It lies
    in scratch memory that each run of the program reuses. The dtype `object` stands for Python's
    integers."""
    if dtype == np.object_:
        dtype, is_numpy = np.dtype(np.int64), False
    lengths = shape if isinstance(shape, tuple | list) else (shape,)
    shape = tuple(int(x) if isinstance(x, np.integer) else x for x in lengths)
    strides: list[int | Scalar] = []
    size: Any = dtype.itemsize
    for length in reversed(shape):
        if isinstance(length, Scalar) and length.low < 0:
            negative = arithmetic.emit_scalar_comparison(body, ast.Lt(), length, 0)
            body.fail_if(negative, "ValueError: negative dimensions are not allowed")
        elif isinstance(length, int) and length < 0:
            body.refuse("negative dimensions are not allowed")
        strides.insert(0, size)
        size = arithmetic.emit_arithmetic(body, ast.Mult(), size, length)
    pointer = memory.allocate(body, arithmetic.to_int(body, size))
    return ArrayValue(pointer, shape, tuple(strides), dtype, is_numpy=is_numpy)


def take_masked(values: Any, mask: Any) -> Any:
    """Return `values[mask]`, the elements where the mask is True. This function is itself
    compiled."""
    taken = np.empty_like(values)
    count = 0
    for k in range(len(values)):
        if mask[k]:
            taken[count] = values[k]
            count += 1
    return taken[:count]
