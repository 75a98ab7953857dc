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
    """Decode the content of a level file: UTF-8, UTF-16 with a byte order mark, or Windows-1252 as
    in most old collections."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_wide = raw.startswith((BOM_UTF16_BE, BOM_UTF16_LE))
        return raw.decode("utf-16" if is_wide else "cp1252", "replace")


def read_sokoban(text: str, max_levels: int | None = None) -> Iterator[SokobanLevel]:
    """Yield the levels of a Sokoban level file in order. Titles are above or below the boards,
    which is found out from the whole file.

    Args:
        text: the content.
        max_levels: number of levels after which the rest is not read; None for all.

    Raises:
        ValueError: a row is too long, or a level has too many rows.
    """
    lines = text.splitlines()
    kinds = _classify_lines(lines)
    spans = (match.span() for match in _BOARD.finditer(kinds) if _WALLS in match[0])
    boards = list(islice(spans, max_levels))
    end = len(lines) if len(boards) != max_levels else boards[-1][1]
    edges = [0, *chain.from_iterable(boards), end]
    gaps = [_read_gap(lines, kinds, *edge) for edge in zip(edges[::2], edges[1::2], strict=True)]
    # gap k is above board k, and gap k + 1 below it
    keys = gaps[:-1] if _stands_above_board(gaps, _KEYS) else gaps[1:]
    solutions = gaps[:-1] if _stands_above_board(gaps, _SOLUTION) else gaps[1:]
    titles = _choose_titles(gaps, [gap.texts.get("title", "") for gap in keys])
    for index, (start, stop) in enumerate(boards):
        author = keys[index].texts.get("author") or gaps[0].texts.get("author", "")
        level = SokobanLevel(start + 1, titles[index], author)
        level.solution = solutions[index].texts.get(_SOLUTION, "")
        for number in range(start, stop):
            level.rows += _expand_row(lines[number], number + 1)
            if len(level.rows) > MAX_SIDE:
                raise ValueError(
                    f"line {number + 1} belongs to a level of more than {MAX_SIDE} rows"
                )
        yield level


def _classify_lines(lines: Sequence[str]) -> str:
    """Return one character for each line that gives its kind, such as row, remark or blank. Lines
    of a comment block are never rows."""
    kinds = [_classify_line(line.strip()) for line in lines]
    block_start = None
    for number, line in enumerate(lines):
        if kinds[number] == _TEXT and (comment := _COMMENT.fullmatch(line)):
            is_end = bool(comment[1])
            if is_end and block_start is not None:
                kinds[block_start : number + 1] = _COMMENTED * (number + 1 - block_start)
            block_start = None if is_end else number
    # unclear lines between rows are rows
    return re.sub(r"(?<=#)\?+(?=#)", lambda match: _WALLS * len(match[0]), "".join(kinds))


def _classify_line(line: str) -> str:
    """Return a character that gives the kind of a line, such as row or remark. The line has no
    blanks at its ends and is in no comment block."""
    if not line:
        return _BLANK
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
        heading: last line if it stands alone, such as `#1` or `Level 1`, else "".
        leans: by part that the text has, 1 if it touches only the next board, -1 if only the board
            before, else 0.
    """

    texts: dict[str, str]
    remarks: list[str]
    heading: str
    leans: dict[str, int]


_NO_TEXT = _Gap({}, [], "", {})


