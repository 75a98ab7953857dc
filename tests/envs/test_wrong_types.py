"""Values of a wrong type in the Python API end in a message about the argument."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from gv_engine import (
    GridEnv,
    GridVectorEnv,
    Scenario,
    Simulation,
    TextActions,
    component,
    load_scenario,
    object_type,
    snapshots,
    system,
)
from gv_engine.envs.rollout.policy import load_policy as load_any_policy
from gv_engine.learning import Config, load_policy, train

LEVEL = "keydoor-5x5"


@pytest.fixture(scope="module")
def env() -> GridEnv:
    env = GridEnv(LEVEL, world="object")
    env.reset(seed=0)
    return env


@pytest.fixture(scope="module")
def envs() -> GridVectorEnv:
    envs = GridVectorEnv(LEVEL, 2, world="object")
    envs.reset(seed=0)
    return envs


def snapshot_of(level: str) -> Any:
    other = GridEnv(level, world="object")
    other.reset(seed=0)
    return other.snapshot()


CALLS: dict[str, Any] = {
    "scenario=5: allowed are a Scenario, a name": lambda env, envs: GridEnv(5),  # type: ignore[arg-type]
    "scenario=5: expected a name": lambda env, envs: Scenario.load(5),  # type: ignore[arg-type]
    "scenario=None: expected": lambda env, envs: load_scenario(None),  # type: ignore[arg-type]
    "scenario=6: expected": lambda env, envs: gymnasium.make("GV-Scenario-v0", scenario=6),
    "read a scenario with Scenario.load..cave.yaml": lambda env, envs: Scenario("cave.yaml"),  # type: ignore[call-arg]
    "no scenario: give a name, a file": lambda env, envs: gymnasium.make("GV-Scenario-v0"),
    "scenario='x': expected a Scenario": lambda env, envs: Simulation("x"),  # type: ignore[arg-type]
    "found 3, expected rows from snapshot": lambda env, envs: env.restore(3),
    "found None, expected rows": lambda env, envs: envs.restore(None),
    "found array(.*), expected rows": lambda env, envs: envs.restore(np.zeros(2)),
    "is of empty-8x8, and this is keydoor-5x5; restore it into": lambda env, envs: env.restore(
        snapshot_of("empty-8x8")
    ),
    "is of empty-8x8, and this is keydoor-5x5;": lambda env, envs: envs.restore(
        snapshot_of("empty-8x8")
    ),
    r"train\(\) got steps=9; .*Config\(steps=9\)\)$": lambda env, envs: train("a", steps=9),
    "action 'x': allowed are 0 to 7": lambda env, envs: env.step("x"),
    "action 2.7: expected a whole number": lambda env, envs: env.step(2.7),
    "action 99: allowed are 0 to 7": lambda env, envs: env.step(99),
    "no action 5": lambda env, envs: TextActions(env).step(5),  # type: ignore[arg-type]
    "there is no folder nowhere-run": lambda env, envs: load_policy("nowhere-run"),
    "path=7: expected a path": lambda env, envs: load_policy(7),  # type: ignore[arg-type]
    "path=8: expected a path": lambda env, envs: snapshots.load(8),  # type: ignore[arg-type]
    "path=9: expected a path": lambda env, envs: Config.read(9),  # type: ignore[arg-type]
    "policy=5: expected a name": lambda env, envs: load_any_policy(5, 1, 8),  # type: ignore[arg-type]
    "found 5; expected settings by name": lambda env, envs: Config.from_values(5),  # type: ignore[arg-type]
    "found 5, expected a class": lambda env, envs: component(5),  # type: ignore[call-overload]
    "name=5: expected a text": lambda env, envs: object_type(5),  # type: ignore[arg-type]
    "found 'TRANSITION', expected a phase": lambda env, envs: system("TRANSITION"),  # type: ignore[arg-type]
}
"""Wrong call by what is said of it."""


@pytest.mark.parametrize("says", CALLS)
def test_a_wrong_type_is_told(says: str, env: GridEnv, envs: GridVectorEnv):
    with pytest.raises((TypeError, ValueError, Exception), match=says) as error:
        CALLS[says](env, envs)
    assert not isinstance(error.value, AttributeError)
