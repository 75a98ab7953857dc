"""Coordinates, orientations and actions (GridVerse specification, section 1).

Positions are (y, x) with y growing downward. Orientations double as the directions of the four
MOVE actions, so `MOVE_LEFT` of an agent that looks RIGHT goes `turned(RIGHT, LEFT)`.

>>> turned(RIGHT, RIGHT) == BACKWARD and turned(RIGHT, LEFT) == FORWARD
True
"""

from enum import IntEnum

FORWARD, BACKWARD, LEFT, RIGHT = range(4)
ORIENTATIONS = ("FORWARD", "BACKWARD", "LEFT", "RIGHT")


class Action(IntEnum):
    """Actions of an agent."""

    MOVE_FORWARD = 0
    MOVE_BACKWARD = 1
    MOVE_LEFT = 2
    MOVE_RIGHT = 3
    TURN_LEFT = 4
    TURN_RIGHT = 5
    ACTUATE = 6
    PICK_N_DROP = 7

    @property
    def is_move(self) -> bool:
        """Whether it leads to a neighbouring cell."""
        return self <= Action.MOVE_RIGHT

    @property
    def is_turn(self) -> bool:
        """Whether it changes where the agent looks."""
        return self in (Action.TURN_LEFT, Action.TURN_RIGHT)


ACTIONS = tuple(action.name for action in Action)
(
    MOVE_FORWARD,
    MOVE_BACKWARD,
    MOVE_LEFT,
    MOVE_RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
    ACTUATE,
    PICK_N_DROP,
) = range(len(ACTIONS))
WAIT = len(ACTIONS)
"""No action of an agent: rules see that nothing was done. For people who play in real time."""


def action_name(action: int) -> str:
    """The name of an action, `WAIT` among them."""
    return "WAIT" if action == WAIT else ACTIONS[action]


def step_y(orientation: int) -> int:
    """Change of y by one step in a direction."""
    return 1 if orientation == BACKWARD else -1 if orientation == FORWARD else 0


def step_x(orientation: int) -> int:
    """Change of x by one step in a direction."""
    return 1 if orientation == RIGHT else -1 if orientation == LEFT else 0


def turned(orientation: int, by: int) -> int:
    """The orientation after a rotation by another one (`RIGHT` is a quarter turn clockwise)."""
    # In this numbering rotations compose by xor, but for two quarter turns, which make a half.
    return orientation ^ by ^ (orientation & by) >> 1


def manhattan(dy: int, dx: int) -> float:
    """Steps along the axes."""
    return float(abs(dy) + abs(dx))


def euclidean(dy: int, dx: int) -> float:
    """Length of the straight line."""
    return float((dy * dy + dx * dx) ** 0.5)
