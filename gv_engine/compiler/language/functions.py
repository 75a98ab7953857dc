"""Functions: calls, errors, and one compiled version for each form of the arguments."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import PurePath
from types import FunctionType
from typing import Any, NoReturn
from zlib import crc32

import numpy as np

from gv_engine.compiler.language.emitter import ATTRIBUTES, Emitter, Module
from gv_engine.compiler.language.expressions import Nested
from gv_engine.compiler.language.memory import NUMBERS
from gv_engine.compiler.language.source import Source, analyze_code, make_name, read_source
from gv_engine.compiler.language.statements import Statements
from gv_engine.compiler.language.values import (
    Method,
    Scalar,
    forget_bounds,
    form_of,
    is_known,
    leaves,
    rebuild,
)
from gv_engine.compiler.language.variables import CompileAgain, Hints
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.rules.objects import is_engine_module

_MAX_DEPTH = 20
"""Versions of a function that are being compiled at once, as each calls the next one."""


@dataclass(frozen=True)
class Failure:
    """An error that a program can end with: its text, and the line of the rule. In the text, {0}
    stands for the first number that the program has left in the arena."""

    text: str
    file: str
    line: int
    function: str

    def fill_in(self, numbers: Sequence[int]) -> str:
        """Return the text with the numbers that the program has left."""
        return re.sub(r"\{(\d)\}", lambda match: str(numbers[int(match[1])]), self.text)


@dataclass(frozen=True)
class Compiled:
    """One compiled version of a function.

    Attributes:
        name: its LLVM name.
        result: what it returns, with blank LLVM values.
        fails: True if its first result is an error code, 0 for none.
        returns: LLVM types of its results, the error code included.
        is_empty: True if it does nothing when the program runs.
    """

    name: str
    result: Any
    fails: bool
    returns: tuple[str, ...]
    is_empty: bool = False

    @property
    def llvm(self) -> str:
        """LLVM type of the results."""
        if len(self.returns) < 2:
            return self.returns[0] if self.returns else "void"
        return "{" + ", ".join(self.returns) + "}"


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
                return FunctionBody(self, function, hints).compile(arguments, name)
        except CompileAgain:
            return None

    def note_failure(self, failure: Failure) -> int:
        """Return the code of an error, never 0."""
        name = PurePath(failure.file).name  # the code is the same wherever the file is
        code = crc32(f"{failure.text} {name} {failure.line} {failure.function}".encode()) or 1
        while self.failures.setdefault(code, failure) != failure:
            code = code % 0xFFFFFFFF + 1
        return code


class FunctionBody(Statements):
    """One version of a function while it is being compiled."""

    def __init__(self, compiler: Compiler, function: FunctionType | Nested, hints: Hints) -> None:
        """Start to compile. `hints` are from earlier tries."""
        super().__init__(hints)
        self.compiler, self.function = compiler, function
        self.source: Source = (
            function.source if isinstance(function, Nested) else read_source(function)
        )
        self.module = compiler.module
        self.is_checked = (
            compiler.is_checked and getattr(function, "__module__", "") not in compiler.trusted
        )
        self.library, self.names = compiler.library, self.source.names
        module = str(self.names.get("__name__"))
        self.is_own = not self.is_checked or is_engine_module(module)
        self.grown = self.source.grown
        self.emit = Emitter(self.module.guards_loops)
        self.node = self.source.node
        self._failures: list[tuple[str, str]] = []
        self._failing: dict[int, str] = {}

    def compile(self, arguments: Mapping[str, Any], name: str) -> Compiled:
        """Compile the function for arguments; add its text to the module."""
        values = tuple(arguments.values())
        parts = [leaf for value in values for leaf in leaves(value)]
        texts = iter([f"%p{k}" for k in range(len(parts))])
        for variable in sorted(self.source.walrus):
            self._flags[variable] = self.emit.slot("i1")
            self.emit.do(f"store i1 false, ptr {self._flags[variable]}")
        for argument, value in arguments.items():
            self.assign_name(argument, rebuild(value, texts), is_argument=True)
        body: Any = self.source.node.body
        self.run(body if isinstance(body, list) else [ast.copy_location(ast.Return(body), body)])
        if self.emit.is_open() and self.emit.block is not None:
            self._returns.append((self.emit.block, None))
        self._learn_early()
        compiled = self._finish(name)
        kinds = "".join(f", {leaf.llvm} %p{k}" for k, leaf in enumerate(parts))
        head = f'define internal {compiled.llvm} @"{name}"(ptr %arena{kinds}) {ATTRIBUTES}'
        text = self.emit.write()
        self.module.functions.append(f"{head} {{\n{text}\n}}")
        has_effect = compiled.returns or self.emit.has_loops or "store " in text or "call " in text
        return compiled if has_effect else replace(compiled, is_empty=True)

    def _finish(self, name: str) -> Compiled:
        """Write all returns, now that the types of the results are known."""
        if not self._returns:
            result: Any = None
        else:
            result = self._returns[0][1]
            for _, value in self._returns[1:]:
                result = self.join(result, value)
        self._failures += [(block, str(code)) for code, block in self._failing.items()]
        fails = bool(self._failures)
        types = tuple(leaf.llvm for leaf in leaves(result))
        compiled = Compiled(name, result, fails, ("i32",) * fails + types)
        mark = ""
        if self.has_arrays and "ptr" not in types:
            mark = self.emit.get_first("load i64, ptr %arena")
        for block, value in self._returns:
            self.emit.start(block)
            texts = [leaf.text for leaf in leaves(self.fit(value, result))]
            if mark:
                self.emit.do(f"store i64 {mark}, ptr %arena")
            self._return(compiled, ["0"] * fails + texts)
        for block, code in self._failures:
            self.emit.start(block)
            self._return(compiled, [code, *["undef"] * len(types)])
        return compiled

    def _return(self, compiled: Compiled, texts: list[str]) -> None:
        """End the block with a return of the results."""
        if not texts:
            self.emit.end("ret void")
        elif len(texts) == 1:
            self.emit.end(f"ret {compiled.llvm} {texts[0]}")
        else:
            whole = "undef"
            for k, (llvm, text) in enumerate(zip(compiled.returns, texts)):
                whole = self.emit.get(f"insertvalue {compiled.llvm} {whole}, {llvm} {text}, {k}")
            self.emit.end(f"ret {compiled.llvm} {whole}")

    # ---- errors ----------------------------------------------------------------------------------

    def refuse(self, message: str) -> NoReturn:
        line = getattr(self.node, "lineno", self.source.node.lineno)
        name = self.function.__name__
        raise DoesNotCompileError(f"{self.source.file}:{line}: in {name}: {message}")

    def fail_if(self, condition: Scalar | bool, error: str, *numbers: Scalar) -> None:
        if condition is False:
            return
        line = getattr(self.node, "lineno", self.source.node.lineno)
        failure = Failure(error, self.source.file, line, self.function.__name__)
        code = self.compiler.note_failure(failure)
        if numbers and isinstance(condition, Scalar):
            bad, more = self.emit.new_block(), self.emit.new_block()
            self.emit.branch(condition.text, bad, more)
            self.emit.start(bad)
            for k, number in enumerate(numbers):
                place = self.offset("%arena", NUMBERS + 8 * k)
                self.emit.do(f"store i64 {number.text}, ptr {place}")
            self._failures.append((bad, str(code)))
            self.emit.start(more)
            return
        if code not in self._failing:
            self._failing[code] = self.emit.new_block()
        if condition is True:
            self.emit.jump(self._failing[code])
            self.emit.start_dead()
            return
        more = self.emit.new_block()
        self.emit.branch(self.to_number(condition).text, self._failing[code], more)
        self.emit.start(more)

    # ---- calls -----------------------------------------------------------------------------------

    def call_function(self, function: Callable[..., Any], *values: Any, **keywords: Any) -> Any:
        if (emitted := self.library.get(function)) is not None:
            return emitted(self, *values, **keywords)
        result, code = self.call_version(function, *values, **keywords)
        if code is not None:
            self.pass_on(code)
        return result

    def find_version(
        self, function: Callable[..., Any], *values: Any, **keywords: Any
    ) -> tuple[Compiled, dict[str, Any]]:
        """Return the version of a function for these arguments, and the arguments by name."""
        assert isinstance(function, FunctionType)
        if any(each.kind is each.VAR_KEYWORD for each in _signature(function).parameters.values()):
            self.refuse(f"{function.__name__} takes **keywords, which does not compile")
        try:
            bound = _signature(function).bind(*values, **keywords)
        except TypeError as error:
            self.refuse(f"{function.__name__} does not take these arguments: {error}")
        bound.apply_defaults()
        return self._find(function, bound.arguments)

    def _find(
        self, function: FunctionType | Nested, arguments: dict[str, Any]
    ) -> tuple[Compiled, dict[str, Any]]:
        """Return the version of a function for these arguments, and the arguments."""
        arguments = {name: self._close(value) for name, value in arguments.items()}
        compiled = self.compiler.compile(function, arguments)
        if compiled is None:
            self.refuse(f"{function.__name__} calls itself, which does not compile")
        return compiled, arguments

    def call_version(
        self, function: Callable[..., Any], *values: Any, **keywords: Any
    ) -> tuple[Any, str | None]:
        """Call a function; return its result, and its error code as an i32, None if it cannot
        fail."""
        return self._emit_call(*self.find_version(function, *values, **keywords))

    def _emit_call(
        self, compiled: Compiled, arguments: Mapping[str, Any]
    ) -> tuple[Any, str | None]:
        """Call a version of a function; return its result and its error code or None."""
        if compiled.is_empty:
            return compiled.result, None
        parts = [f"{leaf.llvm} {leaf.text}" for each in arguments.values() for leaf in leaves(each)]
        call = f'call {compiled.llvm} @"{compiled.name}"({", ".join(["ptr %arena", *parts])})'
        if not compiled.returns:
            self.emit.do(call)
            return compiled.result, None
        whole = self.emit.get(call)
        texts = [whole]
        if len(compiled.returns) > 1:
            texts = [
                self.emit.get(f"extractvalue {compiled.llvm} {whole}, {k}")
                for k in range(len(compiled.returns))
            ]
        code = texts.pop(0) if compiled.fails else None
        if "ptr" in compiled.returns:
            self.has_arrays = True
        return rebuild(compiled.result, iter(texts)), code

    def pass_on(self, code: str, before: Callable[[], None] = lambda: None) -> None:
        """Return an error code of a call if it is not 0, after the code that `before` emits."""
        bad, more = self.emit.new_block(), self.emit.new_block()
        self.emit.branch(self.emit.get(f"icmp ne i32 {code}, 0"), bad, more)
        self.emit.start(bad)
        before()
        self._failures.append((bad, code))
        self.emit.start(more)

    # ---- functions within functions --------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.decorator_list:
            self.refuse("a function within another one has no decorator in compiled code")
        self.assign_name(node.name, self.visit_Lambda(node))

    def visit_Lambda(self, node: ast.Lambda | ast.FunctionDef) -> Nested:
        """Return a function within this one."""
        source = replace(self.source, **analyze_code(node))
        own = source.assigned.keys()
        free = sorted(source.loads.keys() & self.source.assigned.keys() - own)
        source = replace(source, assigned=source.assigned + Counter(free))
        if getattr(node, "name", "") in free:
            self.refuse("a function within another one does not call itself in compiled code")
        parts = node.args
        parameters: list[tuple[str, Any, ast.expr | None]] = []
        places = [*parts.posonlyargs, *parts.args]
        missing = [None] * (len(places) - len(parts.defaults))
        for each, default in zip(places, [*missing, *parts.defaults]):
            parameters.append((each.arg, inspect.Parameter.POSITIONAL_OR_KEYWORD, default))
        if parts.vararg:
            parameters.append((parts.vararg.arg, inspect.Parameter.VAR_POSITIONAL, None))
        for each, default in zip(parts.kwonlyargs, parts.kw_defaults):
            parameters.append((each.arg, inspect.Parameter.KEYWORD_ONLY, default))
        if parts.kwarg:
            self.refuse("`**keywords` does not compile")
        signature = inspect.Signature(
            [
                inspect.Parameter(name, kind, default=self._evaluate_default(default))
                for name, kind, default in parameters
            ]
        )
        return Nested(self, source, signature, tuple(free))

    def _evaluate_default(self, node: ast.expr | None) -> Any:
        value = inspect.Parameter.empty if node is None else self.evaluate(node)
        if not is_known(value):
            self.refuse("the default of a parameter is known before the program runs")
        return value

    def call_nested(
        self, function: Nested, captured: Any, arguments: list[Any], keywords: dict[str, Any]
    ) -> Any:
        if captured is None:
            if function.free and function.owner is not self:
                self.refuse(f"{function.__name__} reads variables of another function")
            captured = [self.evaluate(make_name(name, self.node)) for name in function.free]
        try:
            bound = function.signature.bind(*arguments, **keywords)
        except TypeError as error:
            self.refuse(f"{function.__name__} does not take these arguments: {error}")
        bound.apply_defaults()
        values = {**dict(zip(function.free, captured)), **bound.arguments}
        result, code = self._emit_call(*self._find(function, values))
        if code is not None:
            self.pass_on(code)
        return result

    def _close(self, value: Any) -> Any:
        """Return a value for another function, with the variables that a function within this one
        reads."""
        if not isinstance(value, Nested) or not value.free or value.owner is not self:
            return value
        captured = (self.evaluate(make_name(name, self.node)) for name in value.free)
        return Method(tuple(captured), value)


_signature = cache(inspect.signature)
