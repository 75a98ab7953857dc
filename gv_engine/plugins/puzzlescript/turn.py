"""One turn of a PuzzleScript game: an interpreter of the numbers that `tables.py` writes, see
`turn_state.py` for its state.
"""

from __future__ import annotations

from collections.abc import Callable

from gv_engine.plugins.puzzlescript.patterns import (
    CELL,
    GAP,
    GAP_1,
    GAP_2,
    find_cells,
    find_matches,
    replace_cell,
)
from gv_engine.plugins.puzzlescript.tables import (
    ANY_MOVE,
    BOARDS_OF_LAYER,
    MAX_ROWS,
    Command,
    Flag,
    Header,
)
from gv_engine.plugins.puzzlescript.turn_state import (
    MAX_RIGID,
    Note,
    Numbers,
    Part,
    State,
    clear_rigid,
    count_cells_ahead,
    put_moves,
    put_object,
    restore_objects,
    step_of,
)
from gv_engine.rules.world import World

UP, DOWN, LEFT, RIGHT, ACTION, NO_INPUT = range(6)
"""Inputs of a turn."""
CHANGED, WON, WANTS_AGAIN, WANTS_RESTART, WANTS_SAVE = 1, 2, 4, 8, 16
"""Bits of the result of a turn."""
_MAX_GROUP_LOOPS, _MAX_LOOPS, _MAX_RIGID_LOOPS = 200, 200, 50
_ACTION_MOVE = 16

# ---- rules ---------------------------------------------------------------------------------------


