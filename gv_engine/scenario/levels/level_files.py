"""Levels of packs, and sets of levels too large to read one by one.

`LevelFiles` has the levels of text files as one array of characters, in which rules of compiled
worlds look them up. A level becomes a `PackLevel` only when it is accessed by index. Files in
Boxoban's format are located by whole-array operations, all others are read level by level.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from gv_engine.scenario.levels.sokoban_files import decode_levels, read_sokoban
from gv_engine.scenario.storage.files import format_bytes, read_bytes
from gv_engine.scenario.syntax.fields import MAX_SIDE, YamlNode

# ---- levels --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackLevel:
    """Level of a pack.

    Attributes:
        map: node of its rows of characters.
        title, author: texts, "" for none.
        solution: moves that win the level, in the letters udlrUDLR, each maybe behind the number of
            its repetitions; "" for none.
        says: text that players see while they play the level; "" for none.
        par: smallest number of steps to win; 0 if unknown.
        view: node of the view that the window shows first; None for the default.
    """

    map: YamlNode
    title: str = ""
    author: str = ""
    solution: str = ""
    says: str = ""
    par: int = 0
    view: YamlNode | None = None

    @property
    def digest(self) -> str:
        """16 hexadecimal digits of the hash of its map."""
        return sha256(self.map.text.encode()).hexdigest()[:16]

    @property
    def credit(self) -> str:
        """Title, or "A level" if unknown, and author, if known, such as "The corner, by Ann"."""
        return ", by ".join(filter(None, (self.title or "A level", self.author)))


def rows_to_node(file: Path, rows: list[str], line: int | None = None) -> YamlNode:
    """Return the rows of a map, padded with blanks to equal length, as a YAML node; `file` and
    `line` tell where the rows begin."""
    width = max(map(len, rows))
    text = "\n".join(row.ljust(width) for row in rows)
    return YamlNode(text, "", line, text, first_row=line, file=str(file))


_NUMBER = re.compile(r"[1-9]\d{0,8}", re.ASCII)


def find_level_number(name: str, levels: Sequence[Any]) -> int:
    """Return the number, from 1, of the level called `name`, such as "3"; 0 if `levels` has no such
    level."""
    number = int(name) if _NUMBER.fullmatch(name) else 0
    return number if number <= len(levels) else 0


# ---- large sets ----------------------------------------------------------------------------------

MAX_FILE_BYTES = 2**24
"""Maximum size of a file in bytes; Boxoban's files have 120 KB."""
_MAX_TEXT_BYTES = 2**22  # maximum size of a file that is read level by level
_MAX_READ_CELLS = 4 * _MAX_TEXT_BYTES  # of such a file, whose rows may have run lengths
_MAX_CELLS = 2**28
"""Maximum number of cells, of one byte each, in all levels, where each level counts as large as the
largest one."""
_BLANK, _NEWLINE, _SEMICOLON, _WALL = b" \n;#"


