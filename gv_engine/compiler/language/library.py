"""Functions of Python and NumPy that rules may call, and the code that each becomes.

A function takes the body that calls it and the values of the arguments, and returns a value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.expressions import LIBRARY as LIBRARY
from gv_engine.compiler.language.expressions import Expressions, Iterated, emits
from gv_engine.compiler.language.maths import fabs, to_integer
from gv_engine.compiler.language.memory import ARRAY_METHODS
from gv_engine.compiler.language.values import (
    HIGHEST,
    LOWEST,
    ArrayValue,
    Kind,
    ListValue,
    Range,
    Scalar,
    array_of,
    describe,
    is_known,
    is_number,
    kind_of,
    kind_of_dtype,
    narrow_of,
)

# ---- conversions ---------------------------------------------------------------------------------


@emits(np.uint64)
def _uint(body: Expressions, value: Any) -> Any:
    if is_known(value):
        return np.uint64(value)
    number = body.to_number(value)
    if number.kind is Kind.UINT:
        return number
    whole = body.to_int(number)
    if whole.low < 0 and body.is_checked:
        negative = body.compare(ast.Lt(), whole, 0)
        body.fail_if(negative, "OverflowError: a negative integer is no uint64")
    return Scalar(Kind.UINT, whole.text)


@emits(float, np.float64)
def _float(body: Expressions, value: Any = 0.0) -> Any:
    if is_known(value):
        return float(value)
    number = body.to_number(value)
    if number.kind is Kind.UINT:
        return Scalar(Kind.FLOAT, body.emit.get(f"uitofp i64 {number.text} to double"))
    return replace(body.convert(number, Kind.FLOAT), narrow="")


@emits(bool, np.bool_)
def _bool(body: Expressions, value: Any = False) -> Any:
    return body.truth(value)


# ---- numbers -------------------------------------------------------------------------------------


@emits(abs)
def _abs(body: Expressions, value: Any) -> Any:
    if is_known(value):
        return abs(value)
    number = body.to_number(value)
    if number.narrow:
        body.refuse(arithmetic.CONVERT.format(number.narrow))
    if number.kind is Kind.FLOAT:
        return fabs(body, number)
    if number.kind is Kind.UINT:
        return number
    whole = body.to_int(number)
    if whole.low >= 0:
        return whole
    if whole.low == LOWEST and body.is_checked:
        least = body.emit.get(f"icmp eq i64 {whole.text}, {LOWEST}")
        body.fail_if(Scalar(Kind.BOOL, least), arithmetic.TOO_LARGE)
    negative = body.emit.get(f"icmp slt i64 {whole.text}, 0")
    minus = body.emit.get(f"sub i64 0, {whole.text}")
    text = body.emit.get(f"select i1 {negative}, i64 {minus}, i64 {whole.text}")
    return Scalar(Kind.INT, text, 0, min(max(-whole.low, whole.high), HIGHEST))


def _pick(op: ast.cmpop) -> Callable[..., Any]:
    """Return the code of `min` or `max`: the first of the values that are least or greatest."""

    def pick(body: Expressions, *values: Any, **options: Any) -> Any:
        if options.keys() - {"default"}:
            body.refuse(f"min and max take no {', '.join(options)} in compiled code: write a loop")
        if len(values) == 1 and isinstance(items := _to_items(body, values[0]), Iterated):
            return _pick_from_items(body, op, items, options)
        if len(values) == 1:
            values = tuple(body.unpack(values[0]))
        if not values:
            return options["default"] if options else body.refuse(EMPTY)
        found = values[0]
        for value in values[1:]:
            better = body.compare(op, value, found)
            if {kind_of(found), kind_of(value)} == {Kind.INT, Kind.FLOAT}:
                found, value = body.to_exact_float(found), body.to_exact_float(value)
            found = body.select(better, value, found)
        return found

    return pick


EMPTY = "ValueError: min() or max() of nothing"


def _to_items(body: Expressions, value: Any) -> tuple[Any, ...] | Iterated:
    """Return the items of what a function iterates once."""
    value = array_of(value)
    return body.iterate(value) if isinstance(value, ArrayValue | Range | Iterated) else (value,)


def _pick_from_items(
    body: Expressions, op: ast.cmpop, items: Iterated, options: dict[str, Any]
) -> Any:
    """Return the least or greatest of items that are not known one by one."""
    is_empty = body.compare(ast.Eq(), items.length, 0)
    if not options:
        body.fail_if(is_empty, EMPTY)

    def first() -> Any:
        return options["default"] if options else items.read(constant(0))

    start = body.choose(is_empty, first, lambda: items.read(constant(0)))
    slot = body.emit.slot(start.kind.llvm)
    body.emit.do(f"store {start.kind.llvm} {start.text}, ptr {slot}")

    def look(k: Scalar) -> None:
        each = items.read(k)
        best = Scalar(start.kind, body.emit.get(f"load {start.kind.llvm}, ptr {slot}"))
        better = body.select(body.compare(op, each, best), each, best)
        body.emit.do(f"store {start.kind.llvm} {better.text}, ptr {slot}")

    body.loop(items.length, look)
    return replace(start, text=body.emit.get(f"load {start.kind.llvm}, ptr {slot}"))


LIBRARY[min], LIBRARY[max] = _pick(ast.Lt()), _pick(ast.Gt())


@emits(divmod)
def _divmod(body: Expressions, a: Any, b: Any) -> Any:
    return body.binary(ast.FloorDiv(), a, b), body.binary(ast.Mod(), a, b)


@emits(pow)
def _pow(body: Expressions, a: Any, b: Any) -> Any:
    return body.binary(ast.Pow(), a, b)


@emits(sum)
def _sum_items(body: Expressions, values: Any, start: Any = 0) -> Any:
    start = body.start_of_sum(start)
    values = array_of(values)
    if isinstance(values, ArrayValue) and len(values.shape) > 1:
        body.refuse("`sum` adds rows here: call the array's own sum(), or loop")
    if isinstance(values, ArrayValue) and (narrow := body.read_element(values, (0,), True).narrow):
        body.refuse(arithmetic.CONVERT.format(narrow))
    return _sum(body, values, start)


def _sum(body: Expressions, values: Any, start: int | Scalar = 0) -> Any:
    total: Any = start
    if isinstance(values, ArrayValue):
        values = _ravel(body, values)
        slot = body.emit.slot("i64")
        body.emit.do(f"store i64 {body.to_int(start).text}, ptr {slot}")
        if kind_of(body.read_element(values, (constant(0),), is_inside=True)) is Kind.FLOAT:
            body.refuse("`sum` of fractions rounds by version of Python: use add_up")

        def add(k: Scalar) -> None:
            before = Scalar(Kind.INT, body.emit.get(f"load i64, ptr {slot}"))
            each = body.read_element(values, (k,), is_inside=True)
            after = body.binary(ast.Add(), before, body.to_int(each))
            body.emit.do(f"store i64 {after.text}, ptr {slot}")

        body.loop(values.shape[0], add)
        return Scalar(Kind.INT, body.emit.get(f"load i64, ptr {slot}"))
    for value in body.unpack(values):
        if kind_of(value) is Kind.FLOAT:
            body.refuse("`sum` of fractions rounds by version of Python: use add_up")
        total = body.binary(ast.Add(), total, value)
    return total


@emits(round)
def _round(body: Expressions, value: Any, digits: Any = None) -> Any:
    if is_known((value, digits)):
        return round(value, digits)
    if digits is not None:
        body.refuse("`round` takes no digits in compiled code")
    if kind_of(value) is not Kind.FLOAT:
        return body.to_int(value)
    function = body.module.declare("llvm.roundeven.f64", "double", "double")
    text = body.emit.get(f"call double {function}(double {body.to_number(value).text})")
    return to_integer(body, Scalar(Kind.FLOAT, text))


# ---- sequences -----------------------------------------------------------------------------------


@emits(len)
def _len(body: Expressions, value: Any) -> Any:
    if isinstance(value, ArrayValue):
        return value.shape[0]
    if isinstance(value, ListValue):
        return value.length
    if isinstance(value, Range):
        return body.range_length(value)
    try:
        return len(value)
    except TypeError:
        body.refuse(f"{describe(value)} has no length")


@emits(range)
def _range(body: Expressions, *values: Any) -> Any:
    start, stop, step = {1: (0, *values, 1), 2: (*values, 1), 3: values}[len(values)]
    if is_known(values):
        return range(start, stop, step)
    zero = body.compare(ast.Eq(), step, 0)
    body.fail_if(zero, "ValueError: range() arg 3 must not be zero")
    return Range(_index(body, start), _index(body, stop), _index(body, step))


def _index(body: Expressions, value: Any) -> int | Scalar:
    return value if isinstance(value, int) else body.to_int(value)


@emits(enumerate)
def _enumerate(body: Expressions, values: Any, start: int = 0) -> Any:
    items = body.iterate(values)
    if isinstance(items, tuple):
        return tuple(enumerate(items, start))
    return Iterated(items.length, lambda k: (body.binary(ast.Add(), k, start), items.read(k)))


@emits(reversed)
def _reversed(body: Expressions, values: Any) -> Any:
    if isinstance(values, range):
        return values[::-1]
    items = body.iterate(values)
    if isinstance(items, tuple):
        return tuple(reversed(items))
    last = body.to_int(body.binary(ast.Sub(), items.length, 1))

    def read_from_end(k: Scalar) -> Any:
        text = body.emit.get(f"sub i64 {last.text}, {k.text}")
        return items.read(Scalar(Kind.INT, text, 0))

    return Iterated(items.length, read_from_end)


@emits(zip)
def _zip(body: Expressions, *values: Any, strict: bool = False) -> Any:
    items = [body.iterate(value) for value in values]
    if all(isinstance(each, tuple) for each in items):
        return tuple(zip(*items, strict=strict))
    if strict:
        body.refuse("zip has no `strict` for lengths that are not known")
    tables = [body.to_table(each) if isinstance(each, tuple) else each for each in items]
    length = tables[0].length
    for other in tables[1:]:
        shorter = body.compare(ast.Lt(), other.length, length)
        length = body.select(shorter, other.length, length)
    return Iterated(length, lambda k: tuple(each.read(k) for each in tables))


def _decide(is_any: bool) -> Callable[..., Any]:
    """Return the code of `any` or `all` of items."""

    def emit(body: Expressions, values: Any) -> Any:
        items = body.iterate(values)
        if isinstance(items, Iterated):
            if not isinstance(array_of(values), ArrayValue):
                body.refuse("any and all take a list, a tuple or a generator")
            return body.call_function(_has_any if is_any else _has_all, values)
        found: Any = not is_any
        for item in items:
            found = (body.either if is_any else body.both)(found, body.truth(item))
        return found

    return emit


LIBRARY[any], LIBRARY[all] = _decide(True), _decide(False)


@emits(sorted)
def _sorted(body: Expressions, values: Any) -> Any:
    if is_known(values):
        return sorted(values)
    array = array_of(values)
    array = _copy_list(body, array if isinstance(array, ArrayValue) else _array(body, values))
    if array.item.kind is Kind.FLOAT:
        body.call_function(_require_order, array)
    body.call_function(_insertion_sort, array)
    return array


def _require_order(values: Any) -> None:
    """Fail if an element is no number: the order would depend on how Python sorts."""
    for value in values:
        if value != value:
            raise ValueError("`sorted` takes no nan in compiled code")


@emits(tuple)
def _tuple(body: Expressions, values: Any = ()) -> Any:
    return tuple(body.unpack(values))


@emits(list)
def _list(body: Expressions, values: Any = ()) -> Any:
    items = body.iterate(values)
    if isinstance(items, tuple):
        return [*items]
    if isinstance(array := array_of(values), ArrayValue):
        return _copy_list(body, array)
    if isinstance(values, Range | range):
        return ListValue((_write_range(body, items),), Scalar(Kind.INT, ""))
    body.refuse(f"found {describe(values)}, which `list` does not take in compiled code")


@emits(isinstance)
def _isinstance(body: Expressions, value: Any, cls: Any) -> bool:
    if cls is not tuple:
        body.refuse("isinstance asks for tuples alone in compiled code")
    return isinstance(value, tuple)


# ---- arrays --------------------------------------------------------------------------------------

_PYTHON_DTYPES = {bool: np.bool_, int: np.int64, float: np.float64}


def _dtype(body: Expressions, value: Any) -> np.dtype[Any]:
    dtype = np.dtype(_PYTHON_DTYPES.get(value, value) if isinstance(value, type) else value)
    if dtype.kind not in "biufO":
        body.refuse(f"arrays of rules hold numbers, found the dtype {dtype}")
    return dtype


def _like(body: Expressions, array: ArrayValue, dtype: Any) -> tuple[np.dtype[Any], bool]:
    """Return the dtype of a new array like another one, and if NumPy's numbers are read from it."""
    return (array.dtype, array.is_numpy) if dtype is None else (_dtype(body, dtype), True)


