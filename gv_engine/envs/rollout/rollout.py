"""Rollouts: many episodes of a scenario, played by a policy in many worlds at once.

Episode k of seed s does not depend on the number of worlds: its world is that of `reset(seed=s +
k)`, and its policy samples from `gv_engine.envs.backends.seeding.make_rng(s, "policy", k)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.representations import Arrays
from gv_engine.envs.rollout.policy import CompiledRandomPolicy, Policy
from gv_engine.envs.rollout.step_history import RowSpec, StepHistory, Steps
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv
from gv_engine.rules.turns import ANY

_STEPS_AT_ONCE = 64
"""Steps that a random policy takes at once where they are not recorded."""


@dataclass(frozen=True, eq=False)
class FinishedEpisode:
    """Finished episode of T steps.

    Attributes:
        number, seed: number k of the episode, and seed of its world.
        member: member of a mixture that was played.
        length, total: T, and the sum of the rewards of all agents.
        terms: (F,) sums of the rewards by function.
        terminated, truncated: end of the episode.
        success: whether the episode was a success; None if the scenario does not define success.
        last: observation at the end.
        steps: recorded steps; None if they are not kept.
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
    keep_steps: bool = False,
    first: int = 0,
    masks: bool = False,
    seeds: Sequence[int] = (),
) -> Iterator[FinishedEpisode]:
    """Let a policy play `episodes` episodes, from episode number `first` on, and yield each
    finished episode in order of the numbers.

    Memory does not grow with the number of episodes.

    Args:
        env: environment with autoreset mode DISABLED, and a scenario whose episodes end; an
            `AgentsVectorEnv` for several agents, with an axis of agents after that of steps.
        policy: policy of all worlds.
        episodes: number of episodes, at least 1; surplus worlds are idle.
        seed: seed of episode 0, and of the policy.
        keep_steps: whether episodes hold their steps.
        first: number of the first episode to play.
        masks: whether steps include action masks.
        seeds: seeds of all episodes by number, if they are not consecutive.

    Raises:
        ValueError: as for `describe_step_arrays`.
        PolicyError: the policy returned an invalid action.
        RuleError: a rule failed in a world.
    """
    row_specs = describe_step_arrays(env, masks)  # raises before anything is played
    seeds = seeds or range(seed, seed + first + episodes)
    numbers = range(first, first + episodes)
    yield from _Rollout(env, policy, numbers, seed, seeds, row_specs if keep_steps else {}).play()


