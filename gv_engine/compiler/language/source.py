"""Source code of functions: their syntax trees, and the names that they assign and read."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import Any

from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.rules.source import find_function_nodes, list_children


@dataclass(frozen=True)
class Source:
    """Source code of a function and what static analysis finds in it.

    Attributes:
        node: its AST.
        names: values of globals and captured variables.
        file: path of the file.
        assigned: how often each variable is assigned, parameters included.
        loads, walrus_targets, changed_lists: as in `Usage`; `loads` are its `reads`.
    """

    node: ast.FunctionDef | ast.Lambda
    names: Mapping[str, Any]
    file: str
    assigned: Counter[str]
    loads: Counter[str]
    walrus_targets: Set[str]
    changed_lists: Set[str]


def read_source(function: FunctionType) -> Source:
    """Return the source of a function, with the variables that it assigns and reads.

    Raises:
        DoesNotCompileError: the source is not at hand.
    """
    code, names = function.__code__, function.__globals__
    if function.__closure__:
        cells = (cell.cell_contents for cell in function.__closure__)
        names = {**names, **dict(zip(code.co_freevars, cells))}
    return Source(names=names, file=code.co_filename, **_analyze_source(function))


def _analyze_source(function: FunctionType) -> dict[str, Any]:
    """Return the attributes of the `Source` of a function, as a dictionary."""
    nodes, code = find_function_nodes(function), function.__code__
    if len(nodes) != 1:
        reason = "its source is not at hand" if not nodes else "another one stands in its line"
        raise DoesNotCompileError(
            f"{code.co_filename}:{code.co_firstlineno}: {code.co_name} does not compile: {reason}"
        )
    return analyze_code(nodes[0])


@cache
def analyze_code(node: ast.FunctionDef | ast.Lambda) -> dict[str, Any]:
    """Return the attributes of a `Source` that depend only on the syntax tree of the function, as a
    dictionary."""
    usage = find_usage(node.body) if isinstance(node, ast.Lambda) else find_usage(*node.body)
    arguments = [each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)]
    return {
        **{"node": node, "assigned": usage.stores + Counter(arguments), "loads": usage.reads},
        **{"walrus_targets": usage.walrus_targets, "changed_lists": usage.changed_lists},
    }


def make_name(name: str, location: ast.AST) -> ast.Name:
    """Return the node of a name that is read, in the line of another node."""
    return ast.copy_location(ast.Name(name, ast.Load()), location)


LIST_METHODS = ("append", "pop", "clear")
"""Methods that change lists."""


@dataclass(frozen=True)
class Usage:
    """Names of the variables that a piece of code assigns and reads.

    Attributes:
        stores: how often each is assigned, by `+=` and the like twice. Variables of comprehensions
            and names of nested functions count, the variables of nested functions do not.
        reads: how often each name is read, also by nested functions.
        changed_lists: variables whose lists are changed.
        walrus_targets: variables that `:=` assigns.
    """

    stores: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)
    changed_lists: set[str] = field(default_factory=set)
    walrus_targets: set[str] = field(default_factory=set)

    def add(self, node: ast.AST) -> None:
        """Add the variables that the code below an AST node assigns and reads."""
        match node:
            case ast.Name(name, ast.Load()):
                self.reads[name] += 1
            case ast.Name(name):
                self.stores[name] += 1
            case ast.AugAssign(ast.Name(name)):
                self.stores[name] += 1
                self.reads[name] += 1
            case ast.NamedExpr(ast.Name(name)):
                self.walrus_targets.add(name)
            case ast.Attribute(ast.Name(name), method) if method in LIST_METHODS:
                self.changed_lists.add(name)
            case ast.Subscript(ast.Name(name), _, ast.Store()):
                self.changed_lists.add(name)
            case ast.FunctionDef():
                self.stores[node.name] += 1
        is_nested = isinstance(node, ast.FunctionDef | ast.Lambda)
        inner = Usage(reads=self.reads, changed_lists=self.changed_lists) if is_nested else self
        for child in list_children(node):
            inner.merge(find_usage(child)) if isinstance(child, ast.stmt) else inner.add(child)

    def merge(self, other: Usage) -> None:
        """Add the variables of another piece of code."""
        self.stores.update(other.stores)
        self.reads.update(other.reads)
        self.changed_lists.update(other.changed_lists)
        self.walrus_targets.update(other.walrus_targets)


@cache
def find_usage(*nodes: ast.AST) -> Usage:
    """Return the variables that the code of these AST nodes assigns and reads."""
    usage = Usage()
    for node in nodes:
        usage.add(node)
    return usage
