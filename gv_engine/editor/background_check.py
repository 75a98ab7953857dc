"""Background process that checks and solves a level while it is edited."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from contextlib import redirect_stderr, suppress
from io import StringIO
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from gv_engine.editor.document import Fault
from gv_engine.scenario.scenario import Scenario

_SEARCH_SECONDS = 10.0  # CPU seconds for the search of all levels
# Number of levels to search, and the number after which the search ends if all are equal
_MAX_LEVELS, _MIN_LEVELS = 20, 3
_EPISODES = 2
# Seconds after which an outdated request is cancelled, and after which every request is: it may
# compile
_BUSY_SECONDS, _TIMEOUT = 20.0, 90.0


class CheckState(NamedTuple):
    """Results of the checks of a level so far.

    Attributes:
        faults: errors and likely mistakes.
        steps: least number of steps to win the level of seed 0; None if unknown.
        message: reason why `steps` is unknown; "" while the search runs.
        is_lost: whether the level certainly cannot be won.
        levels: summary of the levels of several seeds; "" while all levels are equal.
    """

    faults: tuple[Fault, ...] = ()
    steps: int | None = None
    message: str = ""
    is_lost: bool = False
    levels: str = ""


class BackgroundChecker:
    """Checks and solves the level of the last request in a background process.

    Attributes:
        is_waiting: whether further results of the last request will come.
    """

    def __init__(self) -> None:
        self.is_waiting = False
        self._request_number = 0
        self._request_time = 0.0
        self._process: Any = None
        self._connection: Connection | None = None

    def ask(self, scenario: Scenario | None) -> None:
        """Check a level, and drop the earlier request; None only drops it."""
        busy = self.is_waiting and time.monotonic() > self._request_time + _BUSY_SECONDS
        if busy:
            self.close()  # it may search for long yet
        self._request_number += 1
        self.is_waiting = scenario is not None
        if scenario is None:
            return
        if self._process is None:
            self._start()
        self._request_time = time.monotonic()
        assert self._connection
        with suppress(OSError):  # `answer` reports a dead process
            self._connection.send((self._request_number, scenario))

    def answer(self) -> CheckState | None:
        """Return the latest results; None if there are none since the last call."""
        latest = None
        if self._connection is None or not self.is_waiting:
            return None
        try:
            while self._connection.poll():
                number, state, is_last = self._connection.recv()
                if number == self._request_number:
                    latest, self.is_waiting = state, not is_last
        except (EOFError, OSError):
            self.close()
            return CheckState(message="The search has broken off")
        if self.is_waiting and time.monotonic() > self._request_time + _TIMEOUT:
            self.close()
            return CheckState(message="The search takes too long")
        return latest

    def close(self) -> None:
        """End the process."""
        self.is_waiting = False
        if self._process is not None and self._connection is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
        self._process = self._connection = None

    def _start(self) -> None:
        """Start the process."""
        context = multiprocessing.get_context("spawn")
        self._connection, child_end = context.Pipe()
        self._process = context.Process(target=_run_process, args=(child_end,), daemon=True)
        self._process.start()
        child_end.close()


def _run_process(connection: Connection) -> None:
    """Serve requests until the connection closes; the main function of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    with redirect_stderr(StringIO()):  # compiler warnings would repeat with every change
        _serve_requests(connection)


def _serve_requests(connection: Connection) -> None:
    """Send the check states of each level that arrives; a newer request cancels the current one."""
    while True:
        try:
            number, scenario = connection.recv()
            states = check_level(scenario)
            state = CheckState()
            for state in states:
                if connection.poll():
                    break  # a newer request
                connection.send((number, state, False))
            else:
                connection.send((number, state, True))
        except (EOFError, OSError):
            return


def check_level(scenario: Scenario) -> Iterator[CheckState]:
    """Yield the results for a level: first the faults, then whether the level can be won."""
    try:
        faults = tuple(_find_faults(scenario))
        yield CheckState(faults)
        for state in _solve_levels(scenario):
            yield state._replace(faults=faults)
    except Exception as error:  # any error of a custom rule
        yield CheckState(message=f"{type(error).__name__}: {error}")


def _find_faults(scenario: Scenario) -> Iterator[Fault]:
    """Yield the faults that `gv-engine check --quick` finds."""
    from gv_engine.session.sprite_paths import find_broken_sprites
    from gv_engine.validation.differential import find_broken_contracts, run_differential_test
    from gv_engine.validation.lint import find_placed_mistakes, find_rule_place

    messages = [*find_broken_contracts(scenario, _EPISODES), *find_broken_sprites(scenario)]
    report = run_differential_test(scenario, _EPISODES, compiled=False)
    messages += [report.fault] if report.fault else []
    yield from (Fault(message, find_rule_place(scenario, message)) for message in messages)
    if not messages:
        for finding, place in find_placed_mistakes(scenario):
            yield Fault(finding.message, place, is_slip=True)


def _solve_levels(scenario: Scenario) -> Iterator[CheckState]:
    """Yield the result of the level of seed 0, then summaries of more seeds."""
    from gv_engine.validation.solver import Survey, Verdict  # compiles

    survey = Survey(scenario, (), _SEARCH_SECONDS)
    for seed in range(_MAX_LEVELS):
        survey.add(seed)
        solution = survey.solutions[0]
        levels = "" if not seed or survey.all_alike else str(survey)
        if solution.verdict is Verdict.WON:
            yield CheckState(steps=len(solution.actions), levels=levels)
        else:
            verdict, is_lost = solution.verdict.value, solution.verdict is Verdict.LOST
            yield CheckState(
                message=verdict[0].upper() + verdict[1:], is_lost=is_lost, levels=levels
            )
        if seed + 1 >= _MIN_LEVELS and survey.all_alike:
            break
