"""Tables: drawn on a terminal, words between tabs for another program."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from gv_engine.cli.options import INTERRUPTED, TERMINATED
from gv_engine.rules.errors import escape_unprintable

# ---- progress ------------------------------------------------------------------------------------


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
        task = bar.add_task(escape_unprintable(what), total=total, says="")
        yield lambda number=1, says="": bar.update(
            task, advance=number, says=escape_unprintable(says)
        )


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


# ---- tables --------------------------------------------------------------------------------------


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table; if the output goes to a file or a program, lines of words between tabs, of
    which the first has the heads, where there are any.

    Args:
        columns: their heads; one that ends with `>` is for numbers, which stand to the right.
        rows: one value for each column.
        title: said above.
    """
    heads = [escape_unprintable(column.removesuffix(">")) for column in columns]
    texts = [[escape_unprintable(str(value)) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [heads, *texts] if any(heads) else texts:
            print(*row, sep="\t")
        return
    # rich takes a tenth of a second, and not every command has a table
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # a `Text`, as names may hold what rich takes for markup
    named = Text(escape_unprintable(title), "table.title") if title else None
    table = Table(title=named, title_justify="left", box=box.SIMPLE_HEAD)
    table.show_header = any(heads)
    for column, head in zip(columns, heads, strict=True):
        table.add_column(Text(head), justify="right" if column.endswith(">") else "left")
    for row in texts:
        table.add_row(*map(Text, row))
    Console().print(table)
