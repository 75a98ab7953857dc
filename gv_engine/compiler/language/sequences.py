"""Sequences in compiled code: indexing, unpacking, iteration, and lists in memory that change by
`append`, `pop` or assigned items."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NoReturn

import numpy as np

from gv_engine.compiler.language import arithmetic, arrays, flow, memory, operators
from gv_engine.compiler.language.arithmetic import NARROW_ARITHMETIC
from gv_engine.compiler.language.body import Body, CompileAgain
from gv_engine.compiler.language.values import (
    AnyValue,
    ArrayValue,
    Iterated,
    Kind,
    ListValue,
    Range,
    Record,
    Scalar,
    array_of,
    bounds_of,
    describe,
    is_known,
    is_number,
    kind_of,
    leaves,
    narrow_dtype_of,
    rebuild,
    subvalues_of,
    to_range,
)

_BYTES = {"true": "1", "false": "0"}


def evaluate_all(body: Body, nodes: Sequence[ast.expr]) -> Iterator[Any]:
    """Emit code for several expressions, such as the arguments of a call, and yield their values.
    `*items` gives the value of each item."""
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from unpack(body, body.evaluate(node.value))
        else:
            yield body.evaluate(node)


def unpack(body: Body, value: AnyValue, count: int | None = None) -> Sequence[Any]:
    """Return the items of a tuple, list or array whose length is constant. Raise an error for other
    values, or unless there are `count` items."""
    value = array_of(value)
    if isinstance(value, ArrayValue) and isinstance(length := value.shape[0], int):
        value = tuple(arrays.load_element(body, value, (k,)) for k in range(length))
    if not isinstance(value, Sequence) or isinstance(value, str):
        body.refuse(f"found {describe(value)}, which cannot be unpacked")
    if count is not None and len(value) != count:
        body.refuse(f"found {len(value)} values for {count} names")
    return value


def read_item(body: Body, owner: AnyValue, index: AnyValue) -> AnyValue:
    """Emit code for `owner[index]` of any value. Return the item, a constant if both are
    constants."""
    if isinstance(owner, Record) and isinstance(index, str):
        return memory.read_field(body, owner, index)
    if isinstance(owner, np.ndarray):
        if _is_known_element(owner, index):
            return owner[index]
        owner = arrays.constant_array(body, owner)
    if isinstance(owner, ArrayValue):
        return arrays.read_array(body, owner, index)
    if isinstance(owner, ListValue):
        return read_from_list(body, owner, index)
    if isinstance(owner, dict) and not is_known(index):
        return look_up_dict(body, owner, index)
    if is_known(index):
        try:
            return owner[index]
        except (LookupError, TypeError) as error:
            body.refuse(f"{type(error).__name__}: {error}")
    if isinstance(owner, tuple | list | range) and owner:
        return index_tuple(body, tuple(owner), index)
    body.refuse(f"{describe(owner)} takes an index that is known before the program runs")


def _is_known_element(array: np.ndarray[Any, Any], index: Any) -> bool:
    """Return True if `array[index]`, an element of a constant array, is known at compile time:
    `index` has a constant for each axis, all in bounds."""
    indices = index if isinstance(index, tuple) else (index,)
    return len(indices) == array.ndim and all(
        isinstance(number, int | np.integer) and 0 <= number < length
        for number, length in zip(indices, array.shape)
    )


def look_up_dict(body: Body, values: dict[Any, Any], key: AnyValue, *default: AnyValue) -> AnyValue:
    """Emit code for `values[key]` of a compile-time dict with a run-time key; return the value. For
    a missing key return `default`, or let the program fail if there is none."""
    index: Any = len(values)
    for k, known_key in enumerate(values):
        is_equal = operators.emit_comparison(body, ast.Eq(), key, known_key)
        index = arithmetic.emit_select(body, is_equal, k, index)
    if not default:
        is_missing = operators.emit_comparison(body, ast.Eq(), index, len(values))
        body.fail_if(is_missing, "KeyError: the dict has no such key")
    return index_tuple(body, (*values.values(), *default), index)


def index_tuple(body: Body, values: tuple[Any, ...], index: AnyValue) -> AnyValue:
    """Emit code for `values[index]` with a run-time index: store the items in a table and load one
    from there. Raise an error if the items have different types."""
    number = arrays.normalize_index(body, arithmetic.to_int(body, index), len(values))
    template = reduce(partial(flow.join_values, body), values)
    rows = [leaves(flow.convert_to_template(body, value, template)) for value in values]
    loaded = [
        _load_from_table(body, column[0].llvm, [leaf.operand for leaf in column], number)
        for column in zip(*rows)
    ]
    return rebuild(template, iter(loaded))


def _load_from_table(body: Body, llvm: str, operands: list[str], index: Scalar) -> str:
    """Emit a load of `operands[index]`, where `operands` are LLVM names or constants of the type
    `llvm`, put into a table in memory. Return the LLVM name of the result."""
    is_constant = not any(operand.startswith("%") for operand in operands)
    is_byte = is_constant and llvm == "i1"  # in constant memory, a truth value takes a byte
    if is_byte:
        llvm, operands = "i8", [_BYTES[operand] for operand in operands]
    if is_constant:
        table = body.module.table(llvm, operands)
    else:
        table = body.emit.alloca(f"[{len(operands)} x {llvm}]")
        for k, operand in enumerate(operands):
            pointer = body.emit.value(f"getelementptr {llvm}, ptr {table}, i64 {k}")
            body.emit.do(f"store {llvm} {operand}, ptr {pointer}")
    pointer = body.emit.value(f"getelementptr {llvm}, ptr {table}, i64 {index.operand}")
    loaded = body.emit.value(f"load {llvm}, ptr {pointer}")
    return body.emit.value(f"trunc i8 {loaded} to i1") if is_byte else loaded


def get_items(body: Body, value: AnyValue) -> tuple[Any, ...] | Iterated:
    """Return what a loop over `value` visits: a tuple of items if they are known at compile time
    (the loop can be unrolled), else an `Iterated`."""
    if isinstance(value, np.ndarray):
        value = arrays.constant_array(body, value)
    if isinstance(value, ArrayValue):
        return Iterated(value.shape[0], lambda k: arrays.read_array(body, value, k, is_inside=True))
    if isinstance(value, ListValue):
        return Iterated(value.length, lambda k: read_from_list(body, value, k, is_inside=True))
    if isinstance(value, range | Range):
        value = to_range(value)
        return Iterated(
            compute_range_length(body, value), lambda k: compute_range_item(body, value, k)
        )
    if isinstance(value, Iterated):
        return value
    if isinstance(value, tuple | list | frozenset | set | dict) or is_known(value):
        if isinstance(value, set | frozenset):
            body.refuse("a set has no order: iterate over a tuple, or `sorted(...)` of it")
        try:
            return tuple(value)
        except TypeError:
            pass
    body.refuse(f"found {describe(value)}, which cannot be iterated")


def to_table(body: Body, items: tuple[Any, ...]) -> Iterated:
    """Return the items of a tuple, which fit one template, as a table of the program."""
    return Iterated(len(items), lambda k: index_tuple(body, items, k) if items else 0)


def compute_range_length(body: Body, value: Range) -> int | Scalar:
    """Emit code for the length of a range. Return it, an int if it is constant at compile time."""
    bounds = value.start, value.stop, value.step
    if is_known(bounds):
        return len(range(*bounds))  # type: ignore[arg-type]
    if value.step != 1:
        length = body.call_function(count_range_items, value.start, value.stop, value.step)
        return replace(length, low=0) if isinstance(length, Scalar) else length
    span = operators.emit_operator(body, ast.Sub(), value.stop, value.start)
    is_positive = operators.emit_comparison(body, ast.Gt(), span, 0)
    length = arithmetic.emit_select(body, is_positive, span, 0)
    return Scalar(Kind.INT, length.operand, 0, max(length.high, 0))


def compute_range_item(body: Body, value: Range, index: Scalar) -> Scalar:
    """Emit code for the item of a range at `index`, `start + index * step`; return it."""
    start, stop = arithmetic.to_int(body, value.start), arithmetic.to_int(body, value.stop)
    item = index.operand
    if value.step != 1:
        item = body.emit.value(f"mul i64 {item}, {arithmetic.to_int(body, value.step).operand}")
    if start.operand != "0":
        item = body.emit.value(f"add i64 {start.operand}, {item}")
    low, high = min(start.low, stop.low + 1), max(start.high, stop.high - 1)
    min_step, max_step = bounds_of(value.step)
    if min_step > 0:
        low = start.low
    elif max_step < 0:
        high = start.high
    return Scalar(Kind.INT, item, low, max(low, high))


def iterate_list(body: Body, values: ListValue) -> Iterated:
    """Return what a loop over a list visits. As in Python, items that the loop appends to the list
    are visited, too."""
    return Iterated(
        lambda: read_count(body, values),
        lambda k: read_from_list(body, read_list(body, values), k, is_inside=True),
    )


def count_range_items(start: int, stop: int, step: int) -> int:
    """Return the number of items of a range; in the compiled language."""
    if step > 0:
        return 0 if stop <= start else (stop - start - 1) // step + 1
    return 0 if stop >= start else (start - stop - 1) // -step + 1


# ---- lists in memory -----------------------------------------------------------------------------

HEAD_SIZE = 16
"""Bytes before the addresses of a list's columns: the number of items, and the capacity."""


