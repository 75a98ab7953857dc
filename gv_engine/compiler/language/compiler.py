"""The compiler: one compiled version of a function for each form of its arguments."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
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
from gv_engine.compiler.language.values import forget_bounds, form_of, leaves, rebuild

_MAX_DEPTH = 20
"""Versions of a function that are being compiled at once, as each calls the next one."""


class Compiler:
    """Compiles functions into one LLVM module.

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
        self.module, self.library, self.is_checked = Module(), library, is_checked
        self.trusted = trusted
        self.failures: dict[int, Failure] = {}
        self._compiled: dict[Any, Compiled | None] = {}
        self._kept: list[Any] = []
        self._count = 0
        self._depths: Counter[Any] = Counter()

    def compile(self, function: Any, arguments: Mapping[str, Any]) -> Compiled | None:
        """Return the version of a function for arguments of these forms; None while it is being
        compiled, or many of its versions that call each other."""
        arguments = {name: forget_bounds(value) for name, value in arguments.items()}
        key = function, tuple(map(form_of, arguments.values()))
        if self._depths[function] > _MAX_DEPTH:
            return None
        if key not in self._compiled:
            self._depths[function] += 1
            self._kept.append(arguments)  # keys hold the `id` of some of them
            self._compiled[key] = None
            self._count += 1
            name = f"{function.__name__}.{self._count}"
            hints = Hints()
            try:
                while (compiled := self._try(function, arguments, name, hints)) is None:
                    pass
            except BaseException:
                del self._compiled[key]
                raise
            finally:
                self._depths[function] -= 1
            self._compiled[key] = compiled
        return self._compiled[key]

    def _try(
        self, function: FunctionType | Nested, arguments: Mapping[str, Any], name: str, hints: Hints
    ) -> Compiled | None:
        try:
            with np.errstate(divide="raise", over="raise", invalid="raise"):
                return compile_body(Body(self, function, hints), arguments, name)
        except CompileAgain:
            return None

    def note_failure(self, failure: Failure) -> int:
        """Return the code of an error, never 0."""
        name = PurePath(failure.file).name  # the code is the same wherever the file is
        code = crc32(f"{failure.text} {name} {failure.line} {failure.function}".encode()) or 1
        while self.failures.setdefault(code, failure) != failure:
            code = code % 0xFFFFFFFF + 1
        return code


def compile_body(body: Body, arguments: Mapping[str, Any], name: str) -> Compiled:
    """Compile the function for arguments; add its text to the module."""
    values = tuple(arguments.values())
    parts = [leaf for value in values for leaf in leaves(value)]
    texts = iter([f"%p{k}" for k in range(len(parts))])
    for variable in sorted(body.source.walrus):
        body.flags[variable] = body.emit.slot("i1")
        body.emit.do(f"store i1 false, ptr {body.flags[variable]}")
    for argument, value in arguments.items():
        variables.assign_name(body, argument, rebuild(value, texts), is_argument=True)
    code: Any = body.source.node.body
    statements.run(
        body, code if isinstance(code, list) else [ast.copy_location(ast.Return(code), code)]
    )
    if body.emit.is_open() and body.emit.block is not None:
        body.returns.append((body.emit.block, None))
    variables.learn_early(body)
    compiled = _finish(body, name)
    kinds = "".join(f", {leaf.llvm} %p{k}" for k, leaf in enumerate(parts))
    head = f'define internal {compiled.llvm} @"{name}"(ptr %arena{kinds}) {ATTRIBUTES}'
    text = body.emit.write()
    body.module.functions.append(f"{head} {{\n{text}\n}}")
    has_effect = compiled.returns or body.emit.has_loops or "store " in text or "call " in text
    return compiled if has_effect else replace(compiled, is_empty=True)


def _finish(body: Body, name: str) -> Compiled:
    """Write all returns, now that the types of the results are known."""
    if not body.returns:
        result: Any = None
    else:
        result = body.returns[0][1]
        for _, value in body.returns[1:]:
            result = flow.join(body, result, value)
    body.failures += [(block, str(code)) for code, block in body.failing.items()]
    fails = bool(body.failures)
    types = tuple(leaf.llvm for leaf in leaves(result))
    compiled = Compiled(name, result, fails, ("i32",) * fails + types)
    mark = ""
    if body.has_arrays and "ptr" not in types:
        mark = body.emit.get_first("load i64, ptr %arena")
    for block, value in body.returns:
        body.emit.start(block)
        texts = [leaf.text for leaf in leaves(flow.fit(body, value, result))]
        if mark:
            body.emit.do(f"store i64 {mark}, ptr %arena")
        _return(body, compiled, ["0"] * fails + texts)
    for block, code in body.failures:
        body.emit.start(block)
        _return(body, compiled, [code, *["undef"] * len(types)])
    return compiled


def _return(body: Body, compiled: Compiled, texts: list[str]) -> None:
    """End the block with a return of the results."""
    if not texts:
        body.emit.end("ret void")
    elif len(texts) == 1:
        body.emit.end(f"ret {compiled.llvm} {texts[0]}")
    else:
        whole = "undef"
        for k, (llvm, text) in enumerate(zip(compiled.returns, texts)):
            whole = body.emit.get(f"insertvalue {compiled.llvm} {whole}, {llvm} {text}, {k}")
        body.emit.end(f"ret {compiled.llvm} {whole}")
