"""Levels of packs, and sets of levels too large to read one by one.

`LevelFiles` has the levels of text files in Boxoban's format as one array of characters, in which
rules of compiled worlds look them up. A level becomes a `PackLevel` only when it is accessed by
index.
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

from gv_engine.scenario.fields import MAX_SIDE, YamlNode
from gv_engine.scenario.files import read_bytes

# ---- levels --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PackLevel:
    """Level of a pack.

    Attributes:
        map: node of its rows of characters.
        title, author: texts, "" for none.
        solution: moves that win the level, in the letters udlrUDLR; "" for none.
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

_MAX_FILE_BYTES = 2**24
"""Maximum size of a file in bytes; Boxoban's files have 120 KB."""
_MAX_CELLS = 2**28
"""Maximum number of cells, of one byte each, in all levels, where each level counts as large as the
largest one."""
_BLANK, _NEWLINE, _SEMICOLON = b" \n;"


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
        shapes, lines, count = [], [], 0
        for file in files:
            parts = _TextLevels(file)
            count += len(parts.shapes)
            self._ends.append(count)
            self._make_room(count, parts.shapes)
            parts.write(self.characters[count - len(parts.shapes) : count])
            shapes.append(parts.shapes)
            lines.append(parts.lines)
        self.shapes = np.concatenate(shapes)
        self._lines = np.concatenate(lines)

    def _make_room(self, count: int, shapes: NDArray[np.int16]) -> None:
        """Enlarge `self.characters` for `count` levels, the last of which have these `shapes`."""
        before = self.characters
        height, width = np.maximum(before.shape[1:], shapes.max(0, initial=1)).tolist()
        room = max(len(before), 1 << (count - 1).bit_length())
        if room * height * width > _MAX_CELLS:
            raise ValueError(
                f"with it there are more than {_MAX_CELLS // (height * width):,} levels of up to "
                f"{height}x{width} cells; name fewer files"
            )
        if before.shape != (room, height, width):
            # the system provides zeros when they are written
            self.characters = np.zeros((room, height, width), np.uint8)
            filled = self.characters[: self._ends[-2] if len(self._ends) > 1 else 0]
            filled[...] = _BLANK
            filled[:, : before.shape[1], : before.shape[2]] = before[: len(filled)]

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
        if isinstance(index, slice):
            return [self[k] for k in range(len(self))[index]]
        index = range(len(self))[index]
        height, width = self.shapes[index]
        cells = self.characters[index, :height, :width]
        rows = [row.tobytes().decode("ascii", "replace") for row in cells]
        node = rows_to_node(self.file_of(index), rows, self.line_of(index))
        return PackLevel(node, self._title_of(index))

    def line_of(self, index: int) -> int:
        """Return the line in its file, from 1 on, of the first row of a level."""
        return int(self._lines[index])

    def file_of(self, index: int) -> Path:
        """Return the file of a level."""
        return self.files[bisect_right(self._ends, index)]

    def _title_of(self, index: int) -> str:
        """Return the title of a level: the comment above its rows if the file is still there, or
        else its number, and the file's name with its folder's."""
        file, title = self.file_of(index), str(index + 1)
        try:
            lines = read_bytes(file, _MAX_FILE_BYTES, "files of levels").splitlines()
        except OSError:
            lines = []
        for line in reversed(lines[: self.line_of(index) - 1]):
            if line.strip():
                title = line.decode("ascii", "replace").strip("; \t")
                break
        return f"{title} of {file.parent.name}/{file.name}"


class _TextLevels:
    """Levels of one text file, located by whole-array operations.

    Attributes:
        shapes: (n, 2) int16: height and width of each level.
        lines: (n,) int32: line of the first row of each level, from 1 on.
    """

    def __init__(self, file: Path) -> None:
        data = read_bytes(file, _MAX_FILE_BYTES, "files of levels")
        text = np.frombuffer(data if data.endswith(b"\n") else data + b"\n", np.uint8)
        positions = np.arange(len(text), dtype=np.int32)
        starts = np.flatnonzero(text == _NEWLINE).astype(np.int32)[:-1] + np.int32(1)
        starts = np.concatenate([np.zeros(1, np.int32), starts])
        # one past the last visible character of each line
        visible = np.where(text > _BLANK, positions + np.int32(1), np.int32(0))
        lengths = np.maximum(np.maximum.reduceat(visible, starts) - starts, 0)
        is_row = (lengths > 0) & (text[starts] != _SEMICOLON)
        begins = is_row.copy()
        begins[1:] &= ~is_row[:-1]
        first = np.flatnonzero(begins)
        rows = np.flatnonzero(is_row)
        level = np.cumsum(begins[rows]) - 1
        heights = np.bincount(level, minlength=len(first))
        widths = np.zeros(len(first), np.int32)
        np.maximum.at(widths, level, lengths[rows])
        for side, sides in (("rows", heights), ("columns", widths)):
            if len(wide := np.flatnonzero(sides > MAX_SIDE)):
                number = int(wide[0])
                raise ValueError(
                    f"{file}:{first[number] + 1}: level {number + 1} of the file has "
                    f"{sides[number]:,} {side}, allowed are 1 to {MAX_SIDE}; "
                    f"more than 1,000 levels have plain rows, none of them run-length encoded"
                )
        self.shapes = np.stack([heights, widths], 1).astype(np.int16)
        self.lines = (first + 1).astype(np.int32)
        self._text, self._starts, self._lengths = text, starts[rows], lengths[rows]
        self._level, self._y = level, rows - first[level]

    def write(self, characters: NDArray[np.uint8]) -> None:
        """Write the levels into `characters`, (n, H, W) ASCII codes."""
        _, height, width = characters.shape
        lengths = self._lengths.astype(np.int64)
        ends = np.cumsum(lengths)
        x = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - lengths, lengths)
        characters[...] = _BLANK
        targets = np.repeat((self._level * height + self._y) * width, lengths) + x
        characters.reshape(-1)[targets] = self._text[np.repeat(self._starts, lengths) + x]


@lru_cache(maxsize=2)
def _open_cached(files: tuple[Path, ...], _stamps: tuple[tuple[int, int], ...]) -> LevelFiles:
    """Return the levels of `files`; `_stamps`, the (size, modification time) of each file, only
    serve as a cache key."""
    return LevelFiles(files)


def open_level_files(files: Sequence[Path]) -> LevelFiles:
    """Return the levels of text files; the two sets used last are cached until a file changes.

    Raises:
        OSError, ValueError: see `LevelFiles`; or there is no level.
    """
    paths = tuple(path.absolute() for path in files)
    stats = [path.stat() for path in paths]
    levels = _open_cached(paths, tuple((each.st_size, each.st_mtime_ns) for each in stats))
    if not len(levels):
        raise ValueError(f"found 0 levels in {len(paths)} files, expected at least one")
    return levels
