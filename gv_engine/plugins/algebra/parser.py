"""Parser of expressions, the inverse of `Node.text`; and the characters of a text that belong to
each node."""

from __future__ import annotations

import functools
import math
import re
from typing import NamedTuple

from gv_engine.plugins.algebra import expression
from gv_engine.plugins.algebra.expression import CONSTANT, FUNCTIONS, MULTIPLY, VARIABLE, Node
from gv_engine.rules.errors import GVEngineError

_MAX_CHARACTERS = 4096
"""Maximum length of an expression in characters: four for each node of the longest expression that
observations can hold."""

_MAX_DEPTH = 150
"""Maximum number of parentheses and exponents within each other."""


class ExpressionError(GVEngineError, ValueError):
    """A text is no expression."""


def parse(text: str) -> Node:
    """Parse a text such as "4x + 2" and return its expression tree.

    A power binds its base alone and groups to the right: xy^2 is x * y^2, -3^2 is -(3^2), and x^y^z
    is x^(y^z). A product without a sign binds tighter than * and /: 1 / 2x is 1 / (2x). A number
    after a minus is a negative number, unless a power or a factorial follows.

    Raises:
        ExpressionError: the text is no expression, too long, or nested too deeply.
    """
    if len(text) > _MAX_CHARACTERS:
        raise ExpressionError(
            f"the expression has {len(text):,} characters, allowed are {_MAX_CHARACTERS:,}; "
            f"shorten it"
        )
    return _Parser(text).parse()


_SPACE = re.compile(r"[ \t\r\n]*")
_DIGITS = r"[0-9]+\.?[0-9]*|\.[0-9]+"
_NUMBER = re.compile(_DIGITS)
_NEGATIVE = re.compile(rf"[-–]{_SPACE.pattern}({_DIGITS})(?![0-9.]|{_SPACE.pattern}[\^!])")
_LETTER = re.compile(r"[a-zA-Z]")
_FACTOR = re.compile(r"[a-zA-Z(\[]")
_NAME = "(?:sgn|abs|cos|exp|ln|log|sin|sqrt|tan)"
_CALL = re.compile(rf"{_NAME}(?={_SPACE.pattern}[(\[])|(?<![a-zA-Z]){_NAME}(?![a-zA-Z])")
_TERM = re.compile(r"-?(?:[0-9]+|[0-9]*[a-zA-Z](?:\^[0-9]+)?)(?= [-+*/=] |\)|$)")
"""Operand in printed form, such as 4x^2, in a place where no other factor follows."""

_CLOSING = {"(": ")", "[": "]"}
_SUM_SIGNS = {"+": expression.ADD, "-": expression.SUBTRACT, "–": expression.SUBTRACT}
_PRODUCT_SIGNS = {"*": MULTIPLY, "/": expression.DIVIDE}


