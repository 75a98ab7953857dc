"""Rules of PuzzleScript worlds: they build a level, run its turns, and tell whether it is won.

Each cell of the level is an object of one type, whose component `Stack` says which objects of the
game are in the cell, and whose state shows the topmost of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gv_engine.plugins.puzzlescript.components import HALF
from gv_engine.plugins.puzzlescript.tables import FLAGS, IS_RANDOM, LAYERS, RUNS_AT_START
from gv_engine.plugins.puzzlescript.turn import (
    ACTION,
    DOWN,
    LEFT,
    NO_INPUT,
    NOTES,
    OBJECT_AT,
    RIGHT,
    SHOWN,
    START,
    UP,
    WANTS_AGAIN,
    WANTS_RESTART,
    WANTS_SAVE,
    WON,
    begin_turn,
    changes_again,
    is_won,
    make_state,
    put_object,
    restore_objects,
    run_turn,
)
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_LEFT,
    MOVE_RIGHT,
    Action,
)
from gv_engine.rules.system import (
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    ObjectTypeIndex,
    PackedNumbers,
    system,
)
from gv_engine.rules.world import World

MAX_AGAIN = 500
"""Maximum number of turns that follow a turn by `again`."""


# ---- cells ---------------------------------------------------------------------------------------


def read_stack(w: World, e: int, layer: int) -> int:
    """Return the object + 1 in a layer of the cell `e`, 0 for none."""
    if layer < HALF:
        return w.stack.first[e, layer]
    return w.stack.second[e, layer - HALF]


def write_stack(w: World, e: int, layer: int, new: int) -> None:
    """Set the object in a layer of the cell `e`."""
    if layer < HALF:
        w.stack.first[e, layer] = new
    else:
        w.stack.second[e, layer - HALF] = new


def read_saved(w: World, e: int, layer: int) -> int:
    """Return the object + 1 in a layer of the cell `e` after a restart."""
    if layer < HALF:
        return w.saved.first[e, layer]
    return w.saved.second[e, layer - HALF]


def write_saved(w: World, e: int, layer: int, new: int) -> None:
    """Set the object in a layer of the cell `e` for restarts."""
    if layer < HALF:
        w.saved.first[e, layer] = new
    else:
        w.saved.second[e, layer - HALF] = new


def no_saved(w: World, e: int, layer: int) -> int:
    """Return 0: the game never restarts."""
    return 0


def save_nothing(w: World, e: int, layer: int, new: int) -> None:
    """Do nothing: the game never restarts."""


def show_top(w: World, t: Sequence[int], e: int) -> None:
    """Let the state of the cell `e` show its topmost object."""
    top = 0
    for layer in range(t[LAYERS]):
        top = max(top, read_stack(w, e, layer) and layer * 65536 + read_stack(w, e, layer))
    kind = w.kind.value[e]
    w.set_state(e, min(top % 65536, w.num_states(kind) - 1))


def load_level(w: World, t: Sequence[int], s: Any) -> None:
    """Read all cells of the world into the state of a turn."""
    first = w.at[0, 0]
    for x in range(w.width):
        for y in range(w.height):
            for layer in range(t[LAYERS]):
                new = read_stack(w, first + x * w.height + y, layer)
                if new:
                    put_object(t, s, layer, x, y, new)


def store_level(w: World, t: Sequence[int], s: Any) -> None:
    """Write the cells that a step has changed back into the world."""
    first, cells = w.at[0, 0], w.height * w.width
    for place in range(cells):
        has_changed = False
        for layer in range(t[LAYERS]):
            new = s[OBJECT_AT][layer * cells + place]
            if new != read_stack(w, first + place, layer):
                write_stack(w, first + place, layer, new)
                has_changed = True
        if has_changed:
            show_top(w, t, first + place)


def save_level(w: World, t: Sequence[int], s: Any, write: Callable[..., None]) -> None:
    """Keep the level for restarts, by the function `write`."""
    first, cells = w.at[0, 0], w.height * w.width
    for place in range(cells):
        for layer in range(t[LAYERS]):
            write(w, first + place, layer, s[OBJECT_AT][layer * cells + place])


def restart_level(w: World, t: Sequence[int], s: Any, read: Callable[..., int]) -> None:
    """Set all objects to those that were kept for restarts, which the function `read` returns."""
    first, cells = w.at[0, 0], w.height * w.width
    begin_turn(t, s)
    for place in range(cells):
        for layer in range(t[LAYERS]):
            s[START][layer * cells + place] = read(w, first + place, layer)
    restore_objects(t, s)


# ---- steps ---------------------------------------------------------------------------------------


def play_turns(
    w: World,
    t: Sequence[int],
    max_matches: int,
    first_input: int,
    is_start: bool,
    restarts: bool,
    read: Callable[..., int],
    write: Callable[..., None],
) -> None:
    """Run a turn and those that follow by `again`, and write the outcome into the world.

    Args:
        w: the world.
        t: the program of the game.
        max_matches: most matches of a rule.
        first_input: input of the first turn, such as `UP`.
        is_start: True for the turn at the start of a level.
        restarts: True to restart the level in place of the first turn.
        read, write: functions that read and write the level that is kept for restarts.
    """
    s = make_state(w.height, w.width, t, max_matches)
    load_level(w, t, s)
    w.turn_result.message[w.world] = 0
    result = WANTS_RESTART
    if not restarts:
        result = run_turn(w, t, s, first_input, is_start, False)
    for _ in range(MAX_AGAIN):
        if s[NOTES][SHOWN]:
            w.turn_result.message[w.world] = s[NOTES][SHOWN]
        if result & WANTS_RESTART:
            restart_level(w, t, s, read)
            result = 0
            if t[FLAGS] & RUNS_AT_START:
                result = run_turn(w, t, s, NO_INPUT, True, False) & ~WANTS_RESTART
            if not restarts and is_won(t, s):
                result = WON
            restarts = False
        if result & WANTS_SAVE:
            save_level(w, t, s, write)
        if result & WON:
            w.turn_result.won[w.world] = 1
            break
        if not result & WANTS_AGAIN or (t[FLAGS] & IS_RANDOM and not changes_again(w, t, s)):
            break
        result = run_turn(w, t, s, NO_INPUT, False, t[FLAGS] & IS_RANDOM == 0)
    store_level(w, t, s)


def find_input(action: int) -> int:
    """Return the input of a turn for an action; `NO_INPUT` for actions that are none."""
    if action == MOVE_FORWARD:
        return UP
    if action == MOVE_BACKWARD:
        return DOWN
    if action == MOVE_LEFT:
        return LEFT
    if action == MOVE_RIGHT:
        return RIGHT
    if action == ACTUATE:
        return ACTION
    return NO_INPUT


@system(RESET)
def build_level(
    w: World, shape: Sequence[int], cells: PackedNumbers, layers: int, object_type: ObjectTypeIndex
) -> None:
    """Build a level: `cells` has the object + 1, or 0, of each of the `layers` of each cell, the
    columns from left to right."""
    w.set_shape(shape[0], shape[1])
    for x in range(shape[1]):
        for y in range(shape[0]):
            e = w.spawn(object_type)
            w.place(e, y, x)
            top = 0
            for layer in range(layers):
                new = cells[(x * shape[0] + y) * layers + layer]
                write_stack(w, e, layer, new)
                if new:
                    top = new
            w.set_state(e, min(top, w.num_states(object_type) - 1))


@system(RESET)
def build_saved_level(
    w: World, shape: Sequence[int], cells: PackedNumbers, layers: int, object_type: ObjectTypeIndex
) -> None:
    """Build a level as `build_level` does, and keep it for restarts."""
    build_level(w, shape, cells, layers, object_type)
    first = w.at[0, 0]
    for place in range(shape[0] * shape[1]):
        for layer in range(layers):
            write_saved(w, first + place, layer, cells[place * layers + layer])


@system(TRANSITION)
def start_level(w: World, program: PackedNumbers, max_matches: int) -> None:
    """Run the rules once at the start of a level."""
    play_turns(w, program, max_matches, NO_INPUT, True, False, no_saved, save_nothing)


@system(TRANSITION)
def start_saved_level(w: World, program: PackedNumbers, max_matches: int) -> None:
    """Run the rules once at the start of a level that may restart."""
    play_turns(w, program, max_matches, NO_INPUT, True, False, read_saved, write_saved)


@system(TRANSITION)
def take_turn(w: World, agent: int, program: PackedNumbers, max_matches: int) -> None:
    """Run the rules of a turn of the game, and of turns that follow by `again`."""
    first_input = find_input(w.action[agent])
    play_turns(w, program, max_matches, first_input, False, False, no_saved, save_nothing)


@system(TRANSITION)
def take_saved_turn(
    w: World, agent: int, program: PackedNumbers, max_matches: int, restart: Action
) -> None:
    """Run the rules of a turn of a game that may restart. The action `restart` restarts the level
    at its start or last checkpoint."""
    action = w.action[agent]
    first_input = find_input(action)
    restarts = action == restart
    play_turns(w, program, max_matches, first_input, False, restarts, read_saved, write_saved)


# ---- ends ----------------------------------------------------------------------------------------


@system(REWARD)
def win(w: World, agent: int, reward: float = 1.0) -> float:
    """Pays `reward` for a win."""
    return reward if w.turn_result.won[w.world] else 0.0


@system(TERMINATING, says="You won")
def won(w: World, agent: int) -> bool:
    """The level is won."""
    return w.turn_result.won[w.world] > 0
