"""Many worlds as a native environment of PufferLib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from gv_engine.adapters.worlds import refuse
from gv_engine.envs.arg_checks import at_least
from gv_engine.envs.environment import grid_scenario
from gv_engine.envs.level_sets import Levels, LevelSet, limited_to
from gv_engine.envs.observations import FormName, form_of
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.optional_deps import PUFFERLIB
from gv_engine.scenario.scenario import Scenario
from gv_engine.vector.backend import make_batch
from gv_engine.world.autoreset import SAME_STEP

if PUFFERLIB.missing_message:
    raise MissingExtraError(PUFFERLIB.missing_message)
import pufferlib

_OWN = {
    "autoreset_mode": "SameStep",
    "copy": False,
    "episode_statistics": True,
    "flat_info": False,
    "render_mode": None,
    "reward_dtype": "float32",
}
"""Options of `GridVectorEnv` that are none here."""


class GridPufferEnv(pufferlib.PufferEnv):
    """N worlds that write into PufferLib's buffers; episodes begin anew in the step that ends them.

    Every `log_interval` steps an info has means over the episodes that have ended since:
    `episode_return`, `episode_length` and, if the scenario says what that is, `success`.

    Args:
        scenario, max_steps, world, num_threads, levels, options: as for `GridVectorEnv`.
        num_envs: how many worlds, which PufferLib calls agents.
        observation_representation: one with one array, such as `flat` or `pixels`.
        action_masks: whether to find out what would do something, for the attribute of that name.
        log_interval: steps between two infos.
        buf: PufferLib's buffers, if they are there.
        seed: of the first episodes; that of world i is `seed * num_envs + i`. PufferLib gives its
            environments seeds one after the other, and their worlds have none in common.

    Attributes:
        scenario: what is played.

    Raises:
        ValueError: observations are not one array, or an option is one that it sets itself.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        num_envs: int = 256,
        *,
        max_steps: int | None = None,
        world: str = "auto",
        num_threads: int = 1,
        observation_representation: FormName = "flat",
        action_masks: bool = False,
        levels: Levels | LevelSet | None = None,
        log_interval: int = 128,
        buf: Any = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        refuse(self, options, _OWN)
        read = grid_scenario(scenario, max_steps, **options)
        self.scenario, drawn = limited_to(read, levels, world)
        self.scenario.of_one_agent("this environment")
        self._form = form_of(self.scenario, observation_representation)
        space = self._form.space_among_many
        if not isinstance(space, Box):
            raise ValueError(
                f"observation_representation={observation_representation!r}: PufferLib takes one "
                f"array, such as 'flat' and 'pixels'"
            )
        self._worlds = make_batch(
            self.scenario,
            at_least(1, num_envs=num_envs),
            world,
            at_least(1, num_threads=num_threads),
            action_masks,
            more=self._form.made_of,
            levels=drawn,
        )
        self._form.belongs_to(self._worlds)
        self.single_observation_space = space
        self.single_action_space = Discrete(len(self.scenario.actions))
        self.num_agents, self._acting, self._seed = num_envs, (num_envs,), seed
        self._last = -1  # no action is allowed before the first reset
        super().__init__(buf)
        out = self._worlds.outputs
        self._observed = out.named(self._form.made_of)
        self._shown = {self._form.kept[0]: self.observations}
        self._masks: NDArray[np.int8] | None = out.mask if action_masks else None
        self._ended = np.zeros(4)  # episodes, and of these the sums of returns, lengths, successes
        self._steps, self._interval = 0, at_least(1, log_interval=log_interval)

    @property
    def action_masks(self) -> NDArray[np.int8]:
        """(N, actions): 1 for what would do something now, as a fresh array.

        Raises:
            AttributeError: they were not asked for.
            ValueError: nothing was reset yet.
        """
        if self._masks is None:
            raise AttributeError("no action_masks were asked for: add action_masks=True")
        if self._last < 0:
            raise ValueError(
                "call reset() before action_masks are read; environments in other processes hand "
                "over none"
            )
        return self._masks.copy()

    def reset(self, seed: int | None = None) -> tuple[Any, list[dict[str, float]]]:
        """Begin new episodes, those of a seed as for `GridPufferEnv`."""
        first = int(self._seed if seed is None else seed) * self.num_agents
        every = np.ones(self.num_agents, np.bool_)
        self._worlds.restart(every, {i: first + i for i in range(self.num_agents)})
        self._last = int(self.single_action_space.n) - 1
        self._form.write(self._shown, *self._observed)
        return self.observations, []

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, list[dict[str, float]]]:
        """Let the agents act.

        Args:
            actions: (N,) integers of the action space.

        Raises:
            ValueError: an action is none of the action space, or nothing was reset yet.
        """
        given = np.asarray(actions)
        if given.dtype.kind not in "iu" or given.shape != self._acting:
            raise ValueError(
                f"actions have shape {given.shape} and dtype {given.dtype}: expected "
                f"{self._acting} integers"
            )
        chosen = np.ascontiguousarray(given, np.int64)
        if chosen.view(np.uint64).max() > self._last:  # where those below 0 are the largest
            if self._last < 0:
                raise ValueError("call reset() before the first step()")
            raise ValueError(f"actions={actions!r}: allowed are 0 to {self._last}")
        self._worlds.step(chosen, SAME_STEP)
        out = self._worlds.outputs
        self._form.write(self._shown, *self._observed)
        self.rewards[:] = out.rewards
        self.terminals[:], self.truncations[:] = out.terminated, out.truncated
        ended = out.terminated | out.truncated
        if number := np.count_nonzero(ended):
            self._ended += number, out.returns @ ended, out.lengths @ ended, out.success @ ended
        self._steps += 1
        told = self._told() if self._steps % self._interval == 0 and self._ended[0] else []
        return self.observations, self.rewards, self.terminals, self.truncations, told

    def _told(self) -> list[dict[str, float]]:
        """What has come of the episodes that have ended."""
        total, length, success = (self._ended[1:] / self._ended[0]).tolist()
        self._ended[:] = 0
        known = {"success": success} if self.scenario.tells_success else {}
        return [{"episode_return": total, "episode_length": length, **known}]

    def close(self) -> None:
        """There is nothing to be closed."""
