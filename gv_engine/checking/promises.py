"""Promises of functions that no signature shows, watched while a scenario is played.

- Resets and transitions edit the world, all others edit nothing; transitions return nothing.
- Rewards and terminating functions draw nothing.
- What a rule remembers, or asks by `when`, neither edits nor draws.
- Nobody writes what the engine sets, such as `w.reward`.
- Nobody draws from a generator that no seed of the world reaches.

docs/rules.md has them as a table.
"""

from __future__ import annotations

import random  # noqa: TID251  # to see whether others draw from it
from collections.abc import Callable
from typing import Any

import numpy as np

from gv_engine.language.system import (
    OBSERVATION,
    RESET,
    TRANSITION,
    VISIBILITY,
    System,
    source_place,
    unwrapped,
)
from gv_engine.language.world import World
from gv_engine.reading.layout import OF_AGENTS
from gv_engine.reading.scenario import Scenario
from gv_engine.worlds.simulation import Simulation

_EDIT = (RESET, TRANSITION)
_DRAW = (*_EDIT, VISIBILITY, OBSERVATION)
_ENGINES = [name for name, thing in vars(World).items() if isinstance(thing, property)]
_LONGEST = 50  # steps of an episode; broken promises show soon


def broken(scenario: Scenario, episodes: int = 3, seed: int = 0) -> list[str]:
    """Play random episodes in the object world.

    Returns:
        A sentence for each promise that a function broke, with its name, file and line.
    """
    found: dict[str, None] = {}
    simulation = Simulation(scenario)
    simulation.watch(lambda *rule: _watched(found, *rule))
    for number in range(episodes):
        chance = np.random.default_rng([seed, number])
        observation = np.zeros((*scenario.area.shape, 3), np.uint8), np.zeros(3, np.uint8)
        try:
            simulation.reset(np.random.default_rng(seed + number))
            for _ in range(_LONGEST):
                for agent in simulation.agents:
                    simulation.observe(*observation, agent)
                chosen = chance.integers(len(scenario.actions), size=len(simulation.agents))
                simulation.step(*(scenario.actions[number] for number in chosen))
                if simulation.world.terminated or simulation.world.truncated:
                    break
        except Exception:
            continue  # a fault of another kind, for others to report
    return list(found)


def _watched(
    found: dict[str, None], system: System, part: str, function: Callable[..., Any]
) -> Callable[..., Any]:
    """The function, and a look at everything before and after."""
    phase = system.phase if part == "function" else None
    engines = _ENGINES if phase in _EDIT and system.objects is None else []

    def tell(fault: str) -> None:
        found[f"{_title(system, part)}, {fault}"] = None

    def watched(w: Any, *rest: Any) -> Any:
        worlds = [w, *(thing.world for thing in rest if hasattr(thing, "world"))]
        rows = [] if phase in _EDIT else [world.snapshot() for world in worlds]
        figures = [_figure(w, name) for name in engines]
        chance = _global_generators()
        result = function(w, *rest)
        if _global_generators() != chance:
            tell("draws from a global generator, which no seed of the world reaches")
        if phase is TRANSITION and result is not None:
            tell(f"returns {type(result).__name__}; transitions edit the state, return nothing")
        for name, value in zip(engines, figures, strict=True):
            now = _figure(w, name)
            if now is not value and (name not in OF_AGENTS or now != value):
                tell(f"writes w.{name}, which is set by the engine; rules only read it")
        for world, row in zip(worlds, rows, strict=bool(rows)):
            now = world.snapshot()
            if now["rng"] != row["rng"] and phase not in _DRAW:
                tell("draws by chance; it must give the same for the same step")
            now["rng"] = row["rng"]
            if now.tobytes() != row.tobytes():
                tell("edits the state, which it may only look at")
        return result

    return watched


def _figure(w: Any, name: str) -> Any:
    """What the engine sets, those of agents as they are now."""
    value = getattr(w, name)
    return [*value] if name in OF_AGENTS else value


def _title(system: System, part: str) -> str:
    """A system, or its `remember` or `when`: name, file and line, and what it is."""
    if part == "function":
        return f"{system.title}, a {system.phase.label}"
    helper = getattr(system, part)
    file, line = source_place(helper)
    return f"{unwrapped(helper).__name__} ({file}:{line}), the {part} of {system.name}"


def _global_generators() -> tuple[Any, ...]:
    legacy: Any = np.random.get_state()  # noqa: NPY002  # to see whether others draw from it
    return random.getstate(), legacy[1].tobytes(), legacy[2:]
