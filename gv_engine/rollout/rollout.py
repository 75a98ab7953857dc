"""Rollouts: many episodes of a scenario, played by a policy in many worlds at once.

Episode k of seed s is the same however many worlds there are: its world is that of
`reset(seed=s + k)`, and what its policy draws comes from `numpy.random.default_rng([s, k])`.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv
from gv_engine.rollout.policy import Policy
from gv_engine.rules.turns import ANY

RowKind = tuple[Any, tuple[int, ...]]
"""Dtype and shape of a row."""

_SHORT = 64
"""Steps of a block."""


@dataclass(frozen=True, eq=False)
class FinishedEpisode:
    """One episode of T steps.

    Attributes:
        number, seed: k, and the seed of its world.
        member: which member of a mixture was played.
        length, total: T, and the sum of the rewards, those of all agents.
        terms: (F,) sums of the rewards, function by function.
        terminated, truncated: how it ended.
        success: whether it ended well; None if the scenario does not say.
        last: the observation at the end.
        steps: what happened, if that is kept.
    """

    number: int
    seed: int
    member: int
    length: int
    total: float
    terms: NDArray[np.float64]
    terminated: bool
    truncated: bool
    success: bool | None
    last: Arrays
    steps: Steps | None


def rollout(
    env: ScenarioVectorEnv[Arrays] | AgentsVectorEnv,
    policy: Policy,
    episodes: int,
    seed: int,
    keep: bool = False,
    first: int = 0,
    masks: bool = False,
    seeds: Sequence[int] = (),
) -> Iterator[FinishedEpisode]:
    """Play episodes, and yield them in order of their numbers.

    What is remembered does not grow with their number.

    Args:
        env: with autoreset mode DISABLED, and a scenario whose episodes end; an `AgentsVectorEnv`,
            if it has several agents, whose arrays have an axis of agents behind that of steps.
        policy: what acts.
        episodes: how many, from 1 on; worlds beyond these are idle.
        seed: of the world of episode 0, and of what the policy draws.
        keep: whether episodes hold their steps.
        first: the number of the first one that is played; those before it are left to others.
        masks: whether steps have the action mask, too.
        seeds: of the worlds of all episodes, by their numbers, if not one after the other.

    Raises:
        ValueError: as for `rows_of_steps`.
        PolicyError: the policy answers with something that is no action.
        RuleError: a rule is not defined on one of the worlds.
    """
    kinds = rows_of_steps(env, masks)  # or an error, before anything is played
    n, names, several = env.num_envs, env.scenario.reward_names, bool(env.agent_shape)
    following, behind = first + n, first + episodes
    idle = np.arange(n) >= episodes  # no episode is left: plays its last one again, unheard
    number = np.array([min(k, behind - 1) for k in range(first, following)])  # of each world's
    length, total = np.zeros(n, np.int64), np.zeros(n)
    terms = np.zeros((len(names), n))
    history = _History(kinds, n) if keep else None
    waiting: dict[int, FinishedEpisode] = {}  # for those before them to end
    expected = first

    def seed_of(number: int) -> int:
        return seeds[number] if seeds else seed + number

    def begin(which: NDArray[np.bool_]) -> tuple[Arrays, dict[str, Any]]:
        worlds = np.flatnonzero(which).tolist()
        numbers = number[worlds].tolist()
        policy.begin(worlds, seed, numbers)
        length[which] = total[which] = terms[:, which] = 0
        given: Any = {i: seed_of(own) for i, own in zip(worlds, numbers, strict=True)}
        return env.reset(seed=given, options={"reset_mask": which})

    observation, info = begin(np.ones(n, np.bool_))
    while not idle.all():
        action = policy.act(observation, info)
        if history:
            masks_now = {"action_mask": info.get("action_mask")}
            history.keep({**masks_now, **observation, "action": action})
        observation, reward, terminated, truncated, info = env.step(action)
        gained = info["reward_terms"]
        for line, name in zip(terms, names, strict=True):
            line += gained[name].sum(axis=1) if several else gained[name]
        if history:
            flags = {"terminated": terminated, "truncated": truncated}
            history.keep({"reward": reward, **flags})
            history.keep_terms([gained[name] for name in names])
            history.advance(int(length.max()) + 1)
        length += 1
        total += reward.sum(axis=1) if several else reward
        over: NDArray[np.bool_] = terminated | truncated
        if several:
            over = np.logical_and.reduce(over, axis=1)
        if not over.any():
            continue
        told = [i for i in np.flatnonzero(over).tolist() if not idle[i]]
        member = info["member"] if "member" in info else np.zeros(over.shape, np.int64)
        ended = partial(find_ended, env.scenario, member.max(axis=1) if member.ndim > 1 else member)
        ends = ended(terminated)[told].tolist()
        good = ended(info["success"])[told].tolist() if "success" in info else [None] * len(told)
        sums = terms[:, told].T.copy()
        lasts = {name: array[told] for name, array in observation.items()}
        own = zip(*(array[told].tolist() for array in (number, length, total)), strict=True)
        for k, (i, (played, steps, returned)) in enumerate(zip(told, own, strict=True)):
            waiting[played] = FinishedEpisode(
                number=played,
                seed=seed_of(played),
                member=int(np.max(member[i])),
                length=steps,
                total=returned,
                terms=sums[k],
                terminated=ends[k],
                truncated=not ends[k],
                success=good[k],
                last={name: array[k] for name, array in lasts.items()},
                steps=history.of(i, steps) if history else None,
            )
            idle[i] = following >= behind
            if not idle[i]:
                number[i] = following
                following += 1
        observation, info = begin(over)
        while expected in waiting:
            yield waiting.pop(expected)
            expected += 1


def find_ended(
    scenario: Any, member: NDArray[np.int64], flags: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """(N,) what holds of worlds that play these members, whose agents' flags are (N, A)."""
    if flags.ndim == 1:
        return flags
    there = scenario.present_agents(member)
    suffices = np.array([each.sharing.ends == ANY for each in scenario.members])[member]
    every, some = (flags | ~there).all(axis=1), (flags & there).any(axis=1)
    ended: NDArray[np.bool_] = np.where(suffices, some, every)
    return ended


