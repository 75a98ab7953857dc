"""Entries of the benchmark: folders of results that anyone can add.

An entry is a folder of two UTF-8 files:

- `entry.json`: its `name` and a text `about` it; the `scenarios` that it covers; and, if
  `gv-engine benchmark` runs it, the `policy`, its `settings`, and the `policy_digest` of a custom
  policy.
- `parts.jsonl`: a line of JSON for each scenario and seed, see `EntryPart`; the last of several
  lines counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gv_engine.envs.level_sets import LevelsError, LevelSet, level_set
from gv_engine.rules.errors import GVEngineError, describe_allowed, shorten
from gv_engine.scenario.library import list_built_in_grids
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage import files
from gv_engine.world.simulation import make_level

# ---- plan ----------------------------------------------------------------------------------------

SEEDS = 10
"""Number of training seeds, from 0; each is a part of an entry."""
TESTED = 200
"""Number of test levels."""


class BenchmarkError(GVEngineError):
    """Error of an unknown scenario or an invalid entry."""


@cache
def all_scenarios() -> dict[str, Scenario]:
    """Return the scenarios of the benchmark by name, smallest grid first. They are all built-in
    grids with one agent and a definition of success, except BabyAI's levels."""
    refs = list_built_in_grids().items()
    names = (name for name, ref in refs if ref.file.parent.name != "babyai")
    grids = {name: Scenario.load(name) for name in names}
    eligible = {
        name: grid
        for name, grid in grids.items()
        if grid.tells_success and not grid.layout.is_bodiless
    }
    return dict(sorted(eligible.items(), key=lambda item: _num_cells(item[1])))


def unknown_scenario_error(name: object) -> BenchmarkError:
    """Return the error about a scenario that the benchmark does not have."""
    allowed = describe_allowed(str(name), all_scenarios())
    return BenchmarkError(f"the benchmark plays no {_shorten_json(name, 60)}{allowed}")


def match_scenarios(patterns: Sequence[Any]) -> list[str]:
    """Return the names of the benchmark's scenarios that match any of the glob patterns, such as
    `memory-*`. The smallest grid comes first.

    Raises:
        BenchmarkError: a pattern matches none.
    """
    found: set[str] = set()
    for pattern in patterns:
        names = [n for n in all_scenarios() if isinstance(pattern, str) and fnmatchcase(n, pattern)]
        if not names:
            raise unknown_scenario_error(pattern)
        found.update(names)
    return [name for name in all_scenarios() if name in found]


def _num_cells(scenario: Scenario) -> int:
    world = make_level(scenario, 0)
    return world.height * world.width


def find_scenario(name: Any) -> Scenario:
    """Return the scenario of the benchmark with this name.

    Raises:
        BenchmarkError: the benchmark does not have it.
    """
    if name not in [*all_scenarios()]:  # a list, as the name may be any value from a file
        raise unknown_scenario_error(name)
    return all_scenarios()[name]


class SplitLevels(NamedTuple):
    """Training and test levels of a scenario.

    Attributes:
        train: training levels; None for all levels.
        validation: levels to choose settings and weights by; None if there are too few.
        test: `TESTED` test levels, repeated if there are fewer different ones.
        apart: whether no test level is a training level; False if the scenario has too few levels.
        test_layout: `TESTED` levels whose layouts are not in `train`, repeated in the same way;
            None if the scenario has too few layouts.
    """

    train: LevelSet | None
    test: LevelSet
    apart: bool
    test_layout: LevelSet | None = None
    validation: LevelSet | None = None


@cache
def split_levels(name: str) -> SplitLevels:
    """Return the levels for training and for testing of the scenario with this name.

    Raises:
        BenchmarkError: the benchmark does not have the scenario.
    """
    scenario = find_scenario(name)
    names = "train", "validation", "test", "test-layout"
    train, validation, test, layouts = (_find_set(scenario, each) for each in names)
    tested = _repeat_levels(test or level_set(scenario, range(TESTED)))
    return SplitLevels(train, tested, bool(test), layouts and _repeat_levels(layouts), validation)


