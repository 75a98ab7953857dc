"""Observation functions: a part of the grid, seen through a visibility function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gv_engine.gridverse.functions import BuiltInFunction, apply_visibility
from gv_engine.gridverse.geometry import as_area
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.protocols import Rng, VisibilityFunction
from gv_engine.gridverse.state import State
from gv_engine.rules.component import AGENT
from gv_engine.rules.geometry import FORWARD
from gv_engine.rules.system import REGISTRIES, VISIBILITY
from gv_engine.world.view import ObjectView


def from_visibility(
    state: State, *, area: Any, visibility_function: VisibilityFunction, rng: Rng = None
) -> Observation:
    """Return the observation of an area around the agent.

    Args:
        area: area relative to an agent that looks up.
        visibility_function: function that decides which cells of the area are seen.
        rng: generator of stochastic visibility functions; by default that of the state.

    Raises:
        RuleError: the visibility function returned something else than (h, w) bool.
    """
    part = as_area(area)
    view = ObjectView(part)
    view.look(state.world, AGENT)
    apply_visibility(visibility_function, state.world, view, rng)
    cells, item = np.zeros((*part.shape, 3), np.uint8), np.zeros(3, np.uint8)
    view.show(state.world, AGENT, cells, item)
    agent = np.array([view.y, view.x, FORWARD])
    return Observation.from_valid_arrays(cells, agent, item, state.world.layout.object_types)


def make_shorthand(visibility: BuiltInFunction) -> Callable[..., Observation]:
    """Return `from_visibility` with a fixed visibility function."""

    def look(state: State, *, area: Any, rng: Rng = None) -> Observation:
        """Return the observation of an area around the agent."""
        return from_visibility(state, area=area, visibility_function=visibility, rng=rng)

    look.__name__ = look.__qualname__ = visibility.__name__
    look.__doc__ = visibility.__doc__
    return look


SHORTHANDS = {
    name: make_shorthand(BuiltInFunction(REGISTRIES[VISIBILITY][name]))
    for name in REGISTRIES[VISIBILITY]
}
"""Observation function of each built-in visibility function, by name."""
