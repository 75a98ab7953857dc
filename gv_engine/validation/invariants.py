"""Whether the action mask keeps its word: of what it says does nothing, all does the same."""

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
from gv_engine.scenario.row_check import compute_derived_columns, find_fault
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.simulation import Simulation
from gv_engine.world.world import ObjectWorld

# ---- invariants ----------------------------------------------------------------------------------


def fault_of_row(scenario: Scenario, row: NDArray[Any]) -> str:
    """What is wrong with a world, as a sentence; empty if nothing is.

    Args:
        scenario: whose world it is.
        row: () array of `scenario.layout.dtype`.
    """
    rows = row.reshape(1)
    if fault := find_fault(scenario.layout, rows):
        return fault
    for name, column in compute_derived_columns(scenario.layout, rows).items():
        for i in np.flatnonzero(row[name] != column[0])[:1].tolist():
            kept, derived = row[name].flat[i], column[0].flat[i]
            return f"w.{name}[{i}] is {kept}, and {derived} by where things stand"
    height, width = int(row["height"]), int(row["width"])
    layers = [row[name][:height, :width] for name in scenario.layout.layers]
    # Floor, where there is nothing
    kinds = np.concatenate([row["kind"]["value"][cells].ravel() for cells in layers])
    return _unlisted(scenario, kinds, scenario.objects, "stands on the grid", "state_space")


def fault_of_observation(scenario: Scenario, observation: Arrays) -> str:
    """What is wrong with an observation, as a sentence; empty if nothing is.

    Args:
        scenario: whose observation space it should lie in.
        observation: of one world, as `GridEnv` returns it.
    """
    shown = np.concatenate([observation["grid"].reshape(-1, 3), observation["item"][None]])
    kinds, states, colors = shown.T
    allowed = (HIDDEN, NONE_GRID_OBJECT, *scenario.observation_objects)
    fault = _unlisted(scenario, kinds, allowed, "is seen", "observation_space")
    if fault:
        return fault
    for color in sorted({*colors.tolist()} - {*scenario.observation_colors}):
        name = COLORS[color] if color < len(COLORS) else str(color)
        return f"the colour {name} is seen, which observation_space.colors does not list"
    for kind, state in sorted({*zip(kinds.tolist(), states.tolist())}):
        if state >= scenario.types[kind].num_states:
            return f"{scenario.types[kind].name} is seen in state {state}, which it does not have"
    return ""


def _unlisted(
    scenario: Scenario, kinds: NDArray[Any], allowed: Iterable[int], does: str, space: str
) -> str:
    for kind in sorted({*kinds.tolist()} - {*allowed}):
        return f"{scenario.types[kind].name} {does}, which {space}.objects does not list"
    return ""


# ---- levels --------------------------------------------------------------------------------------


def level_of_seed(scenario: Scenario, seed: int) -> ObjectWorld:
    """The level of a seed."""
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(seed))
    return simulation.world


def where_are(world: ObjectWorld, kinds: set[int], color: int | None = None) -> NDArray[np.bool_]:
    """(H, W) where objects of these types are, of one colour if it is given."""
    cells = world.cells()
    there = np.isin(cells[..., 0], list(kinds))
    return there if color is None else there & (cells[..., 2] == color)


def open_to_agents(world: ObjectWorld) -> NDArray[np.bool_]:
    """(H, W) the cells that some agent may come to, if only walls stand in its way."""
    open_cells = ~where_are(world, {WALL})
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


def always(there: Sequence[NDArray[np.bool_]]) -> list[tuple[int, int]]:
    """y, x of the cells where something is in each of some levels, (H, W) each; none if they differ
    in size."""
    if len({each.shape for each in there}) > 1:
        return []
    return [(y, x) for y, x in np.argwhere(np.logical_and.reduce(there)).tolist()]


# ---- masks ---------------------------------------------------------------------------------------

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
