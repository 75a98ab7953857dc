"""Letters of expressions: what stands behind a caret is an exponent, small and above the line."""

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
    FACTORIAL,
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


# ---- parsing -------------------------------------------------------------------------------------

_LONGEST = 4096
"""Characters, four for each node of the longest expression that an agent can observe."""


class ExpressionError(GVEngineError, ValueError):
    """A text that is no expression."""


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
    with contextlib.suppress(*_SAID, *_ODD):
        return _put_together(text)
    try:
        return _read(text)
    except _SAID as error:
        said = " ".join(str(getattr(error, "message", error)).split())
        raise ExpressionError(f"{text!r} is no expression: {said}") from None
    except _ODD:
        raise ExpressionError(f"{text!r} is no expression that can be read") from None


_SAID = (ParserException, ValueError, ArithmeticError)
_ODD = (RecursionError, IndexError, KeyError, AttributeError, TypeError, AssertionError)
"""What mathy_core's parser raises for texts that it cannot read, with and without saying why."""

_TERM = re.compile(r"-?[\da-zA-Z.^!]{1,16}")
_SIGN = re.compile(r"[()]| [-+*/=] ")
_SIGNS: tuple[dict[str, NodeKind], ...] = (
    {" = ": EQUAL},
    {" + ": ADD, " - ": SUBTRACT},
    {" * ": MULTIPLY, " / ": DIVIDE},
)
"""From those that bind least; those in brackets begin with the second."""


def _put_together(text: str, first: int = 0) -> Node:
    """The tree of a text whose signs have spaces around them, as they are printed.

    Args:
        first: which signs may stand there, from these in `_SIGNS` on.

    Raises:
        ValueError: it is another text, or none that can be read.
    """
    if _TERM.fullmatch(text):
        return _term(text)
    for level, kinds in enumerate(_SIGNS[first:], first + 1):
        begin, *rest = _cut(text, kinds)
        if rest:
            node = _put_together(begin, level)
            for sign, part in zip(rest[::2], rest[1::2], strict=True):
                node = Node(kinds[sign], node, _put_together(part, level))
            return node
    if text[:1] != "(" or text[-1] != ")":
        raise ValueError(f"{text} is more than signs, brackets and terms")
    return _put_together(text[1:-1], 1)


def _cut(text: str, signs: Container[str]) -> list[str]:
    """What stands between these signs outside of brackets, and the signs, in turns."""
    found: list[str] = []
    begin = depth = 0
    for mark in _SIGN.finditer(text):
        sign = mark[0]
        if sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
            if depth < 0:
                raise ValueError(f"{text} closes a bracket too many")
        elif not depth and sign in signs:
            found += text[begin : mark.start()], sign
            begin = mark.end()
    return [*found, text[begin:]]


def _read(text: str) -> Node:
    return from_library(ExpressionParser().parse(text))


_term = functools.lru_cache(4096)(_read)


def from_library(
    expression: lib.MathExpression, known: Mapping[str, Node] = MappingProxyType({})
) -> Node:
    """The tree of a node of mathy_core and all below it.

    Args:
        known: nodes by id, to be used again where nothing below has changed.
    """
    chain = [expression]  # long sums hang on the left, deeper than functions may call themselves
    while chain[-1].left is not None:
        chain.append(chain[-1].left)
    node: Node | None = None
    for each in reversed(chain):
        kind, old = type(each), known.get(each.id)
        if kind is Sealed:
            node = old
            continue
        right = None if each.right is None else from_library(each.right, known)
        value = None if kind in SYMBOLS else _value_of(each)
        if old is None or not (
            old.kind is kind
            and old.left is node
            and old.right is right
            and (old.value is value or (old.value == value and type(old.value) is type(value)))
        ):
            node = Node(kind, node, right, value)
        else:
            node = old
    assert node is not None, "what is sealed was known"
    return node


def _value_of(expression: lib.MathExpression) -> int | float | str | None:
    if isinstance(expression, lib.ConstantExpression):
        return _python_number(expression.value)
    if isinstance(expression, lib.VariableExpression):
        return expression.identifier
    return expression.name if isinstance(expression, lib.FunctionExpression) else None


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


# ---- node spans ----------------------------------------------------------------------------------

_TOKEN = re.compile(r"\d+(?:\.\d+)?|sgn|\S")
_OPEN, _CLOSE = "([", ")]"

