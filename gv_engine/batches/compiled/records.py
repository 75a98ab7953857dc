"""The types of our records in compiled code, apart from those of everybody else.

Numba looks for an attribute in the class of a type and then in its base classes, within a class in
the order of registration; what it knows itself of records is registered when a process compiles its
first function. What is taught to a class of our own is found first, whatever others have compiled
or taught to records before, and records of theirs are left alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from numba import extending, types
from numba.core.errors import TypingError
from numba.core.typing.templates import AttributeTemplate
from numba.np.arrayobj import record_getattr

from gv_engine.worlds.view import FIXED

# what numba says of its types leads nowhere
_extending, _read = cast(Any, (extending, record_getattr))


class OurRecord(types.Record):
    """A record of the engine: parameters, what a world shows, the columns of a component."""

    def __repr__(self) -> str:
        # Numba writes types out in every pass
        return f"{type(self).__name__}#{cast(Any, self)._code}"


class WorldRecord(OurRecord):
    """`w`, a row of a batch."""


class GeneratorRecord(OurRecord):
    """`w.rng`, the generator in it."""


class ViewRecord(OurRecord):
    """`view`, what an agent sees."""


_KINDS = {"at": WorldRecord, "state_high": GeneratorRecord, "across": ViewRecord}
"""Which kind a record is, by a field that no other kind has."""

for _kind in (OurRecord, *_KINDS.values()):
    _extending.register_model(_kind)(_extending.models.RecordModel)


@_extending.infer_getattr
class _Fields(AttributeTemplate):
    key = OurRecord

    def generic_resolve(self, record: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        field = record.fields.get(name)
        return field and field.type


@cache
def _read_first(name: str) -> None:
    """Read a field of ours as a field, whatever others have made of the name in all records."""

    def read(context: Any, builder: Any, record: Any, value: Any) -> Any:
        return _read(context, builder, record, value, name)

    _extending.lower_getattr(OurRecord, name)(read)


def _refuse(name: str) -> None:
    """Let no rule write a field of views that all worlds have in common."""

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> None:
        raise TypingError(FIXED.format(name))

    _extending.lower_setattr(ViewRecord, name)(write)


for _name in ("height", "width", "y", "x"):
    _refuse(_name)


def ours(record: Any) -> OurRecord:
    """A record as one of ours."""
    return _as(
        next((kind for name, kind in _KINDS.items() if name in record.fields), OurRecord), record
    )


def _as(kind: type[OurRecord], record: Any) -> OurRecord:
    fields = []
    for name, field in record.fields.items():
        _read_first(name)
        inner = field.type
        if isinstance(inner, types.Record):
            inner = _as(GeneratorRecord if name == "rng" else OurRecord, inner)
        fields.append((name, {**field._asdict(), "type": inner}))
    made: Any = kind
    return made(fields, record.size, record.aligned)  # type: ignore[no-any-return]
