"""Solver: breadth-first search for the shortest path to a success."""

from __future__ import annotations

import pickle
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import cached_property
from itertools import count
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends import backend
from gv_engine.envs.backends.backend import Backend, make_expansion_batch
from gv_engine.envs.backends.row_states import RowStates
from gv_engine.play.session.autoplay import SolutionPath
from gv_engine.rules import errors
from gv_engine.rules.component import AGENT
from gv_engine.rules.functions import uses_name
from gv_engine.rules.geometry import MOVE_BACKWARD, MOVE_FORWARD, MOVE_LEFT, MOVE_RIGHT, Area
from gv_engine.rules.system import (
    OBSERVATION,
    REGISTRIES,
    RESET,
    REWARD,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Call,
    Phase,
)
from gv_engine.rules.turns import ANY
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.worker_process import RequestWorker, describe_exit
from gv_engine.world.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.envs.backends.compact_states import CompactStates
    from gv_engine.play.session.game import Game


_SURVEY_STATES = 200_000  # maximum states for each level of a survey

_MAX_JOINT_ACTIONS = 1024  # maximum number of joint actions of several agents

_BATCH_BYTES = 1 << 23  # bytes of the successors of states that are expanded at once


class Verdict(Enum):
    """Answer of a search: the level can be won, cannot be won, or the search gave up."""

    WON = "can be won"
    LOST = "cannot be won"
    UNKNOWN = "no way found within the limits"


class Solution(NamedTuple):
    """Result of a search: verdict, shortest path, and numbers of states and steps.

    Attributes:
        verdict: whether the level can be won.
        actions: shortest path as indices in the scenario's action space, () if none was found; for
            several agents a tuple for each step.
        met: number of states met.
        depth: number of steps searched.
        by_chance: whether steps of the level are random, so that the path holds for this seed only.
    """

    verdict: Verdict
    actions: tuple[Any, ...]
    met: int
    depth: int
    by_chance: bool


class _ExpandedStates(NamedTuple):
    """Batch of n states after each of a actions.

    Attributes:
        first_state: index of the first state among all states after the same number of steps.
        next_keys: (n, a) hashes of the next states.
        is_win: (n, a) True for each next state that is a win.
        new: (m,) flat indices of those next states that are to be expanded, too.
    """

    first_state: int
    next_keys: NDArray[Any]
    is_win: NDArray[np.bool_]
    new: NDArray[np.int64]


class _RandomStep(Exception):
    """A step used the RNG, so that the search must compare RNG states too."""


class SearchLimitError(errors.GVEngineError):
    """A search has reached its limit of states or time."""


class OutdatedSearchError(errors.GVEngineError):
    """The result of a search is no longer wanted."""


