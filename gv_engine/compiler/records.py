"""Numba types of the engine's records, apart from Numba's own record type.

Numba looks up an attribute in the class of a type and then in its base classes, in the order of
registration. An attribute registered for a class of our own is found first, whatever other code
registered for records, and records of other code stay unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, cast
from zlib import crc32

from numba import types
from numba.core.errors import TypingError
from numba.core.typing.templates import AttributeTemplate
from numba.np.arrayobj import record_getattr

from gv_engine.compiler.numba_pipeline import extending, get_type_code
from gv_engine.compiler.short_columns import ShortColumn
from gv_engine.world.view import (
    READ_ONLY_MESSAGE,
    VIEW_SIZES,
    get_view_tile_size,
    parse_view_sizes,
)

# Numba's type hints do not help here
_read_numba_field: Any = record_getattr

# record arrays need the size of their elements, which Numba does not define for booleans: a byte
cast(Any, types.Boolean).bitwidth = 8


class EngineRecord(types.Record):
    """Numba type of a record of the engine: parameters, views, or the columns of a component.

    Attributes:
        numba_record: the same record as Numba's own type.
        derived: types of the fields that are not plain arrays, by name.
    """

    numba_record: Any
    derived: Mapping[str, Any] = {}

    def typeof(self, name: str) -> Any:
        """Return the type of a field."""
        return self.derived.get(name) or cast(Any, super()).typeof(name)

    def __repr__(self) -> str:
        """Return a short name, as Numba formats types in every pass."""
        # short, as Numba formats types in every pass
        return f"{type(self).__name__}#{get_type_code(self)}"


class ShownColumn(types.Array):
    """Numba type of an array in a world's record that the appearances of cells depend on: compiled
    code that writes an element also updates the appearances, see `appearance_cache`. The array is
    read-only as a whole.

    Attributes:
        start: byte offset in the row.
        world: number of the world's record, see `get_world_record`.
    """

    def __init__(self, field: Any, start: int, world: int) -> None:
        """Make the Numba type of an array on which appearances depend, at byte offset `start` of
        the record of world type number `world`."""
        self.start, self.world = start, world
        name = f"Shown({field.dtype}, {field.ndim}, {start}, {world})"
        _init_array(self, field.dtype, field.ndim, "C", readonly=True, name=name)

    @property
    def key(self) -> Any:
        """Return the values that identify the type."""
        return self.dtype, self.ndim, self.start, self.world

    @property
    def mangling_args(self) -> Any:
        """Return the short name that Numba uses in symbol names."""
        return "Shown", (self.start, self.world)


_init_array: Any = types.Array.__init__
extending.register_model(ShownColumn)(extending.models.ArrayModel)


class EntityColumn(types.Array):
    """Numba type of a column of entities in a world's record; a write of a number that is no entity
    raises. The array is read-only as a whole.

    Attributes:
        capacity: number of all entities.
    """

    def __init__(self, field: Any, capacity: int) -> None:
        """Make the type of the column `field` in worlds of `capacity` entities."""
        self.capacity = capacity
        name = f"Entities({field.dtype}, {field.ndim}, {capacity})"
        _init_array(self, field.dtype, field.ndim, "C", readonly=True, name=name)

    @property
    def key(self) -> Any:
        """Return the values that identify the type."""
        return self.dtype, self.ndim, self.capacity, "entities"

    @property
    def mangling_args(self) -> Any:
        """Return the short name that Numba uses in symbol names."""
        return "Entities", (self.ndim, self.capacity)


extending.register_model(EntityColumn)(extending.models.ArrayModel)


class EmptyGround(types.Opaque):
    """Numba type of `w.ground` in worlds without a ground layer. Every cell reads NOTHING and
    cannot be written."""


extending.register_model(EmptyGround)(extending.models.OpaqueModel)
EMPTY_GROUND = cast(Any, EmptyGround)("EmptyGround")


class ComponentRecord(EngineRecord):
    """Numba type of the columns of one component in a world's record.

    Args:
        columns: record of the columns.
        column: name of the columns.
        start: byte offset in the row.
        world: number of the world's record.
        shown: names of the fields that the appearances of cells depend on.
        entities: names of the fields that are entities.
        capacity: number of all entities.
    """

    def __init__(
        self,
        columns: EngineRecord,
        column: str,
        start: int,
        world: int,
        shown: set[str],
        entities: set[str],
        capacity: int,
    ) -> None:
        """Make the record type. Writes to the fields in `shown` will update the appearances of
        cells."""
        fields: Any = columns.fields
        parts = [(name, field._asdict()) for name, field in fields.items()]
        _init_record(self, parts, columns.size, columns.aligned)
        self.name = f"{self.name}@{start} in {world}"
        self.column, self.numba_record = column, columns.numba_record
        own: Any = self.fields
        self.derived = {
            name: ShownColumn(field.type, start + field.offset, world)
            if name in shown
            else ShortColumn(field.type, capacity, name in entities)
            if field.type.shape[0] < capacity
            else EntityColumn(field.type, capacity)
            for name, field in own.items()
            if name in shown | entities or field.type.shape[0] < capacity
        }


_init_record: Any = types.Record.__init__


class WorldRecord(EngineRecord):
    """Numba type of `w`, the record (row) of one world in a batch."""


class GeneratorRecord(EngineRecord):
    """Numba type of `w.rng`, the state of the random generator in a world's record."""


