"""Rows (records) of worlds in compiled code: their record types, and the world methods that rules
call.

A method is a plain function. What its layout determines is known while it compiles, so that an
`if` on it costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.compiler import rng
from gv_engine.compiler.cells import (
    CELL_METHODS,
    WorldRow,
    make_column_writer,
    make_middle_layer_writer,
    make_presence_writer,
    write_at,
    write_ground,
)
from gv_engine.compiler.field_values import (
    FieldValues,
    Table,
    copy_values,
    fill_values,
    group_fields,
)
from gv_engine.compiler.language import arithmetic, calls, expressions
from gv_engine.compiler.language.body import LIBRARY, Body
from gv_engine.compiler.language.intrinsics import copy_constant, zero_bytes
from gv_engine.compiler.language.values import FieldNames, Kind, RecordType, Scalar
from gv_engine.rules.component import AGENT, NOTHING, column_name, fields_of
from gv_engine.rules.errors import CapacityError, OutOfBoundsError
from gv_engine.rules.geometry import count_bits, flat_view
from gv_engine.rules.world import VERBS
from gv_engine.scenario.memory.layout import RNG, Layout
from gv_engine.world.world import (
    CAPACITY,
    NOT_OF_OBJECTS,
    TERRAIN_IS_SHARED,
    TO_NOTHING,
    UNKNOWN_TYPE,
)


class Tables:
    """Lookup tables computed from a layout, which the methods of compiled worlds read as
    `w.tables`.

    Attributes:
        empty_prefab: number of the empty prefab.
        prefabs: all component fields, with the value in each prefab.
        spawned: those in which some object type differs from the empty prefab.
        presence: the fields `has` among them.
        terrain: entities of terrain.
        start: offset in a row of what `clear` sets.
        turned: types whose states are directions, apart from agents.
        num_words: number of 64-bit words for a bit of each cell.

    Prefabs (sets of components with values) are numbered: those of the object types by type index,
    then an empty one, then those of the entities that every level begins with.
    """

    def __init__(self, layout: Layout) -> None:
        """Compute the tables that every world of `layout` needs."""
        self.layout = layout
        self.empty_prefab = layout.type_table_length
        self.has_prefab = np.array([bool(parts) for parts in layout.prefabs])
        self.terrain_entities = np.array(layout.terrain_entities)
        self.num_states = np.array(layout.num_states)
        self.state_columns = np.full(self.empty_prefab, -1)
        for object_type in layout.types:
            if object_type.state:
                column_index = [*layout.states].index(object_type.state)
                self.state_columns[object_type.index] = column_index
        self.successor_types = np.array(layout.successor_types)
        self.is_ground_type = np.array(layout.is_ground_type)
        self.between_numbers = np.array(layout.between_numbers)
        self.has_ground_types = any(layout.is_ground_type)
        self.terrain = range(layout.first_object - len(layout.terrain), layout.first_object)
        self.start = RecordType(layout.dtype).fields["at"][1]
        self.turned = tuple(index for index in layout.oriented if index not in layout.agent_types)
        self.num_words = -(-(layout.height + 1) * (layout.width + 1) // 64)

        prefabs = [dict(parts) for parts in (*layout.prefabs, (), *layout.initial_prefabs)]
        self._prefab_tables = [
            table
            for cls in layout.components
            for table in _list_fields(cls, [parts.get(cls) for parts in prefabs])
        ]
        spawned = []
        for column, field, values in self._prefab_tables:
            if (values[: self.empty_prefab] != values[self.empty_prefab]).any():
                spawned.append((column, field, values))
        self._row_type = RecordType(layout.batch_dtype)
        self.prefabs = group_fields(self._row_type, self._prefab_tables)
        self.spawned = group_fields(self._row_type, spawned)
        self.presence = group_fields(
            self._row_type, [table for table in self._prefab_tables if table[1] == "has"]
        )

    @cached_property
    def state_changes(self) -> tuple[tuple[str, NDArray[Any], tuple[FieldValues, ...]], ...]:
        """Which components an object gains and loses by its state, for each component that depends
        on it: (column, set numbers, values). The array of set numbers has for each (type, state)
        the line of its values in the tables `values`; 0 removes the component, -1 keeps it."""
        layout, changes = self.layout, []
        max_states = max((len(kind.state_components) for kind in layout.types), default=0)
        for cls in layout.state_component_classes:
            set_numbers = np.full((self.empty_prefab, max_states), -1)
            value_sets: list[tuple[float, ...] | None] = [None]
            for kind in layout.types:
                for state in range(len(kind.state_components)):
                    if cls in (parts := kind.component_changes(state)):
                        is_removed = parts[cls] is None
                        set_numbers[kind.index, state] = 0 if is_removed else len(value_sets)
                        value_sets.append(parts[cls])
            values = group_fields(self._row_type, _list_fields(cls, value_sets))
            changes.append((column_name(cls), set_numbers, values))
        return tuple(changes)

    @cached_property
    def types_having(self) -> Mapping[str, int]:
        """Bit mask of the object types that can have a component, by the component's column, such
        as "door". Bit k stands for the types k, k + 32 and so on, as in `cells.merge_bits`."""
        masks = dict.fromkeys(self.layout.names, 0)
        for kind in self.layout.types:
            for cls in (*dict(self.layout.prefabs[kind.index]), *kind.component_changes(0)):
                masks[column_name(cls)] |= 1 << (kind.index & 31)
        for cls, _ in self.layout.agent_prefabs[0]:
            masks[column_name(cls)] |= 1
        return masks

    @cached_property
    def cleared(self) -> NDArray[np.uint8] | None:
        """Bytes of an empty world's row from offset `start` on, which `clear` copies. None for
        large rows, where copying would take long."""
        layout = self.layout
        if layout.is_large:
            return None
        row = np.zeros((), layout.batch_dtype)
        for name in layout.dtype.names or ():
            row[name] = layout.defaults()[name]
        for name in layout.look_arrays:
            row[name] = FLOOR
        for e in range(1, layout.first_object):
            row["alive"][e] = 1
            for column, field, values in self._prefab_tables:
                if e < len(row[column][field]):
                    row[column][field][e] = values[self.empty_prefab + e]
        return row.reshape(1).view(np.uint8)[self.start :]

    @cached_property
    def components(self) -> Mapping[str, tuple[tuple[FieldValues, ...], int]]:
        """For each component, by column such as "door": a table with two lines, the values of a
        removed and of a new component; and the number of entities in the column."""
        return {
            column_name(cls): (
                group_fields(self._row_type, _list_fields(cls, [None, ()])),
                self.layout.column_lengths[cls],
            )
            for cls in self.layout.components
        }


def _list_fields(cls: type, value_sets: list[tuple[float, ...] | None]) -> list[Table]:
    """Return (column, field, values) for each field of component class `cls`, with one value for
    each of `value_sets`. A set has one number per field; () stands for the defaults, None for a
    missing component."""
    column = column_name(cls)
    has_component = np.array([values is not None for values in value_sets])
    tables: list[Table] = [(column, "has", has_component)]
    for k, field in enumerate(fields_of(cls)):
        values = [values[k] if values else field.default for values in value_sets]
        tables.append((column, field.name, np.array(values)))
    return tables


# ---- methods -------------------------------------------------------------------------------------


def fail(w: WorldRow, message: str) -> None:
    """Let the reset or step fail; replaced by code that leaves the rule."""


def _emit_fail(body: Body, w: WorldRow, message: Any) -> None:
    if not isinstance(message, str):
        body.refuse("w.fail takes a text that is known before the program runs")
    body.fail_if(True, f"RuleError: {message}")


LIBRARY[fail] = _emit_fail


def write_fields(w: WorldRow, e: int, line: int, groups: tuple[FieldValues, ...]) -> None:
    """Write line `line` of each table in `groups` into the fields of entity `e`. Columns can be
    shorter than the number of entities; entities after the end have the defaults."""
    for values in groups:
        if 0 <= e < values.length:
            copy_values(w, e, line, values)


def spawn(w: WorldRow, kind: int) -> Any:
    """Compiled version of `ObjectWorld.spawn`: create an object of type `kind`, not yet in
    any cell, and return its entity."""
    if len(w.tables.terrain) > 0 and w.terrain_of(kind) > NOTHING:
        return w.terrain_of(kind)
    if not 0 <= kind < len(w.tables.has_prefab) or not w.tables.has_prefab[kind]:
        w.fail(UNKNOWN_TYPE)
    e = w.free
    while e < w.capacity and w.alive[e] != 0:
        e += 1
    if e >= w.capacity:
        w.run_out()
    w.alive[e] = 1
    w.free = e + 1
    if w.layout.is_large:
        w.highest = max(w.highest, e)
    write_fields(w, e, kind, w.tables.spawned)
    return e


def run_out(w: WorldRow) -> None:
    raise CapacityError(CAPACITY)


def remove_entity(w: WorldRow, e: int) -> None:
    """Compiled version of `ObjectWorld.remove`: remove an entity with all its components."""
    if w.is_terrain(e):
        w.fail(TERRAIN_IS_SHARED)
    elif e != NOTHING:
        w.lift(e)
        check_entity(w, e)
        w.become_nothing(e)
        if e < w.free:
            w.free = e


def become_nothing(w: WorldRow, e: int) -> None:
    write_fields(w, e, w.tables.empty_prefab, w.tables.prefabs)
    w.alive[e] = 0


def terrain_of(w: WorldRow, kind: int) -> Any:
    table = w.tables.terrain_entities
    return table[kind] if 0 <= kind < len(table) else -1


def is_terrain(w: WorldRow, e: int) -> Any:
    return e in w.tables.terrain


def on_ground(w: WorldRow, kind: int) -> Any:
    if not w.tables.has_ground_types:
        return False
    return w.tables.is_ground_type[kind] if 0 <= kind < w.tables.empty_prefab else False


def between_number(w: WorldRow, kind: int) -> Any:
    if not w.layout.between:
        return -1
    return w.tables.between_numbers[kind] if 0 <= kind < w.tables.empty_prefab else -1


def num_states(w: WorldRow, kind: int) -> Any:
    return w.tables.num_states[kind]


def left_by(w: WorldRow, kind: int) -> Any:
    return w.tables.successor_types[kind]


def state_of(w: WorldRow, e: int) -> Any:
    """Compiled version of `ObjectWorld.state_of`: return the index of the object's state among the
    states of its type."""
    # an absent component reads 0, so the sum is the state of the component that the object has
    if w.is_checked:  # a rule may have added another one
        number = find_state_column(w, e)
        for k, (column, field) in enumerate(w.layout.states):
            if number == k:
                return w[column][field][e]
        return 0
    total = 0
    for column, field in w.layout.states:
        total += w[column][field][e]
    return total


def find_state_column(w: WorldRow, e: int) -> Any:
    """Return the index of the column with the state of an entity's type; -1 if there is none."""
    kind = w.kind.value[e]
    return w.tables.state_columns[kind] if 0 <= kind < w.tables.empty_prefab else -1


