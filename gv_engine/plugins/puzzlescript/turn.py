"""One turn of a PuzzleScript game: an interpreter of the numbers that `tables.py` writes, see
`turn_state.py` for its state.
"""

from __future__ import annotations

from gv_engine.plugins.puzzlescript.patterns import (
    GAP,
    GAP_1,
    GAP_2,
    POSITION,
    find_matches,
    find_replacement,
    has_cells,
    replace_cell,
    step_of,
)
from gv_engine.plugins.puzzlescript.tables import (
    AGAIN,
    ANY_MOVE,
    BOARDS_OF_LAYER,
    CANCEL,
    CHECKPOINT,
    EARLY,
    FLAGS,
    IS_RIGID,
    LATE,
    LAYER_OF,
    LAYERS,
    MAX_ROWS,
    MESSAGE,
    NEEDS_MOVE,
    OBJECTS,
    PLAYER,
    RESTART,
    WIN,
    WINS,
)
from gv_engine.plugins.puzzlescript.turn_state import (
    BOARDS,
    FOUND,
    HEIGHT,
    HELD,
    MAX_RIGID,
    MOVES,
    NOTES,
    OBJECT_AT,
    OFF,
    QUEUE,
    RIGID,
    SHOWN,
    START,
    WIDTH,
    Numbers,
    State,
    put_moves,
    put_object,
    restore_objects,
)
from gv_engine.rules.world import World

UP, DOWN, LEFT, RIGHT, ACTION, NO_INPUT = range(6)
"""Inputs of a turn."""
CHANGED, WON, WANTS_AGAIN, WANTS_RESTART, WANTS_SAVE = 1, 2, 4, 8, 16
"""Bits of the result of a turn."""
_MAX_GROUP_LOOPS, _MAX_LOOPS, _MAX_RIGID_LOOPS = 200, 200, 50


