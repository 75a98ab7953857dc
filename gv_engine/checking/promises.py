"""Promises of functions that no signature shows, watched while a scenario is played.

- Transitions edit the world and return nothing.
- Rewards, terminating, visibility and observation functions edit nothing.
- Rewards and terminating functions draw nothing.
- Nobody draws from a generator that no seed of the world reaches.
"""

from __future__ import annotations

import random  # noqa: TID251  # to see whether others draw from it
from collections.abc import Callable
from typing import Any

import numpy as np

from gv_engine.language.system import (
    OBSERVATION,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    System,
)
from gv_engine.reading.scenario import Scenario
from gv_engine.worlds.simulation import Simulation

_ONLY_LOOK = (REWARD, TERMINATING, VISIBILITY, OBSERVATION)
_DETERMINISTIC = (REWARD, TERMINATING)
_LONGEST = 50  # steps of an episode; broken promises show soon


def broken(scenario: Scenario, episodes: int = 3, seed: int = 0) -> list[str]:
    """Play random episodes in the object world.

    Returns:
        A sentence for each promise that a function broke, with its name, file and line.
    """
    found: dict[str, None] = {}
    simulation = Simulation(scenario)
    simulation.watch(lambda system, function: _watched(system, function, found))
    for number in range(episodes):
        chance = np.random.default_rng([seed, number])
        observation = np.zeros((*scenario.area.shape, 3), np.uint8), np.zeros(3, np.uint8)
        try:
            simulation.reset(np.random.default_rng(seed + number))
            for _ in range(_LONGEST):
                simulation.observe(*observation)
                simulation.step(scenario.actions[chance.integers(len(scenario.actions))])
                if simulation.world.terminated or simulation.world.truncated:
                    break
        except Exception:
            continue  # a fault of another kind, for others to report
    return list(found)


def _watched(
    system: System, function: Callable[..., Any], found: dict[str, None]
) -> Callable[..., Any]:
    """The function, and a look at everything before and after."""
    phase, (file, line) = system.phase, system.place

    def tell(fault: str) -> None:
        found[f"{system.name} ({file}:{line}), a {phase.label}, {fault}"] = None

    def watched(w: Any, *rest: Any) -> Any:
        worlds = [w, *(thing.world for thing in rest if hasattr(thing, "world"))]
        rows = [world.snapshot() for world in worlds] if phase in _ONLY_LOOK else []
        chance = _global_generators()
        result = function(w, *rest)
        if _global_generators() != chance:
            tell("draws from a global generator, which no seed of the world reaches")
        if phase is TRANSITION and result is not None:
            tell(f"returns {type(result).__name__}; transitions edit the state, return nothing")
        for world, row in zip(worlds, rows, strict=bool(rows)):
            now = world.snapshot()
            if now["rng"] != row["rng"] and phase in _DETERMINISTIC:
                tell("draws by chance; it must give the same for the same step")
            now["rng"] = row["rng"]
            if now.tobytes() != row.tobytes():
                tell("edits the state, which it may only look at")
        return result

    return watched


def _global_generators() -> tuple[Any, ...]:
    legacy: Any = np.random.get_state()  # noqa: NPY002  # to see whether others draw from it
    return random.getstate(), legacy[1].tobytes(), legacy[2:]
