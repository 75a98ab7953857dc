"""Many worlds as a vector environment of Tianshou."""

from __future__ import annotations

from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, MultiBinary
from numpy.typing import ArrayLike, NDArray

from gv_engine.adapters.worlds import worlds_of
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.optional_deps import TIANSHOU
from gv_engine.scenario.scenario import Scenario

if TIANSHOU.missing_message:
    raise MissingExtraError(TIANSHOU.missing_message)
from tianshou.data import Batch
from tianshou.env import BaseVectorEnv


class TianshouVecEnv(BaseVectorEnv):
    """N worlds that step together, for the collectors of Tianshou.

    Observations are arrays, or a `Batch` of them by their names; with `masks` a `Batch` of `obs`
    and `mask`, (N, actions) bool, which policies of Q-learning keep to. Each `info` has `env_id`
    and, of scenarios that say what that is, `success`.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`; observations are fresh arrays.
        masks: whether observations have masks.

    Raises:
        ValueError: observations are no arrays, or an option is one that it sets itself.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path | dict[str, Any],
        num_envs: int = 1,
        masks: bool = False,
        **options: Any,
    ) -> None:
        # the base would make a worker for each world
        self.worlds = worlds_of(
            self,
            scenario,
            num_envs,
            options,
            autoreset_mode="Disabled",
            reward_dtype="float32",
            action_masks=masks,
        )
        self.env_num, self.is_async, self.is_closed = num_envs, False, False
        self._masks, self._seeds = masks, dict[int, int | None]()

    def get_env_attr(self, key: str, id: Any = None) -> list[Any]:
        """An attribute of the vector environment, for each of these worlds."""
        many = len(self._numbers(id))
        shown = self.worlds.single_observation_space
        if key == "observation_space":
            masks = MultiBinary(self.worlds.num_actions)
            return [*repeat(Dict({"obs": shown, "mask": masks}) if self._masks else shown, many)]
        name = "single_action_space" if key == "action_space" else key
        return [*repeat(getattr(self.worlds, name), many)]

    def set_env_attr(self, key: str, value: Any, id: Any = None) -> None:
        """There is nothing to be set.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{key!r} cannot be set in worlds: make others with the option")

    def seed(self, seed: int | list[int] | None = None) -> list[Any]:
        """Say what the next reset of each world draws from: `seed + i`, or `seed[i]`."""
        own = seed if isinstance(seed, list) else [seed] * self.env_num
        if len(own) != self.env_num:
            raise ValueError(f"{len(own)} seeds for {self.env_num} worlds: name one for each")
        steps = 0 if seed is None or isinstance(seed, list) else 1
        self._seeds = {i: None if s is None else s + steps * i for i, s in enumerate(own)}
        return [[s] for s in self._seeds.values()]

    def reset(
        self, env_id: Any = None, *, seed: int | list[int] | None = None
    ) -> tuple[Any, NDArray[Any]]:
        """Begin new episodes in all worlds, or in those with these numbers."""
        if seed is not None:
            self.seed(seed)
        ids = self._numbers(env_id)
        asked = np.zeros(self.env_num, np.bool_)
        asked[ids] = True
        seeds = [self._seeds.pop(i, None) if asked[i] else None for i in range(self.env_num)]
        observation, info = self.worlds.reset(seed=seeds, options={"reset_mask": asked})
        return self._seen(observation, info, ids), self._told(info, ids)

    def step(self, action: ArrayLike | None, id: Any = None) -> tuple[Any, ...]:
        """Let agents act, in all worlds, or in those with these numbers: others stay as they are.

        Returns:
            Observations, (n,) float32 rewards, (n,) terminated, (n,) truncated, (n,) infos.

        Raises:
            ValueError: there are other than n actions, or one is none of the action space.
        """
        ids = self._numbers(id)
        actions = np.zeros(self.env_num, np.int64)
        actions[ids] = np.asarray(action)
        others = np.setdiff1d(np.arange(self.env_num), ids)
        kept = self.worlds.snapshot(others)
        observation, *came, info = self.worlds.step(actions)
        found = self._seen(observation, info, ids), *(array[ids] for array in came)
        told = self._told(info, ids)
        if len(others):
            self.worlds.restore(kept, others)
        return *found, told

    def render(self, **_: Any) -> list[Any]:
        """A picture of each world, with `render_mode="rgb_array"`."""
        return [*(self.worlds.render() or [None] * self.env_num)]

    def close(self) -> None:
        """Let go of what pictures were drawn with."""
        self.worlds.close()
        self.is_closed = True

    def _numbers(self, ids: Any) -> NDArray[np.int64]:
        return np.arange(self.env_num) if ids is None else np.atleast_1d(ids)

    def _seen(self, observation: Any, info: dict[str, Any], ids: NDArray[np.int64]) -> Any:
        named = isinstance(observation, dict)
        seen = Batch({n: a[ids] for n, a in observation.items()}) if named else observation[ids]
        return Batch(obs=seen, mask=info["action_mask"][ids] != 0) if self._masks else seen

    def _told(self, info: dict[str, Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        told = {"env_id": ids}
        if self.worlds.scenario.tells_success:
            told["success"] = info["success"][ids]
        return np.array([dict(zip(told, each, strict=True)) for each in zip(*told.values())])
