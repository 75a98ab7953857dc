"""How the cells of a row look, in compiled code, kept by every write to the row.

Importing this module teaches numba what a write does, and the methods that it calls, see
`Layout.looks_dtype`. Lists of cells and ways, which it keeps too, are in `list_methods`.
"""

from __future__ import annotations

import operator
from itertools import pairwise
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import register_jitable
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.compiler.intrinsics import (
    around,
    intrinsic,
    to_write,
)
from gv_engine.compiler.list_methods import NOT_KNOWN
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    is_none,
    method,
    overload,
)
from gv_engine.compiler.numba_pipeline import PARTS
from gv_engine.compiler.records import (
    DerivedColumn,
    EmptyGround,
    world_of,
)
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.errors import RuleError

# ---- encoding ------------------------------------------------------------------------------------

# what numba says of their types leads nowhere
_types, _cgutils, _make_array = cast(Any, (types, cgutils, make_array))

_BYTE, _LANE, _INDEX = (ir.IntType(size) for size in (8, 32, 64))
PORTION = 64
"""Cells at once."""

_CELLS = ir.VectorType(_BYTE, PORTION)

STEP = np.dtype([(name, np.uint8) for name in ("of_color", "low", "count", "rise", "wrong")])
"""From `low` on, so many types or colours have a number that is higher by `rise` than it would be
by growing evenly, within 8 bits; or they are `wrong`."""


def steps(of_color: bool, numbers: NDArray[Any], stride: int, unlisted: int) -> NDArray[Any]:
    """(n,) records `STEP`.

    Args:
        of_color: what is numbered: colours, not types.
        numbers: (256,) those of all types or colours; 0 for the first.
        stride: from one to the next where they grow evenly.
        unlisted: in place of the number of one that may not occur.
    """
    listed = np.flatnonzero(numbers != unlisted)
    more = numbers[listed].astype(np.int64) - stride * listed
    found = [
        (of_color, low, 256 - low, (after - before) % 256, 0)
        for low, (before, after) in zip(listed[1:].tolist(), pairwise(more.tolist()))
        if after != before
    ]
    found += [
        (of_color, low + 1, high - low - 1, 0, 1)
        for low, high in pairwise([*listed.tolist(), 256])
        if high - low > 1
    ]
    return np.array(found, STEP)


def encode(cells: Any, steps: Any, stride: int, out: Any) -> bool:
    """Fill (M,) uint8 with the numbers of (M, 3) cells, as far as whole portions of 64 go; whether
    one is not listed."""
    wrong = False
    for start in range(0, len(cells) - PORTION + 1, PORTION):
        wrong |= _portion(cells, start, steps, stride, out)
    return wrong


