"""Walks to a cell that a player has clicked, by the level's own actions and by what is shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping

from components.appearance import FLOOR, HIDDEN
from components.doors import OPEN, Door
from components.matter import Portable, Solid
from components.objects import WALL
from gv_engine.families.grid.motion import Cell
from gv_engine.language.component import column_name
from gv_engine.language.frame import Frame
from gv_engine.language.geometry import ACTIONS, LEFT, MOVE_RIGHT, RIGHT, step_x, step_y, turned
from gv_engine.language.objects import ObjectType

Pose = tuple[int, int, int]
"""y, x, facing."""

_MOVES = {name: way for way, name in enumerate(ACTIONS[: MOVE_RIGHT + 1])}
_TURNS = {"TURN_LEFT": LEFT, "TURN_RIGHT": RIGHT}
_HANDLING = ("ACTUATE", "TOGGLE", "PICK_UP", "PICK_N_DROP")
"""What is done to a thing ahead, the first that would do something."""
PUTTING = ("DROP", "PICK_N_DROP")
"""What puts down what is held."""


class Walk:
    """On the way to a cell, and to do something about what is in it.

    Each step is looked for anew. What is in the cells between has to be floor, or a door that is
    open: nobody is led over ice, into lava or onto a telepod but by a click on it.

    Args:
        goal: the cell.
        actions: the names of those that the level has.
        puts: whether what is held is to be put there.
    """

    def __init__(self, goal: Cell, actions: Collection[str], puts: bool = False) -> None:
        self._goal, self._actions, self._puts = goal, actions, puts
        self._moves = {name: way for name, way in _MOVES.items() if name in actions}
        self._turns = {name: way for name, way in _TURNS.items() if name in actions}
        self._expected: Pose | None = None

    def next(self, frame: Frame, mask: Mapping[str, bool]) -> str:
        """The next action; empty if there is none, or no way.

        Args:
            frame: as it is shown to the player.
            mask: which actions would do something.
        """
        if self._puts and not frame.item[0]:
            return ""  # it is done
        handles = self._puts or _is_handled(frame, self._goal, self._actions)
        if handles and self._is_there(frame.agent, handles):
            self._expected = None
            return self._handling(frame.agent, mask)
        action, pose = self._first(frame, handles)
        self._expected = pose if pose[:2] != self._goal else None
        return action

    def is_as_expected(self, before: Frame, after: Frame) -> bool:
        """Whether the last step went as it should, and nothing else has happened: nothing moved,
        and nothing but floor and walls has come into sight."""
        if after.agent != self._expected or after.outcome or after.message:
            return False
        changed = (before.grid != after.grid).any(-1)
        new = changed & (before.grid[..., 0] == HIDDEN)
        kinds = set(after.grid[new][:, 0].tolist())
        return not (changed & ~new).any() and kinds <= {FLOOR, WALL}

    def _handling(self, pose: Pose, mask: Mapping[str, bool]) -> str:
        """What to do with the thing ahead: handle it, or walk against it."""
        if self._puts:
            return next((name for name in PUTTING if mask.get(name)), "")
        own = (name for name in mask if name not in ACTIONS)
        against = (name for name, other in self._moved(pose) if other[:2] == self._goal)
        return next((name for name in (*_HANDLING, *own, *against) if mask.get(name)), "")

    def _first(self, frame: Frame, handles: bool) -> tuple[str, Pose]:
        """The first action of a shortest way, and where it leads; no action if there is none."""
        start: Pose = frame.agent
        firsts: dict[Pose, tuple[str, Pose]] = {start: ("", start)}
        poses = deque([start])
        while poses:
            pose = poses.popleft()
            if self._is_there(pose, handles):
                return firsts[pose]
            for name, other in self._beside(pose):
                goes = other[:2] == pose[:2] or _is_safe(frame, other[:2])
                if other not in firsts and (goes or (other[:2] == self._goal and not handles)):
                    firsts[other] = firsts[pose] if firsts[pose][0] else (name, other)
                    poses.append(other)
        return "", start

    def _is_there(self, pose: Pose, handles: bool) -> bool:
        if not handles:
            return pose[:2] == self._goal
        y, x, facing = pose
        ways = (facing,) if self._turns else tuple(turned(facing, m) for m in self._moves.values())
        return any((y + step_y(way), x + step_x(way)) == self._goal for way in ways)

    def _beside(self, pose: Pose) -> Iterator[tuple[str, Pose]]:
        """Poses that are an action away, each with its name."""
        yield from self._moved(pose)
        for name, turn in self._turns.items():
            yield name, (*pose[:2], turned(pose[2], turn))

    def _moved(self, pose: Pose) -> Iterator[tuple[str, Pose]]:
        """The same of those that lead to another cell."""
        y, x, facing = pose
        for name, move in self._moves.items():
            way = turned(facing, move)
            yield name, (y + step_y(way), x + step_x(way), facing)


def _is_handled(frame: Frame, cell: Cell, actions: Collection[str]) -> bool:
    """Whether what is in a cell is not walked on but handled: it blocks, or can be picked up."""
    kind, state, _ = frame.grid[cell].tolist()
    known = frame.types[kind]
    picks = not {"PICK_UP", "PICK_N_DROP"}.isdisjoint(actions)
    return _blocks(known, state) or (picks and Portable in known.classes)


def _is_safe(frame: Frame, cell: Cell) -> bool:
    """Whether somebody may be led through a cell: floor, or what could block and does not."""
    height, width = frame.grid.shape[:2]
    if not (0 <= cell[0] < height and 0 <= cell[1] < width):
        return False
    kind, state, _ = frame.grid[cell].tolist()
    if frame.beneath is not None and frame.beneath[cell][0] > FLOOR:
        return False
    known = frame.types[kind]
    opens = any(_blocks(known, other) for other in range(known.num_states))
    return kind == FLOOR or (opens and not _blocks(known, state))


def _blocks(kind: ObjectType, state: int) -> bool:
    """Whether nobody can enter the cell of such an object."""
    if kind.index == HIDDEN:
        return False  # for all that is known
    if kind.state and kind.state[0] == column_name(Door):
        return state != OPEN
    return (dict(kind.components) | kind.changes(state)).get(Solid) is not None
