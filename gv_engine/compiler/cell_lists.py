"""Methods of compiled worlds that keep lists of the cells with objects of each type, and search in
them: objects by component or type, and lengths of paths."""

from __future__ import annotations

from typing import Any

import numpy as np

from components.core import FLOOR
from gv_engine.compiler.intrinsics import (
    count_set_bits,
    flat_array_view,
    lowest_set_bit,
    make_entity_compare,
    prefetch_cell,
    writable_view,
)
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    prefab_tables,
    register_function,
    register_method,
)
from gv_engine.compiler.numba_pipeline import register_jitable
from gv_engine.compiler.observation import find_typed_cells
from gv_engine.rules.component import AGENT, NOTHING, column_name

TYPES_UNKNOWN = np.uint32(2**32 - 1)
"""Value of `w.changed_types` before `find_changed_types`: objects of any type may have other
components than their type."""


@register_function("add_changed_type")
def _add_changed_type(w: Any, kind: Any) -> None:
    """Implement `w.add_changed_type(kind)`: record in `w.changed_types` that objects of type `kind`
    may have other components than their type gives them."""
    w.changed_types |= np.uint32(1) << np.uint32(kind & 31)


@register_function("enlist")
def _list_cell(w: Any, cell: Any, kind: Any) -> None:
    """Implement `w.enlist(cell, kind)`: add a cell, given as a row-major index, to the list of
    cells that show an object of type `kind`."""
    k, i = kind % len(w.listed), cell >> 6
    w.listed[k, i] |= np.uint64(1) << np.uint64(cell & 63)
    w.filled[k, i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@register_function("unlist")
def _unlist_cell(w: Any, cell: Any, kind: Any) -> None:
    """Implement `w.unlist(cell, kind)`: remove a cell, given as a row-major index, from the list of
    cells that show an object of type `kind`."""
    k, i = kind % len(w.listed), cell >> 6
    w.listed[k, i] &= ~(np.uint64(1) << np.uint64(cell & 63))
    if w.listed[k, i] == 0:
        w.filled[k, i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))


@register_function("block")
def _set_movement_bit(w: Any, cell: Any, blocks: Any) -> None:
    """Implement `w.block(cell, blocks)`: store whether a cell blocks movement. A change makes the
    cached distances invalid."""
    bit = np.uint64(1) << np.uint64(cell & 63)
    if ((w.blocked[cell >> 6] & bit) != 0) != (blocks != 0):
        w.blocked[cell >> 6] ^= bit
        w.ways_from = 0


