"""Values of expressions, in Python's own numbers: mathy_core's wrap at 64 bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from gv_engine.families.algebra.expression import (
    ADD,
    CONSTANT,
    DIVIDE,
    EQUAL,
    FACTORIAL,
    MULTIPLY,
    NEGATE,
    POWER,
    SUBTRACT,
    VARIABLE,
    Node,
    NodeKind,
)

_CLOSE = 1e-9
_LARGEST_FACTORIAL = 1000
_MOST_BITS = 100_000
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
POINTS: tuple[dict[str, Any], ...] = (
    {letter: 2 + number for number, letter in enumerate(_LETTERS)},
    {letter: 3 + 5 * number % 53 for number, letter in enumerate(_LETTERS)},
    {letter: Fraction(3 + 7 * number % 53, 2) for number, letter in enumerate(_LETTERS)},
)
"""Where expressions are compared: a value for every letter, none that another one has."""


class NoValueError(ArithmeticError):
    """The expression has no value there, or one too large to be written down."""


def evaluate(node: Node, point: Mapping[str, Any]) -> Any:
    """The value of an expression: an int or a Fraction where it is exact, else a float.

    Args:
        point: a value for every variable.

    Raises:
        NoValueError: a division by nothing, a power beyond all bounds, an equation.
    """
    try:
        return _value(node, point)
    except (ArithmeticError, ValueError) as error:
        raise NoValueError(f"{node.text} has no value: {error}") from None


def _value(node: Node, point: Mapping[str, Any]) -> Any:
    kind = node.kind
    if kind is CONSTANT:
        return node.value
    if kind is VARIABLE:
        return point[str(node.value)]
    one, two = ([_value(child, point) for child in node.children()] * 2)[:2]
    if kind in _PLAIN:
        return _PLAIN[kind](one, two)
    if kind is DIVIDE:
        exact = not isinstance(one, float | complex) and not isinstance(two, float | complex)
        return Fraction(one) / Fraction(two) if exact else one / two
    if kind is POWER:
        if abs(two) * _bits(one) > _MOST_BITS:
            raise OverflowError("the power is too large")
        return Fraction(one) ** two if isinstance(two, int) and isinstance(one, int) else one**two
    if kind is NEGATE:
        return -one
    if kind is FACTORIAL:
        if abs(one) > _LARGEST_FACTORIAL:
            raise OverflowError("the factorial is too large")
        return math.factorial(int(one))
    if kind is EQUAL:
        raise ValueError("an equation holds or does not")
    return kind().operate(float(one))  # type: ignore[attr-defined]  # a function


_PLAIN: dict[NodeKind, Callable[[Any, Any], Any]] = {
    ADD: operator.add,
    MULTIPLY: operator.mul,
    SUBTRACT: operator.sub,
}


def _bits(value: Any) -> int:
    exact = Fraction(value) if isinstance(value, int | Fraction) else Fraction(1)
    return max(exact.numerator.bit_length(), exact.denominator.bit_length())


def is_close(one: Any, two: Any) -> bool:
    """Whether two values are equal up to 1e-9 of the larger."""
    if one == two:
        return True
    try:
        return bool(abs(one - two) <= _CLOSE * max(abs(one), abs(two)))
    except OverflowError:
        return False


def same_value(one: Node, two: Node, points: tuple[Mapping[str, Any], ...] = POINTS) -> bool:
    """Whether two expressions are equal wherever they are compared.

    Two equations are so if the difference of their sides changes by the same factor everywhere:
    sides may be swapped, and both be multiplied.
    """
    equations = one.kind is EQUAL
    if equations != (two.kind is EQUAL):
        return False
    try:
        pairs = [(_difference(one, point), _difference(two, point)) for point in points]
    except NoValueError:
        return False
    if not equations:
        return all(is_close(*pair) for pair in pairs)
    first, second = pairs[0]
    proportional = all(is_close(other * first, own * second) for own, other in pairs)
    return proportional and bool(first) == bool(second)


def _difference(node: Node, point: Mapping[str, Any]) -> Any:
    if node.kind is not EQUAL:
        return evaluate(node, point)
    left, right = node.children()
    return evaluate(left, point) - evaluate(right, point)
