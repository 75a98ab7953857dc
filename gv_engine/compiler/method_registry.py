"""Registration of methods of engine records with Numba, and the methods of `World`, of views and of
`w.rng` for the records of a batch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import extending, from_dtype, types
from numba.core import cgutils, typing
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
from numpy.typing import NDArray

from gv_engine.compiler import observation
from gv_engine.compiler.bounds import emit_bounds_check
from gv_engine.compiler.exceptions import message_code
from gv_engine.compiler.intrinsics import (
    count_agents,
    count_set_bits,
    emit_pointer,
    flat_array_view,
    flat_cells,
    make_entity_compare,
    multiply_high,
)
from gv_engine.compiler.numba_pipeline import PART_OPTIONS
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
from gv_engine.rules.component import NOTHING, column_name, fields_of
from gv_engine.rules.geometry import count_bits, flat_view
from gv_engine.rules.system import to_measurement
from gv_engine.rules.world import VERBS
from gv_engine.scenario.layout import Layout

# ---- methods for one agent -----------------------------------------------------------------------

# Numba's type hints do not help here
_extending, _cgutils, _types, _typing = cast(Any, (extending, cgutils, types, typing))

_AGENT = ir.IntType(64)(1)
_METHODS: dict[str, Any] = {}


@_extending.infer_getattr
class _SingleAgentMethods(AttributeTemplate):
    """Typing of methods that have a shorter implementation in worlds with one agent."""

    key = WorldRecord

    def generic_resolve(self, w: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        """Return the bound method; None for other names and for worlds with several agents."""
        if name not in _METHODS or count_agents(w) > 1:
            return None
        return _types.BoundFunction(_METHODS[name], w)


def _register(name: str, returns: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that registers an IR emitter `(context, builder, w, kinds, arguments)` as
    a method.

    Args:
        name: method name on `WorldRecord`.
        returns: Numba type of the result.
    """

    class Method(AbstractTemplate):
        """Typing of the method: any arguments, one type of result."""

        key = f"{__name__}.{name}"

        def generic(self, args: Any, kws: Any) -> Any:
            """Return the signature of the method for these argument types."""
            types_ = (*args, *kws.values())
            return _typing.signature(returns, *types_, recvr=cast(Any, self).this)

    def register(emit: Callable[..., Any]) -> Callable[..., Any]:
        """Register the emitter and return it."""

        def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            """Emit the call through the registered emitter."""
            return emit(context, builder, sig.args[0], sig.args[1:], arguments)

        _METHODS[name] = Method
        _extending.lower_builtin(Method.key, WorldRecord, _types.VarArg(_types.Any))(lower)
        return emit

    return register


