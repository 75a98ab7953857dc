"""Source code of functions: their syntax trees, names, and what they assign and read."""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from types import CodeType, FunctionType
from typing import Any

from gv_engine.rules.errors import DoesNotCompileError


@dataclass(frozen=True)
class Source:
    """The code of a function: its AST, the names that it can use, and where it stands."""

    node: ast.FunctionDef | ast.Lambda
    names: Mapping[str, Any]
    file: str
    assigned: Counter[str]
    loads: Counter[str]
    walrus: Set[str]
    grown: Set[str]


_INDICES: dict[str, tuple[list[str], dict[int, list[ast.Lambda]]]] = {}
"""Lines of files, and their lambdas by line, by name of the file."""


def read_source(function: FunctionType) -> Source:
    """Return the source of a function.

    Raises:
        DoesNotCompileError: the source is not at hand.
    """
    code, names = function.__code__, function.__globals__
    if function.__closure__:
        cells = (cell.cell_contents for cell in function.__closure__)
        names = {**names, **dict(zip(code.co_freevars, cells))}
    return Source(names=names, file=code.co_filename, **_analyze_source(code))


@cache
def _analyze_source(code: CodeType) -> dict[str, Any]:
    """Return what `analyze_code` tells about the source of a function."""
    nodes = _find_lambdas(code) if code.co_name == "<lambda>" else _find_definition(code)
    if len(nodes) != 1:
        reason = "its source is not at hand" if not nodes else "another one stands in its line"
        raise DoesNotCompileError(
            f"{code.co_filename}:{code.co_firstlineno}: {code.co_name} does not compile: {reason}"
        )
    return analyze_code(nodes[0])


def _find_lambdas(code: CodeType) -> Sequence[ast.Lambda]:
    """Return the lambdas in the line of a lambda."""
    lines = linecache.getlines(code.co_filename)
    known, found = _INDICES.get(code.co_filename, (None, {}))
    if known is not lines:
        found, tree = {}, ast.parse("".join(lines))
        _name_scopes(tree, {})
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                found.setdefault(node.lineno, []).append(node)
        _INDICES[code.co_filename] = lines, found
    return found.get(code.co_firstlineno, [])


def _find_definition(code: CodeType) -> Sequence[ast.FunctionDef]:
    """Return the definition of a function, parsed without the rest of its file; () if the file has
    another one in its place."""
    lines, first = linecache.getlines(code.co_filename), code.co_firstlineno
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


def analyze_code(node: ast.FunctionDef | ast.Lambda) -> dict[str, Any]:
    """Return what a `Source` tells about the code of a function."""
    usage = find_usage(node.body) if isinstance(node, ast.Lambda) else find_usage(*node.body)
    arguments = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    return {
        **{"node": node, "assigned": usage.stores + Counter(arguments), "loads": usage.reads},
        **{"walrus": usage.walrus, "grown": usage.grown},
    }


def make_name(name: str, place: ast.AST) -> ast.Name:
    """Return the node of a name that is read, with the line of another node."""
    return ast.copy_location(ast.Name(name, ast.Load()), place)


def _list_children(node: ast.AST) -> list[ast.AST]:
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
        for child in (*_list_children(node), *_list_children(first)):
            if child is not first and child is not first.iter:
                _name_scopes(child, renamed)
    else:
        for child in _list_children(node):
            _name_scopes(child, renamed)


LIST_METHODS = ("append", "pop", "clear")
"""Methods that change lists."""


@dataclass(frozen=True)
class Usage:
    """Variables in a part of a function.

    Attributes:
        stores: how often each is assigned, by `+=` and the like twice. Variables of comprehensions
            and names of nested functions count, the variables of nested functions do not.
        reads: how often each name is read, also by nested functions.
        grown: variables whose lists are changed.
        walrus: variables that `:=` assigns.
    """

    stores: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    grown: set[str] = field(default_factory=set)
    walrus: set[str] = field(default_factory=set)

    def add(self, node: ast.AST) -> None:
        """Add the variables of a node and of what is below it."""
        match node:
            case ast.Name(name, ast.Load()):
                self.reads[name] += 1
            case ast.Name(name):
                self.stores[name] += 1
            case ast.AugAssign(ast.Name(name)):
                self.stores[name] += 1
                self.reads[name] += 1
            case ast.NamedExpr(ast.Name(name)):
                self.walrus.add(name)
            case ast.Attribute(ast.Name(name), method) if method in LIST_METHODS:
                self.grown.add(name)
            case ast.Subscript(ast.Name(name), _, ast.Store()):
                self.grown.add(name)
            case ast.FunctionDef():
                self.stores[node.name] += 1
        is_nested = isinstance(node, ast.FunctionDef | ast.Lambda)
        inner = Usage(reads=self.reads, grown=self.grown) if is_nested else self
        for child in _list_children(node):
            inner.merge(find_usage(child)) if isinstance(child, ast.stmt) else inner.add(child)

    def merge(self, other: Usage) -> None:
        """Add the variables of another part."""
        self.stores.update(other.stores)
        self.reads.update(other.reads)
        self.grown.update(other.grown)
        self.walrus.update(other.walrus)


@cache
def find_usage(*nodes: ast.AST) -> Usage:
    """Return the variables in the code of some nodes."""
    usage = Usage()
    for node in nodes:
        usage.add(node)
    return usage
