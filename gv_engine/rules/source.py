"""Source code of functions: their syntax trees, without the rest of their files."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from types import CodeType, FunctionType


class SourceLines(list[str]):
    """Lines of a file, which differ from all others as a key.

    Attributes:
        lambdas: lambdas by line, once one was looked for.
    """

    lambdas: dict[int, list[ast.Lambda]] | None = None
    __hash__ = object.__hash__  # type: ignore[assignment]  # as no one else has these lines
    __eq__ = object.__eq__


SOURCE_LINES = "__source_lines__"
"""Global variable of a rule file with its `SourceLines` at the time when it was loaded."""
_FILES: dict[str, tuple[list[str], SourceLines]] = {}
"""Lines of other files as `linecache` has them, and the same as `SourceLines`."""


def find_nodes(function: FunctionType) -> Sequence[ast.FunctionDef | ast.Lambda]:
    """Return the syntax trees that may be a function's: one, none if its source cannot be found, or
    several lambdas that begin in the same line. Variables of comprehensions have names of their own
    there."""
    file = function.__code__.co_filename
    lines = function.__globals__.get(SOURCE_LINES)
    if lines is None:
        linecache.checkcache(file)
        read = linecache.getlines(file)
        known, lines = _FILES.get(file, ([], None))
        if lines is None or known is not read:
            lines = SourceLines(read)
            _FILES[file] = read, lines
    return _find_nodes(function.__code__, lines)


@cache
def _find_nodes(code: CodeType, lines: SourceLines) -> Sequence[ast.FunctionDef | ast.Lambda]:
    return (_find_lambdas if code.co_name == "<lambda>" else _find_definition)(code, lines)


def _find_lambdas(code: CodeType, lines: SourceLines) -> Sequence[ast.Lambda]:
    """Return the lambdas in the line of a lambda."""
    if lines.lambdas is None:
        lines.lambdas, tree = {}, ast.parse("".join(lines))
        _name_scopes(tree, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                lines.lambdas.setdefault(node.lineno, []).append(node)
    return lines.lambdas.get(code.co_firstlineno, [])


def _find_definition(code: CodeType, lines: SourceLines) -> Sequence[ast.FunctionDef]:
    """Return the definition of a function, parsed without the rest of its file; () if the file has
    another one in its place."""
    first = code.co_firstlineno
    if first > len(lines):
        return ()
    depth = _count_spaces(lines[first - 1])
    before = "\n" * (first - 2) + "if 1:\n" if depth else "\n" * (first - 1)
    for stop in range(first, len(lines) + 1):
        # a line on the left may be part of a text or of the parameters, too
        line = lines[stop].rstrip() if stop < len(lines) else "end"
        if not line or line.lstrip().startswith("#") or _count_spaces(line) > depth:
            continue
        with suppress(SyntaxError):
            (node,) = ast.parse(before + "".join(lines[first - 1 : stop])).body
            node = node.body[0] if isinstance(node, ast.If) else node
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
                _name_scopes(node, {})
                return (node,)
            return ()
    return ()


def _count_spaces(line: str) -> int:
    return len(line) - len(line.lstrip())


def list_children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes directly below a node that have parts."""
    found = []
    for name in node._fields:
        value = getattr(node, name)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and child._fields:
                found.append(child)
    return found


def _name_scopes(node: ast.AST, renamed: dict[str, str]) -> None:
    """Give variables of comprehensions names of their own, as Python gives them a scope."""
    if isinstance(node, ast.Name):
        node.id = renamed.get(node.id, node.id)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
        first = node.generators[0]
        _name_scopes(first.iter, renamed)
        place = f"@{node.lineno}:{node.col_offset}"
        for part in (part for each in node.generators for part in ast.walk(each.target)):
            if isinstance(part, ast.Name):
                renamed = renamed | {part.id: part.id + place}
        for child in (*list_children(node), *list_children(first)):
            if child is not first and child is not first.iter:
                _name_scopes(child, renamed)
    elif isinstance(node, ast.Lambda):
        _name_scopes(node.args, renamed)  # default values
        names = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        _name_scopes(node.body, {name: own for name, own in renamed.items() if name not in names})
    else:
        for child in list_children(node):
            _name_scopes(child, renamed)
