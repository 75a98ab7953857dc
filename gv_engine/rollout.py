"""Rollouts: many episodes of a scenario, played by a policy in many worlds at once.

Episode k of seed s is the same however many worlds there are: its world is that of
`reset(seed=s + k)`, and what its policy draws comes from `numpy.random.default_rng([s, k])`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.environment import Observation
from gv_engine.geometry import ACTIONS
from gv_engine.policy import Policy
from gv_engine.scenario import Scenario
from gv_engine.vector_environment import GridVectorEnv


class Steps(NamedTuple):
    """What was seen, done and got, step by step."""

    grid: NDArray[np.uint8]
    """(T, h, w, 3) before each action."""
    item: NDArray[np.uint8]
    """(T, 3) before each action."""
    action: NDArray[np.int64]
    """(T,) of the action space."""
    reward: NDArray[np.float64]
    """(T,)"""
    terms: NDArray[np.float64]
    """(T, F) the reward, function by function."""


@dataclass(frozen=True, eq=False)
class Episode:
    """One episode of T steps.

    Attributes:
        number, seed: k, and the seed of its world.
        length, total: T, and the sum of the rewards.
        terms: (F,) sums of the rewards, function by function.
        terminated, truncated: how it ended.
        last: the observation at the end.
        steps: what happened, if that is kept.
    """

    number: int
    seed: int
    length: int
    total: float
    terms: NDArray[np.float64]
    terminated: bool
    truncated: bool
    last: Observation
    steps: Steps | None


def rollout(
    env: GridVectorEnv, policy: Policy, episodes: int, seed: int, keep: bool = False
) -> Iterator[Episode]:
    """Play episodes, and yield each when it ends, which need not be in order of their numbers.

    Args:
        env: with autoreset mode DISABLED, and a scenario whose episodes end.
        policy: what acts.
        episodes: how many, at least as many as `env` has worlds.
        seed: of the first world, and of what the policy draws.
        keep: whether episodes hold their steps.

    Raises:
        PolicyError: the policy answers with something that is no action.
        RuleError: a rule is not defined on one of the worlds.
    """
    n, names = env.num_envs, env.scenario.reward_names
    number = np.arange(n)  # of the episode in each world
    following = n
    idle = np.zeros(n, np.bool_)  # no episode is left: plays its last one again, unheard
    since = np.zeros(n, np.int64)
    total, terms = np.zeros(n), np.zeros((n, len(names)))
    history = _History(keep)

    def begin(which: NDArray[np.bool_]) -> tuple[Observation, dict[str, Any]]:
        for i in np.flatnonzero(which).tolist():
            policy.begin(i, np.random.default_rng([seed, int(number[i])]))
        since[which] = history.now
        total[which] = terms[which] = 0.0
        seeds = (seed + number).tolist()
        return env.reset(seed=seeds, options={"reset_mask": which})

    observation, info = begin(~idle)
    while not idle.all():
        action = policy.act(observation, info)
        history.look(observation, action)
        observation, reward, terminated, truncated, info = env.step(action)
        gained = np.zeros_like(terms)
        for column, name in enumerate(names):
            gained[:, column] = info["reward_terms"][name]
        history.gain(reward, gained)
        total += reward
        terms += gained
        over = terminated | truncated
        if not over.any():
            continue
        for i in np.flatnonzero(over & ~idle).tolist():
            yield Episode(
                number=int(number[i]),
                seed=seed + int(number[i]),
                length=int(history.now - since[i]),
                total=float(total[i]),
                terms=terms[i].copy(),
                terminated=bool(terminated[i]),
                truncated=bool(truncated[i]),
                last={name: array[i].copy() for name, array in observation.items()},
                steps=history.of(i, int(since[i])),
            )
            idle[i] = following == episodes
            if not idle[i]:
                number[i] = following
                following += 1
        observation, info = begin(over)
        history.forget(since[~idle].min(initial=history.now))


class _History:
    """The steps of all worlds, as far back as an episode that is not over needs them."""

    def __init__(self, keep: bool) -> None:
        self.now = 0
        self._keep = keep
        self._steps: list[Steps] = []  # of N worlds at one time, T being N
        self._seen: Any = ()

    def look(self, observation: Observation, action: NDArray[np.int64]) -> None:
        if self._keep:
            self._seen = observation["grid"].copy(), observation["item"].copy(), action
        self.now += 1

    def gain(self, reward: NDArray[np.float64], terms: NDArray[np.float64]) -> None:
        if self._keep:
            grid, item, action = self._seen
            self._steps.append(Steps(grid, item, action, reward.copy(), terms))

    def of(self, world: int, since: int) -> Steps | None:
        if not self._keep:
            return None
        steps = self._steps[since - self.now :]
        return Steps(*(np.stack([array[world] for array in kind]) for kind in zip(*steps)))

    def forget(self, before: int) -> None:
        del self._steps[: len(self._steps) - (self.now - before)]


def save(file: IO[bytes], scenario: Scenario, episodes: Sequence[Episode]) -> None:
    """Write episodes that kept their steps as a compressed `.npz`, in order of their numbers.

    Arrays over all T steps of all episodes, one after the other:

    - `grid` (T, h, w, 3) uint8 and `item` (T, 3) uint8: the observation before each action;
    - `action` (T,) uint8, `reward` (T,) float64, `reward_terms` (T, F) float64;
    - `terminated`, `truncated` (T,) bool: whether the episode ended with this step, and how.

    Arrays over the E episodes:

    - `episode_start` (E,) int64: the number of its first step;
    - `episode_seed` (E,) int64: its level is that of `reset(seed=…)`;
    - `last_grid` (E, h, w, 3) uint8, `last_item` (E, 3) uint8: the observation at its end.

    And `action_names`, `reward_names`, `scenario`: texts.
    """
    ordered = sorted(episodes, key=lambda episode: episode.number)
    lengths = np.array([episode.length for episode in ordered], np.int64)
    ends = lengths.cumsum()
    kept = [episode.steps for episode in ordered if episode.steps is not None]
    steps = Steps(*(np.concatenate(arrays) for arrays in zip(*kept))) if kept else _none(scenario)
    flags = {name: np.zeros(len(steps.action), np.bool_) for name in ("terminated", "truncated")}
    for name, flag in flags.items():
        flag[ends - 1] = [getattr(episode, name) for episode in ordered]
    shape = (-1, *scenario.area.shape, 3)
    np.savez_compressed(
        file,
        allow_pickle=False,
        grid=steps.grid,
        item=steps.item,
        action=steps.action.astype(np.uint8),
        reward=steps.reward,
        reward_terms=steps.terms,
        **flags,
        episode_start=ends - lengths,
        episode_seed=np.array([episode.seed for episode in ordered], np.int64),
        last_grid=np.array([e.last["grid"] for e in ordered], np.uint8).reshape(shape),
        last_item=np.array([e.last["item"] for e in ordered], np.uint8).reshape(-1, 3),
        action_names=np.array([ACTIONS[action] for action in scenario.actions]),
        reward_names=np.array(scenario.reward_names),
        scenario=np.array(scenario.name),
    )


def _none(scenario: Scenario) -> Steps:
    return Steps(
        np.zeros((0, *scenario.area.shape, 3), np.uint8),
        np.zeros((0, 3), np.uint8),
        np.zeros(0, np.int64),
        np.zeros(0),
        np.zeros((0, len(scenario.reward_names))),
    )
