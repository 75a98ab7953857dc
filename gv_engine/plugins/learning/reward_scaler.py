"""Scaling of rewards by the running standard deviation of returns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.learning.torch_library import torch


class RewardScaler:
    """Scaler of rewards, which divides them by the running standard deviation of the discounted
    return, and clips them to plus or minus `bound`."""

    def __init__(self, num_envs: int, gamma: float, bound: float | None = None) -> None:
        self._gamma, self._returns = gamma, np.zeros(num_envs)
        self._bound = math.inf if bound is None else bound
        # of the returns: their number, their mean, and the sum of squared deviations from it
        self._count, self._mean, self._squares = 1e-4, 0.0, 1e-4

    def scale(
        self, rewards: NDArray[np.float32], done: NDArray[np.bool_], live: NDArray[np.bool_]
    ) -> NDArray[np.float32]:
        """Divide (T, N) rewards by the running standard deviation of discounted returns, and return
        them. Steps where `live` is False are not counted."""
        returns = np.empty(rewards.shape)
        for t, (reward, ended) in enumerate(zip(rewards, done, strict=True)):
            self._returns = self._returns * self._gamma + reward
            returns[t] = self._returns
            self._returns[ended] = 0
        returns = returns[live]
        if not returns.size:
            return rewards
        size, delta = returns.size, returns.mean() - self._mean
        total = self._count + size
        self._squares += returns.var() * size + delta**2 * self._count * size / total
        self._mean += delta * size / total
        self._count = total
        deviation = math.sqrt(self._squares / self._count) + 1e-8
        return (rewards / deviation).clip(-self._bound, self._bound).astype(np.float32)

    def begin_episodes(self) -> None:
        """Let all worlds begin an episode."""
        self._returns[:] = 0

    def state(self) -> dict[str, Any]:
        """Return a copy of the running statistics, for `restore`."""
        return {
            "returns": torch.from_numpy(self._returns.copy()),
            "moments": [self._count, float(self._mean), float(self._squares)],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Copy a saved `state()`."""
        self._returns = state["returns"].numpy().copy()
        self._count, self._mean, self._squares = state["moments"]
