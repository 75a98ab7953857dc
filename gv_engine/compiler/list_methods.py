"""Lists of what is in the cells of a row, and ways between them, in compiled code.

Importing this module teaches numba the methods that keep them, see `Layout.looks_dtype`; writes to
a row call them, see `look_methods`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from components.appearance import FLOOR
from gv_engine.compiler.intrinsics import (
    agreeing,
    count_ones,
    lowest_one,
    prefetch_cell,
    to_write,
)
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    method,
    prefabs,
)
from gv_engine.compiler.numba_pipeline import PARTS
from gv_engine.compiler.simd import cells_of
from gv_engine.rules.component import AGENT, NOTHING, column_name

NOT_KNOWN = np.uint32(2**32 - 1)
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
    kinds = layout.type_table_length

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
        for cls in (*dict(LAYOUTS[w].prefabs[kind.index]), *kind.component_changes(0))
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
        if w.strange == NOT_KNOWN:
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
        if w.strange == NOT_KNOWN:
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
