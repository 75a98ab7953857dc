"""Rules of a small level, and what most tests of reading do with a scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.policy import load_policy
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation
from tests import DATA

RULES: dict[str, Any] = {
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["reach_exit"],
    "terminating_function": "reach_exit",
    "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
}
"""Of a walk to the exit: with a map they are a scenario."""

CAMP: dict[str, Any] = yaml.safe_load((DATA / "camp" / "scenario.yaml").read_text("utf-8"))
"""Two agents, objects and a world with components and rules of their own. Other parameters compile
nothing anew; another state or other components do."""


def camp(**changes: Any) -> Scenario:
    """The scenario of the camp with other keys."""
    return Scenario.load({**CAMP, **changes}, DATA / "camp")


def begin(scenario: Scenario, seed: int = 0) -> Simulation:
    """A world of the scenario at its beginning."""
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(seed))
    return simulation


def measure(scenario: Scenario, seed: int = 0) -> tuple[int, int]:
    """Height and width of the level."""
    world = begin(scenario, seed).world
    return world.height, world.width


def find_problems(source: Any, folder: Path | None = None) -> list[str]:
    """The problems of what is no scenario."""
    with pytest.raises(ScenarioError) as error:
        Scenario.load(source, folder)
    return list(error.value.problems)


def assert_refused(says: str, source: Any, folder: Path | None = None) -> None:
    """Loading fails, and one of the problems has these words."""
    found = find_problems(source, folder)
    assert any(says in problem for problem in found), found


def keep_rollout(env: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Arrays and description of a folder with three random episodes."""
    written = episode_folder.EpisodeFolder(folder, env, {})
    policy = load_policy("random", env.num_envs, env.single_action_space.n)
    for episode in rollout(env, policy, 3, 0, keep_steps=True):
        written.append(episode)
    written.close(complete=True)
    return episode_folder.read(folder)
