"""Patterns of PuzzleScript rules: find the cells that match them, and replace these."""

from __future__ import annotations

from gv_engine.plugins.puzzlescript.tables import MAX_ROWS, RANDOM_MOVE, Header
from gv_engine.plugins.puzzlescript.turn_state import (
    Numbers,
    Part,
    State,
    count_cells_ahead,
    put_moves,
    put_object,
    step_of,
)
from gv_engine.rules.world import World

GAP_1, GAP_2, GAP, CELL = 20, 30, 1023, (1 << 20) - 1
"""Places of the cell and of two gaps in the number of a match."""


def find_cells(program: Numbers, state: State, address: int, x: int, bits: int) -> int:
    """Return those of the `bits` of column x whose cells have what the cell pattern at `address`
    asks for."""
    width, boards = state[Part.WIDTH], state[Part.BOARDS]
    address += 1
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
    for k in range(address + 1, address + 1 + program[address]):
        bits &= ~boards[program[k] * width + x]
    return bits


def has_cells(
    program: Numbers, state: State, address: int, cell: int, step: int, first: int, end: int
) -> bool:
    """Return True if the cells `first` up to `end` of the row pattern at `address` match, if its
    first cell is `cell` and its gaps are empty."""
    height = state[Part.HEIGHT]
    for k in range(first, end):
        place = cell + step * k
        bit = 1 << place % height
        if find_cells(program, state, program[address + 4 + k], place // height, bit) == 0:
            return False
    return True


def find_row(
    w: World, program: Numbers, state: State, address: int, direction: int, start: int
) -> int:
    """Add the matches of the row pattern at `address` to the list of matches in the state, which
    has `start` numbers. Return how many there are."""
    height, width = state[Part.HEIGHT], state[Part.WIDTH]
    cells, scanned = program[address], program[address + 2]
    dx, dy = int(direction == 8), int(direction == 2)
    is_vertical = direction <= 2
    if cells > (height if is_vertical else width):
        return 0
    if dx + dy == 0:
        scanned = 1  # rows to the left and up, which have gaps, are matched cell by cell
    rows = (1 << height) - 1 >> dy * (cells - 1)
    last_x = width - dx * (cells - 1)
    all_rows = 0
    for x in range(last_x):
        bits = rows
        for k in range(scanned):
            far = program[address + 4 + k]
            bits = find_cells(program, state, far, x + dx * k, bits << dy * k) >> dy * k
            if bits == 0:
                break
        state[Part.COLUMNS][x] = bits
        all_rows |= bits
    count = start
    if all_rows == 0:
        return 0
    # PuzzleScript visits cells column by column for rules up and down, else row by row
    for outer in range(last_x if is_vertical else height):
        for inner in range(height if is_vertical else last_x):
            x, y = outer if is_vertical else inner, inner if is_vertical else outer
            if state[Part.COLUMNS][x] >> y & 1:
                cell = x * height + y
                count = add_matches(w, program, state, address, direction, cell, count)
    return count - start


def add_matches(
    w: World, program: Numbers, state: State, address: int, direction: int, cell: int, count: int
) -> int:
    """Add the matches of the row pattern at `address` that begin in a cell, one for each length of
    their gaps, to the `count` numbers of the list of matches. Return their new count."""
    cells, gaps = program[address], program[address + 1]
    first, second = program[address + 2], program[address + 3]
    step = step_of(direction, state[Part.HEIGHT])
    longest = count_cells_ahead(state, cell, direction) + 1 - cells
    if longest < 0 or (step < 0 and not has_cells(program, state, address, cell, step, 1, first)):
        return count
    for gap in range(longest + 1 if gaps else 1):
        near = cell + step * gap
        if has_cells(program, state, address, near, step, first, second):
            for more in range(longest - gap + 1 if gaps > 1 else 1):
                far = near + step * more
                if has_cells(program, state, address, far, step, second, cells):
                    if count == len(state[Part.FOUND]):
                        w.fail("a rule of the game has too many matches at once")
                        return count
                    state[Part.FOUND][count] = cell | gap << GAP_1 | more << GAP_2
                    count += 1
    return count


def find_matches(w: World, program: Numbers, state: State, rule: int) -> int:
    """Write the matches of all rows of a rule into the list of matches. Return the number of tuples
    with a match of each row, 0 for none."""
    address = rule + 5
    end = address + 1 + program[address]
    for k in range(address + 1, end):
        if state[Part.USED][program[k]] == 0:
            return 0
    tuples, start = 1, MAX_ROWS
    for row in range(program[end]):
        count = find_row(w, program, state, program[end + 1 + row], program[rule], start)
        if count == 0:
            return 0
        state[Part.FOUND][row] = count
        start += count
        tuples *= count
    return tuples


def replace_cell(
    w: World, program: Numbers, state: State, address: int, cell: int, group: int
) -> bool:
    """Change a cell as the replacement at `address` says; return True if it changes. `group` is the
    number of the rigid group of the rule, 0 for other rules."""
    cells, objects = state[Part.HEIGHT] * state[Part.WIDTH], state[Part.OBJECTS]
    has_changed, has_step, random_layer = False, False, -1
    # random objects come first, as a layer that stays as it is does not count as changed
    if program[address]:
        chosen = program[address + 1 + int(w.rng.random() * program[address])]
        random_layer = program[program[Header.LAYER_OF] + chosen]
        has_changed = put_object(state, random_layer, cell, chosen + 1)
    address += 1 + program[address]
    for k in range(address + 1, address + 1 + program[address], 3):
        layer, new = program[k], program[k + 2]
        if layer == random_layer:
            has_step = True
        else:
            new |= state[Part.MOVES][layer * cells + cell] & ~program[k + 1]
        if new & RANDOM_MOVE:
            new = new & ~RANDOM_MOVE | 1 << int(w.rng.random() * 4)
        if put_moves(program, state, layer, cell, new):
            has_changed = True
    if random_layer >= 0 and not has_step and put_moves(program, state, random_layer, cell, 0):
        has_changed = True
    address += 1 + program[address]
    for k in range(address + 1, address + 1 + program[address], 3):
        layer, only = program[k], program[k + 2]
        is_kept = layer == random_layer or only not in (0, objects[layer * cells + cell])
        if not is_kept and put_object(state, layer, cell, program[k + 1]):
            has_changed = True
    address += 1 + program[address]
    if group and hold_layers(program, state, address, cell, group):
        has_changed = True
    return has_changed


def hold_layers(program: Numbers, state: State, address: int, cell: int, group: int) -> bool:
    """Note that a rule of the rigid group moves the layers that are listed at `address` in a cell.
    Return False if other rules move all of them."""
    cells = state[Part.HEIGHT] * state[Part.WIDTH]
    layers = range(address + 1, address + 1 + program[address])
    if all(state[Part.RIGID][program[k] * cells + cell] for k in layers):
        return False
    for k in layers:
        state[Part.RIGID][program[k] * cells + cell] |= group
    return True
