"""What an agent can do."""

from __future__ import annotations

from enum import IntEnum

from gv_engine.language import geometry


class Action(IntEnum):
    """The eight actions, by their numbers in `gv_engine.language.geometry.ACTIONS`."""

    MOVE_FORWARD = geometry.MOVE_FORWARD
    MOVE_BACKWARD = geometry.MOVE_BACKWARD
    MOVE_LEFT = geometry.MOVE_LEFT
    MOVE_RIGHT = geometry.MOVE_RIGHT
    TURN_LEFT = geometry.TURN_LEFT
    TURN_RIGHT = geometry.TURN_RIGHT
    ACTUATE = geometry.ACTUATE
    PICK_N_DROP = geometry.PICK_N_DROP

    @property
    def is_move(self) -> bool:
        """Whether it leads to a neighbouring cell."""
        return self <= Action.MOVE_RIGHT

    @property
    def is_turn(self) -> bool:
        """Whether it changes where the agent looks."""
        return self in (Action.TURN_LEFT, Action.TURN_RIGHT)
