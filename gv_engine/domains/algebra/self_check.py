"""Random episodes of a mathy scenario, with a look at all there is after each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from gv_engine.domains.algebra.expression import same_value
from gv_engine.domains.algebra.gym_env import ExpressionEnv
from gv_engine.domains.algebra.scenario import MathyScenario
from gv_engine.scenario.plugin import CheckReport

_LONGEST = 200  # steps of an episode; most of what goes wrong does so soon


class _Fault(Exception):
    pass


def play_twice(scenario: MathyScenario, episodes: int, seed: int) -> CheckReport:
    """Play random episodes; every second one keeps to valid actions.

    Observations lie in their space; valid actions are taken, and keep the value of the expression;
    others change nothing; some action is valid at first; no rule of an author's fails; and a second
    game of the same seed shows the same.

    Args:
        scenario: what is played.
        episodes: how many, of at most 200 steps.
        seed: of the first; the next ones follow.
    """
    games = ExpressionEnv(scenario), ExpressionEnv(scenario)
    steps = 0
    faults = []
    for number in range(episodes):
        rng = np.random.default_rng([seed, number])
        try:
            steps += _play(games, seed + number, rng, valid=bool(number % 2))
        except _Fault as fault:
            faults.append(f"seed {seed + number}: {fault}")
            break
    faults += games[0].env.rules.failures.values()
    facts: list[tuple[str, object]] = [("episodes", episodes), ("steps", f"{steps:,}")]
    if not faults:
        facts.append(("found", "nothing wrong"))
    return CheckReport(facts, faults)


def _play(
    games: tuple[ExpressionEnv, ...], seed: int, rng: np.random.Generator, valid: bool
) -> int:
    game, *others = games
    try:
        observation, info = game.reset(seed=seed)
        for other in others:
            other.reset(seed=seed)
    except ValueError as error:
        raise _Fault(f"reset: {error}") from None
    first = game.simulation.state.root
    if not info["action_mask"].any():
        raise _Fault(f"reset: no rule applies anywhere in {info['text']}; it cannot be played")
    for step in range(1, _LONGEST + 1):
        offered = np.flatnonzero(info["action_mask"])
        any_action = valid and len(offered)
        action = int(rng.choice(offered) if any_action else rng.integers(game.num_actions))
        before = game.simulation.state
        shown = game.step(action)
        observation, _, terminated, truncated, info = shown
        where = f"step {step}, action {action}"
        if observation not in game.observation_space:
            raise _Fault(f"{where}: the observation lies outside of its space")
        if action in offered:
            if info["decided_by"] == "refuse":
                raise _Fault(f"{where}: it is valid, and was refused")
            if not same_value(first, game.simulation.state.root):
                raise _Fault(f"{where}: {info['text']} has another value than {first.text}")
        elif game.simulation.state.agent.problem != before.agent.problem:
            raise _Fault(f"{where}: it is not valid, and has changed {before.agent.problem}")
        for other in others:
            if _said(other.step(action)) != _said(shown):
                raise _Fault(f"{where}: the same seed shows something else a second time")
        if terminated or truncated:
            return step
    return _LONGEST


def _said(shown: tuple[Any, ...]) -> str:
    told = ("text", "moves_remaining", "outcome", "success")
    return repr([shown[1:4], *(shown[4].get(key) for key in told)])
