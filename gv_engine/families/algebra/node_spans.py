"""Spans of characters that belong to each node of a written expression."""

from __future__ import annotations

import re
from typing import NamedTuple

from gv_engine.families.algebra.expression import CONSTANT, FACTORIAL, MULTIPLY, Node

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
