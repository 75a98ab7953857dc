"""Functions of rooms above that scenarios call; each is imported when it is called."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gv_engine.families.grid.episode import GridEpisode
    from gv_engine.gridverse.envs.gridworld import GridWorld
    from gv_engine.language.system import Phase, System
    from gv_engine.reading.scenario import Scenario


def episode_of(scenario: Scenario) -> GridEpisode:
    """A `GridEpisode` of a scenario, not reset yet."""
    made: GridEpisode = resolve_name("gv_engine.families.grid.episode:GridEpisode")(scenario)
    return made


def grid_world_of(scenario: Scenario) -> GridWorld:
    """A grid as an environment of states and observations."""
    world = resolve_name("gv_engine.gridverse.envs.gridworld:GridWorld")
    made: GridWorld = world.from_scenario(scenario)
    return made


def system_from_states(function: Any, phase: Phase, name: str) -> System:
    """The system that a function of states is.

    Raises:
        TypeError: it is none.
    """
    made: System = resolve_name("gv_engine.gridverse.functions:system_from")(function, phase, name)
    return made
