"""Operators on values of all kinds: numbers, tuples, lists, ranges and arrays."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic, arrays, flow, memory
from gv_engine.compiler.language.arithmetic import KNOWN_OPERATORS
from gv_engine.compiler.language.body import Body
from gv_engine.compiler.language.values import (
    ArrayValue,
    Kind,
    ListValue,
    Range,
    Scalar,
    array_of,
    describe,
    is_known,
    kind_of,
)

_ARRAYS = ArrayValue, ListValue, np.ndarray


def _compare_lexicographically(
    body: Body, op: ast.cmpop, a: tuple[Any, ...], b: tuple[Any, ...]
) -> Any:
    """Return `a < b`, `a <= b`, `a > b` or `a >= b` for tuples: the first items that differ
    decide."""
    if not (a and b):
        return KNOWN_OPERATORS[type(op)](len(a), len(b))
    strict = ast.Lt() if isinstance(op, ast.Lt | ast.LtE) else ast.Gt()
    first, same = emit_comparison(body, strict, a[0], b[0]), _emit_equality(body, a[0], b[0])
    return arithmetic.emit_or(
        body,
        first,
        arithmetic.emit_and(body, same, _compare_lexicographically(body, op, a[1:], b[1:])),
    )


def _emit_equality(body: Body, a: Any, b: Any) -> Any:
    arithmetic.require_no_nan(body, a)
    return emit_comparison(body, ast.Eq(), a, b)


def _emit_membership(body: Body, value: Any, values: Any) -> Any:
    """Return `value in values`."""
    if isinstance(array_of(values), ArrayValue):
        if isinstance(values, ListValue):
            arithmetic.require_no_nan(body, value)
        return body.call_function(holds_number, values, value)
    if is_known(value) and is_known(values):
        return value in values
    if is_known(values) and len(values) == 0:
        return False
    if isinstance(values, range | Range) and isinstance(step := values.step, int):
        if kind_of(value) is Kind.FLOAT:
            body.refuse("found a fraction in place of an integer before `in`")
        ends = (ast.GtE(), ast.Lt()) if step > 0 else (ast.LtE(), ast.Gt())
        above = emit_comparison(body, ends[0], value, values.start)
        found = arithmetic.emit_and(body, above, emit_comparison(body, ends[1], value, values.stop))
        if abs(step) != 1:
            rest = emit_operator(body, ast.Mod(), value, abs(step))
            first = emit_operator(body, ast.Mod(), values.start, abs(step))
            found = arithmetic.emit_and(body, found, emit_comparison(body, ast.Eq(), rest, first))
    elif isinstance(values, tuple | list | set | frozenset | dict):
        found = False
        arithmetic.require_no_nan(body, value)
        for each in values:
            found = arithmetic.emit_or(body, found, emit_comparison(body, ast.Eq(), value, each))
    else:
        body.refuse(f"`in` takes a tuple, a list, a set or a range, found {describe(values)}")
    return found


def emit_comparison(body: Body, op: ast.cmpop, a: Any, b: Any) -> Any:
    """Emit code for a comparison of values of any type; return the result, known or not."""
    if isinstance(op, ast.In | ast.NotIn):
        found = _emit_membership(body, a, b)
        return found if isinstance(op, ast.In) else arithmetic.emit_not(body, found)
    if is_known((a, b)):
        return arithmetic.emit_scalar_comparison(body, op, a, b)
    if isinstance(op, ast.Is | ast.IsNot):
        if a is None or b is None:
            return (a is b) is isinstance(op, ast.Is)
        body.refuse("`is` compares with None, or values that are known: write ==")
    if isinstance(a, _ARRAYS) or isinstance(b, _ARRAYS):
        return _emit_elementwise(body, arithmetic.emit_scalar_comparison, op, a, b)
    if _are_same_sequence_type(a, b):
        return _compare_sequences(body, op, a, b)
    are_sequences = isinstance(a, tuple | list) and isinstance(b, tuple | list)
    if are_sequences and isinstance(op, ast.Eq | ast.NotEq):
        return isinstance(op, ast.NotEq)
    return arithmetic.emit_scalar_comparison(body, op, a, b)


def _compare_sequences(body: Body, op: ast.cmpop, a: Sequence[Any], b: Sequence[Any]) -> Any:
    """Return the result of a comparison of two tuples or two lists."""
    if not isinstance(op, ast.Eq | ast.NotEq):
        return _compare_lexicographically(body, op, tuple(a), tuple(b))
    equal: Any = len(a) == len(b)
    for x, y in zip(a, b) if equal else ():
        equal = arithmetic.emit_and(body, equal, _emit_equality(body, x, y))
    return equal if isinstance(op, ast.Eq) else arithmetic.emit_not(body, equal)


def emit_operator(body: Body, op: ast.operator, a: Any, b: Any) -> Any:
    """Emit code for a binary operator on values of any type; return the result."""
    if is_known((a, b)):
        return arithmetic.emit_arithmetic(body, op, a, b)
    if isinstance(a, _ARRAYS) or isinstance(b, _ARRAYS):
        return _emit_elementwise(body, arithmetic.emit_arithmetic, op, a, b)
    if isinstance(op, ast.Add) and _are_same_sequence_type(a, b):
        return a + b
    if isinstance(op, ast.Mult) and isinstance(a, tuple | list) and isinstance(b, int):
        return a * b
    return arithmetic.emit_arithmetic(body, op, a, b)


def _emit_elementwise(
    body: Body, operate: Callable[..., Any], op: ast.AST, a: Any, b: Any
) -> ArrayValue:
    """Return the results of an operator on the elements of an array and a number, or of two
    arrays of one shape, as an array."""
    if isinstance(a, ListValue) or isinstance(b, ListValue):
        body.refuse("operators do not take lists in compiled code: np.array(...) of them")
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = (arrays.constant_array(body, x) if isinstance(x, np.ndarray) else x for x in (a, b))
    shapes = [value.shape for value in (a, b) if isinstance(value, ArrayValue)]
    shape = shapes[0]
    if len(shape) != len(shapes[-1]):
        body.refuse("operators take two arrays of one shape in compiled code")
    for x, y in zip(shape, shapes[-1]):
        differ = emit_comparison(body, ast.NotEq(), x, y)
        body.fail_if(differ, "ValueError: operands could not be broadcast together")
    if len(shape) > 1:
        a, b = (arrays.flatten(body, x) if isinstance(x, ArrayValue) else x for x in (a, b))
        flat = _emit_elementwise(body, operate, op, a, b)
        blank = arrays.allocate_array(body, shape, flat.dtype)
        return replace(blank, pointer=flat.pointer)
    # eight bytes for each number, before its type is known
    found = arrays.allocate_array(body, shape, np.dtype(np.int64))

    def visit(k: Scalar) -> None:
        nonlocal found
        items = (
            arrays.read_array(body, x, k, True) if isinstance(x, ArrayValue) else x for x in (a, b)
        )
        value = arithmetic.to_number(body, operate(body, op, *items))
        dtype = value.kind.dtype
        found = replace(found, dtype=dtype, strides=(dtype.itemsize,))
        memory.store(body, arrays.element_address(body, found, (k,), is_inside=True), dtype, value)

    outer, body.is_elementwise = body.is_elementwise, True
    flow.emit_loop(body, shape[0], visit)
    body.is_elementwise = outer
    return found


def _are_same_sequence_type(a: Any, b: Any) -> bool:
    return any(isinstance(a, kind) and isinstance(b, kind) for kind in (tuple, list))


def holds_number(values: Any, number: Any) -> bool:
    """Return True if an array has a number among its elements."""
    for value in values:
        if value == number:
            return True
    return False
