"""Values of expressions, in Python's own numbers: mathy_core's wrap at 64 bits."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gv_engine.domains.algebra.library import expressions as lib

# ---- expression ----------------------------------------------------------------------------------

CONSTANT, VARIABLE = lib.ConstantExpression, lib.VariableExpression
NEGATE, FACTORIAL = lib.NegateExpression, lib.FactorialExpression
EQUAL, ADD, SUBTRACT = lib.EqualExpression, lib.AddExpression, lib.SubtractExpression
MULTIPLY, DIVIDE, POWER = lib.MultiplyExpression, lib.DivideExpression, lib.PowerExpression

Number = int | float
NodeKind = type[lib.MathExpression]

SYMBOLS: dict[NodeKind, str] = {
    EQUAL: "=",
    ADD: "+",
    SUBTRACT: "-",
    MULTIPLY: "*",
    DIVIDE: "/",
    POWER: "^",
}
"""Operators with two operands, as they are written."""

_BINDS: dict[NodeKind, int] = {EQUAL: -1, ADD: 0, SUBTRACT: 0, MULTIPLY: 1, DIVIDE: 1, POWER: 2}
_LOOSE = 3

CA, CS, CS_ANY, DM, DF, AG, VM, RS = (1 << bit for bit in range(8))
"""Bits of a node's marks: the rules of mathy_core that apply to it. CS_ANY is the commutative swap
that also undoes a preferred order."""


LARGEST_FACTORED = 10**10
"""mathy_core tries every divisor up to the root of a coefficient: above this it takes seconds, and
above 2^64 it fails, so that nothing is factored out there."""


class Term(NamedTuple):
    """A term in natural order: 4x^2."""

    coefficient: Number | None
    variable: str | None
    exponent: Number | None

    @property
    def key(self) -> tuple[str | None, Number | None]:
        """What like terms have in common."""
        return self[1:]


class Node:
    """One node and all below it.

    Attributes:
        kind: its class in mathy_core.
        value: the number of a constant, the name of a variable, else None.
        left, right: operands; a unary one hangs on the right.
        size: nodes, itself included.
        text: as printed where nothing surrounds it.
        binds: how closely what is printed holds together: below what an operator asks for, its
            operands stand in parentheses.
        plain: of +, *, positive numbers, variables and their powers only: no rule of mathy_core
            changes its value.
        exact: whether its text parses to this very tree.
        term: what it is as a term; None if it is none.
        likes: keys of the terms that are operands of + and - in it, in order.
        marks: see `marked`; without what the parent decides.
        looks: type ids and values of all nodes in order, once somebody has asked (see `state`).
    """

    __slots__ = (
        "_after",
        "_before",
        "binds",
        "exact",
        "kind",
        "left",
        "likes",
        "looks",
        "marks",
        "plain",
        "right",
        "size",
        "term",
        "text",
        "value",
    )

    def __init__(
        self,
        kind: NodeKind,
        left: Node | None = None,
        right: Node | None = None,
        value: Number | str | None = None,
    ) -> None:
        self.kind = kind
        self.left = left
        self.right = right
        self.value = value
        self._before = self._after = b""
        self.binds = _LOOSE
        self.marks = 0
        self.term: Term | None = None
        self.likes: tuple[Any, ...] = ()
        self.looks: tuple[bytes, bytes] | None = None
        if left is None and right is None:
            self._leaf()
        elif left is None or right is None:
            self._unary(left or right)  # type: ignore[arg-type]  # one of them is there
        else:
            self._binary(left, right)

    def _leaf(self) -> None:
        self.size = 1
        value = self.value
        if self.kind is CONSTANT:
            self.text = _number(value)  # type: ignore[arg-type]  # a constant's is a number
            self.plain = self.exact = type(value) is int and value >= 0
            self.term = Term(value, None, None)  # type: ignore[arg-type]
        else:
            self.text = str(value)
            self.plain = self.exact = self.kind is VARIABLE and len(self.text) == 1
            self.term = Term(None, self.text, None) if self.kind is VARIABLE else None

    def _unary(self, child: Node) -> None:
        self.size = child.size + 1
        self.plain = self.exact = False
        self.likes = child.likes
        if self.kind is NEGATE:
            self.text = f"-({child.text})" if child.kind in (ADD, SUBTRACT) else f"-{child.text}"
            if child.kind is VARIABLE or (child.kind is POWER and child.term is not None):
                self.term = child.term and child.term._replace(coefficient=-1)
            if child.left is not None and _are(CONSTANT, child.left, child.right):
                self.marks = CA
        elif self.kind is FACTORIAL:
            self.text = f"{child.text}!"
        else:
            self.text = f"{self.value}({child.text})"
        if self.left is not None:
            self._before = child.marked()
        else:
            self._after = child.marked()

    def _binary(self, left: Node, right: Node) -> None:
        kind = self.kind
        self.size = left.size + right.size + 1
        self.plain = plain = left.plain and right.plain
        self.exact = exact = left.exact and right.exact
        self.likes = left.likes + right.likes
        self.binds = binds = _BINDS[kind]
        one = left.text if left.binds >= binds else f"({left.text})"
        open_right = right.binds > binds or right.binds == binds != 0
        two = right.text if open_right else f"({right.text})"
        if kind is ADD or kind is SUBTRACT:
            self.text = f"{one} {SYMBOLS[kind]} {two}"
            ones = () if left.binds == 0 else (left.term and left.term.key,)
            twos = () if right.binds == 0 else (right.term and right.term.key,)
            self.likes = left.likes + ones + right.likes + twos
            self.plain = plain and kind is ADD
            self.exact = exact and kind is ADD
        elif kind is POWER:
            self.text = f"{one}^{two}"
            self.binds = _LOOSE
            self.plain = plain and left.kind is VARIABLE and right._small()
            self.exact = exact and self.plain
            if left.kind is VARIABLE and right.kind is CONSTANT:
                self.term = Term(None, left.text, right.value)  # type: ignore[arg-type]
        elif kind is MULTIPLY and self._is_compact():
            self.text = f"{one}{two}"
            self.binds = _LOOSE
            if right.term is not None:
                self.term = right.term._replace(coefficient=left.value)  # type: ignore[arg-type]
        else:
            self.text = f"{one} {SYMBOLS[kind]} {two}"
            self.plain = plain and kind is MULTIPLY
            # products in a row are read from the left
            self.exact = (
                exact and self.plain and (right.kind is not MULTIPLY or right.binds == _LOOSE)
            )
        self.marks = _applicable(kind, left, right)
        self._before = left.marked(kind, right)
        self._after = right.marked(kind, left)

    def _is_compact(self) -> bool:
        """Whether a product prints without its sign: 4x, 4x^2."""
        left, right = self.left, self.right
        return (
            left is not None
            and left.kind is CONSTANT
            and right is not None
            and (right.kind is VARIABLE or (right.kind is POWER and _kind(right.left) is VARIABLE))
        )

    def _small(self) -> bool:
        """Whether it can be the exponent of a plain expression: numbers and sums of them."""
        if self.kind is ADD:
            return all(child._small() for child in self.children())
        return self.kind is CONSTANT or self.kind is VARIABLE

    def marked(self, parent: NodeKind | None = None, sibling: Node | None = None) -> bytes:
        """(size,) one byte for each node in order: the rules that apply to it.

        Args:
            parent: what this is an operand of; nothing if None.
            sibling: the other operand.
        """
        marks = self.marks
        kind = self.kind
        if kind is parent and (kind is ADD or kind is MULTIPLY):
            marks |= AG
            if kind is MULTIPLY and sibling is not None and sibling.kind is MULTIPLY:
                marks |= CS
        elif kind is SUBTRACT and parent in (None, EQUAL, ADD):
            marks |= RS
        return self._before + _BYTES[marks] + self._after

    def children(self) -> tuple[Node, ...]:
        """The operands there are."""
        return tuple(child for child in (self.left, self.right) if child is not None)

    def in_order(self) -> Iterator[Node]:
        """Every node: left, node, right."""
        if self.left is not None:
            yield from self.left.in_order()
        yield self
        if self.right is not None:
            yield from self.right.in_order()

    @property
    def name(self) -> str:
        """What stands in this node alone: a number, a letter, a sign."""
        if self.kind in (CONSTANT, VARIABLE):
            return self.text
        return str(self.value or SYMBOLS.get(self.kind) or _UNARY[self.kind])

    def __repr__(self) -> str:
        return f"<Node {self.text!r}>"


_UNARY: dict[NodeKind, str] = {NEGATE: "-", FACTORIAL: "!"}
_BYTES = [bytes((value,)) for value in range(256)]


def _number(value: Number) -> str:
    if value % 1 == 0:
        return str(int(value))
    return np.format_float_positional(value, trim="-")


def _kind(node: Node | None) -> NodeKind | None:
    return None if node is None else node.kind


def _are(kind: NodeKind, *nodes: Node | None) -> bool:
    return all(node is not None and node.kind is kind for node in nodes)


def _leads(node: Node, kind: NodeKind) -> bool:
    """Whether it is of this kind, with a constant on the left."""
    return node.kind is kind and _kind(node.left) is CONSTANT


def _applicable(kind: NodeKind, left: Node, right: Node) -> int:
    """Marks of an operator that its operands decide."""
    marks = 0
    if kind is ADD:
        marks = CS | CS_ANY
        if _can_factor_out(left, right):
            marks |= DF
        if _restates(right):
            marks |= RS
    elif kind is MULTIPLY:
        marks = CS_ANY
        preferred = left.kind is CONSTANT and right.kind is VARIABLE
        if not (preferred or (right.kind is POWER and right.term is not None)):
            marks |= CS
        if left.kind is ADD or right.kind is ADD:
            marks |= DM
        if _can_add_exponents(left, right):
            marks |= VM
    elif kind is EQUAL:
        marks = CS | CS_ANY
    if _can_calculate(kind, left, right):
        marks |= CA
    return marks


def _can_calculate(kind: NodeKind, left: Node, right: Node) -> bool:
    """Two numbers, side by side or along a chain of the same operator."""
    if left.kind is CONSTANT:
        if right.kind is CONSTANT:
            return True
        if kind is right.kind and (kind is ADD or kind is MULTIPLY):
            inner = right.left
            return inner is not None and (inner.kind is CONSTANT or _leads(inner, kind))
        return False
    if kind is not MULTIPLY or left.kind is not MULTIPLY:
        return False
    if _leads(left, MULTIPLY):
        if right.kind is CONSTANT:
            return _kind(left.right) is VARIABLE
        if right.kind is MULTIPLY:
            inner = right.left
            if inner is not None and (inner.kind is CONSTANT or _leads(inner, MULTIPLY)):
                return True
    return left.right is not None and _leads(left.right, MULTIPLY) and _leads(right, MULTIPLY)


def _can_factor_out(left: Node, right: Node) -> bool:
    """Two terms with a common factor, side by side or along a chain of sums."""
    one, two = left.term, right.term
    if one is None and two is None:
        one, two = _operand(left, ADD, "right"), _operand(right, ADD, "left")
        if one is None or two is None or one.variable is None or two.variable is None:
            return False
    elif two is None:
        two = _chained(right, "left")
        if two is None or two.variable is None:
            return False
    elif one is None:
        one = _chained(left, "right")
        if one is None or one.variable is None:
            return False
    assert one is not None
    return _have_common_factor(one, two)


def _operand(node: Node, kind: NodeKind, side: str) -> Term | None:
    """The term on one side of an operator of this kind."""
    inner: Node | None = getattr(node, side) if node.kind is kind else None
    return None if inner is None else inner.term


def _chained(node: Node, side: str) -> Term | None:
    """The near term of a sum, or of a sum within that."""
    if node.kind is not ADD:
        return None
    inner: Node = getattr(node, side)
    return inner.term if inner.term is not None else _operand(inner, ADD, side)


def _have_common_factor(one: Term, two: Term) -> bool:
    if one.variable is None and two.variable is None:
        return False
    first = 1 if one.coefficient is None else one.coefficient
    second = 1 if two.coefficient is None else two.coefficient
    if not (0 != abs(first) <= LARGEST_FACTORED and 0 != abs(second) <= LARGEST_FACTORED):
        return False
    same_power = one.exponent == two.exponent or not (one.exponent or two.exponent)
    if one.variable == two.variable and same_power:
        return True
    # a number below 1 is its own smallest factor
    return first == second and 0 < first < 1


def _can_add_exponents(left: Node, right: Node) -> bool:
    """Two terms of one variable, side by side or along a chain of products."""
    one, two = left.term, right.term
    if left.kind is MULTIPLY and right.kind is MULTIPLY:
        near = _operand(left, MULTIPLY, "right")
        if near is not None and two is not None and near.variable == two.variable:
            return True
    if one is None or one.variable is None:
        return False
    if two is None:
        two = _operand(right, MULTIPLY, "left")
    return two is not None and one.variable == two.variable


def _restates(right: Node) -> bool:
    """Whether what is added is negative: a number, or a product that begins with one."""
    if right.kind is CONSTANT:
        return right.value < 0  # type: ignore[operator]  # a number
    return (
        _leads(right, MULTIPLY)
        and _kind(right.right) in (VARIABLE, POWER)
        and right.left is not None
        and right.left.value < 0  # type: ignore[operator]  # a number
    )


# ---- value ---------------------------------------------------------------------------------------

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
