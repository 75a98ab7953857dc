"""Mouse and direction input in grids: steering by screen directions, and walking to a clicked
cell."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from components.core import FLOOR, HIDDEN
from components.items import LOCKED, OPEN, Door, Portable, Solid
from components.objects import WALL
from gv_engine.play.grid.domain import DOMAIN
from gv_engine.play.grid.motion import Cell
from gv_engine.play.session.episode import ACTION_SEPARATOR
from gv_engine.rules import geometry
from gv_engine.rules.component import column_name
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import ACTIONS, BACKWARD, LEFT, RIGHT, rotate, step_x, step_y
from gv_engine.rules.objects import COLORS, ObjectType
from gv_engine.scenario.domains import KeyCommand
from gv_engine.scenario.readers.map import describe_object

Pose = tuple[int, int, int]
"""(y, x, facing)."""

# ---- steering ------------------------------------------------------------------------------------

_SIDE_STEPS = {"TURN_LEFT": "MOVE_LEFT", "TURN_RIGHT": "MOVE_RIGHT"}
MOVE_DIRECTIONS = {name: way for way, name in enumerate(ACTIONS[: geometry.MOVE_RIGHT + 1])}
TURN_DIRECTIONS = {"TURN_LEFT": LEFT, "TURN_RIGHT": RIGHT}
_TURNS = {LEFT: ("TURN_LEFT",), RIGHT: ("TURN_RIGHT",), BACKWARD: ("TURN_RIGHT", "TURN_RIGHT")}
_KEYS = {command.name: command.keys for command in DOMAIN.keys}
_SECOND_KEYS = {
    "MOVE_FORWARD": "W",
    "MOVE_BACKWARD": "S",
    "TURN_LEFT": "A",
    "TURN_RIGHT": "D",
    "MOVE_LEFT": "Q",
    "MOVE_RIGHT": "E",
    "ACTUATE": "F",
    "TOGGLE": "F",
    "PICK_N_DROP": "C",
    "PICK_UP": "C",
    "DROP": "B",
}
"""Keys of a second player at the same keyboard: its left half; a second gamepad has the buttons of
the first."""
_SECOND_SPARE_KEYS = "F", "C", "B"
"""Keys of a second player for actions of the level's own."""
_DIRECTIONS = {
    "STEER_UP": (geometry.FORWARD, "go up", "MOVE_FORWARD"),
    "STEER_LEFT": (LEFT, "go left", "TURN_LEFT"),
    "STEER_DOWN": (BACKWARD, "go down", "MOVE_BACKWARD"),
    "STEER_RIGHT": (RIGHT, "go right", "TURN_RIGHT"),
}
"""Steering commands by name: direction on the screen, description, and the action whose keys the
command uses."""
_TURN_COMMANDS = {
    "STEER_TURN_LEFT": ("TURN_LEFT", "turn left on the spot", "MOVE_LEFT"),
    "STEER_TURN_RIGHT": ("TURN_RIGHT", "turn right on the spot", "MOVE_RIGHT"),
}


def resolve_action(name: str, actions: Collection[str]) -> str:
    """Return the action that the key command `name` takes: `name` itself, or, if `name` is a turn
    that the level lacks, the step to the same side if the level has it.

    >>> resolve_action("TURN_LEFT", ["MOVE_FORWARD", "MOVE_LEFT"])
    'MOVE_LEFT'
    """
    side_step = _SIDE_STEPS.get(name, name)
    return side_step if name not in actions and side_step in actions else name


def has_relative_moves(actions: Collection[str], game: Any) -> bool:
    """Return True if moves of the session `game`, with these `actions`, are relative to the
    direction that the agent faces. Return False if MOVE_LEFT goes left on the screen, because
    neither the agent nor its view can turn."""
    area = getattr(getattr(game, "scenario", None), "area", None)
    return area is None or area.turns or not _SIDE_STEPS.keys().isdisjoint(actions)


