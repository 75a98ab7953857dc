"""Rules that do not come to an end: noticed while they run, named, and stopped if somebody says so.

A thread looks several times a second at what the main thread is doing, so that nothing is to be
done for a call of a rule. Where it has been the same call for too long, whoever guards is asked in
the main thread, again and again while the rule goes on, and may have `Stopped` raised in it. What a
rule leaves to a library written in C cannot be stopped before it comes back, but the process ended.
"""

from __future__ import annotations

import faulthandler
import math
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import dropwhile, takewhile
from types import FrameType
from typing import Any, NamedTuple, NoReturn

from gv_engine.rules.errors import Stopped, complain
from gv_engine.scenario.plugin import format_place
from gv_engine.scenario.rule_modules import is_engine_frame, is_rule_frame

if sys.platform == "win32":
    from _thread import interrupt_main

    _ALARM = signal.SIGBREAK

    def _interrupt(thread: int) -> None:
        interrupt_main(_ALARM)

    def _alarm_every(seconds: float) -> None:
        pass  # there is no such clock

else:
    _ALARM = signal.SIGALRM

    def _interrupt(thread: int) -> None:
        signal.pthread_kill(thread, _ALARM)  # which ends a sleep, too

    def _alarm_every(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # also where no thread can run


PATIENCE = 2.0
"""Seconds after which somebody who watches wants to know."""
_GRACE, _LONGEST = 3.0, 1e6  # s beyond the limit, for what cannot be stopped, and at most
_LOOK_EVERY, _STOP_EVERY = 0.1, 0.005  # s between two looks: as a rule, and until one has stopped
_AT_ONCE = 1.0  # s in which another Ctrl-C is the same one, as what starts us may hand on its own


class StuckRule(NamedTuple):
    """A rule that has been running for long.

    Attributes:
        name: of its function.
        place: file and line where it is now.
        seconds: so long.
    """

    name: str
    place: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.name} ({self.place})"


class Watchdog:
    """Watches the rules that the main thread runs, as a context manager; elsewhere it does nothing.

    Args:
        limit: seconds that one call may take.
        overrun: asked from then on, ten times a second in midst of the rule: whether to stop it.
        ends: whether the process is ended where the rule cannot be stopped, some seconds later.
    """

    def __init__(
        self, limit: float, overrun: Callable[[StuckRule], bool], ends: bool = False
    ) -> None:
        self._limit, self._overrun, self._ends = limit, overrun, ends
        self._patience = min(limit + _GRACE, _LONGEST)
        self._unanswered: float | None = None  # since when the main thread has not looked
        self._call: FrameType | None = None  # that of the rule which runs now
        self._since = 0.0
        self._tries = 0
        self._asking = False
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="gv-engine guard", daemon=True)
        self._before: Any = None

    def __enter__(self) -> Watchdog:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(_ALARM, self._look)
            self._thread.start()
            if self._ends:
                _alarm_every(_LOOK_EVERY)
                self._put_off_the_end()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.ident is not None:
            self._over.set()
            self._thread.join()
            if self._ends:
                _alarm_every(0)
                faulthandler.cancel_dump_traceback_later()
            signal.signal(_ALARM, self._before)
            self._let_go()

    def _watch(self) -> None:
        main = threading.main_thread().ident
        assert main is not None, "it runs"
        while not self._over.wait(_STOP_EVERY if self._tries else _LOOK_EVERY):
            if self._ends:
                self._put_off_the_end()
            # what the main thread holds is let go there, not in midst of this thread
            if self._call is not None or _rule_of(sys._current_frames()[main]):
                _interrupt(main)
                now = time.monotonic()
                self._unanswered = since = self._unanswered or now
                stack = _rule_of(sys._current_frames()[main])
                if self._ends and stack and now - since > self._patience:
                    _burn(f"{self._runaway(stack, now)} ran for {now - since:.0f} s and was ended")
            else:
                self._unanswered = None

    def _put_off_the_end(self) -> None:
        """Let the process end by itself if C keeps all threads from coming here again."""
        faulthandler.dump_traceback_later(self._patience, exit=True, file=2)

    def _look(self, number: int, frame: FrameType | None) -> None:
        """In the main thread, between two of its instructions."""
        self._unanswered = None
        if self._asking:
            return
        now = time.monotonic()
        stack = _rule_of(frame)
        call = stack[-1] if stack else None
        if call is None or call is not self._call or _is_debugged():
            self._let_go()
            self._call, self._since = call, now
        elif now - self._since >= self._limit and (self._tries or self._asks(stack, now)):
            self._stop(stack, now)

    def _asks(self, stack: list[FrameType], now: float) -> bool:
        self._asking = True
        try:
            return self._overrun(self._runaway(stack, now))
        finally:
            self._asking = False

    def _runaway(self, stack: list[FrameType], now: float) -> StuckRule:
        inner = list(dropwhile(lambda frame: not is_rule_frame(frame), stack))
        place = format_place(inner[0].f_code.co_filename, inner[0].f_lineno)
        *_, called = filter(
            is_rule_frame, takewhile(lambda frame: not is_engine_frame(frame), inner)
        )
        return StuckRule(called.f_code.co_qualname, place, now - self._since)

    def _stop(self, stack: list[FrameType], now: float) -> None:
        """Raise in the rule, or in what of others it has called; the engine is left whole."""
        runaway = self._runaway(stack, now)
        stopped = Stopped(f"{runaway} ran for {runaway.seconds:.0f} s and was stopped")
        self._tries += 1
        if self._tries > 1:  # it has caught the first one; then its next line raises too
            for frame in filter(is_rule_frame, stack):
                frame.f_trace = _raising(stopped)
            sys.settrace(_ignore)
        if not any(map(is_engine_frame, takewhile(lambda frame: not is_rule_frame(frame), stack))):
            raise stopped

    def _let_go(self) -> None:
        self._call = None
        self._tries = 0
        if sys.gettrace() is _ignore:
            sys.settrace(None)


