"""Tables of what was measured."""

from __future__ import annotations

from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.claims import claims
from benchmarks.roster import ROSTER

Results = dict[str, Any]


def report(results: Results, write: bool) -> None:
    """Print the tables."""
    for title, head, rows in (_contest(results), _claims(results)):
        table = Table(title=title, title_justify="left")
        for number, name in enumerate(head):
            table.add_column(name, justify="right" if number else "left")
        for row in rows:
            table.add_row(*row)
        Console(width=140).print(table)


def _contest(results: Results) -> tuple[str, list[str], list[list[str]]]:
    head = ["", "task", "worlds", "steps / CPU s", "of GV Engine", "resets / CPU s"]
    head += ["start s", "MiB", "KiB / world"]
    rows = []
    for name, found in results.items():
        row = [ROSTER[name].label]
        if "failed" in found:
            rows.append([*row, found["failed"], *[""] * (len(head) - 2)])
            continue
        row += [found["task"], f"{found['worlds']:,}"]
        row += [_middle(found.get("step")), _ratio(results, name), _middle(found.get("reset"))]
        row.append(f"{median(found['start']):.2f}" if "start" in found else "")
        memory = found.get("memory", [["", ""]])[0]
        row.append(f"{memory[0] / 2**20:,.0f}" if memory[0] else "")
        row.append(f"{memory[1] / 2**10:,.1f}" if memory[1] else "")
        rows.append(row)
    return "Side by side", head, rows


def _middle(values: list[list[float]] | None) -> str:
    return f"{median(cpu for cpu, _ in values):,.0f}" if values else ""


def _ratio(results: Results, name: str) -> str:
    pairs = zip(results[name]["step"], results["gv-engine"]["step"], strict=True)
    return f"{median(mine[0] / engine[0] for mine, engine in pairs):.4g}"


def _claims(results: Results) -> tuple[str, list[str], list[list[str]]]:
    rows = [list(row) for row in claims(results)]
    return "What it must show", ["", "asked for", "measured", "lowest to highest", ""], rows
