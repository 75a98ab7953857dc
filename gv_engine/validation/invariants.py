"""Invariants of worlds and observations, properties of levels, and a check of action masks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from components.objects import WALL
from gv_engine.envs.representations import Arrays
from gv_engine.rules.geometry import Action
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.layout import compute_derived_columns, find_fault
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation
from gv_engine.world.world import ObjectWorld

# ---- invariants ----------------------------------------------------------------------------------


def find_row_fault(scenario: Scenario, row: NDArray[Any]) -> str:
    """Return an error message if a world's record is inconsistent; an empty text if it is
    consistent.

    Args:
        scenario: scenario of the world.
        row: () array of `scenario.layout.dtype`.
    """
    rows = row.reshape(1)
    if fault := find_fault(scenario.layout, rows):
        return fault
    for name, column in compute_derived_columns(scenario.layout, rows).items():
        for i in np.flatnonzero(row[name] != column[0])[:1].tolist():
            stored, derived = row[name].flat[i], column[0].flat[i]
            return f"w.{name}[{i}] is {stored}, and {derived} by where things stand"
    height, width = int(row["height"]), int(row["width"])
    layers = [row[name][:height, :width] for name in scenario.layout.layers]
    # Floor, where there is nothing
    kinds = np.concatenate([row["kind"]["value"][cells].ravel() for cells in layers])
    return _find_unlisted(scenario, kinds, scenario.objects, "stands on the grid", "state_space")


def find_observation_fault(scenario: Scenario, observation: Arrays) -> str:
    """Return an error message if an observation is not in the scenario's observation space; an
    empty text if it is.

    Args:
        scenario: scenario of the observation.
        observation: observation of one world from `GridEnv`.
    """
    shown = np.concatenate([observation["grid"].reshape(-1, 3), observation["item"][None]])
    kinds, states, colors = shown.T
    allowed = (HIDDEN, NONE_GRID_OBJECT, *scenario.observation_objects)
    fault = _find_unlisted(scenario, kinds, allowed, "is seen", "observation_space")
    if fault:
        return fault
    for color in sorted({*colors.tolist()} - {*scenario.observation_colors}):
        name = COLORS[color] if color < len(COLORS) else str(color)
        return f"the colour {name} is seen, which observation_space.colors does not list"
    for kind, state in sorted({*zip(kinds.tolist(), states.tolist())}):
        if state >= scenario.types[kind].num_states:
            return f"{scenario.types[kind].name} is seen in state {state}, which it does not have"
    return ""


def _find_unlisted(
    scenario: Scenario, kinds: NDArray[Any], allowed: Iterable[int], verb: str, space: str
) -> str:
    """Return an error message for the first object type among `kinds` that is not `allowed`; an
    empty text if all are. `verb` and `space` are words of the message."""
    for kind in sorted({*kinds.tolist()} - {*allowed}):
        return f"{scenario.types[kind].name} {verb}, which {space}.objects does not list"
    return ""


# ---- levels --------------------------------------------------------------------------------------


def make_level(scenario: Scenario, seed: int) -> ObjectWorld:
    """Return an object world with the level that the reset functions make for a seed."""
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(seed))
    return simulation.world


def find_objects(world: ObjectWorld, kinds: set[int], color: int | None = None) -> NDArray[Any]:
    """Return (H, W) bool: which cells show an object of one of the types `kinds`, and of the colour
    `color` if given."""
    cells = world.cells()
    mask = np.isin(cells[..., 0], list(kinds))
    return mask if color is None else mask & (cells[..., 2] == color)


def find_reachable(world: ObjectWorld) -> NDArray[np.bool_]:
    """Return (H, W) bool: which cells agents could reach if only walls blocked them."""
    open_cells = ~find_objects(world, {WALL})
    reached = np.zeros_like(open_cells)
    for agent in world.agents():
        reached[world.position.y[agent], world.position.x[agent]] = True
    while True:
        grown = reached.copy()
        grown[1:] |= reached[:-1]
        grown[:-1] |= reached[1:]
        grown[:, 1:] |= reached[:, :-1]
        grown[:, :-1] |= reached[:, 1:]
        grown &= open_cells
        if (grown == reached).all():
            return reached
        reached = grown


def cells_in_all_levels(masks: Sequence[NDArray[np.bool_]]) -> list[tuple[int, int]]:
    """Return the (y, x) cells that are True in all of the (H, W) masks; none if the masks differ in
    size."""
    if len({mask.shape for mask in masks}) > 1:
        return []
    return [(y, x) for y, x in np.argwhere(np.logical_and.reduce(masks)).tolist()]


# ---- masks ---------------------------------------------------------------------------------------

_LEVELS, _STEPS = 3, 20


class _StepOutcome(NamedTuple):
    """Result of a step: whether the episode ended, the reward terms, and the bytes of everything
    else."""

    over: bool
    terms: tuple[float, ...]
    rest: bytes


def find_mask_faults(scenario: Scenario) -> list[str]:
    """Play short random episodes; return a sentence on the first action that has an effect although
    the action mask excludes it, else an empty list."""
    if scenario.layout.agents > 1:
        return []
    simulation, mask = Simulation(scenario), np.zeros(len(scenario.actions), np.int8)
    for seed in range(_LEVELS):
        rng = np.random.default_rng(seed)
        simulation.reset(np.random.default_rng(seed))
        for step in range(_STEPS):
            simulation.valid_actions(mask)
            masked = [
                action for action, valid in zip(scenario.actions, mask, strict=True) if not valid
            ]
            before = simulation.world.snapshot()
            outcomes = {action: _step_outcome(simulation, before, action) for action in masked}
            counts = Counter(outcomes.values())
            if len(counts) > 1:
                # if two outcomes are equally frequent, the one with less effect
                usual = max(counts, key=lambda o: (counts[o], not o.over, -sum(map(abs, o.terms))))
                return [_describe_fault(outcomes, usual, f"level {seed}, step {step}")]
            simulation.world.restore(before)
            simulation.step(scenario.actions[rng.integers(len(scenario.actions))])
            if simulation.world.terminated or simulation.world.truncated:
                break
    return []


def _step_outcome(simulation: Simulation, row: np.ndarray, action: int) -> _StepOutcome:
    """Return what an action leads to in the world with this record."""
    world = simulation.world
    world.restore(row)
    simulation.step(action)
    after = world.snapshot()
    rest = b"".join(after[name].tobytes() for name in after.dtype.names or () if name != "action")
    return _StepOutcome(bool(world.terminated), simulation.terms, rest)


def _describe_fault(outcomes: dict[int, _StepOutcome], usual: _StepOutcome, place: str) -> str:
    """Return the message on the first of the masked actions in `outcomes` that does not lead to the
    `usual` outcome."""
    action, outcome = next(item for item in outcomes.items() if item[1] != usual)
    if outcome.over != usual.over:
        effect = "ends the episode; give the terminating function answers="
    elif outcome.terms != usual.terms:
        effect = "changes a reward; give the reward function answers="
    else:
        effect = (
            "does what others do not; give its rule when=, which is true of it, and put rules that "
            "happen by themselves behind it"
        )
    return f"the action mask leaves {Action(action).name} out ({place}), and yet it {effect}"
