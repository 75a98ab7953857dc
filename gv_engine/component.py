"""Components: small dataclasses of numbers whose fields become columns.

A component says what an entity *is*; a class without fields is a mark. The engine reads the
fields' types to lay out the columns of a world (see `gv_engine.layout`):

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
import re
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_type_hints

import numpy as np

NOTHING = 0
"""The entity that is not there: every column reads its default at this index."""
OUTSIDE = -1
"""Stands for the entity of a cell beyond the grid, where an agent looks over the edge."""

Int8 = Annotated[int, np.dtype(np.int8)]
Int16 = Annotated[int, np.dtype(np.int16)]
Int32 = Annotated[int, np.dtype(np.int32)]
Float64 = Annotated[float, np.dtype(np.float64)]
EntityId = Annotated[int, "entity"]
"""Index of another entity, `NOTHING` for none; as wide as the world's capacity needs."""

_PLAIN = {int: np.dtype(np.int32), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}
_WORLD_ATTRIBUTES = frozenset(
    ["action", "agent_entity", "alive", "at", "capacity", "error", "free", "height", "inside", "lift", "place", "placed", "recent", "remove", "reward", "rng", "row", "scenario", "seed", "spawn", "steps", "terminated", "total", "truncated", "unique", "width"]
)

_C = TypeVar("_C")


@dataclass(frozen=True)
class Field:
    """One column of a component: its name, dtype (None: an entity id) and default."""

    name: str
    dtype: np.dtype[Any] | None
    default: float


@dataclass_transform()
def component(cls: type[_C]) -> type[_C]:
    """Make a class a component: a dataclass with slots whose fields are numbers with defaults.

    Raises:
        TypeError: a field is no number or has no default, or a name is taken by the engine.
    """
    made = dataclass(slots=True)(cls)
    made.__is_component__ = True  # type: ignore[attr-defined]  # the mark that is_component reads
    name = column_name(made)
    if name in _WORLD_ATTRIBUTES:
        raise TypeError(
            f"component {cls.__name__}: its column would be w.{name}, which every world already "
            f"has; choose another name"
        )
    for field in dataclasses.fields(made):  # type: ignore[arg-type]  # a dataclass since above
        if field.name == "has":
            raise TypeError(f"component {cls.__name__}: 'has' is the column of its presence")
        if field.default is dataclasses.MISSING:
            raise TypeError(
                f"component {cls.__name__}: field {field.name!r} needs a default, the value that "
                f"an entity without the component reads"
            )
    return made


@cache
def column_name(cls: type) -> str:
    """The name under which a world holds the component's columns: `MovingThing` → `moving_thing`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def is_component(thing: object) -> bool:
    """Whether this is a class made by `component`."""
    return isinstance(thing, type) and "__is_component__" in vars(thing)


@cache
def fields_of(cls: type) -> tuple[Field, ...]:
    """The component's columns in order of declaration.

    Raises:
        TypeError: a field's type is none of int, float, bool, or an alias of this module.
    """
    hints = get_type_hints(cls, include_extras=True)
    columns = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        arguments = get_args(hint)
        if arguments and arguments[-1] == "entity":
            dtype = None
        elif arguments and isinstance(arguments[-1], np.dtype):
            dtype = arguments[-1]
        elif hint in _PLAIN:
            dtype = _PLAIN[hint]
        else:
            raise TypeError(
                f"component {cls.__name__}: field {field.name!r} has type {hint!r}; columns hold "
                f"int, float, bool, Int8, Int16, Int32, Float64 or EntityId"
            )
        columns.append(Field(field.name, dtype, field.default))
    return tuple(columns)
