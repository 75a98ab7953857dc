"""Components of the ECS: small dataclasses of numbers, or of arrays of numbers, whose fields become
columns of a world.

A component without fields is a tag. The types of the fields give the dtypes of the columns (see
`gv_engine.scenario.memory.layout`):

>>> @component
... class Lamp:
...     lit: Int8 = 0
>>> column_name(Lamp)
'lamp'
>>> [(field.name, field.dtype, field.default) for field in fields_of(Lamp)]
[('lit', dtype('int8'), 0)]
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import (
    Annotated,
    Any,
    NamedTuple,
    TypeVar,
    dataclass_transform,
    get_args,
    get_type_hints,
    overload,
)
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

NOTHING = 0
"""Entity 0, the null entity: every column holds its default at this index."""
AGENT = 1
"""Entity 1: the first agent of every world."""
OUTSIDE = -1
"""Entity number that a view shows for cells beyond the edge of the grid."""

Int8 = Annotated[int, np.dtype(np.int8)]
Int16 = Annotated[int, np.dtype(np.int16)]
Int32 = Annotated[int, np.dtype(np.int32)]
Float64 = Annotated[float, np.dtype(np.float64)]
EntityId = Annotated[int, "entity"]
"""Index of another entity, `NOTHING` for none; its dtype is as wide as the world's capacity
needs."""
Coordinate = Annotated[int, "coordinate"]
"""Row or column of a cell, -1 for none; its dtype is as wide as the largest grid needs."""

_PLAIN = {int: np.dtype(np.int32), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}
_WORLD_ATTRIBUTES = """
acting action add add_changed_type adopt agent_at agents alive appearance at attach become_nothing
beneath between between_number block blocked blocks_movement blocks_vision capacity cells
changed_types clear clear_listed_cells columns context create_empty_entity damaged detach done drawn
enclose encode_view ended_by enlist error everyone fail filled find_changed_types find_in_view
forget fork free ground having height highest in_line inside is_alone is_checked is_taken is_terrain
layout left_by lift listed live look_again look_everywhere look_of looks maximum_of member next
num_states numbers objects of_type on_ground on_layer_of order pave place placed playing present
recent remove restore reward rng rng_state run_out set_rng_state set_shape set_state snapshot spawn
spot stacks stale stand state_of steps steps_from success tables take terminated terrain_of total
truncated turn unique unlist update_look update_looks update_looks_of use_up ways ways_from who
width wipe world write_distances
"""
"""Names of world attributes other than component columns, separated by blanks; no component may
have one of these names."""

_C = TypeVar("_C")


class Bounds(NamedTuple):
    """Minimum and maximum of a field, both included; part of the annotation: `health:
    Annotated[Int8, Bounds(0, 9)] = 9`. Worlds do not enforce them; observation spaces use them."""

    low: float
    high: float


class Array:
    """Annotation of a field that holds several numbers: `counts: Annotated[Int16, Array(12)] = 0`.
    Rules read and write one of them as `w.bag.counts[e, k]`.

    Args:
        items: number of items, or their names: `Array(Item)` for `class Item(IntEnum)` with the
            values 0, 1, 2 and so on, or a list of texts. Scenario files use the names.

    Raises:
        ValueError: there are no items or more than `MOST_ITEMS`, two have the same name, or the
            values of an enum are not 0, 1, 2 and so on.
    """

    def __init__(self, items: int | Iterable[str] | type[Enum]) -> None:
        """Declare an array field. `items` is the number of its items, their names, or an enum whose
        members name them."""
        if isinstance(items, type):
            if [member.value for member in items] != [*range(len(items))]:
                raise ValueError(f"the values of {items.__name__} do not count from 0")
            items = [member.name for member in items]
        self.names = tuple(map(str, range(items) if isinstance(items, int) else items))
        if not 1 <= len(self.names) <= MOST_ITEMS:
            raise ValueError(f"found {len(self.names)} items, expected 1 to {MOST_ITEMS}")
        if len({*self.names}) < len(self.names):
            raise ValueError(f"two of the items {', '.join(self.names)} have one name")


MOST_ITEMS = 128
"""Maximum number of items of an array field."""


@dataclass(frozen=True)
class Field:
    """Field of a component: one column of a world, such as `w.door.status`.

    Attributes:
        name: name of the attribute.
        dtype: dtype, or a name that the layout resolves.
        default: value of entities without the component; a tuple for an array.
        declared_bounds: `Bounds` in the annotation; None if it has none.
        items: names of the numbers of an array; () for a single number.
    """

    name: str
    dtype: np.dtype[Any] | str
    default: Any
    declared_bounds: Bounds | None = None
    items: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the field of one entity: (k,) for an array of k numbers, () for a number."""
        return (len(self.items),) if self.items else ()

    @property
    def bounds(self) -> Bounds:
        """Least and greatest value of the field: as declared, or else the range of its dtype."""
        kind: Any = self.dtype
        if self.declared_bounds:
            return self.declared_bounds
        if kind.kind == "f":
            return Bounds(-np.inf, np.inf)
        return Bounds(0, 1) if kind.kind == "b" else Bounds(np.iinfo(kind).min, np.iinfo(kind).max)

    @property
    def is_entity(self) -> bool:
        """True if the field holds entity indices."""
        return isinstance(self.dtype, str) and self.dtype == "entity"


