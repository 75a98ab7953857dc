"""Rows of worlds in the compiled language: their record types, and the methods that rules call.

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

from gv_engine.compiler import rng
from gv_engine.compiler.language.expressions import Expressions
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.values import Kind, RecordType, Scalar
from gv_engine.rules.component import AGENT, NOTHING, column_name, fields_of
from gv_engine.rules.geometry import count_bits, flat_view
from gv_engine.rules.world import VERBS
from gv_engine.scenario.layout import RNG, Layout
from gv_engine.world.world import (
    CAPACITY,
    NOT_OF_OBJECTS,
    TERRAIN_IS_SHARED,
    TO_NOTHING,
    UNKNOWN_TYPE,
)

Table = tuple[str, str, NDArray[Any]]
"""Component, field, and the field's value by number of a prefab."""


class Tables:
    """What a layout determines, in the form in which methods read it.

    Prefabs (sets of components with values) are numbered: those of the object types by type index,
    then an empty one, then those of the entities that every level begins with.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.empty = layout.type_table_length
        self.has_prefab = np.array([bool(parts) for parts in layout.prefabs])
        self.terrain_entities = np.array(layout.terrain_entities)
        self.num_states = np.array(layout.num_states)
        self.successor_types = np.array(layout.successor_types)
        self.is_ground_type = np.array(layout.is_ground_type)
        self.has_ground_types = any(layout.is_ground_type)
        self.terrain = range(layout.first_object - len(layout.terrain), layout.first_object)

    @cached_property
    def prefabs(self) -> tuple[Table, ...]:
        """All component fields, with the value in each prefab."""
        prefabs = [
            dict(parts) for parts in (*self.layout.prefabs, (), *self.layout.initial_prefabs)
        ]
        tables: list[Table] = []
        for cls in self.layout.components:
            column = column_name(cls)
            tables.append((column, "has", np.array([cls in parts for parts in prefabs])))
            for k, field in enumerate(fields_of(cls)):
                values = [parts[cls][k] if cls in parts else field.default for parts in prefabs]
                tables.append((column, field.name, np.array(values)))
        return tuple(tables)

    @cached_property
    def spawned(self) -> tuple[Table, ...]:
        """The component fields in which some object type differs from the empty prefab."""
        kinds = slice(self.empty)
        return tuple(
            (column, field, table)
            for column, field, table in self.prefabs
            if (table[kinds] != table[self.empty]).any()
        )

    @cached_property
    def state_changes(self) -> tuple[tuple[str, NDArray[Any], tuple[Table, ...]], ...]:
        """For each component that states add or remove: its column, the number of the set of values
        that a (type, state) gives it (0: none, -1: unchanged), and the values by this number."""
        layout, changes = self.layout, []
        most = max((len(kind.state_components) for kind in layout.types), default=0)
        for cls in layout.state_component_classes:
            numbers = np.full((self.empty, most), -1)
            sets: list[tuple[float, ...] | None] = [None]
            for kind in layout.types:
                for state in range(len(kind.state_components)):
                    if cls in (parts := kind.component_changes(state)):
                        numbers[kind.index, state] = 0 if parts[cls] is None else len(sets)
                        sets.append(parts[cls])
            changes.append((column_name(cls), numbers, _list_fields(cls, sets)))
        return tuple(changes)

    @cached_property
    def components(self) -> Mapping[str, tuple[tuple[Table, ...], int]]:
        """By column, the values of a removed and a new component, and the column's length."""
        return {
            column_name(cls): (_list_fields(cls, [None, ()]), self.layout.column_lengths[cls])
            for cls in self.layout.components
        }


def _list_fields(cls: type, sets: list[tuple[float, ...] | None]) -> tuple[Table, ...]:
    """Return the fields of a component with their values by number of a set of values; () stands
    for the defaults, None for no component."""
    column = column_name(cls)
    tables: list[Table] = [(column, "has", np.array([values is not None for values in sets]))]
    for k, field in enumerate(fields_of(cls)):
        values = [parts[k] if parts else field.default for parts in sets]
        tables.append((column, field.name, np.array(values)))
    return tuple(tables)


# ---- methods -------------------------------------------------------------------------------------


def fail(w: Any, message: str) -> None:
    """Let the reset or step fail; replaced by code that leaves the rule."""


def _emit_fail(body: Expressions, w: Any, message: Any) -> None:
    if not isinstance(message, str):
        body.refuse("w.fail takes a text that is known before the program runs")
    body.fail_if(True, f"RuleError: {message}")


LIBRARY[fail] = _emit_fail


