"""Registration of methods of engine records with Numba, and the methods of `World`, of views and of
`w.rng` for the records of a batch.

Importing this module imports Numba and registers the verbs of `gv_engine.rules.world` and the
methods of views. Other methods are in `spawn_remove`, `cell_lists` and `appearance_cache`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numba import from_dtype
from numba.core.errors import TypingError
from numpy.typing import NDArray

from components.items import Forgotten
from gv_engine.compiler import observation
from gv_engine.compiler.exceptions import message_code
from gv_engine.compiler.intrinsics import (
    count_agents,
    count_set_bits,
    flat_array_view,
    flat_cells,
    make_entity_compare,
    multiply_high,
)
from gv_engine.compiler.numba_pipeline import (
    PART_OPTIONS,
    Decorator,
    extending,
    overload,
    strip_annotations,
    types,
)
from gv_engine.compiler.records import (
    EngineRecord,
    GeneratorRecord,
    ViewRecord,
    WorldRecord,
    make_world_record,
)
from gv_engine.compiler.rng import (
    choice,
    high_product,
    integers,
    random,
    sample_without_replacement,
    shuffle,
)
from gv_engine.rules.component import AGENT, NOTHING, column_name, fields_of
from gv_engine.rules.geometry import count_bits, flat_view
from gv_engine.rules.system import to_measurement
from gv_engine.rules.world import VERBS
from gv_engine.scenario.layout import Layout

# ---- registration --------------------------------------------------------------------------------

LAYOUTS: dict[EngineRecord, Layout] = {}
"""Layout of each world record type."""


def register_layout(layout: Layout) -> None:
    """Register a world's record layout with Numba, and the methods of `World` that rules call, so
    that rules for such worlds can be compiled."""
    for name, verb in {**VERBS, "agent_at": _agent_at}.items():
        # `enclose` has a faster implementation, which falls back to this one
        _register_verb("enclose_one_by_one" if name == "enclose" else name, verb)
    # a copy: the registry lives for ever and must not keep the scenario's types
    copied = replace(layout, types=tuple(map(replace, layout.types)))
    shown, entities = layout.look_fields, layout.entity_fields
    record = make_world_record(from_dtype(layout.looks_dtype), shown, entities)
    LAYOUTS.setdefault(record, copied)


def register_method(name: str, of: type[EngineRecord] = WorldRecord, **options: Any) -> Decorator:
    """Return a decorator for a function that gets Numba argument types and returns the
    implementation of method `name`, which Numba then compiles.

    Args:
        name: method name that rules or kernels call.
        of: record type that gets the method.
        options: options of `overload_method`.
    """

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        """Register `build` as the builder of the method, and return it."""
        method = extending.overload_method(of, name, jit_options=PART_OPTIONS, **options)
        method(strip_annotations(build))
        return build

    return register


def register_function(name: str, of: type[EngineRecord] = WorldRecord) -> Decorator:
    """Return a decorator that makes a function the method `name` of the record type `of` in
    compiled code."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        """Register the function and return it."""
        _register_choice(name, function, lambda record: function, of)
        return function

    return register


def _register_choice(
    name: str,
    declared: Callable[..., Any],
    choose: Callable[[Any], Callable[..., Any]],
    of: type[EngineRecord] = WorldRecord,
) -> None:
    """Register a method whose implementation `choose` selects by the Numba type of the record.

    Args:
        name: method name that rules or kernels call.
        declared: function with the parameters of the method.
        choose: function that takes the Numba type of the record and returns the function to
            compile.
        of: record type that gets the method.
    """

    def build(*arguments: Any) -> Callable[..., Any]:
        """Return the function for the type of the record."""
        return choose(arguments[0])

    build.__signature__ = inspect.signature(declared)  # type: ignore[attr-defined]  # numba reads it
    register_method(name, of)(build)


def is_omitted(numba_type: Any) -> bool:
    """Return True if the Numba type of an argument says that it is omitted or None."""
    return numba_type is None or isinstance(numba_type, types.NoneType | types.Omitted)


def prefab_tables(layout: Layout) -> list[tuple[str, str, NDArray[Any]]]:
    """Return (column, field, values) for each component field of a layout, where `values` is an
    (n,) array with the field's initial value by prefab number.

    The values are listed for the prefabs (sets of initial components) of the object types, by type
    index, then for an empty prefab, then for the prefabs of the entities that every level begins
    with.
    """
    prefabs = [dict(parts) for parts in (*layout.prefabs, (), *layout.initial_prefabs)]
    columns = []
    for cls in layout.components:
        columns.append((column_name(cls), "has", np.array([cls in parts for parts in prefabs])))
        for position, field in enumerate(fields_of(cls)):
            values = [parts[cls][position] if cls in parts else field.default for parts in prefabs]
            columns.append((column_name(cls), field.name, np.array(values)))
    return columns


# ---- verbs and views -----------------------------------------------------------------------------


class _SingleAgentMethods:
    """Methods that are shorter in worlds with one agent."""

    def stand(self: Any, agent: int, y: int, x: int) -> None:
        """Move the agent into a cell, or off the grid."""
        self.position.y[agent] = y
        self.position.x[agent] = x

    def is_taken(self: Any, y: int, x: int) -> bool:
        """Return False, as there is no other agent; a constant, so that LLVM removes the branch."""
        return False

    def agent_at(self: Any, y: int, x: int) -> int:
        """Return 1 if the agent is in a cell, else NOTHING."""
        return int((self.position.y[AGENT] == y) & (self.position.x[AGENT] == x))


def _agent_at(self: Any, y: int, x: int) -> int:
    """Return the agent in a cell, or NOTHING."""
    return self.who[y, x]  # type: ignore[no-any-return]  # numba's


@cache
def _register_verb(name: str, verb: Callable[..., Any]) -> None:
    """Register `verb`, a method of `World`, under `name` for compiled worlds. Worlds with one agent
    get a shorter version if there is one."""
    single = getattr(_SingleAgentMethods, name, verb)
    _register_choice(name, verb, lambda w: verb if count_agents(w) > 1 else single)


def _register_view_method(name: str) -> None:
    """Register `name` as a method of compiled views (the cells around an agent), with the
    implementation for each of the three forms of view."""

    def choose(view: Any) -> Callable[..., Any]:
        """Return the implementation for the Numba type `view`."""
        if "entity" in view.fields:
            return observation.ENTITY_VIEW_METHODS[name]
        by_cells, by_bits = observation.CELL_VIEW_METHODS, observation.BIT_VIEW_METHODS
        return (by_cells if "seen" in view.fields else by_bits)[name]

    _register_choice(name, observation.BIT_VIEW_METHODS[name], choose, ViewRecord)


for _name in observation.BIT_VIEW_METHODS:
    _register_view_method(_name)


@overload(to_measurement)
def _build_to_measurement(value: Any) -> Any:
    """Return the implementation of `to_measurement(value)`, which widens a number to int64 or
    float64 and returns a tuple unchanged."""

    def impl(value: Any) -> Any:
        """Implement `to_measurement` for numbers; Numba compiles this function."""
        return 0 + value

    def as_it_is(value: Any) -> Any:
        """Return the value unchanged."""
        return value

    # Numba's uint64 + int64 is a float
    is_wide = getattr(value, "bitwidth", 0) == 64
    return as_it_is if is_wide or isinstance(value, types.BaseTuple) else impl


@overload(count_bits)
def _build_count_bits(bits: Any) -> Any:
    """Return the implementation of `count_bits(bits)`, which returns the number of set bits."""

    def impl(bits: Any) -> Any:
        """Implement `count_bits`; Numba compiles this function."""
        return count_set_bits(bits)

    return impl


@overload(flat_view)
def _build_flat_view(array: Any) -> Any:
    """Return the implementation of `flat_view(array)`, which returns a one-dimensional view of a
    C-contiguous array; None for arrays of another layout."""
    if getattr(array, "layout", "") == "C":
        return lambda array: flat_array_view(array)
    return None


# ---- other methods ---------------------------------------------------------------------------


@register_method("forget")
def _build_forget(w: Any, agent: Any) -> Any:
    """Return the implementation of `w.forget(agent)`, which has no effect in a layout without the
    component that counts it."""

    def count(w: Any, agent: Any) -> None:
        """Count that the agent forgets."""
        w.forgotten.count[agent] += 1

    def ignore(w: Any, agent: Any) -> None:
        """Do nothing."""

    return count if column_name(Forgotten) in w.fields else ignore


@register_method("fail", prefer_literal=True)
def _build_fail(w: Any, message: Any) -> Any:
    """Return the implementation of `w.fail(message)`, which sets `w.error` to the code of the
    literal `message` if no error is set yet."""
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
    """Return the implementation of `w.nothing_is_intact()`, which returns False if a rule has
    written to a component of NOTHING, the entity that stands for no object."""
    layout = LAYOUTS[w]
    agrees = make_entity_compare(prefab_tables(layout))
    empty = layout.type_table_length
    return lambda w: agrees(w, NOTHING, empty)


@register_method("in_line")
def _build_in_line(w: Any) -> Any:
    """Return the implementation of `w.in_line()`, which returns all cells of `w.at` as a
    one-dimensional array, row-major."""
    return lambda w: flat_cells(w)


@register_method("agents")
def _build_agents(w: Any) -> Any:
    """Return the implementation of `w.agents()`, which returns the range of the entities of the
    world's agents."""
    if LAYOUTS[w].has_smaller_members:
        return lambda w: range(1, w.present + 1)
    behind = LAYOUTS[w].agents + 1
    return lambda w: range(1, behind)


