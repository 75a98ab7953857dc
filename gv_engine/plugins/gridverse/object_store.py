"""Base class of grid objects, and the store that links the objects of a world to its entities."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from functools import cache
from types import FunctionType, SimpleNamespace
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np

import components
from components.core import FLOOR, HIDDEN, NONE, Kind
from components.items import Opaque, Portable, Solid
from components.objects import built_in_components
from gv_engine.plugins.gridverse.component_fields import (
    ComponentArray,
    ComponentNumber,
    ComponentState,
    Flag,
    state_field,
)
from gv_engine.rules import objects
from gv_engine.rules.component import NOTHING, Int8, column_name, component, field_values, fields_of
from gv_engine.rules.errors import RuleError
from gv_engine.rules.objects import (
    ABOVE,
    OBJECT_TYPES,
    Color,
    Condition,
    ObjectType,
    ObjectTypes,
)
from gv_engine.scenario.memory.layout import Layout, make_prefab, round_up_size
from gv_engine.world.world import ObjectWorld


class Value:
    """Base class of grids, agents, objects, states and observations, which are compared and hashed
    by content."""

    def _content_key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def copy(self) -> Self:
        """Return an independent copy."""
        raise NotImplementedError

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __eq__(self, other: object) -> bool:
        """Return True if the other value has the same class and equal content."""
        return (
            self._content_key() == other._content_key()
            if isinstance(other, Value)
            else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self._content_key())


CLASSES: dict[ObjectType, Any] = {}
"""Object class of each type that has one."""


def adopt_type(cls: Any, kind: ObjectType) -> None:
    """Make `cls` the Python class of the object type `kind`. Add an attribute to the class for each
    field of the type's components."""
    cls.kind = kind
    status = getattr(cls, "Status", None)
    fields: dict[str, ComponentNumber] = {}
    for part, _ in kind.components:
        for field in fields_of(part):
            if part is components.Color or field.dtype is None:
                continue
            if kind.state == (column_name(part), field.name):
                fields[field.name] = ComponentState(part, field.name, status)
            elif field.items:
                fields[field.name] = ComponentArray(part, field.name)
            else:
                fields[field.name] = ComponentNumber(part, field.name)
    cls._fields = fields
    for name, descriptor in fields.items():
        if name not in cls.__dict__:
            setattr(cls, name, descriptor)
    CLASSES[kind] = cls


_FLAGS = "blocks_movement", "blocks_vision", "holdable"
_DERIVABLE = "state_index", "color", *_FLAGS
"""Attributes that a class may define as properties."""


def register_class(cls: Any) -> None:
    """Register a user-defined class as a new object type. The class body declares its fields,
    states, flags and colour."""
    base: ObjectType | None = getattr(cls, "kind", None)
    parents = [parent for parent in cls.__mro__ if "kind" not in vars(parent)]
    parents = parents[: parents.index(GridObject)]  # the class, and bases without a type
    declared = {name: value for each in reversed(parents) for name, value in vars(each).items()}
    annotated = {name for each in parents for name in inspect.get_annotations(each)}
    parts: dict[type, tuple[float, ...]] = dict(base.components) if base else {}
    own_part = cls.Part = _make_component(cls, declared)
    parts[own_part] = tuple(field.default for field in fields_of(own_part))
    derived = [name for name in _DERIVABLE if isinstance(declared.get(name), property)]
    for name in {*_FLAGS} & declared.keys() - {*derived}:
        flag: Any = inspect.getattr_static(cls.__mro__[len(parents)], name)
        _declare_flag(cls, name, flag, declared[name], parts)
    if declared.get("state_index") == 0:
        cls.state_index = GridObject.state_index
    if {"color", "colored"} & {*declared, *annotated}:
        color = declared.get("color", NONE)
        if "color" not in derived:
            cls.color = GridObject.color
        if declared.get("colored", True):
            parts[components.Color] = (int(color) if isinstance(color, int) else NONE,)
    states, state = _declare_states(cls, base, declared, parts)
    kind = objects.declare_type(
        cls.__name__,
        *(part(*values) for part, values in parts.items()),
        states=states,
        state=None if state is None else (state.part, state.name),
        sprite=declared.get("sprite"),
        layer=declared.get("layer", base.layer if base else ABOVE),
        module=cls.__module__,
    )
    cls._derived = tuple(dict.fromkeys((*cls._derived, *derived)))
    adopt_type(cls, kind)


