"""Methods of `World` and of views in compiled code, for the records of a batch.

Importing this module imports Numba and registers the verbs of `gv_engine.rules.world` and the
methods of views. Other methods are in `rng`, `spawn_remove`, `appearance_cache` and `list_methods`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.errors import TypingError

from gv_engine.compiler import observation
from gv_engine.compiler.exceptions import message_code
from gv_engine.compiler.intrinsics import (
    count_set_bits,
    flat_array_view,
    flat_cells,
    make_entity_compare,
)
from gv_engine.compiler.method_registry import LAYOUTS, overload, prefab_tables, register_method
from gv_engine.compiler.numba_pipeline import PART_OPTIONS
from gv_engine.compiler.records import ViewRecord
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import count_bits, flat_view
from gv_engine.rules.system import to_measurement
from gv_engine.rules.world import VERBS

# ---- verbs and views -----------------------------------------------------------------------------


def _register_verb(name: str, verb: Callable[..., Any]) -> None:
    """Register a verb of `gv_engine.rules.world` as a method of `WorldRecord`, with the same
    code."""

    def build(*arguments: Any) -> Callable[..., Any]:
        """Return the verb's function, for any argument types."""
        return verb

    build.__signature__ = inspect.signature(verb)  # type: ignore[attr-defined]  # numba reads it
    register_method(name)(build)


for _name, _verb in VERBS.items():
    # `enclose` has a faster implementation, which falls back to this one
    _register_verb("enclose_one_by_one" if _name == "enclose" else _name, _verb)


def _register_view_method(name: str) -> None:
    """Register `name` as a method of `ViewRecord`, implemented for the view's fields: bits, cells
    or entities."""

    def build(*arguments: Any) -> Callable[..., Any]:
        """Return the implementation for the type of the view."""
        fields = arguments[0].fields
        by = observation.CELL_VIEW_METHODS if "seen" in fields else observation.BIT_VIEW_METHODS
        return (observation.ENTITY_VIEW_METHODS if "entity" in fields else by)[name]

    build.__signature__ = inspect.signature(observation.BIT_VIEW_METHODS[name])  # type: ignore[attr-defined]
    register_method(name, ViewRecord)(build)


for _name in observation.BIT_VIEW_METHODS:
    _register_view_method(_name)


@overload(to_measurement, jit_options=PART_OPTIONS)  # type: ignore[untyped-decorator]  # numba has no types
def _build_measured(value: Any) -> Any:
    """Return the function to compile for `measured(value)`: return a measurement widened to int64
    or float64; tuples unchanged."""

    def impl(value: Any) -> Any:
        """Implement `measured`; Numba compiles this function."""
        return 0 + value

    def as_it_is(value: Any) -> Any:
        """Return the value unchanged."""
        return value

    # Numba's uint64 + int64 is a float
    is_wide = getattr(value, "bitwidth", 0) == 64
    return as_it_is if is_wide or isinstance(value, types.BaseTuple) else impl


@overload(count_bits, jit_options=PART_OPTIONS)  # type: ignore[untyped-decorator]  # numba has no types
def _build_ones(bits: Any) -> Any:
    """Return the function to compile for `ones(bits)`: return the number of set bits."""

    def impl(bits: Any) -> Any:
        """Implement `ones`; Numba compiles this function."""
        return count_set_bits(bits)

    return impl


@overload(flat_view, jit_options=PART_OPTIONS)  # type: ignore[untyped-decorator]  # numba has no types
def _build_in_line_of_array(array: Any) -> Any:
    """Return the function to compile for `in_line(array)`: return a flat view of a C-contiguous
    array; None for other layouts."""
    if getattr(array, "layout", "") == "C":
        return lambda array: flat_array_view(array)
    return None


# ---- other methods ---------------------------------------------------------------------------


@register_method("fail", prefer_literal=True)
def _build_fail(w: Any, message: Any) -> Any:
    """Return the function to compile for `w.fail(message)`: set `w.error` to the code of a literal
    message, if no error is set."""
    if not isinstance(message, types.StringLiteral):
        raise TypingError("w.fail takes a string literal")
    code = message_code(message.literal_value)

    def impl(w: Any, message: Any) -> None:
        """Implement `fail`; Numba compiles this function."""
        if w.error == 0:
            w.error = code

    return impl


@register_method("nothing_is_intact")
def _build_nothing_is_intact(w: Any) -> Any:
    """Return the function to compile for `w.nothing_is_intact()`: return True if no rule has
    written to a column of entity NOTHING."""
    layout = LAYOUTS[w]
    agrees = make_entity_compare(prefab_tables(layout))
    empty = layout.type_table_length
    return lambda w: agrees(w, NOTHING, empty)


@register_method("in_line")
def _build_in_line(w: Any) -> Any:
    """Return the function to compile for `w.in_line()`: return all cells of `w.at` as a
    one-dimensional array, row-major."""
    return lambda w: flat_cells(w)


@register_method("agents")
def _build_agents(w: Any) -> Any:
    """Return the function to compile for `w.agents()`: return the range of the agents in the
    world."""
    if LAYOUTS[w].has_smaller_members:
        return lambda w: range(1, w.present + 1)
    behind = LAYOUTS[w].agents + 1
    return lambda w: range(1, behind)


@register_method("agent_at")
def _build_agent_at(w: Any, y: Any, x: Any) -> Any:
    """Return the function to compile for `w.agent_at(y, x)` for several agents: return the agent in
    a cell, or NOTHING."""
    return lambda w, y, x: w.who[y, x]
