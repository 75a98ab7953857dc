"""Functions of the compiled language, called with numbers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.language.body import ARENA_HEAD, NUMBERS, Compiled
from gv_engine.compiler.language.compiler import Compiler
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.machine import MachineCode
from gv_engine.compiler.language.values import Kind, Record, Scalar, leaves
from gv_engine.compiler.rows import make_row_type
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.world.simulation import NUMPY_ERRORS, Simulation

ARENA = 1 << 16
"""Bytes for the arrays of a function."""
RESULTS = 64
"""Numbers that a result has at most."""
KINDS = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, np.uint64: Kind.UINT}
"""Kinds of numbers by the type of an argument."""


def compile_functions(
    functions: Iterable[tuple[Any, Sequence[type]]],
    is_checked: bool = True,
    refused: list[tuple[Any, str]] | None = None,
) -> dict[Any, Callable[..., Any]]:
    """Return the compiled versions of functions of numbers, given with the types of the arguments,
    by function and types.

    A compiled function returns its result, or the text of the error that it fails with. Functions
    that do not compile are appended to `refused`, with the error, if it is given.
    """
    compiler, text, versions = write_functions(functions, is_checked, refused)
    program = MachineCode(text)
    return {
        (function, kinds): _make_caller(compiler, program, name, version, kinds)
        for (function, kinds), (name, version) in versions.items()
    }


def write_functions(
    functions: Iterable[tuple[Any, Sequence[type]]],
    is_checked: bool = True,
    refused: list[tuple[Any, str]] | None = None,
) -> tuple[Compiler, str, dict[Any, tuple[str, Compiled]]]:
    """Return the compiler of functions, their module as text, and by function and types the name
    of the entry and the version; see `compile_functions`."""
    compiler = Compiler(LIBRARY, is_checked)
    versions, entries = {}, []
    for number, (function, kinds) in enumerate(functions):
        names = function.__code__.co_varnames
        numbers = [Scalar(KINDS[kind], "") for kind in kinds]
        try:
            version = compiler.compile(function, dict(zip(names, numbers)))
        except DoesNotCompileError as error:
            if refused is None:
                raise
            refused.append((function, str(error)))
            continue
        assert version is not None
        versions[function, tuple(kinds)] = f"entry{number}_", version
        entries.append(_write_entry(f"entry{number}_", version, numbers))
    return compiler, "\n".join([compiler.module.to_ir(), *entries]), versions


def _write_entry(name: str, version: Compiled, numbers: Sequence[Any]) -> str:
    """Return a function that reads its arguments from memory, and writes the results there."""
    lines, texts = [], ["ptr %arena"]
    for k, number in enumerate(numbers):
        lines.append(f"%a{k} = getelementptr i8, ptr %input, i64 {8 * k}")
        if isinstance(number, Record):
            lines.append(f"%n{k} = load ptr, ptr %a{k}")
            texts.append(f"ptr %n{k}")
            continue
        stored = "i8" if number.kind is Kind.BOOL else number.kind.llvm
        lines.append(f"%n{k} = load {stored}, ptr %a{k}")
        if number.kind is Kind.BOOL:
            lines.append(f"%t{k} = trunc i8 %n{k} to i1")
        texts.append(f"{number.kind.llvm} %{'t' if number.kind is Kind.BOOL else 'n'}{k}")
    call = f'call {version.llvm} @"{version.name}"({", ".join(texts)})'
    lines.append(f"%r = {call}" if version.returns else call)
    parts = ["%r"]
    if len(version.returns) > 1:
        parts = [f"%r{k}" for k in range(len(version.returns))]
        for k, part in enumerate(parts):
            lines.append(f"{part} = extractvalue {version.llvm} %r, {k}")
    code = parts.pop(0) if version.fails else "0"
    for k, (leaf, part) in enumerate(zip(leaves(version.result), parts)):
        lines.append(f"%o{k} = getelementptr i8, ptr %output, i64 {8 * k}")
        if leaf.llvm == "i1":
            lines.append(f"%z{k} = zext i1 {part} to i64")
        stored = f"i64 %z{k}" if leaf.llvm == "i1" else f"{leaf.llvm} {part}"
        lines.append(f"store {stored}, ptr %o{k}")
    starts = [f"%{each} = inttoptr i64 %{each}_at to ptr" for each in ("arena", "input", "output")]
    body = "\n".join([*starts, *lines, f"%code = zext i32 {code} to i64", "ret i64 %code"])
    head = f"define i64 @{name}(i64 %arena_at, i64 %input_at, i64 %output_at)"
    return f"{head} {{\n{body}\n}}"


def _make_caller(
    compiler: Compiler, program: MachineCode, name: str, version: Compiled, kinds: Sequence[type]
) -> Callable[..., Any]:
    """Return a function that calls the entry `name` of a program."""
    run = program.function(name, ctypes.c_int64, *[ctypes.c_int64] * 3)
    arena = np.zeros(ARENA, np.uint8)

    def call(*values: Any, kept: MachineCode = program) -> Any:
        arena[:16].view(np.int64)[:] = ARENA_HEAD, ARENA
        given, taken = pack(values, kinds), np.zeros(RESULTS, np.int64)
        code = run(arena.ctypes.data, given.ctypes.data, taken.ctypes.data)
        return read_result(compiler, version, code, taken, arena[NUMBERS:ARENA_HEAD])

    return call


def read_result(compiler: Compiler, version: Compiled, code: Any, taken: Any, numbers: Any) -> Any:
    """Return the result of an entry, or the text of its error."""
    if isinstance(code, str):  # what stopped it
        return code
    if code:
        return compiler.failures[code].fill_in(numbers.view(np.int64).tolist())
    return to_python(version.result, iter(taken.view(np.int64)))


def pack(values: Sequence[Any], kinds: Sequence[type]) -> NDArray[np.int64]:
    """Return arguments as they stand in memory."""
    given = np.zeros(max(len(values), 1), np.int64)
    for k, (value, kind) in enumerate(zip(values, kinds, strict=True)):
        number = value.ctypes.data if kind is np.ndarray else value
        given.view(np.float64 if kind is float else np.int64)[k] = number
    return given


def to_python(form: Any, values: Iterator[np.int64]) -> Any:
    """Return a result of numbers, tuples and known values with its numbers filled in."""
    if isinstance(form, Scalar):
        value = next(values)
        if form.kind is Kind.FLOAT:
            return float(value.view(np.float64))
        return bool(value) if form.kind is Kind.BOOL else int(value)
    if isinstance(form, tuple | list):
        return type(form)(to_python(part, values) for part in form)
    return form


def run_python(function: Any, *values: Any) -> Any:
    """Return the result of a function, or the class and text of the exception that it raises."""
    try:
        with np.errstate(**NUMPY_ERRORS):
            return function(*values)
    except Exception as error:  # any exception of the tested function
        return f"{type(error).__name__}: {error}"


def run_rule(scenario: Any, function: Any) -> tuple[Any, Any, list[str]]:
    """Return what a function of a world returns for the start of a scenario, in the object world
    and compiled, or the error that it fails with, and the fields in which both worlds then
    differ."""
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    world, layout = simulation.world, scenario.layout
    row = np.zeros(1, layout.batch_dtype)
    for name in layout.dtype.names:
        row[name] = world.snapshot()[name]
    compiler = Compiler(LIBRARY)
    record = Record("", make_row_type(layout))

    def run(w: Any) -> Any:
        w.update_looks()  # the row has no appearances yet
        return function(w)

    root: Any = run
    version = compiler.compile(root, {"w": record})
    assert version is not None
    call = _write_entry("entry", version, [record])
    program = MachineCode("\n".join([compiler.module.to_ir(), call]))
    compiled = _make_caller(compiler, program, "entry", version, [np.ndarray])(row)
    wanted = run_python(function, world)
    names = [name for name in layout.dtype.names if not name.startswith("layout_")]
    after = None if isinstance(wanted, str) else world.snapshot()
    return (
        wanted,
        compiled,
        [name for name in names if after is not None and np.any(row[name][0] != after[name])],
    )