@emits(np.empty)
def _empty(body: Expressions, shape: Any, dtype: Any = np.float64) -> ArrayValue:
    return body.new_array(shape, _dtype(body, dtype))


@emits(np.zeros)
def _zeros(body: Expressions, shape: Any, dtype: Any = np.float64) -> ArrayValue:
    return _full(body, shape, 0, dtype)


@emits(np.ones)
def _ones(body: Expressions, shape: Any, dtype: Any = np.float64) -> ArrayValue:
    return _full(body, shape, 1, dtype)


@emits(np.full)
def _full(body: Expressions, shape: Any, value: Any, dtype: Any = None) -> ArrayValue:
    if dtype is None and not is_number(value):
        body.refuse(f"found {describe(value)} in place of a number")
    _require_wide(body, dtype, value)
    array = body.new_array(shape, _dtype(body, dtype or kind_of(value).dtype))
    body.fill(array, value)
    return array


@emits(np.empty_like)
def _empty_like(body: Expressions, values: Any, dtype: Any = None) -> ArrayValue:
    array = array_of(values)
    return body.new_array(array.shape, *_like(body, array, dtype))


@emits(np.zeros_like)
def _zeros_like(body: Expressions, array: ArrayValue, dtype: Any = None) -> ArrayValue:
    return _full_like(body, array, 0, dtype)


