"""Hypothesis strategies: levels, rules' parameters, actions."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from gv_engine import Scenario
from gv_engine.rules.geometry import ORIENTATIONS, USUAL_ACTIONS
from tests import DATA

MEADOW = DATA / "meadow"

LEGEND = {
    "R": {"object": "Key", "color": "RED"},
    "L": {"object": "Door", "state": "LOCKED", "color": "RED"},
    "F": {"object": "./rules.py:Flower", "state": "BLOOM", "color": "BLUE"},
}
THINGS = "....#.KdD_EBTboRLF"


@st.composite
def maps(draw: st.DrawFn, largest: int = 6) -> dict[str, Any]:
    """A map and a legend: anything anywhere, the agent on top of it."""
    height, width = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    cells = draw(
        st.lists(st.sampled_from(THINGS), min_size=height * width, max_size=height * width)
    )
    start = draw(st.integers(0, height * width - 1))
    under = LEGEND.get(cells[start], {"object": "Wall" if cells[start] == "#" else "Floor"})
    facing = draw(st.sampled_from(ORIENTATIONS))
    cells[start] = "a"
    rows = ["".join(cells[y * width : (y + 1) * width]) for y in range(height)]
    return {"map": "\n".join(rows), "legend": {**LEGEND, "a": {**under, "agent": facing}}}


def numbers(low: int, high: int) -> st.SearchStrategy[float]:
    """Rewards: few, so that equal sums come from equal terms."""
    return st.integers(low * 4, high * 4).map(lambda quarter: quarter / 4 + 0.1)


@st.composite
def meadows(draw: st.DrawFn) -> dict[str, Any]:
    """Arguments of `meadow`: a scenario that uses all that worlds can do."""
    return {
        **draw(maps()),
        "seeds": draw(st.integers(0, 3)),
        "withers": draw(st.integers(3, 9)),
        "strength": draw(st.sampled_from([0.0, 0.5, 1.0])),
        "every": draw(st.integers(1, 4)),
        "worth": draw(numbers(-2, 2)),
        "max_steps": draw(st.sampled_from([None, 1, 7])),
        "how": draw(st.sampled_from([0] * 30 + list(range(9)))),
    }


def meadow(
    *,
    seeds: int = 1,
    withers: int = 5,
    strength: float = 0.5,
    every: int = 3,
    worth: float = 1.0,
    max_steps: int | None = None,
    how: int = 0,
    folder: Any = MEADOW,
    **level: Any,
) -> Scenario:
    """A level on the meadow. All of them, up to 9x9, run the same compiled program."""
    return Scenario.load(
        {
            "map": "....\n.^.K\n.d.E",
            **level,
            "capacity": 48,
            "max_steps": max_steps,
            "transition_functions": [
                "move_agent",
                "turn_agent",
                "actuate_door",
                "pickndrop",
                {"name": "./rules.py:sow", "seeds": seeds},
                {"name": "./rules.py:wither", "withers": withers},
                {"name": "./rules.py:gust", "strength": strength},
                {"name": "./rules.py:rattle", "every": every},
                {"name": "./rules.py:misbehave", "how": how},
            ],
            "reward_functions": [
                {"name": "living_reward", "reward": worth / 3},
                {"name": "./rules.py:fragrance", "worth": worth},
                "reach_exit",
                "actuate_door",
                {"name": "pickndrop", "object_type": "./rules.py:Flower"},
            ],
            "terminating_function": "reach_exit",
            "observation_function": {"name": "partially_occluded", "area": [[-3, 0], [-2, 2]]},
        },
        folder=folder,
    )


actions = st.lists(st.integers(0, len(USUAL_ACTIONS) - 1), min_size=1, max_size=25)
seeds = st.integers(0, 2**32)