def _column_pointer(body: Body, values: ListValue, k: int) -> str:
    return body.emit.offset(values.pointer, HEAD_SIZE + 8 * k)


def read_from_list(
    body: Body, values: ListValue, index: AnyValue, is_inside: bool = False
) -> AnyValue:
    """Emit code for `values[index]` of a list. Return the item; for a slice, a new list.
    `is_inside` promises that the index is in bounds."""
    if isinstance(index, ArrayValue):
        body.refuse(arrays.ARRAY_INDEX)
    if isinstance(index, slice):
        views = (arrays.make_view(body, column, (index,)) for column in values.columns)
        return replace(values, columns=tuple(map(partial(arrays.copy_array, body), views)), name="")
    index = _to_index(body, index)
    numbers = (arrays.load_element(body, column, (index,), is_inside) for column in values.columns)
    return rebuild(values.item_template, (number.operand for number in numbers))


def _to_index(body: Body, index: AnyValue) -> AnyValue:
    is_bool = is_number(index) and kind_of(index) is Kind.BOOL
    return arithmetic.to_int(body, index) if is_bool else index


def write_item(body: Body, owner: ArrayValue | ListValue, index: AnyValue, value: AnyValue) -> None:
    """Emit code for `owner[index] = value` with an array or a list of numbers."""
    if isinstance(owner, ArrayValue):
        arrays.write_array(body, owner, index, value)
        return
    column = owner.columns[0]
    if isinstance(index, ArrayValue):
        body.refuse(arrays.ARRAY_INDEX)
    if isinstance(index, slice):
        if not isinstance(value, ArrayValue | ListValue | tuple | list):
            body.refuse(f"found {describe(value)} for a part of a list, which takes a list")
    elif narrow := narrow_dtype_of(value):
        body.refuse(NARROW_ARITHMETIC.format(narrow))
    elif owner.item_template.kind is Kind.BOOL and kind_of(value) is not Kind.BOOL:
        body.refuse("this list has truth values: begin it with numbers, such as [0] * n")
    arrays.write_array(body, column, _to_index(body, index), value)


