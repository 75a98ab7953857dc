"""Counts of the observations that each agent has met in its episode."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


class EpisodeVisits:
    """Counts how often each of N agents has met an observation in its episode.

    Args:
        num_agents: N.
        slots: number of integers of an encoded observation.
    """

    def __init__(self, num_agents: int, slots: int) -> None:
        self._counts: list[Counter[int]] = [Counter() for _ in range(num_agents)]  # by hash
        self._multipliers = np.random.default_rng(0).integers(1 << 62, size=slots)

    def begin_episodes(self) -> None:
        """Let all agents begin an episode."""
        for counts in self._counts:
            counts.clear()

    def count(self, rows: NDArray[np.int32], done: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how often each agent has met the observation after each of T steps in its episode,
        (T, N), with this time; 0 for a step that ended the episode.

        Args:
            rows: (T + 1, N, slots) encoded observations before the first and after each step.
            done: (T, N) True where the step ended the episode.
        """
        hashes = rows.astype(np.int64) @ self._multipliers
        visits = np.zeros(done.shape, np.int64)
        for agent, counts in enumerate(self._counts):
            start, *after = hashes[:, agent].tolist()
            if not counts:
                counts[start] = 1
            for t, (key, ended) in enumerate(zip(after, done[:, agent].tolist(), strict=True)):
                if ended:
                    counts.clear()
                counts[key] += 1
                visits[t, agent] = 0 if ended else counts[key]
        return visits

    def state(self) -> list[list[int]]:
        """Return the hashes of the observations of each agent's episode, for `restore`."""
        return [[*counts.elements()] for counts in self._counts]

    def restore(self, state: Sequence[Sequence[int]]) -> None:
        """Copy a saved `state()`."""
        self._counts = [*map(Counter, state)]
