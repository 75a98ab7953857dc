"""Constructors of environments for scenarios of any domain."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import gymnasium

from gv_engine.scenario.loading import as_scenario, pop_settings
from gv_engine.scenario.plugin import get_plugin
from gv_engine.scenario.trust import pop_consent

_PARALLEL = "gv_engine.envs.parallel:ParallelGridEnv"
"""Imported when needed, because PettingZoo is optional."""


def parallel_env(scenario: Any, **options: Any) -> Any:
    """Return the PettingZoo environment of a scenario with several agents, see `ParallelGridEnv`.

    Args:
        scenario, options: as for `ParallelGridEnv`.

    Raises:
        MissingExtraError: PettingZoo is not installed.
    """
    return resolve_name(_PARALLEL)(scenario, **options)


def make_env(scenario: Any, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return the Gymnasium environment of a scenario of any domain.

    Args:
        scenario: a scenario, or a source that `load_scenario` takes.
        options: further options of the environment, values of the scenario's parameters, and the
            trust options of `Scenario.load`.
    """
    resolved = as_scenario(scenario, **pop_consent(options), **pop_settings(scenario, options))
    return get_plugin(resolved).make_env(resolved, **options)


def make_vector_env(scenario: Any, num_envs: int = 1, **options: Any) -> Any:
    """Return the Gymnasium vector environment of a scenario of any domain.

    Args:
        scenario: a scenario, or a source that `load_scenario` takes.
        num_envs: number of worlds.
        options: further options of the environment, values of the scenario's parameters, and the
            trust options of `Scenario.load`.
    """
    resolved = as_scenario(scenario, **pop_consent(options), **pop_settings(scenario, options))
    return get_plugin(resolved).make_vector_env(resolved, num_envs, **options)
