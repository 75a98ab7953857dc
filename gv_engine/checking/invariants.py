"""Invariants of sound worlds and of what they show; a rule that breaks one is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from gv_engine.envs.representations import Arrays
from gv_engine.language.component import AGENT, NOTHING, column_name, fields_of
from gv_engine.language.objects import COLORS, GROUND, OBJECT_TYPES
from gv_engine.reading.scenario import Scenario


def fault_of_row(scenario: Scenario, row: NDArray[Any]) -> str:
    """What is wrong with a world, as a sentence; empty if nothing is.

    Args:
        scenario: whose world it is.
        row: () array of `scenario.layout.dtype`.
    """
    height, width = int(row["height"]), int(row["width"])
    y, x = row["position"]["y"], row["position"]["x"]  # (E,)
    if not (0 <= y[AGENT] < height and 0 <= x[AGENT] < width):
        return f"the agent is outside the grid, at ({y[AGENT]}, {x[AGENT]})"
    layers = {name: row[name][:height, :width] for name in scenario.layout.layers}
    alive = row["alive"].astype(bool)
    placed = alive & (y >= 0)
    placed[[NOTHING, AGENT]] = False
    for e in np.flatnonzero(placed).tolist():
        inside = y[e] < height and 0 <= x[e] < width
        name = _layer(row, e)
        if not inside or layers[name][y[e], x[e]] != e:
            return f"{_called(row, e)} has the position ({y[e]}, {x[e]}), where w.{name} has it not"
    for name, cells in layers.items():
        in_cells = cells[cells != NOTHING]
        for e in in_cells.tolist():
            if not placed[e]:
                return f"w.{name} holds {_called(row, e)}, which has no position"
            if _layer(row, e) != name:
                return f"w.{name} holds {_called(row, e)}, which lives in w.{_layer(row, e)}"
        if len(np.unique(in_cells)) != len(in_cells):
            return f"w.{name} holds an entity in two cells"
    for cls in scenario.layout.components:
        for field in fields_of(cls):
            if field.is_entity:
                column = column_name(cls)
                named = alive & (row[column][field.name] != NOTHING)
                for e in np.flatnonzero(named).tolist():
                    other = row[column][field.name][e]
                    if not alive[other]:
                        return f"{column}.{field.name}[{e}] is {other}, which has been removed"
    held = row["agent"]["holding"][AGENT]
    if placed[held]:
        return f"the agent holds {_called(row, held)}, which also stands on the grid"
    if fault := _contradiction(scenario, row, alive):
        return fault
    # Floor, where there is nothing
    kinds = np.concatenate([row["kind"]["value"][cells].ravel() for cells in layers.values()])
    return _unlisted(kinds, scenario.objects, "stands on the grid", "state_space")


def _contradiction(scenario: Scenario, row: NDArray[Any], alive: NDArray[np.bool_]) -> str:
    """That an object's components are not those of its state."""
    for kind in scenario.layout.types:
        if not (kind.brings and kind.state):
            continue
        column, field = kind.state
        for e in np.flatnonzero(alive & (row["kind"]["value"] == kind.index)).tolist():
            state = int(row[column][field][e])
            for cls, values in kind.changes(state).items():
                if (row[column_name(cls)]["has"][e] != 0) != (values is not None):
                    verb = "has no" if values is not None else "has the component"
                    return (
                        f"{_called(row, e)} is {kind.states[state]} and {verb} {cls.__name__}; "
                        f"change states by w.set_state alone"
                    )
    return ""


def _layer(row: NDArray[Any], e: int) -> str:
    """The name of the cells that an entity lives in, by its type."""
    kind = OBJECT_TYPES[int(row["kind"]["value"][e])]
    return "ground" if kind.layer == GROUND else "at"


def _called(row: NDArray[Any], e: int) -> str:
    return f"entity {e} ({OBJECT_TYPES[int(row['kind']['value'][e])].name})"


def fault_of_observation(scenario: Scenario, observation: Arrays) -> str:
    """What is wrong with an observation, as a sentence; empty if nothing is.

    Args:
        scenario: whose observation space it should lie in.
        observation: of one world, as `GridEnv` returns it.
    """
    shown = np.concatenate([observation["grid"].reshape(-1, 3), observation["item"][None]])
    kinds, states, colors = shown.T
    allowed = (HIDDEN, NONE_GRID_OBJECT, *scenario.observation_objects)
    fault = _unlisted(kinds, allowed, "is seen", "observation_space")
    if fault:
        return fault
    for color in np.setdiff1d(colors, scenario.observation_colors):
        name = COLORS[color] if color < len(COLORS) else str(color)
        return f"the colour {name} is seen, which observation_space.colors does not list"
    for kind, state in zip(kinds.tolist(), states.tolist()):
        if state >= OBJECT_TYPES[kind].num_states:
            return f"{OBJECT_TYPES[kind].name} is seen in state {state}, which it does not have"
    return ""


def _unlisted(kinds: NDArray[Any], allowed: Iterable[int], does: str, space: str) -> str:
    for kind in np.setdiff1d(kinds, tuple(allowed)):
        return f"{OBJECT_TYPES[int(kind)].name} {does}, which {space}.objects does not list"
    return ""
