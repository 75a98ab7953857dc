"""State of a PuzzleScript game during one turn, and what writes its cells.

All functions of this module, `patterns.py` and `turn.py` are written in the language of rules, so
that they run as Python and compiled. `program` is the list of numbers that `tables.py` writes, and
an address is an index into it. `state` is the state during a turn, a tuple of two numbers and of
lists of integers:

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
    ANY_MOVE,
    BOARDS_OF_LAYER,
    FLAGS,
    IS_RIGID,
    LAYERS,
    MAX_ROWS,
    OBJECTS,
)

HEIGHT, WIDTH, OBJECT_AT, MOVES, BOARDS, USED = range(6)
FOUND, COLUMNS, RIGID, HELD, START, NOTES = range(6, 12)
"""Positions in the state during a turn."""
QUEUE, SHOWN, OFF = range(3)
"""Positions in the notes of a turn."""
MAX_RIGID = 32

State = Any
"""Tuple of the state during a turn, see the module."""
Numbers = Any
"""List of integers."""


def make_state(height: int, width: int, program: Numbers, max_matches: int) -> State:
    """Return the state of an empty level; `max_matches` limits the matches of a rule."""
    cells = program[LAYERS] * height * width
    boards = program[OBJECTS] + BOARDS_OF_LAYER * program[LAYERS]
    rigid_cells = cells if program[FLAGS] & IS_RIGID else 1
    sizes = cells, cells, boards * width, boards, MAX_ROWS + max_matches, width
    more = rigid_cells, rigid_cells, cells, OFF + MAX_RIGID
    return height, width, *[np.zeros(size, np.int64).tolist() for size in (*sizes, *more)]


def put_object(program: Numbers, state: State, layer: int, x: int, y: int, new: int) -> bool:
    """Set the object of a layer in a cell to `new`, object + 1 or 0; return True if it changes."""
    height, width = state[HEIGHT], state[WIDTH]
    place = (layer * width + x) * height + y
    old = state[OBJECT_AT][place]
    if old == new:
        return False
    if old:
        state[BOARDS][(old - 1) * width + x] ^= 1 << y
    if new:
        state[BOARDS][(new - 1) * width + x] |= 1 << y
        state[USED][new - 1] = 1
    state[OBJECT_AT][place] = new
    return True


def put_moves(program: Numbers, state: State, layer: int, x: int, y: int, new: int) -> bool:
    """Set the bits of the movement of a layer in a cell to `new`; return True if they change."""
    height, width = state[HEIGHT], state[WIDTH]
    place = (layer * width + x) * height + y
    old = state[MOVES][place]
    if old == new:
        return False
    state[MOVES][place] = new
    board = program[OBJECTS] + BOARDS_OF_LAYER * layer
    bit = 1 << y
    for move in range(ANY_MOVE):
        if (old ^ new) >> move & 1:
            state[BOARDS][(board + move) * width + x] ^= bit
            state[USED][board + move] = 1
    if (old == 0) != (new == 0):
        state[BOARDS][(board + ANY_MOVE) * width + x] ^= bit
    return True


def restore_objects(program: Numbers, state: State) -> None:
    """Set all objects as they were when the turn began, without movements."""
    height, width, objects, moves, start = (
        state[HEIGHT],
        state[WIDTH],
        state[OBJECT_AT],
        state[MOVES],
        state[START],
    )
    for layer in range(program[LAYERS]):
        for x in range(width):
            for y in range(height):
                place = (layer * width + x) * height + y
                if objects[place] != start[place]:
                    put_object(program, state, layer, x, y, start[place])
                if moves[place]:
                    put_moves(program, state, layer, x, y, 0)
    for place in range(len(state[RIGID])):
        state[RIGID][place] = 0
        state[HELD][place] = 0
