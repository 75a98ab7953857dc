"""Invariants of sound worlds and of what they show; a rule that breaks one is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from gv_engine.envs.representations import Arrays
from gv_engine.language.component import NOTHING, column_name, fields_of
from gv_engine.language.objects import COLORS, GROUND
from gv_engine.reading.scenario import Scenario


def fault_of_row(scenario: Scenario, row: NDArray[Any]) -> str:
    """What is wrong with a world, as a sentence; empty if nothing is.

    Args:
        scenario: whose world it is.
        row: () array of `scenario.layout.dtype`.
    """
    height, width = int(row["height"]), int(row["width"])
    y, x = row["position"]["y"], row["position"]["x"]  # (E,)
    if fault := _fault_of_agents(scenario, row):
        return fault
    layers = {name: row[name][:height, :width] for name in scenario.layout.layers}
    alive = row["alive"].astype(bool)
    placed = alive & (y >= 0)
    placed[: scenario.layout.agents + 1] = False
    below = np.take(scenario.layout.grounds, row["kind"]["value"], mode="clip")
    found = np.zeros_like(placed)
    inside = np.flatnonzero(placed & (y < height) & (x >= 0) & (x < width))
    for name, cells in layers.items():
        own = inside[below[inside] == (name == "ground")]
        found[own] = cells[y[own], x[own]] == own
    for e in np.flatnonzero(placed & ~found).tolist():
        where = f"({y[e]}, {x[e]}), where w.{_layer(scenario, row, e)} has it not"
        return f"{_called(scenario, row, e)} has the position {where}"
    for name, cells in layers.items():
        in_cells = cells[cells != NOTHING]
        for e in in_cells[~placed[in_cells]].tolist():
            return f"w.{name} holds {_called(scenario, row, e)}, which has no position"
        for e in in_cells[below[in_cells] != (name == "ground")].tolist():
            called, layer = _called(scenario, row, e), _layer(scenario, row, e)
            return f"w.{name} holds {called}, which lives in w.{layer}"
        if np.bincount(in_cells, minlength=1).max() > 1:
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
    for held in row["agent"]["holding"][: scenario.layout.agents + 1]:
        if placed[held]:
            return f"the agent holds {_called(scenario, row, held)}, which also stands on the grid"
    if fault := _contradiction(scenario, row, alive):
        return fault
    # Floor, where there is nothing
    kinds = np.concatenate([row["kind"]["value"][cells].ravel() for cells in layers.values()])
    return _unlisted(scenario, kinds, scenario.objects, "stands on the grid", "state_space")


def _fault_of_agents(scenario: Scenario, row: NDArray[Any]) -> str:
    """That an agent is outside the grid without having left, or not kept where it stands."""
    several = scenario.layout.agents > 1
    who: dict[tuple[int, int], list[int]] = {}
    for agent in scenario.layout.everyone:
        name = scenario.sharing.names[agent - 1] if several else "the agent"
        y, x = (int(row["position"][axis][agent]) for axis in ("y", "x"))
        has_left = several and row["done"][agent] and (y, x) == (-1, -1)
        if not has_left:
            if not (0 <= y < row["height"] and 0 <= x < row["width"]):
                return f"{name} is outside the grid, at ({y}, {x})"
            who.setdefault((y, x), []).append(agent)
    for cell, expected in who.items() if several else ():
        found = [int(row["who"][cell])]
        while found[-1] != NOTHING and len(found) <= len(expected):
            found.append(int(row["next"][found[-1]]))
        if sorted(found[:-1]) != expected:
            return (
                f"w.who has {found[:-1]} at {cell}, where {expected} stand; move by w.stand alone"
            )
    if several and np.count_nonzero(row["who"]) != len(who):
        return "w.who has agents where none stand; move them by w.stand alone"
    return ""


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
                    called = _called(scenario, row, e)
                    return (
                        f"{called} is {kind.states[state]} and {verb} {cls.__name__}; "
                        f"change states by w.set_state alone"
                    )
    return ""


def _layer(scenario: Scenario, row: NDArray[Any], e: int) -> str:
    """The name of the cells that an entity lives in, by its type."""
    kind = scenario.types[int(row["kind"]["value"][e])]
    return "ground" if kind.layer == GROUND else "at"


def _called(scenario: Scenario, row: NDArray[Any], e: int) -> str:
    return f"entity {e} ({scenario.types[int(row['kind']['value'][e])].name})"


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
