"""What is derived from a row in compiled code, and kept by every write: looks, lists and ways.

Importing this module teaches numba the methods that keep them, see `Layout.looks_dtype`.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numba import types
from numba.extending import register_jitable

from components.appearance import FLOOR
from gv_engine.batches.compiled.intrinsics import (
    agreeing,
    around,
    count_ones,
    lowest_one,
    prefetch_cell,
    to_write,
)
from gv_engine.batches.compiled.parts import PARTS
from gv_engine.batches.compiled.records import (
    Kept,
    NoCells,
    world_of,
)
from gv_engine.batches.compiled.teaching import (
    LAYOUTS,
    is_none,
    method,
    overload,
    prefabs,
)
from gv_engine.batches.compiled.vectors import cells_of
from gv_engine.language.component import AGENT, NOTHING, column_name
from gv_engine.language.errors import RuleError


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
            w.strange = _NOT_KNOWN
            w.highest = len(w.alive) - 1
            for y in range(w.at.shape[0]):
                for x in range(w.at.shape[1]):
                    if w.ground[y, x] != NOTHING:
                        w.ground[y, x] = w.ground[y, x]
                    if w.at[y, x] != NOTHING:
                        w.at[y, x] = w.at[y, x]

        def each(w: Any, e: Any = None) -> None:
            w.strange = _NOT_KNOWN
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


# ---- lists and ways --------------------------------------------------------------------------

_NOT_KNOWN = np.uint32(2**32 - 1)
"""`strange`, where it has not been found out: any type may be."""


@method("now_strange")
def _now_strange(w: Any, kind: Any) -> Any:
    """For the kernels: objects of a type may have components that it does not give them."""

    def impl(w: Any, kind: Any) -> None:
        w.strange |= np.uint32(1) << np.uint32(kind & 31)

    return impl


@method("enlist")
def _enlist(w: Any, cell: Any, kind: Any) -> Any:
    """For the kernels: a cell holds an object that looks like this type."""

    def impl(w: Any, cell: Any, kind: Any) -> None:
        k, i = kind % len(w.listed), cell >> 6
        w.listed[k, i] |= np.uint64(1) << np.uint64(cell & 63)
        w.filled[k, i >> 6] |= np.uint64(1) << np.uint64(i & 63)

    return impl


@method("unlist")
def _unlist(w: Any, cell: Any, kind: Any) -> Any:
    """For the kernels: a cell no longer holds the object that looked like this type."""

    def impl(w: Any, cell: Any, kind: Any) -> None:
        k, i = kind % len(w.listed), cell >> 6
        w.listed[k, i] &= ~(np.uint64(1) << np.uint64(cell & 63))
        if w.listed[k, i] == 0:
            w.filled[k, i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))

    return impl


@method("block")
def _block(w: Any, cell: Any, blocks: Any) -> Any:
    """For the kernels: nobody can enter a cell, or anybody can; if that is new, ways are not."""

    def impl(w: Any, cell: Any, blocks: Any) -> None:
        bit = np.uint64(1) << np.uint64(cell & 63)
        if ((w.blocked[cell >> 6] & bit) != 0) != (blocks != 0):
            w.blocked[cell >> 6] ^= bit
            w.ways_from = 0

    return impl


@method("forget_cells")
def _forget_cells(w: Any, lift: Any) -> Any:
    """For the kernels: all cells look like free floor and are on no list; with `lift`, they are
    free."""
    stride = w.fields["at"].type.shape[1]
    forget_ground = _forget_ground if "ground" in LAYOUTS[w].layers else _leave_ground

    def impl(w: Any, lift: Any) -> None:
        at = w.in_line()
        for k in range(len(w.filled)):
            for j in range(w.filled.shape[1]):
                full = w.filled[k, j]
                w.filled[k, j] = 0
                while full != 0:
                    i = 64 * j + lowest_one(full)
                    full &= full - np.uint64(1)
                    bits = w.listed[k, i]
                    w.listed[k, i] = 0
                    while bits != 0:
                        cell = 64 * i + lowest_one(bits)
                        bits &= bits - np.uint64(1)
                        w.looks[cell // stride, cell % stride] = FLOOR
                        forget_ground(w, cell // stride, cell % stride, lift)
                        if lift:
                            at[cell] = NOTHING
        for i in range(len(w.blocked)):
            w.blocked[i] = 0
        w.ways_from = 0

    return impl


@register_jitable(**PARTS)
def _forget_ground(w: Any, y: Any, x: Any, lift: Any) -> None:
    w.beneath[y, x] = FLOOR
    if lift:
        to_write(w.ground)[y, x] = NOTHING


@register_jitable(**PARTS)
def _leave_ground(w: Any, y: Any, x: Any, lift: Any) -> None:
    pass


@method("find_strange")
def _find_strange(w: Any) -> Any:
    """For the kernels: find out objects of which types have components that these do not give."""
    layout = LAYOUTS[w]
    agrees = agreeing([part for part in prefabs(layout) if part[1] == "has"])
    kinds = layout.kinds

    def impl(w: Any) -> None:
        w.strange = 0
        for e in range(AGENT + 1, len(w.alive)):
            kind = w.kind.value[e]
            if w.alive[e] and not agrees(w, e, kind if 0 <= kind < kinds else kinds):
                w.strange |= np.uint32(1) << np.uint32(kind & 31)

    return impl


@method("having")
def _having(w: Any, columns: Any) -> Any:
    own = {
        kind.index
        for kind in LAYOUTS[w].types
        for cls in (*dict(LAYOUTS[w].prefabs[kind.index]), *kind.changes(0))
        if column_name(cls) == columns.column
    }
    if any(column_name(cls) == columns.column for cls, _ in LAYOUTS[w].agent_prefabs[0]):
        own.add(0)
    kinds = np.uint32(sum({1 << (kind & 31) for kind in own}))
    rows, stride = w.fields["at"].type.shape
    words = -(-rows * stride // 64)
    layers = len(LAYOUTS[w].layers)

    @register_jitable(**PARTS)
    def enter(w: Any, columns: Any, i: Any, bits: Any, found: Any, count: Any) -> Any:
        """Those of a word of cells that have it."""
        at = w.in_line()
        while bits != 0:
            cell = 64 * i + lowest_one(bits)
            bits &= bits - np.uint64(1)
            y, x = cell // stride, cell % stride
            if y < w.height and x < w.width:
                count = _add_those(w, columns, w.ground[y, x], at[cell], found, count)
        return count

    def listed(w: Any, columns: Any) -> Any:
        if w.strange == _NOT_KNOWN:
            w.find_strange()
        asked, count = np.uint64(kinds | w.strange), 0
        for j in range(w.filled.shape[1]):
            full = _of_types(w.filled, asked, j)
            while full != 0:
                i = 64 * j + lowest_one(full)
                full &= full - np.uint64(1)
                bits = _of_types(w.listed, asked, i)
                count += count_ones(bits)
                while bits != 0:
                    cell = 64 * i + lowest_one(bits)
                    bits &= bits - np.uint64(1)
                    for y in range(-1, 2):
                        prefetch_cell(w, y + cell // stride, cell % stride)
        found = np.empty(layers * count, np.int64)
        count = 0
        for j in range(w.filled.shape[1]):
            full = _of_types(w.filled, asked, j)
            while full != 0:
                i = 64 * j + lowest_one(full)
                full &= full - np.uint64(1)
                count = enter(w, columns, i, _of_types(w.listed, asked, i), found, count)
        return found[:count]

    def looking_so(w: Any, columns: Any) -> Any:
        if w.strange == _NOT_KNOWN:
            w.find_strange()
        asked, count = np.uint64(kinds | w.strange), 0
        for i in range(words):
            count += count_ones(cells_of(w, i, asked))
        found = np.empty(count, np.int64)
        count = 0
        for i in range(words):
            count = enter(w, columns, i, cells_of(w, i, asked), found, count)
        return found[:count]

    def every(w: Any, columns: Any) -> Any:
        found, count = np.empty(layers * w.height * w.width, np.int64), 0
        for y in range(w.height):
            for x in range(w.width):
                count = _add_those(w, columns, w.ground[y, x], w.at[y, x], found, count)
        return found[:count]

    # how a cell looks says nothing of what lies beneath its thing
    small = every if layers > 1 else looking_so
    return listed if LAYOUTS[w].is_large else small


@method("of_type")
def _of_type(w: Any, kind: Any) -> Any:
    rows, stride = w.fields["at"].type.shape
    words = -(-rows * stride // 64)

    @register_jitable(**PARTS)
    def enter(w: Any, kind: Any, i: Any, bits: Any, found: Any, count: Any) -> Any:
        """Those of a word of cells that are of the type."""
        while bits != 0 and count < len(found):
            cell = 64 * i + lowest_one(bits)
            bits &= bits - np.uint64(1)
            y, x = cell // stride, cell % stride
            if y < w.height and x < w.width:
                e = w.on_layer_of(kind, y, x)
                found[count] = e
                count += e != NOTHING and w.kind.value[e] == kind
        return count

    def listed(w: Any, kind: Any) -> Any:
        found, count = np.empty(w.placed[kind], np.int64), 0
        for j in range(w.filled.shape[1]):
            full = w.filled[kind, j]
            while full != 0:
                i = 64 * j + lowest_one(full)
                full &= full - np.uint64(1)
                count = enter(w, kind, i, w.listed[kind, i], found, count)
        return found[:count]

    def looking_so(w: Any, kind: Any) -> Any:
        asked = np.uint64(1) << np.uint64(kind & 31)
        found, count = np.empty(w.placed[kind], np.int64), 0
        for i in range(words if len(found) > 0 else 0):
            count = enter(w, kind, i, cells_of(w, i, asked), found, count)
        return found[:count]

    def every(w: Any, kind: Any) -> Any:
        found, count = np.empty(w.placed[kind], np.int64), 0
        for i in range(words if len(found) > 0 else 0):
            count = enter(w, kind, i, ~np.uint64(0), found, count)
        return found[:count]

    # how a cell looks says nothing of what lies beneath its thing
    small = every if len(LAYOUTS[w].layers) > 1 else looking_so
    return listed if LAYOUTS[w].is_large else small


@register_jitable(**PARTS)
def _add_those(w: Any, columns: Any, below: Any, above: Any, found: Any, count: Any) -> Any:
    """Of what is in a cell, those that have a component; how many are found now."""
    if below != NOTHING and columns.has[below]:
        found[count] = below
        count += 1
    if columns.has[above]:
        found[count] = above
        count += 1
    return count


@register_jitable(**PARTS)
def _of_types(lists: Any, asked: Any, i: Any) -> Any:
    """A word of the lists of all types whose bits are set."""
    bits = np.uint64(0)
    while asked != 0:
        for k in range(lowest_one(asked), len(lists), 32):
            bits |= lists[k, i]
        asked &= asked - np.uint64(1)
    return bits


@method("steps_from")
def _steps_from(w: Any, y: Any, x: Any) -> Any:
    def impl(w: Any, y: Any, x: Any) -> Any:
        key = np.uint64(((np.int64(y) << 15 | x) << 15 | w.height) << 15 | w.width)
        if w.ways_from != key:
            w.walk_from(y, x, w.ways)
            w.ways_from = key
        return w.ways

    def anew(w: Any, y: Any, x: Any) -> Any:
        steps = np.empty((w.height, w.width), np.int64)
        w.walk_from(y, x, steps)
        return steps

    return impl if LAYOUTS[w].is_large else anew


@overload(operator.getitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _get_of_no_ground(cells: Any, index: Any) -> Any:
    def nothing(cells: Any, index: Any) -> Any:
        return NOTHING

    return nothing if isinstance(cells, NoCells) else None


@overload(operator.setitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _set_in_no_ground(kept: Any, index: Any, value: Any) -> Any:
    def refuse(kept: Any, index: Any, value: Any) -> None:
        raise RuleError(_NO_GROUND)

    return refuse if isinstance(kept, NoCells) else None


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


@overload(operator.setitem, jit_options=PARTS)  # type: ignore[untyped-decorator]  # see above
def _set_kept(kept: Any, index: Any, value: Any) -> Any:
    if not isinstance(kept, Kept):
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
