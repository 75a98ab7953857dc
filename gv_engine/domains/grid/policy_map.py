"""Policy maps: action probabilities and values of a policy for every cell and facing of its agent,
with the rest of the state unchanged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.domains.grid.episode import GridEpisode
from gv_engine.domains.grid.motion import Cell
from gv_engine.rollout.policy import Policy, load_policy, policies_by_agent
from gv_engine.rules.component import AGENT
from gv_engine.rules.frame import PolicyMap
from gv_engine.rules.geometry import TURN_LEFT, TURN_RIGHT
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.episode import PolicyInput
from gv_engine.validation.solver import SearchLimitError, SolverWorker
from systems.queries import can_enter

BATCH_SIZE = 64
"""Number of worlds in which the policy acts at once."""
NUM_FACINGS = 4
_WAIT_SECONDS = 0.05
"""Seconds between two checks whether the solver has replied."""


PolicyMaker = Callable[[int], Policy]
"""Function from a number of worlds to a policy that acts in them."""


class _Probe(GridEpisode):
    """Episode that puts an agent into other cells and returns its observations from there."""

    def iter_places(self, row: NDArray[Any], agent: int) -> Iterator[tuple[int, int, int]]:
        """Put `agent` of the state `row` into each cell that it can enter and where its episode
        would not end, facing in each direction, and yield (y, x, facing) while it is there. Agents
        that cannot turn keep their facing."""
        self.load_row(row)
        world, scenario = self.world, self.scenario
        rng_state, facing = world.rng_state(), int(world.agent.facing[agent])
        own = int(world.position.y[agent]), int(world.position.x[agent])
        turns = not {TURN_LEFT, TURN_RIGHT}.isdisjoint(scenario.actions)
        for y, x in np.ndindex(world.height, world.width) if own[0] >= 0 else ():
            if not can_enter(world, y, x) or ((y, x) != own and world.is_taken(y, x)):
                continue
            world.stand(agent, y, x)
            if self._simulation.would_end(agent):
                continue
            for direction in range(NUM_FACINGS) if turns else (facing,):
                world.agent.facing[agent] = direction
                world.set_rng_state(rng_state)  # so that random views are the same in all places
                yield y, x, direction

    def observe_as(self, agent: int) -> PolicyInput:
        """Return observation and info of `agent` in its current cell."""
        self._simulation.observe(self._grid[agent - 1], self._item[agent - 1], agent)
        return self._observe_agent(agent)


class PolicyMapper:
    """Asks a policy for its actions and values in all cells and directions. The policy takes each
    observation as the first of an episode: a recurrent policy starts with an empty memory.

    Args:
        scenario: scenario of the states.
        policy: name of the policy, see `gv_engine.rollout.policy.load_policy`; or a function from
            a number of worlds to a policy for them.
        agent: number of the agent, from 1.

    Raises:
        PolicyError: there is no such policy.
    """

    def __init__(self, scenario: Scenario, policy: str | PolicyMaker, agent: int = 1) -> None:
        self._scenario, self._agent = scenario, agent
        self._probe = _Probe(scenario)
        if not isinstance(policy, str):
            self._policy = policy(BATCH_SIZE)
            return
        name = policies_by_agent(policy, scenario.sharing)[scenario.sharing.names[agent - 1]]
        self._policy = load_policy(name, BATCH_SIZE, len(scenario.actions), scenario=scenario)

    def map_row(
        self, row: NDArray[Any], visits: Mapping[Cell, int]
    ) -> Generator[float, None, PolicyMap]:
        """Return a generator that computes the map of the state `row` and pauses after each place
        of the agent; its result is the map, see `gv_engine.session.autoplay.MapSteps`.

        Args:
            row: () record of the scenario's layout.
            visits: number of visits by cell (y, x).

        Raises:
            GVEngineError: the policy cannot act in a cell.
        """
        probe, policy = self._probe, self._policy
        places, inputs = [], []
        for place in probe.iter_places(row, self._agent):
            places.append(place)
            inputs.append(probe.observe_as(self._agent))
            yield 0.0
        policy_map = _make_map(self._scenario, probe, visits)
        for start in range(0, len(places), BATCH_SIZE):
            part = tuple(np.array(places[start : start + BATCH_SIZE]).T)
            chosen, count = self._act(inputs[start : start + BATCH_SIZE]), len(part[0])
            likely = policy.probabilities
            one_hot = np.eye(len(policy_map.actions))[chosen]
            policy_map.probabilities[part] = one_hot if likely is None else likely[:count]
            if policy.values is not None:
                policy_map.values[part] = policy.values[:count]
            yield 0.0
        return policy_map

    def _act(self, inputs: Sequence[PolicyInput]) -> NDArray[np.int64]:
        """Return the index of the action that the policy chooses for each of at most `BATCH_SIZE`
        observations."""
        padded = [inputs[min(i, len(inputs) - 1)] for i in range(BATCH_SIZE)]
        observation, info = (_join_worlds(parts) for parts in zip(*padded, strict=True))
        self._policy.begin(range(BATCH_SIZE), 0, [self._agent - 1] * BATCH_SIZE)
        return self._policy.act(observation, info)[: len(inputs)]

    def close(self) -> None:
        """Do nothing: a policy holds no resources."""


class SolverMapper:
    """Counts the steps to a win from all cells and directions in a background process. The value is
    the number of steps, negative; all actions on a shortest path are equally likely.

    Args:
        scenario: scenario of the states, with one agent.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario, self._probe = scenario, _Probe(scenario)
        self._worker = SolverWorker(scenario)

    def map_row(
        self, row: NDArray[Any], visits: Mapping[Cell, int]
    ) -> Generator[float, None, PolicyMap]:
        """Return a generator as `PolicyMapper.map_row` does.

        Raises:
            SearchLimitError: there are too many states.
        """
        places, rows = [], []
        for place in self._probe.iter_places(row, AGENT):
            places.append(place)
            rows.append(self._probe.row())
            yield 0.0
        policy_map = _make_map(self._scenario, self._probe, visits)
        if rows:
            self._worker.send(np.stack(rows))
            while (reply := self._worker.receive()) is None:
                yield _WAIT_SECONDS
            steps, message = reply
            if message:
                raise SearchLimitError(f"The solver has no values here: {message}")
            best, part = steps.min(1), tuple(np.array(places).T)
            is_shortest = (steps == best[:, None]) & np.isfinite(steps)
            shares = is_shortest / np.maximum(is_shortest.sum(1, keepdims=True), 1)
            can_win = np.isfinite(best)
            policy_map.values[part] = np.where(can_win, -best, np.nan)
            policy_map.probabilities[part] = np.where(can_win[:, None], shares, np.nan)
        return policy_map

    def close(self) -> None:
        """End the background process."""
        self._worker.close()


def _make_map(scenario: Scenario, probe: GridEpisode, visits: Mapping[Cell, int]) -> PolicyMap:
    """Return a policy map with `visits` in which no value is known yet."""
    names, height, width = scenario.action_names, probe.world.height, probe.world.width
    counts = np.zeros((height, width), np.int64)
    for cell, count in visits.items():
        counts[cell] = count
    values = np.full((height, width, NUM_FACINGS), np.nan)
    return PolicyMap(names, values, np.full((*values.shape, len(names)), np.nan), counts)


def _join_worlds(parts: Sequence[Any]) -> Any:
    """Return the (1, …) arrays of N worlds as one (N, …) array; for dicts of arrays, key by key."""
    if isinstance(parts[0], dict):
        return {name: _join_worlds([part[name] for part in parts]) for name in parts[0]}
    return np.concatenate([np.atleast_1d(part) for part in parts])
