"""Statements of a function: branches, loops, assignments, returns and exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numpy as np

from gv_engine.compiler.language import (
    arithmetic,
    arrays,
    calls,
    expressions,
    flow,
    memory,
    operators,
    sequences,
    variables,
)
from gv_engine.compiler.language.body import (
    ERROR_NUMBERS,
    Body,
    CompileAgain,
    Loop,
    Nested,
    Unknown,
    visits,
)
from gv_engine.compiler.language.source import LIST_METHODS, find_usage
from gv_engine.compiler.language.values import (
    AnyValue,
    ArrayValue,
    Iterated,
    ListValue,
    Record,
    Scalar,
    describe,
    is_growing,
    is_known,
    iter_nested,
)
from gv_engine.rules.errors import DoesNotCompileError


def compile_statements(body: Body, statements: list[ast.stmt]) -> None:
    """Emit code for a list of statements. Those after a `return`, `break` or `continue` are
    skipped."""
    for statement in statements:
        if not body.emit.is_reachable():
            return
        body.node = statement
        _refuse_read_and_change(body, statement)
        num_loops = len(body.loops)
        try:
            body.visit(statement)
        except Unknown:  # a later try compiles what follows
            del body.loops[num_loops:]
            body.emit.start_unreachable()
        except (DoesNotCompileError, CompileAgain):
            raise
        except Exception as error:  # a fault of the compiler, told with the line
            body.refuse(f"the compiler fails here: {type(error).__name__}: {error}")


def _refuse_read_and_change(body: Body, statement: ast.stmt) -> None:
    """Raise an error for a statement that both changes and reads a list, such as `x =
    items[items.pop()]`: its result depends on the order of evaluation."""
    if not body.changed_lists or isinstance(statement, ast.FunctionDef):
        return
    node: ast.AST = statement
    if isinstance(statement, ast.If | ast.While):
        node = statement.test
    elif isinstance(statement, ast.For):
        node = statement.iter
    for name in _find_conflicts(node):
        if is_growing(body.last_values.get(name)):
            body.refuse(f"one statement changes {name!r} and reads it: use two statements")


@visits(ast.Expr)
def _expr(body: Body, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):
        body.evaluate(node.value)


@visits(ast.Pass)
def _pass(body: Body, node: ast.Pass) -> None:
    """Emit nothing."""


@visits(ast.Assign)
def _assign(body: Body, node: ast.Assign) -> None:
    """Emit code for an assignment."""
    value = body.evaluate(node.value)
    if calls.is_iterator(body, node.value):
        body.refuse("an iterator has no name in compiled code: use a list")
    if body.changed_lists and _contains_list(value):
        is_new = len(node.targets) == 1 and _is_new_list(body, node.value)
        names = (each for target in node.targets for each in ast.walk(target))
        if not is_new and any(getattr(each, "id", "") in body.changed_lists for each in names):
            body.refuse("a list that is changed has one name, and begins as a new list")
    for target in node.targets:
        variables.assign(body, target, value)


def _is_new_list(body: Body, node: ast.expr) -> bool:
    """Return True if an expression makes a new list, such as `[1, 2]`, to which no variable refers
    yet."""
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.List | ast.ListComp | ast.BinOp)
    if isinstance(node.func, ast.Name):
        function = body.evaluate(node.func)
        if not isinstance(function, FunctionType | Nested):
            return True
        if isinstance(function, Nested) and function.free:
            return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "copy":
        return True
    read = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    return not any(
        _contains_list(body.last_values[name]) for name in read & body.last_values.keys()
    )


@visits(ast.AnnAssign)
def _ann_assign(body: Body, node: ast.AnnAssign) -> None:
    if node.value is not None:
        variables.assign(body, node.target, body.evaluate(node.value))


@visits(ast.AugAssign)
def _augmented_assignment(body: Body, node: ast.AugAssign) -> None:
    """Emit code for `+=` and other augmented assignments."""
    match node.target:
        case ast.Name():
            before = body.visit(ast.Name(node.target.id, ast.Load()))
            value = _evaluate_augmented(body, node, before)
            if isinstance(before, ArrayValue):  # NumPy changes the array itself
                arrays.write_array(body, before, slice(None), value)
            else:
                variables.assign_name(body, node.target.id, value)
        case ast.Subscript():
            owner = arrays.to_mutable(body, body.evaluate(node.target.value))
            index = body.evaluate(node.target.slice)
            before = sequences.read_item(body, owner, index)
            value = _evaluate_augmented(body, node, before)
            sequences.write_item(body, owner, index, value)
        case ast.Attribute():
            record = body.evaluate(node.target.value)
            if not isinstance(record, Record):
                body.refuse(f"{describe(record)} cannot be changed in compiled code")
            before = memory.read_field(body, record, node.target.attr)
            value = _evaluate_augmented(body, node, before)
            memory.write_field(body, record, node.target.attr, value)


def _evaluate_augmented(body: Body, node: ast.AugAssign, old_value: AnyValue) -> AnyValue:
    """Emit code for `old_value += …` or another augmented assignment, and return the new value."""
    if _contains_list(old_value):
        body.refuse("`+=` changes a list, which may have other names: use append")
    value = operators.emit_operator(body, node.op, old_value, body.evaluate(node.value))
    is_bool_array = isinstance(old_value, ArrayValue) and old_value.dtype == np.bool_
    if is_bool_array and value.dtype != np.bool_:
        body.refuse("an array of truth values does not take numbers in this way")
    return value


@visits(ast.Return)
def _return(body: Body, node: ast.Return) -> None:
    """Emit code for a `return` statement."""
    value = None if node.value is None else body.evaluate(node.value)
    if body.emit.is_reachable() and body.emit.block is not None:
        body.returns.append((body.emit.block, value))
        body.emit.block = None


@visits(ast.Raise)
def _raise(body: Body, node: ast.Raise) -> None:
    """Emit code for a `raise` statement."""
    if node.exc is None:
        body.refuse("`raise` needs an exception in compiled code")
    value = _evaluate_exception(body, node.exc)
    value = value() if isinstance(value, type) and issubclass(value, Exception) else value
    _refuse_placeholders(body, node)
    if not isinstance(value, Exception):
        body.refuse(f"found {describe(value)} in place of an exception")
    body.fail_if(True, f"{type(value).__name__}: {value}")


def _refuse_placeholders(body: Body, node: ast.AST) -> None:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and re.search(r"\{\d\}", str(part.value)):
            body.refuse("the text of an error has no {0} in compiled code")


def _evaluate_exception(body: Body, node: ast.expr) -> AnyValue:
    """Return the exception of a `raise` statement. If its message contains numbers that are
    computed at run time, these are stored with the error, and the message has {0}, {1} … in their
    place."""
    if isinstance(node, ast.Call) and not node.keywords:
        values = tuple(sequences.evaluate_all(body, node.args))
        cls = body.evaluate(node.func)
        if isinstance(cls, type) and not is_known(values):
            for k, value in enumerate(values[:ERROR_NUMBERS]):
                if not is_known(value):
                    body.store_error_number(k, arithmetic.to_int(body, value))
            return cls(*(each if is_known(each) else f"{{{k}}}" for k, each in enumerate(values)))
    return body.evaluate(node)


@visits(ast.Assert)
def _assert(body: Body, node: ast.Assert) -> None:
    """Emit code for an `assert` statement."""
    text = "" if node.msg is None else body.evaluate(node.msg)
    _refuse_placeholders(body, node)
    condition = expressions.emit_condition(body, node.test)
    body.fail_if(arithmetic.emit_not(body, condition), f"AssertionError: {text}")


@visits(ast.If)
def _if(body: Body, node: ast.If) -> None:
    """Emit code for an `if` statement."""
    test = expressions.emit_condition(body, node.test)
    if isinstance(test, bool):
        compile_statements(body, node.body if test else node.orelse)
        return
    variables.flag_unset(body, [*node.body, *node.orelse])
    then_label, else_label, end_label = (body.emit.new_block() for _ in range(3))
    body.emit.branch(test.operand, then_label, else_label)
    with body.branching() as fork:
        for label, statements in ((then_label, node.body), (else_label, node.orelse)):
            fork.begin_branch()
            body.emit.start_block(label)
            compile_statements(body, statements)
            if body.emit.is_reachable():
                fork.end_branch()
                body.emit.jump(end_label)
    if fork.after:
        body.emit.start_block(end_label)


@visits(ast.While)
def _while(body: Body, node: ast.While) -> None:
    """Emit code for a `while` loop."""
    nodes = [node.test, *node.body]
    variables.flag_unset(body, [*nodes, *node.orelse])
    variables.forget_known(body, nodes)
    test_label, body_label, else_label, end_label = (body.emit.new_block() for _ in range(4))
    loop = Loop(body.emit.new_block(), end_label)
    body.loops.append(loop)
    with flow.releasing_arrays(body, loop, nodes, body.variables.copy()):
        body.emit.jump(test_label)
        body.emit.start_block(test_label)
        test = expressions.emit_condition(body, node.test)
        if isinstance(test, bool):
            body.emit.jump(body_label if test else else_label)
        else:
            body.emit.branch(test.operand, body_label, else_label)
        before = body.save_variables()
        if test is not False:
            body.emit.start_block(body_label)
            _compile_loop_body(body, node.body, loop)
    body.emit.jump(test_label)
    body.merge_variables([before, *loop.continue_states])
    variables.forget_known(body, nodes)
    _finish_loop(body, loop, else_label, node.orelse, is_else_reached=test is not True)


def _compile_loop_body(body: Body, statements: list[ast.stmt], loop: Loop) -> None:
    """Emit code for the statements inside a loop, where `break` and `continue` refer to `loop`."""
    compile_statements(body, statements)
    if body.emit.is_reachable():
        loop.continue_states.append(body.save_variables())
        body.emit.jump(loop.continue_label)


def _finish_loop(
    body: Body,
    loop: Loop,
    else_label: str,
    statements: list[ast.stmt],
    is_else_reached: bool = True,
) -> None:
    """Emit code for the `else` block of a loop, given by its `statements`, and go on after the
    loop. `is_else_reached` is False if the loop can only end by `break`."""
    body.loops.pop()
    if is_else_reached:
        body.emit.start_block(else_label)
        compile_statements(body, statements)
        if body.emit.is_reachable():
            loop.break_states.append(body.save_variables())
            body.emit.jump(loop.break_label)
    if loop.break_states:
        body.emit.start_block(loop.break_label)
        body.merge_variables(loop.break_states)


@visits(ast.For)
def _for(body: Body, node: ast.For) -> None:
    """Emit code for a `for` loop."""
    items = _evaluate_iterable(body, node)
    if isinstance(items, tuple):
        _unroll(body, node, items)
    else:
        _emit_for_loop(body, node, items)


def _evaluate_iterable(body: Body, node: ast.For) -> tuple[Any, ...] | Iterated:
    """Return what a `for` loop iterates over: a tuple if the items are known at compile time (the
    loop is unrolled), else an `Iterated`. As in Python, items that the loop body appends to the
    list are visited, too."""
    local_lists = body.changed_lists & body.source.assigned.keys()
    if isinstance(node.iter, ast.Name) and node.iter.id in local_lists:
        values = variables.read_variable(body, node.iter.id)
        if is_growing(values) and values.item_template is not None:
            return sequences.iterate_list(body, values)
    changed = find_usage(*node.body).changed_lists & find_usage(node.iter).reads.keys()
    for name in sorted(changed & body.last_values.keys()):
        if is_growing(body.last_values[name]):
            body.refuse(f"a loop changes {name!r}, whose items it takes: loop over it alone")
    return sequences.get_items(body, body.evaluate(node.iter))


def _emit_for_loop(body: Body, node: ast.For, items: Iterated) -> None:
    """Emit a `for` loop whose items are computed at run time."""
    nodes = [node.target, *node.body]
    variables.flag_unset(body, [*nodes, *node.orelse])
    before = body.save_variables()
    variables.forget_known(body, nodes)
    else_label, end_label = body.emit.new_block(), body.emit.new_block()
    loop = Loop(body.emit.new_block(), end_label)
    body.loops.append(loop)

    def emit_iteration(k: Scalar) -> None:
        variables.assign(body, node.target, items.read(k))
        _compile_loop_body(body, node.body, loop)

    flow.emit_counted_loop(body, items.length, emit_iteration, loop, else_label, nodes)
    body.merge_variables([before, *loop.continue_states])
    variables.forget_known(body, nodes)
    _finish_loop(body, loop, else_label, node.orelse)


def _unroll(body: Body, node: ast.For, items: tuple[Any, ...]) -> None:
    """Emit the body of a `for` loop once for each of `items`, without a loop at run time."""
    if not items and not node.orelse:
        return
    nodes = [node.target, *node.body]
    variables.flag_unset(body, [*nodes, *node.orelse])
    loop, is_else_reached = Loop("", body.emit.new_block()), True
    body.loops.append(loop)
    for item in items:
        loop.continue_label, loop.continue_states = body.emit.new_block(), []
        variables.forget_known(body, nodes, is_unrolled=True)
        variables.assign(body, node.target, item)
        _compile_loop_body(body, node.body, loop)
        body.emit.start_block(loop.continue_label)
        body.merge_variables(loop.continue_states)
        if not loop.continue_states:  # every path leaves the loop
            body.emit.terminate("unreachable")
            is_else_reached = False
            break
    else_label = body.emit.new_block()
    if is_else_reached:
        variables.forget_known(body, nodes, is_unrolled=True)
        body.emit.jump(else_label)
    _finish_loop(body, loop, else_label, node.orelse, is_else_reached)


@visits(ast.Break)
def _break(body: Body, node: ast.Break) -> None:
    body.loops[-1].break_states.append(body.save_variables())
    body.emit.jump(body.loops[-1].break_label)


@visits(ast.Continue)
def _continue(body: Body, node: ast.Continue) -> None:
    body.loops[-1].continue_states.append(body.save_variables())
    body.emit.jump(body.loops[-1].continue_label)


def _find_conflicts(node: ast.AST) -> Iterator[str]:
    """Yield the names of list variables that an expression both changes, as by `pop`, and reads
    elsewhere."""
    reads: set[str] = set()
    changed: set[str] = set()
    waiting: list[ast.AST] = [node]
    while waiting:
        match part := waiting.pop():
            case ast.Call(ast.Attribute(ast.Name(name), method)) if method in LIST_METHODS:
                changed.add(name)
                for argument in part.args:
                    yield from _find_conflicts(argument)
            case ast.Name(name, ast.Load()):
                reads.add(name)
            case _:
                waiting += ast.iter_child_nodes(part)
    yield from sorted(reads & changed)


def _contains_list(value: Any) -> bool:
    return any(isinstance(each, list | ListValue) for each in iter_nested(value))
