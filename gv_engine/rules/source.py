"""Finds the syntax trees of functions in their source files."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from contextlib import suppress
from types import CodeType, FunctionType


class SourceLines(list[str]):
    """Lines of a source file.

    Attributes:
        lambdas: AST nodes of lambdas by line number; None until one is looked for.
    """

    lambdas: dict[int, list[ast.Lambda]] | None = None


SOURCE_LINES = "__source_lines__"
"""Global variable of a rule file with its `SourceLines` at the time when it was loaded."""
_LINES_BY_FILE: dict[str, tuple[list[str], SourceLines]] = {}
"""Lines of other files: the list of `linecache`, which is another one after a change of the file,
and a copy as `SourceLines`."""
_NODES_BY_CODE: dict[int, tuple[CodeType, Sequence[ast.FunctionDef | ast.Lambda]]] = {}
"""Nodes of functions by the `id` of their code, and the code, so that it stays alive."""


def find_function_nodes(function: FunctionType) -> Sequence[ast.FunctionDef | ast.Lambda]:
    """Return the AST nodes that may be the source of a function: usually one; several if the line
    has several lambdas; none if there is no source. Variables of comprehensions have unique names
    in them. Nodes are cached and must not be changed."""
    code = function.__code__
    if id(code) in _NODES_BY_CODE:
        return _NODES_BY_CODE[id(code)][1]
    lines = function.__globals__.get(SOURCE_LINES)
    if lines is None:
        linecache.checkcache(code.co_filename)
        raw_lines = linecache.getlines(code.co_filename)
        before, lines = _LINES_BY_FILE.get(code.co_filename, ([], None))
        if lines is None or before is not raw_lines:
            lines = SourceLines(raw_lines)
            _LINES_BY_FILE[code.co_filename] = raw_lines, lines
    find = _find_lambdas if code.co_name == "<lambda>" else _find_definition
    nodes = find(code, lines)
    if nodes:
        _NODES_BY_CODE[id(code)] = code, nodes
    return nodes


def _find_lambdas(code: CodeType, lines: SourceLines) -> Sequence[ast.Lambda]:
    """Return the AST nodes of all lambdas that begin in the line of the lambda with this `code`:
    Python does not tell which of them it is."""
    if lines.lambdas is None:
        lines.lambdas, tree = {}, ast.parse("".join(lines))
        _make_names_unique(tree, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                lines.lambdas.setdefault(node.lineno, []).append(node)
    return lines.lambdas.get(code.co_firstlineno, [])


def _find_definition(code: CodeType, lines: SourceLines) -> Sequence[ast.FunctionDef]:
    """Return a tuple with the AST node of a `def` function, found by its line number. Return () if
    the file no longer has the function there."""
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
                _make_names_unique(node, {})
                return (node,)
            return ()
    return ()


def _count_spaces(line: str) -> int:
    return len(line) - len(line.lstrip())


def list_children(node: ast.AST) -> list[ast.AST]:
    """Return the child nodes of an AST node, without those that have no content, such as
    `ast.Load`."""
    found = []
    for name in node._fields:
        value = getattr(node, name)
        for child in value if isinstance(value, list) else (value,):
            if isinstance(child, ast.AST) and child._fields:
                found.append(child)
    return found


def _make_names_unique(node: ast.AST, renamed: dict[str, str]) -> None:
    """Rename the variables of comprehensions below `node`, so that each comprehension has names of
    its own, as in Python's scopes. `renamed` has the new names by old name."""
    if isinstance(node, ast.Name):
        node.id = renamed.get(node.id, node.id)
    elif isinstance(node, ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp):
        first = node.generators[0]
        _make_names_unique(first.iter, renamed)
        place = f"@{node.lineno}:{node.col_offset}"
        for part in (part for each in node.generators for part in ast.walk(each.target)):
            if isinstance(part, ast.Name):
                renamed = renamed | {part.id: part.id + place}
        for child in (*list_children(node), *list_children(first)):
            if child is not first and child is not first.iter:
                _make_names_unique(child, renamed)
    elif isinstance(node, ast.Lambda):
        _make_names_unique(node.args, renamed)  # default values
        names = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        _make_names_unique(node.body, {k: name for k, name in renamed.items() if k not in names})
    else:
        for child in list_children(node):
            _make_names_unique(child, renamed)
