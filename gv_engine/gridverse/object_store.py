"""The base class of grid objects, which ties each of them to its components."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np

import components
from components.appearance import FLOOR, NONE, Kind
from components.matter import Opaque, Portable, Solid
from components.objects import built_in_components
from gv_engine.gridverse.attributes import (
    CLASSES,
    ComponentNumber,
    Flag,
    adopt_type,
    declare,
    state_field,
)
from gv_engine.gridverse.values import Value
from gv_engine.rules.component import NOTHING, column_name, fields_of
from gv_engine.rules.errors import RuleError
from gv_engine.rules.objects import OBJECT_TYPES, Color, ObjectType, ObjectTypes
from gv_engine.scenario.layout import Layout, make_prefab, round_up_size
from gv_engine.world.world import ObjectWorld

# ---- household -----------------------------------------------------------------------------------

_PLAYED: ContextVar[tuple[ObjectType, ...]] = ContextVar("played", default=())
_SPARE = 8
"""Entities beyond those of two for each cell, an object and what is in it."""


class ObjectStore:
    """Hands out the objects of a world and keeps them, so that each entity has one object.

    Attributes:
        world: whose components the objects own.
        state: the `State` of the world, once it is asked for.
        before: a copy of it from before the current step, once it is asked for.
    """

    def __init__(self, world: ObjectWorld) -> None:
        self.world = world
        self.state: Any = None
        self.before: Any = None
        self._things: dict[int, GridObject] = {}
        self._classes: dict[int, type[GridObject]] = {}

    def thing(self, e: int) -> GridObject:
        """The object that is an entity; a Floor for NOTHING."""
        if e == NOTHING:
            return self._class(FLOOR)()
        thing = self._things.get(e)
        # a rule may have removed that entity, and another one may have got its number
        if thing is None or thing.entity != e:
            thing = object.__new__(self._class(self.world.kind.value[e]))
            thing._begin(self.parts(e))
            thing._household, thing._entity = self, e
            self._things[e] = thing
        return thing

    def _class(self, index: int) -> type[GridObject]:
        if index not in self._classes:
            self._classes[index] = class_of(self.world.layout.object_types[index])
        return self._classes[index]

    def parts(self, e: int) -> dict[type, Any]:
        """The components of an entity, by class."""
        found = {}
        for cls in self.world.layout.components:
            columns = self.world[column_name(cls)]
            if columns.rows[e] is not columns.absent:
                found[cls] = columns.rows[e]
        return found

    def take_in(self, thing: GridObject) -> int:
        """The new entity of an object, without a place; NOTHING for a Floor.

        The columns now read the object's own components. One that lives somewhere already, be it
        here, is copied.

        Raises:
            CapacityError: the world is full.
            RuleError: the type, or one of its components, is not in this world.
        """
        if thing.kind.index == FLOOR:
            return NOTHING
        if thing.is_housed:
            thing = thing.copy()
        self.check(thing.kind)
        e = self.world.claim()
        with self.world.context:
            for part in thing._parts.values():
                self.world.attach(e, part)
        for (cls, name), held in thing._content.items():
            setattr(thing._parts[cls], name, self.take_in(held))
        thing._content.clear()
        thing._household, thing._entity = self, e
        self._things[e] = thing
        return e

    def release(self, e: int) -> None:
        """Remove an entity and what it holds; its object lives on by itself."""
        if e == NOTHING:
            return
        thing = self.thing(e)
        thing._parts = self.parts(e)
        for cls, name in entity_fields(thing._parts):
            held = self.thing(getattr(thing._parts[cls], name))
            if held.is_housed:
                self.release(held.entity)
                thing._content[cls, name] = held
                setattr(thing._parts[cls], name, NOTHING)
        self.world.remove(e)
        thing._household = None
        del self._things[e]

    def check(self, kind: ObjectType) -> None:
        """Make sure that the world knows a type.

        Raises:
            RuleError: it does not.
        """
        layout = self.world.layout
        known = set(layout.components)
        if (kind.in_grid and kind not in layout.types) or not known.issuperset(
            kind.component_classes
        ):
            listed = ", ".join(known.name for known in layout.types if known.in_grid)
            raise RuleError(
                f"{kind.name} cannot be in this world, which has {listed}: list it in the "
                f"scenario's state_space, or declare it before the grid is made"
            )


def household(world: ObjectWorld) -> ObjectStore:
    """The household of a world."""
    if world.objects is None:
        world.objects = ObjectStore(world)
    return world.objects  # type: ignore[no-any-return]  # worlds do not know what they keep


@contextmanager
def playing(layout: Layout) -> Iterator[None]:
    """Functions of a scenario whose worlds have this layout are run in the block."""
    token = _PLAYED.set(layout.types)
    try:
        yield
    finally:
        _PLAYED.reset(token)


def new_world(height: int, width: int, wanted: Iterable[ObjectType] = ()) -> ObjectWorld:
    """A world for a grid of this size with all types there are, two objects in every cell.

    Where a scenario's own function makes it, the scenario's types are there, whatever others have
    their indices.

    Args:
        wanted: types that have to be there, too.

    Raises:
        ValueError: two of these have one index.
    """
    types = _types((*_PLAYED.get(), *wanted))
    world = ObjectWorld(_layout(round_up_size(height), round_up_size(width), types))
    world.set_shape(height, width)
    return world


def _types(wanted: Iterable[ObjectType]) -> tuple[ObjectType, ...]:
    """All types, but for those whose index another one has, or whose components are called like
    another one's: a wanted one's, or one's that comes first in `OBJECT_TYPES.everywhere`."""
    columns = {column_name(cls): cls for cls in built_in_components()}
    found: dict[int, ObjectType] = {}
    for kind in wanted:
        if found.setdefault(kind.index, kind) != kind:
            raise ValueError(
                f"{kind.name} and {found[kind.index].name} have the index {kind.index}, each in "
                f"scenarios of its own; no grid can have both"
            )
        columns |= {column_name(cls): cls for cls in kind.component_classes}
    for kind in OBJECT_TYPES.iterate_all():
        own = {column_name(cls): cls for cls in kind.component_classes}
        if kind.index not in found and all(columns.get(n, cls) is cls for n, cls in own.items()):
            columns |= own
            found[kind.index] = kind
    return tuple(found[index] for index in sorted(found))