def _find_set(scenario: Scenario, name: str) -> LevelSet | None:
    """Return the level set `name` of a scenario, such as "test". None if the scenario has too few
    levels for it."""
    try:
        return level_set(scenario, name)
    except LevelsError:
        return None


def _repeat_levels(levels: LevelSet) -> LevelSet:
    return levels._replace(seeds=(levels.seeds * TESTED)[:TESTED])


# ---- entry ---------------------------------------------------------------------------------------

ENTRY_FILE = "entry.json"
"""File of an entry that describes it."""
PARTS_FILE = "parts.jsonl"
"""File of an entry with its results."""
_FORMAT = 2
_MAX_BYTES = 2**26
"""Maximum size of a file."""
_MAX_VALUE = 2**62
_MAX_POINTS = 10_000


@dataclass(frozen=True)
class EntryPart:
    """Part of a benchmark entry: the results for one scenario and one seed.

    Attributes:
        scenario: name of the scenario.
        seed: seed of the training, or of the policy.
        digest: digest of the scenario, as in `ScenarioIdentity`.
        lengths: for each test level the number of steps to success; 0 without success.
        different: number of different test levels.
        held_out: whether no test level is a training level.
        greedy: like `lengths`, with the most likely instead of sampled actions; () if not tested.
        steps: training steps of all worlds.
        seconds: CPU time of the training in all threads.
        curve: (steps, success rate) during training.
        layout_success: success rate on the levels of new layouts; None if not tested.
    """

    scenario: str
    seed: int
    digest: str
    lengths: tuple[int, ...]
    different: int = TESTED
    held_out: bool = True
    greedy: tuple[int, ...] = ()
    steps: int = 0
    seconds: float = 0.0
    curve: tuple[tuple[int, float], ...] = ()
    layout_success: float | None = None


@dataclass(frozen=True)
class BenchmarkEntry:
    """Entry of the benchmark, the results of one policy or algorithm: a folder with one part for
    each scenario and seed.

    Attributes:
        path: folder.
        name, about: texts for people.
        policy: policy that `gv-engine benchmark` runs; "" if another program makes the parts.
        settings: settings of the policy.
        policy_digest: digest of the files of a custom policy, see
            `gv_engine.envs.rollout.policy.policy_digest`; else "".
        scenarios: names or patterns such as `memory-*` of the covered scenarios.
    """

    path: Path
    name: str
    about: str = ""
    policy: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    policy_digest: str = ""
    scenarios: tuple[str, ...] = ("*",)

    @classmethod
    def read(cls, path: Path) -> BenchmarkEntry:
        """Read the benchmark entry in the folder `path`: one policy with its results.

        Raises:
            BenchmarkError: the folder holds no entry, or an invalid one.
            OSError: the entry cannot be read.
        """
        if not cls.exists_in(path):
            raise BenchmarkError(
                f"{path} is no entry: there is no {ENTRY_FILE}; name a policy for a new one, "
                f"--policy ppo"
            )
        file = path / ENTRY_FILE
        values = _parse_mapping(files.read_bytes(file, _MAX_BYTES, "entries"), file)
        try:
            _check_entry_values(values)
        except (ValueError, BenchmarkError) as error:
            raise BenchmarkError(f"{file}: {error}") from None
        if not values.get("name"):
            raise BenchmarkError(f'{file} has no name: add "name": "…" for people to read')
        del values["format"]
        return cls(path, **{**values, "scenarios": tuple(values.get("scenarios", ["*"]))})

    @staticmethod
    def exists_in(path: Path) -> bool:
        """Return whether a folder holds an entry."""
        return (path / ENTRY_FILE).is_file()

    @property
    def scenario_names(self) -> list[str]:
        """Names of the covered scenarios, smallest first."""
        return match_scenarios(self.scenarios)

    def create(self) -> BenchmarkEntry:
        """Write this entry's `entry.json` into its folder. The folder must be new or empty. Return
        the entry.

        Raises:
            FileExistsError: the folder is not empty.
            OSError: the file cannot be written.
        """
        files.remove_stale_drafts(self.path)
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise FileExistsError(f"{self.path} is there already, and is no entry: name a new one")
        files.make_folder(self.path)
        about = {"format": _FORMAT, **asdict(self)}
        del about["path"]
        text = json.dumps(about, indent=2, ensure_ascii=False)
        files.write_file(self.path / ENTRY_FILE, f"{text}\n", follow_links=False)
        return self

    def append(self, part: EntryPart) -> None:
        """Append `part`, the results of one scenario and seed, to the entry's file. Several
        processes may append at the same time.

        Raises:
            BenchmarkError: the part is invalid, or the benchmark does not have its scenario.
            OSError: the file cannot be written.
        """
        try:
            line = json.dumps(asdict(part))
            _parse_part(json.loads(line))
        except (TypeError, ValueError, BenchmarkError) as error:
            raise BenchmarkError(f"{self.path}: no such part is added, {error}") from None
        files.append_line(self.path / PARTS_FILE, line)

    def read_parts(self) -> dict[tuple[str, int], EntryPart]:
        """Return all saved results as a dict from (scenario, seed) to results, sorted by scenario
        size and seed.

        Raises:
            BenchmarkError: a part is invalid, or the benchmark does not have its scenario.
            OSError: the file cannot be read.
        """
        file, parts = self.path / PARTS_FILE, dict[tuple[str, int], EntryPart]()
        if not file.exists():
            return parts
        # what is behind the last end of a line has not been written to its end
        lines = files.read_bytes(file, _MAX_BYTES, "parts").split(b"\n")[:-1]
        for number, line in enumerate(lines, 1):
            values = _parse_mapping(line, f"{file}:{number}")
            try:
                part = _parse_part(values)
            except (ValueError, BenchmarkError) as error:
                raise BenchmarkError(f"{file}:{number}: {error}") from None
            parts[part.scenario, part.seed] = part
        order = [*all_scenarios()]
        return dict(sorted(parts.items(), key=lambda item: (order.index(item[0][0]), item[0][1])))


