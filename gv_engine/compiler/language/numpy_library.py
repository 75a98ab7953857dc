"""NumPy functions and array methods that rules may call, and the code generated for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic, arrays, flow, memory, sequences
from gv_engine.compiler.language.body import LIBRARY, Body, emits
from gv_engine.compiler.language.values import (
    AnyValue,
    ArrayValue,
    ListValue,
    Scalar,
    array_of,
    describe,
    is_number,
    kind_of,
    kind_of_dtype,
    narrow_dtype_of,
)

_PYTHON_DTYPES = {bool: np.bool_, int: np.int64, float: np.float64}


def _dtype(body: Body, value: Any) -> np.dtype[Any]:
    """Return the NumPy dtype for an argument `dtype=` of a rule, such as `np.int64` or "int64"."""
    dtype = np.dtype(_PYTHON_DTYPES.get(value, value) if isinstance(value, type) else value)
    if dtype.kind not in "biufO":
        body.refuse(f"arrays of rules hold numbers, found the dtype {dtype}")
    return dtype


def _dtype_like(body: Body, array: ArrayValue, dtype: AnyValue) -> tuple[np.dtype[Any], bool]:
    return (array.dtype, array.is_numpy) if dtype is None else (_dtype(body, dtype), True)


@emits(np.empty)
def _empty(body: Body, shape: AnyValue, dtype: AnyValue = np.float64) -> ArrayValue:
    return arrays.allocate_array(body, shape, _dtype(body, dtype))


@emits(np.full)
def _full(body: Body, shape: AnyValue, value: AnyValue, dtype: AnyValue = None) -> ArrayValue:
    """Emit code for `np.full(shape, value, dtype)`."""
    if dtype is None and not is_number(value):
        body.refuse(f"found {describe(value)} in place of a number")
    _require_wide(body, dtype, value)
    array = arrays.allocate_array(body, shape, _dtype(body, dtype or kind_of(value).dtype))
    arrays.fill(body, array, value)
    return array


@emits(np.empty_like)
def _empty_like(body: Body, values: AnyValue, dtype: AnyValue = None) -> ArrayValue:
    array = array_of(values)
    return arrays.allocate_array(body, array.shape, *_dtype_like(body, array, dtype))


@emits(np.zeros_like)
def _zeros_like(body: Body, array: ArrayValue, dtype: AnyValue = None) -> ArrayValue:
    return _full_like(body, array, 0, dtype)


@emits(np.full_like)
def _full_like(
    body: Body, array: ArrayValue, value: AnyValue, dtype: AnyValue = None
) -> ArrayValue:
    made = _empty_like(body, array, dtype)
    arrays.fill(body, made, value)
    return made


def make_range_array(body: Body, items: AnyValue) -> ArrayValue:
    """Emit a loop that writes the integers of a range into a new array; return the array."""
    array = arrays.allocate_array(body, items.length, np.dtype(np.int64))

    def write(k: Scalar) -> None:
        pointer = arrays.element_address(body, array, (k,), is_inside=True)
        memory.store(body, pointer, array.dtype, items.read(k))

    flow.emit_loop(body, items.length, write)
    return array


@emits(np.asarray)
def _as_array(body: Body, values: AnyValue, dtype: AnyValue = None) -> ArrayValue:
    """Emit code for `np.asarray(values, dtype)`."""
    is_array = isinstance(values, ArrayValue) and values.is_numpy
    if is_array and (dtype is None or _dtype(body, dtype) == values.dtype):
        return values  # type: ignore[no-any-return]
    return make_array(body, values, dtype)


@emits(np.array)
def make_array(body: Body, values: AnyValue, dtype: AnyValue = None) -> ArrayValue:
    """Emit code for `np.array(values, dtype)`; return the new array."""
    values = array_of(values)
    if isinstance(values, ArrayValue):
        is_numpy = values.is_numpy or dtype is not None
        copied = arrays.allocate_array(
            body, values.shape, _dtype(body, dtype or values.dtype), is_numpy
        )
        arrays.fill(body, copied, values)
        return copied
    items = sequences.unpack(body, values)
    if not items or not all(map(is_number, items)):
        body.refuse("np.array takes a tuple or a list of numbers")
    kind = kind_of(items[0])
    for item in items[1:]:
        kind = arithmetic.join_kinds(body, kind, kind_of(item))
    _require_wide(body, dtype, *items)
    array = arrays.allocate_array(body, len(items), _dtype(body, dtype or kind.dtype))
    for k, item in enumerate(items):
        pointer = arrays.element_address(body, array, (k,))
        memory.store(body, pointer, array.dtype, item)
    return array


def _require_wide(body: Body, dtype: AnyValue, *values: AnyValue) -> None:
    if dtype is None and (narrow := narrow_dtype_of(*values)):
        body.refuse(arithmetic.NARROW_ARITHMETIC.format(narrow))


def insertion_sort(values: Any) -> None:
    """Sort an array in place; nan comes last. This function is itself compiled."""
    for i in range(1, len(values)):
        value = values[i]
        k = i
        while k > 0 and value == value and not values[k - 1] <= value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value


@emits(np.sort)
def _sort(body: Body, array: AnyValue) -> ArrayValue:
    copied = make_array(body, array)
    body.call_function(insertion_sort, copied)
    return copied


@emits(np.take)
def _take(body: Body, table: AnyValue, indices: ArrayValue) -> ArrayValue:
    """Emit code for `np.take(table, indices)`."""
    table, indices = array_of(table), array_of(indices)
    taken = arrays.allocate_array(body, indices.shape, table.dtype)
    body.call_function(_take_into, table, arrays.ravel(body, indices), arrays.ravel(body, taken))
    return taken


def _take_into(table: Any, indices: Any, out: Any) -> None:
    for k in range(len(indices)):
        out[k] = table[indices[k]]


def _copy(body: Body, values: ArrayValue | ListValue) -> ArrayValue | ListValue:
    is_list = isinstance(values, ListValue)
    return copy_list(body, array_of(values)) if is_list else make_array(body, values)


def flatten_items(body: Body, values: AnyValue) -> AnyValue:
    """Return a view with one axis of an array; return a list as it is."""
    return values if isinstance(values, ListValue) else arrays.ravel(body, values)


def _require_view(body: Body, array: ArrayValue) -> ArrayValue:
    if not array.is_contiguous:
        body.refuse("this part of an array has gaps, so that `ravel` is a copy: take its `copy()`")
    return arrays.ravel(body, array)


def _find_first(values: Any, precedes: Any) -> int:
    """Return the index of the first nan in an array, or else of the smallest element (the largest
    if `precedes` is `>`). This function is itself compiled."""
    best = 0
    if len(values) == 0:
        raise ValueError("attempt to get argmin or argmax of an empty sequence")
    for k in range(1, len(values)):
        is_nan = values[k] != values[k] and values[best] == values[best]
        if precedes(values[k], values[best]) or is_nan:
            best = k
    return best


def _is_less(a: Any, b: Any) -> Any:
    return a < b


def _is_greater(a: Any, b: Any) -> Any:
    return a > b


def _make_arg_extreme(is_before: Any) -> Callable[..., Any]:
    return lambda body, values: body.call_function(
        _find_first, flatten_items(body, values), is_before
    )


def _make_extreme(find_index: Callable[..., Any], python_function: Any) -> Callable[..., Any]:
    """Return the function that emits code for `array.min()` or `array.max()`. `find_index` finds
    the element in a float array; `python_function` is `min` or `max`, for integers."""

    def emit(body: Body, array: ArrayValue) -> AnyValue:
        flat = arrays.ravel(body, array)
        if flat.dtype.kind != "f":
            return LIBRARY[python_function](body, flat)
        return arrays.load_element(body, flat, (find_index(body, flat),), is_inside=True)

    return emit


def copy_list(body: Body, array: ArrayValue) -> ListValue:
    """Emit a copy of an array with one axis into a new list; return the list."""
    if narrow := arrays.load_element(
        body, array, (0,) * len(array.shape), is_inside=True
    ).narrow_dtype:
        body.refuse(arithmetic.NARROW_ARITHMETIC.format(narrow))
    return _make_list(body, array)


def _tolist(body: Body, array: ArrayValue) -> ListValue:
    if array.dtype == np.uint64:
        body.refuse("`tolist` of uint64 has integers that do not wrap, which does not compile")
    return _make_list(body, array)


def _make_list(body: Body, array: ArrayValue) -> ListValue:
    """Emit code for `array.tolist()` of an array with one axis; return the list."""
    if len(array.shape) > 1:
        body.refuse("a list of rows does not compile: make a list of each row")
    kind = kind_of_dtype(array.dtype)
    copied = arrays.allocate_array(body, array.shape, kind.dtype)
    arrays.fill(body, copied, array)
    return ListValue((copied,), Scalar(kind, ""))


LIBRARY[np.zeros] = lambda body, shape, dtype=np.float64: _full(body, shape, 0, dtype)
LIBRARY[np.ones] = lambda body, shape, dtype=np.float64: _full(body, shape, 1, dtype)
_argmin, _argmax = _make_arg_extreme(_is_less), _make_arg_extreme(_is_greater)
LIBRARY[np.argmin], LIBRARY[np.argmax] = _argmin, _argmax
arrays.add_methods(fill=arrays.fill, copy=_copy, ravel=_require_view, tolist=_tolist)
arrays.add_methods(min=_make_extreme(_argmin, min), max=_make_extreme(_argmax, max))
arrays.add_methods(argmin=_argmin, argmax=_argmax)
