"""Solver: breadth-first search for the shortest path to a success."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends import backend
from gv_engine.envs.backends.backend import Backend, make_expansion_batch
from gv_engine.envs.backends.row_states import RowStates
from gv_engine.rules import errors
from gv_engine.rules.functions import uses_name
from gv_engine.rules.geometry import Area
from gv_engine.rules.system import (
    OBSERVATION,
    REGISTRIES,
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

if TYPE_CHECKING:
    from gv_engine.envs.backends.compact_states import CompactStates


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
