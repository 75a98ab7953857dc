"""Creation of the vector environment inside an adapter, with the options that the adapter sets
itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium.spaces import Text

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.scenario.scenario import Scenario

ScenarioSource = Scenario | str | Path | dict[str, Any]
"""Scenario argument of environments: a loaded scenario, a name, a file or a mapping."""


def make_adapter_env(
    adapter: object, scenario: ScenarioSource, num_envs: int, options: Any, **own_options: Any
) -> GridVectorEnv:
    """Return a vector environment for an adapter, with `num_envs` worlds of `scenario`. `options`
    come from the user; `own_options` come from the adapter and cannot be set by users.

    Args:
        adapter: adapter that uses the environment.
        scenario, num_envs, options: as for `GridVectorEnv`.
        own_options: options that the adapter sets itself.

    Raises:
        ValueError: `options` has one of `own_options`, or observations are no arrays.
    """
    own_options |= {"copy": False, "reward_dtype": "float32"}  # adapters make their own copies
    check_no_reserved_options(adapter, options, own_options)
    env = GridVectorEnv(scenario, num_envs, **own_options, **options)
    if isinstance(env.single_observation_space, Text):
        raise ValueError(
            f"observation_representation={options['observation_representation']!r}: "
            f"{type(adapter).__name__} takes arrays: choose another one, such as 'flat'"
        )
    return env


def check_no_reserved_options(
    adapter: object, options: Mapping[str, Any], own_options: Mapping[str, Any]
) -> None:
    """Raise ValueError if the user's `options` contain one of `own_options`, which only the adapter
    sets."""
    for name, value in own_options.items():
        if name in options:
            raise ValueError(
                f"{name}={options[name]!r}: {type(adapter).__name__} sets {name}={value!r} "
                f"itself; leave it out"
            )
