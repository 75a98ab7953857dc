"""Plugin functions of the algebra domain, which the engine calls; see
`gv_engine.scenario.domains.DomainPlugin`."""

from __future__ import annotations

from typing import Any

import numpy as np

from gv_engine.envs.backends.seeding import make_rng
from gv_engine.envs.rollout.policy import PolicyError
from gv_engine.plugins.algebra.episode import HintFinder
from gv_engine.plugins.algebra.expression import compare_values
from gv_engine.plugins.algebra.gym_env import ExpressionEnv, algebra_scenario
from gv_engine.plugins.algebra.scenario import AlgebraScenario
from gv_engine.plugins.algebra.vector_env import ExpressionVectorEnv
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.domains import CheckPlan, CheckReport, Schedules

_MAX_STEPS = 200  # of an episode; most errors show early


class _CheckError(Exception):
    """A check failed; the message says which."""


def check_random_episodes(scenario: AlgebraScenario, episodes: int, seed: int) -> CheckReport:
    """Play random episodes in two environments of a scenario and compare every step. Return a
    report with the first error or difference. Every second episode uses valid actions only.

    Checked are: observations lie in their space; valid actions are accepted and keep the value of
    the expression; invalid ones change nothing; at least one action is valid at first; no
    user-defined rule fails; and both environments return the same for one seed.

    Args:
        scenario: scenario to check.
        episodes: number of episodes, of at most 200 steps each.
        seed: seed of the first episode; later ones count up.
    """
    envs = ExpressionEnv(scenario), ExpressionEnv(scenario)
    steps = 0
    errors = []
    for number in range(episodes):
        rng = make_rng(seed, "actions", number)
        try:
            steps += _play(envs, seed + number, rng, only_valid=bool(number % 2))
        except _CheckError as error:
            errors.append(f"seed {seed + number}: {error}")
            break
    errors += envs[0].env.rules.failures.values()
    facts: list[tuple[str, object]] = [("episodes", episodes), ("steps", f"{steps:,}")]
    if not errors:
        facts.append(("found", "nothing wrong"))
    return CheckReport(facts, errors)


def _play(
    envs: tuple[ExpressionEnv, ExpressionEnv],
    seed: int,
    rng: np.random.Generator,
    only_valid: bool,
) -> int:
    """Play one random episode with the same actions in both environments, and return its number of
    steps. Raise _CheckError at an error or difference. If `only_valid`, choose only valid
    actions."""
    env, other_env = envs
    try:
        _, info = env.reset(seed=seed)
        other_env.reset(seed=seed)
    except ValueError as error:
        raise _CheckError(f"reset: {error}") from None
    first = env.simulation.state.root
    for step in range(1, _MAX_STEPS + 1):
        valid_actions = np.flatnonzero(info["action_mask"])
        if only_valid and len(valid_actions):
            action = int(rng.choice(valid_actions))
        else:
            action = int(rng.integers(env.num_actions))
        text_before = info["text"]
        result = env.step(action)
        observation, _, terminated, truncated, info = result
        location = f"step {step}, action {action}"
        if observation not in env.observation_space:
            raise _CheckError(f"{location}: the observation is outside of its space")
        if action in valid_actions:
            if info["decided_by"] == "refuse":
                raise _CheckError(f"{location}: the action is valid, but was refused")
            if compare_values(first, env.simulation.state.root) is False:
                raise _CheckError(f"{location}: {info['text']} has another value than {first.text}")
        elif info["text"] != text_before:
            raise _CheckError(f"{location}: the action is invalid, but changed {text_before}")
        if _select_compared(other_env.step(action)) != _select_compared(result):
            raise _CheckError(f"{location}: the results differ between two runs of one seed")
        if terminated or truncated:
            return step
    return _MAX_STEPS


def _select_compared(result: tuple[Any, ...]) -> str:
    """Return reward, flags and some infos of a step as text, in which nan equals nan."""
    _, *reward_and_flags, info = result
    keys = ("text", "moves_remaining", "outcome", "success")
    return repr([reward_and_flags, *(info.get(key) for key in keys)])


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


def make_policy_mapper(scenario: AlgebraScenario, policy: object, agent: int = 1) -> None:
    """Return None: an expression has no cells."""


def compile_scenario(scenario: AlgebraScenario) -> str:
    """Return a message: algebra has nothing to compile."""
    return "nothing to compile"


def describe_size(scenario: AlgebraScenario) -> str:
    """Return the number of nodes of the scenario's first problem as text, such as "12 nodes"."""
    env = scenario.make_env()
    env.rng = np.random.default_rng(0)
    return f"{scenario.first_state(env).root.size} nodes"


def list_schedules(scenario: AlgebraScenario) -> Schedules:
    """Return a list of one pair: the name of the scenario, and its rule calls by phase, in the
    order in which they run."""
    return [(scenario.name, scenario.order)]


def check_scenario(scenario: AlgebraScenario, plan: CheckPlan) -> CheckReport:
    """Check a scenario for errors and nondeterminism by playing random episodes in two
    environments. Of `plan`, `limit` and `quick` have no effect here."""
    if plan.policy:
        raise PolicyError(
            f"{scenario.name}: only random actions check scenarios of {scenario.domain}"
        )
    return check_random_episodes(scenario, plan.episodes, plan.seed)