class LevelFiles(Sequence[PackLevel]):
    """Levels of text files, in the order of the files.

    Attributes:
        files: paths of the files.
        characters: (at least N, H, W) uint8: ASCII code of each cell, for the largest height and
            width, blank beyond a level. Its first dimension is a power of two, so that sets of
            similar sizes share one compiled program; entries from N on are 0.
        shapes: (N, 2) int16: height and width of each level.
        digest: hash of all levels as hexadecimal digits.
    """

    def __init__(self, files: tuple[Path, ...]) -> None:
        """Read the files.

        Raises:
            OSError: a file cannot be read, or is too large.
            ValueError: there are too many levels, or a level is too large.
        """
        self.files = files
        self.characters = np.zeros((0, 0, 0), np.uint8)
        self._ends: list[int] = []  # for each file, the number of levels up to its end
        self._texts: dict[int, tuple[str, str, str]] = {}  # title, author and solution by index
        shapes, lines = [], []
        for file in files:
            levels = _TextLevels(file)
            before = self._ends[-1] if self._ends else 0
            self._texts |= {before + index: texts for index, texts in enumerate(levels.texts)}
            self._grow_arrays(before, levels.shapes)
            self._ends.append(before + len(levels.shapes))
            levels.write(self.characters[before : self._ends[-1]])
            shapes.append(levels.shapes)
            lines.append(levels.lines)
        self.shapes = np.concatenate(shapes)
        self._lines = np.concatenate(lines)

    def _grow_arrays(self, num_levels: int, shapes: NDArray[np.int16]) -> None:
        """Enlarge the array `characters` for further levels of these `shapes`. `num_levels` is the
        number of levels so far."""
        before = self.characters
        height, width = np.maximum(before.shape[1:], shapes.max(0, initial=1)).tolist()
        power_of_two = 1 << (num_levels + len(shapes) - 1).bit_length()
        length = max(len(before), power_of_two)
        if length * height * width > _MAX_CELLS:
            raise ValueError(
                f"with it there are more than {_MAX_CELLS // (height * width):,} levels of up to "
                f"{height}x{width} cells; name fewer files"
            )
        if before.shape != (length, height, width):
            # the system provides zeros when they are written
            self.characters = np.zeros((length, height, width), np.uint8)
            self.characters[:num_levels] = _BLANK
            _, old_height, old_width = before.shape
            self.characters[:num_levels, :old_height, :old_width] = before[:num_levels]

    @cached_property
    def digest(self) -> str:
        """Hash of all levels as hexadecimal digits."""
        return sha256(self.shapes.tobytes() + self.characters[: len(self)].tobytes()).hexdigest()

    def __len__(self) -> int:
        return len(self.shapes)

    @overload
    def __getitem__(self, index: int) -> PackLevel: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[PackLevel]: ...
    def __getitem__(self, index: int | slice) -> PackLevel | Sequence[PackLevel]:
        """Return the level at `index`, or a list of levels for a slice."""
        if isinstance(index, slice):
            return [self[k] for k in range(len(self))[index]]
        index = range(len(self))[index]  # from 0, also for a negative index
        height, width = self.shapes[index]
        cells = self.characters[index, :height, :width]
        rows = [row.tobytes().decode("ascii", "replace") for row in cells]
        file = self.file_of(index)
        node = rows_to_node(file, rows, self.line_of(index))
        title, author, solution = self._texts.get(index) or (self._read_comment(index), "", "")
        title = f"{title or index + 1} of {file.parent.name}/{file.name}"
        return PackLevel(node, title, author, solution)

    def line_of(self, index: int) -> int:
        """Return the line in its file, from 1 on, of the first row of a level."""
        return int(self._lines[index])

    def file_of(self, index: int) -> Path:
        """Return the file of a level."""
        return self.files[bisect_right(self._ends, index)]

    def _read_comment(self, index: int) -> str:
        """Return the comment above a level in its file; "" if it has none, or if the file is
        gone."""
        try:
            raw = read_bytes(self.file_of(index), MAX_FILE_BYTES, "files of levels")
        except OSError:
            return ""
        lines_above = filter(bytes.strip, reversed(raw.splitlines()[: self.line_of(index) - 1]))
        line = next(lines_above, b"")
        return line.decode("ascii", "replace").strip("; \t") if line.startswith(b";") else ""


class _TextLevels:
    """Levels of one text file.

    Attributes:
        shapes: (n, 2) int16: height and width of each level.
        lines: (n,) int32: line of the first row of each level, from 1 on.
        texts: title, author and solution of each level; [] for a file in Boxoban's format, in which
            a comment above the rows is the title.
    """

    # characters of all rows; for each row, its start in these, its length, and its level's index
    _text: NDArray[np.uint8]
    _starts: NDArray[np.integer[Any]]
    _lengths: NDArray[np.int32]
    _level: NDArray[np.integer[Any]]

    def __init__(self, file: Path) -> None:
        """Find the levels in a text file of Sokoban levels, in Boxoban's or any other known
        format."""
        data = read_bytes(file, MAX_FILE_BYTES, "files of levels")
        self.texts: list[tuple[str, str, str]] = []
        first_lines = self._locate_boxoban_rows(data)
        if first_lines is None:
            first_lines = self._read_levels(file, data)
        heights = np.bincount(self._level, minlength=len(first_lines))
        widths = np.zeros(len(first_lines), np.int32)
        np.maximum.at(widths, self._level, self._lengths)
        for label, sides in (("rows", heights), ("columns", widths)):
            for index in np.flatnonzero(sides > MAX_SIDE)[:1].tolist():
                raise ValueError(
                    f"{file}:{first_lines[index] + 1}: level {index + 1} of the file has "
                    f"{sides[index]:,} {label}, allowed are 1 to {MAX_SIDE}"
                )
        self.shapes = np.stack([heights, widths], 1).astype(np.int16)
        self.lines = (first_lines + 1).astype(np.int32)

    def _locate_boxoban_rows(self, data: bytes) -> NDArray[np.integer[Any]] | None:
        """Find the map rows in a file of Boxoban's format, quickly, and return the index of the
        first line of each level. None if the file has another format."""
        text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
        ends = np.flatnonzero(text == _NEWLINE).astype(np.int32)
        starts = np.concatenate([np.zeros(1, np.int32), ends[:-1] + np.int32(1)])
        lengths = _trim_blanks(text, starts, ends) - starts
        is_comment = (lengths > 0) & (text[starts] == _SEMICOLON)
        is_row = (lengths > 0) & ~is_comment
        if not _is_boxoban_format(text, starts, is_row, is_comment):
            return None
        is_first_row = is_row.copy()
        is_first_row[1:] &= ~is_row[:-1]
        self._text, self._starts, self._lengths = text, starts[is_row], lengths[is_row]
        self._level = np.cumsum(is_first_row[is_row]) - 1
        return np.flatnonzero(is_first_row)

    def _read_levels(self, file: Path, data: bytes) -> NDArray[np.integer[Any]]:
        """Read a file of Sokoban levels in any known format, level by level. Return the index of
        the first line of each level."""
        if len(data) > _MAX_TEXT_BYTES:
            raise ValueError(
                f"{file} is {format_bytes(len(data))}; files of more than "
                f"{format_bytes(_MAX_TEXT_BYTES)} have plain rows, and comments right above levels"
            )
        first_lines, rows, heights, num_cells = list[int](), list[bytes](), list[int](), 0
        try:
            for level in read_sokoban(decode_levels(data)):
                first_lines.append(level.line - 1)
                heights.append(len(level.rows))
                rows += [row.encode("latin-1", "replace") for row in level.rows]
                self.texts.append((level.title, level.author, level.solution))
                num_cells += sum(map(len, level.rows))
                if num_cells > _MAX_READ_CELLS:
                    raise ValueError(f"its rows have more than {_MAX_READ_CELLS:,} cells")
        except ValueError as error:
            raise ValueError(f"{file}: {error}") from None
        self._text = np.frombuffer(b"".join([*rows, b" "]), np.uint8)
        self._lengths = np.array([len(row) for row in rows], np.int32)
        self._starts = np.cumsum(self._lengths) - self._lengths
        self._level = np.repeat(np.arange(len(heights)), np.array(heights, np.int64))
        return np.array(first_lines, np.int64)

    def write(self, characters: NDArray[np.uint8]) -> None:
        """Copy the levels into `characters`, an array of ASCII codes of shape (levels, H, W)."""
        characters[...] = _BLANK
        _, height, width = characters.shape
        heights = self.shapes[:, 0].astype(np.int64)
        y = np.arange(len(self._level)) - (np.cumsum(heights) - heights)[self._level]
        lengths = self._lengths.astype(np.int64)
        ends = np.cumsum(lengths)
        x = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        targets = np.repeat((self._level * height + y) * width, lengths) + x
        characters.reshape(-1)[targets] = self._text[np.repeat(self._starts, lengths) + x]


