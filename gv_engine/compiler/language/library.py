"""Functions of Python and NumPy that rules may call, and the code that each becomes.

A function takes the body that calls it and the values of the arguments, and returns a value.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gv_engine.compiler.language import (
    arithmetic,
    arrays,
    comprehensions,
    flow,
    numpy_library,
    operators,
    sequences,
)
from gv_engine.compiler.language.body import LIBRARY as LIBRARY
from gv_engine.compiler.language.body import Body, emits
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.maths import fabs, to_integer
from gv_engine.compiler.language.values import (
    HIGHEST,
    LOWEST,
    AnyValue,
    ArrayValue,
    Iterated,
    Kind,
    ListValue,
    Range,
    Scalar,
    array_of,
    describe,
    is_known,
    kind_of,
)

# ---- conversions ---------------------------------------------------------------------------------


@emits(np.uint64)
def _uint(body: Body, value: AnyValue) -> AnyValue:
    """Emit code for `np.uint64(value)`."""
    if is_known(value):
        return np.uint64(value)
    number = arithmetic.to_number(body, value)
    if number.kind is Kind.UINT:
        return number
    integer = arithmetic.to_int(body, number)
    if integer.low < 0 and body.is_checked:
        is_negative = operators.emit_comparison(body, ast.Lt(), integer, 0)
        body.fail_if(is_negative, "OverflowError: a negative integer is no uint64")
    return Scalar(Kind.UINT, integer.operand)


@emits(float, np.float64)
def _float(body: Body, value: AnyValue = 0.0) -> AnyValue:
    """Emit code for `float(value)`."""
    if is_known(value):
        return float(value)
    number = arithmetic.to_number(body, value)
    if number.kind is Kind.UINT:
        return Scalar(Kind.FLOAT, body.emit.value(f"uitofp i64 {number.operand} to double"))
    return replace(arithmetic.to_kind(body, number, Kind.FLOAT), narrow_dtype="")


# ---- numbers -------------------------------------------------------------------------------------


@emits(abs)
def _abs(body: Body, value: AnyValue) -> AnyValue:
    """Emit code for `abs(value)`."""
    if is_known(value):
        return abs(value)
    number = arithmetic.to_number(body, value)
    if number.narrow_dtype:
        body.refuse(arithmetic.NARROW_ARITHMETIC.format(number.narrow_dtype))
    if number.kind is Kind.FLOAT:
        return fabs(body, number)
    if number.kind is Kind.UINT:
        return number
    integer = arithmetic.to_int(body, number)
    if integer.low >= 0:
        return integer
    if integer.low == LOWEST and body.is_checked:
        is_lowest = body.emit.condition(f"icmp eq i64 {integer.operand}, {LOWEST}")
        body.fail_if(is_lowest, arithmetic.TOO_LARGE)
    is_negative = body.emit.value(f"icmp slt i64 {integer.operand}, 0")
    negated = body.emit.value(f"sub i64 0, {integer.operand}")
    operands = f"i64 {negated}, i64 {integer.operand}"
    absolute = body.emit.value(f"select i1 {is_negative}, {operands}")
    return Scalar(Kind.INT, absolute, 0, min(max(-integer.low, integer.high), HIGHEST))


def _make_min_or_max(op: ast.cmpop) -> Callable[..., Any]:
    """Return the function that emits code for `min` (if `op` is <) or `max` (if it is >). Of
    several equal values, the first is returned."""

    def emit(body: Body, *values: AnyValue, **options: Any) -> AnyValue:
        if options.keys() - {"default"}:
            body.refuse(f"min and max take no {', '.join(options)} in compiled code: write a loop")
        if len(values) == 1 and isinstance(items := _to_items(body, values[0]), Iterated):
            return _emit_min_or_max_loop(body, op, items, options)
        if len(values) == 1:
            values = tuple(sequences.unpack(body, values[0]))
        if not values:
            return options["default"] if options else body.refuse(NO_ITEMS)
        best = values[0]
        for value in values[1:]:
            is_better = operators.emit_comparison(body, op, value, best)
            if {kind_of(best), kind_of(value)} == {Kind.INT, Kind.FLOAT}:
                best = arithmetic.to_exact_float(body, best)
                value = arithmetic.to_exact_float(body, value)
            best = arithmetic.emit_select(body, is_better, value, best)
        return best

    return emit


SUM_OF_FRACTIONS = "`sum` of fractions rounds by version of Python: use add_up"
NO_ITEMS = "ValueError: min() or max() of nothing"


def _to_items(body: Body, value: AnyValue) -> tuple[Any, ...] | Iterated:
    """Return the items of an array or range, to be used in a loop. Any other value becomes a tuple
    with this value."""
    value = array_of(value)
    if isinstance(value, ArrayValue | Range | Iterated):
        return sequences.get_items(body, value)
    return (value,)


def _emit_min_or_max_loop(
    body: Body, op: ast.cmpop, items: Iterated, options: dict[str, Any]
) -> AnyValue:
    """Emit a loop that finds the smallest (`op` is <) or largest (`op` is >) item of an array or
    range; return the item. `options` may have a `default` for empty ones."""
    is_empty = operators.emit_comparison(body, ast.Eq(), items.length, 0)
    if not options:
        body.fail_if(is_empty, NO_ITEMS)

    def read_first() -> Any:
        return items.read(constant(0))

    def read_default() -> Any:
        return options["default"] if options else read_first()

    first = flow.emit_conditional(body, is_empty, read_default, read_first)
    llvm = first.kind.llvm
    slot = body.emit.alloca(llvm)
    body.emit.do(f"store {llvm} {first.operand}, ptr {slot}")

    def emit_update(k: Scalar) -> None:
        item = items.read(k)
        best = Scalar(first.kind, body.emit.value(f"load {llvm}, ptr {slot}"))
        is_better = operators.emit_comparison(body, op, item, best)
        new_best = arithmetic.emit_select(body, is_better, item, best)
        body.emit.do(f"store {llvm} {new_best.operand}, ptr {slot}")

    flow.emit_loop(body, items.length, emit_update)
    return replace(first, operand=body.emit.value(f"load {llvm}, ptr {slot}"))


LIBRARY[bool] = LIBRARY[np.bool_] = lambda body, value=False: arithmetic.emit_truth(body, value)
LIBRARY[pow] = lambda body, a, b: operators.emit_operator(body, ast.Pow(), a, b)
LIBRARY[divmod] = lambda body, a, b: tuple(
    operators.emit_operator(body, op, a, b) for op in (ast.FloorDiv(), ast.Mod())
)
LIBRARY[tuple] = lambda body, values=(): tuple(sequences.unpack(body, values))
LIBRARY[min], LIBRARY[max] = _make_min_or_max(ast.Lt()), _make_min_or_max(ast.Gt())


@emits(sum)
def _sum_items(body: Body, values: AnyValue, start: AnyValue = 0) -> AnyValue:
    """Emit code for `sum(values, start)`."""
    start = comprehensions.check_sum_start(body, start)
    values = array_of(values)
    if isinstance(values, ArrayValue) and len(values.shape) > 1:
        body.refuse("`sum` adds rows here: call the array's own sum(), or loop")
    if isinstance(values, ArrayValue) and (
        narrow := arrays.load_element(body, values, (0,), True).narrow_dtype
    ):
        body.refuse(arithmetic.NARROW_ARITHMETIC.format(narrow))
    return _emit_sum(body, values, start)


def _emit_sum(body: Body, values: AnyValue, start: int | Scalar = 0) -> AnyValue:
    """Emit code for the sum of the integers in a tuple, list or array. Raise an error for floats,
    which Python adds with other rounding."""
    if isinstance(values, ArrayValue):
        return _emit_array_sum(body, numpy_library.flatten_items(body, values), start)
    total: Any = start
    for value in sequences.unpack(body, values):
        if kind_of(value) is Kind.FLOAT:
            body.refuse(SUM_OF_FRACTIONS)
        total = operators.emit_operator(body, ast.Add(), total, value)
    return total


def _emit_array_sum(body: Body, array: ArrayValue, start: int | Scalar) -> Scalar:
    """Emit a loop that adds the elements of an array to `start`; return the sum."""
    slot = body.emit.alloca("i64")
    body.emit.do(f"store i64 {arithmetic.to_int(body, start).operand}, ptr {slot}")
    if kind_of(arrays.load_element(body, array, (constant(0),), is_inside=True)) is Kind.FLOAT:
        body.refuse(SUM_OF_FRACTIONS)

    def emit_addition(k: Scalar) -> None:
        total = Scalar(Kind.INT, body.emit.value(f"load i64, ptr {slot}"))
        element = arithmetic.to_int(body, arrays.load_element(body, array, (k,), is_inside=True))
        new_total = operators.emit_operator(body, ast.Add(), total, element)
        body.emit.do(f"store i64 {new_total.operand}, ptr {slot}")

    flow.emit_loop(body, array.shape[0], emit_addition)
    return Scalar(Kind.INT, body.emit.value(f"load i64, ptr {slot}"))


@emits(round)
def _round(body: Body, value: AnyValue, digits: AnyValue = None) -> AnyValue:
    """Emit code for `round(value, digits)`."""
    if is_known((value, digits)):
        return round(value, digits)
    if digits is not None:
        body.refuse("`round` takes no digits in compiled code")
    if kind_of(value) is not Kind.FLOAT:
        return arithmetic.to_int(body, value)
    argument = f"double {arithmetic.to_number(body, value).operand}"
    rounded = body.call_external("llvm.roundeven.f64", "double", argument)
    return to_integer(body, Scalar(Kind.FLOAT, rounded))


# ---- sequences -----------------------------------------------------------------------------------


@emits(len)
def _len(body: Body, value: AnyValue) -> AnyValue:
    """Emit code for `len(value)`."""
    if isinstance(value, ArrayValue):
        return value.shape[0]
    if isinstance(value, ListValue):
        return value.length
    if isinstance(value, Range):
        return sequences.compute_range_length(body, value)
    try:
        return len(value)
    except TypeError:
        body.refuse(f"{describe(value)} has no length")


@emits(range)
def _range(body: Body, *values: AnyValue) -> AnyValue:
    """Emit code for `range(*values)`. Return a Python range if all arguments are constants, else a
    `Range`."""
    start, stop, step = {1: (0, *values, 1), 2: (*values, 1), 3: values}[len(values)]
    if is_known(values):
        return range(start, stop, step)
    is_zero = operators.emit_comparison(body, ast.Eq(), step, 0)
    body.fail_if(is_zero, "ValueError: range() arg 3 must not be zero")
    return Range(_to_integer(body, start), _to_integer(body, stop), _to_integer(body, step))


def _to_integer(body: Body, value: AnyValue) -> int | Scalar:
    return value if isinstance(value, int) else arithmetic.to_int(body, value)


@emits(enumerate)
def _enumerate(body: Body, values: AnyValue, start: int = 0) -> AnyValue:
    """Emit code for `enumerate(values, start)`."""
    items = sequences.get_items(body, values)
    if isinstance(items, tuple):
        return tuple(enumerate(items, start))
    return Iterated(
        items.length, lambda k: (operators.emit_operator(body, ast.Add(), k, start), items.read(k))
    )


@emits(reversed)
def _reversed(body: Body, values: AnyValue) -> AnyValue:
    """Emit code for `reversed(values)`."""
    if isinstance(values, range):
        return values[::-1]
    items = sequences.get_items(body, values)
    if isinstance(items, tuple):
        return tuple(reversed(items))
    last = arithmetic.to_int(body, operators.emit_operator(body, ast.Sub(), items.length, 1))

    def read_from_end(k: Scalar) -> Any:
        index = body.emit.value(f"sub i64 {last.operand}, {k.operand}")
        return items.read(Scalar(Kind.INT, index, 0))

    return Iterated(items.length, read_from_end)


@emits(zip)
def _zip(body: Body, *values: AnyValue, strict: bool = False) -> AnyValue:
    """Emit code for `zip(*values)`."""
    columns = [sequences.get_items(body, value) for value in values]
    if all(isinstance(items, tuple) for items in columns):
        return tuple(zip(*columns, strict=strict))
    if strict:
        body.refuse("zip has no `strict` for lengths that are not known")
    tables = [
        sequences.to_table(body, items) if isinstance(items, tuple) else items for items in columns
    ]
    length = tables[0].length
    for table in tables[1:]:
        is_shorter = operators.emit_comparison(body, ast.Lt(), table.length, length)
        length = arithmetic.emit_select(body, is_shorter, table.length, length)
    return Iterated(length, lambda k: tuple(table.read(k) for table in tables))


def _has_all(values: Any) -> bool:
    """Return True if all elements of a one-dimensional array are true. This function is itself
    compiled."""
    for value in values:
        if not value:
            return False
    return True


def _has_any(values: Any) -> bool:
    """Return True if any element of a one-dimensional array is true. This function is itself
    compiled."""
    for value in values:
        if value:
            return True
    return False


def _all(body: Body, array: ArrayValue) -> AnyValue:
    return body.call_function(_has_all, numpy_library.flatten_items(body, array))


def _any(body: Body, array: ArrayValue) -> AnyValue:
    return body.call_function(_has_any, numpy_library.flatten_items(body, array))


def _make_any_or_all(is_any: bool) -> Callable[..., Any]:
    """Return the function that emits code for `any(values)`, or for `all(values)` if `is_any` is
    False."""

    def emit(body: Body, values: AnyValue) -> AnyValue:
        items = sequences.get_items(body, values)
        if isinstance(items, Iterated):
            if not isinstance(array_of(values), ArrayValue):
                body.refuse("any and all take a list, a tuple or a generator")
            return body.call_function(_has_any if is_any else _has_all, values)
        emit_join = arithmetic.emit_or if is_any else arithmetic.emit_and
        result: Any = not is_any
        for item in items:
            result = emit_join(body, result, arithmetic.emit_truth(body, item))
        return result

    return emit


LIBRARY[any], LIBRARY[all] = _make_any_or_all(True), _make_any_or_all(False)


@emits(sorted)
def _sorted(body: Body, values: AnyValue) -> AnyValue:
    """Emit code for `sorted(values)`: a copy, sorted in place."""
    if is_known(values):
        return sorted(values)
    array = array_of(values)
    if not isinstance(array, ArrayValue):
        array = numpy_library.make_array(body, values)
    sorted_list = numpy_library.copy_list(body, array)
    if sorted_list.item_template.kind is Kind.FLOAT:
        body.call_function(_refuse_nan, sorted_list)
    body.call_function(numpy_library.insertion_sort, sorted_list)
    return sorted_list


def _refuse_nan(values: Any) -> None:
    for value in values:
        if value != value:
            raise ValueError("`sorted` takes no nan in compiled code")


@emits(list)
def _list(body: Body, values: AnyValue = ()) -> AnyValue:
    """Emit code for `list(values)`."""
    items = sequences.get_items(body, values)
    if isinstance(items, tuple):
        return [*items]
    if isinstance(array := array_of(values), ArrayValue):
        return numpy_library.copy_list(body, array)
    if isinstance(values, Range | range):
        return ListValue((numpy_library.make_range_array(body, items),), Scalar(Kind.INT, ""))
    body.refuse(f"found {describe(values)}, which `list` does not take in compiled code")


@emits(isinstance)
def _isinstance(body: Body, value: AnyValue, cls: AnyValue) -> bool:
    if cls is not tuple:
        body.refuse("isinstance asks for tuples alone in compiled code")
    return isinstance(value, tuple)


@emits(np.arange)
def _arange(body: Body, *values: AnyValue) -> ArrayValue:
    if any(kind_of(value) is Kind.FLOAT for value in values):
        body.refuse("np.arange takes integers in compiled code")
    return numpy_library.make_range_array(body, sequences.get_items(body, _range(body, *values)))


LIBRARY[np.all], LIBRARY[np.any] = _all, _any
arrays.add_methods(all=_all, any=_any, sum=lambda body, array: _emit_sum(body, array))