Span = tuple[int, int]


class Spans(NamedTuple):
    """Characters, from and to, of every node in order.

    Attributes:
        text: the expression.
        own: of the node itself; empty for a product that is written without its sign.
        whole: of all that is below it, too.
    """

    text: str
    own: list[Span]
    whole: list[Span]


class _Misaligned(Exception):
    pass


def spans(text: str, root: Node) -> Spans:
    """Find the nodes of a tree in the text that it was parsed from.

    Where mathy_core has turned round what is written (`xy^2`), the printed tree takes its place.
    """
    try:
        return _Walk(text).spans(root)
    except _Misaligned:
        return _Walk(root.text).spans(root)


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [found for found in _TOKEN.finditer(text) if found[0] not in _OPEN + _CLOSE]
        self._at = 0
        self._own: list[Span] = []
        self._whole: list[Span] = []

    def spans(self, root: Node) -> Spans:
        self._walk(root)
        if self._at != len(self._tokens):
            raise _Misaligned
        return Spans(self._text, self._own, self._whole)

    def _walk(self, node: Node) -> Span:
        parts = [self._walk(node.left)] if node.left is not None else []
        place = len(self._own)
        self._own.append((0, 0))
        self._whole.append((0, 0))
        if node.kind is FACTORIAL and node.right is not None:  # the sign stands behind
            parts.append(self._walk(node.right))
            own = self._take(node)
        else:
            own = self._take(node)
            parts += [self._walk(node.right)] if node.right is not None else []
        parts.append(own)
        self._own[place] = own
        first, last = min(start for start, _ in parts), max(end for _, end in parts)
        whole = self._with_brackets(first, last)
        self._whole[place] = whole
        return whole

    def _with_brackets(self, start: int, end: int) -> Span:
        """What stands in brackets, with them."""
        ahead, behind = self._text[:start].rstrip(), self._text[end:].lstrip()
        if ahead[-1:] in _OPEN and behind[:1] in _CLOSE and ahead and behind:
            return self._with_brackets(len(ahead) - 1, len(self._text) - len(behind) + 1)
        return start, end

    def _take(self, node: Node) -> Span:
        token = self._next()
        if node.kind is MULTIPLY and token != "*":
            end = self._tokens[self._at - 1].end() if self._at else 0
            return end, end
        start = self._start()
        if node.kind is CONSTANT:
            if token in "-–" and token:
                self._at += 1
            token = self._next()
            if not token[:1].isdigit():
                raise _Misaligned
        elif token not in (node.name, "–"):
            raise _Misaligned
        self._at += 1
        return start, self._tokens[self._at - 1].end()

    def _next(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _start(self) -> int:
        if self._at == len(self._tokens):
            raise _Misaligned
        return self._tokens[self._at].start()


# ---- formulas ------------------------------------------------------------------------------------

# below the line that quiets pygame's greeting

_EXPONENT = re.compile(r"(?<=[\w)])\^(?!-?\()(-?\w*)")
"""A caret that is not written, and what it raises; before brackets it is written."""
_SMALLER = 0.68


class Formulas(LineFont):
    """Pygame's own font for expressions in lines of so many pixels; see `LineFont`."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self._small = load_font(None, round(line * 11 / 12 * OVERSAMPLING * _SMALLER))

    def _pieces(self, text: str) -> Iterator[tuple[str, freetype.Font]]:
        """The parts of a text that are written alike, from the left, and with what."""
        end = 0
        for exponent in _EXPONENT.finditer(text):
            yield text[end : exponent.start()], self._font
            yield exponent[1], self._small
            end = exponent.end()
        yield text[end:], self._font

    @lru_cache(maxsize=4096)  # noqa: B019  # as many as there are sizes of letters are kept anyway
    def size(self, text: str) -> tuple[int, int]:
        """Width and height of an expression, in pixels."""
        width = sum(font.get_rect(piece).w for piece, font in self._pieces(text) if piece)
        return -(-width // OVERSAMPLING), -(-self._font.get_rect(text or " ").h // OVERSAMPLING)

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Write an expression on a surface; whoever asks for it leaves it as it is."""
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


def formulas(line: int) -> LineFont:
    """Return the letters of expressions for lines of so many pixels."""
    return cached_font(Formulas, line)
