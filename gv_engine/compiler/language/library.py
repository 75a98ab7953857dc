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
def _uint(body: Body, value: Any) -> Any:
    if is_known(value):
        return np.uint64(value)
    number = arithmetic.to_number(body, value)
    if number.kind is Kind.UINT:
        return number
    whole = arithmetic.to_int(body, number)
    if whole.low < 0 and body.is_checked:
        negative = operators.emit_comparison(body, ast.Lt(), whole, 0)
        body.fail_if(negative, "OverflowError: a negative integer is no uint64")
    return Scalar(Kind.UINT, whole.operand)


@emits(float, np.float64)
def _float(body: Body, value: Any = 0.0) -> Any:
    if is_known(value):
        return float(value)
    number = arithmetic.to_number(body, value)
    if number.kind is Kind.UINT:
        return Scalar(Kind.FLOAT, body.emit.value(f"uitofp i64 {number.operand} to double"))
    return replace(arithmetic.to_kind(body, number, Kind.FLOAT), narrow_dtype="")


# ---- numbers -------------------------------------------------------------------------------------


@emits(abs)
def _abs(body: Body, value: Any) -> Any:
    if is_known(value):
        return abs(value)
    number = arithmetic.to_number(body, value)
    if number.narrow_dtype:
        body.refuse(arithmetic.NARROW_ARITHMETIC.format(number.narrow_dtype))
    if number.kind is Kind.FLOAT:
        return fabs(body, number)
    if number.kind is Kind.UINT:
        return number
    whole = arithmetic.to_int(body, number)
    if whole.low >= 0:
        return whole
    if whole.low == LOWEST and body.is_checked:
        least = body.emit.value(f"icmp eq i64 {whole.operand}, {LOWEST}")
        body.fail_if(Scalar(Kind.BOOL, least), arithmetic.TOO_LARGE)
    negative = body.emit.value(f"icmp slt i64 {whole.operand}, 0")
    minus = body.emit.value(f"sub i64 0, {whole.operand}")
    text = body.emit.value(f"select i1 {negative}, i64 {minus}, i64 {whole.operand}")
    return Scalar(Kind.INT, text, 0, min(max(-whole.low, whole.high), HIGHEST))


def _make_min_or_max(op: ast.cmpop) -> Callable[..., Any]:
    """Return the code of `min` or `max`: the first of the values that are least or greatest."""

    def pick(body: Body, *values: Any, **options: Any) -> Any:
        if options.keys() - {"default"}:
            body.refuse(f"min and max take no {', '.join(options)} in compiled code: write a loop")
        if len(values) == 1 and isinstance(items := _to_items(body, values[0]), Iterated):
            return _emit_min_or_max_loop(body, op, items, options)
        if len(values) == 1:
            values = tuple(sequences.unpack(body, values[0]))
        if not values:
            return options["default"] if options else body.refuse(NO_ITEMS)
        found = values[0]
        for value in values[1:]:
            better = operators.emit_comparison(body, op, value, found)
            if {kind_of(found), kind_of(value)} == {Kind.INT, Kind.FLOAT}:
                found, value = (
                    arithmetic.to_exact_float(body, found),
                    arithmetic.to_exact_float(body, value),
                )
            found = arithmetic.emit_select(body, better, value, found)
        return found

    return pick


NO_ITEMS = "ValueError: min() or max() of nothing"


def _to_items(body: Body, value: Any) -> tuple[Any, ...] | Iterated:
    """Return the items of what a function iterates once."""
    value = array_of(value)
    return (
        sequences.get_items(body, value)
        if isinstance(value, ArrayValue | Range | Iterated)
        else (value,)
    )


def _emit_min_or_max_loop(
    body: Body, op: ast.cmpop, items: Iterated, options: dict[str, Any]
) -> Any:
    """Return the least or greatest of items that are not known one by one."""
    is_empty = operators.emit_comparison(body, ast.Eq(), items.length, 0)
    if not options:
        body.fail_if(is_empty, NO_ITEMS)

    def first() -> Any:
        return options["default"] if options else items.read(constant(0))

    start = flow.emit_conditional(body, is_empty, first, lambda: items.read(constant(0)))
    slot = body.emit.alloca(start.kind.llvm)
    body.emit.do(f"store {start.kind.llvm} {start.operand}, ptr {slot}")

    def look(k: Scalar) -> None:
        each = items.read(k)
        best = Scalar(start.kind, body.emit.value(f"load {start.kind.llvm}, ptr {slot}"))
        better = arithmetic.emit_select(
            body, operators.emit_comparison(body, op, each, best), each, best
        )
        body.emit.do(f"store {start.kind.llvm} {better.operand}, ptr {slot}")

    flow.emit_loop(body, items.length, look)
    return replace(start, text=body.emit.value(f"load {start.kind.llvm}, ptr {slot}"))


