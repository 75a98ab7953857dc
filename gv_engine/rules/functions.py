"""Static analysis of rules: finds the functions that a rule can call and the names in their code,
so that the compiler, checks, solver and editor know what a rule reads and writes."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from types import FunctionType, ModuleType
from typing import Any

from gv_engine.rules.source import find_function_nodes

_FOREIGN_PACKAGES = {"numpy", "numba", "llvmlite", "esper"} | set(sys.stdlib_module_names)


@dataclass(frozen=True)
class Names:
    """Names of variables, attributes and texts in the code of a function, nested functions
    included.

    Attributes:
        variables: variables that are read.
        assigned: parameters, and variables that are assigned.
        attributes: attributes that are read or written, such as "door" of `w.door`.
        strings: texts.
        is_known: False if the source is not at hand; the function may use every name.
        body: syntax tree of the body, () if the source is not at hand.
    """

    variables: frozenset[str] = frozenset()
    assigned: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()
    strings: frozenset[str] = frozenset()
    is_known: bool = False
    body: tuple[ast.AST, ...] = ()

    def __contains__(self, name: str) -> bool:
        return not self.is_known or any(
            name in names for names in (self.attributes, self.variables, self.strings)
        )


def is_foreign(function: FunctionType) -> bool:
    """Return True for functions of Python's own library and of the libraries below the engine."""
    return _is_foreign_module(function.__module__)


def names_of(function: Any) -> Names:
    """Return the variables, attributes and texts in the code of a function; empty `Names` for what
    is no Python function."""
    if not isinstance(function, FunctionType):
        return Names(is_known=True)
    return _collect_names(tuple(find_function_nodes(function)))


def find_functions(roots: Iterable[Any]) -> dict[FunctionType, list[tuple[str, Any]]]:
    """Return all functions that can be called from the functions in `roots`, except those of other
    libraries. Each is mapped to (name, value) of the globals, closure variables and defaults that
    it uses."""
    uses: dict[FunctionType, list[tuple[str, Any]]] = {}
    waiting = [root for root in roots if isinstance(root, FunctionType)]
    while waiting:
        function = waiting.pop()
        if function in uses or is_foreign(function):
            continue
        uses[function] = list(_iter_used_values(function))
        for _, value in uses[function]:
            waiting += [part for part in _flatten(value) if isinstance(part, FunctionType)]
    return uses


@lru_cache(maxsize=4096)
def uses_name(function: Any, *names: str) -> bool:
    """Return True if `function`, or any function that it may call, uses one of some names: as a
    variable, an attribute or a text."""
    return any(name in names_of(each) for each in find_functions([function]) for name in names)


@cache
def _collect_names(nodes: tuple[ast.FunctionDef | ast.Lambda, ...]) -> Names:
    """Return the variables, attributes and strings that occur in the syntax trees of one
    function."""
    if not nodes:
        return Names()
    body: list[ast.AST] = []
    assigned: set[str] = set()
    for node in nodes:
        body += node.body if isinstance(node.body, list) else [node.body]
        assigned |= {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
    found: dict[str, set[str]] = {"variables": set(), "attributes": set(), "strings": set()}
    for part in (part for node in body for part in ast.walk(node)):
        match part:
            case ast.Name(name, ast.Load()):
                found["variables"].add(name)
            case ast.Name(name) | ast.arg(name):
                assigned.add(name)
            case ast.Attribute(_, name):
                found["attributes"].add(name)
            case ast.Constant(str(text)):
                found["strings"].add(text)
    sets = {key: frozenset(values) for key, values in found.items()}
    return Names(**sets, assigned=frozenset(assigned), is_known=True, body=tuple(body))


def _iter_used_values(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of each global, module attribute, closure variable and default that a
    function uses. If its source cannot be read, yield all globals of its module."""
    names = names_of(function)
    wanted = names.variables - names.assigned if names.is_known else {*function.__globals__}
    for name in sorted(wanted & function.__globals__.keys()):
        value = function.__globals__[name]
        yield name, value
        if isinstance(value, ModuleType) and not _is_foreign_module(value.__name__):
            for attribute in names.attributes:
                if hasattr(value, attribute):
                    short = value.__name__.rpartition(".")[2]
                    yield f"{short}.{attribute}", getattr(value, attribute)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for number, value in enumerate(function.__defaults__ or ()):
        yield f"default {number}", value


def _is_foreign_module(name: str) -> bool:
    return name.partition(".")[0] in _FOREIGN_PACKAGES


def _flatten(value: Any) -> Iterator[Any]:
    """Yield the items of nested tuples and lists one by one: [1, (2, 3)] gives 1, 2, 3. Yield any
    other `value` itself."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from _flatten(part)
    else:
        yield value
