"""Watchdog for rules that do not end: it detects them while they run, reports their names, and
stops them.

A thread looks several times a second at the main thread's stack, so that calls of rules have no
overhead. If the same call has run for too long, a callback in the main thread decides, again and
again, whether to raise `Stopped` in it. Code in C libraries cannot be stopped before it returns;
the process can be ended.
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
from gv_engine.scenario.documents.rule_errors import is_engine_frame, is_rule_frame
from gv_engine.scenario.domains import format_place

if sys.platform == "win32":
    from _thread import interrupt_main

    _ALARM = signal.SIGBREAK

    def _interrupt(thread: int) -> None:
        interrupt_main(_ALARM)

    def _alarm_every(seconds: float) -> None:
        pass  # Windows has no interval timer

else:
    _ALARM = signal.SIGALRM

    def _interrupt(thread: int) -> None:
        signal.pthread_kill(thread, _ALARM)  # also interrupts a sleep

    def _alarm_every(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)  # also while no thread can run


PATIENCE = 2.0
"""Seconds after which a waiting player is told the reason."""
_GRACE_SECONDS, _MAX_SECONDS = 3.0, 1e6  # time after the limit until the exit, and its maximum
_CHECK_SECONDS, _STOP_SECONDS = 0.1, 0.005  # between two checks: usually, and while stopping a rule
_SAME_SIGINT = 1.0  # s in which two SIGINTs count as one, as a parent process may send its own


class StuckRule(NamedTuple):
    """Rule that has been running for a long time.

    Attributes:
        name: name of its function.
        place: file and line where it is now.
        seconds: running time.
    """

    name: str
    place: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.name} ({self.place})"


class Watchdog:
    """Context manager that watches the rules of the main thread; does nothing in other threads.

    Args:
        limit: seconds that one call may take.
        overrun: function called ten times a second from then on, in the main thread; returns True
            to stop the rule.
        ends: whether to end the process some seconds later if the rule cannot be stopped.
    """

    def __init__(
        self, limit: float, overrun: Callable[[StuckRule], bool], ends: bool = False
    ) -> None:
        self._limit, self._overrun, self._ends = limit, overrun, ends
        self._patience = min(limit + _GRACE_SECONDS, _MAX_SECONDS)
        self._unanswered: float | None = None  # time of the first unhandled signal
        self._call: FrameType | None = None  # frame of the running rule
        self._call_start = 0.0
        self._num_tries = 0  # times that `Stopped` was raised in the running rule
        self._is_asking = False  # `overrun` runs
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._monitor, name="gv-engine guard", daemon=True)
        self._previous_handler: Any = None

    def __enter__(self) -> Watchdog:
        if threading.current_thread() is threading.main_thread():
            self._previous_handler = signal.signal(_ALARM, self._on_alarm)
            self._thread.start()
            if self._ends:
                _alarm_every(_CHECK_SECONDS)
                self._postpone_exit()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread.ident is not None:
            self._is_closed.set()
            self._thread.join()
            if self._ends:
                _alarm_every(0)
                faulthandler.cancel_dump_traceback_later()
            signal.signal(_ALARM, self._previous_handler)
            self._forget_call()

    def _monitor(self) -> None:
        """Run the watching thread: send the main thread a signal ten times a second while a rule
        runs there. If the rule cannot be stopped and `ends` was set, end the process."""
        main = threading.main_thread().ident
        assert main is not None, "it runs"
        while not self._is_closed.wait(_STOP_SECONDS if self._num_tries else _CHECK_SECONDS):
            if self._ends:
                self._postpone_exit()
            # locals of the main thread must be released there, not in this thread
            if self._call is not None or _rule_frames(sys._current_frames()[main]):
                _interrupt(main)
                now = time.monotonic()
                self._unanswered = self._unanswered or now
                waited = now - self._unanswered
                stack = _rule_frames(sys._current_frames()[main])
                if self._ends and stack and waited > self._patience:
                    rule = self._describe_rule(stack, now)
                    _exit(f"{rule} ran for {waited:.0f} s and was ended")
            else:
                self._unanswered = None

    def _postpone_exit(self) -> None:
        faulthandler.dump_traceback_later(self._patience, exit=True, file=2)

    def _on_alarm(self, number: int, frame: FrameType | None) -> None:
        """Handle the signal of the watching thread in the main thread: stop the rule whose code
        runs in `frame` if it has run longer than the limit. `number` is the signal number."""
        self._unanswered = None
        if self._is_asking:
            return
        now = time.monotonic()
        stack = _rule_frames(frame)
        call = stack[-1] if stack else None
        if call is None or call is not self._call or _is_debugged():
            self._forget_call()
            self._call, self._call_start = call, now
            return
        is_over_limit = now - self._call_start >= self._limit
        if is_over_limit and (self._num_tries or self._should_stop(stack, now)):
            self._stop(stack, now)

    def _should_stop(self, stack: list[FrameType], now: float) -> bool:
        """Ask the function `overrun` if the rule must be stopped, and return its answer. `stack`
        has the rule's Python frames, `now` is the time."""
        self._is_asking = True
        try:
            return self._overrun(self._describe_rule(stack, now))
        finally:
            self._is_asking = False

    def _describe_rule(self, stack: list[FrameType], now: float) -> StuckRule:
        """Return name, file and line, and running time at `now` of the rule whose Python frames are
        in `stack`."""
        frames = list(dropwhile(lambda frame: not is_rule_frame(frame), stack))
        place = format_place(frames[0].f_code.co_filename, frames[0].f_lineno)
        custom_frames = takewhile(lambda frame: not is_engine_frame(frame), frames)
        *_, function_frame = filter(is_rule_frame, custom_frames)  # the one that the engine calls
        return StuckRule(function_frame.f_code.co_qualname, place, now - self._call_start)

    def _stop(self, stack: list[FrameType], now: float) -> None:
        """Raise `Stopped` in the running rule, but not within a function of the engine. `stack` has
        the rule's Python frames. If the rule has caught an earlier `Stopped`, raise it again at its
        next line."""
        rule = self._describe_rule(stack, now)
        stopped = Stopped(f"{rule} ran for {rule.seconds:.0f} s and was stopped")
        self._num_tries += 1
        if self._num_tries > 1:  # the rule has caught the first one; its next line raises too
            for frame in filter(is_rule_frame, stack):
                frame.f_trace = _make_raising_trace(stopped)
            sys.settrace(_ignore)
        called_frames = takewhile(lambda frame: not is_rule_frame(frame), stack)
        if not any(map(is_engine_frame, called_frames)):
            raise stopped

    def _forget_call(self) -> None:
        self._call, self._num_tries = None, 0
        if sys.gettrace() is _ignore:
            sys.settrace(None)


