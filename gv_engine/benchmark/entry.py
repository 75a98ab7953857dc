"""Entries: folders of results, to which anybody can add one.

An entry is a folder of two files, UTF-8:

- `entry.json`: its `name` and what it is `about`, for people; the `scenarios` that it is meant
  for; and, if `gv-engine benchmark` makes its parts, the `policy` and the `settings` that they are
  made with, and for a policy of somebody's own its `policy_digest`.
- `parts.jsonl`: for each scenario and seed a line of JSON, see `EntryPart`; of several the last
  counts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gv_engine.envs.level_sets import LevelsError, LevelSet, level_set
from gv_engine.rules.errors import GVEngineError, describe_allowed, shorten
from gv_engine.scenario.files import (
    append_line,
    atomic_write,
    check_digest,
    check_line,
    parse_json,
    read_bytes,
    remove_stale_drafts,
)
from gv_engine.scenario.library import list_built_in_grids
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation

# ---- plan ----------------------------------------------------------------------------------------

SEEDS = 10
"""Of training, 0 to 9; each is a part of an entry."""
TESTED = 200
"""On which a part is tested."""


class BenchmarkError(GVEngineError):
    """The benchmark has no such scenario, or an entry is not as it should be."""


@cache
def scenarios() -> dict[str, Scenario]:
    """All built-in grids of one agent that say what a success is, by name, the smallest first."""
    found = {name: Scenario.load(name) for name in list_built_in_grids()}
    told = {name: each for name, each in found.items() if each.tells_success}
    return dict(sorted(told.items(), key=lambda item: _cells(item[1])))


def unknown_scenario(name: object) -> BenchmarkError:
    """The error that says that the benchmark has no such scenario."""
    told = shorten(json.dumps(name), 60)
    return BenchmarkError(
        f"the benchmark plays no {told}: {describe_allowed(str(name), scenarios())}"
    )


def matching(patterns: Sequence[Any]) -> list[str]:
    """The names of scenarios that patterns like `memory-*` name, the smallest first.

    Raises:
        BenchmarkError: one names none.
    """
    named = [_named(pattern) for pattern in patterns]
    for pattern, names in zip(patterns, named, strict=True):
        if not names:
            raise unknown_scenario(pattern)
    return [name for name in scenarios() if any(name in names for names in named)]


def _named(pattern: object) -> list[str]:
    return [name for name in scenarios() if isinstance(pattern, str) and fnmatchcase(name, pattern)]


def _cells(scenario: Scenario) -> int:
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    return simulation.world.height * simulation.world.width


def played_scenario(name: str) -> Scenario:
    """The scenario of this name.

    Raises:
        BenchmarkError: the benchmark does not play it.
    """
    if name not in scenarios():
        raise unknown_scenario(name)
    return scenarios()[name]


class SplitLevels(NamedTuple):
    """The levels of a scenario.

    Attributes:
        train: to learn on; None for all that there are.
        test: `TESTED` of them, some more than once where there are fewer.
        apart: whether none of these is among the others. Where there are too few different levels
            for that, those that are there are to be learned.
    """

    train: LevelSet | None
    test: LevelSet
    apart: bool


@cache
def split_levels(name: str) -> SplitLevels:
    """The levels of a scenario, of which those to test are the first of its set `test`.

    Raises:
        BenchmarkError: the benchmark does not play it.
    """
    scenario = played_scenario(name)
    try:
        train, test, apart = level_set(scenario, "train"), level_set(scenario, "test"), True
    except LevelsError:
        train, test, apart = None, level_set(scenario, range(TESTED)), False
    seeds = (test.seeds * TESTED)[:TESTED]
    return SplitLevels(train, LevelSet(test.scenario, seeds), apart)


# ---- entry ---------------------------------------------------------------------------------------

ENTRY_FILE = "entry.json"
"""Of a folder: what the entry is."""
PARTS_FILE = "parts.jsonl"
"""Of a folder: what came of it, part by part."""
_FORMAT = 2
_LARGEST = 2**26
"""Bytes of a file."""
_MOST = 2**62
_LONGEST_CURVE = 10_000


@dataclass(frozen=True)
class EntryPart:
    """What came of one scenario and one seed.

    Attributes:
        scenario: its name.
        seed: of training, or of what the policy draws.
        digest: of the scenario, as `ScenarioIdentity` has it.
        lengths: for each level of the test how many steps it took to a success; 0 where there was
            none.
        different: how many of these levels there are without those that come again.
        held_out: whether none of these levels is among those that were learned.
        greedy: the same, where the likeliest action was taken in place of one drawn; () if it was
            not tried.
        steps: of training, of all worlds together.
        seconds: of computing that these took, in all threads together.
        curve: (steps, success) while it was trained, see `Figures`.
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