def second_player_keys(action: str, used_keys: Collection[str] = ()) -> tuple[str, ...]:
    """Return the keys with which a second player takes `action`: a key of the left half of the
    keyboard, for an action of the level's own one that is not in `used_keys`, and buttons of the
    second gamepad; () if there is none."""
    spare = (key for key in _SECOND_SPARE_KEYS if key not in used_keys and action not in ACTIONS)
    key = _SECOND_KEYS.get(action) or next(spare, None)
    buttons = (f"Second {other}" for other in _KEYS.get(action, ()) if other.startswith("Pad "))
    return (key, *buttons) if key else ()


class Steering:
    """Commands for the four directions of the screen, and the actions that carry them out.

    Args:
        actions: names of the level's actions.
        others: other commands of the level, whose keys are in use.
        is_relative: whether moves are relative, see `has_relative_moves`.
        agent: name of the agent that a second player steers; "" for the agent of the first.

    Attributes:
        commands: steering commands with their keys.
        replaces: names of the move and turn commands that they replace.
        is_drawn_as_moved: True if a move turns the agent as it is drawn: it can be turned there for
            an action on what is ahead, or no action needs that.
        facing: direction in which the agent is drawn: that of its last move, also of a step to the
            side. An action on what is ahead turns the agent there first, see `turn_as_drawn`.
    """

    def __init__(
        self,
        actions: Sequence[str],
        others: Sequence[KeyCommand],
        is_relative: bool = True,
        agent: str = "",
    ) -> None:
        self._actions, self._is_relative, self._agent = actions, is_relative, agent
        self._prefix = f"{agent} " if agent else ""
        replaced = frozenset((*MOVE_DIRECTIONS, *_SIDE_STEPS))
        self.replaces = frozenset(self._prefix + name for name in replaced)
        used = {key for other in others if other.name not in self.replaces for key in other.keys}
        self._turns = {name for name in TURN_DIRECTIONS if name in actions}
        turns = {name: entry for name, entry in _TURN_COMMANDS.items() if entry[0] in self._turns}
        commands = []
        for name, (_, description, keyed_action) in {**_DIRECTIONS, **turns}.items():
            usual_keys = second_player_keys(keyed_action) if agent else _KEYS[keyed_action]
            keys = tuple(key for key in usual_keys if key not in used)
            text = f"{agent}: {description}" if agent else description
            commands.append(KeyCommand(self._prefix + name, text, keys, repeats=True))
        self.commands = tuple(commands)
        # else the direction in which the agent looks matters, and it cannot be turned as drawn
        only_moves = {*actions} <= {*MOVE_DIRECTIONS, "NOOP", "WAIT"}
        self.is_drawn_as_moved = len(self._turns) == 2 or only_moves
        self.facing = geometry.FORWARD
        self._followed: tuple[int, str, Pose] = -1, "", (-1, -1, 0)

    def follow(self, frame: Frame) -> None:
        """Set `facing` for the state of `frame`."""
        _, _, pose = self._followed
        state = frame.steps, frame.action, frame.agent
        if state == self._followed:
            return
        self._followed = state
        action = own_action(frame)
        if self.is_drawn_as_moved and action in MOVE_DIRECTIONS:
            ahead = frame.agent[2] if self._is_relative else geometry.FORWARD
            self.facing = rotate(ahead, MOVE_DIRECTIONS[action])
        elif self._turns or not action or pose[2] != frame.agent[2]:
            self.facing = frame.agent[2]

    def turn_as_drawn(self, action: str, facing: int) -> Sequence[str]:
        """Return the turn actions after which the agent faces as it is drawn on the screen, so that
        `action` affects the cell drawn ahead. () if `action` is itself a move or turn."""
        is_plain = action in (*MOVE_DIRECTIONS, *TURN_DIRECTIONS, "NOOP", "DONE", "WAIT")
        if is_plain or len(self._turns) < 2:
            return ()
        return _TURNS.get(_find_relative(facing, self.facing), ())

    def direction_of(self, action: str, facing: int) -> str:
        """Describe in words what the steering command that begins with `action` does, such as "go
        up"; "" if there is none. The agent looks in the direction `facing`."""
        relative_direction = (MOVE_DIRECTIONS | TURN_DIRECTIONS).get(action)
        if relative_direction is None and not self.turn_as_drawn(action, facing):
            return ""
        direction = rotate(facing, relative_direction or geometry.FORWARD)
        return next(text for other, text, _ in _DIRECTIONS.values() if other == direction)

    def steer(
        self, name: str, frame: Callable[[], Frame], game: Any, look_first: bool
    ) -> Iterator[str]:
        """Yield the actions that move the agent in the direction of the steering command `name`;
        the caller must take each action before it asks for the next.

        If a plain move leads in the direction, that move is taken. Else the agent turns, and then
        moves if the move has an effect. An obstacle ahead is thus faced and can be used. If the
        agent looks at the obstacle, but is drawn otherwise, only `facing` is set.

        Args:
            name: name of the command.
            frame: function that returns the current frame, called after each action.
            game: session with `mask(agent)`.
            look_first: True if the player may not know the next cell: the agent only turns towards
                a cell that is not safe, unless it looks there already.
        """
        name = name.removeprefix(self._prefix)
        if name in _TURN_COMMANDS:
            yield self._prefix + _TURN_COMMANDS[name][0]
            return
        direction = _DIRECTIONS[name][0]
        facing = self._pose(frame())[2] if self._is_relative else geometry.FORWARD
        relative_direction = _find_relative(facing, direction)
        move = ACTIONS[relative_direction]
        turns = [turn for turn in _TURNS.get(relative_direction, ()) if turn in self._turns]
        y, x, _ = self._pose(frame())
        next_cell = y + step_y(direction), x + step_x(direction)
        has_effect = game.mask(self._agent).get(move, False)
        is_unsafe = look_first and has_effect and not _is_harmless(frame(), next_cell)
        always_turns = is_unsafe or bool(self._agent)  # the second agent is drawn as it looks
        if not turns and not has_effect and self._turns and self.facing != direction:
            self.facing = direction
        elif move in self._actions and (not turns or (not always_turns and has_effect)):
            yield self._prefix + move
        elif turns:
            yield from (self._prefix + turn for turn in turns)
            turned = frame()
            is_ahead = self._pose(turned)[2] == direction
            can_move = is_ahead and game.mask(self._agent).get("MOVE_FORWARD", False)
            if can_move and (not look_first or _is_harmless(turned, next_cell)):
                yield f"{self._prefix}MOVE_FORWARD"

    def _pose(self, frame: Frame) -> Pose:
        """Return (y, x, facing) of the steered agent."""
        poses = (((*mark.cell, mark.facing)) for mark in frame.marks if mark.name == self._agent)
        return next(poses, frame.agent)