_COLUMNS: WeakKeyDictionary[type[Any], tuple[str, tuple[Field, ...]]] = WeakKeyDictionary()
_READ_OFTEN: WeakSet[type[Any]] = WeakSet()


@overload
def component(cls: type[_C]) -> type[_C]: ...
@overload
def component(*, often: bool) -> Callable[[type[_C]], type[_C]]: ...
@dataclass_transform()
def component(cls: type[_C] | None = None, *, often: bool = False) -> Any:
    """Class decorator that makes a component: a dataclass with slots, all of whose fields are
    numbers, or an `Array` of numbers, with defaults. `often` places its columns where rules read
    them fastest.

    >>> @component
    ... class Battery:
    ...     charge: Int8 = 10
    >>> Battery(charge=3)
    Battery(charge=3)

    Args:
        often: True if nearly every step reads the component; such columns lie together at the start
            of the record of a world, for fewer cache misses.

    Raises:
        TypeError: a field is not a number or has no default, or worlds have an attribute with the
            component's name.
    """
    if cls is not None and not isinstance(cls, type):
        raise TypeError(f"found {cls!r}, expected a class below @component")
    if cls is None:
        return functools.partial(component, often=often)
    arrays = {
        name: detail
        for name, hint in get_type_hints(cls, include_extras=True).items()
        for detail in get_args(hint)
        if isinstance(detail, Array)
    }
    if arrays:
        cls.__post_init__ = _make_array_init(arrays)  # type: ignore[attr-defined]  # of dataclass
    data_class = dataclass(slots=True)(cls)
    name = to_snake_case(cls.__name__)
    if name in _WORLD_ATTRIBUTES.split():
        raise TypeError(
            f"component {cls.__name__}: its column would be w.{name}, which every world "
            f"already has; choose another name"
        )
    hints = get_type_hints(data_class, include_extras=True)
    fields = [
        _read_field(cls, field, hints[field.name])
        for field in dataclasses.fields(data_class)  # type: ignore[arg-type]
    ]
    _COLUMNS[data_class] = (name, tuple(fields))
    if often:
        _READ_OFTEN.add(data_class)
    return data_class


def _make_array_init(arrays: dict[str, Array]) -> Callable[[Any], None]:
    """Return a method `__post_init__` for a component class. It replaces the value of each array
    field by a new list, so that `counts=0` becomes [0, 0, 0]."""

    def convert_to_lists(self: Any) -> None:
        for name, array in arrays.items():
            value, length = getattr(self, name), len(array.names)
            numbers = list(value) if hasattr(value, "__len__") else [value] * length
            if len(numbers) != length:
                raise ValueError(f"{name}: found {len(numbers)} numbers, expected {length}")
            setattr(self, name, numbers)

    return convert_to_lists


