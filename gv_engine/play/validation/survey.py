"""Searches the levels of many seeds, and checks what level packs say about their solutions."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

import numpy as np

from gv_engine.play.validation.solver import (
    Solution,
    Solver,
    Verdict,
)
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import format_count
from gv_engine.rules.geometry import MOVE_BACKWARD, MOVE_FORWARD, MOVE_LEFT, MOVE_RIGHT
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation

_SURVEY_STATES = 200_000  # maximum states for each level of a survey


class Survey:
    """Searches the levels of several seeds within one time limit.

    Args:
        scenario: scenario of the levels.
        seeds: seeds of the levels.
        seconds: time limit for all levels; levels without a result by then are left out, except the
            first.
        checked: as for `Solver`.
        on_level: called after each level.
        is_outdated: as for `Solver`.

    Attributes:
        solutions: results by seed.
    """

    def __init__(
        self,
        scenario: Scenario,
        seeds: Sequence[int],
        seconds: float,
        checked: bool = False,
        on_level: Callable[[], object] = lambda: None,
        is_outdated: Callable[[], bool] = lambda: False,
    ) -> None:
        """Search the levels of all `seeds` for solutions until the time limit is reached."""
        limits = _SURVEY_STATES, seconds
        self._solver = Solver(scenario, *limits, checked, is_outdated=is_outdated)
        self._seconds, self._deadline = seconds, time.process_time() + seconds
        self._asked = 0
        self.solutions: dict[int, Solution] = {}
        for seed in seeds:
            self.add(seed)
            on_level()

    def add(self, seed: int) -> None:
        """Search the level of one more seed for a solution."""
        self._asked += 1
        solution = self._solver.solve(seed, self._deadline)
        in_time = time.process_time() < self._deadline or solution.verdict is not Verdict.UNKNOWN
        if in_time or not self.solutions:
            self.solutions[seed] = solution

    @property
    def all_alike(self) -> bool:
        """True if all seeds give the same level, without random steps."""
        by_chance = any(solution.by_chance for solution in self.solutions.values())
        return self._asked > 1 and not by_chance and len(self._solver.searched) == 1

    @property
    def extent(self) -> str:
        """Text such as `5 of 9 levels, within …`: the number of searched levels and the limits of
        the search."""
        limits = f"{_SURVEY_STATES:,} states of each and {self._seconds:g} s of computing in all"
        extent = f"{len(self.solutions)} of {self._asked} levels"
        return f"{'the one level' if self.all_alike else extent}, within {limits}"

    def seeds(self, verdict: Verdict) -> list[int]:
        """Return the seeds of the levels with this verdict."""
        return [seed for seed, solution in self.solutions.items() if solution.verdict is verdict]

    def __str__(self) -> str:
        won, lost, unknown = map(self.seeds, Verdict)
        parts = []
        if won:
            steps = sorted({len(self.solutions[seed].actions) for seed in won})
            shortest = f"{steps[0]} to " if len(steps) > 1 else ""
            count = "" if self.all_alike else f"{len(won)} of {len(self.solutions)} levels, "
            parts.append(f"{count}in {shortest}{format_count(steps[-1], 'step')} at least")
        if len(lost) == len(self.solutions):
            parts.append("no")
        elif lost:
            parts.append(f"not that of seed {_format_seeds(lost)}")
        if unknown:
            parts.append(f"no way found within the limits for seed {_format_seeds(unknown)}")
        if any(solution.by_chance for solution in self.solutions.values()):
            parts.append("each with the draws of its seed")
        return "; ".join(parts)


_MOVES = re.compile(r"(\d{0,6})([udlr])")
_MAX_MOVES = 100_000
# Letters of a solution, for an agent that faces up
_STEPS = {"u": MOVE_FORWARD, "d": MOVE_BACKWARD, "l": MOVE_LEFT, "r": MOVE_RIGHT}


def check_solution(scenario: Scenario) -> tuple[list[tuple[str, object]], list[str]]:
    """Play the solution that a level pack states for a level. Return facts as (label, value) pairs,
    and error messages."""
    level = scenario.document.pack_level
    if level is None or not level.solution:
        return [], []
    moves = "".join(level.solution.split()).lower()
    if unknown := _MOVES.sub("", moves):
        fault = f"its solution has {unknown[0]!r}, expected letters of udlrUDLR, as in rruR or 2ruR"
        return [], [f"{level.credit}: {fault}"]
    runs = [(int(times or 1), letter) for times, letter in _MOVES.findall(moves)]
    count = sum(times for times, _ in runs)
    if count > _MAX_MOVES:
        fault = f"its solution has {count:,} steps, allowed are {_MAX_MOVES:,}"
        return [], [f"{level.credit}: {fault}"]
    simulation = Simulation(scenario)
    world = simulation.world
    simulation.reset(np.random.default_rng(0))
    steps = (_STEPS[letter] for times, letter in runs for _ in range(times))
    for number, action in enumerate(steps, 1):
        simulation.step(action)
        if world.success[AGENT] if scenario.tells_success else world.terminated:
            return [("solution", f"wins in {number} steps")], []
    return [], [f"{level.credit}: its solution of {count} steps does not win"]


def check_par(scenario: Scenario, survey: Survey) -> tuple[list[tuple[str, object]], list[str]]:
    """Compare a level's par, the fewest steps according to its pack, with the shortest solutions in
    `survey`. Return facts as (label, value) pairs, and error messages."""
    level = scenario.document.pack_level
    lengths = {len(solution.actions) for solution in survey.solutions.values()} - {0}
    if level is None or not level.par or not lengths:
        return [], []
    if lengths == {level.par}:
        return [("par", f"{level.par}, as many steps as the shortest solution")], []
    steps = " or ".join(map(str, sorted(lengths)))
    return [], [
        f"{level.credit}: its par is {level.par}, and its shortest solution has {steps} steps"
    ]


def _format_seeds(seeds: list[int]) -> str:
    return ", ".join(map(str, seeds[:5])) + ", …" * (len(seeds) > 5)
