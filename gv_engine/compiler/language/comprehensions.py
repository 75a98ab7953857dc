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
    AnyValue,
    Iterated,
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


def check_sum_start(body: Body, start: AnyValue = 0) -> int | Scalar:
    """Return the number with which a sum begins; refuse what is no integer."""
    if not is_number(start) or kind_of(start) is not Kind.INT or narrow_dtype_of(start):
        body.refuse(f"found {describe(start)} in place of an integer that `sum` begins with")
    return start  # type: ignore[no-any-return]


@visits(ast.ListComp, ast.GeneratorExp)
def _list_comp(body: Body, node: ast.ListComp | ast.GeneratorExp) -> AnyValue:
    """Emit code for a list comprehension. Return a Python list if everything is constant at compile
    time. Otherwise emit a loop, and return a list in memory."""
    generator = node.generators[0]
    items = sequences.get_items(body, body.evaluate(generator.iter))
    if isinstance(items, tuple):
        has_conditions = len(node.generators) == 1 and generator.ifs and items
        if not has_conditions or _are_filters_known(body, generator, items):
            return _unroll(body, node.elt, node.generators, items)
        items = sequences.to_table(body, items)
    if len(node.generators) > 1:
        body.refuse("a list takes one `for` over items that are not known: write loops")
    return _emit_list_loop(body, node.elt, generator, items)


def _emit_list_loop(
    body: Body, element: ast.expr, generator: ast.comprehension, items: Iterated
) -> ListValue:
    """Emit the loop of the list comprehension `[element for … in items]`; return its list."""
    length = items.length
    count_slot = body.emit.alloca("i64")
    body.emit.do(f"store i64 0, ptr {count_slot}")
    width = len(element.elts) if isinstance(element, ast.Tuple) else 1
    # eight bytes for each number, before its type is known
    columns = [arrays.allocate_array(body, length, np.dtype(np.int64)) for _ in range(width)]

    def emit_append(k: Scalar) -> None:
        variables.assign(body, generator.target, items.read(k))
        for skip_label in _emit_if_all(body, generator.ifs):
            value = body.evaluate(element)
            count = Scalar(Kind.INT, body.emit.value(f"load i64, ptr {count_slot}"), 0)
            for j, part in enumerate(value if isinstance(value, tuple) else (value,)):
                number = arithmetic.to_number(body, part)
                dtype = number.kind.dtype
                if number.narrow_dtype:
                    body.refuse(NARROW_ARITHMETIC.format(number.narrow_dtype))
                columns[j] = replace(columns[j], dtype=dtype, strides=(dtype.itemsize,))
                pointer = arrays.element_address(body, columns[j], (count,), is_inside=True)
                memory.store(body, pointer, dtype, number)
            new_count = body.emit.value(f"add i64 {count.operand}, 1")
            body.emit.do(f"store i64 {new_count}, ptr {count_slot}")
            body.emit.jump(skip_label)

    flow.emit_loop(body, length, emit_append, [generator.target, *generator.ifs, element])
    count = body.emit.value(f"load i64, ptr {count_slot}")
    size = Scalar(Kind.INT, count, 0, bounds_of(length)[1])
    templates = tuple(Scalar(kind_of_dtype(column.dtype), "") for column in columns)
    return ListValue(
        tuple(replace(column, shape=(size,)) for column in columns),
        templates if isinstance(element, ast.Tuple) else templates[0],
    )


def _are_filters_known(body: Body, generator: ast.comprehension, items: tuple[Any, ...]) -> bool:
    """Return True if all conditions of a comprehension are constant at compile time. To find out,
    they are compiled, and the code is discarded."""
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
) -> AnyValue:
    """Return the list of a comprehension whose loop runs at compile time, once for each of `items`,
    the items of the first generator."""
    values: list[Any] = []
    generator, *inner = generators
    for item in items:
        variables.assign(body, generator.target, item)
        is_taken = all(map(partial(_require_known_condition, body), generator.ifs))
        if is_taken and inner:
            inner_items = sequences.get_items(body, body.evaluate(inner[0].iter))
            if not isinstance(inner_items, tuple):
                body.refuse("a list takes one `for` over items that are not known: write loops")
            values += _unroll(body, element, inner, inner_items)
        elif is_taken:
            values.append(body.evaluate(element))
    return values


