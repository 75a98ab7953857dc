"""Curricula: rules that choose the level of each training episode.

- `random`: domain randomisation (Tobin et al., 2017): all levels are equally probable.
- `plr`: prioritised level replay (Jiang et al., 2021): levels with a high score are played again.

`CURRICULA` in `config.py` lists the classes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.learning.config import Hyperparameters


class RandomLevels:
    """Domain randomisation: each world samples the levels of its episodes by itself.

    Args:
        env: environment with W worlds, after its reset with the seed of the settings.
        settings: hyperparameters.
        rng: generator to sample levels with.

    Attributes:
        is_measured: (W,) True where the level of the episode was sampled uniformly; the metrics of
            the training are of these episodes.
    """

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        self._env, self._settings, self._rng = env, settings, rng
        self.is_measured = np.ones(env.num_worlds, np.bool_)

    def end_step(self, done: NDArray[np.bool_]) -> None:
        """Note that all worlds made a step, and that episodes ended where `done` (W,) is True."""

    def end_update(self, advantages: Tensor, live: Tensor) -> None:
        """Score the levels of the episodes that ended since the last update.

        Args:
            advantages: (T, N) advantages of the T steps since then, of all agents of all worlds.
            live: (T, N) True where the agent took part in the step.
        """

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of a curriculum with the same settings."""


class PrioritisedLevelReplay(RandomLevels):
    """Prioritised level replay over the K levels of the environment's level set.

    An episode replays a level with probability `replay_prob`, and else has any level. The score of
    a level is the mean of the positive parts of the advantages in its last episode: high where
    the agent has done better than its critic expects. Scores and staleness give the
    probabilities, see `find_replay_probabilities`. The next level of each world is sampled again
    after each update.

    Attributes:
        scores: (K,) score of each level; NaN until an episode with the level has ended.

    Raises:
        ValueError: the environment has no level set.
    """

    _saved = (
        *("scores", "is_measured", "_ended_at", "_sums"),
        *("_levels", "_next_levels", "_next_random"),
    )

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        super().__init__(env, settings, rng)
        count, worlds = len(env.batch.levels), np.arange(env.num_worlds)
        if not count:
            raise ValueError(f"the curriculum {settings.curriculum} needs levels, such as 'train'")
        self.scores = np.full(count, np.nan)
        self._ended_at = np.zeros(count, np.int64)  # episodes that had ended before the last end
        self._num_episodes = 0
        self._levels = (settings.seed + worlds) % count  # as `GridVectorEnv` resets
        self._next_levels, self._next_random = self._levels.copy(), self.is_measured.copy()
        self._sums = np.zeros((2, len(worlds)))  # positive advantages and steps of the episodes
        self._steps: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []
        self._cumulative = np.zeros(0)
        self._choose_levels(worlds)

    def _choose_levels(self, worlds: NDArray[np.int64]) -> None:
        """Choose the levels with which the next episodes of some worlds start."""
        size = 3, len(worlds)
        uniform, kind, replayed = torch.rand(size, generator=self._rng, dtype=torch.float64).numpy()
        levels = (uniform * len(self.scores)).astype(np.int64)
        is_random = kind >= (self._settings.replay_prob if len(self._cumulative) else 0.0)
        levels[~is_random] = np.searchsorted(self._cumulative, replayed[~is_random], "right")
        self._next_levels[worlds], self._next_random[worlds] = levels, is_random
        self._request_levels()

    def _request_levels(self) -> None:
        """Tell the worlds which levels they start with next."""
        self._env.batch.requested_levels[:] = self._next_levels

    def end_step(self, done: NDArray[np.bool_]) -> None:
        """Note the levels that were played in the step, and choose the next levels of the worlds
        whose next episodes have begun, where `done` (W,) is True."""
        self._steps.append((self._levels.copy(), done))
        if done.any():
            self._levels[done] = self._next_levels[done]
            self.is_measured[done] = self._next_random[done]
            self._choose_levels(np.flatnonzero(done))

    def end_update(self, advantages: Tensor, live: Tensor) -> None:
        """Score the levels of the episodes that ended since the last update, and choose the next
        levels of all worlds; arguments are those of `RandomLevels.end_update`."""
        by_world = (len(live), self._env.num_worlds, -1)
        gains = (advantages.clamp(min=0) * live).reshape(by_world).sum(2).double().numpy()
        counts = live.reshape(by_world).sum(2).numpy()
        for (levels, done), *of_step in zip(self._steps, gains, counts, strict=True):
            self._sums += of_step
            ended, (gain, count) = levels[done], self._sums[:, done]
            self.scores[ended] = gain / np.maximum(1, count)
            self._num_episodes += len(ended)
            self._ended_at[ended] = self._num_episodes
            self._sums[:, done] = 0
        self._steps.clear()
        self._find_cumulative()
        self._choose_levels(np.arange(self._env.num_worlds))

    def _find_cumulative(self) -> None:
        """Compute the cumulative probabilities of the levels; none while no level has a score."""
        if not np.isnan(self.scores).all():
            ages, settings = self._num_episodes - self._ended_at, self._settings
            self._cumulative = find_replay_probabilities(
                self.scores, ages, settings.replay_temperature, settings.staleness_coef
            ).cumsum()
            self._cumulative[self._cumulative == self._cumulative[-1]] = 1.0  # despite rounding

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        arrays = {name: torch.from_numpy(getattr(self, name).copy()) for name in self._saved}
        return {**arrays, "episodes": self._num_episodes}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of a curriculum with the same settings and levels."""
        for name in self._saved:
            setattr(self, name, state[name].numpy().copy())
        self._num_episodes = state["episodes"]
        self._find_cumulative()
        self._request_levels()


def find_replay_probabilities(
    scores: NDArray[np.float64], ages: NDArray[np.int64], temperature: float, staleness_coef: float
) -> NDArray[np.float64]:
    """Return the (K,) probabilities to replay levels: a mixture of one that is proportional to
    `(1 / rank) ** (1 / temperature)`, with rank 1 for the highest score, and of one that is
    proportional to the ages, with weight `staleness_coef`.

    Args:
        scores: (K,) scores of levels; NaN for levels that are not replayed, but not for all.
        ages: (K,) episodes that have ended since the last episode on each level.
        temperature: positive number; the higher, the more equal are the probabilities.
        staleness_coef: share from 0 to 1.
    """
    (known,) = np.nonzero(~np.isnan(scores))
    by_score = np.zeros(len(scores))
    ranks = np.arange(1.0, 1 + len(known))
    by_score[known[np.argsort(-scores[known], kind="stable")]] = ranks ** (-1 / temperature)
    by_score /= by_score.sum()
    by_age = np.where(np.isnan(scores), 0.0, ages)
    by_age = by_age / by_age.sum() if by_age.any() else by_score
    return by_score + staleness_coef * (by_age - by_score)
