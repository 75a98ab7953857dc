"""Functions of Python and NumPy that rules may call, and the code that each becomes.

A function takes the body that calls it and the values of the arguments, and returns a value.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.expressions import Expressions, Iterated
from gv_engine.compiler.language.memory import ARRAY_METHODS
from gv_engine.compiler.language.values import (
    HIGHEST,
    LOWEST,
    ArrayValue,
    Kind,
    ListValue,
    Range,
    Scalar,
    TupleList,
    describe,
    is_known,
    is_number,
    kind_of,
    make_list,
)

LIBRARY: dict[Any, Callable[..., Any]] = {}
"""Code by the function that rules call."""


_F = TypeVar("_F", bound=Callable[..., Any])


def emits(*functions: Any) -> Callable[[_F], _F]:
    """Return a decorator for a function that emits the code of calls of `functions`."""

    def add(emit: _F) -> _F:
        LIBRARY.update(dict.fromkeys(functions, emit))
        return emit

    return add


# ---- conversions ---------------------------------------------------------------------------------


@emits(int, np.int64)
def _int(body: Expressions, value: Any = 0) -> Any:
    if is_known(value):
        return int(value)
    number = body.to_number(value)
    if number.kind is Kind.UINT:
        if body.is_checked:
            negative = body.emit.get(f"icmp slt i64 {number.text}, 0")
            body.fail_if(Scalar(Kind.BOOL, negative), arithmetic.TOO_LARGE)
        return Scalar(Kind.INT, number.text)
    if number.kind is not Kind.FLOAT:
        return body.to_int(number)
    nothing = body.emit.get(f"fcmp uno double {number.text}, {number.text}")
    body.fail_if(Scalar(Kind.BOOL, nothing), "ValueError: cannot convert float NaN to integer")
    edge = constant(float(1 << 63)).text
    size = body.call_function(math.fabs, number)
    fits = body.emit.get(f"fcmp olt double {size.text}, {edge}")
    body.fail_if(
        body.negate(Scalar(Kind.BOOL, fits)),
        "OverflowError: a float is no 64-bit integer",
    )
    return Scalar(Kind.INT, body.emit.get(f"fptosi double {number.text} to i64"))


@emits(np.uint64)
def _uint(body: Expressions, value: Any) -> Any:
    if is_known(value):
        return np.uint64(value)
    number = body.to_number(value)
    return number if number.kind is Kind.UINT else Scalar(Kind.UINT, body.to_int(number).text)


@emits(float, np.float64)
def _float(body: Expressions, value: Any = 0.0) -> Any:
    if is_known(value):
        return float(value)
    number = body.to_number(value)
    if number.kind is Kind.UINT:
        return Scalar(Kind.FLOAT, body.emit.get(f"uitofp i64 {number.text} to double"))
    return body.convert(number, Kind.FLOAT)


@emits(bool, np.bool_)
def _bool(body: Expressions, value: Any = False) -> Any:
    return body.truth(value)


# ---- numbers -------------------------------------------------------------------------------------


@emits(abs)
def _abs(body: Expressions, value: Any) -> Any:
    if is_known(value):
        return abs(value)
    number = body.to_number(value)
    if number.kind is Kind.FLOAT:
        return body.call_function(math.fabs, number)
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

    def pick(body: Expressions, *values: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], ArrayValue):
            return _pick_from_array(body, op, values[0])
        if len(values) == 1:
            values = tuple(body.unpack(values[0]))
        found = values[0]
        for value in values[1:]:
            better = body.compare(op, value, found)
            if {kind_of(found), kind_of(value)} == {Kind.INT, Kind.FLOAT}:
                found, value = body.to_exact_float(found), body.to_exact_float(value)
            found = body.select(better, value, found)
        return found

    return pick


def _pick_from_array(body: Expressions, op: ast.cmpop, array: ArrayValue) -> Any:
    """Return the least or greatest element of an array."""
    empty = body.compare(ast.Eq(), array.shape[0], 0)
    body.fail_if(empty, "ValueError: min() or max() of an empty array")
    first = body.read_element(array, (0,), is_inside=True)
    slot = body.emit.slot(first.kind.llvm)
    body.emit.do(f"store {first.kind.llvm} {first.text}, ptr {slot}")

    def look(k: Scalar) -> None:
        each = body.read_element(array, (k,), is_inside=True)
        best = Scalar(first.kind, body.emit.get(f"load {first.kind.llvm}, ptr {slot}"))
        better = body.select(body.compare(op, each, best), each, best)
        body.emit.do(f"store {first.kind.llvm} {better.text}, ptr {slot}")

    body.loop(array.shape[0], look)
    return Scalar(first.kind, body.emit.get(f"load {first.kind.llvm}, ptr {slot}"))


LIBRARY[min], LIBRARY[max] = _pick(ast.Lt()), _pick(ast.Gt())


@emits(divmod)
def _divmod(body: Expressions, a: Any, b: Any) -> Any:
    return body.binary(ast.FloorDiv(), a, b), body.binary(ast.Mod(), a, b)


@emits(pow)
def _pow(body: Expressions, a: Any, b: Any) -> Any:
    return body.binary(ast.Pow(), a, b)


@emits(sum)
def _sum_items(body: Expressions, values: Any, start: int = 0) -> Any:
    if isinstance(values, ArrayValue) and len(values.shape) > 1:
        body.refuse("`sum` adds rows here: call the array's own sum(), or loop")
    return _sum(body, values, start)


def _sum(body: Expressions, values: Any, start: int = 0) -> Any:
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


# ---- math ----------------------------------------------------------------------------------------


def _instruction(name: str) -> Callable[..., Any]:
    """Return the code of a function of floats that is an instruction of LLVM, exact everywhere."""

    def emit(body: Expressions, *values: Any) -> Any:
        numbers = [body.convert(value, Kind.FLOAT).text for value in values]
        function = body.module.declare(
            f"llvm.{name}.f64", "double", ", ".join(["double"] * len(numbers))
        )
        arguments = ", ".join(f"double {text}" for text in numbers)
        return Scalar(Kind.FLOAT, body.emit.get(f"call double {function}({arguments})"))

    return emit


LIBRARY[math.fabs] = _instruction("fabs")
LIBRARY[arithmetic.floor] = _instruction("floor")
LIBRARY[arithmetic.copysign] = LIBRARY[math.copysign] = _instruction("copysign")


@emits(arithmetic.fmod)
def _fmod(body: Expressions, a: Scalar, b: Scalar) -> Scalar:
    text = body.emit.get(f"frem double {a.text}, {b.text}")
    return Scalar(Kind.FLOAT, text)


def _call_c(body: Expressions, name: str, *values: Any) -> Scalar:
    """Return the result of a function of the C library, the one that CPython calls."""
    numbers = [body.convert(value, Kind.FLOAT).text for value in values]
    function = body.module.declare(
        name, "double", ", ".join(["double"] * len(numbers)), "nobuiltin"
    )
    arguments = ", ".join(f"double {text}" for text in numbers)
    return Scalar(Kind.FLOAT, body.emit.get(f"call double {function}({arguments}) nobuiltin"))


@emits(arithmetic.power)
def _power(body: Expressions, a: Scalar, b: Scalar) -> Scalar:
    return _call_c(body, "pow", a, b)


def _c_function(name: str) -> Callable[..., Any]:
    """Return the code of a function of `math` with one or two arguments. Like Python, it fails
    where finite arguments have no finite result."""

    def emit(body: Expressions, *values: Any) -> Any:
        numbers = [body.convert(value, Kind.FLOAT) for value in values]
        result = _call_c(body, name, *numbers)
        odd = body.emit.get(f"fsub double {result.text}, {result.text}")
        is_odd = body.emit.get(f"fcmp une double {odd}, {constant(0.0).text}")
        finite: Any = True
        for number in numbers:
            gap = body.emit.get(f"fsub double {number.text}, {number.text}")
            is_finite = body.emit.get(f"fcmp oeq double {gap}, {constant(0.0).text}")
            finite = body.both(finite, Scalar(Kind.BOOL, is_finite))
        nothing = body.emit.get(f"fcmp uno double {result.text}, {result.text}")
        failed = body.both(Scalar(Kind.BOOL, is_odd), finite)
        body.fail_if(body.both(failed, Scalar(Kind.BOOL, nothing)), "ValueError: math domain error")
        body.fail_if(failed, "OverflowError: math range error")
        return result

    return emit


for _name in ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "hypot", "exp"):
    LIBRARY[getattr(math, _name)] = _c_function(_name)


@emits(math.sqrt)
def _sqrt(body: Expressions, value: Any) -> Any:
    if is_known(value):
        return math.sqrt(value)
    number = body.convert(value, Kind.FLOAT)
    negative = body.emit.get(f"fcmp olt double {number.text}, {constant(0.0).text}")
    body.fail_if(Scalar(Kind.BOOL, negative), "ValueError: math domain error")
    return _instruction("sqrt")(body, number)


@emits(math.log)
def _log(body: Expressions, value: Any) -> Any:
    number = body.convert(value, Kind.FLOAT)
    low = body.emit.get(f"fcmp ole double {number.text}, {constant(0.0).text}")
    body.fail_if(Scalar(Kind.BOOL, low), "ValueError: math domain error")
    return _call_c(body, "log", number)


def _round_to_int(name: str) -> Callable[..., Any]:
    """Return the code of `math.floor`, `math.ceil` or `math.trunc`, which return an integer."""

    def emit(body: Expressions, value: Any) -> Any:
        if kind_of(value) is not Kind.FLOAT:
            return body.to_int(value)
        return _int(body, _instruction(name)(body, value))

    return emit


LIBRARY[math.floor], LIBRARY[math.ceil] = _round_to_int("floor"), _round_to_int("ceil")
LIBRARY[math.trunc] = _round_to_int("trunc")


@emits(math.isnan)
def _isnan(body: Expressions, value: Any) -> Any:
    number = body.convert(value, Kind.FLOAT)
    return Scalar(Kind.BOOL, body.emit.get(f"fcmp uno double {number.text}, {number.text}"))


def _gcd(a: int, b: int) -> int:
    """Return the greatest common divisor, by Euclid's algorithm."""
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


