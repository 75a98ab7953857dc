"""Tianshou vector environment of many worlds."""

from __future__ import annotations

from itertools import repeat
from typing import Any

import numpy as np
from gymnasium.spaces import Dict, MultiBinary
from numpy.typing import ArrayLike, NDArray

from gv_engine.plugins.adapters.extras import TIANSHOU
from gv_engine.plugins.adapters.worlds import ScenarioSource, make_adapter_env
from gv_engine.rules.errors import MissingExtraError

if TIANSHOU.missing_message:
    raise MissingExtraError(TIANSHOU.missing_message)
from tianshou.data import Batch
from tianshou.env import BaseVectorEnv


class TianshouVecEnv(BaseVectorEnv):
    """N worlds that step together, for the collectors of Tianshou.

    Observations are arrays, or a `Batch` of arrays by name; with `masks` a `Batch` of `obs` and
    `mask`, (N, actions) bool, for Q-learning policies. Each `info` has `env_id` and, if the
    scenario defines success, `success`.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`; observations are fresh arrays.
        masks: include action masks in observations.

    Raises:
        ValueError: observations are no arrays, or an option is set by the adapter itself.
    """

    def __init__(
        self, scenario: ScenarioSource, num_envs: int = 1, masks: bool = False, **options: Any
    ) -> None:
        """Make the worlds. The class docstring explains the arguments."""
        # no super().__init__(): it would make a worker for each world
        own_options = {"autoreset_mode": "Disabled", "action_masks": masks}
        self.worlds = make_adapter_env(self, scenario, num_envs, options, **own_options)
        self.worlds.warns_of_end = False  # `step` puts worlds back that it is not told to step
        self.env_num, self.is_async, self.is_closed = num_envs, False, False
        self._has_masks = masks
        self._seeds: dict[int, int | None] = {}  # of the next resets, by world

    def get_env_attr(self, key: str, id: Any = None) -> list[Any]:
        """Return an attribute once for each selected world, as a list. It is the same for all
        worlds."""
        count = len(self._world_indices(id))
        space: Any = self.worlds.single_observation_space
        if key == "observation_space":
            if self._has_masks:
                space = Dict({"obs": space, "mask": MultiBinary(self.worlds.num_actions)})
            return [*repeat(space, count)]
        name = "single_action_space" if key == "action_space" else key
        return [*repeat(getattr(self.worlds, name), count)]

    def set_env_attr(self, key: str, value: Any, id: Any = None) -> None:
        """Raise AttributeError: worlds have no attributes to set."""
        raise AttributeError(f"{key!r} cannot be set in worlds: create them with the option")

    def seed(self, seed: int | list[int] | None = None) -> list[Any]:
        """Set the seeds of the next reset: `seed + i` for world i, or `seed[i]` if a list is given.
        Return `[seed]` for each world."""
        seeds: list[int | None]
        if isinstance(seed, list):
            seeds = [*seed]
        else:
            seeds = [None if seed is None else seed + i for i in range(self.env_num)]
        if len(seeds) != self.env_num:
            raise ValueError(f"{len(seeds)} seeds for {self.env_num} worlds: give one for each")
        self._seeds = dict(enumerate(seeds))
        return [[each] for each in seeds]

    def reset(
        self, env_id: Any = None, *, seed: int | list[int] | None = None
    ) -> tuple[Any, NDArray[Any]]:
        """Reset the worlds with the indices `env_id`; None resets all. Return their observations
        and infos."""
        if seed is not None:
            self.seed(seed)
        ids = self._world_indices(env_id)
        mask = np.zeros(self.env_num, np.bool_)
        mask[ids] = True
        seeds = [self._seeds.pop(i, None) if mask[i] else None for i in range(self.env_num)]
        observation, info = self.worlds.reset(seed=seeds, options={"reset_mask": mask})
        return self._select_observations(observation, info, ids), self._select_infos(info, ids)

    def step(self, action: ArrayLike | None, id: Any = None) -> tuple[Any, ...]:
        """Take actions in the worlds with the indices `id`; None selects all. Other worlds do not
        change.

        Returns:
            Observations, (n,) float32 rewards, (n,) terminated, (n,) truncated, (n,) infos.

        Raises:
            ValueError: there are not n actions, or one is not in the action space.
        """
        ids = self._world_indices(id)
        actions = np.zeros(self.env_num, np.int64)
        actions[ids] = np.asarray(action)
        # all worlds take a step; those that were not asked for are put back
        other_ids = np.setdiff1d(np.arange(self.env_num), ids)
        snapshots = self.worlds.snapshot(other_ids)
        observation, *arrays, info = self.worlds.step(actions)
        results = (
            self._select_observations(observation, info, ids),
            *(array[ids] for array in arrays),
            self._select_infos(info, ids),
        )
        if len(other_ids):
            self.worlds.restore(snapshots, other_ids)
        return results

    def render(self, **_: Any) -> list[Any]:
        """Return a picture of each world, with `render_mode="rgb_array"`."""
        return [*(self.worlds.render() or [None] * self.env_num)]

    def close(self) -> None:
        """Release the resources of rendering."""
        self.worlds.close()
        self.is_closed = True

    def _world_indices(self, ids: Any) -> NDArray[np.int64]:
        return np.arange(self.env_num) if ids is None else np.atleast_1d(ids)

    def _select_observations(
        self, observation: Any, info: dict[str, Any], ids: NDArray[np.int64]
    ) -> Any:
        """Return the observations of the worlds with the indices `ids`. Action masks are included
        if the environment was made with `masks`."""
        selected: Any
        if isinstance(observation, dict):
            selected = Batch({name: array[ids] for name, array in observation.items()})
        else:
            selected = observation[ids]
        if not self._has_masks:
            return selected
        return Batch(obs=selected, mask=info["action_mask"][ids] != 0)

    def _select_infos(self, info: dict[str, Any], ids: NDArray[np.int64]) -> NDArray[Any]:
        """Return one info dict for each of the worlds with the indices `ids`."""
        if not self.worlds.scenario.tells_success:
            return np.array([{"env_id": i} for i in ids])
        pairs = zip(ids, info["success"][ids])
        return np.array([{"env_id": i, "success": success} for i, success in pairs])