def apply_at(
    w: World, program: Numbers, state: State, rule: int, number: int, checks: bool
) -> bool:
    """Apply a rule to the tuple of matches with this number; return True if anything changes. If
    `checks`, the rows are matched again before, as earlier replacements may have changed them."""
    height, found = state[HEIGHT], state[FOUND]
    dx, dy = step_of(program[rule])
    rows = rule + 6 + program[rule + 5]
    if checks:
        start, rest = MAX_ROWS, number
        for row in range(program[rows]):
            match = found[start + rest % found[row]]
            start, rest = start + found[row], rest // found[row]
            address = program[rows + 1 + row]
            position, gap_1, gap_2 = match & POSITION, match >> GAP_1 & GAP, match >> GAP_2
            x, y = position // height, position % height
            if not (
                has_cells(program, state, address, x, y, dx, dy, 0, 0, program[address + 2])
                and has_cells(
                    program,
                    state,
                    address,
                    x,
                    y,
                    dx,
                    dy,
                    gap_1,
                    program[address + 2],
                    program[address + 3],
                )
                and has_cells(
                    program,
                    state,
                    address,
                    x,
                    y,
                    dx,
                    dy,
                    gap_1 + gap_2,
                    program[address + 3],
                    program[address],
                )
            ):
                return False
    has_changed = False
    start, rest = MAX_ROWS, number
    for row in range(program[rows]):
        match = found[start + rest % found[row]]
        start, rest = start + found[row], rest // found[row]
        address = program[rows + 1 + row]
        position, gap_1, gap_2 = match & POSITION, match >> GAP_1 & GAP, match >> GAP_2
        x, y = position // height, position % height
        for k in range(program[address]):
            far = (
                k
                + (gap_1 if k >= program[address + 2] else 0)
                + (gap_2 if k >= program[address + 3] else 0)
            )
            replacement = find_replacement(program, program[address + 4 + k])
            if replacement:
                place_x, place_y = x + dx * far, y + dy * far
                if replace_cell(
                    w, program, state, replacement, place_x, place_y, program[rule + 3]
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
    commands, queue = program[rule + 1], state[NOTES][QUEUE]
    if commands == 0 or queue & CANCEL or (queue & RESTART and not commands & CANCEL):
        return
    if commands & (CANCEL | RESTART):
        queue = 0
        state[NOTES][SHOWN] = 0
    if commands & MESSAGE and not queue & MESSAGE:
        state[NOTES][SHOWN] = program[rule + 2]
    state[NOTES][QUEUE] = queue | commands


def apply_random_rule(w: World, program: Numbers, state: State, group: int) -> bool:
    """Apply one rule of a group at a random one of its matches; return True if anything changes."""
    total = 0
    for k in range(program[group + 3]):
        total += find_matches(w, program, state, program[group + 4 + k])
    if total == 0:
        return False
    number = int(w.rng.random() * total)
    for k in range(program[group + 3]):
        rule = program[group + 4 + k]
        tuples = find_matches(w, program, state, rule)
        if number < tuples:
            has_changed = apply_at(w, program, state, rule, number, False)
            queue_commands(program, state, rule)
            return has_changed
        number -= tuples
    return False


def apply_group(w: World, program: Numbers, state: State, group: int) -> bool:
    """Apply the rules of a group again and again, until nothing changes; return True if anything
    has changed."""
    if program[group]:
        return apply_random_rule(w, program, state, group)
    rules = program[group + 3]
    has_changed = False
    for _ in range(_MAX_GROUP_LOOPS):
        changes, failures = False, 0
        for k in range(group + 4, group + 4 + rules):
            if try_rule(w, program, state, program[k]):
                changes, failures = True, 0
            else:
                failures += 1
                if failures == rules:
                    break
        if not changes:
            break
        has_changed = True
    return has_changed


def apply_groups(w: World, program: Numbers, state: State, groups: int) -> None:
    """Apply all groups in order, with their loops, but for rigid groups that are off."""
    notes = state[NOTES]
    number, loops, has_changed = 0, 0, False
    while number < program[groups]:
        group = program[groups + 1 + number]
        is_off = program[group + 2] and notes[OFF + program[group + 2]]
        if not is_off and apply_group(w, program, state, group):
            has_changed = True
        number += 1
        if has_changed and program[group + 1] >= 0:
            number = program[group + 1]
            has_changed = False
            loops += 1
            if loops > _MAX_LOOPS:
                return


def move_objects(program: Numbers, state: State) -> bool:
    """Move objects as far as there is room, and clear all movements. Return True if a rigid group
    was switched off, as one of its objects could not move."""
    height, width, moves = state[HEIGHT], state[WIDTH], state[MOVES]
    cells = height * width
    moved = True
    while moved:
        moved = False
        for x in range(width):
            rows = list_moving_rows(program, state, x)
            y = 0
            while rows:
                if rows & 1:
                    for layer in range(program[LAYERS]):
                        move = moves[layer * cells + x * height + y]
                        if move and move_object(program, state, layer, x, y, move):
                            moved = True
                rows >>= 1
                y += 1
    is_off = False
    for x in range(width):
        rows = list_moving_rows(program, state, x)
        for y in range(height):
            if rows >> y & 1:
                is_open = True
                for layer in range(program[LAYERS]):
                    place = layer * cells + x * height + y
                    if moves[place]:
                        if is_open and program[FLAGS] & IS_RIGID and state[HELD][place]:
                            is_open = False  # one layer of a cell counts
                            if state[NOTES][OFF + state[RIGID][place]] == 0:
                                state[NOTES][OFF + state[RIGID][place]] = 1
                                is_off = True
                        put_moves(program, state, layer, x, y, 0)
    for place in range(len(state[RIGID])):
        state[RIGID][place] = 0
        state[HELD][place] = 0
    return is_off


def list_moving_rows(program: Numbers, state: State, x: int) -> int:
    """Return the bits of the cells of column x in which anything moves."""
    width, boards = state[WIDTH], state[BOARDS]
    board = program[OBJECTS] + ANY_MOVE
    rows = 0
    for layer in range(program[LAYERS]):
        rows |= boards[(board + BOARDS_OF_LAYER * layer) * width + x]
    return rows


def move_object(program: Numbers, state: State, layer: int, x: int, y: int, move: int) -> bool:
    """Move an object by one cell, unless another of its layer is there, and end its movement.
    Return False if it stays."""
    height, width, objects = state[HEIGHT], state[WIDTH], state[OBJECT_AT]
    if move != 16:
        to_x = x + (1 if move == 8 else -1 if move == 4 else 0)
        to_y = y + (1 if move == 2 else -1 if move == 1 else 0)
        if not (0 <= to_x < width and 0 <= to_y < height):
            return False
        if objects[(layer * width + to_x) * height + to_y]:
            return False
        moving = objects[(layer * width + x) * height + y]
        put_object(program, state, layer, x, y, 0)
        put_object(program, state, layer, to_x, to_y, moving)
    put_moves(program, state, layer, x, y, 0)
    return True


def find_named(program: Numbers, state: State, address: int, x: int, rows: int) -> int:
    """Return those bits of column x whose cells have the objects that are listed at `address`: all
    of them if its first number is 1, else any."""
    width, boards = state[WIDTH], state[BOARDS]
    bits = rows if program[address] else 0
    for k in range(address + 2, address + 2 + program[address + 1]):
        board = boards[program[k] * width + x]
        bits = bits & board if program[address] else bits | board
    return bits


def push_players(program: Numbers, state: State, move: int) -> int:
    """Give all players a movement; return the number of their cells."""
    height, width, objects, moves = state[HEIGHT], state[WIDTH], state[OBJECT_AT], state[MOVES]
    player = program[PLAYER]
    count = 0
    for x in range(width):
        bits = find_named(program, state, player, x, (1 << height) - 1)
        for y in range(height):
            if bits >> y & 1:
                count += 1
                for k in range(player + 2, player + 2 + program[player + 1]):
                    layer = program[program[LAYER_OF] + program[k]]
                    place = (layer * width + x) * height + y
                    if objects[place] == program[k] + 1:
                        put_moves(program, state, layer, x, y, moves[place] | move)
    return count


def has_player_moved(program: Numbers, state: State) -> bool:
    """Return True if a cell that had a player when the turn began has none now."""
    height, width, objects, start = state[HEIGHT], state[WIDTH], state[OBJECT_AT], state[START]
    player = program[PLAYER]
    for x in range(width):
        for y in range(height):
            before, after = 0, 0
            for k in range(player + 2, player + 2 + program[player + 1]):
                place = (program[program[LAYER_OF] + program[k]] * width + x) * height + y
                if start[place] == program[k] + 1:
                    before += 1
                if objects[place] == program[k] + 1:
                    after += 1
            needed = program[player + 1] if program[player] else 1
            if before >= needed and after == 0:
                return True
    return False


def is_won(program: Numbers, state: State) -> bool:
    """Return True if there are win conditions, and all hold."""
    height, width = state[HEIGHT], state[WIDTH]
    rows = (1 << height) - 1
    address = program[WINS] + 1
    for _ in range(program[program[WINS]]):
        kind = program[address]
        other = address + 3 + program[address + 2]
        has_some, lacks_some = False, False
        for x in range(width):
            first = find_named(program, state, address + 1, x, rows)
            second = find_named(program, state, other, x, rows)
            has_some = has_some or (first & second) != 0
            lacks_some = lacks_some or (first & ~second) != 0
        if lacks_some if kind > 0 else has_some == (kind < 0):
            return False
        address = other + 2 + program[other + 1]
    return bool(program[program[WINS]] > 0)


def begin_turn(program: Numbers, state: State) -> None:
    """Note the objects as those at the beginning of a turn, and clear the queue."""
    objects = state[OBJECT_AT]
    for place in range(len(objects)):
        state[START][place] = objects[place]
    state[NOTES][QUEUE] = 0
    state[NOTES][SHOWN] = 0


def run_rules(w: World, program: Numbers, state: State, action: int) -> int:
    """Run all rules of a turn in which the player does `action`. Return the number of cells with a
    player, 0 without an action."""
    begin_turn(program, state)
    for number in range(MAX_RIGID):
        state[NOTES][OFF + number] = 0
    players = 0
    for _ in range(_MAX_RIGID_LOOPS):
        if action != NO_INPUT:
            players = push_players(program, state, 1 << action)
        apply_groups(w, program, state, program[EARLY])
        if not move_objects(program, state):
            apply_groups(w, program, state, program[LATE])
            return players
        restore_objects(program, state)
        state[NOTES][QUEUE] = 0
    return players


def has_changes(state: State) -> bool:
    """Return True if an object is not what it was when the turn began."""
    objects, start = state[OBJECT_AT], state[START]
    for place in range(len(objects)):
        if objects[place] != start[place]:
            return True
    return False


def run_turn(
    w: World, program: Numbers, state: State, action: int, is_start: bool, is_probe: bool
) -> int:
    """Run one turn; return the bits of what it has done and of what should follow.

    Args:
        w: the world, for its random numbers.
        t, s: see the module.
        action: input, such as `UP`.
        is_start: True for the turn at the start of a level, which cannot win or restart.
        is_probe: True if the turn counts only if it changes anything, as after `again`.
    """
    players = run_rules(w, program, state, action)
    if players and program[FLAGS] & NEEDS_MOVE and not has_player_moved(program, state):
        restore_objects(program, state)
        state[NOTES][SHOWN] = 0
        return 0
    queue = state[NOTES][QUEUE]
    if queue & CANCEL:
        restore_objects(program, state)
        return 0
    if queue & RESTART and not is_start:
        return WANTS_RESTART
    result = CHANGED if has_changes(state) else 0
    if is_probe and result == 0 and not queue & (WIN | RESTART):
        state[NOTES][SHOWN] = 0
        return 0
    if not is_start and (queue & WIN or is_won(program, state)):
        return result | WON
    if queue & AGAIN and result:
        result |= WANTS_AGAIN
    return result | (WANTS_SAVE if queue & CHECKPOINT else 0)


def changes_again(w: World, program: Numbers, state: State) -> bool:
    """Return True if a turn without input would do anything; the level stays as it is. It draws
    random numbers, as the same trial in PuzzleScript does."""
    shown = state[NOTES][SHOWN]
    run_rules(w, program, state, NO_INPUT)
    queue = state[NOTES][QUEUE]
    state[NOTES][SHOWN] = shown
    is_cancelled = queue & CANCEL != 0
    result = has_changes(state) or (queue & (WIN | RESTART)) != 0
    restore_objects(program, state)
    return queue != CANCEL if is_cancelled else result
