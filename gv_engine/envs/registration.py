"""Gymnasium ids and the constructors behind them: one id for each built-in scenario, and one for
scenario files of any domain."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec, registry

from gv_engine.late_imports import find_plugins
from gv_engine.scenario import library
from gv_engine.scenario.domains import DOMAINS, get_plugin


def make_env(scenario: Any = None, **options: Any) -> gymnasium.Env[Any, Any]:
    """Return a Gymnasium environment with one world of a scenario of any domain.

    Args:
        scenario: a scenario, or a source that `load_scenario` takes.
        options: further options of the environment, values of the scenario's parameters, and the
            trust options of `Scenario.load`.
    """
    resolved = _resolve(scenario, options)
    return get_plugin(resolved).make_env(resolved, **options)


def make_vector_env(scenario: Any = None, num_envs: int = 1, **options: Any) -> Any:
    """Return a Gymnasium vector environment with `num_envs` worlds of a scenario of any domain.

    Args:
        scenario: a scenario, or a source that `load_scenario` takes.
        num_envs: number of worlds.
        options: further options of the environment, values of the scenario's parameters, and the
            trust options of `Scenario.load`.
    """
    resolved = _resolve(scenario, options)
    return get_plugin(resolved).make_vector_env(resolved, num_envs, **options)


def _resolve(scenario: Any, options: dict[str, Any]) -> Any:
    """Load the scenario for `gymnasium.make` from a name, file or mapping. Remove its parameters
    and the options about trust from `options`, which the environment gets."""
    if scenario is None:
        raise TypeError("no scenario: give a name, a file or a mapping, scenario='keydoor-9x9'")
    # imported when needed, as `import gv_engine` registers ids and reads no scenario
    from gv_engine.scenario.documents.loading import as_scenario, pop_settings
    from gv_engine.scenario.documents.trust import pop_consent

    return as_scenario(scenario, **pop_consent(options), **pop_settings(scenario, options))


def register_all() -> None:
    """Register the environment ids of all built-in scenarios with Gymnasium, so that
    `gymnasium.make` knows them.

    The ids are `GV-<Name>-v0` for each built-in scenario and each file of several scenarios, those
    of plugins, and `GV-Scenario-v0`, which takes the scenario as an argument:
    `gymnasium.make("GV-Scenario-v0", scenario="my.yaml")`.
    """
    factory = "gv_engine.envs.registration"
    _register("GV-Scenario-v0", f"{factory}:make_env", f"{factory}:make_vector_env", {})
    for plugin in find_plugins():
        for further in resolve_name(plugin.env_ids)() if plugin.env_ids else ():
            _register(*further)
    for domain in DOMAINS.values():
        for name in library.add_whole_files(domain.built_in()):
            _register(library.gym_id(name), domain.env, domain.vector_env, {"scenario": name})


def _register(id: str, env: str, vector_env: str, kwargs: dict[str, str]) -> None:
    # `gymnasium.register` would compare each id with all others
    registry.setdefault(id, EnvSpec(id, env, vector_entry_point=vector_env, kwargs=kwargs))