def _rule_frames(frame: FrameType | None) -> list[FrameType]:
    """Return the Python frames of the running rule, from the innermost to the rule's function.
    `frame` is the frame to start from. [] if no rule is running."""
    stack: list[FrameType] = []
    num_rule_frames = 0
    while frame is not None:
        stack.append(frame)
        if is_rule_frame(frame):
            num_rule_frames = len(stack)
        frame = frame.f_back
    return stack[:num_rule_frames]


def _is_debugged() -> bool:
    if sys.gettrace() not in (None, _ignore):
        return True
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return monitoring is not None and monitoring.get_tool(monitoring.DEBUGGER_ID) is not None


def _ignore(frame: FrameType, event: str, argument: Any) -> None:
    """Trace function that traces nothing."""


def _make_raising_trace(stopped: Stopped) -> Callable[..., Any]:
    """Return a trace function for `sys.settrace` that raises `stopped` before the next line of code
    is executed."""

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            raise stopped
        return trace

    return trace


@contextmanager
def hard_timeout(limit: float, message: str) -> Iterator[None]:
    """Context manager that prints `message` and kills this process, without cleanup, if its block
    takes longer than `limit` seconds.

    For compiled code, which cannot be stopped otherwise; the code must release the GIL.

    Args:
        limit: maximum duration of the block in seconds.
        message: printed before the process ends.
    """
    timer = threading.Timer(min(limit, threading.TIMEOUT_MAX), _exit, [message])
    timer.daemon = True
    try:
        timer.start()  # a Ctrl-C can interrupt it, and must cancel it
        yield
    finally:
        timer.cancel()


@contextmanager
def force_exit_after(seconds: float, message: str) -> Iterator[None]:
    """End the process with `message` if Ctrl-C or SIGTERM arrives during the `with` block and the
    block does not end within `seconds` seconds. SIGTERM counts only if it has a handler.

    A second Ctrl-C, at least a second later, ends it at once. For compiled code in the main thread,
    like `hard_timeout`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    thread = threading.Thread(target=_handle_signals, args=(reader, seconds, message), daemon=True)
    thread.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        writer.close()
        thread.join()
        reader.close()


def _handle_signals(reader: socket.socket, seconds: float, message: str) -> None:
    """Wait for signals and end the process with `message` if it still runs `seconds` after one. The
    numbers of arriving signals are read from the socket `reader`, until that closes."""
    last_signal, first_time = 0, math.inf
    while True:
        try:
            data = reader.recv(1)
        except TimeoutError:
            _exit(message, 128 + last_signal)
        if not data:
            return
        if data[0] in (signal.SIGINT, signal.SIGTERM):
            now = time.monotonic()
            if data[0] == signal.SIGINT and now - first_time > _SAME_SIGINT:
                _exit(message, 128 + signal.SIGINT)
            last_signal, first_time = data[0], min(first_time, now)
            reader.settimeout(seconds)


def _exit(message: str, code: int = 1) -> NoReturn:
    sys.stdout.flush()
    complain(message)
    os._exit(code)
