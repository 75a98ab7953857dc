"""One turn of a PuzzleScript game: an interpreter of the numbers that `tables.py` writes.

All functions here are written in the language of rules, so that they run as Python and compiled.
`t` is the list of numbers. `s` is the state during a turn, a tuple of two numbers and of lists of
integers:

    height, width: size of the level, at most 62 rows
    objects: object + 1, or 0, at each position of layer 0, then of layer 1, and so on
    moves: bits of the movement there
    boards: bits of each column of each board, see `tables.py`
    used: 1 for boards that may not be empty
    found: number of matches of each row of a rule, then the matches
    columns: bits of each column that match a row
    rigid, held: number of the rigid group that moved an object, and whether one did
    start: `objects` when the turn began
    notes: commands of the rules so far; the message shown; 1 for each rigid group that is off

A position is `x * height + y`, which is the order in which PuzzleScript visits cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np

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
from gv_engine.rules.world import World

HEIGHT, WIDTH, OBJECT_AT, MOVES, BOARDS, USED = range(6)
FOUND, COLUMNS, RIGID, HELD, START, NOTES = range(6, 12)
"""Positions in the state during a turn."""
UP, DOWN, LEFT, RIGHT, ACTION, NO_INPUT = range(6)
"""Inputs of a turn."""
CHANGED, WON, WANTS_AGAIN, WANTS_RESTART, WANTS_SAVE = 1, 2, 4, 8, 16
"""Bits of the result of a turn."""
QUEUE, SHOWN, OFF = range(3)
"""Positions in the notes of a turn."""
_MAX_RIGID, _MAX_GROUP_LOOPS, _MAX_LOOPS, _MAX_RIGID_LOOPS = 32, 200, 200, 50
_GAP_1, _GAP_2, _GAP, _POSITION = 20, 30, 1023, (1 << 20) - 1
"""Places of the position and of two gaps in the number of a match."""

State = Any
"""Tuple of the state during a turn, see the module."""
Numbers = Any
"""List of integers."""


def make_state(height: int, width: int, t: Numbers, max_matches: int) -> State:
    """Return the state of an empty level; `max_matches` limits the matches of a rule."""
    cells = t[LAYERS] * height * width
    boards = t[OBJECTS] + BOARDS_OF_LAYER * t[LAYERS]
    rigid_cells = cells if t[FLAGS] & IS_RIGID else 1
    sizes = cells, cells, boards * width, boards, MAX_ROWS + max_matches, width
    more = rigid_cells, rigid_cells, cells, OFF + _MAX_RIGID
    return height, width, *[np.zeros(size, np.int64).tolist() for size in (*sizes, *more)]


# ---- cells ---------------------------------------------------------------------------------------


def put_object(t: Numbers, s: State, layer: int, x: int, y: int, new: int) -> bool:
    """Set the object of a layer in a cell to `new`, object + 1 or 0; return True if it changes."""
    height, width = s[HEIGHT], s[WIDTH]
    place = (layer * width + x) * height + y
    old = s[OBJECT_AT][place]
    if old == new:
        return False
    if old:
        s[BOARDS][(old - 1) * width + x] ^= 1 << y
    if new:
        s[BOARDS][(new - 1) * width + x] |= 1 << y
        s[USED][new - 1] = 1
    s[OBJECT_AT][place] = new
    return True


def put_moves(t: Numbers, s: State, layer: int, x: int, y: int, new: int) -> bool:
    """Set the bits of the movement of a layer in a cell to `new`; return True if they change."""
    height, width = s[HEIGHT], s[WIDTH]
    place = (layer * width + x) * height + y
    old = s[MOVES][place]
    if old == new:
        return False
    s[MOVES][place] = new
    board = t[OBJECTS] + BOARDS_OF_LAYER * layer
    bit = 1 << y
    for move in range(ANY_MOVE):
        if (old ^ new) >> move & 1:
            s[BOARDS][(board + move) * width + x] ^= bit
            s[USED][board + move] = 1
    if (old == 0) != (new == 0):
        s[BOARDS][(board + ANY_MOVE) * width + x] ^= bit
    return True


def restore_objects(t: Numbers, s: State) -> None:
    """Set all objects as they were when the turn began, without movements."""
    height, width, objects, moves, start = s[HEIGHT], s[WIDTH], s[OBJECT_AT], s[MOVES], s[START]
    for layer in range(t[LAYERS]):
        for x in range(width):
            for y in range(height):
                place = (layer * width + x) * height + y
                if objects[place] != start[place]:
                    put_object(t, s, layer, x, y, start[place])
                if moves[place]:
                    put_moves(t, s, layer, x, y, 0)
    for place in range(len(s[RIGID])):
        s[RIGID][place] = 0
        s[HELD][place] = 0


def find_cells(t: Numbers, s: State, p: int, x: int, bits: int) -> int:
    """Return those of the `bits` of column x whose cells have what the cell pattern at `p` asks
    for."""
    width, boards = s[WIDTH], s[BOARDS]
    end = p + 1 + t[p]
    p += 1
    while p < end:
        bits &= boards[t[p] * width + x]
        if bits == 0:
            return 0
        p += 1
    sets = t[p]
    p += 1
    for _ in range(sets):
        end = p + 1 + t[p]
        p += 1
        any_of = 0
        while p < end:
            any_of |= boards[t[p] * width + x]
            p += 1
        bits &= any_of
    end = p + 1 + t[p]
    p += 1
    while p < end and bits:
        bits &= ~boards[t[p] * width + x]
        p += 1
    return bits


def find_replacement(t: Numbers, p: int) -> int:
    """Return the address of the replacement of the cell pattern at `p`, 0 for none."""
    p += 1 + t[p]
    sets = t[p]
    p += 1
    for _ in range(sets):
        p += 1 + t[p]
    return int(t[p + 1 + t[p]])


def replace_cell(w: World, t: Numbers, s: State, p: int, x: int, y: int, group: int) -> bool:
    """Change a cell as the replacement at `p` says; return True if it changes. `group` is the
    number of the rigid group of the rule, 0 for other rules."""
    height, width, objects, moves = s[HEIGHT], s[WIDTH], s[OBJECT_AT], s[MOVES]
    has_changed = False
    first, number = p + 1, t[p]
    p += 1
    for _ in range(number):
        p += 2 + max(0, -t[p + 1])
    steps, number = p + 1, t[p]
    p += 1 + 3 * number
    # what is random comes first, as a layer that stays as it is does not count as changed
    random_layer = -1
    if t[p]:
        chosen = t[p + 1 + int(w.rng.random() * t[p])]
        random_layer = t[t[LAYER_OF] + chosen]
        has_changed = put_object(t, s, random_layer, x, y, chosen + 1)
    p += 1 + t[p]
    turning = range(p + 1, p + 1 + t[p])
    p += 1 + t[p]
    has_step = False
    for k in range(steps, steps + 3 * number, 3):
        layer, new = t[k], t[k + 2]
        if layer == random_layer:
            has_step = True
        else:
            new |= moves[(layer * width + x) * height + y] & ~t[k + 1]
        for other in turning:
            if t[other] == layer:
                new |= 1 << int(w.rng.random() * 4)
        if put_moves(t, s, layer, x, y, new):
            has_changed = True
    if random_layer >= 0 and not has_step and put_moves(t, s, random_layer, x, y, 0):
        has_changed = True
    while first < steps - 1:
        layer, new = t[first], t[first + 1]
        first += 2
        if new < 0:
            old = objects[(layer * width + x) * height + y]
            end, new = first - new, old
            while first < end:
                if t[first] + 1 == old:
                    new = 0
                first += 1
        if layer != random_layer and put_object(t, s, layer, x, y, new):
            has_changed = True
    if group and hold_layers(t, s, p, x, y, group):
        has_changed = True
    return has_changed


def hold_layers(t: Numbers, s: State, p: int, x: int, y: int, group: int) -> bool:
    """Note that a rule of the rigid group moves the layers that are listed at `p` in a cell. Return
    False if it is noted already."""
    height, width = s[HEIGHT], s[WIDTH]
    place = x * height + y
    layers = range(p + 1, p + 1 + t[p])
    is_new, is_free = False, False
    for k in layers:
        own = t[k] * width * height + place
        is_new = is_new or (group & ~s[RIGID][own]) != 0
        is_free = is_free or s[HELD][own] == 0
    if not (is_new and is_free):
        return False
    for k in layers:
        own = t[k] * width * height + place
        s[RIGID][own] |= group
        s[HELD][own] = 1
    return True


# ---- matches -------------------------------------------------------------------------------------


def find_row(t: Numbers, s: State, p: int, direction: int, start: int) -> int:
    """Write the matches of the row pattern at `p` into the list of matches, from the index `start`
    on; return their number, or -1 if they are too many."""
    height, width = s[HEIGHT], s[WIDTH]
    cells, gaps, prefix = t[p], t[p + 1], t[p + 2]
    p += 4
    dx = 1 if direction == 8 else -1 if direction == 4 else 0
    dy = 1 if direction == 2 else -1 if direction == 1 else 0
    first_x, last_x, rows = 0, width, (1 << height) - 1
    if dx > 0:
        last_x = width - cells + 1
    elif dx < 0:
        first_x = cells - 1
    elif cells > height:
        return 0
    elif dy > 0:
        rows >>= cells - 1
    else:
        rows = rows >> (cells - 1) << (cells - 1)
    all_rows = 0
    for x in range(first_x, last_x):
        bits = rows
        for k in range(prefix):
            if dy > 0:
                bits = find_cells(t, s, t[p + k], x, bits << k) >> k
            elif dy < 0:
                bits = find_cells(t, s, t[p + k], x, bits >> k) << k
            else:
                bits = find_cells(t, s, t[p + k], x + dx * k, bits)
            if bits == 0:
                break
        s[COLUMNS][x] = bits
        all_rows |= bits
    count = start
    if all_rows == 0:
        return 0
    if dx == 0:
        for x in range(first_x, last_x):
            bits = s[COLUMNS][x]
            y = 0
            while bits:
                if bits & 1:
                    if gaps == 0:
                        if count == len(s[FOUND]):
                            return -1
                        s[FOUND][count] = x * height + y
                        count += 1
                    else:
                        count = find_behind_gaps(t, s, p - 4, x, y, dx, dy, count)
                        if count < 0:
                            return -1
                bits >>= 1
                y += 1
    else:
        for y in range(height):
            if all_rows >> y & 1:
                for x in range(first_x, last_x):
                    if s[COLUMNS][x] >> y & 1:
                        if gaps == 0:
                            if count == len(s[FOUND]):
                                return -1
                            s[FOUND][count] = x * height + y
                            count += 1
                        else:
                            count = find_behind_gaps(t, s, p - 4, x, y, dx, dy, count)
                            if count < 0:
                                return -1
    return count - start


def find_behind_gaps(
    t: Numbers, s: State, p: int, x: int, y: int, dx: int, dy: int, count: int
) -> int:
    """Write the matches of the row pattern at `p` whose first cell is (y, x), one for each length
    of its gaps, from index `count` on; return the index behind them, or -1 if they are too many."""
    height, width = s[HEIGHT], s[WIDTH]
    cells, gaps, first, second = t[p], t[p + 1], t[p + 2], t[p + 3]
    if dx > 0:
        longest = width - x - cells
    elif dx < 0:
        longest = x + 1 - cells
    elif dy > 0:
        longest = height - y - cells
    else:
        longest = y + 1 - cells
    position = x * height + y
    for gap in range(longest + 1):
        if has_cells(t, s, p, x, y, dx, dy, gap, first, second if gaps > 1 else cells):
            if gaps == 1:
                if count == len(s[FOUND]):
                    return -1
                s[FOUND][count] = position | gap << _GAP_1
                count += 1
            else:
                for other in range(longest - gap + 1):
                    if has_cells(t, s, p, x, y, dx, dy, gap + other, second, cells):
                        if count == len(s[FOUND]):
                            return -1
                        s[FOUND][count] = position | gap << _GAP_1 | other << _GAP_2
                        count += 1
    return count


def has_cells(
    t: Numbers, s: State, p: int, x: int, y: int, dx: int, dy: int, gap: int, first: int, end: int
) -> bool:
    """Return True if the cells `first` up to `end` of the row pattern at `p` match, behind gaps of
    `gap` cells together."""
    for k in range(first, end):
        place_x, place_y = x + dx * (k + gap), y + dy * (k + gap)
        if find_cells(t, s, t[p + 4 + k], place_x, 1 << place_y) == 0:
            return False
    return True


def find_matches(w: World, t: Numbers, s: State, rule: int) -> int:
    """Write the matches of all rows of a rule into the list of matches. Return the number of tuples
    with a match of each row, 0 for none."""
    used = s[USED]
    p = rule + 5
    end = p + 1 + t[p]
    p += 1
    while p < end:
        if used[t[p]] == 0:
            return 0
        p += 1
    tuples = 1
    start = MAX_ROWS
    for row in range(t[p]):
        count = find_row(t, s, t[p + 1 + row], t[rule], start)
        if count < 0:
            w.fail("a rule of the game has too many matches at once")
            return 0
        if count == 0:
            return 0
        s[FOUND][row] = count
        start += count
        tuples *= count
    return tuples


def apply_at(w: World, t: Numbers, s: State, rule: int, number: int, checks: bool) -> bool:
    """Apply a rule to the tuple of matches with this number; return True if anything changes. If
    `checks`, the rows are matched again before, as earlier replacements may have changed them."""
    height, found = s[HEIGHT], s[FOUND]
    direction = t[rule]
    dx = 1 if direction == 8 else -1 if direction == 4 else 0
    dy = 1 if direction == 2 else -1 if direction == 1 else 0
    rows = rule + 6 + t[rule + 5]
    if checks:
        start, rest = MAX_ROWS, number
        for row in range(t[rows]):
            match = found[start + rest % found[row]]
            start, rest = start + found[row], rest // found[row]
            p = t[rows + 1 + row]
            position, gap_1, gap_2 = match & _POSITION, match >> _GAP_1 & _GAP, match >> _GAP_2
            x, y = position // height, position % height
            if not (
                has_cells(t, s, p, x, y, dx, dy, 0, 0, t[p + 2])
                and has_cells(t, s, p, x, y, dx, dy, gap_1, t[p + 2], t[p + 3])
                and has_cells(t, s, p, x, y, dx, dy, gap_1 + gap_2, t[p + 3], t[p])
            ):
                return False
    has_changed = False
    start, rest = MAX_ROWS, number
    for row in range(t[rows]):
        match = found[start + rest % found[row]]
        start, rest = start + found[row], rest // found[row]
        p = t[rows + 1 + row]
        position, gap_1, gap_2 = match & _POSITION, match >> _GAP_1 & _GAP, match >> _GAP_2
        x, y = position // height, position % height
        for k in range(t[p]):
            far = k + (gap_1 if k >= t[p + 2] else 0) + (gap_2 if k >= t[p + 3] else 0)
            replacement = find_replacement(t, t[p + 4 + k])
            if replacement:
                place_x, place_y = x + dx * far, y + dy * far
                if replace_cell(w, t, s, replacement, place_x, place_y, t[rule + 3]):
                    has_changed = True
    return has_changed


def try_rule(w: World, t: Numbers, s: State, rule: int) -> bool:
    """Apply a rule wherever it matches, and queue its commands; return True if anything changes."""
    tuples = find_matches(w, t, s, rule)
    if tuples == 0:
        return False
    has_changed = False
    if t[rule + 4]:
        for number in range(tuples):
            if apply_at(w, t, s, rule, number, number > 0):
                has_changed = True
    queue_commands(t, s, rule)
    return has_changed


def queue_commands(t: Numbers, s: State, rule: int) -> None:
    """Add the commands of a rule to the queue. `cancel` and then `restart` displace all others."""
    commands, queue = t[rule + 1], s[NOTES][QUEUE]
    if commands == 0 or queue & CANCEL or (queue & RESTART and not commands & CANCEL):
        return
    if commands & (CANCEL | RESTART):
        queue = 0
        s[NOTES][SHOWN] = 0
    if commands & MESSAGE and not queue & MESSAGE:
        s[NOTES][SHOWN] = t[rule + 2]
    s[NOTES][QUEUE] = queue | commands


# ---- groups --------------------------------------------------------------------------------------


def apply_random_rule(w: World, t: Numbers, s: State, group: int) -> bool:
    """Apply one rule of a group at a random one of its matches; return True if anything changes."""
    total = 0
    for k in range(t[group + 3]):
        total += find_matches(w, t, s, t[group + 4 + k])
    if total == 0:
        return False
    number = int(w.rng.random() * total)
    for k in range(t[group + 3]):
        rule = t[group + 4 + k]
        tuples = find_matches(w, t, s, rule)
        if number < tuples:
            has_changed = apply_at(w, t, s, rule, number, False)
            queue_commands(t, s, rule)
            return has_changed
        number -= tuples
    return False


def apply_group(w: World, t: Numbers, s: State, group: int) -> bool:
    """Apply the rules of a group again and again, until nothing changes; return True if anything
    has changed."""
    if t[group]:
        return apply_random_rule(w, t, s, group)
    rules = t[group + 3]
    has_changed = False
    for _ in range(_MAX_GROUP_LOOPS):
        changes, failures = False, 0
        for k in range(group + 4, group + 4 + rules):
            if try_rule(w, t, s, t[k]):
                changes, failures = True, 0
            else:
                failures += 1
                if failures == rules:
                    break
        if not changes:
            break
        has_changed = True
    return has_changed


def apply_groups(w: World, t: Numbers, s: State, groups: int) -> None:
    """Apply all groups in order, with their loops, but for rigid groups that are off."""
    notes = s[NOTES]
    number, loops, has_changed = 0, 0, False
    while number < t[groups]:
        group = t[groups + 1 + number]
        is_off = t[group + 2] and notes[OFF + t[group + 2]]
        if not is_off and apply_group(w, t, s, group):
            has_changed = True
        number += 1
        if has_changed and t[group + 1] >= 0:
            number = t[group + 1]
            has_changed = False
            loops += 1
            if loops > _MAX_LOOPS:
                return


def move_objects(t: Numbers, s: State) -> bool:
    """Move objects as far as there is room, and clear all movements. Return True if a rigid group
    was switched off, as one of its objects could not move."""
    height, width, moves = s[HEIGHT], s[WIDTH], s[MOVES]
    cells = height * width
    moved = True
    while moved:
        moved = False
        for x in range(width):
            rows = list_moving_rows(t, s, x)
            y = 0
            while rows:
                if rows & 1:
                    for layer in range(t[LAYERS]):
                        move = moves[layer * cells + x * height + y]
                        if move and move_object(t, s, layer, x, y, move):
                            moved = True
                rows >>= 1
                y += 1
    is_off = False
    for x in range(width):
        rows = list_moving_rows(t, s, x)
        for y in range(height):
            if rows >> y & 1:
                is_open = True
                for layer in range(t[LAYERS]):
                    place = layer * cells + x * height + y
                    if moves[place]:
                        if is_open and t[FLAGS] & IS_RIGID and s[HELD][place]:
                            is_open = False  # one layer of a cell counts
                            if s[NOTES][OFF + s[RIGID][place]] == 0:
                                s[NOTES][OFF + s[RIGID][place]] = 1
                                is_off = True
                        put_moves(t, s, layer, x, y, 0)
    for place in range(len(s[RIGID])):
        s[RIGID][place] = 0
        s[HELD][place] = 0
    return is_off


def list_moving_rows(t: Numbers, s: State, x: int) -> int:
    """Return the bits of the cells of column x in which anything moves."""
    width, boards = s[WIDTH], s[BOARDS]
    board = t[OBJECTS] + ANY_MOVE
    rows = 0
    for layer in range(t[LAYERS]):
        rows |= boards[(board + BOARDS_OF_LAYER * layer) * width + x]
    return rows


def move_object(t: Numbers, s: State, layer: int, x: int, y: int, move: int) -> bool:
    """Move an object by one cell, unless another of its layer is there, and end its movement.
    Return False if it stays."""
    height, width, objects = s[HEIGHT], s[WIDTH], s[OBJECT_AT]
    if move != 16:
        to_x = x + (1 if move == 8 else -1 if move == 4 else 0)
        to_y = y + (1 if move == 2 else -1 if move == 1 else 0)
        if not (0 <= to_x < width and 0 <= to_y < height):
            return False
        if objects[(layer * width + to_x) * height + to_y]:
            return False
        moving = objects[(layer * width + x) * height + y]
        put_object(t, s, layer, x, y, 0)
        put_object(t, s, layer, to_x, to_y, moving)
    put_moves(t, s, layer, x, y, 0)
    return True


# ---- turns ---------------------------------------------------------------------------------------


def find_named(t: Numbers, s: State, p: int, x: int, rows: int) -> int:
    """Return those bits of column x whose cells have the objects that are listed at `p`: all of
    them if its first number is 1, else any."""
    width, boards = s[WIDTH], s[BOARDS]
    bits = rows if t[p] else 0
    for k in range(p + 2, p + 2 + t[p + 1]):
        board = boards[t[k] * width + x]
        bits = bits & board if t[p] else bits | board
    return bits


def push_players(t: Numbers, s: State, move: int) -> int:
    """Give all players a movement; return the number of their cells."""
    height, width, objects, moves = s[HEIGHT], s[WIDTH], s[OBJECT_AT], s[MOVES]
    player = t[PLAYER]
    count = 0
    for x in range(width):
        bits = find_named(t, s, player, x, (1 << height) - 1)
        for y in range(height):
            if bits >> y & 1:
                count += 1
                for k in range(player + 2, player + 2 + t[player + 1]):
                    layer = t[t[LAYER_OF] + t[k]]
                    place = (layer * width + x) * height + y
                    if objects[place] == t[k] + 1:
                        put_moves(t, s, layer, x, y, moves[place] | move)
    return count


def has_player_moved(t: Numbers, s: State) -> bool:
    """Return True if a cell that had a player when the turn began has none now."""
    height, width, objects, start = s[HEIGHT], s[WIDTH], s[OBJECT_AT], s[START]
    player = t[PLAYER]
    for x in range(width):
        for y in range(height):
            before, after = 0, 0
            for k in range(player + 2, player + 2 + t[player + 1]):
                place = (t[t[LAYER_OF] + t[k]] * width + x) * height + y
                if start[place] == t[k] + 1:
                    before += 1
                if objects[place] == t[k] + 1:
                    after += 1
            needed = t[player + 1] if t[player] else 1
            if before >= needed and after == 0:
                return True
    return False


def is_won(t: Numbers, s: State) -> bool:
    """Return True if there are win conditions, and all hold."""
    height, width = s[HEIGHT], s[WIDTH]
    rows = (1 << height) - 1
    p = t[WINS] + 1
    for _ in range(t[t[WINS]]):
        kind = t[p]
        other = p + 3 + t[p + 2]
        has_some, lacks_some = False, False
        for x in range(width):
            first = find_named(t, s, p + 1, x, rows)
            second = find_named(t, s, other, x, rows)
            has_some = has_some or (first & second) != 0
            lacks_some = lacks_some or (first & ~second) != 0
        if lacks_some if kind > 0 else has_some == (kind < 0):
            return False
        p = other + 2 + t[other + 1]
    return bool(t[t[WINS]] > 0)


def begin_turn(t: Numbers, s: State) -> None:
    """Note the objects as those at the beginning of a turn, and clear the queue."""
    objects = s[OBJECT_AT]
    for place in range(len(objects)):
        s[START][place] = objects[place]
    s[NOTES][QUEUE] = 0
    s[NOTES][SHOWN] = 0


def run_rules(w: World, t: Numbers, s: State, action: int) -> int:
    """Run all rules of a turn in which the player does `action`. Return the number of cells with a
    player, 0 without an action."""
    begin_turn(t, s)
    for number in range(_MAX_RIGID):
        s[NOTES][OFF + number] = 0
    players = 0
    for _ in range(_MAX_RIGID_LOOPS):
        if action != NO_INPUT:
            players = push_players(t, s, 1 << action)
        apply_groups(w, t, s, t[EARLY])
        if not move_objects(t, s):
            apply_groups(w, t, s, t[LATE])
            return players
        restore_objects(t, s)
        s[NOTES][QUEUE] = 0
    return players


def has_changes(s: State) -> bool:
    """Return True if an object is not what it was when the turn began."""
    objects, start = s[OBJECT_AT], s[START]
    for place in range(len(objects)):
        if objects[place] != start[place]:
            return True
    return False


def run_turn(w: World, t: Numbers, s: State, action: int, is_start: bool, is_probe: bool) -> int:
    """Run one turn; return the bits of what it has done and of what should follow.

    Args:
        w: the world, for its random numbers.
        t, s: see the module.
        action: input, such as `UP`.
        is_start: True for the turn at the start of a level, which cannot win or restart.
        is_probe: True if the turn counts only if it changes anything, as after `again`.
    """
    players = run_rules(w, t, s, action)
    if players and t[FLAGS] & NEEDS_MOVE and not has_player_moved(t, s):
        restore_objects(t, s)
        s[NOTES][SHOWN] = 0
        return 0
    queue = s[NOTES][QUEUE]
    if queue & CANCEL:
        restore_objects(t, s)
        return 0
    if queue & RESTART and not is_start:
        return WANTS_RESTART
    result = CHANGED if has_changes(s) else 0
    if is_probe and result == 0 and not queue & (WIN | RESTART):
        s[NOTES][SHOWN] = 0
        return 0
    if not is_start and (queue & WIN or is_won(t, s)):
        return result | WON
    if queue & AGAIN and result:
        result |= WANTS_AGAIN
    return result | (WANTS_SAVE if queue & CHECKPOINT else 0)


def changes_again(w: World, t: Numbers, s: State) -> bool:
    """Return True if a turn without input would do anything; the level stays as it is. It draws
    random numbers, as the same trial in PuzzleScript does."""
    shown = s[NOTES][SHOWN]
    run_rules(w, t, s, NO_INPUT)
    queue = s[NOTES][QUEUE]
    s[NOTES][SHOWN] = shown
    is_cancelled = queue & CANCEL != 0
    result = has_changes(s) or (queue & (WIN | RESTART)) != 0
    restore_objects(t, s)
    return queue != CANCEL if is_cancelled else result
