"""Functions that a compiled program is made of, and a digest of their code.

From the roots, follows the names that functions use, their closures and defaults. The digest
changes whenever the code or a constant of any of them does, wherever it is written; so a program
compiled under it is never stale.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_FOREIGN = {"numpy", "numba", "llvmlite", "esper"} | set(sys.stdlib_module_names)
_PLAIN = (int, float, str, bool, bytes, type(None), np.generic)


def functions_of(roots: Iterable[Any]) -> dict[FunctionType, list[tuple[str, Any]]]:
    """Every function of the engine or of authors that the roots lead to, with the names it uses."""
    found: dict[FunctionType, list[tuple[str, Any]]] = {}
    waiting = [root for root in roots if isinstance(root, FunctionType)]
    while waiting:
        function = waiting.pop()
        if function in found or function.__module__.partition(".")[0] in _FOREIGN:
            continue
        found[function] = list(_uses(function))
        for _, value in found[function]:
            waiting += [part for part in _flat(value) if isinstance(part, FunctionType)]
    return found


def strings(functions: Iterable[FunctionType]) -> set[str]:
    """All texts written out in the functions."""
    return {
        constant
        for function in functions
        for code in codes_within(function.__code__)
        for constant in code.co_consts
        if isinstance(constant, str)
    }


def asks_for(function: Any, name: str) -> bool:
    """Whether a function, or one that it leads to, says this name."""
    functions = functions_of([function])
    named = (each.__code__.co_names for each in functions)
    return any(name in names for names in named) or name in strings(functions)


def program_digest(roots: Iterable[Any], *more: str) -> str:
    """24 hexadecimal digits that stand for the code and the constants of all that is reached."""
    return digest_of(functions_of(roots), *more)


def digest_of(functions: Mapping[FunctionType, list[tuple[str, Any]]], *more: str) -> str:
    """The digest of functions as `functions_of` tells of them, and of texts."""
    lines = sorted(_describe(function, uses) for function, uses in functions.items())
    return hashlib.sha256("\n".join([*lines, *more]).encode()).hexdigest()[:24]


def complaint_about(function: FunctionType) -> str:
    """How a message about a function begins."""
    code = function.__code__
    return f"a rule cannot be compiled ({code.co_filename}, line {code.co_firstlineno})"


def _describe(function: FunctionType, uses: list[tuple[str, Any]]) -> str:
    codes = [
        (c.co_name, c.co_code.hex(), c.co_names, c.co_varnames, _constants(c))
        for c in codes_within(function.__code__)
    ]
    values = sorted((name, text_of(value)) for name, value in uses)
    return repr((function.__qualname__, codes, values))


def _uses(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """(name, value) of globals, attributes of modules, closure cells and defaults."""
    for code in codes_within(function.__code__):
        modules = []
        for name in code.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                yield name, value
                if (
                    isinstance(value, ModuleType)
                    and value.__name__.partition(".")[0] not in _FOREIGN
                ):
                    modules.append(value)
        for module in modules:
            for name in code.co_names:
                if hasattr(module, name):
                    yield f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for number, value in enumerate(function.__defaults__ or ()):
        yield f"default {number}", value


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """The code itself and all that is written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_within(constant)


def _constants(code: CodeType) -> list[str]:
    return [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def text_of(value: Any) -> str:
    """A text that is equal in every process for equal constants; functions speak for themselves."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, tuple | list):
        return "(" + ",".join(text_of(part) for part in value) + ")"
    if isinstance(value, FunctionType | type):
        return value.__qualname__
    if isinstance(value, _PLAIN):
        return repr(value)
    return f"{type(value).__qualname__} {getattr(value, '__name__', '')}"
