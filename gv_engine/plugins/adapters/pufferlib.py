"""Native PufferLib environment of many worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from gv_engine.envs.arg_checks import check_at_least, describe_action_fault
from gv_engine.envs.backends.backend import make_batch
from gv_engine.envs.environment import resolve_grid_scenario
from gv_engine.envs.level_sets import Levels, LevelSet, limit_to_levels
from gv_engine.envs.observations import RepresentationSpec, make_encoder
from gv_engine.plugins.adapters.extras import PUFFERLIB
from gv_engine.plugins.adapters.worlds import ScenarioSource, check_no_reserved_options
from gv_engine.rules.errors import MissingExtraError
from gv_engine.world.simulation import SAME_STEP

if PUFFERLIB.missing_message:
    raise MissingExtraError(PUFFERLIB.missing_message)
import pufferlib

_OWN_OPTIONS = {
    **{"autoreset_mode": "SameStep", "copy": False, "episode_statistics": True},
    **{"flat_info": False, "render_mode": None, "reward_dtype": "float32"},
}
"""Options of `GridVectorEnv` that the adapter sets itself."""


class GridPufferEnv(pufferlib.PufferEnv):
    """N worlds that write into PufferLib's buffers; an episode restarts in the step that ends it.

    Every `log_interval` steps, an info has means over the episodes that have ended since:
    `episode_return`, `episode_length` and, if the scenario defines success, `success`.

    Args:
        scenario, max_steps, world, num_threads, levels, options: as for `GridVectorEnv`.
        num_envs: number of worlds, which PufferLib calls agents.
        observation_representation: one with a single array, such as `flat` or `pixels`.
        action_masks: compute the attribute `action_masks`.
        log_interval: steps between two infos.
        buf: PufferLib's buffers, if they exist already.
        seed: seed of the first episodes; world i has `seed * num_envs + i`. PufferLib numbers its
            environments with consecutive seeds, so that no two worlds share a seed.

    Attributes:
        scenario: scenario that is played.

    Raises:
        ValueError: observations are not one array, or an option is set by the adapter itself.
    """

    def __init__(
        self,
        scenario: ScenarioSource,
        num_envs: int = 256,
        *,
        max_steps: int | None = None,
        world: str = "auto",
        num_threads: int = 1,
        observation_representation: RepresentationSpec = "flat",
        action_masks: bool = False,
        levels: Levels | LevelSet | None = None,
        log_interval: int = 128,
        buf: Any = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        """Make the worlds and connect them to PufferLib's buffers. The class docstring explains the
        arguments."""
        check_no_reserved_options(self, options, _OWN_OPTIONS)
        loaded = resolve_grid_scenario(scenario, max_steps, **options)
        self.scenario, level_rngs = limit_to_levels(loaded, levels, world)
        self.scenario.require_single_agent("this environment")
        self._encoder = make_encoder(self.scenario, observation_representation)
        space = self._encoder.single_observation_space
        if not isinstance(space, Box):
            raise ValueError(
                f"observation_representation={observation_representation!r}: PufferLib takes one "
                f"array, such as 'flat' and 'pixels'"
            )
        check_at_least(1, num_envs=num_envs)
        self._backend = make_batch(
            self.scenario,
            num_envs,
            world,
            num_threads=check_at_least(1, num_threads=num_threads),
            masks=action_masks,
            extra_names=self._encoder.source_arrays,
            levels=level_rngs,
        )
        self._encoder.bind_backend(self._backend)
        self.single_observation_space = space
        self.single_action_space = Discrete(len(self.scenario.actions))
        self.num_agents, self._action_shape = num_envs, (num_envs,)
        self._seed = seed
        self._last_action = -1  # greatest allowed action; none is before the first reset
        super().__init__(buf)
        out = self._backend.outputs
        self._observed = out.get_arrays(self._encoder.source_arrays)
        self._observation_buffers = {self._encoder.buffer_names[0]: self.observations}
        self._masks: NDArray[np.int8] | None = out.mask if action_masks else None
        # of the episodes that have ended since the last info: count, then sums of returns, lengths
        # and successes
        self._episode_sums = np.zeros(4)
        self._num_steps = 0
        self._log_interval = check_at_least(1, log_interval=log_interval)

    @property
    def action_masks(self) -> NDArray[np.int8]:
        """Return a copy of the action masks, (N, actions) int8: 1 for actions that would have an
        effect.

        Raises:
            AttributeError: `action_masks` was not enabled.
            ValueError: `reset` was not called yet.
        """
        if self._masks is None:
            raise AttributeError("action_masks are not enabled: add action_masks=True")
        if not self._was_reset:
            raise ValueError(
                "call reset() before action_masks are read; environments in other processes "
                "have none"
            )
        return self._masks.copy()

    @property
    def _was_reset(self) -> bool:
        return self._last_action >= 0

    def reset(self, seed: int | None = None) -> tuple[Any, list[dict[str, float]]]:
        """Reset all worlds; world i gets the seed `seed * num_envs + i`. Return the observations
        and an empty list of infos."""
        first_seed = int(self._seed if seed is None else seed) * self.num_agents
        mask = np.ones(self.num_agents, np.bool_)
        self._backend.restart(mask, {i: first_seed + i for i in range(self.num_agents)})
        self._last_action = int(self.single_action_space.n) - 1
        self._encoder.write(self._observation_buffers, *self._observed)
        return self.observations, []

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, list[dict[str, float]]]:
        """Take an action in every world; return observations, rewards, terminals, truncations and
        infos.

        Args:
            actions: (N,) integers of the action space.

        Raises:
            ValueError: an action is not in the action space, or `reset` was not called yet.
        """
        array = np.asarray(actions)
        if array.dtype.kind not in "iu" or array.shape != self._action_shape:
            raise ValueError(describe_action_fault(array, self._action_shape, "agent"))
        numbers = np.ascontiguousarray(array, np.int64)
        if numbers.view(np.uint64).max() > self._last_action:  # negative ones are the largest
            if not self._was_reset:
                raise ValueError("call reset() before the first step()")
            raise ValueError(f"actions={actions!r}: allowed are 0 to {self._last_action}")
        self._backend.step(numbers, SAME_STEP)
        out = self._backend.outputs
        self._encoder.write(self._observation_buffers, *self._observed)
        self.rewards[:] = out.rewards
        self.terminals[:], self.truncations[:] = out.terminated, out.truncated
        ended = out.terminated | out.truncated
        if count := np.count_nonzero(ended):
            sums = out.returns @ ended, out.lengths @ ended, out.success @ ended
            self._episode_sums += (count, *sums)
        self._num_steps += 1
        infos = self._make_infos() if self._num_steps % self._log_interval == 0 else []
        return self.observations, self.rewards, self.terminals, self.truncations, infos

    def _make_infos(self) -> list[dict[str, float]]:
        """Return [info] with means over the episodes that have ended since the last info, and reset
        the sums. [] if none has ended."""
        count, *sums = self._episode_sums.tolist()
        if not count:
            return []
        self._episode_sums[:] = 0
        episode_return, length, success = (total / count for total in sums)
        info = {"episode_return": episode_return, "episode_length": length}
        return [info | {"success": success} if self.scenario.tells_success else info]

    def close(self) -> None:
        """Do nothing; the environment holds no resources."""
