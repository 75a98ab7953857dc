"""Values while compiling: numbers, arrays and records of the running program.

Everything else is an ordinary Python object that is known while compiling: a constant, a tuple, a
function, a text, a NumPy dtype or array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
"""Bounds of the integers of compiled code."""
EXACT = 1 << 53
"""Integers up to this size are exact as floats."""


class Kind(Enum):
    """Types of numbers. UINT is NumPy's uint64, whose arithmetic wraps."""

    BOOL = "truth value"
    INT = "integer"
    UINT = "uint64"
    FLOAT = "float"

    @property
    def llvm(self) -> str:
        """LLVM type."""
        return {Kind.BOOL: "i1", Kind.FLOAT: "double"}.get(self, "i64")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number of the running program.

    Attributes:
        kind: its type.
        text: LLVM value.
        low, high: bounds of an INT; others ignore them.
        narrow: dtype of an element of an array of less than 64 bits, with which NumPy calculates in
            as few; "" for others.
    """

    kind: Kind
    text: str
    low: int = LOWEST
    high: int = HIGHEST
    narrow: str = ""


@dataclass(frozen=True, eq=False)
class RecordType:
    """A type of records in memory.

    Attributes:
        dtype: NumPy dtype of a record.
        attributes: what else a rule can read, by name: constants, and functions that become methods
            of the record.
        parts: record types of fields that are records themselves, by name.
        capacity: length that array fields seem to have; beyond their end they read element 0.
        is_writable: False for records that all worlds share.
        wraps: False if no index of array fields counts from the end, in programs without tests.
        writers: by array field, a function (record, place, value) that writes an element, in place
            of a plain store; `place` counts the elements in the order of memory.
        arrays: fields that hold the address and the length of an array, by name, with the shape of
            an element (), its dtype, and its record type or None.
        outer: the record type whose records contain these and that `writers` get, and the offset
            there in bytes; None for the record itself.
    """

    dtype: np.dtype[Any]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, RecordType] = field(default_factory=dict)
    capacity: int | None = None
    is_writable: bool = True
    wraps: bool = True
    writers: Mapping[str, Callable[..., None]] = field(default_factory=dict)
    arrays: Mapping[str, tuple[tuple[int, ...], np.dtype[Any], RecordType | None]] = field(
        default_factory=dict
    )
    outer: tuple[RecordType, int] | None = None

    @cached_property
    def fields(self) -> Mapping[str, tuple[np.dtype[Any], int]]:
        """(dtype, offset in bytes) of each field by name."""
        places: Mapping[str, Any] = self.dtype.fields or {}
        return {name: place[:2] for name, place in places.items()}


@dataclass(frozen=True, slots=True)
class Record:
    """A record in memory."""

    pointer: str
    type: RecordType


@dataclass(frozen=True, slots=True)
class Writer:
    """Function that writes the elements of an array, see `RecordType.writers`.

    Attributes:
        record: record with the array.
        back: bytes from the record that the function gets to `record`.
        start: bytes from `record` to the array.
        function: (record, place, value).
    """

    record: Record
    back: int
    start: int
    function: Callable[..., None]


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array in memory.

    Attributes:
        pointer: LLVM value, the address of the first element.
        shape: length of each axis.
        strides: distance of neighbours on each axis, in bytes.
        dtype: NumPy dtype of the elements.
        is_writable: False for arrays that all worlds share.
        record: record type of the elements, if they are records.
        is_contiguous: True if the elements follow one another without gaps.
        is_list: True for what a comprehension returns, a list in Python.
        capacity: length that the first axis seems to have, see `RecordType`.
        is_numpy: True if Python reads numbers of NumPy from it, False if those are its own.
        name: variable of the list that grows whose items these are now; "" for all others.
        writer: function that writes elements; None for plain stores.
        wraps: False if no index counts from the end, in programs without tests.
    """

    pointer: str
    shape: tuple[int | Scalar, ...]
    strides: tuple[int | Scalar, ...]
    dtype: np.dtype[Any]
    is_writable: bool = True
    record: RecordType | None = None
    is_contiguous: bool = True
    is_list: bool = False
    capacity: int | None = None
    is_numpy: bool = True
    name: str = ""
    writer: Writer | None = None
    wraps: bool = True


