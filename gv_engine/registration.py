"""The Gymnasium ids: one for every built-in scenario, and one for scenarios of one's own."""

from __future__ import annotations

import gymnasium

from gv_engine.scenario import gym_id, names


def register_all() -> None:
    """Register `GV-<Name>-v0` for each built-in scenario, and `GV-Scenario-v0`.

    The latter asks for the scenario: `gymnasium.make("GV-Scenario-v0", scenario="my.yaml")`.
    """
    _register("GV-Scenario-v0", {})
    for name in names():
        _register(gym_id(name), {"scenario": name})


def _register(id: str, kwargs: dict[str, str]) -> None:
    if id not in gymnasium.registry:
        gymnasium.register(
            id,
            entry_point="gv_engine.environment:GridEnv",
            vector_entry_point="gv_engine.vector_environment:GridVectorEnv",
            kwargs=kwargs,
        )