def _declare_flag(
    cls: Any, name: str, flag: Flag, value: object, parts: dict[type, tuple[float, ...]]
) -> None:
    """Read the flag `name`, such as `blocks_movement = True`, of a user-defined class. Replace the
    attribute by a descriptor, and add or remove the flag's component in `parts`, the components of
    new objects. Raise TypeError if `value` is not a bool."""
    if not isinstance(value, bool):
        raise TypeError(
            f"{cls.__name__}.{name} must be True, False or a property; an object that changes "
            f"assigns to self.{name}"
        )
    setattr(cls, name, flag)
    parts.pop(flag.part, None)
    if value:
        parts[flag.part] = ()


def _declare_states(
    cls: Any,
    base: ObjectType | None,
    declared: Mapping[str, Any],
    parts: dict[type, tuple[float, ...]],
) -> tuple[Any, ComponentNumber | None]:
    """Return the states of a user-defined class and the descriptor of the field that holds the
    current state (None if there is only one). The states come from its `Status` enum, its method
    `num_states`, or its base type. `parts`, the components of new objects, is updated."""
    states: Any = base.states if base else ()
    state: ComponentNumber | None = state_field(base) if base else None
    if base and base.state_components:
        states = {
            name: [part(*values) for part, values in added]
            for name, added in zip(base.states, base.state_components, strict=True)
        }
        for part in base.component_changes(0):
            parts.pop(part, None)
    if "Status" in declared:
        members = list(declared["Status"])
        if [member.value for member in members] != list(range(len(members))):
            raise TypeError(f"{cls.__name__}.Status: the values of its members count from 0")
        field_name = "status" if "status" in declared else "state"
        return tuple(member.name for member in members), ComponentNumber(cls.Part, field_name)
    if (count := _count_states(cls, declared)) > 1:
        parts[Condition] = (0,)
        return tuple(map(str, range(count))), ComponentNumber(Condition, "value")
    return states, state


def _count_states(cls: Any, declared: Mapping[str, Any]) -> int:
    """Return the number of states according to the class's method `num_states`. 1 if it has no such
    method."""
    function: Any = getattr(declared.get("num_states"), "__func__", None)
    if function is None:
        return 1
    # the method may name the class, which its module defines only later
    names = {**function.__globals__, cls.__name__: cls}
    return int(FunctionType(function.__code__, names, closure=function.__closure__)(cls))


def _make_component(cls: type, declared: Mapping[str, Any]) -> type:
    """Make a component class from the annotated number fields of a user-defined class and its
    bases. The fields are removed from the class."""
    annotations, defaults = {}, {}
    for parent in reversed(cls.__mro__):
        if "kind" in vars(parent) or not issubclass(parent, GridObject):
            continue
        hints = inspect.get_annotations(parent)
        fields = SimpleNamespace(__annotations__={k: v for k, v in hints.items() if k in declared})
        module_names = getattr(sys.modules.get(cls.__module__), "__dict__", {})
        names = {**module_names, cls.__name__: cls, **declared}
        for name, hint in get_type_hints(fields, names, include_extras=True).items():
            if getattr(hint, "__origin__", None) is ClassVar or name in _DERIVABLE:
                continue
            is_enum = isinstance(hint, type) and issubclass(hint, Enum)
            annotations[name] = Int8 if is_enum else hint
            default = declared[name]
            defaults[name] = default.value if isinstance(default, Enum) else default
            if name in vars(cls):
                delattr(cls, name)
    if "Status" in declared and "status" not in annotations:
        annotations["state"], defaults["state"] = Int8, 0
    body = {"__annotations__": annotations, "__module__": cls.__module__, **defaults}
    body["__qualname__"] = f"{cls.__qualname__}.Part"  # the path that pickle uses
    body["__doc__"] = cls.__doc__ or f"Is a {cls.__name__}."
    return component(type(cls.__name__, (), body))