class ListValue(tuple[Any, ...]):
    """A list whose items are not all known: a tuple, but for comparisons and `isinstance`."""

    __slots__ = ()


def make_list(items: Iterable[Any]) -> list[Any] | ListValue:
    """Return a list of values: Python's own if all are known."""
    values = list(items)
    return values if is_known(values) else ListValue(values)


def same_sequence(values: tuple[Any, ...], items: Iterable[Any]) -> tuple[Any, ...]:
    """Return a tuple of other items, of the type of `values`."""
    if isinstance(values, ListValue):
        return ListValue(items)
    make = getattr(type(values), "_make", tuple)  # of a named tuple
    return make(items)


@dataclass(frozen=True, slots=True)
class TupleList:
    """A list of values of one form: an array for each LLVM value in the form."""

    columns: tuple[ArrayValue, ...]
    form: Any


@dataclass(frozen=True, slots=True)
class GrowingList:
    """A list that a function changes.

    Attributes:
        pointer: LLVM value, the address of its head.
        kinds: kinds of the numbers of an item; None if they are not known yet.
        name: variable that has the list.
        is_of_tuples: True if items are tuples of numbers.
    """

    pointer: str
    kinds: tuple[Kind, ...] | None
    name: str
    is_of_tuples: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """A `range` that is not known while compiling."""

    start: int | Scalar
    stop: int | Scalar
    step: int | Scalar


@dataclass(frozen=True, slots=True)
class Method:
    """A function with its first argument."""

    record: Any
    function: Any


def is_number(value: Any) -> bool:
    """Return True for numbers, known or not."""
    return isinstance(value, Scalar | bool | int | float | np.bool_ | np.integer | np.floating)


def to_known(value: Any) -> Any:
    """Return a number of NumPy that is known while compiling as a number of Python, except for
    `numpy.uint64` and narrow ones, whose arithmetic differs; return all other values as they
    are."""
    if not isinstance(value, np.generic) or isinstance(value, np.uint64 | np.void):
        return value
    return value if narrow_of(value) else value.item()


def kind_of(value: Any) -> Kind:
    """Return the kind of a number, known or not."""
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, bool):
        return Kind.BOOL
    if isinstance(value, np.uint64):
        return Kind.UINT
    return Kind.INT if isinstance(value, int | np.integer) else Kind.FLOAT


def kind_of_dtype(dtype: np.dtype[Any]) -> Kind:
    """Return the kind of the numbers in an array of a dtype."""
    if dtype.kind == "b":
        return Kind.BOOL
    if dtype.kind == "f":
        return Kind.FLOAT
    return Kind.UINT if dtype == np.uint64 else Kind.INT


def bounds_of(value: int | Scalar) -> tuple[int, int]:
    """Return the least and the greatest value that a BOOL or INT can have."""
    if not isinstance(value, Scalar):
        return int(value), int(value)
    return (0, 1) if value.kind is Kind.BOOL else (value.low, value.high)


def narrow_of(*values: Any) -> str:
    """Return the dtype of a narrow number among some numbers; "" if there is none."""
    for value in values:
        if isinstance(value, Scalar) and value.narrow:
            return value.narrow
        if isinstance(value, np.integer | np.floating) and value.itemsize < 8:
            return value.dtype.name
    return ""


def is_known(value: Any) -> bool:
    """Return True if nothing of a value depends on the running program."""
    if isinstance(value, tuple | list):
        return all(map(is_known, value))
    if isinstance(value, slice):
        return is_known((value.start, value.stop, value.step))
    return not isinstance(
        value, Scalar | Record | ArrayValue | TupleList | GrowingList | Range | Method
    )


@dataclass(frozen=True, slots=True)
class Leaf:
    """One LLVM value within a value: its LLVM type and text."""

    llvm: str
    text: str


def leaves(value: Any) -> Iterator[Leaf]:
    """Yield the LLVM values of a value, in the order in which `rebuild` takes them."""
    match value:
        case Scalar():
            yield Leaf(value.kind.llvm, value.text)
        case Record() | GrowingList():
            yield Leaf("ptr", value.pointer)
        case ArrayValue():
            yield Leaf("ptr", value.pointer)
            for part in (*value.shape, *value.strides):
                yield from leaves(part)
            if value.writer is not None:
                yield from leaves(value.writer.record)
        case Range():
            for part in (value.start, value.stop, value.step):
                yield from leaves(part)
        case Method():
            yield from leaves(value.record)
        case TupleList():
            yield from leaves(value.columns)
        case tuple():
            for part in value:
                yield from leaves(part)