class _Block:
    """Some steps of all worlds, as arrays (steps, N, …); when nobody needs them any more, they are
    there for other steps."""

    def __init__(self, arrays: Arrays, free: list[Arrays]) -> None:
        self.arrays = arrays
        weakref.finalize(self, free.append, arrays)


class Steps(Mapping[str, NDArray[Any]]):
    """What happened in an episode: (T, …) arrays by the names of `rows_of_steps`.

    They are put together when they are asked for, in whichever thread.
    """

    def __init__(self, parts: Sequence[tuple[_Block, slice]], world: int) -> None:
        self._parts, self._world = parts, world

    def pieces(self, name: str) -> list[NDArray[Any]]:
        """One after the other, views that are good for as long as these steps are there."""
        return [block.arrays[name][lines, self._world] for block, lines in self._parts]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return np.concatenate(self.pieces(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts[0][0].arrays)

    def __len__(self) -> int:
        return len(self._parts[0][0].arrays)


class _History:
    """The last steps of all worlds, in blocks that go back to the first of the longest episode that
    is being played."""

    def __init__(self, kinds: dict[str, RowKind], num_envs: int) -> None:
        self._kinds, self._num_envs = kinds, num_envs
        self._size, self._row = _SHORT, 0
        self._free: list[Arrays] = []
        self._blocks = [self._block()]
        self._parts: dict[int, list[tuple[_Block, slice]]] = {}  # of now, as many end together

    def _block(self) -> _Block:
        try:
            arrays = self._free.pop()
        except IndexError:
            arrays = {
                name: np.zeros((self._size, self._num_envs, *shape), dtype)
                for name, (dtype, shape) in self._kinds.items()
            }
        return _Block(arrays, self._free)

    def keep(self, told: Mapping[str, Any]) -> None:
        """Keep, of what is told of this step in every world, that which has a name in the files."""
        now = self._blocks[-1].arrays
        for name in told.keys() & now.keys():
            now[name][self._row] = told[name]

    def keep_terms(self, terms: Sequence[NDArray[np.float64]]) -> None:
        """Keep the terms of the rewards of this step, (N,) each."""
        row = self._blocks[-1].arrays["reward_terms"][self._row]  # (N, F) or (N, A, F)
        for column, term in enumerate(terms):
            row[..., column] = term

    def advance(self, longest: int) -> None:
        """Go to the next step; the longest of the present episodes has so many behind it."""
        self._row += 1
        self._parts.clear()
        if self._row == self._size:
            behind = -(-longest // self._size)  # blocks, of which the first may be needed in part
            self._blocks = [*self._blocks[-behind - 1 :], self._block()]
            self._row = 0

    def of(self, world: int, length: int) -> Steps:
        """The last so many steps of a world."""
        if length not in self._parts:
            self._parts[length] = self._last(length)
        return Steps(self._parts[length], world)

    def _last(self, length: int) -> list[tuple[_Block, slice]]:
        parts, stop = [], self._row
        for block in reversed(self._blocks):
            start = max(0, stop - length)
            parts.append((block, slice(start, stop)))
            length, stop = length - (stop - start), self._size
            if not length:
                break
        return parts[::-1]


def rows_of_steps(
    env: ScenarioVectorEnv[Arrays] | AgentsVectorEnv, masks: bool = False
) -> dict[str, RowKind]:
    """Dtype and shape of a row of all that is kept of steps, by its name in files.

    Args:
        env: what is played.
        masks: whether the action mask is among it.

    Raises:
        ValueError: observations are a picture or a text.
    """
    seen: Any = env.single_observation_space
    shown = seen.keys() if isinstance(seen, spaces.Dict) else ()
    if not set(env.recorded) <= set(shown):
        raise ValueError(
            f"rollouts keep {', '.join(env.recorded)}, and here observations are "
            f"{' and '.join(shown) or f'a {type(seen).__name__}'} alone: leave "
            f"observation_representation to its default, and draw or write what is kept"
        )
    mask = {"action_mask": (np.int8, (env.num_actions,))} if masks else {}
    rows = {
        **{name: (seen[name].dtype, seen[name].shape) for name in env.recorded},
        **mask,
        "action": (np.min_scalar_type(env.num_actions - 1), ()),
        "reward": (np.float64, ()),
        "reward_terms": (np.float64, (len(env.scenario.reward_names),)),
        "terminated": (np.bool_, ()),
        "truncated": (np.bool_, ()),
    }
    return {name: (dtype, (*env.agent_shape, *shape)) for name, (dtype, shape) in rows.items()}
