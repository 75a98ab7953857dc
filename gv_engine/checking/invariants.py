"""Invariants of sound worlds and of what they show; a rule that breaks one is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from gv_engine.envs.representations import Arrays
from gv_engine.language.objects import COLORS
from gv_engine.reading.row_check import derived_columns, find_fault
from gv_engine.reading.scenario import Scenario


def fault_of_row(scenario: Scenario, row: NDArray[Any]) -> str:
    """What is wrong with a world, as a sentence; empty if nothing is.

    Args:
        scenario: whose world it is.
        row: () array of `scenario.layout.dtype`.
    """
    rows = row.reshape(1)
    if fault := find_fault(scenario.layout, rows):
        return fault
    for name, column in derived_columns(scenario.layout, rows).items():
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