@emits(np.full_like)
def _full_like(body: Expressions, array: ArrayValue, value: Any, dtype: Any = None) -> ArrayValue:
    made = _empty_like(body, array, dtype)
    body.fill(made, value)
    return made


@emits(np.arange)
def _arange(body: Expressions, *values: Any) -> ArrayValue:
    if any(kind_of(value) is Kind.FLOAT for value in values):
        body.refuse("np.arange takes integers in compiled code")
    return _write_range(body, body.iterate(_range(body, *values)))


def _write_range(body: Expressions, items: Any) -> ArrayValue:
    """Return the integers of a range as an array."""
    array, read = body.new_array(items.length, np.dtype(np.int64)), items.read

    def write(k: Scalar) -> None:
        body.store(body.element(array, (k,), is_inside=True), array.dtype, read(k))

    body.loop(items.length, write)
    return array


@emits(np.asarray)
def _as_array(body: Expressions, values: Any, dtype: Any = None) -> ArrayValue:
    is_array = isinstance(values, ArrayValue) and values.is_numpy
    if is_array and (dtype is None or _dtype(body, dtype) == values.dtype):
        return values  # type: ignore[no-any-return]
    return _array(body, values, dtype)


@emits(np.array)
def _array(body: Expressions, values: Any, dtype: Any = None) -> ArrayValue:
    values = array_of(values)
    if isinstance(values, ArrayValue):
        is_numpy = values.is_numpy or dtype is not None
        copied = body.new_array(values.shape, _dtype(body, dtype or values.dtype), is_numpy)
        body.fill(copied, values)
        return copied
    items = body.unpack(values)
    if not items or not all(map(is_number, items)):
        body.refuse("np.array takes a tuple or a list of numbers")
    kind = kind_of(items[0])
    for item in items[1:]:
        kind = body.join_kinds(kind, kind_of(item))
    _require_wide(body, dtype, *items)
    array = body.new_array(len(items), _dtype(body, dtype or kind.dtype))
    for k, item in enumerate(items):
        body.store(body.element(array, (k,)), array.dtype, item)
    return array


