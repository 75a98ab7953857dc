"""Attributes of grid object classes, stored in components, and registration of object types."""

from __future__ import annotations

import inspect
from enum import IntEnum
from typing import Any, ClassVar, Self, get_type_hints, overload

import components
from components.appearance import NONE
from gv_engine.rules.component import Int8, column_name, component, fields_of
from gv_engine.rules.objects import ABOVE, Color, ObjectType, declare_type


class Value:
    """Base of grids, agents, objects, states and observations."""

    def _key(self) -> tuple[Any, ...]:
        """Return the class and the content by which objects of the class are compared."""
        raise NotImplementedError

    def copy(self) -> Self:
        """Return an independent copy."""
        raise NotImplementedError

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


CLASSES: dict[ObjectType, Any] = {}
"""Object class of each type that has one."""


class ComponentNumber:
    """Descriptor that reads and writes a numeric field of one of an object's components."""

    def __init__(self, part: type, name: str, kind: type | None = None) -> None:
        """Make an attribute that reads and writes field `name` of the object's component of class
        `part`. Values read are converted by `kind`, if given."""
        self.part = part
        self.name = name
        self.kind = kind

    def __get__(self, obj: Any, owner: type) -> Any:
        if obj is None:
            return self
        value = getattr(obj.part(self.part), self.name)
        return value if self.kind is None else self.kind(value)

    def __set__(self, obj: Any, value: Any) -> None:
        number = float(value) if isinstance(value, float) else int(value)
        setattr(obj.part(self.part), self.name, number if self.kind is None else self.kind(value))


class StateNumber(ComponentNumber):
    """Descriptor of the number that is an object's state. Setting it adds and removes
    components."""

    def __set__(self, obj: Any, value: Any) -> None:
        super().__set__(obj, value)
        for part, values in obj.kind.component_changes(int(value)).items():
            if values is None:
                obj.discard(part)
            else:
                obj.add(part, *values)


class Flag:
    """Descriptor that is True if the object has a component without fields."""

    def __init__(self, part: type, doc: str) -> None:
        self.part = part
        self.__doc__ = doc

    @overload
    def __get__(self, obj: None, owner: type) -> Flag: ...
    @overload
    def __get__(self, obj: object, owner: type) -> bool: ...
    def __get__(self, obj: object, owner: type) -> Flag | bool:
        return self if obj is None else self.of(obj)

    def of(self, obj: Any) -> bool:
        """Return the value of the flag for an object."""
        return bool(obj.has(self.part))

    def __set__(self, obj: Any, value: bool) -> None:
        if value:
            obj.add(self.part)
        else:
            obj.discard(self.part)


def state_field(kind: ObjectType) -> StateNumber | None:
    """Return the descriptor that reads and writes the state of objects of type `kind`; None for
    types with one state."""
    for part, _ in kind.components:
        if kind.state and column_name(part) == kind.state[0]:
            return StateNumber(part, kind.state[1])
    return None


def adopt_type(cls: Any, kind: ObjectType) -> None:
    """Make `cls` the class of the objects of type `kind`, with an attribute for each field of its
    components."""
    cls.kind = kind
    status = getattr(cls, "Status", None)
    fields: dict[str, ComponentNumber] = {}
    for part, _ in kind.components:
        for column in fields_of(part):
            if part is not components.Color and column.dtype is not None:
                if kind.state == (column_name(part), column.name):
                    fields[column.name] = StateNumber(part, column.name, status)
                else:
                    fields[column.name] = ComponentNumber(part, column.name)
    cls._fields = fields
    for name, field in fields.items():
        if name not in cls.__dict__:
            setattr(cls, name, field)
    CLASSES[kind] = cls


def register_class(cls: Any) -> None:
    """Declare an object type for a user-defined class, with the numbers, states, flags and colour
    that the class declares."""
    base: ObjectType | None = getattr(cls, "kind", None)
    parts: dict[type, tuple[float, ...]] = dict(base.components) if base else {}
    own = cls.Part = _make_component(cls)
    parts[own] = tuple(field.default for field in fields_of(own))
    for name, value in list(vars(cls).items()):
        flag = getattr(super(cls, cls), name, None)
        if isinstance(flag, Flag):
            if not isinstance(value, bool):
                raise TypeError(
                    f"{cls.__name__}.{name} must be True or False; an object that changes assigns "
                    f"to self.{name}"
                )
            delattr(cls, name)
            parts.pop(flag.part, None)
            if value:
                parts[flag.part] = ()
    if cls.__dict__.get("state_index") == 0:
        delattr(cls, "state_index")  # equal to the default
    if "color" in cls.__dict__ or cls.__dict__.get("colored"):
        color = Color(cls.__dict__.get("color", NONE))
        if "color" in cls.__dict__:
            delattr(cls, "color")
        if cls.__dict__.get("colored", color != NONE):
            parts[components.Color] = (int(color),)
    states: Any = base.states if base else ()
    state: ComponentNumber | None = state_field(base) if base else None
    if base and base.state_components:
        states = {
            name: [part(*values) for part, values in added]
            for name, added in zip(base.states, base.state_components, strict=True)
        }
        for part in base.component_changes(0):
            parts.pop(part, None)
    status = cls.__dict__.get("Status")
    if status is not None:
        states = tuple(member.name for member in status)
        state = ComponentNumber(own, "status", status)
    kind = declare_type(
        cls.__name__,
        *(part(*values) for part, values in parts.items()),
        states=states,
        state=None if state is None else (state.part, state.name),
        sprite=cls.__dict__.get("sprite"),
        layer=cls.__dict__.get("layer", base.layer if base else ABOVE),
        module=cls.__module__,
    )
    adopt_type(cls, kind)


def _make_component(cls: type) -> type:
    """Return a component class with the name of `cls` and the annotated numbers of `cls` as
    fields."""
    names = [name for name in inspect.get_annotations(cls) if name in cls.__dict__]
    hints = get_type_hints(cls, localns=dict(vars(cls)), include_extras=True)
    annotations, defaults = {}, {}
    for name in names:
        if getattr(hints[name], "__origin__", None) is ClassVar:
            continue
        is_enum = isinstance(hints[name], type) and issubclass(hints[name], IntEnum)
        annotations[name] = Int8 if is_enum else hints[name]
        value = cls.__dict__[name]
        defaults[name] = int(value) if is_enum else value
        delattr(cls, name)
    if "Status" in cls.__dict__ and "status" not in annotations:
        raise TypeError(f"{cls.__name__} has states but no field: status: Status = Status.…")
    body = {"__annotations__": annotations, "__module__": cls.__module__, **defaults}
    body["__qualname__"] = f"{cls.__qualname__}.Part"  # the path that pickle uses
    body["__doc__"] = cls.__doc__ or f"Is a {cls.__name__}."
    return component(type(cls.__name__, (), body))
