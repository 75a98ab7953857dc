"""Tables of the results on the terminal, most of them also in `docs/performance.md`."""

from __future__ import annotations

import os
import platform
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.claims import check_claims
from benchmarks.peers import ROOT
from benchmarks.roster import ROSTER

PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- measured -->\n", "<!-- end of measured -->\n"

Results = dict[str, Any]


class Table(NamedTuple):
    """Table whose first column names the rows; the others hold figures."""

    title: str
    head: list[str]
    rows: list[list[str]]


def make_tables(results: Results) -> Iterator[Table]:
    """Yield the tables of speed and memory that have rows."""
    sides = [name for name in results if "reset" in ROSTER[name].measures]
    steps = [name for name in results if "step" in ROSTER[name].measures]
    variants = [name for name in steps if name not in sides]
    for table in (
        Table(
            "Side by side",
            ["", "task", "worlds", "steps/s", "GV Engine does", "resets/s"]
            + ["start, s", "CPU, s", "process, MiB", "a world, KiB"],
            [_workload_row(results, name) for name in sides],
        ),
        Table(
            "GV Engine on other work",
            ["", "steps/s"],
            [_variant_row(results, name) for name in variants],
        ),
    ):
        if table.rows:
            yield table


def _workload_row(results: Results, name: str) -> list[str]:
    """Return the row of a workload in the main table."""
    figures = results[name]
    if "failed" in figures:
        return [ROSTER[name].label, f"not here: {figures['failed']}", *[""] * 8]
    row = [ROSTER[name].label, figures["task"], f"{figures['worlds']:,}"]
    row += [
        _format_rate(figures, "step"),
        _format_speedup(results, name),
        _format_rate(figures, "reset"),
    ]
    row += [_format_median(figures, "start", index, "{:.2f}") for index in range(2)]
    row.append(_format_median(figures, "memory", 0, "{:,.0f}", 2**20))
    row.append(_format_median(figures, "memory", 1, "{:,.1f}", 2**10))
    return row


def _variant_row(results: Results, name: str) -> list[str]:
    """Return the row of a variant of the engine."""
    figures = results[name]
    if "failed" in figures:
        return [ROSTER[name].label, f"not here: {figures['failed']}"]
    return [ROSTER[name].label, _format_rate(figures, "step")]


def _format_rate(figures: Results, measurement: str) -> str:
    return _format_median(figures, measurement, 0, "{:,.0f}")


def _format_median(
    figures: Results, measurement: str, index: int, template: str, unit: int = 1
) -> str:
    values = [value[index] / unit for value in figures.get(measurement, [])]
    return template.format(median(values)) if values else ""


def _format_speedup(results: Results, name: str) -> str:
    pairs = zip(results["gv-engine"].get("step", []), results[name].get("step", []), strict=False)
    ratios = [engine[0] / other[0] for engine, other in pairs]
    return f"{median(ratios):,.3g}x" if ratios else ""


def describe_machine(results: Results) -> str:
    """Return the system, architecture, cores and versions of Python and the packages."""
    versions = (figures.get("versions", {}).items() for figures in results.values())
    packages = sorted({f"{name} {number}" for found in versions for name, number in found})
    kind = f"{platform.system()} on {platform.machine()}, {os.cpu_count()} cores"
    return ", ".join([f"{kind}, Python {platform.python_version()}", *packages])


def print_tables(results: Results) -> None:
    """Print the tables of speed and memory, and the claims."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    head = ["", "asked for", "median", "interval", "holds"]
    claims = Table("What it must show", head, [list(row) for row in check_claims(results)])
    for table in [*make_tables(results), claims]:
        rich_table = RichTable(title=table.title, title_justify="left")
        for number, name in enumerate(table.head):
            rich_table.add_column(name, justify="right" if number > 1 else "left")
        for row in table.rows:
            rich_table.add_row(*row)
        console.print(rich_table)


def write_tables(results: Results, page: Path = PAGE) -> None:
    """Write the tables of speed and memory between the markers of a page.

    Raises:
        ValueError: the page has no such markers.
    """
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"{page}: it needs the lines {BEGIN.strip()} and {END.strip()}")
    machine = textwrap.fill(f"{describe_machine(results)}.", 118)
    parts = [f"{machine}\n"]
    for title, head, rows in make_tables(results):
        lines = [head, (["---"] * 2 + ["--:"] * len(head))[: len(head)], *rows]
        parts.append(f"### {title}\n")
        parts.append("".join(f"| {' | '.join(line)} |\n" for line in lines))
    page.write_text(before + begin + "\n" + "\n".join(parts) + "\n" + end + after, "utf-8")
