"""Columns with values for the first entities only, in compiled code: the columns of components that
only agents, the world's own entity or terrain can have, see `Layout.column_lengths`.

All other entities read the defaults, which are at index NOTHING.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba.core.typing import templates

from gv_engine.compiler.numba_pipeline import (
    emit_bounds_check,
    emit_entity_check,
    extending,
    types,
)
from gv_engine.rules.component import NOTHING

_INDEX = ir.IntType(64)
_template: Any = templates.infer_global
_make_signature: Any = templates.signature


class ShortColumn(types.Type):  # type: ignore[misc]  # numba's
    """Numba type of a column that has values for the first entities only.

    Attributes:
        array: type of the array of these values.
        dtype, ndim: dtype and number of dimensions of the array.
        length: number of entities with a value, NOTHING included.
        capacity: number of all entities.
        holds_entities: True if the values are entities.
    """

    def __init__(self, array: Any, capacity: int, holds_entities: bool) -> None:
        """Make the type of a column with the values `array` in worlds of `capacity` entities."""
        self.holds_entities = holds_entities
        self.dtype, self.ndim = array.dtype, array.ndim
        self.array = types.Array(array.dtype, array.ndim, "C")
        self.length, self.capacity = array.shape[0], capacity
        super().__init__(f"Short({array.dtype}, {array.shape}, {capacity}, {holds_entities})")


extending.register_model(ShortColumn)(extending.models.ArrayModel)


def emit_stored_index(builder: Any, e: Any, length: int) -> Any:
    """Emit LLVM IR that computes the index of the element for entity `e`, a 64-bit integer, in a
    short column of `length` elements, and return the LLVM value: `e` if it is less than `length`,
    unsigned, else NOTHING, the index of the defaults."""
    is_stored = builder.icmp_unsigned("<", e, _INDEX(length))
    return builder.select(is_stored, e, _INDEX(NOTHING))


@_template(operator.getitem)
@_template(operator.setitem)
class _ShortColumnAccess(templates.AbstractTemplate):
    """Typing of `column[e]`, `column[e, k]` and of assignments to them."""

    key: Any

    def generic(self, args: Any, kws: Any) -> Any:
        """Return the signature of the same access to a plain array; None for other types."""
        column, index, *values = args
        parts = index if _is_tuple(index) else (index,)
        if not isinstance(column, ShortColumn) or len(parts) != column.ndim:
            return None
        if any(self.context.can_convert(part, types.intp) is None for part in parts):
            return None
        plain = self.context.resolve_function_type(
            self.key, (column.array, _find_index_type(index), *values), {}
        )
        return plain and _make_signature(plain.return_type, column, index, *plain.args[2:])


def _find_index_type(index: Any) -> Any:
    """Return the Numba type of the array index for the index type `index` of the column; the part
    for the entity is unsigned, so that Numba emits no code for negative indices."""
    return types.Tuple([types.uintp, types.intp]) if _is_tuple(index) else types.uintp


def _is_tuple(index: Any) -> bool:
    """Return True if the Numba type `index` is a tuple, as in `column[e, k]`."""
    return isinstance(index, types.BaseTuple)


def _access(context: Any, builder: Any, access: Any, arguments: Any, key: Any) -> Any:
    """Emit LLVM IR that reads or writes an element of a short column; `key` is the operator,
    `operator.getitem` or `operator.setitem`."""
    column, index = access.args[:2]
    of_entity, e = index, arguments[1]
    if _is_tuple(index):
        of_entity, of_item = index
        e, item = (builder.extract_value(arguments[1], k) for k in range(2))
        item = context.cast(builder, item, of_item, types.intp)
    e = context.cast(builder, e, of_entity, types.intp)
    is_signed = getattr(of_entity, "signed", True)
    if is_signed:
        is_negative = builder.icmp_signed("<", e, _INDEX(0))
        e = builder.select(is_negative, builder.add(e, _INDEX(column.capacity)), e)
    if context.enable_boundscheck:
        size = _INDEX(column.capacity)
        emit_bounds_check(context, builder, e, size, wrapped=is_signed)
    place, kind = emit_stored_index(builder, e, column.length), _find_index_type(index)
    if _is_tuple(index):
        place = context.make_tuple(builder, kind, [place, item])
    plain = _make_signature(access.return_type, column.array, kind, *access.args[2:])
    run = context.get_function(key, plain)
    return run(builder, (arguments[0], place, *arguments[2:]))


@extending.lower_builtin(operator.getitem, ShortColumn, types.Any)  # type: ignore[untyped-decorator]  # numba's
def _read(context: Any, builder: Any, access: Any, arguments: Any) -> Any:
    """Emit LLVM IR of `column[e]` or `column[e, k]`."""
    return _access(context, builder, access, arguments, operator.getitem)


@extending.lower_builtin(operator.setitem, ShortColumn, types.Any, types.Any)  # type: ignore[untyped-decorator]  # numba's
def _write(context: Any, builder: Any, access: Any, arguments: Any) -> Any:
    """Emit LLVM IR of `column[e] = value` or `column[e, k] = value`."""
    if (column := access.args[0]).holds_entities:
        capacity = _INDEX(column.capacity)
        emit_entity_check(context, builder, access.args[2], arguments[2], capacity)
    return _access(context, builder, access, arguments, operator.setitem)
