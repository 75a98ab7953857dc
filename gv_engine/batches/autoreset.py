"""Numbers that environments, batches and compiled programs agree on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""When a finished world begins anew, as `gymnasium.vector.AutoresetMode` has it."""

RESTART, LOOK, KEEP, BEGIN, BUSY = -1, -2, -3, -4, -5
"""In place of an action: begin a new episode, only show the world, or leave it alone. The last two
are for kernels: BEGIN a new episode of the member of a mixture that has been drawn, and BUSY, the
world that is being run."""

Which = int | NDArray[np.int64]
"""The number of one world, or (K,) numbers."""


def looking(num_worlds: int, worlds: Which) -> NDArray[np.int64]:
    """(N,) for `run`: these worlds are looked at, the others left alone."""
    actions = np.full(num_worlds, KEEP)
    actions[worlds] = LOOK
    return actions