def _build_world(w: Any) -> Any:
    """Return the implementation of the attribute `w.world`, the entity with the components of the
    world, a constant of the layout."""
    entity = LAYOUTS[w].world_entity
    return lambda w: entity


extending.overload_attribute(WorldRecord, "world")(strip_annotations(_build_world))


@overload(high_product)
def _build_high_product(a: Any, b: Any) -> Any:
    """Return the implementation of `high_product(a, b)` by one 128-bit multiplication."""
    return lambda a, b: multiply_high(a, b)


@register_method("integers", GeneratorRecord)
def _build_integers(r: Any, low: Any, high: Any = None) -> Any:
    """Return the implementation of `w.rng.integers(low, high=None)`, which returns a random integer
    as NumPy does."""
    if is_omitted(high):
        return lambda r, low, high=None: integers(r, 0, low)
    return lambda r, low, high=None: integers(r, low, high)


@register_method("random", GeneratorRecord)
def _build_random(r: Any, size: Any = None) -> Any:
    """Return the implementation of `w.rng.random(size=None)`, which returns random floats in [0, 1)
    as NumPy does."""
    if is_omitted(size):
        return lambda r, size=None: random(r)

    def fill(r: Any, size: Any = None) -> Any:
        """Return an array of shape `size` with random floats in [0, 1)."""
        values = np.empty(size, np.float64)
        flat = flat_array_view(values)
        for i in range(flat.size):
            flat[i] = random(r)
        return values

    return fill