class _Parser:
    """Recursive descent parser of a text. Each method parses a part that begins at the current
    position, moves behind it and the spaces after it, and returns its tree."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self._move_to(0)

    def parse(self) -> Node:
        """Parse the whole text and return its expression tree. Raise ExpressionError if the text is
        not an expression."""
        root = self._parse_sum()
        if self._skip("="):
            root = Node(expression.EQUAL, root, self._parse_sum())
        if self._next:
            raise self._error("an operator or the end")
        return root

    def _move_to(self, position: int) -> None:
        self._position: int = _SPACE.match(self._text, position).end()  # type: ignore[union-attr]  # matches ""
        self._next = self._text[self._position : self._position + 1]

    def _skip(self, character: str) -> bool:
        """If the next character is `character`, move past it and return True. Else return False."""
        if self._next != character:
            return False
        self._move_to(self._position + 1)
        return True

    def _match(self, pattern: re.Pattern[str]) -> str:
        """If `pattern` matches at the current position, move past the match and return its last
        group (or all of it without groups). Else return ""."""
        found = pattern.match(self._text, self._position)
        if found is None:
            return ""
        self._move_to(found.end())
        return found[pattern.groups]

    def _parse_sum(self) -> Node:
        """Parse operands joined by +, -, * and /, such as 2x + 3y, and return their tree."""
        total = operator = None
        while True:
            product = self._parse_operand()
            while product_operator := _PRODUCT_SIGNS.get(self._next):
                self._skip(self._next)
                product = Node(product_operator, product, self._parse_operand())
            total = product if operator is None else Node(operator, total, product)
            operator = _SUM_SIGNS.get(self._next)
            if operator is None:
                return total
            self._skip(self._next)

    def _parse_operand(self, is_exponent: bool = False) -> Node:
        """Parse one operand with its minus sign: factors without a sign between them, such as -4xy.
        As an exponent, it is a single factor."""
        term = None if is_exponent else _TERM.match(self._text, self._position)
        if term and term[0] != self._text:
            self._move_to(term.end())
            return _parse_term(term[0])
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ExpressionError(
                f"{self._text!r} is nested too deeply; allowed are {_MAX_DEPTH} levels"
            )
        is_negative = False
        if number := self._match(_NEGATIVE):
            node, begins_with_number = _read_number(f"-{number}"), True
        else:
            is_negative = self._skip("-") or self._skip("–")
            begins_with_number = self._next.isdigit() or self._next == "."
            node = self._parse_factor()
        if not is_exponent and _FACTOR.match(self._next):
            product = self._parse_factor() if begins_with_number else node
            while _FACTOR.match(self._next):
                product = Node(MULTIPLY, product, self._parse_factor())
            node = Node(MULTIPLY, node, product) if begins_with_number else product
        self._depth -= 1
        return _negate(node) if is_negative else node

    def _parse_factor(self) -> Node:
        """Parse a number, variable, function call or expression in parentheses, with its factorial
        and exponent, such as (x + 1)^2."""
        if number := self._match(_NUMBER):
            node = _read_number(number)
        else:
            name = self._match(_CALL)
            if name and name not in FUNCTIONS:
                raise ExpressionError(
                    f"{self._text!r} is no expression: found the function {name}, allowed: "
                    f"{', '.join(FUNCTIONS)}"
                )
            if closing := _CLOSING.get(self._next):
                self._skip(self._next)
                node = self._parse_sum()
                if not self._skip(closing):
                    raise self._error(f"an operator or {closing!r}")
                node = Node(FUNCTIONS[name], right=node, value=name) if name else node
            elif not name and (letter := self._match(_LETTER)):
                node = Node(VARIABLE, value=letter)
            else:
                raise self._error("'('" if name else "a number, a letter or a parenthesis")
        if self._skip("!"):
            node = Node(expression.FACTORIAL, right=node)
            if self._next == "!":
                raise self._error("an operator or the end", "write (5!)! for a factorial of one")
        if self._skip("^"):
            node = Node(expression.POWER, node, self._parse_operand(is_exponent=True))
        return node

    def _error(self, expected: str, hint: str = "") -> ExpressionError:
        """Return an error that names what is at the current position and what was expected."""
        found = f"{self._next!r} at character {self._position + 1}" if self._next else "the end"
        if self._next.isdigit():
            hint = "write numbers before letters, as in 2x, and powers as x^2"
        elif self._next == "*":
            hint = "write powers as x^2"
        elif self._next == "=":
            hint = "write one = at most, outside of parentheses"
        return ExpressionError(
            f"{self._text!r} is no expression: found {found}, expected {expected}"
            f"{hint and f'; {hint}'}"
        )


def _read_number(text: str) -> Node:
    """Return the node of a number such as 4 or 2.5; 4.0 gives the int 4. Raise ExpressionError if
    it is too large for a float."""
    if "." not in text:
        return Node(CONSTANT, value=int(text))
    value = float(text)
    if not math.isfinite(value):
        raise ExpressionError(f"{text} is too large for a decimal number; round it to a whole one")
    return Node(CONSTANT, value=int(value) if value.is_integer() else value)


def _negate(node: Node) -> Node:
    """Return the node for minus `node`. For a number or a product that starts with one, flip the
    number's sign: 3 gives -3, 3x gives (-3)x. Else wrap `node` in a minus."""
    if not node.begins_with_number():
        return Node(expression.NEGATE, right=node)
    if node.right is not None:
        return Node(MULTIPLY, _negate(node.left), node.right)  # type: ignore[arg-type]  # a number
    return Node(CONSTANT, value=-node.value)  # type: ignore[operator]  # a number


