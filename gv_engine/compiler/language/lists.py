"""Lists that grow: variables of a function with `append`, `pop` or assigned items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gv_engine.compiler.language.arithmetic import CONVERT
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.expressions import DTYPES, Expressions, Iterated
from gv_engine.compiler.language.values import (
    ArrayValue,
    GrowingList,
    Kind,
    ListValue,
    Scalar,
    TupleList,
    is_list,
    kind_of,
    narrow_of,
)

HEAD = 16
"""Bytes before the addresses of a list's columns: the number of items, and of places."""


class Lists(Expressions):
    """Makes and changes lists that grow; all items are numbers, or tuples of as many numbers."""

    def widen_items(self, values: GrowingList, kinds: tuple[Kind, ...]) -> None:
        """Compile the function again, with a list whose items have these kinds."""
        raise NotImplementedError

    def make_growing(self, name: str, value: Any, kinds: Any) -> Any:
        """Return the list that a variable takes; other values as they are. `kinds` are those of the
        numbers of an item, with None behind for tuples; None if no try has found them yet."""
        is_array = isinstance(value, TupleList) or (isinstance(value, ArrayValue) and value.is_list)
        if not (is_array or is_list(value)):
            return value
        head = self.allocate(constant(HEAD + 8 * len(kinds or ())))
        self.emit.do(f"store i64 0, ptr {head}")
        self.emit.do(f"store i64 0, ptr {self.offset(head, 8)}")
        is_of_tuples = bool(kinds) and kinds[-1] is None
        grown = GrowingList(head, kinds[:-1] if is_of_tuples else kinds, name, is_of_tuples)
        items = self.iterate(value)
        if isinstance(items, tuple):
            for item in items:
                self.append_item(grown, item)
        else:
            self.loop(items.length, lambda k: self.append_item(grown, items.read(k)))
        return grown

    def read_list(self, values: GrowingList) -> Any:
        """Return the items that a list has now."""
        if values.kinds is None:
            return []
        count = Scalar(Kind.INT, self.emit.get(f"load i64, ptr {values.pointer}"), 0)
        columns = []
        for k, kind in enumerate(values.kinds):
            dtype = np.dtype(DTYPES[kind])
            start = self.emit.get(f"load ptr, ptr {self.offset(values.pointer, HEAD + 8 * k)}")
            column = ArrayValue(
                start, (count,), (dtype.itemsize,), dtype, is_list=True, name=values.name
            )
            columns.append(column)
        if not values.is_of_tuples:
            return columns[0]
        return TupleList(tuple(columns), tuple(Scalar(kind, "") for kind in values.kinds))

    def iterate_list(self, values: GrowingList) -> Iterated:
        """Return the items of a list, with those that the loop over it appends."""

        def count() -> Any:
            return Scalar(Kind.INT, self.emit.get(f"load i64, ptr {values.pointer}"), 0)

        return Iterated(count, lambda k: self.read_item(self.read_list(values), k))

    def append_item(self, values: GrowingList, item: Any) -> None:
        """Append an item, a number or a tuple of numbers, to a list."""
        parts = item if isinstance(item, tuple) and not isinstance(item, ListValue) else (item,)
        numbers = [self.to_number(part) for part in parts]
        if narrow := narrow_of(*numbers):
            self.refuse(CONVERT.format(narrow))
        kinds = tuple(kind_of(number) for number in numbers)
        if values.kinds is not None and len(kinds) == len(values.kinds):
            kinds = tuple(map(self.join_kinds, values.kinds, kinds))
        if kinds != values.kinds or values.is_of_tuples != (parts is item):
            self.widen_items(values, (*kinds, None) if parts is item else kinds)  # type: ignore[arg-type]
        count = self.emit.get(f"load i64, ptr {values.pointer}")
        places = self.emit.get(f"load i64, ptr {self.offset(values.pointer, 8)}")
        grow, go_on = self.emit.new_block(), self.emit.new_block()
        self.emit.branch(self.emit.get(f"icmp eq i64 {count}, {places}"), grow, go_on)
        self.emit.start(grow)
        self._grow(values, count)
        self.emit.jump(go_on)
        self.emit.start(go_on)
        for k, (kind, number) in enumerate(zip(kinds, numbers)):
            dtype = np.dtype(DTYPES[kind])
            start = self.emit.get(f"load ptr, ptr {self.offset(values.pointer, HEAD + 8 * k)}")
            place = self.emit.get(f"mul i64 {count}, {dtype.itemsize}")
            self.store(self.offset(start, place), dtype, self.fit(number, Scalar(kind, "")))
        after = self.emit.get(f"add i64 {count}, 1")
        self.emit.do(f"store i64 {after}, ptr {values.pointer}")

    def _grow(self, values: GrowingList, count: str) -> None:
        """Move the items of a list to memory for twice as many."""
        places = self.emit.get(f"add i64 {self.emit.get(f'shl i64 {count}, 1')}, 8")
        self.emit.do(f"store i64 {places}, ptr {self.offset(values.pointer, 8)}")
        copy = self.module.declare("llvm.memcpy.p0.p0.i64", "void", "ptr, ptr, i64, i1")
        for k, kind in enumerate(values.kinds or ()):
            width = np.dtype(DTYPES[kind]).itemsize
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

    def pop_item(self, values: GrowingList) -> Any:
        """Take the last item off a list; return it."""
        items = self.read_list(values)
        count = self.emit.get(f"load i64, ptr {values.pointer}")
        is_empty = Scalar(Kind.BOOL, self.emit.get(f"icmp eq i64 {count}, 0"))
        self.fail_if(is_empty, "IndexError: pop from empty list")
        last = Scalar(Kind.INT, self.emit.get(f"sub i64 {count}, 1"), 0)
        item = self.read_item(items, last) if values.kinds is not None else 0
        self.emit.do(f"store i64 {last.text}, ptr {values.pointer}")
        return item

    def change_list(self, method: str, values: GrowingList, arguments: Sequence[Any]) -> Any:
        """Call a method of a list."""
        if len(arguments) != (method == "append"):
            self.refuse(f"`{method}` of a list takes other arguments in compiled code")
        if method == "append":
            return self.append_item(values, arguments[0])
        if method == "pop":
            return self.pop_item(values)
        self.emit.do(f"store i64 0, ptr {values.pointer}")
        return None
