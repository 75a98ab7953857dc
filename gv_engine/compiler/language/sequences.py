"""Items of values: reads by an index, unpacking and iteration; and lists in memory, those of
comprehensions, and those that a variable changes by `append`, `pop` or assigned items."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic, arrays, flow, memory, operators
from gv_engine.compiler.language.arithmetic import NARROW_ARITHMETIC
from gv_engine.compiler.language.body import Body, CompileAgain
from gv_engine.compiler.language.values import (
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
    parts_of,
    rebuild,
    to_range,
)

_BYTES = {"true": "1", "false": "0"}


def evaluate_all(body: Body, nodes: Sequence[ast.expr]) -> Iterator[Any]:
    """Yield the values of expressions, with `*values` unpacked."""
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from unpack(body, body.evaluate(node.value))
        else:
            yield body.evaluate(node)


def unpack(body: Body, value: Any, count: int | None = None) -> Sequence[Any]:
    """Return the items of a tuple, or of an array of known length."""
    value = array_of(value)
    if isinstance(value, ArrayValue) and isinstance(length := value.shape[0], int):
        value = tuple(arrays.load_element(body, value, (k,)) for k in range(length))
    if not isinstance(value, Sequence) or isinstance(value, str):
        body.refuse(f"found {describe(value)}, which cannot be unpacked")
    if count is not None and len(value) != count:
        body.refuse(f"found {len(value)} values for {count} names")
    return value


def read_item(body: Body, owner: Any, index: Any) -> Any:
    """Return `owner[index]`."""
    if isinstance(owner, Record) and isinstance(index, str):
        return memory.read_field(body, owner, index)
    if isinstance(owner, np.ndarray):
        places = index if isinstance(index, tuple) else (index,)
        if len(places) == owner.ndim and all(
            isinstance(place, int | np.integer) and 0 <= place < size
            for place, size in zip(places, owner.shape)
        ):
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


def look_up_dict(body: Body, values: dict[Any, Any], key: Any, *default: Any) -> Any:
    """Return the value of a key in a known dict, or the default if there is no such key."""
    place: Any = len(values)
    for k, each in enumerate(values):
        place = arithmetic.emit_select(
            body, operators.emit_comparison(body, ast.Eq(), key, each), k, place
        )
    if not default:
        missing = operators.emit_comparison(body, ast.Eq(), place, len(values))
        body.fail_if(missing, "KeyError: the dict has no such key")
    return index_tuple(body, (*values.values(), *default), place)


def index_tuple(body: Body, values: tuple[Any, ...], index: Any) -> Any:
    """Return the item at an index of a tuple of values of one form: from tables of constants,
    or from memory on the stack that this place fills."""
    place = arrays.normalize_index(body, arithmetic.to_int(body, index), len(values))
    joined = reduce(partial(flow.join_values, body), values)
    rows = [list(leaves(flow.convert_to_template(body, value, joined))) for value in values]
    found = []
    for column in zip(*rows):
        llvm = "i8" if column[0].llvm == "i1" else column[0].llvm
        texts = [leaf.operand for leaf in column]
        if any(text.startswith("%") for text in texts):
            table = body.emit.alloca(f"[{len(texts)} x {column[0].llvm}]")
            llvm = column[0].llvm
            for k, text in enumerate(texts):
                at = body.emit.value(f"getelementptr {llvm}, ptr {table}, i64 {k}")
                body.emit.do(f"store {llvm} {text}, ptr {at}")
        else:
            table = body.module.table(llvm, [_BYTES.get(text, text) for text in texts])
        at = body.emit.value(f"getelementptr {llvm}, ptr {table}, i64 {place.operand}")
        text = body.emit.value(f"load {llvm}, ptr {at}")
        is_byte = llvm == "i8"
        found.append(body.emit.value(f"trunc i8 {text} to i1") if is_byte else text)
    return rebuild(joined, iter(found))


def get_items(body: Body, value: Any) -> tuple[Any, ...] | Iterated:
    """Return the items of a value: a tuple if they are known one by one."""
    if isinstance(value, np.ndarray):
        value = arrays.constant_array(body, value)
    if isinstance(value, ArrayValue):
        return Iterated(value.shape[0], lambda k: arrays.read_array(body, value, k, is_inside=True))
    if isinstance(value, ListValue):
        items = value
        return Iterated(items.length, lambda k: read_from_list(body, items, k, is_inside=True))
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
    """Return the items of a tuple whose items have one form, as a table of the program."""
    return Iterated(len(items), lambda k: index_tuple(body, items, k) if items else 0)


def compute_range_length(body: Body, value: Range) -> int | Scalar:
    """Return the number of items of a range."""
    parts = value.start, value.stop, value.step
    if is_known(parts):
        return len(range(*parts))  # type: ignore[arg-type]
    if value.step != 1:
        length = body.call_function(count_range_items, value.start, value.stop, value.step)
        return replace(length, low=0) if isinstance(length, Scalar) else length
    span = operators.emit_operator(body, ast.Sub(), value.stop, value.start)
    length = arithmetic.emit_select(
        body, operators.emit_comparison(body, ast.Gt(), span, 0), span, 0
    )
    return Scalar(Kind.INT, length.operand, 0, max(length.high, 0))


def compute_range_item(body: Body, value: Range, k: Scalar) -> Scalar:
    """Return item number `k` of a range."""
    start, stop = arithmetic.to_int(body, value.start), arithmetic.to_int(body, value.stop)
    text = k.operand
    if value.step != 1:
        text = body.emit.value(f"mul i64 {text}, {arithmetic.to_int(body, value.step).operand}")
    if start.operand != "0":
        text = body.emit.value(f"add i64 {start.operand}, {text}")
    low, high = min(start.low, stop.low + 1), max(start.high, stop.high - 1)
    step = bounds_of(value.step)
    if step[0] > 0:
        low = start.low
    elif step[1] < 0:
        high = start.high
    return Scalar(Kind.INT, text, low, max(low, high))


def iterate_list(body: Body, values: ListValue) -> Iterated:
    """Return the items of a list, with those that the loop over it appends."""
    return Iterated(
        lambda: read_count(body, values),
        lambda k: read_from_list(body, read_list(body, values), k, is_inside=True),
    )


def count_range_items(start: int, stop: int, step: int) -> int:
    """Return the number of items of a range."""
    if step > 0:
        return 0 if stop <= start else (stop - start - 1) // step + 1
    return 0 if stop >= start else (start - stop - 1) // -step + 1


# ---- lists in memory -----------------------------------------------------------------------------

HEAD_SIZE = 16
"""Bytes before the addresses of a list's columns: the number of items, and of places."""


