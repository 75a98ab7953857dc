"""Comprehensions, and `any`, `all` and `sum` of generators."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gv_engine.compiler.language import (
    arithmetic,
    arrays,
    expressions,
    flow,
    memory,
    operators,
    sequences,
    variables,
)
from gv_engine.compiler.language.arithmetic import NARROW_ARITHMETIC
from gv_engine.compiler.language.body import Body, visits
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.values import (
    Kind,
    ListValue,
    Scalar,
    bounds_of,
    describe,
    is_number,
    kind_of,
    kind_of_dtype,
    narrow_dtype_of,
)


def check_sum_start(body: Body, start: Any = 0) -> int | Scalar:
    """Return the number that a sum begins with; refuse what is no integer."""
    if not is_number(start) or kind_of(start) is not Kind.INT or narrow_dtype_of(start):
        body.refuse(f"found {describe(start)} in place of an integer that `sum` begins with")
    return start  # type: ignore[no-any-return]


@visits(ast.ListComp, ast.GeneratorExp)
def _list_comp(body: Body, node: ast.ListComp | ast.GeneratorExp) -> Any:
    """Return a list of values if what is iterated is known item by item, else an array."""
    generator = node.generators[0]
    items = sequences.get_items(body, body.evaluate(generator.iter))
    if isinstance(items, tuple):
        is_listed = len(node.generators) > 1 or not generator.ifs or not items
        if is_listed or _are_filters_known(body, generator, items):
            return _unroll(body, node.elt, node.generators, items)
        items = sequences.to_table(body, items)
    if len(node.generators) > 1:
        body.refuse("a list takes one `for` over items that are not known: write loops")
    length = items.length
    count = body.emit.alloca("i64")
    body.emit.do(f"store i64 0, ptr {count}")
    width = len(node.elt.elts) if isinstance(node.elt, ast.Tuple) else 1
    # eight bytes for each number, before its type is known
    columns = [arrays.allocate_array(body, length, np.dtype(np.int64)) for _ in range(width)]

    def add(k: Scalar) -> None:
        variables.assign(body, generator.target, items.read(k))
        for end in _skip_unless(body, generator.ifs):
            value = body.evaluate(node.elt)
            place = Scalar(Kind.INT, body.emit.value(f"load i64, ptr {count}"), 0)
            for j, part in enumerate(value if isinstance(value, tuple) else (value,)):
                number = arithmetic.to_number(body, part)
                dtype = number.kind.dtype
                if number.narrow_dtype:
                    body.refuse(NARROW_ARITHMETIC.format(number.narrow_dtype))
                columns[j] = replace(columns[j], dtype=dtype, strides=(dtype.itemsize,))
                memory.store(
                    body, arrays.element_address(body, columns[j], (place,), True), dtype, number
                )
            after = body.emit.value(f"add i64 {place.operand}, 1")
            body.emit.do(f"store i64 {after}, ptr {count}")
            body.emit.jump(end)

    flow.emit_loop(body, length, add, [generator.target, *generator.ifs, node.elt])
    size = Scalar(Kind.INT, body.emit.value(f"load i64, ptr {count}"), 0, bounds_of(length)[1])
    found = tuple(replace(column, shape=(size,)) for column in columns)
    item = tuple(Scalar(kind_of_dtype(each.dtype), "") for each in found)
    return ListValue(found, item if isinstance(node.elt, ast.Tuple) else item[0])


def _are_filters_known(body: Body, generator: ast.comprehension, items: tuple[Any, ...]) -> bool:
    """Return True if the tests of a comprehension do not depend on the running program. Their
    code here stands where nothing reaches it."""
    block = body.emit.block
    assert block is not None
    with body.branching() as fork:
        body.emit.start_block(body.emit.new_block())
        variables.assign(body, generator.target, items[0])
        are_known = all(
            isinstance(expressions.emit_condition(body, test), bool) for test in generator.ifs
        )
        body.emit.terminate("unreachable")
        fork.begin_branch()
    body.emit.start_block(block)
    return are_known


def _unroll(
    body: Body,
    element: ast.expr,
    generators: list[ast.comprehension],
    items: tuple[Any, ...],
) -> Any:
    """Return the list of a comprehension over known items."""
    values: list[Any] = []
    generator, *inner = generators
    for item in items:
        variables.assign(body, generator.target, item)
        is_taken = all(map(partial(_require_known_condition, body), generator.ifs))
        if is_taken and inner:
            more = sequences.get_items(body, body.evaluate(inner[0].iter))
            if not isinstance(more, tuple):
                body.refuse("a list takes one `for` over items that are not known: write loops")
            values += _unroll(body, element, inner, more)
        elif is_taken:
            values.append(body.evaluate(element))
    return values


def _require_known_condition(body: Body, test: ast.expr) -> bool:
    truth = expressions.emit_condition(body, test)
    if not isinstance(truth, bool):
        body.refuse("the `if` of this comprehension is not known: write a loop")
    return truth


def _skip_unless(body: Body, tests: list[ast.expr]) -> Iterator[str]:
    """Yield once the label to jump to at the end of the code that runs if all tests hold."""
    end = body.emit.new_block()
    for test in tests:
        found = expressions.emit_condition(body, test)
        if found is True:
            continue
        more = body.emit.new_block()
        body.emit.branch(arithmetic.to_number(body, found).operand, more, end)
        body.emit.start_block(more)
    yield end
    body.emit.start_block(end)


def emit_reduction(body: Body, function: Any, node: ast.GeneratorExp, start: int | Scalar) -> Any:
    """Return `any`, `all` or `sum` of a generator; `any` and `all` stop as soon as Python."""
    is_sum, found, end = function is sum, function is not all, body.emit.new_block()
    first = arithmetic.to_int(body, start) if is_sum else constant(function is all)
    result = body.emit.alloca(first.kind.llvm)
    body.emit.do(f"store {first.kind.llvm} {first.operand}, ptr {result}")

    def add() -> None:
        before = Scalar(Kind.INT, body.emit.value(f"load i64, ptr {result}"))
        total = operators.emit_operator(body, ast.Add(), before, body.evaluate(node.elt))
        if total.kind is not Kind.INT:
            body.refuse("`sum` of fractions rounds by version of Python: use add_up")
        body.emit.do(f"store i64 {total.operand}, ptr {result}")

    def look() -> None:
        test = expressions.emit_condition(body, node.elt)
        hit, skip = body.emit.new_block(), body.emit.new_block()
        wanted = test if found else arithmetic.emit_not(body, test)
        body.emit.branch(arithmetic.to_number(body, wanted).operand, hit, skip)
        body.emit.start_block(hit)
        body.emit.do(f"store i1 {constant(found).operand}, ptr {result}")
        body.emit.jump(end)
        body.emit.start_block(skip)

    _emit_nested_loops(body, node.generators, node.elt, add if is_sum else look)
    body.emit.jump(end)
    body.emit.start_block(end)
    text = body.emit.value(f"load {first.kind.llvm}, ptr {result}")
    return Scalar(first.kind, text)


def _emit_nested_loops(
    body: Body,
    generators: list[ast.comprehension],
    element: ast.expr,
    act: Callable[[], None],
) -> None:
    """Call `act` for all items of the generators of a comprehension."""
    generator, *inner = generators
    items = sequences.get_items(body, body.evaluate(generator.iter))
    table = sequences.to_table(body, items) if isinstance(items, tuple) else items

    def visit(k: Scalar) -> None:
        variables.assign(body, generator.target, table.read(k))
        for skip in _skip_unless(body, generator.ifs):
            _emit_nested_loops(body, inner, element, act) if inner else act()
            body.emit.jump(skip)

    nodes = [part for each in inner for part in (each.target, each.iter, *each.ifs)]
    flow.emit_loop(body, table.length, visit, [generator.target, *generator.ifs, *nodes, element])
