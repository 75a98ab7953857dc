"""Bars for what takes its time, and what Ctrl-C must not cut in two."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


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

    said = TextColumn("{task.fields[says]}")
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), said
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, says="")
        yield lambda number=1, says="": bar.update(task, advance=number, says=says)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Ctrl-C goes to the main thread
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