# ---- object store --------------------------------------------------------------------------------

_SCENARIO_TYPES: ContextVar[tuple[ObjectType, ...]] = ContextVar("scenario_types", default=())
_SPARE_ENTITIES = 8
"""Number of entities of a world in addition to two per cell (an object and its content)."""


class ObjectStore:
    """Store of a world's objects: each entity has exactly one object.

    Attributes:
        world: world that reads the components of the objects.
        state: cached `State` of the world.
        before: cached copy of the state from before the current step.
        floors: objects of cells without an entity, by (y, x).
    """

    def __init__(self, world: ObjectWorld) -> None:
        """Make the store that maps each entity of `world` to one Python object."""
        self.world = world
        self.state: Any = None
        self.before: Any = None
        self.floors: dict[tuple[int, int], GridObject] = {}
        self._objects: dict[int, GridObject] = {}
        self._classes: dict[int, type[GridObject]] = {}

    def get_object(self, e: int) -> GridObject:
        """Return the grid object of entity `e`, the same Python object on each call. NOTHING, the
        entity of an empty cell, gives a new Floor."""
        if e == NOTHING:
            return self._class_of_index(FLOOR)()
        obj = self._objects.get(e)
        # the entity may have been removed and its number used again
        if obj is None or obj.entity != e:
            obj = object.__new__(self._class_of_index(self.world.kind.value[e]))
            obj._init_components(self.components_of(e))
            self._link(obj, e)
        return obj

    def _link(self, obj: GridObject, e: int) -> None:
        obj._store, obj._entity = self, e
        self._objects[e] = obj

    def get_visible(self, cell: tuple[int, int]) -> GridObject:
        """Return the grid object that is visible in a cell, the same Python object on each call."""
        layers = (self.world.at, *self.world.between, self.world.ground)
        e = next(filter(None, (layer[cell] for layer in layers)), NOTHING)
        if e == NOTHING and cell not in self.floors:
            self.floors[cell] = self.get_object(NOTHING)
        return self.floors[cell] if e == NOTHING else self.get_object(e)

    def _class_of_index(self, index: int) -> type[GridObject]:
        if index not in self._classes:
            self._classes[index] = class_of(self.world.layout.object_types[index])
        return self._classes[index]

    def components_of(self, e: int) -> dict[type, Any]:
        """Return the components of entity `e` as a dict from component class to component."""
        parts = {}
        for cls in self.world.layout.components:
            columns = self.world[column_name(cls)]
            if columns.rows[e] is not columns.default:
                parts[cls] = columns.rows[e]
        return parts

    def add(self, obj: GridObject) -> int:
        """Create an entity for a grid object and return it. The entity is not yet in a cell. A
        Floor needs no entity: NOTHING is returned.

        From then on the world's columns read the object's own components. An object that is in a
        world already is copied.

        Raises:
            CapacityError: the world is full.
            RuleError: the world does not have the type or one of its components.
        """
        if obj.kind.index == FLOOR:
            return NOTHING
        if obj.is_in_world:
            obj = obj.copy()
        self.check(obj.kind)
        e = self.world.create_empty_entity()
        with self.world.context:
            for each in obj._components.values():
                self.world.attach(e, each)
        for (cls, name), held in obj._held_objects.items():
            setattr(obj._components[cls], name, self.add(held))
        obj._held_objects.clear()
        self._link(obj, e)
        return e

    def remove(self, e: int) -> None:
        """Remove an entity and everything that it holds from the world. Its Python object keeps its
        data and remains usable."""
        if e == NOTHING:
            return
        obj = self.get_object(e)
        obj._components = self.components_of(e)
        for cls, name in entity_fields(obj._components):
            held = self.get_object(getattr(obj._components[cls], name))
            if held.is_in_world:
                self.remove(held.entity)
                obj._held_objects[cls, name] = held
                setattr(obj._components[cls], name, NOTHING)
        self.world.remove(e)
        obj._store = None
        del self._objects[e]

    def check(self, kind: ObjectType) -> None:
        """Raise RuleError if the world was created without the object type `kind`."""
        layout = self.world.layout
        has_components = set(layout.components).issuperset(kind.component_classes)
        if (kind.in_grid and kind not in layout.types) or not has_components:
            names = ", ".join(other.name for other in layout.types if other.in_grid)
            raise RuleError(
                f"{kind.name} cannot be in this world, which has {names}: list it in the "
                f"scenario's state_space, or declare it before the grid is made"
            )


