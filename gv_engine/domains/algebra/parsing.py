"""Parsing of expressions, conversion from and to mathy_core, and drawing of formula_font."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Container, Mapping
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

_MAX_CHARACTERS = 4096
"""Most characters of an expression: four for each node of the longest one that can be observed."""


class ExpressionError(GVEngineError, ValueError):
    """A text is no expression."""


def parse(text: str) -> Node:
    """Return the expression tree of a text such as "4x + 2".

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
    """Return the expression tree of a text in the form that the engine prints, with spaces around
    all operators.

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
    """Split a text at the operators in `signs` that are outside of parentheses; return operands and
    operators alternately."""
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
    """Return a mathy_core expression as a tree of this engine, reusing nodes of `sources` that have
    not changed.

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
    """Return the value of a mathy_core node: a constant's number, the name of a variable or
    function, else None."""
    if isinstance(expression, lib.ConstantExpression):
        return _python_number(expression.value)
    if isinstance(expression, lib.VariableExpression):
        return expression.identifier
    return expression.name if isinstance(expression, lib.FunctionExpression) else None


def _python_number(value: object) -> int | float:
    """Return a number of mathy_core or NumPy as a Python number, whole numbers as int: 6.0 becomes
    6."""
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
    """Return an expression as a tree of new mathy_core nodes.

    Args:
        depth: levels to convert; a `Stub` replaces what lies deeper. None converts all.
    """
    nodes: list[Any] = []
    sources: dict[str, Node] = {}

    def convert(node: Node, depth: int) -> Any:
        """Return a new mathy_core node for `node`, with all nodes down to `depth` levels below
        it."""
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
    """Return the attributes of a new mathy_core node of class `kind`. Copying them is four times as
    fast as calling the constructor."""
    if kind not in _DEFAULT_ATTRIBUTES:
        _DEFAULT_ATTRIBUTES[kind] = vars(kind())
    return _DEFAULT_ATTRIBUTES[kind]


# ---- node spans ----------------------------------------------------------------------------------

_TOKEN = re.compile(r"\d+(?:\.\d+)?|sgn|\S")
_OPEN, _CLOSE = "([", ")]"

Span = tuple[int, int]


class Spans(NamedTuple):
    """Character ranges, (start, end), of every node in order.

    Attributes:
        text: text of the expression.
        node_spans: ranges of the nodes alone; empty for a product that is written without its sign.
        subtree_spans: ranges of the nodes with all nodes below them.
    """

    text: str
    node_spans: list[Span]
    subtree_spans: list[Span]


class _Misaligned(Exception):
    """The tokens of a text do not match the nodes of its tree."""


def find_spans(text: str, root: Node) -> Spans:
    """Return for each node of a tree the range of characters that it takes in `text`, from which
    the tree was parsed.

    If mathy_core has reordered the text (`xy^2`), the printed text of the tree takes its place.
    """
    try:
        return _SpanFinder(text).find(root)
    except _Misaligned:
        return _SpanFinder(root.text).find(root)


class _SpanFinder:
    """Matches the tokens of a text with the nodes of its tree, in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [token for token in _TOKEN.finditer(text) if token[0] not in _OPEN + _CLOSE]
        self._next = 0  # number of the next token
        self._node_spans: list[Span] = []
        self._subtree_spans: list[Span] = []

    def find(self, root: Node) -> Spans:
        """Return the character ranges of all nodes; raise _Misaligned if the text does not match
        the tree."""
        self._find_subtree(root)
        if self._next != len(self._tokens):
            raise _Misaligned
        return Spans(self._text, self._node_spans, self._subtree_spans)

    def _find_subtree(self, node: Node) -> Span:
        """Store the character ranges of a node and of all nodes below it; return the range of the
        whole subtree."""
        parts = [self._find_subtree(node.left)] if node.left is not None else []
        place = len(self._node_spans)
        self._node_spans.append((0, 0))
        self._subtree_spans.append((0, 0))
        if node.kind is FACTORIAL and node.right is not None:  # its sign follows the operand
            parts.append(self._find_subtree(node.right))
            own = self._match_node(node)
        else:
            own = self._match_node(node)
            parts += [self._find_subtree(node.right)] if node.right is not None else []
        parts.append(own)
        self._node_spans[place] = own
        first, last = min(start for start, _ in parts), max(end for _, end in parts)
        whole = self._with_parentheses(first, last)
        self._subtree_spans[place] = whole
        return whole

    def _with_parentheses(self, start: int, end: int) -> Span:
        """Return the character range from `start` to `end`, extended by all pairs of parentheses
        around it."""
        ahead, behind = self._text[:start].rstrip(), self._text[end:].lstrip()
        if ahead[-1:] in _OPEN and behind[:1] in _CLOSE and ahead and behind:
            return self._with_parentheses(len(ahead) - 1, len(self._text) - len(behind) + 1)
        return start, end

    def _match_node(self, node: Node) -> Span:
        """Advance past the token of a node in the text and return its character range; raise
        _Misaligned if another token is there."""
        token = self._token()
        if node.kind is MULTIPLY and token != "*":
            end = self._tokens[self._next - 1].end() if self._next else 0
            return end, end
        start = self._token_start()
        if node.kind is CONSTANT:
            if token in "-–" and token:
                self._next += 1
            token = self._token()
            if not token[:1].isdigit():
                raise _Misaligned
        elif token not in (node.name, "–"):
            raise _Misaligned
        self._next += 1
        return start, self._tokens[self._next - 1].end()

    def _token(self) -> str:
        """Return the text of the next token; empty at the end."""
        return self._tokens[self._next][0] if self._next < len(self._tokens) else ""

    def _token_start(self) -> int:
        """Return the index of the first character of the next token; raise _Misaligned at the end
        of the text."""
        if self._next == len(self._tokens):
            raise _Misaligned
        return self._tokens[self._next].start()