def own_action(frame: Frame) -> str:
    """Return the last action of the agent that `frame` is about; "" if it did nothing."""
    parts = (part.rpartition(" ") for part in frame.action.split(ACTION_SEPARATOR))
    names = ("", *(mark.name for mark in frame.marks[:1]))
    return next((action for name, _, action in parts if name in names), "")


def list_steerings(game: Any, actions: Sequence[str]) -> list[Steering]:
    """Return the steering of the session `game` for each player: the first, and a second one if
    there are several agents."""
    commands, others = getattr(game, "commands", ()), getattr(game, "agents", ())[1:2]
    is_relative = has_relative_moves(actions, game)
    return [Steering(actions, commands, is_relative, agent) for agent in ("", *others)]


def steer(
    steerings: Sequence[Steering],
    name: str,
    frame: Callable[[], Frame],
    game: Any,
    look_first: bool,
) -> Iterator[str]:
    """Yield the actions of the command `name` if it is one of `steerings`, as `Steering.steer`.
    Else yield the turns after which the first agent looks as it is drawn, so that the command acts
    on what is drawn ahead."""
    for steering in steerings:
        if any(command.name == name for command in steering.commands):
            yield from steering.steer(name, frame, game, look_first)
            return
    if name in game.actions:
        yield from steerings[0].turn_as_drawn(name, frame().agent[2])


def _find_relative(facing: int, direction: int) -> int:
    """Return `direction` relative to `facing`."""
    return next(way for way in range(4) if rotate(facing, way) == direction)


# ---- walking -------------------------------------------------------------------------------------

