"""The types of our records in compiled code, apart from those of everybody else.

Numba looks for an attribute in the class of a type and then in its base classes, within a class in
the order of registration; what it knows itself of records is registered when a process compiles its
first function. What is taught to a class of our own is found first, whatever others have compiled
or taught to records before, and records of theirs are left alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, cast
from zlib import crc32

from numba import extending, types
from numba.core.errors import TypingError
from numba.core.typing.templates import AttributeTemplate
from numba.np.arrayobj import record_getattr

from gv_engine.world.view import FIXED, sizes, tile_size

# what numba says of its types leads nowhere
_extending, _read = cast(Any, (extending, record_getattr))

# records hold arrays of whatever says its size; truth values of Numba's do not, and take a byte
cast(Any, types.Boolean).bitwidth = 8


class EngineRecord(types.Record):
    """A record of the engine: parameters, what a world shows, the columns of a component.

    Attributes:
        plain: the same record as Numba has it.
        kept: types of the fields from which others are derived, by name.
    """

    plain: Any
    kept: Mapping[str, DerivedColumn] = {}

    def typeof(self, name: str) -> Any:
        """The type of a field."""
        return self.kept.get(name) or cast(Any, super()).typeof(name)

    def __repr__(self) -> str:
        # Numba writes types out in every pass
        return f"{type(self).__name__}#{cast(Any, self)._code}"


class DerivedColumn(types.Array):
    """An array in a world's row from which others are derived: it is written value by value, by
    `look_methods`, which carry every write on to these; as a whole it can only be read.

    Attributes:
        start: its offset in the row.
        world: a number of the world's record, see `world_of`.
    """

    def __init__(self, field: Any, start: int, world: int) -> None:
        self.start, self.world = start, world
        name = f"Kept({field.dtype}, {field.ndim}, {start}, {world})"
        _init(self, field.dtype, field.ndim, "C", readonly=True, name=name)

    @property
    def key(self) -> Any:
        """By which types are told apart."""
        return self.dtype, self.ndim, self.start, self.world

    @property
    def mangling_args(self) -> Any:
        """A short name for the names of functions."""
        return "Kept", (self.start, self.world)


_init: Any = types.Array.__init__
_extending.register_model(DerivedColumn)(_extending.models.ArrayModel)


class EmptyGround(types.Opaque):
    """The ground in worlds that have none: nothing is in any cell, and nothing can be put there."""


_extending.register_model(EmptyGround)(_extending.models.OpaqueModel)
NO_GROUND = cast(Any, EmptyGround)("EmptyGround")


class ComponentRecord(EngineRecord):
    """Columns of a component of a world.

    Args:
        column: their name.
        start: its offset in the row.
        world: a number of the world's record.
        shown: names of the fields by which cells look as they do.
    """

    def __init__(
        self, columns: EngineRecord, column: str, start: int, world: int, shown: set[str]
    ) -> None:
        fields: Any = columns.fields
        parts = [(name, field._asdict()) for name, field in fields.items()]
        _init_record(self, parts, columns.size, columns.aligned)
        self.name = f"{self.name}@{start} in {world}"
        self.column, self.plain = column, columns.plain
        own: Any = self.fields
        self.kept = {
            name: DerivedColumn(own[name].type, start + own[name].offset, world) for name in shown
        }


_init_record: Any = types.Record.__init__


class WorldRecord(EngineRecord):
    """`w`, a row of a batch."""


class GeneratorRecord(EngineRecord):
    """`w.rng`, the generator in it."""


class ViewRecord(EngineRecord):
    """`view`, what an agent sees."""

    @property
    def size_of(self) -> dict[str, int]:
        """Its height, width, y and x, constants in compiled code."""
        return sizes(cast(Any, self.fields))

    @property
    def tile(self) -> int:
        """Rows and columns that are cut out at once."""
        return tile_size((self.size_of["height"], self.size_of["width"]))


_KINDS = {"at": WorldRecord, "state_high": GeneratorRecord, "looks": ViewRecord}
"""Which kind a record is, by a field that no other kind has."""

for _kind in (EngineRecord, ComponentRecord, *_KINDS.values()):
    _extending.register_model(_kind)(_extending.models.RecordModel)


@_extending.infer_getattr
class _Fields(AttributeTemplate):
    key = EngineRecord

    def generic_resolve(self, record: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        if isinstance(record, WorldRecord) and name == "ground" and name not in record.fields:
            return NO_GROUND
        return record.typeof(name) if name in record.fields else None


@cache
def _read_first(name: str) -> None:
    """Read a field of ours as a field, whatever others have made of the name in all records."""

    def read(context: Any, builder: Any, record: Any, value: Any) -> Any:
        if isinstance(record, ViewRecord) and name in record.size_of:
            return context.get_constant(types.int64, record.size_of[name])
        if name not in record.fields:
            return context.get_dummy_value()
        return _read(context, builder, record.plain, value, name)

    _extending.lower_getattr(EngineRecord, name)(read)


def _refuse(name: str) -> None:
    """Let no rule write a field of views that all worlds have in common."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        raise TypingError(FIXED.format(name))

    _extending.lower_setattr(ViewRecord, name)(write)


for _field in ("height", "width", "y", "x"):
    _refuse(_field)
_read_first("ground")  # which worlds may not have


def ours(record: Any) -> EngineRecord:
    """A record as one of ours."""
    return _as(
        next((kind for name, kind in _KINDS.items() if name in record.fields), EngineRecord), record
    )


def _as(kind: type[EngineRecord], record: Any) -> EngineRecord:
    fields = []
    number, shown = crc32(str(record).encode()), _SHOWN.get(record, ())
    for name, field in record.fields.items():
        _read_first(name)
        inner = field.type
        if isinstance(inner, types.Record):
            inner = _as(GeneratorRecord if name == "rng" else EngineRecord, inner)
            if shown and name != "rng":
                names = {part for column, part in shown if column == name}
                inner = ComponentRecord(inner, name, field.offset, number, names)
        fields.append((name, {**field._asdict(), "type": inner}))
    made: Any = cast(Any, kind)(fields, record.size, record.aligned)
    made.plain = record
    if shown:
        made.kept = {
            name: DerivedColumn(field.type, field.offset, number)
            for name, field in record.fields.items()
            if name in ("at", "ground")
        }
        _WORLDS[number] = made
    return made  # type: ignore[no-any-return]


_SHOWN: dict[Any, Collection[tuple[str, str]]] = {}
_WORLDS: dict[int, EngineRecord] = {}


def world_of(kept: DerivedColumn) -> EngineRecord:
    """The record of the world in whose row an array is."""
    return _WORLDS[kept.world]


def showing(record: types.Record, columns: Collection[tuple[str, str]]) -> EngineRecord:
    """A world's record as one of ours, in which these columns (name, field) show in cells."""
    _SHOWN[record] = columns
    return ours(record)
