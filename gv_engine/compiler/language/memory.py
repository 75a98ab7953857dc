"""Records and arrays in memory: reads, writes, bounds, and arrays in the arena."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gv_engine.compiler.language.arithmetic import Arithmetic
from gv_engine.compiler.language.emitter import NOTHING_MORE, constant
from gv_engine.compiler.language.values import (
    HIGHEST,
    ArrayValue,
    Kind,
    ListValue,
    Method,
    Record,
    RecordType,
    Scalar,
    Writer,
    array_of,
    bounds_of,
    describe,
    is_number,
    kind_of,
    kind_of_dtype,
)

OUT_OF_RANGE = "IndexError: index {{0}} is out of bounds for axis {} with size {}"
MARKS = "an array is no index in compiled code, unless it marks elements of another"
ARENA = "MemoryError: the arrays of a rule need more than the arena"
ALIGN = 16
BLAME = 16
"""Place in an arena, behind its two sizes, of the number that `engine.call_marked` leaves."""
NUMBERS = 24
"""Place in an arena of the numbers of an error."""
ERROR_NUMBERS = 5
"""Numbers of an error that an arena has room for."""
ARENA_HEAD = NUMBERS + 8 * ERROR_NUMBERS
"""Bytes of an arena before its data."""


def storage(dtype: np.dtype[Any]) -> str:
    """Return the LLVM type of a number in memory."""
    if dtype.kind == "f":
        return "double" if dtype.itemsize == 8 else "float"
    return f"i{8 * dtype.itemsize}"


class Memory(Arithmetic):
    """Reads and writes records and arrays."""

    # ---- addresses -------------------------------------------------------------------------------

    def offset(self, pointer: str, offset: int | str) -> str:
        """Return an address some bytes behind another one."""
        if offset in (0, "0"):
            return pointer
        return self.emit.get(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def load(
        self,
        pointer: str,
        dtype: np.dtype[Any],
        is_numpy: bool = False,
        is_constant: bool = False,
    ) -> Scalar:
        """Return the number at an address; `is_constant` if nothing writes it during the run."""
        number = self._load(pointer, dtype, is_constant)
        is_narrow = is_numpy and dtype.itemsize < 8 and number.kind is not Kind.BOOL
        return replace(number, narrow=dtype.name) if is_narrow else number

    def _load(self, pointer: str, dtype: np.dtype[Any], is_constant: bool) -> Scalar:
        kind, stored = kind_of_dtype(dtype), storage(dtype)
        mark = f", !invariant.load {NOTHING_MORE}" if is_constant else ""
        text = self.emit.get(f"load {stored}, ptr {pointer}{mark}")
        if kind is Kind.BOOL:
            return Scalar(kind, self.emit.get(f"trunc i8 {text} to i1"), 0, 1)
        if kind is Kind.FLOAT:
            widened = text if stored == "double" else self.emit.get(f"fpext float {text} to double")
            return Scalar(kind, widened)
        if kind is Kind.UINT:
            return Scalar(kind, text)
        info = np.iinfo(dtype)
        if stored != "i64":
            text = self.emit.get(
                f"{'sext' if dtype.kind == 'i' else 'zext'} {stored} {text} to i64"
            )
        return Scalar(kind, text, int(info.min), int(info.max))

    def store(self, pointer: str, dtype: np.dtype[Any], value: Any) -> None:
        """Write a number to an address; fail if it does not fit."""
        kind, stored = kind_of_dtype(dtype), storage(dtype)
        if kind is Kind.BOOL:
            text = self.emit.get(f"zext i1 {self.to_number(self.truth(value)).text} to i8")
        elif kind is Kind.FLOAT:
            text = self.convert(value, Kind.FLOAT).text
            if stored == "float":
                text = self._to_float32(text)
        else:
            number = self.to_number(value)
            number = number if number.kind is Kind.UINT else self.to_int(number)
            text = number.text
            self._require_fit(number, dtype)
            if stored != "i64":
                text = self.emit.get(f"trunc i64 {text} to {stored}")
        self.emit.do(f"store {stored} {text}, ptr {pointer}")

    def _to_float32(self, text: str) -> str:
        """Return a double as a float; fail if only an infinite one is near it."""
        short = self.emit.get(f"fptrunc double {text} to float")
        if self.is_checked:
            far = self.emit.get(f"fsub float {short}, {short}")  # nan of infinite ones
            near = self.emit.get(f"fsub double {text}, {text}")
            texts = f"fcmp uno float {far}, {far}", f"fcmp ord double {near}, {near}"
            lost, finite = (Scalar(Kind.BOOL, self.emit.get(each)) for each in texts)
            self.fail_if(self.both(lost, finite), "FloatingPointError: overflow of a float32")
        return short

    def _require_fit(self, number: Scalar, dtype: np.dtype[Any]) -> None:
        """Fail if an integer is not one of a dtype."""
        info, error = np.iinfo(dtype), f"OverflowError: the number does not fit into {dtype}"
        low, high = int(info.min), int(info.max)
        if not self.is_checked or (number.kind, kind_of_dtype(dtype)) == (Kind.UINT, Kind.UINT):
            return
        if (
            number.kind is Kind.UINT
        ):  # also one with the highest bit, which an i64 takes as its sign
            above = self.emit.get(f"icmp ugt i64 {number.text}, {high}")
            self.fail_if(Scalar(Kind.BOOL, above), error)
        elif number.low < low or number.high > high:
            above = self.compare(ast.Gt(), number, min(high, HIGHEST))
            self.fail_if(self.either(self.compare(ast.Lt(), number, low), above), error)

    # ---- records ---------------------------------------------------------------------------------

    def read_field(self, record: Record, name: str) -> Any:
        """Return a field of a record, or an attribute of its type."""
        fields = record.type.fields
        if name in fields:
            dtype, start = fields[name]
            return self._field(record, name, start, dtype)
        if name not in record.type.attributes:
            self.refuse(f"there is no {name!r} here")
        value = record.type.attributes[name]
        return Method(record, value) if callable(value) else value

    def _field(self, record: Record, name: str, start: int, dtype: np.dtype[Any]) -> Any:
        """Return the field at an offset in a record."""
        part, pointer = record.type.parts.get(name), self.offset(record.pointer, start)
        if name in record.type.arrays:
            return self._array_at(pointer, *record.type.arrays[name])
        if dtype.subdtype is not None:
            base, shape = dtype.subdtype
            strides = tuple(prod(shape[k + 1 :]) * base.itemsize for k in range(len(shape)))
            capacity = record.type.capacity
            capacity = capacity if capacity is not None and shape[0] < capacity else None
            shared = record.type.is_writable, part
            function, (_, back) = record.type.writers.get(name), record.type.outer or (None, 0)
            writer = function and Writer(record, back, start, function)
            wraps = self.is_checked or record.type.wraps
            return ArrayValue(
                *(pointer, shape, strides, base, *shared),
                capacity=capacity,
                is_numpy=False,
                writer=writer,
                wraps=wraps,
            )
        if dtype.names:
            if part is None:
                self.refuse(f"the record {name!r} has no type in compiled code")
            return Record(pointer, part)
        return self.load(pointer, dtype, is_constant=not record.type.is_writable)

    def _array_at(
        self, place: str, inner: tuple[int, ...], dtype: np.dtype[Any], part: RecordType | None
    ) -> ArrayValue:
        """Return the array whose address and length stand at a place."""
        word = np.dtype(np.int64)
        address, length = (
            self.load(each, word, is_constant=True) for each in (place, self.offset(place, 8))
        )
        pointer = self.emit.get(f"inttoptr i64 {address.text} to ptr")
        shape: tuple[int | Scalar, ...] = (replace(length, low=0), *inner)
        strides = tuple(prod(inner[k:]) * dtype.itemsize for k in range(len(shape)))
        return ArrayValue(pointer, shape, strides, dtype, record=part, is_numpy=False)

    def write_field(self, record: Record, name: str, value: Any) -> None:
        """Write a number into a field of a record."""
        fields = record.type.fields
        if name not in fields or fields[name][0].names or fields[name][0].subdtype:
            self.refuse(f"{name!r} cannot be assigned here")
        dtype, start = fields[name]
        self.store(self.offset(record.pointer, start), dtype, value)

    # ---- arrays ----------------------------------------------------------------------------------

    def put(self, array: ArrayValue, pointer: str, value: Any) -> None:
        """Write a number into the element of an array at an address."""
        writer = array.writer
        if writer is None:
            self.store(pointer, array.dtype, value)
            return
        outer = writer.record.type.outer
        record = Record(
            self.offset(writer.record.pointer, -writer.back),
            outer[0] if outer else writer.record.type,
        )
        first, this = (
            self.emit.get(f"ptrtoint ptr {each} to i64") for each in (record.pointer, pointer)
        )
        place = self.emit.get(f"sub i64 {this}, {first}")
        place = self.emit.get(f"sub i64 {place}, {writer.back + writer.start}")
        place = self.emit.get(f"sdiv exact i64 {place}, {array.dtype.itemsize}")
        self.call_function(writer.function, record, Scalar(Kind.INT, place, 0), value)

    def constant_array(self, values: np.ndarray[Any, Any]) -> ArrayValue:
        """Return an array that is known while compiling as constant memory of the program."""
        if any(values.strides):  # not one number that stands for all
            values = np.ascontiguousarray(values)
        pointer = self.module.array(values if any(values.strides) else values.reshape(-1)[:1])
        contiguous = values.flags.c_contiguous
        parts = values.shape, values.strides, values.dtype, False
        return ArrayValue(pointer, *parts, is_contiguous=contiguous)

    def to_changeable(self, value: Any) -> ArrayValue | ListValue:
        """Return an array or a list of numbers, also for one that is known while compiling."""
        if isinstance(value, np.ndarray):
            return self.constant_array(value)
        if not isinstance(array_of(value), ArrayValue):
            self.refuse(f"{describe(value)} cannot be changed in compiled code")
        return value  # type: ignore[no-any-return]

    def place_index(
        self, index: Scalar, length: int | Scalar, is_inside: bool = False, axis: int = 0
    ) -> Scalar:
        """Return an index from 0 on for an index that may count from the end; fail if it is outside
        of an axis of the array."""
        size, given = self.to_int(length), index
        if index.low < 0 and not is_inside:
            negative = self.compare(ast.Lt(), index, 0)
            moved = self.emit.get(f"add i64 {index.text}, {size.text}")
            text = self.emit.get(
                f"select i1 {self.to_number(negative).text}, i64 {moved}, i64 {index.text}"
            )
            index = Scalar(Kind.INT, text)
        fits = index.low >= 0 and index.high < size.low
        if self.is_checked and not is_inside and not fits:
            outside = self.emit.get(f"icmp uge i64 {index.text}, {size.text}")
            text = OUT_OF_RANGE.format(axis, length if isinstance(length, int) else "{1}")
            self.fail_if(Scalar(Kind.BOOL, outside), text, given, size)
        return Scalar(Kind.INT, index.text, max(index.low, 0), index.high)

    def part(
        self, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
    ) -> ArrayValue:
        """Return the part of an array at indices and slices of its first axes."""
        if len(indices) > len(array.shape):
            self.refuse(f"found {len(indices)} indices for {len(array.shape)} axes")
        pointer, shape, strides = array.pointer, [], []
        # gaps are behind a slice of any axis but the last one that is indexed
        has_gaps = any(isinstance(index, slice) for index in indices[:-1])
        for k, (length, stride) in enumerate(zip(array.shape, array.strides)):
            value = indices[k] if k < len(indices) else slice(None)
            if is_number(value) and kind_of(value) is Kind.BOOL:
                self.refuse("a truth value is no index of an array: write int(...)")
            place: int | Scalar
            if isinstance(value, slice):
                place, length, step = self._cut(value, length)
                shape.append(length)
                moved = self._product(stride, step)
                strides.append(moved if isinstance(moved, int) else Scalar(Kind.INT, moved))
                has_gaps |= step != 1
            elif array.capacity is not None and k == 0:
                place = self._place_stored(value, length, array.capacity, array.wraps)
            elif isinstance(value, int) and isinstance(length, int) and -length <= value < length:
                place = value % length
            else:
                is_within = is_inside or not array.wraps
                place = self.place_index(self.to_int(value), length, is_within, k)
            pointer = self.offset(pointer, self._product(place, stride))
        part = replace(array, pointer=pointer, shape=tuple(shape), strides=tuple(strides))
        contiguous = array.is_contiguous and not has_gaps
        wraps = array.wraps or len(indices) > 0
        return replace(part, capacity=None, is_contiguous=contiguous, wraps=wraps)

    def element(self, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False) -> str:
        """Return the address of an element of an array."""
        return self.part(array, indices, is_inside).pointer

    def _place_stored(self, index: Any, length: int | Scalar, capacity: int, wraps: bool) -> Scalar:
        """Return the place of an index of a column that ends before its capacity: 0 beyond."""
        place = self.place_index(self.to_int(index), capacity, not wraps)
        stored = self.compare(ast.Lt(), place, length)
        return self.select(stored, place, 0)  # type: ignore[no-any-return]

    def _product(self, a: int | Scalar, b: int | Scalar) -> int | str:
        """Return the product of two sizes, without a test for overflow."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if b == 1:
            return self.to_int(a).text
        return self.emit.get(f"mul i64 {self.to_int(a).text}, {self.to_int(b).text}")

    def read_element(
        self, array: ArrayValue, indices: tuple[Any, ...], is_inside: bool = False
    ) -> Any:
        """Return an element of an array, or the part at fewer indices than axes."""
        found = self.part(array, indices, is_inside)
        if found.shape:
            return found
        if array.record is not None:
            return Record(found.pointer, array.record)
        is_constant = not array.is_writable
        return self.load(found.pointer, array.dtype, array.is_numpy, is_constant)

    def read_array(self, array: ArrayValue, index: Any, is_inside: bool = False) -> Any:
        """Return `array[index]`; an index is an integer, a slice, or a tuple of them, or an array
        that marks elements."""
        if isinstance(index, ArrayValue):
            return self.call_function(take_marked, *self._require_marks(array, index))
        return self.read_element(array, index if isinstance(index, tuple) else (index,), is_inside)

    def _cut(self, index: slice, length: int | Scalar) -> tuple[int | Scalar, int | Scalar, int]:
        """Return the start, the number and the distance of the items that a slice takes."""
        step = 1 if index.step is None else index.step
        if not isinstance(step, int) or step == 0:
            self.refuse("the step of a slice is a number that is known while compiling, not 0")
        if isinstance(length, int) and all(
            isinstance(e, int | None) for e in (index.start, index.stop)
        ):
            known = range(length)[index]
            return known.start, len(known), step
        if step < 0:
            if index.start is not None or index.stop is not None:
                self.refuse("a slice with a negative step has no ends in compiled code")
            count = self.binary(ast.FloorDiv(), self.binary(ast.Add(), length, -step - 1), -step)
            return self.binary(ast.Sub(), length, 1), count, step
        start, stop = self._clip(index.start, length, 0), self._clip(index.stop, length, length)
        left = Scalar(Kind.INT, self.emit.get(f"sub i64 {stop.text}, {start.text}"))
        count = self.select(self.compare(ast.Gt(), left, 0), left, constant(0))
        count = replace(count, low=0, high=bounds_of(length)[1])
        if step > 1:
            count = self.binary(ast.FloorDiv(), self.binary(ast.Add(), count, step - 1), step)
        return start, count, step

    def _clip(self, value: Any, length: int | Scalar, default: int | Scalar) -> Scalar:
        """Return an end of a slice as a place on an axis."""
        if value is None:
            return self.to_int(default)
        number, size = self.to_int(value), self.to_int(length)
        if number.low < 0:
            moved = Scalar(Kind.INT, self.emit.get(f"add i64 {number.text}, {size.text}"))
            number = self.select(self.compare(ast.Lt(), number, 0), moved, number)
            number = self.select(self.compare(ast.Lt(), number, 0), constant(0), number)
            number = replace(number, low=0)
        if number.high > size.low:
            number = self.select(self.compare(ast.Gt(), number, size), size, number)
        return number

    def write_array(self, array: ArrayValue, index: Any, value: Any) -> None:
        """Run `array[index] = value`."""
        if not array.is_writable:
            self.fail_if(True, "ValueError: assignment destination is read-only")
            return
        if isinstance(index, ArrayValue):
            self._fill_where(array, index, value)
            return
        indices = index if isinstance(index, tuple) else (index,)
        if array.capacity is not None:
            place = self.place_index(self.to_int(indices[0]), array.capacity, not array.wraps)
            beyond = self.compare(ast.GtE(), place, array.shape[0])
            self.fail_if(beyond, "IndexError: only the first entities can have this component")
        found = self.part(array, indices)
        if found.shape:
            self.fill(found, value)
            return
        self.put(array, found.pointer, value)

    def _fill_where(self, array: ArrayValue, marks: ArrayValue, value: Any) -> None:
        """Write a number into the elements of an array that another one marks as True."""
        array, marks = self._require_marks(array, marks)
        value = self._require_element(array, value)

        def visit(k: Scalar) -> None:
            marked = self.read_array(marks, k, is_inside=True)
            old = self.read_array(array, k, is_inside=True)
            self.put(array, self.element(array, (k,), True), self.select(marked, value, old))

        self.loop(array.shape[0], visit)

    def _require_marks(self, array: ArrayValue, marks: ArrayValue) -> tuple[ArrayValue, ArrayValue]:
        """Return an array and another one that marks its elements, both with one axis; refuse other
        indices."""
        if marks.dtype != np.bool_ or len(array.shape) != len(marks.shape):
            self.refuse(MARKS)
        for x, y in zip(array.shape, marks.shape):
            differ = self.compare(ast.NotEq(), x, y)
            self.fail_if(differ, "IndexError: boolean index did not match indexed array")
        return self.ravel(array), self.flatten(marks)

    def ravel(self, array: ArrayValue) -> ArrayValue:
        """Return a view with one axis of an array without gaps."""
        if len(array.shape) == 1:
            return array
        if not array.is_contiguous:
            self.refuse("this part of an array has gaps: loop over its rows")
        size = self.read_array_attribute(array, "size")
        return replace(array, shape=(size,), strides=(array.dtype.itemsize,))

    def flatten(self, array: ArrayValue) -> ArrayValue:
        """Return the elements of an array with one axis; a copy if it has gaps."""
        if not array.is_contiguous and len(array.shape) > 1:
            array = self.copy_array(array)
        return self.ravel(array)

    def fill(self, array: ArrayValue, value: Any) -> None:
        """Write a number into all elements of an array, or copy an array of the same shape."""
        value = self.constant_array(value) if isinstance(value, np.ndarray) else array_of(value)
        if isinstance(value, tuple | list) and array.shape[0] == len(value):
            for k, item in enumerate(value):
                self.write_array(array, k, item)
            return
        if not isinstance(value, ArrayValue):
            value = self._require_element(array, value)
            if len(array.shape) > 1 and array.is_contiguous:  # one loop is faster
                size = self.read_array_attribute(array, "size")
                array = replace(array, shape=(size,), strides=(array.dtype.itemsize,))
        elif len(value.shape) != len(array.shape):
            self.refuse("both arrays need the same number of axes")
        elif value.is_writable:  # they may overlap
            value = self.copy_array(value)
        if isinstance(value, ArrayValue):
            for a, b in zip(array.shape, value.shape):
                self.fail_if(
                    self.compare(ast.NotEq(), a, b), "ValueError: the arrays differ in shape"
                )
        self._walk(array, value, lambda pointer, each: self.put(array, pointer, each))

    def copy_array(self, array: ArrayValue) -> ArrayValue:
        """Return a new array with the elements of another one."""
        copied = self.new_array(array.shape, array.dtype, array.is_numpy)
        self._walk(copied, array, lambda place, each: self.store(place, array.dtype, each))
        return copied

    def _require_element(self, array: ArrayValue, value: Any) -> Scalar:
        """Return a number for elements of an array; fail if it does not fit, also if there are
        none."""
        if not is_number(value):
            self.refuse(f"found {describe(value)} in place of a number or an array")
        number = self.to_number(value)
        if array.dtype.kind in "iu" and number.kind in (Kind.INT, Kind.UINT):
            self._require_fit(number, array.dtype)
        return number

    def _walk(self, array: ArrayValue, value: Any, act: Callable[[str, Any], None]) -> None:
        """Call `act` with the address of each element, and the number for it."""

        def visit(k: Scalar) -> None:
            part = self.read_array(array, k, is_inside=True) if len(array.shape) > 1 else None
            each = (
                self.read_array(value, k, is_inside=True)
                if isinstance(value, ArrayValue)
                else value
            )
            if part is not None:
                self._walk(part, each, act)
            else:
                act(self.element(array, (k,), is_inside=True), each)

        self.loop(array.shape[0], visit)

    def loop(
        self,
        count: int | Scalar,
        body: Callable[[Scalar], None],
        nodes: Sequence[ast.AST] | None = None,
    ) -> None:
        """Run `body` with the numbers from 0 to `count` - 1. If all code of a turn is that of
        `nodes`, a turn frees the arrays that no variable brings out of it."""
        raise NotImplementedError

    def read_array_attribute(self, array: ArrayValue, name: str) -> Any:
        """Return an attribute of an array."""
        match name:
            case "shape":
                return array.shape
            case "ndim":
                return len(array.shape)
            case "dtype":
                return array.dtype
            case "size":
                size: Any = 1
                for length in array.shape:
                    size = self.binary(ast.Mult(), size, length)
                return size
        if name in ARRAY_METHODS:
            return Method(array, ARRAY_METHODS[name])
        self.refuse(f"an array has no {name!r} in compiled code")

    def new_array(self, shape: Any, dtype: np.dtype[Any], is_numpy: bool = True) -> ArrayValue:
        """Return a new array in the arena; its elements are not set. The dtype of Python's objects
        stands for Python's integers."""
        if dtype == np.object_:
            dtype, is_numpy = np.dtype(np.int64), False
        lengths = shape if isinstance(shape, tuple | list) else (shape,)
        shape = tuple(int(x) if isinstance(x, np.integer) else x for x in lengths)
        strides: list[int | Scalar] = []
        size: Any = dtype.itemsize
        for length in reversed(shape):
            if isinstance(length, Scalar) and length.low < 0:
                negative = self.compare(ast.Lt(), length, 0)
                self.fail_if(negative, "ValueError: negative dimensions are not allowed")
            elif isinstance(length, int) and length < 0:
                self.refuse("negative dimensions are not allowed")
            strides.insert(0, size)
            size = self.binary(ast.Mult(), size, length)
        pointer = self.allocate(self.to_int(size))
        return ArrayValue(pointer, shape, tuple(strides), dtype, is_numpy=is_numpy)

    def allocate(self, size: Scalar) -> str:
        """Return the address of new memory in the arena: its used and its whole size, then data."""
        used = self.emit.get("load i64, ptr %arena")
        place = self.emit.get(f"getelementptr i8, ptr %arena, i64 {used}")
        limit = self.emit.get("getelementptr i8, ptr %arena, i64 8")
        most = self.emit.get(f"load i64, ptr {limit}")
        left = self.emit.get(f"sub i64 {most}, {used}")
        rounded = self.emit.get(f"add i64 {size.text}, {ALIGN - 1}")
        rounded = self.emit.get(f"and i64 {rounded}, {-ALIGN}")
        self.fail_if(Scalar(Kind.BOOL, self.emit.get(f"icmp ugt i64 {rounded}, {left}")), ARENA)
        after = self.emit.get(f"add i64 {used}, {rounded}")
        self.emit.do(f"store i64 {after}, ptr %arena")
        self.has_arrays = True
        return place

    has_arrays = False


ARRAY_METHODS: dict[str, Callable[..., Any]] = {}
"""Methods of arrays, by name; filled by the library."""


def take_marked(values: Any, marks: Any) -> Any:
    """Return the elements of an array that another one marks as True."""
    found = np.empty_like(values)
    count = 0
    for k in range(len(values)):
        if marks[k]:
            found[count] = values[k]
            count += 1
    return found[:count]
