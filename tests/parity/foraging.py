"""Level-Based Foraging beside lbforaging."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.parity import Arrays, KnownWorld, Level, play_episodes

_LOAD, _LOADS = 5, 0.8
"""Number of the action, and how likely an agent takes it where it can; else it acts at random."""


def make_level(
    size: int, players: int, foods: int, cooperate: bool = False, penalty: float = 0.0
) -> Level:
    """Return a level of lbforaging."""
    more = "-coop" * cooperate + "-pen" * (penalty > 0)
    name = f"Foraging-{size}x{size}-{players}p-{foods}f{more}-v3"
    here: dict[str, Any] = {"size": size, "players": players, "foods": foods}
    here |= {"cooperate": cooperate, "penalty": penalty}
    there: dict[str, Any] = {"field_size": (size, size), "players": players, "sight": size}
    there |= {"max_num_food": foods, "max_player_level": 2, "max_episode_steps": 50}
    there |= {"force_coop": cooperate, "penalty": penalty}
    return Level(name, there, "foraging-8x8-2p-3f", here)


def record(arguments: dict[str, Any], seeds: range, steps: int) -> Arrays:
    """Return what lbforaging plays, see `KnownWorld.record`: `agents` (S, T + 1, A, 3) rows,
    columns and levels, and `food` (S, T + 1, H, W) levels.

    Positions are cleared before a reset, because agents that are not placed yet would block the
    cells where they last stood.
    """
    from lbforaging.foraging import ForagingEnv

    env: Any = ForagingEnv(min_player_level=1, min_food_level=1, max_food_level=None, **arguments)

    def begin(seed: int | None) -> None:
        for player in env.players:
            player.position = None
        env.reset(seed=seed)

    def describe() -> dict[str, Any]:
        agents = [(*player.position, player.level) for player in env.players]
        return {"agents": agents, "food": env.field.copy()}

    def choose(rng: np.random.Generator, _: int) -> NDArray[Any]:
        number = len(env.players)
        can_load = [
            any(action.value == _LOAD for action in env._valid_actions[player])
            for player in env.players
        ]
        eager = (rng.random(number) < _LOADS) & can_load
        return np.where(eager, _LOAD, rng.integers(0, 6, number))

    def step(actions: NDArray[Any]) -> tuple[Any, bool]:
        _, rewards, done, _, _ = env.step(actions.tolist())
        return rewards, done

    return play_episodes(seeds, steps, begin, describe, choose, step)


def read(scenario: Any, rows: NDArray[Any], recorded: Arrays) -> Arrays:
    """Return `agents` (S, A, 3) and `food` (S, H, W) of S rows of worlds, see `KnownWorld.read`."""
    everyone = slice(1, scenario.layout.agents + 1)
    columns = rows["position"]["y"], rows["position"]["x"], rows["forager"]["level"]
    agents = np.stack([column[:, everyone] for column in columns], -1).astype(np.int64)
    food = np.zeros((len(rows), *recorded["food"].shape[2:]), np.int64)
    kind = next(kind for kind in scenario.types if kind.name == "Food")
    assert kind.state
    column, field = kind.state
    for world, e in np.argwhere((rows["kind"]["value"] == kind.index) & (rows["alive"] != 0)):
        y, x = (rows["position"][axis][world, e] for axis in ("y", "x"))
        food[world, y, x] = rows[column][field][world, e] + 1
    return {"agents": agents, "food": food}


_LEVELS = (
    make_level(8, 2, 3),
    make_level(5, 2, 1, cooperate=True),
    make_level(8, 2, 2, cooperate=True),
    make_level(8, 2, 3, penalty=0.1),
    make_level(10, 3, 3),
    make_level(15, 4, 4),
    make_level(19, 9, 4, cooperate=True),
)

WORLD = KnownWorld(
    packages=("lbforaging==2.0.0", "numpy"),
    actions=("NOOP", "MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT", "LOAD"),
    levels=_LEVELS,
    dtypes={"actions": "u1", "agents": "i1", "food": "i1", "rewards": "f8", "done": "?"},
    record=record,
    read=read,
)
