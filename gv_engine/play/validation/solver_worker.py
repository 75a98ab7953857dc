"""Solvers in a background process, for hints and for maps of values."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.play.session.autoplay import SolutionPath
from gv_engine.play.validation.solver import (
    OutdatedSearchError,
    SearchLimitError,
    Solution,
    Solver,
    Verdict,
)
from gv_engine.rules import errors
from gv_engine.rules.system import RESET
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.worker_process import RequestWorker, describe_exit

if TYPE_CHECKING:
    from gv_engine.play.session.game import Game


_LIMITS = 500_000, 20.0
_LONE_LIMITS = 100_000, 2.0
"""Limits of one search, in states and CPU seconds: on request, and in each state for one agent."""

_REQUEST_NUMBERS = count(1)
_idle_workers: list[RequestWorker] = []
"""At most one process that has nothing to do and waits for the next `SolverWorker`."""


class SolverWorker:
    """Solver in a background process, which compiles the rules at once; a newer request takes the
    place of an older one. The process goes on to serve the solver of the next level.

    Args:
        scenario: scenario of the states.
        agent: as for `Solver`.
        limits: limits of a search, in states and CPU seconds.
    """

    def __init__(
        self, scenario: Scenario, agent: int = 0, limits: tuple[int, float] = _LIMITS
    ) -> None:
        """Let the background process compile the rules."""
        self._solver_arguments = pickle.dumps((scenario, agent, limits))
        self._agent, self._is_searching = agent, False
        workers = [worker for worker in _idle_workers if worker.is_alive]
        _idle_workers.clear()
        self._worker = workers[0] if workers else RequestWorker(serve_searches)
        self._request(None)

    def send(self, rows: NDArray[Any]) -> None:
        """Start the search from a () state, see `Solver.solve_from`, or from (n,) states, see
        `Solver.count_steps`. An earlier search is broken off."""
        self._request(rows)
        self._is_searching = True

    def _request(self, rows: NDArray[Any] | None) -> None:
        self._request_number = next(_REQUEST_NUMBERS)
        self._worker.send((self._request_number, self._solver_arguments, rows))

    def receive(self) -> tuple[Any, str] | None:
        """Return (result, reason why it is empty) of the last search. None while the search runs.
        The result of a search from one state is the actions of a shortest solution."""
        try:
            while reply := self._worker.receive():
                number, result, message = reply
                if number == self._request_number:
                    self._is_searching = False
                    return result, message
        except (EOFError, OSError):
            return (), f"The search has stopped: {describe_exit(self._worker.close())}"
        return None

    def close(self) -> None:
        """Break off the search. The background process ends if it searches: a rule may run for
        ever."""
        if self._is_searching or _idle_workers:
            self._worker.close()
        else:
            _idle_workers.append(self._worker)


class ShortestPathHints(SolverWorker):
    """Hint provider that searches shortest paths in a background process; see
    `gv_engine.play.session.autoplay.HintProvider`."""

    _format_action: Callable[[Any], str] = str

    def __init__(self, scenario: Scenario, agent: int = 0) -> None:
        """Start the background process; see `SolverWorker` for the arguments."""
        super().__init__(scenario, agent, _LONE_LIMITS if agent else _LIMITS)

    def ask(self, session: Game) -> None:
        """Start a search from the current state of a session. The result of an earlier search is
        dropped."""
        agent, names = self._agent, session.actions

        def format_own_action(actions: Any) -> str:
            return str(names[np.ravel(actions)[agent - 1]])

        self._format_action = format_own_action if agent else session.format_action
        self.send(session.row())

    def answer(self) -> SolutionPath | None:
        """Return the shortest way to win, or the reason why there is none; None while the search
        runs."""
        if (reply := self.receive()) is None:
            return None
        return SolutionPath(tuple(map(self._format_action, reply[0])), reply[1])


def serve_searches(connection: Connection) -> None:
    """Main function of the solver process: search from each state that arrives through
    `connection`, and send back the result, until the connection closes. A newer request breaks off
    a running search."""
    from gv_engine.compiler.batch_program import start_quickly  # imports llvmlite

    start_quickly()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    last_arguments, solver = b"", None
    with suppress(EOFError, OSError):  # the connection is closed
        while True:
            number, arguments, rows = connection.recv()
            if arguments != last_arguments:
                last_arguments, solver = arguments, None
            result: Any = ()
            message = ""
            try:
                if solver is None:
                    scenario, agent, limits = pickle.loads(arguments)
                    solver = _make_prepared_solver(scenario, agent, limits, connection.poll)
                if rows is None:
                    continue
                if rows.ndim:
                    solver.max_random_states = _LIMITS[0]
                    result = solver.count_steps(rows)
                else:
                    solver.max_random_states = _LONE_LIMITS[0]
                    solution = solver.solve_from(rows)
                    result = solution.actions
                    if solution.verdict is Verdict.LOST:
                        message = "It cannot be won from here"
                    elif solution.verdict is Verdict.UNKNOWN:
                        message = _describe_unknown(solution)
            except SearchLimitError as error:
                message = str(error)
            except OutdatedSearchError:
                continue
            except Exception as error:  # any error of a custom rule
                if rows is None:
                    continue  # it is raised again, and reported, at the first search
                message = f"{type(error).__name__}: {error}"
            connection.send((number, result, message))


def _describe_unknown(solution: Solution) -> str:
    if solution.by_chance:
        return f"No hint: steps here are random, and no win is within {solution.depth} steps"
    states = f"{solution.met:,} states up to {solution.depth} steps from here"
    return f"No way found: the {states} have no win"


def _make_prepared_solver(
    scenario: Scenario,
    agent: int,
    limits: tuple[int, float],
    is_outdated: Callable[[], bool] = lambda: False,
) -> Solver:
    """Return a solver whose code for searches from given states is compiled; it does not compile
    the reset functions, which take up to half the time."""

    def drop_reset(member: Scenario) -> Scenario:
        return replace(member, schedule={**member.schedule, RESET: ()})

    members = tuple(map(drop_reset, scenario.members))
    searched = replace(scenario, mixture=members) if scenario.mixture else members[0]
    solver = Solver(searched, *limits, agent=agent, is_outdated=is_outdated)
    with suppress(errors.RuleError):  # a rule may fail in an empty world
        solver.prepare()
    return solver
