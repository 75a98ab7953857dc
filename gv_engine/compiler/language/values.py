"""Values at compile time: numbers, arrays and records that exist when the compiled program runs.

Everything else is an ordinary Python object that is known while compiling: a constant, a tuple, a
function, a text, a NumPy dtype or array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from types import FunctionType
from typing import Any

import numpy as np

AnyValue = Any
"""Value of an expression while compiling: a Python object if it is constant, else a placeholder for
what the program computes, such as a `Scalar` or an `ArrayValue`."""
LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1
"""Bounds of the integers of compiled code."""
EXACT = 1 << 53
"""Integers up to this size are exact as floats."""


class Kind(Enum):
    """Kinds of numbers. UINT is NumPy's uint64, whose arithmetic wraps around.

    Attributes:
        title: what it is called in messages.
        llvm: LLVM type.
        dtype: dtype of arrays of such numbers.
    """

    BOOL = "truth value", "i1", "?"
    INT = "integer", "i64", "i8"
    UINT = "uint64", "i64", "u8"
    FLOAT = "float", "double", "f8"

    def __init__(self, title: str, llvm: str, dtype: str) -> None:
        self.title, self.llvm, self.dtype = title, llvm, np.dtype(dtype)


@dataclass(frozen=True, slots=True)
class Scalar:
    """Number that is computed at run time: an LLVM value, its kind, and bounds if known.

    Attributes:
        kind: its type.
        operand: LLVM value, such as "%v1" or "7"; "" in a template.
        low, high: bounds of an INT; others ignore them.
        narrow_dtype: dtype of an element of an array of less than 64 bits, with which NumPy
            calculates in as few; "" for others.
    """

    kind: Kind
    operand: str
    low: int = LOWEST
    high: int = HIGHEST
    narrow_dtype: str = ""


@dataclass(frozen=True, eq=False)
class RecordType:
    """Type of records in memory, such as the state of one world: its fields, and the attributes and
    methods that rules can use.

    Attributes:
        dtype: NumPy dtype of a record.
        attributes: what else a rule can read, by name: constants, and functions that become methods
            of the record.
        parts: record types of fields that are records themselves, by name.
        capacity: length that array fields seem to have; beyond their end they read element 0.
        is_writable: False for records that all worlds share.
        wraps: False if no index of array fields counts from the end, in programs without tests.
        writers: by array field, a function (record, index, value) that writes an element, in place
            of a plain store; `index` counts the elements in the order of memory.
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
        fields: Mapping[str, Any] = self.dtype.fields or {}
        return {name: (field[0], field[1]) for name, field in fields.items()}


class FieldNames(tuple[str, ...]):
    """Attribute of a record type that stands for several of its fields: code reads a tuple of their
    values."""


@dataclass(frozen=True, slots=True)
class Record:
    """Record in memory, such as one world: its address and type."""

    pointer: str
    type: RecordType


@dataclass(frozen=True, slots=True)
class Writer:
    """Function that is called for writes to the elements of an array, see `RecordType.writers`.

    Attributes:
        record: record with the array.
        offset_in_outer: offset of `record` in the record that the function gets, in bytes.
        start: offset of the array in `record`, in bytes.
        function: (record, index, value).
    """

    record: Record
    offset_in_outer: int
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
        capacity: length that the first axis seems to have, see `RecordType`.
        is_numpy: True if Python reads numbers of NumPy from it, False if those are its own.
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
    capacity: int | None = None
    is_numpy: bool = True
    writer: Writer | None = None
    wraps: bool = True


@dataclass(frozen=True, slots=True)
class ListValue:
    """List in memory. A list whose items are known one by one is a Python list instead.

    Attributes:
        columns: an array for each LLVM value of an item; () while the variable has the list.
        item_template: template of an item; None if no item is known yet.
        name: variable whose list changes; "" for others.
        pointer: LLVM value, the address of the list's head while the variable has it.
    """

    columns: tuple[ArrayValue, ...]
    item_template: Any
    name: str = ""
    pointer: str = ""

    @property
    def length(self) -> int | Scalar:
        """Number of items."""
        return self.columns[0].shape[0]


@dataclass(frozen=True, slots=True)
class Range:
    """`range` with run-time start, stop or step."""

    start: int | Scalar
    stop: int | Scalar
    step: int | Scalar


