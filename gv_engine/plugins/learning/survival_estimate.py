"""Estimates success rate, return and length of episodes during training by the Aalen-Johansen
method, which takes unfinished episodes into account.

The mean over the episodes that ended last is biased: worlds that start together finish their short
episodes first, and a successful episode often is a short one. This estimate has no such bias,
because every step counts. For each age, in steps of an episode, it counts the worlds that reached
the age and the episodes that ended there, with their outcome; the product of these rates gives the
distribution of the ends (Aalen and Johansen, 1978).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_WINDOW = 500
"""Number of recent episodes whose plain mean has about the variance of the estimate; the number of
worlds if that is greater."""
_MIN_WORLDS = 1e-9
"""Number of worlds at an age below which the counts of that age are not decayed further, so that
old data is not lost."""
_MIN_KNOWN = 0.99
"""Probability of an end at an observed age that the estimates require."""


class EpisodeMeans(NamedTuple):
    """Estimated means of an episode. All are NaN while more than 1 % of the episodes may be longer
    than every episode so far.

    Attributes:
        episode_return: undiscounted sum of rewards.
        episode_length: steps.
        success_rate: probability of success.
    """

    episode_return: float
    episode_length: float
    success_rate: float


class TrainingMetrics(NamedTuple):
    """Progress of a learner; a row of `progress.csv`.

    Attributes:
        steps: environment steps so far, of all agents.
        episodes: episodes that have ended so far.
        episode_return, episode_length, success_rate: see `EpisodeMeans`. With several agents the
            return is the sum over them, and an episode is a success if all agents succeed, or, if
            the first end of an agent ends the episode, if any agent succeeds. The success rate is
            NaN if the scenario does not define success.
        entropy, approx_kl, value_loss, policy_loss, clip_fraction: means over the minibatches of
            the last update that learned; the last is the share of steps whose probability ratio was
            clipped.
        explained_variance: share of the variance of its returns that the critic predicted: 1 at
            best, 0 for a constant.
        learning_rate: step size of the last update.
        evaluated_success, evaluated_return: means of the evaluation after the last update, see
            `Config.eval_interval`; NaN if there was none.
    """

    steps: int
    episodes: int
    episode_return: float
    episode_length: float
    success_rate: float
    entropy: float
    approx_kl: float
    value_loss: float
    policy_loss: float
    clip_fraction: float
    explained_variance: float
    learning_rate: float
    evaluated_success: float
    evaluated_return: float


class SurvivalEstimator:
    """Running counts of episode ages and ends in worlds that reset as soon as an episode ends.

    Args:
        worlds: N, all at the start of an episode.
    """

    def __init__(self, worlds: int) -> None:
        self._ages = np.zeros(worlds, np.int64)
        self._counts = np.zeros((4, 0))  # by age: worlds, ends, sum of returns, successes

    def add_step(
        self,
        done: NDArray[np.bool_],
        returns: NDArray[np.float64],
        success: NDArray[np.bool_],
        counted: NDArray[np.bool_] | None = None,
    ) -> None:
        """Record one step of all worlds: which episodes ended (`done`), and their returns and
        successes. All arrays are (W,).

        Args:
            done: (N,) True where an episode ended with the step.
            returns, success: (N,) outcome of the episodes that ended.
            counted: (N,) False where the world's episode is left out, constant in an episode; None
                counts all.
        """
        counted = np.ones_like(done) if counted is None else counted
        if num_missing := max(0, self._ages.max() + 1 - self._counts.shape[1]):
            self._counts = np.pad(self._counts, ((0, 0), (0, num_missing)))
        counts, num_ages = self._counts, self._counts.shape[1]
        (ended,) = np.nonzero(done & counted)
        if len(ended):
            decay = math.exp(-2 * len(ended) / max(_WINDOW, len(done)))  # half of it on average
            counts *= np.where(counts[0] > _MIN_WORLDS, decay, 1)
            ages = self._ages[ended]
            counts[1] += np.bincount(ages, None, num_ages)
            counts[2] += np.bincount(ages, returns[ended], num_ages)
            counts[3] += np.bincount(ages, success[ended], num_ages)
        counts[0] += np.bincount(self._ages[counted], None, num_ages)
        self._ages += 1
        self._ages[done] = 0

    def begin_episodes(self) -> None:
        """Let all worlds begin an episode; those that were under way have no end."""
        self._ages[:] = 0

    @property
    def means(self) -> EpisodeMeans:
        """Return the current estimates of return, length and success rate of an episode."""
        worlds, ended, returns, successes = self._counts
        survival = np.cumprod(1 - ended / worlds)
        known = 1 - float(survival[-1]) if len(survival) else 0.0
        if known < _MIN_KNOWN:
            return EpisodeMeans(math.nan, math.nan, math.nan)
        weights = np.concatenate([[1.0], survival[:-1]]) / worlds  # by age
        lengths = ended * np.arange(1, len(ended) + 1)
        return EpisodeMeans(
            episode_return=float((weights * returns).sum()) / known,
            episode_length=float((weights * lengths).sum()) / known,
            success_rate=round(float((weights * successes).sum()), 3),
        )

    def state(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return copies of the ages and the counts, from which `restore` continues."""
        return self._ages.copy(), self._counts.copy()

    def restore(self, ages: NDArray[np.int64], counts: NDArray[np.float64]) -> None:
        """Copy a saved `state()`."""
        self._ages, self._counts = ages.copy(), counts.copy()
