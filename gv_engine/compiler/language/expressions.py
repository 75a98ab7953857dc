"""Expressions of a function: names, constants, operators, attributes and items."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np

from gv_engine.compiler.language import (
    arithmetic,
    arrays,
    flow,
    memory,
    operators,
    sequences,
    variables,
)
from gv_engine.compiler.language.body import VISITORS, Body, visits
from gv_engine.compiler.language.values import (
    AnyValue,
    ArrayValue,
    ListValue,
    Method,
    Record,
    Scalar,
    describe,
    is_growing,
    is_known,
    is_number,
)

_CONVERSIONS: dict[int, Callable[[Any], str]] = {ord("s"): str, ord("r"): repr, ord("a"): ascii}
"""Functions by the character code of a conversion such as `!r` in an f-string."""


@visits(ast.Name)
def _name(body: Body, node: ast.Name) -> AnyValue:
    """Return the value that a name has here: a local variable, a captured or global one, or a
    built-in."""
    if node.id in body.source.assigned:
        value = variables.read_variable(body, node.id)
        return sequences.read_list(body, value) if is_growing(value) else value
    if node.id in body.names:
        return body.names[node.id]
    if hasattr(builtins, node.id):
        return getattr(builtins, node.id)
    body.refuse(f"the name {node.id!r} is not defined")


@visits(ast.Tuple)
def _tuple(body: Body, node: Any) -> tuple[Any, ...]:
    return tuple(sequences.evaluate_all(body, node.elts))


@visits(ast.Set)
def _set(body: Body, node: ast.Set) -> AnyValue:
    """Return a set of compile-time constants."""
    values = tuple(sequences.evaluate_all(body, node.elts))
    if not is_known(values):
        body.refuse("a set has items that are known before the program runs: take a tuple")
    return frozenset(values)


@visits(ast.Dict)
def _dict(body: Body, node: ast.Dict) -> AnyValue:
    """Return a dictionary of compile-time constants."""
    pairs = [
        (key and body.evaluate(key), body.evaluate(x)) for key, x in zip(node.keys, node.values)
    ]
    if None in node.keys or not is_known(pairs):
        body.refuse("a dict has keys and values that are known before the program runs")
    return dict(pairs)


@visits(ast.JoinedStr)
def _joined_str(body: Body, node: ast.JoinedStr) -> str:
    """Return an f-string whose parts are compile-time constants."""
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
            continue
        assert isinstance(part, ast.FormattedValue)
        value = body.evaluate(part.value)
        if not is_known(value):
            body.refuse("a text in compiled code is known before the program runs")
        spec = body.evaluate(part.format_spec) if part.format_spec else ""
        if part.conversion in _CONVERSIONS:
            value = _CONVERSIONS[part.conversion](value)
        parts.append(format(value, spec))
    return "".join(parts)


@visits(ast.NamedExpr)
def _named_expr(body: Body, node: ast.NamedExpr) -> AnyValue:
    value = body.evaluate(node.value)
    variables.assign(body, node.target, value)
    return value


@visits(ast.UnaryOp)
def _unary_op(body: Body, node: ast.UnaryOp) -> AnyValue:
    if isinstance(node.op, ast.Not):
        return arithmetic.emit_not(body, emit_condition(body, node.operand))
    return arithmetic.emit_unary(body, node.op, body.evaluate(node.operand))


@visits(ast.Compare)
def _compare(body: Body, node: ast.Compare) -> AnyValue:
    left = body.evaluate(node.left)
    return _compare_chain(body, left, node.ops, node.comparators)


def _compare_chain(
    body: Body, left: AnyValue, ops: list[ast.cmpop], nodes: list[ast.expr]
) -> AnyValue:
    """Emit code for a chain such as `left < a < b`. At run time, later comparisons are skipped if
    one is false."""
    is_set = isinstance(nodes[0], ast.Set) and isinstance(ops[0], ast.In | ast.NotIn)
    right = _tuple(body, nodes[0]) if is_set else body.evaluate(nodes[0])
    result = operators.emit_comparison(body, ops[0], left, right)
    if len(ops) == 1:
        return result
    return flow.emit_conditional(
        body, result, lambda: _compare_chain(body, right, ops[1:], nodes[1:]), lambda: result
    )


def emit_condition(body: Body, node: ast.expr) -> Scalar | bool:
    """Emit code for the truth of an expression; return it, known or not."""
    if isinstance(node, ast.BoolOp):
        return _emit_bool_condition(body, node.values, isinstance(node.op, ast.And))
    return arithmetic.emit_truth(body, body.evaluate(node))


def _emit_bool_condition(body: Body, nodes: list[ast.expr], is_and: bool) -> Scalar | bool:
    """Emit code for the truth of `a and b …` (or of `a or b …`), in an `if`, for example. Return
    it, a Python `bool` if it is constant at compile time."""
    first = emit_condition(body, nodes[0])
    if len(nodes) == 1 or (isinstance(first, bool) and first is not is_and):
        return first

    def emit_rest() -> Any:
        return _emit_bool_condition(body, nodes[1:], is_and)

    truth: Scalar | bool = _emit_short_circuit(body, first, emit_rest, first, is_and)
    return truth


def _emit_bool_op(body: Body, nodes: list[ast.expr], is_and: bool) -> AnyValue:
    """Emit code for the value of `a and b …` (or of `a or b …`): the operand that decides, as in
    Python."""
    first = body.evaluate(nodes[0])
    if len(nodes) == 1:
        return first

    def emit_rest() -> Any:
        return _emit_bool_op(body, nodes[1:], is_and)

    test = arithmetic.emit_truth(body, first)
    return _emit_short_circuit(body, test, emit_rest, first, is_and)


@visits(ast.IfExp)
def _if_exp(body: Body, node: ast.IfExp) -> AnyValue:
    """Emit code for `a if test else b`; return the result."""
    test = emit_condition(body, node.test)
    return flow.emit_conditional(
        body, test, lambda: body.evaluate(node.body), lambda: body.evaluate(node.orelse)
    )


def _emit_short_circuit(
    body: Body,
    test: Scalar | bool,
    emit_rest: Callable[[], Any],
    first: AnyValue,
    is_and: bool,
) -> AnyValue:
    """Emit code for the rest of an `and` that runs if the test is true, or of an `or` that runs if
    it is false; else the result is `first`."""
    if is_and:
        return flow.emit_conditional(body, test, emit_rest, lambda: first)
    return flow.emit_conditional(body, test, lambda: first, emit_rest)


VISITORS.update(
    {
        ast.Constant: lambda body, node: node.value,
        ast.List: lambda body, node: [*sequences.evaluate_all(body, node.elts)],
        ast.Slice: lambda body, node: slice(
            *(part and body.evaluate(part) for part in (node.lower, node.upper, node.step))
        ),
        ast.BoolOp: lambda body, node: _emit_bool_op(
            body, node.values, isinstance(node.op, ast.And)
        ),
        ast.BinOp: lambda body, node: operators.emit_operator(
            body, node.op, body.evaluate(node.left), body.evaluate(node.right)
        ),
        ast.Attribute: lambda body, node: read_attribute(
            body, body.evaluate(node.value), node.attr
        ),
        ast.Subscript: lambda body, node: sequences.read_item(
            body, body.evaluate(node.value), body.evaluate(node.slice)
        ),
    }
)


def read_attribute(body: Body, owner: AnyValue, name: str) -> AnyValue:
    """Return the value of `owner.name`. For a field of a record, emit a load."""
    if isinstance(owner, Record):
        return memory.read_field(body, owner, name)
    if isinstance(owner, ListValue):
        if name != "copy":
            body.refuse(f"a list has no {name!r} in compiled code")
        return Method(owner, arrays.ARRAY_METHODS[name])
    if isinstance(owner, ArrayValue):
        return arrays.read_array_attribute(body, owner, name)
    if is_known(owner) and not is_number(owner):
        if isinstance(owner, np.ndarray) and name in arrays.ARRAY_METHODS:
            return Method(arrays.constant_array(body, owner), arrays.ARRAY_METHODS[name])
        try:
            return getattr(owner, name)
        except AttributeError as error:
            body.refuse(str(error))
    body.refuse(f"{describe(owner)} has no attribute {name!r} in compiled code")
