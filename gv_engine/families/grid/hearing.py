"""What a step in a grid sounds like: a thing taken, a door, a bump."""

from __future__ import annotations

from gv_engine.language.frame import Frame
from gv_engine.language.geometry import ACTIONS, MOVE_RIGHT

_MOVES = ACTIONS[: MOVE_RIGHT + 1]


def sound_between(before: Frame, after: Frame) -> str:
    """The name of the sound of a step, see `gv_engine.frontend.window.sounds`; empty for none of
    its own."""
    if after.item != before.item:
        return "take" if after.item[0] else "drop"
    if before.grid.shape != after.grid.shape:
        return ""
    changed = (before.grid != after.grid).any(-1)
    same_kind = before.grid[..., 0] == after.grid[..., 0]
    if (changed & same_kind & (before.grid[..., 1] != after.grid[..., 1])).any():
        return "door"
    if after.action in _MOVES and after.agent == before.agent and not changed.any():
        return "bump"
    return ""