LIBRARY[bool] = LIBRARY[np.bool_] = lambda body, value=False: arithmetic.emit_truth(body, value)
LIBRARY[pow] = lambda body, a, b: operators.emit_operator(body, ast.Pow(), a, b)
LIBRARY[divmod] = lambda body, a, b: tuple(
    operators.emit_operator(body, op, a, b) for op in (ast.FloorDiv(), ast.Mod())
)
LIBRARY[tuple] = lambda body, values=(): tuple(sequences.unpack(body, values))
LIBRARY[min], LIBRARY[max] = _make_min_or_max(ast.Lt()), _make_min_or_max(ast.Gt())


@emits(sum)
def _sum_items(body: Body, values: Any, start: Any = 0) -> Any:
    start = comprehensions.check_sum_start(body, start)
    values = array_of(values)
    if isinstance(values, ArrayValue) and len(values.shape) > 1:
        body.refuse("`sum` adds rows here: call the array's own sum(), or loop")
    if isinstance(values, ArrayValue) and (
        narrow := arrays.load_element(body, values, (0,), True).narrow_dtype
    ):
        body.refuse(arithmetic.NARROW_ARITHMETIC.format(narrow))
    return _emit_sum(body, values, start)


def _emit_sum(body: Body, values: Any, start: int | Scalar = 0) -> Any:
    total: Any = start
    if isinstance(values, ArrayValue):
        values = numpy_library.flatten_items(body, values)
        slot = body.emit.alloca("i64")
        body.emit.do(f"store i64 {arithmetic.to_int(body, start).operand}, ptr {slot}")
        if kind_of(arrays.load_element(body, values, (constant(0),), is_inside=True)) is Kind.FLOAT:
            body.refuse("`sum` of fractions rounds by version of Python: use add_up")

        def add(k: Scalar) -> None:
            before = Scalar(Kind.INT, body.emit.value(f"load i64, ptr {slot}"))
            each = arrays.load_element(body, values, (k,), is_inside=True)
            after = operators.emit_operator(body, ast.Add(), before, arithmetic.to_int(body, each))
            body.emit.do(f"store i64 {after.operand}, ptr {slot}")

        flow.emit_loop(body, values.shape[0], add)
        return Scalar(Kind.INT, body.emit.value(f"load i64, ptr {slot}"))
    for value in sequences.unpack(body, values):
        if kind_of(value) is Kind.FLOAT:
            body.refuse("`sum` of fractions rounds by version of Python: use add_up")
        total = operators.emit_operator(body, ast.Add(), total, value)
    return total


@emits(round)
def _round(body: Body, value: Any, digits: Any = None) -> Any:
    if is_known((value, digits)):
        return round(value, digits)
    if digits is not None:
        body.refuse("`round` takes no digits in compiled code")
    if kind_of(value) is not Kind.FLOAT:
        return arithmetic.to_int(body, value)
    number = f"double {arithmetic.to_number(body, value).operand}"
    text = body.call_external("llvm.roundeven.f64", "double", number)
    return to_integer(body, Scalar(Kind.FLOAT, text))


# ---- sequences -----------------------------------------------------------------------------------


@emits(len)
def _len(body: Body, value: Any) -> Any:
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
def _range(body: Body, *values: Any) -> Any:
    start, stop, step = {1: (0, *values, 1), 2: (*values, 1), 3: values}[len(values)]
    if is_known(values):
        return range(start, stop, step)
    zero = operators.emit_comparison(body, ast.Eq(), step, 0)
    body.fail_if(zero, "ValueError: range() arg 3 must not be zero")
    return Range(_index(body, start), _index(body, stop), _index(body, step))


def _index(body: Body, value: Any) -> int | Scalar:
    return value if isinstance(value, int) else arithmetic.to_int(body, value)


