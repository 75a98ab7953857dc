"""Environments of scenarios of any domain."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import gymnasium

from gv_engine.scenario.loading import as_scenario, pop_settings
from gv_engine.scenario.plugin import get_plugin
from gv_engine.scenario.trust import pop_consent

_PARALLEL = "gv_engine.envs.multi_agent:ParallelGridEnv"
"""Imported when it is asked for, as PettingZoo is an extra."""


def parallel_env(scenario: Any, **options: Any) -> Any:
    """The environment of PettingZoo of a scenario with agents, see `ParallelGridEnv`.

    Args:
        scenario, options: what that takes.

    Raises:
        MissingExtraError: PettingZoo is not installed.
    """
    return resolve_name(_PARALLEL)(scenario, **options)


def make_env(scenario: Any, **options: Any) -> gymnasium.Env[Any, Any]:
    """The environment of a scenario of any domain.

    Args:
        scenario: a scenario, or what `load_scenario` takes.
        options: what the environment takes besides, values of the scenario's parameters, and which
            Python may run (see `Scenario.load`).
    """
    found = as_scenario(scenario, **pop_consent(options), **pop_settings(scenario, options))
    return get_plugin(found).make_env(found, **options)


def make_vector_env(scenario: Any, num_envs: int = 1, **options: Any) -> Any:
    """The vector environment of a scenario of any domain.

    Args:
        scenario: a scenario, or what `load_scenario` takes.
        num_envs: how many worlds.
        options: what the environment takes besides, values of the scenario's parameters, and which
            Python may run (see `Scenario.load`).
    """
    found = as_scenario(scenario, **pop_consent(options), **pop_settings(scenario, options))
    return get_plugin(found).make_vector_env(found, num_envs, **options)
