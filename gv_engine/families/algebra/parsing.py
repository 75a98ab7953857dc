"""From text to trees and back, to and from the nodes of mathy_core.

Texts of numbers, letters, + - * / ^ and ( ) are read here, in a third of the time; whatever else
they hold, mathy_core reads. Both give the same trees. What that is worth stands in docs/mathy.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gv_engine.families.algebra.expression import (
    ADD,
    CONSTANT,
    DIVIDE,
    MULTIPLY,
    NEGATE,
    POWER,
    SUBTRACT,
    VARIABLE,
    Node,
    NodeKind,
)
from gv_engine.families.algebra.library import ExpressionParser, ParserException
from gv_engine.families.algebra.library import expressions as lib
from gv_engine.language.errors import GVEngineError

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|(.))", re.DOTALL)
_SUMS: dict[str, NodeKind] = {"+": ADD, "-": SUBTRACT}
_PRODUCTS: dict[str, NodeKind] = {"*": MULTIPLY, "/": DIVIDE}
_DEEPEST = 150
_LONGEST = 4096
"""Characters, four for each node of the longest expression that an agent can observe."""


class ExpressionError(GVEngineError, ValueError):
    """A text that is no expression."""


class _NotPlain(Exception):
    """Something that is left to mathy_core."""


def parse(text: str) -> Node:
    """The tree of a text.

    Raises:
        ExpressionError: the text is no expression, or a very long one.
    """
    if len(text) > _LONGEST:
        raise ExpressionError(
            f"a text of {len(text):,} characters is no expression that can be read; "
            f"allowed are {_LONGEST:,}"
        )
    try:
        return _Reader(text).expression()
    except _NotPlain:
        pass
    try:
        return from_library(ExpressionParser().parse(text))
    except (ParserException, ValueError, ArithmeticError) as error:
        said = " ".join(str(getattr(error, "message", error)).split())
        raise ExpressionError(f"{text!r} is no expression: {said}") from None
    except (RecursionError, IndexError, KeyError, AttributeError, TypeError, AssertionError):
        raise ExpressionError(f"{text!r} is no expression that can be read") from None


class _Reader:
    """A recursive descent over the grammar of mathy_core, one method for each level of it."""

    def __init__(self, text: str) -> None:
        self._tokens = [
            (number, sign) for number, sign in _TOKEN.findall(text.rstrip()) if number or sign
        ]
        if "sgn" in text or text.count("(") > _DEEPEST:
            raise _NotPlain
        self._tokens.append(("", ""))
        self._at = 0

    def expression(self) -> Node:
        whole = self._sum()
        if self._at != len(self._tokens) - 1:
            raise _NotPlain
        return whole

    def _sum(self) -> Node:
        node = self._product()
        while kind := _SUMS.get(self._tokens[self._at][1]):
            self._at += 1
            node = Node(kind, node, self._product())
        return node

    def _product(self) -> Node:
        node = self._power()
        while kind := _PRODUCTS.get(self._tokens[self._at][1]):
            self._at += 1
            node = Node(kind, node, self._power())
        return node

    def _power(self) -> Node:
        node = self._unary()
        if self._tokens[self._at][1] == "^":
            self._at += 1
            node = Node(POWER, node, self._unary())
        return node

    def _unary(self) -> Node:
        number, sign = self._tokens[self._at]
        negative = sign == "-"
        if negative:
            self._at += 1
            number, sign = self._tokens[self._at]
        if not number:
            factors = self._factors()
            return Node(NEGATE, None, factors) if negative else factors
        self._at += 1
        value = float(number) if "." in number else int(number)
        constant = Node(CONSTANT, value=-value if negative else value)
        following = self._tokens[self._at][1]
        if following == "(" or _is_letter(following):
            return Node(MULTIPLY, constant, self._factors())
        return constant

    def _factors(self) -> Node:
        """Letters and parentheses in a row, and the power that the last one has."""
        node = None
        while True:
            sign = self._tokens[self._at][1]
            if _is_letter(sign):
                self._at += 1
                factor = Node(VARIABLE, value=sign)
            elif sign == "(":
                self._at += 1
                factor = self._sum()
                if self._tokens[self._at][1] != ")":
                    raise _NotPlain
                self._at += 1
            elif node is None or sign == "!":
                raise _NotPlain
            else:
                break
            if self._tokens[self._at][1] == "^":
                if node is not None:
                    raise _NotPlain  # mathy_core turns the order round
                self._at += 1
                return Node(POWER, factor, self._unary())
            node = factor if node is None else Node(MULTIPLY, node, factor)
        return node


def _is_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalpha()


def from_library(
    expression: lib.MathExpression, known: Mapping[str, Node] = MappingProxyType({})
) -> Node:
    """The tree of a node of mathy_core and all below it.

    Args:
        known: nodes by id, to be used again where nothing below has changed.
    """
    kind = type(expression)
    old = known.get(expression.id)
    if kind is Sealed:
        assert old is not None, "what is sealed was known"
        return old
    left = None if expression.left is None else from_library(expression.left, known)
    right = None if expression.right is None else from_library(expression.right, known)
    value: int | float | str | None = None
    if isinstance(expression, lib.ConstantExpression):
        value = _python_number(expression.value)
    elif isinstance(expression, lib.VariableExpression):
        value = expression.identifier
    elif isinstance(expression, lib.FunctionExpression):
        value = expression.name
    if (
        old is not None
        and old.kind is kind
        and old.left is left
        and old.right is right
        and (old.value is value or (old.value == value and type(old.value) is type(value)))
    ):
        return old
    return Node(kind, left, right, value)


def _python_number(value: object) -> int | float:
    """mathy_core leaves numbers of NumPy behind; and 6.0, which prints as 6, is 6."""
    if isinstance(value, int):
        return value
    number = float(value)  # type: ignore[arg-type]  # a number of NumPy
    return int(number) if number.is_integer() else number


class LibraryTree(NamedTuple):
    """A tree as mathy_core has it.

    Attributes:
        root: its root.
        nodes: all nodes in order; `nodes[i].id` is `str(i)`.
        known: the nodes that they were made of, by id.
    """

    root: lib.MathExpression
    nodes: list[lib.MathExpression]
    known: dict[str, Node]


class Sealed(lib.MathExpression):
    """Stands for all that is below a depth which a rule does not look into."""


def to_library(node: Node, depth: int | None = None) -> LibraryTree:
    """A tree of mathy_core's own nodes, made for whoever asks.

    Args:
        depth: nodes further down are sealed; none if None.
    """
    nodes: list[Any] = []
    known: dict[str, Node] = {}

    def made(node: Node, depth: int) -> Any:
        kind, left, right = node.kind, node.left, node.right
        if not depth and (left is not None or right is not None):
            kind, left, right = Sealed, None, None
        own: Any = kind.__new__(kind)
        own.__dict__.update(_blank(kind))
        if left is not None:
            own.left = made(left, depth - 1)
            own.left.parent = own
        own.id = str(len(nodes))
        known[own.id] = node
        nodes.append(own)
        if right is not None:
            own.right = made(right, depth - 1)
            own.right.parent = own
        if kind is CONSTANT:
            own.value = node.value
        elif kind is VARIABLE:
            own.identifier = node.value
        elif own.left is None or own.right is None:
            own.child, own.child_on_left = own.left or own.right, own.left is not None
        return own

    return LibraryTree(made(node, -1 if depth is None else depth), nodes, known)


_BLANKS: dict[NodeKind, dict[str, Any]] = {}


def _blank(kind: NodeKind) -> dict[str, Any]:
    """The attributes of a new node: to copy them takes a quarter of what its constructors take."""
    if kind not in _BLANKS:
        _BLANKS[kind] = vars(kind())
    return _BLANKS[kind]