@cache
def _layout(height: int, width: int, types: tuple[ObjectType, ...]) -> Layout:
    own = {column_name(cls): cls for kind in types for cls in kind.component_classes}
    for cls in (Kind, *built_in_components()):
        own.pop(column_name(cls), None)
    every = (*built_in_components(), *(own[name] for name in sorted(own)))
    return Layout(height, width, 2 * height * width + _SPARE, every, types)


# ---- base object ---------------------------------------------------------------------------------


class GridObject(Value):
    """What a cell holds. Subclasses are types of objects, registered in order of their definition.

    A subclass may say, as class attributes,

    - numbers with annotation and default, `value: int = 1`: they become fields of a component that
      is called like the class, so rules find them at `w.coin.value[e]`, and `w.coin.has[e]` is
      whether an entity is of the class; the component's own class is `Coin.Part`;
    - `class Status(IntEnum)` and a field `status: Status = Status.…` that starts at 0: its states;
    - `colored = True`, or `color = Color.RED` for a colour to start with: else it is always NONE;
    - `blocks_movement`, `blocks_vision`, `holdable`, False if left out; an object can change its
      own later on, `self.blocks_movement = False`;
    - `sprite`: base name of its drawing;
    - `layer = "ground"` for what lies beneath other things.

    Objects are equal when type, state and colour are.

    Args:
        values: of the fields, in their order.
        color: of coloured objects.
        fields: by name.

    Raises:
        TypeError: no such field.
        ValueError: a colour for a type that has none.
    """

    kind: ClassVar[ObjectType]
    Part: ClassVar[type]
    _fields: ClassVar[dict[str, ComponentNumber]] = {}

    blocks_movement = Flag(Solid, "Nobody can enter its cell.")
    blocks_vision = Flag(Opaque, "Nobody can see past it.")
    holdable = Flag(Portable, "It can be picked up.")

    def __init_subclass__(cls, *, kind: ObjectType | int | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if kind is None:
            declare(cls)
        else:
            adopt_type(cls, OBJECT_TYPES[kind] if isinstance(kind, int) else kind)

    def __init__(self, *values: Any, color: int | None = None, **fields: Any) -> None:
        if type(self) is GridObject:
            raise TypeError("GridObject stands for all types; make an object of a subclass")
        self._begin({part: part(*given) for part, given in make_prefab(self.kind)})
        if len(values) > len(self._fields):
            raise TypeError(
                f"{type(self).__name__} has {len(self._fields)} fields, found {len(values)} values"
            )
        for name, value in (*zip(self._fields, values), *fields.items()):
            if name not in self._fields:
                raise TypeError(
                    f"{type(self).__name__} has no field {name!r} "
                    f"(fields: {', '.join(self._fields) or 'none'})"
                )
            setattr(self, name, value)
        if color is not None and (color != NONE or self.kind.colored):
            self.color = Color(color)

    def _begin(self, parts: dict[type, Any]) -> None:
        self._parts = parts
        self._content: dict[tuple[type, str], GridObject] = {}
        self._household: ObjectStore | None = None
        self._entity = NOTHING

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("_") or hasattr(type(self), name)):
            raise AttributeError(
                f"{type(self).__name__} has no {name!r}; a number that copies, snapshots and rules "
                f"shall know is declared in its class, with annotation and default: {name}: int = 0"
            )
        object.__setattr__(self, name, value)

    # ---- its type ----------------------------------------------------------------------------

    @classmethod
    def type_index(cls) -> int:
        """What grids show in channel 0."""
        return cls.kind.index

    @classmethod
    def num_states(cls) -> int:
        """How many states objects of the type can be in."""
        return cls.kind.num_states

    @classmethod
    def can_be_represented_in_state(cls) -> bool:
        """Whether (type, state, colour) say all about it; not about what holds another object."""
        return not any(entity_fields(cls.kind.component_classes))

    # ---- what it is like ---------------------------------------------------------------------

    @property
    def entity(self) -> int:
        """Its entity in the world that it lives in, NOTHING without one."""
        return self._entity if self._home else NOTHING

    @property
    def is_housed(self) -> bool:
        """Whether a world reads this object's components."""
        return self._home is not None

    @property
    def _home(self) -> ObjectStore | None:
        """The household of the world that reads them."""
        home = self._household
        return home if home and home.world.kind.rows[self._entity] is self._parts[Kind] else None

    def part(self, cls: type) -> Any:
        """Its component of a class; an absent one reads its defaults."""
        if home := self._home:
            return home.world[column_name(cls)].rows[self._entity]
        return self._parts[cls] if cls in self._parts else cls()

    def has(self, cls: type) -> bool:
        """Whether it has a component."""
        if home := self._home:
            return bool(home.world[column_name(cls)].has[self._entity])
        return cls in self._parts

    def add(self, cls: type, *values: float) -> None:
        """Give it a component, unless it has one."""
        if not self.has(cls):
            self._parts[cls] = cls(*values)
            if home := self._home:
                home.world.attach(self._entity, self._parts[cls])

    def discard(self, cls: type) -> None:
        """Take a component off."""
        if home := self._home:
            home.world.detach(self._entity, cls)
        self._parts.pop(cls, None)

    @property
    def color(self) -> Color:
        """Its colour, NONE if the type has none.

        Raises:
            ValueError: on setting one of a type without.
        """
        return Color(self.part(components.Color).value)

    @color.setter
    def color(self, color: Color) -> None:
        if not self.kind.colored:
            raise ValueError(f"{type(self).__name__} has no colour; found {Color(color).name}")
        self.part(components.Color).value = int(Color(color))

    @property
    def state_index(self) -> int:
        """Number of its state, 0 for types with one."""
        field = state_field(self.kind)
        return 0 if field is None else int(getattr(self.part(field.part), field.name))

    @state_index.setter
    def state_index(self, state: int) -> None:
        field = state_field(self.kind)
        if not 0 <= state < self.kind.num_states:
            raise ValueError(
                f"{type(self).__name__} has states 0 to {self.kind.num_states - 1}, found {state}"
            )
        if field is not None:
            field.__set__(self, int(state))

    @property
    def appearance(self) -> tuple[int, int, int]:
        """(type, state, colour) index, as grids show them."""
        return self.kind.index, self.state_index, int(self.color)

    # ---- objects as values -------------------------------------------------------------------

    def copy(self) -> Self:
        """An object like this one, without a world; what it holds is copied too."""
        if home := self._home:
            self._parts = home.parts(self._entity)
        other = object.__new__(type(self))
        other._begin({cls: copy.copy(part) for cls, part in self._parts.items()})
        place = other._parts[components.Position]
        place.y = place.x = -1
        for cls, name in entity_fields(self._parts):
            held = self._held(cls, name)
            setattr(other._parts[cls], name, NOTHING)
            if held is not None:
                other._content[cls, name] = held.copy()
        return other

    def _held(self, cls: type, name: str) -> GridObject | None:
        """The object that a field of entity ids names."""
        if home := self._home:
            e = getattr(self.part(cls), name)
            return None if e == NOTHING else home.thing(e)
        return self._content.get((cls, name))

    def _hold(self, cls: type, name: str, thing: GridObject | None) -> None:
        """Let a field of entity ids name an object."""
        if home := self._home:
            part = self.part(cls)
            before = getattr(part, name)
            e = NOTHING if thing is None else home.take_in(thing)
            home.release(before)
            setattr(part, name, e)
        elif thing is None:
            self._content.pop((cls, name), None)
        else:
            self._content[cls, name] = thing.copy() if thing.is_housed else thing

    def __reduce__(self) -> tuple[Any, ...]:
        one = self.copy()
        which = type(self) if hasattr(self, "Part") else self.kind
        return _thaw, (which, one._parts, one._content)

    def _key(self) -> tuple[Any, ...]:
        return GridObject, self.appearance

    def __repr__(self) -> str:
        shown = [_shown(getattr(self, name)) for name in self._fields]
        if self.kind.colored:
            shown.append(f"Color.{self.color.name}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _shown(value: Any) -> str:
    return f"{type(value).__qualname__}.{value.name}" if isinstance(value, IntEnum) else repr(value)


def _thaw(
    which: type[GridObject] | ObjectType,
    parts: dict[type, Any],
    content: dict[tuple[type, str], Any],
) -> GridObject:
    cls = class_of(which) if isinstance(which, ObjectType) else which
    thing: GridObject = object.__new__(cls)
    thing._begin(parts)
    parts[Kind].value = cls.kind.index
    thing._content = content
    return thing


def entity_fields(parts: Iterable[type]) -> Iterator[tuple[type, str]]:
    """The fields of components that name other entities."""
    for cls in parts:
        for field in fields_of(cls):
            if field.is_entity:
                yield cls, field.name


def class_of(which: ObjectType | int) -> type[GridObject]:
    """The class of a type; one that was declared by `object_type` alone gets a class now.

    Args:
        which: an index is that of `OBJECT_TYPES`.

    Raises:
        KeyError: no type has this index.
    """
    kind = which if isinstance(which, ObjectType) else OBJECT_TYPES[which]
    found = CLASSES.get(kind)
    return found or type(kind.name, (GridObject,), {"__module__": kind.module}, kind=kind)


def index_of(thing: Any, types: ObjectTypes = OBJECT_TYPES) -> int:
    """The type index of a class of objects, of its name, or of a number.

    Args:
        types: which names and numbers mean.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(thing, type) and issubclass(thing, GridObject) and thing is not GridObject:
        return thing.kind.index
    if isinstance(thing, str):
        return types[thing].index
    if isinstance(thing, int | np.integer):
        return types[int(thing)].index
    raise TypeError(f"{thing!r} is no type of objects: expected a subclass of GridObject")