def get_store(world: ObjectWorld) -> ObjectStore:
    """Return the store that links a world's entities to objects, which is created on first use."""
    if world.objects is None:
        world.objects = ObjectStore(world)
    return world.objects  # type: ignore[no-any-return]  # `World.objects` is Any


@contextmanager
def use_object_types(layout: Layout) -> Iterator[None]:
    """Within a `with` block, create all worlds with the object types of this layout too."""
    token = _SCENARIO_TYPES.set(layout.types)
    try:
        yield
    finally:
        _SCENARIO_TYPES.reset(token)


def new_world(height: int, width: int, extra_types: Iterable[ObjectType] = ()) -> ObjectWorld:
    """Return an empty world of `height` × `width` cells that can contain all registered object
    types and `extra_types`. It has room for two objects per cell.

    Inside `use_object_types`, the types of that layout take precedence over other types with the
    same index.

    Args:
        extra_types: further types that the world must have.

    Raises:
        ValueError: two of the types that the world must have share an index.
    """
    types = _list_compatible_types((*_SCENARIO_TYPES.get(), *extra_types))
    world = ObjectWorld(_make_layout(round_up_size(height), round_up_size(width), types))
    world.set_shape(height, width)
    return world


def _list_compatible_types(extra_types: Iterable[ObjectType]) -> tuple[ObjectType, ...]:
    """Return `extra_types` and all registered object types that do not conflict with them, sorted
    by type index.

    Types conflict if they share an index, or have different components of the same name. Among
    registered types, the first one that `OBJECT_TYPES.iterate_all` yields wins.
    """
    columns = {column_name(cls): cls for cls in built_in_components()}
    types: dict[int, ObjectType] = {}
    for kind in extra_types:
        if types.setdefault(kind.index, kind) != kind:
            raise ValueError(
                f"{kind.name} and {types[kind.index].name} have the index {kind.index}, each in "
                f"scenarios of its own; no grid can have both"
            )
        columns |= {column_name(cls): cls for cls in kind.component_classes}
    for kind in OBJECT_TYPES.iterate_all():
        new_columns = {column_name(cls): cls for cls in kind.component_classes}
        fits = all(columns.get(name, cls) is cls for name, cls in new_columns.items())
        if fits and kind.index not in types:
            columns |= new_columns
            types[kind.index] = kind
    return tuple(types[index] for index in sorted(types))


@cache
def _make_layout(height: int, width: int, types: tuple[ObjectType, ...]) -> Layout:
    """Return the memory layout of a world with this size and these object types. Layouts are
    cached."""
    added = {column_name(cls): cls for kind in types for cls in kind.component_classes}
    for cls in (Kind, *built_in_components()):
        added.pop(column_name(cls), None)
    all_components = (*built_in_components(), *(added[name] for name in sorted(added)))
    return Layout(height, width, 2 * height * width + _SPARE_ENTITIES, all_components, types)


# ---- base object ---------------------------------------------------------------------------------