def _rule_of(frame: FrameType | None) -> list[FrameType]:
    """The frames of a rule that runs, the innermost first and its own last; none if none does."""
    stack: list[FrameType] = []
    last = 0
    while frame is not None:
        stack.append(frame)
        if is_rule_frame(frame):
            last = len(stack)
        frame = frame.f_back
    return stack[:last]


def _is_debugged() -> bool:
    """Whether somebody looks into the rule and takes their time."""
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    stepped = monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None
    return stepped or sys.gettrace() not in (None, _ignore)


def _ignore(frame: FrameType, event: str, argument: Any) -> None:
    """Trace function of what is called now: it is left alone."""


def _raising(stopped: Stopped) -> Callable[..., Any]:
    """A trace function that raises at the next line."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            raise stopped
        return trace

    return trace


class HardTimeout:
    """Ends the process if what runs while it is lit takes too long, as a context manager.

    For compiled code, which nothing else ends; it has to let other threads run.

    Args:
        limit: seconds that it may burn.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._burns_until, self._says = math.inf, ""
        self._over = threading.Event()

    def __enter__(self) -> HardTimeout:
        threading.Thread(target=self._watch, name="gv-engine fuse", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    @contextmanager
    def lit(self, says: str) -> Iterator[None]:
        """Burn meanwhile; at its end the process says this."""
        self._says, self._burns_until = says, time.monotonic() + self.limit
        try:
            yield
        finally:
            self._burns_until = math.inf

    def _watch(self) -> None:
        while not self._over.wait(min(self.limit / 8, PATIENCE)):
            if time.monotonic() > self._burns_until:
                _burn(self._says)


@contextmanager
def force_exit_after(seconds: float, says: str) -> Iterator[None]:
    """End the process, saying why, if Ctrl-C meanwhile is not heeded after so many seconds, or
    SIGTERM where something heeds it.

    Another Ctrl-C, a second later or more, ends it. For compiled code in the main thread, as
    `HardTimeout`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_heed, args=(ours, seconds, says), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()
        thread.join()
        ours.close()


def _heed(ours: socket.socket, seconds: float, says: str) -> None:
    """Listen to the numbers of signals until nobody sends them any more."""
    came, first = 0, math.inf
    while True:
        try:
            number = ours.recv(1)
        except TimeoutError:
            _burn(says, 128 + came)
        if not number:
            return
        if number[0] in (signal.SIGINT, signal.SIGTERM):
            now = time.monotonic()
            if number[0] == signal.SIGINT and now - first > _AT_ONCE:
                _burn(says, 128 + signal.SIGINT)
            came, first = number[0], min(first, now)
            ours.settimeout(seconds)


def _burn(says: str, code: int = 1) -> NoReturn:
    sys.stdout.flush()
    complain(says)
    os._exit(code)