class _Rollout:
    """Plays episodes in the worlds of a vector environment. Each world plays the next number when
    it has finished an episode.

    Args:
        env, policy, seed: as for `rollout`.
        numbers: numbers of the episodes.
        seeds: seeds of all episodes by number.
        row_specs: see `StepHistory`; empty if steps are not kept.
    """

    def __init__(
        self,
        env: ScenarioVectorEnv[Arrays] | AgentsVectorEnv,
        policy: Policy,
        numbers: range,
        seed: int,
        seeds: Sequence[int],
        row_specs: dict[str, RowSpec],
    ) -> None:
        """Prepare to play the episodes with these `numbers`; `rollout` explains the other
        arguments. `row_specs` has (dtype, shape) of one step for each array to record."""
        n = env.num_envs
        self._env, self._policy = cast(Any, env), cast(Any, policy)
        self._seed, self._seeds = seed, seeds
        # a world without an episode of its own plays the last one again, without results
        self._is_idle = np.arange(n) >= len(numbers)
        self._numbers = np.array([numbers[min(i, len(numbers) - 1)] for i in range(n)])  # by world
        self._later_numbers = iter(numbers[n:])
        self._next_number = numbers.start  # of the episode to yield
        self._finished: dict[int, FinishedEpisode] = {}  # that wait for earlier ones
        # of the running episode of each world
        self._length, self._total = np.zeros(n, np.int64), np.zeros(n)
        self._terms = np.zeros((len(env.scenario.reward_names), n)).T  # (N, F), by columns
        self._history = StepHistory(row_specs, n) if row_specs else None
        self._row_names = row_specs.keys()
        self._sources: Arrays | None = None  # that compiled code records, if it plays by itself

    def _find_compiled_sources(self) -> Arrays | None:
        """Return the arrays from which compiled code can record steps, by name; None if Python is
        needed in each step. Call it after each reset, which replaces the arrays."""
        can_run_loop = getattr(getattr(self._env, "batch", None), "can_run_loop", False)
        if not can_run_loop or not isinstance(self._policy, CompiledRandomPolicy):
            return None
        sources: Arrays = self._env.step_arrays if self._history else {}
        return sources if self._row_names <= sources.keys() else None

    def play(self) -> Iterator[FinishedEpisode]:
        """Play all episodes, and yield them in order of their numbers."""
        self._begin_episodes(np.ones(len(self._numbers), np.bool_))
        self._sources = self._find_compiled_sources()
        while not self._is_idle.all():
            if self._sources is None:
                has_ended = self._step()
            else:
                has_ended = self._play_compiled(self._sources)
            if has_ended.any():
                self._finish_episodes(np.flatnonzero(has_ended & ~self._is_idle))
                self._begin_episodes(has_ended)
                while self._next_number in self._finished:
                    yield self._finished.pop(self._next_number)
                    self._next_number += 1

    def _begin_episodes(self, mask: NDArray[np.bool_]) -> None:
        """Start an episode in each world where `mask` (N,) is True."""
        worlds = np.flatnonzero(mask).tolist()
        numbers = self._numbers[worlds].tolist()
        self._policy.begin(worlds, self._seed, numbers)
        self._length[mask] = self._total[mask] = self._terms[mask] = 0
        seeds = {world: self._seeds[number] for world, number in zip(worlds, numbers, strict=True)}
        self._observation, self._info = self._env.reset(seed=seeds, options={"reset_mask": mask})

    def _play_compiled(self, sources: Arrays) -> NDArray[np.bool_]:
        """Take several random steps in compiled code, and record the arrays in `sources`. Return an
        (N,) mask, True for worlds whose episode has ended; they have stopped there."""
        is_playing, batch, history = ~self._is_idle, self._env.batch, self._history
        if history:
            history.start_block(int(self._length[is_playing].max()))
            columns = history.make_columns(sources)
            self._policy.play(batch, history.block_steps, is_playing, self._terms, columns)
        else:
            self._policy.play(batch, _STEPS_AT_ONCE, is_playing, self._terms)
        self._length[:], self._total[:] = batch.outputs.lengths, batch.outputs.returns
        self._terminated = batch.outputs.terminated
        self._observation, self._info = self._env.observe()
        return ~(is_playing | self._is_idle)

    def _step(self) -> NDArray[np.bool_]:
        """Take one step in all worlds. Return an (N,) mask, True for worlds whose episode has
        ended."""
        action = self._policy.act(self._observation, self._info)
        if self._history:
            self._history.start_step(int(self._length.max()))
            known = {"action_mask": self._info.get("action_mask"), **self._observation}
            self._history.record({**known, "action": action})
        self._observation, reward, terminated, truncated, self._info = self._env.step(action)
        terms = [self._info["reward_terms"][name] for name in self._env.scenario.reward_names]
        if self._history:
            term_lines = np.moveaxis(np.array(terms), 0, -1)  # (N, F), or (N, A, F)
            flags = {"terminated": terminated, "truncated": truncated}
            self._history.record({"reward": reward, "reward_terms": term_lines, **flags})
        self._terminated, has_ended = terminated, terminated | truncated
        if self._env.agent_shape:  # sums over the agents
            reward, terms = reward.sum(axis=1), [term.sum(axis=1) for term in terms]
            has_ended = np.logical_and.reduce(has_ended, axis=1)
        self._length += 1
        self._total += reward
        for column, term in zip(self._terms.T, terms, strict=True):
            column += term
        return cast(NDArray[np.bool_], has_ended)

    def _finish_episodes(self, worlds: NDArray[np.int64]) -> None:
        """Store the results of the episodes that have just ended in `worlds`, and give each of
        these worlds the next episode to play, if there is one."""
        info, scenario = self._info, self._env.scenario
        member = info.get("member", np.zeros(len(self._numbers), np.int64))
        member = member.max(axis=1) if member.ndim > 1 else member  # equal for all agents
        terminated = find_ended(scenario, member, self._terminated)
        success = find_ended(scenario, member, info["success"]) if "success" in info else None
        terms = self._terms[worlds]
        last = {name: array[worlds] for name, array in self._observation.items()}
        # lists, as single numbers of arrays take several times as long
        numbers, members = self._numbers[worlds].tolist(), member[worlds].tolist()
        lengths, totals = self._length[worlds].tolist(), self._total[worlds].tolist()
        is_terminated = terminated[worlds].tolist()
        successes = [None] * len(worlds) if success is None else success[worlds].tolist()
        for k, world in enumerate(worlds.tolist()):
            number = numbers[k]
            self._finished[number] = FinishedEpisode(
                number=number,
                seed=self._seeds[number],
                member=members[k],
                length=lengths[k],
                total=totals[k],
                terms=terms[k],
                terminated=is_terminated[k],
                truncated=not is_terminated[k],
                success=successes[k],
                last={name: array[k] for name, array in last.items()},
                steps=self._get_steps(world, lengths[k]),
            )
            self._numbers[world] = next(self._later_numbers, number)
            self._is_idle[world] = self._numbers[world] == number

    def _get_steps(self, world: int, length: int) -> Steps | None:
        """Return the recorded steps of the episode that has just ended in `world` after `length`
        steps; None if steps are not recorded."""
        history = self._history
        if history is None:
            return None
        if self._sources is not None:  # compiled: the episode began with a new block
            return history.get_steps(world, length, (length - 1) % history.block_steps + 1)
        return history.get_steps(world, length, history.stop)


