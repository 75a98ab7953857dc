"""Vector environments of scenarios with several agents."""

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

from gv_engine.envs.arg_checks import Seeds, as_output_arrays, describe_action_fault
from gv_engine.envs.scenario_vector_env import VectorStep, add_presence_masks
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import SAME_STEP


class EachAgentVectorEnv(GridVectorEnv):
    """Gymnasium vector environment in which each agent counts as an environment, so that trainers
    for one agent can be used. N worlds with A agents have arrays of N * A entries, world by world.

    World i of `reset(seed=s)` has the seed `s + i`; `reset_mask`, snapshots and pictures are per
    world. An agent that is done has a reward of 0 and stays `terminated` until its world is reset:
    `info["live"]`, (N * A,) bool, marks the lines whose next action counts. Episodes, their
    statistics and `final_obs` end with their worlds. If a member of a mixture has fewer agents, the
    lines of the missing agents look like those of agents that are done, and count no episodes.

    >>> envs = EachAgentVectorEnv("hold-plates", 16, world="object")
    >>> observations, infos = envs.reset(seed=0)
    >>> observations["grid"].shape[0], infos["live"].shape
    (32, (32,))

    Args:
        scenario, options: as for `GridVectorEnv`.
        num_envs: N.
    """

    is_multi_agent = True

    def _name_line(self, line: int) -> str:
        world, agent = divmod(line, len(self.scenario.agent_group.names))
        return f"{self.scenario.agent_group.names[agent]} in {super()._name_line(world)}"

    def _unmark_running_worlds(self) -> None:
        out = self._batch.outputs
        member = out.final_member if self._mode == SAME_STEP else out.member
        self._ended[:] = self._find_worlds_with_all(self._ended) & self._find_present(member)

    def _find_worlds_with_all(self, lines: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return an (N * A,) mask of the lines of worlds in which all `lines` are True."""
        by_agent = np.ascontiguousarray(self._by_world(lines).T)  # NumPy is slow along short axes
        return by_agent.all(axis=0).repeat(len(by_agent))

    def _find_present(self, member: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return an (N * A,) mask of the agents that are part of their world; `member` has the
        index of the mixture's scenario for each line."""
        if not self.scenario.layout.has_smaller_members:
            return self._all
        return self.scenario.present_agents(self._by_world(member)[:, 0]).ravel()

    def _by_world(self, lines: NDArray[Any]) -> NDArray[Any]:
        agents = len(self.scenario.agent_group.names)
        return lines.reshape(self.num_worlds, agents, *lines.shape[1:])

    def _info(self, outputs: Any = None) -> dict[str, Any]:
        """Return the dictionary `info` about all agents of all worlds. Its entry `live` is True for
        agents that can act in the next step. `outputs` has arrays of the caller to be filled, or is
        None."""
        out = self._batch.outputs
        is_done = out.terminated | out.truncated
        # a world in which all agents are done is reset by the next step
        is_live = (~is_done | self._find_worlds_with_all(is_done)) & self._find_present(out.member)
        if self.scenario.layout.has_absence and self._has_action_masks:
            is_live &= out.mask.any(axis=-1)
        return super()._info(outputs) | add_presence_masks({"live": is_live}, self._all)


def _delegate(name: str) -> Any:
    return property(attrgetter(f"flat.{name}"), doc=getattr(EachAgentVectorEnv, name, None).__doc__)


class AgentsVectorEnv:
    """Vector environment of N worlds with A agents, whose arrays have the shape (N, A, …). It is
    stepped by compiled code.

    Observations, rewards, `terminated`, `truncated` and the contents of `info` are those of
    `GridVectorEnv`, with an axis of agents behind the axis of worlds; `info["live"]` is (N, A)
    bool, True for agents whose next action counts. Methods of the same name as in `GridVectorEnv`
    do the same.

    >>> envs = AgentsVectorEnv("hold-plates", 16, world="object")
    >>> observations, infos = envs.reset(seed=0)
    >>> envs.agents, observations["item"].shape, infos["live"].shape
    (('ann', 'bob'), (16, 2, 3), (16, 2))

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`; N worlds.

    Attributes:
        flat: the same worlds as a Gymnasium vector environment with one line per agent.
        agents: names of the agents.
        agent_shape: (A,), the axis of agents behind the axis of worlds.
        single_observation_space, single_action_space, num_actions, recorded: as for one agent.
        observation_space, action_space: spaces of all agents of all worlds.
    """

    autoreset_mode = _delegate("autoreset_mode")
    batch = _delegate("batch")
    close = _delegate("close")
    expand = _delegate("expand")
    metadata = _delegate("metadata")
    num_actions = _delegate("num_actions")
    num_worlds = _delegate("num_worlds")
    recorded = _delegate("recorded")
    render = _delegate("render")
    render_mode = _delegate("render_mode")
    scenario = _delegate("scenario")
    single_action_space = _delegate("single_action_space")
    single_observation_space = _delegate("single_observation_space")
    snapshot = _delegate("snapshot")
    state_key = _delegate("state_key")
    world = _delegate("world")

    def __init__(
        self, scenario: Scenario | str | Path | dict[str, Any], num_envs: int = 1, **options: Any
    ) -> None:
        """Create the worlds and the spaces; the class docstring explains the arguments."""
        self.flat = EachAgentVectorEnv(scenario, num_envs, **options)
        self.num_envs = num_envs
        self.agents = tuple(self.scenario.agent_group.names)
        self.agent_shape = (len(self.agents),)
        sizes = np.full((num_envs, *self.agent_shape), self.num_actions)
        self.action_space = spaces.MultiDiscrete(sizes)
        world_space = batch_space(self.single_observation_space, *self.agent_shape)
        self.observation_space: spaces.Space[Any]
        if isinstance(world_space, spaces.Tuple):  # texts, which Gymnasium would batch by agent
            self.observation_space = spaces.Tuple([world_space] * num_envs)
        else:
            self.observation_space = batch_space(world_space, num_envs)

    @property
    def labels(self) -> dict[str, list[str]]:
        """Names that numbers in rollout data stand for, such as `action_names`, and the names of
        the agents."""
        return {**self.flat.labels, "agents": list(self.agents)}

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start a new episode with a new random level in each world, as `GridVectorEnv.reset` does;
        results have shape (N, A, …) for A agents."""
        observation, info = self.flat.reset(seed=seed, options=options, out=self._as_lines(out))
        return self._by_world(observation), self._by_world(info)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Apply one action of each of the A agents in each of the N worlds, and return the results
        with shape (N, A, …).

        Args:
            actions: (N, A) integers of the action space; those of agents that are done are ignored
                but must be present.
            out: as for `GridVectorEnv.step`, with shapes (N, A, …).

        Raises:
            ValueError: the actions have another shape, one is not in the action space, `reset` was
                not called yet, or `out` does not fit.
            RuleError: a rule is not defined on one of the worlds.
        """
        array, expected = np.asarray(actions), (self.num_envs, *self.agent_shape)
        if array.shape != expected or array.dtype.kind not in "iu":
            raise ValueError(describe_action_fault(array, expected))
        observation, *results, info = self.flat.step(array.ravel(), self._as_lines(out))
        rewards, terminated, truncated = map(self._by_world, results)
        return self._by_world(observation), rewards, terminated, truncated, self._by_world(info)

    def restore(
        self, rows: NDArray[Any], worlds: ArrayLike | None = None, *, trusted: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Set `worlds` to the states in `rows`, records from `snapshot`, as `GridVectorEnv.restore`
        does; with `trusted`, the rows are not checked."""
        observation, info = self.flat.restore(rows, worlds, trusted=trusted)
        return self._by_world(observation), self._by_world(info)

    def missions(self) -> tuple[tuple[str, ...], ...]:
        """Return the mission text of every agent, as one tuple for each world; "" in a scenario
        without missions."""
        texts: tuple[tuple[str, ...], ...] = self._by_world(self.flat.missions())
        return texts

    def fork(self) -> AgentsVectorEnv:
        """Return an independent copy of the environment; its worlds have the same states and, for
        the same actions, the same future."""
        return deepcopy(self)

    def _as_lines(self, out: Mapping[str, Any] | None) -> dict[str, NDArray[Any]] | None:
        """Return the caller's arrays `out`, of shape (N, A, …), as views of shape (N * A, …)."""
        if out is None:
            return None
        specs = {
            name: ((self.num_envs, *self.agent_shape, *shape[1:]), dtype)
            for name, (shape, dtype) in self.flat._output_specs.items()
        }
        lines = self.flat.num_envs
        return {
            name: array.reshape(lines, *array.shape[2:])
            for name, array in as_output_arrays(out, specs).items()
        }

    def _by_world(self, arrays: Any) -> Any:
        """Return arrays of shape (N * A, …) as (N, A, …), also those in nested dictionaries. A
        tuple of N * A texts becomes N tuples."""
        if isinstance(arrays, dict):
            return {name: self._by_world(value) for name, value in arrays.items()}
        (agents,) = self.agent_shape
        if isinstance(arrays, tuple):
            return tuple(arrays[i : i + agents] for i in range(0, len(arrays), agents))
        return arrays.reshape(self.num_envs, agents, *arrays.shape[1:])

    def __repr__(self) -> str:
        worlds = f"{self.num_envs:,} worlds of {len(self.agents)} agents"
        return f"<{type(self).__name__} {self.scenario.name}, {worlds}, {self.world}>"