_parse_term = functools.lru_cache(4096)(parse)


# ---- node spans ----------------------------------------------------------------------------------

_TOKEN = re.compile(rf"{_DIGITS}|{'|'.join(FUNCTIONS)}(?=\s*[(\[])|\S")
_OPEN, _CLOSE = "([", ")]"

Span = tuple[int, int]


class Spans(NamedTuple):
    """Character ranges, (start, end), of every node in order.

    Attributes:
        node_spans: ranges of the nodes alone; empty for a product that is written without its sign.
        subtree_spans: ranges of the nodes with all nodes below them.
    """

    node_spans: list[Span]
    subtree_spans: list[Span]


def find_spans(text: str, root: Node) -> Spans:
    """Return for each node of a tree its range of characters in `text`, from which the tree was
    parsed."""
    return _SpanFinder(text).find(root)


class _SpanFinder:
    """Matches the tokens of a text with the nodes of its tree, in order."""

    def __init__(self, text: str) -> None:
        """Split a text into tokens with their positions, except parentheses."""
        self._text = text
        tokens = ((found[0], *found.span()) for found in _TOKEN.finditer(text))
        # (token, start, end), and an empty one behind the last
        self._tokens = [*(each for each in tokens if each[0] not in _OPEN + _CLOSE), ("", 0, 0)]
        self._next = 0  # number of the next token
        self._node_spans: list[Span] = []
        self._subtree_spans: list[Span] = []

    def find(self, root: Node) -> Spans:
        """Return the character ranges of all nodes."""
        self._find_subtree(root)
        return Spans(self._node_spans, self._subtree_spans)

    def _find_subtree(self, node: Node) -> Span:
        """Find the character ranges of `node` and all nodes below it, and store them. Return the
        (start, end) of the whole subtree."""
        spans = [self._find_subtree(node.left)] if node.left is not None else []
        index = len(self._node_spans)
        self._node_spans.append((0, 0))
        self._subtree_spans.append((0, 0))
        is_postfix = node.kind is expression.FACTORIAL  # its operand is on the right, all the same
        node_span = (0, 0) if is_postfix else self._match_node(node)
        spans += [self._find_subtree(node.right)] if node.right is not None else []
        if is_postfix:
            node_span = self._match_node(node)
        spans.append(node_span)
        self._node_spans[index] = node_span
        start, end = min(start for start, _ in spans), max(end for _, end in spans)
        self._subtree_spans[index] = self._with_parentheses(start, end)
        return self._subtree_spans[index]

    def _with_parentheses(self, start: int, end: int) -> Span:
        """Extend the range `start` to `end` of the text by all parentheses directly around it: the
        range of x in ((x)) becomes the whole text."""
        ahead, behind = self._text[:start].rstrip(), self._text[end:].lstrip()
        if ahead[-1:] in _OPEN and behind[:1] in _CLOSE and ahead and behind:
            return self._with_parentheses(len(ahead) - 1, len(self._text) - len(behind) + 1)
        return start, end

    def _match_node(self, node: Node) -> Span:
        """Return the character range (start, end) of the token of `node`, and move on to the next
        token. The range is empty for a product without a sign."""
        token, start, _ = self._tokens[self._next]
        if node.kind is MULTIPLY and token != "*":
            end = self._tokens[self._next - 1][2] if self._next else 0
            return end, end
        self._next += 2 if node.kind is CONSTANT and token in ("-", "–") else 1
        return start, self._tokens[self._next - 1][2]
