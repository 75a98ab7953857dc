"""Fields that compiled worlds derive from their cells and update with every write: the appearance
of each cell, and on large grids the cells of each object type, blocking cells and path lengths.

`Layout.batch_dtype` describes the fields. The functions here are methods of worlds; those whose
names begin with `write` are the writers of arrays, see `RecordType.writers`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from components.core import FLOOR
from gv_engine.compiler.field_values import differ_from
from gv_engine.compiler.language.intrinsics import prefetch, set_bits, without_writer
from gv_engine.compiler.vectors import find_typed_cells
from gv_engine.rules.component import AGENT, NOTHING, column_name
from gv_engine.rules.errors import ColumnError, OutOfBoundsError, RuleError
from gv_engine.rules.geometry import count_bits
from gv_engine.scenario.memory.layout import Layout
from gv_engine.world.columns import describe_absence, describe_presence_write

WorldRow = Any
"""Record of one world in a compiled batch; the fields are those of `Layout.batch_dtype`."""
OPAQUE = 1 << 31
"""Bit of an appearance: the cell blocks vision."""
ALL_TYPES = (1 << 32) - 1
"""Value of `w.changed_types` while it is not known."""
_ONE = np.uint64(1)
_GROUND_MESSAGE = "w.ground: there are no object types that live on the ground"

# ---- appearances ---------------------------------------------------------------------------------


def look_of(w: WorldRow, e: int) -> Any:
    """Return the appearance of entity `e` as one integer: type in bits 0 to 7, state in bits 8 to
    15, colour in bits 16 to 23, and `OPAQUE` (bit 31) if the entity blocks vision. NOTHING looks
    like Floor."""
    if e == NOTHING:
        return FLOOR
    seen = w.kind.value[e] & 255 | (w.state_of(e) & 255) << 8 | (w.color.value[e] & 255) << 16
    return seen | (w.blocks_vision(e) != 0) << 31


def look_beneath(w: WorldRow, y: int, x: int) -> Any:
    """Return the appearance (an integer, see `look_of`) of the ground in cell (y, x), whatever
    stands on it."""
    if "beneath" in w.layout.look_arrays:
        return w.beneath[y, x]
    return w.look_of(w.ground[y, x])


def update_look(w: WorldRow, e: int) -> None:
    """Update the appearance of the cell that shows entity `e`. Called after a component of the
    entity has changed."""
    y, x = w.position.y[e], w.position.x[e]
    is_inside = w.inside(y, x)
    if w.between and is_inside and is_on_middle_layer(w, e, y, x):
        w.at[y, x] = w.at[y, x]
        return
    if is_inside and w.at[y, x] == e:
        w.at[y, x] = e
    elif "ground" in w.layout.layers and is_inside and w.ground[y, x] == e != NOTHING:
        w.ground[y, x] = e
    elif e != NOTHING and e != AGENT:  # held, or with no valid position
        w.update_looks_of(e)


def is_on_middle_layer(w: WorldRow, e: int, y: int, x: int) -> bool:
    """Return True if entity `e` is in cell (y, x) on a layer between; False for NOTHING."""
    for cells in w.between:
        if cells[y, x] == e != NOTHING:
            return True
    return False


def update_looks_of(w: WorldRow, e: int) -> None:
    """Update the appearance of every cell that contains entity `e`. An entity of terrain, such as
    Wall, is in many cells."""
    for y in range(w.height):
        for x in range(w.width):
            if w.at[y, x] == e:
                w.at[y, x] = e
            if w.between and is_on_middle_layer(w, e, y, x):
                w.at[y, x] = w.at[y, x]
            if "ground" in w.layout.layers and w.ground[y, x] == e:
                w.ground[y, x] = e


def update_looks(w: WorldRow) -> None:
    """Recompute all fields of a world that are derived from others, such as the appearance of each
    cell. Called when a row was written from outside, for example by `restore`."""
    w.changed_types = ALL_TYPES
    if w.layout.is_large:
        w.clear_listed_cells(False)
        w.highest = w.layout.capacity - 1
    for y in range(w.layout.height + 1):
        for x in range(w.layout.width + 1):
            if "ground" in w.layout.layers:
                w.ground[y, x] = w.ground[y, x]
            if not w.layout.is_large or w.between or w.at[y, x] != NOTHING:
                w.at[y, x] = w.at[y, x]


# ---- writers -------------------------------------------------------------------------------------


def require_entity(w: WorldRow, e: int) -> None:
    """Fail unless a number is that of an entity."""
    if not 0 <= e < w.layout.capacity:
        raise OutOfBoundsError(e, OutOfBoundsError.ENTITY, w.layout.capacity)


def write_at(w: WorldRow, cell: int, e: int) -> None:
    """Put entity `e` into the cell with index `cell` (y * stride + x), on the layer above the
    ground, and update the fields derived from it."""
    if w.is_checked:
        require_entity(w, e)
    at, looks = without_writer(w.at).ravel(), w.looks.ravel()
    if w.layout.is_large and at[cell] != NOTHING:
        w.unlist(cell, looks[cell] & 255)
    at[cell] = e
    if "ground" in w.layout.layers:
        update_look_of_layers(w, cell)
        return
    look = w.look_of(e)
    looks[cell] = look
    if w.layout.is_large:
        if e != NOTHING:
            w.enlist(cell, look & 255)
        w.block(cell, w.blocks_movement(e))


def write_ground(w: WorldRow, cell: int, e: int) -> None:
    """Put entity `e` into the cell with index `cell` (y * stride + x), on the ground layer, and
    update the fields derived from it."""
    if w.is_checked:
        require_entity(w, e)
    ground = without_writer(w.ground).ravel()
    is_kept = "beneath" in w.layout.look_arrays
    if w.layout.is_large and ground[cell] != NOTHING:
        w.unlist(cell, (w.beneath.ravel()[cell] if is_kept else w.look_of(ground[cell])) & 255)
    ground[cell] = e
    if is_kept:
        w.beneath.ravel()[cell] = w.look_of(e)
    update_look_of_layers(w, cell)


def make_middle_layer_writer(column: str) -> Callable[[Any, int, Any], None]:
    """Return a function `(w, cell, e)` that puts entity `e` into the cell with index `cell`, on the
    layer between the ground and the top that `column` stores, and updates the derived fields."""

    def write(w: WorldRow, cell: int, e: int) -> None:
        if w.is_checked:
            require_entity(w, e)
        cells = without_writer(w[column]).ravel()
        if w.layout.is_large and cells[cell] != NOTHING:
            # the new object lists the cell under its own type
            w.unlist(cell, w.kind.value[cells[cell]] & 255)
        cells[cell] = e
        update_cell_from_layers(w, cell)

    return write


def update_cell_from_layers(w: WorldRow, cell: int) -> None:
    """Update what follows from all objects in the cell with index `cell`: its appearance, which is
    that of the topmost object and opaque if any object is, and in large worlds the lists of cells
    by type, and whether the cell is blocked."""
    look, is_blocked = FLOOR, False
    for name in reversed(w.layout.layers):
        e = without_writer(w[name]).ravel()[cell]
        if e != NOTHING:
            look = w.look_of(e) | look & OPAQUE
            is_blocked |= w.blocks_movement(e) != 0
            if w.layout.is_large:
                w.enlist(cell, look & 255)
    w.looks.ravel()[cell] = look
    if w.layout.is_large:
        w.block(cell, is_blocked)


def update_look_of_layers(w: WorldRow, cell: int) -> None:
    """Update the appearance of the cell with index `cell`, in worlds with a ground layer: the
    object above is shown, or else the one on the ground."""
    if w.layout.between:
        update_cell_from_layers(w, cell)
        return
    above, below = without_writer(w.at).ravel()[cell], without_writer(w.ground).ravel()[cell]
    is_kept = "beneath" in w.layout.look_arrays
    beneath = w.beneath.ravel()[cell] if is_kept else w.look_of(below)
    # the upper object shows, else the ground; the cell is opaque if either is
    look = w.look_of(above) | beneath & OPAQUE if above != NOTHING else beneath
    w.looks.ravel()[cell] = look
    if w.layout.is_large:
        if below != NOTHING:
            w.enlist(cell, beneath & 255)
        if above != NOTHING:
            w.enlist(cell, look & 255)
        w.block(cell, w.blocks_movement(below) | w.blocks_movement(above))


def refuse_ground(w: WorldRow, cell: int, e: int) -> None:
    """Fail: a rule writes the ground where there is none."""
    raise RuleError(_GROUND_MESSAGE)


def make_column_writer(
    layout: Layout, cls: type, field: str, is_checked: bool
) -> Callable[[Any, int, Any], None] | None:
    """Return a function `(w, flat_index, value)` that writes one field of a component. It updates
    the entity's appearance if that depends on the field. If `is_checked`, it fails for an entity
    without the component. Return None if a plain store suffices."""
    name, missing_message = column_name(cls), describe_absence(cls, field)
    affects_look, is_kind = (name, field) in layout.look_fields, (name, field) == ("kind", "value")
    holds_entity = (name, field) in layout.entity_fields
    if not (affects_look or is_checked):
        return None

    def write_column(w: WorldRow, flat_index: int, value: Any) -> None:
        values = without_writer(w[name][field])
        e = flat_index if len(values.shape) == 1 else flat_index // values.shape[1]
        if is_checked:
            if holds_entity:
                require_entity(w, value)
            if not w[name].has[e]:
                raise ColumnError(missing_message)
        values.ravel()[flat_index] = value
        if affects_look:
            if is_kind:
                w.add_changed_type(value)
            w.update_look(e)

    return write_column


def make_presence_writer(cls: type) -> Callable[[Any, int, Any], None]:
    """Return a function that fails with an error message. It is called when a rule writes a flag
    `has` of a component, such as `w.door.has[e]`; rules use `w.add` and `w.take` instead."""
    text = describe_presence_write(cls)

    def write(w: WorldRow, e: int, value: Any) -> None:
        raise ColumnError(text)

    return write


# ---- lists of cells by object type ---------------------------------------------------------------


def add_changed_type(w: WorldRow, kind: int) -> None:
    """Note that objects of a type may have other components than their type gives them."""
    w.changed_types |= 1 << (kind & 31)


def enlist(w: WorldRow, cell: int, kind: int) -> None:
    """Add a cell to the list of cells that show an object of a type."""
    k, i = kind % w.listed.shape[0], cell >> 6
    w.listed[k, i] |= _ONE << np.uint64(cell & 63)
    w.filled[k, i >> 6] |= _ONE << np.uint64(i & 63)


def unlist(w: WorldRow, cell: int, type_index: int) -> None:
    """Remove the cell with index `cell` from `w.listed`, the bitmap of the cells that show an
    object of type `type_index`."""
    k, i = type_index % w.listed.shape[0], cell >> 6
    w.listed[k, i] &= ~(_ONE << np.uint64(cell & 63))
    if w.listed[k, i] == np.uint64(0):
        w.filled[k, i >> 6] &= ~(_ONE << np.uint64(i & 63))


def block(w: WorldRow, cell: int, is_blocked: Any) -> None:
    """Store whether the cell with index `cell` blocks movement. If this changes, forget the path
    lengths that `steps_from` keeps."""
    bit = _ONE << np.uint64(cell & 63)
    if ((w.blocked[cell >> 6] & bit) != np.uint64(0)) != (is_blocked != 0):
        w.blocked[cell >> 6] ^= bit
        w.ways_from = np.uint64(0)


def clear_listed_cells(w: WorldRow, lifts_entities: bool) -> None:
    """Clear `w.listed`, the bitmaps of the cells with an object, and show each of these cells as
    floor. If `lifts_entities`, also remove the entities from the cells."""
    at, looks = without_writer(w.at).ravel(), w.looks.ravel()
    has_ground, is_kept = "ground" in w.layout.layers, "beneath" in w.layout.look_arrays
    for k in range(w.filled.shape[0]):
        for j in range(w.filled.shape[1]):
            for i in set_bits(w.filled[k, j], 64 * j):
                for cell in set_bits(w.listed[k, i], 64 * i):
                    looks[cell] = FLOOR
                    if lifts_entities:
                        at[cell] = NOTHING
                    if is_kept:
                        w.beneath.ravel()[cell] = FLOOR
                    if has_ground and lifts_entities:
                        without_writer(w.ground).ravel()[cell] = NOTHING
                    if w.between and lifts_entities:
                        clear_middle_layers(w, cell)
                w.listed[k, i] = np.uint64(0)
            w.filled[k, j] = np.uint64(0)
    for i in range(len(w.blocked)):
        w.blocked[i] = np.uint64(0)
    w.ways_from = np.uint64(0)


def clear_middle_layers(w: WorldRow, cell: int) -> None:
    """Remove the entities on the layers between from the cell with index `cell`."""
    for cells in w.between:
        without_writer(cells).ravel()[cell] = NOTHING


def find_changed_types(w: WorldRow) -> None:
    """Compute `w.changed_types`, a bit mask of object types. The bit of a type is 1 if a rule has
    added a component to an object of the type, or removed one from it."""
    w.changed_types = 0
    for e in range(AGENT + 1, w.layout.capacity):
        kind = w.kind.value[e]
        if w.alive[e] and has_changed(
            w, e, kind if 0 <= kind < w.tables.empty_prefab else w.tables.empty_prefab
        ):
            w.changed_types |= 1 << (kind & 31)


def has_changed(w: WorldRow, e: int, prefab: int) -> bool:
    """Return True if entity `e` has other components than the prefab with index `prefab` (the
    components of a new object of one type)."""
    changed = False
    for values in w.tables.presence:
        # behind the end of a column entities have no such component, nor has NOTHING
        changed = changed | differ_from(w, e if e < values.length else NOTHING, prefab, values)
    return changed


# ---- searches ------------------------------------------------------------------------------------


def having(w: WorldRow, columns: Any) -> Any:
    """Compiled version of `ObjectWorld.having`: return an (n,) array of the objects on the grid
    that have a component, such as Door for `columns` = `w.door`. They are in row order, in a cell
    first the one on the ground."""
    if len(w.layout.layers) > 1 and not w.layout.is_large:
        return find_in_all_cells(w, columns)
    if w.changed_types == ALL_TYPES:
        w.find_changed_types()
    types = w.tables.types_having[columns.column] | w.changed_types
    found = np.empty(count_candidates(w, types), np.int64)
    count = 0
    if w.layout.is_large:
        for j in range(w.filled.shape[1]):
            for i in set_bits(merge_bits(w.filled, types, j), 64 * j):
                count = collect_having(w, columns, i, merge_bits(w.listed, types, i), found, count)
    else:
        for i in range(w.tables.num_words):
            count = collect_having(w, columns, i, find_typed_cells(w, i, types), found, count)
    return found[:count]


def find_in_all_cells(w: WorldRow, columns: Any) -> Any:
    """Return an (n,) array of the objects on the grid with a component, given by its `columns`. All
    cells are searched; `having` uses this for worlds with a ground layer, where an object can hide
    another one."""
    found = np.empty(len(w.layout.layers) * w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            count = collect_in_cell(w, columns, y, x, found, count)
    return found[:count]


def collect_in_cell(w: WorldRow, columns: Any, y: int, x: int, found: Any, count: int) -> Any:
    """Write the objects of cell (y, x) that have a component, given by its `columns`, into the
    array `found` from index `count` on. Return the new count."""
    below, above = w.ground[y, x], w.at[y, x]
    if below != NOTHING and columns.has[below]:
        found[count] = below
        count += 1
    for cells in reversed(w.between):
        e = cells[y, x]
        if e != NOTHING and columns.has[e]:
            found[count] = e
            count += 1
    if columns.has[above]:
        found[count] = above
        count += 1
    return count


def count_candidates(w: WorldRow, type_mask: int) -> Any:
    """Return an upper bound for the number of objects that `having` finds, to allocate its result.
    `type_mask` is a bit mask of the object types that can have the component."""
    cells = len(w.layout.layers) * (w.layout.height + 1) * (w.layout.width + 1)
    if not w.layout.is_large:
        return cells
    count = 0
    for j in range(w.filled.shape[1]):
        for i in set_bits(merge_bits(w.filled, type_mask, j), 64 * j):
            bits = merge_bits(w.listed, type_mask, i)
            count += count_bits(bits)
            for cell in set_bits(bits, 64 * i):
                prefetch(w.at.ravel(), cell)
                prefetch(w.looks.ravel(), cell)
    return min(len(w.layout.layers) * count, cells)


def collect_having(
    w: WorldRow, columns: Any, word_index: int, bits: Any, found: Any, count: int
) -> Any:
    """Write the objects with a component, given by its `columns`, into the array `found` from index
    `count` on. Search the cells 64 * `word_index` + k for each bit k that is set in `bits`. Return
    the new count."""
    stride = w.at.shape[1]
    for cell in set_bits(bits, 64 * word_index):
        y, x = cell // stride, cell % stride
        if y < w.height and x < w.width:
            count = collect_in_cell(w, columns, y, x, found, count)
    return count


def of_type(w: WorldRow, kind: int) -> Any:
    """Compiled version of `ObjectWorld.of_type`: return an (n,) array of the objects on the grid of
    type `kind`, in row order."""
    found = np.empty(w.placed[kind], np.int64)
    count = 0
    if w.layout.is_large:
        for j in range(w.filled.shape[1]):
            for i in set_bits(w.filled[kind, j], 64 * j):
                count = collect_typed(w, kind, i, w.listed[kind, i], found, count)
        return found[:count]
    for i in range(w.tables.num_words):
        if count < len(found):
            every = ~np.uint64(0)
            is_shown = len(w.layout.layers) == 1
            bits = find_typed_cells(w, i, 1 << (kind & 31)) if is_shown else every
            count = collect_typed(w, kind, i, bits, found, count)
    return found[:count]


def collect_typed(
    w: WorldRow, type_index: int, word_index: int, bits: Any, found: Any, count: int
) -> Any:
    """Write the objects of type `type_index` into the array `found` from index `count` on. Search
    the cells 64 * `word_index` + k for each bit k that is set in `bits`. Return the new count."""
    stride = w.at.shape[1]
    for cell in set_bits(bits, 64 * word_index):
        if count == len(found):
            break
        y, x = cell // stride, cell % stride
        if y < w.height and x < w.width:
            e = w.on_layer_of(type_index, y, x)
            if e != NOTHING and w.kind.value[e] == type_index:
                found[count] = e
                count += 1
    return count


def merge_bits(bitmaps: Any, type_mask: int, word_index: int) -> Any:
    """Return 64 bits, one for each cell from number 64 * `word_index` on: 1 if the cell shows an
    object of a wanted type. `bitmaps` has one bitmap of cells per type. Bit k of `type_mask`
    selects the types k, k + 32 and so on."""
    bits = np.uint64(0)
    for k in range(bitmaps.shape[0]):
        if type_mask >> (k & 31) & 1:
            bits |= bitmaps[k, word_index]
    return bits


def steps_from(w: WorldRow, y: int, x: int) -> Any:
    """Return an array with the length of the shortest path from cell (y, x) to every cell, negative
    where there is none. On large grids the last result is reused until a cell changes."""
    if w.layout.is_large:
        key = np.uint64(((y << 15 | x) << 15 | w.height) << 15 | w.width)
        if w.ways_from != key:
            w.write_distances(y, x, w.ways)
            w.ways_from = key
        if not w.is_checked:
            return w.ways
        kept = np.empty((w.height, w.width), np.int64)  # a rule may call again, or change it
        for i in range(w.height):
            kept[i] = w.ways[i, : w.width]
        return kept
    steps = np.empty((w.height, w.width), np.int64)
    w.write_distances(y, x, steps)
    return steps


CELL_METHODS: dict[str, Callable[..., Any]] = {
    method.__name__: method
    for method in (
        *(look_of, look_beneath, update_look, update_looks_of, update_looks, enlist, unlist),
        *(block, clear_listed_cells, add_changed_type, find_changed_types),
        *(having, of_type, steps_from),
    )
}
"""Methods of worlds by name."""