def read_from_list(body: Body, values: ListValue, index: Any, is_inside: bool = False) -> Any:
    """Return `values[index]`."""
    if isinstance(index, ArrayValue):
        body.refuse(arrays.ARRAY_INDEX)
    if isinstance(index, slice):  # a copy, in Python
        parts = (arrays.make_view(body, column, (index,)) for column in values.columns)
        return replace(values, columns=tuple(map(partial(arrays.copy_array, body), parts)), name="")
    index = _to_index(body, index)
    parts = (arrays.load_element(body, column, (index,), is_inside) for column in values.columns)
    return rebuild(values.item, (leaf.operand for part in parts for leaf in leaves(part)))


def _to_index(body: Body, index: Any) -> Any:
    is_truth = is_number(index) and kind_of(index) is Kind.BOOL
    return arithmetic.to_int(body, index) if is_truth else index


def write_item(body: Body, owner: ArrayValue | ListValue, index: Any, value: Any) -> None:
    """Run `owner[index] = value` for an array or a list of numbers."""
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
    elif owner.item.kind is Kind.BOOL and kind_of(value) is not Kind.BOOL:
        body.refuse("this list has truth values: begin it with numbers, such as [0] * n")
    arrays.write_array(body, column, _to_index(body, index), value)


def read_count(body: Body, values: ListValue) -> Scalar:
    """Return the number of items of a list that its variable has."""
    return Scalar(Kind.INT, body.emit.value(f"load i64, ptr {values.pointer}"), 0)


def read_list(body: Body, values: ListValue) -> Any:
    """Return the items that a list has now."""
    if values.item is None:
        return []
    count, columns = read_count(body, values), []
    for k, number in enumerate(item_numbers(values.item)):
        dtype = number.kind.dtype
        start = body.emit.value(
            f"load ptr, ptr {body.emit.offset(values.pointer, HEAD_SIZE + 8 * k)}"
        )
        columns.append(ArrayValue(start, (count,), (dtype.itemsize,), dtype))
    return replace(values, columns=tuple(columns), pointer="")