@register_method("forget_cells")
def _build_forget_cells(w: Any, lift: Any) -> Any:
    """Return the implementation of `w.forget_cells(lift)`, which empties the lists of cells by
    object type and shows all listed cells as floor; `lift` also removes the entities from these
    cells."""
    stride = w.fields["at"].type.shape[1]
    has_ground, is_kept = "ground" in LAYOUTS[w].layers, "beneath" in w.fields

    def impl(w: Any, lift: Any) -> None:
        """Show all listed cells as floor and clear the lists."""
        at = w.in_line()
        for k in range(len(w.filled)):
            for j in range(w.filled.shape[1]):
                full = w.filled[k, j]
                w.filled[k, j] = 0
                while full != 0:
                    i = 64 * j + lowest_set_bit(full)
                    full &= full - np.uint64(1)
                    bits = w.listed[k, i]
                    w.listed[k, i] = 0
                    while bits != 0:
                        cell = 64 * i + lowest_set_bit(bits)
                        bits &= bits - np.uint64(1)
                        w.looks[cell // stride, cell % stride] = FLOOR
                        if lift:
                            at[cell] = NOTHING
                        if is_kept:
                            w.beneath[cell // stride, cell % stride] = FLOOR
                        if has_ground and lift:
                            writable_view(w.ground)[cell // stride, cell % stride] = NOTHING
        for i in range(len(w.blocked)):
            w.blocked[i] = 0
        w.ways_from = 0

    return impl


@register_method("find_changed_types")
def _build_find_changed_types(w: Any) -> Any:
    """Return the implementation of `w.find_changed_types()`, which finds the types with objects
    that have gained or lost components, and sets their bits in `w.changed_types`."""
    layout = LAYOUTS[w]
    agrees = make_entity_compare([part for part in prefab_tables(layout) if part[1] == "has"])
    kinds = layout.type_table_length

    def impl(w: Any) -> None:
        """Compare the components of each live object with the components of its type."""
        w.changed_types = 0
        for e in range(AGENT + 1, len(w.alive)):
            kind = w.kind.value[e]
            if w.alive[e] and not agrees(w, e, kind if 0 <= kind < kinds else kinds):
                w.changed_types |= np.uint32(1) << np.uint32(kind & 31)

    return impl


@register_method("having")
def _build_having(w: Any, columns: Any) -> Any:
    """Return the implementation of `w.having(columns)`, which returns an (n,) int64 array of the
    objects on the grid that have the component `columns`, row by row.

    If a cell has two objects, the object on the ground comes first.
    """
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
    layers = len(LAYOUTS[w].layers)

    @register_jitable
    def collect(w: Any, columns: Any, i: Any, bits: Any, entities: Any, count: Any) -> Any:
        """Append the objects with the component in the cells 64 * i + k, for each bit k of `bits`
        that is 1, to `entities`; return the new `count`."""
        at = w.in_line()
        while bits != 0:
            cell = 64 * i + lowest_set_bit(bits)
            bits &= bits - np.uint64(1)
            y, x = cell // stride, cell % stride
            if y < w.height and x < w.width:
                count = _append_having(w, columns, w.ground[y, x], at[cell], entities, count)
        return count

    def search_lists(w: Any, columns: Any) -> Any:
        """Return the objects with the component by searching the lists of cells by type of a large
        grid."""
        if w.changed_types == TYPES_UNKNOWN:
            w.find_changed_types()
        types, count = np.uint64(kinds | w.changed_types), 0
        for j in range(w.filled.shape[1]):
            full = _merge_bits(w.filled, types, j)
            while full != 0:
                i = 64 * j + lowest_set_bit(full)
                full &= full - np.uint64(1)
                bits = _merge_bits(w.listed, types, i)
                count += count_set_bits(bits)
                while bits != 0:
                    cell = 64 * i + lowest_set_bit(bits)
                    bits &= bits - np.uint64(1)
                    for y in range(-1, 2):
                        prefetch_cell(w, y + cell // stride, cell % stride)
        entities = np.empty(layers * count, np.int64)
        count, found = 0, flat_array_view(entities)
        for j in range(w.filled.shape[1]):
            full = _merge_bits(w.filled, types, j)
            while full != 0:
                i = 64 * j + lowest_set_bit(full)
                full &= full - np.uint64(1)
                count = collect(w, columns, i, _merge_bits(w.listed, types, i), found, count)
        return entities[:count]

    def search_looks(w: Any, columns: Any) -> Any:
        """Return the objects with the component by searching the cells that show an object of a
        type with the component."""
        if w.changed_types == TYPES_UNKNOWN:
            w.find_changed_types()
        types, count = np.uint64(kinds | w.changed_types), 0
        entities = np.empty(rows * stride, np.int64)
        found = flat_array_view(entities)
        for i in range(-(-rows * stride // 64)):
            count = collect(w, columns, i, find_typed_cells(w, i, types), found, count)
        return entities[:count]

    def search_all_cells(w: Any, columns: Any) -> Any:
        """Return the objects with the component by searching all cells: with two layers, the
        appearance of a cell does not reveal the object on the ground."""
        entities, count = np.empty(layers * w.height * w.width, np.int64), 0
        found = flat_array_view(entities)
        for y in range(w.height):
            for x in range(w.width):
                count = _append_having(w, columns, w.ground[y, x], w.at[y, x], found, count)
        return entities[:count]

    # a look does not tell which object lies beneath the thing
    search_small = search_all_cells if layers > 1 else search_looks
    return search_lists if LAYOUTS[w].is_large else search_small


@register_method("of_type")
def _build_of_type(w: Any, kind: Any) -> Any:
    """Return the implementation of `w.of_type(kind)`, which returns an (n,) int64 array of the
    objects of type `kind` on the grid, row by row."""
    rows, stride = w.fields["at"].type.shape

    @register_jitable
    def collect(w: Any, kind: Any, i: Any, bits: Any, entities: Any, count: Any) -> Any:
        """Append the objects of type `kind` in the cells 64 * i + k, for each bit k of `bits` that
        is 1, to `entities`; return the new `count`."""
        while bits != 0 and count < len(entities):
            cell = 64 * i + lowest_set_bit(bits)
            bits &= bits - np.uint64(1)
            y, x = cell // stride, cell % stride
            if y < w.height and x < w.width:
                e = w.on_layer_of(kind, y, x)
                entities[count] = e
                count += e != NOTHING and w.kind.value[e] == kind
        return count

    def search_lists(w: Any, kind: Any) -> Any:
        """Return the objects of type `kind` by searching the list of cells with this type."""
        entities, count = np.empty(w.placed[kind], np.int64), 0
        found = flat_array_view(entities)
        for j in range(w.filled.shape[1]):
            full = w.filled[kind, j]
            while full != 0:
                i = 64 * j + lowest_set_bit(full)
                full &= full - np.uint64(1)
                count = collect(w, kind, i, w.listed[kind, i], found, count)
        return entities[:count]

    # a look does not tell which object lies beneath the thing
    shows_all = len(LAYOUTS[w].layers) == 1

    def search_small(w: Any, kind: Any) -> Any:
        """Return the objects of type `kind` by searching the cells that show this type, or all
        cells of a grid with two layers."""
        types, bits = np.uint64(1) << np.uint64(kind & 31), ~np.uint64(0)
        entities, count = np.empty(w.placed[kind], np.int64), 0
        found = flat_array_view(entities)
        for i in range(-(-rows * stride // 64) if len(entities) > 0 else 0):
            if shows_all:
                bits = find_typed_cells(w, i, types)
            count = collect(w, kind, i, bits, found, count)
        return entities[:count]

    return search_lists if LAYOUTS[w].is_large else search_small


@register_jitable
def _append_having(w: Any, columns: Any, below: Any, above: Any, entities: Any, count: Any) -> Any:
    """Append a cell's two entities, `below` and `above`, to `entities`, each only if it has the
    component with the arrays `columns`. `count` is the number of entities before; return the new
    number."""
    if below != NOTHING and columns.has[below]:
        entities[count] = below
        count += 1
    if columns.has[above]:
        entities[count] = above
        count += 1
    return count


@register_jitable
def _merge_bits(lists: Any, types: Any, i: Any) -> Any:
    """Return word `i` of the bitmap of the cells that show an object of a type in the bit mask
    `types`: the OR of word `i` of these types' bitmaps in `lists`. Bit k of the mask stands for the
    types k, k + 32, k + 64 and so on."""
    bits = np.uint64(0)
    while types != 0:
        for k in range(lowest_set_bit(types), len(lists), 32):
            bits |= lists[k, i]
        types &= types - np.uint64(1)
    return bits


@register_method("steps_from")
def _build_steps_from(w: Any, y: Any, x: Any) -> Any:
    """Return the implementation of `w.steps_from(y, x)`, which returns an (H, W) array of walking
    distances from cell (y, x), with -1 for cells that cannot be reached.

    Large grids cache the distances of the last cell in `w.ways`.
    """

    def read_cached(w: Any, y: Any, x: Any) -> Any:
        """Return the cached distances `w.ways`, computed again if they belong to another cell or
        grid."""
        key = np.uint64(((np.int64(y) << 15 | x) << 15 | w.height) << 15 | w.width)
        if w.ways_from != key:
            w.walk_from(y, x, w.ways)
            w.ways_from = key
        return w.ways

    def compute(w: Any, y: Any, x: Any) -> Any:
        """Return the walking distances from cell (y, x) in a new array."""
        steps = np.empty((w.height, w.width), np.int64)
        w.walk_from(y, x, steps)
        return steps

    return read_cached if LAYOUTS[w].is_large else compute
