"""Environments of scenarios with several agents: PettingZoo, and vector environments with one line
per agent or with an axis of agents."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import compress
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.spaces import Discrete, Space
from gymnasium.utils import seeding
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray
from pettingzoo import ParallelEnv  # optional dependency

from gv_engine.envs.arg_checks import Seeds, as_output_arrays
from gv_engine.envs.environment import GridEnv, resolve_grid_scenario
from gv_engine.envs.observations import RepresentationSpec, make_encoder
from gv_engine.envs.render_modes import Renderer, with_usable_modes
from gv_engine.envs.scenario_vector_env import VectorStep, add_presence_masks
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.rules.errors import MissingExtraError, describe_allowed
from gv_engine.scenario.optional_deps import PARALLEL
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import make_batch
from gv_engine.world.autoreset import DISABLED, RESTART, SAME_STEP

# ---- parallel environment ------------------------------------------------------------------------

if PARALLEL.missing_message:
    raise MissingExtraError(PARALLEL.missing_message)


class ParallelGridEnv(ParallelEnv[str, Any, int]):  # type: ignore[misc]  # it has no types
    """PettingZoo environment with one world of a scenario, in which all agents act at once, by
    name.

    Observations, actions and infos are those of a `GridEnv`, one per agent. An agent whose episode
    has ended leaves `agents`; it is terminated where a terminating rule is true for it, and
    truncated where the episode ends for all others, such as at `max_steps`.

    Args:
        scenario, render_mode, world, max_steps, observation_representation, options: as for
        `GridEnv`.

    Attributes:
        scenario: scenario that is played.
        possible_agents: names of all agents in their order; in a mixture, of the member with the
            most agents. A world of another member starts with fewer `agents`.
        agents: names of the agents whose episode goes on.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        *,
        render_mode: str | None = None,
        world: str = "auto",
        max_steps: int | None = None,
        observation_representation: RepresentationSpec = "default",
        **options: Any,
    ) -> None:
        modes = GridEnv.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(
                f"render_mode={render_mode!r}: allowed are None and {', '.join(modes)}"
            )
        self.scenario = resolve_grid_scenario(scenario, max_steps, **options)
        self.metadata = {
            **with_usable_modes(GridEnv.metadata),
            "name": self.scenario.name,
            "is_parallelizable": True,
        }
        self.render_mode = render_mode
        self.possible_agents = list(self.scenario.sharing.names)
        self.agents: list[str] = []
        self._encoder = make_encoder(self.scenario, observation_representation)
        self._batch = make_batch(self.scenario, 1, world, more=self._encoder.source_arrays)
        self._encoder.bind_backend(self._batch)
        self._action_space = Discrete(len(self.scenario.actions))
        self._agent_indices = {name: index for index, name in enumerate(self.possible_agents)}
        self._renderer: Renderer | None = None
        self._started = False

    @property
    def world(self) -> str:
        """Name of the current backend."""
        return self._batch.world

    def observation_space(self, agent: str) -> Space[Any]:
        """Return the observation space of an agent, the same object in every call."""
        self._check_agent(agent)
        return self._encoder.space

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of an agent, the same object in every call."""
        self._check_agent(agent)
        return self._action_space

    def _check_agent(self, agent: Any) -> None:
        """Raise ValueError if there is no agent of this name."""
        if agent not in self._agent_indices:
            raise ValueError(
                f"no agent {agent!r}: {describe_allowed(str(agent), self.possible_agents)}"
            )

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Sample a new level; with a seed, the level that belongs to it.

        All options are ignored, as PettingZoo requires.
        """
        if seed is not None or not self._started:
            self._batch.set_generator(0, seeding.np_random(seed)[0])
        self._started = True
        self._batch.step(np.full(len(self._agent_indices), RESTART), DISABLED)
        self.agents = self._present_agents()
        return self._observations(self.agents), self._infos(self.agents)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Apply the actions of the agents whose episode goes on.

        Args:
            actions: one action for each of these agents, by name.

        Returns:
            observations, rewards, terminations, truncations and infos of these agents.

        Raises:
            ValueError: an agent is missing or unknown, an action is not in the action space, or
                `reset` was not called yet.
            RuleError: a rule is not defined on this world.
        """
        acting, out = self.agents, self._batch.outputs
        self._batch.step(self._check_actions(actions), DISABLED)
        ended = {
            name: (bool(out.terminated[index]), bool(out.truncated[index]))
            for name, index in self._agent_indices.items()
        }
        self.agents = [name for name in acting if not any(ended[name])]
        return (
            self._observations(acting),
            {name: float(out.rewards[self._agent_indices[name]]) for name in acting},
            {name: ended[name][0] for name in acting},
            {name: ended[name][1] for name in acting},
            self._infos(acting),
        )

    def _check_actions(self, actions: Mapping[str, Any]) -> NDArray[np.int64]:
        """Return (A,) action numbers, 0 for agents whose episode is over."""
        if not self._started:
            raise ValueError("call reset() before the first step()")
        if not isinstance(actions, Mapping):
            raise ValueError(
                f"actions are a {type(actions).__name__}: expected a mapping of the agents' names "
                f"({', '.join(self.possible_agents)}) to numbers"
            )
        for name in actions:
            self._check_agent(name)
        numbers = np.zeros(len(self._agent_indices), np.int64)
        for name in self.agents:
            if name not in actions:
                raise ValueError(f"no action for {name}, whose episode is not over")
            if not self._action_space.contains(actions[name]):
                last = self._action_space.n - 1
                raise ValueError(
                    f"action {actions[name]!r} of {name}: allowed are 0 to {last}, for "
                    f"{', '.join(self.scenario.action_names)}"
                )
            numbers[self._agent_indices[name]] = actions[name]
        return numbers

    def _observations(self, names: list[str]) -> dict[str, Any]:
        """Return the observations of these agents, by name."""
        arrays = self._batch.outputs.get_arrays(self._encoder.source_arrays)
        return {
            name: self._encoder.encode(*(array[self._agent_indices[name], ...] for array in arrays))
            for name in names
        }

    def _infos(self, names: list[str]) -> dict[str, Any]:
        """Return the infos of these agents, by name."""
        return {name: self._info(self._agent_indices[name]) for name in names}

    def _info(self, index: int) -> dict[str, Any]:
        """Return the info of the agent with this index."""
        out, scenario = self._batch.outputs, self.scenario
        terms = zip(scenario.reward_names, out.terms[index].tolist(), strict=True)
        info: dict[str, Any] = {"action_mask": out.mask[index].copy(), "reward_terms": dict(terms)}
        if scenario.tells_success:
            info["success"] = info["is_success"] = bool(out.success[index])
        if scenario.mixture:
            info["member"] = int(out.member[index])
        if scenario.missions:
            info["mission"] = scenario.missions.to_text(out.mission[index])
        return info

    def snapshot(self) -> NDArray[Any]:
        """Return the world as one row: a () array of `scenario.layout.dtype`."""
        return self._batch.snapshot(0)

    def restore(self, row: NDArray[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Replace the world by a row, and return observations and infos as `reset` does.

        Raises:
            ValueError: the row has another layout.
        """
        self._started = True
        self._batch.restore(0, row)
        over = row["terminated"] or row["truncated"]
        names, present = enumerate(self.possible_agents, 1), self._present_agents()
        self.agents = [name for number, name in names if not (over or row["done"][number])]
        return self._observations(present), self._infos(present)

    def _present_agents(self) -> list[str]:
        """Return the names of the agents of the mixture's member that is played; all agents without
        a mixture."""
        present = self.scenario.present_agents(int(self._batch.outputs.member[0])).tolist()
        return list(compress(self.possible_agents, present))

    def fork(self) -> ParallelGridEnv:
        """Return an independent copy of the environment with the same world and the same future."""
        return deepcopy(self)

    def render(self) -> Any:
        """Return a picture of the world as `GridEnv.render` does, with the view of the first
        agent."""
        if self.render_mode is None or not self._started:
            return None
        if self._renderer is None:
            self._renderer = Renderer(self.render_mode, self.scenario, self._batch.render)
        return self._renderer.draw(0)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling and copying, without the renderer."""
        return {**vars(self), "_renderer": None}  # a copy opens its own window

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scenario.name}, {self.world}>"

    __str__ = __repr__


# ---- vector environments -------------------------------------------------------------------------


class EachAgentVectorEnv(GridVectorEnv):
    """Gymnasium vector environment of N worlds with A agents as N * A lines, for single-agent
    trainers; the lines of one world follow each other.

    World i of `reset(seed=s)` has the seed `s + i`; `reset_mask`, snapshots and pictures are per
    world. An agent that is done has a reward of 0 and stays `terminated` until its world is reset:
    `info["live"]`, (N * A,) bool, marks the lines whose next action counts. Episodes, their
    statistics and `final_obs` end with their worlds. If a member of a mixture has fewer agents, the
    lines of the missing agents look like those of agents that are done, and count no episodes.

    Args:
        scenario, options: as for `GridVectorEnv`.
        num_envs: N.
    """

    is_multi_agent = True

    def _describe_line(self, number: int) -> str:
        """Return agent and world of a line, for messages."""
        world, agent = divmod(number, len(self.scenario.sharing.names))
        return f"{self.scenario.sharing.names[agent]} in {super()._describe_line(world)}"

    def _mark_ended_worlds(self) -> None:
        """Keep `_ended` True only for lines of present agents whose whole world has ended."""
        out, over = self._batch.outputs, self._by_world(self._ended).all(axis=1, keepdims=True)
        member = out.final_member if self._mode == SAME_STEP else out.member
        self._by_world(self._ended)[:] = over & self._present_agents(member)

    def _present_agents(self, member: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return (N, A) or (A,) True for agents that exist, given the member of each line's
        world."""
        if not self.scenario.layout.has_smaller_members:
            return self._all[: len(self.scenario.sharing.names)]
        return self.scenario.present_agents(self._by_world(member)[:, 0])

    def _by_world(self, lines: NDArray[Any]) -> NDArray[Any]:
        """Return the lines of an array as (N, A, …)."""
        agents = len(self.scenario.sharing.names)
        return lines.reshape(self.num_worlds, agents, *lines.shape[1:])

    def _info(self, outputs: Any = None) -> dict[str, Any]:
        """Return the info of all lines, with `live`."""
        out = self._batch.outputs
        over = self._by_world(out.terminated | out.truncated)
        live = (~over | over.all(axis=1, keepdims=True)) & self._present_agents(out.member)
        return super()._info(outputs) | add_presence_masks({"live": live.ravel()}, self._all)


