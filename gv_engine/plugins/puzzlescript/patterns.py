"""Patterns of PuzzleScript rules: find the cells that match them, and replace these."""

from __future__ import annotations

from gv_engine.plugins.puzzlescript.tables import LAYER_OF, MAX_ROWS
from gv_engine.plugins.puzzlescript.turn_state import (
    BOARDS,
    COLUMNS,
    FOUND,
    HEIGHT,
    HELD,
    MOVES,
    OBJECT_AT,
    RIGID,
    USED,
    WIDTH,
    Numbers,
    State,
    put_moves,
    put_object,
)
from gv_engine.rules.world import World

GAP_1, GAP_2, GAP, POSITION = 20, 30, 1023, (1 << 20) - 1
"""Places of the position and of two gaps in the number of a match."""


def find_cells(program: Numbers, state: State, address: int, x: int, bits: int) -> int:
    """Return those of the `bits` of column x whose cells have what the cell pattern at `address`
    asks for."""
    width, boards = state[WIDTH], state[BOARDS]
    end = address + 1 + program[address]
    address += 1
    while address < end:
        bits &= boards[program[address] * width + x]
        if bits == 0:
            return 0
        address += 1
    sets = program[address]
    address += 1
    for _ in range(sets):
        end = address + 1 + program[address]
        address += 1
        any_of = 0
        while address < end:
            any_of |= boards[program[address] * width + x]
            address += 1
        bits &= any_of
    end = address + 1 + program[address]
    address += 1
    while address < end and bits:
        bits &= ~boards[program[address] * width + x]
        address += 1
    return bits


def find_replacement(program: Numbers, address: int) -> int:
    """Return the address of the replacement of the cell pattern at `address`, 0 for none."""
    address += 1 + program[address]
    sets = program[address]
    address += 1
    for _ in range(sets):
        address += 1 + program[address]
    return int(program[address + 1 + program[address]])


def replace_cell(
    w: World, program: Numbers, state: State, address: int, x: int, y: int, group: int
) -> bool:
    """Change a cell as the replacement at `address` says; return True if it changes. `group` is the
    number of the rigid group of the rule, 0 for other rules."""
    height, width, objects, moves = state[HEIGHT], state[WIDTH], state[OBJECT_AT], state[MOVES]
    has_changed = False
    first, number = address + 1, program[address]
    address += 1
    for _ in range(number):
        address += 2 + max(0, -program[address + 1])
    steps, number = address + 1, program[address]
    address += 1 + 3 * number
    # what is random comes first, as a layer that stays as it is does not count as changed
    random_layer = -1
    if program[address]:
        chosen = program[address + 1 + int(w.rng.random() * program[address])]
        random_layer = program[program[LAYER_OF] + chosen]
        has_changed = put_object(program, state, random_layer, x, y, chosen + 1)
    address += 1 + program[address]
    turning = range(address + 1, address + 1 + program[address])
    address += 1 + program[address]
    has_step = False
    for k in range(steps, steps + 3 * number, 3):
        layer, new = program[k], program[k + 2]
        if layer == random_layer:
            has_step = True
        else:
            new |= moves[(layer * width + x) * height + y] & ~program[k + 1]
        for other in turning:
            if program[other] == layer:
                new |= 1 << int(w.rng.random() * 4)
        if put_moves(program, state, layer, x, y, new):
            has_changed = True
    if random_layer >= 0 and not has_step and put_moves(program, state, random_layer, x, y, 0):
        has_changed = True
    while first < steps - 1:
        layer, new = program[first], program[first + 1]
        first += 2
        if new < 0:
            old = objects[(layer * width + x) * height + y]
            end, new = first - new, old
            while first < end:
                if program[first] + 1 == old:
                    new = 0
                first += 1
        if layer != random_layer and put_object(program, state, layer, x, y, new):
            has_changed = True
    if group and hold_layers(program, state, address, x, y, group):
        has_changed = True
    return has_changed


def hold_layers(program: Numbers, state: State, address: int, x: int, y: int, group: int) -> bool:
    """Note that a rule of the rigid group moves the layers that are listed at `address` in a cell.
    Return False if it is noted already."""
    height, width = state[HEIGHT], state[WIDTH]
    place = x * height + y
    layers = range(address + 1, address + 1 + program[address])
    is_new, is_free = False, False
    for k in layers:
        own = program[k] * width * height + place
        is_new = is_new or (group & ~state[RIGID][own]) != 0
        is_free = is_free or state[HELD][own] == 0
    if not (is_new and is_free):
        return False
    for k in layers:
        own = program[k] * width * height + place
        state[RIGID][own] |= group
        state[HELD][own] = 1
    return True


