"""Columns of the object world: `w.door.status[e]` is a field of the component of an entity."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from gv_engine.language.component import column_name, fields_of
from gv_engine.language.errors import ColumnError, OutOfBoundsError


class Values(list[Any]):
    """A list that names the index which it does not have."""

    def __getitem__(self, i: Any) -> Any:
        try:
            return super().__getitem__(i)
        except IndexError:
            raise OutOfBoundsError(i, 0, len(self)) from None

    def __setitem__(self, i: Any, value: Any) -> None:
        try:
            super().__setitem__(i, value)
        except IndexError:
            raise OutOfBoundsError(i, 0, len(self)) from None


class ObjectColumn:
    """One field of one component over all entities: `w.position.y`."""

    __slots__ = ("_cast", "_field", "_rows")

    def __init__(self, rows: list[Any], field: str, cast: type) -> None:
        self._rows = rows
        self._field = field
        self._cast = cast

    def __getitem__(self, e: int) -> Any:
        try:
            return getattr(self._rows[e], self._field)
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None

    def __setitem__(self, e: int, value: Any) -> None:
        try:
            setattr(self._rows[e], self._field, self._cast(value))
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None


class ObjectPresence:
    """Which entities have the component: `w.door.has`, only to be read."""

    __slots__ = ("_columns",)

    def __init__(self, columns: ComponentColumns) -> None:
        self._columns = columns

    def __getitem__(self, e: int) -> bool:
        try:
            return self._columns.rows[e] is not self._columns.absent
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._columns.rows)) from None

    def __setitem__(self, e: int, value: Any) -> None:
        name = column_name(self._columns.cls)
        raise ColumnError(
            f"a rule writes w.{name}.has; give components by w.add(e, {name!r}) and take them by "
            f"w.take(e, {name!r})"
        )


class ComponentColumns:
    """All columns of one component class: `w.door`, with `has` and one attribute per field."""

    def __init__(self, cls: type, capacity: int) -> None:
        self.cls = cls
        self.absent = _absent(cls)
        self.rows: list[Any] = [self.absent] * capacity
        self.has = ObjectPresence(self)
        for field in fields_of(cls):
            kind = float if isinstance(field.dtype, np.dtype) and field.dtype.kind == "f" else int
            setattr(self, field.name, ObjectColumn(self.rows, field.name, kind))

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