@emits(math.gcd)
def _emit_gcd(body: Expressions, a: Any, b: Any) -> Any:
    return body.call_function(_gcd, a, b)


# ---- sequences -----------------------------------------------------------------------------------


@emits(len)
def _len(body: Expressions, value: Any) -> Any:
    if isinstance(value, ArrayValue):
        return value.shape[0]
    if isinstance(value, TupleList):
        return value.columns[0].shape[0]
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


@emits(tuple)
def _tuple(body: Expressions, values: Any = ()) -> Any:
    return tuple(body.unpack(values))


@emits(list)
def _list(body: Expressions, values: Any = ()) -> Any:
    return make_list(body.unpack(values))


@emits(isinstance)
def _isinstance(body: Expressions, value: Any, cls: Any) -> bool:
    if cls is not tuple:
        body.refuse("isinstance asks for tuples alone in compiled code")
    return isinstance(value, tuple) and not isinstance(value, ListValue)


# ---- arrays --------------------------------------------------------------------------------------

_PYTHON_DTYPES = {bool: np.bool_, int: np.int64, float: np.float64}


def _dtype(body: Expressions, value: Any) -> np.dtype[Any]:
    dtype = np.dtype(_PYTHON_DTYPES.get(value, value) if isinstance(value, type) else value)
    if dtype.kind not in "biuf":
        body.refuse(f"arrays of rules hold numbers, found the dtype {dtype}")
    return dtype


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
    if dtype is None:
        kinds = {Kind.BOOL: np.bool_, Kind.INT: np.int64, Kind.UINT: np.uint64}
        dtype = kinds.get(kind_of(value), np.float64)
    array = body.new_array(shape, _dtype(body, dtype))
    body.fill(array, value)
    return array