def find_ended(
    scenario: Any, member: NDArray[np.int64], flags: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return an (N,) mask, True for worlds whose episode has ended. `flags`, (N,) or (N, A), is
    True for agents that are done. `member` (N,) says which scenario of a mixture each world
    plays."""
    if flags.ndim == 1:
        return flags
    is_present = scenario.present_agents(member)
    any_suffices = np.array([each.agent_group.ends == ANY for each in scenario.members])[member]
    has_any, has_all = (flags & is_present).any(axis=1), (flags | ~is_present).all(axis=1)
    return has_all | any_suffices & has_any  # type: ignore[no-any-return]  # numpy's


def describe_step_arrays(
    env: ScenarioVectorEnv[Arrays] | AgentsVectorEnv, masks: bool = False
) -> dict[str, RowSpec]:
    """Return (dtype, shape) of one step for each array that a rollout records, by name. With
    `masks`, action masks are recorded, too.

    Args:
        env: environment.
        masks: whether to include the action mask.

    Raises:
        ValueError: observations are images or texts.
    """
    space: Any = env.single_observation_space
    available = space.keys() if isinstance(space, spaces.Dict) else ()
    if not set(env.recorded) <= set(available):
        raise ValueError(
            f"rollouts keep {', '.join(env.recorded)}, and here observations are "
            f"{' and '.join(available) or f'a {type(space).__name__}'} alone: leave "
            f"observation_representation to its default, and draw or write what is kept"
        )
    specs = {name: (space[name].dtype, space[name].shape) for name in env.recorded}
    if masks:
        specs["action_mask"] = (np.int8, (env.num_actions,))
    specs |= {
        "action": (np.min_scalar_type(env.num_actions - 1), ()),
        "reward": (np.float64, ()),
        "reward_terms": (np.float64, (len(env.scenario.reward_names),)),
        "terminated": (np.bool_, ()),
        "truncated": (np.bool_, ()),
    }
    return {name: (dtype, (*env.agent_shape, *shape)) for name, (dtype, shape) in specs.items()}
