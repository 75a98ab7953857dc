"""Statements of a function: branches, loops, assignments, returns and exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from gv_engine.compiler.language.expressions import Iterated, Nested, Unknown
from gv_engine.compiler.language.memory import ERROR_NUMBERS, NUMBERS
from gv_engine.compiler.language.source import LIST_METHODS, find_usage
from gv_engine.compiler.language.values import (
    ArrayValue,
    Kind,
    ListValue,
    Record,
    Scalar,
    describe,
    is_growing,
    is_known,
    walk,
)
from gv_engine.compiler.language.variables import CompileAgain, Hints, Variables, VariableState
from gv_engine.rules.errors import DoesNotCompileError


class Statements(Variables):
    """Compiles statements."""

    def __init__(self, hints: Hints) -> None:
        """Start outside of loops. `hints` are from earlier tries."""
        super().__init__(hints)
        self._loops: list[_Loop] = []
        self._returns: list[tuple[str, Any]] = []

    def run(self, statements: list[ast.stmt]) -> None:
        """Compile statements, up to one that leaves the block."""
        for statement in statements:
            if not self.emit.is_open():
                return
            self.node = statement
            self._require_one_use(statement)
            loops = len(self._loops)
            try:
                self.visit(statement)
            except Unknown:
                del self._loops[loops:]
                self.emit.start_dead()
            except (DoesNotCompileError, CompileAgain):
                raise
            except Exception as error:  # a fault of the compiler, told with the line
                self.refuse(f"the compiler fails here: {type(error).__name__}: {error}")

    def _require_one_use(self, statement: ast.stmt) -> None:
        """Refuse a statement that changes a list and reads the same list in another expression, as
        `x = items[items.pop()]` does: the result would depend on the order of evaluation."""
        parts = {ast.If: "test", ast.While: "test", ast.For: "iter"}
        if self.grown and not isinstance(statement, ast.FunctionDef):
            part = parts.get(type(statement), "")
            for name in _find_conflicts(getattr(statement, part) if part else statement):
                if is_growing(self._forms.get(name)):
                    self.refuse(f"one statement changes {name!r} and reads it: use two statements")

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.evaluate(node.value)

    def visit_Pass(self, node: ast.Pass) -> None:
        """Emit nothing."""

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        if self.is_iterator(node.value):
            self.refuse("an iterator has no name in compiled code: use a list")
        has_new_list = isinstance(node.value, ast.List | ast.ListComp | ast.BinOp) or (
            isinstance(node.value, ast.Call) and self._returns_new_list(node.value)
        )
        for target in node.targets if not has_new_list or len(node.targets) > 1 else ():
            names = [each for each in ast.walk(target) if isinstance(each, ast.Name)]
            if any(each.id in self.grown for each in names) and _has_list(value):
                self.refuse("a list that is changed has one name, and begins as a new list")
        for target in node.targets:
            self.assign(target, value)

    def _returns_new_list(self, node: ast.Call) -> bool:
        """Return True if a call cannot return a list that a variable has already."""
        if isinstance(node.func, ast.Name):
            function = self.evaluate(node.func)
            if not isinstance(function, FunctionType | Nested):
                return True
            if isinstance(function, Nested) and function.free:
                return False
        if isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
            return True
        read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return not any(_has_list(self._forms[name]) for name in read & self._forms.keys())

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        match node.target:
            case ast.Name():
                before = self.visit_Name(ast.Name(node.target.id, ast.Load()))
                value = self._augment(node, before)
                if isinstance(before, ArrayValue):  # NumPy changes the array itself
                    self.write_array(before, slice(None), value)
                else:
                    self.assign_name(node.target.id, value)
            case ast.Subscript():
                owner = self.to_changeable(self.evaluate(node.target.value))
                index = self.evaluate(node.target.slice)
                before = self.read_item(owner, index)
                value = self._augment(node, before)
                self.write_item(owner, index, value)
            case ast.Attribute():
                record = self.evaluate(node.target.value)
                if not isinstance(record, Record):
                    self.refuse(f"{describe(record)} cannot be changed in compiled code")
                before = self.read_field(record, node.target.attr)
                value = self._augment(node, before)
                self.write_field(record, node.target.attr, value)

    def _augment(self, node: ast.AugAssign, before: Any) -> Any:
        """Return the value that `+=` and so on assign."""
        if _has_list(before):
            self.refuse("`+=` changes a list, which may have other names: use append")
        value = self.binary(node.op, before, self.evaluate(node.value))
        is_array = isinstance(before, ArrayValue) and before.dtype == np.bool_
        if is_array and value.dtype != np.bool_:
            self.refuse("an array of truth values does not take numbers in this way")
        return value

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
        self._require_plain_text(node)
        if not isinstance(value, Exception):
            self.refuse(f"found {describe(value)} in place of an exception")
        self.fail_if(True, f"{type(value).__name__}: {value}")

    def _require_plain_text(self, node: ast.AST) -> None:
        """Refuse texts of errors with {0}, which stands for a number of the program."""
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and re.search(r"\{\d\}", str(part.value)):
                self.refuse("the text of an error has no {0} in compiled code")

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
        self._require_plain_text(node)
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

    def visit_While(self, node: ast.While) -> None:
        with self._branching([node.test], node.body, node.orelse):
            self._forget_known([node.test, *node.body])
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
                    self.emit.start(body)
                    self._run_body(node.body, loop)
            self.emit.jump(head)
            self._go_on([before, *loop.turned])
            self._forget_known([node.test, *node.body])
            self._end_loop(loop, otherwise, node.orelse, is_reached=test is not True)

    def _run_body(self, statements: list[ast.stmt], loop: _Loop) -> None:
        """Compile the body of a loop."""
        self.run(statements)
        if self.emit.is_open():
            loop.turned.append(self._state())
            self.emit.jump(loop.step)

    @contextmanager
    def _releasing(
        self, loop: _Loop, nodes: Sequence[ast.AST] | None, before: Container[str]
    ) -> Iterator[None]:
        """Behind the code of a loop's turn, start its end: free the arrays that the turn has made,
        unless a variable brings one out of it.

        Args:
            nodes: code of the turn; None to free nothing.
            before: variables before the loop.
        """
        if nodes is None:
            yield
            self.emit.start(loop.step)
            return
        get_before, outer = self.emit.reserve(), self.has_arrays
        self.has_arrays = False
        yield
        self.emit.start(loop.step)
        if self.has_arrays and not self._brings_arrays(nodes, before):
            mark = get_before("load i64, ptr %arena")
            self.emit.do(f"store i64 {mark}, ptr %arena")
        self.has_arrays |= outer

    def _brings_arrays(self, nodes: Sequence[ast.AST], before: Container[str]) -> bool:
        """Return True if code behind a turn of a loop can read an array of the turn."""
        usage = find_usage(*nodes)
        return any(
            _has_array(self._forms[name])
            and (
                name in before
                or name in self._carried
                or usage.reads[name] < self.source.loads[name]
            )
            for name in (usage.stores.keys() | usage.grown) & self._forms.keys()
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
            if is_growing(values) and values.item is not None:
                return self.iterate_list(values)
        both = find_usage(*node.body).grown & find_usage(node.iter).reads.keys()
        for name in both & self._forms.keys():
            if is_growing(self._forms[name]):
                self.refuse(f"a loop changes {name!r}, whose items it takes: loop over it alone")
        return self.iterate(self.evaluate(node.iter))

    def _loop_over(self, node: ast.For, items: Iterated) -> None:
        """Compile a loop over items that are not known."""
        with self._branching([node.target], node.body, node.orelse):
            before = self._state()
            self._forget_known([node.target, *node.body])
            otherwise, end = self.emit.new_block(), self.emit.new_block()
            loop = _Loop(self.emit.new_block(), end)
            self._loops.append(loop)

            def turn(k: Scalar) -> None:
                self.assign(node.target, items.read(k))
                self._run_body(node.body, loop)

            self._count(items.length, turn, loop, otherwise, [node.target, *node.body])
            self._go_on([before, *loop.turned])
            self._forget_known([node.target, *node.body])
            self._end_loop(loop, otherwise, node.orelse)

    def loop(
        self,
        count: int | Scalar,
        body: Callable[[Scalar], None],
        nodes: Sequence[ast.AST] | None = None,
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
        nodes: Sequence[ast.AST] | None,
    ) -> None:
        """Call `turn` with a counter from 0 to `count` - 1; go on at `end`."""
        number = None if callable(count) else self.to_int(count)
        head, body = (self.emit.new_block() for _ in range(2))
        after = self.emit.new_name()
        with self._releasing(loop, nodes, self._variables.copy()):
            before = str(self.emit.block)
            self.emit.jump(head)
            self.emit.start(head)
            k = self.emit.phi("i64", [("0", before), (after, loop.step)])
            number = number or self.to_int(count())
            self.emit.branch(self.emit.get(f"icmp slt i64 {k}, {number.text}"), body, end)
            self.emit.start(body)
            turn(Scalar(Kind.INT, k, 0, max(number.high - 1, 0)))
        self.emit.do(f"{after} = add i64 {k}, 1")
        self.emit.jump(head)

    def _unroll(self, node: ast.For, items: tuple[Any, ...]) -> None:
        """Compile the body of a loop once for each item, which is known while compiling."""
        nodes = [node.target, *node.body]
        with self._branching([node.target], node.body, node.orelse):
            loop, is_reached = _Loop("", self.emit.new_block()), True
            self._loops.append(loop)
            for item in items:
                loop.step, loop.turned = self.emit.new_block(), []
                self._forget_known(nodes, is_unrolled=True)
                self.assign(node.target, item)
                self._run_body(node.body, loop)
                self.emit.start(loop.step)
                self._go_on(loop.turned)
                if not loop.turned:
                    self.emit.end("unreachable")
                    is_reached = False
                    break
            otherwise = self.emit.new_block()
            if is_reached:
                self._forget_known(nodes, is_unrolled=True)
                self.emit.jump(otherwise)
            self._end_loop(loop, otherwise, node.orelse, is_reached)

    def visit_Break(self, node: ast.Break) -> None:
        self._loops[-1].left.append(self._state())
        self.emit.jump(self._loops[-1].end)

    def visit_Continue(self, node: ast.Continue) -> None:
        self._loops[-1].turned.append(self._state())
        self.emit.jump(self._loops[-1].step)


@dataclass
class _Loop:
    """A loop.

    Attributes:
        step, end: where `continue` and `break` jump to.
        turned, left: the variables at the ends of a turn, and of the loop.
    """

    step: str
    end: str
    turned: list[VariableState] = field(default_factory=list)
    left: list[VariableState] = field(default_factory=list)


def _has_array(value: Any) -> bool:
    """Return True if a value has arrays among its parts."""
    return any(isinstance(each, ArrayValue | ListValue | Iterated) for each in walk(value))


def _find_conflicts(node: ast.AST) -> Iterator[str]:
    """Yield the variables that an expression reads, and changes by a method of lists in a call that
    does not contain the other one."""
    reads: set[str] = set()
    changes: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        match part := waiting.pop():
            case ast.Call(ast.Attribute(ast.Name(name), method)) if method in LIST_METHODS:
                changes.add(name)
                for argument in part.args:
                    yield from _find_conflicts(argument)
            case ast.Name(name, ast.Load()):
                reads.add(name)
            case _:
                waiting += ast.iter_child_nodes(part)
    yield from reads & changes


def _has_list(value: Any) -> bool:
    """Return True for lists, and tuples with them."""
    return any(isinstance(each, list | ListValue) for each in walk(value))
