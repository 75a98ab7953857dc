"""Hooks of the algebra domain; see `gv_engine.scenario.plugin.DomainPlugin`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gv_engine.domains.algebra import self_check
from gv_engine.domains.algebra.episode import AlgebraEpisode, HintFinder
from gv_engine.domains.algebra.gym_env import ExpressionEnv, algebra_scenario
from gv_engine.domains.algebra.scenario import AlgebraScenario
from gv_engine.domains.algebra.vector_env import ExpressionVectorEnv
from gv_engine.rollout.policy import Policy, PolicyError, load_policy
from gv_engine.rules.frame import ExpressionFrame
from gv_engine.scenario.document import Document
from gv_engine.scenario.plugin import CheckReport, Schedules, SystemTable, list_schedule_systems

make_hint_provider = HintFinder
make_env = ExpressionEnv
with_step_limit = algebra_scenario


def read_scenario(document: Document) -> AlgebraScenario:
    """Return the scenario of a document."""
    return AlgebraScenario.read(document, {})


def make_vector_env(
    scenario: AlgebraScenario, num_envs: int, workers: int = 1, **options: Any
) -> ExpressionVectorEnv:
    """Return a Gymnasium vector environment with `num_envs` environments of a scenario, stepped by
    `workers` processes."""
    return ExpressionVectorEnv(scenario, num_envs, processes=workers, **options)


make_rollout_env = make_vector_env


def compile_scenario(scenario: AlgebraScenario) -> str:
    """Return a message: algebra has nothing to compile."""
    return "nothing to compile"


def iter_frames(
    scenario: AlgebraScenario, policy: str, seed: int, steps: int
) -> Iterator[ExpressionFrame]:
    """Yield the frames (pictures to be drawn) of one episode that a policy, given by name, plays
    for at most `steps` steps."""
    env = ExpressionVectorEnv(scenario, autoreset_mode="Disabled")
    return _frames(env, load_policy(policy, 1, env.num_actions, scenario=scenario), seed, steps)


def _frames(
    env: ExpressionVectorEnv, policy: Policy, seed: int, steps: int
) -> Iterator[ExpressionFrame]:
    """Yield the frames of one episode: step `env` with the policy's actions, and draw a copy of its
    world."""
    policy.begin([0], seed, [0])
    observation, info = env.reset(seed=seed)
    mirror = AlgebraEpisode(env.scenario)
    mirror.reset(seed)
    yield mirror.frame("")
    for _ in range(steps):
        if mirror.outcome:
            return
        actions = policy.act(observation, info)
        observation, _, _, _, info = env.step(actions)
        mirror.world.step(int(actions[0]))
        yield mirror.frame("")


def describe_size(scenario: AlgebraScenario) -> str:
    """Return the number of nodes of the scenario's first problem as text, such as "12 nodes"."""
    env = scenario.make_env()
    env.rng = np.random.default_rng(0)
    return f"{scenario.first_state(env).root.size} nodes"


def list_schedules(scenario: AlgebraScenario) -> Schedules:
    """Return the name of the scenario with its calls in order."""
    return [(scenario.name, scenario.order)]


def list_systems(scenario: AlgebraScenario) -> SystemTable:
    """Return the name of the scenario with its systems in order."""
    return [(name, list_schedule_systems(schedule)) for name, schedule in list_schedules(scenario)]


def check_scenario(
    scenario: AlgebraScenario,
    episodes: int,
    seed: int,
    limit: float,
    quick: bool = False,
    policy: str = "",
) -> CheckReport:
    """Check a scenario for errors by playing random episodes, each in two equal environments.
    `limit` and `quick` have no effect."""
    if policy:
        raise PolicyError(
            f"{scenario.name}: only random actions check scenarios of {scenario.domain}"
        )
    return self_check.check_random_episodes(scenario, episodes, seed)
