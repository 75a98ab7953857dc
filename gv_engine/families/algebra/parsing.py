"""From text to trees, and to and from the nodes of mathy_core, whose parser reads all texts.

It is asked for the terms of a text, once for each; sums and products of them are put together here.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from gv_engine.families.algebra.expression import (
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
from gv_engine.families.algebra.library import ExpressionParser, ParserException
from gv_engine.families.algebra.library import expressions as lib
from gv_engine.language.errors import GVEngineError

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