def step_of(direction: int) -> tuple[int, int]:
    """Return the columns and rows that one step in a direction goes: (1, 0) for 8, right."""
    return (
        1 if direction == 8 else -1 if direction == 4 else 0,
        1 if direction == 2 else -1 if direction == 1 else 0,
    )


def find_row(program: Numbers, state: State, address: int, direction: int, start: int) -> int:
    """Add the matches of the row pattern at `address` to the list of matches in the state, which
    has `start` numbers. Return how many there are, or -1 if the list is full."""
    height, width = state[HEIGHT], state[WIDTH]
    cells, prefix = program[address], program[address + 2]
    dx, dy = step_of(direction)
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
                bits = find_cells(program, state, program[address + 4 + k], x, bits << k) >> k
            elif dy < 0:
                bits = find_cells(program, state, program[address + 4 + k], x, bits >> k) << k
            else:
                bits = find_cells(program, state, program[address + 4 + k], x + dx * k, bits)
            if bits == 0:
                break
        state[COLUMNS][x] = bits
        all_rows |= bits
    count = start
    if all_rows == 0:
        return 0
    if dx == 0:
        for x in range(first_x, last_x):
            bits = state[COLUMNS][x]
            y = 0
            while bits:
                if bits & 1:
                    count = add_matches(program, state, address, x, y, dx, dy, count)
                    if count < 0:
                        return -1
                bits >>= 1
                y += 1
    else:
        for y in range(height):
            if all_rows >> y & 1:
                for x in range(first_x, last_x):
                    if state[COLUMNS][x] >> y & 1:
                        count = add_matches(program, state, address, x, y, dx, dy, count)
                        if count < 0:
                            return -1
    return count - start


def add_matches(
    program: Numbers, state: State, address: int, x: int, y: int, dx: int, dy: int, count: int
) -> int:
    """Add the matches of the row pattern at `address` whose first cell is (y, x), one for each
    length of its gaps, to the `count` numbers of the list of matches. Return their new count, or -1
    if the list is full."""
    height, width = state[HEIGHT], state[WIDTH]
    cells, gaps, first, second = (
        program[address],
        program[address + 1],
        program[address + 2],
        program[address + 3],
    )
    if dx > 0:
        longest = width - x - cells
    elif dx < 0:
        longest = x + 1 - cells
    elif dy > 0:
        longest = height - y - cells
    else:
        longest = y + 1 - cells
    position = x * height + y
    if gaps == 0:
        if count == len(state[FOUND]):
            return -1
        state[FOUND][count] = position
        return count + 1
    for gap in range(longest + 1):
        if has_cells(
            program, state, address, x, y, dx, dy, gap, first, second if gaps > 1 else cells
        ):
            if gaps == 1:
                if count == len(state[FOUND]):
                    return -1
                state[FOUND][count] = position | gap << GAP_1
                count += 1
            else:
                for other in range(longest - gap + 1):
                    if has_cells(program, state, address, x, y, dx, dy, gap + other, second, cells):
                        if count == len(state[FOUND]):
                            return -1
                        state[FOUND][count] = position | gap << GAP_1 | other << GAP_2
                        count += 1
    return count


def has_cells(
    program: Numbers,
    state: State,
    address: int,
    x: int,
    y: int,
    dx: int,
    dy: int,
    gap: int,
    first: int,
    end: int,
) -> bool:
    """Return True if the cells `first` up to `end` of the row pattern at `address` match, behind
    gaps of `gap` cells together."""
    for k in range(first, end):
        place_x, place_y = x + dx * (k + gap), y + dy * (k + gap)
        if find_cells(program, state, program[address + 4 + k], place_x, 1 << place_y) == 0:
            return False
    return True


def find_matches(w: World, program: Numbers, state: State, rule: int) -> int:
    """Write the matches of all rows of a rule into the list of matches. Return the number of tuples
    with a match of each row, 0 for none."""
    used = state[USED]
    address = rule + 5
    end = address + 1 + program[address]
    address += 1
    while address < end:
        if used[program[address]] == 0:
            return 0
        address += 1
    tuples = 1
    start = MAX_ROWS
    for row in range(program[address]):
        count = find_row(program, state, program[address + 1 + row], program[rule], start)
        if count < 0:
            w.fail("a rule of the game has too many matches at once")
            return 0
        if count == 0:
            return 0
        state[FOUND][row] = count
        start += count
        tuples *= count
    return tuples
