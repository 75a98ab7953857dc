"""Rules of PuzzleScript worlds: they build a level, run its turns, and tell whether it is won.

Each cell of the level is an object of one type, whose component `Stack` says which objects of the
game are in the cell, and whose state shows the topmost of them. `Saved` has the objects to which a
restart goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gv_engine.plugins.puzzlescript import tables, turn, turn_state
from gv_engine.plugins.puzzlescript.components import HALF
from gv_engine.plugins.puzzlescript.tables import LAYERS
from gv_engine.plugins.puzzlescript.turn import NO_INPUT
from gv_engine.plugins.puzzlescript.turn_state import NOTES, OBJECT_AT
from gv_engine.rules import geometry
from gv_engine.rules.geometry import Action
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


def store_level(w: World, program: Sequence[int], state: Any) -> None:
    """Write the objects that a step has changed into the cells of the world."""
    first, cells = w.at[0, 0], w.height * w.width
    for place in range(cells):
        has_changed = False
        for layer in range(program[LAYERS]):
            new = state[OBJECT_AT][layer * cells + place]
            if new != read_stack(w, first + place, layer):
                write_stack(w, first + place, layer, new)
                has_changed = True
        if has_changed:
            show_top(w, first + place, program[LAYERS])


def save_level(w: World, program: Sequence[int], state: Any) -> None:
    """Keep all objects for restarts."""
    first, cells = w.at[0, 0], w.height * w.width
    for place in range(cells):
        for layer in range(program[LAYERS]):
            write_saved(w, first + place, layer, state[OBJECT_AT][layer * cells + place])


def load_level(
    w: World, program: Sequence[int], state: Any, read: Callable[[World, int, int], int]
) -> None:
    """Set all objects of the state of a turn to those that `read` returns for the cells."""
    first, cells = w.at[0, 0], w.height * w.width
    turn.begin_turn(program, state)
    for place in range(cells):
        for layer in range(program[LAYERS]):
            state[turn_state.START][layer * cells + place] = read(w, first + place, layer)
    turn_state.restore_objects(program, state)


def show_top(w: World, e: int, layers: int) -> None:
    """Let the state of the cell `e` show its topmost object."""
    top = 0
    for layer in range(layers):
        top = read_stack(w, e, layer) or top
    w.set_state(e, min(top, w.num_states(w.kind.value[e]) - 1))


def play_turns(
    w: World,
    program: Sequence[int],
    max_matches: int,
    first_input: int,
    is_start: bool,
    restarts: bool,
) -> None:
    """Run a turn and those that follow by `again`, and write the outcome into the world.

    Args:
        w: the world.
        t: the program of the game.
        max_matches: most matches of a rule.
        first_input: input of the first turn, such as `UP`.
        is_start: True for the turn at the start of a level.
        restarts: True to restart the level in place of the first turn.
    """
    state = turn_state.make_state(w.height, w.width, program, max_matches)
    load_level(w, program, state, read_stack)
    w.turn_result.message[w.world] = 0
    result = turn.WANTS_RESTART
    if not restarts:
        result = turn.run_turn(w, program, state, first_input, is_start, False)
    for _ in range(MAX_AGAIN):
        if state[NOTES][turn_state.SHOWN]:
            w.turn_result.message[w.world] = state[NOTES][turn_state.SHOWN]
        if result & turn.WANTS_RESTART:
            load_level(w, program, state, read_saved)
            result = 0
            if program[tables.FLAGS] & tables.RUNS_AT_START:
                result = (
                    turn.run_turn(w, program, state, NO_INPUT, True, False) & ~turn.WANTS_RESTART
                )
            if not restarts and turn.is_won(program, state):
                result = turn.WON
            restarts = False
        if result & turn.WANTS_SAVE:
            save_level(w, program, state)
        if result & turn.WON:
            w.turn_result.won[w.world] = 1
        is_random = (program[tables.FLAGS] & tables.IS_RANDOM) != 0
        if result & turn.WON or not result & turn.WANTS_AGAIN:
            break
        if is_random and not turn.changes_again(w, program, state):
            break
        result = turn.run_turn(w, program, state, NO_INPUT, False, not is_random)
    store_level(w, program, state)


def find_input(action: int) -> int:
    """Return the input of a turn for an action; `NO_INPUT` for actions that are none."""
    if action == geometry.MOVE_FORWARD:
        return turn.UP
    if action == geometry.MOVE_BACKWARD:
        return turn.DOWN
    if action == geometry.MOVE_LEFT:
        return turn.LEFT
    if action == geometry.MOVE_RIGHT:
        return turn.RIGHT
    return turn.ACTION if action == geometry.ACTUATE else NO_INPUT


@system(RESET)
def build_level(
    w: World, shape: Sequence[int], cells: PackedNumbers, layers: int, object_type: ObjectTypeIndex
) -> None:
    """Build a level: `cells` has the object + 1, or 0, of each of the `layers` of each cell, the
    columns from left to right."""
    w.set_shape(shape[0], shape[1])
    for place in range(shape[0] * shape[1]):
        e = w.spawn(object_type)
        w.place(e, place % shape[0], place // shape[0])
        for layer in range(layers):
            write_stack(w, e, layer, cells[place * layers + layer])
            write_saved(w, e, layer, cells[place * layers + layer])
        show_top(w, e, layers)


@system(TRANSITION)
def start_level(w: World, program: PackedNumbers, max_matches: int) -> None:
    """Run the rules once at the start of a level."""
    play_turns(w, program, max_matches, NO_INPUT, True, False)


@system(TRANSITION)
def take_turn(
    w: World, agent: int, program: PackedNumbers, max_matches: int, restart: Action
) -> None:
    """Run the rules of a turn of the game, and of turns that follow by `again`. The action
    `restart` restarts the level at its start or last checkpoint."""
    action = w.action[agent]
    play_turns(w, program, max_matches, find_input(action), False, action == restart)


@system(REWARD)
def win(w: World, agent: int, reward: float = 1.0) -> float:
    """Pays `reward` for a win."""
    return reward if w.turn_result.won[w.world] else 0.0


@system(TERMINATING, says="You won")
def won(w: World, agent: int) -> bool:
    """The level is won."""
    return w.turn_result.won[w.world] > 0
