"""Evaluation of policies: success, return and length of episodes with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.arg_checks import check_at_least
from gv_engine.envs.environment import resolve_grid_scenario
from gv_engine.envs.level_sets import Levels, LevelSet, level_set
from gv_engine.envs.rollout.episode_stats import Estimate, estimate_success
from gv_engine.envs.rollout.policy import (
    CallablePolicy,
    MultiAgentPolicy,
    Policy,
    PolicyError,
    load_policies,
)
from gv_engine.envs.rollout.policy_file import CheckpointPolicy, PolicyFile
from gv_engine.envs.rollout.shards import Job
from gv_engine.scenario.domains import get_plugin

_RESAMPLES = 2000
DEFAULT_EPISODES = 100


class Evaluation(NamedTuple):
    """Result of an evaluation.

    Attributes:
        levels: name of the level set; None for all levels.
        num_levels: number of different levels in the set; 0 for all levels.
        episodes: number of episodes.
        success: success rate; None if the scenario does not define success.
        episode_return: undiscounted sum of rewards, of all agents.
        episode_length: steps.
    """

    levels: str | None
    num_levels: int
    episodes: int
    success: Estimate | None
    episode_return: Estimate
    episode_length: Estimate


def evaluate_policy(
    policy: Any,
    scenario: Any,
    levels: Levels | LevelSet | None = None,
    episodes: int | None = None,
    seed: int = 0,
    num_envs: int = 64,
) -> Evaluation:
    """Play episodes with a policy. Return success rate, mean return and mean length, each with a 95
    % confidence interval.

    The interval of the success rate is Wilson's (1927), those of return and length are percentiles
    of a bootstrap over the episodes. They cover the variation between episodes, not between
    training seeds.

    Args:
        policy: name as for `gv-engine rollout --policy`, such as the folder of a run; its policy
            samples actions, and takes the most likely ones if `:greedy` is added to the name. For
            one agent also a `TrainedPolicy`, or a function or class as in `CallablePolicy`. Also a
            `PolicyFile`.
        scenario: name, file, mapping or `Scenario` of a grid with a step limit.
        levels: level set such as "test-layout", see `level_set`; None for all levels.
        episodes: number of episodes; by default one for each level of the set, else 100.
        seed: seed of the levels, if `levels` is None, and of the policy.
        num_envs: number of worlds at once, which does not change the results.

    Raises:
        LevelsError: there is no such level set.
        PolicyError: there is no such policy, it returned an invalid action, or it is an object
            and the scenario has several agents.
        RunError: the run is damaged, or does not fit the scenario.
        ValueError: episodes of the scenario have no step limit, or `episodes` is less than 1.
    """
    grid = resolve_grid_scenario(scenario)
    grid = get_plugin(grid).with_step_limit(grid, None)  # which requires one
    name = str(policy) if isinstance(policy, str | Path) else ""
    load_policies(name or "random", grid, 1, len(grid.actions))  # fails before levels compile
    found = None if levels is None else level_set(grid, levels)
    default = len(found.seeds) if found else DEFAULT_EPISODES
    episodes = check_at_least(1, episodes=default if episodes is None else episodes)
    options = {"levels": found} if found else {}
    played_grid, num_envs = found.scenario if found else grid, min(num_envs, episodes)
    job = Job(played_grid, name, seed, num_envs, options=options)
    env = job.make_env(job.num_envs)
    try:
        acting = job.make_policy(env) if name else _adapt_policy(policy, env)
        played = list(job.play(env, acting, 0, episodes))
    finally:
        env.close()
    successes = [episode.success for episode in played if episode.success is not None]
    rng = np.random.default_rng(0)
    return Evaluation(
        str(levels) if isinstance(levels, str | Path) else None,
        len(found.seeds) if found else 0,
        len(played),
        estimate_success(sum(successes), len(successes)) if successes else None,
        _bootstrap(np.array([episode.total for episode in played]), rng),
        _bootstrap(np.array([episode.length for episode in played], float), rng),
    )


class SeedSummary(NamedTuple):
    """Mean and interquartile mean over training seeds, each with a 95 % confidence interval."""

    mean: Estimate
    iqm: Estimate


def summarise_seeds(values: Sequence[float]) -> SeedSummary:
    """Return mean and interquartile mean (IQM) of results, one for each training seed.

    The IQM is the mean without the lowest and the highest quarter, rounded down (Agarwal et al.,
    2021). Intervals are percentiles of a bootstrap over the seeds.
    """
    results = np.array(values, float)
    samples = np.random.default_rng(0).choice(results, (_RESAMPLES, len(results)))
    cut = len(results) // 4
    kept = slice(cut, len(results) - cut)
    return SeedSummary(
        _estimate(results.mean(), samples.mean(1)),
        _estimate(np.sort(results)[kept].mean(), np.sort(samples, 1)[:, kept].mean(1)),
    )


def _adapt_policy(policy: Any, env: Any) -> Policy:
    """Make a policy from the content of a policy file, a function, a class, or an object with `act`
    and `begin`. Raise PolicyError if one of the latter three gets several agents."""
    if isinstance(policy, PolicyFile):
        acting = [
            CheckpointPolicy(policy, env.num_envs, env.scenario)
            for _ in env.scenario.agent_group.names
        ]
        return MultiAgentPolicy(acting) if env.agent_shape else acting[0]
    if env.agent_shape:
        raise PolicyError(
            f"{env.scenario.name} has several agents: give the policy by name, as the folder of "
            f"a run or ./file.py:function"
        )
    label = getattr(policy, "__name__", type(policy).__name__)
    return CallablePolicy(policy, env.num_envs, env.num_actions, label)


def _bootstrap(values: NDArray[np.float64], rng: np.random.Generator) -> Estimate:
    return _estimate(values.mean(), rng.choice(values, (_RESAMPLES, len(values))).mean(1))


def _estimate(value: Any, samples: NDArray[np.float64]) -> Estimate:
    low, high = np.percentile(samples, (2.5, 97.5)).tolist()
    return Estimate(float(value), low, high)