@register_function("shuffle", GeneratorRecord)
def _shuffle(r: Any, x: Any) -> None:
    """Implement `w.rng.shuffle(x)`."""
    shuffle(r, x)


@register_function("rng_state")
def _get_rng_state(w: Any) -> Any:
    """Implement `w.rng_state()`: return the state of the world's generator as six integers."""
    r = w.rng
    return r.state_high, r.state_low, r.inc_high, r.inc_low, r.has_half, r.half


@register_function("set_rng_state")
def _set_rng_state(w: Any, state: Any) -> None:
    """Implement `w.set_rng_state(state)`: restore a generator state that `w.rng_state()`
    returned."""
    r = w.rng
    r.state_high, r.state_low, r.inc_high, r.inc_low, r.has_half, r.half = state


@register_method("choice", GeneratorRecord)
def _build_choice(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
    """Return the implementation of `w.rng.choice(a, size=None, replace=True)` for an integer `a`,
    which returns random integers in [0, a) as NumPy does."""
    if not isinstance(a, types.Integer):
        raise TypingError(
            "compiled rules call w.rng.choice(n) with an integer n; use the result as an index"
        )
    if is_omitted(size):
        return lambda r, a, size=None, replace=True: choice(r, a)

    def several(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
        """Return (size,) int64 random integers in [0, a)."""
        if not replace:
            return sample_without_replacement(r, a, size)
        drawn = np.empty(size, np.int64)
        for i in range(size):
            drawn[i] = choice(r, a)
        return drawn

    return several
