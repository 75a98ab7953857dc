"""Small boards, played in either world, and what is on them as text.

play('''
    .K
    .^
''', PICK_N_DROP).board
"""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import NONE_GRID_OBJECT
from gv_engine import AGENT, Scenario
from gv_engine.envs.backends.backend import make_batch
from gv_engine.rules.component import NOTHING
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import REGISTRIES, Phase
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.missions.mission_reader import find_mission_languages
from gv_engine.scenario.readers.map import grid_to_text
from gv_engine.world.simulation import DISABLED, KEEP
from systems import absence, together
from tests import DATA

RULES: dict[str, Any] = {
    "transition_functions": [
        "move_agent",
        "turn_agent",
        "actuate_door",
        "pickndrop",
        {"name": "./rules.py:slam_door", "on": False},
    ],
    "reward_functions": [
        "living_reward",
        "reach_exit",
        "actuate_door",
        {"name": "pickndrop", "object_type": "Key"},
    ],
    "terminating_function": "reach_exit",
    "observation_function": {"name": "partially_occluded", "area": [[-3, 0], [-2, 2]]},
}
"""All rules of the key-door world. Other parameters or maps up to 9x9 compile nothing anew."""


_TRANSITIONS = REGISTRIES[Phase.TRANSITION]
EVERYTHING: list[str] = [
    name
    for name in _TRANSITIONS
    if not any(parameter.required for parameter in _TRANSITIONS[name].parameters)
    and not any(each.is_needed_by(_TRANSITIONS[name]) for each in find_mission_languages())
    and _TRANSITIONS[name].function.__module__ not in (together.__name__, absence.__name__)
]
"""All built-in transitions that need no parameter and no mission of verbs, except for those of
several agents: that move all at once in place of `move_agent`, or let them come back."""

MEASURES = ("proportional_to_distance", "getting_closer", "getting_closer_shortest_path")
"""Rewards by the distance of the one object of a type."""


def distances(
    leap: tuple[int, int] = (0, 0),
    object_type: str = "Exit",
    slams: bool = False,
    **parameters: dict[str, Any],
) -> dict[str, Any]:
    """Return changes of `RULES`: all rewards by distance, straight or along a path. They share
    one program.

    Args:
        leap: rows and columns to jump on ACTUATE.
        object_type: type of the object whose distance is measured.
        slams: True to close open doors on ACTUATE.
        parameters: parameters of rewards, by the name of the reward; a reward that is not
            named pays 0, and all pay their defaults if none is.
    """
    quiet: dict[str, dict[str, Any]] = {
        "proportional_to_distance": {"reward_per_unit_distance": 0.0},
        "getting_closer": {"reward_closer": 0.0, "reward_further": 0.0},
        "getting_closer_shortest_path": {"reward_closer": 0.0, "reward_further": 0.0},
    }

    def measure(name: str, **metric: str) -> dict[str, Any]:
        given = parameters.get(name, quiet[name] if parameters else {})
        return {"name": name, "object_type": object_type, **metric, **given}

    straight = [
        measure(name, distance_function=metric)
        for name in MEASURES[:2]
        for metric in ("manhattan", "euclidean")
    ]
    return {
        "transition_functions": [
            *EVERYTHING,
            {"name": "./rules.py:slam_door", "on": slams},
            {"name": "./rules.py:leap", "dy": leap[0], "dx": leap[1]},
        ],
        "reward_functions": [*straight, measure(MEASURES[2])],
    }


def drawn(text: str) -> str:
    """A board as a test writes it, without its margins."""
    return dedent(text).strip("\n").rstrip()


def scenario(picture: str, **changes: Any) -> Scenario:
    """The scenario of a map under `RULES` and some changes."""
    return Scenario.load({**RULES, "map": drawn(picture), **changes}, folder=DATA)


