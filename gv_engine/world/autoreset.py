"""Autoreset: constants and rules for starting new episodes, in environments and in compiled
code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""Autoreset modes with the meaning of `gymnasium.vector.AutoresetMode`."""

RESTART, LOOK, KEEP, BEGIN, BUSY = -1, -2, -3, -4, -5
"""Values in place of an action: start a new episode, only show the world, or leave it unchanged.
The last two are for kernels: BEGIN starts an episode of a mixture's sampled member, and BUSY marks
the world that is running."""
RANDOM_LEVEL = -1
"""Value in place of the index of a listed level: a random one."""


def starts_episode(action: int, mode: int, is_over: bool) -> bool:
    """Return True if a world shall start a new episode now instead of making a step with this
    action.

    Args:
        action: action index or RESTART, LOOK or KEEP.
        mode: autoreset mode.
        is_over: True if the world's episode has ended in an earlier step.
    """
    return action == RESTART or (action >= 0 and is_over and mode == NEXT_STEP)


def resets_in_step(mode: int, is_over: bool) -> bool:
    """Return True if a step that has ended an episode (`is_over`) also starts the next one at once;
    `mode` is the autoreset mode.

    The last observation then goes into the `final_` arrays. Reward, return, length, flags and
    success stay those of the step.
    """
    return is_over and mode == SAME_STEP


def clear_outputs(out: Any, line: int) -> None:
    """Set the results of the last step in index `line` of the output arrays `out` (`StepArrays` or
    compiled ones) to zero."""
    out.rewards[line] = out.returns[line] = 0.0
    out.terminated[line] = out.truncated[line] = out.success[line] = False
    out.lengths[line] = 0


def write_outputs(out: Any, line: int, w: Any, agent: int) -> None:
    """Write the results that an agent in world `w` has from a step into index `line` of the output
    arrays `out` (`StepArrays` or compiled ones).

    An agent is also truncated if the episode ends by others, or if the scenario always reports
    truncation.
    """
    out.rewards[line] = w.reward[agent]
    out.terminated[line] = w.done[agent] != 0
    over, cut = w.terminated != 0, w.truncated != 0
    out.truncated[line] = (cut and over) or (w.done[agent] == 0 and (cut or over))
    out.success[line] = w.success[agent] != 0
    out.returns[line] = w.total[agent]
    out.lengths[line] = w.steps


WorldIndex = int | NDArray[np.int64]
"""Index of one world, or (K,) indices."""


def make_look_actions(num_worlds: int, agents: int, worlds: WorldIndex) -> NDArray[np.int64]:
    """Return the actions with which `Backend.step` only shows `worlds` (LOOK) and leaves all others
    of `num_worlds` alone (KEEP), for each of so many agents."""
    actions = np.full((num_worlds, agents), KEEP)
    actions[worlds] = LOOK
    return actions.ravel()
