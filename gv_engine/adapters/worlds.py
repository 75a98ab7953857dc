"""The worlds of an adapter, with those options that it sets itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gymnasium.spaces import Text

from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.scenario.scenario import Scenario


def worlds_of(
    adapter: object,
    scenario: Scenario | str | Path | dict[str, Any],
    num_envs: int,
    options: Mapping[str, Any],
    **own: Any,
) -> GridVectorEnv:
    """Make the worlds of an adapter.

    Args:
        adapter: whose worlds they are.
        scenario, num_envs, options: as for `GridVectorEnv`.
        own: the options that it sets itself.

    Raises:
        ValueError: an option is one of these, or observations are no arrays.
    """
    own["copy"] = False  # adapters make their own copies
    refuse(adapter, options, own)
    worlds = GridVectorEnv(scenario, num_envs, **own, **options)
    if isinstance(worlds.single_observation_space, Text):
        raise ValueError(
            f"observation_representation={options['observation_representation']!r}: "
            f"{type(adapter).__name__} takes arrays, which all others have, such as 'flat'"
        )
    return worlds


def refuse(adapter: object, options: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Say of options that an adapter sets itself that they are none of its own.

    Raises:
        ValueError: there is one of them.
    """
    for name, value in own.items():
        if name in options:
            raise ValueError(
                f"{name}={options[name]!r}: {type(adapter).__name__} sets {name}={value!r} "
                f"itself; leave it out"
            )
