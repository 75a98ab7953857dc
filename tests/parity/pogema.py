"""POGEMA beside its package."""

from __future__ import annotations

import copy
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from tests.parity import Arrays, KnownWorld, Level, play_episodes

_COLLISIONS = "priority", "block_both", "soft"
_EAGER = 0.8
"""How likely an agent takes a step that leads it closer to its target; else it acts at random."""


def make_level(
    size: int, agents: int, collisions: str, on_target: str, density: float = 0.3
) -> Level:
    """Return a level of POGEMA."""
    more = f"-d{density * 100:.0f}" * (density != 0.3)
    name = f"pogema-{size}x{size}-{agents}a-{collisions}-{on_target}{more}"
    both = {"size": size, "density": density, "on_target": on_target}
    there = {**both, "num_agents": agents, "collision_system": collisions, "obs_radius": 1}
    here = {**both, "agents": agents, "collisions": collisions}
    return Level(name, there, "pogema-16x16-8a-soft", {**here, "sight": 1, "steps": 64})


def record(arguments: dict[str, Any], seeds: range, steps: int) -> Arrays:
    """Return what POGEMA plays, see `KnownWorld.record`: `agents` (S, T + 1, A, 4) rows and columns
    of the agents and of their targets, and `obstacles` (S, T + 1, H, W)."""
    from pogema import GridConfig, pogema_v0

    config = GridConfig(**arguments)
    env: Any = pogema_v0(config)
    moves = np.array(config.MOVES)
    make_generator = np.random.default_rng
    generator: Any = None
    """Random numbers of the next episode, each time that POGEMA begins them anew."""

    def begin(seed: int | None) -> None:
        nonlocal generator
        start = generator if seed is None else make_generator(seed)

        def take(seed: int | None = None) -> Any:
            nonlocal generator
            if seed is not None:  # of one agent
                return make_generator(seed)
            generator = copy.deepcopy(start)
            return generator

        with mock.patch("numpy.random.default_rng", take):
            env.reset()

    def read_agents() -> NDArray[Any]:
        grid = env.unwrapped.grid
        agents = np.concatenate((grid.positions_xy, grid.finishes_xy), 1) - config.obs_radius
        return agents  # type: ignore[no-any-return]  # of numpy's stubs

    def describe() -> dict[str, Any]:
        inner = slice(config.obs_radius, -config.obs_radius)
        obstacles = env.unwrapped.grid.obstacles[inner, inner]
        return {"agents": read_agents(), "obstacles": obstacles.astype(np.uint8)}

    def choose(rng: np.random.Generator, _: int) -> NDArray[Any]:
        """Return an action for each agent: mostly one that leads closer to its target, around
        obstacles only by chance."""
        agents, obstacles = read_agents(), env.unwrapped.grid.obstacles
        ways = agents[:, None, :2] + moves
        far = abs(ways - agents[:, None, 2:]).sum(-1) + rng.random(ways.shape[:2])
        y, x = np.moveaxis(ways + config.obs_radius, -1, 0)
        far[obstacles[y, x] != 0] = np.inf
        count = len(agents)
        eager = rng.random(count) < _EAGER
        return np.where(eager, far.argmin(1), rng.integers(0, 5, count))

    def step(actions: NDArray[Any]) -> tuple[Any, bool]:
        _, rewards, terminated, truncated, _ = env.step(actions.tolist())
        return rewards, all(terminated) or all(truncated)

    return play_episodes(seeds, steps, begin, describe, choose, step)


def read(scenario: Any, rows: Any, recorded: Arrays) -> Arrays:
    """Return `agents` (S, A, 4) and `obstacles` (S, H, W) of S rows of worlds, see
    `KnownWorld.read`. POGEMA keeps agents that have left at their targets."""
    everyone = slice(1, scenario.layout.agents + 1)

    def stack_cells(column: Any, *axes: str) -> NDArray[Any]:
        return np.stack([column[axis][:, everyone] for axis in axes], -1).astype(np.int64)

    targets = stack_cells(rows["walker"], "target_y", "target_x")
    places = stack_cells(rows["position"], "y", "x")
    places = np.where(places < 0, targets, places)
    obstacles = np.zeros((len(rows), *recorded["obstacles"].shape[2:]), np.uint8)
    wall = next(kind.index for kind in scenario.types if kind.name == "Wall")
    for world, e in np.argwhere((rows["kind"]["value"] == wall) & (rows["alive"] != 0)):
        obstacles[world, rows["position"]["y"][world, e], rows["position"]["x"][world, e]] = 1
    return {"agents": np.concatenate((places, targets), -1), "obstacles": obstacles}


_LEVELS = (
    *(
        make_level(8, 4, collisions, on_target)
        for collisions in _COLLISIONS
        for on_target in ("finish", "nothing", "restart")
    ),
    *(
        make_level(size, agents, collisions, on_target)
        for size, agents, on_target in ((16, 8, "restart"), (32, 32, "finish"))
        for collisions in _COLLISIONS
    ),
    *(make_level(8, 16, collisions, "restart", density=0.1) for collisions in _COLLISIONS),
    make_level(16, 8, "soft", "finish", density=0.6),
)

WORLD = KnownWorld(
    packages=("pogema==1.4.0",),
    actions=("NOOP", "MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"),
    levels=_LEVELS,
    dtypes={"actions": "u1", "agents": "i1", "obstacles": "u1", "rewards": "u1", "done": "?"},
    record=record,
    read=read,
)
