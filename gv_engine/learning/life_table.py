"""What episodes come to while many of them have not ended yet.

A mean over those that ended last favours whatever makes episodes short: of worlds that begin
together the first to end have all won, where one that finds a way ends sooner than one that does
not. A life table has no such bias, as every step counts in it: it knows for each age, in steps of
an episode, how many worlds have been that old, and how many ended then, and as what; by these
chances, one after the other, an episode comes to its end (Aalen and Johansen, 1978).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_LAST = 500
"""Episodes of whose means these are as sure and as late; of more worlds, as many as there are."""
_FADED = 1e-9
"""Worlds of an age that count no less: what they came to is known as long as none gets there."""
_KNOWN = 0.99
"""Chance of an end that has been seen at some age, with which means are known."""


class EpisodeMeans(NamedTuple):
    """Of an episode: return, length in steps, and chance of success; all NaN as long as too many
    may end at an age that no world has been at."""

    total: float
    length: float
    success: float


class LifeTable:
    """Counts the ages and ends of episodes in worlds that begin anew at once.

    Args:
        worlds: N, which begin now.
    """

    def __init__(self, worlds: int) -> None:
        self._ages = np.zeros(worlds, np.int64)
        self._counts = np.zeros((4, 0))  # by ages: worlds; those that ended; their returns; success

    def step(
        self, over: NDArray[np.bool_], totals: NDArray[np.float64], won: NDArray[np.bool_]
    ) -> None:
        """Count a step of all worlds.

        Args:
            over: (N,) whether an episode ended with it.
            totals, won: (N,) its return, and whether it was a success.
        """
        if missing := max(0, self._ages.max() + 1 - self._counts.shape[1]):
            self._counts = np.pad(self._counts, ((0, 0), (0, missing)))
        counts, (ended,) = self._counts, np.nonzero(over)
        if len(ended):
            fade = math.exp(-2 * len(ended) / max(_LAST, len(over)))  # of half of them on average
            counts *= np.where(counts[0] > _FADED, fade, 1)
            at = self._ages[ended]
            for count, mark in zip(counts[1:], (None, totals[ended], won[ended]), strict=True):
                count += np.bincount(at, mark, counts.shape[1])
        counts[0] += np.bincount(self._ages, None, counts.shape[1])
        self._ages += 1
        self._ages[ended] = 0

    @property
    def means(self) -> EpisodeMeans:
        """Of an episode, by the chances of late; what may end at an unknown age is no success."""
        worlds, ended, totals, won = self._counts
        alive = np.cumprod(1 - ended / worlds)
        known = 1 - float(alive[-1]) if len(alive) else 0.0
        if known < _KNOWN:
            return EpisodeMeans(math.nan, math.nan, math.nan)
        share = np.concatenate([[1.0], alive[:-1]]) / worlds
        lengths = ended * np.arange(1, len(ended) + 1)
        total, length, success = (float((share * each).sum()) for each in (totals, lengths, won))
        return EpisodeMeans(total / known, length / known, round(success, 3))

    def state(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """All that it goes on from."""
        return self._ages.copy(), self._counts.copy()

    def restore(self, ages: NDArray[np.int64], counts: NDArray[np.float64]) -> None:
        """Go on from there."""
        self._ages, self._counts = ages.copy(), counts.copy()