class Session:
    """A world at play: the second row of a batch, or an object world behind the same interface."""

    def __init__(self, played: Scenario, world: str, seed: int = 0) -> None:
        self.scenario = played
        self._first = played.layout.agents  # the line of the first agent
        self.batch = make_batch(played, 2, "compiled" if world == "batch" else "object")
        for i in range(2):
            self.batch.set_generator(i, np.random.default_rng(seed + i))
        self.batch.reset(np.ones(2, np.bool_))

    def act(self, *actions: int | tuple[int, ...]) -> Session:
        """Take actions, by their numbers in `gv_engine.rules.geometry.Action`; of several
        agents each time as many."""
        for action in actions:
            said = action if isinstance(action, tuple) else (action,)
            numbers = [self.scenario.actions.index(each) for each in said]
            self.batch.step(np.array([KEEP] * len(numbers) + numbers), DISABLED)
        return self

    @property
    def row(self) -> NDArray[Any]:
        return self.batch.snapshot(1)

    @property
    def board(self) -> str:
        """The grid in the characters of maps, the agents on top."""
        rows = grid_to_text(cells_of(self.row, self.scenario.layout), self.scenario.types).split(
            "\n"
        )
        for agent in self.scenario.layout.agent_entities:
            y, x, facing = agent_of(self.row, agent).tolist()
            if y >= 0:
                rows[y] = rows[y][:x] + "^v<>"[facing] + rows[y][x + 1 :]
        return "\n".join(rows)

    @property
    def view(self) -> str:
        """The observation in the characters of maps, `?` where nothing is seen."""
        return grid_to_text(self.batch.outputs.grid[self._first], self.scenario.types)

    @property
    def item(self) -> str:
        """What the agent shows in its hand: "RED Key", "nothing"."""
        kind, _, color = self.batch.outputs.item[self._first].tolist()
        name = self.scenario.types[kind].name
        return "nothing" if kind == NONE_GRID_OBJECT else f"{COLORS[color]} {name}"

    @property
    def mask(self) -> set[str]:
        """Names of the actions that would do something."""
        valid = self.batch.outputs.mask[self._first].tolist()
        return {name for name, is_valid in zip(self.scenario.action_names, valid) if is_valid}

    @property
    def terms(self) -> dict[str, float]:
        """The reward of the last step, function by function."""
        return dict(zip(self.scenario.reward_names, self.batch.outputs.terms[self._first].tolist()))

    @property
    def reward(self) -> float:
        return float(self.batch.outputs.rewards[self._first])

    @property
    def terminated(self) -> bool:
        return bool(self.batch.outputs.terminated[self._first])


# ---- reading rows ------------------------------------------------------------------------------


def look_of(row: Any, layout: Layout, entities: Any) -> NDArray[np.int64]:
    """(…, 3) type, state and colour of entities, read from the columns of a row."""
    kinds = row["kind"]["value"][entities]
    states = np.zeros_like(kinds)
    for kind in layout.types:
        if kind.state:
            column, field = kind.state
            values = layout.extend_column(row[column][field][None])[0]
            states = np.where(kinds == kind.index, values[entities], states)
    return np.stack([kinds, states, row["color"]["value"][entities]], axis=-1).astype(np.int64)


def cells_of(row: Any, layout: Layout) -> NDArray[Any]:
    """(H, W, 3) what shows in the grid of a row."""
    at = row["at"]
    if "ground" in layout.layers:
        at = np.where(at == NOTHING, row["ground"], at)
    return look_of(row, layout, at[: row["height"], : row["width"]])


def content_of(row: Any, layout: Layout) -> NDArray[Any]:
    """(H, W, 3) what is inside the boxes of a row's grid, Floor in empty ones, zeros elsewhere."""
    cells = row["at"][: row["height"], : row["width"]]
    inside = look_of(row, layout, row["box"]["content"][cells])
    return np.where(row["box"]["has"][cells][..., None], inside, 0)


def item_of(row: NDArray[Any], layout: Layout) -> NDArray[Any]:
    """(3,) the held object of a row, zeros for none."""
    held = row["agent"]["holding"][AGENT]
    return look_of(row, layout, held) if held != NOTHING else np.zeros(3, np.int64)


def agent_of(row: NDArray[Any], agent: int = AGENT) -> NDArray[np.int64]:
    """(3,) y, x and orientation of an agent of a row."""
    y, x = row["position"]["y"][agent], row["position"]["x"][agent]
    return np.array([y, x, row["agent"]["facing"][agent]], np.int64)
