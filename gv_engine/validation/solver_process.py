"""Background process that searches shortest paths to a win, so that compilation does not block the
window."""

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
_SECONDS = 20.0  # limits of one search


class ShortestPathHints:
    """Hint provider that searches shortest paths in a background process; see
    `gv_engine.session.autoplay.HintProvider`.

    Args:
        scenario: scenario of the sessions.
    """

    def __init__(self, scenario: Scenario) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, child_end = context.Pipe()
        self._format_action: Callable[[Any], str] = str
        self._request_number = 0
        self._process = context.Process(target=_serve, args=(child_end, scenario), daemon=True)
        self._process.start()
        child_end.close()

    def ask(self, session: Session) -> None:
        """Start a search from the session's current state; an earlier search is dropped."""
        self._request_number += 1
        self._format_action = session.format_action
        with suppress(OSError):  # `answer` reports a dead process
            self._connection.send((self._request_number, session.row()))

    def answer(self) -> SolutionPath | None:
        """Return the path, or the reason why there is none; None while the search runs."""
        try:
            while self._connection.poll():
                number, actions, message = self._connection.recv()
                if number == self._request_number:
                    return SolutionPath(tuple(map(self._format_action, actions)), message)
        except (EOFError, OSError):
            return SolutionPath((), "The search has broken off")
        return None

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self._connection.close()


def _serve(connection: Connection, scenario: Scenario) -> None:
    """Search from each row that arrives, until the connection closes; the main function of the
    process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    from gv_engine.validation.solver import Solver, Verdict  # compiles

    solver: Any = None
    while True:
        try:
            number, row = connection.recv()
            if connection.poll():
                continue  # a newer request
            try:
                solver = solver or Solver(scenario, _STATES, _SECONDS)
                solution = solver.solve_from(row)
                is_won = solution.verdict is Verdict.WON
                message = "" if is_won else f"From here: {solution.verdict.value}"
                reply = number, solution.actions, message
            except Exception as error:  # any error of a custom rule
                reply = number, (), f"{type(error).__name__}: {error}"
            connection.send(reply)
        except (EOFError, OSError):
            return
