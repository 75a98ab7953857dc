"""TorchRL environment of many worlds."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from gv_engine.plugins.adapters.extras import TORCHRL
from gv_engine.plugins.adapters.worlds import ScenarioSource, make_adapter_env
from gv_engine.rules.errors import MissingExtraError

if TORCHRL.missing_message:
    raise MissingExtraError(TORCHRL.missing_message)
import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase


class TorchRLEnv(EnvBase):
    """N worlds as one TorchRL environment with batch size (N,), for collectors and losses.

    Tensordicts hold the observation arrays by name, or `observation` if there is only one;
    `action_mask` (N, actions) bool for the transform `ActionMask`, except with
    `action_masks=False`; `reward`, `done`, `terminated` and `truncated`, (N, 1); and `success` (N,
    1), if the scenario defines success. Worlds are reset where `_reset` is True, as collectors
    request.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`.

    Raises:
        ValueError: observations are no arrays, or an option is set by the adapter itself.
    """

    batch_locked = True

    def __init__(self, scenario: ScenarioSource, num_envs: int = 1, **options: Any) -> None:
        """Make the worlds, and the specs of observations, actions, rewards and end flags. The class
        docstring explains the arguments."""
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([num_envs]))
        self.worlds = make_adapter_env(self, scenario, num_envs, options, autoreset_mode="Disabled")
        self._success_key = "success" if self.worlds.scenario.tells_success else ""
        self._next_seed: int | None = None
        batch_shape, num_actions = (num_envs,), self.worlds.num_actions
        space: Any = self.worlds.single_observation_space
        spaces = space.spaces if hasattr(space, "spaces") else {"observation": space}
        specs = {name: _make_spec(part, batch_shape) for name, part in spaces.items()}
        if options.get("action_masks", True):
            mask_shape = *batch_shape, num_actions
            specs["action_mask"] = Binary(num_actions, mask_shape, dtype=torch.bool)
        flag = Binary(1, (*batch_shape, 1), dtype=torch.bool)
        if self._success_key:
            specs[self._success_key] = flag
        self.observation_spec = Composite(**specs, shape=batch_shape)
        self.action_spec = Categorical(num_actions, shape=batch_shape)
        self.reward_spec = Unbounded((*batch_shape, 1))
        flag_names = "done", "terminated", "truncated"
        # flags of each world's last step
        self._ends = {name: torch.zeros(*batch_shape, 1, dtype=torch.bool) for name in flag_names}
        self.done_spec = Composite(**{name: flag.clone() for name in flag_names}, shape=batch_shape)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        """Reset all worlds, or only those where the tensordict's `_reset` is True. Return the
        observations as a tensordict."""
        mask = None if tensordict is None else tensordict.get("_reset", None)
        options = None if mask is None else {"reset_mask": mask.reshape(-1).numpy()}
        seed, self._next_seed = self._next_seed, None
        observation, info = self.worlds.reset(seed=seed, options=options)
        is_reset = torch.ones(self.batch_size, dtype=torch.bool) if mask is None else mask
        for flags in self._ends.values():  # other worlds may stay done
            flags[is_reset.reshape(-1)] = False
        ends = {name: flags.clone() for name, flags in self._ends.items()}
        return TensorDict({**self._make_tensors(observation, info), **ends}, self.batch_size)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        """Take the actions in the tensordict. Return observations, rewards and end flags as a
        tensordict."""
        actions = tensordict["action"].numpy()
        observation, reward, terminated, truncated, info = self.worlds.step(actions)
        ends = {"done": terminated | truncated, "terminated": terminated, "truncated": truncated}
        self._ends = {name: _copy_tensor(flags[:, None]) for name, flags in ends.items()}
        results = {name: flags.clone() for name, flags in self._ends.items()}
        results["reward"] = _copy_tensor(reward[:, None])
        return TensorDict({**self._make_tensors(observation, info), **results}, self.batch_size)

    def _make_tensors(self, observation: Any, info: dict[str, Any]) -> dict[str, torch.Tensor]:
        """Convert the results of a step to tensors by name: observation, action masks and
        success."""
        arrays = observation if isinstance(observation, dict) else {"observation": observation}
        tensors = {name: _copy_tensor(array) for name, array in arrays.items()}
        if "action_mask" in info:
            tensors["action_mask"] = _copy_tensor(info["action_mask"].astype(bool))
        if self._success_key:
            tensors[self._success_key] = _copy_tensor(info[self._success_key][:, None])
        return tensors

    def _set_seed(self, seed: int | None) -> None:
        self._next_seed = seed


def _make_spec(space: Any, batch_shape: tuple[int, ...]) -> Bounded | Categorical:
    """Convert a Gymnasium Box or Discrete space of one world to a TorchRL spec for a batch of
    worlds."""
    if isinstance(space, Discrete):
        return Categorical(int(space.n), shape=batch_shape)
    shape = *batch_shape, *space.shape
    low, high = (_copy_tensor(np.broadcast_to(bound, shape)) for bound in (space.low, space.high))
    return Bounded(low, high, shape, dtype=low.dtype)


def _copy_tensor(array: Any) -> torch.Tensor:
    return torch.from_numpy(np.array(array))
