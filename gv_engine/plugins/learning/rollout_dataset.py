"""Recorded rollouts as a dataset of torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.envs.rollout import episode_folder
from gv_engine.plugins.learning.torch_library import Tensor, torch

_STEP_NAMES = "action", "reward", "terminated", "truncated"


class RolloutDataset:
    """Steps of a recorded rollout as tensors: a map-style dataset, as `torch.utils.data.DataLoader`
    takes it.

    An item is a mapping with the observation before the step by name, such as `grid` (h, w, 3)
    uint8; that after the step, such as `next_grid`; `action`, `reward`, `terminated` and
    `truncated`; and `action_mask` and `reward_terms`, if they were recorded.

    Args:
        path: folder that `gv-engine rollout --out` has written.
        check: whether to compare all files with their checksums.

    Attributes:
        about: content of `rollout.json`.

    Raises:
        RolloutError: the folder holds no rollout, or a damaged one.
    """

    def __init__(self, path: str | Path, check: bool = True) -> None:
        """Map the arrays of the rollout. The class docstring explains the arguments."""
        self._arrays, self.about = episode_folder.read(path, check)
        self._indices = np.arange(self.about["steps"])
        starts = self._arrays["episode_start"]
        self._ends = np.append(starts, len(self))[1:] - 1  # last step of each episode
        self._observed = [name for name in self._arrays if f"last_{name}" in self._arrays]
        names = {*_STEP_NAMES, "action_mask", "reward_terms", *self._observed}
        self._names = sorted(names & self._arrays.keys())

    def __len__(self) -> int:
        return len(self._indices)

    def __getitem__(self, index: Any) -> dict[str, Tensor]:
        """Return the step with an index, or several steps for a list or an array of indices or a
        slice, with a first axis of steps. Raise IndexError if there is no such step."""
        steps = self._indices[index]
        item = {name: self._arrays[name][steps] for name in self._names}
        episodes = np.searchsorted(self._ends, steps)
        is_last = self._ends[episodes] == steps
        following = np.minimum(steps + 1, len(self) - 1)
        for name in self._observed:
            array, last = self._arrays[name], self._arrays[f"last_{name}"]
            mask = is_last.reshape(is_last.shape + (1,) * (array.ndim - 1))
            item[f"next_{name}"] = np.where(mask, last[episodes], array[following])
        return {name: torch.from_numpy(np.array(values)) for name, values in item.items()}