class GridObject(Value):
    """Base class of grid objects. Each subclass is an object type, registered in order of
    definition.

    A subclass may define, as class attributes,

    - numbers with annotation and default, `value: int = 1`: fields of a component that is named
      after the class, so that rules find them at `w.coin.value[e]`; `w.coin.has[e]` is True for
      entities of the class; the component's own class is `Coin.Part`;
    - `class Status(Enum)`, members from 0 on: its states; an object's own is `self.state`, or
      `self.status` for a class with a field `status: Status = Status.…`;
    - `color`, the initial colour, `color: Color` or `colored = True`; else the colour is always
      NONE;
    - `blocks_movement`, `blocks_vision`, `holdable`, False by default; an object can change its own
      later, `self.blocks_movement = False`;
    - properties `color`, `state_index`, `blocks_movement`, `blocks_vision`, `holdable`, read after
      each assignment to an attribute of the object;
    - `num_states` and `can_be_represented_in_state`, class methods;
    - `sprite`: base name of its sprite file;
    - `layer = "ground"` for objects that lie beneath others.

    With `register=False` in the line of the class, it is only a base for others. Objects are equal
    if type, state and colour are equal.

    Args:
        values: values of the fields, in order.
        color: colour, for coloured types.
        fields: values of fields by name.

    Raises:
        TypeError: a field is unknown.
        ValueError: a colour for a type without colours.
    """

    kind: ClassVar[ObjectType]
    Part: ClassVar[type]
    _fields: ClassVar[dict[str, ComponentNumber]] = {}
    _derived: ClassVar[tuple[str, ...]] = ()  # names of attributes that are properties

    blocks_movement = Flag(Solid, "True if no agent can enter its cell.")
    blocks_vision = Flag(Opaque, "True if it hides the cells behind it.")
    holdable = Flag(Portable, "True if it can be picked up.")

    def __init_subclass__(
        cls, *, kind: ObjectType | int | None = None, register: bool = True, **rest: Any
    ) -> None:
        """Register a new subclass as a new object type, or as the class of the existing type
        `kind`."""
        super().__init_subclass__(**rest)
        if kind is not None:
            adopt_type(cls, OBJECT_TYPES[kind] if isinstance(kind, int) else kind)
        elif register:
            register_class(cls)

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return a new object with the default components of its type. Raise TypeError for an
        abstract class, which has no type."""
        if "kind" not in vars(cls):
            raise TypeError(f"{cls.__name__} is no type of its own; make an object of a subclass")
        obj = super().__new__(cls)
        obj._init_components({part: part(*defaults) for part, defaults in make_prefab(cls.kind)})
        obj._update_derived()
        return obj

    def __init__(self, *values: Any, color: int | None = None, **fields: Any) -> None:
        """Set the fields of a new object: `values` in the order of declaration, `fields` by
        name."""
        if len(values) > len(self._fields):
            raise TypeError(
                f"{type(self).__name__} has {len(self._fields)} fields, found {len(values)} values"
            )
        for name, value in (*zip(self._fields, values), *fields.items()):
            if name not in self._fields:
                names = ", ".join(self._fields) or "none"
                raise TypeError(f"{type(self).__name__} has no field {name!r} (fields: {names})")
            setattr(self, name, value)
        if color is not None and (color != NONE or self.kind.colored):  # NONE suits every type
            self.color = Color(color)

    def _init_components(self, parts: dict[type, Any]) -> None:
        """Give a new object the components `parts`, a dict by component class. The object belongs
        to no world and holds nothing."""
        self._components = parts
        self._held_objects: dict[tuple[type, str], GridObject] = {}
        self._store: ObjectStore | None = None
        self._entity = NOTHING

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute. Raise AttributeError if the class does not declare it."""
        if not (name.startswith("_") or hasattr(type(self), name)):
            raise AttributeError(
                f"{type(self).__name__} has no {name!r}; declare a number in its class, with "
                f"annotation and default, so that copies and rules include it: {name}: int = 0"
            )
        object.__setattr__(self, name, value)
        if self._derived and not name.startswith("_"):
            self._update_derived()

    def _update_derived(self) -> None:
        for name in self._derived:
            inspect.getattr_static(GridObject, name).__set__(self, getattr(self, name))

    # ---- type --------------------------------------------------------------------------------

    @classmethod
    def type_index(cls) -> int:
        """Return the type index, channel 0 of grid arrays."""
        return cls.kind.index

    @classmethod
    def num_states(cls) -> int:
        """Return the number of states of the type."""
        return cls.kind.num_states

    @classmethod
    def can_be_represented_in_state(cls) -> bool:
        """Return True if type, state and colour describe an object completely; False for a Box,
        whose content is another object."""
        return cls.kind.index != HIDDEN and not any(entity_fields(cls.kind.component_classes))

    # ---- components and appearance -----------------------------------------------------------

    @property
    def entity(self) -> int:
        """Return the entity of this object in its world; NOTHING without a world."""
        return self._entity if self._active_store else NOTHING

    @property
    def is_in_world(self) -> bool:
        """Return True if the object belongs to a world and has not been removed from it."""
        return self._active_store is not None

    @property
    def _active_store(self) -> ObjectStore | None:
        """Return the store of the world that contains the object. None if no world does."""
        store = self._store
        return (
            store
            if store and store.world.kind.rows[self._entity] is self._components[Kind]
            else None
        )

    def part(self, cls: type) -> Any:
        """Return the object's component of class `cls`; one with default values if the object has
        none."""
        if store := self._active_store:
            return store.world[column_name(cls)].rows[self._entity]
        return self._components[cls] if cls in self._components else cls()

    def has(self, cls: type) -> bool:
        """Return True if the object has a component of class `cls`."""
        if store := self._active_store:
            return bool(store.world[column_name(cls)].has[self._entity])
        return cls in self._components

    def add(self, cls: type, *values: float) -> None:
        """Add a component of class `cls` with these field values. Do nothing if the object already
        has that component."""
        if not self.has(cls):
            self._components[cls] = cls(*values)
            if store := self._active_store:
                store.world.attach(self._entity, self._components[cls])

    def discard(self, cls: type) -> None:
        """Remove the component of class `cls`, if the object has one."""
        if store := self._active_store:
            store.world.detach(self._entity, cls)
        self._components.pop(cls, None)

    @property
    def color(self) -> Color:
        """Return the colour of the object; NONE if its type has no colours.

        Raises:
            ValueError: on setting the colour of a type without colours.
        """
        return Color(self.part(components.Color).value)

    @color.setter
    def color(self, color: Color) -> None:
        """Set the colour. Raise ValueError if objects of this type have no colour."""
        if not self.kind.colored:
            name = type(self).__name__
            raise ValueError(
                f"found color {Color(color).name}; {name} has no colour: "
                f"declare `color: Color` in the class {name}"
            )
        self.part(components.Color).value = int(Color(color))

    @property
    def state_index(self) -> int:
        """Return the index of the state, 0 for types with one state."""
        field = state_field(self.kind)
        return 0 if field is None else int(getattr(self.part(field.part), field.name))

    @state_index.setter
    def state_index(self, state: int) -> None:
        """Set the state by its index. Raise ValueError if the type has no such state."""
        field = state_field(self.kind)
        if not 0 <= state < self.kind.num_states:
            raise ValueError(
                f"{type(self).__name__} has states 0 to {self.kind.num_states - 1}, found {state}"
            )
        if field is not None:
            field.__set__(self, int(state))

    @property
    def appearance(self) -> tuple[int, int, int]:
        """Return the (type, state, colour) indices, as in grid arrays."""
        return self.kind.index, self.state_index, int(self.color)

    # ---- copies and content ------------------------------------------------------------------

    def copy(self) -> Self:
        """Return a copy that belongs to no world. Held objects, such as the content of a box, are
        copied too."""
        if store := self._active_store:
            self._components = store.components_of(self._entity)
        other = object.__new__(type(self))
        other._init_components(
            {cls: cls(*field_values(part)) for cls, part in self._components.items()}
        )
        position = other._components[components.Position]
        position.y = position.x = -1
        for cls, name in entity_fields(self._components):
            held = self._get_held(cls, name)
            setattr(other._components[cls], name, NOTHING)
            if held is not None:
                other._held_objects[cls, name] = held.copy()
        return other

    def _get_held(self, cls: type, name: str) -> GridObject | None:
        """Return the object held in field `name` of the component `cls`, such as the content of a
        box. None if it holds nothing."""
        if store := self._active_store:
            e = getattr(self.part(cls), name)
            return None if e == NOTHING else store.get_object(e)
        return self._held_objects.get((cls, name))

    def _set_held(self, cls: type, name: str, obj: GridObject | None) -> None:
        """Put `obj` into field `name` of the component `cls`, such as the content of a box. It
        replaces the held object; None empties the field."""
        if store := self._active_store:
            part = self.part(cls)
            replaced = getattr(part, name)
            e = NOTHING if obj is None else store.add(obj)
            store.remove(replaced)
            setattr(part, name, e)
        elif obj is None:
            self._held_objects.pop((cls, name), None)
        else:
            self._held_objects[cls, name] = obj.copy() if obj.is_in_world else obj

    def __reduce__(self) -> tuple[Any, ...]:
        """Support pickling: return `_unpickle` with the object's class, components and held
        objects."""
        copy = self.copy()  # in no world
        # classes that `class_of` has made cannot be imported
        cls = type(self) if hasattr(self, "Part") else self.kind
        return _unpickle, (cls, copy._components, copy._held_objects)

    def _content_key(self) -> tuple[Any, ...]:
        return GridObject, self.appearance

    def __repr__(self) -> str:
        """Return the constructor call for an equal object, such as `Door(Door.Status.OPEN,
        Color.RED)`."""
        values = [_format_value(getattr(self, name)) for name in self._fields]
        if self.kind.colored:
            values.append(f"Color.{self.color.name}")
        return f"{type(self).__name__}({', '.join(values)})"


