"""Gymnasium ids: one for each built-in scenario, and one for scenario files."""

from __future__ import annotations

import gymnasium

from gv_engine.scenario.library import add_whole_files, gym_id, list_minigrid_grids
from gv_engine.scenario.plugin import DOMAINS


def register_all() -> None:
    """Register all environment ids with Gymnasium.

    The ids are `GV-<Name>-v0` for each built-in scenario and each file of several scenarios, `GV-`
    and MiniGrid's id for each of its levels, and `GV-Scenario-v0`, which takes the scenario as an
    argument: `gymnasium.make("GV-Scenario-v0", scenario="my.yaml")`.
    """
    factory = "gv_engine.envs.factory"
    _register("GV-Scenario-v0", f"{factory}:make_env", f"{factory}:make_vector_env", {})
    minigrid = "gv_engine.envs.minigrid"
    for name in list_minigrid_grids():
        kwargs = {"scenario": name, "observation_representation": "minigrid"}
        entry_points = f"{minigrid}:MiniGridEnv", f"{minigrid}:MiniGridVectorEnv"
        _register(gym_id(name), *entry_points, kwargs)
    for domain in DOMAINS.values():
        for name in add_whole_files(domain.built_in()):
            _register(gym_id(name), domain.env, domain.vector_env, {"scenario": name})


def _register(id: str, env: str, vector_env: str, kwargs: dict[str, str]) -> None:
    """Register one id, unless it is registered already."""
    if id not in gymnasium.registry:
        gymnasium.register(id, entry_point=env, vector_entry_point=vector_env, kwargs=kwargs)
