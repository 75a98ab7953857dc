"""Many worlds as a batched environment of TorchRL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.spaces import Discrete

from gv_engine.adapters.worlds import worlds_of
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.optional_deps import TORCHRL
from gv_engine.scenario.scenario import Scenario

if TORCHRL.missing_message:
    raise MissingExtraError(TORCHRL.missing_message)
import torch
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Bounded, Categorical, Composite, Unbounded
from torchrl.envs import EnvBase


class TorchRLEnv(EnvBase):
    """N worlds as one environment of batch size (N,), for collectors and losses of TorchRL.

    Tensordicts hold the arrays of an observation by their names, or `observation` if there is one
    alone; `action_mask` (N, actions) bool, which the transform `ActionMask` keeps to, but for
    `action_masks=False`; `reward`, `done`, `terminated` and `truncated`, (N, 1); and `success`
    (N, 1), if the scenario says what that is. Where `_reset` is True a world begins anew, as
    collectors ask for it.

    Args:
        scenario, num_envs, options: as for `GridVectorEnv`.

    Raises:
        ValueError: observations are no arrays, or an option is one that it sets itself.
    """

    batch_locked = True

    def __init__(
        self, scenario: Scenario | str | Path | dict[str, Any], num_envs: int = 1, **options: Any
    ) -> None:
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([num_envs]))
        self.worlds = worlds_of(
            self,
            scenario,
            num_envs,
            options,
            autoreset_mode="Disabled",
            reward_dtype="float32",
        )
        self._told = "success" if self.worlds.scenario.tells_success else ""
        self._first: int | None = None
        many, actions = (num_envs,), self.worlds.num_actions
        shown: Any = self.worlds.single_observation_space
        boxes = shown.spaces if hasattr(shown, "spaces") else {"observation": shown}
        seen = {name: _spec(box, many) for name, box in boxes.items()}
        if options.get("action_masks", True):
            seen["action_mask"] = Binary(actions, (*many, actions), dtype=torch.bool)
        flag = Binary(1, (*many, 1), dtype=torch.bool)
        if self._told:
            seen[self._told] = flag
        self.observation_spec = Composite(**seen, shape=many)
        self.action_spec = Categorical(actions, shape=many)
        self.reward_spec = Unbounded((*many, 1))
        ends = ("done", "terminated", "truncated")
        self._ends = {name: torch.zeros(*many, 1, dtype=torch.bool) for name in ends}
        self.done_spec = Composite(**{name: flag.clone() for name in ends}, shape=many)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        options = None if mask is None else {"reset_mask": mask.reshape(-1).numpy()}
        first, self._first = self._first, None
        observation, info = self.worlds.reset(seed=first, options=options)
        begun = torch.ones(self.batch_size, dtype=torch.bool) if mask is None else mask
        for flags in self._ends.values():  # other worlds may be over, and stay so
            flags[begun.reshape(-1)] = False
        told = {name: flags.clone() for name, flags in self._ends.items()}
        return TensorDict({**self._seen(observation, info), **told}, self.batch_size)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        actions = tensordict["action"].numpy()
        observation, reward, terminated, truncated, info = self.worlds.step(actions)
        ends = {"done": terminated | truncated, "terminated": terminated, "truncated": truncated}
        self._ends = {name: _tensor(flags[:, None]) for name, flags in ends.items()}
        told = {name: flags.clone() for name, flags in self._ends.items()}
        told["reward"] = _tensor(reward[:, None])
        return TensorDict({**self._seen(observation, info), **told}, self.batch_size)

    def _seen(self, observation: Any, info: dict[str, Any]) -> dict[str, torch.Tensor]:
        arrays = observation if isinstance(observation, dict) else {"observation": observation}
        found = {name: _tensor(array) for name, array in arrays.items()}
        if "action_mask" in info:
            found["action_mask"] = _tensor(info["action_mask"].astype(bool))
        if self._told:
            found[self._told] = _tensor(info[self._told][:, None])
        return found

    def _set_seed(self, seed: int | None) -> None:
        self._first = seed


def _spec(box: Any, many: tuple[int, ...]) -> Bounded | Categorical:
    if isinstance(box, Discrete):
        return Categorical(int(box.n), shape=many)
    low, high = (np.broadcast_to(bound, (*many, *box.shape)) for bound in (box.low, box.high))
    kind = torch.from_numpy(np.zeros(0, box.dtype)).dtype
    return Bounded(_tensor(low), _tensor(high), (*many, *box.shape), dtype=kind)


def _tensor(array: Any) -> torch.Tensor:
    """A tensor of its own, which the next step leaves alone."""
    return torch.from_numpy(np.array(array))
