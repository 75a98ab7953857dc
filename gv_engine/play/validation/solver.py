"""Solver: breadth-first search for the shortest path to a success."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends import backend
from gv_engine.envs.backends.backend import Backend, make_batch, view_as_words
from gv_engine.play.session.autoplay import SolutionPath
from gv_engine.rules import errors
from gv_engine.rules.component import AGENT
from gv_engine.rules.functions import uses_name
from gv_engine.rules.geometry import MOVE_BACKWARD, MOVE_FORWARD, MOVE_LEFT, MOVE_RIGHT
from gv_engine.rules.system import OBSERVATION, REGISTRIES, VISIBILITY, Call
from gv_engine.rules.turns import ANY
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.worker_process import start_worker
from gv_engine.world.simulation import Simulation

if TYPE_CHECKING:
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


class _RandomStep(Exception):
    """A step used the RNG, so that the search must compare RNG states too."""


class SearchLimitError(errors.GVEngineError):
    """A search has reached its limit of states or time."""


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
    ) -> None:
        """Create the worlds in which levels are searched; see the class for the arguments."""
        self._agent = agent
        self._met = self._depth = 0  # states and steps of the running search
        # `_deadline` is the `time.process_time` at which the running search gives up
        self._states, self._seconds, self._deadline = states, seconds, np.inf
        self._limit = scenario.max_steps or states
        self._tells_success = scenario.tells_success
        self._scenario = scenario
        self._one_suffices = np.array([each.agent_group.ends == ANY for each in scenario.members])
        self._actions = _list_lone_actions(scenario, agent) if agent else _joint_actions(scenario)
        self._by_steps = backend.depends_on_steps(scenario)
        self._worlds = _make_worlds(scenario, checked)
        # random observations do not change the effect of actions
        blind = _without_random_observations(scenario)
        self._blind = self._worlds if blind is scenario else _make_worlds(blind, checked)
        followers = scenario.layout.dtype.itemsize * len(self._actions)
        self._together = max(1, _BATCH_BYTES // followers)
        self.searched: dict[int, Solution] = {}  # by hash of the level, without random steps

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
        """Return the shortest sequence of actions that wins from the state `row`, or the reason why
        there is none.

        Args:
            row: () row of the scenario's layout.
            deadline: as for `solve`.

        Raises:
            RuleError: a rule failed on a state.
        """
        start = row[None]
        level = int(backend.hash_states(start, False, True, self._worlds.uses_compiled_code)[0])
        if level not in self.searched:
            self._deadline = time.process_time() + self._seconds if deadline is None else deadline
            try:
                self.searched[level] = self._search(self._blind, start, False)
            except _RandomStep:
                return self._search(self._worlds, start, True)
        return self.searched[level]

    def _search(self, worlds: Backend, start: NDArray[Any], uses_rng: bool) -> Solution:
        """Search breadth-first for a win from the state `start`; return the shortest way to it. The
        arguments are as for `_explore`.

        Raises:
            _RandomStep: as for `_explore`.
        """
        layers: list[list[tuple[Any, Any]]] = []  # for each step (n,) parents and actions
        try:
            for begin, keys, won, new in self._explore(worlds, start, uses_rng, self._limit):
                if len(layers) == self._depth:
                    layers.append([])
                if won.any():
                    state, action = divmod(int(won.argmax()), keys.shape[1])
                    indices = [action, *_trace_back(layers[:-1], begin + state)][::-1]
                    path = self._actions[indices].tolist()
                    path = [tuple(each) if isinstance(each, list) else each for each in path]
                    return Solution(Verdict.WON, tuple(path), self._met, len(path), uses_rng)
                layers[-1].append((begin + new // keys.shape[1], new % keys.shape[1]))
        except SearchLimitError:
            return Solution(Verdict.UNKNOWN, (), self._met, self._depth, uses_rng)
        return Solution(Verdict.LOST, (), self._met, self._depth, uses_rng)

    def _explore(
        self, worlds: Backend, starts: NDArray[Any], uses_rng: bool, limit: float
    ) -> Iterator[tuple[int, NDArray[Any], NDArray[Any], NDArray[Any]]]:
        """Expand all states that can be reached, breadth-first, in batches of n states. Yield for
        each batch the index of its first state among all states after the same number of steps, (n,
        a) hashes of the states after each action, an (n, a) mask of the wins, and (m,) flat indices
        of those next states that are new. Update the numbers of known states and of steps.

        Args:
            worlds: worlds that take the steps.
            starts: (k,) rows of the first states; equal ones are expanded once.
            uses_rng: whether steps may use the RNG.
            limit: maximum number of steps.

        Raises:
            _RandomStep: a step used the RNG although `uses_rng` is False.
            SearchLimitError: there are more states than the solver's limit, or no more time.
        """
        key_options = uses_rng, self._by_steps, worlds.uses_compiled_code
        seen_keys, first = np.unique(backend.hash_states(starts, *key_options), return_index=True)
        states, self._met, self._depth = starts[first], len(seen_keys), 0
        while len(states) and self._depth < limit:
            new_words: list[Any] = []
            for begin in range(0, len(states), self._together):
                if self._met > self._states or time.process_time() > self._deadline:
                    raise SearchLimitError(f"{self._met:,} states are too many to search")
                chunk = states[begin : begin + self._together]
                successors = backend.expand_states(worlds, chunk, self._actions).rows
                rows = successors.reshape(-1)
                if not uses_rng and (successors["rng"] != chunk["rng"][:, None]).any():
                    raise _RandomStep
                next_keys = backend.hash_states(rows, *key_options)
                keys, first = np.unique(next_keys, return_index=True)
                place = np.searchsorted(seen_keys, keys)
                unknown = seen_keys.take(place, mode="clip") != keys
                new = first[unknown & (rows["terminated"][first] == 0)]
                won = self._wins(rows).reshape(successors.shape)
                yield begin, next_keys.reshape(successors.shape), won, new
                seen_keys = np.insert(seen_keys, place[unknown], keys[unknown])
                self._met = len(seen_keys)
                new_words.append(view_as_words(rows.take(new)))
            states = np.concatenate(new_words).view(starts.dtype)[:, 0]
            self._depth += 1

    def count_steps(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the number of steps of the shortest path to a win from each of n states, for each
        first action; infinity if there is no path. All states that can be reached are searched.

        Args:
            rows: (n,) rows of the scenario's layout.

        Returns:
            (n, a) float64, for each of the scenario's a actions.

        Raises:
            SearchLimitError: there are more states than the solver's limit, or no more time.
            RuleError: a rule failed on a state.
        """
        try:
            return self._count_steps(self._blind, rows, False)
        except _RandomStep:
            return self._count_steps(self._worlds, rows, True)

    def _count_steps(
        self, worlds: Backend, starts: NDArray[Any], uses_rng: bool
    ) -> NDArray[np.float64]:
        """Return the result of `count_steps`; `uses_rng` says whether steps may use random numbers.

        Raises:
            _RandomStep: a step used the RNG although `uses_rng` is False.
        """
        self._deadline = time.process_time() + self._seconds
        key_options = uses_rng, self._by_steps, worlds.uses_compiled_code
        start_keys = backend.hash_states(starts, *key_options)
        keys, found = [np.unique(start_keys)], list[tuple[Any, Any]]()
        for _, next_keys, won, new in self._explore(worlds, starts, uses_rng, np.inf):
            keys.append(next_keys.ravel()[new])
            found.append((next_keys, won))
        all_keys = np.concatenate(keys)
        order = np.argsort(all_keys)
        next_keys, won = (np.concatenate(parts) for parts in zip(*found, strict=True))
        place = np.searchsorted(all_keys[order], next_keys)
        is_known = all_keys[order].take(place, mode="clip") == next_keys  # others have ended
        follower = order.take(place, mode="clip")
        steps = np.where(won, 1.0, np.inf)
        while True:
            onward = np.where(is_known, 1 + steps.min(1)[follower], np.inf)
            better = np.where(won, 1.0, onward)
            if np.array_equal(better, steps):
                break
            steps = better
        lines = order[np.searchsorted(all_keys[order], start_keys)]
        return np.asarray(steps[lines])

    def _wins(self, rows: NDArray[Any]) -> NDArray[np.bool_]:
        """Return an (n,) mask of the states in `rows` that are wins."""
        if not self._tells_success:
            return np.asarray(rows["terminated"] != 0)
        won, members = rows["success"][:, 1:] != 0, rows["member"]
        if self._agent:
            return np.asarray(won[:, self._agent - 1])
        all_won = (won | ~self._scenario.present_agents(members)).all(axis=1)
        return np.asarray(np.where(self._one_suffices[members], won.any(axis=1), all_won))