class Solver:
    """Solver of the levels of one scenario; equal levels are searched only once.

    An episode is won if it ends and the `success_function` is true; without a `success_function`,
    any end by the `terminating_function` is a win. Several agents search together: all of them must
    win, or any of them if the first end ends the episode. Random steps follow the RNG of the seed,
    and states with different RNG states are different states.

    For one `agent` of several, the others do nothing in the search, and its own success is a win.

    Args:
        scenario: scenario of the levels.
        states: maximum number of states of a search.
        seconds: time limit of a search, in CPU time of this process, so that other processes do not
            change results.
        checked: as for `make_batch`.
        agent: number of the agent that acts alone, from 1; 0 for all agents.
        is_outdated: asked again and again; a search ends with an `OutdatedSearchError` once it
            returns True.

    Attributes:
        max_random_states: maximum number of states of a search with random steps, if it is lower.

    Raises:
        BuiltInDoesNotCompileError: a rule of the engine does not compile.
        SeveralAgentsError: agents have too many joint actions for a search.
    """

    def __init__(
        self,
        scenario: Scenario,
        states: int = 1_000_000,
        seconds: float = 60.0,
        checked: bool = False,
        agent: int = 0,
        is_outdated: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create the worlds in which levels are searched. The class docstring explains the
        arguments."""
        self._scenario, self._agent = scenario, agent
        self._max_states, self._seconds = states, seconds
        self.max_random_states = states
        self._max_steps = scenario.max_steps or states
        # of the running search
        self._num_states = self._depth = 0
        self._deadline = np.inf  # in `time.process_time`
        self._one_win_suffices = np.array([m.agent_group.ends == ANY for m in scenario.members])
        self._actions = (
            _list_lone_actions(scenario, agent) if agent else _list_joint_actions(scenario)
        )
        self._depends_on_steps = backend.depends_on_steps(scenario)
        self._checked, self._is_outdated = checked, is_outdated
        has_random_outputs = _uses_rng(scenario, _OUTPUT_PHASES)
        # worlds of their own for random steps are compiled as soon as there are any
        is_exact = has_random_outputs and _uses_rng(scenario, _RULE_PHASES)
        searched = scenario if is_exact else _drop_outputs(scenario)
        self._searched_worlds = make_expansion_batch(searched, checked, masks=False)
        if is_exact or not has_random_outputs:
            self._worlds = self._searched_worlds
        self.searched: dict[int, Solution] = {}  # by hash of the level, without random steps

    @cached_property
    def _worlds(self) -> Backend:
        """Worlds that draw the same random numbers as those of the scenario."""
        return make_expansion_batch(self._scenario, self._checked, masks=False)

    def prepare(self) -> None:
        """Compile also what is not compiled with the rules: the loop of the search."""
        store = self._store_states(self._searched_worlds, self._scenario.layout.defaults()[None])
        store.expand(store.starts[:0])

    def _store_states(
        self, worlds: Backend, starts: NDArray[Any], uses_rng: bool = False
    ) -> CompactStates | RowStates:
        cls: Any = RowStates
        if worlds.uses_compiled_code:
            from gv_engine.envs.backends import compact_states  # needs a compiler

            cls = compact_states.CompactStates
        store: CompactStates | RowStates = cls(
            worlds, starts, self._actions, uses_rng, self._depends_on_steps
        )
        return store

    def solve(self, seed: int, deadline: float | None = None) -> Solution:
        """Return the shortest sequence of actions that wins the level of a seed, or the reason why
        there is none. A level that is equal to an earlier one is not searched again.

        Args:
            seed: seed of the level.
            deadline: `time.process_time` at which the search gives up; by default after the
                solver's seconds.

        Raises:
            RuleError: a rule failed on a state.
        """
        self._worlds.set_generator(0, np.random.default_rng(seed))
        self._worlds.reset(np.arange(len(self._worlds)) == 0)
        return self.solve_from(self._worlds.snapshot(0), deadline)

    def solve_from(self, row: NDArray[Any], deadline: float | None = None) -> Solution:
        """Return a shortest sequence of actions that wins from the state `row`, a world record, or
        the reason why there is none.

        Args:
            row: () row of the scenario's layout.
            deadline: as for `solve`.

        Raises:
            RuleError: a rule failed on a state.
        """
        start = row[None]
        level = int(backend.hash_states(start, False, True, False)[0])
        if level not in self.searched:
            self._deadline = time.process_time() + self._seconds if deadline is None else deadline
            try:
                self.searched[level] = self._search(self._searched_worlds, start, uses_rng=False)
            except _RandomStep:
                return self._search(self._worlds, start, uses_rng=True)
        return self.searched[level]

    def _search(self, worlds: Backend, start: NDArray[Any], uses_rng: bool) -> Solution:
        """Search breadth-first for a win from the state `start`, a world record. Return a shortest
        solution. `uses_rng` is True if steps may use random numbers.

        Raises:
            _RandomStep: as for `_explore`.
        """
        layers: list[list[tuple[Any, Any]]] = []  # for each step (n,) parents and actions
        verdict, num_actions = Verdict.LOST, len(self._actions)
        try:
            for expanded in self._explore(worlds, start, uses_rng, self._max_steps):
                if len(layers) == self._depth:
                    layers.append([])
                if expanded.is_win.any():
                    state, action = divmod(int(expanded.is_win.argmax()), num_actions)
                    earlier = _trace_back(layers[:-1], expanded.first_state + state)
                    path = self._actions[[action, *earlier][::-1]].tolist()
                    actions = tuple(tuple(a) if isinstance(a, list) else a for a in path)
                    return Solution(
                        Verdict.WON, actions, self._num_states, len(actions), by_chance=uses_rng
                    )
                parents, last_actions = np.divmod(expanded.new, num_actions)
                layers[-1].append((expanded.first_state + parents, last_actions))
        except SearchLimitError:
            verdict = Verdict.UNKNOWN
        return Solution(verdict, (), self._num_states, self._depth, by_chance=uses_rng)

    def _explore(
        self, worlds: Backend, starts: NDArray[Any], uses_rng: bool, limit: float
    ) -> Iterator[_ExpandedStates]:
        """Explore all states reachable from `starts`, world records, in at most `limit` steps,
        breadth-first, and yield them in batches. `uses_rng` is True if steps may use random
        numbers.

        Args:
            worlds: worlds that take the steps.
            starts: (k,) rows of the first states; equal ones are expanded once.
            uses_rng: whether steps may use the RNG.
            limit: maximum number of steps.

        Raises:
            _RandomStep: a step used the RNG although `uses_rng` is False.
            SearchLimitError: there are more states than the solver's limit, or no more time.
            OutdatedSearchError: see `is_outdated`.
        """
        store = self._store_states(worlds, starts, uses_rng)
        self._start_keys = store.start_keys
        # sorted keys of all states that were seen
        seen_keys, first = np.unique(store.start_keys, return_index=True)
        states, self._num_states, self._depth = store.starts[first], len(seen_keys), 0
        shape = -1, len(self._actions)
        # each random step has states of its own, so more states hardly make the search deeper
        max_states = min(self._max_states, self.max_random_states if uses_rng else np.inf)
        while len(states) and self._depth < limit:
            new_states: list[Any] = []
            chunk_size = max(1, _BATCH_BYTES // (states[0].nbytes * len(self._actions)))
            for start in range(0, len(states), chunk_size):
                if self._num_states > max_states or time.process_time() > self._deadline:
                    raise SearchLimitError(f"{self._num_states:,} states are too many to search")
                if self._is_outdated():
                    raise OutdatedSearchError
                chunk = states[start : start + chunk_size]
                words, next_keys = store.expand(chunk)
                heads = store.read_heads(words)
                generators = store.read_heads(chunk)["rng"].repeat(len(self._actions))
                if not uses_rng and (heads["rng"] != generators).any():
                    raise _RandomStep
                keys, first = np.unique(next_keys, return_index=True)
                positions = np.searchsorted(seen_keys, keys)
                is_unseen = seen_keys.take(positions, mode="clip") != keys
                new = first[is_unseen & (heads["terminated"][first] == 0)]
                is_win = self._are_wins(heads).reshape(shape)
                yield _ExpandedStates(start, next_keys.reshape(shape), is_win, new)
                seen_keys = np.insert(seen_keys, positions[is_unseen], keys[is_unseen])
                self._num_states = len(seen_keys)
                new_states.append(words[new])
            states = np.concatenate([*map(store.widen, new_states)])
            self._depth += 1

    def count_steps(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """For each of n states and each first action, return the number of steps of a shortest path
        to a win, (n, actions); infinity if there is none. All reachable states are explored.

        Args:
            rows: (n,) rows of the scenario's layout.

        Returns:
            (n, a) float64, for each of the scenario's a actions.

        Raises:
            SearchLimitError: there are more states than the solver's limit, or no more time.
            RuleError: a rule failed on a state.
        """
        try:
            return self._count_steps(self._searched_worlds, rows, uses_rng=False)
        except _RandomStep:
            return self._count_steps(self._worlds, rows, uses_rng=True)

    def _count_steps(
        self, worlds: Backend, starts: NDArray[Any], uses_rng: bool
    ) -> NDArray[np.float64]:
        """Compute the result of `count_steps`. `uses_rng` is True if steps may use random numbers.

        Raises:
            _RandomStep: a step used the RNG although `uses_rng` is False.
        """
        self._deadline = time.process_time() + self._seconds
        batches = [*self._explore(worlds, starts, uses_rng, np.inf)]
        start_keys = self._start_keys
        next_keys = np.concatenate([batch.next_keys for batch in batches])
        is_win = np.concatenate([batch.is_win for batch in batches])
        # keys of all states, in the order in which they were expanded
        new_keys = (batch.next_keys.ravel()[batch.new] for batch in batches)
        keys = np.concatenate([np.unique(start_keys), *new_keys])
        order = np.argsort(keys)
        sorted_keys = keys[order]
        positions = np.searchsorted(sorted_keys, next_keys)
        # episodes have ended in all next states that were not expanded
        goes_on = sorted_keys.take(positions, mode="clip") == next_keys
        next_states = order.take(positions, mode="clip")
        steps = np.full(is_win.shape, np.inf)
        while True:  # one more step of the longest path is known after each pass
            onward = np.where(goes_on, 1 + steps.min(1)[next_states], np.inf)
            new_steps = np.where(is_win, 1.0, onward)
            if np.array_equal(new_steps, steps):
                return np.asarray(steps[order[np.searchsorted(sorted_keys, start_keys)]])
            steps = new_steps

    def _are_wins(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of n states are wins, as an (n,) mask. `rows` are world records."""
        if not self._scenario.tells_success:
            return np.asarray(rows["terminated"] != 0)
        won, members = rows["success"][:, 1:] != 0, rows["member"]
        if self._agent:
            return np.asarray(won[:, self._agent - 1])
        all_won = (won | ~self._scenario.present_agents(members)).all(axis=1)
        return np.asarray(np.where(self._one_win_suffices[members], won.any(axis=1), all_won))


def _list_joint_actions(scenario: Scenario) -> NDArray[np.int64]:
    """Return all actions by index: (a,) for one agent, or all combinations as (combinations, A) for
    A agents."""
    count, agents = len(scenario.actions), scenario.layout.agents
    if agents == 1:
        return np.arange(count)
    if count**agents > _MAX_JOINT_ACTIONS:
        raise errors.SeveralAgentsError(
            f"{scenario.name}: {agents} agents have {count**agents:,} ways to act at once, and a "
            f"search tries {_MAX_JOINT_ACTIONS:,} at most; take fewer agents or actions"
        )
    return np.indices((count,) * agents).reshape(agents, -1).T.copy()


def _list_lone_actions(scenario: Scenario, agent: int) -> NDArray[np.int64]:
    """Return (a, A) joint actions in which only `agent`, counted from 1, acts: it takes each of the
    a actions, and the others do nothing (index a). With one agent, the result is (a,)."""
    count = len(scenario.actions)
    actions = np.full((count, scenario.layout.agents), count)
    actions[:, agent - 1] = np.arange(count)
    return actions[:, 0] if scenario.layout.agents == 1 else actions


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
            length = " to ".join(map(str, dict.fromkeys((steps[0], steps[-1]))))
            count = "" if self.all_alike else f"{len(won)} of {len(self.solutions)} levels, "
            parts.append(f"{count}in {length} steps at least")
        if lost:
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


def _trace_back(layers: list[list[Any]], state: int) -> Iterator[int]:
    """Yield the actions that led to state number `state` of the last layer, last action first. Each
    of `layers` has (parents, actions) of the states reached in one more step."""
    for layer in reversed(layers):
        parents, actions = (np.concatenate(parts) for parts in zip(*layer, strict=True))
        yield int(actions[state])
        state = parents[state]


_OUTPUT_PHASES = VISIBILITY, OBSERVATION, REWARD
_RULE_PHASES = TRANSITION, TERMINATING, SUCCESS


def _uses_rng(scenario: Scenario, phases: Iterable[Phase]) -> bool:
    """Return True if rules of these phases may use random numbers."""
    return any(
        call.system.objects or uses_name(call.system.function, "rng")
        for call in scenario.walk_calls(*phases)
    )


def _drop_outputs(scenario: Scenario) -> Scenario:
    """Return the scenario with as little to observe as possible, and without rewards unless a rule
    reads them: nothing of it changes who wins, and it would slow the search down."""
    rules = [*scenario.walk_functions(*_RULE_PHASES)]
    reads_rewards = any(uses_name(rule, name) for rule in rules for name in ("reward", "total"))
    transparent = Call(REGISTRIES[VISIBILITY]["fully_transparent"], {})
    changes: dict[str, Any] = {"area": Area(0, 0, 0, 0), "mission_texts": (), "state_numbers": ()}
    if not reads_rewards:
        changes["reward_names"] = ()

    def change_member(member: Scenario) -> Scenario:
        schedule = {**member.schedule, VISIBILITY: (transparent,), OBSERVATION: ()}
        if not reads_rewards:
            schedule[REWARD] = ()
        return replace(member, schedule=schedule, **changes)

    members = tuple(map(change_member, scenario.members))
    return replace(scenario, mixture=members, **changes) if scenario.mixture else members[0]


_LIMITS = 500_000, 20.0
_LONE_LIMITS = 100_000, 2.0
"""Limits of one search, in states and CPU seconds: on request, and in each state for one agent."""

_REQUEST_NUMBERS = count(1)
_idle_workers: list[RequestWorker] = []
"""At most one process that has nothing to do and waits for the next `SolverWorker`."""


class SolverWorker:
    """Solver in a background process, which compiles the rules at once; a newer request takes the
    place of an older one. The process goes on to serve the solver of the next level.

    Args:
        scenario: scenario of the states.
        agent: as for `Solver`.
        limits: limits of a search, in states and CPU seconds.
    """

    def __init__(
        self, scenario: Scenario, agent: int = 0, limits: tuple[int, float] = _LIMITS
    ) -> None:
        """Let the background process compile the rules."""
        self._solver_arguments = pickle.dumps((scenario, agent, limits))
        self._agent, self._is_searching = agent, False
        workers = [worker for worker in _idle_workers if worker.is_alive]
        _idle_workers.clear()
        self._worker = workers[0] if workers else RequestWorker(serve_searches)
        self._request(None)

    def send(self, rows: NDArray[Any]) -> None:
        """Start the search from a () state, see `Solver.solve_from`, or from (n,) states, see
        `Solver.count_steps`. An earlier search is broken off."""
        self._request(rows)
        self._is_searching = True

    def _request(self, rows: NDArray[Any] | None) -> None:
        self._request_number = next(_REQUEST_NUMBERS)
        self._worker.send((self._request_number, self._solver_arguments, rows))

    def receive(self) -> tuple[Any, str] | None:
        """Return (result, reason why it is empty) of the last search. None while the search runs.
        The result of a search from one state is the actions of a shortest solution."""
        try:
            while reply := self._worker.receive():
                number, result, message = reply
                if number == self._request_number:
                    self._is_searching = False
                    return result, message
        except (EOFError, OSError):
            return (), f"The search has stopped: {describe_exit(self._worker.close())}"
        return None

    def close(self) -> None:
        """Break off the search. The background process ends if it searches: a rule may run for
        ever."""
        if self._is_searching or _idle_workers:
            self._worker.close()
        else:
            _idle_workers.append(self._worker)


class ShortestPathHints(SolverWorker):
    """Hint provider that searches shortest paths in a background process; see
    `gv_engine.play.session.autoplay.HintProvider`."""

    _format_action: Callable[[Any], str] = str

    def __init__(self, scenario: Scenario, agent: int = 0) -> None:
        """Start the background process; see `SolverWorker` for the arguments."""
        super().__init__(scenario, agent, _LONE_LIMITS if agent else _LIMITS)

    def ask(self, session: Game) -> None:
        """Start a search from the current state of a session. The result of an earlier search is
        dropped."""
        agent, names = self._agent, session.actions

        def format_own_action(actions: Any) -> str:
            return str(names[np.ravel(actions)[agent - 1]])

        self._format_action = format_own_action if agent else session.format_action
        self.send(session.row())

    def answer(self) -> SolutionPath | None:
        """Return the shortest way to win, or the reason why there is none; None while the search
        runs."""
        if (reply := self.receive()) is None:
            return None
        return SolutionPath(tuple(map(self._format_action, reply[0])), reply[1])


def serve_searches(connection: Connection) -> None:
    """Main function of the solver process: search from each state that arrives through
    `connection`, and send back the result, until the connection closes. A newer request breaks off
    a running search."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    last_arguments, solver = b"", None
    with suppress(EOFError, OSError):  # the connection is closed
        while True:
            number, arguments, rows = connection.recv()
            if arguments != last_arguments:
                last_arguments, solver = arguments, None
            result: Any = ()
            message = ""
            try:
                if solver is None:
                    scenario, agent, limits = pickle.loads(arguments)
                    solver = _make_prepared_solver(scenario, agent, limits, connection.poll)
                if rows is None:
                    continue
                if rows.ndim:
                    solver.max_random_states = _LIMITS[0]
                    result = solver.count_steps(rows)
                else:
                    solver.max_random_states = _LONE_LIMITS[0]
                    solution = solver.solve_from(rows)
                    result = solution.actions
                    if solution.verdict is Verdict.LOST:
                        message = "It cannot be won from here"
                    elif solution.verdict is Verdict.UNKNOWN:
                        message = _describe_unknown(solution)
            except SearchLimitError as error:
                message = str(error)
            except OutdatedSearchError:
                continue
            except Exception as error:  # any error of a custom rule
                if rows is None:
                    continue  # it is raised again, and reported, at the first search
                message = f"{type(error).__name__}: {error}"
            connection.send((number, result, message))


def _describe_unknown(solution: Solution) -> str:
    if solution.by_chance:
        return f"No hint: steps here are random, and no win is within {solution.depth} steps"
    states = f"{solution.met:,} states up to {solution.depth} steps from here"
    return f"No way found: the {states} have no win"


def _make_prepared_solver(
    scenario: Scenario,
    agent: int,
    limits: tuple[int, float],
    is_outdated: Callable[[], bool] = lambda: False,
) -> Solver:
    """Return a solver whose code for searches from given states is compiled; it does not compile
    the reset functions, which take up to half the time."""

    def drop_reset(member: Scenario) -> Scenario:
        return replace(member, schedule={**member.schedule, RESET: ()})

    members = tuple(map(drop_reset, scenario.members))
    searched = replace(scenario, mixture=members) if scenario.mixture else members[0]
    solver = Solver(searched, *limits, agent=agent, is_outdated=is_outdated)
    with suppress(errors.RuleError):  # a rule may fail in an empty world
        solver.prepare()
    return solver
