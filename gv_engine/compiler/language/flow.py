"""Control flow in compiled code: branches that return a value, and loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.body import Body, Loop, Unknown
from gv_engine.compiler.language.source import find_usage
from gv_engine.compiler.language.values import (
    AnyValue,
    ArrayValue,
    Iterated,
    Kind,
    ListValue,
    Method,
    Range,
    Scalar,
    describe,
    is_known,
    is_number,
    iter_nested,
    kind_of,
    leaves,
    narrow_dtype_of,
    rebuild,
    storage_key,
    subvalues_of,
    to_known,
    to_range,
    version_key,
    with_parts,
)


def emit_conditional(
    body: Body, test: Scalar | bool, then: Callable[[], Any], otherwise: Callable[[], Any]
) -> AnyValue:
    """Emit a branch: `then` and `otherwise` emit the code of both sides and return their values.
    Return the merged value (a phi node). For a test that is constant at compile time, emit only one
    side."""
    if isinstance(test, bool):
        return then() if test else otherwise()
    then_label, else_label, merge_label = (body.emit.new_block() for _ in range(3))
    body.emit.branch(test.operand, then_label, else_label)
    incoming: list[tuple[str, Any]] = []  # last block and value of each branch that goes on
    with body.branching() as fork:
        for label, emit_branch in ((then_label, then), (else_label, otherwise)):
            fork.begin_branch()
            body.emit.start_block(label)
            try:
                value = to_known(emit_branch())
            except Unknown:  # only a later try knows the value
                body.emit.start_unreachable()
                body.emit.terminate("unreachable")
                continue
            if body.emit.is_reachable() and body.emit.block is not None:
                fork.end_branch()
                incoming.append((body.emit.block, value))
    if not incoming:
        body.emit.start_unreachable()
        return None
    return _merge_branches(body, incoming, merge_label)


def _merge_branches(body: Body, incoming: list[tuple[str, Any]], merge_label: str) -> AnyValue:
    """Emit the jumps from the ends of branches to `merge_label`, and return their merged value
    there (phi nodes). `incoming` has (last block, value) of each branch."""
    template = reduce(partial(join_values, body), [value for _, value in incoming])
    operands: list[list[str]] = []
    labels: list[str] = []
    for label, value in incoming:
        body.emit.start_block(label)
        converted = convert_to_template(body, value, template)
        operands.append([leaf.operand for leaf in leaves(converted)])
        labels.append(str(body.emit.block))  # the conversion may have started another block
        body.emit.jump(merge_label)
    body.emit.start_block(merge_label)
    merged = [
        body.emit.phi(leaf.llvm, zip(branch_operands, labels))
        for leaf, branch_operands in zip(leaves(template), zip(*operands))
    ]
    return rebuild(template, iter(merged))


def join_values(body: Body, a: AnyValue, b: AnyValue) -> AnyValue:
    """Return a value with blank LLVM names (a template) that can hold both `a` and `b`. Equal
    constants stay constant; int and float give float."""
    if is_known(a) and a is b:
        return a
    if is_number(a) and is_number(b):
        if is_known((a, b)) and version_key(a) == version_key(b):
            return a
        kind = arithmetic.join_kinds(body, kind_of(a), kind_of(b))
        x, y = arithmetic.to_number(body, a), arithmetic.to_number(body, b)
        return Scalar(kind, "", min(x.low, y.low), max(x.high, y.high), narrow_dtype_of(a, b))
    if isinstance(a, Range | range) and isinstance(b, Range | range):
        a, b = to_range(a), to_range(b)
    if (parts := subvalues_of(a)) and storage_key(a) == storage_key(b):
        return with_parts(a, map(partial(join_values, body), parts, subvalues_of(b)))
    if storage_key(a) == storage_key(b) and (is_known((a, b)) or not isinstance(a, Method)):
        return a
    body.refuse(f"the value is {describe(a)} here and {describe(b)} there")


def convert_to_template(body: Body, value: AnyValue, template: AnyValue) -> AnyValue:
    """Emit conversions that make `value` fit `template`, the result of `join_values`; return the
    converted value."""
    if isinstance(template, Scalar):
        if template.kind is Kind.FLOAT:
            return arithmetic.to_exact_float(body, value)
        return arithmetic.to_kind(body, value, template.kind)
    if isinstance(template, Range):
        value = to_range(value)
    if not (parts := subvalues_of(value)):
        return value
    converted = map(partial(convert_to_template, body), parts, subvalues_of(template))
    return with_parts(value, converted)


# ---- loops ---------------------------------------------------------------------------------------


@contextmanager
def releasing_arrays(
    body: Body, loop: Loop, nodes: Sequence[ast.AST] | None, before: Container[str]
) -> Iterator[None]:
    """Context manager around the code of one loop iteration. At its end, emit code that frees the
    arrays that the iteration has allocated, unless one of them is used later.

    Args:
        nodes: code of the iteration; None to release nothing.
        before: variables before the loop.
    """
    if nodes is None:
        yield
        body.emit.start_block(loop.continue_label)
        return
    insert_before_loop, used_arena_before = body.emit.reserve_position(), body.uses_arena
    body.uses_arena = False
    yield
    body.emit.start_block(loop.continue_label)
    if body.uses_arena and not _lets_arrays_escape(body, nodes, before):
        used = insert_before_loop("load i64, ptr %arena")
        body.emit.do(f"store i64 {used}, ptr %arena")
    body.uses_arena |= used_arena_before


def _lets_arrays_escape(body: Body, nodes: Sequence[ast.AST], outer: Container[str]) -> bool:
    """Return True if code after a loop iteration may use an array that the iteration has allocated.
    `nodes` is the code of the iteration, and `outer` has the variables from before the loop."""
    usage = find_usage(*nodes)
    return any(
        _contains_array(body.last_values[name])
        and (name in outer or name in body.carried or usage.reads[name] < body.source.loads[name])
        for name in (usage.stores.keys() | usage.changed_lists) & body.last_values.keys()
    )


def emit_loop(
    body: Body,
    count: int | Scalar,
    emit_iteration: Callable[[Scalar], None],
    nodes: Sequence[ast.AST] | None = None,
) -> None:
    """Emit a loop over the integers from 0 to `count` - 1. `emit_iteration(k)` is called once, to
    emit the loop's code. If `nodes`, the source of that code, is given, arrays allocated in an
    iteration are freed at its end."""
    before, loop = body.save_variables(), Loop(body.emit.new_block(), body.emit.new_block())

    def emit_and_continue(k: Scalar) -> None:
        emit_iteration(k)
        if body.emit.is_reachable():
            body.emit.jump(loop.continue_label)

    emit_counted_loop(body, count, emit_and_continue, loop, loop.break_label, nodes)
    body.merge_variables([before, body.save_variables()])
    body.emit.start_block(loop.break_label)


def emit_counted_loop(
    body: Body,
    count: AnyValue,
    emit_iteration: Callable[[Scalar], None],
    loop: Loop,
    end_label: str,
    nodes: Sequence[ast.AST] | None,
) -> None:
    """Emit a loop over the integers from 0 to `count` - 1, which ends with a jump to `end_label`.
    `count` is a number, or a function that emits code for it before each iteration.
    `emit_iteration` and `nodes` are as for `emit_loop`."""
    known_count = None if callable(count) else arithmetic.to_int(body, count)
    test_label, body_label = (body.emit.new_block() for _ in range(2))
    next_k = body.emit.new_name()
    with releasing_arrays(body, loop, nodes, body.variables.copy()):
        start_label = str(body.emit.block)
        body.emit.jump(test_label)
        body.emit.start_block(test_label)
        k = body.emit.phi("i64", [("0", start_label), (next_k, loop.continue_label)])
        stop = known_count or arithmetic.to_int(body, count())
        is_inside = body.emit.value(f"icmp slt i64 {k}, {stop.operand}")
        body.emit.branch(is_inside, body_label, end_label)
        body.emit.start_block(body_label)
        emit_iteration(Scalar(Kind.INT, k, 0, max(stop.high - 1, 0)))
    body.emit.do(f"{next_k} = add i64 {k}, 1")
    body.emit.jump(test_label)


def _contains_array(value: Any) -> bool:
    return any(isinstance(each, ArrayValue | ListValue | Iterated) for each in iter_nested(value))
