"""What `check` and `solve` say of a level while it is edited: another process asks them."""

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

_SECONDS = 10.0
"""Of computing, for the search of all levels."""
_LEVELS, _ALIKE = 20, 3
"""Levels that are searched: so many, unless the first few are one."""
_EPISODES = 2
_PATIENT, _LONGEST = 20.0, 90.0
"""s after which what nobody waits for is broken off, and after which all is: it may compile."""


class Judgement(NamedTuple):
    """What is known of a level so far.

    Attributes:
        faults: what check finds wrong.
        steps: in how many that of seed 0 can be won; None if that is not known.
        says: why not; "" as long as it is looked for.
        is_lost: whether it is sure that it cannot be won.
        levels: the same of more seeds, in words; "" as long as all give one level.
    """

    faults: tuple[Fault, ...] = ()
    steps: int | None = None
    says: str = ""
    is_lost: bool = False
    levels: str = ""


class BackgroundChecker:
    """Checks and solves levels, always the one that was asked about last.

    Attributes:
        waits: whether there is more to be said of that one.
    """

    def __init__(self) -> None:
        self.waits = False
        self._asked = 0
        self._since = 0.0
        self._process: Any = None
        self._ours: Connection | None = None

    def ask(self, scenario: Scenario | None) -> None:
        """Look at a level; None for no more than to forget the one before."""
        busy = self.waits and time.monotonic() > self._since + _PATIENT
        if busy:
            self.close()  # it may search for long yet
        self._asked += 1
        self.waits = scenario is not None
        if scenario is None:
            return
        if self._process is None:
            self._start()
        self._since = time.monotonic()
        assert self._ours
        with suppress(OSError):  # `answer` says that it is gone
            self._ours.send((self._asked, scenario))

    def answer(self) -> Judgement | None:
        """What is known now; None if that is what was known before."""
        found = None
        if self._ours is None or not self.waits:
            return None
        try:
            while self._ours.poll():
                number, told, is_last = self._ours.recv()
                if number == self._asked:
                    found, self.waits = told, not is_last
        except (EOFError, OSError):
            self.close()
            return Judgement(says="The search has broken off")
        if self.waits and time.monotonic() > self._since + _LONGEST:
            self.close()
            return Judgement(says="The search takes too long")
        return found

    def close(self) -> None:
        """End the process."""
        self.waits = False
        if self._process is not None and self._ours is not None:
            self._process.kill()
            self._process.join()
            self._ours.close()
        self._process = self._ours = None

    def _start(self) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._ours, theirs = spawning.Pipe()
        self._process = spawning.Process(target=_judge, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()


def _judge(asked: Connection) -> None:
    """Say what there is to say of each level that comes, until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the window
    with redirect_stderr(StringIO()):  # what is compiled with every few changes is no news
        _answer(asked)


def _answer(asked: Connection) -> None:
    while True:
        try:
            number, scenario = asked.recv()
            parts = judgements(scenario)
            told = Judgement()
            for told in parts:
                if asked.poll():
                    break  # somebody has gone on
                asked.send((number, told, False))
            else:
                asked.send((number, told, True))
        except (EOFError, OSError):
            return


def judgements(scenario: Scenario) -> Iterator[Judgement]:
    """What is known of a level: first what check finds, then whether it can be won."""
    try:
        faults = tuple(_faults(scenario))
        yield Judgement(faults)
        for told in _solved(scenario):
            yield told._replace(faults=faults)
    except Exception as error:  # any error of a custom rule
        yield Judgement(says=f"{type(error).__name__}: {error}")


def _faults(scenario: Scenario) -> Iterator[Fault]:
    """What `gv-engine check --quick` finds."""
    from gv_engine.session.sprite_paths import find_broken_sprites
    from gv_engine.validation.differential import broken, play_in_lockstep
    from gv_engine.validation.lint import placed_findings, rule_place

    sure = [*broken(scenario, _EPISODES), *find_broken_sprites(scenario)]
    report = play_in_lockstep(scenario, _EPISODES, compiled=False)
    sure += [report.fault] if report.fault else []
    yield from (Fault(says, rule_place(scenario, says)) for says in sure)
    if not sure:
        for finding, place in placed_findings(scenario):
            yield Fault(finding.says, place, is_slip=True)


def _solved(scenario: Scenario) -> Iterator[Judgement]:
    """Whether the level of seed 0 can be won, and then those of more seeds."""
    from gv_engine.validation.solver import Survey, Verdict  # compiles

    survey = Survey(scenario, (), _SECONDS)
    for seed in range(_LEVELS):
        survey.add(seed)
        found = survey.found[0]
        levels = "" if not seed or survey.all_alike else str(survey)
        if found.verdict is Verdict.WON:
            yield Judgement(steps=len(found.actions), levels=levels)
        else:
            says, is_lost = found.verdict.value, found.verdict is Verdict.LOST
            yield Judgement(says=says[0].upper() + says[1:], is_lost=is_lost, levels=levels)
        if seed + 1 >= _ALIKE and survey.all_alike:
            break
