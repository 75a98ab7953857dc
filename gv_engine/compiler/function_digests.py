"""Functions that compiled programs are made of, and digests of their code."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    pass


_FOREIGN_PACKAGES = {"numpy", "numba", "llvmlite", "esper"} | set(sys.stdlib_module_names)
_CONSTANT_TYPES = (int, float, str, bool, bytes, type(None), np.generic)


def find_functions(roots: Iterable[Any]) -> dict[FunctionType, list[tuple[str, Any]]]:
    """Return all functions of the engine or of authors that the roots reach, with the (name, value)
    pairs they use."""
    uses: dict[FunctionType, list[tuple[str, Any]]] = {}
    waiting = [root for root in roots if isinstance(root, FunctionType)]
    while waiting:
        function = waiting.pop()
        if function in uses or function.__module__.partition(".")[0] in _FOREIGN_PACKAGES:
            continue
        uses[function] = list(_iter_used_names(function))
        for _, value in uses[function]:
            waiting += [part for part in _iter_flat(value) if isinstance(part, FunctionType)]
    return uses


def find_strings(functions: Iterable[FunctionType]) -> set[str]:
    """Return all string constants in the functions."""
    return {
        constant
        for function in functions
        for code in iter_code(function.__code__)
        for constant in code.co_consts
        if isinstance(constant, str)
    }


def uses_name(function: Any, name: str) -> bool:
    """Return True if a function, or a function that it reaches, uses this name or string."""
    functions = find_functions([function])
    names_by_code = (function.__code__.co_names for function in functions)
    return any(name in names for names in names_by_code) or name in find_strings(functions)


def program_digest(roots: Iterable[Any], *more: str) -> str:
    """Return 24 hexadecimal digits: a digest of the code and constants of all reached functions and
    of `more`."""
    return hash_functions(find_functions(roots), *more)


def hash_functions(functions: Mapping[FunctionType, list[tuple[str, Any]]], *more: str) -> str:
    """Return the digest of functions, as `find_functions` returns them, and of texts."""
    lines = sorted(_describe_function(function, uses) for function, uses in functions.items())
    return hashlib.sha256("\n".join([*lines, *more]).encode()).hexdigest()[:24]


def describe_location(function: FunctionType) -> str:
    """Return the beginning of a message about a function: file and line."""
    code = function.__code__
    return f"a rule cannot be compiled ({code.co_filename}, line {code.co_firstlineno})"


def _describe_function(function: FunctionType, uses: list[tuple[str, Any]]) -> str:
    """Return a text of a function's code and of the values it uses, for the digest."""
    codes = [
        (c.co_name, c.co_code.hex(), c.co_names, c.co_varnames, _list_constants(c))
        for c in iter_code(function.__code__)
    ]
    values = sorted((name, constant_text(value)) for name, value in uses)
    return repr((function.__qualname__, codes, values))


def _iter_used_names(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) of a function's globals, module attributes, closure cells and
    defaults."""
    for code in iter_code(function.__code__):
        modules = []
        for name in code.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                yield name, value
                if (
                    isinstance(value, ModuleType)
                    and value.__name__.partition(".")[0] not in _FOREIGN_PACKAGES
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


def iter_code(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from iter_code(constant)


def _list_constants(code: CodeType) -> list[str]:
    """Return the constants of a code object as texts, without nested code."""
    return [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]


def _iter_flat(value: Any) -> Iterator[Any]:
    """Yield the elements of nested tuples and lists; any other value itself."""
    if isinstance(value, tuple | list):
        for part in value:
            yield from _iter_flat(part)
    else:
        yield value


def constant_text(value: Any) -> str:
    """Return a text that is equal in every process for equal constants; the name for a function or
    class."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, tuple | list):
        return "(" + ",".join(constant_text(part) for part in value) + ")"
    if isinstance(value, FunctionType | type):
        return value.__qualname__
    if isinstance(value, _CONSTANT_TYPES):
        return repr(value)
    return f"{type(value).__qualname__} {getattr(value, '__name__', '')}"
