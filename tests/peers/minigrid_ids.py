"""Registers our environments under MiniGrid's ids, and stands for the `tests.utils` of its tests.

MiniGrid's source package lacks that module, which lists the ids to test by their entry points:
below `minigrid.envs`, those of BabyAI below `minigrid.envs.babyai`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium
import minigrid.envs.babyai
from gymnasium.utils.env_checker import data_equivalence

import gv_engine  # noqa: F401  # registers its ids
from gv_engine.plugins.minigrid.env import MiniGridEnv

_ENTRY_POINTS = {"BabyAI": "minigrid.envs.babyai:OurEnv", "MiniGrid": "minigrid.envs:OurEnv"}


THEIRS: dict[str, Any] = {}
"""Specifications of MiniGrid's environments that we have, too, by their ids."""


def _register_ours() -> list[Any]:
    """Register our environments, and none for levels that we lack; return their specifications."""
    minigrid.envs.OurEnv = minigrid.envs.babyai.OurEnv = MiniGridEnv
    specs = []
    for name in [id for id in gymnasium.registry if id.partition("-")[0] in _ENTRY_POINTS]:
        theirs = gymnasium.registry.pop(name)
        if ours := gymnasium.registry.get(f"GV-{name}"):
            THEIRS[name] = theirs
            specs.append(
                replace(
                    ours,
                    id=name,
                    entry_point=_ENTRY_POINTS[name.partition("-")[0]],
                    vector_entry_point=None,
                    kwargs={**ours.kwargs, "world": "object"},
                )
            )
            gymnasium.registry[name] = specs[-1]
    return specs


all_testing_env_specs = _register_ours()
minigrid_testing_env_specs = [
    spec for spec in all_testing_env_specs if spec.id.startswith("MiniGrid")
]


def assert_equals(one: Any, other: Any, prefix: str = "") -> None:
    """Raise an AssertionError unless two results are equal at any depth."""
    assert data_equivalence(one, other, exact=True), f"{prefix}{one} is not {other}"
