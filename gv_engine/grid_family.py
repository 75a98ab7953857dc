"""What the family of gridworlds offers; see `gv_engine.families.Hooks`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gv_engine.environment import GridEnv
from gv_engine.scenario import Scenario
from gv_engine.scenario_file import Document
from gv_engine.simulation import Simulation
from gv_engine.vector_environment import GridVectorEnv


def read(document: Document, changes: Mapping[str, Any]) -> Scenario:
    """The scenario of a document."""
    return Scenario.read(document)


def make_env(scenario: Scenario, **options: Any) -> GridEnv:
    """Its Gymnasium environment."""
    return GridEnv(scenario, **options)


def make_vector_env(scenario: Scenario, num_envs: int, **options: Any) -> GridVectorEnv:
    """Its Gymnasium vector environment."""
    return GridVectorEnv(scenario, num_envs, **options)


def size(scenario: Scenario) -> str:
    """Height × width of the first level."""
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(0))
    return f"{simulation.world.height}×{simulation.world.width}"