@dataclass(frozen=True)
class BenchmarkEntry:
    """A folder of parts.

    Attributes:
        path: of the folder.
        name, about: for people.
        policy: what `gv-engine benchmark` makes its parts with; "" if something else does.
        settings: of that.
        policy_digest: of the files of a policy of somebody's own, see
            `gv_engine.rollout.policy.policy_digest`; else "".
        scenarios: that it is meant for: names, or patterns like `memory-*`.
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
        """The entry of a folder.

        Raises:
            BenchmarkError: there is none, or it is not as it should be.
            OSError: it cannot be read.
        """
        if not cls.is_at(path):
            raise BenchmarkError(
                f"{path} is no entry: there is no {ENTRY_FILE}; name a policy for a new one, "
                f"--policy ppo"
            )
        given = _mapping(read_bytes(path / ENTRY_FILE, _LARGEST, "entries"), path / ENTRY_FILE)
        if given.get("format") != _FORMAT:
            told = shorten(json.dumps(given.get("format")), 40)
            raise BenchmarkError(
                f'{path / ENTRY_FILE}: found the format {told}, expected {{"format": {_FORMAT}, …}}'
            )
        texts = ("name", "about", "policy", "policy_digest")
        kinds = {**dict.fromkeys(texts, str), "settings": dict, "scenarios": list}
        for name, value in given.items():
            if name != "format" and not isinstance(value, kinds.get(name, ())):
                told = shorten(json.dumps({name: value}), 60)
                raise BenchmarkError(
                    f"{path / ENTRY_FILE}: found {told}; allowed are texts "
                    f"{', '.join(f'`{each}`' for each in texts)}, a mapping `settings`, and a "
                    f"list `scenarios`"
                )
        if not given.get("name"):
            raise BenchmarkError(
                f'{path / ENTRY_FILE} has no name: add "name": "…" for people to read'
            )
        patterns = given.pop("scenarios", ["*"])
        entry = cls(path, **{name: given[name] for name in kinds if name in given})
        try:
            for name in texts:
                check_line(getattr(entry, name), name)
            for pattern in patterns:
                check_line(pattern, "name or pattern of a scenario")
            matching(patterns)
        except (ValueError, BenchmarkError) as error:
            raise BenchmarkError(f"{path / ENTRY_FILE}: {error}") from None
        return replace(entry, scenarios=tuple(patterns))

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether a folder has one."""
        return (path / ENTRY_FILE).is_file()

    @property
    def meant_for(self) -> list[str]:
        """The names of the scenarios that it is meant for, the smallest first."""
        return matching(self.scenarios)

    def begin(self) -> BenchmarkEntry:
        """Write what it is into a new folder.

        Raises:
            FileExistsError: there is something already.
            OSError: it cannot be written.
        """
        remove_stale_drafts(self.path)
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise FileExistsError(f"{self.path} is there already, and is no entry: name a new one")
        self.path.mkdir(parents=True, exist_ok=True)
        about = {"format": _FORMAT, **asdict(self)}
        del about["path"]
        with atomic_write(self.path / ENTRY_FILE) as draft:
            draft.write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")
        return self

    def add(self, part: EntryPart) -> None:
        """Write a part, whole or not at all; others may do so meanwhile.

        Raises:
            BenchmarkError: it is not as it should be, or of a scenario that is not played.
            OSError: it cannot be written.
        """
        try:
            line = json.dumps(asdict(part))
            _understood(json.loads(line))
        except (TypeError, ValueError, BenchmarkError) as error:
            raise BenchmarkError(f"{self.path}: no such part is added, {error}") from None
        append_line(self.path / PARTS_FILE, line)

    def parts(self) -> dict[tuple[str, int], EntryPart]:
        """All parts that are there by scenario and seed, from the smallest scenario and seed on.

        Raises:
            BenchmarkError: one is not as it should be, or of a scenario that is not played.
            OSError: they cannot be read.
        """
        file, found = self.path / PARTS_FILE, dict[tuple[str, int], EntryPart]()
        if not file.exists():
            return found
        # what is behind the last end of a line has not been written to its end
        lines = read_bytes(file, _LARGEST, "parts").split(b"\n")[:-1]
        for number, line in enumerate(lines, 1):
            place = f"{file}:{number}"
            given = _mapping(line, place)
            try:
                part = _understood(given)
            except (ValueError, BenchmarkError) as error:
                raise BenchmarkError(f"{place}: {error}") from None
            found[part.scenario, part.seed] = part
        order = {name: place for place, name in enumerate(scenarios())}
        return dict(sorted(found.items(), key=lambda item: (order[item[0][0]], item[0][1])))


