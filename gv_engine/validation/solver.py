"""Can it be won? The shortest way to success, by a breadth-first search over states."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.function_digests import uses_name
from gv_engine.rules.call import Call
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import (
    BuiltInDoesNotCompileError,
    DoesNotCompileError,
    SeveralAgentsError,
)
from gv_engine.rules.geometry import MOVE_BACKWARD, MOVE_FORWARD, MOVE_LEFT, MOVE_RIGHT
from gv_engine.rules.system import OBSERVATION, REGISTRIES, VISIBILITY
from gv_engine.rules.turns import ANY
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import Backend, make_batch, view_as_words
from gv_engine.vector.compiled_backend import CompiledBatch
from gv_engine.vector.planning import (
    depends_on_steps,
    expand_states,
    get_expansion_size,
    hash_states,
)
from gv_engine.world.simulation import Simulation

_SURVEYED = 200_000
"""States of each level of many."""

_MOST_JOINT = 1024
"""Ways for several agents to act at once."""

_TOGETHER = 1 << 23
"""Bytes of what follows states that are expanded together."""


class Verdict(Enum):
    """Whether a level can be won."""

    WON = "can be won"
    LOST = "cannot be won"
    UNKNOWN = "no way found within the limits"


class Solution(NamedTuple):
    """What a search has found.

    Attributes:
        verdict: whether the level can be won.
        actions: numbers in the scenario's action space, a shortest way; () if none was found. Of
            several agents, a tuple of them for each step.
        met: how many states were met.
        depth: after how many steps the search has ended.
        by_chance: something in the level is drawn, so that the way holds for its seed alone.
    """

    verdict: Verdict
    actions: tuple[Any, ...]
    met: int
    depth: int
    by_chance: bool


class _Draws(Exception):
    """A step has drawn, so that states differ by what they will draw, too."""


class Solver:
    """Searches levels of one scenario, each of them once, whichever seeds it has.

    A win is an end of the episode that the `success_function` calls one; without it, any end by the
    `terminating_function`. Several agents search together: all of them win, or any of them where
    the episode is over as soon as one is done. Where a step draws, the search takes the very draws
    that follow from the seed: states that will draw something else are different ones.

    Args:
        scenario: whose levels they are.
        states: the search gives up after so many.
        seconds: or after so long, of this process's time, so that no other one changes its answers.
        checked: as for `make_batch`.

    Raises:
        BuiltInDoesNotCompileError: a rule of the engine does not compile.
        SeveralAgentsError: there are more ways for agents to act at once than a search can try.
    """

    def __init__(
        self,
        scenario: Scenario,
        states: int = 1_000_000,
        seconds: float = 60.0,
        checked: bool = False,
    ) -> None:
        self._states, self._seconds = states, seconds
        self._limit = scenario.max_steps or states
        self._tells_success = scenario.tells_success
        self._scenario = scenario
        self._one_suffices = np.array([each.sharing.ends == ANY for each in scenario.members])
        self._actions = _joint_actions(scenario)
        self._by_steps = depends_on_steps(scenario)
        self._worlds = _worlds(scenario, checked)
        # to look may draw, which changes nothing that the agent does
        blind = _blind(scenario)
        self._blind = self._worlds if blind is scenario else _worlds(blind, checked)
        followers = scenario.layout.dtype.itemsize * len(self._actions)
        self._together = max(1, _TOGETHER // followers)
        self._searched: dict[int, Solution] = {}

    @property
    def num_levels(self) -> int:
        """How many levels it has searched in which nothing is drawn, equal ones once."""
        return len(self._searched)

    def solve(self, seed: int, ends: float | None = None) -> Solution:
        """Search the level of a seed, unless that of another seed was the same.

        Args:
            seed: of the level.
            ends: the `time.process_time` when it gives up, rather than after the solver's seconds.

        Raises:
            RuleError: a rule is not defined on a state.
        """
        self._worlds.set_generator(0, np.random.default_rng(seed))
        self._worlds.reset(np.arange(len(self._worlds)) == 0)
        return self.solve_from(self._worlds.snapshot(0), ends)

    def solve_from(self, row: NDArray[Any], ends: float | None = None) -> Solution:
        """Search from a state.

        Args:
            row: a () row of the scenario's layout.
            ends: as for `solve`.

        Raises:
            RuleError: a rule is not defined on a state.
        """
        start = row[None]
        level = int(hash_states(start, False, True, self._worlds.uses_compiled_code)[0])
        if level not in self._searched:
            ends = time.process_time() + self._seconds if ends is None else ends
            try:
                self._searched[level] = self._search(self._blind, start, False, ends)
            except _Draws:
                return self._search(self._worlds, start, True, ends)
        return self._searched[level]

    def _search(self, worlds: Backend, start: NDArray[Any], draws: bool, ends: float) -> Solution:
        how = draws, self._by_steps, worlds.uses_compiled_code
        states, known = start, hash_states(start, *how)
        steps: list[Any] = []  # (n,) for each step: from which state before it, and by which action
        while len(states):
            if len(steps) == self._limit:
                break
            layer: list[Any] = []
            for begin in range(0, len(states), self._together):
                if len(known) > self._states or time.process_time() > ends:
                    return Solution(Verdict.UNKNOWN, (), len(known), len(steps), draws)
                some = states[begin : begin + self._together]
                found = expand_states(worlds, some, self._actions)
                rows, num_actions = found.rows.reshape(-1), found.rows.shape[1]
                if not draws and _have_drawn(some, found.rows):
                    raise _Draws
                won = self._wins(rows)
                if won.any():
                    state, action = divmod(int(won.argmax()), num_actions)
                    back = [action, *_way_back(steps, begin + state)][::-1]
                    way = self._actions[back].tolist()
                    way = [tuple(each) if isinstance(each, list) else each for each in way]
                    return Solution(Verdict.WON, tuple(way), len(known), len(way), draws)
                keys, first = np.unique(hash_states(rows, *how), return_index=True)
                place = np.searchsorted(known, keys)
                unknown = known.take(place, mode="clip") != keys
                known = np.insert(known, place[unknown], keys[unknown])
                new = first[unknown & (rows["terminated"][first] == 0)]
                words = view_as_words(rows.take(new))
                layer.append((begin + new // num_actions, new % num_actions, words))
            before, by, words = (np.concatenate(parts) for parts in zip(*layer, strict=True))
            steps.append((before, by))
            states = words.view(start.dtype)[:, 0]
        return Solution(Verdict.LOST, (), len(known), len(steps), draws)

    def _wins(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """(n,) which states are wins."""
        if not self._tells_success:
            return np.asarray(rows["terminated"] != 0)
        each, played = rows["success"][:, 1:] != 0, rows["member"]
        every = (each | ~self._scenario.present_agents(played)).all(axis=1)
        return np.asarray(np.where(self._one_suffices[played], each.any(axis=1), every))


def _joint_actions(scenario: Scenario) -> NDArray[np.int64]:
    """(a,) the actions, or (a, A) all that several agents can do at once."""
    count, agents = len(scenario.actions), scenario.layout.agents
    if agents == 1:
        return np.arange(count)
    if count**agents > _MOST_JOINT:
        raise SeveralAgentsError(
            f"{scenario.name}: {agents} agents have {count**agents:,} ways to act at once, and a "
            f"search tries {_MOST_JOINT:,} at most; take fewer agents or actions"
        )
    return np.indices((count,) * agents).reshape(agents, -1).T.copy()


class Survey:
    """Searches the levels of several seeds, within one limit of seconds.

    Args:
        scenario: whose levels they are.
        seeds: of them.
        seconds: for all of them together; what is not found by then is left out, but for the first.
        checked: as for `Solver`.
        told: is called after each level.

    Attributes:
        found: what was found, by seed.
    """

    def __init__(
        self,
        scenario: Scenario,
        seeds: Sequence[int],
        seconds: float,
        checked: bool = False,
        told: Callable[[], object] = lambda: None,
    ) -> None:
        self._solver = Solver(scenario, _SURVEYED, seconds, checked)
        self._seconds, self._ends = seconds, time.process_time() + seconds
        self._asked = 0
        self.found: dict[int, Solution] = {}
        for seed in seeds:
            self.add(seed)
            told()

    def add(self, seed: int) -> None:
        """Search the level of one more seed."""
        self._asked += 1
        solution = self._solver.solve(seed, self._ends)
        in_time = time.process_time() < self._ends or solution.verdict is not Verdict.UNKNOWN
        if in_time or not self.found:
            self.found[seed] = solution

    @property
    def all_alike(self) -> bool:
        """Whether all seeds give one level, in which nothing is drawn."""
        by_chance = any(solution.by_chance for solution in self.found.values())
        return self._asked > 1 and not by_chance and self._solver.num_levels == 1

    @property
    def extent(self) -> str:
        """How many it has searched, and how far."""
        limits = f"{_SURVEYED:,} states of each and {self._seconds:g} s of computing in all"
        extent = f"{len(self.found)} of {self._asked} levels"
        return f"{'the one level' if self.all_alike else extent}, within {limits}"

    def seeds(self, verdict: Verdict) -> list[int]:
        """Of which levels that is true."""
        return [seed for seed, solution in self.found.items() if solution.verdict is verdict]

    def __str__(self) -> str:
        won, lost, open = map(self.seeds, Verdict)
        parts = []
        if won:
            steps = sorted({len(self.found[seed].actions) for seed in won})
            through = f"{steps[0]} to {steps[-1]}" if len(steps) > 1 else f"{steps[0]}"
            which = "" if self.all_alike else f"{len(won)} of {len(self.found)} levels, "
            parts.append(f"{which}in {through} steps at least")
        if lost:
            parts.append(f"not that of seed {_named(lost)}")
        if open:
            parts.append(f"no way found within the limits for seed {_named(open)}")
        if any(solution.by_chance for solution in self.found.values()):
            parts.append("each with the draws of its seed")
        return "; ".join(parts)


_STEPS = {"u": MOVE_FORWARD, "d": MOVE_BACKWARD, "l": MOVE_LEFT, "r": MOVE_RIGHT}
"""The letters of a solution, for an agent that looks up."""


def check_solution(scenario: Scenario) -> tuple[list[tuple[str, object]], list[str]]:
    """What came of the solution that a level of a pack brings: facts, and what is wrong."""
    level = scenario.document.pack_level
    if level is None or not level.solution:
        return [], []
    simulation = Simulation(scenario)
    world = simulation.world
    simulation.reset(np.random.default_rng(0))
    for number, letter in enumerate(level.solution, 1):
        if letter.lower() not in _STEPS:
            return [], [f"{level.credit}: its solution has {letter!r}, expected one of udlrUDLR"]
        simulation.step(_STEPS[letter.lower()])
        won = world.success[AGENT] if scenario.tells_success else world.terminated
        if won:
            return [("solution", f"wins in {number} steps")], []
    return [], [f"{level.credit}: its solution of {len(level.solution)} steps does not win"]


def _named(seeds: list[int]) -> str:
    return ", ".join(map(str, seeds[:5])) + ", …" * (len(seeds) > 5)


def _way_back(steps: list[Any], state: int) -> Iterator[int]:
    """The actions that led to a state, the last one first."""
    for before, by in reversed(steps):
        yield int(by[state])
        state = before[state]


def _have_drawn(states: NDArray[Any], followers: NDArray[Any]) -> bool:
    """Whether a generator is not as it was a step before."""
    return bool((followers["rng"] != states["rng"][:, None]).any())


def _worlds(scenario: Scenario, checked: bool) -> Backend:
    """Compiled worlds if there can be any; rather those of `check`, if it has left them, than new
    ones."""
    try:
        size = get_expansion_size(scenario)
        worlds = CompiledBatch(scenario, size, checked=checked)
        if not (checked or worlds.load()):
            kept = CompiledBatch(scenario, size, checked=True)
            worlds = kept if kept.load() else worlds
        worlds.prepare()
        return worlds
    except BuiltInDoesNotCompileError:
        raise
    except DoesNotCompileError:
        return make_batch(scenario, 1, "object", checked=checked)


def _blind(scenario: Scenario) -> Scenario:
    """The scenario, seen through its walls if its own way to look may draw."""
    seen = Call(REGISTRIES[VISIBILITY]["fully_transparent"], {})

    def blinded(member: Scenario) -> Scenario:
        looks = (*member.calls(VISIBILITY), *member.calls(OBSERVATION))
        if not any(call.system.objects or uses_name(call.system.function, "rng") for call in looks):
            return member
        schedule = {**member.schedule, VISIBILITY: (seen,), OBSERVATION: ()}
        return replace(member, schedule=schedule)

    members = tuple(map(blinded, scenario.members))
    if members == scenario.members:
        return scenario
    return replace(scenario, mixture=members) if scenario.mixture else members[0]