def write_fields(w: Any, e: int, number: int, tables: Any) -> None:
    """Write the values of set number `number` into fields of an entity."""
    for column, field, table in tables:
        if e >= w[column][field].shape[0]:
            continue  # the column ends before, and the entity has its defaults
        if table.ndim == 1 and len(w[column][field].shape) == 2:
            for k in range(w[column][field].shape[1]):
                w[column][field][e, k] = table[number]
        elif table.ndim == 1:
            w[column][field][e] = table[number]
        else:
            for k in range(table.shape[1]):
                w[column][field][e, k] = table[number, k]


def spawn(w: Any, kind: int) -> Any:
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
    write_fields(w, e, kind, w.tables.spawned)
    return e


def run_out(w: Any) -> None:
    raise MemoryError(CAPACITY)


def remove_entity(w: Any, e: int) -> None:
    if w.is_terrain(e):
        w.fail(TERRAIN_IS_SHARED)
    elif e != NOTHING:
        w.lift(e)
        w.become_nothing(e)
        if e < w.free:
            w.free = e


def become_nothing(w: Any, e: int) -> None:
    write_fields(w, e, w.tables.empty, w.tables.prefabs)
    w.alive[e] = 0


def terrain_of(w: Any, kind: int) -> Any:
    table = w.tables.terrain_entities
    return table[kind] if 0 <= kind < len(table) else -1


def is_terrain(w: Any, e: int) -> Any:
    return e in w.tables.terrain


def on_ground(w: Any, kind: int) -> Any:
    if not w.tables.has_ground_types:
        return False
    return w.tables.is_ground_type[kind] if 0 <= kind < w.tables.empty else False


def num_states(w: Any, kind: int) -> Any:
    return w.tables.num_states[kind]


def left_by(w: Any, kind: int) -> Any:
    return w.tables.successor_types[kind]


def state_of(w: Any, e: int) -> Any:
    # an absent component reads 0, so the sum is the state of the component that the object has
    total = 0
    for column, field in w.layout.states:
        total += w[column][field][e]
    return total


def set_state(w: Any, e: int, state: int) -> None:
    for column, field in w.layout.states:
        if w[column].has[e]:
            w[column][field][e] = state
    kind = w.kind.value[e]
    for column, numbers, tables in w.tables.state_changes:
        if 0 <= kind < numbers.shape[0] and 0 <= state < numbers.shape[1]:
            number = numbers[kind, state]
            if number >= 0 and (number > 0) != w[column].has[e]:
                write_fields(w, e, number, tables)


def add(w: Any, e: int, column: str) -> None:
    tables, length = w.tables.components[column]
    if e == NOTHING:
        w.fail(TO_NOTHING)
    if e >= length:
        w.fail(NOT_OF_OBJECTS)
    write_fields(w, e, 1, tables)


def take(w: Any, e: int, column: str) -> None:
    tables, _ = w.tables.components[column]
    if e == NOTHING:
        w.fail(TO_NOTHING)
    write_fields(w, e, 0, tables)


def clear(w: Any) -> None:
    layout = w.layout
    w.capacity = layout.capacity
    w.free = layout.first_object
    w.at[:] = NOTHING
    if "ground" in layout.layers:
        w.ground[:] = NOTHING
    if layout.agents > 1:
        w.who[:] = NOTHING
        w.next[:] = NOTHING
        w.spot[:] = 0
    w.placed[:] = 0
    w.recent[:] = NOTHING
    if layout.drawn > 0:
        w.drawn[:] = 0
    for e in range(1, layout.capacity):
        w.alive[e] = 0
        write_fields(w, e, w.tables.empty, w.tables.prefabs)
    for e in range(1, layout.first_object):
        w.alive[e] = 1
        write_fields(w, e, w.tables.empty + e, w.tables.prefabs)


def agents(w: Any) -> range:
    return range(1, (w.present if w.layout.has_smaller_members else w.layout.agents) + 1)


def agent_at(w: Any, y: int, x: int) -> Any:
    if w.layout.agents > 1:
        return w.who[y, x]
    return int((w.position.y[AGENT] == y) & (w.position.x[AGENT] == x))


def is_taken(w: Any, y: int, x: int) -> Any:
    return w.layout.agents > 1 and VERBS["is_taken"](w, y, x)


def stand(w: Any, agent: int, y: int, x: int) -> None:
    if w.layout.agents > 1:
        VERBS["stand"](w, agent, y, x)
    else:
        w.position.y[agent] = y
        w.position.x[agent] = x


