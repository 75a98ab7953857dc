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

_USUAL = r"[\d#@+$*.\-_ |]*"
_ROW = re.compile(rf"\s*({_USUAL}#{_USUAL}|#[^:]*)")
_ENCODED = re.compile(_USUAL)
_RUN = re.compile(r"(\d+)(\D)")
_TOLD = re.compile(r"\s*(title|author|solution)\s*:\s*(.*)", re.IGNORECASE)
_MOVES = re.compile(r"[udlrUDLR\s]+")
_LONGEST = 512
"""Cells of a row."""


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


def read_sokoban(text: str) -> Iterator[SokobanLevel]:
    """The levels of a file, in order.

    Raises:
        ValueError: a row is too long.
    """
    whole = SokobanLevel()  # what is told before the first level holds for all
    found: list[SokobanLevel] = []
    ahead, solving, drawing = "", False, False
    lines = text.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    for number, line in enumerate(lines, 1):
        told = _TOLD.fullmatch(line)
        if _ROW.fullmatch(line):
            if not drawing:
                found.append(SokobanLevel(number, [], ahead, whole.author))
                ahead = ""
            found[-1].rows.extend(_rows(line, number))
            drawing, solving = True, False
            continue
        drawing = False
        if told:
            key = told[1].lower()
            value: dict[str, Any] = {key: told[2].strip()}
            solving = key == "solution"
            if found:
                found[-1] = replace(found[-1], **value)
            elif not solving:
                whole = replace(whole, **value)
        elif line.startswith(";"):
            solving, title = False, line.strip("; \t")
            if first.startswith(";"):  # titles are above their levels in such a file
                ahead = title
            elif found and not found[-1].title:
                found[-1] = replace(found[-1], title=title)
        elif solving and found and _MOVES.fullmatch(line):
            found[-1] = replace(found[-1], solution=found[-1].solution + line.strip())
        elif line.strip():
            solving = False
    yield from found


def _rows(line: str, number: int) -> list[str]:
    """The rows of a line, of which there are several where they are run-length encoded."""
    if not _ENCODED.fullmatch(line):
        return [line.rstrip()]
    runs = [*_RUN.findall(line)]
    if sum(int(times[:9]) for times, _ in runs) > _LONGEST**2:
        raise ValueError(f"line {number} is longer than any level")
    rows = _RUN.sub(lambda run: int(run[1]) * run[2], line.rstrip()).split("|")
    if max(map(len, rows)) > _LONGEST:
        raise ValueError(f"line {number} is longer than {_LONGEST} cells")
    return rows
