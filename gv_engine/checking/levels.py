"""Levels as resets make them: where things are, and how far agents could go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.objects import WALL
from gv_engine.reading.scenario import Scenario
from gv_engine.worlds.simulation import Simulation
from gv_engine.worlds.world import ObjectWorld


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