def _describe_default(field: dataclasses.Field[Any]) -> str:
    is_missing = field.default is dataclasses.MISSING
    return "has no default" if is_missing else f"has the default {field.default!r}"


def _read_field(cls: type[Any], field: dataclasses.Field[Any], hint: Any) -> Field:
    """Return the name, dtype, default and bounds of a field of the dataclass `cls`, as a `Field`.
    `hint` is its type annotation."""
    if field.name == "has":
        raise TypeError(f"component {cls.__name__}: 'has' is the column of its presence")
    plain, *details = get_args(hint) or (hint,)
    items = next((detail.names for detail in details if isinstance(detail, Array)), ())
    if not isinstance(field.default, int | float):
        raise TypeError(
            f"component {cls.__name__}: field {field.name!r} {_describe_default(field)}, "
            f"expected a number, the value that an entity without the component reads; no field "
            f"can hold a text"
        )
    bounds = next((detail for detail in details if isinstance(detail, Bounds)), None)
    kinds = (detail for detail in details if not isinstance(detail, Bounds | Array))
    dtype = next(kinds, _PLAIN.get(plain))
    if not isinstance(dtype, np.dtype) and dtype not in ("entity", "coordinate"):
        raise TypeError(
            f"component {cls.__name__}: field {field.name!r} has type {hint!r}; columns hold "
            f"int, float, bool, Int8, Int16, Int32, Float64, EntityId or Coordinate"
        )
    if items and not isinstance(dtype, np.dtype):
        raise TypeError(f"component {cls.__name__}: the array {field.name!r} can hold numbers only")
    default: Any = (field.default,) * len(items) if items else field.default
    read = Field(field.name, dtype, default, bounds, items)
    if bounds and (error := _find_bounds_error(read, bounds)):
        raise TypeError(f"component {cls.__name__}: field {field.name!r} {error}")
    return read


def _find_bounds_error(field: Field, bounds: Bounds) -> str:
    """Return an error message if the declared `bounds` of a field do not fit its dtype or its
    default; else ""."""
    if not isinstance(field.dtype, np.dtype):
        return "has bounds, which only numbers have"
    low, high = Field(field.name, field.dtype, 0).bounds
    if field.dtype.kind != "f" and any(end != end // 1 for end in bounds):
        return f"holds integers, and its bounds are {bounds.low} to {bounds.high}"
    if not low <= bounds.low <= bounds.high <= high:
        return f"holds {low} to {high}, and its bounds are {bounds.low} to {bounds.high}"
    default = field.default[0] if field.items else field.default
    if not bounds.low <= default <= bounds.high:
        return f"has the default {default}, which is not from {bounds.low} to {bounds.high}"
    return ""


def is_component(candidate: object) -> bool:
    """Return True for a class that `component` has decorated."""
    return isinstance(candidate, type) and candidate in _COLUMNS


def list_components(package: str) -> tuple[type[Any], ...]:
    """Return the component classes that the modules of the package `package` declare, sorted by
    name."""
    declared = (cls for cls in _COLUMNS if cls.__module__.startswith(f"{package}."))
    return tuple(sorted(declared, key=lambda cls: cls.__name__))


def column_name(cls: type[Any]) -> str:
    """Return the name of a component's columns in a world: `MovingThing` → `moving_thing`."""
    return _COLUMNS[cls][0]


def fields_of(cls: type[Any]) -> tuple[Field, ...]:
    """Return the fields of a component in order of declaration."""
    return _COLUMNS[cls][1]


def field_values(instance: Any) -> tuple[Any, ...]:
    """Return the values of all fields of a component, an array as a tuple."""
    values = (getattr(instance, field.name) for field in fields_of(type(instance)))
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def is_read_often(cls: type[Any]) -> bool:
    """Return True for a component declared with `often=True`: nearly every step reads it."""
    return cls in _READ_OFTEN


def to_snake_case(name: str) -> str:
    """Convert a name from `CamelCase` to `camel_case`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