def to_range(value: Range | range) -> Range:
    """Return a range whose ends need not be known."""
    return Range(value.start, value.stop, value.step)


@dataclass(frozen=True)
class Iterated:
    """Items of a loop at run time: their number, and a function that emits code for the item at an
    index. The number may also be a function that emits code for it."""

    length: Any
    read: Callable[[Scalar], Any]


@dataclass(frozen=True, slots=True)
class Method:
    """Bound method: a function with its first argument."""

    record: Any
    function: Any


def is_number(value: AnyValue) -> bool:
    """Return True for numbers, known or not."""
    return isinstance(value, Scalar | bool | int | float | np.bool_ | np.integer | np.floating)


def to_known(value: AnyValue) -> AnyValue:
    """Return a number of NumPy that is known while compiling as a number of Python, except for
    `numpy.uint64` and narrow ones, whose arithmetic differs; return all other values as they
    are."""
    if not isinstance(value, np.generic) or isinstance(value, np.uint64 | np.void):
        return value
    return value if narrow_dtype_of(value) else value.item()


def kind_of(value: AnyValue) -> Kind:
    """Return the kind of a number, such as `Kind.INT` for 3."""
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


def narrow_dtype_of(*numbers: Any) -> str:
    """Return the dtype of the first number that comes from an array with fewer than 64 bits, such
    as "uint8"; "" if there is none."""
    for value in numbers:
        if isinstance(value, Scalar) and value.narrow_dtype:
            return value.narrow_dtype
        if isinstance(value, np.integer | np.floating) and value.itemsize < 8:
            return value.dtype.name
    return ""


def is_known(value: AnyValue) -> bool:
    """Return True if a value is constant at compile time: it needs no LLVM value."""
    if isinstance(value, _SEQUENCES):
        return all(map(is_known, value))
    if isinstance(value, slice):
        return is_known((value.start, value.stop, value.step))
    return not isinstance(value, _UNKNOWN)


_SEQUENCES = tuple, list
_UNKNOWN = Scalar, Record, ArrayValue, ListValue, Range, Method

# ---- values within values ------------------------------------------------------------------------


def subvalues_of(value: AnyValue) -> Sequence[Any]:
    """Return the values inside a compound value, such as the items of a tuple. Only those that may
    have LLVM names are returned."""
    if not isinstance(value, _WITH_PARTS):
        return ()
    match value:
        case ArrayValue(shape=shape, strides=strides, writer=writer):
            return (*shape, *strides, writer.record) if writer else (*shape, *strides)
        case ListValue():
            return value.columns
        case Range():
            return value.start, value.stop, value.step
        case Method():
            return (value.record,)
    return value  # a tuple or a list


_WITH_PARTS = *_SEQUENCES, ArrayValue, ListValue, Range, Method


def with_parts(value: AnyValue, parts: Iterable[Any]) -> AnyValue:
    """Return a copy of a compound value such as a tuple, in which `parts` replace the values that
    `subvalues_of` returns."""
    match value:
        case list():
            return [*parts]
        case tuple():
            make_tuple = getattr(type(value), "_make", tuple)  # `_make` of a named tuple
            return make_tuple(parts)
        case ArrayValue():
            items, ndim = tuple(parts), len(value.shape)
            writer = value.writer and replace(value.writer, record=items[-1])
            return replace(value, shape=items[:ndim], strides=items[ndim : 2 * ndim], writer=writer)
        case ListValue():
            return replace(value, columns=tuple(parts))
        case Range():
            return Range(*parts)
        case Method():
            return replace(value, record=next(iter(parts)))
    return value


def iter_nested(value: AnyValue) -> Iterator[Any]:
    """Yield a value, and all values within it."""
    yield value
    for part in subvalues_of(value):
        yield from iter_nested(part)


