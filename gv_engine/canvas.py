"""What rendering systems draw on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gv_engine.frame import Frame

if TYPE_CHECKING:
    from gv_engine.simulation import Simulation


@dataclass
class Canvas:
    """Where a picture goes, and what it needs beyond the world itself.

    Attributes:
        show: takes the finished frame: a window, an array, a text.
        simulation: whose world is drawn; rendering systems only read it.
        observation: (h, w, 3) uint8, what the agent was shown last.
        message: a note for the player.
    """

    show: Callable[[Frame], None]
    simulation: Simulation
    observation: NDArray[np.uint8]
    message: str = ""