def _require_wide(body: Expressions, dtype: Any, *values: Any) -> None:
    """Refuse narrow numbers that the dtype of a new array comes from."""
    if dtype is None and (narrow := narrow_of(*values)):
        body.refuse(arithmetic.CONVERT.format(narrow))


def _insertion_sort(values: Any) -> None:
    """Sort an array in place; behind its numbers stands what is none."""
    for i in range(1, len(values)):
        value = values[i]
        k = i
        while k > 0 and value == value and not values[k - 1] <= value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value


@emits(np.sort)
def _sort(body: Expressions, array: Any) -> ArrayValue:
    copied = _array(body, array)
    body.call_function(_insertion_sort, copied)
    return copied


@emits(np.take)
def _take(body: Expressions, table: Any, indices: ArrayValue) -> ArrayValue:
    table, indices = array_of(table), array_of(indices)
    found = body.new_array(indices.shape, table.dtype)
    body.call_function(_take_all, table, body.ravel(indices), body.ravel(found))
    return found


def _take_all(table: Any, indices: Any, found: Any) -> None:
    """Write the elements of a table at flat indices into `found`."""
    for k in range(len(indices)):
        found[k] = table[indices[k]]


def _find_least(values: Any) -> int:
    """Return the index of the first least element, or of the first nan."""
    best = 0
    if len(values) == 0:
        raise ValueError("attempt to get argmin or argmax of an empty sequence")
    for k in range(1, len(values)):
        is_nan = values[k] != values[k] and values[best] == values[best]
        if values[k] < values[best] or is_nan:
            best = k
    return best


