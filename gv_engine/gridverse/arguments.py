"""Arguments as authors write them, `object_type=Exit`, and as systems take them, an index."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gv_engine.gridverse.geometry import Position, Shape, as_area
from gv_engine.gridverse.grid_object import Color, class_of, index_of
from gv_engine.language.errors import nearest
from gv_engine.language.system import Call, Phase, is_nested
from gv_engine.reading.calls import NESTED
from gv_engine.reading.names import DISTANCES

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
        raise TypeError(f"no distance function {value!r}: {nearest(value, DISTANCES)}")
    return found


_TO_SYSTEMS: dict[str, Callable[[Any], Any]] = {
    "shape": _pair,
    "layout": _pair,
    "area": as_area,
    "object_type": index_of,
    "color": lambda color: int(Color(color)),
    "colors": lambda colors: tuple(sorted({int(Color(color)) for color in colors})),
    "distance_function": _distance,
}
_TO_OBJECTS: dict[str, Callable[[Any], Any]] = {
    "shape": lambda shape: Shape(*shape),
    "area": as_area,
    "object_type": class_of,
    "color": Color,
    "colors": lambda colors: tuple(Color(color) for color in colors),
}


def nested_phase(name: str) -> Phase | None:
    """The kind of functions that a parameter of this name takes, `reward_functions` for one."""
    return NESTED.get(name) or NESTED.get(name.removesuffix("s"))


def to_systems(name: str, value: Any) -> Any:
    """An author's argument for a system.

    Raises:
        TypeError, ValueError, KeyError: it means nothing for a parameter of this name.
    """
    return _TO_SYSTEMS[name](value) if name in _TO_SYSTEMS else value


def to_objects(name: str, value: Any, function: Callable[[Call], Any]) -> Any:
    """A scenario's argument for an author's function.

    Args:
        function: turns a nested call into a function of objects.
    """
    if is_nested(value):
        several = isinstance(value, tuple)
        return [function(part) for part in value] if several else function(value)
    return _TO_OBJECTS[name](value) if name in _TO_OBJECTS and value is not None else value
