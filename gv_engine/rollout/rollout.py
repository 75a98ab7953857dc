"""Rollouts: many episodes of a scenario, played by a policy in many worlds at once.

Episode k of seed s does not depend on the number of worlds: its world is that of `reset(seed=s +
k)`, and its policy samples from `gv_engine.vector.seeding.make_rng(s, "policy", k)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gv_engine.envs.multi_agent import AgentsVectorEnv
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv
from gv_engine.rollout.policy import CompiledRandomPolicy, Policy
from gv_engine.rollout.step_history import RowKind, StepHistory, Steps
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
    keep: bool = False,
    first: int = 0,
    masks: bool = False,
    seeds: Sequence[int] = (),
) -> Iterator[FinishedEpisode]:
    """Play episodes with a policy, and yield each finished episode, in order of the episode
    numbers.

    Memory does not grow with the number of episodes.

    Args:
        env: environment with autoreset mode DISABLED, and a scenario whose episodes end; an
            `AgentsVectorEnv` for several agents, with an axis of agents after that of steps.
        policy: policy of all worlds.
        episodes: number of episodes, at least 1; surplus worlds are idle.
        seed: seed of episode 0, and of the policy.
        keep: whether episodes hold their steps.
        first: number of the first episode to play.
        masks: whether steps include action masks.
        seeds: seeds of all episodes by number, if they are not consecutive.

    Raises:
        ValueError: as for `describe_step_arrays`.
        PolicyError: the policy returned an invalid action.
        RuleError: a rule failed in a world.
    """
    row_kinds = describe_step_arrays(env, masks)  # raises before anything is played
    seeds = seeds or range(seed, seed + first + episodes)  # by number of the episode
    n, names, several = env.num_envs, env.scenario.reward_names, bool(env.agent_shape)
    next_number, end = first + n, first + episodes
    idle = np.arange(n) >= episodes  # surplus worlds play an episode again, without effect
    numbers = np.array([min(k, end - 1) for k in range(first, next_number)])  # by world
    length, total = np.zeros(n, np.int64), np.zeros(n)
    terms = np.zeros((len(names), n))
    history = StepHistory(row_kinds, n) if keep else None
    waiting: dict[int, FinishedEpisode] = {}  # for earlier episodes to end
    expected = first

    def begin(mask: NDArray[np.bool_]) -> tuple[Arrays, dict[str, Any]]:
        """Start the next episode in each world that `mask` marks; return the observations and infos
        of all worlds."""
        worlds = np.flatnonzero(mask).tolist()
        begun = numbers[worlds].tolist()
        policy.begin(worlds, seed, begun)
        length[mask] = total[mask] = terms[:, mask] = 0
        world_seeds: Any = {i: seeds[k] for i, k in zip(worlds, begun, strict=True)}
        return env.reset(seed=world_seeds, options={"reset_mask": mask})

    player, worlds, batch = cast(Any, policy), cast(Any, env), cast(Any, getattr(env, "batch", 0))
    plays_alone = isinstance(policy, CompiledRandomPolicy) and getattr(batch, "can_run_loop", False)
    over: NDArray[np.bool_]
    observation, info = begin(np.ones(n, np.bool_))
    sources: Arrays = worlds.step_arrays if plays_alone and history else {}
    plays_alone &= not history or row_kinds.keys() <= sources.keys()
    while not idle.all():
        if plays_alone:
            playing = ~idle
            if history:
                history.start_block(int(length[playing].max()))
                columns = history.make_columns(sources)
                player.play(batch, history.block_steps, playing, terms.T, columns)
            else:
                player.play(batch, _STEPS_AT_ONCE, playing, terms.T)
            over = ~(playing | idle)
            length[:], total[:] = batch.outputs.lengths, batch.outputs.returns
            terminated, (observation, info) = batch.outputs.terminated, worlds.observe()
        else:
            action = policy.act(observation, info)
            if history:
                history.start_step(int(length.max()))
                masks_now = {"action_mask": info.get("action_mask")}
                history.record({**masks_now, **observation, "action": action})
            observation, reward, terminated, truncated, info = env.step(action)
            new_terms = info["reward_terms"]
            for line, name in zip(terms, names, strict=True):
                line += new_terms[name].sum(axis=1) if several else new_terms[name]
            if history:
                flags = {"terminated": terminated, "truncated": truncated}
                by_name = np.array([new_terms[name] for name in names])  # (F, N), or (F, N, A)
                recorded_terms = {"reward_terms": np.moveaxis(by_name, 0, -1)}
                history.record({"reward": reward, **flags, **recorded_terms})
            length += 1
            total += reward.sum(axis=1) if several else reward
            over = terminated | truncated
            if several:
                over = np.logical_and.reduce(over, axis=1)
        if not over.any():
            continue
        finished = [i for i in np.flatnonzero(over).tolist() if not idle[i]]
        member = info["member"] if "member" in info else np.zeros(over.shape, np.int64)
        member = member.max(axis=1) if member.ndim > 1 else member
        ended = partial(find_ended, env.scenario, member)
        ends = ended(terminated)[finished].tolist()
        good = ended(info["success"])[finished].tolist() if "success" in info else [None] * n
        sums = terms[:, finished].T.copy()
        lasts = {name: array[finished] for name, array in observation.items()}
        values = zip(*(array[finished].tolist() for array in (numbers, length, total)), strict=True)
        for k, (i, (played, steps, returned)) in enumerate(zip(finished, values, strict=True)):
            recorded = None
            if history:  # compiled code starts each episode in a new block
                stop = (steps - 1) % history.block_steps + 1 if plays_alone else history.stop
                recorded = history.steps_of(i, steps, stop)
            waiting[played] = FinishedEpisode(
                number=played,
                seed=seeds[played],
                member=int(member[i]),
                length=steps,
                total=returned,
                terms=sums[k],
                terminated=ends[k],
                truncated=not ends[k],
                success=good[k],
                last={name: array[k] for name, array in lasts.items()},
                steps=recorded,
            )
            idle[i] = next_number >= end
            if not idle[i]:
                numbers[i] = next_number
                next_number += 1
        observation, info = begin(over)
        while expected in waiting:
            yield waiting.pop(expected)
            expected += 1


def find_ended(
    scenario: Any, member: NDArray[np.int64], flags: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return an (N,) mask of the worlds whose episode has ended. `flags`, (N,) or (N, A), are True
    for agents that are done; `member`, (N,), is the index of the mixture's scenario in each
    world."""
    if flags.ndim == 1:
        return flags
    is_present = scenario.present_agents(member)
    suffices = np.array([each.agent_group.ends == ANY for each in scenario.members])[member]
    return (flags | ~is_present).all(axis=1) | suffices & (flags & is_present).any(axis=1)  # type: ignore[no-any-return]  # numpy's


def describe_step_arrays(
    env: ScenarioVectorEnv[Arrays] | AgentsVectorEnv, masks: bool = False
) -> dict[str, RowKind]:
    """Return (dtype, shape) of one step in each array that a rollout records, by name of the array.

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
    mask = {"action_mask": (np.int8, (env.num_actions,))} if masks else {}
    rows = {
        **{name: (space[name].dtype, space[name].shape) for name in env.recorded},
        **mask,
        "action": (np.min_scalar_type(env.num_actions - 1), ()),
        "reward": (np.float64, ()),
        "reward_terms": (np.float64, (len(env.scenario.reward_names),)),
        "terminated": (np.bool_, ()),
        "truncated": (np.bool_, ()),
    }
    return {name: (dtype, (*env.agent_shape, *shape)) for name, (dtype, shape) in rows.items()}