def _find_greatest(values: Any) -> int:
    """Return the index of the first greatest element, or of the first nan."""
    best = 0
    if len(values) == 0:
        raise ValueError("attempt to get argmin or argmax of an empty sequence")
    for k in range(1, len(values)):
        is_nan = values[k] != values[k] and values[best] == values[best]
        if values[k] > values[best] or is_nan:
            best = k
    return best


def _fill(body: Expressions, array: ArrayValue, value: Any) -> None:
    body.fill(array, value)


def _copy(body: Expressions, values: ArrayValue | ListValue) -> ArrayValue | ListValue:
    is_list = isinstance(values, ListValue)
    return _copy_list(body, array_of(values)) if is_list else _array(body, values)


def _ravel(body: Expressions, values: Any) -> Any:
    return values if isinstance(values, ListValue) else body.ravel(values)


def _require_view(body: Expressions, array: ArrayValue) -> ArrayValue:
    if not array.is_contiguous:
        body.refuse("this part of an array has gaps, so that `ravel` is a copy: take its `copy()`")
    return body.ravel(array)


def _find_extreme(find: Callable[..., Any], pick: Any) -> Callable[..., Any]:
    """Return the code of an array's `min` or `max`, nan if it has one."""

    def emit(body: Expressions, array: ArrayValue) -> Any:
        flat = body.ravel(array)
        if flat.dtype.kind != "f":
            return LIBRARY[pick](body, flat)
        return body.read_element(flat, (body.call_function(find, flat),), is_inside=True)

    return emit


def _has_all(values: Any) -> bool:
    """Return True if all elements of a flat array are true."""
    for value in values:
        if not value:
            return False
    return True


def _has_any(values: Any) -> bool:
    """Return True if an element of a flat array is true."""
    for value in values:
        if value:
            return True
    return False


def _all(body: Expressions, array: ArrayValue) -> Any:
    return body.call_function(_has_all, _ravel(body, array))


def _any(body: Expressions, array: ArrayValue) -> Any:
    return body.call_function(_has_any, _ravel(body, array))


def _copy_list(body: Expressions, array: ArrayValue) -> ListValue:
    """Return a list with the elements of an array."""
    if narrow := body.read_element(array, (0,) * len(array.shape), is_inside=True).narrow:
        body.refuse(arithmetic.CONVERT.format(narrow))
    return _make_list(body, array)


def _tolist(body: Expressions, array: ArrayValue) -> ListValue:
    if array.dtype == np.uint64:
        body.refuse("`tolist` of uint64 has integers that do not wrap, which does not compile")
    return _make_list(body, array)


def _make_list(body: Expressions, array: ArrayValue) -> ListValue:
    if len(array.shape) > 1:
        body.refuse("a list of rows does not compile: make a list of each row")
    kind = kind_of_dtype(array.dtype)
    copied = body.new_array(array.shape, kind.dtype)
    body.fill(copied, array)
    return ListValue((copied,), Scalar(kind, ""))


_METHODS: dict[str, Callable[..., Any]] = {
    "all": _all,
    "any": _any,
    "fill": _fill,
    "copy": _copy,
    "ravel": _require_view,
    "sum": lambda body, array: _sum(body, array),
    "tolist": _tolist,
    "min": _find_extreme(_find_least, min),
    "max": _find_extreme(_find_greatest, max),
    "argmin": lambda body, array: body.call_function(_find_least, _ravel(body, array)),
    "argmax": lambda body, array: body.call_function(_find_greatest, _ravel(body, array)),
}
LIBRARY[np.all], LIBRARY[np.any] = _all, _any
LIBRARY[np.argmin], LIBRARY[np.argmax] = _METHODS["argmin"], _METHODS["argmax"]
ARRAY_METHODS.update(_METHODS)
LIBRARY.update({emit: emit for emit in _METHODS.values()})
