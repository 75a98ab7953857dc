"""Output of commands: tables, progress bars, and blocks that Ctrl-C does not interrupt."""

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
    """Show a progress bar in the block, if stderr is a terminal.

    Args:
        what: label of the bar.
        total: number of steps.

    Yields:
        Function (number of steps = 1, text beside the bar = "") that advances the bar.
    """
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

    label_column = TextColumn("{task.description}", markup=False)
    text_column = TextColumn("{task.fields[says]}", markup=False)
    columns = label_column, BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), text_column
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress_bar:
        task = progress_bar.add_task(escape_unprintable(what), total=total, says="")
        yield lambda number=1, says="": progress_bar.update(
            task, advance=number, says=escape_unprintable(says)
        )


class Terminated(KeyboardInterrupt):
    """SIGTERM, handled like Ctrl-C."""


def exit_code(interrupt: KeyboardInterrupt) -> int:
    """Return the exit code after an interrupt: 130 for Ctrl-C, 143 for SIGTERM."""
    return TERMINATED if isinstance(interrupt, Terminated) else INTERRUPTED


@contextmanager
def handling_sigterm() -> Iterator[None]:
    """In the block, SIGTERM raises `Terminated`, which is handled like Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals go to the main thread
        return

    signals: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        raise Terminated

    old_handler = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except KeyboardInterrupt:
        if signals:  # Ray turns it into a KeyboardInterrupt
            raise Terminated from None
        raise
    finally:
        signal.signal(signal.SIGTERM, old_handler)


@contextmanager
def delaying_signals() -> Iterator[list[int]]:
    """Delay Ctrl-C, and SIGTERM if it is handled, until the end of the block; yield the list of
    signals that have arrived.

    What is yielded has the numbers of those that have come.
    """
    signals: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield signals  # signals go to the main thread
        return
    old_handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    python_handlers = {
        number: handler for number, handler in old_handlers.items() if callable(handler)
    }
    for number in python_handlers:
        signal.signal(number, lambda number, _: signals.append(number))
    try:
        yield signals
    finally:
        for number, handler in python_handlers.items():
            signal.signal(number, handler)
    for number, handler in python_handlers.items():
        if number in signals:
            handler(number, None)


# ---- tables --------------------------------------------------------------------------------------


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table; if the output is no terminal, print lines of values separated by tabs.

    Args:
        columns: titles of the columns; a title that ends with `>` aligns its column to the right.
        rows: one value for each column.
        title: title above the table.
    """
    titles = [escape_unprintable(column.removesuffix(">")) for column in columns]
    texts = [[escape_unprintable(str(value)) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [titles, *texts] if any(titles) else texts:
            print(*row, sep="\t")
        return
    # imported here: rich takes a tenth of a second to import
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # a `Text`, because names may contain rich's markup
    title_text = Text(escape_unprintable(title), "table.title") if title else None
    table = Table(title=title_text, title_justify="left", box=box.SIMPLE_HEAD)
    table.show_header = any(titles)
    for column, head in zip(columns, titles, strict=True):
        table.add_column(Text(head), justify="right" if column.endswith(">") else "left")
    for row in texts:
        table.add_row(*map(Text, row))
    Console().print(table)
