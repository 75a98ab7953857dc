"""Stable-Baselines3 `VecEnv` of many worlds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.adapters.extras import STABLE_BASELINES3
from gv_engine.plugins.adapters.worlds import ScenarioSource, make_adapter_env
from gv_engine.rules.errors import MissingExtraError

if STABLE_BASELINES3.missing_message:
    raise MissingExtraError(STABLE_BASELINES3.missing_message)
from stable_baselines3.common.vec_env import VecEnv

_SINGLE_ENV_ATTRIBUTES = "action_masks", "action_space", "observation_space"
"""Attributes of `SB3VecEnv` that have the values of a single environment."""


class SB3VecEnv(VecEnv):
    """N worlds for algorithms of Stable-Baselines3, and for MaskablePPO of sb3-contrib.

    Where an episode has just ended, `infos[i]` has `episode` with `r`, `l` and `t`, the seconds
    since the environment was created, as `Monitor` has it; `is_success`, if the scenario defines
    success; `terminal_observation`; and `TimeLimit.truncated`. `action_masks` is for MaskablePPO.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`; observations are fresh arrays.

    Raises:
        ValueError: observations are no arrays, or an option is set by the adapter itself.
    """

    def __init__(self, scenario: ScenarioSource, num_envs: int = 1, **options: Any) -> None:
        """Make the worlds and the spaces. The class docstring explains the arguments."""
        own_options = {"autoreset_mode": "SameStep", "episode_statistics": True}
        self.worlds = make_adapter_env(self, scenario, num_envs, options, **own_options)
        self._start_time = time.perf_counter()
        self.render_mode = self.worlds.render_mode
        self._masks: NDArray[Any] = np.ones((num_envs, self.worlds.num_actions), np.int8)
        self._actions: NDArray[Any] = np.zeros(num_envs, np.int64)
        spaces = self.worlds.single_observation_space, self.worlds.single_action_space
        super().__init__(num_envs, *spaces)

    def reset(self) -> Any:
        """Reset all worlds and return the observations. Seeds set by the method `seed` are used
        once."""
        has_seeds = any(seed is not None for seed in self._seeds)
        observation, info = self.worlds.reset(seed=self._seeds if has_seeds else None)
        self._reset_seeds()
        self._reset_options()
        self._masks = info.get("action_mask", self._masks)
        return _copy_observation(observation)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Store the actions of the next step."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Take the actions that `step_async` has stored. Return observations, rewards, dones and
        infos."""
        observation, rewards, terminated, truncated, info = self.worlds.step(self._actions)
        self._masks = info.get("action_mask", self._masks)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = terminated | truncated
        elapsed = round(time.perf_counter() - self._start_time, 6)
        for i in np.flatnonzero(ended).tolist():
            episode = info["episode"]
            infos[i] = {
                "episode": {"r": float(episode["r"][i]), "l": int(episode["l"][i]), "t": elapsed},
                "terminal_observation": _copy_observation(info["final_obs"][i]),
                "TimeLimit.truncated": bool(truncated[i] and not terminated[i]),
            }
            if "s" in episode:
                infos[i]["is_success"] = bool(episode["s"][i])
        return _copy_observation(observation), rewards.copy(), ended, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Return an (N, actions) bool array, True for actions that would have an effect."""
        return self._masks.astype(bool)

    def close(self) -> None:
        """Release the resources of rendering."""
        self.worlds.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """Return a picture of each world, with `render_mode="rgb_array"`."""
        return self.worlds.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute once for each selected world, as a list. It is the same for all
        worlds."""
        owner: Any = self if attr_name in _SINGLE_ENV_ATTRIBUTES else self.worlds
        if not hasattr(owner, attr_name):
            owner = self.worlds.scenario
        return [*repeat(getattr(owner, attr_name), len([*self._get_indices(indices)]))]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Raise AttributeError: worlds have no attributes to set."""
        raise AttributeError(f"{attr_name!r} cannot be set in worlds: create them with the option")

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **named: Any
    ) -> list[Any]:
        """Return the action mask of each selected world: `action_masks` is the only method that can
        be called on single worlds.

        Raises:
            AttributeError: the method is not `action_masks`.
        """
        if method_name != "action_masks":
            raise AttributeError(
                f"no method {method_name!r} of single worlds: call the method of `worlds`"
            )
        return [*self.action_masks()[[*self._get_indices(indices)]]]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """Return a list with True per selected world if `wrapper_class` is `Monitor`, else False.
        No world is wrapped, but episodes are reported as by `Monitor`."""
        from stable_baselines3.common.monitor import Monitor

        return [issubclass(wrapper_class, Monitor)] * len([*self._get_indices(indices)])


def _copy_observation(observation: Any) -> Any:
    if isinstance(observation, dict):
        return {name: array.copy() for name, array in observation.items()}
    return observation.copy()
