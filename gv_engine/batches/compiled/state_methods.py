"""States and components that come and go, as methods of compiled worlds."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import register_jitable

from gv_engine.batches.compiled.error_codes import (
    TO_NOTHING_CODE,
)
from gv_engine.batches.compiled.intrinsics import (
    writing,
)
from gv_engine.batches.compiled.records import (
    OurRecord,
)
from gv_engine.batches.compiled.teaching import (
    LAYOUTS,
    method,
)
from gv_engine.language.component import NOTHING, column_name, fields_of
from gv_engine.reading.layout import Layout


@method("add", prefer_literal=True)
def _add(w: Any, e: Any, column: Any) -> Any:
    return _setter(w, column, True)


@method("take", prefer_literal=True)
def _take(w: Any, e: Any, column: Any) -> Any:
    return _setter(w, column, False)


def _setter(w: OurRecord, column: Any, has: bool) -> Callable[[Any, Any, Any], None]:
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
    for cls in LAYOUTS[w].brought:
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
    most = max(len(kind.brings) for kind in layout.types)
    numbers = np.full((layout.kinds, most), -1)  # where states have nothing to do with it
    given: list[tuple[float, ...] | None] = [None]
    for kind in layout.types:
        for state in range(len(kind.brings)):
            changes = kind.changes(state)
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
