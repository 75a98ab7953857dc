"""Policy maps: action probabilities and values of a policy for every cell and facing of its agent,
with the rest of the state unchanged."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.policy import SOLVER, Policy, load_policy, policies_by_agent
from gv_engine.play.grid.episode import GridEpisode, join_nested
from gv_engine.play.grid.motion import Cell
from gv_engine.play.session.episode import PolicyInput
from gv_engine.play.validation.solver import SearchLimitError
from gv_engine.play.validation.solver_worker import SolverWorker
from gv_engine.rules.frame import PolicyMap
from gv_engine.rules.geometry import TURN_LEFT, TURN_RIGHT
from gv_engine.scenario.scenario import Scenario
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

    def iter_poses(self, row: NDArray[Any], agent: int) -> Iterator[tuple[int, int, int]]:
        """Place an agent in each cell that it can enter, with each facing, and yield (y, x, facing)
        while it is there. `row` is the record of the world's state. Poses that would end the
        episode are skipped."""
        self.load_row(row)
        world, scenario = self.world, self.scenario
        rng_state = world.rng_state()
        own_cell = int(world.position.y[agent]), int(world.position.x[agent])
        if own_cell[0] < 0:  # the agent is not on the grid
            return
        can_turn = not {TURN_LEFT, TURN_RIGHT}.isdisjoint(scenario.actions)
        facings = range(NUM_FACINGS) if can_turn else [int(world.agent.facing[agent])]
        for y, x in np.ndindex(world.height, world.width):
            is_other_agent_there = (y, x) != own_cell and world.is_taken(y, x)
            if is_other_agent_there or not can_enter(world, y, x):
                continue
            world.stand(agent, y, x)
            for facing in facings:
                world.agent.facing[agent] = facing
                if not self._simulation.would_end(agent):
                    world.set_rng_state(rng_state)  # random views are the same in all cells
                    yield y, x, facing

    def observe_as(self, agent: int) -> PolicyInput:
        """Return observation and info of `agent` in its current cell."""
        self._simulation.observe(self._grid[agent - 1], self._item[agent - 1], agent)
        return self._observe_agent(agent)


class PolicyMapper:
    """Computes action probabilities and values of a policy for every cell and facing of its agent.

    The solver counts the steps to a win in a background process, as if other agents did nothing:
    the value is the number of steps, negative, and all actions on a shortest way are equally
    likely. Other policies act as in the first step of an episode, with an empty memory.

    Args:
        scenario: scenario of the states.
        policy: `solver`, or the name of a policy, see `gv_engine.envs.rollout.policy.load_policy`;
            or a function from a number of worlds to a policy for them.
        agent: number of the agent, from 1.

    Raises:
        PolicyError: there is no such policy.
    """

    def __init__(self, scenario: Scenario, policy: str | PolicyMaker, agent: int = 1) -> None:
        self._scenario, self._agent = scenario, agent
        self._probe = _Probe(scenario)
        self._solver: SolverWorker | None = None
        is_alone = scenario.layout.agents == 1
        if policy == SOLVER:
            self._solver = SolverWorker(scenario, 0 if is_alone else agent)
            self._note = "" if is_alone else "if other agents do nothing"
            return
        if isinstance(policy, str):
            agent_name = scenario.agent_group.names[agent - 1]
            name = policies_by_agent(policy, scenario.agent_group).get(agent_name, "random")
            self._policy = load_policy(name, BATCH_SIZE, len(scenario.actions), scenario=scenario)
        else:
            self._policy = policy(BATCH_SIZE)
        has_memory = np.size(getattr(self._policy, "memory", ())) > 0
        self._note = "without memory of the episode" if has_memory else ""

    def map_row(
        self, row: NDArray[Any], visits: Mapping[Cell, int]
    ) -> Generator[float, None, PolicyMap]:
        """Compute the policy map of the state `row`, a world record, as a generator that pauses
        after each pose of the agent. The map is the generator's return value.

        Args:
            row: () record of the scenario's layout.
            visits: number of visits by cell (y, x).

        Raises:
            GVEngineError: the policy cannot act in a cell, or there are too many states to search.
        """
        probe = self._probe
        poses: list[tuple[int, int, int]] = []
        inputs: list[Any] = []
        for pose in probe.iter_poses(row, self._agent):
            poses.append(pose)
            inputs.append(probe.row() if self._solver else probe.observe_as(self._agent))
            yield 0.0
        names, shape = self._scenario.action_names, (probe.world.height, probe.world.width)
        values = np.full((*shape, NUM_FACINGS), np.nan)
        probabilities = np.full((*values.shape, len(names)), np.nan)
        counts = np.zeros(shape, np.int64)
        for cell, count in visits.items():
            counts[cell] = count
        if self._solver and poses:
            self._solver.send(np.stack(inputs))
            while (reply := self._solver.receive()) is None:
                yield _WAIT_SECONDS
            indices = tuple(np.array(poses).T)
            values[indices], probabilities[indices] = _values_of_distances(*reply)
            yield 0.0
        elif poses:
            for start in range(0, len(poses), BATCH_SIZE):
                part = slice(start, start + BATCH_SIZE)
                indices = tuple(np.array(poses[part]).T)
                values[indices], probabilities[indices] = self._query_policy(inputs[part])
                yield 0.0
        return PolicyMap(names, values, probabilities, counts, self._note)

    def _query_policy(self, inputs: Sequence[PolicyInput]) -> tuple[Any, NDArray[np.float64]]:
        """Return the policy's value and action probabilities for each of at most `BATCH_SIZE`
        observations. Values are NaN if the policy estimates none."""
        count, policy = len(inputs), self._policy
        padded = [*inputs, *[inputs[-1]] * (BATCH_SIZE - count)]
        observation, info = (
            join_nested(parts, lambda arrays: np.concatenate([*map(np.atleast_1d, arrays)]))
            for parts in zip(*padded, strict=True)
        )
        policy.begin(range(BATCH_SIZE), 0, [self._agent - 1] * BATCH_SIZE)
        actions, probabilities = policy.act(observation, info), policy.probabilities
        if probabilities is None:  # the policy is deterministic, or does not tell
            probabilities = np.eye(len(self._scenario.actions))[actions]
        values = np.nan if policy.values is None else policy.values[:count]
        return values, probabilities[:count]

    def close(self) -> None:
        """End the background process of the solver, if there is one."""
        if self._solver:
            self._solver.close()


def _values_of_distances(
    distances: NDArray[np.float64], message: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Convert steps to a win, (n states, a first actions) with infinity for no win, to values (n,)
    and action probabilities (n, a). States without a win get NaN.

    Raises:
        SearchLimitError: `message` says why there are no distances.
    """
    if message:
        raise SearchLimitError(f"The solver has no values here: {message}")
    shortest = distances.min(1)
    can_win = np.isfinite(shortest)
    is_best = (distances == shortest[:, None]) & can_win[:, None]
    probabilities = is_best / np.maximum(is_best.sum(1, keepdims=True), 1)
    return np.where(can_win, -shortest, np.nan), np.where(can_win[:, None], probabilities, np.nan)
