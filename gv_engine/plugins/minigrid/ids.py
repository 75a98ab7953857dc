"""Gymnasium ids of MiniGrid's and BabyAI's levels."""

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

from gv_engine.scenario import library


def list_minigrid_grids() -> library.RefsByName:
    """Return the built-in copies of MiniGrid's levels, by the environment id that MiniGrid gives
    them; without BabyAI's."""
    return _list_grids("minigrid")


def list_babyai_grids() -> library.RefsByName:
    """Return the built-in copies of BabyAI's levels, by the environment id that MiniGrid gives
    them."""
    return _list_grids("babyai")


def _list_grids(folder: str) -> library.RefsByName:
    grids = library.list_plugin_grids().items()
    return MappingProxyType({name: ref for name, ref in grids if ref.file.parent.name == folder})


def list_env_ids() -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    """Yield (id, entry point, vector entry point, arguments) for each level of MiniGrid and BabyAI.
    The id is `GV-` and MiniGrid's id."""
    module = "gv_engine.plugins.minigrid.env"
    for name in (*list_minigrid_grids(), *list_babyai_grids()):
        kwargs = {"scenario": name, "observation_representation": "minigrid"}
        yield library.gym_id(name), f"{module}:MiniGridEnv", f"{module}:MiniGridVectorEnv", kwargs
