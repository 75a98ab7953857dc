"""Observation and action spaces of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from components.objects import HIDDEN
from gv_engine.objects import OBJECT_TYPES

if TYPE_CHECKING:
    from gv_engine.scenario import Scenario


def action_space(scenario: Scenario) -> spaces.Discrete:
    """One number per action of the scenario, in its order."""
    return spaces.Discrete(len(scenario.actions))


def observation_space(scenario: Scenario) -> spaces.Dict:
    """The `default` representation of an observation (GridVerse specification, section 9).

    - `grid` (h, w, 3) uint8: type, state and colour index of every cell of the view.
    - `agent_id_grid` (h, w) uint8: 1 at the agent's cell.
    - `item` (3,) uint8: the held object; NoneGridObject for an empty hand.
    """
    kinds = (HIDDEN, *scenario.observation_objects)
    high = np.array(
        [
            max(kinds),
            max(OBJECT_TYPES[kind].num_states for kind in kinds) - 1,
            max(scenario.observation_colors),
        ],
        np.uint8,
    )
    shape = scenario.area.shape
    return spaces.Dict(
        {
            "grid": _box(np.broadcast_to(high, (*shape, 3))),
            "agent_id_grid": _box(np.ones(shape, np.uint8)),
            "item": _box(high),
        }
    )


def _box(high: NDArray[np.uint8]) -> spaces.Box:
    return spaces.Box(np.zeros_like(high), high.copy(), dtype=np.uint8)


def agent_id_grid(scenario: Scenario) -> NDArray[np.uint8]:
    """(h, w) uint8 with 1 at the agent's cell; all 0 if the view does not show it."""
    grid = np.zeros(scenario.area.shape, np.uint8)
    y, x = scenario.area.observer
    if y < grid.shape[0] and 0 <= x < grid.shape[1]:
        grid[y, x] = 1
    return grid