@emits(np.empty_like)
def _empty_like(body: Expressions, array: ArrayValue, dtype: Any = None) -> ArrayValue:
    return body.new_array(array.shape, _dtype(body, array.dtype if dtype is None else dtype))


@emits(np.zeros_like)
def _zeros_like(body: Expressions, array: ArrayValue, dtype: Any = None) -> ArrayValue:
    return _full(body, array.shape, 0, array.dtype if dtype is None else dtype)


@emits(np.full_like)
def _full_like(body: Expressions, array: ArrayValue, value: Any, dtype: Any = None) -> ArrayValue:
    return _full(body, array.shape, value, array.dtype if dtype is None else dtype)


@emits(np.arange)
def _arange(body: Expressions, *values: Any) -> ArrayValue:
    items = body.iterate(_range(body, *values))
    assert isinstance(items, Iterated)
    array, read = body.new_array(items.length, np.dtype(np.int64)), items.read

    def write(k: Scalar) -> None:
        body.store(body.element(array, (k,), is_inside=True), array.dtype, read(k))

    body.loop(items.length, write)
    return array


@emits(np.array, np.asarray)
def _array(body: Expressions, values: Any, dtype: Any = None) -> ArrayValue:
    if isinstance(values, ArrayValue):
        copied = body.new_array(values.shape, _dtype(body, dtype or values.dtype))
        body.fill(copied, values)
        return copied
    items = body.unpack(values)
    if not items or not all(map(is_number, items)):
        body.refuse("np.array takes a tuple or a list of numbers")
    kind = kind_of(items[0])
    for item in items[1:]:
        kind = body.join_kinds(kind, kind_of(item))
    usual = {Kind.BOOL: np.bool_, Kind.INT: np.int64, Kind.UINT: np.uint64, Kind.FLOAT: np.float64}
    array = body.new_array(len(items), _dtype(body, dtype or usual[kind]))
    for k, item in enumerate(items):
        body.store(body.element(array, (k,)), array.dtype, item)
    return array


