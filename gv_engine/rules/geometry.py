"""Actions, orientations and view areas of agents, and the arithmetic on them that rules use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gv_engine.rules.world import World


FORWARD, BACKWARD, LEFT, RIGHT = range(4)
ORIENTATIONS = ("FORWARD", "BACKWARD", "LEFT", "RIGHT")


class NamedNumber(IntEnum):
    """Base class of enums of numbers, such as directions. A member is always true, even 0, so that
    `if status:` tells a member from None."""

    def __bool__(self) -> bool:
        return True


class Action(NamedNumber):
    """Actions of an agent; append new ones at the end. Authors declare more with `named_action`."""

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

    def is_move(self) -> bool:
        """Return True for a move forward, backward, left or right."""
        return self in MOVES

    def is_turn(self) -> bool:
        """Return True for a turn to the left or right."""
        return self in (Action.TURN_LEFT, Action.TURN_RIGHT)

    @property
    def is_custom(self) -> bool:
        """True for an action that an author declared with `named_action`."""
        return self >= _FIRST_CUSTOM

    def __reduce_ex__(self, protocol: object) -> Any:
        """Pickle the action as its name; unpickling registers a custom action that the process
        does not know yet."""
        return named_action, (self.name,)


ACTIONS = tuple(action.name for action in Action)
MOVES = MOVE_FORWARD, MOVE_BACKWARD, MOVE_LEFT, MOVE_RIGHT = range(4)
TURN_LEFT, TURN_RIGHT = 4, 5
ACTUATE, PICK_N_DROP, PICK_UP, DROP, TOGGLE, DONE, NOOP = range(6, len(ACTIONS))
USUAL_ACTIONS = tuple(range(PICK_UP))
"""Default action space, as the specification lists it."""
WAIT = 255
"""Number that rules see if an agent does nothing: a beat of real time, and the last action of a
scenario with the key `time`."""
ASSIST = 254
"""Number that rules see if nobody plays the agent, see `systems.queries.is_assisted`."""
_FIRST_CUSTOM = WAIT + 1


def named_action(name: str) -> Action:
    """Return the action called `name`. If no built-in action has this name, declare a new action.

    The number is a hash of the name, so it is the same in every scenario and process.

    >>> KICK = named_action("KICK")
    >>> KICK.name, KICK == named_action("KICK"), KICK.is_custom
    ('KICK', True, True)

    Raises:
        ValueError: the name is invalid, or another action has the same number.
    """
    if name in Action.__members__:
        return Action[name]
    if name == "WAIT":
        return Action(WAIT)
    if not (name.isidentifier() and name.isascii() and name.isupper()):
        raise ValueError(f"found the name {name!r}, expected one of an action, like `KICK`")
    number = _FIRST_CUSTOM + crc32(name.encode()) % 2**30
    registered = _register_action(name, number)
    if registered.name != name:
        raise ValueError(f"{name} and {registered.name} would have the same number; rename one")
    return registered


def _register_action(name: str, number: int) -> Action:
    """Let `Action(number)` find an action like the members of the class, and return that action:
    another one if the number is taken."""
    action = int.__new__(Action, number)
    action._name_, action._value_ = name, number
    Action._value2member_map_.setdefault(number, action)
    return Action(number)


_register_action("WAIT", WAIT)


def is_action(action: int) -> bool:
    """Return True if a built-in action, or one declared so far, has this number."""
    return action in Action._value2member_map_


def action_name(action: int) -> str:
    """Return the name of an action number, `WAIT` included.

    >>> action_name(6)
    'ACTUATE'
    """
    return Action(action).name


def step_y(orientation: int) -> int:
    """Return the change of y by one step in a direction.

    >>> [step_y(direction) for direction in (FORWARD, BACKWARD, LEFT, RIGHT)]
    [-1, 1, 0, 0]
    """
    return 1 if orientation == BACKWARD else -1 if orientation == FORWARD else 0


def step_x(orientation: int) -> int:
    """Return the change of x by one step in a direction.

    >>> [step_x(direction) for direction in (FORWARD, BACKWARD, LEFT, RIGHT)]
    [0, 0, -1, 1]
    """
    return 1 if orientation == RIGHT else -1 if orientation == LEFT else 0


def rotate(orientation: int, by: int) -> int:
    """Return the orientation that results from a turn of `orientation` by `by`, where `RIGHT` is a
    quarter turn clockwise.

    >>> ORIENTATIONS[rotate(LEFT, RIGHT)]
    'FORWARD'
    """
    # In this numbering rotations compose by xor; only two quarter turns need a correction.
    return orientation ^ by ^ (orientation & by) >> 1


def to_relative(orientation: int, to: int) -> int:
    """Return an orientation as seen by an observer that faces `to`.

    >>> ORIENTATIONS[to_relative(FORWARD, to=RIGHT)]  # to an agent that faces right, up is left
    'LEFT'
    """
    return rotate(orientation, to ^ to >> 1)


def manhattan(dy: int, dx: int) -> float:
    """Return the Manhattan distance of an offset.

    >>> manhattan(3, -4)
    7.0
    """
    return float(abs(dy) + abs(dx))


def euclidean(dy: int, dx: int) -> float:
    """Return the Euclidean distance of an offset.

    >>> euclidean(3, -4)
    5.0
    """
    return float((dy * dy + dx * dx) ** 0.5)


def up_in_view(w: World, agent: int, turns: int) -> int:
    """Return the direction on the grid that is up in an agent's view: where the agent faces if the
    view `turns`, else FORWARD."""
    return w.agent.facing[agent] if turns else FORWARD


@dataclass(frozen=True)
class Area:
    """The cells around an agent that it may observe: inclusive ranges of rows and columns relative
    to an agent that faces up. For example, `[[-6, 0], [-3, 3]]` is 7 x 7 cells ahead of it. If
    `turns`, the area turns with the agent; else its top is always towards the top of the grid.

    >>> area = Area(-6, 0, -3, 3)
    >>> area.shape, area.observer
    ((7, 7), (6, 3))
    """

    ymin: int
    ymax: int
    xmin: int
    xmax: int
    turns: bool = field(default=True, kw_only=True)

    @property
    def shape(self) -> tuple[int, int]:
        return self.ymax - self.ymin + 1, self.xmax - self.xmin + 1

    @property
    def observer(self) -> tuple[int, int]:
        """Row and column of the agent's own cell in the area; may lie outside of it."""
        return -self.ymin, -self.xmin

    def view_cell(self, w: World, agent: int, y: int, x: int) -> tuple[int, int]:
        """Return (row, column) in the agent's view for the cell (y, x) of the grid. The result can
        lie outside of the view."""
        up, (row, column) = up_in_view(w, agent, self.turns), self.observer
        dy, dx = y - w.position.y[agent], x - w.position.x[agent]
        up_y, up_x = step_y(up), step_x(up)
        ahead, right = dy * up_y + dx * up_x, dy * up_x - dx * up_y
        return row - ahead, column + right

    def cells_on_grid(
        self, w: World, agent: int, row_stride: int
    ) -> tuple[tuple[int, ...], NDArray[np.int64], bytes]:
        """Return (cells, numbers, outside) of the agent's view, whose cells have indices row by
        row: the indices of the cells that are on the grid; the numbers of the same cells there,
        y * `row_stride` + x; and for every cell of the view a byte, 2 if it is off the grid, else
        0.

        Args:
            w, agent: world, and the agent that observes.
            row_stride: at least the width of the grid.
        """
        up, y, x = up_in_view(w, agent, self.turns), w.position.y[agent], w.position.x[agent]
        return _find_cells_on_grid(self, up, y, x, w.height, w.width, row_stride)

    def grid_mask(self, w: World, agent: int, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return an (H, W) mask of the grid for `seen`, an (h, w) mask of the agent's view."""
        cells, numbers, _ = self.cells_on_grid(w, agent, w.width)
        lit = np.zeros(w.height * w.width, np.bool_)
        lit[numbers] = seen.ravel()[[*cells]]
        return lit.reshape(w.height, w.width)

    def __str__(self) -> str:
        turns = "" if self.turns else " that does not turn"
        return f"[[{self.ymin}, {self.ymax}], [{self.xmin}, {self.xmax}]]{turns}"


@lru_cache(maxsize=512)
def _find_cells_on_grid(
    area: Area, direction: int, y: int, x: int, height: int, width: int, row_stride: int
) -> tuple[tuple[int, ...], NDArray[np.int64], bytes]:
    """Compute the result of `Area.cells_on_grid` for an agent at (y, x), if the top of its view
    points in `direction`. `row_stride` is the length of a row in memory. The result is cached: do
    not change it."""
    ahead = -np.arange(area.ymin, area.ymax + 1)[:, None]
    right = np.arange(area.xmin, area.xmax + 1)
    up_y, up_x = step_y(direction), step_x(direction)
    ys, xs = y + ahead * up_y + right * up_x, x + ahead * up_x - right * up_y
    on_grid = ((ys >= 0) & (ys < height) & (xs >= 0) & (xs < width)).ravel()
    (cells,) = np.nonzero(on_grid)
    numbers = (ys * row_stride + xs).ravel()[cells]
    numbers.flags.writeable = False
    # 2, because 1 marks an opaque cell in `ObjectView.look`
    return tuple(cells.tolist()), numbers, bytes(np.where(on_grid, 0, 2).tolist())


def flat_view(array: NDArray[Any]) -> NDArray[Any]:
    """Return a one-dimensional view of an array; writes to the view change the array."""
    return array.reshape(-1)


def add_up(numbers: Iterable[float]) -> float:
    """Return the sum of `numbers`, added from left to right, so that all Python versions and
    compiled code round alike. Use it instead of `sum`, which rounds differently from Python 3.12
    on.

    >>> add_up([0.1] * 10)
    0.9999999999999999
    """
    total = 0.0
    for number in numbers:
        total += number
    return total


def count_bits(bits: int) -> int:
    """Return the number of set bits of a non-negative integer.

    >>> count_bits(0b1011)
    3
    """
    return int(bits).bit_count()
