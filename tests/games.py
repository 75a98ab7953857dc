"""Games that are begun and played in few words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gv_engine import Scenario
from gv_engine.session.session import Session

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