def _format_value(value: Any) -> str:
    return f"{type(value).__qualname__}.{value.name}" if isinstance(value, Enum) else repr(value)


def _unpickle(
    kind: type[GridObject] | ObjectType,
    parts: dict[type, Any],
    content: dict[tuple[type, str], Any],
) -> GridObject:
    """Return the object stored in a pickle. `kind` is its class or type, `parts` its components,
    `content` the held objects by (component class, field name)."""
    cls = class_of(kind) if isinstance(kind, ObjectType) else kind
    obj: GridObject = object.__new__(cls)
    obj._init_components(parts)
    parts[Kind].value = cls.kind.index
    obj._held_objects = content
    return obj


def entity_fields(component_classes: Iterable[type]) -> Iterator[tuple[type, str]]:
    """Yield (component class, field name) of each field that refers to another entity, such as the
    content of a box."""
    for cls in component_classes:
        for field in fields_of(cls):
            if field.is_entity:
                yield cls, field.name


def class_of(kind: ObjectType | int) -> type[GridObject]:
    """Return the Python class of an object type. If the type was declared without a class, one is
    created.

    Args:
        kind: type, or its index in `OBJECT_TYPES`.

    Raises:
        KeyError: no type has this index.
    """
    kind = kind if isinstance(kind, ObjectType) else OBJECT_TYPES[kind]
    return CLASSES.get(kind) or type(
        kind.name, (GridObject,), {"__module__": kind.module}, kind=kind
    )


def index_of(obj: Any, types: ObjectTypes = OBJECT_TYPES) -> int:
    """Return the type index of `obj`: a class of grid objects, the name of a type, or an index
    already.

    Args:
        obj: class, name or index.
        types: types that names and indices refer to.

    Raises:
        TypeError: the value is none of these.
    """
    if isinstance(obj, type) and issubclass(obj, GridObject) and obj is not GridObject:
        return obj.kind.index
    if isinstance(obj, str):
        return types[obj].index
    if isinstance(obj, int | np.integer):
        return types[int(obj)].index
    raise TypeError(f"{obj!r} is no type of objects: expected a subclass of GridObject")
