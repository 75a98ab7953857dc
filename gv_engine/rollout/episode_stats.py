"""What there is to say of many episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.rollout.episode_folder import RolloutError
from gv_engine.rollout.rollout import FinishedEpisode, find_ended
from gv_engine.scenario.plugin import AnyScenario

_CHUNK = 2**14
"""Episodes of a folder that are read at once."""


class _Spread(NamedTuple):
    """Sum, least and most of some values."""

    total: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    @classmethod
    def of(cls, values: NDArray[Any]) -> _Spread:
        return cls(float(values.sum()), float(values.min()), float(values.max()))

    def join(self, other: _Spread) -> _Spread:
        return _Spread(
            self.total + other.total, min(self.least, other.least), max(self.most, other.most)
        )


class EpisodeStats:
    """Sums over episodes, in their order.

    Attributes:
        episodes, steps: so many there were.
    """

    def __init__(self) -> None:
        self.episodes = self.steps = 0
        self._ends = {"terminated": 0, "truncated": 0}
        self._returns = self._lengths = _Spread()
        self._terms: Any = 0.0

    def add(self, episode: FinishedEpisode) -> None:
        """Count an episode."""
        ends = {"terminated": episode.terminated, "truncated": episode.truncated}
        if episode.success is not None:
            ends["success"] = episode.success
        total, length = (_Spread(each, each, each) for each in (episode.total, episode.length))
        self._count(1, episode.length, ends, total, length, episode.terms)

    def add_kept(self, scenario: AnyScenario, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Count the episodes of a folder.

        Args:
            scenario: of the environment that played them.
            arrays: those of the folder, from `gv_engine.rollout.episode_folder.read`.

        Raises:
            RolloutError: they are of members that the scenario does not have.
        """
        bounds = np.append(arrays["episode_start"], len(arrays["reward"]))
        for first in range(0, len(bounds) - 1, _CHUNK):
            some = bounds[first : first + _CHUNK + 1]
            own, steps = slice(first, first + len(some) - 1), slice(some[0], some[-1])
            reward, terms = arrays["reward"][steps], arrays["reward_terms"][steps]
            if reward.ndim > 1:  # of several agents
                reward, terms = reward.sum(axis=1), terms.sum(axis=1)
            last, member = arrays["terminated"][some[1:] - 1], arrays["episode_member"][own]
            try:
                terminated = find_ended(scenario, member, last)
            except IndexError:
                raise RolloutError("the rollout is damaged: its members are not there") from None
            ends = {"terminated": terminated.sum(), "truncated": (~terminated).sum()}
            if "episode_success" in arrays:
                ends["success"] = arrays["episode_success"][own].sum()
            returns = _Spread.of(np.add.reduceat(reward, some[:-1] - some[0]))
            lengths = _Spread.of(np.diff(some))
            self._count(len(some) - 1, len(reward), ends, returns, lengths, terms.sum(axis=0))

    def join(self, other: EpisodeStats) -> None:
        """Count the episodes of another, which are behind these."""
        self._count(
            other.episodes,
            other.steps,
            other._ends,
            other._returns,
            other._lengths,
            other._terms,
        )

    def _count(
        self,
        episodes: int,
        steps: int,
        ends: dict[str, Any],
        returns: _Spread,
        lengths: _Spread,
        terms: Any,
    ) -> None:
        self.episodes += episodes
        self.steps += steps
        for name, number in ends.items():
            self._ends[name] = self._ends.get(name, 0) + int(number)
        self._returns = self._returns.join(returns)
        self._lengths = self._lengths.join(lengths)
        self._terms = self._terms + terms

    def rows(
        self, reward_names: tuple[str, ...], took: float, new: EpisodeStats
    ) -> list[tuple[str, str]]:
        """(what, value) of a finished rollout.

        Args:
            reward_names: of the scenario.
            took: seconds.
            new: those of the episodes that were played in this time.
        """
        rows = [
            ("episodes", f"{self.episodes:,}"),
            *([("new episodes", f"{new.episodes:,}")] if new.episodes < self.episodes else []),
            ("steps", f"{self.steps:,}"),
            ("steps per second", f"{new.steps / took:,.0f}"),
        ]
        if not self.episodes:
            return rows
        for name, spread in (("return", self._returns), ("length", self._lengths)):
            rows += [
                (f"{name}, mean", _number(spread.total / self.episodes)),
                (f"{name}, least", _number(spread.least)),
                (f"{name}, most", _number(spread.most)),
            ]
        rows += [(name, f"{ends / self.episodes:.1%}") for name, ends in self._ends.items()]
        means = self._terms / self.episodes
        return rows + [
            (f"{name}, mean sum", _number(mean)) for name, mean in zip(reward_names, means)
        ]


def _number(value: float) -> str:
    return f"{round(value, 12) + 0.0:.6g}"  # no noise of sums that are 0, and no -0
