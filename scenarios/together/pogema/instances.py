"""Reader of POGEMA's instances: maps with or without starts and goals, in YAML.

A file is a list of scenarios of pogema-benchmark, whose maps are in the file `maps.yaml` beside it,
a mapping of maps by name, or the settings of one grid. Positions are rows and columns from 0 on.
"""

import itertools
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from numpy.typing import NDArray

OBSTACLE, MAY_START, MAY_END = 1, 2, 4
"""Bits of a cell: it is an obstacle; agents may start there; targets may be there."""
_CELLS = {
    "#": OBSTACLE,
    ".": MAY_START | MAY_END,
    "@": MAY_START,
    "$": MAY_END,
    "!": 0,
}
_MAX_BYTES = 2**24
"""Largest size of a file."""


class Instances(NamedTuple):
    """I instances as arrays; unused entries are -1.

    Attributes:
        shapes: (I, 2) int64: height and width.
        cells: (I, H, W) uint8: bits of each cell. Of a map without marks or fixed places only
            obstacles have one.
        starts: (I, A, 4) int32: cells of the agents, and first row in `goals` and number of rows.
        goals: (G, 2) int16: cells of the agents' targets, one after the other.
        seeds: (I,) int64: seed of random places.
    """

    shapes: NDArray[np.int64]
    cells: NDArray[np.uint8]
    starts: NDArray[np.int32]
    goals: NDArray[np.int16]
    seeds: NDArray[np.int64]


class _Instance(NamedTuple):
    """One instance, with the goals of each agent."""

    cells: NDArray[np.uint8]
    starts: list[Any]
    goals: list[list[Any]]
    seed: int


def read_instances(path: str) -> Instances:
    """Return the instances in a file.

    Raises:
        OSError: the file, or the `maps.yaml` beside it, cannot be read.
        ValueError: it is not YAML, or an instance is wrong.
    """
    files = Path(path), Path(path).with_name("maps.yaml")
    return _read(*(str(file) for file in files), *(_changed_at(file) for file in files))


@lru_cache(maxsize=4)
def _read(path: str, maps: str, *changed_at: int) -> Instances:
    data = _load(Path(path))
    if "environment" in data or "scenarios" in data:
        instances = [*_read_scenarios(data, _load(Path(maps)))]
    elif "map" in data:
        instances = [_make_instance("map", data["map"], data)]
    else:
        instances = [_make_instance(name, rows, {}) for name, rows in data.items()]
    if not instances:
        raise ValueError("found no maps, expected names with maps, or `scenarios`")
    return _stack(instances)


def _changed_at(file: Path) -> int:
    return file.stat().st_mtime_ns if file.exists() else 0


