"""PettingZoo parallel environment of a scenario with several agents; needs pettingzoo."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete, Space
from gymnasium.utils import seeding
from numpy.typing import NDArray

from gv_engine.envs.backends.backend import make_batch
from gv_engine.envs.environment import GridEnv, resolve_grid_scenario
from gv_engine.envs.observations import RepresentationSpec, make_encoder
from gv_engine.envs.render_modes import RenderedEnv, check_render_mode, with_usable_modes
from gv_engine.plugins.adapters.extras import PETTINGZOO
from gv_engine.rules.errors import (
    STEP_AFTER_CLOSE,
    STEP_AFTER_END,
    MissingExtraError,
    describe_allowed,
)
from gv_engine.scenario.library import gym_id, list_multi_agent_grids
from gv_engine.scenario.memory.row_checks import tag_rows
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.columns import RowWorld
from gv_engine.world.simulation import DISABLED, RESTART

if PETTINGZOO.missing_message:
    raise MissingExtraError(PETTINGZOO.missing_message)
from pettingzoo import ParallelEnv


class ParallelGridEnv(RenderedEnv, ParallelEnv[str, Any, int]):
    """PettingZoo environment with one world of a scenario, in which all agents act in every step;
    actions and results are dictionaries by agent name.

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
        observation_spaces, action_spaces: spaces of all agents, by name.
        state_space: space of what `state` returns: (H, W, 4) uint8.
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
        """Make the world and the spaces of all agents. The class docstring explains the
        arguments."""
        check_render_mode(render_mode, GridEnv.metadata["render_modes"])
        self.scenario: Scenario = resolve_grid_scenario(scenario, max_steps, **options)
        self.metadata = {
            **with_usable_modes(GridEnv.metadata),
            "name": self.scenario.name,
            "is_parallelizable": True,
        }
        self.render_mode = render_mode
        self.possible_agents = list(self.scenario.agent_group.names)
        self.agents: list[str] = []
        self._encoder = make_encoder(self.scenario, observation_representation)
        self._batch = make_batch(self.scenario, 1, world, extra_names=self._encoder.source_arrays)
        self._encoder.bind_backend(self._batch)
        self._action_space = Discrete(len(self.scenario.actions))
        self._agent_indices = {name: index for index, name in enumerate(self.possible_agents)}
        self.observation_spaces = dict.fromkeys(self.possible_agents, self._encoder.space)
        self.action_spaces = dict.fromkeys(self.possible_agents, self._action_space)
        self.state_space = Box(0, 255, (*self.scenario.largest_shape, 4), np.uint8)

    @property
    def world(self) -> str:  # type: ignore[override]  # an attribute there
        """Name of the backend that runs the world: "compiled" or "object"."""
        return self._batch.world

    def observation_space(self, agent: str) -> Space[Any]:
        """Return the observation space of an agent, the same object in every call."""
        self._check_agent(agent)
        return self._encoder.space

    def action_space(self, agent: str) -> Space[Any]:
        """Return the action space of an agent, the same object in every call."""
        self._check_agent(agent)
        return self._action_space

    def state(self) -> NDArray[np.uint8]:
        """Return the whole grid, which no agent sees, as (H, W, 4) uint8: type, state and colour of
        the topmost object, and the number of the agent in the cell. Agents count from 1; 0 means no
        agent.

        Raises:
            ValueError: `reset` was not called yet.
        """
        row, layout = self.snapshot(), self.scenario.layout
        world, state = RowWorld(layout, row), np.zeros(self.state_space.shape, np.uint8)
        state[: row["height"], : row["width"], :3] = world.cells()
        for agent in layout.agent_entities:
            y, x = (int(row["position"][axis][agent]) for axis in ("y", "x"))
            if y >= 0:
                agent_type, facing = row["kind"]["value"][agent], row["agent"]["facing"][agent]
                state[y, x] = agent_type, facing, row["color"]["value"][agent], agent
        return state

    def _check_agent(self, agent: Any) -> None:
        """Raise ValueError if the scenario has no agent called `agent`."""
        if agent not in self._agent_indices:
            raise ValueError(
                f"no agent {agent!r}{describe_allowed(str(agent), self.possible_agents)}"
            )

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Start a new episode. Its level is random, or determined by `seed`. Return observations
        and infos by agent name.

        All options are ignored, as PettingZoo requires.
        """
        if seed is not None or not self._started:
            self._batch.set_generator(0, seeding.np_random(seed)[0])
        self._started, self._is_closed = True, False
        self._batch.step(np.full(len(self._agent_indices), RESTART), DISABLED)
        self.agents = self._list_present_agents()
        return self._encode_observations(self.agents), self._make_infos(self.agents)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Take one action of each agent that is still in its episode, and return results by agent
        name. After the end of the episode, warn once and return empty dicts.

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
        action_indices = self._check_actions(actions)
        if self._is_closed:
            self._warn_once(STEP_AFTER_CLOSE)
        if not acting:
            self._warn_once(STEP_AFTER_END)
            return {}, {}, {}, {}, {}
        self._batch.step(action_indices, DISABLED)
        lines = {name: self._agent_indices[name] for name in acting}
        terminated = {name: bool(out.terminated[line]) for name, line in lines.items()}
        truncated = {name: bool(out.truncated[line]) for name, line in lines.items()}
        rewards = {name: float(out.rewards[line]) for name, line in lines.items()}
        self.agents = [name for name in acting if not terminated[name] and not truncated[name]]
        return (
            self._encode_observations(acting),
            rewards,
            terminated,
            truncated,
            self._make_infos(acting),
        )

    def _check_actions(self, actions: Mapping[str, Any]) -> NDArray[np.int64]:
        """Check the actions and return them as an array (A,). Agents whose episode is over get
        0."""
        if not self._started:
            raise ValueError("call reset() before the first step()")
        if not isinstance(actions, Mapping):
            raise ValueError(
                f"actions are a {type(actions).__name__}: expected a mapping of the agents' names "
                f"({', '.join(self.possible_agents)}) to numbers"
            )
        for name in actions:
            self._check_agent(name)
        action_indices = np.zeros(len(self._agent_indices), np.int64)
        for name in self.agents:
            if name not in actions:
                raise ValueError(f"no action for {name}, whose episode is not over")
            if not self._action_space.contains(actions[name]):
                last = self._action_space.n - 1
                raise ValueError(
                    f"action {actions[name]!r} of {name}: allowed are 0 to {last}, for "
                    f"{', '.join(self.scenario.action_names)}"
                )
            action_indices[self._agent_indices[name]] = actions[name]
        return action_indices

    def _encode_observations(self, names: list[str]) -> dict[str, Any]:
        """Return the observations of the agents called `names`, by name."""
        arrays = self._batch.outputs.get_arrays(self._encoder.source_arrays)
        return {
            name: self._encoder.encode(*(array[self._agent_indices[name], ...] for array in arrays))
            for name in names
        }

    def _make_infos(self, names: list[str]) -> dict[str, Any]:
        return {name: self._make_info(self._agent_indices[name]) for name in names}

    def _make_info(self, index: int) -> dict[str, Any]:
        """Return the info dict of one agent; its `index` counts from 0."""
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
        """Return the whole state of the world as one record (row), an array of shape () and dtype
        `scenario.layout.dtype`.

        Raises:
            ValueError: `reset` was not called yet.
        """
        if not self._started:
            raise ValueError("call reset() before the first snapshot()")
        return tag_rows(self._batch.snapshot(0), self.scenario.name)

    def restore(self, row: NDArray[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Restore the world from `row`, a record that `snapshot` returned. Return observations and
        infos like `reset`.

        Raises:
            ValueError: the row has another layout, or is of another scenario.
        """
        self._batch.restore(0, row)
        self._started = True
        is_over = row["terminated"] or row["truncated"]
        self.agents = [
            name
            for number, name in enumerate(self.possible_agents, 1)
            if not is_over and not row["done"][number]
        ]
        present = self._list_present_agents()
        return self._encode_observations(present), self._make_infos(present)

    def _list_present_agents(self) -> list[str]:
        is_present = self.scenario.present_agents(int(self._batch.outputs.member[0])).tolist()
        return list(compress(self.possible_agents, is_present))

    def render(self) -> Any:
        """Return a picture of the world as `GridEnv.render` does; it shows the view of the first
        agent."""
        return None if self.render_mode is None or not self._started else self._draw(0)


def register_parallel_envs() -> None:
    """Register all built-in multi-agent levels with PettingZoo as `GV-<Name>-v0`. Do nothing if
    this version of PettingZoo has no registry."""
    import pettingzoo

    if hasattr(pettingzoo, "register"):  # from 1.27 on
        for name in list_multi_agent_grids():
            entry_point, kwargs = f"{__name__}:{ParallelGridEnv.__name__}", {"scenario": name}
            pettingzoo.register("parallel", gym_id(name), entry_point, kwargs=kwargs)


register_parallel_envs()