def _parse_mapping(data: bytes, location: object) -> dict[str, Any]:
    """Parse JSON text that must be an object, and return it as a dict. `location` is its place,
    such as a path, for error messages.

    Raises:
        BenchmarkError: the data is no JSON mapping.
    """
    try:
        value = files.parse_json(data)
    except (ValueError, RecursionError) as error:
        raise BenchmarkError(f"{location} is no JSON: {shorten(str(error), 100)}") from None
    if not isinstance(value, dict):
        raise BenchmarkError(f"{location}: found {shorten(str(value), 40)}, expected {{…}}")
    return value


def _check_entry_values(values: dict[str, Any]) -> None:
    """Check the JSON values of an `entry.json`.

    Raises:
        ValueError: a value is invalid.
        BenchmarkError: the benchmark does not have a scenario.
    """
    if (number := values.get("format")) != _FORMAT:
        raise ValueError(
            f'found the format {_shorten_json(number)}, expected {{"format": {_FORMAT}, …}}'
        )
    texts = ("name", "about", "policy", "policy_digest")
    types = {**dict.fromkeys(texts, str), "settings": dict, "scenarios": list, "format": int}
    for name, value in values.items():
        if not isinstance(value, types.get(name, ())):
            raise ValueError(
                f"found {_shorten_json({name: value}, 60)}; allowed are texts "
                f"{', '.join(f'`{name}`' for name in texts)}, a mapping `settings`, and a "
                f"list `scenarios`"
            )
    for name in texts:
        files.check_line(values.get(name, ""), name)
    patterns = values.get("scenarios", ["*"])
    for pattern in patterns:
        files.check_line(pattern, "name or pattern of a scenario")
    match_scenarios(patterns)