def set_state(w: WorldRow, e: int, state: int) -> None:
    """Compiled version of `ObjectWorld.set_state`: put object `e` into state number `state` of its
    type, and add and remove the components that depend on the state."""
    number = find_state_column(w, e)
    for k, (column, field) in enumerate(w.layout.states):
        if number == k:
            if not w[column].has[e]:
                w.fail("w.set_state: the object does not have the component of its state")
            w[column][field][e] = state
    kind = w.kind.value[e]
    for column, numbers, tables in w.tables.state_changes:
        if 0 <= kind < numbers.shape[0] and 0 <= state < numbers.shape[1]:
            number = numbers[kind, state]
            if number >= 0 and (number > 0) != w[column].has[e]:
                write_fields(w, e, number, tables)
                w.update_look(e)


def add(w: WorldRow, e: int, column: str) -> None:
    """Compiled version of `ObjectWorld.add`: give entity `e` a component with default values, named
    by its `column`, such as "door"."""
    tables, length = w.tables.components[column]
    check_entity(w, e)
    if e == NOTHING:
        w.fail(TO_NOTHING)
    if e >= length:
        w.fail(NOT_OF_OBJECTS)
    write_fields(w, e, 1, tables)
    w.add_changed_type(w.kind.value[e])
    w.update_look(e)


