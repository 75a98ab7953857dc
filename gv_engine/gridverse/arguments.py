"""Arguments as authors write them, `object_type=Exit`, and as systems take them, an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gv_engine.gridverse.geometry import Position, Shape, as_area
from gv_engine.gridverse.grid_object import Color, class_of, index_of
from gv_engine.rules.call import Call, is_nested_call
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.system import Phase
from gv_engine.scenario.calls import NESTED, TYPES
from gv_engine.scenario.resolver import DISTANCES

_METRICS: dict[Any, Any] = {
    Position.manhattan_distance: DISTANCES["manhattan"],
    Position.euclidean_distance: DISTANCES["euclidean"],
    **DISTANCES,
}


def _pair(value: Any) -> tuple[int, int]:
    first, second = value
    return int(first), int(second)


def _distance(value: Any) -> Any:
    found = _METRICS.get(value, value)
    if not callable(found):
        raise TypeError(f"no distance function {value!r}: {describe_allowed(value, DISTANCES)}")
    return found


def _as_it_is(value: Any) -> Any:
    return value


_RESERVED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "shape": (_pair, lambda shape: Shape(*shape)),
    "layout": (_pair, _as_it_is),
    "area": (as_area, as_area),
    **dict.fromkeys(TYPES, (index_of, _as_it_is)),
    "color": (lambda color: int(Color(color)), Color),
    "colors": (
        lambda colors: tuple(sorted({int(Color(color)) for color in colors})),
        lambda colors: tuple(Color(color) for color in colors),
    ),
    "distance_function": (_distance, _as_it_is),
}
"""By the name of a parameter: its argument for systems, and for functions of states."""


def nested_phase(name: str) -> Phase | None:
    """The kind of functions that a parameter of this name takes, `reward_functions` for one."""
    return NESTED.get(name) or NESTED.get(name.removesuffix("s"))


def to_systems(name: str, value: Any, call: Callable[[Any, Phase], Call]) -> Any:
    """An author's argument for a system.

    Args:
        call: turns a nested function of states into a call.

    Raises:
        TypeError, ValueError, KeyError: it means nothing for a parameter of this name.
    """
    if phase := nested_phase(name):
        return call(value, phase) if callable(value) else tuple(call(one, phase) for one in value)
    return _RESERVED[name][0](value) if name in _RESERVED else value


def to_objects(name: str, value: Any, function: Callable[[Call], Any], types: ObjectTypes) -> Any:
    """A scenario's argument for an author's function.

    Args:
        types: of the scenario.
        function: turns a nested call into a function of objects.
    """
    if is_nested_call(value):
        several = isinstance(value, tuple)
        return [function(part) for part in value] if several else function(value)
    if name in TYPES and value is not None:
        return class_of(types[value])
    return _RESERVED[name][1](value) if name in _RESERVED and value is not None else value
