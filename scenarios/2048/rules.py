"""2048: all tiles slide to one side, and two equal ones that meet become one. No agent stands on
the board."""

from collections.abc import Sequence
from typing import Annotated

from gv_engine import (
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    Bounds,
    World,
    component,
    system,
)
from gv_engine.geometry import MOVE_BACKWARD, MOVE_FORWARD, MOVE_LEFT, MOVE_RIGHT
from gv_engine.rules.component import NOTHING
from gv_engine.rules.system import ObjectTypeIndex


@component
class Score:
    """Points of the game: the numbers of the tiles that were made."""

    points: Annotated[int, Bounds(0, 40_000)] = 0


def add_tile(w: World, tile: int) -> None:
    """Put a tile into a random free cell: a 2, or a 4 with a probability of 0.1."""
    free = w.height * w.width - w.placed[tile]
    skipped = w.rng.integers(free)
    for number in range(w.height * w.width):
        y, x = number // w.width, number % w.width
        if w.at[y, x] == NOTHING:
            if skipped == 0:
                e = w.spawn(tile)
                w.place(e, y, x)
                w.set_state(e, int(w.rng.random() < 0.1))
                return
            skipped -= 1


@system(RESET)
def deal(w: World, shape: Sequence[int], tile: ObjectTypeIndex) -> None:
    """Begin with two tiles."""
    w.set_shape(shape[0], shape[1])
    add_tile(w, tile)
    add_tile(w, tile)


def count_lines(w: World, action: int) -> tuple[int, int]:
    """Return how many lines slide, and how many cells each has."""
    if action in (MOVE_LEFT, MOVE_RIGHT):
        return w.height, w.width
    return w.width, w.height


def find_cell(w: World, action: int, line: int, k: int) -> tuple[int, int]:
    """Return the cell (y, x) that is number `k` of a line, counted from the side to which it
    slides."""
    if action == MOVE_LEFT:
        return line, k
    if action == MOVE_RIGHT:
        return line, w.width - 1 - k
    return (k if action == MOVE_FORWARD else w.height - 1 - k), line


def can_merge(w: World, tile: int, state: int, other: int) -> bool:
    """Return True if two tiles in these states become one."""
    return state == other and state < w.num_states(tile) - 1


def can_slide(w: World, agent: int, action: int, tile: ObjectTypeIndex) -> bool:
    """Return True if any tile would move, or become one with another."""
    if action > MOVE_RIGHT:
        return False
    lines, length = count_lines(w, action)
    for line in range(lines):
        has_gap, before = False, -1
        for k in range(length):
            e = w.at[find_cell(w, action, line, k)]
            if e == NOTHING:
                has_gap = True
            elif has_gap or can_merge(w, tile, w.state_of(e), before):
                return True
            else:
                before = w.state_of(e)
    return False


@system(TRANSITION, when=can_slide)
def slide_tiles(w: World, agent: int, tile: ObjectTypeIndex) -> None:
    """All tiles slide to one side, two equal ones that meet become one, and a new tile appears."""
    action = w.action[agent]
    lines, length = count_lines(w, action)
    gained = 0
    for line in range(lines):
        placed, last = 0, NOTHING  # the last tile that can still become one with the next
        for k in range(length):
            e = w.at[find_cell(w, action, line, k)]
            same = last != NOTHING and can_merge(w, tile, w.state_of(e), w.state_of(last))
            if e != NOTHING and same:
                w.remove(e)
                w.set_state(last, w.state_of(last) + 1)
                gained += 2 << w.state_of(last)
                last = NOTHING
            elif e != NOTHING:
                y, x = find_cell(w, action, line, placed)
                if w.at[y, x] != e:
                    w.place(e, y, x)
                placed += 1
                last = e
    w.score.points[agent] += gained
    add_tile(w, tile)


def count_points(w: World, agent: int) -> int:
    """Return the points of the game so far."""
    return w.score.points[agent]


@system(REWARD, remember=count_points)
def merge(w: World, agent: int, was: float) -> float:
    """Number of each tile that was made."""
    return float(count_points(w, agent) - was)


@system(TERMINATING)
def has_tile(w: World, agent: int, tile: ObjectTypeIndex, number: int) -> bool:
    """There is a tile of at least this number."""
    for e in w.of_type(tile):
        if 2 << w.state_of(e) >= number:
            return True
    return False


@system(TERMINATING)
def is_stuck(w: World, agent: int, tile: ObjectTypeIndex) -> bool:
    """No tile can move."""
    for action in (MOVE_FORWARD, MOVE_BACKWARD, MOVE_LEFT, MOVE_RIGHT):
        if can_slide(w, agent, action, tile):
            return False
    return True