def take(w: WorldRow, e: int, column: str) -> None:
    """Compiled version of `ObjectWorld.take`: remove the component with this `column`, such as
    "door", from entity `e`."""
    tables, _ = w.tables.components[column]
    check_entity(w, e)
    if e == NOTHING:
        w.fail(TO_NOTHING)
    write_fields(w, e, 0, tables)
    w.update_look(e)


def check_entity(w: WorldRow, e: int) -> None:
    if w.is_checked and not 0 <= e < w.layout.capacity:
        raise OutOfBoundsError(e, 0, w.layout.capacity)


def clear(w: WorldRow) -> None:
    """Compiled version of `ObjectWorld.clear`: remove all objects and reset all values of the world
    before a new level."""
    w.capacity = w.layout.capacity
    w.free = w.layout.first_object
    w.height = 0
    w.width = 0
    if w.tables.cleared is not None:
        copy_constant(w, w.tables.start, w.tables.cleared)
        return
    if w.is_checked or w.damaged != 0:  # rules of authors may have written what lists do not have
        wipe(w)
    else:
        empty_lists(w)
    for e in range(1, w.layout.first_object):
        w.alive[e] = 1
        write_fields(w, e, w.tables.empty_prefab + e, w.tables.prefabs)


def wipe(w: WorldRow) -> None:
    """Remove all objects from a large world by overwriting its whole record. `empty_lists` is
    faster, but misses what authors' rules wrote directly."""
    zero_bytes(w, w.tables.start)
    for name in w.layout.look_arrays:
        w[name][:] = FLOOR
    fill_columns(w, w.layout.capacity, True)


