"""Appearances of cells in compiled code: encoding them, and updating them with every write to a
world's record.

An appearance is a uint32 with type, state, colour and an opaque bit, see `Layout.looks_dtype`.
Importing this module registers implementations of these writes with Numba. Writes also update the
cell lists and distances of `cell_lists`.
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.compiler.cell_lists import TYPES_UNKNOWN
from gv_engine.compiler.intrinsics import emit_lanes, emit_repeated, owning_world, writable_view
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    is_omitted,
    register_function,
    register_method,
)
from gv_engine.compiler.numba_pipeline import (
    cgutils,
    check_entity,
    emit_as,
    make_array,
    overload,
    types,
)
from gv_engine.compiler.records import EmptyGround, EntityColumn, ShownColumn, get_world_record
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.errors import RuleError

# ---- encoding ------------------------------------------------------------------------------------

_BYTE, _INDEX = ir.IntType(8), ir.IntType(64)
CHUNK = 64
"""Number of cells that are encoded at once."""

_CELLS = ir.VectorType(_BYTE, CHUNK)

CODE_STEP = np.dtype([(name, np.uint8) for name in ("of_color", "low", "count", "rise", "wrong")])
"""Record of the `count` types (colours if `of_color`) from index `low` on: it adds `rise` (modulo
256) to their evenly spaced codes, or says that they have no code if `wrong`."""


def make_code_steps(
    of_color: bool, numbers: NDArray[Any], stride: int, unlisted: int
) -> NDArray[Any]:
    """Return (n,) records `CODE_STEP`, by which `encode_cells` computes codes without reading a
    table: for ranges of types (of colours if `of_color`) the difference between the code in the
    table `numbers` and index * `stride`, or that they are `unlisted`.

    Args:
        of_color: the table has the codes of colours, not of types.
        numbers: (256,) codes of all types or colours; the first is 0.
        stride: distance of two codes that are evenly spaced.
        unlisted: value in `numbers` for a type or colour without a code.
    """
    listed = np.flatnonzero(numbers != unlisted)
    more = numbers[listed].astype(np.int64) - stride * listed
    records = [
        (of_color, low, 256 - low, (after - before) % 256, 0)
        for low, (before, after) in zip(listed[1:].tolist(), pairwise(more.tolist()))
        if after != before
    ]
    records += [
        (of_color, low + 1, high - low - 1, 0, 1)
        for low, high in pairwise([*listed.tolist(), 256])
        if high - low > 1
    ]
    return np.array(records, CODE_STEP)


def encode_cells(cells: Any, steps: Any, stride: int, out: Any) -> bool:
    """Write the code of each of the (M, 3) uint8 `cells` (type, state, colour) into (M,) uint8
    `out`; return True if a cell has a type or colour without a code. `stride` and `steps` are the
    argument and the result of `make_code_steps`.

    Only whole chunks of 64 cells are encoded; the caller encodes the rest.
    """
    has_unlisted = False
    for start in range(0, len(cells) - CHUNK + 1, CHUNK):
        has_unlisted |= _encode_chunk(cells, start, steps, stride, out)
    return has_unlisted


@emit_as(
    lambda cells, start, steps, stride, out: types.boolean(
        cells, types.intp, steps, types.intp, out
    )
)
def _encode_chunk(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit LLVM IR of the Numba intrinsic `_encode_chunk(cells, start, steps, stride, out)`, which
    does the work of `encode_cells` for the 64 cells from index `start` on."""
    cells, steps, out = (
        make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 4)
    )
    first, even_stride = arguments[1], arguments[3]
    wide = ir.VectorType(_BYTE, 3 * CHUNK)
    source = builder.gep(cells.data, [builder.mul(first, _INDEX(3))])
    shown = builder.load(builder.bitcast(source, wide.as_pointer()), align=1)
    kind, state, color = (
        emit_lanes(builder, shown, range(channel, 3 * CHUNK, 3)) for channel in range(3)
    )
    stride_of_all = emit_repeated(builder, builder.trunc(even_stride, _BYTE), CHUNK)
    number = builder.add(builder.mul(stride_of_all, builder.add(kind, state)), color)
    numbers = cgutils.alloca_once_value(builder, number)
    wrong = cgutils.alloca_once_value(builder, ir.Constant(_CELLS, [0] * CHUNK))
    with cgutils.for_range(builder, builder.extract_value(steps.shape, 0)) as loop:
        step = builder.bitcast(builder.gep(steps.data, [loop.index]), _BYTE.as_pointer())
        of_color, low, count, rise, is_wrong = (
            builder.load(builder.gep(step, [_INDEX(field.offset)]))
            for field in signature.args[2].dtype.fields.values()
        )
        value = builder.select(builder.icmp_unsigned("!=", of_color, _BYTE(0)), color, kind)
        above = builder.sub(value, emit_repeated(builder, low, CHUNK))
        within = builder.icmp_unsigned("<", above, emit_repeated(builder, count, CHUNK))
        within = builder.sext(within, _CELLS)
        joined = (numbers, rise, builder.add), (wrong, is_wrong, builder.or_)
        for accumulator, of_step, join in joined:
            part = builder.and_(within, emit_repeated(builder, of_step, CHUNK))
            builder.store(join(builder.load(accumulator), part), accumulator)
    goal = builder.bitcast(builder.gep(out.data, [first]), _CELLS.as_pointer())
    builder.store(builder.load(numbers), goal, align=1)
    whole = ir.IntType(8 * CHUNK)
    return builder.icmp_unsigned("!=", builder.bitcast(builder.load(wrong), whole), whole(0))


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