def apply_at(
    w: World, program: Numbers, state: State, rule: int, number: int, checks: bool
) -> bool:
    """Apply a rule to the tuple of matches with this number; return True if anything changes. If
    `checks`, the rows are matched again before, as earlier replacements may have changed them."""
    height, found = state[Part.HEIGHT], state[Part.FOUND]
    step = step_of(program[rule], height)
    rows = rule + 6 + program[rule + 5]
    has_changed = False
    for is_checked in range(0 if checks else 1, 2):
        start, rest = MAX_ROWS, number
        for row in range(program[rows]):
            address, match = program[rows + 1 + row], found[start + rest % found[row]]
            start, rest = start + found[row], rest // found[row]
            for k in range(program[address]):
                far = k
                if k >= program[address + 2]:
                    far += match >> GAP_1 & GAP
                if k >= program[address + 3]:
                    far += match >> GAP_2
                cell, pattern = (match & CELL) + step * far, program[address + 4 + k]
                if not is_checked:
                    bit = 1 << cell % height
                    if find_cells(program, state, pattern, cell // height, bit) == 0:
                        return False
                elif program[pattern] and replace_cell(
                    w, program, state, program[pattern], cell, program[rule + 3]
                ):
                    has_changed = True
    return has_changed


def try_rule(w: World, program: Numbers, state: State, rule: int) -> bool:
    """Apply a rule wherever it matches, and queue its commands; return True if a cell changes."""
    tuples = find_matches(w, program, state, rule)
    if tuples == 0:
        return False
    has_changed = False
    if program[rule + 4]:
        for number in range(tuples):
            if apply_at(w, program, state, rule, number, number > 0):
                has_changed = True
    queue_commands(program, state, rule)
    return has_changed


def queue_commands(program: Numbers, state: State, rule: int) -> None:
    """Add the commands of a rule to the queue. `cancel` and then `restart` displace all others."""
    commands, queue = program[rule + 1], state[Part.NOTES][Note.QUEUE]
    is_ignored = queue & Command.RESTART and not commands & Command.CANCEL
    if commands == 0 or queue & Command.CANCEL or is_ignored:
        return
    if commands & (Command.CANCEL | Command.RESTART):
        queue = 0
        state[Part.NOTES][Note.SHOWN] = 0
    if commands & Command.MESSAGE and not queue & Command.MESSAGE:
        state[Part.NOTES][Note.SHOWN] = program[rule + 2]
    state[Part.NOTES][Note.QUEUE] = queue | commands


def apply_random_rule(w: World, program: Numbers, state: State, group: int) -> bool:
    """Apply one rule of a group at a random one of its matches; return True if anything changes."""
    rules = range(group + 4, group + 4 + program[group + 3])
    total = sum(find_matches(w, program, state, program[k]) for k in rules)
    if total == 0:
        return False
    number = int(w.rng.random() * total)
    for k in rules:
        tuples = find_matches(w, program, state, program[k])
        if number < tuples:
            has_changed = apply_at(w, program, state, program[k], number, False)
            queue_commands(program, state, program[k])
            return has_changed
        number -= tuples
    return False


def apply_group(w: World, program: Numbers, state: State, group: int) -> bool:
    """Apply the rules of a group again and again, until nothing changes; return True if anything
    has changed."""
    if program[group]:
        return apply_random_rule(w, program, state, group)
    has_changed = False
    for _ in range(_MAX_GROUP_LOOPS):
        is_pass_changing = False
        for k in range(group + 4, group + 4 + program[group + 3]):
            if try_rule(w, program, state, program[k]):
                is_pass_changing = True
        if not is_pass_changing:
            break
        has_changed = True
    return has_changed


def apply_groups(w: World, program: Numbers, state: State, groups: int) -> None:
    """Apply all groups in order, with their loops, but for rigid groups that are off."""
    number, loops, has_changed = 0, 0, False
    while number < program[groups] and loops <= _MAX_LOOPS:
        group = program[groups + 1 + number]
        is_off = program[group + 2] and state[Part.NOTES][Note.OFF + program[group + 2]]
        if not is_off and apply_group(w, program, state, group):
            has_changed = True
        number += 1
        if has_changed and program[group + 1] >= 0:
            number = program[group + 1]
            has_changed = False
            loops += 1


# ---- movements -----------------------------------------------------------------------------------


def visit_moving(
    program: Numbers, state: State, visit: Callable[[Numbers, State, int], bool]
) -> bool:
    """Call `visit` for each cell with a movement. Return True if any call does."""
    height, is_any = state[Part.HEIGHT], False
    for x in range(state[Part.WIDTH]):
        rows = find_moving(program, state, x)
        for y in range(height):
            if rows >> y & 1 and visit(program, state, x * height + y):
                is_any = True
    return is_any


def move_objects(program: Numbers, state: State) -> bool:
    """Move objects as far as there is room, and clear all movements. Return True if a rigid group
    was switched off, as one of its objects could not move."""
    while visit_moving(program, state, move_cell):
        pass
    is_off = visit_moving(program, state, stop_cell)
    clear_rigid(state)
    return is_off


def find_moving(program: Numbers, state: State, x: int) -> int:
    """Return the bits of the cells of column x in which anything moves."""
    board, rows = program[Header.OBJECTS] + ANY_MOVE, 0
    for layer in range(program[Header.LAYERS]):
        rows |= state[Part.BOARDS][(board + BOARDS_OF_LAYER * layer) * state[Part.WIDTH] + x]
    return rows


def move_cell(program: Numbers, state: State, cell: int) -> bool:
    """Move the objects of a cell by one cell, unless others of their layers are there, and end
    their movements. Return False if all stay."""
    height, objects = state[Part.HEIGHT], state[Part.OBJECTS]
    has_moved = False
    for layer in range(program[Header.LAYERS]):
        first = layer * height * state[Part.WIDTH]
        move = state[Part.MOVES][first + cell]
        target = cell + step_of(move, height)
        is_moving = move and target != cell and count_cells_ahead(state, cell, move) > 0
        if is_moving and objects[first + target] == 0:
            moving = objects[first + cell]
            put_object(state, layer, cell, 0)
            put_object(state, layer, target, moving)
        elif move != _ACTION_MOVE:
            continue
        put_moves(program, state, layer, cell, 0)
        has_moved = True
    return has_moved


def stop_cell(program: Numbers, state: State, cell: int) -> bool:
    """End all movements in a cell. Return True if this switches a rigid group off, as it has moved
    one of its objects."""
    is_off, is_open = False, program[Header.FLAGS] & Flag.IS_RIGID
    for layer in range(program[Header.LAYERS]):
        place = layer * state[Part.HEIGHT] * state[Part.WIDTH] + cell
        if state[Part.MOVES][place] and is_open and state[Part.RIGID][place]:
            is_open = 0  # one layer of a cell counts
            note = Note.OFF + state[Part.RIGID][place]
            is_off = state[Part.NOTES][note] == 0
            state[Part.NOTES][note] = 1
        put_moves(program, state, layer, cell, 0)
    return is_off


# ---- players and win conditions ------------------------------------------------------------------


def find_named(program: Numbers, state: State, address: int, x: int, rows: int) -> int:
    """Return those bits of column x whose cells have the objects that are listed at `address`: all
    of them if its first number is 1, else any."""
    width, boards = state[Part.WIDTH], state[Part.BOARDS]
    bits = rows if program[address] else 0
    for k in range(address + 2, address + 2 + program[address + 1]):
        board = boards[program[k] * width + x]
        bits = bits & board if program[address] else bits | board
    return bits


def push_players(program: Numbers, state: State, move: int) -> None:
    """Give all players a movement, and note their cells in the state."""
    height, width, player = state[Part.HEIGHT], state[Part.WIDTH], program[Header.PLAYER]
    for x in range(width):
        bits = find_named(program, state, player, x, (1 << height) - 1)
        state[Part.PLAYERS][x] = bits
        for cell in range(x * height, (x + 1) * height):
            if bits >> cell % height & 1:
                for k in range(player + 2, player + 2 + program[player + 1]):
                    layer = program[program[Header.LAYER_OF] + program[k]]
                    place = layer * height * width + cell
                    if state[Part.OBJECTS][place] == program[k] + 1:
                        put_moves(program, state, layer, cell, state[Part.MOVES][place] | move)


def have_players_stayed(program: Numbers, state: State) -> bool:
    """Return True if there was a player, and if all cells with a player when the turn began have an
    object of a player now."""
    player = program[Header.PLAYER]
    for x in range(state[Part.WIDTH]):
        left = state[Part.PLAYERS][x]
        for k in range(player + 2, player + 2 + program[player + 1]):
            left &= ~state[Part.BOARDS][program[k] * state[Part.WIDTH] + x]
        if left:
            return False
    return any(state[Part.PLAYERS][x] != 0 for x in range(state[Part.WIDTH]))


def is_won(program: Numbers, state: State) -> bool:
    """Return True if there are win conditions, and all hold."""
    rows = (1 << state[Part.HEIGHT]) - 1
    address = program[Header.WINS] + 1
    for _ in range(program[program[Header.WINS]]):
        kind = program[address]
        other = address + 3 + program[address + 2]
        has_some, lacks_some = False, False
        for x in range(state[Part.WIDTH]):
            first = find_named(program, state, address + 1, x, rows)
            second = find_named(program, state, other, x, rows)
            has_some = has_some or (first & second) != 0
            lacks_some = lacks_some or (first & ~second) != 0
        if lacks_some if kind > 0 else has_some == (kind < 0):
            return False
        address = other + 2 + program[other + 1]
    return bool(program[program[Header.WINS]] > 0)


# ---- turns ---------------------------------------------------------------------------------------


def begin_turn(state: State) -> None:
    """Note the objects as those at the beginning of a turn, and clear the queue."""
    for place in range(len(state[Part.OBJECTS])):
        state[Part.START][place] = state[Part.OBJECTS][place]
    state[Part.NOTES][Note.QUEUE] = 0
    state[Part.NOTES][Note.SHOWN] = 0


def run_rules(w: World, program: Numbers, state: State, action: int) -> None:
    """Run all rules of a turn in which the player does `action`."""
    begin_turn(state)
    for number in range(MAX_RIGID):
        state[Part.NOTES][Note.OFF + number] = 0
    for _ in range(_MAX_RIGID_LOOPS):
        if action != NO_INPUT:
            push_players(program, state, 1 << action)
        apply_groups(w, program, state, program[Header.EARLY])
        if not move_objects(program, state):
            apply_groups(w, program, state, program[Header.LATE])
            return
        restore_objects(program, state)
        state[Part.NOTES][Note.QUEUE] = 0


def has_changes(state: State) -> bool:
    """Return True if an object is not what it was when the turn began."""
    objects, start = state[Part.OBJECTS], state[Part.START]
    return any(objects[place] != start[place] for place in range(len(objects)))


def run_turn(
    w: World, program: Numbers, state: State, action: int, is_start: bool, is_probe: bool
) -> int:
    """Run one turn; return the bits of what it has done and of what should follow.

    Args:
        w: the world, for its random numbers.
        program, state: see `turn_state.py`.
        action: input, such as `UP`.
        is_start: True for the turn at the start of a level, which cannot win or restart.
        is_probe: True if the turn counts only if it changes anything, as after `again`.
    """
    run_rules(w, program, state, action)
    queue = state[Part.NOTES][Note.QUEUE]
    needs_move = program[Header.FLAGS] & Flag.NEEDS_MOVE and action != NO_INPUT
    if needs_move and have_players_stayed(program, state):
        state[Part.NOTES][Note.SHOWN] = 0
        queue = Command.CANCEL
    if queue & Command.CANCEL:
        restore_objects(program, state)
        return 0
    if queue & Command.RESTART and not is_start:
        return WANTS_RESTART
    result = CHANGED if has_changes(state) else 0
    if is_probe and result == 0 and not queue & (Command.WIN | Command.RESTART):
        state[Part.NOTES][Note.SHOWN] = 0
        return 0
    if not is_start and (queue & Command.WIN or is_won(program, state)):
        return result | WON
    if queue & Command.AGAIN and result:
        result |= WANTS_AGAIN
    return result | (WANTS_SAVE if queue & Command.CHECKPOINT else 0)


def changes_again(w: World, program: Numbers, state: State) -> bool:
    """Return True if a turn without input would do anything; the level stays as it is. It draws
    random numbers, as the same trial in PuzzleScript does."""
    shown = state[Part.NOTES][Note.SHOWN]
    run_rules(w, program, state, NO_INPUT)
    queue = state[Part.NOTES][Note.QUEUE]
    state[Part.NOTES][Note.SHOWN] = shown
    result = has_changes(state) or (queue & (Command.WIN | Command.RESTART)) != 0
    restore_objects(program, state)
    return queue != Command.CANCEL if queue & Command.CANCEL else result
