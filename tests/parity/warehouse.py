"""Multi-robot warehouse beside rware."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.parity import Arrays, KnownWorld, Level, play_episodes

_NOOP, _FORWARD, _LEFT, _RIGHT, _LOAD = range(5)
_SENSIBLE = 0.8
"""How likely a robot does what all do at a time; else it acts at random."""
_WAYS = ((0, -1), (0, 1), (-1, 0), (1, 0))
"""Changes of x and y by direction: up, down, left, right."""
_CLOCKWISE = (0, 3, 1, 2)


def make_level(name: str, rows: int, robots: int, **changes: Any) -> Level:
    """Return a level of rware with `rows` of shelves and changed parameters of ours."""
    here: dict[str, Any] = {"rows": rows, "robots": robots, "columns": 3, "column_height": 8}
    here |= {"requests": robots, "reward": "individual", "steps": 500, "idle": 0} | changes
    there: dict[str, Any] = {"msg_bits": 0, "sensor_range": 1}
    there |= {"shelf_columns": here["columns"], "shelf_rows": rows, "n_agents": robots}
    there |= {"column_height": here["column_height"], "request_queue_size": here["requests"]}
    there |= {"max_steps": here["steps"], "max_inactivity_steps": here["idle"] or None}
    there |= {"reward_type": here["reward"].upper()}
    return Level(f"rware-{name}-{robots}ag-v2", there, "warehouse-tiny-2ag", here)


def record(arguments: dict[str, Any], seeds: range, steps: int) -> Arrays:
    """Return what rware plays, see `KnownWorld.record`: `robots` (S, T + 1, A, 4) rows, columns,
    directions and numbers of the carried shelves, from 1, or 0; `shelves` (S, T + 1, K, 3) rows,
    columns, and 1 for those that are wanted.

    Robots deliver, then drive in rings, then all to one cell, so that they meet in all ways.
    """
    from rware.warehouse import RewardType, Warehouse

    arguments = arguments | {"reward_type": RewardType[arguments["reward_type"]]}
    env: Any = Warehouse(**arguments)

    def begin(seed: int | None) -> None:
        env.reset(seed=seed)

    def describe() -> dict[str, Any]:
        loads = [robot.carrying_shelf.id if robot.carrying_shelf else 0 for robot in env.agents]
        robots = [(robot.y, robot.x, robot.dir.value) for robot in env.agents]
        wanted = {shelf.id for shelf in env.request_queue}
        shelves = [(shelf.y, shelf.x, shelf.id in wanted) for shelf in env.shelfs]
        return {"robots": [(*robots[k], load) for k, load in enumerate(loads)], "shelves": shelves}

    def choose(rng: np.random.Generator, t: int) -> NDArray[Any]:
        width = (2, 3, 5)[t // 60 % 3] if 40 <= t % 60 < 50 else 0
        number, gather = len(env.agents), t % 60 >= 50
        sensible = rng.random(number) < _SENSIBLE
        ways = [
            _circle(robot, width) if width else _choose_action(env, robot, gather)
            for robot in env.agents
        ]
        return np.where(sensible, ways, rng.integers(0, 5, number))

    def step(actions: NDArray[Any]) -> tuple[Any, bool]:
        _, rewards, done, _, _ = env.step(actions.tolist())
        return rewards, done

    return play_episodes(seeds, steps, begin, describe, choose, step)


def _circle(robot: Any, width: int) -> int:
    """Return an action that lets robots circle clockwise in blocks of two rows and `width`
    columns."""
    first, last = robot.x % width == 0, robot.x % width == width - 1
    if robot.y % 2:
        return _steer(robot, 0 if first else 2)
    return _steer(robot, 1 if last else 3)


def _choose_action(env: Any, robot: Any, gather: bool = False) -> int:
    """Return an action that brings a robot of rware nearer to what it should do next: fetch a
    wanted shelf, deliver it, or put another one into a free bay; or go to the dock, if all
    `gather`. Other robots do not count."""
    height, width = env.grid_size
    wanted = {(shelf.x, shelf.y) for shelf in env.request_queue}
    standing = {(shelf.x, shelf.y) for shelf in env.shelfs}
    standing -= {(each.x, each.y) for each in env.agents if each.carrying_shelf}
    load = robot.carrying_shelf
    blocked = standing if load else set()
    if gather or load in env.request_queue:
        targets = {*env.goals[: 1 if gather else 2]}
    elif load is None:
        targets = wanted & standing
    else:
        targets = {(int(x), int(y)) for y, x in np.argwhere(env.highways == 0)} - standing
    place = robot.x, robot.y
    if place in targets:
        return _LOAD
    steps = dict.fromkeys(targets, 0)
    queue = deque(sorted(targets))
    while queue and place not in steps:
        x, y = queue.popleft()
        for dx, dy in _WAYS:
            cell = x + dx, y + dy
            inside = 0 <= cell[0] < width and 0 <= cell[1] < height
            if inside and cell not in blocked and cell not in steps:
                steps[cell] = steps[x, y] + 1
                queue.append(cell)
    for way, (dx, dy) in enumerate(_WAYS):
        if steps.get((place[0] + dx, place[1] + dy), np.inf) < steps.get(place, 0):
            return _steer(robot, way)
    return _NOOP


def _steer(robot: Any, way: int) -> int:
    """Return the action that brings a robot forward in a direction, or turns it there."""
    turn = (_CLOCKWISE.index(way) - _CLOCKWISE.index(robot.dir.value)) % 4
    return (_FORWARD, _RIGHT, _RIGHT, _LEFT)[turn]


def read(scenario: Any, rows: NDArray[Any], recorded: Arrays) -> Arrays:
    """Return `robots` (S, A, 4) and `shelves` (S, K, 3) of S rows of worlds, see
    `KnownWorld.read`."""
    everyone = slice(1, scenario.layout.agents + 1)
    worlds = np.arange(len(rows))[:, None]
    kind = next(kind for kind in scenario.types if kind.name == "Shelf")
    assert kind.state
    column, field = kind.state
    is_shelf = (rows["kind"]["value"] == kind.index) & (rows["alive"] != 0)
    shelves = np.nonzero(is_shelf)[1].reshape(len(rows), -1)  # in the order of their numbers
    y, x = (rows["position"][axis].astype(np.int64) for axis in ("y", "x"))
    held = rows["agent"]["holding"][:, everyone].astype(np.int64)
    for each in (y, x):  # a shelf that is carried has no position of its own
        carried = np.where(held > 0, each[:, everyone], each[:, :1])
        np.put_along_axis(each, held, carried, 1)
    numbers = np.where(held > 0, held - shelves[:, :1] + 1, 0)
    facing = rows["agent"]["facing"][:, everyone]
    robots = np.stack([y[:, everyone], x[:, everyone], facing, numbers], -1)
    states = rows[column][field][worlds, shelves]
    found = np.stack([y[worlds, shelves], x[worlds, shelves], states], -1)
    return {"robots": robots.astype(np.int64), "shelves": found.astype(np.int64)}


_LEVELS = (
    make_level("tiny", 1, 2),
    make_level("tiny", 1, 4),
    make_level("small", 2, 4),
    make_level("tiny-hard-global", 1, 6, requests=3, reward="global", steps=100),
    make_level("small-two-stage", 2, 8, reward="two_stage", idle=15),
    make_level("crowd", 1, 20, column_height=2, requests=4, steps=50),
    make_level("yard", 1, 24, column_height=1, requests=3, reward="two_stage", idle=30),
)

WORLD = KnownWorld(
    packages=("rware==2.0.0", "networkx==3.6.1", "numpy"),
    actions=("NOOP", "MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT", "PICK_N_DROP"),
    levels=_LEVELS,
    dtypes={"actions": "u1", "robots": "i1", "shelves": "i1", "rewards": "f8", "done": "?"},
    record=record,
    read=read,
)
