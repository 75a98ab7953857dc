"""Control flow: branches that bring a value, the form that holds all of them, and loops."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.body import Body, Loop, Unknown
from gv_engine.compiler.language.source import find_usage
from gv_engine.compiler.language.values import (
    ArrayValue,
    Iterated,
    Kind,
    ListValue,
    Method,
    Range,
    Scalar,
    describe,
    form_of,
    is_known,
    is_number,
    kind_of,
    leaves,
    narrow_of,
    parts_of,
    rebuild,
    storage_key,
    to_known,
    to_range,
    walk,
    with_parts,
)


def choose_value(
    body: Body, test: Scalar | bool, then: Callable[[], Any], otherwise: Callable[[], Any]
) -> Any:
    """Return the value of one of two branches."""
    if isinstance(test, bool):
        return then() if test else otherwise()
    labels = [body.emit.new_block() for _ in range(3)]
    body.emit.branch(test.text, labels[0], labels[1])
    ends: list[tuple[str, Any]] = []
    with body.forking() as fork:
        for label, branch in zip(labels, (then, otherwise)):
            fork.begin()
            body.emit.start(label)
            try:
                value = to_known(branch())
            except Unknown:
                body.emit.start_dead()
            if body.emit.is_open() and body.emit.block is not None:
                fork.end()
                ends.append((body.emit.block, value))
    if not ends:
        body.emit.start_dead()
        return None
    return _merge(body, ends, labels[2])


def _merge(body: Body, ends: list[tuple[str, Any]], label: str) -> Any:
    """Let blocks go on at `label`; return the value that each of them brings."""
    joined = ends[0][1]
    for _, value in ends[1:]:
        joined = join(body, joined, value)
    texts: list[list[str]] = []
    blocks: list[str] = []
    for block, value in ends:
        body.emit.start(block)
        texts.append([leaf.text for leaf in leaves(fit(body, value, joined))])
        blocks.append(str(body.emit.block))  # `fit` may have left the block
        body.emit.jump(label)
    body.emit.start(label)
    merged = [
        body.emit.phi(leaf.llvm, zip(row, blocks)) for leaf, row in zip(leaves(joined), zip(*texts))
    ]
    return rebuild(joined, iter(merged))


def join(body: Body, a: Any, b: Any) -> Any:
    """Return a value of the form that can hold both values: equal known values stay known,
    numbers of two kinds become numbers of the wider kind."""
    if is_known(a) and a is b:
        return a
    if is_number(a) and is_number(b):
        if is_known((a, b)) and form_of(a) == form_of(b):
            return a
        kind = arithmetic.join_kinds(body, kind_of(a), kind_of(b))
        x, y = arithmetic.to_number(body, a), arithmetic.to_number(body, b)
        return Scalar(kind, "", min(x.low, y.low), max(x.high, y.high), narrow_of(a, b))
    if isinstance(a, Range | range) and isinstance(b, Range | range):
        a, b = to_range(a), to_range(b)
    if (parts := parts_of(a)) and storage_key(a) == storage_key(b):
        return with_parts(a, map(partial(join, body), parts, parts_of(b)))
    if storage_key(a) == storage_key(b) and (is_known((a, b)) or not isinstance(a, Method)):
        return a
    body.refuse(f"the value is {describe(a)} here and {describe(b)} there")


def fit(body: Body, value: Any, form: Any) -> Any:
    """Return a value in a form that `join` returned."""
    if isinstance(form, Scalar):
        is_float = form.kind is Kind.FLOAT
        return (
            arithmetic.to_exact_float(body, value)
            if is_float
            else arithmetic.convert(body, value, form.kind)
        )
    value = to_range(value) if isinstance(form, Range) else value
    parts = parts_of(value)
    return with_parts(value, map(partial(fit, body), parts, parts_of(form))) if parts else value


# ---- loops ---------------------------------------------------------------------------------------


@contextmanager
def releasing(
    body: Body, loop: Loop, nodes: Sequence[ast.AST] | None, before: Container[str]
) -> Iterator[None]:
    """Behind the code of a loop's turn, start its end: free the arrays that the turn has made,
    unless a variable brings one out of it.

    Args:
        nodes: code of the turn; None to free nothing.
        before: variables before the loop.
    """
    if nodes is None:
        yield
        body.emit.start(loop.step)
        return
    get_before, outer = body.emit.reserve(), body.has_arrays
    body.has_arrays = False
    yield
    body.emit.start(loop.step)
    if body.has_arrays and not _brings_arrays(body, nodes, before):
        mark = get_before("load i64, ptr %arena")
        body.emit.do(f"store i64 {mark}, ptr %arena")
    body.has_arrays |= outer


def _brings_arrays(body: Body, nodes: Sequence[ast.AST], before: Container[str]) -> bool:
    """Return True if code behind a turn of a loop can read an array of the turn."""
    usage = find_usage(*nodes)
    return any(
        _has_array(body.forms[name])
        and (name in before or name in body.carried or usage.reads[name] < body.source.loads[name])
        for name in (usage.stores.keys() | usage.grown) & body.forms.keys()
    )


def repeat(
    body: Body,
    count: int | Scalar,
    act: Callable[[Scalar], None],
    nodes: Sequence[ast.AST] | None = None,
) -> None:
    """Call `act` with the numbers from 0 to `count` - 1. If all code of a turn is that of `nodes`,
    a turn frees the arrays that no variable brings out of it."""
    before, loop = body.state(), Loop(body.emit.new_block(), body.emit.new_block())

    def turn(k: Scalar) -> None:
        act(k)
        if body.emit.is_open():
            body.emit.jump(loop.step)

    count_turns(body, count, turn, loop, loop.end, nodes)
    body.go_on([before, body.state()])
    body.emit.start(loop.end)


def count_turns(
    body: Body,
    count: Any,
    turn: Callable[[Scalar], None],
    loop: Loop,
    end: str,
    nodes: Sequence[ast.AST] | None,
) -> None:
    """Call `turn` with a counter from 0 to `count` - 1; go on at `end`."""
    number = None if callable(count) else arithmetic.to_int(body, count)
    head, inside = (body.emit.new_block() for _ in range(2))
    after = body.emit.new_name()
    with releasing(body, loop, nodes, body.variables.copy()):
        before = str(body.emit.block)
        body.emit.jump(head)
        body.emit.start(head)
        k = body.emit.phi("i64", [("0", before), (after, loop.step)])
        number = number or arithmetic.to_int(body, count())
        body.emit.branch(body.emit.get(f"icmp slt i64 {k}, {number.text}"), inside, end)
        body.emit.start(inside)
        turn(Scalar(Kind.INT, k, 0, max(number.high - 1, 0)))
    body.emit.do(f"{after} = add i64 {k}, 1")
    body.emit.jump(head)


def _has_array(value: Any) -> bool:
    return any(isinstance(each, ArrayValue | ListValue | Iterated) for each in walk(value))