def _delegate(name: str) -> Any:
    """Return a property that reads the attribute of this name from `flat`."""
    return property(attrgetter(f"flat.{name}"), doc=getattr(EachAgentVectorEnv, name, None).__doc__)


class AgentsVectorEnv:
    """Vector environment of N worlds with A agents in arrays (N, A, …), stepped by compiled code.

    Observations, rewards, `terminated`, `truncated` and the contents of `info` are those of
    `GridVectorEnv`, with an axis of agents behind the axis of worlds; `info["live"]` is (N, A)
    bool, True for agents whose next action counts. Methods of the same name as in `GridVectorEnv`
    do the same.

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
        self.flat = EachAgentVectorEnv(scenario, num_envs, **options)
        self.num_envs = num_envs
        self.agents = tuple(self.scenario.sharing.names)
        self.agent_shape = (len(self.agents),)
        sizes = np.full((num_envs, *self.agent_shape), self.num_actions)
        self.action_space = spaces.MultiDiscrete(sizes)
        each = batch_space(self.single_observation_space, *self.agent_shape)
        texts = isinstance(each, spaces.Tuple)  # Gymnasium would batch them by agent
        self.observation_space: spaces.Space[Any] = (
            spaces.Tuple([each] * num_envs) if texts else batch_space(each, num_envs)
        )

    @property
    def labels(self) -> dict[str, list[str]]:
        """Names of the numbers in rollout data, and of the agents."""
        return {**self.flat.labels, "agents": list(self.agents)}

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Sample new levels, as `GridVectorEnv.reset` does."""
        observation, info = self.flat.reset(seed=seed, options=options, out=self._as_lines(out))
        return self._by_world(observation), self._by_world(info)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Apply the action of every agent.

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
            raise ValueError(
                f"actions have shape {array.shape} and dtype {array.dtype}: expected {expected} "
                f"integers"
            )
        observation, *results, info = self.flat.step(array.ravel(), self._as_lines(out))
        rewards, terminated, truncated = map(self._by_world, results)
        return self._by_world(observation), rewards, terminated, truncated, self._by_world(info)

    def restore(
        self, rows: NDArray[Any], worlds: ArrayLike | None = None, *, trusted: bool = False
    ) -> tuple[Any, dict[str, Any]]:
        """Replace worlds by rows, as `GridVectorEnv.restore` does."""
        observation, info = self.flat.restore(rows, worlds, trusted=trusted)
        return self._by_world(observation), self._by_world(info)

    def missions(self) -> tuple[tuple[str, ...], ...]:
        """Return the mission text of each agent of each world; empty without missions."""
        texts: tuple[tuple[str, ...], ...] = self._by_world(self.flat.missions())
        return texts

    def fork(self) -> AgentsVectorEnv:
        """Return an independent copy of the environment with the same worlds and the same
        future."""
        return deepcopy(self)

    def _as_lines(self, out: Mapping[str, Any] | None) -> dict[str, NDArray[Any]] | None:
        """Return the arrays of `out`, (N, A, …), as arrays of all lines."""
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

    def _by_world(self, lines: Any) -> Any:
        """Return line arrays as (N, A, …), also in mappings; texts as tuples by world."""
        if isinstance(lines, dict):
            return {name: self._by_world(value) for name, value in lines.items()}
        (agents,) = self.agent_shape
        if isinstance(lines, tuple):
            return tuple(lines[i : i + agents] for i in range(0, len(lines), agents))
        return lines.reshape(self.num_envs, agents, *lines.shape[1:])

    def __repr__(self) -> str:
        worlds = f"{self.num_envs:,} worlds of {len(self.agents)} agents"
        return f"<{type(self).__name__} {self.scenario.name}, {worlds}, {self.world}>"
