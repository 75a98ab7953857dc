"""Tables: drawn on a terminal, words between tabs for another program."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from gv_engine.language.errors import printable


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """Print a table; without its title and head if the output goes to a file or a program.

    Args:
        columns: their heads; one that ends with `>` is for numbers, which stand to the right.
        rows: one value for each column.
        title: said above.
    """
    texts = [[printable(str(value)) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in texts:
            print(*row, sep="\t")
        return
    # rich takes a tenth of a second, and not every command has a table
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=printable(title) or None, title_justify="left", box=box.SIMPLE_HEAD)
    table.show_header = any(column.removesuffix(">") for column in columns)
    for column in columns:
        right = column.endswith(">")
        table.add_column(column.removesuffix(">"), justify="right" if right else "left")
    for row in texts:
        table.add_row(*map(Text, row))  # names may hold what rich takes for markup
    Console().print(table)
