"""Tables: drawn on a terminal, words between tabs for another program."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from gv_engine.language.errors import printable


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table; if the output goes to a file or a program, lines of words between tabs, of
    which the first has the heads, where there are any.

    Args:
        columns: their heads; one that ends with `>` is for numbers, which stand to the right.
        rows: one value for each column.
        title: said above.
    """
    heads = [printable(column.removesuffix(">")) for column in columns]
    texts = [[printable(str(value)) for value in row] for row in rows]
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
    named = Text(printable(title), "table.title") if title else None
    table = Table(title=named, title_justify="left", box=box.SIMPLE_HEAD)
    table.show_header = any(heads)
    for column, head in zip(columns, heads, strict=True):
        table.add_column(Text(head), justify="right" if column.endswith(">") else "left")
    for row in texts:
        table.add_row(*map(Text, row))
    Console().print(table)
