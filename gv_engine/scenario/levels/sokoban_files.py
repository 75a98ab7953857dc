"""Readers of Sokoban levels: text files of boards (.xsb, .sok, .txt) and collections in XML
(.slc)."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import NamedTuple

from gv_engine.scenario.storage.files import parse_xml
from gv_engine.scenario.syntax.fields import MAX_SIDE

_SIGNS = "#@+$*.-_ "
_ENCODED = re.compile(r"(?:\d*+(?:[^\w:;|]|_)|\|)++")
"""Row of signs, which may have run lengths, and `|` between rows."""
_HEADING = re.compile(r"#++\s*+(?=[^\W_])[^#|]*(?:\d|[^\W\d_]{3})[^#|]*")
"""Line such as `#1` or `# Level 2`."""
_RUN = re.compile(r"(\d+)(\D)")
_METADATA = re.compile(r"(title|author)\s*:\s*(.*)", re.IGNORECASE)
_SOLVED = re.compile(r"(?:best\s+)?solution\b(?:\s*:\s*(.*)|[^:]*)", re.IGNORECASE)
"""Line above moves, such as `Solution/Pushes 12/3`; or with moves, `Solution: rR`."""
_COMMENT = re.compile(r"\s*comment([\s_-]*end)?\s*:.*", re.IGNORECASE)
_MOVES = re.compile(r"\d*+[udlrUDLR][\dudlrUDLR\s]*")
_EMPTY_ROW = re.compile(r"(?:\d*+[-_ ]|\|)+")

_BLANK, _TEXT, _COMMENTED, _UNCLEAR, _WALLS, _OBJECTS, _FLOOR = " tc?#*-"
"""Kinds of lines; text with a wall, which is a row between rows; rows with walls, with objects but
no walls, and with floor alone."""
_BOARD = re.compile(r"[#*](?:[#*-]*[#*])?")
"""Kinds of lines that are a board if one of them has walls."""
_KEYS, _SOLUTION, _REMARK = "keys", "solution", "remark"
"""Parts of the text between boards: title and author by key, solution, and other lines."""


@dataclass
class SokobanLevel:
    """Level of a Sokoban file.

    Attributes:
        line: line of its first row, from 1; 0 if unknown.
        title, author: texts of the file, "" for none.
        rows: rows of characters, of different lengths.
        solution: its moves, maybe with run lengths; "" for none.
    """

    line: int
    title: str
    author: str
    rows: list[str] = field(default_factory=list)
    solution: str = ""


def decode_levels(raw: bytes) -> str:
    """Return the text of a file of levels: UTF-8, UTF-16 with a byte order mark, or Windows-1252 as
    in most old collections."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_wide = raw.startswith((BOM_UTF16_BE, BOM_UTF16_LE))
        return raw.decode("utf-16" if is_wide else "cp1252", "replace")


def read_sokoban(text: str, most: int | None = None) -> Iterator[SokobanLevel]:
    """Yield the levels in `text`, the content of a Sokoban level file, in order. The whole file
    tells if its titles are above or below their boards.

    Args:
        text: the content.
        most: number of levels after which the rest is not read; None for all.

    Raises:
        ValueError: a row is too long, or a level has too many rows.
    """
    lines = text.splitlines()
    kinds = _classify_lines(lines)
    spans = (found.span() for found in _BOARD.finditer(kinds) if _WALLS in found[0])
    boards = list(islice(spans, most))
    end = len(lines) if len(boards) != most else boards[-1][1]
    edges = [0, *chain.from_iterable(boards), end]
    gaps = [_read_gap(lines, kinds, *edge) for edge in zip(edges[::2], edges[1::2], strict=True)]
    keys, solutions = (
        gaps[:-1] if _is_above(gaps, part) else gaps[1:] for part in (_KEYS, _SOLUTION)
    )
    titles = _choose_titles(gaps, [gap.texts.get("title", "") for gap in keys])
    for number, (start, stop) in enumerate(boards):
        author = keys[number].texts.get("author") or gaps[0].texts.get("author", "")
        level = SokobanLevel(start + 1, titles[number], author)
        level.solution = solutions[number].texts.get(_SOLUTION, "")
        for line in range(start, stop):
            level.rows += _expand_row(lines[line], line + 1)
            if len(level.rows) > MAX_SIDE:
                raise ValueError(f"line {line + 1} belongs to a level of more than {MAX_SIDE} rows")
        yield level


def _classify_lines(lines: Sequence[str]) -> str:
    """Return the kinds of all lines, one character each. No line of a comment block is a row."""
    stripped = map(str.strip, lines)
    kinds, opened = [_classify_line(line) if line else _BLANK for line in stripped], -1
    for number, line in enumerate(lines):
        if kinds[number] == _TEXT and (found := _COMMENT.fullmatch(line)):
            if found[1] and opened >= 0:
                kinds[opened : number + 1] = _COMMENTED * (number + 1 - opened)
            opened = -1 if found[1] else number
    return re.sub(r"(?<=#)\?+(?=#)", lambda found: _WALLS * len(found[0]), "".join(kinds))


def _classify_line(line: str) -> str:
    """Return the kind of a line without blanks at its ends, outside of comment blocks."""
    has_walls = "#" in line
    if not line.strip(_SIGNS):
        return _WALLS if has_walls else _OBJECTS if line.strip("-_ .") else _FLOOR
    if _EMPTY_ROW.fullmatch(line):
        return _FLOOR
    if has_walls and not _HEADING.fullmatch(line):
        if _ENCODED.fullmatch(line):
            return _WALLS
        if ":" not in line:
            return _WALLS if line.startswith("#") else _UNCLEAR
    return _TEXT


