"""Arrays in memory: parts, elements, copies, and new ones in the arena."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic, flow, memory
from gv_engine.compiler.language.body import LIBRARY, Body
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.values import (
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
MARKS = "an array is no index in compiled code, unless it marks elements of another"

ARRAY_METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of arrays, by name; filled by the library."""


def add_methods(**methods: Callable[..., Any]) -> None:
    """Add the code of methods of arrays."""
    ARRAY_METHODS.update(methods)
    LIBRARY.update((emit, emit) for emit in methods.values())


def put_element(body: Body, array: ArrayValue, pointer: str, value: Any) -> None:
    """Write a number into the element of an array at an address."""
    writer = array.writer
    if writer is None:
        memory.store(body, pointer, array.dtype, value)
        return
    outer = writer.record.type.outer
    record = Record(
        body.emit.offset(writer.record.pointer, -writer.back),
        outer[0] if outer else writer.record.type,
    )
    first, this = (
        body.emit.get(f"ptrtoint ptr {each} to i64") for each in (record.pointer, pointer)
    )
    place = body.emit.get(f"sub i64 {this}, {first}")
    place = body.emit.get(f"sub i64 {place}, {writer.back + writer.start}")
    place = body.emit.get(f"sdiv exact i64 {place}, {array.dtype.itemsize}")
    body.call_function(writer.function, record, Scalar(Kind.INT, place, 0), value)


def constant_array(body: Body, values: np.ndarray[Any, Any]) -> ArrayValue:
    """Return an array that is known while compiling as constant memory of the program."""
    if any(values.strides):  # not one number that stands for all
        values = np.ascontiguousarray(values)
    pointer = body.module.array(values if any(values.strides) else values.reshape(-1)[:1])
    contiguous = values.flags.c_contiguous
    parts = values.shape, values.strides, values.dtype, False
    return ArrayValue(pointer, *parts, is_contiguous=contiguous)


def to_changeable(body: Body, value: Any) -> ArrayValue | ListValue:
    """Return an array or a list of numbers, also for one that is known while compiling."""
    if isinstance(value, np.ndarray):
        return constant_array(body, value)
    if not isinstance(array_of(value), ArrayValue):
        body.refuse(f"{describe(value)} cannot be changed in compiled code")
    return value  # type: ignore[no-any-return]


def place_index(
    body: Body, index: Scalar, length: int | Scalar, is_inside: bool = False, axis: int = 0
) -> Scalar:
    """Return an index from 0 on for an index that may count from the end; fail if it is outside
    of an axis of the array."""
    size, given = arithmetic.to_int(body, length), index
    if index.low < 0 and not is_inside:
        negative = arithmetic.emit_scalar_comparison(body, ast.Lt(), index, 0)
        moved = body.emit.get(f"add i64 {index.text}, {size.text}")
        text = body.emit.get(
            f"select i1 {arithmetic.to_number(body, negative).text}, i64 {moved}, i64 {index.text}"
        )
        index = Scalar(Kind.INT, text)
    fits = index.low >= 0 and index.high < size.low
    if body.is_checked and not is_inside and not fits:
        outside = body.emit.get(f"icmp uge i64 {index.text}, {size.text}")
        text = OUT_OF_RANGE.format(axis, length if isinstance(length, int) else "{1}")
        body.fail_if(Scalar(Kind.BOOL, outside), text, given, size)
    return Scalar(Kind.INT, index.text, max(index.low, 0), index.high)


def part(
    body: Body, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
) -> ArrayValue:
    """Return the part of an array at indices and slices of its first axes."""
    if len(indices) > len(array.shape):
        body.refuse(f"found {len(indices)} indices for {len(array.shape)} axes")
    pointer, shape, strides = array.pointer, [], []
    # gaps are behind a slice of any axis but the last one that is indexed
    has_gaps = any(isinstance(index, slice) for index in indices[:-1])
    for k, (length, stride) in enumerate(zip(array.shape, array.strides)):
        value = indices[k] if k < len(indices) else slice(None)
        if is_number(value) and kind_of(value) is Kind.BOOL:
            body.refuse("a truth value is no index of an array: write int(...)")
        place: int | Scalar
        if isinstance(value, slice):
            place, length, step = _cut(body, value, length)
            shape.append(length)
            moved = _product(body, stride, step)
            strides.append(moved if isinstance(moved, int) else Scalar(Kind.INT, moved))
            has_gaps |= step != 1
        elif array.capacity is not None and k == 0:
            place = _place_stored(body, value, length, array.capacity, array.wraps)
        elif isinstance(value, int) and isinstance(length, int) and -length <= value < length:
            place = value % length
        else:
            is_within = is_inside or not array.wraps
            place = place_index(body, arithmetic.to_int(body, value), length, is_within, k)
        pointer = body.emit.offset(pointer, _product(body, place, stride))
    part = replace(array, pointer=pointer, shape=tuple(shape), strides=tuple(strides))
    contiguous = array.is_contiguous and not has_gaps
    wraps = array.wraps or len(indices) > 0
    return replace(part, capacity=None, is_contiguous=contiguous, wraps=wraps)


