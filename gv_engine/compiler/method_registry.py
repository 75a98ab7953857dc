"""Teaching numba the methods of our records."""

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

from gv_engine.compiler.bounds import refuse_beyond
from gv_engine.compiler.intrinsics import agents_of, place_in
from gv_engine.compiler.numba_pipeline import PARTS
from gv_engine.compiler.records import (
    EngineRecord,
    WorldRecord,
    showing,
)
from gv_engine.rules.component import column_name, fields_of
from gv_engine.scenario.layout import Layout

# ---- lone agents ---------------------------------------------------------------------------------

# what numba says of their types leads nowhere
_extending, _cgutils, _types, _typing = cast(Any, (extending, cgutils, types, typing))

_AGENT = ir.IntType(64)(1)
_METHODS: dict[str, Any] = {}


@_extending.infer_getattr
class _OfLoneAgents(AttributeTemplate):
    key = WorldRecord

    def generic_resolve(self, w: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        if name not in _METHODS or agents_of(w) > 1:
            return None
        return _types.BoundFunction(_METHODS[name], w)


def _teach(name: str, returns: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Teach numba a method: the function emits it, `(context, builder, w, kinds, arguments)`."""

    class Method(AbstractTemplate):
        key = f"{__name__}.{name}"

        def generic(self, args: Any, kws: Any) -> Any:
            given = (*args, *kws.values())
            return _typing.signature(returns, *given, recvr=cast(Any, self).this)

    def teach(emit: Callable[..., Any]) -> Callable[..., Any]:
        def lower(context: Any, builder: Any, sig: Any, arguments: Any) -> Any:
            return emit(context, builder, sig.args[0], sig.args[1:], arguments)

        _METHODS[name] = Method
        _extending.lower_builtin(Method.key, WorldRecord, _types.VarArg(_types.Any))(lower)
        return emit

    return teach


def _places(context: Any, builder: Any, w: Any, world: Any, e: Any) -> Iterator[tuple[Any, Any]]:
    """For y and x of an entity, the type of its column and its place."""
    columns = w.fields["position"]
    for name in ("y", "x"):
        field = columns.type.fields[name]
        first = place_in(context, builder, world, columns.offset + field.offset, field.type.dtype)
        yield field.type.dtype, builder.gep(first, [e])


@_teach("stand", types.none)
def _stand(context: Any, builder: Any, w: Any, kinds: Any, arguments: Any) -> Any:
    world, agent, *cell = arguments
    agent = context.cast(builder, agent, kinds[0], types.intp)
    if context.enable_boundscheck:
        refuse_beyond(context, builder, agent, ir.IntType(64)(w.fields["alive"].type.shape[0]))
    for (kind, place), own, value in zip(
        _places(context, builder, w, world, agent), kinds[1:], cell
    ):
        builder.store(context.cast(builder, value, own, kind), place)
    return context.get_dummy_value()


@_teach("agent_at", types.intp)
def _agent_at(context: Any, builder: Any, w: Any, kinds: Any, arguments: Any) -> Any:
    world, *cell = arguments
    is_there = _cgutils.true_bit
    for (kind, place), own, value in zip(_places(context, builder, w, world, _AGENT), kinds, cell):
        stands = context.cast(builder, builder.load(place), kind, types.intp)
        asked = context.cast(builder, value, own, types.intp)
        is_there = builder.and_(is_there, builder.icmp_signed("==", stands, asked))
    return builder.zext(is_there, ir.IntType(64))


@_teach("is_taken", types.boolean)
def _is_taken(context: Any, builder: Any, w: Any, kinds: Any, arguments: Any) -> Any:
    # a constant, so that nothing is left of the question
    return _cgutils.false_bit


# ---- teaching ------------------------------------------------------------------------------------

# their own types know no such `jit_options`
overload, overload_method = cast(Any, (extending.overload, extending.overload_method))

LAYOUTS: dict[EngineRecord, Layout] = {}


def know(layout: Layout) -> None:
    """From now on, the methods of the rows of a layout can be compiled."""
    # for ever, so that the types are others: nobody plays with these
    copied = replace(layout, types=tuple(map(replace, layout.types)))
    LAYOUTS.setdefault(showing(from_dtype(layout.looks_dtype), layout.look_fields), copied)


def _bare(function: Callable[..., Any]) -> inspect.Signature:
    """The signature without annotations: numba compares those of a method and what builds it."""
    signature = inspect.signature(function)
    empty = inspect.Parameter.empty
    return signature.replace(
        parameters=[p.replace(annotation=empty) for p in signature.parameters.values()],
        return_annotation=inspect.Signature.empty,
    )


def method(
    name: str, of: type[EngineRecord] = WorldRecord, **options: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Teach numba a method of records: the function gets types and returns what to compile."""

    def teach(build: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*arguments: Any, **named: Any) -> Any:
            method = build(*arguments, **named)
            method.__signature__ = _bare(method)
            return method

        choose.__signature__ = _bare(build)  # type: ignore[attr-defined]  # numba reads it
        overload_method(of, name, jit_options=PARTS, **options)(choose)
        return build

    return teach


def is_none(kind: Any) -> bool:
    """Whether an argument's type says that it was left out or None."""
    return kind is None or isinstance(kind, types.NoneType | types.Omitted)


def prefabs(layout: Layout) -> list[tuple[str, str, NDArray[Any]]]:
    """Of each column (name, field) the numbers of all prefabs: those of types by their indices,
    behind them the empty one and those of the agents."""
    given = [dict(parts) for parts in (*layout.prefabs, (), *layout.agent_prefabs)]
    columns = []
    for cls in layout.components:
        columns.append((column_name(cls), "has", np.array([cls in parts for parts in given])))
        for position, field in enumerate(fields_of(cls)):
            values = [parts[cls][position] if cls in parts else field.default for parts in given]
            columns.append((column_name(cls), field.name, np.array(values)))
    return columns
