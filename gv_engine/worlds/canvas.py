"""The canvas that rendering systems draw on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.frame import Frame

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario
    from gv_engine.worlds.view import ObjectView


@dataclass
class Canvas:
    """Takes a picture, and has what it needs beyond the world itself.

    Attributes:
        show: takes the finished frame: a window, an array, a text.
        scenario: what is played.
        view: what cuts the agent's view out of the grid.
        observation: (h, w, 3) uint8, what the agent was shown last.
        terms: the reward of the last step, function by function in the scenario's order.
        message: a note for the player.
    """

    show: Callable[[Frame], None]
    scenario: Scenario
    view: ObjectView
    observation: NDArray[np.uint8]
    terms: Sequence[float]
    message: str = ""
