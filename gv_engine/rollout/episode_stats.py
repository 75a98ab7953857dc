"""Statistics over many episodes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.rollout.episode_folder import RolloutError
from gv_engine.rollout.rollout import FinishedEpisode, find_ended
from gv_engine.scenario.plugin import AnyScenario

_CHUNK_EPISODES = 2**14  # episodes of a folder that are read at once


class _Summary(NamedTuple):
    """Sum, minimum and maximum of some values."""

    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    @classmethod
    def of(cls, values: NDArray[Any]) -> _Summary:
        """Return the summary of an array of values."""
        return cls(float(values.sum()), float(values.min()), float(values.max()))

    def merge(self, other: _Summary) -> _Summary:
        """Return the summary (sum, least and greatest) of the values of this and the other summary
        together."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        return _Summary(self.total + other.total, low, high)


class EpisodeStats:
    """Statistics of episodes: returns, lengths, ends and reward terms.

    Attributes:
        episodes, steps: numbers of episodes and steps.
    """

    def __init__(self) -> None:
        self.episodes = self.steps = 0
        self._ends = Counter(terminated=0, truncated=0)
        self._returns = self._lengths = _Summary()
        self._terms: Any = 0.0

    def add(self, episode: FinishedEpisode) -> None:
        """Add a finished episode to the statistics."""
        ends = {"terminated": episode.terminated, "truncated": episode.truncated}
        if episode.success is not None:
            ends["success"] = episode.success
        total, length = (_Summary(value, value, value) for value in (episode.total, episode.length))
        self._count(1, episode.length, ends, total, length, episode.terms)

    def add_folder(self, scenario: AnyScenario, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add all episodes of a saved rollout, given by its `arrays`, to the statistics.

        Args:
            scenario: scenario of the episodes.
            arrays: arrays of the folder, from `gv_engine.rollout.episode_folder.read`.

        Raises:
            RolloutError: the folder names members that the scenario does not have.
        """
        bounds = np.append(arrays["episode_start"], len(arrays["reward"]))
        for first in range(0, len(bounds) - 1, _CHUNK_EPISODES):
            starts = bounds[first : first + _CHUNK_EPISODES + 1]
            episodes, steps = slice(first, first + len(starts) - 1), slice(starts[0], starts[-1])
            reward, terms = arrays["reward"][steps], arrays["reward_terms"][steps]
            if reward.ndim > 1:  # of several agents
                reward, terms = reward.sum(axis=1), terms.sum(axis=1)
            last, member = arrays["terminated"][starts[1:] - 1], arrays["episode_member"][episodes]
            try:
                terminated = find_ended(scenario, member, last)
            except IndexError:
                raise RolloutError("the rollout is damaged: its members are not there") from None
            ends = {"terminated": terminated.sum(), "truncated": (~terminated).sum()}
            if "episode_success" in arrays:
                ends["success"] = arrays["episode_success"][episodes].sum()
            returns = _Summary.of(np.add.reduceat(reward, starts[:-1] - starts[0]))
            lengths = _Summary.of(np.diff(starts))
            self._count(len(starts) - 1, len(reward), ends, returns, lengths, terms.sum(axis=0))

    def merge(self, other: EpisodeStats) -> None:
        """Add the episodes in `other` to these statistics."""
        summaries = other._returns, other._lengths
        self._count(other.episodes, other.steps, other._ends, *summaries, other._terms)

    def _count(
        self,
        episodes: int,
        steps: int,
        ends: dict[str, Any],
        returns: _Summary,
        lengths: _Summary,
        terms: Any,
    ) -> None:
        """Add numbers and sums over some episodes to the statistics: how they ended, rewards,
        lengths and reward terms."""
        self.episodes += episodes
        self.steps += steps
        self._ends.update({name: int(number) for name, number in ends.items()})
        self._returns = self._returns.merge(returns)
        self._lengths = self._lengths.merge(lengths)
        self._terms = self._terms + terms

    def rows(
        self, reward_names: tuple[str, ...], seconds: float, new: EpisodeStats
    ) -> list[tuple[str, str]]:
        """Return the statistics as (label, value) texts, one for each line of a table.

        Args:
            reward_names: reward functions of the scenario.
            seconds: duration of the rollout.
            new: statistics of the episodes that were played in this time.
        """
        rows = [("episodes", f"{self.episodes:,}")]
        if new.episodes < self.episodes:
            rows.append(("new episodes", f"{new.episodes:,}"))
        speed = f"{new.steps / seconds:,.0f}"
        rows += [("steps", f"{self.steps:,}"), ("steps per second", speed)]
        if not self.episodes:
            return rows
        for name, summary in (("return", self._returns), ("length", self._lengths)):
            rows += [
                (f"{name}, mean", _number(summary.total / self.episodes)),
                (f"{name}, least", _number(summary.low)),
                (f"{name}, most", _number(summary.high)),
            ]
        rows += [(name, f"{ends / self.episodes:.1%}") for name, ends in self._ends.items()]
        means = zip(reward_names, self._terms / self.episodes)
        return rows + [(f"{name}, mean sum", _number(mean)) for name, mean in means]


def _number(value: float) -> str:
    """Return a number as text, rounded, without -0."""
    return f"{round(value, 12) + 0.0:.6g}"  # no noise of sums that are 0, and no -0
