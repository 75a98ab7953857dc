"""Exploration by differences of novelty on PPO (NovelD; Zhang et al., 2021).

The error of random network distillation says how new an observation is. A step is rewarded by how
much newer the observation after it is than the one before, so that agents move from known to
unknown states. Only the first visit of an observation in an episode is rewarded.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.rnd import CodeRows, Errors, Flags, RNDLearner

_WEIGHT_BEFORE = 0.5
"""Weight of the novelty before a step, which is subtracted from the novelty after it; the paper's
alpha."""


class NovelDLearner(RNDLearner):
    """PPO learner with additional rewards for steps that lead to newer observations (NovelD);
    arguments and attributes are those of `Learner`."""

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, device: str = "cpu") -> None:
        """Make a learner; the arguments are those of `Learner`."""
        super().__init__(env, settings, device)
        self._visited: list[set[int]] = [set() for _ in range(env.num_envs)]  # hashes, by agent
        slots = len(self.spec.sizes)
        self._multipliers = np.random.default_rng(0).integers(1 << 62, size=slots)

    def _begin_episodes(self, results: tuple[Any, dict[str, Any]]) -> None:
        super()._begin_episodes(results)
        for visited in self._visited:
            visited.clear()

    def _scaled_novelty(self, rows: CodeRows, errors: Errors, done: Flags, live: Flags) -> Errors:
        gains = np.maximum(errors[1:] - _WEIGHT_BEFORE * errors[:-1], 0)
        gains *= self._find_first_visits(rows.astype(np.int64) @ self._multipliers, done) & live
        return self._novelty_scaler.scale(gains, done, live)

    def _find_first_visits(self, hashes: NDArray[np.int64], done: Flags) -> Flags:
        """Return a (T, N) mask of steps whose next observation is new in the agent's episode, and
        remember the observations. `hashes` identify observations. A step that ends an episode is
        never new.

        Args:
            hashes: (T + 1, N) hashes of the observations before the first and after each step.
            done: (T, N) True where the step ended the episode.
        """
        first = np.zeros(done.shape, np.bool_)
        for agent, visited in enumerate(self._visited):
            start, *after = hashes[:, agent].tolist()
            visited.add(start)
            for t, (key, ended) in enumerate(zip(after, done[:, agent].tolist(), strict=True)):
                if ended:
                    visited.clear()
                first[t, agent] = key not in visited and not ended
                visited.add(key)
        return first

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue the training bit for bit."""
        return super().state() | {"visited": [list(visited) for visited in self._visited]}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue the training from a saved `state()` of a learner with the same settings."""
        super().restore(state)
        self._visited = [set(visited) for visited in state["visited"]]
