"""What the protocol plays: built-in grids, and for each of them levels to train on and to test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from gv_engine.envs.level_sets import LevelsError, LevelSet, level_set
from gv_engine.language.errors import GVEngineError, nearest, shortened
from gv_engine.reading.library import built_in_grids
from gv_engine.reading.scenario import Scenario
from gv_engine.worlds.simulation import Simulation

SEEDS = 10
"""Of training, 0 to 9; each is a part of an entry."""
TESTED = 200
"""On which a part is tested."""


class ProtocolError(GVEngineError):
    """The protocol has no such scenario, or an entry is not as it should be."""


@cache
def scenarios() -> dict[str, Scenario]:
    """All built-in grids of one agent that say what a success is, by name, the smallest first."""
    found = {name: Scenario.load(name) for name in built_in_grids()}
    told = {name: each for name, each in found.items() if each.tells_success}
    return dict(sorted(told.items(), key=lambda item: _cells(item[1])))


def unknown_scenario(name: object) -> ProtocolError:
    """The error that says that the protocol has no such scenario."""
    told = shortened(json.dumps(name), 60)
    return ProtocolError(f"the protocol plays no {told}: {nearest(str(name), scenarios())}")


def matching(patterns: Sequence[Any]) -> list[str]:
    """The names of scenarios that patterns like `memory-*` name, the smallest first.

    Raises:
        ProtocolError: one names none.
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
        ProtocolError: the protocol does not play it.
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
        ProtocolError: the protocol does not play it.
    """
    scenario = played_scenario(name)
    try:
        train, test, apart = level_set(scenario, "train"), level_set(scenario, "test"), True
    except LevelsError:
        train, test, apart = None, level_set(scenario, range(TESTED)), False
    seeds = (test.seeds * TESTED)[:TESTED]
    return SplitLevels(train, LevelSet(test.scenario, seeds), apart)