def fill_columns(w: WorldRow, stop: int, is_zeroed: bool) -> None:
    """Give the entities before `stop` the defaults of all columns; those other than 0 if
    `is_zeroed`."""
    for values in w.tables.prefabs:
        fill_values(w, min(stop, values.length), w.tables.empty_prefab, values, is_zeroed)


def empty_lists(w: WorldRow) -> None:
    """Remove all objects from a large world by visiting only cells and entities in use, which is
    faster than overwriting the whole record."""
    if w.layout.agents > 1:
        for agent in range(1, w.layout.agents + 1):
            w.stand(agent, -1, -1)
    fill_columns(w, w.highest + 1, False)
    if w.layout.drawn > 0:
        w.drawn[:] = 0
    w.alive[: w.highest + 1] = 0
    w.clear_listed_cells(True)
    w.changed_types = 0
    w.highest = 0
    w.placed[:] = 0
    w.recent[:] = NOTHING


def agents(w: WorldRow) -> range:
    return range(1, (w.present if w.layout.has_smaller_members else w.layout.agents) + 1)


def agent_at(w: WorldRow, y: int, x: int) -> Any:
    if w.layout.agents > 1:
        return w.who[y, x]
    return int((w.position.y[AGENT] == y) & (w.position.x[AGENT] == x))


def is_taken(w: WorldRow, y: int, x: int) -> Any:
    return w.layout.agents > 1 and VERBS["is_taken"](w, y, x)


def stand(w: WorldRow, agent: int, y: int, x: int) -> None:
    """Compiled version of `ObjectWorld.stand`: move an agent into cell (y, x), or off the grid if
    both are -1."""
    if w.layout.agents > 1:
        VERBS["stand"](w, agent, y, x)
    else:
        w.position.y[agent] = y
        w.position.x[agent] = x


def forget(w: WorldRow, agent: int) -> None:
    if "forgotten" in w.layout.names:
        w.forgotten.count[agent] += 1


def word(number: Any) -> Any:
    """Return a number of the generator's state, which rules only pass on; replaced by code."""


def _emit_word(body: Body, number: Any) -> Scalar:
    return replace(arithmetic.to_number(body, number), narrow_dtype="uint64")


LIBRARY[word] = _emit_word


def rng_state(w: WorldRow) -> tuple[int, ...]:
    r = w.rng
    words = r.state_high, r.state_low, r.inc_high, r.inc_low, r.has_half, r.half
    return tuple(word(each) for each in words)


def set_rng_state(w: WorldRow, state: tuple[int, ...]) -> None:
    r = w.rng
    r.state_high, r.state_low, r.inc_high, r.inc_low, r.has_half, r.half = state


WORLD_METHODS: dict[str, Callable[..., Any]] = {
    method.__name__.removesuffix("_entity"): method
    for method in (
        *(fail, spawn, run_out, remove_entity, become_nothing, terrain_of, is_terrain, on_ground),
        *(num_states, left_by, state_of, set_state, add, take, agents, agent_at, is_taken),
        *(between_number, stand, forget, rng_state, set_rng_state),
    )
} | CELL_METHODS
"""Methods of worlds, in place of those of `World` or besides them."""


# ---- the generator -------------------------------------------------------------------------------


