"""What was measured, as tables on the screen and in `docs/performance.md`."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.claims import claims
from benchmarks.peers import ROOT
from benchmarks.roster import ROSTER

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end of measured -->\n"

Results = dict[str, Any]


class Table(NamedTuple):
    """One table: the first column names the rows, the others hold figures."""

    title: str
    head: list[str]
    rows: list[list[str]]


def tables(results: Results) -> Iterator[Table]:
    """All tables that have rows."""
    sides = [name for name in results if "reset" in ROSTER[name].measures]
    steps = [name for name in results if "step" in ROSTER[name].measures]
    variants = [name for name in steps if name not in sides]
    for table in (
        Table(
            "Side by side",
            ["", "task", "worlds", "steps", "GV Engine does", "resets", "start", "CPU", "process"]
            + ["a world", "versions"],
            [_row(results, name) for name in sides],
        ),
        Table(
            "GV Engine on other work",
            ["", "task", "worlds", "steps", "of the clock"],
            [_variant(results, name) for name in variants],
        ),
        Table(
            "What it must show",
            ["", "asked for", "median", "interval", "holds"],
            [list(row) for row in claims(results)],
        ),
    ):
        if table.rows:
            yield table


def _row(results: Results, name: str) -> list[str]:
    found = results[name]
    if "failed" in found:
        return [ROSTER[name].label, f"not here: {found['failed']}", *[""] * 9]
    row = [ROSTER[name].label, found["task"], f"{found['worlds']:,}"]
    row += [_rate(found, "step"), _engine_does(results, name), _rate(found, "reset")]
    row += [_middle(found, "start", which, "{:.2f} s") for which in range(2)]
    row.append(_middle(found, "memory", 0, "{:,.0f} MiB", 2**20))
    row.append(_middle(found, "memory", 1, "{:,.1f} KiB", 2**10))
    row.append(", ".join(f"{package} {number}" for package, number in found["versions"].items()))
    return row


def _variant(results: Results, name: str) -> list[str]:
    found = results[name]
    if "failed" in found:
        return [ROSTER[name].label, f"not here: {found['failed']}", *[""] * 3]
    row = [ROSTER[name].label, found["task"], f"{found['worlds']:,}"]
    return [*row, *(_middle(found, "step", which, "{:,.0f}/s") for which in range(2))]


def _rate(found: Results, what: str) -> str:
    return _middle(found, what, 0, "{:,.0f}/s")


def _middle(found: Results, what: str, which: int, form: str, unit: int = 1) -> str:
    """The median of what was measured round by round; empty if it was not."""
    values = [value[which] / unit for value in found.get(what, [])]
    return form.format(median(values)) if values else ""


def _engine_does(results: Results, name: str) -> str:
    pairs = zip(results["gv-engine"].get("step", []), results[name].get("step", []), strict=False)
    ratios = [engine[0] / other[0] for engine, other in pairs]
    return f"{median(ratios):,.3g}x" if ratios else ""


def machine() -> str:
    """What kind of machine this is."""
    kind = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    return f"{kind}, Python {platform.python_version()}"


def show(results: Results) -> None:
    """Print the tables."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    for table in tables(results):
        drawn = RichTable(title=table.title, title_justify="left")
        for number, name in enumerate(table.head):
            drawn.add_column(name, justify="right" if number > 1 else "left")
        for row in table.rows:
            drawn.add_row(*row)
        console.print(drawn)


def write(results: Results, page: Path = PAGE) -> None:
    """Put the tables between the markers of a page.

    Raises:
        ValueError: it has no such markers.
    """
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{page}: it needs the lines {BEGIN.strip()} and {END.strip()}")
    parts = [f"{machine()}.\n"]
    for title, head, rows in tables(results):
        lines = [head, ["---"] * 2 + ["--:"] * (len(head) - 2), *rows]
        parts.append(f"### {title}\n")
        parts.append("".join(f"| {' | '.join(line)} |\n" for line in lines))
    page.write_text(before + begin + "\n" + "\n".join(parts) + "\n" + end + after, "utf-8")