def _emit_position(
    context: Any, builder: Any, w: Any, world: Any, e: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield for y and x of an entity the type of the column and a pointer to the element."""
    columns = w.fields["position"]
    for name in ("y", "x"):
        field = columns.type.fields[name]
        first = emit_pointer(
            context, builder, world, columns.offset + field.offset, field.type.dtype
        )
        yield field.type.dtype, builder.gep(first, [e])


@_register("stand", types.none)
def _emit_stand(context: Any, builder: Any, w: Any, kinds: Any, arguments: Any) -> Any:
    """Emit `w.stand(agent, y, x)` for one agent: write the agent's position."""
    world, agent, *cell = arguments
    agent = context.cast(builder, agent, kinds[0], types.intp)
    if context.enable_boundscheck:
        emit_bounds_check(context, builder, agent, ir.IntType(64)(w.fields["alive"].type.shape[0]))
    for (kind, place), own, value in zip(
        _emit_position(context, builder, w, world, agent), kinds[1:], cell
    ):
        builder.store(context.cast(builder, value, own, kind), place)
    return context.get_dummy_value()


@_register("agent_at", types.intp)
def _emit_agent_at(context: Any, builder: Any, w: Any, kinds: Any, arguments: Any) -> Any:
    """Emit `w.agent_at(y, x)` for one agent: 1 if the agent is in the cell, else 0."""
    world, *cell = arguments
    is_there = _cgutils.true_bit
    for (kind, place), own, value in zip(
        _emit_position(context, builder, w, world, _AGENT), kinds, cell
    ):
        coordinate = context.cast(builder, builder.load(place), kind, types.intp)
        requested = context.cast(builder, value, own, types.intp)
        is_there = builder.and_(is_there, builder.icmp_signed("==", coordinate, requested))
    return builder.zext(is_there, ir.IntType(64))


@_register("is_taken", types.boolean)
def _emit_is_taken(context: Any, builder: Any, w: Any, kinds: Any, arguments: Any) -> Any:
    """Emit `w.is_taken(y, x)` for one agent: a constant False, so that LLVM removes the branch."""
    # a constant, so that LLVM removes the branch
    return _cgutils.false_bit


# ---- registration --------------------------------------------------------------------------------

# Numba's type hints lack `jit_options`
overload, overload_method = cast(Any, (extending.overload, extending.overload_method))

LAYOUTS: dict[EngineRecord, Layout] = {}
"""Layout of each world record type."""


def register_layout(layout: Layout) -> None:
    """Register a layout, so that methods of its rows can be compiled."""
    # a copy: the registry lives for ever and must not keep the scenario's types
    copied = replace(layout, types=tuple(map(replace, layout.types)))
    LAYOUTS.setdefault(
        make_world_record(from_dtype(layout.looks_dtype), layout.look_fields), copied
    )


def _strip_annotations(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature without annotations; Numba compares those of a method and its
    builder."""
    signature = inspect.signature(function)
    empty = inspect.Parameter.empty
    return signature.replace(
        parameters=[p.replace(annotation=empty) for p in signature.parameters.values()],
        return_annotation=inspect.Signature.empty,
    )


def register_method(
    name: str, of: type[EngineRecord] = WorldRecord, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator for a builder: it gets Numba types and returns the function to compile as
    method.

    Args:
        name: method name that rules or kernels call.
        of: record type that gets the method.
        options: options of `overload_method`.
    """

    def register(build: Callable[..., Any]) -> Callable[..., Any]:
        """Register the builder, without annotations, and return it."""

        def build_unannotated(*arguments: Any, **named: Any) -> Any:
            """Return the implementation for these argument types, without annotations."""
            implementation = build(*arguments, **named)
            implementation.__signature__ = _strip_annotations(implementation)
            return implementation

        build_unannotated.__signature__ = _strip_annotations(build)  # type: ignore[attr-defined]  # numba reads it
        overload_method(of, name, jit_options=PART_OPTIONS, **options)(build_unannotated)
        return build

    return register


def is_omitted(kind: Any) -> bool:
    """Return True if the Numba type of an argument says that it is omitted or None."""
    return kind is None or isinstance(kind, types.NoneType | types.Omitted)


def prefab_tables(layout: Layout) -> list[tuple[str, str, NDArray[Any]]]:
    """Return (column, field, (n,) values) for each field: its value in each prefab.

    The prefabs are those of the object types, by type index, then an empty one, then those of the
    agents.
    """
    prefabs = [dict(parts) for parts in (*layout.prefabs, (), *layout.agent_prefabs)]
    columns = []
    for cls in layout.components:
        columns.append((column_name(cls), "has", np.array([cls in parts for parts in prefabs])))
        for position, field in enumerate(fields_of(cls)):
            values = [parts[cls][position] if cls in parts else field.default for parts in prefabs]
            columns.append((column_name(cls), field.name, np.array(values)))
    return columns


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


@overload(high_product, jit_options=PART_OPTIONS)  # type: ignore[untyped-decorator]  # numba has no types
def _build_high_product(a: Any, b: Any) -> Any:
    """Return the function to compile for `high_product(a, b)` as one 128-bit multiplication."""
    return lambda a, b: multiply_high(a, b)


@register_method("integers", GeneratorRecord)
def _build_integers(r: Any, low: Any, high: Any = None) -> Any:
    """Return the function to compile for `w.rng.integers(low, high=None)`."""
    if is_omitted(high):
        return lambda r, low, high=None: integers(r, 0, low)
    return lambda r, low, high=None: integers(r, low, high)


@register_method("random", GeneratorRecord)
def _build_random(r: Any, size: Any = None) -> Any:
    """Return the function to compile for `w.rng.random(size=None)`."""
    if is_omitted(size):
        return lambda r, size=None: random(r)

    def fill(r: Any, size: Any = None) -> Any:
        """Return an array of samples of shape `size`."""
        values = np.empty(size, np.float64)
        flat = values.reshape(-1)
        for i in range(flat.size):
            flat[i] = random(r)
        return values

    return fill


@register_method("shuffle", GeneratorRecord)
def _build_shuffle(r: Any, x: Any) -> Any:
    """Return the function to compile for `w.rng.shuffle(x)`."""
    return lambda r, x: shuffle(r, x)


@register_method("choice", GeneratorRecord)
def _build_choice(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
    """Return the function to compile for `w.rng.choice(a, size=None, replace=True)` for an integer
    `a`."""
    if not isinstance(a, types.Integer):
        raise TypingError(
            "compiled rules call w.rng.choice(n) with an integer n; use the result as an index"
        )
    if is_omitted(size):
        return lambda r, a, size=None, replace=True: choice(r, a)

    def several(r: Any, a: Any, size: Any = None, replace: Any = True) -> Any:
        """Return (size,) int64 samples."""
        if not replace:
            return sample_without_replacement(r, a, size)
        drawn = np.empty(size, np.int64)
        for i in range(size):
            drawn[i] = choice(r, a)
        return drawn

    return several