def _joint_actions(scenario: Scenario) -> NDArray[np.int64]:
    """Return the indices of all actions as (a,) for one agent, or of all combinations of actions as
    (a, A) for A agents."""
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
    """Return (a, A) joint actions in which `agent`, counted from 1, takes each of the a actions,
    and all other agents do nothing (action index a); (a,) actions if there is only one agent."""
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
    ) -> None:
        """Search the levels of all seeds, until the time limit is reached."""
        self._solver = Solver(scenario, _SURVEY_STATES, seconds, checked)
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
    """Play the solution that a level pack gives for the scenario's level; return facts and error
    messages about it."""
    level = scenario.document.pack_level
    if level is None or not level.solution:
        return [], []
    moves = "".join(level.solution.split()).lower()
    if rest := _MOVES.sub("", moves):
        fault = f"its solution has {rest[0]!r}, expected letters of udlrUDLR, as in rruR or 2ruR"
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
        won = world.success[AGENT] if scenario.tells_success else world.terminated
        if won:
            return [("solution", f"wins in {number} steps")], []
    return [], [f"{level.credit}: its solution of {count} steps does not win"]


def check_par(scenario: Scenario, survey: Survey) -> tuple[list[tuple[str, object]], list[str]]:
    """Compare the par of a pack's level, its fewest steps, with the shortest solutions in `survey`;
    return facts and error messages about it."""
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
    """Yield the actions that led to the state with index `state` in the last of `layers`, the last
    action first. Each layer lists (parents, actions) of the states that are reached in one more
    step."""
    for layer in reversed(layers):
        parents, actions = (np.concatenate(parts) for parts in zip(*layer, strict=True))
        yield int(actions[state])
        state = parents[state]


