"""Teaching numba the methods of our records."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numba import extending, from_dtype, types
from numpy.typing import NDArray

from gv_engine.batches.compiled import lone_agents  # noqa: F401  # found before what is taught here
from gv_engine.batches.compiled.parts import PARTS
from gv_engine.batches.compiled.records import (
    OurRecord,
    WorldRecord,
    showing,
)
from gv_engine.language.component import column_name, fields_of
from gv_engine.reading.layout import Layout

# their own types know no such `jit_options`
overload, overload_method = cast(Any, (extending.overload, extending.overload_method))

LAYOUTS: dict[OurRecord, Layout] = {}


def know(layout: Layout) -> None:
    """From now on, the methods of the rows of a layout can be compiled."""
    # for ever, so that the types are others: nobody plays with these
    copied = replace(layout, types=tuple(map(replace, layout.types)))
    LAYOUTS.setdefault(showing(from_dtype(layout.looks_dtype), layout.shown), copied)


def _bare(function: Callable[..., Any]) -> inspect.Signature:
    """The signature without annotations: numba compares those of a method and what builds it."""
    signature = inspect.signature(function)
    empty = inspect.Parameter.empty
    return signature.replace(
        parameters=[p.replace(annotation=empty) for p in signature.parameters.values()],
        return_annotation=inspect.Signature.empty,
    )


def method(
    name: str, of: type[OurRecord] = WorldRecord, **options: Any
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
