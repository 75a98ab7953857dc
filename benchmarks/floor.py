"""Key-door 9x9 as one hand-fused kernel: the speed that these rules could reach without modularity.

The kernel implements keydoor-9x9 with its five rewards and its observation, and resets finished
worlds; tests compare it with the engine step by step. Its level generator is simpler.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN, NONE_GRID_OBJECT, YELLOW
from components.items import LOCKED, OPEN
from components.objects import DOOR, EXIT, KEY, WALL
from gv_engine.rules.geometry import (
    ACTUATE,
    LEFT,
    MOVE_RIGHT,
    PICK_N_DROP,
    RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
)

SIZE, VIEW, MAX_STEPS = 9, 7, 500
_ALL = (1 << VIEW) - 1

# by orientation in the order of `gv_engine.rules.geometry`: up, down, left, right
_Y, _X = np.array([-1, 1, 0, 0]), np.array([0, 0, -1, 1])
_TURNED = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [2, 3, 1, 0], [3, 2, 0, 1]])

WORLD = np.dtype(
    [
        ("seed", np.uint64),
        ("steps", np.int16),
        ("y", np.int8),
        ("x", np.int8),
        ("facing", np.int8),
        ("held", np.uint8),  # KEY or NONE_GRID_OBJECT
        ("cells", np.uint8, (SIZE, SIZE, 3)),  # type, state, colour
    ],
    align=True,
)


def make(num_worlds: int, seed: int = 0) -> tuple[NDArray[Any], ...]:
    """Return worlds and their output arrays: the arguments of `step` except the actions.

    Returns:
        (N,) worlds, (N, 7, 7, 3) and (N, 3) uint8 grid and item, (N,) float64 rewards, and (N,)
        bool terminated and truncated.
    """
    n = num_worlds
    worlds = np.zeros(n, WORLD)
    worlds["seed"] = np.random.default_rng(seed).integers(2**63, size=n)
    observations = np.zeros((n, VIEW, VIEW, 3), np.uint8), np.zeros((n, 3), np.uint8)
    return worlds, *observations, np.zeros(n), np.zeros(n, np.bool_), np.zeros(n, np.bool_)


@njit(inline="always")
def _random_integer(w: Any, start: int, stop: int) -> int:
    """Return a random integer in [start, stop), by SplitMix64 (Steele, Lea, Flood: Fast splittable
    pseudorandom number generators, 2014)."""
    w.seed += np.uint64(0x9E3779B97F4A7C15)
    z = w.seed
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return start + int(z % np.uint64(stop - start))


@njit
def _reset_world(w: Any) -> None:
    """Write a new key-door level into a world."""
    cells = w.cells
    for y in range(SIZE):
        for x in range(SIZE):
            edge = y == 0 or x == 0 or y == SIZE - 1 or x == SIZE - 1
            cells[y, x, 0] = WALL if edge else FLOOR
            cells[y, x, 1] = 0
            cells[y, x, 2] = 0
    cells[SIZE - 2, SIZE - 2, 0] = EXIT
    wall = _random_integer(w, 2, SIZE - 2)
    for y in range(1, SIZE - 1):
        cells[y, wall, 0] = WALL
    y = _random_integer(w, 1, SIZE - 1)
    cells[y, wall, 0] = DOOR
    cells[y, wall, 1] = LOCKED
    cells[y, wall, 2] = YELLOW
    y, x = _random_integer(w, 1, SIZE - 1), _random_integer(w, 1, wall)
    cells[y, x, 0] = KEY
    cells[y, x, 2] = YELLOW
    w.y = _random_integer(w, 1, SIZE - 1)
    w.x = _random_integer(w, 1, wall)
    w.facing = _random_integer(w, 0, 4)
    w.held = NONE_GRID_OBJECT
    w.steps = 0


@njit(inline="always")
def _apply_action(w: Any, action: int) -> float:
    """Apply an action to a world and return its reward."""
    cells = w.cells
    reward = 0.0
    if action <= MOVE_RIGHT:
        direction = _TURNED[w.facing, action]
        y, x = w.y + _Y[direction], w.x + _X[direction]
        if cells[y, x, 0] != WALL and (cells[y, x, 0] != DOOR or cells[y, x, 1] == OPEN):
            w.y, w.x = y, x
            # moves change the distance to the exit, down and right, by one
            reward = 0.2 if _Y[direction] + _X[direction] > 0 else -0.2
    elif action == TURN_LEFT:
        w.facing = _TURNED[w.facing, LEFT]
    elif action == TURN_RIGHT:
        w.facing = _TURNED[w.facing, RIGHT]
    else:
        ahead = cells[w.y + _Y[w.facing], w.x + _X[w.facing]]
        if action == ACTUATE and ahead[0] == DOOR and ahead[1] == LOCKED and w.held == KEY:
            ahead[1] = OPEN
            reward = 1.0
        elif action == PICK_N_DROP and ahead[0] == KEY:
            ahead[0] = FLOOR
            ahead[2] = 0
            w.held = KEY
            reward = 1.0
        elif action == PICK_N_DROP and ahead[0] == FLOOR and w.held == KEY:
            ahead[0] = KEY
            ahead[2] = YELLOW
            w.held = NONE_GRID_OBJECT
            reward = -1.0
    return reward


@njit(inline="always")
def _write_observation(w: Any, grid: Any, item: Any) -> None:
    """Write the agent's view and held object into `grid` and `item`."""
    cells = w.cells
    down_y, down_x = -_Y[w.facing], -_X[w.facing]
    right_y, right_x = -down_x, down_y
    y_row = w.y - (VIEW - 1) * down_y - VIEW // 2 * right_y
    x_row = w.x - (VIEW - 1) * down_x - VIEW // 2 * right_x
    left = right = 1 << VIEW // 2
    for i in range(VIEW - 1, -1, -1):
        clear = 0
        for j in range(VIEW):
            y = y_row + i * down_y + j * right_y
            x = x_row + i * down_x + j * right_x
            if 0 <= y < SIZE and 0 <= x < SIZE:
                cell = cells[y, x]
                kind = cell[0]
                grid[i, j, 0] = kind
                grid[i, j, 1] = cell[1]
                grid[i, j, 2] = cell[2]
                clear |= (kind != WALL and (kind != DOOR or cell[1] == OPEN)) << j
            else:
                grid[i, j, 0] = HIDDEN
                grid[i, j, 1] = 0
                grid[i, j, 2] = 0
        # sight spreads within the row, through clear cells, up to the first that is not
        for _ in range(VIEW // 2):
            left |= (left & clear) >> 1
            right |= (right & clear) << 1 & _ALL
        seen = left | right
        for j in range(VIEW):
            if not seen >> j & 1:
                grid[i, j, 0] = HIDDEN
                grid[i, j, 1] = 0
                grid[i, j, 2] = 0
        # and from clear cells to the next row, straight and diagonally
        left &= clear
        left |= left >> 1
        right &= clear
        right |= right << 1 & _ALL
    item[0] = w.held
    item[2] = YELLOW if w.held == KEY else 0


@njit
def reset(
    worlds: Any, grids: Any, items: Any, rewards: Any, terminated: Any, truncated: Any
) -> None:
    """Write new levels and observations into all worlds."""
    for i in range(len(worlds)):
        _reset_world(worlds[i])
        _write_observation(worlds[i], grids[i], items[i])
        rewards[i] = 0.0
        terminated[i] = truncated[i] = False


@njit(nogil=True)
def step(
    actions: Any, worlds: Any, grids: Any, items: Any, rewards: Any, terminated: Any, truncated: Any
) -> None:
    """Apply the action of every agent; reset worlds whose episode is over instead."""
    for i in range(len(worlds)):
        w = worlds[i]
        if terminated[i] or truncated[i]:
            _reset_world(w)
            rewards[i] = 0.0
            terminated[i] = truncated[i] = False
        else:
            reward = _apply_action(w, actions[i])
            w.steps += 1
            over = w.y == SIZE - 2 and w.x == SIZE - 2
            rewards[i] = reward + (5.0 if over else 0.0) - 0.05
            terminated[i] = over
            truncated[i] = w.steps >= MAX_STEPS and not over
        _write_observation(w, grids[i], items[i])
