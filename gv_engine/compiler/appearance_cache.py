"""Appearances of cells in compiled code: updating them with every write to a world's record.

An appearance is a uint32 with type, state, colour and an opaque bit, see `Layout.looks_dtype`.
Importing this module registers implementations of these writes with Numba. Writes also update the
cell lists and distances of `cell_lists`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from components.core import FLOOR
from gv_engine.compiler.cell_lists import TYPES_UNKNOWN
from gv_engine.compiler.intrinsics import owning_world, writable_view
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    is_omitted,
    register_function,
    register_method,
)
from gv_engine.compiler.numba_pipeline import (
    check_entity,
    overload,
    types,
)
from gv_engine.compiler.records import EmptyGround, EntityColumn, ShownColumn, get_world_record
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.errors import RuleError

# ---- look methods --------------------------------------------------------------------------------


@register_function("look_of")
def _get_look(w: Any, e: Any) -> Any:
    """Implement `w.look_of(e)`: return the appearance of entity `e`, a uint32 of type, state,
    colour and an opaque bit."""
    if e == NOTHING:
        return np.uint32(FLOOR)
    seen = w.kind.value[e] & 255 | (w.state_of(e) & 255) << 8 | (w.color.value[e] & 255) << 16
    return np.uint32(seen | (w.blocks_vision(e) != 0) << 31)


@register_function("look_again")
def _update_look(w: Any, e: Any) -> None:
    """Implement `w.look_again(e)`: update the appearance of the cell that shows entity `e`, after
    the entity has changed."""
    y, x = w.position.y[e], w.position.x[e]
    if y >= 0 and w.at[y, x] == e:
        w.at[y, x] = e
    elif y >= 0 and w.ground[y, x] == e != NOTHING:
        w.ground[y, x] = e
    elif e != NOTHING and e != AGENT:  # held, or with no valid position
        w.look_everywhere(e)


@register_method("look_everywhere")
def _build_look_everywhere(w: Any, e: Any = None) -> Any:
    """Return the implementation of `w.look_everywhere(e=None)`, which updates the appearances of
    all cells, or, if `e` is given, of the cells with entity `e`.

    Without an entity, all derived fields of the row are computed from its cells and columns.
    """
    if is_omitted(e):
        layered = "ground" in LAYOUTS[w].layers

        def derive_large(w: Any, e: Any = None) -> None:
            """Update the appearances, cell lists and movement map of a large grid, by writing each
            entity into its cell again."""
            w.forget_cells(False)
            w.changed_types = TYPES_UNKNOWN
            w.highest = len(w.alive) - 1
            for y in range(w.at.shape[0]):
                for x in range(w.at.shape[1]):
                    if w.ground[y, x] != NOTHING:
                        w.ground[y, x] = w.ground[y, x]
                    if w.at[y, x] != NOTHING:
                        w.at[y, x] = w.at[y, x]

        def derive_small(w: Any, e: Any = None) -> None:
            """Update the appearances of all cells of a small grid, by writing each entity into its
            cell again."""
            w.changed_types = TYPES_UNKNOWN
            for y in range(w.height):
                for x in range(w.width):
                    if layered:
                        w.ground[y, x] = w.ground[y, x]
                    else:
                        w.at[y, x] = w.at[y, x]

        return derive_large if LAYOUTS[w].is_large else derive_small

    def impl(w: Any, e: Any = None) -> None:
        """Update the cells that contain entity `e`."""
        for y in range(w.height):
            for x in range(w.width):
                if w.at[y, x] == e:
                    w.at[y, x] = w.at[y, x]
                if w.ground[y, x] == e:
                    w.ground[y, x] = e

    return impl


@overload(operator.getitem)
def _build_get_of_empty_ground(cells: Any, index: Any) -> Any:
    """Return the implementation of reading `w.ground[y, x]` in worlds without a ground layer:
    NOTHING. Return None for other types of `cells`."""

    def nothing(cells: Any, index: Any) -> Any:
        """Return NOTHING for any cell."""
        return NOTHING

    return nothing if isinstance(cells, EmptyGround) else None


@overload(operator.setitem)
def _build_write_to_empty_ground(cells: Any, index: Any, value: Any) -> Any:
    """Return the implementation of `w.ground[y, x] = value` in worlds without a ground layer, which
    raises a `RuleError`. Return None for other types of `cells`."""

    def refuse(cells: Any, index: Any, value: Any) -> None:
        """Raise `RuleError` for any cell."""
        raise RuleError(_GROUND_MESSAGE)

    return refuse if isinstance(cells, EmptyGround) else None


_GROUND_MESSAGE = "w.ground: there are no object types that live on the ground"
_OPAQUE = np.uint32(1 << 31)


@register_method("look_beneath")
def _build_look_beneath(w: Any, y: Any, x: Any) -> Any:
    """Return the implementation of `w.look_beneath(y, x)`, which returns the appearance of the
    ground of a cell."""
    if "beneath" in w.fields:
        return lambda w, y, x: w.beneath[y, x]
    return lambda w, y, x: w.look_of(w.ground[y, x])


@overload(operator.setitem)
def _build_write_of_entity(column: Any, index: Any, value: Any) -> Any:
    """Return the implementation of assigning to an element of a column of entities; None for other
    arrays."""
    if not isinstance(column, EntityColumn):
        return None
    capacity = column.capacity

    def write(column: Any, index: Any, value: Any) -> None:
        """Write the entity."""
        check_entity(value, capacity)
        writable_view(column)[index] = value

    return write


@overload(operator.setitem)
def _build_set_of_shown_column(column: Any, index: Any, value: Any) -> Any:
    """Return the implementation of assigning to a component value `column[e]` or a grid cell
    `column[y, x]` on which the cached appearances depend; None for other arrays.

    The write also updates the appearances, and on large grids the cell lists and movement bits.
    """
    if not isinstance(column, ShownColumn):
        return None
    if isinstance(index, types.Integer) and column.ndim == 1:
        world: Any = get_world_record(column)
        columns = world.fields["kind"]
        is_kind = column.start == columns.offset + columns.type.fields["value"].offset

        def write(column: Any, index: Any, value: Any) -> None:
            """Write the value of entity `index` and update the appearance of its cell."""
            writable_view(column)[index] = value
            w = owning_world(column)
            if is_kind:
                w.add_changed_type(value)
            w.look_again(index if index >= 0 else len(column) + index)

        return write
    if isinstance(index, types.BaseTuple) and len(index) == column.ndim == 2:
        record: Any = get_world_record(column)
        rows, stride = record.fields["at"].type.shape
        (capacity,) = record.fields["alive"].type.shape
        if "ground" in record.fields:
            on_ground = column.start == record.fields["ground"].offset
            is_listed, is_kept = "listed" in record.fields, "beneath" in record.fields

            def put_on_layer(column: Any, index: Any, value: Any) -> None:
                """Put entity `value` into cell `index` of one of two layers; update the cell's
                appearance and, on large grids, the lists of cells by object type and the map of
                blocked cells."""
                check_entity(value, capacity)
                y, x = index
                y, x = y if y >= 0 else y + rows, x if x >= 0 else x + stride
                w, layer, cell = owning_world(column), writable_view(column), y * stride + x
                if is_listed and layer[y, x] != NOTHING:
                    w.unlist(cell, (w.look_beneath(y, x) if on_ground else w.looks[y, x]) & 255)
                layer[y, x] = value
                if on_ground and is_kept:
                    w.beneath[y, x] = w.look_of(value)
                above, below, look_below = w.at[y, x], w.ground[y, x], w.look_beneath(y, x)
                # the upper object shows, else the ground; the cell is opaque if either is
                look = w.look_of(above) | look_below & _OPAQUE if above != NOTHING else look_below
                w.looks[y, x] = look
                if is_listed:
                    if below != NOTHING:
                        w.enlist(cell, look_below & 255)
                    if above != NOTHING:
                        w.enlist(cell, look & 255)
                    w.block(cell, w.blocks_movement(below) | w.blocks_movement(above))

            return put_on_layer

        def put_and_show(column: Any, index: Any, value: Any) -> None:
            """Put entity `value` into cell `index` of a small grid, and update the appearance."""
            check_entity(value, capacity)
            y, x = index
            writable_view(column)[y, x] = value
            w = owning_world(column)
            w.looks[y, x] = w.look_of(value)

        def put(column: Any, index: Any, value: Any) -> None:
            """Put entity `value` into cell `index` of a large grid; update the cell's appearance,
            the lists of cells by object type and the map of blocked cells."""
            check_entity(value, capacity)
            y, x = index
            at = writable_view(column)
            w = owning_world(column)
            cell = (y if y >= 0 else y + rows) * stride + (x if x >= 0 else x + stride)
            if at[y, x] != NOTHING:
                w.unlist(cell, w.looks[y, x] & 255)
            at[y, x] = value
            look = w.look_of(value)
            w.looks[y, x] = look
            if value != NOTHING:
                w.enlist(cell, look & 255)
            w.block(cell, w.blocks_movement(value))

        return put if "listed" in record.fields else put_and_show
    return None
