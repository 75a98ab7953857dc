"""The Gymnasium ids: one for every built-in scenario, and one for scenarios of one's own."""

from __future__ import annotations

from typing import Any

import gymnasium

from gv_engine.families import FAMILIES, hooks_of, scenario_of
from gv_engine.reading.trust import taken
from gv_engine.scenario import gym_id


def register_all() -> None:
    """Register `GV-<Name>-v0` for each built-in scenario, and `GV-Scenario-v0`.

    The latter asks for the scenario: `gymnasium.make("GV-Scenario-v0", scenario="my.yaml")`.
    """
    here = __name__
    _register("GV-Scenario-v0", f"{here}:make_env", f"{here}:make_vector_env", {})
    for family in FAMILIES.values():
        for name in family.built_in():
            _register(gym_id(name), family.env, family.vector_env, {"scenario": name})


def _register(id: str, env: str, vector_env: str, kwargs: dict[str, str]) -> None:
    if id not in gymnasium.registry:
        gymnasium.register(id, entry_point=env, vector_entry_point=vector_env, kwargs=kwargs)


def make_env(scenario: Any, **options: Any) -> gymnasium.Env[Any, Any]:
    """The environment of a scenario of any family.

    Args:
        scenario: a scenario, or what `load_scenario` takes.
        options: what the environment takes besides, and which Python may run (see
            `Scenario.load`).
    """
    found = scenario_of(scenario, **taken(options))
    return hooks_of(found).make_env(found, **options)


def make_vector_env(scenario: Any, num_envs: int = 1, **options: Any) -> Any:
    """The vector environment of a scenario of any family.

    Args:
        scenario: a scenario, or what `load_scenario` takes.
        num_envs: how many worlds.
        options: what the environment takes besides, and which Python may run (see
            `Scenario.load`).
    """
    found = scenario_of(scenario, **taken(options))
    return hooks_of(found).make_vector_env(found, num_envs, **options)
