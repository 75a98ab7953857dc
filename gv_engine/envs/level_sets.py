"""Sets of levels: finite, without a level twice, and those for tests apart from those for training.

Seeds 0, 1, 2 … are gone through, and a level counts when it is met for the first time: levels are
the same if all that is in them is, whatever their seeds. Every fifth belongs to `test`, the others
to `train`, so that no level is in both, on any machine. `larger` has levels of the same scenario
whose parameter `size` is almost twice what it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dis import get_instructions
from itertools import count, islice
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.programs import codes_within, functions_of
from gv_engine.rules.call import Call
from gv_engine.rules.component import column_name, fields_of
from gv_engine.rules.errors import (
    BuiltInDoesNotCompileError,
    DoesNotCompileError,
    GVEngineError,
    nearest,
    shortened,
)
from gv_engine.rules.system import RENDERING, RESET, Phase
from gv_engine.scenario.document import read_file
from gv_engine.scenario.files import atomic_write, parse_json, read_bytes
from gv_engine.scenario.layout import Layout
from gv_engine.scenario.lookup import check_reference, make_reference
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import Backend, make_batch
from gv_engine.vector.planning import at_once
from gv_engine.vector.seeding import seeded

# ---- draws in play -------------------------------------------------------------------------------

_ANY = 2**62
"""In place of the number of a value: it may be any."""


def draws_in_play(scenario: Scenario) -> NDArray[np.bool_]:
    """(members, drawn) which of the values that a member of a mixture draws its rules may read
    after a reset."""
    found = np.zeros((len(scenario.members), scenario.layout.drawn), np.bool_)
    if not found.size:
        return found
    for read, member in zip(found, scenario.members, strict=True):
        for part in _parts(member):
            system = part.system
            if system.is_processor:  # whose code is anywhere
                read[:] = True
            roots = *system.functions, system.objects, *part.arguments.values()
            for number in (number for each in functions_of(roots) for number in _numbers(each)):
                read[number if -len(read) <= number < len(read) else slice(None)] = True
    return found


def _parts(member: Scenario) -> Iterator[Call]:
    """What runs after a reset, and is more than a picture."""
    for phase in Phase:
        if phase not in (RESET, RENDERING):
            for call in member.calls(phase):
                yield from call.parts()


def _numbers(function: FunctionType) -> Iterator[int]:
    """The numbers k of `w.drawn[k]` in a function; `_ANY` where k is worked out."""
    for code in codes_within(function.__code__):
        said = "drawn" in code.co_names or "drawn" in code.co_consts
        lines = [*get_instructions(code)] if said else []
        for named, number, taken in zip(lines, lines[1:], lines[2:], strict=False):
            if named.opname in ("LOAD_ATTR", "LOAD_CONST") and named.argval == "drawn":
                known = function.__globals__ if number.opname == "LOAD_GLOBAL" else {}
                value = known.get(number.argval, number.argval)
                # the second since Python 3.14
                indexed = taken.opname == "BINARY_SUBSCR" or taken.argrepr == "[]"
                yield value if indexed and isinstance(value, int) else _ANY


# ---- level sets ----------------------------------------------------------------------------------

Levels = str | Path | Sequence[int] | NDArray[np.integer[Any]]
"""The name of a set; or seeds, `range(100)`, `"0:100"` or `[3, 5, 8]`; or a file of `gv-engine
levels`."""

ENDING = ".json"
"""The end of the name of a file."""

_MOST = 5000
"""Levels of `train` and `test` together, and of any other set."""
_FIFTH = 5
_IDLE = 2000
"""Seeds without a new level, after which there is none."""
_FORMAT = 1
_LARGEST = 2**22
"""Bytes of a file."""


class LevelsError(GVEngineError):
    """There are no such levels."""


class LevelSet(NamedTuple):
    """Some levels of a scenario, each of them once.

    Attributes:
        scenario: whose levels they are; a larger one for `larger`.
        seeds: for each the first seed that has it.
    """

    scenario: Scenario
    seeds: tuple[int, ...]

    def save(self, path: Path) -> None:
        """Write them to a file, which may be named in place of a set.

        Raises:
            OSError: it cannot be written.
            LevelsError: its name has another end.
        """
        if path.suffix != ENDING:
            raise LevelsError(f"{path}: the name of a file of levels must end with {ENDING}")
        about = {"format": _FORMAT, "scenario": make_reference(self.scenario), "seeds": self.seeds}
        with atomic_write(path) as draft:
            draft.write_text(json.dumps(about) + "\n", "utf-8")


def level_set(scenario: Scenario, levels: Levels | LevelSet, world: str = "auto") -> LevelSet:
    """The levels of a set.

    Args:
        scenario: whose levels they are.
        levels: which, or what this function has returned.
        world: what draws them, as for environments; all draw the same.

    Raises:
        LevelsError: there is no such set, nothing in it, or the file is none of this scenario.
    """
    if isinstance(levels, LevelSet):
        return levels
    if not isinstance(levels, str | Path):
        return _of_seeds(scenario, levels, world)
    if levels in SETS:
        return SETS[str(levels)](scenario, world)
    if (seeds := _seeds(str(levels))) is not None:
        return _of_seeds(scenario, seeds, world)
    return _in_file(scenario, Path(levels))


def limited_to(
    scenario: Scenario, levels: Levels | LevelSet | None, world: str
) -> tuple[Scenario, NDArray[Any] | None]:
    """What is played by an environment with this option, and the generators that draw its levels;
    None for all levels that there are."""
    if levels is None:
        return scenario, None
    found = level_set(scenario, levels, world)
    return found.scenario, seeded(found.seeds)


def _train(scenario: Scenario, world: str) -> LevelSet:
    return _part(scenario, world, test=False)


def _test(scenario: Scenario, world: str) -> LevelSet:
    return _part(scenario, world, test=True)


def _part(scenario: Scenario, world: str, test: bool) -> LevelSet:
    found = tuple(islice(_different(scenario, count(), world), _MOST))
    own = found[_FIFTH - 1 :: _FIFTH]
    if not own:
        raise LevelsError(
            f"{scenario.name} has {len(found)} different levels, too few for a set of those to test"
        )
    return LevelSet(scenario, own if test else tuple(sorted({*found}.difference(own))))


def _larger(scenario: Scenario, world: str) -> LevelSet:
    return _of_seeds(larger(scenario), range(_MOST // _FIFTH), world)


SETS = {"train": _train, "test": _test, "larger": _larger}
"""What finds the levels of each set that has a name."""


def larger(scenario: Scenario) -> Scenario:
    """The same scenario with a `size` that is almost twice its own: 9 for 5, 17 for 9.

    Raises:
        LevelsError: it has no such parameter, or is as large as it may be.
    """
    known = scenario.document.parameters
    sizes = [each for each in known if (each.name, each.kind) == ("size", "int")]
    if not sizes:
        raise LevelsError(
            f"{scenario.name} has no parameter `size`, so that it has no larger levels: name the "
            f"scenario that has them"
        )
    size = min(2 * sizes[0].value - 1, sizes[0].maximum)
    if size <= sizes[0].value:
        raise LevelsError(f"{scenario.name} has the largest size that it may have, {size:g}")
    return _otherwise(scenario, {**scenario.document.settings, "size": int(size)})


def _otherwise(scenario: Scenario, settings: dict[str, Any]) -> Scenario:
    """The same scenario with other values of its parameters."""
    document = scenario.document
    if document.ref is None:
        raise LevelsError(f"{scenario.name} is of no file, in which its parameters could be set")
    found = Scenario.read(read_file(document.ref, document.trust, settings))
    return found.with_(**scenario.changes) if scenario.changes else found


def _seeds(text: str) -> range | None:
    """The seeds of `0:100`."""
    ends = text.split(":")
    return range(*map(int, ends)) if len(ends) == 2 and all(map(str.isdecimal, ends)) else None


def _of_seeds(scenario: Scenario, given: Any, world: str) -> LevelSet:
    row = isinstance(given, np.ndarray) and given.ndim == 1
    one_by_one = row or (isinstance(given, Sequence) and not isinstance(given, bytes | bytearray))
    seeds = [*islice(given, _MOST + 1)] if one_by_one else []
    if not 0 < len(seeds) <= _MOST or not all(map(_is_seed, seeds)):
        raise LevelsError(
            f"levels={shortened(str(given), 60)}: expected 1 to {_MOST:,} seeds, whole numbers "
            f"from 0 on, as range(100) or [3, 5, 8] has them; {', '.join(SETS)}; or a file {ENDING}"
        )
    return LevelSet(scenario, tuple(_different(scenario, map(int, seeds), world)))


def _is_seed(value: Any) -> bool:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return whole and 0 <= value < 2**63


def _in_file(scenario: Scenario, path: Path) -> LevelSet:
    if path.suffix != ENDING:
        allowed = (*SETS, "0:100", f"a file {ENDING} of `gv-engine splits --out`")
        raise LevelsError(f"no levels {str(path)!r}: {nearest(str(path), allowed)}")
    try:
        about = parse_json(read_bytes(path, _LARGEST, "sets of levels"))
        if about["format"] != _FORMAT:
            raise ValueError(f"its format is {about['format']!r}, and this version reads {_FORMAT}")
        known, seeds = check_reference(about["scenario"]), checked_seeds(about["seeds"])
    except OSError as error:
        raise LevelsError(str(error)) from None
    except Exception as error:  # whatever comes of values that may be anything
        why = shortened(f"{type(error).__name__}: {error}", 200)
        raise LevelsError(f"{path} is no set of levels, or a damaged one: {why}") from None
    if known["source"] != make_reference(scenario)["source"]:
        raise LevelsError(f"{path} has levels of {known['name']}, and not of {scenario.name}")
    if known["settings"] != scenario.document.settings:
        scenario = _otherwise(scenario, known["settings"])
    return LevelSet(scenario, seeds)


def checked_seeds(known: Any) -> tuple[int, ...]:
    """The seeds of a set, read back from a file.

    Raises:
        ValueError: they are something else.
    """
    seeds = tuple(known)
    if not seeds or not all(map(_is_seed, seeds)):
        raise ValueError("its seeds are no whole numbers from 0 on")
    return seeds


def _different(scenario: Scenario, seeds: Iterable[int], world: str) -> Iterator[int]:
    """The seed of each level that none of the seeds before it has."""
    worlds, read = _worlds(scenario, world), draws_in_play(scenario)
    known: set[int] = set()
    idle, following = 0, iter(seeds)
    while idle < _IDLE and (some := [*islice(following, len(worlds))]):
        chosen = np.arange(len(worlds)) < len(some)
        worlds.restart(chosen, dict(enumerate(some)))
        rows = worlds.snapshot(np.flatnonzero(chosen))
        keys = content_keys(rows, scenario.layout, read).tolist()
        for seed, key in zip(some, keys, strict=True):
            idle += 1
            if key not in known:
                known.add(key)
                idle = 0
                yield seed


def content_keys(rows: NDArray[Any], layout: Layout, read: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """(n,) numbers that are equal for worlds with the same things in the same places, in whatever
    order these came there, else as good as never; within one process.

    Args:
        read: which of the values that levels have drawn tell them apart, as `draws_in_play` has it.
    """
    plain = np.zeros((len(rows), layout.capacity), np.uint64)
    other = np.zeros_like(plain)
    salts = iter(np.random.default_rng(0).integers(2**64, size=2**10, dtype=np.uint64))
    for cls in layout.components:
        columns = rows[column_name(cls)]
        for field in fields_of(cls):
            found, into = _words(columns[field.name]), plain
            if field.is_entity:  # which one it is says nothing, but what is there
                found, into = np.take_along_axis(plain, found.astype(np.int64), 1), other
            into += np.where(columns["has"], _mixed(found ^ next(salts)), 0).astype(np.uint64)
        plain += columns["has"] * next(salts)
    keys: NDArray[np.uint64] = (_mixed(plain + other) * rows["alive"]).sum(1, dtype=np.uint64)
    figures = [rows[name] for name in ("member", "height", "width")]
    for k in np.flatnonzero(read.any(axis=0)):
        figures.append(np.where(read[rows["member"], k], rows["drawn"][:, k], 0))
    for values in figures:
        keys += _mixed(_words(values) ^ next(salts))
    return keys


def _words(values: NDArray[Any]) -> NDArray[np.uint64]:
    """Numbers of any kind as 64 bits each."""
    return values.astype(np.float64 if values.dtype.kind == "f" else np.int64).view(np.uint64)


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Words whose bits all depend on each other."""
    for _ in range(2):
        words = (words ^ words >> np.uint64(32)) * np.uint64(0xD6E8FEB86659FD93)
    return words ^ words >> np.uint64(32)


def _worlds(scenario: Scenario, world: str) -> Backend:
    """Those that levels are drawn in: no objects while others compile, which take longer."""
    if world == "object":
        return make_batch(scenario, 1, world)
    try:
        return make_batch(scenario, at_once(scenario), "compiled")
    except BuiltInDoesNotCompileError:
        raise
    except DoesNotCompileError:
        return make_batch(scenario, 1, "object")