@intrinsic
def _portion(typing_context: Any, cells: Any, start: Any, steps: Any, stride: Any, out: Any) -> Any:
    """`(cells, start, steps, stride, out)`: the same for 64 of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, first, marks, even, place = arguments
        given, marks, place = (
            _make_array(kind)(context, builder, array)
            for kind, array in ((cells, given), (steps, marks), (out, place))
        )
        wide = ir.VectorType(_BYTE, 3 * PORTION)
        source = builder.gep(given.data, [builder.mul(first, _INDEX(3))])
        shown = builder.load(builder.bitcast(source, wide.as_pointer()), align=1)
        kind, state, color = (
            _pick(builder, shown, range(channel, 3 * PORTION, 3)) for channel in range(3)
        )
        stride_of_all = _all(builder, builder.trunc(even, _BYTE))
        number = builder.add(builder.mul(stride_of_all, builder.add(kind, state)), color)
        numbers = _cgutils.alloca_once_value(builder, number)
        wrong = _cgutils.alloca_once_value(builder, ir.Constant(_CELLS, [0] * PORTION))
        with _cgutils.for_range(builder, builder.extract_value(marks.shape, 0)) as loop:
            step = builder.bitcast(builder.gep(marks.data, [loop.index]), _BYTE.as_pointer())
            of_color, low, count, rise, is_wrong = (
                builder.load(builder.gep(step, [_INDEX(field.offset)]))
                for field in steps.dtype.fields.values()
            )
            value = builder.select(builder.icmp_unsigned("!=", of_color, _BYTE(0)), color, kind)
            above = builder.sub(value, _all(builder, low))
            within = builder.icmp_unsigned("<", above, _all(builder, count))
            within = builder.sext(within, _CELLS)
            for found, of_step, join in (
                (numbers, rise, builder.add),
                (wrong, is_wrong, builder.or_),
            ):
                part = builder.and_(within, _all(builder, of_step))
                builder.store(join(builder.load(found), part), found)
        goal = builder.bitcast(builder.gep(place.data, [first]), _CELLS.as_pointer())
        builder.store(builder.load(numbers), goal, align=1)
        whole = ir.IntType(8 * PORTION)
        return builder.icmp_unsigned("!=", builder.bitcast(builder.load(wrong), whole), whole(0))

    return _types.boolean(cells, types.intp, steps, types.intp, out), generate


def _pick(builder: Any, vector: Any, lanes: Any) -> Any:
    order = ir.Constant(ir.VectorType(_LANE, len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _all(builder: Any, value: Any) -> Any:
    """Emit a vector of one value."""
    one = builder.insert_element(ir.Constant(_CELLS, ir.Undefined), value, _LANE(0))
    return _pick(builder, one, [0] * PORTION)


# ---- look methods --------------------------------------------------------------------------------


@method("look_of")
def _look_of(w: Any, e: Any) -> Any:
    """For the kernels: how a cell with this entity looks, see `Layout.looks_dtype`."""

    def impl(w: Any, e: Any) -> Any:
        if e == NOTHING:
            return np.uint32(FLOOR)
        seen = w.kind.value[e] & 255 | (w.state_of(e) & 255) << 8 | (w.color.value[e] & 255) << 16
        return np.uint32(seen | (w.blocks_vision(e) != 0) << 31)

    return impl


@method("look_again")
def _look_again(w: Any, e: Any) -> Any:
    """For the kernels: an entity looks different; tell the cell that holds it."""

    def impl(w: Any, e: Any) -> None:
        y, x = w.position.y[e], w.position.x[e]
        if y >= 0 and w.at[y, x] == e:
            w.at[y, x] = e
        elif y >= 0 and w.ground[y, x] == e != NOTHING:
            w.ground[y, x] = e
        elif e != NOTHING and e != AGENT:  # in hand, say, or where it does not say
            w.look_everywhere(e)

    return impl


@method("look_everywhere")
def _look_everywhere(w: Any, e: Any = None) -> Any:
    """For the kernels: derive anew what is behind a row, or look again at the cells that hold an
    entity."""
    if is_none(e):
        layered = "ground" in LAYOUTS[w].layers

        def everything(w: Any, e: Any = None) -> None:
            w.forget_cells(False)
            w.strange = NOT_KNOWN
            w.highest = len(w.alive) - 1
            for y in range(w.at.shape[0]):
                for x in range(w.at.shape[1]):
                    if w.ground[y, x] != NOTHING:
                        w.ground[y, x] = w.ground[y, x]
                    if w.at[y, x] != NOTHING:
                        w.at[y, x] = w.at[y, x]

        def each(w: Any, e: Any = None) -> None:
            w.strange = NOT_KNOWN
            for y in range(w.height):
                for x in range(w.width):
                    if layered:
                        w.ground[y, x] = w.ground[y, x]
                    else:
                        w.at[y, x] = w.at[y, x]

        return everything if LAYOUTS[w].is_large else each

    def impl(w: Any, e: Any = None) -> None:
        for y in range(w.height):
            for x in range(w.width):
                if w.at[y, x] == e:
                    w.at[y, x] = w.at[y, x]
                if w.ground[y, x] == e:
                    w.ground[y, x] = e

    return impl


@overload(operator.getitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # numba has no types
def _get_of_no_ground(cells: Any, index: Any) -> Any:
    def nothing(cells: Any, index: Any) -> Any:
        return NOTHING

    return nothing if isinstance(cells, EmptyGround) else None


@overload(operator.setitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # numba has no types
def _set_in_no_ground(kept: Any, index: Any, value: Any) -> Any:
    def refuse(kept: Any, index: Any, value: Any) -> None:
        raise RuleError(_NO_GROUND)

    return refuse if isinstance(kept, EmptyGround) else None


_NO_GROUND = "w.ground: there are no object types that live on the ground"


@method("show_layers")
def _show_layers(w: Any, y: Any, x: Any) -> Any:
    """For the kernels: a cell looks like the thing in it, or else like its ground."""

    def impl(w: Any, y: Any, x: Any) -> None:
        above, below = w.at[y, x], w.beneath[y, x]
        look = below if above == NOTHING else w.look_of(above) | below & _OPAQUE
        w.looks[y, x] = look

    return impl


_OPAQUE = np.uint32(1 << 31)


@overload(operator.setitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # numba has no types
def _set_kept(kept: Any, index: Any, value: Any) -> Any:
    if not isinstance(kept, DerivedColumn):
        return None
    if isinstance(index, types.Integer) and kept.ndim == 1:
        world: Any = world_of(kept)
        columns = world.fields["kind"]
        is_kind = kept.start == columns.offset + columns.type.fields["value"].offset

        def write(kept: Any, index: Any, value: Any) -> None:
            to_write(kept)[index] = value
            w = around(kept)
            if is_kind:
                w.now_strange(value)
            w.look_again(index if index >= 0 else len(kept) + index)

        return write
    if isinstance(index, types.BaseTuple) and len(index) == kept.ndim == 2:
        record: Any = world_of(kept)
        rows, stride = record.fields["at"].type.shape
        if "ground" in record.fields:
            on_ground = kept.start == record.fields["ground"].offset
            put_there = _put_on_ground if on_ground else _put_above
            listed = "listed" in record.fields
            note = _note_layers if listed else _note_nothing_of
            forget = (_unlist_ground if on_ground else _unlist_above) if listed else note

            def put_on_layer(kept: Any, index: Any, value: Any) -> None:
                y, x = index
                y, x = y if y >= 0 else y + rows, x if x >= 0 else x + stride
                w = around(kept)
                forget(w, y, x, y * stride + x)
                to_write(kept)[y, x] = value
                put_there(w, y, x, value)
                note(w, y, x, y * stride + x)

            return put_on_layer

        def put_and_show(kept: Any, index: Any, value: Any) -> None:
            y, x = index
            to_write(kept)[y, x] = value
            w = around(kept)
            w.looks[y, x] = w.look_of(value)

        def put(kept: Any, index: Any, value: Any) -> None:
            y, x = index
            at = to_write(kept)
            w = around(kept)
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


# what is to be done about a cell that has two layers


@register_jitable(**PARTS)
def _put_on_ground(w: Any, y: Any, x: Any, value: Any) -> None:
    w.beneath[y, x] = w.look_of(value)
    w.show_layers(y, x)


@register_jitable(**PARTS)
def _put_above(w: Any, y: Any, x: Any, value: Any) -> None:
    w.show_layers(y, x)


@register_jitable(**PARTS)
def _unlist_ground(w: Any, y: Any, x: Any, cell: Any) -> None:
    if w.ground[y, x] != NOTHING:
        w.unlist(cell, w.beneath[y, x] & 255)


@register_jitable(**PARTS)
def _unlist_above(w: Any, y: Any, x: Any, cell: Any) -> None:
    if w.at[y, x] != NOTHING:
        w.unlist(cell, w.looks[y, x] & 255)


@register_jitable(**PARTS)
def _note_layers(w: Any, y: Any, x: Any, cell: Any) -> None:
    above, below = w.at[y, x], w.ground[y, x]
    if below != NOTHING:
        w.enlist(cell, w.beneath[y, x] & 255)
    if above != NOTHING:
        w.enlist(cell, w.looks[y, x] & 255)
    w.block(cell, w.blocks_movement(below) | w.blocks_movement(above))


@register_jitable(**PARTS)
def _note_nothing_of(w: Any, y: Any, x: Any, cell: Any) -> None:
    pass