def _read_gap(lines: Sequence[str], kinds: str, start: int, stop: int) -> _Gap:
    """Return the texts between two boards, in `lines[start:stop]`. `kinds` has one character for
    each line, from `_classify_lines`."""
    if not kinds[start:stop].strip(_BLANK + _COMMENTED):
        return _NO_TEXT
    texts, remarks, heading = dict[str, str](), list[str](), ""
    solutions, is_in_solution = list[str](), False
    numbers_by_part: dict[str, list[int]] = {}  # of lines
    for number in range(start, stop):
        line, part = lines[number].strip(), ""
        if kinds[number] == _BLANK:
            is_in_solution = is_in_solution and not solutions[-1]  # blank lines end moves
            continue
        heading = ""
        if kinds[number] == _COMMENTED:
            continue
        if metadata := _METADATA.fullmatch(line):
            part, texts[metadata[1].lower()] = _KEYS, metadata[2]
        elif solution := _SOLVED.fullmatch(line):
            part = _SOLUTION
            solutions.append(solution[1] or "")
        elif is_in_solution and _MOVES.fullmatch(line):
            solutions[-1] += line
            continue
        elif re.search(r"\w", line):
            if line.startswith(";"):
                part = _REMARK
                remarks.append(line.strip("; \t"))
            elif ":" not in line and (number == 0 or kinds[number - 1] == _BLANK):
                heading = line.strip("# \t")
        is_in_solution = part == _SOLUTION
        if part:
            numbers_by_part.setdefault(part, []).append(number)
    readable = filter(_MOVES.fullmatch, solutions)
    texts[_SOLUTION] = next(readable, next(filter(None, solutions), ""))
    leans = {
        part: _find_lean(kinds, start, stop, first=numbers[0], last=numbers[-1])
        for part, numbers in numbers_by_part.items()
    }
    return _Gap(texts, remarks, heading, leans)


def _find_lean(kinds: str, start: int, stop: int, first: int, last: int) -> int:
    """Return, as in `_Gap.leans`, which board the lines `first` to `last` of the gap from `start`
    to `stop` touch; `kinds` are those of all lines."""
    touches_next = stop < len(kinds) and _BLANK not in kinds[last:stop]
    touches_previous = start > 0 and _BLANK not in kinds[start:first]
    return touches_next - touches_previous


def _stands_above_board(gaps: Sequence[_Gap], part: str) -> bool:
    """Return True if texts of the kind `part`, such as remarks, are above the boards that they
    describe; False if below. `gaps` are the texts between boards. The blank lines around most of
    them decide."""
    leans = [gap.leans.get(part) for gap in gaps]
    num_texts = sum(lean is not None for lean in leans)
    balance = sum(lean or 0 for lean in leans)
    num_boards, num_texts_above = len(gaps) - 1, num_texts - (leans[-1] is not None)
    if part != _REMARK and 2 * num_texts_above <= num_boards:
        return False  # such as an author of all levels
    if 2 * abs(balance) > num_texts:
        return balance > 0
    return leans[0] is not None and (leans[-1] is None or part == _REMARK)


def _choose_titles(gaps: Sequence[_Gap], titles: list[str]) -> list[str]:
    """Return a title for each board: the one in `titles`, from a line `Title:`, or else a remark or
    heading beside the board, if at least half of the untitled boards have one."""
    if not any(gap.remarks for gap in gaps):
        substitutes = [gap.heading for gap in gaps[:-1]]
    elif _stands_above_board(gaps, _REMARK):
        substitutes = [gap.remarks[-1] if gap.remarks else "" for gap in gaps[:-1]]
    else:
        substitutes = [gap.remarks[0] if gap.remarks else "" for gap in gaps[1:]]
    needed = [other for title, other in zip(titles, substitutes, strict=True) if not title]
    if 2 * needed.count("") > len(needed):
        return titles
    return [title or other for title, other in zip(titles, substitutes, strict=True)]


def _expand_row(line: str, line_number: int) -> list[str]:
    """Return the map rows in one line of a Sokoban file: a run-length encoded line such as `3#|#@#`
    has several. `line_number` is for messages."""
    rows = [line.rstrip()]
    if rows[0].strip(_SIGNS) and _ENCODED.fullmatch(rows[0]):
        max_cells = MAX_SIDE**2
        counts = [count for count, _ in _RUN.findall(line)]
        if sum(int(count) if len(count) < 7 else max_cells + 1 for count in counts) > max_cells:
            raise ValueError(f"line {line_number} is longer than any level")
        rows = _RUN.sub(lambda run: int(run[1]) * run[2], rows[0]).removesuffix("|").split("|")
    if max(map(len, rows)) > MAX_SIDE:
        raise ValueError(f"line {line_number} is longer than {MAX_SIDE} cells")
    return rows


def read_slc(raw: bytes) -> Iterator[SokobanLevel]:
    """Yield the levels of a Sokoban collection in XML (`.slc`).

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