def rebuild(value: Any, texts: Iterator[str]) -> Any:
    """Return a value of the same form with the LLVM values `texts`."""
    match value:
        case Scalar():
            return replace(value, text=next(texts))
        case Record() | GrowingList():
            return replace(value, pointer=next(texts))
        case ArrayValue():
            pointer = next(texts)
            shape = tuple(rebuild(part, texts) for part in value.shape)
            strides = tuple(rebuild(part, texts) for part in value.strides)
            writer = value.writer and replace(
                value.writer, record=rebuild(value.writer.record, texts)
            )
            return replace(value, pointer=pointer, shape=shape, strides=strides, writer=writer)
        case Range():
            return Range(*(rebuild(x, texts) for x in (value.start, value.stop, value.step)))
        case Method():
            return Method(rebuild(value.record, texts), value.function)
        case TupleList():
            return replace(value, columns=rebuild(value.columns, texts))
        case tuple():
            return same_sequence(value, (rebuild(part, texts) for part in value))
    return value


def form_of(value: Any) -> Any:
    """Return a hashable key, equal for values with the same known parts and the same kinds of
    unknown ones. A function is compiled once for each form of its arguments."""
    match value:
        case Scalar():
            return value.kind, value.narrow
        case Record():
            return Record, id(value.type)
        case ArrayValue():
            parts = (*value.shape, *value.strides)
            flags = value.is_writable, value.is_contiguous, value.is_list, value.is_numpy
            extra = id(value.record), value.capacity, value.wraps, key_of_writer(value.writer)
            return ArrayValue, str(value.dtype), *map(form_of, parts), *flags, *extra
        case GrowingList():
            return GrowingList, value.kinds, value.is_of_tuples, value.name
        case Range():
            return Range, *map(form_of, (value.start, value.stop, value.step))
        case Method():
            return Method, form_of(value.record), value.function
        case TupleList():
            return TupleList, form_of(value.columns), form_of(value.form)
        case tuple() | list():
            return type(value), *map(form_of, value)
    if isinstance(value, float):
        return float, value.hex()  # 0.0 and -0.0 are equal, and differ
    if isinstance(value, np.generic):
        return type(value), value.tobytes()
    if isinstance(value, int | str | np.dtype | FunctionType):
        return type(value), value
    return type(value), id(value)


def key_of_writer(writer: Writer | None) -> Any:
    """Return a key, equal for writers with the same code."""
    if writer is None:
        return None
    return id(writer.record.type), writer.back, writer.start, writer.function


def forget_bounds(value: Any) -> Any:
    """Return a value without the bounds of its integers: a function that is compiled for it serves
    all values of its form. Lengths stay at least 0."""
    match value:
        case Scalar():
            return Scalar(value.kind, value.text, narrow=value.narrow)
        case ArrayValue():
            shape = tuple(
                replace(forget_bounds(part), low=0) if isinstance(part, Scalar) else part
                for part in value.shape
            )
            return replace(value, shape=shape, strides=forget_bounds(value.strides), name="")
        case Range():
            return Range(*map(forget_bounds, (value.start, value.stop, value.step)))
        case TupleList():
            return replace(value, columns=forget_bounds(value.columns))
        case Method():
            return Method(forget_bounds(value.record), value.function)
        case tuple():
            return same_sequence(value, map(forget_bounds, value))
    return value


def is_list(value: Any) -> bool:
    """Return True for lists, whose items may be known."""
    return isinstance(value, list | ListValue)


def describe(value: Any) -> str:
    """Return what a value is, for messages."""
    match value:
        case Scalar():
            return f"{'an' if value.kind is Kind.INT else 'a'} {value.kind.value}"
        case ArrayValue():
            return f"an array of {value.dtype}"
        case Record():
            return "a record"
        case TupleList():
            return "a list of tuples"
        case GrowingList():
            return "a list"
        case Range():
            return "a range"
        case ListValue():
            return f"a list of {len(value)}"
        case tuple():
            return f"a tuple of {len(value)}"
    if callable(value):
        return f"the function {getattr(value, '__name__', value)}"
    return f"{value!r}"
