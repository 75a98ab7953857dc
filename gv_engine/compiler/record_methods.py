"""Methods of `World` in compiled code, on the records of a batch.

Importing this module imports numba and teaches it the verbs of `gv_engine.rules.world`, the same
text, views, and a few twins. Others are in `draw_methods`, `life_methods` and `state_methods`; what
is derived from a row, and kept by every write, in `look_methods` and `list_methods`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.errors import TypingError

from gv_engine.compiler import observation
from gv_engine.compiler.exceptions import (
    message_code,
)
from gv_engine.compiler.intrinsics import (
    agreeing,
    cells,
    count_ones,
    line_of,
)
from gv_engine.compiler.method_registry import (
    LAYOUTS,
    method,
    overload,
    prefabs,
)
from gv_engine.compiler.numba_pipeline import PARTS
from gv_engine.compiler.records import (
    ViewRecord,
)
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import count_bits, flat_view
from gv_engine.rules.system import to_measurement
from gv_engine.rules.world import VERBS

# ---- the same text -------------------------------------------------------------------------------


def _teach_verb(name: str, verb: Callable[..., Any]) -> None:
    def build(*arguments: Any) -> Callable[..., Any]:
        return verb

    build.__signature__ = inspect.signature(verb)  # type: ignore[attr-defined]  # numba reads it
    method(name)(build)


for _name, _verb in VERBS.items():
    # all at once where that comes to the same
    _teach_verb("enclose_one_by_one" if _name == "enclose" else _name, _verb)


def _teach_view(name: str) -> None:
    def build(*arguments: Any) -> Callable[..., Any]:
        fields = arguments[0].fields
        by = observation.BY_CELLS if "seen" in fields else observation.BY_BITS
        return (observation.BY_ENTITIES if "entity" in fields else by)[name]

    build.__signature__ = inspect.signature(observation.BY_BITS[name])  # type: ignore[attr-defined]
    method(name, ViewRecord)(build)


for _name in observation.BY_BITS:
    _teach_view(_name)


@overload(to_measurement, jit_options=PARTS)  # type: ignore[untyped-decorator]  # numba has no types
def _measured(value: Any) -> Any:
    def impl(value: Any) -> Any:
        return 0 + value

    def as_it_is(value: Any) -> Any:
        return value

    # the sum of Numba's uint64 and int64 is a float
    is_wide = getattr(value, "bitwidth", 0) == 64
    return as_it_is if is_wide or isinstance(value, types.BaseTuple) else impl


@overload(count_bits, jit_options=PARTS)  # type: ignore[untyped-decorator]  # numba has no types
def _ones(bits: Any) -> Any:
    def impl(bits: Any) -> Any:
        return count_ones(bits)

    return impl


@overload(flat_view, jit_options=PARTS)  # type: ignore[untyped-decorator]  # numba has no types
def _line(array: Any) -> Any:
    if getattr(array, "layout", "") == "C":
        return lambda array: line_of(array)
    return None


# ---- twins -----------------------------------------------------------------------------------


@method("fail", prefer_literal=True)
def _fail(w: Any, message: Any) -> Any:
    if not isinstance(message, types.StringLiteral):
        raise TypingError("w.fail takes a text written out in the rule")
    code = message_code(message.literal_value)

    def impl(w: Any, message: Any) -> None:
        if w.error == 0:
            w.error = code

    return impl


@method("nothing_is_intact")
def _nothing_is_intact(w: Any) -> Any:
    """For the kernels: whether no rule has written to a column of NOTHING."""
    layout = LAYOUTS[w]
    agrees = agreeing(prefabs(layout))
    empty = layout.type_table_length
    return lambda w: agrees(w, NOTHING, empty)


@method("in_line")
def _in_line(w: Any) -> Any:
    """For the kernels: all cells of the grid, row by row."""
    return lambda w: cells(w)


@method("agents")
def _agents(w: Any) -> Any:
    if LAYOUTS[w].has_smaller_members:
        return lambda w: range(1, w.present + 1)
    behind = LAYOUTS[w].agents + 1
    return lambda w: range(1, behind)


@method("agent_at")
def _agent_at(w: Any, y: Any, x: Any) -> Any:
    return lambda w, y, x: w.who[y, x]