def storage_key(value: AnyValue) -> AnyValue:
    """Return a hashable key that says how a value is stored. Two values with equal keys fit into
    the same LLVM variables."""
    if isinstance(value, _COMPARABLE):
        return type(value), value
    match value:
        case Scalar():
            return value.kind, value.narrow_dtype
        case Record():
            return Record, id(value.type)
        case ArrayValue(writer=writer):
            flags = value.is_writable, value.is_contiguous, value.is_numpy, value.wraps
            facts = str(value.dtype), id(value.record), value.capacity, len(value.shape)
            if writer is None:
                return ArrayValue, *flags, *facts
            offsets = writer.offset_in_outer, writer.start
            return ArrayValue, *flags, *facts, id(writer.record.type), *offsets, writer.function
        case ListValue():
            return ListValue, version_key(value.item_template), len(value.columns) or value.name
        case Range():
            return Range
        case Method():
            return Method, value.function
        case tuple() | list():
            return type(value), len(value)
        case float():
            return float, value.hex()  # 0.0 and -0.0 are equal, and differ
        case np.generic():
            return type(value), value.tobytes()
    return type(value), id(value)


_COMPARABLE = int, str, np.dtype, FunctionType


def version_key(value: AnyValue) -> AnyValue:
    """Return a hashable key, equal for values with the same known parts and the same kinds of
    unknown ones. A function is compiled once for each key of its arguments."""
    parts = subvalues_of(value)
    return (storage_key(value), *map(version_key, parts)) if parts else storage_key(value)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One LLVM value inside a compound value: its LLVM type, and its name or constant."""

    llvm: str
    operand: str


def _has_pointer(value: AnyValue) -> bool:
    return isinstance(value, _IN_MEMORY) or is_growing(value)


_IN_MEMORY = Record, ArrayValue


def leaves(value: AnyValue) -> list[Leaf]:
    """Return all LLVM values inside a value, such as the address and each length of an array.
    `rebuild` takes them in the same order."""
    if isinstance(value, Scalar):
        return [Leaf(value.kind.llvm, value.operand)]
    llvm_values = [Leaf("ptr", value.pointer)] if _has_pointer(value) else []
    for part in subvalues_of(value):
        llvm_values += leaves(part)
    return llvm_values


def rebuild(template: AnyValue, operands: Iterator[str]) -> AnyValue:
    """Return a copy of `template` in which all LLVM names are replaced by the next ones of
    `operands`; the inverse of `leaves`."""
    if isinstance(template, Scalar):
        return replace(template, operand=next(operands))
    if _has_pointer(template):
        template = replace(template, pointer=next(operands))
    parts = subvalues_of(template)
    return with_parts(template, [rebuild(part, operands) for part in parts]) if parts else template


def forget_bounds(value: AnyValue) -> AnyValue:
    """Return a value without what is known about the range of its integers, so that one compiled
    function serves all of them. Lengths stay known to be at least 0."""
    if isinstance(value, Scalar):
        return replace(value, low=LOWEST, high=HIGHEST)
    if isinstance(value, ListValue) and value.columns:
        value = replace(value, name="")
    parts = [forget_bounds(part) for part in subvalues_of(value)]
    if isinstance(value, ArrayValue):
        for axis in range(len(value.shape)):  # the first parts are the lengths
            if isinstance(parts[axis], Scalar):
                parts[axis] = replace(parts[axis], low=0)
    return with_parts(value, parts) if parts else value


def is_growing(value: AnyValue) -> bool:
    """Return True for a list that its variable has and changes."""
    return isinstance(value, ListValue) and bool(value.name) and not value.columns


def array_of(value: AnyValue) -> AnyValue:
    """Return the array of a list of numbers in memory; return all other values as they are."""
    is_list = isinstance(value, ListValue) and isinstance(value.item_template, Scalar)
    return value.columns[0] if is_list else value


def describe(value: AnyValue) -> str:
    """Return a short description of a value's type for error messages, such as "an array of
    int64"."""
    match value:
        case Scalar():
            return f"{'an' if value.kind is Kind.INT else 'a'} {value.kind.title}"
        case ArrayValue():
            return f"an array of {value.dtype}"
        case Record():
            return "a record"
        case ListValue():
            return "a list of tuples" if isinstance(value.item_template, tuple) else "a list"
        case Range():
            return "a range"
        case slice():
            return "a slice"
        case list() if not is_known(value):
            return f"a list of {len(value)}"
        case tuple():
            return f"a tuple of {len(value)}"
    if callable(value):
        return f"the function {getattr(value, '__name__', value)}"
    return f"{value!r}"