def read_count(body: Body, values: ListValue) -> Scalar:
    """Emit a load of the number of items of a list in its variable."""
    return Scalar(Kind.INT, body.emit.value(f"load i64, ptr {values.pointer}"), 0)


def read_list(body: Body, values: ListValue) -> AnyValue:
    """Emit loads of a list's addresses and length from its variable's memory. Return the list as it
    is now."""
    if values.item_template is None:
        return []
    count, columns = read_count(body, values), []
    for k, number in enumerate(item_numbers(values.item_template)):
        dtype = number.kind.dtype
        pointer = body.emit.value(f"load ptr, ptr {_column_pointer(body, values, k)}")
        columns.append(ArrayValue(pointer, (count,), (dtype.itemsize,), dtype))
    return replace(values, columns=tuple(columns), pointer="")


def append_item(body: Body, values: ListValue, item: AnyValue) -> None:
    """Emit code for `values.append(item)`, where an item is a number or a tuple of numbers. If the
    list needs wider items, such as floats, compile the function again."""
    numbers = [arithmetic.to_number(body, part) for part in item_numbers(item)]
    if narrow := narrow_dtype_of(*numbers):
        body.refuse(NARROW_ARITHMETIC.format(narrow))
    kinds = [number.kind for number in numbers]
    old_numbers = () if values.item_template is None else item_numbers(values.item_template)
    if len(old_numbers) == len(kinds):
        kinds = [
            arithmetic.join_kinds(body, old.kind, kind) for old, kind in zip(old_numbers, kinds)
        ]
    templates = tuple(Scalar(kind, "") for kind in kinds)
    item_template = templates if isinstance(item, tuple) else templates[0]
    if item_template != values.item_template:
        widen_items(body, values, item_template)
    count = read_count(body, values).operand
    capacity = body.emit.value(f"load i64, ptr {body.emit.offset(values.pointer, 8)}")
    grow_label, append_label = body.emit.new_block(), body.emit.new_block()
    is_full = body.emit.value(f"icmp eq i64 {count}, {capacity}")
    body.emit.branch(is_full, grow_label, append_label)
    body.emit.start_block(grow_label)
    _double_capacity(body, values, count)
    body.emit.jump(append_label)
    body.emit.start_block(append_label)
    for k, (number, template) in enumerate(zip(numbers, templates)):
        dtype = template.kind.dtype
        start = body.emit.value(f"load ptr, ptr {_column_pointer(body, values, k)}")
        offset = body.emit.value(f"mul i64 {count}, {dtype.itemsize}")
        pointer = body.emit.offset(start, offset)
        memory.store(body, pointer, dtype, flow.convert_to_template(body, number, template))
    new_count = body.emit.value(f"add i64 {count}, 1")
    body.emit.do(f"store i64 {new_count}, ptr {values.pointer}")


