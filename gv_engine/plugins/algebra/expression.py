"""Expression trees: nodes, the core rules that apply to each node, and exact evaluation.

Values are Python numbers, because those of mathy_core overflow at 64 bits.
"""

from __future__ import annotations

import cmath
import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from gv_engine.plugins.algebra.library import expressions as lib

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
"""Text of each binary operator."""

FUNCTIONS: dict[str, NodeKind] = {"sgn": lib.SgnExpression}
"""Functions that an expression may call, by name."""

# precedence of printed text, the lowest first; `_PRODUCT` is a product without a division in front,
# `_COMPACT` one without a sign, and `_SIGNED` begins with a minus
_EQUATION, _SUM, _QUOTIENT, _PRODUCT, _COMPACT, _SIGNED, _POWER, _FACTORIAL, _ATOM = range(-1, 8)

CA, CS, CS_ANY, DM, DF, AG, VM, RS = (1 << bit for bit in range(8))
"""Bits of `Node.rule_bits`, one for each core rule of mathy_core. CS_ANY is the commutative swap
that also swaps terms in preferred order."""


MAX_FACTORED = 10**10
"""Largest coefficient from which a common factor is taken out. mathy_core tries every divisor up to
the square root: larger coefficients take seconds, and above 2^64 mathy_core fails."""


class Term(NamedTuple):
    """Term in natural order, such as 4x^2. Like terms share the key `term[1:]`: (variable,
    exponent)."""

    coefficient: Number | None
    variable: str | None
    exponent: Number | None


