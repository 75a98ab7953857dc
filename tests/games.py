"""Games that are begun and played in few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gv_engine import Scenario
from gv_engine.play.session.session import Session

LEFT, RIGHT, FORWARD = "TURN_LEFT", "TURN_RIGHT", "MOVE_FORWARD"
LINE: dict[str, Any] = {
    "map": ">.E",
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "fully_transparent", "area": [[-1, 0], [0, 0]]},
    "terminating_function": "reach_exit",
}
"""Two steps to the exit."""


def take(game: Session, *actions: str) -> Session:
    """Take actions in a game, and return it."""
    for action in actions:
        game.step(action)
    return game


def ruled(folder: Path, code: str, **changes: Any) -> Scenario:
    """Load `LINE` with these changes, and rules of its own in `./rules.py`."""
    (folder / "rules.py").write_text(code)
    return Scenario.load({**LINE, **changes}, folder=folder)


COUNTER = """
from gv_engine import TRANSITION, Int8, component, object_type, system

@component
class Count:
    value: Int8 = 5

COUNTER = object_type("Counter", Count)
NEVER_ENDS = False

@system(TRANSITION)
def count(w, agent, until: int = 0, adds: int = 0, fails: bool = False):
    "Count up to a number; for ever if it is at least 100, or the program changed NEVER_ENDS."
    e = w.at[1, 0]
    while w.count.value[e] < until or NEVER_ENDS:
        w.count.value[e] = (w.count.value[e] + 1) % 100
    w.count.value[e] = 5 + adds
    if fails:
        w.fail("no more")
"""
"""Rule of `write_counter`."""


def write_counter(folder: Path, **parameters: Any) -> Path:
    """Write a level that counts, and return its folder. All of them run the same program.

    Args:
        folder: folder to write into.
        parameters: `until` is the number up to which the rule counts, which it never reaches
            from 100 on; `adds` is added to the 5 that it leaves behind, which
            is too much from 123 on; `fails` lets it fail.
    """
    folder.mkdir(exist_ok=True)
    (folder / "rules.py").write_text(COUNTER)
    level = {
        **LINE,
        "map": ">.E\nC..",
        "legend": {"C": "./rules.py:Counter"},
        "transition_functions": ["move_agent", {"name": "./rules.py:count", **parameters}],
    }
    (folder / "scenario.yaml").write_text(json.dumps(level))
    return folder
