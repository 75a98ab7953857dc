"""Hints in a grid: the next step of a shortest way, looked for while the window goes on."""

from __future__ import annotations

import time
from typing import Any

from gv_engine.scenario.plugin import hooks_of
from gv_engine.session.autoplay import SolverAutoplayer

_SOON = 2.0  # s


class GridHint:
    """A hint on a game, once it was asked for.

    Args:
        game: a `gv_engine.session.session.Session` of a grid.

    Attributes:
        waits: whether one is looked for.
        says: the hint, or that it is looked for; empty if nobody has asked in this state.
    """

    def __init__(self, game: Any) -> None:
        self._game = game
        self._solver: SolverAutoplayer | None = None
        self._scenario: Any = None
        self._since = 0.0
        self.waits = False
        self.says = ""

    def ask(self) -> None:
        """Look for one in the present state."""
        if self._solver is None or self._scenario is not self._game.scenario:
            self._scenario = self._game.scenario
            self._solver = SolverAutoplayer(hooks_of(self._scenario).adviser(self._scenario))
        self.waits, self.says = True, "Looking for a way"
        self._since = time.monotonic()

    def forget(self) -> None:
        """Another state is shown."""
        self.waits, self.says = False, ""

    def look(self) -> None:
        """Say what was found, if it is."""
        way = self._solver.path(self._game) if self.waits and self._solver else None
        if way is None:
            if self.waits and time.monotonic() > self._since + _SOON:
                self.says = "Looking for a way; the rules are compiled the first time"
            return
        count = len(way.actions)
        to_go = "1 step" if count == 1 else f"{count} steps"
        action = way.actions[0].replace("_", " ").capitalize() if way.actions else ""
        self.waits, self.says = False, f"Hint: {action}; {to_go} to go" if action else way.message