def _require_known_condition(body: Body, test: ast.expr) -> bool:
    """Return the truth of a condition that is constant at compile time; raise an error if it is
    not."""
    truth = expressions.emit_condition(body, test)
    if not isinstance(truth, bool):
        body.refuse("the `if` of this comprehension is not known: write a loop")
    return truth


def _emit_if_all(body: Body, tests: list[ast.expr]) -> Iterator[str]:
    """Emit jumps around code that is to run only if all `tests` hold. Used as `for label in
    _emit_if_all(…)`: the code in this block must end with a jump to `label`."""
    skip_label = body.emit.new_block()
    for test in tests:
        condition = expressions.emit_condition(body, test)
        if condition is True:
            continue
        next_label = body.emit.new_block()
        body.emit.branch(arithmetic.to_number(body, condition).operand, next_label, skip_label)
        body.emit.start_block(next_label)
    yield skip_label
    body.emit.start_block(skip_label)


def emit_reduction(
    body: Body, function: Any, node: ast.GeneratorExp, start: int | Scalar
) -> Scalar:
    """Emit the loops for `any`, `all` or `sum` (`function`) of a generator expression; return the
    result. `any` and `all` stop at the first item that decides."""
    is_sum, is_any = function is sum, function is any
    first = arithmetic.to_int(body, start) if is_sum else constant(not is_any)
    llvm = first.kind.llvm
    end_label, slot = body.emit.new_block(), body.emit.alloca(llvm)
    body.emit.do(f"store {llvm} {first.operand}, ptr {slot}")

    def emit_addition() -> None:
        total = Scalar(Kind.INT, body.emit.value(f"load i64, ptr {slot}"))
        new_total = operators.emit_operator(body, ast.Add(), total, body.evaluate(node.elt))
        if new_total.kind is not Kind.INT:
            body.refuse("`sum` of fractions rounds by version of Python: use add_up")
        body.emit.do(f"store i64 {new_total.operand}, ptr {slot}")

    def emit_stop() -> None:
        condition = expressions.emit_condition(body, node.elt)
        stop_label, next_label = body.emit.new_block(), body.emit.new_block()
        is_decided = condition if is_any else arithmetic.emit_not(body, condition)
        body.emit.branch(arithmetic.to_number(body, is_decided).operand, stop_label, next_label)
        body.emit.start_block(stop_label)
        body.emit.do(f"store i1 {constant(is_any).operand}, ptr {slot}")
        body.emit.jump(end_label)
        body.emit.start_block(next_label)

    _emit_nested_loops(body, node.generators, node.elt, emit_addition if is_sum else emit_stop)
    body.emit.jump(end_label)
    body.emit.start_block(end_label)
    return Scalar(first.kind, body.emit.value(f"load {llvm}, ptr {slot}"))


def _emit_nested_loops(
    body: Body,
    generators: list[ast.comprehension],
    element: ast.expr,
    emit_item: Callable[[], None],
) -> None:
    """Emit the nested loops of a comprehension, one for each generator. `emit_item` is called once,
    to emit the code of the innermost loop."""
    generator, *inner = generators
    items = sequences.get_items(body, body.evaluate(generator.iter))
    table = sequences.to_table(body, items) if isinstance(items, tuple) else items

    def visit(k: Scalar) -> None:
        variables.assign(body, generator.target, table.read(k))
        for skip_label in _emit_if_all(body, generator.ifs):
            if inner:
                _emit_nested_loops(body, inner, element, emit_item)
            else:
                emit_item()
            body.emit.jump(skip_label)

    nodes = [node for each in inner for node in (each.target, each.iter, *each.ifs)]
    flow.emit_loop(body, table.length, visit, [generator.target, *generator.ifs, *nodes, element])