class _Gap(NamedTuple):
    """Text between two boards, above the first or below the last.

    Attributes:
        texts: title, author and solution, by key.
        remarks: comments behind `;`.
        last: last line if it stands alone, such as `#1` or `Level 1`, else "".
        leans: by part that the text has, 1 if it touches only the next board, -1 if only the board
            before, else 0.
    """

    texts: dict[str, str]
    remarks: list[str]
    last: str
    leans: dict[str, int]


_NO_TEXT = _Gap({}, [], "", {})


def _read_gap(lines: Sequence[str], kinds: str, start: int, stop: int) -> _Gap:
    """Return the text in `lines[start:stop]`; `kinds` are those of all lines."""
    if not kinds[start:stop].strip(_BLANK + _COMMENTED):
        return _NO_TEXT
    texts, remarks, last = dict[str, str](), list[str](), ""
    solutions, is_solving, places = list[str](), False, dict[str, list[int]]()
    for number in range(start, stop):
        line, part = lines[number].strip(), ""
        if kinds[number] == _BLANK:
            is_solving = is_solving and not solutions[-1]  # blank lines end moves
            continue
        last = ""
        if kinds[number] == _COMMENTED:
            continue
        if found := _METADATA.fullmatch(line):
            part, texts[found[1].lower()] = _KEYS, found[2]
        elif found := _SOLVED.fullmatch(line):
            part = _SOLUTION
            solutions.append(found[1] or "")
        elif is_solving and _MOVES.fullmatch(line):
            solutions[-1] += line
            continue
        elif re.search(r"\w", line):
            if line.startswith(";"):
                part = _REMARK
                remarks.append(line.strip("; \t"))
            elif ":" not in line and (number == 0 or kinds[number - 1] == _BLANK):
                last = line.strip("# \t")
        is_solving = part == _SOLUTION
        if part:
            places.setdefault(part, []).append(number)
    readable = filter(_MOVES.fullmatch, solutions)
    texts["solution"] = next(readable, next(filter(None, solutions), ""))
    leans = {}
    for part, numbers in places.items():
        touches_next = stop < len(lines) and _BLANK not in kinds[numbers[-1] : stop]
        touches_before = start > 0 and _BLANK not in kinds[start : numbers[0]]
        leans[part] = touches_next - touches_before
    return _Gap(texts, remarks, last, leans)


def _is_above(gaps: Sequence[_Gap], part: str) -> bool:
    """Return True if a text's `part` belongs to the board below. Most of such texts in the file
    touch that board, or else there is one above the first board and, but for remarks, none below
    the last."""
    leans = [gap.leans.get(part) for gap in gaps]
    count, votes = len(leans) - leans.count(None), sum(lean or 0 for lean in leans)
    if part != _REMARK and 2 * sum(lean is not None for lean in leans[:-1]) < len(leans):
        return False  # such as an author of all levels
    if 2 * abs(votes) > count:
        return votes > 0
    return leans[0] is not None and (leans[-1] is None or part == _REMARK)


def _choose_titles(gaps: Sequence[_Gap], titles: list[str]) -> list[str]:
    """Return the titles of all boards: `titles`, those of keys, and for boards without one the
    remarks or headings beside them, if at least every second has one."""
    if not any(gap.remarks for gap in gaps):
        beside = [gap.last for gap in gaps[:-1]]
    elif _is_above(gaps, _REMARK):
        beside = [gap.remarks[-1] if gap.remarks else "" for gap in gaps[:-1]]
    else:
        beside = [gap.remarks[0] if gap.remarks else "" for gap in gaps[1:]]
    untitled = [other for title, other in zip(titles, beside, strict=True) if not title]
    if 2 * untitled.count("") > len(untitled):
        return titles
    return [title or other for title, other in zip(titles, beside, strict=True)]


def _expand_row(line: str, line_number: int) -> list[str]:
    """Return the map rows that a line of a Sokoban file stands for: several if the line is
    run-length encoded. `line_number` is for messages."""
    rows = [line.rstrip()]
    if rows[0].strip(_SIGNS) and _ENCODED.fullmatch(rows[0]):
        runs = [times for times, _ in _RUN.findall(line)]
        if sum(int(times) if len(times) < 7 else MAX_SIDE**2 + 1 for times in runs) > MAX_SIDE**2:
            raise ValueError(f"line {line_number} is longer than any level")
        rows = _RUN.sub(lambda run: int(run[1]) * run[2], rows[0]).removesuffix("|").split("|")
    if max(map(len, rows)) > MAX_SIDE:
        raise ValueError(f"line {line_number} is longer than {MAX_SIDE} cells")
    return rows


def read_slc(raw: bytes) -> Iterator[SokobanLevel]:
    """Yield the levels in `raw`, the content of a collection in XML.

    Raises:
        ValueError: the collection is damaged, or a level has no rows.
    """
    root = parse_xml(raw)
    if root.tag != "SokobanLevels":
        raise ValueError(f"found <{root.tag[:20]}>, expected <SokobanLevels>")
    for collection in root.iter("LevelCollection"):
        author = collection.get("Copyright", "")
        for level in collection.iter("Level"):
            title, rows = level.get("Id", ""), [row.text or "" for row in level.iter("L")]
            if not any(rows):
                raise ValueError(f"level {title[:40]!r} has no rows; each is an element <L>")
            yield SokobanLevel(0, title, level.get("Copyright", author), rows)
