"""DomainPlugin of the domain of mathy worlds; see `gv_engine.scenario.plugin.DomainPlugin`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gv_engine.domains.algebra import self_check
from gv_engine.domains.algebra.episode import MathyEpisode
from gv_engine.domains.algebra.gym_env import ExpressionEnv, mathy_scenario
from gv_engine.domains.algebra.hints import HintFinder
from gv_engine.domains.algebra.scenario import MathyScenario
from gv_engine.domains.algebra.vector_env import ExpressionVectorEnv
from gv_engine.rollout.policy import Policy, PolicyError, load_policy
from gv_engine.rules.frame import ExpressionFrame
from gv_engine.scenario.document import Document
from gv_engine.scenario.plugin import CheckReport, Schedules, SystemTable, list_schedule_systems

make_hint_provider = HintFinder
make_env = ExpressionEnv
with_step_limit = mathy_scenario


def read_scenario(document: Document) -> MathyScenario:
    """The scenario of a document."""
    return MathyScenario.read(document, {})


def make_vector_env(
    scenario: MathyScenario, num_envs: int, workers: int = 1, **options: Any
) -> ExpressionVectorEnv:
    """Its Gymnasium vector environment; workers are processes."""
    return ExpressionVectorEnv(scenario, num_envs, processes=workers, **options)


make_rollout_env = make_vector_env


def compile_scenario(scenario: MathyScenario) -> str:
    """Nothing of it is compiled."""
    return "nothing to compile"


def iter_frames(
    scenario: MathyScenario, policy: str, seed: int, steps: int
) -> Iterator[ExpressionFrame]:
    """The frames of an episode."""
    env = ExpressionVectorEnv(scenario, autoreset_mode="Disabled")
    return _frames(env, load_policy(policy, 1, env.num_actions, scenario=scenario), seed, steps)


def _frames(
    env: ExpressionVectorEnv, policy: Policy, seed: int, steps: int
) -> Iterator[ExpressionFrame]:
    policy.begin([0], seed, [0])
    observation, info = env.reset(seed=seed)
    mirror = MathyEpisode(env.scenario)
    mirror.reset(seed)
    yield mirror.frame("")
    for _ in range(steps):
        if mirror.outcome:
            return
        actions = policy.act(observation, info)
        observation, _, _, _, info = env.step(actions)
        mirror.world.step(int(actions[0]))
        yield mirror.frame("")


def describe_size(scenario: MathyScenario) -> str:
    """The nodes of the first problem."""
    env = scenario.make_env()
    env.rng = np.random.default_rng(0)
    return f"{scenario.first_state(env).root.size} nodes"


def list_schedules(scenario: MathyScenario) -> Schedules:
    """The calls in their order."""
    return [(scenario.name, scenario.order)]


def list_systems(scenario: MathyScenario) -> SystemTable:
    """The systems in their order."""
    return [(name, list_schedule_systems(schedule)) for name, schedule in list_schedules(scenario)]


def check_scenario(
    scenario: MathyScenario,
    episodes: int,
    seed: int,
    limit: float,
    quick: bool = False,
    policy: str = "",
) -> CheckReport:
    """Play random episodes twice, with valid moves and with any; nothing of it is compiled."""
    if policy:
        raise PolicyError(f"{scenario.name} is of the domain {scenario.domain}: chance checks it")
    return self_check.play_twice(scenario, episodes, seed)