def _insertion_sort(values: Any) -> None:
    """Sort an array in place."""
    for i in range(1, len(values)):
        value = values[i]
        k = i
        while k > 0 and values[k - 1] > value:
            values[k] = values[k - 1]
            k -= 1
        values[k] = value


@emits(np.sort)
def _sort(body: Expressions, array: Any) -> ArrayValue:
    copied = _array(body, array)
    body.call_function(_insertion_sort, copied)
    return copied


def _fill(body: Expressions, array: ArrayValue, value: Any) -> None:
    body.fill(array, value)


def _copy(body: Expressions, array: ArrayValue) -> ArrayValue:
    return _array(body, array)


def _ravel(body: Expressions, array: ArrayValue) -> ArrayValue:
    """Return a one-dimensional view of an array without gaps."""
    if len(array.shape) == 1:
        return array
    if not array.is_contiguous:
        body.refuse("this part of an array has gaps: loop over its rows")
    size = body.read_array_attribute(array, "size")
    return replace(array, shape=(size,), strides=(array.dtype.itemsize,))


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


_METHODS: dict[str, Callable[..., Any]] = {
    "all": _all,
    "any": _any,
    "fill": _fill,
    "copy": _copy,
    "ravel": _ravel,
    "sum": _sum,
    "tolist": _copy,
}
LIBRARY[np.all], LIBRARY[np.any] = _all, _any
ARRAY_METHODS.update(_METHODS)
LIBRARY.update({emit: emit for emit in _METHODS.values()})
