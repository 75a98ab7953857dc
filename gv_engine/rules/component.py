"""Components: small dataclasses of numbers whose fields become columns.

A component says what an entity *is*; a class without fields is a mark. The engine reads the
fields' types to lay out the columns of a world (see `gv_engine.scenario.layout`):

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
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_type_hints, overload
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

NOTHING = 0
"""The entity that is not there: every column reads its default at this index."""
AGENT = 1
"""The agent's entity: the first one of every world."""
OUTSIDE = -1
"""Stands for the entity of a cell beyond the grid, where an agent looks over the edge."""

Int8 = Annotated[int, np.dtype(np.int8)]
Int16 = Annotated[int, np.dtype(np.int16)]
Int32 = Annotated[int, np.dtype(np.int32)]
Float64 = Annotated[float, np.dtype(np.float64)]
EntityId = Annotated[int, "entity"]
"""Index of another entity, `NOTHING` for none; as wide as the world's capacity needs."""
Coordinate = Annotated[int, "coordinate"]
"""Row or column of a cell, -1 for none; as wide as the largest grid needs."""

_PLAIN = {int: np.dtype(np.int32), float: np.dtype(np.float64), bool: np.dtype(np.bool_)}
_WORLD_ATTRIBUTES = frozenset(
    {
        "acting",
        "action",
        "add",
        "adopt",
        "agent_at",
        "agents",
        "alive",
        "appearance",
        "around",
        "at",
        "attach",
        "become_agent",
        "beneath",
        "block",
        "blocked",
        "blocks_movement",
        "blocks_vision",
        "become_nothing",
        "capacity",
        "cells",
        "claim",
        "clear",
        "context",
        "detach",
        "done",
        "drawn",
        "enclose",
        "error",
        "everyone",
        "fail",
        "fork",
        "free",
        "ended_by",
        "enlist",
        "filled",
        "find_strange",
        "forget_cells",
        "ground",
        "having",
        "height",
        "highest",
        "in_line",
        "inside",
        "is_alone",
        "is_taken",
        "live",
        "layout",
        "left_by",
        "lift",
        "listed",
        "look_again",
        "look_everywhere",
        "look_of",
        "looks",
        "member",
        "next",
        "now_strange",
        "num_states",
        "objects",
        "of_type",
        "on_ground",
        "on_layer_of",
        "order",
        "place",
        "placed",
        "present",
        "playing",
        "recent",
        "remove",
        "restore",
        "reward",
        "rng",
        "set_shape",
        "set_state",
        "show_layers",
        "shown",
        "snapshot",
        "spawn",
        "spot",
        "stale",
        "stand",
        "state_of",
        "steps",
        "steps_from",
        "strange",
        "success",
        "take",
        "terminated",
        "total",
        "truncated",
        "turn",
        "unique",
        "unlist",
        "use_up",
        "walk_from",
        "ways",
        "ways_from",
        "who",
        "width",
    }
)

_C = TypeVar("_C")


@dataclass(frozen=True)
class Field:
    """One column of a component: its name, dtype (or what the layout gives one) and default."""

    name: str
    dtype: np.dtype[Any] | str
    default: float

    @property
    def is_entity(self) -> bool:
        """Whether it holds the index of an entity."""
        return isinstance(self.dtype, str) and self.dtype == "entity"


_COLUMNS: WeakKeyDictionary[type[Any], tuple[str, tuple[Field, ...]]] = WeakKeyDictionary()
_OFTEN: WeakSet[type[Any]] = WeakSet()


@overload
def component(cls: type[_C]) -> type[_C]: ...
@overload
def component(*, often: bool) -> Callable[[type[_C]], type[_C]]: ...
@dataclass_transform()
def component(cls: type[_C] | None = None, *, often: bool = False) -> Any:
    """Make a class a component: a dataclass with slots whose fields are numbers with defaults.

    Args:
        often: whether nearly every step reads it: such columns lie together at the head of a row.

    Raises:
        TypeError: a field is no number or has no default, or a name is taken by the engine.
    """
    if cls is None:
        return functools.partial(component, often=often)
    made = dataclass(slots=True)(cls)
    name = to_snake_case(cls.__name__)
    if name in _WORLD_ATTRIBUTES:
        raise TypeError(
            f"component {cls.__name__}: its column would be w.{name}, which every world already "
            f"has; choose another name"
        )
    hints = get_type_hints(made, include_extras=True)
    fields = [
        _field(cls, field, hints[field.name])
        for field in dataclasses.fields(made)  # type: ignore[arg-type]  # a dataclass since above
    ]
    _COLUMNS[made] = (name, tuple(fields))
    if often:
        _OFTEN.add(made)
    return made


def _field(cls: type[Any], field: dataclasses.Field[Any], hint: Any) -> Field:
    if field.name == "has":
        raise TypeError(f"component {cls.__name__}: 'has' is the column of its presence")
    if not isinstance(field.default, int | float):
        raise TypeError(
            f"component {cls.__name__}: field {field.name!r} needs a number as its default, the "
            f"value that an entity without the component reads"
        )
    arguments = get_args(hint)
    dtype = arguments[-1] if arguments else _PLAIN.get(hint)
    if not isinstance(dtype, np.dtype) and dtype not in ("entity", "coordinate"):
        raise TypeError(
            f"component {cls.__name__}: field {field.name!r} has type {hint!r}; columns hold "
            f"int, float, bool, Int8, Int16, Int32, Float64, EntityId or Coordinate"
        )
    return Field(field.name, dtype, field.default)


def is_component(thing: object) -> bool:
    """Whether this is a class made by `component`."""
    return isinstance(thing, type) and thing in _COLUMNS


def list_components(package: str) -> tuple[type[Any], ...]:
    """The components that modules of a package have declared, in order of their names."""
    declared = (cls for cls in _COLUMNS if cls.__module__.startswith(f"{package}."))
    return tuple(sorted(declared, key=lambda cls: cls.__name__))


def column_name(cls: type[Any]) -> str:
    """The name of the component's columns in a world: `MovingThing` → `moving_thing`."""
    return _COLUMNS[cls][0]


def fields_of(cls: type[Any]) -> tuple[Field, ...]:
    """The component's columns in order of declaration."""
    return _COLUMNS[cls][1]


def is_read_often(cls: type[Any]) -> bool:
    """Whether nearly every step reads the component."""
    return cls in _OFTEN


def to_snake_case(name: str) -> str:
    """`CamelCase` → `camel_case`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
