"""Observation and action spaces of a scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gymnasium import spaces

from gv_engine.envs.representations import Representation

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


def action_space(scenario: Scenario) -> spaces.Discrete:
    """One number per action of the scenario, in its order."""
    return spaces.Discrete(len(scenario.actions))


def observation_space(scenario: Scenario, representation: str = "default") -> spaces.Dict:
    """What environments show, under one of `gv_engine.envs.representations.REPRESENTATIONS`.

    By default:

    - `grid` (h, w, 3) uint8: type, state and colour index of every cell of the view.
    - `agent_id_grid` (h, w) uint8: 1 at the agent's cell.
    - `item` (3,) uint8: the held object; NoneGridObject for an empty hand.

    Raises:
        ValueError: no such representation.
    """
    return with_room(Representation.of_observation(scenario, representation))


def with_room(representation: Representation) -> spaces.Dict:
    """Its space, with room above where one number is all: Gymnasium takes that for a mistake."""
    return spaces.Dict(
        {
            name: spaces.Box(box.low, np.maximum(box.high, box.low + 1), dtype=box.dtype.type)
            for name, box in representation.space.items()
            if isinstance(box, spaces.Box)
        }
    )
