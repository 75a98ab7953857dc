"""Animation and sound of a step of a grid, each a pure function of the frames before and after."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.rules.frame import Frame, ShownNumber
from gv_engine.rules.geometry import DONE, NOOP, WAIT, action_name

Cell = tuple[int, int]
"""(y, x) of a cell."""

CellObject = tuple[int, int, int]
"""Type, state and colour of an object."""

MAX_CHANGED_CELLS = 200  # with more the frames are not one step apart
SHAKE_ANGLE = 18.0  # degrees: first swing of an agent whose action fails
SHAKES = 1.5  # swings to both sides
_IDLE_ACTIONS = ("", action_name(WAIT), action_name(NOOP), action_name(DONE))
"""Actions that cannot fail."""


class Movement(NamedTuple):
    """Object that moves, appears or vanishes in a step.

    Attributes:
        obj: type, state and colour.
        start, goal: cells before and after; equal for an object that appears or vanishes in place.
        opacity: opacity before and after, from 0 to 1.
    """

    obj: CellObject
    start: Cell
    goal: Cell
    opacity: tuple[float, float] = (1.0, 1.0)


class Motion(NamedTuple):
    """Changes between two frames that an animation shows.

    Attributes:
        agent: y, x and facing of the agent before.
        has_failed: True if the agent's action had no effect, or the episode was lost.
        movements: objects that move, vanish or appear.
    """

    agent: tuple[int, int, int]
    has_failed: bool
    movements: tuple[Movement, ...]

    def objects(self, progress: float) -> Iterator[tuple[CellObject, tuple[float, float], float]]:
        """Yield (object, position (y, x) in cells, opacity) of each moving object at `progress`
        from 0 to 1."""
        for obj, start, goal, (opacity, last_opacity) in self.movements:
            now = opacity + (last_opacity - opacity) * progress
            y, x = (a + (b - a) * progress for a, b in zip(start, goal, strict=True))
            yield obj, (y, x), now

    def shake(self, progress: float) -> float:
        """Return the angle in degrees, at `progress` from 0 to 1, by which a failure shakes the
        agent."""
        if not self.has_failed:
            return 0.0
        return SHAKE_ANGLE * math.sin(2 * math.pi * SHAKES * progress) * (1 - progress)


def find_motion(before: Frame, after: Frame) -> Motion | None:
    """Compare two frames and return the animation between them: objects that move, appear or
    vanish, and failed actions. None if there is nothing to animate or too much has changed."""
    if before.grid.shape != after.grid.shape:
        return None
    old_grid, new_grid = _grid_without_ground(before), _grid_without_ground(after)
    cells = [(y, x) for y, x in np.argwhere((old_grid != new_grid).any(2)).tolist()]
    has_failed = is_failure(before, after)
    is_still = not cells and before.agent == after.agent
    if len(cells) > MAX_CHANGED_CELLS or (is_still and not has_failed):
        return None
    removed, added = _objects_in(old_grid, cells), _objects_in(new_grid, cells)
    movements = []
    for cell, obj in added.items():
        start = next((at for at in _slides(cell, old_grid, cells) if removed.get(at) == obj), None)
        if start is not None:
            del removed[start]
            movements.append(Movement(obj, start, cell))
        else:
            is_put_down = obj == before.item and before.item != after.item
            start = before.agent[:2] if is_put_down else cell
            movements.append(Movement(obj, start, cell, (0.0, 1.0)))
    for cell, obj in removed.items():
        is_picked_up = obj == after.item and before.item != after.item
        goal = after.agent[:2] if is_picked_up else cell
        merged = (at for at in _slides(cell, old_grid, cells) if added.get(at, (0,))[0] == obj[0])
        if not is_picked_up and cell not in added and (at := next(merged, None)):
            movements.append(Movement(obj, cell, at))  # into one of its type in another state
        else:
            movements.append(Movement(obj, cell, goal, (1.0, 0.0)))
    return Motion(before.agent, has_failed, tuple(movements))


def _slides(cell: Cell, grid: NDArray[np.uint8], changed: Collection[Cell]) -> list[Cell]:
    """Return the cells of `changed` that lie in a straight line from `cell`, nearest first. No
    object that stays in `grid` may be in between."""
    height, width = grid.shape[:2]
    found = []
    for step_y, step_x in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        y, x = cell[0] + step_y, cell[1] + step_x
        while 0 <= y < height and 0 <= x < width:
            if (y, x) in changed:
                found.append((y, x))
            elif grid[y, x, 0] != FLOOR:
                break
            y, x = y + step_y, x + step_x
    return sorted(found, key=lambda at: abs(at[0] - cell[0]) + abs(at[1] - cell[1]))


def _objects_in(grid: NDArray[np.uint8], cells: Iterable[Cell]) -> dict[Cell, CellObject]:
    objects = {cell: tuple(grid[cell].tolist()) for cell in cells}
    return {cell: obj for cell, obj in objects.items() if obj[0] != FLOOR}


def step_sound(before: Frame, after: Frame) -> str:
    """Return the name of the sound for the step from frame `before` to `after`, such as "take" or
    "bump"; an empty text if the step is silent."""
    if after.item != before.item:
        return "take" if after.item[0] else "drop"
    if (motion := find_motion(before, after)) is None:
        return ""
    is_same_type = before.grid[..., 0] == after.grid[..., 0]
    if (is_same_type & (before.grid[..., 1] != after.grid[..., 1])).any():
        return "door"  # an object has changed its state
    pushed = [movement.start for movement in motion.movements if movement.goal != movement.start]
    if after.agent[:2] != before.agent[:2] and after.agent[:2] in pushed:
        return "push"
    return "bump" if motion.has_failed else ""


def is_failure(before: Frame, after: Frame) -> bool:
    """Return True if the step from frame `before` to `after` has failed: nothing changed in or
    beside the agent's cell and the agent gained nothing, or the episode was lost."""
    if after.outcome and not before.outcome:
        return not after.success
    is_same = (before.agent, before.item) == (after.agent, after.item)
    if not is_same or after.steps <= before.steps or after.action in _IDLE_ACTIONS:
        return False
    pairs = (before.numbers, after.numbers), (before.display, after.display)
    numbers = chain.from_iterable(zip(*pair, strict=False) for pair in pairs)
    if any(_is_gain(*pair) for pair in numbers):
        return False
    # the whole grid if the agent is outside of it
    near = tuple(slice(max(0, k - 1), max(0, k + 2) or None) for k in after.agent[:2])
    return not (before.grid[near] != after.grid[near]).any()


def _is_gain(before: ShownNumber, after: ShownNumber) -> bool:
    """Return whether a number that players see has changed, or its bar has become longer."""
    if before.share is not None and after.share is not None:
        return after.share > before.share
    return after.text != before.text and (before.is_for_players or after.is_for_players)


def _grid_without_ground(frame: Frame) -> NDArray[np.uint8]:
    """Return the (H, W, 3) grid of a frame with floor in place of ground objects, which never
    move."""
    if frame.beneath is None:
        return frame.grid
    is_ground = (frame.grid == frame.beneath).all(-1, keepdims=True)
    return np.where(is_ground, np.array([FLOOR, 0, 0], np.uint8), frame.grid)


def lerp(start: tuple[int, ...], goal: tuple[int, ...], progress: float) -> tuple[float, float]:
    """Return the point (y, x) at `progress`, from 0 to 1, between two cells. If the cells are more
    than one cell apart, return `goal`."""
    if max(abs(start[0] - goal[0]), abs(start[1] - goal[1])) > 1:
        return goal[0], goal[1]
    remaining = 1 - progress
    y = goal[0] + (start[0] - goal[0]) * remaining
    return y, goal[1] + (start[1] - goal[1]) * remaining
