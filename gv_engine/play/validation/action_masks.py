"""Checks of action masks: all actions that a mask excludes must have the same effect, or none."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from gv_engine.envs.backends.seeding import make_rng
from gv_engine.rules.geometry import Action
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation

_LEVELS, _STEPS = 3, 20


class _StepOutcome(NamedTuple):
    """Result of a step: whether the episode ended, the reward terms, and the bytes of the world's
    record without the action."""

    is_over: bool
    terms: tuple[float, ...]
    record: bytes

    def measure_effect(self) -> tuple[bool, float]:
        """Return a value that is greater for an outcome with more effect."""
        return self.is_over, sum(map(abs, self.terms))


def find_mask_faults(scenario: Scenario) -> list[str]:
    """Play short random episodes to check action masks. Return a list with one sentence about the
    first action that has an effect although its mask is 0, or []."""
    if scenario.layout.agents > 1:
        return []
    simulation, mask = Simulation(scenario), np.zeros(len(scenario.actions), np.int8)
    for seed in range(_LEVELS):
        rng = make_rng(seed, "actions")
        simulation.reset(np.random.default_rng(seed))
        for step in range(_STEPS):
            simulation.valid_actions(mask)
            is_valid = dict(zip(scenario.actions, mask.tolist(), strict=True))
            before = simulation.world.snapshot()
            outcomes = {
                action: _take_step(simulation, before, action)
                for action in scenario.actions
                if not is_valid[action]
            }
            counts = Counter(outcomes.values())
            if len(counts) > 1:
                # if several outcomes are equally frequent, the one with the least effect
                most = max(counts.values())
                frequent = [outcome for outcome, number in counts.items() if number == most]
                usual = min(frequent, key=_StepOutcome.measure_effect)
                return [_describe_fault(outcomes, usual, f"level {seed}, step {step}")]
            simulation.world.restore(before)
            simulation.step(scenario.actions[rng.integers(len(scenario.actions))])
            if simulation.world.terminated or simulation.world.truncated:
                break
    return []


def _take_step(simulation: Simulation, row: np.ndarray, action: int) -> _StepOutcome:
    """Take an action in the world state `row`, a record of the world, and return the outcome."""
    world = simulation.world
    world.restore(row)
    simulation.step(action)
    after = world.snapshot()
    names = [name for name in after.dtype.names or () if name != "action"]
    record = b"".join(after[name].tobytes() for name in names)
    return _StepOutcome(bool(world.terminated), simulation.terms_of(), record)


def _describe_fault(outcomes: dict[int, _StepOutcome], usual: _StepOutcome, place: str) -> str:
    """Return the error message for the first masked action whose outcome differs from `usual`, the
    most frequent one. `outcomes` has the outcome of each masked action. `place` is the level and
    step, as text."""
    action, outcome = next(item for item in outcomes.items() if item[1] != usual)
    if outcome.is_over != usual.is_over:
        effect = "ends the episode; give the terminating function answers="
    elif outcome.terms != usual.terms:
        effect = "changes a reward; give the reward function answers="
    else:
        effect = (
            "does what others do not; give its rule when=, which is true of it, and put rules that "
            "happen by themselves behind it"
        )
    return f"the action mask leaves {Action(action).name} out ({place}), and yet it {effect}"
