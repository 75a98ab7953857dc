"""Files of Sokoban levels, in the format that XSB began and that most collections use.

    Title: A collection
    Author: Who made it

    #####
    #@$.#
    #####
    Title: The first
    Solution: R

Rows may be run-length encoded, `5#|#@$.#|5#`. Lines that begin with a semicolon are titles. Where a
row begins with a wall, any characters may follow, for legends that know more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

_ENCODED = re.compile(r"[\d#@+$*.\-_ |]*")
_RUN = re.compile(r"(?<!\d)(\d+)(\D)")
_TOLD = re.compile(r"\s*(title|author|solution)\s*:\s*(.*)", re.IGNORECASE)
_MOVES = re.compile(r"[udlrUDLR\s]+")
_LONGEST = 512
"""Cells of a row, and rows of a level."""


@dataclass(frozen=True)
class SokobanLevel:
    """A level of such a file.

    Attributes:
        line: of its first row, from 1.
        rows: of characters, not all as long.
        title, author, solution: "" if the file does not say.
    """

    line: int = 1
    rows: list[str] = field(default_factory=list)
    title: str = ""
    author: str = ""
    solution: str = ""

    def solved_by(self, moves: list[str]) -> SokobanLevel:
        """Return the level with more moves behind its solution."""
        return replace(self, solution=self.solution + "".join(moves))


def read_sokoban(text: str) -> Iterator[SokobanLevel]:
    """The levels of a file, in order.

    Raises:
        ValueError: a row is too long, or a level has too many.
    """
    whole = SokobanLevel()  # what is told before the first level holds for all
    last: SokobanLevel | None = None
    moves: list[str] = []  # of its solution; adding each to a text would take quadratic time
    ahead, solving, drawing = "", False, False
    lines = text.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    for number, line in enumerate(lines, 1):
        told = _TOLD.fullmatch(line)
        if _is_row(line.lstrip()):
            if not drawing or last is None:
                if last:
                    yield last.solved_by(moves)
                last, moves = SokobanLevel(number, [], ahead, whole.author), []
                ahead = ""
            last.rows.extend(_rows(line, number))
            if len(last.rows) > _LONGEST:
                raise ValueError(f"line {number} belongs to a level of more than {_LONGEST} rows")
            drawing, solving = True, False
            continue
        drawing = False
        if told:
            key = told[1].lower()
            value: dict[str, Any] = {key: told[2].strip()}
            solving = key == "solution"
            if last:
                last, moves = replace(last, **value), [] if solving else moves
            elif not solving:
                whole = replace(whole, **value)
        elif line.startswith(";"):
            solving, title = False, line.strip("; \t")
            if first.startswith(";"):  # titles are above their levels in such a file
                ahead = title
            elif last and not last.title:
                last = replace(last, title=title)
        elif solving and last and _MOVES.fullmatch(line):
            moves.append(line.strip())
        elif line.strip():
            solving = False
    if last:
        yield last.solved_by(moves)


def _is_row(line: str) -> bool:
    """Return whether a line that begins with no blanks is part of a board."""
    usual = "#" in line and _ENCODED.fullmatch(line) is not None
    return usual or (line.startswith("#") and ":" not in line)


def _rows(line: str, number: int) -> list[str]:
    """The rows of a line, of which there are several where they are run-length encoded."""
    rows = [line.rstrip()]
    if _ENCODED.fullmatch(line):
        runs = [times for times, _ in _RUN.findall(line)]
        if sum(int(times) if len(times) < 7 else _LONGEST**2 + 1 for times in runs) > _LONGEST**2:
            raise ValueError(f"line {number} is longer than any level")
        rows = _RUN.sub(lambda run: int(run[1]) * run[2], line.rstrip()).split("|")
    if max(map(len, rows)) > _LONGEST:
        raise ValueError(f"line {number} is longer than {_LONGEST} cells")
    return rows
