"""Coordinates, orientations and actions (GridVerse specification, section 1).

Positions are (y, x) with y growing downward. Orientations double as the directions of the four
MOVE actions, so `MOVE_LEFT` of an agent that looks RIGHT goes `turned(RIGHT, LEFT)`.

>>> turned(RIGHT, RIGHT) == BACKWARD and turned(RIGHT, LEFT) == FORWARD
True
"""

from enum import IntEnum
from zlib import crc32

FORWARD, BACKWARD, LEFT, RIGHT = range(4)
ORIENTATIONS = ("FORWARD", "BACKWARD", "LEFT", "RIGHT")


class Action(IntEnum):
    """Actions of an agent; new ones go to the end. Those of authors are made by `named_action`."""

    MOVE_FORWARD = 0
    MOVE_BACKWARD = 1
    MOVE_LEFT = 2
    MOVE_RIGHT = 3
    TURN_LEFT = 4
    TURN_RIGHT = 5
    ACTUATE = 6
    PICK_N_DROP = 7
    PICK_UP = 8
    DROP = 9
    TOGGLE = 10
    DONE = 11
    NOOP = 12

    @property
    def is_move(self) -> bool:
        """Whether it leads to a neighbouring cell."""
        return self <= Action.MOVE_RIGHT

    @property
    def is_turn(self) -> bool:
        """Whether it changes where the agent looks."""
        return self in (Action.TURN_LEFT, Action.TURN_RIGHT)

    @property
    def is_own(self) -> bool:
        """Whether an author has named it."""
        return self >= _FIRST_OWN


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
    PICK_UP,
    DROP,
    TOGGLE,
    DONE,
    NOOP,
) = range(len(ACTIONS))
USUAL_ACTIONS = tuple(range(PICK_UP))
"""Those of a scenario that does not list its own: the specification's."""
WAIT = 255
"""No action of an agent: rules see that nothing was done. For people who play in real time."""
_FIRST_OWN = WAIT + 1


def named_action(name: str) -> Action:
    """The action of a name; another one than the built-in ones is an author's own.

    Its number is made of the name, so that it is the same in every scenario and process.

    >>> KICK = named_action("KICK")
    >>> KICK.name, KICK == named_action("KICK"), KICK.is_own
    ('KICK', True, True)

    Raises:
        ValueError: the name is taken, or none; or another action has the same number.
    """
    if name in Action.__members__:
        return Action[name]
    if name == "WAIT" or not (name.isidentifier() and name.isascii() and name.isupper()):
        raise ValueError(f"found the name {name!r}, expected one of an action, like `KICK`")
    number = _FIRST_OWN + crc32(name.encode()) % 2**30
    own = int.__new__(Action, number)
    own._name_, own._value_ = name, number
    # where `Action(number)` finds it, as it does those that stand in the class
    known = Action._value2member_map_.setdefault(number, own)
    if known.name != name:
        raise ValueError(f"{name} and {known.name} would have the same number; rename one")
    return Action(number)


def is_action(number: int) -> bool:
    """Whether an action has the number, one of an author's that is known by now included."""
    return number in Action._value2member_map_


def action_name(action: int) -> str:
    """The name of an action, `WAIT` among them."""
    return "WAIT" if action == WAIT else Action(action).name


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


def relative(orientation: int, to: int) -> int:
    """The orientation as somebody sees it who looks along another one."""
    return turned(orientation, to ^ to >> 1)


def manhattan(dy: int, dx: int) -> float:
    """Steps along the axes."""
    return float(abs(dy) + abs(dx))


def euclidean(dy: int, dx: int) -> float:
    """Length of the straight line."""
    return float((dy * dy + dx * dx) ** 0.5)
