"""Sets as the bits of a number, in rules that look at many things at once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import OUTSIDE

if TYPE_CHECKING:
    from gv_engine.rules.world import World


# ---- geometry ------------------------------------------------------------------------------------

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
    def is_custom(self) -> bool:
        """Whether an author has named it."""
        return self >= _FIRST_CUSTOM


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
_FIRST_CUSTOM = WAIT + 1


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
    number = _FIRST_CUSTOM + crc32(name.encode()) % 2**30
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


def rotate(orientation: int, by: int) -> int:
    """The orientation after a rotation by another one (`RIGHT` is a quarter turn clockwise)."""
    # In this numbering rotations compose by xor, but for two quarter turns, which make a half.
    return orientation ^ by ^ (orientation & by) >> 1


def to_relative(orientation: int, to: int) -> int:
    """The orientation as somebody sees it who looks along another one."""
    return rotate(orientation, to ^ to >> 1)


def manhattan(dy: int, dx: int) -> float:
    """Steps along the axes."""
    return float(abs(dy) + abs(dx))


def euclidean(dy: int, dx: int) -> float:
    """Length of the straight line."""
    return float((dy * dy + dx * dx) ** 0.5)


# ---- area ----------------------------------------------------------------------------------------


def relative_position(w: World, agent: int, y: int, x: int) -> tuple[int, int]:
    """How far a cell is ahead of an agent, and to its right."""
    facing = w.agent.facing[agent]
    dy, dx = y - w.position.y[agent], x - w.position.x[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    return dy * ahead_y + dx * ahead_x, dy * ahead_x - dx * ahead_y


@dataclass(frozen=True)
class Area:
    """Inclusive ranges of cells relative to an agent that looks up: `[[-6, 0], [-3, 3]]`."""

    ymin: int
    ymax: int
    xmin: int
    xmax: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.ymax - self.ymin + 1, self.xmax - self.xmin + 1

    @property
    def observer(self) -> tuple[int, int]:
        """The agent's own cell in the area, which may lie beyond it."""
        return -self.ymin, -self.xmin

    def cell_numbers(self, w: World, agent: int, width: int) -> NDArray[np.int64]:
        """(h * w,) the cells of the grid that the area shows, row by row, as numbers.

        Args:
            w, agent: who looks.
            width: how many numbers a row of the grid has; OUTSIDE is the number of all beyond it.
        """
        position = w.position
        stands = w.agent.facing[agent], position.y[agent], position.x[agent]
        return _find_cell_numbers(self, *stands, w.height, w.width, width)

    def grid_mask(self, w: World, agent: int, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(H, W) bool: which cells of the grid an (h, w) bool array of the area means."""
        cells = self.cell_numbers(w, agent, w.width)[seen.ravel()]
        lit = np.zeros(w.height * w.width, np.bool_)
        lit[cells[cells != OUTSIDE]] = True
        return lit.reshape(w.height, w.width)

    def __str__(self) -> str:
        return f"[[{self.ymin}, {self.ymax}], [{self.xmin}, {self.xmax}]]"


@lru_cache(maxsize=512)
def _find_cell_numbers(
    area: Area, facing: int, y: int, x: int, height: int, width: int, row: int
) -> NDArray[np.int64]:
    # first and last row and column, and the quarter turns to the left that bring them upright
    top, bottom, left, right, quarters = {
        FORWARD: (area.ymin, area.ymax, area.xmin, area.xmax, 0),
        RIGHT: (area.xmin, area.xmax, -area.ymax, -area.ymin, 1),
        BACKWARD: (-area.ymax, -area.ymin, -area.xmax, -area.xmin, 2),
        LEFT: (-area.xmax, -area.xmin, area.ymin, area.ymax, 3),
    }[facing]
    ys = np.arange(y + top, y + bottom + 1)[:, None]
    xs = np.arange(x + left, x + right + 1)
    inside = (ys >= 0) & (ys < height) & (xs >= 0) & (xs < width)
    numbers = np.rot90(np.where(inside, ys * row + xs, OUTSIDE), quarters).ravel()
    numbers.flags.writeable = False
    return numbers


# ---- lines ---------------------------------------------------------------------------------------


def flat_view(array: NDArray[Any]) -> NDArray[Any]:
    """All values of an array, row by row; what is written to them is written to the array."""
    return array.reshape(-1)


# ---- bits ----------------------------------------------------------------------------------------


def count_bits(bits: int) -> int:
    """How many bits of a number that is not negative are set."""
    return int(bits).bit_count()
