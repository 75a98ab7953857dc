"""Whether the action mask keeps its word: of what it says does nothing, all does the same."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from gv_engine.language.geometry import Action
from gv_engine.reading.scenario import Scenario
from gv_engine.worlds.simulation import Simulation

_LEVELS, _STEPS = 3, 20


class _Outcome(NamedTuple):
    """What a step comes to: whether the episode is over, the rewards, and all else."""

    over: bool
    terms: tuple[float, ...]
    rest: bytes


def misleading(scenario: Scenario) -> list[str]:
    """A sentence for the first action that the mask of a level played at random leaves out, though
    it does something that others which are left out do not."""
    if scenario.layout.agents > 1:
        return []
    simulation, mask = Simulation(scenario), np.zeros(len(scenario.actions), np.int8)
    for seed in range(_LEVELS):
        chance = np.random.default_rng(seed)
        simulation.reset(np.random.default_rng(seed))
        for step in range(_STEPS):
            simulation.valid_actions(mask)
            shut = [
                action for action, valid in zip(scenario.actions, mask, strict=True) if not valid
            ]
            before = simulation.world.snapshot()
            outcomes = {action: _outcome(simulation, before, action) for action in shut}
            counts = Counter(outcomes.values())
            if len(counts) > 1:
                # of two that differ the quieter one
                usual = max(counts, key=lambda o: (counts[o], not o.over, -sum(map(abs, o.terms))))
                return [_told(outcomes, usual, f"level {seed}, step {step}")]
            simulation.world.restore(before)
            simulation.step(scenario.actions[chance.integers(len(scenario.actions))])
            if simulation.world.terminated or simulation.world.truncated:
                break
    return []


def _outcome(simulation: Simulation, before: np.ndarray, action: int) -> _Outcome:
    world = simulation.world
    world.restore(before)
    simulation.step(action)
    after = world.snapshot()
    rest = b"".join(after[name].tobytes() for name in after.dtype.names or () if name != "action")
    return _Outcome(bool(world.terminated), simulation.terms, rest)


def _told(outcomes: dict[int, _Outcome], usual: _Outcome, where: str) -> str:
    action, found = next(item for item in outcomes.items() if item[1] != usual)
    if found.over != usual.over:
        does = "ends the episode; give the terminating function answers="
    elif found.terms != usual.terms:
        does = "changes a reward; give the reward function answers="
    else:
        does = (
            "does what others do not; give its rule when=, which is true of it, and put rules that "
            "happen by themselves behind it"
        )
    return f"the action mask leaves {Action(action).name} out ({where}), and yet it {does}"
