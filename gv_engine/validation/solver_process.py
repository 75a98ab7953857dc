"""Ways to win a grid from where it is, found by another process: what compiles stays there."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

from gv_engine.session.autoplay import SolutionPath

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario
    from gv_engine.session.session import Session

_STATES = 500_000
_SECONDS = 20.0
"""Limits of one search."""


class ShortestPathHints:
    """Finds shortest ways; see `gv_engine.session.autoplay.HintProvider`.

    Args:
        scenario: of the games that it is asked about.
    """

    def __init__(self, scenario: Scenario) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._ours, theirs = spawning.Pipe()
        self._named: Callable[[Any], str] = str
        self._asked = 0
        self._process = spawning.Process(target=_answer, args=(theirs, scenario), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, game: Session) -> None:
        """Look for a way from the present state; what was asked before is forgotten."""
        self._asked += 1
        self._named = game.format_action
        with suppress(OSError):  # `answer` says that it is gone
            self._ours.send((self._asked, game.row()))

    def answer(self) -> SolutionPath | None:
        """The way, or why there is none."""
        try:
            while self._ours.poll():
                number, actions, says = self._ours.recv()
                if number == self._asked:
                    return SolutionPath(tuple(map(self._named, actions)), says)
        except (EOFError, OSError):
            return SolutionPath((), "The search has broken off")
        return None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._ours.close()


def _answer(asked: Connection, scenario: Scenario) -> None:
    """Search from each row that comes, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    from gv_engine.validation.solver import Solver, Verdict  # compiles

    solver: Any = None
    while True:
        try:
            number, row = asked.recv()
            if asked.poll():
                continue  # somebody has gone on
            try:
                solver = solver or Solver(scenario, _STATES, _SECONDS)
                found = solver.solve_from(row)
                won = found.verdict is Verdict.WON
                says = "" if won else f"From here: {found.verdict.value}"
                told = number, found.actions, says
            except Exception as error:  # any error of a custom rule
                told = number, (), f"{type(error).__name__}: {error}"
            asked.send(told)
        except (EOFError, OSError):
            return
