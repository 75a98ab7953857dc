"""States and components that come and go, as methods of compiled worlds."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import register_jitable
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.compiler.exceptions import (
    CAPACITY_CODE,
    TO_NOTHING_CODE,
    UNKNOWN_TYPE_CODE,
)
from gv_engine.compiler.intrinsics import (
    LANES,
    clearing,
    filling,
    spreading,
    writing,
)
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    method,
    prefabs,
)
from gv_engine.compiler.numba_pipeline import PARTS
from gv_engine.compiler.records import (
    EngineRecord,
)
from gv_engine.rules.component import NOTHING, column_name, fields_of
from gv_engine.scenario.layout import Layout

# ---- life methods --------------------------------------------------------------------------------


@method("spawn")
def _spawn(w: Any, kind: Any) -> Any:
    layout = LAYOUTS[w]
    write = writing(_new(layout))
    known = np.array([bool(parts) for parts in layout.prefabs])
    note = _note_highest if layout.is_large else _note_nothing

    def impl(w: Any, kind: Any) -> Any:
        if not (0 <= kind < len(known) and known[kind]):
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
        note(w, e)
        write(w, e, kind)
        return e

    return impl


@cache
def _new(layout: Layout) -> list[tuple[str, str, NDArray[Any]]]:
    """Of `prefabs` the columns that new objects change: what is not alive reads its defaults."""
    kinds = slice(layout.type_table_length)
    return [
        (column, field, table)
        for column, field, table in prefabs(layout)
        if (table[kinds] != table[layout.type_table_length]).any()
    ]


@method("enclose")
def _enclose(w: Any, kind: Any) -> Any:
    layout = LAYOUTS[w]
    spread = spreading(_new(layout))
    above = zip(layout.prefabs, layout.grounds, strict=True)
    known = np.array([bool(parts) and not on_ground for parts, on_ground in above])
    large = layout.is_large
    note = _note_highest if large else _note_nothing

    @register_jitable(**PARTS)
    def put(w: Any, e: Any, y: Any, x: Any, look: Any, blocks: Any) -> Any:
        cell = y * w.at.shape[1] + x
        w.in_line()[cell] = e
        w.alive[e] = 1
        w.position.y[e] = y
        w.position.x[e] = x
        w.looks[y, x] = look
        if large:
            w.enlist(cell, w.kind.value[e])
            w.block(cell, blocks)
        return e + 1

    def impl(w: Any, kind: Any) -> None:
        height, width, e = w.height, w.width, w.free
        count = 2 * (height + width) - 4
        free = height > 1 and width > 1 and 0 <= kind < len(known)
        free = free and LANES <= count <= w.capacity - e
        if free:
            taken = 0
            for other in w.in_line():
                taken |= other
            for other in range(e, e + count):
                taken |= w.alive[other]
            free = known[kind] and taken == 0
        if not free:
            w.enclose_one_by_one(kind)
            return
        # many bytes are stored as soon as one
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
        note(w, e - 1)

    return impl


@register_jitable(**PARTS)
def _note_highest(w: Any, e: Any) -> None:
    w.highest = max(w.highest, e)


@register_jitable(**PARTS)
def _note_nothing(w: Any, e: Any) -> None:
    pass


@method("remove")
def _remove(w: Any, e: Any) -> Any:
    def impl(w: Any, e: Any) -> None:
        if e != NOTHING:
            w.lift(e)
            w.become_nothing(e)
            if e < w.free:
                w.free = e

    return impl


@method("become_nothing")
def _become_nothing(w: Any, e: Any) -> Any:
    """For the kernels: take all components from an entity, wherever it says that it stands."""
    layout = LAYOUTS[w]
    write = _writer(layout)
    empty = layout.type_table_length

    def impl(w: Any, e: Any) -> None:
        write(w, e, empty)
        w.alive[e] = 0

    return impl


@method("become_empty")
def _become_empty(w: Any) -> Any:
    """For the kernels: take everything out of a world."""
    layout = LAYOUTS[w]
    empty = np.zeros((), layout.looks_dtype)
    for name in layout.dtype.names:  # type: ignore[union-attr]  # a record
        empty[name] = layout.defaults()[name]
    for name in layout.look_arrays:
        empty[name] = FLOOR
    start = layout.dtype.fields["at"][1]  # type: ignore[index]  # a record
    fill = filling(start, empty.tobytes()[start:])
    if not layout.is_large:
        return lambda w: fill(w)
    clear = clearing(
        [(column, name, table[layout.type_table_length]) for column, name, table in prefabs(layout)]
    )

    forget = _forget_drawn if layout.drawn else _note_nothing

    def impl(w: Any) -> None:
        clear(w, w.highest)
        forget(w, NOTHING)
        for e in range(1, w.highest + 1):
            w.alive[e] = 0
        w.forget_cells(True)
        w.strange = w.highest = 0
        for kind in range(len(w.placed)):
            w.placed[kind] = 0
            w.recent[kind] = NOTHING

    return impl


@register_jitable(**PARTS)
def _forget_drawn(w: Any, e: Any) -> None:
    for k in range(len(w.drawn)):
        w.drawn[k] = 0


@method("clear")
def _clear(w: Any) -> Any:
    behind = LAYOUTS[w].agents + 1
    forget = _forget_places if behind > 2 else _note_nothing

    def impl(w: Any) -> None:
        w.capacity = len(w.alive)
        forget(w, behind)
        w.become_empty()
        for agent in range(1, behind):
            w.alive[agent] = 1
            w.become_agent(agent)
        w.free = behind

    return impl


@register_jitable(**PARTS)
def _forget_places(w: Any, behind: Any) -> None:
    for agent in range(1, behind):
        w.stand(agent, -1, -1)


@method("become_agent")
def _become_agent(w: Any, e: Any) -> Any:
    """For the kernels: give an entity the components of an agent."""
    layout = LAYOUTS[w]
    write = _writer(layout)
    before = layout.type_table_length
    return lambda w, e: write(w, e, before + e)


@cache
def _writer(layout: Layout) -> Callable[[Any, int, int], None]:
    """`(w, e, number)`: write all columns of an entity as a prefab says, see `prefabs`."""
    return writing(prefabs(layout))


# ---- state methods -------------------------------------------------------------------------------


@method("add", prefer_literal=True)
def _add(w: Any, e: Any, column: Any) -> Any:
    return _setter(w, column, True)


@method("take", prefer_literal=True)
def _take(w: Any, e: Any, column: Any) -> Any:
    return _setter(w, column, False)


def _setter(w: EngineRecord, column: Any, has: bool) -> Callable[[Any, Any, Any], None]:
    """`(w, e, column)`: the component is there or not, and reads its defaults."""
    if not isinstance(column, types.StringLiteral):
        raise TypingError("w.add and w.take ask for a column's name written out in the rule")
    name = column.literal_value
    found = [cls for cls in LAYOUTS[w].components if column_name(cls) == name]
    if not found:
        raise TypingError(f"there are no columns {name!r}")
    columns = [(name, "has", np.array([has]))]
    columns += [(name, field.name, np.array([field.default])) for field in fields_of(found[0])]
    write = writing(columns)

    def impl(w: Any, e: Any, column: Any) -> None:
        if e == NOTHING:
            if w.error == 0:
                w.error = TO_NOTHING_CODE
            return
        write(w, e, 0)
        if has:
            w.now_strange(w.kind.value[e])
        w.look_again(e)

    return impl


@method("state_of")
def _state_of(w: Any, e: Any) -> Any:
    if not LAYOUTS[w].states:
        return lambda w, e: 0
    # an absent component reads 0, so that the sum is the one state that the object has
    return reduce(_add_state, (_state(*names) for names in LAYOUTS[w].states))


def _state(column: str, field: str) -> Any:
    return lambda w, e: 0 + w[column][field][e]


def _add_state(first: Any, second: Any) -> Any:
    first, second = register_jitable(first), register_jitable(second)
    return lambda w, e: first(w, e) + second(w, e)


@method("num_states")
def _num_states(w: Any, kind: Any) -> Any:
    return _by_type(LAYOUTS[w].num_states, 1)


@method("left_by")
def _left_by(w: Any, kind: Any) -> Any:
    return _by_type(LAYOUTS[w].leaves, -1)


def _by_type(values: tuple[int | bool, ...], otherwise: int | bool) -> Any:
    """`(w, kind)`: the value of a type."""
    table = np.array(values)
    return lambda w, kind: table[kind] if 0 <= kind < len(table) else otherwise


@method("on_ground")
def _on_ground(w: Any, kind: Any) -> Any:
    layout = LAYOUTS[w]
    # a constant, so that nothing is left of what rules would do about it
    return _by_type(layout.grounds, False) if any(layout.grounds) else lambda w, kind: False


@method("set_state")
def _set_state(w: Any, e: Any, state: Any) -> Any:
    def first(w: Any, e: Any, state: Any) -> None:
        pass

    write = register_jitable(first)
    for column, field in LAYOUTS[w].states:
        write = _write_state(write, column, field)
    for cls in LAYOUTS[w].state_component_classes:
        write = _bring(write, LAYOUTS[w], cls)
    return lambda w, e, state: write(w, e, state)


def _write_state(before: Any, column: str, field: str) -> Any:
    def write(w: Any, e: Any, state: Any) -> None:
        before(w, e, state)
        if w[column]["has"][e]:
            w[column][field][e] = state

    return register_jitable(write)


def _bring(before: Any, layout: Layout, cls: type) -> Any:
    """Then let a component come or go with the new state."""
    most = max(len(kind.state_components) for kind in layout.types)
    numbers = np.full(
        (layout.type_table_length, most), -1
    )  # where states have nothing to do with it
    given: list[tuple[float, ...] | None] = [None]
    for kind in layout.types:
        for state in range(len(kind.state_components)):
            changes = kind.component_changes(state)
            if cls in changes:
                numbers[kind.index, state] = len(given) if changes[cls] is not None else 0
                given.append(changes[cls])
    name, fields = column_name(cls), fields_of(cls)
    empty = tuple(field.default for field in fields)
    columns = [(name, "has", np.array([values is not None for values in given]))]
    for position, field in enumerate(fields):
        columns.append((name, field.name, np.array([(v or empty)[position] for v in given])))
    write = writing(columns)

    def bring(w: Any, e: Any, state: Any) -> None:
        before(w, e, state)
        kind = w.kind.value[e]
        if 0 <= kind < len(numbers) and 0 <= state < most:
            number = numbers[kind, state]
            if number >= 0 and (number > 0) != (w[name]["has"][e] != 0):
                write(w, e, number)
                w.look_again(e)

    return register_jitable(bring)
