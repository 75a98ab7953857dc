"""Statistics of episodes: of a rollout while it runs, and of those in a folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.rollout.episode_folder import RolloutError
from gv_engine.envs.rollout.rollout import FinishedEpisode, find_ended
from gv_engine.scenario.domains import AnyScenario

_Z = 1.959964
"""Quantile of the normal distribution for 95 %."""
_CHUNK_EPISODES = 2**14  # episodes of a folder that are read at once


class Estimate(NamedTuple):
    """Mean with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


class EpisodeValues(NamedTuple):
    """Results of E episodes in order: reward sums, lengths, and how the episodes ended.

    Attributes:
        sums: (E, 1 + F) float64 return, then the sum of each reward term.
        lengths: (E,) int64 steps.
        ends: number of episodes by how they ended.
    """

    sums: NDArray[np.float64]
    lengths: NDArray[np.int64]
    ends: dict[str, int]

    @classmethod
    def of_episodes(cls, episodes: Sequence[FinishedEpisode]) -> EpisodeValues:
        """Return the results of these finished episodes, at least one."""
        ends = {"terminated": 0, "truncated": 0}
        for episode in episodes:
            for name in ("terminated", "truncated", "success"):
                if (flag := getattr(episode, name)) is not None:
                    ends[name] = ends.get(name, 0) + flag
        sums = np.array([(each.total, *each.terms) for each in episodes])
        return cls(sums, np.array([each.length for each in episodes]), ends)


@dataclass(eq=False)
class EpisodeStats:
    """Statistics of episodes, which are added in parts. The result is the same for every split into
    parts, to the last bit.

    Attributes:
        episodes, steps: numbers of episodes and steps.
        ends: number of episodes by how they ended.
        sums: (1 + F,) sums of the returns and of each reward term.
        returns, lengths: least and greatest value.
    """

    episodes: int = 0
    steps: int = 0
    ends: dict[str, int] = field(default_factory=lambda: {"terminated": 0, "truncated": 0})
    sums: Any = 0.0
    returns: tuple[float, float] = (math.inf, -math.inf)
    lengths: tuple[float, float] = (math.inf, -math.inf)

    def add(self, values: EpisodeValues) -> None:
        """Add the results of more episodes."""
        sums, lengths, ends = values
        self.episodes += len(lengths)
        self.steps += int(lengths.sum())
        for name, number in ends.items():
            self.ends[name] = self.ends.get(name, 0) + number
        # adds one episode after the other, where `sum` would add in another order
        sums_before = np.broadcast_to(self.sums, (1, sums.shape[1]))
        self.sums = np.add.accumulate(np.concatenate([sums_before, sums]))[-1]
        self.returns = _extend_limits(self.returns, sums[:, 0])
        self.lengths = _extend_limits(self.lengths, lengths)

    def add_folder(self, scenario: AnyScenario, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Add all episodes of a saved rollout. `arrays` are its arrays by name, as
        `episode_folder.read` returns them.

        Args:
            scenario: scenario of the episodes.
            arrays: arrays of the folder, from `gv_engine.envs.rollout.episode_folder.read`.

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
            member = arrays["episode_member"][episodes]
            last_flags = arrays["terminated"][starts[1:] - 1]
            try:
                terminated = find_ended(scenario, member, last_flags)
            except IndexError:
                raise RolloutError("the rollout is damaged: its members are not there") from None
            ends = {"terminated": int(terminated.sum()), "truncated": int((~terminated).sum())}
            if "episode_success" in arrays:
                ends["success"] = int(arrays["episode_success"][episodes].sum())
            lengths = np.diff(starts)
            # bincount adds step by step, as `rollout` does
            indices = np.repeat(np.arange(len(lengths)), lengths)
            sums = [np.bincount(indices, part, len(lengths)) for part in (reward, *terms.T)]
            self.add(EpisodeValues(np.column_stack(sums), lengths, ends))

    def rows(
        self, reward_names: tuple[str, ...], seconds: float, old_counts: tuple[int, int] = (0, 0)
    ) -> list[tuple[str, str]]:
        """Return the statistics as (label, value) texts, one for each line of a table. `seconds` is
        how long the rollout took; `old_counts` are the (episodes, steps) from before it was
        resumed.

        Args:
            reward_names: reward functions of the scenario.
            seconds: duration of the rollout.
            old_counts: numbers of episodes and steps that were there before.
        """
        old_episodes, old_steps = old_counts
        rows = [("episodes", f"{self.episodes:,}")]
        if old_episodes:
            rows.append(("new episodes", f"{self.episodes - old_episodes:,}"))
        speed = f"{(self.steps - old_steps) / seconds:,.0f}"
        rows += [("steps", f"{self.steps:,}"), ("steps per second", speed)]
        if not self.episodes:
            return rows
        mean_return, *mean_terms = self.sums / self.episodes
        values = {
            "return": (mean_return, *self.returns),
            "length": (self.steps / self.episodes, *self.lengths),
        }
        for name, (mean, least, most) in values.items():
            rows.append((f"{name}, mean", _format_number(mean)))
            rows.append((f"{name}, least", _format_number(least)))
            rows.append((f"{name}, most", _format_number(most)))
        rows += [(name, f"{number / self.episodes:.1%}") for name, number in self.ends.items()]
        for name, mean in zip(reward_names, mean_terms, strict=True):
            rows.append((f"{name}, mean sum", _format_number(mean)))
        return rows


def estimate_success(successes: int, episodes: int) -> Estimate:
    """Return the success rate of episodes with its 95 % score interval (Wilson, 1927)."""
    rate, spread = successes / episodes, _Z**2 / episodes
    center = (rate + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * (rate * (1 - rate) / episodes + spread / (4 * episodes)) ** 0.5
    low, high = (round(min(1.0, max(0.0, end)), 12) for end in (center - half, center + half))
    return Estimate(rate, low, high)


def _extend_limits(limits: tuple[float, float], values: NDArray[Any]) -> tuple[float, float]:
    low, high = limits
    return min([low, *values.tolist()]), max([high, *values.tolist()])


def _format_number(value: float) -> str:
    return f"{round(value, 12) + 0.0:.6g}"  # no noise of sums that are 0, and no -0