def _trim_blanks(
    text: NDArray[np.uint8], starts: NDArray[np.int32], ends: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Return the end of each line of `text` without trailing blanks. `starts` and `ends` are the
    indices of the lines' first characters and of those behind the last."""
    for _ in range(2):  # few lines have more than a carriage return
        ends = ends - ((ends > starts) & (text[ends - 1] <= _BLANK))
    if not ((ends > starts) & (text[ends - 1] <= _BLANK)).any():
        return ends
    end_if_visible = np.arange(1, len(text) + 1, dtype=np.int32)
    visible_ends = np.where(text > _BLANK, end_if_visible, np.int32(0))
    return np.maximum(np.maximum.reduceat(visible_ends, starts), starts)


_IS_FOREIGN = np.ones(256, np.bool_)
_IS_FOREIGN[[*b" \r\n#@$.*+-_"]] = False
"""True for characters that no row of Boxoban's format has."""


def _is_boxoban_format(
    text: NDArray[np.uint8],
    starts: NDArray[np.int32],
    is_row: NDArray[np.bool_],
    is_comment: NDArray[np.bool_],
) -> bool:
    """Return True if a text has Boxoban's format: each row contains a wall, and single comment
    lines are directly above levels. `starts` has the index of each line; the masks tell which lines
    are rows and comments."""
    foreign = np.flatnonzero(_IS_FOREIGN.take(text))
    if not is_comment[np.searchsorted(starts, foreign, "right") - 1].all():
        return False
    begin_with_wall = (text[starts][is_row] == _WALL).all()
    if not (begin_with_wall or np.logical_or.reduceat(text == _WALL, starts)[is_row].all()):
        return False
    if not is_comment.any():
        return True
    starts_with_comment = bool(is_comment[np.flatnonzero(is_row | is_comment)[0]])
    return starts_with_comment and not is_comment[-1] and bool(is_row[1:][is_comment[:-1]].all())


@lru_cache(maxsize=2)
def _open_cached(files: tuple[Path, ...], _stamps: tuple[tuple[int, int], ...]) -> LevelFiles:
    return LevelFiles(files)


def open_level_files(files: Sequence[Path]) -> LevelFiles:
    """Return the levels in text files. The two sets of files used last are cached until a file
    changes.

    Raises:
        OSError, ValueError: see `LevelFiles`; or there is no level.
    """
    paths = tuple(path.absolute() for path in files)
    stats = [path.stat() for path in paths]
    levels = _open_cached(paths, tuple((each.st_size, each.st_mtime_ns) for each in stats))
    if not len(levels):
        raise ValueError(f"found 0 levels in {len(paths)} files, expected at least one")
    return levels
