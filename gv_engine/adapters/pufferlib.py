"""Many worlds as a native environment of PufferLib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from gv_engine.batches.autoreset import SAME_STEP
from gv_engine.batches.worlds import make_batch
from gv_engine.envs.environment import grid_scenario
from gv_engine.envs.forms import FormName, form_of
from gv_engine.envs.level_sets import Levels, LevelSet, limited_to
from gv_engine.envs.requests import at_least
from gv_engine.language.errors import MissingExtraError
from gv_engine.reading.extras import PUFFERLIB
from gv_engine.reading.scenario import Scenario

if PUFFERLIB.missing:
    raise MissingExtraError(PUFFERLIB.missing)
import pufferlib

_TELLS = 128
"""Steps between two infos."""


class GridPufferEnv(pufferlib.PufferEnv):
    """N worlds that write into PufferLib's buffers; episodes begin anew in the step that ends them.

    Every 128 steps an info has means over the episodes that have ended since: `episode_return`,
    `episode_length` and, if the scenario says what that is, `success`.

    Args:
        scenario, max_steps, world, num_threads, levels, options: as for `GridVectorEnv`.
        num_envs: how many worlds, which PufferLib calls agents.
        observation_representation: one with one array, such as `flat` or `pixels`.
        action_masks: whether to find out what would do something, for the attribute of that name.
        buf: PufferLib's buffers, if they are there.
        seed: of the first episodes; that of world i is `seed * num_envs + i`. PufferLib gives its
            environments seeds one after the other, and their worlds have none in common.

    Attributes:
        scenario: what is played.
        action_masks: (N, actions) int8; 0 if they are not asked for.

    Raises:
        ValueError: observations are not one array.
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
        buf: Any = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
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
        self.num_agents, self._seed, self._last = num_envs, seed, len(self.scenario.actions) - 1
        super().__init__(buf)
        out = self._worlds.outputs
        self._observed = out.named(self._form.made_of)
        self._shown = {self._form.kept[0]: self.observations}
        self.action_masks: NDArray[np.int8] = out.mask
        self._ended = np.zeros(4)  # episodes, and of these the sums of returns, lengths, successes
        self._steps = 0

    def reset(self, seed: int | None = None) -> tuple[Any, list[dict[str, float]]]:
        """Begin new episodes, those of a seed as for `GridPufferEnv`."""
        first = int(self._seed if seed is None else seed) * self.num_agents
        every = np.ones(self.num_agents, np.bool_)
        self._worlds.restart(every, {i: first + i for i in range(self.num_agents)})
        self._form.write(self._shown, *self._observed)
        return self.observations, []

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, list[dict[str, float]]]:
        """Let the agents act.

        Raises:
            ValueError: an action is none of the action space.
        """
        chosen = np.ascontiguousarray(actions, np.int64).reshape(-1)
        if chosen.view(np.uint64).max() > self._last:  # where those below 0 are the largest
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
        told = self._told() if self._steps % _TELLS == 0 and self._ended[0] else []
        return self.observations, self.rewards, self.terminals, self.truncations, told

    def _told(self) -> list[dict[str, float]]:
        """What has come of the episodes that have ended."""
        total, length, success = (self._ended[1:] / self._ended[0]).tolist()
        self._ended[:] = 0
        known = {"success": success} if self.scenario.tells_success else {}
        return [{"episode_return": total, "episode_length": length, **known}]

    def close(self) -> None:
        """There is nothing to be closed."""
