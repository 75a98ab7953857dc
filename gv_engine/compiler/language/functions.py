"""Functions: statements, variables, and one compiled version for each form of the arguments."""

from __future__ import annotations

import ast
import inspect
import linecache
import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePath
from types import FunctionType
from typing import Any, NoReturn
from zlib import crc32

from gv_engine.compiler.language.emitter import ATTRIBUTES, Emitter, Module
from gv_engine.compiler.language.expressions import Iterated, Nested, Unknown
from gv_engine.compiler.language.lists import Lists, list_grown
from gv_engine.compiler.language.memory import ERROR_NUMBERS, NUMBERS
from gv_engine.compiler.language.values import (
    ArrayValue,
    GrowingList,
    Kind,
    Method,
    Record,
    Scalar,
    TupleList,
    describe,
    forget_bounds,
    form_of,
    is_known,
    is_list,
    is_number,
    kind_of,
    leaves,
    narrow_of,
    rebuild,
    same_sequence,
    to_known,
)
from gv_engine.rules.errors import DoesNotCompileError


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
    """

    name: str
    result: Any
    fails: bool
    returns: tuple[str, ...]

    @property
    def llvm(self) -> str:
        """LLVM type of the results."""
        if len(self.returns) < 2:
            return self.returns[0] if self.returns else "void"
        return "{" + ", ".join(self.returns) + "}"


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
    return Source(names=names, file=code.co_filename, **_analyse(nodes[0]))


@cache
def _analyse(node: ast.FunctionDef | ast.Lambda) -> dict[str, Any]:
    """Return what a `Source` tells about the code of a function."""
    walrus = (each.target.id for each in _walk_body(node) if isinstance(each, ast.NamedExpr))
    reads = [node.body] if isinstance(node, ast.Lambda) else node.body
    analysis: dict[str, Any] = {"node": node, "walrus": frozenset(walrus)}
    analysis["grown"] = frozenset(list_grown(reads))
    return analysis | {"assigned": count_assignments(node), "loads": count_reads(reads)}


def _name(name: str, place: ast.AST) -> ast.Name:
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


class _Retry(Exception):
    """Raised to compile a function again, as a variable needs a wider type."""


@dataclass
class Hints:
    """What earlier tries to compile a function have found.

    Attributes:
        forms: forms of variables that are assigned in several places.
        shared: further variables that need memory for all their values.
        items: kinds of the numbers in lists that grow, by variable; with None behind for tuples.
    """

    forms: dict[str, Any] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    items: dict[str, tuple[Any, ...]] = field(default_factory=dict)


@dataclass
class _Variable:
    """A local variable: the form of its value, and memory for each LLVM value of it."""

    form: Any
    slots: list[str]


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

    def compile(self, function: Any, arguments: Mapping[str, Any]) -> Compiled | None:
        """Return the version of a function for arguments of these forms, None while it is being
        compiled."""
        arguments = {name: forget_bounds(value) for name, value in arguments.items()}
        key = function, tuple(map(form_of, arguments.values()))
        if key not in self._compiled:
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
            self._compiled[key] = compiled
        return self._compiled[key]

    def _try(
        self, function: FunctionType | Nested, arguments: Mapping[str, Any], name: str, hints: Hints
    ) -> Compiled | None:
        try:
            return FunctionBody(self, function, hints).compile(arguments, name)
        except _Retry:
            return None

    def note_failure(self, failure: Failure) -> int:
        """Return the code of an error, never 0."""
        name = PurePath(failure.file).name  # the code is the same wherever the file is
        code = crc32(f"{failure.text} {name} {failure.line} {failure.function}".encode()) or 1
        while self.failures.setdefault(code, failure) != failure:
            code = code % 0xFFFFFFFF + 1
        return code


class FunctionBody(Lists):
    """One version of a function while it is being compiled."""

    def __init__(self, compiler: Compiler, function: FunctionType | Nested, hints: Hints) -> None:
        """Start to compile. `hints` are from earlier tries."""
        self.compiler, self.function = compiler, function
        self.source: Source = (
            function.source if isinstance(function, Nested) else read_source(function)
        )
        self.module = compiler.module
        self.is_checked = (
            compiler.is_checked and getattr(function, "__module__", "") not in compiler.trusted
        )
        self.library, self.names = compiler.library, self.source.names
        self.grown = self.source.grown
        self.emit = Emitter(self.module.guards_loops)
        self.node = self.source.node
        self._hints = hints
        self._variables: dict[str, _Variable] = {}
        self._shared: dict[str, _Variable] = {}
        self._flags: dict[str, str] = {}
        self._set: set[str] = set()
        self._loops: list[_Loop] = []
        self._forms: dict[str, Any] = {}
        self._early: dict[str, ast.AST] = {}
        self._carried: set[str] = set()
        self._returns: list[tuple[str, Any]] = []
        self._failures: list[tuple[str, str]] = []
        self._failing: dict[int, str] = {}

    def compile(self, arguments: Mapping[str, Any], name: str) -> Compiled:
        """Compile the function for arguments; add its text to the module."""
        values = tuple(arguments.values())
        parts = [leaf for value in values for leaf in leaves(value)]
        texts = iter([f"%p{k}" for k in range(len(parts))])
        mark = self.emit.get("load i64, ptr %arena")
        for variable in self.source.walrus:
            self._flags[variable] = self.emit.slot("i1")
            self.emit.do(f"store i1 false, ptr {self._flags[variable]}")
        for argument, value in arguments.items():
            self.assign_name(argument, rebuild(value, texts), is_argument=True)
        body: Any = self.source.node.body
        self.run(body if isinstance(body, list) else [ast.copy_location(ast.Return(body), body)])
        if self.emit.is_open() and self.emit.block is not None:
            self._returns.append((self.emit.block, None))
        self._learn_early()
        compiled = self._finish(name, mark)
        kinds = "".join(f", {leaf.llvm} %p{k}" for k, leaf in enumerate(parts))
        head = f'define internal {compiled.llvm} @"{name}"(ptr %arena{kinds}) {ATTRIBUTES}'
        self.module.functions.append(f"{head} {{\n{self.emit.write()}\n}}")
        return compiled

    def _learn_early(self) -> None:
        """Compile again with what is known of variables that were read before this try knew them;
        refuse those that nothing assigns before."""
        known = self._early.keys() & self._forms.keys()
        for name in known:
            self._hints.forms[name] = _widen(self._forms[name])
            self._hints.shared.add(name)
        if known:
            raise _Retry
        for name, node in self._early.items():
            self.node = node
            self.refuse(f"{name!r} is not set here")

    def _finish(self, name: str, mark: str) -> Compiled:
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
        keeps_arrays = any(llvm == "ptr" for llvm in types)
        for block, value in self._returns:
            self.emit.start(block)
            texts = [leaf.text for leaf in leaves(self.fit(value, result))]
            if self.has_arrays and not keeps_arrays:
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
        source = replace(self.source, **_analyse(node))
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
            captured = [self.evaluate(_name(name, self.node)) for name in function.free]
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
        return Method(tuple(self.evaluate(_name(name, self.node)) for name in value.free), value)

    # ---- variables -------------------------------------------------------------------------------

    def read_variable(self, name: str) -> Any:
        if name not in self.source.assigned:
            raise KeyError(name)
        if name not in self._variables:
            if name not in self._hints.forms:
                self._early.setdefault(name, self.node)
                raise Unknown
            self._variables[name] = self._keep(name, self._hints.forms[name])
        if name not in self._set:
            self._carried.add(name)
        if name not in self._set and self.is_checked:
            if name not in self._flags:
                self.refuse(f"{name!r} may not be set here: set it before")
            is_set = self.emit.get(f"load i1, ptr {self._flags[name]}")
            unset = self.emit.get(f"xor i1 {is_set}, true")
            self.fail_if(
                Scalar(Kind.BOOL, unset), f"UnboundLocalError: the variable {name!r} is not set"
            )
        variable = self._variables[name]
        if isinstance(variable.form, _Mixed):
            if name in self._hints.shared:
                self.refuse(f"{name!r} is {variable.form}: it needs one value while compiling")
            self._hints.shared.add(name)
            raise _Retry
        texts = [
            self.emit.get(f"load {leaf.llvm}, ptr {slot}")
            for leaf, slot in zip(leaves(variable.form), variable.slots)
        ]
        return rebuild(variable.form, iter(texts))

    def assign_name(self, name: str, value: Any, is_argument: bool = False) -> None:
        """Assign a value to a local variable. It stays known while compiling if only this place
        assigns the variable, or if it is no number."""
        if name in self.grown and not is_argument:
            value = self.make_growing(name, value, self._hints.items.get(name))
        elif _grows(value):
            self.refuse("a list that grows has one name: the other one would not see its items")
        value = self._forms[name] = to_known(value)
        is_shared = self.source.assigned[name] > 1 or name in self._hints.shared
        if is_shared and (name in self._shared or _has_numbers(value)):
            variable = self._share(name, value)
        else:
            variable = self._variables[name] = self._new_variable(value)
        for leaf, slot in zip(leaves(self.fit(value, variable.form)), variable.slots):
            self.emit.do(f"store {leaf.llvm} {leaf.text}, ptr {slot}")
        if name in self._flags:
            self.emit.do(f"store i1 true, ptr {self._flags[name]}")
        self._set.add(name)

    def widen_items(self, values: GrowingList, kinds: tuple[Any, ...]) -> None:
        if values.name not in self.grown:
            self.refuse("the item is of another kind than those of the list")
        before = self._hints.items.get(values.name, kinds)
        if len(before) != len(kinds) or (before[-1] is None) != (kinds[-1] is None):
            self.refuse(f"the items of {values.name!r} are numbers here and tuples there")
        self._hints.items[values.name] = kinds
        raise _Retry

    def _new_variable(self, form: Any) -> _Variable:
        return _Variable(form, [self.emit.slot(leaf.llvm) for leaf in leaves(form)])

    def _share(self, name: str, value: Any) -> _Variable:
        """Return a variable whose form can hold the values of all places that assign it."""
        form = self._hints.forms.get(name, _widen(value))
        variable = self._variables[name] = self._keep(name, form)
        joined = _widen(self.join(variable.form, value))
        if form_of(joined) != form_of(variable.form):
            self._hints.forms[name] = joined
            raise _Retry
        return variable

    def _keep(self, name: str, form: Any) -> _Variable:
        """Return the variable for all values of a name, made at its first use."""
        if name not in self._shared:
            self._shared[name] = self._new_variable(form)
        return self._shared[name]

    def assign(self, target: ast.expr, value: Any) -> None:
        outer, self.node = self.node, target
        match target:
            case ast.Name(id="_") if not self.source.loads["_"]:
                pass  # takes values of all forms
            case ast.Name():
                self.assign_name(target.id, value)
            case ast.Tuple() | ast.List():
                for part, each in zip(target.elts, self._split(target.elts, value)):
                    self.assign(part.value if isinstance(part, ast.Starred) else part, each)
            case ast.Subscript():
                owner = self.to_array(self.evaluate(target.value))
                self.write_array(owner, self.evaluate(target.slice), value)
            case ast.Attribute():
                owner = self.evaluate(target.value)
                if not isinstance(owner, Record):
                    self.refuse(f"{describe(owner)} cannot be changed in compiled code")
                self.write_field(owner, target.attr, value)
            case _:
                self.refuse(f"{type(target).__name__} cannot be assigned")
        self.node = outer

    def _split(self, targets: list[ast.expr], value: Any) -> Sequence[Any]:
        """Return a value for each target; `*name` takes what the others leave."""
        stars = [k for k, target in enumerate(targets) if isinstance(target, ast.Starred)]
        if not stars:
            return self.unpack(value, len(targets))
        items, after = tuple(self.unpack(value)), len(targets) - 1 - stars[0]
        if len(items) < len(targets) - 1:
            self.refuse(f"found {len(items)} values for {len(targets) - 1} names or more")
        return (
            *items[: stars[0]],
            items[stars[0] : len(items) - after],
            *items[len(items) - after :],
        )

    @contextmanager
    def forking(self) -> Iterator[_Fork]:
        fork = _Fork(self, self._state())
        yield fork
        self._go_on(fork.after)

    def _state(self) -> _State:
        """Return the variables that are set here, and all variables."""
        return set(self._set), dict(self._variables)

    def _go_on(self, states: Sequence[_State]) -> None:
        """Go on with the variables behind branches that meet here."""
        if states:
            self._set = set.intersection(*(names for names, _ in states))
            self._variables = _merge_variables([each for _, each in states])

    @contextmanager
    def _branching(self, *statements: Iterable[ast.AST]) -> Iterator[None]:
        """Note for variables that these statements may set that they are not set yet."""
        if self.is_checked:
            names = _assigned_names(part for group in statements for part in group)
            for name in sorted(names - self._set - set(self._flags)):
                self._flags[name] = self.emit.slot("i1")
                self.emit.do(f"store i1 false, ptr {self._flags[name]}")
        yield

    # ---- statements ------------------------------------------------------------------------------

    def run(self, statements: list[ast.stmt]) -> None:
        """Compile statements, up to one that leaves the block."""
        for statement in statements:
            if not self.emit.is_open():
                return
            self.node = statement
            loops = len(self._loops)
            try:
                self.visit(statement)
            except Unknown:
                del self._loops[loops:]
                self.emit.start_dead()

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        """Emit nothing."""

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        has_new_list = isinstance(node.value, ast.List | ast.ListComp | ast.BinOp | ast.Call)
        for target in node.targets if not has_new_list or len(node.targets) > 1 else ():
            names = [each for each in ast.walk(target) if isinstance(each, ast.Name)]
            if any(each.id in self.grown for each in names) and _has_list(value):
                self.refuse("a list that is changed has one name, and begins as a new list")
        for target in node.targets:
            self.assign(target, value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        match node.target:
            case ast.Name():
                before = self.visit_Name(ast.Name(node.target.id, ast.Load()))
                value = self.binary(node.op, before, self.evaluate(node.value))
                if isinstance(before, ArrayValue):  # NumPy changes the array itself
                    self.write_array(before, slice(None), value)
                else:
                    self.assign_name(node.target.id, value)
            case ast.Subscript():
                owner = self.to_array(self.evaluate(node.target.value))
                index = self.evaluate(node.target.slice)
                before = self.read_array(owner, index)
                value = self.binary(node.op, before, self.evaluate(node.value))
                self.write_array(owner, index, value)
            case ast.Attribute():
                record = self.evaluate(node.target.value)
                if not isinstance(record, Record):
                    self.refuse(f"{describe(record)} cannot be changed in compiled code")
                before = self.read_field(record, node.target.attr)
                value = self.binary(node.op, before, self.evaluate(node.value))
                self.write_field(record, node.target.attr, value)

    def visit_Return(self, node: ast.Return) -> None:
        value = None if node.value is None else self.evaluate(node.value)
        if self.emit.is_open() and self.emit.block is not None:
            self._returns.append((self.emit.block, value))
            self.emit.block = None

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is None:
            self.refuse("`raise` needs an exception in compiled code")
        value = self._evaluate_exception(node.exc)
        value = value() if isinstance(value, type) and issubclass(value, Exception) else value
        if not isinstance(value, Exception):
            self.refuse(f"found {describe(value)} in place of an exception")
        self.fail_if(True, f"{type(value).__name__}: {value}")

    def _evaluate_exception(self, node: ast.expr) -> Any:
        """Return an exception. Its arguments that are not known are numbers, which the program
        writes into the arena: the exception then has their LLVM names in place of them."""
        if isinstance(node, ast.Call) and not node.keywords:
            values = tuple(self._values(node.args))
            cls = self.evaluate(node.func)
            if isinstance(cls, type) and not is_known(values):
                for k, value in enumerate(values[:ERROR_NUMBERS]):
                    if not is_known(value):
                        place = self.offset("%arena", NUMBERS + 8 * k)
                        self.emit.do(f"store i64 {self.to_int(value).text}, ptr {place}")
                return cls(
                    *(each if is_known(each) else f"{{{k}}}" for k, each in enumerate(values))
                )
        return self.evaluate(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        text = "" if node.msg is None else self.evaluate(node.msg)
        self.fail_if(self.negate(self.condition(node.test)), f"AssertionError: {text}")

    def visit_If(self, node: ast.If) -> None:
        test = self.condition(node.test)
        if isinstance(test, bool):
            self.run(node.body if test else node.orelse)
            return
        with self._branching(node.body, node.orelse):
            then, otherwise, end = (self.emit.new_block() for _ in range(3))
            self.emit.branch(test.text, then, otherwise)
            with self.forking() as fork:
                for label, statements in ((then, node.body), (otherwise, node.orelse)):
                    fork.begin()
                    self.emit.start(label)
                    self.run(statements)
                    if self.emit.is_open():
                        fork.end()
                        self.emit.jump(end)
            if fork.after:
                self.emit.start(end)

    def _blur(self, nodes: Iterable[ast.AST], is_unrolled: bool = False) -> None:
        """Forget known values of variables that a loop assigns: they differ by turn."""
        for name in _assigned_names(nodes) & set(self._variables) - set(self._shared):
            variable = self._variables[name]
            if is_unrolled or (self.source.assigned[name] > 1 and not variable.slots):
                self._variables[name] = _Variable(_Mixed(variable.form, "another"), [])

    def visit_While(self, node: ast.While) -> None:
        with self._branching([node.test], node.body, node.orelse):
            self._blur([node.test, *node.body])
            head, body, otherwise, end = (self.emit.new_block() for _ in range(4))
            loop = _Loop(self.emit.new_block(), end)
            self._loops.append(loop)
            with self._releasing(loop, [node.test, *node.body], self._variables.copy()):
                self.emit.jump(head)
                self.emit.start(head)
                test = self.condition(node.test)
                if isinstance(test, bool):
                    self.emit.jump(body if test else otherwise)
                else:
                    self.emit.branch(test.text, body, otherwise)
                before = self._state()
                if test is not False:
                    self._run_body(body, node.body, loop)
            self.emit.jump(head)
            self._go_on([before, *loop.turned])
            self._blur([node.test, *node.body])
            self._end_loop(loop, otherwise, node.orelse, is_reached=test is not True)

    def _run_body(self, label: str, statements: list[ast.stmt], loop: _Loop) -> None:
        """Compile the body of a loop."""
        self.emit.start(label)
        self.run(statements)
        if self.emit.is_open():
            loop.turned.append(self._state())
            self.emit.jump(loop.step)

    @contextmanager
    def _releasing(
        self, loop: _Loop, nodes: Sequence[ast.AST], before: Container[str]
    ) -> Iterator[None]:
        """Behind the code of a loop's turn, start its end: free the arrays that the turn has made,
        unless a variable brings one out of it.

        Args:
            nodes: code of the turn.
            before: variables before the loop.
        """
        mark, outer = self.emit.get("load i64, ptr %arena"), self.has_arrays
        self.has_arrays = False
        yield
        self.emit.start(loop.step)
        if self.has_arrays and not self._brings_arrays(nodes, before):
            self.emit.do(f"store i64 {mark}, ptr %arena")
        self.has_arrays |= outer

    def _brings_arrays(self, nodes: Sequence[ast.AST], before: Container[str]) -> bool:
        """Return True if code behind a turn of a loop can read an array of the turn."""
        inside = count_reads(nodes)
        return any(
            _has_array(self._forms[name])
            and (name in before or name in self._carried or inside[name] < self.source.loads[name])
            for name in (_assigned_names(nodes) | list_grown(nodes)) & self._forms.keys()
        )

    def _end_loop(
        self, loop: _Loop, otherwise: str, statements: list[ast.stmt], is_reached: bool = True
    ) -> None:
        """Compile the `else` of a loop, and go on behind the loop."""
        self._loops.pop()
        if is_reached:
            self.emit.start(otherwise)
            self.run(statements)
            if self.emit.is_open():
                loop.left.append(self._state())
                self.emit.jump(loop.end)
        if loop.left:
            self.emit.start(loop.end)
            self._go_on(loop.left)

    def visit_For(self, node: ast.For) -> None:
        items = self._read_items(node)
        if isinstance(items, tuple):
            self._unroll(node, items)
        else:
            self._loop_over(node, items)

    def _read_items(self, node: ast.For) -> tuple[Any, ...] | Iterated:
        """Return the items of a loop; those that the loop appends to its own list follow."""
        if isinstance(node.iter, ast.Name) and node.iter.id in self.grown:
            values = self.read_variable(node.iter.id)
            if isinstance(values, GrowingList) and values.kinds is not None:
                return self.iterate_list(values)
        both = list_grown(node.body) & count_reads([node.iter]).keys()
        for name in both & self._forms.keys():
            if isinstance(self._forms[name], GrowingList):
                self.refuse(f"a loop changes {name!r}, whose items it takes: loop over it alone")
        return self.iterate(self.evaluate(node.iter))

    def _loop_over(self, node: ast.For, items: Iterated) -> None:
        """Compile a loop over items that are not known."""
        with self._branching([node.target], node.body, node.orelse):
            before = self._state()
            self._blur([node.target, *node.body])
            otherwise, end = self.emit.new_block(), self.emit.new_block()
            loop = _Loop(self.emit.new_block(), end)
            self._loops.append(loop)

            def turn(k: Scalar) -> None:
                self.assign(node.target, items.read(k))
                inside = self.emit.new_block()
                self.emit.jump(inside)
                self._run_body(inside, node.body, loop)

            self._count(items.length, turn, loop, otherwise, [node.target, *node.body])
            self._go_on([before, *loop.turned])
            self._blur([node.target, *node.body])
            self._end_loop(loop, otherwise, node.orelse)

    def loop(
        self, count: int | Scalar, body: Callable[[Scalar], None], nodes: Sequence[ast.AST] = ()
    ) -> None:
        before, loop = self._state(), _Loop(self.emit.new_block(), self.emit.new_block())

        def turn(k: Scalar) -> None:
            body(k)
            if self.emit.is_open():
                self.emit.jump(loop.step)

        self._count(count, turn, loop, loop.end, nodes)
        self._go_on([before, self._state()])
        self.emit.start(loop.end)

    def _count(
        self,
        count: Any,
        turn: Callable[[Scalar], None],
        loop: _Loop,
        end: str,
        nodes: Sequence[ast.AST],
    ) -> None:
        """Call `turn` with a counter from 0 to `count` - 1; go on at `end`."""
        counter, number = self.emit.slot("i64"), None if callable(count) else self.to_int(count)
        head, body = (self.emit.new_block() for _ in range(2))
        self.emit.do(f"store i64 0, ptr {counter}")
        with self._releasing(loop, nodes, self._variables.copy()):
            self.emit.jump(head)
            self.emit.start(head)
            k = self.emit.get(f"load i64, ptr {counter}")
            number = number or self.to_int(count())
            self.emit.branch(self.emit.get(f"icmp slt i64 {k}, {number.text}"), body, end)
            self.emit.start(body)
            turn(Scalar(Kind.INT, k, 0, max(number.high - 1, 0)))
        after = self.emit.get(f"add i64 {k}, 1")
        self.emit.do(f"store i64 {after}, ptr {counter}")
        self.emit.jump(head)

    def _unroll(self, node: ast.For, items: tuple[Any, ...]) -> None:
        """Compile the body of a loop once for each item, which is known while compiling."""
        nodes = [node.target, *node.body]
        with self._branching([node.target], node.body, node.orelse):
            loop, before, is_reached = _Loop("", self.emit.new_block()), self._state()[1], True
            self._loops.append(loop)
            for item in items:
                loop.step, loop.turned = self.emit.new_block(), []
                self._blur(nodes, is_unrolled=True)
                with self._releasing(loop, nodes, before):
                    self.assign(node.target, item)
                    inside = self.emit.new_block()
                    self.emit.jump(inside)
                    self._run_body(inside, node.body, loop)
                self._go_on(loop.turned)
                if not loop.turned:
                    self.emit.end("unreachable")
                    is_reached = False
                    break
            otherwise = self.emit.new_block()
            if is_reached:
                self._blur(nodes, is_unrolled=True)
                self.emit.jump(otherwise)
            self._end_loop(loop, otherwise, node.orelse, is_reached)

    def visit_Break(self, node: ast.Break) -> None:
        self._loops[-1].left.append(self._state())
        self.emit.jump(self._loops[-1].end)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._loops[-1].turned.append(self._state())
        self.emit.jump(self._loops[-1].step)


_State = tuple[set[str], "dict[str, _Variable]"]
"""Names of the variables that are set, and all variables."""


@dataclass
class _Loop:
    """A loop.

    Attributes:
        step, end: where `continue` and `break` jump to.
        turned, left: the variables at the ends of a turn, and of the loop.
    """

    step: str
    end: str
    turned: list[_State] = field(default_factory=list)
    left: list[_State] = field(default_factory=list)


@dataclass
class _Fork:
    """Variables before branches, and behind each branch that goes on."""

    body: FunctionBody
    before: _State
    after: list[_State] = field(default_factory=list)

    def begin(self) -> None:
        """Begin a branch with the variables from before."""
        self.body._go_on([self.before])

    def end(self) -> None:
        """Note the variables at the end of a branch."""
        self.after.append(self.body._state())


@dataclass(frozen=True)
class _Mixed:
    """Stands for the value of a variable that is one of two known values."""

    first: Any
    second: Any

    def __str__(self) -> str:
        return f"{describe(self.first)} or {describe(self.second)}"


def _merge_variables(branches: Sequence[dict[str, _Variable]]) -> dict[str, _Variable]:
    """Return the variables behind two branches; those with different known values are mixed."""
    merged = dict(branches[0])
    for name, variable in (pair for branch in branches[1:] for pair in branch.items()):
        other = merged.setdefault(name, variable)
        if other is not variable and (
            other.slots or variable.slots or form_of(other.form) != form_of(variable.form)
        ):
            merged[name] = _Variable(_Mixed(other.form, variable.form), [])
    return merged


def _has_numbers(value: Any) -> bool:
    """Return True if a value is a number, or has parts that the running program computes."""
    if isinstance(value, tuple):
        return any(map(_has_numbers, value))
    return is_number(value) or not is_known(value)


def _has_array(value: Any) -> bool:
    """Return True if a value has arrays among its parts."""
    if isinstance(value, Method):
        return _has_array(value.record)
    if isinstance(value, tuple):
        return any(map(_has_array, value))
    return isinstance(value, ArrayValue | TupleList | GrowingList | Iterated)


def _has_list(value: Any) -> bool:
    """Return True for lists, and tuples with them."""
    if isinstance(value, tuple) and not is_list(value):
        return any(map(_has_list, value))
    is_array = isinstance(value, ArrayValue) and value.is_list
    return is_array or is_list(value) or isinstance(value, TupleList)


def _grows(value: Any) -> bool:
    """Return True for the items of a list that grows, and for tuples with them."""
    if isinstance(value, TupleList):
        value = value.columns
    if isinstance(value, tuple):
        return any(map(_grows, value))
    return isinstance(value, ArrayValue) and bool(value.name)


_signature = cache(inspect.signature)


def _assigned_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the variables that statements and targets assign."""
    return set().union(*map(_list_assigned, nodes))


def _widen(value: Any) -> Any:
    """Return a form for a variable that is assigned in several places: numbers are not known."""
    if is_number(value):
        return Scalar(kind_of(value), "", narrow=narrow_of(value))
    if isinstance(value, tuple):
        return same_sequence(value, map(_widen, value))
    return value
