"""Descriptors: attributes of grid objects that read and write the fields of their components."""

from __future__ import annotations

from typing import Any, overload

from gv_engine.rules.component import column_name, fields_of
from gv_engine.rules.objects import ObjectType


class ComponentNumber:
    """Descriptor that reads and writes a numeric field of one of an object's components."""

    def __init__(self, part: type, name: str, kind: type | None = None) -> None:
        """Make a descriptor that reads and writes field `name` of the object's component of class
        `part`. Values read are converted by `kind`, if given."""
        self.part = part
        self.name = name
        self.kind = kind

    def __get__(self, obj: Any, owner: type) -> Any:
        """Return the number that this attribute reads from a component of the grid object `obj`.
        Return the descriptor itself if it is accessed on the class."""
        if obj is None:
            return self
        value = getattr(obj.part(self.part), self.name)
        return value if self.kind is None else self.kind(value)

    def __set__(self, obj: Any, value: Any) -> None:
        setattr(obj.part(self.part), self.name, self.to_number(value))

    def to_number(self, value: Any) -> float:
        """Return the number that the component stores for `value`."""
        if self.kind is not None:
            return int(self.kind(value).value)
        return float(value) if isinstance(value, float) else int(value)


class ComponentArray(ComponentNumber):
    """Descriptor that reads and writes an array of one of an object's components."""

    def __set__(self, obj: Any, value: Any) -> None:
        """Set all elements of the array. The value is a list of the same length, or one number for
        all elements.

        Raises:
            ValueError: there are too few numbers, or too many.
        """
        part = obj.part(self.part)
        values = {field.name: getattr(part, field.name) for field in fields_of(self.part)}
        new = self.part(**{**values, self.name: value})
        setattr(part, self.name, getattr(new, self.name))


class ComponentState(ComponentNumber):
    """Descriptor that reads and writes an object's state index. Writing it also adds and removes
    the components that depend on the state."""

    def __set__(self, obj: Any, value: Any) -> None:
        """Set the state of the grid object `obj` to this index, and add and remove components
        accordingly: a closed door has the component Solid, an open door has not."""
        super().__set__(obj, value)
        for part, values in obj.kind.component_changes(int(self.to_number(value))).items():
            if values is None:
                obj.discard(part)
            else:
                obj.add(part, *values)


class Flag:
    """Descriptor that is True if the object has the component `part`, a component without fields.
    Setting it adds or removes the component."""

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
        """Add the flag's component to the grid object `obj` if `value` is True, else remove it."""
        if value:
            obj.add(self.part)
        else:
            obj.discard(self.part)


def state_field(kind: ObjectType) -> ComponentState | None:
    """Return the descriptor through which objects of type `kind` read and write their state. None
    for a type with only one state."""
    for part, _ in kind.components:
        if kind.state and column_name(part) == kind.state[0]:
            return ComponentState(part, kind.state[1])
    return None
