"""Fonts that draw expressions: text behind a caret is a small, raised exponent."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Container, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from gv_engine.domains.algebra.expression import (
    ADD,
    CONSTANT,
    DIVIDE,
    EQUAL,
    MULTIPLY,
    SUBTRACT,
    SYMBOLS,
    VARIABLE,
    Node,
    NodeKind,
)
from gv_engine.domains.algebra.library import ExpressionParser, ParserException
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.rules.errors import GVEngineError
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.text import OVERSAMPLING, LineFont, blit_text, cached_font, load_font

from pygame import freetype  # isort: skip


_MAX_CHARACTERS = 4096
"""Most characters of an expression: four for each node of the longest one that can be observed."""


class ExpressionError(GVEngineError, ValueError):
    """A text is no expression."""


def parse(text: str) -> Node:
    """Return the tree of an expression's text.

    Raises:
        ExpressionError: the text is no expression, or too long.
    """
    if len(text) > _MAX_CHARACTERS:
        raise ExpressionError(
            f"the expression has {len(text):,} characters, allowed are {_MAX_CHARACTERS:,}; "
            f"shorten it"
        )
    with contextlib.suppress(*_EXPLAINED, *_UNEXPLAINED):
        return _parse_printed(text)
    try:
        return _parse_with_library(text)
    except _EXPLAINED as error:
        message = " ".join(str(getattr(error, "message", error)).split())
        raise ExpressionError(f"{text!r} is no expression: {message}") from None
    except _UNEXPLAINED:
        raise ExpressionError(f"{text!r} cannot be parsed as an expression") from None


_EXPLAINED = (ParserException, ValueError, ArithmeticError)
_UNEXPLAINED = (RecursionError, IndexError, KeyError, AttributeError, TypeError, AssertionError)
"""Errors that mathy_core's parser raises for wrong texts: with an explanation, and without."""

_TERM = re.compile(r"-?[\da-zA-Z.^!]{1,16}")
_OPERATOR = re.compile(r"[()]| [-+*/=] ")
_OPERATORS: tuple[dict[str, NodeKind], ...] = (
    {" = ": EQUAL},
    {" + ": ADD, " - ": SUBTRACT},
    {" * ": MULTIPLY, " / ": DIVIDE},
)
"""Operators by precedence, the lowest first. Parentheses never contain an equation."""


def _parse_printed(text: str, first: int = 0) -> Node:
    """Return the tree of a text in printed form, with spaces around all operators.

    Args:
        first: index in `_OPERATORS` of the lowest precedence that may occur.

    Raises:
        ValueError: the text is not in printed form, or wrong.
    """
    if _TERM.fullmatch(text):
        return _parse_term(text)
    for level, kinds in enumerate(_OPERATORS[first:], first + 1):
        begin, *rest = _split_at_operators(text, kinds)
        if rest:
            node = _parse_printed(begin, level)
            for sign, part in zip(rest[::2], rest[1::2], strict=True):
                node = Node(kinds[sign], node, _parse_printed(part, level))
            return node
    if text[:1] != "(" or text[-1] != ")":
        raise ValueError(f"{text} has more than operators, parentheses and terms")
    return _parse_printed(text[1:-1], 1)


def _split_at_operators(text: str, signs: Container[str]) -> list[str]:
    """Split a text at operators outside of parentheses; return operands and operators in turns."""
    pieces: list[str] = []
    begin = depth = 0
    for mark in _OPERATOR.finditer(text):
        sign = mark[0]
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth < 0:
                raise ValueError(f"{text} has a closing parenthesis too many")
        elif not depth and sign in signs:
            pieces += text[begin : mark.start()], sign
            begin = mark.end()
    return [*pieces, text[begin:]]


def _parse_with_library(text: str) -> Node:
    """Return the tree of a text, parsed by mathy_core."""
    return from_library(ExpressionParser().parse(text))


_parse_term = functools.lru_cache(4096)(_parse_with_library)


def from_library(
    expression: lib.MathExpression, sources: Mapping[str, Node] = MappingProxyType({})
) -> Node:
    """Return the tree of a mathy_core node, reusing known nodes that are unchanged.

    Args:
        sources: known nodes by the id of their mathy_core node, reused if nothing below has
            changed.
    """
    chain = [expression]  # long sums nest on the left, deeper than Python may recurse
    while chain[-1].left is not None:
        chain.append(chain[-1].left)
    node: Node | None = None
    for source in reversed(chain):
        kind, old = type(source), sources.get(source.id)
        if kind is Stub:
            node = old
            continue
        right = None if source.right is None else from_library(source.right, sources)
        value = None if kind in SYMBOLS else _value_of(source)
        if old is None or not (
            old.kind is kind
            and old.left is node
            and old.right is right
            and (old.value is value or (old.value == value and type(old.value) is type(value)))
        ):
            node = Node(kind, node, right, value)
        else:
            node = old
    assert node is not None, "a placeholder has a source"
    return node