def _mapping(data: bytes, place: object) -> dict[str, Any]:
    """The mapping that is written there.

    Raises:
        BenchmarkError: it is none.
    """
    try:
        given = parse_json(data)
    except (ValueError, RecursionError) as error:
        raise BenchmarkError(f"{place} is no JSON: {shorten(str(error), 100)}") from None
    if not isinstance(given, dict):
        raise BenchmarkError(f"{place}: found {shorten(str(given), 40)}, expected {{…}}")
    return given


def _understood(given: dict[str, Any]) -> EntryPart:
    """A part out of values that may be anything.

    Raises:
        ValueError: they are no part.
        BenchmarkError: it is of a scenario that is not played.
    """
    known = {each.name for each in fields(EntryPart)}
    if unknown := sorted(given.keys() - known):
        raise ValueError(f"found {unknown[0]!r}, allowed are {', '.join(sorted(known))}")
    if missing := sorted({"scenario", "seed", "digest", "lengths"} - given.keys()):
        raise ValueError(f"it has no {missing[0]!r}, which a part needs")
    scenario = given["scenario"]
    if scenario not in [*scenarios()]:
        raise unknown_scenario(scenario)
    if not isinstance(held_out := given.get("held_out", True), bool):
        told = shorten(json.dumps(held_out), 40)
        raise ValueError(f"its held_out is {told}, expected true or false")
    return EntryPart(
        scenario,
        _whole(given, "seed", SEEDS - 1),
        check_digest(given["digest"]),
        _lengths(given, "lengths"),
        _whole(given, "different", TESTED, TESTED),
        held_out,
        _lengths(given, "greedy") if given.get("greedy") else (),
        _whole(given, "steps"),
        _number(given.get("seconds", 0.0), "seconds"),
        _curve(given.get("curve", [])),
    )


def _whole(given: dict[str, Any], name: str, most: int = _MOST, usual: int = 0) -> int:
    value = given.get(name, usual)
    if type(value) is not int or not 0 <= value <= most:
        told = shorten(json.dumps(value), 40)
        raise ValueError(f"its {name} is {told}, expected a whole number from 0 to {most:,}")
    return value


def _number(value: Any, name: str, most: float = _MOST) -> float:
    if type(value) not in (int, float) or not 0 <= value <= most:
        told = shorten(json.dumps(value), 40)
        raise ValueError(f"its {name} is {told}, expected a number from 0 to {most:,}")
    return float(value)


def _lengths(given: dict[str, Any], name: str) -> tuple[int, ...]:
    values = given[name]
    if not isinstance(values, list) or len(values) != TESTED:
        found = f"{len(values)} numbers" if isinstance(values, list) else shorten(str(values), 40)
        raise ValueError(f"its {name} are {found}, expected {TESTED}, one for each level")
    for value in values:
        if type(value) is not int or not 0 <= value < _MOST:
            told = shorten(json.dumps(value), 40)
            raise ValueError(
                f"its {name} have {told}, expected steps to a success, 0 where there was none"
            )
    return tuple(values)


def _curve(values: Any) -> tuple[tuple[int, float], ...]:
    if not isinstance(values, list) or not all(
        isinstance(each, list) and len(each) == 2 and type(each[0]) is int for each in values
    ):
        raise ValueError("its curve is no list of pairs [steps, success]")
    found = tuple((steps, _number(success, "curve", 1.0)) for steps, success in values)
    steps = [each[0] for each in found]
    if len(steps) > _LONGEST_CURVE or max(steps, default=0) > _MOST:
        raise ValueError(f"its curve has more than {_LONGEST_CURVE:,} pairs, or {_MOST:,} steps")
    if steps != sorted({*steps}) or min(steps, default=0) < 0:
        raise ValueError("its curve goes back: expected more steps in each pair [steps, success]")
    return found