@emits(enumerate)
def _enumerate(body: Body, values: Any, start: int = 0) -> Any:
    items = sequences.get_items(body, values)
    if isinstance(items, tuple):
        return tuple(enumerate(items, start))
    return Iterated(
        items.length, lambda k: (operators.emit_operator(body, ast.Add(), k, start), items.read(k))
    )


@emits(reversed)
def _reversed(body: Body, values: Any) -> Any:
    if isinstance(values, range):
        return values[::-1]
    items = sequences.get_items(body, values)
    if isinstance(items, tuple):
        return tuple(reversed(items))
    last = arithmetic.to_int(body, operators.emit_operator(body, ast.Sub(), items.length, 1))

    def read_from_end(k: Scalar) -> Any:
        text = body.emit.value(f"sub i64 {last.operand}, {k.operand}")
        return items.read(Scalar(Kind.INT, text, 0))

    return Iterated(items.length, read_from_end)


@emits(zip)
def _zip(body: Body, *values: Any, strict: bool = False) -> Any:
    items = [sequences.get_items(body, value) for value in values]
    if all(isinstance(each, tuple) for each in items):
        return tuple(zip(*items, strict=strict))
    if strict:
        body.refuse("zip has no `strict` for lengths that are not known")
    tables = [sequences.to_table(body, each) if isinstance(each, tuple) else each for each in items]
    length = tables[0].length
    for other in tables[1:]:
        shorter = operators.emit_comparison(body, ast.Lt(), other.length, length)
        length = arithmetic.emit_select(body, shorter, other.length, length)
    return Iterated(length, lambda k: tuple(each.read(k) for each in tables))


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


def _all(body: Body, array: ArrayValue) -> Any:
    return body.call_function(_has_all, numpy_library.flatten_items(body, array))


def _any(body: Body, array: ArrayValue) -> Any:
    return body.call_function(_has_any, numpy_library.flatten_items(body, array))


def _make_any_or_all(is_any: bool) -> Callable[..., Any]:
    """Return the code of `any` or `all` of items."""

    def emit(body: Body, values: Any) -> Any:
        items = sequences.get_items(body, values)
        if isinstance(items, Iterated):
            if not isinstance(array_of(values), ArrayValue):
                body.refuse("any and all take a list, a tuple or a generator")
            return body.call_function(_has_any if is_any else _has_all, values)
        found: Any = not is_any
        for item in items:
            join = arithmetic.emit_or if is_any else arithmetic.emit_and
            found = join(body, found, arithmetic.emit_truth(body, item))
        return found

    return emit


LIBRARY[any], LIBRARY[all] = _make_any_or_all(True), _make_any_or_all(False)


@emits(sorted)
def _sorted(body: Body, values: Any) -> Any:
    if is_known(values):
        return sorted(values)
    array = array_of(values)
    array = numpy_library.copy_list(
        body, array if isinstance(array, ArrayValue) else numpy_library.make_array(body, values)
    )
    if array.item.kind is Kind.FLOAT:
        body.call_function(_require_order, array)
    body.call_function(numpy_library.insertion_sort, array)
    return array


def _require_order(values: Any) -> None:
    for value in values:
        if value != value:
            raise ValueError("`sorted` takes no nan in compiled code")


@emits(list)
def _list(body: Body, values: Any = ()) -> Any:
    items = sequences.get_items(body, values)
    if isinstance(items, tuple):
        return [*items]
    if isinstance(array := array_of(values), ArrayValue):
        return numpy_library.copy_list(body, array)
    if isinstance(values, Range | range):
        return ListValue((numpy_library.make_range_array(body, items),), Scalar(Kind.INT, ""))
    body.refuse(f"found {describe(values)}, which `list` does not take in compiled code")


@emits(isinstance)
def _isinstance(body: Body, value: Any, cls: Any) -> bool:
    if cls is not tuple:
        body.refuse("isinstance asks for tuples alone in compiled code")
    return isinstance(value, tuple)


@emits(np.arange)
def _arange(body: Body, *values: Any) -> ArrayValue:
    if any(kind_of(value) is Kind.FLOAT for value in values):
        body.refuse("np.arange takes integers in compiled code")
    return numpy_library.make_range_array(body, sequences.get_items(body, _range(body, *values)))


LIBRARY[np.all], LIBRARY[np.any] = _all, _any
arrays.add_methods(all=_all, any=_any, sum=lambda body, array: _emit_sum(body, array))