def _parse_part(values: dict[str, Any]) -> EntryPart:
    """Check the JSON values of one result, and return it as an `EntryPart`: the results for one
    scenario and seed.

    Raises:
        ValueError: the values are no part.
        BenchmarkError: the benchmark does not have the scenario.
    """
    allowed = {part_field.name for part_field in fields(EntryPart)}
    if unknown := sorted(values.keys() - allowed):
        raise ValueError(f"found {unknown[0]!r}, allowed are {', '.join(sorted(allowed))}")
    if missing := sorted({"scenario", "seed", "digest", "lengths"} - values.keys()):
        raise ValueError(f"it has no {missing[0]!r}, which a part needs")
    find_scenario(values["scenario"])
    if not isinstance(held_out := values.get("held_out", True), bool):
        raise ValueError(f"its held_out is {_shorten_json(held_out)}, expected true or false")
    rate = values.get("layout_success")
    return EntryPart(
        scenario=values["scenario"],
        seed=_check_number(values["seed"], "seed", SEEDS - 1),
        digest=files.check_digest(values["digest"]),
        lengths=_parse_lengths(values, "lengths"),
        different=_check_number(values.get("different", TESTED), "different", TESTED),
        held_out=held_out,
        greedy=_parse_lengths(values, "greedy") if values.get("greedy") else (),
        steps=_check_number(values.get("steps", 0), "steps"),
        seconds=float(_check_number(values.get("seconds", 0.0), "seconds", is_whole=False)),
        curve=_parse_curve(values.get("curve", [])),
        layout_success=None if rate is None else _check_rate(rate, "layout_success"),
    )


def _shorten_json(value: object, length: int = 40) -> str:
    return shorten(json.dumps(value), length)


def _check_number(value: Any, name: str, maximum: float = _MAX_VALUE, is_whole: bool = True) -> Any:
    """Return `value` if it is a number from 0 to `maximum`, and an int if `is_whole`. Else raise an
    error that calls it `name`.

    Raises:
        ValueError: the value is no number in this range, or no whole number where `is_whole`.
    """
    if type(value) not in (int, int if is_whole else float) or not 0 <= value <= maximum:
        expected, found = "whole number" if is_whole else "number", _shorten_json(value)
        raise ValueError(f"its {name} is {found}, expected a {expected} from 0 to {maximum:,}")
    return value


def _check_rate(value: Any, name: str) -> float:
    return float(_check_number(value, name, 1.0, is_whole=False))


def _parse_lengths(values: dict[str, Any], name: str) -> tuple[int, ...]:
    """Return the list `values[name]`, the number of steps in each test level, as a tuple. Raise an
    error if it is not such a list.

    Raises:
        ValueError: the value is no such list.
    """
    lengths = values[name]
    found = f"{len(lengths)} numbers" if isinstance(lengths, list) else shorten(str(lengths), 40)
    if not isinstance(lengths, list) or len(lengths) != TESTED:
        raise ValueError(f"its {name} are {found}, expected {TESTED}, one for each level")
    for value in lengths:
        if type(value) is not int or not 0 <= value < _MAX_VALUE:
            raise ValueError(
                f"its {name} have {_shorten_json(value)}, expected steps to a success, 0 where "
                f"there was none"
            )
    return tuple(lengths)


def _parse_curve(values: Any) -> tuple[tuple[int, float], ...]:
    """Convert a learning curve from a JSON list to a tuple of (steps, success rate) points. Raise
    an error if it is invalid.

    Raises:
        ValueError: the values are no curve.
    """
    if not isinstance(values, list) or not all(
        isinstance(point, list) and len(point) == 2 and type(point[0]) is int for point in values
    ):
        raise ValueError("its curve is no list of pairs [steps, success]")
    points = tuple((step, _check_rate(rate, "curve")) for step, rate in values)
    steps = [point[0] for point in points]
    if len(steps) > _MAX_POINTS or max(steps, default=0) > _MAX_VALUE:
        raise ValueError(f"its curve has more than {_MAX_POINTS:,} pairs, or {_MAX_VALUE:,} steps")
    if steps != sorted({*steps}) or min(steps, default=0) < 0:
        raise ValueError("its curve goes back: expected more steps in each pair [steps, success]")
    return points
