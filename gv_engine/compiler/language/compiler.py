"""Compiler of Python functions into one LLVM module, with one version of each function for each
combination of argument types."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from pathlib import PurePath
from types import FunctionType
from typing import Any
from zlib import crc32

import numpy as np

from gv_engine.compiler.language import flow, statements, variables
from gv_engine.compiler.language.body import (
    Body,
    CompileAgain,
    Compiled,
    Failure,
    Hints,
    Nested,
)
from gv_engine.compiler.language.emitter import ATTRIBUTES, Module
from gv_engine.compiler.language.values import forget_bounds, leaves, rebuild, version_key

_MAX_DEPTH = 20
"""Versions of a function that are being compiled at once, as each calls the next one."""


class Compiler:
    """Compiles rule functions and all functions that they call into one LLVM module.

    Attributes:
        module: text of the module.
        failures: errors that the program can end with, by code.
        is_checked: True to test integers for overflow, indices for bounds, and variables for being
            set.
        trusted: names of modules whose functions are not tested in this way.
        library: functions that emit the code for a call, by the callable that rules call:
            (body, arguments…) → value.
    """

    def __init__(
        self,
        library: Mapping[Any, Callable[..., Any]],
        is_checked: bool = True,
        trusted: Collection[str] = (),
    ) -> None:
        """Make a compiler. `library` maps Python functions to functions that emit their code. If
        `is_checked`, the code tests indices and overflow, except in the modules named in
        `trusted`."""
        self.module, self.library, self.is_checked = Module(), library, is_checked
        self.trusted = trusted
        self.failures: dict[int, Failure] = {}
        self._versions: dict[Any, Compiled | None] = {}  # None while it is being compiled
        self._kept_alive: list[Any] = []
        self._num_versions = 0
        self._depths: Counter[Any] = Counter()

    def compile(self, function: Any, arguments: Mapping[str, Any]) -> Compiled | None:
        """Return the version of a function for arguments of these types, given by parameter name.
        Return None if the function calls itself, directly or in a long chain of versions; this is
        not supported."""
        arguments = {name: forget_bounds(value) for name, value in arguments.items()}
        key = function, tuple(map(version_key, arguments.values()))
        if self._depths[function] > _MAX_DEPTH:
            return None
        if key not in self._versions:
            self._depths[function] += 1
            self._kept_alive.append(arguments)  # keys hold the `id` of some of them
            self._versions[key] = None
            self._num_versions += 1
            name = f"{function.__name__}.{self._num_versions}"
            try:
                self._versions[key] = self._compile_version(function, arguments, name)
            except BaseException:
                del self._versions[key]
                raise
            finally:
                self._depths[function] -= 1
        return self._versions[key]

    def _compile_version(
        self, function: FunctionType | Nested, arguments: Mapping[str, Any], name: str
    ) -> Compiled:
        """Compile a function for arguments of these types. Start again with wider types where a
        variable needs them. Return the compiled version, called `name` in LLVM."""
        hints = Hints()
        while True:  # each try may find hints for the next one
            with (
                suppress(CompileAgain),
                np.errstate(divide="raise", over="raise", invalid="raise"),
            ):
                return compile_body(Body(self, function, hints), arguments, name)

    def register_failure(self, failure: Failure) -> int:
        """Return the error code, greater than 0, that a compiled program returns if it ends with
        this error."""
        name = PurePath(failure.file).name  # the code is the same wherever the file is
        code = crc32(f"{failure.text} {name} {failure.line} {failure.function}".encode()) or 1
        while self.failures.setdefault(code, failure) != failure:
            code = code % 0xFFFFFFFF + 1  # the next one, from the largest uint32 on to 1
        return code


def compile_body(body: Body, arguments: Mapping[str, Any], name: str) -> Compiled:
    """Compile a function in one attempt, for arguments of these types, and add its LLVM IR to the
    module under `name`."""
    parameter_types = [leaf.llvm for value in arguments.values() for leaf in leaves(value)]
    operands = iter([f"%p{k}" for k in range(len(parameter_types))])
    for variable in sorted(body.source.walrus_targets):
        variables.emit_unset_flag(body, variable)
    for argument, value in arguments.items():
        variables.assign_name(body, argument, rebuild(value, operands), is_argument=True)
    code: Any = body.source.node.body
    if not isinstance(code, list):  # the expression of a lambda
        code = [ast.copy_location(ast.Return(code), code)]
    statements.compile_statements(body, code)
    if body.emit.is_reachable() and body.emit.block is not None:
        body.returns.append((body.emit.block, None))
    variables.resolve_early_reads(body)
    compiled = _emit_returns(body, name)
    parameters = "".join(f", {llvm} %p{k}" for k, llvm in enumerate(parameter_types))
    head = f'define internal {compiled.llvm} @"{name}"(ptr %arena{parameters}) {ATTRIBUTES}'
    text = body.emit.to_ir()
    body.module.functions.append(f"{head} {{\n{text}\n}}")
    has_effect = compiled.returns or body.emit.has_loops or "store " in text or "call " in text
    return compiled if has_effect else replace(compiled, is_empty=True)


def _emit_returns(body: Body, name: str) -> Compiled:
    """Emit all `return` statements of a function at the end of its compilation, when the type of
    the result is known. Return the compiled function."""
    values = [value for _, value in body.returns] or [None]
    result = reduce(partial(flow.join_values, body), values)
    body.failures += [(label, str(code)) for code, label in body.failure_blocks.items()]
    result_types = tuple(leaf.llvm for leaf in leaves(result))
    error_type = ("i32",) if body.failures else ()
    compiled = Compiled(name, result, bool(body.failures), error_type + result_types)
    # a function that returns no array frees those that it has made
    frees_arrays = body.uses_arena and "ptr" not in result_types
    used = body.emit.value_at_entry("load i64, ptr %arena") if frees_arrays else ""
    no_error = ["0"] if body.failures else []
    for label, value in body.returns:
        body.emit.start_block(label)
        converted = flow.convert_to_template(body, value, result)
        operands = [leaf.operand for leaf in leaves(converted)]
        if frees_arrays:
            body.emit.do(f"store i64 {used}, ptr %arena")
        _emit_return(body, compiled, no_error + operands)
    for label, code in body.failures:
        body.emit.start_block(label)
        _emit_return(body, compiled, [code, *["undef"] * len(result_types)])
    return compiled


def _emit_return(body: Body, compiled: Compiled, operands: list[str]) -> None:
    """Emit one `return`. `operands` are the LLVM names of the parts of the result."""
    if not operands:
        body.emit.terminate("ret void")
    elif len(operands) == 1:
        body.emit.terminate(f"ret {compiled.llvm} {operands[0]}")
    else:
        results = "undef"
        for k, (llvm, operand) in enumerate(zip(compiled.returns, operands)):
            pair = f"{compiled.llvm} {results}, {llvm} {operand}"
            results = body.emit.value(f"insertvalue {pair}, {k}")
        body.emit.terminate(f"ret {compiled.llvm} {results}")
