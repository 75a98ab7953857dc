"""How entities come into compiled worlds, and leave them again, as methods of these."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba.extending import register_jitable
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.batches.compiled.error_codes import (
    CAPACITY_CODE,
    UNKNOWN_TYPE_CODE,
)
from gv_engine.batches.compiled.intrinsics import (
    LANES,
    clearing,
    filling,
    spreading,
    writing,
)
from gv_engine.batches.compiled.parts import PARTS
from gv_engine.batches.compiled.teaching import (
    LAYOUTS,
    method,
    prefabs,
)
from gv_engine.language.component import NOTHING
from gv_engine.reading.layout import Layout


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
    kinds = slice(layout.kinds)
    return [
        (column, field, table)
        for column, field, table in prefabs(layout)
        if (table[kinds] != table[layout.kinds]).any()
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
    empty = layout.kinds

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
    for name in layout.looked_at:
        empty[name] = FLOOR
    start = layout.dtype.fields["at"][1]  # type: ignore[index]  # a record
    fill = filling(start, empty.tobytes()[start:])
    if not layout.is_large:
        return lambda w: fill(w)
    clear = clearing(
        [(column, name, table[layout.kinds]) for column, name, table in prefabs(layout)]
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
    before = layout.kinds
    return lambda w, e: write(w, e, before + e)


@cache
def _writer(layout: Layout) -> Callable[[Any, int, int], None]:
    """`(w, e, number)`: write all columns of an entity as a prefab says, see `prefabs`."""
    return writing(prefabs(layout))
