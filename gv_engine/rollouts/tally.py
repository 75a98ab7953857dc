"""What there is to say of many episodes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from gv_engine.rollouts.rollout import FinishedEpisode


class _Spread(NamedTuple):
    """Sum, least and most of some values."""

    total: float = 0.0
    least: float = math.inf
    most: float = -math.inf

    def join(self, other: _Spread) -> _Spread:
        return _Spread(
            self.total + other.total, min(self.least, other.least), max(self.most, other.most)
        )


class Tally:
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

    def join(self, other: Tally) -> None:
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

    def rows(self, reward_names: tuple[str, ...], took: float) -> list[tuple[str, str]]:
        """(what, value) of a finished rollout.

        Args:
            reward_names: of the scenario.
            took: seconds.
        """
        rows = [
            ("episodes", f"{self.episodes:,}"),
            ("steps", f"{self.steps:,}"),
            ("steps per second", f"{self.steps / took:,.0f}"),
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
    return f"{value:.6g}"
