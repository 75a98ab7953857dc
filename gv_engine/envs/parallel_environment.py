"""A scenario with agents as an environment of PettingZoo."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete, Space
from gymnasium.utils import seeding
from numpy.typing import NDArray

from gv_engine.batches.autoreset import DISABLED, RESTART
from gv_engine.batches.worlds import make_batch
from gv_engine.envs.environment import GridEnv, grid_scenario
from gv_engine.envs.forms import FormName, form_of
from gv_engine.envs.pictures import Renderer, with_usable_modes
from gv_engine.language.errors import MissingExtraError, nearest
from gv_engine.reading.extras import PARALLEL
from gv_engine.reading.scenario import Scenario

if PARALLEL.missing:
    raise MissingExtraError(PARALLEL.missing)
from pettingzoo import ParallelEnv  # what may not be there


class ParallelGridEnv(ParallelEnv[str, Any, int]):  # type: ignore[misc]  # it has no types
    """One world of a scenario, in which all agents act at once, by their names.

    Observations, actions and infos are those of a `GridEnv`, one for each agent. An agent whose
    episode has ended is in `agents` no longer; it is terminated where a terminating function is
    true for it, and truncated where the episode ends for all others, at `max_steps` say.

    Args:
        scenario, render_mode, world, max_steps, observation_representation, options: as for
            `GridEnv`.

    Attributes:
        scenario: what is played.
        possible_agents: the names of all agents, in their order; of a mixture, those of the member
            with the most. In a world that plays another one, `agents` begins with fewer.
        agents: of those whose episode goes on.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        *,
        render_mode: str | None = None,
        world: str = "auto",
        max_steps: int | None = None,
        observation_representation: FormName = "default",
        **options: Any,
    ) -> None:
        modes = GridEnv.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(
                f"render_mode={render_mode!r}: allowed are None and {', '.join(modes)}"
            )
        self.scenario = grid_scenario(scenario, max_steps, **options)
        self.metadata = {
            **with_usable_modes(GridEnv.metadata),
            "name": self.scenario.name,
            "is_parallelizable": True,
        }
        self.render_mode = render_mode
        self.possible_agents = list(self.scenario.sharing.names)
        self.agents: list[str] = []
        self._form = form_of(self.scenario, observation_representation)
        self._batch = make_batch(self.scenario, 1, world, more=self._form.made_of)
        self._form.belongs_to(self._batch)
        self._action_space = Discrete(len(self.scenario.actions))
        self._seats = {name: seat for seat, name in enumerate(self.possible_agents)}
        self._renderer: Renderer | None = None
        self._started = False

    @property
    def world(self) -> str:
        """The backend that steps now."""
        return self._batch.world

    def observation_space(self, agent: str) -> Space[Any]:
        """What an agent may see, the same space at every call."""
        self._know(agent)
        return self._form.space

    def action_space(self, agent: str) -> Space[Any]:
        """What an agent may do, the same space at every call."""
        self._know(agent)
        return self._action_space

    def _know(self, agent: Any) -> None:
        """Make sure that it is the name of an agent."""
        if agent not in self._seats:
            raise ValueError(f"no agent {agent!r}: {nearest(str(agent), self.possible_agents)}")

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Draw a new level; with a seed, the one that belongs to it. No options are known, and none
        refused, as PettingZoo has it."""
        if seed is not None or not self._started:
            self._batch.set_generator(0, seeding.np_random(seed)[0])
        self._started = True
        self._batch.step(np.full(len(self._seats), RESTART), DISABLED)
        self.agents = self._present()
        return self._observations(self.agents), self._infos(self.agents)

    def step(self, actions: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """Let the agents act whose episode goes on.

        Args:
            actions: of each of them, by its name.

        Returns:
            observations, rewards, terminations, truncations and infos of these agents.

        Raises:
            ValueError: one is missing or unknown, an action is none of the action space, or nothing
                was reset yet.
            RuleError: a rule is not defined on this world.
        """
        acting, out = self.agents, self._batch.outputs
        self._batch.step(self._chosen(actions), DISABLED)
        ended = {
            name: (bool(out.terminated[seat]), bool(out.truncated[seat]))
            for name, seat in self._seats.items()
        }
        self.agents = [name for name in acting if not any(ended[name])]
        return (
            self._observations(acting),
            {name: float(out.rewards[self._seats[name]]) for name in acting},
            {name: ended[name][0] for name in acting},
            {name: ended[name][1] for name in acting},
            self._infos(acting),
        )

    def _chosen(self, actions: Mapping[str, Any]) -> NDArray[np.int64]:
        """(A,) numbers of actions, 0 for agents whose episode is over."""
        if not self._started:
            raise ValueError("call reset() before the first step()")
        if not isinstance(actions, Mapping):
            raise ValueError(
                f"actions are a {type(actions).__name__}: expected a mapping of the agents' names "
                f"({', '.join(self.possible_agents)}) to numbers"
            )
        for name in actions:
            self._know(name)
        chosen = np.zeros(len(self._seats), np.int64)
        for name in self.agents:
            if name not in actions:
                raise ValueError(f"no action of {name}, whose episode goes on")
            if not self._action_space.contains(actions[name]):
                last = self._action_space.n - 1
                raise ValueError(
                    f"action {actions[name]!r} of {name}: allowed are 0 to {last}, for "
                    f"{', '.join(self.scenario.action_names)}"
                )
            chosen[self._seats[name]] = actions[name]
        return chosen

    def _observations(self, names: list[str]) -> dict[str, Any]:
        arrays = self._batch.outputs.named(self._form.made_of)
        return {
            name: self._form.one(*(array[self._seats[name], ...] for array in arrays))
            for name in names
        }

    def _infos(self, names: list[str]) -> dict[str, Any]:
        return {name: self._info(self._seats[name]) for name in names}

    def _info(self, seat: int) -> dict[str, Any]:
        out, scenario = self._batch.outputs, self.scenario
        terms = zip(scenario.reward_names, out.terms[seat].tolist(), strict=True)
        info: dict[str, Any] = {
            "action_mask": out.mask[seat].copy(),
            "reward_terms": dict(terms),
        }
        if scenario.tells_success:
            info["success"] = info["is_success"] = bool(out.success[seat])
        if scenario.mixture:
            info["member"] = int(out.member[seat])
        if scenario.missions:
            info["mission"] = scenario.missions.text(out.mission[seat])
        return info

    def snapshot(self) -> NDArray[Any]:
        """The world as one row: a () array of `scenario.layout.dtype`."""
        return self._batch.snapshot(0)

    def restore(self, row: NDArray[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Become the world of a row, and return what it shows, as `reset` does.

        Raises:
            ValueError: the row has another layout.
        """
        self._started = True
        self._batch.restore(0, row)
        over = row["terminated"] or row["truncated"]
        names, present = enumerate(self.possible_agents, 1), self._present()
        self.agents = [name for number, name in names if not (over or row["done"][number])]
        return self._observations(present), self._infos(present)

    def _present(self) -> list[str]:
        """The agents of the member of a mixture that is played; elsewhere all."""
        present = self.scenario.present(int(self._batch.outputs.member[0])).tolist()
        return list(compress(self.possible_agents, present))

    def fork(self) -> ParallelGridEnv:
        """An independent environment with the same world, and the same future."""
        return deepcopy(self)

    def render(self) -> Any:
        """A picture of the world, as for `GridEnv`; with the view of the first agent."""
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
        return {**vars(self), "_renderer": None}  # a copy opens a window of its own

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scenario.name}, {self.world}>"

    __str__ = __repr__