def _load(file: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file."""
    if file.stat().st_size > _MAX_BYTES:
        raise ValueError(f"{file.name}: larger than {_MAX_BYTES:,} bytes")
    try:
        data = yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        raise ValueError(f"{file.name}: not YAML: {error}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{file.name}: found {type(data).__name__}, expected a mapping")
    return data


def _read_scenarios(data: dict[str, Any], maps: dict[str, Any]) -> Iterable[_Instance]:
    """Yield the instances of a file of pogema-benchmark: its `scenarios`, or else each combination
    of maps and seeds of its `environment`."""
    environment = _as_mapping("environment", data.get("environment", {}))
    listed: Iterable[tuple[str, Mapping[str, Any]]]
    if "scenarios" in data:
        scenarios = _as_mapping("scenarios", data["scenarios"])
        listed = ((name, _as_mapping(name, settings)) for name, settings in scenarios.items())
    else:
        choices = _list_choices(environment, "map_name"), _list_choices(environment, "seed")
        pairs = (dict(zip(("map_name", "seed"), pair)) for pair in itertools.product(*choices))
        listed = ((str(pair["map_name"]), pair) for pair in pairs)
    for name, settings in listed:
        map_name = settings.get("map_name", environment.get("map_name"))
        if map_name not in maps:
            raise ValueError(f"{name}: found no map {map_name!r} in maps.yaml")
        yield _make_instance(name, maps[map_name], settings)


def _list_choices(environment: Mapping[str, Any], key: str) -> list[Any]:
    """Return the values of a key: those of its `grid_search`, or its only value."""
    value = environment.get(key)
    if isinstance(value, dict):
        value = value.get("grid_search")
    return value if isinstance(value, list) else [value]


def _make_instance(name: str, rows: Any, settings: Mapping[str, Any]) -> _Instance:
    """Return the instance of a map, a text or lists of 0 and 1, with the starts and goals of its
    letters or of `settings`.

    Raises:
        ValueError: an entry is wrong; the message begins with the `name` of the instance.
    """
    try:
        cells, starts, goals = _read_map(rows)
        if "agents_xy" in settings or "targets_xy" in settings:
            if starts:
                raise ValueError("found starts both in the map and in agents_xy; leave out one")
            starts = _read_positions(settings.get("agents_xy"), "agents_xy", cells)
            goals = [
                _read_positions(each, "targets_xy", cells)
                for each in _as_sequences(settings.get("targets_xy"))
            ]
            cells &= OBSTACLE
        if len(starts) != len(goals):
            raise ValueError(f"found {len(starts)} starts and {len(goals)} targets")
        if len({*map(tuple, starts)}) < len(starts):
            raise ValueError("two agents start in one cell")
        seed = settings.get("seed", -1)
        if seed is not None and not (type(seed) is int and -1 <= seed < 2**32):
            raise ValueError(f"found the seed {seed!r}, expected 0 to {2**32 - 1}")
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return _Instance(cells, starts, goals, -1 if seed is None else seed)


def _read_map(rows: Any) -> tuple[NDArray[np.uint8], list[Any], list[list[Any]]]:
    """Return the cells of a map, and the starts and goals that its letters are: `a` starts where
    the map has an a, and its goal is A."""
    if isinstance(rows, list):
        return np.array(rows, np.uint8) & OBSTACLE, [], []
    if not isinstance(rows, str) or not rows.split():
        raise ValueError(f"found {str(rows)[:40]!r}, expected rows of # and .")
    lines = rows.split()
    places: dict[str, list[int]] = {}
    for y, line in enumerate(lines):
        if len(line) != len(lines[0]):
            raise ValueError(f"row {y} has {len(line)} cells, the first one has {len(lines[0])}")
        for x, character in enumerate(line):
            if character not in _CELLS and not (character.isascii() and character.isalpha()):
                raise ValueError(f"found {character!r} in row {y}, expected {' '.join(_CELLS)} a A")
            places[character] = [y, x]
    cells = np.array([[_CELLS.get(c, MAY_START | MAY_END) for c in line] for line in lines])
    has_marks = not places.keys().isdisjoint("@$!")
    if not has_marks:
        cells &= OBSTACLE
    agents = sorted(c for c in places if c.islower())
    goals = sorted(c for c in places if c.isupper())
    if [c.upper() for c in agents] != goals:
        raise ValueError(f"found agents {' '.join(agents)} and targets {' '.join(goals)}")
    if agents and has_marks:
        raise ValueError("found letters and marks @, $ or !; leave out one of them")
    starts = [places[c] for c in agents]
    return cells.astype(np.uint8), starts, [[places[c]] for c in goals]


def _as_sequences(targets: Any) -> list[Any]:
    """Return a list of goals for each agent; `targets` may have one goal for each."""
    listed = targets if isinstance(targets, list) else []
    return [each if each and isinstance(each[0], list) else [each] for each in listed]


def _read_positions(positions: Any, key: str, cells: NDArray[np.uint8]) -> list[Any]:
    """Return a list of positions, all of them free cells of the map."""
    if not isinstance(positions, list):
        raise ValueError(f"{key}: found {positions!r}, expected a list of [row, column]")
    height, width = cells.shape
    for position in positions:
        match position:
            case [int(y), int(x)] if 0 <= y < height and 0 <= x < width:
                if cells[y, x] & OBSTACLE:
                    raise ValueError(f"{key}: {position} is an obstacle")
            case _:
                expected = f"[row, column] below [{height}, {width}]"
                raise ValueError(f"{key}: found {position!r}, expected {expected}")
    return positions


def _as_mapping(name: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: found {str(value)[:40]!r}, expected a mapping")
    return value


def _stack(instances: list[_Instance]) -> Instances:
    """Return the instances as arrays, padded to the largest."""
    count = len(instances)
    height, width = (max(each.cells.shape[axis] for each in instances) for axis in (0, 1))
    agents = max(1, *(len(each.starts) for each in instances))
    shapes = np.array([each.cells.shape for each in instances], np.int64)
    cells = np.full((count, height, width), OBSTACLE, np.uint8)
    starts = np.full((count, agents, 4), -1, np.int32)
    goals: list[Any] = []
    for k, each in enumerate(instances):
        cells[k, : each.cells.shape[0], : each.cells.shape[1]] = each.cells
        for agent, (start, sequence) in enumerate(zip(each.starts, each.goals)):
            starts[k, agent] = *start, len(goals), len(sequence)
            goals += sequence
    places = np.array(goals or [[-1, -1]], np.int16)
    return Instances(shapes, cells, starts, places, np.array([each.seed for each in instances]))