class ViewRecord(EngineRecord):
    """Numba type of `view`, the cells around an agent."""

    @property
    def size_of(self) -> dict[str, int]:
        """Return the values of `VIEW_SIZES` for this view, by name; they are constants in compiled
        code."""
        return parse_view_sizes(cast(Any, self.fields))

    @property
    def tile(self) -> int:
        """Return the side of the square blocks of cells in which compiled code copies the grid into
        the view."""
        return get_view_tile_size((self.size_of["height"], self.size_of["width"]))


_CLASSES = {"at": WorldRecord, "state_high": GeneratorRecord, "looks": ViewRecord}
"""Record class by a field that only this kind of record has."""

for _kind in (EngineRecord, ComponentRecord, *_CLASSES.values()):
    extending.register_model(_kind)(extending.models.RecordModel)


@extending.infer_getattr
class _FieldAttributes(AttributeTemplate):
    """Typing of the fields of engine records."""

    key = EngineRecord

    def generic_resolve(self, record: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        """Return the Numba type of field `name` of a record; None if there is no such field."""
        if isinstance(record, WorldRecord) and name == "ground" and name not in record.fields:
            return EMPTY_GROUND
        return record.typeof(name) if name in record.fields else None


@cache
def _register_field_read(name: str) -> None:
    """Let compiled code read the field `name` of the engine's records. A field has precedence over
    a method of the same name."""

    def read(context: Any, builder: Any, record: Any, value: Any) -> Any:
        """Emit LLVM IR that reads the field."""
        if isinstance(record, ViewRecord) and name in record.size_of:
            return context.get_constant(types.int64, record.size_of[name])
        if name not in record.fields:
            return context.get_dummy_value()
        return _read_numba_field(context, builder, record.numba_record, value, name)

    extending.lower_getattr(EngineRecord, name)(read)


def _forbid_view_write(name: str) -> None:
    """Make compilation fail for code that assigns to the field `name` of a view, as all worlds
    share the field."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        """Raise `TypingError` when the write is compiled."""
        raise TypingError(READ_ONLY_MESSAGE.format(name))

    extending.lower_setattr(ViewRecord, name)(write)


for _field in VIEW_SIZES:
    _forbid_view_write(_field)
_register_field_read("ground")  # some worlds have no such field


def to_engine_record(record: Any) -> EngineRecord:
    """Return the engine's record type for a Numba record type."""
    classes = (cls for name, cls in _CLASSES.items() if name in record.fields)
    return _convert_record(next(classes, EngineRecord), record)


def _convert_record(record_class: type[EngineRecord], record: Any) -> EngineRecord:
    """Return the Numba record type `record` as a type of the class `record_class`, with nested
    records converted too."""
    fields = []
    number = crc32(str(record).encode())
    shown, entities = _SPECIAL_COLUMNS.get(record, ((), ()))
    for name, field in record.fields.items():
        _register_field_read(name)
        inner = field.type
        if isinstance(inner, types.Record):
            inner = _convert_record(GeneratorRecord if name == "rng" else EngineRecord, inner)
            if shown and name != "rng":
                looks, links = (
                    {part for column, part in pairs if column == name}
                    for pairs in (shown, entities)
                )
                capacity = record.fields["alive"].type.shape[0]
                inner = ComponentRecord(inner, name, field.offset, number, looks, links, capacity)
        fields.append((name, {**field._asdict(), "type": inner}))
    converted: Any = cast(Any, record_class)(fields, record.size, record.aligned)
    converted.numba_record = record
    if shown:
        converted.derived = {
            name: ShownColumn(field.type, field.offset, number)
            for name, field in record.fields.items()
            if name in ("at", "ground")
        }
        _WORLDS[number] = converted
    return converted  # type: ignore[no-any-return]


_Pairs = Collection[tuple[str, str]]
_SPECIAL_COLUMNS: dict[Any, tuple[_Pairs, _Pairs]] = {}
_WORLDS: dict[int, EngineRecord] = {}


def get_world_record(column: ShownColumn) -> EngineRecord:
    """Return the record type of the world that contains the array `column`."""
    return _WORLDS[column.world]


def make_world_record(record: types.Record, shown: _Pairs, entities: _Pairs) -> EngineRecord:
    """Return the engine's record type of a world. Writes to the (component, field) pairs in `shown`
    will update the appearances of cells; those in `entities` only take entities."""
    _SPECIAL_COLUMNS[record] = shown, entities
    return to_engine_record(record)
