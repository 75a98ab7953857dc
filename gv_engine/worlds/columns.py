"""Columns of the object world: `w.door.status[e]` is a field of the component of an entity."""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any

from gv_engine.language.component import column_name, fields_of
from gv_engine.language.errors import ColumnError, OutOfBoundsError


class ObjectColumn:
    """One field of one component over all entities: `w.position.y`; see `_column_class`."""

    __slots__ = ("_cast", "_rows")

    def __init__(self, rows: list[Any], cast: type) -> None:
        self._rows = rows
        self._cast = cast

    def __getitem__(self, e: int) -> Any:
        try:
            return self._rows[e].field
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None

    def __setitem__(self, e: int, value: Any) -> None:
        try:
            self._rows[e].field = self._cast(value)
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None


@cache
def _column_class(field: str) -> type[ObjectColumn]:
    """`ObjectColumn` whose code says the name of a field: `getattr` takes half as long again."""
    methods = {}
    for method in (ObjectColumn.__getitem__, ObjectColumn.__setitem__):
        names = (field if name == "field" else name for name in method.__code__.co_names)
        code = method.__code__.replace(co_names=tuple(names))
        methods[method.__name__] = FunctionType(code, globals())
    return type(ObjectColumn.__name__, (ObjectColumn,), {"__slots__": (), **methods})


class ObjectPresence:
    """Which entities have the component: `w.door.has`, only to be read."""

    __slots__ = ("_absent", "_cls", "_rows")

    def __init__(self, columns: ComponentColumns) -> None:
        self._cls = columns.cls
        self._rows = columns.rows
        self._absent = columns.absent

    def __getitem__(self, e: int) -> bool:
        try:
            return self._rows[e] is not self._absent
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None

    def __setitem__(self, e: int, value: Any) -> None:
        name = column_name(self._cls)
        raise ColumnError(
            f"a rule writes w.{name}.has; give components by w.add(e, {name!r}) and take them by "
            f"w.take(e, {name!r})"
        )


_KINDS: dict[str, type] = {"f": float, "b": bool}
"""Types of the values in columns by the kind of their dtype; all others are int."""


class ComponentColumns:
    """All columns of one component class: `w.door`, with `has` and one attribute per field."""

    def __init__(self, cls: type, capacity: int) -> None:
        self.cls = cls
        self.absent = _absent(cls)
        self.nowhere = [self.absent] * capacity
        self.rows = self.nowhere.copy()
        self.has = ObjectPresence(self)
        for field in fields_of(cls):
            kind = _KINDS.get(getattr(field.dtype, "kind", ""), int)
            setattr(self, field.name, _column_class(field.name)(self.rows, kind))

    def __getitem__(self, field: Any) -> Any:
        if isinstance(field, str):
            return getattr(self, field)
        raise self._no_column(field)

    def __setitem__(self, e: int, value: Any) -> None:
        raise self._no_column(e)

    def _no_column(self, e: int) -> ColumnError:
        columns = ["has", *(field.name for field in fields_of(self.cls))]
        name = column_name(self.cls)
        known = ", ".join(f"w.{name}.{column}[e]" for column in columns)
        return ColumnError(f"w.{name}[{e!r}] asks a component, not a column of it: write {known}")


@cache
def _absent(cls: type) -> Any:
    """What entities without the component read: its defaults, closed to writing."""

    def refuse(self: object, name: str, value: object) -> None:
        raise ColumnError(
            f"a rule writes {column_name(cls)}.{name} of an entity that has no {cls.__name__}; "
            f"ask w.{column_name(cls)}.has[e] first"
        )

    def init(self: object) -> None:
        for field in fields_of(cls):
            object.__setattr__(self, field.name, field.default)

    namespace = {"__slots__": (), "__setattr__": refuse, "__init__": init}
    return type(f"No{cls.__name__}", (cls,), namespace)()
