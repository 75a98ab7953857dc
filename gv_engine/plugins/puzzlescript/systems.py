"""Rules of PuzzleScript worlds: they build a level, run its turns, and tell whether it is won.

Each cell of the level is an object of one type, whose component `Stack` says which objects of the
game are in the cell, and whose state shows the topmost of them. `Saved` has the objects to which a
restart goes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gv_engine.plugins.puzzlescript import turn, turn_state
from gv_engine.plugins.puzzlescript.tables import Flag, Header
from gv_engine.plugins.puzzlescript.turn import NO_INPUT
from gv_engine.plugins.puzzlescript.turn_state import Note, Part
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
_INPUTS = {
    **{geometry.MOVE_FORWARD: turn.UP, geometry.MOVE_BACKWARD: turn.DOWN},
    **{geometry.MOVE_LEFT: turn.LEFT, geometry.MOVE_RIGHT: turn.RIGHT},
    geometry.ACTUATE: turn.ACTION,
}


def store_level(w: World, program: Sequence[int], state: Any, saves: bool) -> None:
    """Write the objects that a step has changed into the cells of the world. If `saves`, a restart
    goes back to them."""
    first, cells = w.at[0, 0], w.height * w.width
    for cell in range(cells):
        has_changed = False
        for layer in range(program[Header.LAYERS]):
            new = state[Part.OBJECTS][layer * cells + cell]
            if saves:
                w.saved.objects[first + cell, layer] = new
            if new != w.stack.objects[first + cell, layer]:
                w.stack.objects[first + cell, layer] = new
                has_changed = True
        if has_changed:
            show_top(w, first + cell, program[Header.LAYERS])


def load_level(w: World, program: Sequence[int], state: Any, restarts: bool) -> None:
    """Set all objects of the state of a turn to those of the cells; if `restarts`, to those that
    were kept."""
    first, cells = w.at[0, 0], w.height * w.width
    turn.begin_turn(state)
    for cell in range(cells):
        for layer in range(program[Header.LAYERS]):
            new = int(w.stack.objects[first + cell, layer])
            if restarts:
                new = int(w.saved.objects[first + cell, layer])
            state[Part.START][layer * cells + cell] = new
    turn_state.restore_objects(program, state)


def show_top(w: World, e: int, layers: int) -> None:
    """Let the state of the cell `e` show its topmost object."""
    top = 0
    for layer in range(layers):
        top = w.stack.objects[e, layer] or top
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
        program: numbers of the game, see `tables.py`.
        max_matches: most matches of a rule.
        first_input: input of the first turn, such as `UP`.
        is_start: True for the turn at the start of a level.
        restarts: True to restart the level in place of the first turn.
    """
    state = turn_state.make_state(w.height, w.width, program, max_matches)
    load_level(w, program, state, False)
    is_random = (program[Header.FLAGS] & Flag.IS_RANDOM) != 0
    w.turn_result.message[w.world] = 0
    result = turn.WANTS_RESTART
    if not restarts:
        result = turn.run_turn(w, program, state, first_input, is_start, False)
    for _ in range(MAX_AGAIN):
        if state[Part.NOTES][Note.SHOWN]:
            w.turn_result.message[w.world] = state[Part.NOTES][Note.SHOWN]
        if result & turn.WANTS_RESTART:
            load_level(w, program, state, True)
            result = 0
            if program[Header.FLAGS] & Flag.RUNS_AT_START:
                result = turn.run_turn(w, program, state, NO_INPUT, True, False)
                result &= ~turn.WANTS_RESTART
            if not restarts and turn.is_won(program, state):
                result = turn.WON
            restarts = False
        if result & turn.WANTS_SAVE:
            store_level(w, program, state, True)
        if result & turn.WON:
            w.turn_result.won[w.world] = 1
        if result & turn.WON or not result & turn.WANTS_AGAIN:
            break
        if is_random and not turn.changes_again(w, program, state):
            break
        result = turn.run_turn(w, program, state, NO_INPUT, False, not is_random)
    store_level(w, program, state, False)


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
            w.stack.objects[e, layer] = cells[place * layers + layer]
            w.saved.objects[e, layer] = cells[place * layers + layer]
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
    turn_input = _INPUTS.get(action, NO_INPUT)
    play_turns(w, program, max_matches, turn_input, False, action == restart)


@system(REWARD)
def win(w: World, agent: int, reward: float = 1.0) -> float:
    """Pays `reward` for a win."""
    return reward if w.turn_result.won[w.world] else 0.0


@system(TERMINATING, says="You won")
def won(w: World, agent: int) -> bool:
    """The level is won."""
    return w.turn_result.won[w.world] > 0
