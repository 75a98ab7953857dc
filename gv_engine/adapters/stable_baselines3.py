"""Many worlds as a `VecEnv` of Stable-Baselines3."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.adapters.worlds import worlds_of
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.optional_deps import STABLE_BASELINES3
from gv_engine.scenario.scenario import Scenario

if STABLE_BASELINES3.missing_message:
    raise MissingExtraError(STABLE_BASELINES3.missing_message)
from stable_baselines3.common.vec_env import VecEnv

_OF_ONE = "action_masks", "action_space", "observation_space"
"""Attributes that `SB3VecEnv` has as single environments have them."""


class SB3VecEnv(VecEnv):
    """N worlds for algorithms of Stable-Baselines3, and, with masks, of sb3-contrib.

    `infos[i]` has something where an episode has just ended: `episode` with `r`, `l` and `t`, the
    seconds since the worlds were made, as `Monitor` has it; of scenarios that say what a success
    is, `is_success`; `terminal_observation`; and `TimeLimit.truncated`. `action_masks` is there for
    MaskablePPO.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`; observations are fresh arrays.

    Raises:
        ValueError: observations are no arrays, or an option is one that it sets itself.
    """

    def __init__(
        self, scenario: Scenario | str | Path | dict[str, Any], num_envs: int = 1, **options: Any
    ) -> None:
        self.worlds = worlds_of(
            self,
            scenario,
            num_envs,
            options,
            autoreset_mode="SameStep",
            episode_statistics=True,
            reward_dtype="float32",
        )
        self._began = time.perf_counter()
        self.render_mode = self.worlds.render_mode
        self._masks: NDArray[Any] = np.ones((num_envs, self.worlds.num_actions), np.int8)
        self._actions: NDArray[Any] = np.zeros(num_envs, np.int64)
        shown, chosen = self.worlds.single_observation_space, self.worlds.single_action_space
        super().__init__(num_envs, shown, chosen)

    def reset(self) -> Any:
        """Begin new episodes, those of the seeds that `seed` was told."""
        known = any(seed is not None for seed in self._seeds)
        observation, info = self.worlds.reset(seed=self._seeds if known else None)
        self._reset_seeds()
        self._reset_options()
        self._masks = info.get("action_mask", self._masks)
        return _fresh(observation)

    def step_async(self, actions: NDArray[Any]) -> None:
        """Say what the agents do next."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        """Let them do it."""
        observation, rewards, terminated, truncated, info = self.worlds.step(self._actions)
        self._masks = info.get("action_mask", self._masks)
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        ended = terminated | truncated
        if "episode" in info:
            self._tell(infos, info, np.flatnonzero(ended).tolist(), truncated & ~terminated)
        return _fresh(observation), rewards.copy(), ended, infos

    def _tell(
        self,
        infos: list[dict[str, Any]],
        info: dict[str, Any],
        ended: list[int],
        truncated: NDArray[np.bool_],
    ) -> None:
        """What there is to say of episodes that have just ended."""
        episode, last = info["episode"], info["final_obs"]
        took = round(time.perf_counter() - self._began, 6)
        for i in ended:
            told = {"r": float(episode["r"][i]), "l": int(episode["l"][i]), "t": took}
            infos[i] |= {"episode": told, "terminal_observation": _fresh(last[i])}
            infos[i]["TimeLimit.truncated"] = bool(truncated[i])
            if "s" in episode:
                infos[i]["is_success"] = bool(episode["s"][i])

    def action_masks(self) -> NDArray[np.bool_]:
        """(N, actions): which would do something now."""
        return self._masks.astype(bool)

    def close(self) -> None:
        """Let go of what pictures were drawn with."""
        self.worlds.close()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of each world, with `render_mode="rgb_array"`."""
        return self.worlds.render() or [None] * self.num_envs

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """An attribute of the vector environment, for each of these worlds; spaces are of one."""
        held = self if attr_name in _OF_ONE else _who_has(self.worlds, attr_name)
        return [*repeat(getattr(held, attr_name), len([*self._get_indices(indices)]))]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """There is nothing to be set.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{attr_name!r} cannot be set in worlds: make others with the option")

    def env_method(
        self, method_name: str, *args: Any, indices: Any = None, **named: Any
    ) -> list[Any]:
        """What `action_masks` says of each of these worlds; other methods are those of `worlds`.

        Raises:
            AttributeError: it is another method.
        """
        if method_name != "action_masks":
            raise AttributeError(
                f"no method {method_name!r} of single worlds: call that of `worlds`, which has all"
            )
        return [*self.action_masks()[[*self._get_indices(indices)]]]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Any = None) -> list[bool]:
        """No world is wrapped; episodes are told of as `Monitor` does."""
        from stable_baselines3.common.monitor import Monitor

        return [issubclass(wrapper_class, Monitor)] * len([*self._get_indices(indices)])


def _who_has(worlds: ScenarioVectorEnv[Any], name: str) -> Any:
    """The vector environment, or its scenario, whoever has this attribute."""
    return worlds if hasattr(worlds, name) else worlds.scenario


def _fresh(observation: Any) -> Any:
    """Arrays that the next step leaves alone."""
    if isinstance(observation, dict):
        return {name: array.copy() for name, array in observation.items()}
    return observation.copy()
