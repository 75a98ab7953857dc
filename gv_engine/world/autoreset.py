"""Autoreset: the numbers and rules by which episodes begin anew in environments and batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""When a finished world begins anew, as `gymnasium.vector.AutoresetMode` has it."""

RESTART, LOOK, KEEP, BEGIN, BUSY = -1, -2, -3, -4, -5
"""In place of an action: begin a new episode, only show the world, or leave it alone. The last two
are for kernels: BEGIN a new episode of the member of a mixture that has been drawn, and BUSY, the
world that is being run."""
RANDOM_LEVEL = -1
"""In place of the number of a listed level: one of them, drawn."""


def starts_episode(action: int, mode: int, is_over: bool) -> bool:
    """Whether a world begins a new episode: it is told to, or has none left to act in.

    Args:
        action: what it is told to do.
        mode: one of the three.
        over: whether its episode has ended before.
    """
    return action == RESTART or (action >= 0 and is_over and mode == NEXT_STEP)


def resets_in_step(mode: int, is_over: bool) -> bool:
    """Whether, behind a step, a new episode begins within it; `over` says if the step was the last.

    What the last one showed is kept apart then. Reward, return, length, ends and success stay those
    of the step.
    """
    return is_over and mode == SAME_STEP


def clear_step_outputs(out: Any, line: int) -> None:
    """Forget the last step of world i, which begins anew, in `StepArrays` or compiled ones."""
    out.rewards[line] = out.returns[line] = 0.0
    out.terminated[line] = out.truncated[line] = out.success[line] = False
    out.lengths[line] = 0


def write_step_outputs(out: Any, line: int, w: Any, agent: int) -> None:
    """Write what came of a step for an agent, in its line.

    It is truncated, too, where the episode is over because of others; and beside its end where the
    scenario says so.
    """
    out.rewards[line] = w.reward[agent]
    out.terminated[line] = w.done[agent] != 0
    is_over, is_truncated = w.terminated != 0, w.truncated != 0
    out.truncated[line] = (is_truncated and is_over) or (
        w.done[agent] == 0 and (is_truncated or is_over)
    )
    out.success[line] = w.success[agent] != 0
    out.returns[line] = w.total[agent]
    out.lengths[line] = w.steps


WorldIndex = int | NDArray[np.int64]
"""The number of one world, or (K,) numbers."""


def make_look_actions(num_worlds: int, agents: int, worlds: WorldIndex) -> NDArray[np.int64]:
    """(N * A,) for `Backend.step`: these worlds are looked at, the others left alone."""
    actions = np.full((num_worlds, agents), KEEP)
    actions[worlds] = LOOK
    return actions.ravel()
