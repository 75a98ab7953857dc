"""Methods of compiled worlds that spawn, remove and clear entities, and that change states and
components."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np
from numba.core.errors import TypingError
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.compiler.exceptions import CAPACITY_CODE, TO_NOTHING_CODE, UNKNOWN_TYPE_CODE
from gv_engine.compiler.intrinsics import (
    LANES,
    make_column_reset,
    make_entity_range_write,
    make_entity_write,
    make_row_fill,
)
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    prefab_tables,
    register_function,
    register_method,
)
from gv_engine.compiler.numba_pipeline import extending, register_jitable, types
from gv_engine.compiler.records import EngineRecord
from gv_engine.rules.component import NOTHING, column_name, fields_of
from gv_engine.scenario.layout import Layout
from gv_engine.world.world import NOT_OF_OBJECTS, TERRAIN_IS_SHARED

# ---- spawning and removing -----------------------------------------------------------------------


@register_method("spawn")
def _build_spawn(w: Any, kind: Any) -> Any:
    """Return the implementation of `w.spawn(kind)`, which creates an object of type `kind` and
    returns its entity; NOTHING, with `w.error` set, if the type is unknown or no entity is free."""
    layout = LAYOUTS[w]
    write = make_entity_write(_list_spawn_tables(layout))
    has_prefab = np.array([bool(parts) for parts in layout.prefabs])
    is_large, has_terrain = layout.is_large, bool(layout.terrain)

    def impl(w: Any, kind: Any) -> Any:
        """Take the lowest free entity and write the components of type `kind`; return the shared
        entity of terrain."""
        if has_terrain and w.terrain_of(kind) > NOTHING:
            return w.terrain_of(kind)
        if not (0 <= kind < len(has_prefab) and has_prefab[kind]):
            if w.error == 0:
                w.error = UNKNOWN_TYPE_CODE
            return NOTHING
        e = w.free
        while e < w.capacity and w.alive[e] != 0:
            e += 1
        if e >= w.capacity:
            if w.error == 0:
                w.error = CAPACITY_CODE
            return NOTHING
        w.alive[e] = 1
        w.free = e + 1
        if is_large:
            w.highest = max(w.highest, e)
        write(w, e, kind)
        return e

    return impl


@cache
def _list_spawn_tables(layout: Layout) -> list[tuple[str, str, NDArray[Any]]]:
    """Return the component fields that spawning must write, as (column, field, values by type): the
    fields in which an object type differs from an entity without components."""
    kinds = slice(layout.type_table_length)
    return [
        (column, field, table)
        for column, field, table in prefab_tables(layout)
        if (table[kinds] != table[layout.type_table_length]).any()
    ]


@register_method("enclose")
def _build_enclose(w: Any, kind: Any) -> Any:
    """Return the implementation of `w.enclose(kind)`, which puts new objects of type `kind` into
    all edge cells of the grid."""
    layout = LAYOUTS[w]
    spread = make_entity_range_write(_list_spawn_tables(layout))
    above = zip(layout.prefabs, layout.is_ground_type, strict=True)
    has_prefab = np.array([bool(parts) and not on_ground for parts, on_ground in above])
    is_large = layout.is_large

    @register_jitable
    def put(w: Any, e: Any, y: Any, x: Any, look: Any, blocks: Any) -> Any:
        """Put entity `e` into cell (y, x) with appearance `look`, and store in the movement map
        whether it `blocks`; return the next entity, `e + 1`."""
        cell = y * w.at.shape[1] + x
        w.in_line()[cell] = e
        w.alive[e] = 1
        w.position.y[e] = y
        w.position.x[e] = x
        w.looks[y, x] = look
        if is_large:
            w.enlist(cell, w.kind.value[e])
            w.block(cell, blocks)
        return e + 1

    def impl(w: Any, kind: Any) -> None:
        """Fill all edge cells at once if the grid is empty and there are enough free entities, else
        spawn one by one."""
        height, width, e = w.height, w.width, w.free
        count = 2 * (height + width) - 4
        free = height > 1 and width > 1 and 0 <= kind < len(has_prefab)
        free = free and LANES <= count <= w.capacity - e
        if free:
            taken = 0
            for other in w.in_line():
                taken |= other
            for other in range(e, e + count):
                taken |= w.alive[other]
            free = has_prefab[kind] and taken == 0
        if not free:
            w.enclose_one_by_one(kind)
            return
        # a vector store takes no longer than a store of one byte
        spread(w, e, count, kind)
        look, blocks = w.look_of(e), w.blocks_movement(e)
        for x in range(width):
            e = put(w, e, 0, x, look, blocks)
        for y in range(1, height - 1):
            e = put(w, e, y, 0, look, blocks)
            e = put(w, e, y, width - 1, look, blocks)
        for x in range(width):
            e = put(w, e, height - 1, x, look, blocks)
        w.free = e
        w.placed[kind] += count
        w.recent[kind] = e - 1
        if is_large:
            w.highest = max(w.highest, e - 1)

    return impl


@register_function("remove")
def _remove(w: Any, e: Any) -> None:
    """Implement `w.remove(e)`: take entity `e` off the grid and make its index free for new
    objects."""
    if w.is_terrain(e):
        w.fail(TERRAIN_IS_SHARED)
    elif e != NOTHING:
        w.lift(e)
        w.become_nothing(e)
        if e < w.free:
            w.free = e


@register_method("terrain_of")
def _build_terrain_of(w: Any, kind: Any) -> Any:
    """Return the implementation of `w.terrain_of(kind)`, which returns the entity that all cells
    with terrain of a type share; NOTHING for FLOOR, -1 for types that are no terrain."""
    return _make_type_lookup(LAYOUTS[w].terrain_entities, -1)


@register_method("is_terrain")
def _build_is_terrain(w: Any, e: Any) -> Any:
    """Return the implementation of `w.is_terrain(e)`, which returns True for an entity that all
    cells with terrain of its type share."""
    behind = LAYOUTS[w].first_object
    first = behind - len(LAYOUTS[w].terrain)
    return lambda w, e: first <= e < behind


@register_method("become_nothing")
def _build_become_nothing(w: Any, e: Any) -> Any:
    """Return the implementation of `w.become_nothing(e)`, which removes all components of entity
    `e` and frees its index, but leaves the grid unchanged."""
    layout = LAYOUTS[w]
    write, empty = _make_prefab_write(layout), layout.type_table_length

    def impl(w: Any, e: Any) -> None:
        """Write the empty prefab and free the index."""
        write(w, e, empty)
        w.alive[e] = 0

    return impl


@register_method("wipe")
def _build_wipe(w: Any) -> Any:
    """Return the implementation of `w.wipe()`, which removes all objects from the world, whatever
    is in its row. Fields such as size, steps and generator stay."""
    layout = LAYOUTS[w]
    empty = np.zeros((), layout.looks_dtype)
    for name in layout.dtype.names:  # type: ignore[union-attr]  # a record
        empty[name] = layout.defaults()[name]
    for name in layout.look_arrays:
        empty[name] = FLOOR
    start = layout.dtype.fields["at"][1]  # type: ignore[index]  # a record
    fill = make_row_fill(start, empty.tobytes()[start:])
    return lambda w: fill(w)


@register_method("become_empty")
def _build_become_empty(w: Any) -> Any:
    """Return the implementation of `w.become_empty()`, which removes all objects from the world.
    Fields such as size, steps and generator stay."""
    layout = LAYOUTS[w]
    if not layout.is_large:
        return lambda w: w.wipe()
    empty_prefab = layout.type_table_length
    tables = prefab_tables(layout)
    clear = make_column_reset([(*names, table[empty_prefab]) for *names, table in tables])
    has_drawn = layout.drawn > 0

    def impl(w: Any) -> None:
        """Remove all objects of a large world; only memory that was used is written."""
        clear(w, w.highest)
        if has_drawn:
            w.drawn.fill(0)
        for e in range(1, w.highest + 1):
            w.alive[e] = 0
        w.forget_cells(True)
        w.changed_types = w.highest = 0
        for kind in range(len(w.placed)):
            w.placed[kind] = 0
            w.recent[kind] = NOTHING

    return impl


@register_method("clear")
def _build_clear(w: Any) -> Any:
    """Return the implementation of `w.clear()`, which removes all objects from the world. The
    agents, off the grid, and the entity with the world's components get their initial
    components."""
    agents, first_object = LAYOUTS[w].agents, LAYOUTS[w].first_object
    is_multi_agent, keeps_lists = agents > 1, LAYOUTS[w].is_large
    write, before = _make_prefab_write(LAYOUTS[w]), LAYOUTS[w].type_table_length

    def impl(w: Any) -> None:
        """Remove all objects and give the first entities their initial components."""
        w.capacity = len(w.alive)
        if (is_multi_agent or keeps_lists) and w.damaged != 0:
            w.wipe()
        else:
            if is_multi_agent:
                for agent in range(1, agents + 1):
                    w.stand(agent, -1, -1)
            w.become_empty()
        for e in range(1, first_object):
            w.alive[e] = 1
            write(w, e, before + e)
        w.free = first_object

    return impl


@cache
def _make_prefab_write(layout: Layout) -> Callable[[Any, int, int], None]:
    """Return an intrinsic `(world, entity, number)` that writes all columns of an entity from a
    prefab."""
    return make_entity_write(prefab_tables(layout))


# ---- states and components -----------------------------------------------------------------------


@register_method("add", prefer_literal=True)
def _build_add(w: Any, e: Any, column: Any) -> Any:
    """Return the implementation of `w.add(e, column)`, which adds the component `column` with
    default values to entity `e`."""
    return _make_component_setter(w, column, True)


@register_method("take", prefer_literal=True)
def _build_take(w: Any, e: Any, column: Any) -> Any:
    """Return the implementation of `w.take(e, column)`, which removes the component `column` from
    entity `e`."""
    return _make_component_setter(w, column, False)


def _make_component_setter(
    w: EngineRecord, column: Any, has: bool
) -> Callable[[Any, Any, Any], None]:
    """Return an implementation `(world, entity, column)` that adds the component `column` with
    default values if `has` is True, else removes it."""
    if not isinstance(column, types.StringLiteral):
        raise TypingError("w.add and w.take take a column's name as a string literal")
    name = column.literal_value
    classes = [cls for cls in LAYOUTS[w].components if column_name(cls) == name]
    if not classes:
        raise TypingError(f"there are no columns {name!r}")
    columns = [(name, "has", np.array([has]))]
    columns += [(name, field.name, np.array([field.default])) for field in fields_of(classes[0])]
    write = make_entity_write(columns)
    length = LAYOUTS[w].column_lengths[classes[0]]

    def impl(w: Any, e: Any, column: Any) -> None:
        """Add or remove the component and update the entity's appearance; set `w.error` if `e` is
        NOTHING or cannot have the component."""
        if e == NOTHING:
            if w.error == 0:
                w.error = TO_NOTHING_CODE
            return
        if has and length <= e < len(w.alive):
            w.fail(NOT_OF_OBJECTS)
            return
        write(w, e, 0)
        if has:
            w.add_changed_type(w.kind.value[e])
        w.look_again(e)

    return impl


@register_method("state_of")
def _build_state_of(w: Any, e: Any) -> Any:
    """Return the implementation of `w.state_of(e)`, which returns the state number of entity `e`; 0
    for types with one state."""
    if not LAYOUTS[w].states:
        return lambda w, e: 0
    # an absent component reads 0, so the sum is the state of the component that the object has
    return reduce(_make_sum, (_make_state_reader(*names) for names in LAYOUTS[w].states))


def _make_state_reader(column: str, field: str) -> Any:
    """Return a function `(world, entity)` that reads a state column; 0 for entities without the
    component."""
    return lambda w, e: 0 + w[column][field][e]


def _make_sum(first: Any, second: Any) -> Any:
    """Return a function `(world, entity)` that adds the results of two functions."""
    first, second = map(extending.register_jitable, (first, second))
    return lambda w, e: first(w, e) + second(w, e)


@register_method("num_states")
def _build_num_states(w: Any, kind: Any) -> Any:
    """Return the implementation of `w.num_states(kind)`, which returns the number of states of a
    type."""
    return _make_type_lookup(LAYOUTS[w].num_states, 1)


@register_method("left_by")
def _build_left_by(w: Any, kind: Any) -> Any:
    """Return the implementation of `w.left_by(kind)`, which returns the type of the object that an
    object of type `kind` leaves behind when it is used up; -1 for none."""
    return _make_type_lookup(LAYOUTS[w].successor_types, -1)


def _make_type_lookup(values: tuple[int | bool, ...], default: int | bool) -> Any:
    """Return a function `(world, kind)` that returns `values[kind]`, or `default` if `kind` is not
    a type."""
    table = np.array(values)
    return lambda w, kind: table[kind] if 0 <= kind < len(table) else default


@register_method("on_ground")
def _build_on_ground(w: Any, kind: Any) -> Any:
    """Return the implementation of `w.on_ground(kind)`, which returns True if objects of type
    `kind` lie on the ground layer."""
    if any(LAYOUTS[w].is_ground_type):
        return _make_type_lookup(LAYOUTS[w].is_ground_type, False)
    return lambda w, kind: False  # a constant, so that LLVM removes the rules' branches


@register_method("set_state")
def _build_set_state(w: Any, e: Any, state: Any) -> Any:
    """Return the implementation of `w.set_state(e, state)`, which writes the state of entity `e`
    and adds or removes the components that the state defines."""

    def first(w: Any, e: Any, state: Any) -> None:
        """Do nothing: the start of the chain of writes."""

    write = extending.register_jitable(first)
    for column, field in LAYOUTS[w].states:
        write = _append_state_write(write, column, field)
    for cls in LAYOUTS[w].state_component_classes:
        write = _append_component_change(write, LAYOUTS[w], cls)
    return lambda w, e, state: write(w, e, state)


def _append_state_write(before: Any, column: str, field: str) -> Any:
    """Return a function `(world, entity, state)` that first calls `before` with the same arguments,
    and then writes the state number into the field `field` of the component `column`, if
    the entity has that component."""

    def set_state(w: Any, e: Any, state: Any) -> None:
        """Call `before`, then write `state` into the column if entity `e` has the component."""
        before(w, e, state)
        if w[column]["has"][e]:
            w[column][field][e] = state

    return extending.register_jitable(set_state)


def _append_component_change(before: Any, layout: Layout, cls: type) -> Any:
    """Return a function `(world, entity, state)` that first calls the function `before`, with the
    same arguments. Then it adds the component `cls` to the entity if its type has the component in
    the new state `state`, else removes it.

    The object type defines which of its states have the component, and with which values.
    """
    most = max(len(kind.state_components) for kind in layout.types)
    # -1: the state does not affect the component
    numbers = np.full((layout.type_table_length, most), -1)
    values_by_number: list[tuple[float, ...] | None] = [None]
    for kind in layout.types:
        for state in range(len(kind.state_components)):
            changes = kind.component_changes(state)
            if cls in changes:
                has_component = changes[cls] is not None
                numbers[kind.index, state] = len(values_by_number) if has_component else 0
                values_by_number.append(changes[cls])
    name, fields = column_name(cls), fields_of(cls)
    empty = tuple(field.default for field in fields)
    columns = [(name, "has", np.array([values is not None for values in values_by_number]))]
    for position, field in enumerate(fields):
        values = [(numbers or empty)[position] for numbers in values_by_number]
        columns.append((name, field.name, np.array(values)))
    write = make_entity_write(columns)

    def set_state(w: Any, e: Any, state: Any) -> None:
        """Call `before`, then add or remove the component if the new state requires it."""
        before(w, e, state)
        kind = w.kind.value[e]
        if 0 <= kind < len(numbers) and 0 <= state < most:
            number = numbers[kind, state]
            if number >= 0 and (number > 0) != (w[name]["has"][e] != 0):
                write(w, e, number)
                w.look_again(e)

    return extending.register_jitable(set_state)
