"""Registration of methods of engine records with Numba."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import extending, from_dtype, types
from numba.core import cgutils, typing
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
from numpy.typing import NDArray

from gv_engine.compiler.bounds import emit_bounds_check
from gv_engine.compiler.intrinsics import count_agents, emit_pointer
from gv_engine.compiler.numba_pipeline import PART_OPTIONS
from gv_engine.compiler.records import EngineRecord, WorldRecord, make_world_record
from gv_engine.rules.component import column_name, fields_of
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