def _value_of(expression: lib.MathExpression) -> int | float | str | None:
    """Return the number of a constant, the name of a variable or function, else None."""
    if isinstance(expression, lib.ConstantExpression):
        return _python_number(expression.value)
    if isinstance(expression, lib.VariableExpression):
        return expression.identifier
    return expression.name if isinstance(expression, lib.FunctionExpression) else None


def _python_number(value: object) -> int | float:
    """Return a number of mathy_core, which may be NumPy's, as a Python number; 6.0 becomes 6."""
    if isinstance(value, int):
        return value
    number = float(value)  # type: ignore[arg-type]  # a number of NumPy
    return int(number) if number.is_integer() else number


LibraryNode = lib.MathExpression


class LibraryTree(NamedTuple):
    """Tree of mathy_core nodes made from a tree of our own nodes.

    Attributes:
        root: root of the tree.
        nodes: all nodes in order; `nodes[i].id` is `str(i)`.
        sources: our own nodes, by the id of the node made from each.
    """

    root: lib.MathExpression
    nodes: list[lib.MathExpression]
    sources: dict[str, Node]


class Stub(lib.MathExpression):
    """Stands for a subtree below the depth that a rule reads."""


def to_library(node: Node, depth: int | None = None) -> LibraryTree:
    """Return the tree as new nodes of mathy_core.

    Args:
        depth: levels to convert; a `Stub` replaces what lies deeper. None converts all.
    """
    nodes: list[Any] = []
    sources: dict[str, Node] = {}

    def convert(node: Node, depth: int) -> Any:
        """Return the new node of mathy_core for a node, with all nodes below it."""
        kind, left, right = node.kind, node.left, node.right
        if not depth and (left is not None or right is not None):
            kind, left, right = Stub, None, None
        own: Any = kind.__new__(kind)
        own.__dict__.update(_default_attributes(kind))
        if left is not None:
            own.left = convert(left, depth - 1)
            own.left.parent = own
        own.id = str(len(nodes))
        sources[own.id] = node
        nodes.append(own)
        if right is not None:
            own.right = convert(right, depth - 1)
            own.right.parent = own
        if kind is CONSTANT:
            own.value = node.value
        elif kind is VARIABLE:
            own.identifier = node.value
        elif own.left is None or own.right is None:
            own.child, own.child_on_left = own.left or own.right, own.left is not None
        return own

    return LibraryTree(convert(node, -1 if depth is None else depth), nodes, sources)


_DEFAULT_ATTRIBUTES: dict[NodeKind, dict[str, Any]] = {}


def _default_attributes(kind: NodeKind) -> dict[str, Any]:
    """Return the attributes of a new mathy_core node. Copying them is four times as fast as
    constructing."""
    if kind not in _DEFAULT_ATTRIBUTES:
        _DEFAULT_ATTRIBUTES[kind] = vars(kind())
    return _DEFAULT_ATTRIBUTES[kind]


_EXPONENT = re.compile(r"(?<=[\w)])\^(?!-?\()(-?\w*)")
"""Caret with its exponent, which is drawn raised without the caret. Before parentheses the caret
stays."""
_SMALLER = 0.68


class FormulaFont(LineFont):
    """Font for expressions in lines of a height in pixels, with small raised exponents; see
    `LineFont`."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self._small = load_font(None, round(line * 11 / 12 * OVERSAMPLING * _SMALLER))

    def _pieces(self, text: str) -> Iterator[tuple[str, freetype.Font]]:
        """Yield (text, font) of each part of an expression that is drawn in one font, from the
        left."""
        end = 0
        for exponent in _EXPONENT.finditer(text):
            yield text[end : exponent.start()], self._font
            yield exponent[1], self._small
            end = exponent.end()
        yield text[end:], self._font

    @lru_cache(maxsize=4096)  # noqa: B019  # fonts live as long as the process
    def size(self, text: str) -> tuple[int, int]:
        """Return width and height of an expression in pixels."""
        width = sum(font.get_rect(piece).w for piece, font in self._pieces(text) if piece)
        return -(-width // OVERSAMPLING), -(-self._font.get_rect(text or " ").h // OVERSAMPLING)

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer texts, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Return a surface with the expression. The surface is cached: callers must not change
        it."""
        size = self.size(text)
        if not min(size):
            return pygame.Surface(size, pygame.SRCALPHA)
        large = pygame.Surface((size[0] * OVERSAMPLING, size[1] * OVERSAMPLING), pygame.SRCALPHA)
        large.fill((*pygame.Color(color)[:3], 0))  # as in `LineFont.render`
        x = 0
        for piece, font in self._pieces(text):
            if piece:
                blit_text(large, (x, 0), font, piece, color)
                x += font.get_rect(piece).w
        return pygame.transform.smoothscale(large, size)


def formula_font(line: int) -> LineFont:
    """Return the font of expressions for lines of a height in pixels."""
    return cached_font(FormulaFont, line)