def element(
    body: Body, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
) -> str:
    """Return the address of an element of an array."""
    return part(body, array, indices, is_inside).pointer


def _place_stored(
    body: Body, index: Any, length: int | Scalar, capacity: int, wraps: bool
) -> Scalar:
    place = place_index(body, arithmetic.to_int(body, index), capacity, not wraps)
    stored = arithmetic.emit_scalar_comparison(body, ast.Lt(), place, length)
    return arithmetic.select(body, stored, place, 0)  # type: ignore[no-any-return]


def _product(body: Body, a: int | Scalar, b: int | Scalar) -> int | str:
    """Return the product of two sizes, without a test for overflow."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if b == 1:
        return arithmetic.to_int(body, a).text
    return body.emit.get(
        f"mul i64 {arithmetic.to_int(body, a).text}, {arithmetic.to_int(body, b).text}"
    )


def read_element(
    body: Body, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
) -> Any:
    """Return an element of an array, or the part at fewer indices than axes."""
    found = part(body, array, indices, is_inside)
    if found.shape:
        return found
    if array.record is not None:
        return Record(found.pointer, array.record)
    is_constant = not array.is_writable
    return memory.load_value(body, found.pointer, array.dtype, array.is_numpy, is_constant)


def read_array(body: Body, array: ArrayValue, index: Any, is_inside: bool = False) -> Any:
    """Return `array[index]`; an index is an integer, a slice, or a tuple of them, or an array
    that marks elements."""
    if isinstance(index, ArrayValue):
        return body.call_function(take_marked, *_require_marks(body, array, index))
    return read_element(body, array, index if isinstance(index, tuple) else (index,), is_inside)


def _cut(body: Body, index: slice, length: int | Scalar) -> tuple[int | Scalar, int | Scalar, int]:
    """Return the start, the number and the distance of the items that a slice takes."""
    step = 1 if index.step is None else index.step
    if not isinstance(step, int) or step == 0:
        body.refuse("the step of a slice is a number that is known while compiling, not 0")
    if isinstance(length, int) and all(
        isinstance(e, int | None) for e in (index.start, index.stop)
    ):
        known = range(length)[index]
        return known.start, len(known), step
    if step < 0:
        if index.start is not None or index.stop is not None:
            body.refuse("a slice with a negative step has no ends in compiled code")
        count = arithmetic.emit_arithmetic(
            body,
            ast.FloorDiv(),
            arithmetic.emit_arithmetic(body, ast.Add(), length, -step - 1),
            -step,
        )
        return arithmetic.emit_arithmetic(body, ast.Sub(), length, 1), count, step
    start, stop = _clip(body, index.start, length, 0), _clip(body, index.stop, length, length)
    left = Scalar(Kind.INT, body.emit.get(f"sub i64 {stop.text}, {start.text}"))
    count = arithmetic.select(
        body, arithmetic.emit_scalar_comparison(body, ast.Gt(), left, 0), left, constant(0)
    )
    count = replace(count, low=0, high=bounds_of(length)[1])
    if step > 1:
        count = arithmetic.emit_arithmetic(
            body, ast.FloorDiv(), arithmetic.emit_arithmetic(body, ast.Add(), count, step - 1), step
        )
    return start, count, step


def _clip(body: Body, value: Any, length: int | Scalar, default: int | Scalar) -> Scalar:
    """Return an end of a slice as a place on an axis."""
    if value is None:
        return arithmetic.to_int(body, default)
    number, size = arithmetic.to_int(body, value), arithmetic.to_int(body, length)
    if number.low < 0:
        moved = Scalar(Kind.INT, body.emit.get(f"add i64 {number.text}, {size.text}"))
        number = arithmetic.select(
            body, arithmetic.emit_scalar_comparison(body, ast.Lt(), number, 0), moved, number
        )
        number = arithmetic.select(
            body, arithmetic.emit_scalar_comparison(body, ast.Lt(), number, 0), constant(0), number
        )
        number = replace(number, low=0)
    if number.high > size.low:
        number = arithmetic.select(
            body, arithmetic.emit_scalar_comparison(body, ast.Gt(), number, size), size, number
        )
    return number


def write_array(body: Body, array: ArrayValue, index: Any, value: Any) -> None:
    """Run `array[index] = value`."""
    if not array.is_writable:
        body.fail_if(True, "ValueError: assignment destination is read-only")
        return
    if isinstance(index, ArrayValue):
        _fill_where(body, array, index, value)
        return
    indices = index if isinstance(index, tuple) else (index,)
    if array.capacity is not None:
        place = place_index(
            body, arithmetic.to_int(body, indices[0]), array.capacity, not array.wraps
        )
        beyond = arithmetic.emit_scalar_comparison(body, ast.GtE(), place, array.shape[0])
        body.fail_if(beyond, "IndexError: only the first entities can have this component")
    found = part(body, array, indices)
    if found.shape:
        fill(body, found, value)
        return
    put_element(body, array, found.pointer, value)


def _fill_where(body: Body, array: ArrayValue, marks: ArrayValue, value: Any) -> None:
    """Write a number into the elements of an array that another one marks as True."""
    array, marks = _require_marks(body, array, marks)
    value = _require_element(body, array, value)

    def visit(k: Scalar) -> None:
        marked = read_array(body, marks, k, is_inside=True)
        old = read_array(body, array, k, is_inside=True)
        put_element(
            body,
            array,
            element(body, array, (k,), True),
            arithmetic.select(body, marked, value, old),
        )

    flow.repeat(body, array.shape[0], visit)


def _require_marks(
    body: Body, array: ArrayValue, marks: ArrayValue
) -> tuple[ArrayValue, ArrayValue]:
    """Return an array and another one that marks its elements, both with one axis; refuse other
    indices."""
    if marks.dtype != np.bool_ or len(array.shape) != len(marks.shape):
        body.refuse(MARKS)
    for x, y in zip(array.shape, marks.shape):
        differ = arithmetic.emit_scalar_comparison(body, ast.NotEq(), x, y)
        body.fail_if(differ, "IndexError: boolean index did not match indexed array")
    return ravel(body, array), flatten(body, marks)


def ravel(body: Body, array: ArrayValue) -> ArrayValue:
    """Return a view with one axis of an array without gaps."""
    if len(array.shape) == 1:
        return array
    if not array.is_contiguous:
        body.refuse("this part of an array has gaps: loop over its rows")
    size = read_array_attribute(body, array, "size")
    return replace(array, shape=(size,), strides=(array.dtype.itemsize,))


def flatten(body: Body, array: ArrayValue) -> ArrayValue:
    """Return the elements of an array with one axis; a copy if it has gaps."""
    if not array.is_contiguous and len(array.shape) > 1:
        array = copy_array(body, array)
    return ravel(body, array)


def fill(body: Body, array: ArrayValue, value: Any) -> None:
    """Write a number into all elements of an array, or copy an array of the same shape."""
    value = constant_array(body, value) if isinstance(value, np.ndarray) else array_of(value)
    if isinstance(value, tuple | list) and array.shape[0] == len(value):
        for k, item in enumerate(value):
            write_array(body, array, k, item)
        return
    if not isinstance(value, ArrayValue):
        value = _require_element(body, array, value)
        if len(array.shape) > 1 and array.is_contiguous:  # one loop is faster
            size = read_array_attribute(body, array, "size")
            array = replace(array, shape=(size,), strides=(array.dtype.itemsize,))
    elif len(value.shape) != len(array.shape):
        body.refuse("both arrays need the same number of axes")
    elif value.is_writable:  # they may overlap
        value = copy_array(body, value)
    if isinstance(value, ArrayValue):
        for a, b in zip(array.shape, value.shape):
            body.fail_if(
                arithmetic.emit_scalar_comparison(body, ast.NotEq(), a, b),
                "ValueError: the arrays differ in shape",
            )
    _walk(body, array, value, lambda pointer, each: put_element(body, array, pointer, each))


def copy_array(body: Body, array: ArrayValue) -> ArrayValue:
    """Return a new array with the elements of another one."""
    copied = new_array(body, array.shape, array.dtype, array.is_numpy)
    _walk(body, copied, array, lambda place, each: memory.store(body, place, array.dtype, each))
    return copied


def _require_element(body: Body, array: ArrayValue, value: Any) -> Scalar:
    """Return a number for elements of an array; fail if it does not fit, also if there are
    none."""
    if not is_number(value):
        body.refuse(f"found {describe(value)} in place of a number or an array")
    number = arithmetic.to_number(body, value)
    if array.dtype.kind in "iu" and number.kind in (Kind.INT, Kind.UINT):
        memory.require_fit(body, number, array.dtype)
    return number


def _walk(body: Body, array: ArrayValue, value: Any, act: Callable[[str, Any], None]) -> None:
    """Call `act` with the address of each element, and the number for it."""

    def visit(k: Scalar) -> None:
        part = read_array(body, array, k, is_inside=True) if len(array.shape) > 1 else None
        each = (
            read_array(body, value, k, is_inside=True) if isinstance(value, ArrayValue) else value
        )
        if part is not None:
            _walk(body, part, each, act)
        else:
            act(element(body, array, (k,), is_inside=True), each)

    flow.repeat(body, array.shape[0], visit)


def read_array_attribute(body: Body, array: ArrayValue, name: str) -> Any:
    """Return an attribute of an array."""
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


def new_array(body: Body, shape: Any, dtype: np.dtype[Any], is_numpy: bool = True) -> ArrayValue:
    """Return a new array in the arena; its elements are not set. The dtype of Python's objects
    stands for Python's integers."""
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


def take_marked(values: Any, marks: Any) -> Any:
    """Return the elements of an array that another one marks as True."""
    found = np.empty_like(values)
    count = 0
    for k in range(len(values)):
        if marks[k]:
            found[count] = values[k]
            count += 1
    return found[:count]
