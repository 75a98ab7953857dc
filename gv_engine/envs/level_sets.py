"""Level sets: finite lists of distinct levels, with sets for training, validation and testing.

Seeds 0, 1, 2 … are tried in order, and a level counts when it occurs for the first time. Levels are
equal if their contents are equal, whatever their seeds. The layout of a level is its content
without agents, missions and sampled values: its size, and the type, state, colour, place and
content of things.

- `test`: every fifth level. Its layout may be in `train`, with another start.
- `test-layout`: all levels of every fifth layout, so that none of its layouts is in `train`.
- `validation`: all levels of every tenth layout, and where there are fewer than five layouts every
  tenth level; none is in a test set. To choose settings, runs or weights by.
- `train`: all other levels.
- `larger`: levels of the same scenario with almost twice its parameter `size`.

The sets are equal on every machine and in every backend.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.backend import make_batch, make_expansion_batch
from gv_engine.envs.backends.seeding import make_seeded_generators
from gv_engine.rules import errors
from gv_engine.rules.component import AGENT, column_name, fields_of
from gv_engine.rules.functions import find_functions, names_of
from gv_engine.rules.system import RENDERING, RESET, Phase
from gv_engine.scenario.documents.document import read_file
from gv_engine.scenario.documents.loading import check_reference, make_reference
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import parse_json, read_bytes, write_file

# ---- sampled values ------------------------------------------------------------------------------

_ANY = 2**62
"""Index that stands for any value, because a rule computes the index."""


def find_values_read_by_rules(scenario: Scenario) -> NDArray[np.bool_]:
    """Return an array of shape (scenarios of the mixture, random values). It is True where a rule
    may read `w.drawn[k]`, a random value of the level, after the reset, so that levels with other
    values play differently."""
    num_values = scenario.layout.drawn
    is_read = np.zeros((len(scenario.members), num_values), np.bool_)
    if not is_read.size:
        return is_read
    phases = [phase for phase in Phase if phase not in (RESET, RENDERING)]
    for is_read_by_member, member in zip(is_read, scenario.members, strict=True):
        for call in member.walk_calls(*phases):
            system = call.system
            if system.is_processor:  # its code may read all values
                is_read_by_member[:] = True
            roots = *system.functions, system.objects, *call.arguments.values()
            for function in find_functions(roots):
                for index in _find_read_indices(function):
                    is_known = -num_values <= index < num_values
                    is_read_by_member[index if is_known else slice(None)] = True
    return is_read


def _find_read_indices(function: FunctionType) -> Iterator[int]:
    """Yield each k for which the code of a function reads `w.drawn[k]`, a random value of the
    level. Yield `_ANY` if it computes k."""
    names = names_of(function)
    if not names.is_known:
        yield _ANY
    nodes = [node for statement in names.body for node in ast.walk(statement)]
    # index of each node that is indexed, by the identity of the node
    indices = {id(node.value): node.slice for node in nodes if isinstance(node, ast.Subscript)}
    for node in nodes:
        match node:
            case ast.Attribute(_, "drawn") | ast.Subscript(_, ast.Constant("drawn")):
                match indices.get(id(node)):
                    case ast.Constant(int(k)):
                        yield k
                    case ast.Name(name) if isinstance(function.__globals__.get(name), int):
                        yield function.__globals__[name]
                    case _:
                        yield _ANY


# ---- level sets ----------------------------------------------------------------------------------

Levels = str | Path | Sequence[int] | NDArray[np.integer[Any]]
"""Name of a set; or seeds as `range(100)`, `"0:100"` or `[3, 5, 8]`; or a file of `gv-engine splits
--out`."""

FILE_SUFFIX = ".json"
"""Suffix of files of level sets."""

_MAX_LEVELS = 5000
"""Maximum number of levels of `train`, `validation`, `test` and `test-layout` together, and of any
other set."""
_TEST_INTERVAL = 5
_TEST_SLICE = slice(_TEST_INTERVAL - 1, None, _TEST_INTERVAL)
_VALIDATION_SLICE = slice(3, None, 10)  # every tenth, and none of `_TEST_SLICE`
_MAX_SEEDS_WITHOUT_NEW_LEVEL = 2000
"""Seeds that are tried in a row without a new level before the search ends."""
_FORMAT = 1
_MAX_BYTES = 2**22
"""Size limit of a file."""


class LevelsError(errors.GVEngineError):
    """A set of levels does not exist or cannot be used."""


class LevelSet(NamedTuple):
    """A set of different levels of a scenario, such as those for training.

    Attributes:
        scenario: scenario of the levels; for `larger`, the larger one.
        seeds: first seed of each level.
    """

    scenario: Scenario
    seeds: tuple[int, ...]

    def save(self, path: Path) -> None:
        """Write the set into a JSON file. The file's name can be used as `levels=`.

        Raises:
            OSError: the file cannot be written.
            LevelsError: the name has another suffix.
        """
        if path.suffix != FILE_SUFFIX:
            raise LevelsError(f"{path}: the name of a level file must end with {FILE_SUFFIX}")
        about = {"format": _FORMAT, "scenario": make_reference(self.scenario), "seeds": self.seeds}
        write_file(path, json.dumps(about) + "\n")


def level_set(scenario: Scenario, levels: Levels | LevelSet, world: str = "auto") -> LevelSet:
    """Return the set of levels that an argument `levels=` means: a name such as "train", a sequence
    of seeds, a file, or a `LevelSet`.

    >>> level_set(Scenario.load("keydoor-5x5"), "0:3", world="object").seeds
    (0, 1, 2)

    Args:
        scenario: scenario of the levels.
        levels: name, seeds, file, or a `LevelSet`, which is returned.
        world: backend that samples the levels, as for environments; all give the same result.

    Raises:
        LevelsError: there is no such set, the set is empty, or the file is of another scenario.
    """
    if isinstance(levels, LevelSet):
        return levels
    if not isinstance(levels, str | Path):
        return _set_of_seeds(scenario, levels, world)
    if levels in SETS:
        return SETS[str(levels)](scenario, world)
    if (seeds := _parse_seed_range(str(levels))) is not None:
        return _set_of_seeds(scenario, seeds, world)
    return _load_set(scenario, Path(levels))


def limit_to_levels(
    scenario: Scenario, levels: Levels | LevelSet | None, world: str
) -> tuple[Scenario, NDArray[Any] | None]:
    """Return the scenario to play, and the state of the random generator that makes each level in
    `levels`. If `levels` is None, all levels may occur, and there is None in place of the
    states."""
    if levels is None:
        return scenario, None
    limited = level_set(scenario, levels, world)
    return limited.scenario, make_seeded_generators(limited.seeds)


def _make_level_set(scenario: Scenario, backend: str, name: str) -> LevelSet:
    """Return the set `name` of a scenario: "train", "validation", "test" or "test-layout".
    `backend` ("compiled", for example) says in which kind of world the levels are sampled.

    Raises:
        LevelsError: there are too few distinct levels or layouts.
    """
    levels = [*islice(_iter_distinct_levels(scenario, count(), backend), _MAX_LEVELS)]
    layouts = [*dict.fromkeys(layout for _, layout in levels)]
    seeds = _make_sets(levels, layouts)[name]
    noun, found = ("layouts", layouts) if name == "test-layout" else ("levels", levels)
    if len(found) < _TEST_INTERVAL or not seeds:
        counted = f"{len(found)} different {noun}" if len(found) != 1 else f"one {noun[:-1]}"
        raise LevelsError(
            f"{scenario.name} has {counted}, too few for the set {name}: at least {_TEST_INTERVAL}"
        )
    return LevelSet(scenario, tuple(seeds))


def _make_sets(levels: Sequence[tuple[int, int]], layouts: Sequence[int]) -> dict[str, list[int]]:
    """Split levels, given as (seed, layout key), into the sets "train", "validation", "test" and
    "test-layout"; return the seeds of each set by its name. `layouts` has the layout keys in order.
    "test-layout" gets all levels with some of the layouts."""
    seeds = [seed for seed, _ in levels]
    test_layouts = {*layouts[_TEST_SLICE]}
    sets = {"test": seeds[_TEST_SLICE]}
    sets["test-layout"] = [seed for seed, layout in levels if layout in test_layouts]
    test_seeds = {*sets["test"], *sets["test-layout"]}
    if len(layouts) >= _TEST_INTERVAL:
        validation_layouts = {*layouts[_VALIDATION_SLICE]}
        validation_seeds = {seed for seed, layout in levels if layout in validation_layouts}
    else:  # too few layouts to divide
        validation_seeds = {*seeds[_VALIDATION_SLICE]}
    sets["validation"] = [seed for seed in seeds if seed in validation_seeds - test_seeds]
    sets["train"] = [seed for seed in seeds if seed not in validation_seeds | test_seeds]
    return sets


def _make_larger_set(scenario: Scenario, backend: str) -> LevelSet:
    return _set_of_seeds(make_larger(scenario), range(_MAX_LEVELS // _TEST_INTERVAL), backend)


SETS: dict[str, Callable[[Scenario, str], LevelSet]] = {
    "train": partial(_make_level_set, name="train"),
    "validation": partial(_make_level_set, name="validation"),
    "test": partial(_make_level_set, name="test"),
    "test-layout": partial(_make_level_set, name="test-layout"),
    "larger": _make_larger_set,
}
"""Functions that find the levels of each named set."""


TEST_SETS = "test", "test-layout"
"""Named sets that nothing is chosen by."""


def make_larger(scenario: Scenario) -> Scenario:
    """Return the scenario with larger levels: its parameter `size` is almost doubled, for example
    from 5 to 9 or from 9 to 17.

    Raises:
        LevelsError: there is no such parameter, or the scenario has the largest allowed size.
    """
    known = scenario.document.parameters
    sizes = [p for p in known if (p.name, p.kind) == ("size", "int")]
    if not sizes:
        raise LevelsError(
            f"{scenario.name} has no parameter `size`, so it has no larger levels: name a "
            f"scenario that has one"
        )
    size = min(2 * sizes[0].value - 1, sizes[0].maximum)
    if size <= sizes[0].value:
        raise LevelsError(f"{scenario.name} already has its largest size, {size:g}")
    return _with_settings(scenario, {**scenario.document.settings, "size": int(size)})


def _with_settings(scenario: Scenario, settings: dict[str, Any]) -> Scenario:
    """Return the scenario, loaded again from its file with the parameter values `settings`.

    Raises:
        LevelsError: the scenario was not read from a file.
    """
    document = scenario.document
    if document.ref is None:
        raise LevelsError(f"{scenario.name} is from no file, so its parameters cannot be set")
    changed = Scenario.read(read_file(document.ref, document.trust, settings))
    return changed.with_(**scenario.changes) if scenario.changes else changed


def _parse_seed_range(text: str) -> range | None:
    ends = text.split(":")
    seeds = range(*map(int, ends)) if len(ends) == 2 and all(map(str.isdecimal, ends)) else None
    return seeds or None


def _set_of_seeds(scenario: Scenario, levels: Any, world: str) -> LevelSet:
    """Return the set of levels for a sequence of seeds. Seeds that give the same level as an
    earlier one are left out. `world` says in which kind of world the levels are sampled.

    Raises:
        LevelsError: the argument is no sequence of 1 to 5000 seeds.
    """
    is_vector = isinstance(levels, np.ndarray) and levels.ndim == 1
    is_sequence = isinstance(levels, Sequence) and not isinstance(levels, bytes | bytearray)
    seeds = [*islice(levels, _MAX_LEVELS + 1)] if is_vector or is_sequence else []
    if not 0 < len(seeds) <= _MAX_LEVELS or not all(map(_is_seed, seeds)):
        raise LevelsError(
            f"levels={errors.shorten(str(levels), 60)}: expected 1 to {_MAX_LEVELS:,} seeds, whole "
            f"numbers from 0 on, as range(100) or [3, 5, 8] has them; {', '.join(SETS)}; or a file "
            f"{FILE_SUFFIX}"
        )
    distinct = _iter_distinct_levels(scenario, map(int, seeds), world)
    return LevelSet(scenario, tuple(seed for seed, _ in distinct))


def _is_seed(value: Any) -> bool:
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return is_integer and 0 <= value < 2**63


def _load_set(scenario: Scenario, path: Path) -> LevelSet:
    """Return the set of levels in the JSON file at `path`. Raise an error if it belongs to another
    scenario.

    Raises:
        LevelsError: there is no such file, or the file is damaged or of another scenario.
    """
    if path.suffix != FILE_SUFFIX:
        allowed = (*SETS, "0:100", f"a file {FILE_SUFFIX} of `gv-engine splits --out`")
        raise LevelsError(f"no levels {str(path)!r}{errors.describe_allowed(str(path), allowed)}")
    try:
        about = parse_json(read_bytes(path, _MAX_BYTES, "sets of levels"))
        if about["format"] != _FORMAT:
            raise ValueError(f"its format is {about['format']!r}, and this version reads {_FORMAT}")
        reference, seeds = check_reference(about["scenario"]), check_level_seeds(about["seeds"])
    except OSError as error:
        raise LevelsError(str(error)) from None
    except Exception as error:  # contents of a file may be anything
        cause = errors.shorten(f"{type(error).__name__}: {error}", 200)
        raise LevelsError(f"{path} is no level set, or is damaged: {cause}") from None
    if reference["source"] != make_reference(scenario)["source"]:
        raise LevelsError(
            f"{path} has levels of {reference['name']}, not of {scenario.name}; this writes such: "
            f"gv-engine splits {scenario.name} --levels test --out FILE{FILE_SUFFIX}"
        )
    if reference["settings"] != scenario.document.settings:
        scenario = _with_settings(scenario, reference["settings"])
    return LevelSet(scenario, seeds)


def check_level_seeds(values: Any) -> tuple[int, ...]:
    """Return `values`, the seeds of a set that were read from a file, as a tuple. Raise an error if
    they are no seeds.

    Raises:
        ValueError: they are no integers from 0 on, or there are none.
    """
    seeds = tuple(values)
    if not seeds or not all(map(_is_seed, seeds)):
        raise ValueError("its seeds are not all whole numbers from 0 on")
    return seeds


def _iter_distinct_levels(
    scenario: Scenario, seeds: Iterable[int], world: str
) -> Iterator[tuple[int, int]]:
    """Yield (seed, layout key) for each seed, except for those whose level an earlier seed has
    given. `world` says in which kind of world the levels are sampled."""
    seen_keys: set[int] = set()
    num_without_new = 0
    for seed, key, layout in iter_level_keys(scenario, seeds, world):
        if key not in seen_keys:
            seen_keys.add(key)
            num_without_new = 0
            yield seed, layout
            continue
        num_without_new += 1
        if num_without_new == _MAX_SEEDS_WITHOUT_NEW_LEVEL:
            return


def find_layouts(levels: LevelSet, world: str = "auto") -> list[int]:
    """Return for each level of a set a key of its layout, equal for levels of the same layout;
    keys are only comparable within one process. `world` is as for `level_set`."""
    return [layout for _, _, layout in iter_level_keys(levels.scenario, levels.seeds, world)]


def iter_level_keys(
    scenario: Scenario, seeds: Iterable[int], world: str
) -> Iterator[tuple[int, int, int]]:
    """Yield (seed, level key, layout key) for each seed. Equal levels have equal level keys, and
    equal layouts equal layout keys. `world` says in which kind of world the levels are sampled."""
    is_object = world == "object"
    backend = make_batch(scenario, 1, world) if is_object else make_expansion_batch(scenario)
    is_read = find_values_read_by_rules(scenario)
    remaining = iter(seeds)
    while block := [*islice(remaining, len(backend))]:
        mask = np.arange(len(backend)) < len(block)
        backend.restart(mask, dict(enumerate(block)))
        rows = backend.snapshot(np.flatnonzero(mask))
        keys = compute_content_keys(rows, scenario.layout, is_read).tolist()
        layouts = compute_content_keys(rows, scenario.layout, None).tolist()
        yield from zip(block, keys, layouts, strict=True)


def compute_content_keys(
    rows: NDArray[Any], layout: Layout, is_read: NDArray[np.bool_] | None
) -> NDArray[np.uint64]:
    """Return a hash of each world in `rows`, records of world states. Worlds with the same objects
    in the same cells have the same hash, unless their levels' random values differ where `is_read`
    is True, because rules read them. If `is_read` is None, hash only the layout.

    The order in which objects were spawned does not count. Hashes are only comparable within one
    process.

    Args:
        rows: (n,) worlds.
        layout: layout of the rows.
        is_read: (members, drawn) sampled values that tell levels apart, see
            `find_values_read_by_rules`; None for the hash of the layout.
    """
    rng = np.random.default_rng(0)
    salts = (rng.integers(2**64, dtype=np.uint64) for _ in count())
    entity_keys = _compute_entity_keys(rows, layout, salts, only_layout=is_read is None)
    keys: NDArray[np.uint64] = entity_keys.sum(1, dtype=np.uint64)
    if layout.terrain:  # cells share its entities
        terrain = np.isin(rows["ground"], layout.terrain_entities) * rows["ground"]
        words = _to_words(terrain.reshape(len(rows), -1))
        cells = np.arange(words.shape[1], dtype=np.uint64) << np.uint64(32)
        keys += np.where(words, _mix_bits(words ^ cells ^ next(salts)), 0).sum(1, dtype=np.uint64)
    scalars = [rows[name] for name in ("member", "height", "width")]
    if is_read is not None:
        for k in np.flatnonzero(is_read.any(axis=0)):
            scalars.append(np.where(is_read[rows["member"], k], rows["drawn"][:, k], 0))
    for values in scalars:
        keys += _mix_bits(_to_words(values) ^ next(salts))
    return keys


def _compute_entity_keys(
    rows: NDArray[Any], layout: Layout, salts: Iterator[np.uint64], only_layout: bool
) -> NDArray[np.uint64]:
    """Return an (n, entities) array with a hash of each entity in `rows`, records of n worlds; 0
    where there is no entity. With `only_layout`, hash only the appearance and cell of objects, and
    leave out agents. `salts` are random numbers."""
    is_counted = np.ones(layout.capacity, np.bool_)
    is_counted[AGENT : AGENT + layout.agents] = not only_layout
    seen_fields = {("position", "y"), ("position", "x"), ("kind", "value"), ("color", "value")}
    seen_fields.update(kind.state for kind in layout.types if kind.state)
    own_keys = np.zeros((len(rows), layout.capacity), np.uint64)
    inner_keys = np.zeros_like(own_keys)  # of the entities that an entity contains
    for cls in layout.components:
        columns = rows[column_name(cls)]
        has = layout.extend_column(columns["has"]) * is_counted
        for field in fields_of(cls):
            is_seen = field.is_entity or (column_name(cls), field.name) in seen_fields
            if only_layout and not is_seen:
                continue
            words, keys = _to_words(layout.extend_column(columns[field.name])), own_keys
            if field.is_entity:  # entity numbers differ, so hash the entity's contents
                words = np.take_along_axis(own_keys, words.astype(np.int64), 1)
                keys = inner_keys
            items = words.reshape(*own_keys.shape, max(1, len(field.items))).transpose(2, 0, 1)
            for item_words in items:
                keys += np.where(has, _mix_bits(item_words ^ next(salts)), 0).astype(np.uint64)
        component_salt = next(salts)
        if not only_layout:
            own_keys += has * component_salt
    keys = _mix_bits(own_keys + inner_keys)
    return keys * (rows["alive"] * is_counted)  # type: ignore[no-any-return]  # numpy's


def _to_words(values: NDArray[Any]) -> NDArray[np.uint64]:
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64).view(np.uint64)


def _mix_bits(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each word, whose bits depend on all bits of the word."""
    for _ in range(2):
        words = (words ^ words >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    return words ^ words >> np.uint64(32)