def _emit_high_product(body: Body, a: Any, b: Any) -> Scalar:
    """Emit one 128-bit multiplication of two uint64, and return the upper 64 bits of the
    product."""
    x, y = (
        body.emit.value(f"zext i64 {arithmetic.to_kind(body, value, Kind.UINT).operand} to i128")
        for value in (a, b)
    )
    product = body.emit.value(f"mul i128 {x}, {y}")
    high = body.emit.value(f"lshr i128 {product}, 64")
    return Scalar(Kind.UINT, body.emit.value(f"trunc i128 {high} to i64"))


LIBRARY[rng.high_product] = _emit_high_product


def _emit_count_bits(body: Body, bits: Any) -> Scalar:
    number = arithmetic.to_number(body, bits)
    count = body.call_external("llvm.ctpop.i64", "i64", f"i64 {number.operand}")
    return Scalar(Kind.INT, count, 0, 64)


LIBRARY[count_bits] = _emit_count_bits


def _emit_flat_view(body: Body, array: Any) -> Any:
    return calls.call(body, expressions.read_attribute(body, array, "ravel"), [], {})


LIBRARY[flat_view] = _emit_flat_view


def draw_integers(r: Any, low: int, high: Any = None) -> Any:
    return rng.integers(r, 0, low) if high is None else rng.integers(r, low, high)


def draw_random(r: Any, size: Any = None) -> Any:
    """Compiled version of NumPy's `Generator.random`: return a random float in [0, 1), or an array
    of `size` of them. `r` is the record with the state of the random generator."""
    if size is None:
        return rng.random(r)
    values = np.empty(size, np.float64)
    flat = values.ravel()
    for k in range(flat.size):
        flat[k] = rng.random(r)
    return values


def draw_choice(r: Any, a: int, size: Any = None, replace: bool = True) -> Any:
    """Compiled version of NumPy's `Generator.choice(a, size, replace)` for an integer `a`: return a
    random integer in [0, a), or an array of `size` of them. `r` is the record with the state of the
    random generator."""
    if size is None:
        return rng.choice(r, a)
    if not replace:
        return rng.sample_without_replacement(r, a, size)
    drawn = np.empty(size, np.int64)
    for k in range(size):
        drawn[k] = rng.choice(r, a)
    return drawn


GENERATOR = RecordType(
    RNG,
    {
        **{"integers": draw_integers, "random": draw_random},
        **{"choice": draw_choice, "shuffle": rng.shuffle},
    },
)
"""Record type of `w.rng`."""


# ---- record types --------------------------------------------------------------------------------


def make_parameter_type(dtype: np.dtype[Any]) -> RecordType:
    """Return the record type of a scenario's parameters, which all worlds share."""
    fields = RecordType(dtype).fields.items()
    parts = {name: RecordType(part, is_writable=False) for name, (part, _) in fields if part.names}
    return RecordType(dtype, parts=parts, is_writable=False)


def make_row_type(layout: Layout, is_checked: bool = True) -> RecordType:
    """Return the record type of a world with this `layout`: its fields, and the methods that rules
    call. If `is_checked`, writes of wrong values fail."""
    dtype = layout.batch_dtype
    parts = {"rng": GENERATOR}
    attributes: dict[str, Any] = {
        **{**VERBS, **WORLD_METHODS},
        **{"layout": layout, "tables": Tables(layout), "world": layout.world_entity},
        "is_checked": is_checked,
        "between": FieldNames(layout.between_columns),
    }
    writers: dict[str, Any] = {"at": write_at}
    writers |= {name: make_middle_layer_writer(name) for name in layout.between_columns}
    if "ground" in layout.layers:
        writers["ground"] = write_ground
    else:
        shape = layout.height + 1, layout.width + 1
        attributes["ground"] = np.broadcast_to(np.int64(NOTHING), shape)
    row = RecordType(dtype, attributes, parts, writers=writers)
    for cls in layout.components:
        name = column_name(cls)
        columns, start = row.fields[name]
        column_writers = {"has": make_presence_writer(cls)}
        for field in fields_of(cls):
            writer = make_column_writer(layout, cls, field.name, is_checked)
            if writer is not None:
                column_writers[field.name] = writer
        parts[name] = RecordType(
            columns,
            {"column": name},
            capacity=layout.capacity,
            wraps=False,
            writers=column_writers,
            outer=(row, start),
        )
    return row
