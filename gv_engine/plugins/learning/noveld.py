"""Exploration by differences of novelty on PPO (NovelD; Zhang et al., 2021).

The error of random network distillation says how new an observation is. A step is rewarded by how
much newer the observation after it is than the one before, so that agents move from known to
unknown states. Only the first visit of an observation in an episode is rewarded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.episode_visits import EpisodeVisits
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
        self._visits = EpisodeVisits(env.num_envs, len(self.spec.sizes))
        self._checkpoint_parts["visited"] = self._visits

    def _begin_episodes(self, results: tuple[Any, dict[str, Any]]) -> None:
        super()._begin_episodes(results)
        self._visits.begin_episodes()
        self._novelty_scaler.begin_episodes()

    def _scaled_novelty(self, rows: CodeRows, errors: Errors, done: Flags, live: Flags) -> Errors:
        gains = np.maximum(errors[1:] - _WEIGHT_BEFORE * errors[:-1], 0)
        gains *= (self._visits.count(rows, done) == 1) & live
        return self._novelty_scaler.scale(gains, done, live)