_USE_ACTIONS = ("ACTUATE", "TOGGLE", "PICK_UP", "PICK_N_DROP")
"""Actions on an object ahead, in order of preference."""
_OPENING_ACTIONS = _USE_ACTIONS[:2]
DROPS = ("DROP", "PICK_N_DROP")
"""Actions that put down the held object."""


class Walk:
    """Walk to a cell to enter it, to use its object, or to put down the held object there.

    The path is searched for again before each step. It leads over floor and open doors only, so
    that the agent enters ice, lava or a telepod only by a click on it.

    Args:
        goal: (y, x) of the goal.
        actions: names of the level's actions.
        puts: put the held object down at the goal.
        is_relative: whether moves are relative, see `has_relative_moves`.
    """

    def __init__(
        self, goal: Cell, actions: Collection[str], puts: bool = False, is_relative: bool = True
    ) -> None:
        self._goal, self._actions, self._puts = goal, actions, puts
        self._is_relative = is_relative
        self._moves = {name: MOVE_DIRECTIONS[name] for name in MOVE_DIRECTIONS if name in actions}
        self._turns = {name: TURN_DIRECTIONS[name] for name in TURN_DIRECTIONS if name in actions}
        self._expected: Pose | None = None  # pose after the last action; None if the walk ends

    def next_action(self, frame: Frame, mask: Mapping[str, bool]) -> str:
        """Return the next action of the walk to the goal; an empty text if the walk is over or no
        path exists.

        Args:
            frame: frame that the player sees.
            mask: True for each action that has an effect.
        """
        if self._puts and not frame.item[0]:
            return ""  # the object was put down
        from_outside = self._puts or _is_used_from_outside(frame, self._goal, self._actions)
        if from_outside and self._is_at_goal(frame.agent, from_outside):
            self._expected = None
            return self._choose_goal_action(frame.agent, mask)
        action, pose = self._find_first_action(frame, from_outside)
        self._expected = pose if pose[:2] != self._goal else None
        return action

    def is_as_expected(self, before: Frame, after: Frame) -> bool:
        """Return True if the walk may go on: the agent is where the last step should lead, no
        object has moved, and only floor and walls came into view."""
        if self._expected is None or after.outcome or after.message:
            return False
        length = 3 if self._is_relative else 2  # other moves may turn the agent
        if after.agent[:length] != self._expected[:length]:
            return False
        is_changed = (before.grid != after.grid).any(-1)
        is_new = is_changed & (before.grid[..., 0] == HIDDEN)
        new_types = set(after.grid[is_new][:, 0].tolist())
        return not (is_changed & ~is_new).any() and new_types <= {FLOOR, WALL}

    def _choose_goal_action(self, pose: Pose, mask: Mapping[str, bool]) -> str:
        """Return the last action of a walk that ends in front of the goal: put down the held
        object, use the object ahead, or bump into it. "" if no action has an effect. `mask` tells
        which actions do."""
        if self._puts:
            return next((name for name in DROPS if mask.get(name)), "")
        level_actions = (name for name in mask if name not in ACTIONS)
        moves = (name for name, other in self._moved_poses(pose) if other[:2] == self._goal)
        names = (*_USE_ACTIONS, *level_actions, *moves)
        return next((name for name in names if mask.get(name)), "")

    def _find_first_action(self, frame: Frame, from_outside: bool) -> tuple[str, Pose]:
        """Return the first action of a shortest path to the goal, and the agent's (y, x, facing)
        after it. The action is "" if there is no path. If `from_outside`, the path ends beside the
        goal, facing it."""
        start: Pose = frame.agent
        first_actions: dict[Pose, tuple[str, Pose]] = {start: ("", start)}
        queue = deque([start])
        while queue:
            pose = queue.popleft()
            if self._is_at_goal(pose, from_outside):
                return first_actions[pose]
            for name, other in self._next_poses(pose):
                cell = other[:2]
                is_free = cell == pose[:2] or is_safe(frame, cell)
                can_enter = is_free or (cell == self._goal and not from_outside)
                if can_enter and other not in first_actions:
                    is_first = pose == start
                    first_actions[other] = (name, other) if is_first else first_actions[pose]
                    queue.append(other)
        return "", start

    def _is_at_goal(self, pose: Pose, from_outside: bool) -> bool:
        """Return True if an agent at (y, x, facing) is in the goal cell; with `from_outside`, if it
        is next to the goal and faces it."""
        if not from_outside:
            return pose[:2] == self._goal
        y, x, facing = pose
        directions = [facing] if self._turns else self._directions(facing).values()
        return any((y + step_y(k), x + step_x(k)) == self._goal for k in directions)

    def _next_poses(self, pose: Pose) -> Iterator[tuple[str, Pose]]:
        yield from self._moved_poses(pose)
        for name, turn in self._turns.items():
            yield name, (*pose[:2], rotate(pose[2], turn))

    def _moved_poses(self, pose: Pose) -> Iterator[tuple[str, Pose]]:
        y, x, facing = pose
        for name, direction in self._directions(facing).items():
            yield name, (y + step_y(direction), x + step_x(direction), facing)

    def _directions(self, facing: int) -> dict[str, int]:
        """Return the direction on the screen of each move, by name."""
        ahead = facing if self._is_relative else geometry.FORWARD
        return {name: rotate(ahead, move) for name, move in self._moves.items()}