def append_item(body: Body, values: ListValue, item: Any) -> None:
    """Append an item, a number or a tuple of numbers, to a list."""
    numbers = [arithmetic.to_number(body, part) for part in item_numbers(item)]
    if narrow := narrow_dtype_of(*numbers):
        body.refuse(NARROW_ARITHMETIC.format(narrow))
    kinds = [number.kind for number in numbers]
    before = () if values.item is None else item_numbers(values.item)
    if len(before) == len(kinds):
        kinds = [arithmetic.join_kinds(body, old.kind, kind) for old, kind in zip(before, kinds)]
    forms = tuple(Scalar(kind, "") for kind in kinds)
    form = forms if isinstance(item, tuple) else forms[0]
    if form != values.item:
        widen_items(body, values, form)
    count = read_count(body, values).operand
    places = body.emit.value(f"load i64, ptr {body.emit.offset(values.pointer, 8)}")
    grow, go_on = body.emit.new_block(), body.emit.new_block()
    body.emit.branch(body.emit.value(f"icmp eq i64 {count}, {places}"), grow, go_on)
    body.emit.start_block(grow)
    _double_capacity(body, values, count)
    body.emit.jump(go_on)
    body.emit.start_block(go_on)
    for k, (number, to) in enumerate(zip(numbers, forms)):
        start = body.emit.value(
            f"load ptr, ptr {body.emit.offset(values.pointer, HEAD_SIZE + 8 * k)}"
        )
        place = body.emit.value(f"mul i64 {count}, {to.kind.dtype.itemsize}")
        memory.store(
            body,
            body.emit.offset(start, place),
            to.kind.dtype,
            flow.convert_to_template(body, number, to),
        )
    after = body.emit.value(f"add i64 {count}, 1")
    body.emit.do(f"store i64 {after}, ptr {values.pointer}")


def _double_capacity(body: Body, values: ListValue, count: str) -> None:
    """Move the items of a list to memory for twice as many."""
    places = body.emit.value(f"add i64 {body.emit.value(f'shl i64 {count}, 1')}, 8")
    body.emit.do(f"store i64 {places}, ptr {body.emit.offset(values.pointer, 8)}")
    for k, number in enumerate(item_numbers(values.item)):
        width = number.kind.dtype.itemsize
        size = Scalar(Kind.INT, body.emit.value(f"mul i64 {places}, {width}"))
        place, new = (
            body.emit.offset(values.pointer, HEAD_SIZE + 8 * k),
            memory.allocate(body, size),
        )
        used, is_first = body.emit.value(f"mul i64 {count}, {width}"), body.emit.new_block()
        moved = body.emit.new_block()
        body.emit.branch(body.emit.value(f"icmp eq i64 {count}, 0"), moved, is_first)
        body.emit.start_block(is_first)
        old = body.emit.value(f"load ptr, ptr {place}")
        memory.emit_memcpy(body, new, old, used)
        body.emit.jump(moved)
        body.emit.start_block(moved)
        body.emit.do(f"store ptr {new}, ptr {place}")


def pop_item(body: Body, values: ListValue) -> Any:
    """Take the last item off a list; return it."""
    items = read_list(body, values)
    count = body.emit.value(f"load i64, ptr {values.pointer}")
    is_empty = body.emit.condition(f"icmp eq i64 {count}, 0")
    body.fail_if(is_empty, "IndexError: pop from empty list")
    last = Scalar(Kind.INT, body.emit.value(f"sub i64 {count}, 1"), 0)
    item = 0 if values.item is None else read_from_list(body, items, last, is_inside=True)
    body.emit.do(f"store i64 {last.operand}, ptr {values.pointer}")
    return item


def call_list_method(body: Body, method: str, values: ListValue, arguments: Sequence[Any]) -> Any:
    """Call a method of a list."""
    if len(arguments) != (method == "append"):
        body.refuse(f"`{method}` of a list takes other arguments in compiled code")
    if method == "append":
        return append_item(body, values, arguments[0])
    if method == "pop":
        return pop_item(body, values)
    body.emit.do(f"store i64 0, ptr {values.pointer}")
    return None


def widen_items(body: Body, values: ListValue, item: Any) -> None:
    """Compile the function again, with a list whose items have this form."""
    if values.name not in body.changed_lists:
        body.refuse("the item is of another kind than those of the list")
    before = body.hints.item_templates.get(values.name, item)
    if type(before) is not type(item) or len(parts_of(before)) != len(parts_of(item)):
        body.refuse(f"the items of {values.name!r} are numbers here and tuples there")
    body.hints.item_templates[values.name] = item
    raise CompileAgain


def item_numbers(item: Any) -> Sequence[Any]:
    """Return the numbers of an item of a list: of a tuple, or the number itself."""
    return item if isinstance(item, tuple) else (item,)
