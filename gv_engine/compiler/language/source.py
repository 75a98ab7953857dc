"""Source code of functions: their syntax trees, names, and what they assign and read."""

from __future__ import annotations

import ast
import linecache
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import FunctionType
from typing import Any

from gv_engine.compiler.language.lists import list_grown
from gv_engine.rules.errors import DoesNotCompileError


@dataclass(frozen=True)
class Source:
    """The code of a function: its AST, the names that it can use, and where it stands."""

    node: ast.FunctionDef | ast.Lambda
    names: Mapping[str, Any]
    file: str
    assigned: Counter[str]
    loads: Counter[str]
    walrus: frozenset[str]
    grown: frozenset[str]


_Index = dict[tuple[str, int], list[ast.FunctionDef | ast.Lambda]]
_INDICES: dict[str, tuple[list[str], _Index]] = {}
"""Lines and functions of files, by name."""


def _index_file(file: str) -> _Index:
    """Return the functions of a file by (name, line of the first decorator or of `def`)."""
    lines = linecache.getlines(file)
    known, found = _INDICES.get(file, (None, {}))
    if known is lines:
        return found
    found = {}
    for node in ast.walk(_Scopes().visit(ast.parse("".join(lines)))):
        if isinstance(node, ast.FunctionDef):
            line = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            found.setdefault((node.name, line), []).append(node)
        elif isinstance(node, ast.Lambda):
            found.setdefault(("<lambda>", node.lineno), []).append(node)
    _INDICES[file] = lines, found
    return found


def read_source(function: FunctionType) -> Source:
    """Return the source of a function.

    Raises:
        DoesNotCompileError: the source is not at hand.
    """
    code = function.__code__
    nodes = _index_file(code.co_filename).get((code.co_name, code.co_firstlineno), [])
    if len(nodes) != 1:
        reason = "its source is not at hand" if not nodes else "another one stands in its line"
        raise DoesNotCompileError(
            f"{code.co_filename}:{code.co_firstlineno}: {code.co_name} does not compile: {reason}"
        )
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    names = {**function.__globals__, **dict(zip(code.co_freevars, cells))}
    return Source(names=names, file=code.co_filename, **analyze_code(nodes[0]))


@cache
def analyze_code(node: ast.FunctionDef | ast.Lambda) -> dict[str, Any]:
    """Return what a `Source` tells about the code of a function."""
    walrus = (each.target.id for each in _walk_body(node) if isinstance(each, ast.NamedExpr))
    reads = [node.body] if isinstance(node, ast.Lambda) else node.body
    analysis: dict[str, Any] = {"node": node, "walrus": frozenset(walrus)}
    analysis["grown"] = frozenset(list_grown(reads))
    return analysis | {"assigned": count_assignments(node), "loads": count_reads(reads)}


def make_name(name: str, place: ast.AST) -> ast.Name:
    """Return the node of a name that is read, with the line of another node."""
    return ast.copy_location(ast.Name(name, ast.Load()), place)


class _Scopes(ast.NodeTransformer):
    """Gives variables of comprehensions names of their own, as Python gives them a scope."""

    def __init__(self) -> None:
        self._renamed: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._renamed.get(node.id, node.id)
        return node

    def visit_ListComp(self, node: Any) -> Any:
        outer = self._renamed
        node.generators[0].iter = self.visit(node.generators[0].iter)
        targets = {
            each.id
            for generator in node.generators
            for each in ast.walk(generator.target)
            if isinstance(each, ast.Name)
        }
        place = f"@{node.lineno}:{node.col_offset}"
        self._renamed = outer | {name: name + place for name in targets}
        first = node.generators[0].iter
        node.generators[0].iter = ast.Constant(None)
        self.generic_visit(node)
        node.generators[0].iter = first
        self._renamed = outer
        return node

    visit_GeneratorExp = visit_SetComp = visit_DictComp = visit_ListComp


def count_assignments(node: ast.FunctionDef | ast.Lambda) -> Counter[str]:
    """Return how often the code of a function assigns each variable; comprehensions count too."""
    stores = [
        each.id
        for each in _walk_body(node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    ]
    again = [
        each.target.id
        for each in _walk_body(node)
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name)
    ]
    arguments = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    nested = [each.name for each in _walk_body(node) if isinstance(each, ast.FunctionDef)]
    return Counter([*stores, *again, *arguments, *nested])


def count_reads(nodes: Iterable[ast.AST]) -> Counter[str]:
    """Return how often code reads each name."""
    return sum(map(_count_reads, nodes), Counter())


@cache
def _count_reads(node: ast.AST) -> Counter[str]:
    read: Counter[str] = Counter()
    for each in ast.walk(node):
        if isinstance(each, ast.AugAssign) and isinstance(each.target, ast.Name):
            read[each.target.id] += 1
        elif isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            read[each.id] += 1
    return read


def _walk_body(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or of statements, without those of nested functions."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.Lambda):
            yield from _walk_body(child)


@cache
def _list_assigned(node: ast.AST) -> frozenset[str]:
    parts = (node, *_walk_body(node))
    nested = {each.name for each in parts if isinstance(each, ast.FunctionDef)}
    names = (each for each in parts if isinstance(each, ast.Name))
    return frozenset({each.id for each in names if isinstance(each.ctx, ast.Store)} | nested)


def assigned_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the variables that statements and targets assign."""
    return set().union(*map(_list_assigned, nodes))
