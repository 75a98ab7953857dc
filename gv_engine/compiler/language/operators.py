"""Operators on numbers, tuples, lists, ranges and arrays in compiled code."""

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
    AnyValue,
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
) -> AnyValue:
    """Emit code for a comparison of tuples by `<`, `<=`, `>` or `>=`. As in Python, the first items
    that differ decide, or else the lengths."""
    if not (a and b):
        return KNOWN_OPERATORS[type(op)](len(a), len(b))
    strict_op = ast.Lt() if isinstance(op, ast.Lt | ast.LtE) else ast.Gt()
    is_decided = emit_comparison(body, strict_op, a[0], b[0])
    is_equal = _emit_equality(body, a[0], b[0])
    rest = _compare_lexicographically(body, op, a[1:], b[1:])
    return arithmetic.emit_or(body, is_decided, arithmetic.emit_and(body, is_equal, rest))


def _emit_equality(body: Body, a: AnyValue, b: AnyValue) -> AnyValue:
    arithmetic.require_no_nan(body, a)
    return emit_comparison(body, ast.Eq(), a, b)


def _emit_membership(body: Body, value: AnyValue, values: AnyValue) -> AnyValue:
    """Emit code for `value in values`. Return the result, a `bool` if it is constant at compile
    time."""
    if isinstance(array_of(values), ArrayValue):
        if isinstance(values, ListValue):
            arithmetic.require_no_nan(body, value)
        return body.call_function(holds_number, values, value)
    if is_known(value) and is_known(values):
        return value in values
    if is_known(values) and len(values) == 0:
        return False
    if isinstance(values, range | Range) and isinstance(values.step, int):
        return _emit_range_membership(body, value, values, values.step)
    if not isinstance(values, tuple | list | set | frozenset | dict):
        body.refuse(f"`in` takes a tuple, a list, a set or a range, found {describe(values)}")
    is_member: Any = False
    arithmetic.require_no_nan(body, value)
    for item in values:
        is_equal = emit_comparison(body, ast.Eq(), value, item)
        is_member = arithmetic.emit_or(body, is_member, is_equal)
    return is_member


def _emit_range_membership(
    body: Body, value: AnyValue, values: range | Range, step: int
) -> AnyValue:
    """Emit code for `value in values` of a range with this `step`; return the result."""
    if kind_of(value) is Kind.FLOAT:
        body.refuse("found a fraction in place of an integer before `in`")
    start_op, stop_op = (ast.GtE(), ast.Lt()) if step > 0 else (ast.LtE(), ast.Gt())
    is_past_start = emit_comparison(body, start_op, value, values.start)
    is_before_stop = emit_comparison(body, stop_op, value, values.stop)
    is_member = arithmetic.emit_and(body, is_past_start, is_before_stop)
    if abs(step) != 1:
        remainder = emit_operator(body, ast.Mod(), value, abs(step))
        start_remainder = emit_operator(body, ast.Mod(), values.start, abs(step))
        is_on_step = emit_comparison(body, ast.Eq(), remainder, start_remainder)
        is_member = arithmetic.emit_and(body, is_member, is_on_step)
    return is_member


def emit_comparison(body: Body, op: ast.cmpop, a: AnyValue, b: AnyValue) -> AnyValue:
    """Emit code for a comparison of any two values, such as `a == b` or `a is None`. Return the
    result, a `bool` if it is constant at compile time."""
    if isinstance(op, ast.In | ast.NotIn):
        is_member = _emit_membership(body, a, b)
        return is_member if isinstance(op, ast.In) else arithmetic.emit_not(body, is_member)
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


def _compare_sequences(body: Body, op: ast.cmpop, a: Sequence[Any], b: Sequence[Any]) -> AnyValue:
    """Emit code for a comparison of two tuples or two lists. Return the result, a `bool` if it is
    constant at compile time."""
    if not isinstance(op, ast.Eq | ast.NotEq):
        return _compare_lexicographically(body, op, tuple(a), tuple(b))
    if len(a) != len(b):
        return isinstance(op, ast.NotEq)
    is_equal: Any = True
    for x, y in zip(a, b):
        is_equal = arithmetic.emit_and(body, is_equal, _emit_equality(body, x, y))
    return is_equal if isinstance(op, ast.Eq) else arithmetic.emit_not(body, is_equal)


def emit_operator(body: Body, op: ast.operator, a: AnyValue, b: AnyValue) -> AnyValue:
    """Emit code for a binary operator such as `+` on any two values. Return the result, a constant
    if both operands are."""
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
    body: Body, emit_scalar: Callable[..., Any], op: ast.AST, a: AnyValue, b: AnyValue
) -> ArrayValue:
    """Emit loops for an operator on two arrays of one shape, or on an array and a number; return
    the array of results. `emit_scalar(body, op, a, b)` emits the operator on two elements."""
    if isinstance(a, ListValue) or isinstance(b, ListValue):
        body.refuse("operators do not take lists in compiled code: np.array(...) of them")
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        a, b = (arrays.constant_array(body, x) if isinstance(x, np.ndarray) else x for x in (a, b))
    shapes = [value.shape for value in (a, b) if isinstance(value, ArrayValue)]
    shape = shapes[0]
    if len(shape) != len(shapes[-1]):
        body.refuse("operators take two arrays of one shape in compiled code")
    for x, y in zip(shape, shapes[-1]):
        differs = emit_comparison(body, ast.NotEq(), x, y)
        body.fail_if(differs, "ValueError: operands could not be broadcast together")
    if len(shape) > 1:
        a, b = (arrays.flatten(body, x) if isinstance(x, ArrayValue) else x for x in (a, b))
        flat_results = _emit_elementwise(body, emit_scalar, op, a, b)
        results = arrays.allocate_array(body, shape, flat_results.dtype)
        return replace(results, pointer=flat_results.pointer)
    # eight bytes for each number, before its type is known
    results = arrays.allocate_array(body, shape, np.dtype(np.int64))

    def emit_iteration(k: Scalar) -> None:
        nonlocal results
        x, y = (
            arrays.read_array(body, value, k, is_inside=True)
            if isinstance(value, ArrayValue)
            else value
            for value in (a, b)
        )
        number = arithmetic.to_number(body, emit_scalar(body, op, x, y))
        dtype = number.kind.dtype
        results = replace(results, dtype=dtype, strides=(dtype.itemsize,))
        pointer = arrays.element_address(body, results, (k,), is_inside=True)
        memory.store(body, pointer, dtype, number)

    was_elementwise, body.is_elementwise = body.is_elementwise, True
    flow.emit_loop(body, shape[0], emit_iteration)
    body.is_elementwise = was_elementwise
    return results


def _are_same_sequence_type(a: Any, b: Any) -> bool:
    return any(isinstance(a, cls) and isinstance(b, cls) for cls in (tuple, list))


def holds_number(values: Any, number: Any) -> bool:
    """Return True if an array contains a number. This function is itself compiled."""
    for value in values:
        if value == number:
            return True
    return False