def forget(w: Any, agent: int) -> None:
    if "forgotten" in w.layout.names:
        w.forgotten.count[agent] += 1


def having(w: Any, columns: Any) -> Any:
    found = np.empty(len(w.layout.layers) * w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            for below, e in ((True, w.ground[y, x]), (False, w.at[y, x])):
                if columns.has[e] and not (below and e == NOTHING):
                    found[count] = e
                    count += 1
    return found[:count]


def of_type(w: Any, kind: int) -> Any:
    found = np.empty(w.placed[kind], np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            e = w.on_layer_of(kind, y, x)
            if count < len(found) and e != NOTHING and w.kind.value[e] == kind:
                found[count] = e
                count += 1
    return found[:count]


def steps_from(w: Any, y: int, x: int) -> Any:
    steps = np.empty((w.height, w.width), np.int64)
    w.walk_from(y, x, steps)
    return steps


def word(number: Any) -> Any:
    """Return a number of the generator's state, which rules only pass on; replaced by code."""


def _emit_word(body: Expressions, number: Any) -> Scalar:
    """Return the number, without arithmetic: that of 64 bits without a sign differs in Python."""
    return replace(body.to_number(number), narrow="uint64")


LIBRARY[word] = _emit_word


def rng_state(w: Any) -> tuple[int, ...]:
    r = w.rng
    words = r.state_high, r.state_low, r.inc_high, r.inc_low, r.has_half, r.half
    return tuple(word(each) for each in words)


def set_rng_state(w: Any, state: tuple[int, ...]) -> None:
    r = w.rng
    r.state_high, r.state_low, r.inc_high, r.inc_low, r.has_half, r.half = state


METHODS: dict[str, Callable[..., Any]] = {
    method.__name__.removesuffix("_entity"): method
    for method in (
        *(fail, spawn, run_out, remove_entity, become_nothing, terrain_of, is_terrain, on_ground),
        *(num_states, left_by, state_of, set_state, add, take, clear, agents, agent_at, is_taken),
        *(stand, forget, having, of_type, steps_from, rng_state, set_rng_state),
    )
}
"""Methods of worlds, in place of those of `World` or besides them."""


# ---- the generator -------------------------------------------------------------------------------


def _emit_high_product(body: Expressions, a: Any, b: Any) -> Scalar:
    """Emit one 128-bit multiplication."""
    wide = [
        body.emit.get(f"zext i64 {body.convert(value, Kind.UINT).text} to i128") for value in (a, b)
    ]
    product = body.emit.get(f"mul i128 {wide[0]}, {wide[1]}")
    high = body.emit.get(f"lshr i128 {product}, 64")
    return Scalar(Kind.UINT, body.emit.get(f"trunc i128 {high} to i64"))


LIBRARY[rng.high_product] = _emit_high_product


def _emit_count_bits(body: Expressions, bits: Any) -> Scalar:
    number = body.to_number(bits)
    function = body.module.declare("llvm.ctpop.i64", "i64", "i64")
    return Scalar(Kind.INT, body.emit.get(f"call i64 {function}(i64 {number.text})"), 0, 64)


LIBRARY[count_bits] = _emit_count_bits


def _emit_flat_view(body: Expressions, array: Any) -> Any:
    return body.call(body.read_attribute(array, "ravel"), [], {})


LIBRARY[flat_view] = _emit_flat_view


def draw_integers(r: Any, low: int, high: Any = None) -> Any:
    return rng.integers(r, 0, low) if high is None else rng.integers(r, low, high)


def draw_random(r: Any, size: Any = None) -> Any:
    if size is None:
        return rng.random(r)
    values = np.empty(size, np.float64)
    flat = values.ravel()
    for k in range(flat.size):
        flat[k] = rng.random(r)
    return values


def draw_choice(r: Any, a: int, size: Any = None, replace: bool = True) -> Any:
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


def make_row_type(layout: Layout, dtype: np.dtype[Any]) -> RecordType:
    """Return the record type of the worlds of a layout, whose rows have a dtype."""
    fields = RecordType(dtype).fields
    parts = {"rng": GENERATOR}
    for cls in layout.components:
        columns = fields[column_name(cls)][0]
        parts[column_name(cls)] = RecordType(columns, capacity=layout.capacity)
    attributes = {
        **{**VERBS, **METHODS},
        **{"layout": layout, "tables": Tables(layout), "world": layout.world_entity},
    }
    if "ground" not in layout.layers:
        shape = layout.height + 1, layout.width + 1
        attributes["ground"] = np.broadcast_to(np.int64(NOTHING), shape)
    return RecordType(dtype, attributes, parts)
