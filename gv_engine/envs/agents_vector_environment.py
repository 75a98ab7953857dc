"""Many worlds of a scenario with several agents: line by line, or in arrays by world and agent."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from gv_engine.batches.autoreset import SAME_STEP
from gv_engine.envs.outputs import places
from gv_engine.envs.requests import Seeds
from gv_engine.envs.scenario_vector_env import VectorStep, masked
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.reading.scenario import Scenario


class EachAgentVectorEnv(GridVectorEnv):
    """N worlds of A agents as a Gymnasium vector environment of N * A lines, for trainers that
    know one agent; those of one world follow each other.

    World i of `reset(seed=s)` has the seed `s + i`; `reset_mask`, snapshots and pictures are those
    of worlds. An agent that is done has a reward of 0 and stays `terminated` until its world begins
    anew: `info["live"]`, (N * A,) bool, says whose next action counts. Episodes, their statistics
    and `final_obs` end with their worlds. Where a member of a mixture has fewer agents, the lines
    of the others are like those of agents that have left, and no episode of theirs is counted.

    Args:
        scenario, options: as for `GridVectorEnv`.
        num_envs: N.
    """

    several = True

    def _line(self, number: int) -> str:
        world, agent = divmod(number, len(self.scenario.sharing.names))
        return f"{self.scenario.sharing.names[agent]} in {super()._line(world)}"

    def _settle_ends(self) -> None:
        out, over = self._batch.outputs, self._by_world(self._ended).all(axis=1, keepdims=True)
        member = out.final_member if self._mode == SAME_STEP else out.member
        self._by_world(self._ended)[:] = over & self._present(member)

    def _present(self, member: NDArray[np.int64]) -> NDArray[np.bool_]:
        """(N, A) or (A,) which agents are there, by what lines say of their worlds."""
        if not self.scenario.layout.fewer:
            return self._all[: len(self.scenario.sharing.names)]
        return self.scenario.present(self._by_world(member)[:, 0])

    def _by_world(self, lines: NDArray[Any]) -> NDArray[Any]:
        """(N, A, …) an array of all lines."""
        agents = len(self.scenario.sharing.names)
        return lines.reshape(self.num_worlds, agents, *lines.shape[1:])

    def _info(self, given: Any = None) -> dict[str, Any]:
        out = self._batch.outputs
        over = self._by_world(out.terminated | out.truncated)
        live = (~over | over.all(axis=1, keepdims=True)) & self._present(out.member)
        return super()._info(given) | masked({"live": live.ravel()}, self._all)


def _shared(name: str) -> Any:
    """Return a property that reads the attribute of this name from `flat`."""
    return property(attrgetter(f"flat.{name}"), doc=getattr(EachAgentVectorEnv, name, None).__doc__)


class AgentsVectorEnv:
    """N worlds of A agents, stepped together by compiled code, in arrays (N, A, …).

    Observations, rewards, `terminated`, `truncated` and what is in `info` are those of
    `GridVectorEnv`, with an axis of agents behind that of worlds; `info["live"]` is (N, A) bool,
    whose next action counts. Methods that it shares with `GridVectorEnv` do the same.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`; N worlds.

    Attributes:
        flat: the same worlds, each agent in a line of its own, as a Gymnasium vector environment.
        agents: the names of the agents.
        seats: (A,), the axis that arrays have behind that of worlds.
        single_observation_space, single_action_space, num_actions, recorded: of one agent.
        observation_space, action_space: of all agents of all worlds.
    """

    autoreset_mode = _shared("autoreset_mode")
    batch = _shared("batch")
    close = _shared("close")
    expand = _shared("expand")
    metadata = _shared("metadata")
    num_actions = _shared("num_actions")
    num_worlds = _shared("num_worlds")
    recorded = _shared("recorded")
    render = _shared("render")
    render_mode = _shared("render_mode")
    scenario = _shared("scenario")
    single_action_space = _shared("single_action_space")
    single_observation_space = _shared("single_observation_space")
    snapshot = _shared("snapshot")
    state_key = _shared("state_key")
    world = _shared("world")

    def __init__(
        self, scenario: Scenario | str | Path | dict[str, Any], num_envs: int = 1, **options: Any
    ) -> None:
        self.flat = EachAgentVectorEnv(scenario, num_envs, **options)
        self.num_envs = num_envs
        self.agents = tuple(self.scenario.sharing.names)
        self.seats = (len(self.agents),)
        self.action_space = spaces.MultiDiscrete(np.full((num_envs, *self.seats), self.num_actions))
        each = batch_space(self.single_observation_space, *self.seats)
        texts = isinstance(each, spaces.Tuple)  # of which Gymnasium would make a tuple by agent
        self.observation_space: spaces.Space[Any] = (
            spaces.Tuple([each] * num_envs) if texts else batch_space(each, num_envs)
        )

    @property
    def labels(self) -> dict[str, list[str]]:
        """What numbers in the data of rollouts stand for, and the names of the agents."""
        return {**self.flat.labels, "agents": list(self.agents)}

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Draw new levels, as `GridVectorEnv.reset` does."""
        observation, info = self.flat.reset(seed=seed, options=options, out=self._lines(out))
        return self._by_world(observation), self._by_world(info)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Let every agent act.

        Args:
            actions: (N, A) integers of the action space; those of agents that are done are not
                looked at, but have to be there.
            out: as for `GridVectorEnv.step`, of shapes (N, A, …).

        Raises:
            ValueError: they have another shape, one is none of the action space, or nothing was
                reset yet; or `out` does not fit.
            RuleError: a rule is not defined on one of the worlds.
        """
        given, expected = np.asarray(actions), (self.num_envs, *self.seats)
        if given.shape != expected or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions have shape {given.shape} and dtype {given.dtype}: expected {expected} "
                f"integers"
            )
        observation, *results, info = self.flat.step(given.ravel(), self._lines(out))
        rewards, terminated, truncated = map(self._by_world, results)
        return self._by_world(observation), rewards, terminated, truncated, self._by_world(info)

    def restore(
        self, rows: NDArray[Any], worlds: ArrayLike | None = None, *, trusted: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Make worlds those of rows, as `GridVectorEnv.restore` does."""
        observation, info = self.flat.restore(rows, worlds, trusted=trusted)
        return self._by_world(observation), self._by_world(info)

    def missions(self) -> tuple[tuple[str, ...], ...]:
        """Return what each agent of each world is asked to do, in words; empty for nothing."""
        found: tuple[tuple[str, ...], ...] = self._by_world(self.flat.missions())
        return found

    def fork(self) -> AgentsVectorEnv:
        """Return an independent environment with the same worlds, and the same future."""
        return deepcopy(self)

    def _lines(self, out: Mapping[str, Any] | None) -> dict[str, NDArray[Any]] | None:
        """Return the memory of `out`, (N, A, …), as arrays of all lines."""
        if out is None:
            return None
        kinds = {
            name: ((self.num_envs, *self.seats, *shape[1:]), dtype)
            for name, (shape, dtype) in self.flat._results.items()
        }
        lines = self.flat.num_envs
        return {
            name: array.reshape(lines, *array.shape[2:])
            for name, array in places(out, kinds).items()
        }

    def _by_world(self, lines: Any) -> Any:
        """Return arrays (N, A, …) of those of all lines, also in mappings; of texts, tuples."""
        if isinstance(lines, dict):
            return {name: self._by_world(value) for name, value in lines.items()}
        (agents,) = self.seats
        if isinstance(lines, tuple):
            return tuple(lines[i : i + agents] for i in range(0, len(lines), agents))
        return lines.reshape(self.num_envs, agents, *lines.shape[1:])

    def __repr__(self) -> str:
        worlds = f"{self.num_envs:,} worlds of {len(self.agents)} agents"
        return f"<{type(self).__name__} {self.scenario.name}, {worlds}, {self.world}>"