def _double_capacity(body: Body, values: ListValue, count: str) -> None:
    """Emit code that moves a list of `count` items to new memory, for twice as many items and 8
    more."""
    capacity = body.emit.value(f"add i64 {body.emit.value(f'shl i64 {count}, 1')}, 8")
    body.emit.do(f"store i64 {capacity}, ptr {body.emit.offset(values.pointer, 8)}")
    for k, number in enumerate(item_numbers(values.item_template)):
        item_size = number.kind.dtype.itemsize
        new_size = Scalar(Kind.INT, body.emit.value(f"mul i64 {capacity}, {item_size}"))
        column_pointer = _column_pointer(body, values, k)
        new_column = memory.allocate(body, new_size)
        old_size = body.emit.value(f"mul i64 {count}, {item_size}")
        copy_label, copied_label = body.emit.new_block(), body.emit.new_block()
        is_empty = body.emit.value(f"icmp eq i64 {count}, 0")
        body.emit.branch(is_empty, copied_label, copy_label)
        body.emit.start_block(copy_label)
        old_column = body.emit.value(f"load ptr, ptr {column_pointer}")
        memory.emit_memcpy(body, new_column, old_column, old_size)
        body.emit.jump(copied_label)
        body.emit.start_block(copied_label)
        body.emit.do(f"store ptr {new_column}, ptr {column_pointer}")


def pop_item(body: Body, values: ListValue) -> AnyValue:
    """Emit code for `values.pop()`; return the item. The program fails if the list is empty."""
    items = read_list(body, values)
    count = body.emit.value(f"load i64, ptr {values.pointer}")
    is_empty = body.emit.condition(f"icmp eq i64 {count}, 0")
    body.fail_if(is_empty, "IndexError: pop from empty list")
    last = Scalar(Kind.INT, body.emit.value(f"sub i64 {count}, 1"), 0)
    item = 0 if values.item_template is None else read_from_list(body, items, last, is_inside=True)
    body.emit.do(f"store i64 {last.operand}, ptr {values.pointer}")
    return item


def call_list_method(
    body: Body, method: str, values: ListValue, arguments: Sequence[Any]
) -> AnyValue:
    """Emit code for the method "append", "pop" or "clear" of a list; return its result."""
    if len(arguments) != (1 if method == "append" else 0):
        body.refuse(f"`{method}` of a list takes other arguments in compiled code")
    if method == "append":
        return append_item(body, values, arguments[0])
    if method == "pop":
        return pop_item(body, values)
    body.emit.do(f"store i64 0, ptr {values.pointer}")
    return None


def widen_items(body: Body, values: ListValue, template: AnyValue) -> NoReturn:
    """Compile the function again from its beginning, with a list whose items fit `template`, such
    as floats instead of integers."""
    if values.name not in body.changed_lists:
        body.refuse("the item is of another kind than those of the list")
    old = body.hints.item_templates.get(values.name, template)
    if type(old) is not type(template) or len(subvalues_of(old)) != len(subvalues_of(template)):
        body.refuse(f"the items of {values.name!r} are numbers here and tuples there")
    body.hints.item_templates[values.name] = template
    raise CompileAgain


def item_numbers(item: Any) -> Sequence[Any]:
    """Return the numbers of an item of a list: of a tuple, or the number itself."""
    return item if isinstance(item, tuple) else (item,)
