"""Bars for what takes its time, and what Ctrl-C and SIGTERM must not cut in two."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from gv_engine.commands.arguments import INTERRUPTED, TERMINATED
from gv_engine.language.errors import printable


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[..., None]]:
    """A bar on the terminal for so many of something; what is yielded moves it on, by one or by the
    number it is given, and may say something beside it."""
    if not sys.stderr.isatty():
        yield lambda number=1, says="": None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    named = TextColumn("{task.description}", markup=False)
    said = TextColumn("{task.fields[says]}", markup=False)
    columns = named, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), said
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(printable(what), total=total, says="")
        yield lambda number=1, says="": bar.update(task, advance=number, says=printable(says))


class Terminated(KeyboardInterrupt):
    """SIGTERM, by which clusters end what runs, where that is as Ctrl-C."""


def code_after(interrupt: KeyboardInterrupt) -> int:
    """The exit code."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM is as Ctrl-C meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread
        return

    came: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        came.append(number)
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if came:  # of which Ray makes a KeyboardInterrupt
            raise Terminated from None
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def undisturbed() -> Iterator[list[int]]:
    """Ctrl-C waits for the end of the block, and so does SIGTERM where it is the same.

    What is yielded has the numbers of those that have come.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came  # signals go to the main thread
        return
    known = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in known.items() if callable(handler)}
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number, handler in before.items():
        if number in came:
            handler(number, None)