def _is_used_from_outside(frame: Frame, cell: Cell, actions: Collection[str]) -> bool:
    """Return True if the agent should stop next to the clicked cell and use its object, which
    blocks or can be picked up, instead of entering the cell."""
    kind, state, _ = frame.grid[cell].tolist()
    object_type = frame.types[kind]
    can_pick_up = "PICK_UP" in actions or "PICK_N_DROP" in actions
    is_item = can_pick_up and Portable in object_type.component_classes
    return is_item or is_blocking(object_type, state)


def explain_failure(frame: Frame, action: str) -> str:
    """Return the reason why `action`, an action on what is ahead, had no effect in the state of
    `frame`: a locked door ahead, or an object that the agent could take if it did not stand on it.
    Empty if neither is there."""
    if action not in _USE_ACTIONS:
        return ""
    y, x, facing = frame.agent
    height, width = frame.grid.shape[:2]
    ahead = y + step_y(facing), x + step_x(facing)
    if action in _OPENING_ACTIONS and 0 <= ahead[0] < height and 0 <= ahead[1] < width:
        kind, state, color = frame.grid[ahead].tolist()
        if Door in dict(frame.types[kind].components) and state == LOCKED:
            return f"Locked: you need the {COLORS[color].lower()} key"
    kind, state, color = frame.grid[y, x].tolist()
    if frame.item[0] or Portable not in dict(frame.types[kind].components):
        return ""
    words = describe_object(frame.types, kind, state, color)
    return f"You stand on the {words}: step off and face it"


def is_safe(frame: Frame, cell: Cell) -> bool:
    """Return True if a walk may pass through a cell: it has only floor, or an object that can block
    but does not now, such as an open door."""
    height, width = frame.grid.shape[:2]
    if not (0 <= cell[0] < height and 0 <= cell[1] < width):
        return False
    if frame.beneath is not None and frame.beneath[cell][0] > FLOOR:
        return False
    kind, state, _ = frame.grid[cell].tolist()
    if kind == FLOOR:
        return True
    object_type = frame.types[kind]
    can_block = any(is_blocking(object_type, other) for other in range(object_type.num_states))
    return can_block and not is_blocking(object_type, state)


def _is_harmless(frame: Frame, cell: Cell) -> bool:
    """Return True if a cell into which the agent can move is safe, or has an exit, a key or a
    telepod: else par would cost turns that only other keys can save."""
    name = frame.types[int(frame.grid[cell][0])].name
    return is_safe(frame, cell) or name in ("Exit", "Key", "Telepod")


def is_blocking(kind: ObjectType, state: int) -> bool:
    """Return True if an object of type `kind` in the state with index `state` blocks movement into
    its cell."""
    if kind.index == HIDDEN:
        return False  # unknown cells count as free
    if kind.state and kind.state[0] == column_name(Door):
        return state != OPEN
    return (dict(kind.components) | kind.component_changes(state)).get(Solid) is not None