def _make_worlds(scenario: Scenario, checked: bool) -> Backend:
    """Return compiled worlds for the search, with bounds checks if `checked`; object worlds if a
    user-defined rule does not compile."""
    try:
        size = backend.get_expansion_size(scenario)
        return make_batch(scenario, size, "compiled", checked=checked)
    except errors.BuiltInDoesNotCompileError:
        raise
    except errors.DoesNotCompileError:
        return make_batch(scenario, 1, "object", checked=checked)


def _without_random_observations(scenario: Scenario) -> Scenario:
    """Return the scenario with full visibility if its observations may use random numbers, else the
    scenario itself. Observations do not matter to the search, and random ones would slow it
    down."""
    transparent = Call(REGISTRIES[VISIBILITY]["fully_transparent"], {})

    def blinded(member: Scenario) -> Scenario:
        calls = (*member.calls(VISIBILITY), *member.calls(OBSERVATION))
        if not any(call.system.objects or uses_name(call.system.function, "rng") for call in calls):
            return member
        schedule = {**member.schedule, VISIBILITY: (transparent,), OBSERVATION: ()}
        return replace(member, schedule=schedule)

    members = tuple(map(blinded, scenario.members))
    if members == scenario.members:
        return scenario
    return replace(scenario, mixture=members) if scenario.mixture else members[0]


_LIMITS = 500_000, 20.0
_LONE_LIMITS = 100_000, 2.0
"""Limits of one search, in states and CPU seconds: on request, and in each state for one agent."""


class SolverWorker:
    """Solver in a background process; a newer request takes the place of an older one.

    Args:
        scenario: scenario of the states.
        agent: as for `Solver`.
    """

    def __init__(self, scenario: Scenario, agent: int = 0) -> None:
        """Start the background process."""
        self._request_number, self._agent = 0, agent
        self._process, self._connection = start_worker(_serve, scenario, agent)

    def send(self, rows: NDArray[Any]) -> None:
        """Start the search from a () state, see `Solver.solve_from`, or from (n,) states, see
        `Solver.count_steps`. The result of an earlier search is dropped."""
        self._request_number += 1
        with suppress(OSError):  # `receive` reports a dead process
            self._connection.send((self._request_number, rows))

    def receive(self) -> tuple[Any, str] | None:
        """Return the result of the last search, and the reason if it is empty; None while the
        search runs. The result of a search from one state is the actions of a shortest path to a
        win."""
        try:
            while self._connection.poll():
                number, result, message = self._connection.recv()
                if number == self._request_number:
                    return result, message
        except (EOFError, OSError):
            return (), "The search has broken off"
        return None

    def close(self) -> None:
        """End the background process."""
        self._process.kill()
        self._process.join()
        self._connection.close()


class ShortestPathHints(SolverWorker):
    """Hint provider that searches shortest paths in a background process; see
    `gv_engine.play.session.autoplay.HintProvider`."""

    _format_action: Callable[[Any], str] = str

    def ask(self, session: Game) -> None:
        """Start a search from the current state of a session. The result of an earlier search is
        dropped."""
        agent, names = self._agent, session.actions
        lone = lambda indices: names[np.ravel(indices)[agent - 1]]  # noqa: E731
        self._format_action = lone if agent else session.format_action
        self.send(session.row())

    def answer(self) -> SolutionPath | None:
        """Return the shortest way to win, or the reason why there is none; None while the search
        runs."""
        if (reply := self.receive()) is None:
            return None
        return SolutionPath(tuple(map(self._format_action, reply[0])), reply[1])


def _serve(connection: Connection, scenario: Scenario, agent: int) -> None:
    """Run in the background process: search from the states that arrive through `connection` and
    send the results, until the connection is closed. `agent` is as for `Solver`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    solver: Solver | None = None
    while True:
        try:
            number, rows = connection.recv()
            if connection.poll():
                continue  # a newer request
            result: Any = ()
            message = ""
            try:
                limits = _LONE_LIMITS if agent and not rows.ndim else _LIMITS
                solver = solver or Solver(scenario, *limits, agent=agent)
                if rows.ndim:
                    result = solver.count_steps(rows)
                else:
                    _, result, *_ = solution = solver.solve_from(rows)
                    if solution.verdict is not Verdict.WON:
                        message = f"From here: {solution.verdict.value}"
            except SearchLimitError as error:
                message = str(error)
            except Exception as error:  # any error of a custom rule
                message = f"{type(error).__name__}: {error}"
            connection.send((number, result, message))
        except (EOFError, OSError):
            return
