"""State of a function while it is being compiled: its variables, errors and calls.

`evaluate` and the modules that import this one call each other by two tables: `VISITORS` has the
code of each class of `ast`, `LIBRARY` that of functions which rules call.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import PurePath
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from gv_engine.compiler.language.emitter import Emitter, join_types
from gv_engine.compiler.language.source import Source, make_name, read_source
from gv_engine.compiler.language.values import (
    AnyValue,
    Method,
    Scalar,
    describe,
    leaves,
    rebuild,
    to_known,
    version_key,
)
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.rules.objects import is_engine_module

if TYPE_CHECKING:
    from gv_engine.compiler.language.compiler import Compiler

BLAME = 16
"""Offset in an arena, behind its two sizes, of the number that `intrinsics.call_marked` stores."""
NUMBERS = 24
"""Offset in an arena of the numbers of an error."""
ERROR_NUMBERS = 5
"""Numbers of an error that an arena has room for."""
ARENA_HEAD = NUMBERS + 8 * ERROR_NUMBERS
"""Bytes of an arena before its data."""

VISITORS: dict[type[ast.AST], Callable[..., Any]] = {}
"""Functions that emit the code of a statement or an expression, by its class."""
LIBRARY: dict[Any, Callable[..., Any]] = {}
"""Functions that emit the code of a call, by the function that rules call."""

_ENGINE_FOLDER = str(PurePath(__file__).parents[2])
_F = TypeVar("_F", bound=Callable[..., Any])


def visits(*node_types: type[ast.AST]) -> Callable[[_F], _F]:
    """Return a decorator for a function that emits the code of nodes of the AST."""
    return _adds_to(VISITORS, *node_types)


def emits(*functions: Any) -> Callable[[_F], _F]:
    """Return a decorator for a function that emits the code of calls of `functions`."""
    return _adds_to(LIBRARY, *functions)


def _adds_to(table: dict[Any, Callable[..., Any]], *keys: Any) -> Callable[[_F], _F]:
    """Return a decorator that enters a function into `table`, a dictionary, under each of
    `keys`."""

    def add(emit: _F) -> _F:
        table.update(dict.fromkeys(keys, emit))
        return emit

    return add


@dataclass(frozen=True)
class Failure:
    """Error with which a compiled program can end: its message and the line of the rule. {0} in the
    message stands for the first number that the program stored with the error."""

    text: str
    file: str
    line: int
    function: str

    def fill_in(self, numbers: Sequence[int]) -> str:
        """Return the text with the numbers that the program has left."""
        return re.sub(r"\{(\d)\}", lambda match: str(numbers[int(match[1])]), self.text)


@dataclass(frozen=True)
class Compiled:
    """Compiled version of a function for one combination of argument types.

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
        return join_types(self.returns)


@dataclass(frozen=True, eq=False)
class Nested:
    """Function or lambda defined inside another function.

    Attributes:
        owner: body of the other one.
        source: its code.
        signature: its parameters, whose defaults are known.
        free: variables of the owner that it reads.
    """

    owner: Body
    source: Source
    signature: inspect.Signature
    free: tuple[str, ...]

    @property
    def __name__(self) -> str:
        return getattr(self.source.node, "name", "<lambda>")


class Unknown(Exception):
    """Raised at the read of a variable that only later code of a loop assigns. The function is then
    compiled again, with the variable's type."""


class CompileAgain(Exception):
    """Raised to compile the function from its beginning, because a variable needs a wider type,
    such as float instead of int."""


@dataclass
class Hints:
    """Types of variables that earlier attempts to compile a function have found.

    Attributes:
        templates: templates of the values of variables that are assigned in several places.
        shared: further variables that need memory for all their values.
        stored: variables that are read where not every path assigns them, so that their value stays
            in memory.
        item_templates: templates of the items of lists that grow, by variable.
    """

    templates: dict[str, Any] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    stored: set[str] = field(default_factory=set)
    item_templates: dict[str, Any] = field(default_factory=dict)


@dataclass
class LocalVariable:
    """Local variable of a function: its value with blank LLVM names (template), and stack memory
    for each of its LLVM values.

    Without memory, the template is the value itself.
    """

    template: Any
    slots: list[str]

    @property
    def is_known(self) -> bool:
        """True if nothing of the value depends on the running program."""
        return not leaves(self.template)


VariableState = tuple[set[str], dict[str, LocalVariable]]
"""Names of the variables that are set, and all variables."""


@dataclass(frozen=True)
class Mixed:
    """Value of a variable that is one of two different constants, depending on the branch."""

    first: Any
    second: Any

    def __str__(self) -> str:
        return f"{describe(self.first)} or {describe(self.second)}"


