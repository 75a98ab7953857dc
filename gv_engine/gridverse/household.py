"""The objects of one world: entities as grid objects, which move in and out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from components.appearance import FLOOR, Kind
from components.objects import built_in_components
from gv_engine.gridverse.base_object import GridObject, class_of, entity_fields
from gv_engine.language.component import NOTHING, column_name
from gv_engine.language.errors import RuleError
from gv_engine.language.objects import OBJECT_TYPES, ObjectType
from gv_engine.reading.layout import Layout, rounded
from gv_engine.worlds.world import ObjectWorld

_PLAYED: ContextVar[tuple[ObjectType, ...]] = ContextVar("played", default=())
_SPARE = 8
"""Entities beyond those of two for each cell, an object and what is in it."""


class Household:
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
            self._classes[index] = class_of(self.world.layout.known[index])
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
        if (kind.in_grid and kind not in layout.types) or not known.issuperset(kind.classes):
            listed = ", ".join(known.name for known in layout.types if known.in_grid)
            raise RuleError(
                f"{kind.name} cannot be in this world, which has {listed}: list it in the "
                f"scenario's state_space, or declare it before the grid is made"
            )


def household(world: ObjectWorld) -> Household:
    """The household of a world."""
    if world.objects is None:
        world.objects = Household(world)
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
    world = ObjectWorld(_layout(rounded(height), rounded(width), types))
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
        columns |= {column_name(cls): cls for cls in kind.classes}
    for kind in OBJECT_TYPES.everywhere():
        own = {column_name(cls): cls for cls in kind.classes}
        if kind.index not in found and all(columns.get(n, cls) is cls for n, cls in own.items()):
            columns |= own
            found[kind.index] = kind
    return tuple(found[index] for index in sorted(found))


@cache
def _layout(height: int, width: int, types: tuple[ObjectType, ...]) -> Layout:
    own = {column_name(cls): cls for kind in types for cls in kind.classes}
    for cls in (Kind, *built_in_components()):
        own.pop(column_name(cls), None)
    every = (*built_in_components(), *(own[name] for name in sorted(own)))
    return Layout(height, width, 2 * height * width + _SPARE, every, types)
