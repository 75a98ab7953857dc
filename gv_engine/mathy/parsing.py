"""From text to trees and back, to and from the nodes of mathy_core.

Texts of numbers, letters, + - * / ^ and ( ) are read here; whatever else they hold, mathy_core
reads. Both give the same trees.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from gv_engine.errors import GVEngineError
from gv_engine.mathy.expression import (
    ADD,
    CONSTANT,
    DIVIDE,
    MULTIPLY,
    NEGATE,
    POWER,
    SUBTRACT,
    VARIABLE,
    Kind,
    Node,
)
from gv_engine.mathy.library import ExpressionParser, ParserException
from gv_engine.mathy.library import expressions as lib

_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d+)?)|(.))", re.DOTALL)
_SUMS: dict[str, Kind] = {"+": ADD, "-": SUBTRACT}
_PRODUCTS: dict[str, Kind] = {"*": MULTIPLY, "/": DIVIDE}
_DEEPEST = 150


class ExpressionError(GVEngineError, ValueError):
    """A text that is no expression."""


class _NotPlain(Exception):
    """Something that is left to mathy_core."""


def parse(text: str) -> Node:
    """The tree of a text.

    Raises:
        ExpressionError: the text is no expression.
    """
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


def from_library(expression: lib.MathExpression, known: Mapping[str, Node] | None = None) -> Node:
    """The tree of a node of mathy_core and all below it.

    Args:
        known: nodes by id, to be used again where nothing below has changed.
    """
    if isinstance(expression, Sealed) and known is not None:
        return known[expression.id]
    left = None if expression.left is None else from_library(expression.left, known)
    right = None if expression.right is None else from_library(expression.right, known)
    kind = type(expression)
    value: int | float | str | None = None
    if isinstance(expression, lib.ConstantExpression):
        value = _python_number(expression.value)
    elif isinstance(expression, lib.VariableExpression):
        value = expression.identifier
    elif isinstance(expression, lib.FunctionExpression):
        value = expression.name
    old = None if known is None else known.get(expression.id)
    if (
        old is not None
        and old.kind is kind
        and old.left is left
        and old.right is right
        and old.value == value
        and type(old.value) is type(value)
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
    nodes: list[lib.MathExpression] = []
    known: dict[str, Node] = {}

    def made(node: Node, depth: int) -> lib.MathExpression:
        own: lib.MathExpression
        below = node.left is not None or node.right is not None
        left = None if node.left is None or not depth else made(node.left, depth - 1)
        place = len(nodes)
        nodes.append(None)  # type: ignore[arg-type]  # filled in below
        right = None if node.right is None or not depth else made(node.right, depth - 1)
        if not below:
            own = node.kind(node.value)  # type: ignore[arg-type]  # a number or a name
        elif not depth:
            own = Sealed()
        elif left is None or right is None:
            own = node.kind(right if left is None else left, left is not None)  # type: ignore[arg-type]  # child, child_on_left
        else:
            own = node.kind(left, right)  # type: ignore[arg-type]
        own.id = str(place)
        nodes[place] = own
        known[own.id] = node
        return own

    return LibraryTree(made(node, -1 if depth is None else depth), nodes, known)
