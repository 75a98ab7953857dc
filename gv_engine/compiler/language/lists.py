"""Lists in memory: those of comprehensions, and those that a variable changes by `append`, `pop` or
assigned items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gv_engine.compiler.language.arithmetic import CONVERT
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.expressions import Expressions, Iterated
from gv_engine.compiler.language.memory import MARKS
from gv_engine.compiler.language.values import (
    ArrayValue,
    Kind,
    ListValue,
    Scalar,
    describe,
    is_number,
    kind_of,
    leaves,
    narrow_of,
    rebuild,
)

HEAD = 16
"""Bytes before the addresses of a list's columns: the number of items, and of places."""


def numbers_of(item: Any) -> Sequence[Any]:
    """Return the numbers of an item of a list: of a tuple, or the number itself."""
    return item if isinstance(item, tuple) else (item,)


class Lists(Expressions):
    """Reads and changes lists; items of lists that change are numbers, or tuples of as many
    numbers."""

    def widen_items(self, values: ListValue, item: Any) -> None:
        """Compile the function again, with a list whose items have this form."""
        raise NotImplementedError

    def read_from_list(self, values: ListValue, index: Any, is_inside: bool = False) -> Any:
        if isinstance(index, ArrayValue):
            self.refuse(MARKS)
        if isinstance(index, slice):  # a copy, in Python
            parts = (self.part(column, (index,)) for column in values.columns)
            return replace(values, columns=tuple(map(self.copy_array, parts)), name="")
        index = self._to_index(index)
        parts = (self.read_element(column, (index,), is_inside) for column in values.columns)
        return rebuild(values.item, (leaf.text for part in parts for leaf in leaves(part)))

    def _to_index(self, index: Any) -> Any:
        """Return an index; truth values are 0 and 1 to lists."""
        is_truth = is_number(index) and kind_of(index) is Kind.BOOL
        return self.to_int(index) if is_truth else index

    def write_item(self, owner: ArrayValue | ListValue, index: Any, value: Any) -> None:
        """Run `owner[index] = value` for an array or a list of numbers."""
        if isinstance(owner, ArrayValue):
            self.write_array(owner, index, value)
            return
        column = owner.columns[0]
        if isinstance(index, ArrayValue):
            self.refuse(MARKS)
        if isinstance(index, slice):
            if not isinstance(value, ArrayValue | ListValue | tuple | list):
                self.refuse(f"found {describe(value)} for a part of a list, which takes a list")
        elif narrow := narrow_of(value):
            self.refuse(CONVERT.format(narrow))
        elif owner.item.kind is Kind.BOOL and kind_of(value) is not Kind.BOOL:
            self.refuse("this list has truth values: begin it with numbers, such as [0] * n")
        self.write_array(column, self._to_index(index), value)

    def make_growing(self, name: str, value: Any, item: Any) -> Any:
        """Return the list that a variable takes; other values as they are. `item` is the form of
        its items; None if no try has found it yet."""
        if not isinstance(value, list | ListValue):
            return value
        head = self.allocate(constant(HEAD + 8 * len(numbers_of(item) if item else ())))
        self.emit.do(f"store i64 0, ptr {head}")
        self.emit.do(f"store i64 0, ptr {self.offset(head, 8)}")
        grown = ListValue((), item, name, head)
        items = self.iterate(value)
        if isinstance(items, tuple):
            for each in items:
                self.append_item(grown, each)
        else:
            self.loop(items.length, lambda k: self.append_item(grown, items.read(k)))
        return grown

    def _read_count(self, values: ListValue) -> Scalar:
        return Scalar(Kind.INT, self.emit.get(f"load i64, ptr {values.pointer}"), 0)

    def read_list(self, values: ListValue) -> Any:
        if values.item is None:
            return []
        count, columns = self._read_count(values), []
        for k, number in enumerate(numbers_of(values.item)):
            dtype = number.kind.dtype
            start = self.emit.get(f"load ptr, ptr {self.offset(values.pointer, HEAD + 8 * k)}")
            columns.append(ArrayValue(start, (count,), (dtype.itemsize,), dtype))
        return replace(values, columns=tuple(columns), pointer="")

    def iterate_list(self, values: ListValue) -> Iterated:
        """Return the items of a list, with those that the loop over it appends."""
        return Iterated(
            lambda: self._read_count(values),
            lambda k: self.read_from_list(self.read_list(values), k, is_inside=True),
        )

    def append_item(self, values: ListValue, item: Any) -> None:
        """Append an item, a number or a tuple of numbers, to a list."""
        numbers = [self.to_number(part) for part in numbers_of(item)]
        if narrow := narrow_of(*numbers):
            self.refuse(CONVERT.format(narrow))
        kinds = [number.kind for number in numbers]
        before = () if values.item is None else numbers_of(values.item)
        if len(before) == len(kinds):
            kinds = [self.join_kinds(old.kind, kind) for old, kind in zip(before, kinds)]
        forms = tuple(Scalar(kind, "") for kind in kinds)
        form = forms if isinstance(item, tuple) else forms[0]
        if form != values.item:
            self.widen_items(values, form)
        count = self._read_count(values).text
        places = self.emit.get(f"load i64, ptr {self.offset(values.pointer, 8)}")
        grow, go_on = self.emit.new_block(), self.emit.new_block()
        self.emit.branch(self.emit.get(f"icmp eq i64 {count}, {places}"), grow, go_on)
        self.emit.start(grow)
        self._grow(values, count)
        self.emit.jump(go_on)
        self.emit.start(go_on)
        for k, (number, to) in enumerate(zip(numbers, forms)):
            start = self.emit.get(f"load ptr, ptr {self.offset(values.pointer, HEAD + 8 * k)}")
            place = self.emit.get(f"mul i64 {count}, {to.kind.dtype.itemsize}")
            self.store(self.offset(start, place), to.kind.dtype, self.fit(number, to))
        after = self.emit.get(f"add i64 {count}, 1")
        self.emit.do(f"store i64 {after}, ptr {values.pointer}")

    def _grow(self, values: ListValue, count: str) -> None:
        """Move the items of a list to memory for twice as many."""
        places = self.emit.get(f"add i64 {self.emit.get(f'shl i64 {count}, 1')}, 8")
        self.emit.do(f"store i64 {places}, ptr {self.offset(values.pointer, 8)}")
        copy = self.module.declare("llvm.memcpy.p0.p0.i64", "void", "ptr, ptr, i64, i1")
        for k, number in enumerate(numbers_of(values.item)):
            width = number.kind.dtype.itemsize
            size = Scalar(Kind.INT, self.emit.get(f"mul i64 {places}, {width}"))
            place, new = self.offset(values.pointer, HEAD + 8 * k), self.allocate(size)
            used, is_first = self.emit.get(f"mul i64 {count}, {width}"), self.emit.new_block()
            moved = self.emit.new_block()
            self.emit.branch(self.emit.get(f"icmp eq i64 {count}, 0"), moved, is_first)
            self.emit.start(is_first)
            old = self.emit.get(f"load ptr, ptr {place}")
            self.emit.do(f"call void {copy}(ptr {new}, ptr {old}, i64 {used}, i1 false)")
            self.emit.jump(moved)
            self.emit.start(moved)
            self.emit.do(f"store ptr {new}, ptr {place}")

    def pop_item(self, values: ListValue) -> Any:
        """Take the last item off a list; return it."""
        items = self.read_list(values)
        count = self.emit.get(f"load i64, ptr {values.pointer}")
        is_empty = Scalar(Kind.BOOL, self.emit.get(f"icmp eq i64 {count}, 0"))
        self.fail_if(is_empty, "IndexError: pop from empty list")
        last = Scalar(Kind.INT, self.emit.get(f"sub i64 {count}, 1"), 0)
        item = 0 if values.item is None else self.read_from_list(items, last, is_inside=True)
        self.emit.do(f"store i64 {last.text}, ptr {values.pointer}")
        return item

    def change_list(self, method: str, values: ListValue, arguments: Sequence[Any]) -> Any:
        """Call a method of a list."""
        if len(arguments) != (method == "append"):
            self.refuse(f"`{method}` of a list takes other arguments in compiled code")
        if method == "append":
            return self.append_item(values, arguments[0])
        if method == "pop":
            return self.pop_item(values)
        self.emit.do(f"store i64 0, ptr {values.pointer}")
        return None
