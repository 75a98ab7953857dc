"""Which action a key means in a level."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from gv_engine.families.grid.about import FAMILY
from gv_engine.families.grid.walking import is_safe
from gv_engine.language.frame import Frame
from gv_engine.language.geometry import (
    ACTIONS,
    BACKWARD,
    FORWARD,
    LEFT,
    MOVE_RIGHT,
    RIGHT,
    step_x,
    step_y,
    turned,
)
from gv_engine.reading.families import Command

_ASIDE = {"TURN_LEFT": "MOVE_LEFT", "TURN_RIGHT": "MOVE_RIGHT"}
_WAYS = {name: way for way, name in enumerate(ACTIONS[: MOVE_RIGHT + 1])}
_TURNS = {LEFT: ("TURN_LEFT",), RIGHT: ("TURN_RIGHT",), BACKWARD: ("TURN_RIGHT", "TURN_RIGHT")}
_USUAL = {command.name: command.keys for command in FAMILY.keys}
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

    def __init__(self, actions: Sequence[str], others: Sequence[Command]) -> None:
        self._actions = actions
        taken = {key for command in others for key in command.keys}
        turns = {name: told for name, told in _ON_THE_SPOT.items() if told[0] in actions}
        told = {**_DIRECTIONS, **turns}
        self.commands = tuple(
            Command(name, says, tuple(key for key in _USUAL[like] if key not in taken), True)
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
        plain = next(move for move, way in _WAYS.items() if turned(facing, way) == direction)
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