@dataclass
class Loop:
    """A loop.

    Attributes:
        continue_label, break_label: blocks that `continue` and `break` jump to.
        continue_states, break_states: the variables at each jump to these blocks.
    """

    continue_label: str
    break_label: str
    continue_states: list[VariableState] = field(default_factory=list)
    break_states: list[VariableState] = field(default_factory=list)


class Body:
    """One function during its compilation for certain argument types: what has been emitted, and
    what is known about its variables.

    Attributes:
        emit: emitter of the instructions.
        module: module that the function becomes part of.
        node: node of the AST that is being compiled.
        source, names: code of the function, its globals and captured variables.
        changed_lists: variables whose lists are changed.
        library: functions that emit the code for a call.
        is_checked: True to emit tests for overflow and bounds.
        is_engine_code: True for code of the engine, where uint64 wraps around.
        is_elementwise: True while an operator takes the elements of arrays, where uint64 wraps
            around, too.
        uses_arena: True after memory of the arena was allocated.
        hints: findings of earlier tries.
        variables: local variables that have a value here.
        set_names: names of the variables that are set on every path to here.
        shared: variables that have memory for all their values.
        is_set_flags: addresses of flags that tell if a variable is set, by its name.
        last_values: last value of each variable.
        early_reads: variables that are read before this try knows them, with the node that reads
            them.
        carried: variables that are read where not every path sets them.
        loops: the loops around the node.
        returns: (label, value) of blocks that end with a return.
        failures: (label, error code) of blocks that end with an error.
        failure_blocks: labels of blocks that only end with an error, by its code.
    """

    def __init__(self, compiler: Compiler, function: FunctionType | Nested, hints: Hints) -> None:
        """Begin to compile a function. `hints` has the types of variables that earlier attempts
        have found."""
        self.compiler, self.function, self.hints = compiler, function, hints
        self.source: Source = (
            function.source if isinstance(function, Nested) else read_source(function)
        )
        self.module, self.library = compiler.module, compiler.library
        self.names = self.source.names
        is_trusted = getattr(function, "__module__", "") in compiler.trusted
        self.is_checked = compiler.is_checked and not is_trusted
        self.is_engine_code = not self.is_checked or is_engine_module(
            str(self.names.get("__name__"))
        )
        self.is_elementwise = self.uses_arena = False
        self.changed_lists = self.source.changed_lists
        self.emit = Emitter(self.module.guards_loops)
        self.node: ast.AST = self.source.node
        self.variables: dict[str, LocalVariable] = {}
        self.shared: dict[str, LocalVariable] = {}
        self.is_set_flags: dict[str, str] = {}
        self.set_names: set[str] = set()
        self.last_values: dict[str, Any] = {}
        self.early_reads: dict[str, ast.AST] = {}
        self.carried: set[str] = set()
        self.loops: list[Loop] = []
        self.returns: list[tuple[str, Any]] = []
        self.failures: list[tuple[str, str]] = []
        self.failure_blocks: dict[int, str] = {}

    def evaluate(self, node: ast.expr) -> AnyValue:
        """Emit code for an expression; return its value."""
        outer, self.node = self.node, node
        value = self.visit(node)
        self.node = outer
        return to_known(value) if isinstance(value, np.generic) else value

    def visit(self, node: ast.AST) -> AnyValue:
        """Emit code for a statement or an expression. Return the value of an expression, None for a
        statement. Raise an error for syntax that compiled rules cannot use."""
        visitor = VISITORS.get(type(node))
        if visitor is None:
            name = type(node).__name__
            self.refuse(REFUSED.get(name, f"{name} does not compile"))
        return visitor(self, node)

    # ---- errors ----------------------------------------------------------------------------------

    def refuse(self, message: str) -> NoReturn:
        """Raise an error for the expression that is being compiled."""
        line = getattr(self.node, "lineno", self.source.node.lineno)
        name = self.function.__name__
        raise DoesNotCompileError(f"{self.source.file}:{line}: in {name}: {message}")

    def fail_if(self, condition: Scalar | bool, error: str, *numbers: Scalar) -> None:
        """Emit code that ends the program with the message `error` if `condition` holds. `numbers`
        replace {0}, {1} … in the message."""
        if condition is False:
            return
        line = getattr(self.node, "lineno", self.source.node.lineno)
        failure = Failure(error, self.source.file, line, self.function.__name__)
        code = self.compiler.register_failure(failure)
        if numbers and isinstance(condition, Scalar):
            self._fail_with_numbers(condition, code, numbers)
            return
        if code not in self.failure_blocks:
            self.failure_blocks[code] = self.emit.new_block()
        if condition is True:
            self.emit.jump(self.failure_blocks[code])
            self.emit.start_unreachable()
            return
        next_block = self.emit.new_block()
        self.emit.branch(condition.operand, self.failure_blocks[code], next_block)
        self.emit.start_block(next_block)

    def _fail_with_numbers(self, condition: Scalar, code: int, numbers: Sequence[Scalar]) -> None:
        """Emit code that, if `condition` holds, stores `numbers` for the error message and returns
        the error `code`."""
        failure_block, next_block = self.emit.new_block(), self.emit.new_block()
        self.emit.branch(condition.operand, failure_block, next_block)
        self.emit.start_block(failure_block)
        for k, number in enumerate(numbers):
            self.store_error_number(k, number)
        self.failures.append((failure_block, str(code)))
        self.emit.start_block(next_block)

    def store_error_number(self, k: int, number: Scalar) -> None:
        """Emit a store of the number that stands in the text of an error as {k}."""
        pointer = self.emit.offset("%arena", NUMBERS + 8 * k)
        self.emit.do(f"store i64 {number.operand}, ptr {pointer}")

    # ---- calls -----------------------------------------------------------------------------------

    def call_function(
        self, function: Callable[..., Any], *values: AnyValue, **keywords: Any
    ) -> AnyValue:
        """Emit a call of a Python function, which is compiled; return its result."""
        if (emit_call := self.library.get(function)) is not None:
            return emit_call(self, *values, **keywords)
        return self.emit_call(*self.find_version(function, *values, **keywords))

    def find_version(
        self, function: Callable[..., Any], *values: AnyValue, **keywords: Any
    ) -> tuple[Compiled, dict[str, Any]]:
        """Return the compiled version of a function for these argument types, and its arguments by
        parameter name. It is compiled if there is none yet."""
        assert isinstance(function, FunctionType)
        signature = _read_signature(function)
        if any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values()):
            self.refuse(f"{function.__name__} takes **keywords, which does not compile")
        return self.compile_version(
            function, self.bind_arguments(function, signature, values, keywords)
        )

    def bind_arguments(
        self,
        function: Any,
        signature: inspect.Signature,
        values: AnyValue,
        keywords: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Return the arguments of a call by parameter name, defaults included, as Python binds
        `values` and `keywords`."""
        try:
            bound = signature.bind(*values, **keywords)
        except TypeError as error:
            self.refuse(f"{function.__name__} does not take these arguments: {error}")
        bound.apply_defaults()
        return bound.arguments

    def compile_version(
        self, function: FunctionType | Nested, arguments: dict[str, Any]
    ) -> tuple[Compiled, dict[str, Any]]:
        """Return the compiled version of a function for the types of these arguments, and the
        arguments to be passed to it, by parameter name."""
        arguments = {name: self._bind_captured(value) for name, value in arguments.items()}
        try:
            compiled = self.compiler.compile(function, arguments)
        except DoesNotCompileError as error:
            location, _, reason = str(error).partition(": in ")
            if self.is_engine_code or not location.startswith(_ENGINE_FOLDER):
                raise
            # authors cannot mend the engine: name the line of theirs that calls it
            self.refuse(reason.partition(": ")[2])
        if compiled is None:
            self.refuse(f"{function.__name__} calls itself, which does not compile")
        return compiled, arguments

    def _bind_captured(self, value: AnyValue) -> AnyValue:
        """Return a function within this one with the variables that it reads; other values as they
        are."""
        if not isinstance(value, Nested) or not value.free or value.owner is not self:
            return value
        return Method(self.read_captured(value), value)

    def read_captured(self, function: Nested) -> tuple[Any, ...]:
        """Return the variables of this function that a function within it reads."""
        return tuple(self.evaluate(make_name(name, self.node)) for name in function.free)

    def call_with_code(
        self, function: Callable[..., Any], *values: AnyValue
    ) -> tuple[Any, str | None]:
        """Emit a call; return the result, and the operand of the error code (i32; 0 for none): None
        if the function cannot fail."""
        return self._emit_call(*self.find_version(function, *values))

    def emit_call(self, compiled: Compiled, arguments: Mapping[str, Any]) -> AnyValue:
        """Emit a call of a compiled function and return its result. If it fails, the calling
        function returns the same error."""
        result, code = self._emit_call(compiled, arguments)
        if code is not None:
            self.propagate_failure(code)
        return result

    def _emit_call(
        self, compiled: Compiled, arguments: Mapping[str, Any]
    ) -> tuple[Any, str | None]:
        """Emit a call of a compiled function. Return its result, and the LLVM name of its error
        code (None if it cannot fail)."""
        if compiled.is_empty:
            return compiled.result, None
        passed: list[str] = []
        for value in arguments.values():
            passed += [f"{leaf.llvm} {leaf.operand}" for leaf in leaves(value)]
        operands = self.emit.call(compiled.name, compiled.returns, ["ptr %arena", *passed])
        code = operands.pop(0) if compiled.fails else None
        if "ptr" in compiled.returns:
            self.uses_arena = True
        result = rebuild(compiled.result, iter(operands)) if operands else compiled.result
        return result, code

    def call_external(self, name: str, result: str, *arguments: str, attributes: str = "") -> str:
        """Emit a call of a function of LLVM or of the C library. Types and arguments are LLVM text,
        such as "double" and "i64 %v1". Return the LLVM name of the result, "" if there is none."""
        types = ", ".join(each.rpartition(" ")[0] for each in arguments)
        function = self.module.declare(name, result, types, attributes)
        call = f"call {result} {function}({', '.join(arguments)}) {attributes}".rstrip()
        if result != "void":
            return self.emit.value(call)
        self.emit.do(call)
        return ""

    def propagate_failure(self, code: str, before: Callable[[], None] = lambda: None) -> None:
        """Emit code that returns `code`, the error code of a call, if it is not 0. `before` emits
        what happens before the return."""
        failure_block, next_block = self.emit.new_block(), self.emit.new_block()
        self.emit.branch(self.emit.value(f"icmp ne i32 {code}, 0"), failure_block, next_block)
        self.emit.start_block(failure_block)
        before()
        self.failures.append((failure_block, code))
        self.emit.start_block(next_block)

    # ---- branches --------------------------------------------------------------------------------

    def save_variables(self) -> VariableState:
        """Return a copy of the names of the variables that are set here, and of all variables."""
        return set(self.set_names), dict(self.variables)

    def merge_variables(self, states: Sequence[VariableState]) -> None:
        """Continue with the variables of branches that meet here; with the present ones if there
        are none."""
        if states:
            self.set_names = set.intersection(*(names for names, _ in states))
            self.variables = _merge_variables([each for _, each in states])

    @contextmanager
    def branching(self) -> Iterator[Fork]:
        """Yield a `Fork` for branches that all begin here; continue behind them."""
        fork = Fork(self, self.save_variables())
        yield fork
        self.merge_variables(fork.after)


@dataclass
class Fork:
    """Local variables before an `if`, and at the end of each branch that does not leave by `return`
    or `break`."""

    body: Body
    before: VariableState
    after: list[VariableState] = field(default_factory=list)

    def begin_branch(self) -> None:
        """Continue with the variables from before the branches."""
        self.body.merge_variables([self.before])

    def end_branch(self) -> None:
        """Store the variables at the end of a branch that goes on."""
        self.after.append(self.body.save_variables())


def _merge_variables(branches: Sequence[dict[str, LocalVariable]]) -> dict[str, LocalVariable]:
    """Return the local variables after an `if`, given those at the end of each branch. A variable
    whose values differ becomes `Mixed`."""
    merged = dict(branches[0])
    for branch in branches[1:]:
        for name, variable in branch.items():
            other = merged.setdefault(name, variable)
            if other is not variable and not _are_equal_constants(other, variable):
                merged[name] = LocalVariable(Mixed(other.template, variable.template), [])
    return merged


def _are_equal_constants(a: LocalVariable, b: LocalVariable) -> bool:
    return a.is_known and b.is_known and version_key(a.template) == version_key(b.template)


_read_signature = cache(inspect.signature)

REFUSED = {
    "Try": "`try` does not compile: ask before, as in `if n != 0`",
    "With": "`with` does not compile",
    "Match": "`match` does not compile: use `if` and `elif`",
    "Delete": "`del` does not compile",
    "Global": "`global` does not compile: keep what changes in a column",
    "Nonlocal": "`nonlocal` does not compile: return the value",
    "ClassDef": "a class within a function does not compile: define it above",
    "Import": "an import within a function does not compile: import above",
    "ImportFrom": "an import within a function does not compile: import above",
    "Yield": "`yield` does not compile: return a list",
    "DictComp": "a dict with unknown keys does not compile: use an array",
    "SetComp": "a set with unknown items does not compile: use an array",
}
"""Reasons why statements and expressions do not compile, by the names of their classes in `ast`."""
