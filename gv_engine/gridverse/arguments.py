"""Conversion of arguments between user code, such as `object_type=Exit`, and systems, which take
indices."""

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


def _to_pair(value: Any) -> tuple[int, int]:
    """Return a pair of ints."""
    first, second = value
    return int(first), int(second)


def _to_metric(value: Any) -> Any:
    """Return a distance function from its name, or the function itself."""
    metric = _METRICS.get(value, value)
    if not callable(metric):
        raise TypeError(f"no distance function {value!r}: {describe_allowed(value, DISTANCES)}")
    return metric


def _identity(value: Any) -> Any:
    """Return the value unchanged."""
    return value


_CONVERTERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "shape": (_to_pair, lambda shape: Shape(*shape)),
    "layout": (_to_pair, _identity),
    "area": (as_area, as_area),
    **dict.fromkeys(TYPES, (index_of, _identity)),
    "color": (lambda color: int(Color(color)), Color),
    "colors": (
        lambda colors: tuple(sorted({int(Color(color)) for color in colors})),
        lambda colors: tuple(Color(color) for color in colors),
    ),
    "distance_function": (_to_metric, _identity),
}
"""Converters of reserved parameter names: (to systems, to functions of states)."""


def _nested_phase(name: str) -> Phase | None:
    """Return the phase of the functions that a parameter takes, such as `reward_functions`; None if
    none."""
    return NESTED.get(name) or NESTED.get(name.removesuffix("s"))


def to_system_arg(name: str, value: Any, call: Callable[[Any, Phase], Call]) -> Any:
    """Return a user's argument in the form that systems take.

    Args:
        name: name of the parameter.
        value: argument as users write it.
        call: function that converts a nested function of states to a call.

    Raises:
        TypeError, ValueError, KeyError: the value is not allowed for this parameter.
    """
    if phase := _nested_phase(name):
        return call(value, phase) if callable(value) else tuple(call(one, phase) for one in value)
    return _CONVERTERS[name][0](value) if name in _CONVERTERS else value


def to_function_arg(name: str, value: Any, fn: Callable[[Call], Any], types: ObjectTypes) -> Any:
    """Return a scenario's argument in the form that user-defined functions take.

    Args:
        name: name of the parameter.
        value: argument as scenarios store it.
        fn: function that converts a nested call to a function of states.
        types: object types of the scenario.
    """
    if is_nested_call(value):
        several = isinstance(value, tuple)
        return [fn(part) for part in value] if several else fn(value)
    if name in TYPES and value is not None:
        return class_of(types[value])
    return _CONVERTERS[name][1](value) if name in _CONVERTERS and value is not None else value
