"""Hints in a grid: the next step of a shortest solution, searched for in the background."""

from __future__ import annotations

import time
from typing import Any

from gv_engine.scenario.plugin import get_plugin
from gv_engine.session.autoplay import SolverAutoplayer

_COMPILE_NOTE_DELAY = 2.0  # seconds


class GridHint:
    """Hint for a session, searched for on request.

    Args:
        game: session of a grid.

    Attributes:
        is_searching: a search is running.
        message: the hint, or a note that the search runs; empty without a request in this state.
    """

    def __init__(self, game: Any) -> None:
        self._game = game
        self._solver: SolverAutoplayer | None = None
        self._scenario: Any = None
        self._since = 0.0
        self.is_searching = False
        self.message = ""

    def search(self) -> None:
        """Start a search from the current state."""
        if self._solver is None or self._scenario is not self._game.scenario:
            self._scenario = self._game.scenario
            self._solver = SolverAutoplayer(
                get_plugin(self._scenario).make_hint_provider(self._scenario)
            )
        self.is_searching, self.message = True, "Looking for a way"
        self._since = time.monotonic()

    def clear(self) -> None:
        """Drop the hint, because the state has changed."""
        self.is_searching, self.message = False, ""

    def update(self) -> None:
        """Set the message if the search has ended, or takes long."""
        way = self._solver.path(self._game) if self.is_searching and self._solver else None
        if way is None:
            if self.is_searching and time.monotonic() > self._since + _COMPILE_NOTE_DELAY:
                self.message = "Looking for a way; the rules are compiled the first time"
            return
        count = len(way.actions)
        to_go = "1 step" if count == 1 else f"{count} steps"
        action = way.actions[0].replace("_", " ").capitalize() if way.actions else ""
        self.is_searching = False
        self.message = f"Hint: {action}; {to_go} to go" if action else way.message
