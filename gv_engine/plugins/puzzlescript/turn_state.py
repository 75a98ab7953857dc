"""State of a PuzzleScript game during one turn, and functions that write its cells.

All functions of this module, `patterns.py` and `turn.py` are written in the language of rules, so
that they run as Python and compiled. `program` is the list of numbers that `tables.py` writes, and
an address is an index into it. `state` is the state during a turn, a tuple of two numbers and of
lists of integers, whose positions `Part` names:

    height, width: size of the level, at most 62 rows
    objects: object + 1, or 0, in each cell of layer 0, then of layer 1, and so on
    moves: bits of the movement there
    boards: bits of each column of each board, see `tables.py`
    used: 1 for boards that may not be empty
    found: number of matches of each row of a rule, then the matches
    columns: bits of each column that match a row
    players: bits of each column that had a player when the turn began
    rigid: numbers of the rigid groups that moved an object, as bits; 0 for none
    start: `objects` when the turn began
    notes: commands of the rules so far; the message shown; 1 for each rigid group that is off

A cell has the number `x * height + y`, which is the order in which PuzzleScript visits cells.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from gv_engine.plugins.puzzlescript.tables import (
    ANY_MOVE,
    BOARDS_OF_LAYER,
    MAX_ROWS,
    Flag,
    Header,
)

MAX_RIGID = 32
_STEP_X, _STEP_Y = {4: -1, 8: 1}, {1: -1, 2: 1}

State = Any
"""Tuple of the state during a turn, see the module."""
Numbers = Any
"""List of integers."""


class Part(IntEnum):
    """Positions in the state during a turn."""

    HEIGHT, WIDTH, OBJECTS, MOVES, BOARDS, USED = range(6)
    FOUND, COLUMNS, PLAYERS, RIGID, START, NOTES = range(6, 12)


class Note(IntEnum):
    """Positions in the notes of a turn."""

    QUEUE, SHOWN, OFF = range(3)


def make_state(height: int, width: int, program: Numbers, max_matches: int) -> State:
    """Return the state of an empty level; `max_matches` limits the matches of a rule."""
    cells = program[Header.LAYERS] * height * width
    boards = program[Header.OBJECTS] + BOARDS_OF_LAYER * program[Header.LAYERS]
    rigid_cells = cells if program[Header.FLAGS] & Flag.IS_RIGID else 1
    sizes = cells, cells, boards * width, boards, MAX_ROWS + max_matches, width
    more = width, rigid_cells, cells, Note.OFF + MAX_RIGID
    return height, width, *[[0 for _ in range(size)] for size in (*sizes, *more)]


def step_of(direction: int, height: int) -> int:
    """Return the difference of the numbers of two neighbours, the second of which is in a
    direction. It is 0 for two directions at once."""
    return _STEP_X.get(direction, 0) * height + _STEP_Y.get(direction, 0)


def count_cells_ahead(state: State, cell: int, direction: int) -> int:
    """Return the number of cells between a cell and the border in a direction."""
    height, width = state[Part.HEIGHT], state[Part.WIDTH]
    x, y = cell // height, cell % height
    first, last = (y, height - 1) if direction <= 2 else (x, width - 1)
    return int(last - first if direction in (2, 8) else first)


def put_object(state: State, layer: int, cell: int, new: int) -> bool:
    """Set the object of a layer in a cell to `new`, object + 1 or 0; return True if it changes."""
    height, width = state[Part.HEIGHT], state[Part.WIDTH]
    place = layer * width * height + cell
    old = state[Part.OBJECTS][place]
    if old == new:
        return False
    x, bit = cell // height, 1 << cell % height
    if old:
        state[Part.BOARDS][(old - 1) * width + x] ^= bit
    if new:
        state[Part.BOARDS][(new - 1) * width + x] |= bit
        state[Part.USED][new - 1] = 1
    state[Part.OBJECTS][place] = new
    return True


def put_moves(program: Numbers, state: State, layer: int, cell: int, new: int) -> bool:
    """Set the bits of the movement of a layer in a cell to `new`; return True if they change."""
    height, width = state[Part.HEIGHT], state[Part.WIDTH]
    place = layer * width * height + cell
    old = state[Part.MOVES][place]
    if old == new:
        return False
    state[Part.MOVES][place] = new
    board = program[Header.OBJECTS] + BOARDS_OF_LAYER * layer
    x, bit = cell // height, 1 << cell % height
    for move in range(ANY_MOVE):
        if (old ^ new) >> move & 1:
            state[Part.BOARDS][(board + move) * width + x] ^= bit
            state[Part.USED][board + move] = 1
    if (old == 0) != (new == 0):
        state[Part.BOARDS][(board + ANY_MOVE) * width + x] ^= bit
    return True


def restore_objects(program: Numbers, state: State) -> None:
    """Set all objects as they were when the turn began, without movements."""
    cells = state[Part.HEIGHT] * state[Part.WIDTH]
    for layer in range(program[Header.LAYERS]):
        for cell in range(cells):
            put_object(state, layer, cell, state[Part.START][layer * cells + cell])
            put_moves(program, state, layer, cell, 0)
    clear_rigid(state)


def clear_rigid(state: State) -> None:
    """Forget which rigid groups have moved which objects."""
    for place in range(len(state[Part.RIGID])):
        state[Part.RIGID][place] = 0
