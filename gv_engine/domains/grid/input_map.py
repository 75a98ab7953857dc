"""Walks to a cell that a player has clicked, by the level's own actions and by what is shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from components.appearance import FLOOR, HIDDEN
from components.doors import OPEN, Door
from components.matter import Portable, Solid
from components.objects import WALL
from gv_engine.domains.grid.board import Cell
from gv_engine.domains.grid.plugin import DOMAIN
from gv_engine.rules.component import column_name
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import (
    ACTIONS,
    BACKWARD,
    FORWARD,
    LEFT,
    MOVE_RIGHT,
    RIGHT,
    rotate,
    step_x,
    step_y,
)
from gv_engine.rules.objects import ObjectType
from gv_engine.scenario.plugin import KeyCommand

# ---- steering ------------------------------------------------------------------------------------

_ASIDE = {"TURN_LEFT": "MOVE_LEFT", "TURN_RIGHT": "MOVE_RIGHT"}
_WAYS = {name: way for way, name in enumerate(ACTIONS[: MOVE_RIGHT + 1])}
_TURNS = {LEFT: ("TURN_LEFT",), RIGHT: ("TURN_RIGHT",), BACKWARD: ("TURN_RIGHT", "TURN_RIGHT")}
_USUAL = {command.name: command.keys for command in DOMAIN.keys}
_DIRECTIONS = {
    "STEER_UP": (FORWARD, "go up", "MOVE_FORWARD"),
    "STEER_LEFT": (LEFT, "go left", "TURN_LEFT"),
    "STEER_RIGHT": (RIGHT, "go right", "TURN_RIGHT"),
    "STEER_DOWN": (BACKWARD, "go down", "MOVE_BACKWARD"),
}
"""Commands, where they lead on the screen, what they do, and whose keys they have."""
_ON_THE_SPOT = {
    "STEER_TURN_LEFT": ("TURN_LEFT", "turn left on the spot", "MOVE_LEFT"),
    "STEER_TURN_RIGHT": ("TURN_RIGHT", "turn right on the spot", "MOVE_RIGHT"),
}


def action_of(name: str, actions: Collection[str]) -> str:
    """The action of a command: where nobody turns, the keys for turning step aside.

    >>> action_of("TURN_LEFT", ["MOVE_FORWARD", "MOVE_LEFT"])
    'MOVE_LEFT'
    """
    aside = _ASIDE.get(name, name)
    return aside if name not in actions and aside in actions else name


class Steering:
    """The directions of the screen, as commands of a level, and the plain actions they stand for.

    Args:
        actions: names of the level's.
        others: commands of the level's own, whose keys are taken.

    Attributes:
        commands: in the place of those that move and turn, with their keys.
        replaces: the names of those.
    """

    def __init__(self, actions: Sequence[str], others: Sequence[KeyCommand]) -> None:
        self._actions = actions
        taken = {key for command in others for key in command.keys}
        turns = {name: told for name, told in _ON_THE_SPOT.items() if told[0] in actions}
        told = {**_DIRECTIONS, **turns}
        self.commands = tuple(
            KeyCommand(name, says, tuple(key for key in _USUAL[like] if key not in taken), True)
            for name, (_, says, like) in told.items()
        )
        self.replaces = frozenset((*_WAYS, *_ASIDE))

    def lead(self, name: str, frame: Callable[[], Frame], game: Any, looks: bool) -> Iterator[str]:
        """The actions of one of the commands, to be taken one after the other.

        A plain move leads there where there is one; else the agent turns, and goes if it can, but
        not into what it sees first when it has turned. So what is in the way is faced, and can be
        used.

        Args:
            name: of the command.
            frame: the present one, after each action.
            game: asked for its `mask()`.
            looks: whether it is to look where it goes.
        """
        if name in _ON_THE_SPOT:
            yield _ON_THE_SPOT[name][0]
            return
        direction, facing = _DIRECTIONS[name][0], frame().agent[2]
        plain = next(move for move, way in _WAYS.items() if rotate(facing, way) == direction)
        turns = [turn for turn in _TURNS.get(_WAYS[plain], ()) if turn in self._actions]
        goes = plain in self._actions and (not turns or (not looks and game.mask()[plain]))
        if goes or not turns:
            yield from [plain] if plain in self._actions else []
            return
        yield from turns
        shown = frame()
        y, x, facing = shown.agent
        ahead = y + step_y(facing), x + step_x(facing)
        goes = facing == direction and game.mask().get("MOVE_FORWARD", False)
        if goes and (not looks or is_safe(shown, ahead)):
            yield "MOVE_FORWARD"


# ---- walking -------------------------------------------------------------------------------------

Pose = tuple[int, int, int]
"""y, x, facing."""

_MOVES = {name: way for way, name in enumerate(ACTIONS[: MOVE_RIGHT + 1])}
_DIRECTION_OF_TURN = {"TURN_LEFT": LEFT, "TURN_RIGHT": RIGHT}
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
        self._turns = {name: way for name, way in _DIRECTION_OF_TURN.items() if name in actions}
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
                goes = other[:2] == pose[:2] or is_safe(frame, other[:2])
                if other not in firsts and (goes or (other[:2] == self._goal and not handles)):
                    firsts[other] = firsts[pose] if firsts[pose][0] else (name, other)
                    poses.append(other)
        return "", start

    def _is_there(self, pose: Pose, handles: bool) -> bool:
        if not handles:
            return pose[:2] == self._goal
        y, x, facing = pose
        ways = (facing,) if self._turns else tuple(rotate(facing, m) for m in self._moves.values())
        return any((y + step_y(way), x + step_x(way)) == self._goal for way in ways)

    def _beside(self, pose: Pose) -> Iterator[tuple[str, Pose]]:
        """Poses that are an action away, each with its name."""
        yield from self._moved(pose)
        for name, turn in self._turns.items():
            yield name, (*pose[:2], rotate(pose[2], turn))

    def _moved(self, pose: Pose) -> Iterator[tuple[str, Pose]]:
        """The same of those that lead to another cell."""
        y, x, facing = pose
        for name, move in self._moves.items():
            way = rotate(facing, move)
            yield name, (y + step_y(way), x + step_x(way), facing)


def _is_handled(frame: Frame, cell: Cell, actions: Collection[str]) -> bool:
    """Whether what is in a cell is not walked on but handled: it blocks, or can be picked up."""
    kind, state, _ = frame.grid[cell].tolist()
    known = frame.types[kind]
    picks = not {"PICK_UP", "PICK_N_DROP"}.isdisjoint(actions)
    return _blocks(known, state) or (picks and Portable in known.component_classes)


def is_safe(frame: Frame, cell: Cell) -> bool:
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
    return (dict(kind.components) | kind.component_changes(state)).get(Solid) is not None
