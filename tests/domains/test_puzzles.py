"""The packs of puzzles: each is won in its par and no sooner, and not without what it is about."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from gv_engine import AGENT, Scenario
from gv_engine.play.session.catalogue import Entry, find_level_at_offset, load_playable
from gv_engine.play.session.sprite_paths import find_broken_sprites, find_missing_sprites
from gv_engine.play.validation.solver import Solution, Solver, Verdict
from gv_engine.scenario.library import COURSE, PUZZLES
from gv_engine.world.simulation import Simulation

PACKS = COURSE[:-1]
LEVELS = [entry.source for pack in PACKS for entry in Entry(pack, "").levels]
OF_PUZZLES = [source for source in LEVELS if source.startswith("puzzles")]
HELPFUL = {
    **{"keys": "rgby", "boxes with keys": "XZ", "crates": "Cc", "levers": "123", "plates": "po"},
    **{"telepods": "stz", "belts": "nu()", "one-way doors": "}{AV"},
}
"""Characters of things that a puzzle is about."""
IN_THEIR_PLACE = str.maketrans("rgbyXZCc123postznu()}{AV", "." * 7 + "i" + "." * 5 + "#" * 11)


@cache
def solver() -> Solver:
    """One for all, as all have worlds of one shape."""
    return Solver(Scenario.load(LEVELS[0]), states=2_000_000, seconds=120)


def solved(scenario: Scenario) -> Solution:
    """What the solver, which plays compiled worlds, finds; the object world has to agree."""
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    solution = solver().solve_from(simulation.world.snapshot())
    for action in solution.actions:
        assert not simulation.world.done[AGENT]
        simulation.step(scenario.actions[action])
    assert bool(simulation.world.success[AGENT]) == (solution.verdict is Verdict.WON)
    return solution


def without(level: Scenario, characters: str) -> Scenario:
    """The level without the things that some characters stand for."""
    pack_level = level.document.pack_level
    assert pack_level
    found = re.escape(characters)
    rows = re.sub(f"[{found}]", lambda c: c[0].translate(IN_THEIR_PLACE), pack_level.map.text)
    return Scenario.load({"extends": "shared/rules.yaml", "map": rows}, folder=PUZZLES)


def test_the_course_leads_through_all_levels_to_levels_by_chance():
    found = [load_playable(LEVELS[0])]
    while following := find_level_at_offset(found[-1], 1):
        found.append(following)
    names = [source.replace("#", "-") for source in LEVELS]
    assert [scenario.name for scenario in found] == [*names, COURSE[-1]]
    assert find_level_at_offset(found[0], -1) is None
    before: Any = find_level_at_offset(found[1], -1)
    assert before.name == found[0].name
    assert len(OF_PUZZLES) >= 40
    levels: list[Any] = [scenario.document.pack_level for scenario in found[:-1]]
    assert all(level.title and level.author and level.par for level in levels)
    assert len({level.title for level in levels}) == len(levels)
    assert len({level.digest for level in levels}) == len(levels)


@pytest.mark.parametrize("pack", PACKS)
def test_all_that_is_in_it_is_drawn(pack: str):
    scenario = Scenario.load(pack)
    assert [*find_missing_sprites(scenario), *find_broken_sprites(scenario)] == []


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("source", LEVELS)
def test_par_is_the_length_of_a_shortest_way(source: str):
    scenario = Scenario.load(source)
    solution = solved(scenario)
    assert scenario.document.pack_level
    assert solution.verdict is Verdict.WON
    assert not solution.by_chance
    assert len(solution.actions) == scenario.document.pack_level.par


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("source", OF_PUZZLES)
def test_nothing_that_helps_is_needless(source: str):
    scenario = Scenario.load(source)
    level = scenario.document.pack_level
    assert level
    for what, characters in HELPFUL.items():
        if set(characters) & set(level.map.text):
            other = solved(without(scenario, characters))
            longer = other.verdict is not Verdict.WON or len(other.actions) > level.par
            assert longer, f"{level.title}: as fast without its {what}"