class Node:
    """Node of an expression tree, with all nodes below it.

    Attributes:
        kind: class of the node in mathy_core.
        value: number of a constant, name of a variable or function, else None.
        left, right: operands; a unary operator has its operand on the right.
        size: number of nodes in this tree.
        text: text of the tree without surrounding parentheses.
        precedence: precedence of the outermost operator of `text`; operands with a lower one than
            their operator needs are written in parentheses.
        is_plain: the tree has only +, *, positive numbers, variables and their powers, so that no
            rule of mathy_core changes its value.
        is_exact: `text` parses to an equal tree. If not, the tree has a product whose right operand
            is a product, which is printed without parentheses; a number or 4x under a minus, which
            is printed as a negative number; or something that no text means.
        term: the tree as a term; None if the tree is none.
        term_keys: keys of the terms that are operands of + and - in the tree, in order.
        rule_bits: core rules that apply to this node, without those that depend on the parent.
        encoding: type ids and values of all nodes in order, cached by `state.observe`.
    """

    __slots__ = (
        "_after",
        "_before",
        "encoding",
        "is_exact",
        "is_plain",
        "kind",
        "left",
        "precedence",
        "right",
        "rule_bits",
        "size",
        "term",
        "term_keys",
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
        """Create a node. `kind` is a class of mathy_core, such as AddExpression; `left` and `right`
        are its operands. A number, variable or function has a `value`."""
        self.kind = kind
        self.left = left
        self.right = right
        self.value = value
        self._before = self._after = b""
        self.precedence = _ATOM
        self.rule_bits = 0
        self.term: Term | None = None
        self.term_keys: tuple[Any, ...] = ()
        self.encoding: tuple[bytes, bytes] | None = None
        if left is None and right is None:
            self._init_leaf()
        elif left is None or right is None:
            self._init_unary(left or right)  # type: ignore[arg-type]  # one of them is there
        else:
            self._init_binary(left, right)

    def _init_leaf(self) -> None:
        """Set the cached attributes of a number or variable from its value: size, text, term and
        flags."""
        self.size = 1
        value = self.value
        if self.kind is CONSTANT:
            self.text = _format_number(value)  # type: ignore[arg-type]  # a constant's is a number
            self.precedence = _SIGNED if self.text.startswith("-") else _ATOM
            self.is_plain = type(value) is int and value >= 0
            self.is_exact = type(value) is int or math.isfinite(value)  # type: ignore[arg-type]
            self.term = Term(value, None, None)  # type: ignore[arg-type]
        else:
            self.text = str(value)
            is_letter = len(self.text) == 1 and self.text.isalpha() and self.text.isascii()
            self.is_plain = self.is_exact = self.kind is VARIABLE and is_letter
            self.term = Term(None, self.text, None) if self.kind is VARIABLE else None

    def _init_unary(self, child: Node) -> None:
        """Set the cached attributes of a node with one operand, `child`: size, text, term, and a
        bit mask of the applicable rules."""
        self.size = child.size + 1
        self.is_plain = False
        self.is_exact = child.is_exact and child.kind is not EQUAL and child is self.right
        self.term_keys = child.term_keys
        if self.kind is NEGATE:
            is_number = child.begins_with_number()
            self.text = f"-{child.text if is_number else child.text_in(_POWER)}"
            self.precedence = _COMPACT if is_number and child.right is not None else _SIGNED
            self.is_exact = self.is_exact and not is_number
            if child.kind is VARIABLE or (child.kind is POWER and child.term is not None):
                self.term = child.term and child.term._replace(coefficient=-1)
            if _kind(child.left) is _kind(child.right) is CONSTANT:
                self.rule_bits = child.rule_bits & CA
        elif self.kind is FACTORIAL:
            self.text = f"{child.text_in(_ATOM)}!"
            self.precedence = _FACTORIAL
        else:
            self.text = f"{self.value}({child.text})"
            self.is_exact = self.is_exact and self.kind is FUNCTIONS.get(str(self.value))
        if self.left is not None:
            self._before = child.rule_bytes()
        else:
            self._after = child.rule_bytes()

    def _init_binary(self, left: Node, right: Node) -> None:
        """Set the cached attributes of a node with two operands: size, text, precedence, term, and
        a bit mask of the applicable rules."""
        kind = self.kind
        self.size = left.size + right.size + 1
        self.is_plain = plain = left.is_plain and right.is_plain
        self.is_exact = left.is_exact and right.is_exact and EQUAL not in (left.kind, right.kind)
        self.term_keys = left.term_keys + right.term_keys
        if kind is POWER:
            self.text = f"{left.text_in(_FACTORIAL)}^{right.text_in(_SIGNED)}"
            self.precedence = _POWER
            self.is_plain = plain and left.kind is VARIABLE and right._is_exponent()
            if left.kind is VARIABLE and right.kind is CONSTANT:
                self.term = Term(None, left.text, right.value)  # type: ignore[arg-type]
        elif kind is MULTIPLY and self._is_compact():
            self.text = f"{left.text}{right.text}"
            self.precedence = _COMPACT
            if right.term is not None:
                self.term = right.term._replace(coefficient=left.value)  # type: ignore[arg-type]
        elif kind is MULTIPLY:
            self.text = f"{left.text_in(_QUOTIENT)} * {right.text_in(_PRODUCT)}"
            self.precedence = _QUOTIENT if left.precedence == _QUOTIENT else _PRODUCT
            # products in a row are read from the left
            self.is_exact = self.is_exact and right.precedence != _PRODUCT
        elif kind is DIVIDE:
            self.text = f"{left.text_in(_QUOTIENT)} / {right.text_in(_SIGNED)}"
            self.precedence = _QUOTIENT
            self.is_plain = False
        else:
            self.precedence = _EQUATION if kind is EQUAL else _SUM
            self.is_plain = plain and kind is ADD
            self.text = f"{left.text_in(_SUM)} {SYMBOLS[kind]} "
            if kind is EQUAL:
                self.text += right.text_in(_SUM)
            else:
                self.text += right.text_in(_QUOTIENT)
                # operands that are no sums themselves are terms
                left_key = () if left.precedence == _SUM else (left.term and left.term[1:],)
                right_key = () if right.precedence == _SUM else (right.term and right.term[1:],)
                self.term_keys = left.term_keys + left_key + right.term_keys + right_key
        self.rule_bits = _operator_rules(kind, left, right)
        self._before = left.rule_bytes(kind, right)
        self._after = right.rule_bytes(kind, left)

    def text_in(self, precedence: int) -> str:
        """Return the text of this node as an operand: in parentheses if its precedence is lower
        than `precedence`."""
        return self.text if self.precedence >= precedence else f"({self.text})"

    def begins_with_number(self) -> bool:
        """Return True if this node is a positive number, such as 4, or a product that is written
        without a sign and begins with one, such as 4x."""
        number = self.left if self.precedence == _COMPACT else self
        return _kind(number) is CONSTANT and not self.text.startswith("-")

    def _is_compact(self) -> bool:
        right = self.right
        base = right.left if right is not None and right.kind is POWER else right
        return _kind(self.left) is CONSTANT and _kind(base) is VARIABLE

    def _is_exponent(self) -> bool:
        if self.kind is ADD:
            return all(child._is_exponent() for child in self.children())
        return self.kind is CONSTANT or self.kind is VARIABLE

    def rule_bytes(self, parent: NodeKind | None = None, sibling: Node | None = None) -> bytes:
        """Return one byte for each node of this subtree, from left to right as written. The byte is
        a bit mask of the core rewrite rules that apply to the node.

        Args:
            parent: kind of the operator above this node; None for the root.
            sibling: the other operand of that operator.
        """
        rule_bits = self.rule_bits
        kind = self.kind
        if kind is parent and (kind is ADD or kind is MULTIPLY):
            rule_bits |= AG
            if kind is MULTIPLY and _kind(sibling) is MULTIPLY:
                rule_bits |= CS
        elif kind is SUBTRACT and parent in (None, EQUAL, ADD):
            rule_bits |= RS
        return self._before + _BYTES[rule_bits] + self._after

    def children(self) -> tuple[Node, ...]:
        """Return the operands of this node, from left to right."""
        return tuple(child for child in (self.left, self.right) if child is not None)

    def in_order(self) -> Iterator[Node]:
        """Yield all nodes of the tree in order: left operand, node, right operand."""
        if self.left is not None:
            yield from self.left.in_order()
        yield self
        if self.right is not None:
            yield from self.right.in_order()

    @property
    def name(self) -> str:
        """Return the text of this node alone: a number, letter, operator sign or function name."""
        if self.kind in (CONSTANT, VARIABLE):
            return self.text
        return str(self.value or SYMBOLS.get(self.kind) or _UNARY[self.kind])

    def __repr__(self) -> str:
        return f"<Node {self.text!r}>"


_UNARY: dict[NodeKind, str] = {NEGATE: "-", FACTORIAL: "!"}
_BYTES = [bytes((value,)) for value in range(256)]


def _format_number(value: Number) -> str:
    return str(int(value)) if value % 1 == 0 else np.format_float_positional(value, trim="-")


def _kind(node: Node | None) -> NodeKind | None:
    return None if node is None else node.kind


def _has_left_number(node: Node | None, kind: NodeKind) -> bool:
    return node is not None and node.kind is kind and _kind(node.left) is CONSTANT


def _operator_rules(kind: NodeKind, left: Node, right: Node) -> int:
    """Return a bit mask of the core rewrite rules that apply to an operator node of this kind with
    these operands."""
    rule_bits = 0
    if kind is ADD:
        rule_bits = CS | CS_ANY
        if _can_factor_out(left, right):
            rule_bits |= DF
        if not right.is_plain and _is_negative(right):
            rule_bits |= RS
    elif kind is MULTIPLY:
        rule_bits = CS_ANY
        preferred = left.kind is CONSTANT and right.kind is VARIABLE
        if not (preferred or (right.kind is POWER and right.term is not None)):
            rule_bits |= CS
        if left.kind is ADD or right.kind is ADD:
            rule_bits |= DM
        if _can_add_exponents(left, right):
            rule_bits |= VM
    elif kind is EQUAL:
        rule_bits = CS | CS_ANY
    if _can_calculate(kind, left, right):
        rule_bits |= CA
    return rule_bits


def _can_calculate(kind: NodeKind, left: Node, right: Node) -> bool:
    """Return True if an operator node combines two numbers, so that mathy_core can calculate. The
    numbers are its operands, as in 2 * 3, or neighbours in a nested operator of the same kind, as
    in 2 + (3 + x)."""
    if left.kind is CONSTANT:
        if right.kind is CONSTANT:
            return kind is not POWER or not _is_huge_power(left.value, right.value)
        if kind is right.kind and (kind is ADD or kind is MULTIPLY):
            inner = right.left
            return inner is not None and (inner.kind is CONSTANT or _has_left_number(inner, kind))
        return False
    if kind is not MULTIPLY or left.kind is not MULTIPLY:
        return False
    if _has_left_number(left, MULTIPLY):
        if right.kind is CONSTANT:
            return _kind(left.right) is VARIABLE
        if right.kind is MULTIPLY:
            inner = right.left
            if inner is not None and (inner.kind is CONSTANT or _has_left_number(inner, MULTIPLY)):
                return True
    return _has_left_number(left.right, MULTIPLY) and _has_left_number(right, MULTIPLY)


def _can_factor_out(left: Node, right: Node) -> bool:
    """Return True if the operands of a sum have a common factor that can be factored out, as in 4x
    + 2x. If an operand is itself a sum, only its term next to the other operand counts."""
    a, b = left.term, right.term
    if a is None and b is None:
        a, b = _side_term(left, ADD, "right"), _side_term(right, ADD, "left")
        if a is None or b is None or a.variable is None or b.variable is None:
            return False
    elif b is None:
        b = _adjacent_term(right, "left")
        if b is None or b.variable is None:
            return False
    elif a is None:
        a = _adjacent_term(left, "right")
        if a is None or a.variable is None:
            return False
    assert a is not None
    return _have_common_factor(a, b)


def _side_term(node: Node, kind: NodeKind, side: str) -> Term | None:
    inner: Node | None = getattr(node, side) if node.kind is kind else None
    return None if inner is None else inner.term


def _adjacent_term(node: Node, side: str) -> Term | None:
    """Return the first term ("left") or the last term ("right") of the sum `node`, also if it is in
    a nested sum. None if `node` is no sum or has no such term."""
    if node.kind is not ADD:
        return None
    inner: Node = getattr(node, side)
    return inner.term if inner.term is not None else _side_term(inner, ADD, side)


def _have_common_factor(a: Term, b: Term) -> bool:
    """Return True if mathy_core can factor out a common factor of the terms `a` and `b`, such as x
    of 4x and 2x."""
    if a.variable is None and b.variable is None:
        return False
    a_coefficient = 1 if a.coefficient is None else a.coefficient
    b_coefficient = 1 if b.coefficient is None else b.coefficient
    if not (0 < abs(a_coefficient) <= MAX_FACTORED and 0 < abs(b_coefficient) <= MAX_FACTORED):
        return False
    are_alike = a[1:] == b[1:]  # mathy_core takes x^0 for x
    # a number below 1 is its own smallest factor
    return are_alike or (a_coefficient == b_coefficient and 0 < a_coefficient < 1)


def _can_add_exponents(left: Node, right: Node) -> bool:
    """Return True if a product has two powers of the same variable that can be multiplied, as in
    x^2 * x^3. They are its operands, or neighbours in nested products."""
    a, b = left.term, right.term
    if left.kind is MULTIPLY and right.kind is MULTIPLY:
        near = _side_term(left, MULTIPLY, "right")
        if near is not None and b is not None and near.variable == b.variable:
            return True
    if a is None or a.variable is None:
        return False
    if b is None:
        b = _side_term(right, MULTIPLY, "left")
    return b is not None and a.variable == b.variable


def _is_negative(right: Node) -> bool:
    """Return True if `right`, the right operand of a sum, is a negative number or a product that
    begins with one, such as -3x."""
    if right.kind is CONSTANT:
        return right.value < 0  # type: ignore[operator]  # a number
    return (
        _has_left_number(right, MULTIPLY)
        and _kind(right.right) in (VARIABLE, POWER)
        and right.left is not None
        and right.left.value < 0  # type: ignore[operator]  # a number
    )


# ---- evaluation ----------------------------------------------------------------------------------

_TOLERANCE = 1e-9
_MAX_FACTORIAL = 1000
_MAX_BITS = 100_000
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
POINTS: tuple[dict[str, Any], ...] = (
    {letter: 2 + number for number, letter in enumerate(_LETTERS)},
    {letter: 3 + 5 * number % 53 for number, letter in enumerate(_LETTERS)},
    {letter: Fraction(3 + 7 * number % 53, 2) for number, letter in enumerate(_LETTERS)},
    # for powers of powers, which are too large at other points
    {letter: 1 + (1 + 11 * number % 53) / 64 for number, letter in enumerate(_LETTERS)},
    {letter: 2 - (1 + 17 * number % 53) / 64 for number, letter in enumerate(_LETTERS)},
)
"""Values of all letters at which expressions are compared; letters never share a value."""


def to_exact(value: Number) -> int | Fraction:
    """Return the decimal number that the text of a constant shows, such as 1/10 for the float 0.1;
    raise ValueError for infinity and nan."""
    return int(value) if value % 1 == 0 else Fraction(str(value))


class NoValueError(ArithmeticError):
    """An expression has no value at a point."""


class TooLargeError(NoValueError):
    """An expression has a value at a point, but it is too large to be computed."""


def evaluate(node: Node, point: Mapping[str, Any]) -> Any:
    """Return the value of an expression, with the variables' values in `point`, such as {"x": 2}.
    It is an int or Fraction if exact, else float or complex. An equation's value is its left side
    minus its right side.

    Args:
        point: value of every variable.

    Raises:
        NoValueError: the expression divides by zero, or takes the factorial of another number than
            0, 1, 2 and so on.
        TooLargeError: the value, or a part of it, is too large.
    """
    try:
        value = _evaluate(node, point)
        if isinstance(value, float | complex) and not cmath.isfinite(value):
            raise OverflowError("it is too large")
    except OverflowError as error:
        raise TooLargeError(f"the value of {node.text} is too large: {error}") from None
    except (ArithmeticError, ValueError, TypeError) as error:
        raise NoValueError(f"{node.text} has no value: {error}") from None
    return value


def _evaluate(node: Node, point: Mapping[str, Any]) -> Any:
    """Return the value of an expression, with the variables' values in `point`, such as {"x": 2}.
    Errors are those of Python's arithmetic, such as ZeroDivisionError.

    Raises:
        ArithmeticError, ValueError, TypeError: there is no value.
    """
    chain = [node]  # long sums nest on the left, deeper than Python may recurse
    while (left := chain[-1].left) is not None:
        chain.append(left)
    value = None
    for outer in reversed(chain):
        right = None if outer.right is None else _evaluate(outer.right, point)
        value = _evaluate_node(outer, value, right, point)
    return value


def _evaluate_node(node: Node, left: Any, right: Any, point: Mapping[str, Any]) -> Any:
    """Return the value of one node. `left` and `right` are the values of its operands, or None for
    an operand that does not exist. `point` has the values of the variables."""
    kind = node.kind
    if kind is CONSTANT:
        return to_exact(node.value)  # type: ignore[arg-type]  # a constant's is a number
    if kind is VARIABLE:
        return point[str(node.value)]
    if left is None or right is None:
        return _evaluate_unary(kind, right if left is None else left)
    if kind is DIVIDE:
        is_exact = not isinstance(left, float | complex) and not isinstance(right, float | complex)
        return Fraction(left) / Fraction(right) if is_exact else left / right
    if kind is POWER:
        if _is_huge_power(left, right):
            raise OverflowError("a power has too many digits")
        is_whole = isinstance(left, int) and isinstance(right, int)
        return Fraction(left) ** right if is_whole else left**right
    return _OPERATORS[kind](left, right)


def _evaluate_unary(kind: NodeKind, operand: Any) -> Any:
    """Return the value of a node with one operand, such as a negation, a factorial or a function.
    `operand` is the operand's value."""
    if kind is NEGATE:
        return -operand
    if kind is FACTORIAL:
        if operand > _MAX_FACTORIAL:
            raise OverflowError("a factorial has too many digits")
        if operand != int(operand):
            raise ValueError(f"{operand} has no factorial")
        return math.factorial(int(operand))
    return kind().operate(operand)  # type: ignore[attr-defined]  # a function such as sgn


_OPERATORS: dict[NodeKind, Callable[[Any, Any], Any]] = {
    ADD: operator.add,
    MULTIPLY: operator.mul,
    SUBTRACT: operator.sub,
    EQUAL: operator.sub,
}


def _is_huge_power(base: Any, exponent: Any) -> bool:
    """Return True if `base ** exponent` would have more than about `_MAX_BITS` bits. False for an
    inexact base."""
    if not isinstance(base, int | Fraction):
        return False
    largest = max(abs(base.numerator), base.denominator)
    return bool(abs(exponent) * (largest - 1).bit_length() > _MAX_BITS)


def is_close(a: Any, b: Any) -> bool:
    """Return True if two values are equal: exact ones exactly, others up to a relative error of
    1e-9."""
    if a == b or (isinstance(a, int | Fraction) and isinstance(b, int | Fraction)):
        return bool(a == b)
    return bool(abs(a - b) <= _TOLERANCE * max(abs(a), abs(b)))


def is_equivalent(a: Node, b: Node) -> bool:
    """Return True if `compare_values` finds that two expressions have equal values."""
    return compare_values(a, b) is True


def compare_values(a: Node, b: Node, points: Sequence[Mapping[str, Any]] = POINTS) -> bool | None:
    """Return True if two expressions have equal values at three points, else False. `points` has
    candidates such as {"x": 2}; those where the values cannot be compared are skipped. None if all
    are.

    A point does not count if a value is too large there, or if neither has one. Two equations count
    as equal if the differences of their sides are proportional: sides may be swapped, and both
    sides multiplied.
    """
    are_equations = a.kind is EQUAL
    if are_equations != (b.kind is EQUAL):
        return False
    pairs: list[tuple[Any, Any]] = []
    for point in points:
        pair = _value_at(a, point), _value_at(b, point)
        if TooLargeError not in pair and pair != (NoValueError, NoValueError):
            pairs.append(pair)
        if len(pairs) == _COMPARED:
            break
    if not pairs:
        return None
    if any(NoValueError in pair for pair in pairs):
        return False
    try:
        if not are_equations:
            return all(is_close(*pair) for pair in pairs)
        a_largest, b_largest = max(pairs, key=lambda pair: abs(pair[0]))
        return bool(a_largest) == bool(b_largest) and all(
            is_close(b_value * a_largest, a_value * b_largest) for a_value, b_value in pairs
        )
    except OverflowError:  # a float beside an exact number that is too large for a float
        return False


_COMPARED = 3
"""Number of points at which two expressions are compared."""


def _value_at(node: Node, point: Mapping[str, Any]) -> Any:
    """Return the value of an expression, with the variables' values in `point`. If it has none,
    return the error's class: `NoValueError` or `TooLargeError`."""
    try:
        return evaluate(node, point)
    except NoValueError as error:
        return type(error)
