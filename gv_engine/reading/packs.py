"""Packs: many levels under one scenario's rules, written in it or in files of other formats.

    levels: warehouse.xsb          # or a folder, or a list of them and of levels in place
    levels:
      - {title: The corner, author: GV Engine, map: "#####\\n#>.E#\\n#####"}

Each level is a variant whose name is its number, from 1 on: `pack.yaml#3`. The scenario itself
draws one of them with each reset. What a character stands for is said by the scenario's legend;
those of Tiled's tiles by the tiles. A file of Sokoban levels is a scenario by itself, which extends
the built-in `sokoban`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.language.errors import shortened
from gv_engine.language.frame import VIEWS
from gv_engine.reading.files import bytes_for_people, read_bytes
from gv_engine.reading.forms import TEXT, Key, KeyTable, either, keyed, list_of, named, whole
from gv_engine.reading.sokoban import read_sokoban
from gv_engine.reading.tiled import TiledMap, read_tiled
from gv_engine.reading.values import (
    LARGEST,
    MOST_CELLS,
    Problems,
    Wrong,
    YamlNode,
    check_keys,
    instead,
    integer,
    mapping,
    word,
    words,
)
from gv_engine.reading.variants import VARIANTS
from gv_engine.reading.yaml_nodes import Builder

LEVELS = "levels"
SOKOBAN = (".xsb", ".sok")
"""Ends of names of files that are scenarios by themselves."""
_BOARD = re.compile(rb"(?:[ \t]*(?:;.*)?\r?\n)*[ \t]*#[#@$.*+_ -]*\r?(?:\n|$)")
"""The first row of a board, behind comments."""
_SOKOBAN_RULES = "sokoban"
_LARGEST = 2**20
"""Bytes of a file of levels, or of a tileset."""
_MOST_BYTES = 8 * _LARGEST
"""Bytes of all files of a pack."""
_MOST = 1000

_LEVEL_KEYS: KeyTable = {
    "map": Key("The level, a character per cell.", TEXT, required=True),
    "title": Key("What it is called.", TEXT),
    "author": Key("Who has made it.", TEXT),
    "solution": Key(
        "A way to win it: u, d, l and r for steps up, down, left and right, of an agent that looks "
        "up; capitals for pushes.",
        TEXT,
    ),
    "says": Key(
        "What players are told while they play it; `{TURN_LEFT}` is the key of that action.", TEXT
    ),
    "par": Key("The fewest steps in which it can be won.", whole(1, LARGEST)),
    "view": Key("How the window shows it at first.", named(VIEWS)),
}
_TEXTS = ("title", "author", "solution", "says")
_LEVEL = either(TEXT, keyed(_LEVEL_KEYS))
LEVELS_KEY = Key(
    "Many levels, in place of a map: a file of Sokoban levels (.xsb, .sok, .txt) or of Tiled "
    "(.tmx), a folder of such files, or a list of these and of levels in place; each reset draws "
    "one, and `file.yaml#3` is the third.",
    either(TEXT, list_of(_LEVEL, minItems=1, maxItems=_MOST)),
)


@dataclass(frozen=True)
class PackLevel:
    """A level of a pack.

    Attributes:
        map: its rows of characters, where they stand.
        title, author: of it; "" if nobody says.
        solution: a way to win it, in the letters udlrUDLR; "" if nobody says.
        says: what players are told while they play it; "" if nothing is.
        par: the fewest steps in which it can be won; 0 if nobody says.
        view: how the window shows it at first; None if like all others.
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
        """16 hexadecimal digits that stand for its map, wherever it is kept."""
        return sha256(self.map.text.encode()).hexdigest()[:16]

    @property
    def credit(self) -> str:
        """Title and author, as far as they are told."""
        return ", by ".join(filter(None, (self.title or "A level", self.author)))


def is_pack(file: Path, raw: bytes = b"") -> bool:
    """Return True for a file of levels alone, which is a scenario by itself.

    Args:
        file: its name counts.
        raw: the text of a `.txt` file, which counts if it begins with a board.
    """
    kind = file.suffix.lower()
    return kind in SOKOBAN or (kind == ".txt" and bool(_BOARD.match(raw)))


def scenario_around(file: Path, problems: Problems) -> YamlNode:
    """What a file of levels alone is as a scenario."""
    text = {"extends": _SOKOBAN_RULES, LEVELS: file.name}
    return Builder(problems).from_python(text, YamlNode(None, line=1))


def opened(root: YamlNode, folder: Path | None) -> tuple[YamlNode, tuple[PackLevel, ...]]:
    """A scenario with the levels of its pack as maps and variants; (root, ()) without a pack.

    Args:
        folder: where its files are; None for a scenario that names no file.

    Raises:
        Wrong: a level cannot be read, or there is none.
    """
    if LEVELS not in (entries := dict(mapping(root))):
        return root, ()
    node = entries.pop(LEVELS)
    if VARIANTS in entries:
        raise Wrong(entries[VARIANTS], "a scenario has either `levels` or `variants`")
    reading, found, cells = _Reading(), list[PackLevel](), 0
    for level in _levels(node, Path(node.file).parent if node.file else folder, reading):
        found.append(level)
        cells += len(level.map.text)
        if len(found) > _MOST or cells > MOST_CELLS:
            raise Wrong(node, f"found more than {_MOST} levels, or more than {MOST_CELLS:,} cells")
    if not found:
        raise Wrong(node, f"found 0 levels, expected 1 to {_MOST}")
    if reading.legend:
        own = mapping(entries["legend"]) if "legend" in entries else {}
        entries["legend"] = replace(node, value={**reading.legend, **own})
    told = words(entries["description"]) if "description" in entries else ""
    entries["maps"] = replace(node, value=[level.map for level in found], path="levels")
    variants = {}
    for number, level in enumerate(found, 1):
        description = "\n".join(filter(None, (f"{level.credit}.", told)))
        says = YamlNode(description, "description", node.line, description, file=node.file)
        own = {"map": level.map, "description": says}
        own |= {"view": level.view} if level.view else {}
        variants[str(number)] = replace(node, value=own)
    entries[VARIANTS] = replace(node, value=variants)
    return replace(root, value=entries), tuple(found)


def no_file(named: str) -> str:
    """Return the message about a file that a scenario names which came without its folder."""
    return f"found {shortened(named, 60)!r}, and no other file is read for a line that was pasted"


def no_level(wanted: str, levels: tuple[PackLevel, ...]) -> str:
    """That there is no level of a name, and which there are."""
    numbered = [f"{number} {level.title}".strip() for number, level in enumerate(levels, 1)]
    return f"no level {wanted!r}; there are {', '.join(numbered)}"


def _levels(node: YamlNode, folder: Path | None, reading: _Reading) -> Iterator[PackLevel]:
    """The levels that a node says, in order."""
    if isinstance(node.value, list):
        for item in node.value:
            yield from _levels(item, folder, reading)
    elif isinstance(node.value, dict):
        problems = Problems("")
        entries = check_keys(problems, node, _LEVEL_KEYS)
        for key in node.value.keys() - entries.keys():
            raise Wrong(node.value[key], f"unknown key {key!r}{instead(key, _LEVEL_KEYS)}")
        if "map" not in entries:
            raise Wrong(node, "the map is missing: {title: …, map: …}")
        told: dict[str, Any] = {key: words(entries[key]) for key in _TEXTS if key in entries}
        par = integer(entries["par"], 1, LARGEST) if "par" in entries else 0
        yield PackLevel(entries["map"], par=par, view=entries.get("view"), **told)
    elif folder is None:
        raise Wrong(node, no_file(word(node)))
    else:
        for file in _files(node, folder / word(node)):
            yield from _levels_of(node, file, reading)


def _files(node: YamlNode, place: Path) -> list[Path]:
    """A file of levels, or those of a folder."""
    try:
        found = sorted(place.iterdir()) if place.is_dir() else [place]
        known = [file for file in found if file.suffix.lower() in _FORMATS]
    except OSError as error:
        raise Wrong(node, f"{place}: {error.strerror}") from None
    if not known:
        ends = ", ".join(_FORMATS)
        what = "there is none in it" if place.is_dir() else "found another one"
        raise Wrong(node, f"{place}: expected a file of levels, named {ends}; {what}")
    return known


def _levels_of(node: YamlNode, file: Path, reading: _Reading) -> Iterator[PackLevel]:
    """The levels in a file."""
    try:
        yield from _FORMATS[file.suffix.lower()](file, reading)
    except OSError as error:
        raise Wrong(node, str(error)) from None
    except UnicodeDecodeError:
        raise Wrong(node, f"{file}: no UTF-8 text") from None
    except ValueError as error:
        raise Wrong(node, f"{file}: {error}") from None


def _sokoban(file: Path, reading: _Reading) -> Iterator[PackLevel]:
    for level in read_sokoban(reading.read(file).decode("utf-8-sig")):
        yield PackLevel(
            _map(file, level.rows, level.line), level.title, level.author, level.solution
        )


def _map(file: Path, rows: list[str], line: int | None = None) -> YamlNode:
    """Rows as a node, each as long as the longest."""
    width = max(map(len, rows))
    text = "\n".join(row.ljust(width) for row in rows)
    return YamlNode(text, "", line, text, first_row=line, file=str(file))


# ---- Tiled ---------------------------------------------------------------------------------------


class _Reading:
    """Files of a pack, which are limited together, and characters for the tiles of Tiled.

    Attributes:
        legend: what the characters stand for, equal ones of all levels alike.
    """

    def __init__(self) -> None:
        self._bytes = 0
        self.legend: dict[str, YamlNode] = {}
        self._known: dict[str, str] = {}
        self._free = (chr(number) for number in count(0x2460) if chr(number).isprintable())

    def read(self, file: Path) -> bytes:
        """Return the bytes of a file.

        Raises:
            OSError: it cannot be read, or this and the files before it are too large.
        """
        found = read_bytes(file, _LARGEST, "files of levels")
        self._bytes += len(found)
        if self._bytes > _MOST_BYTES:
            raise OSError(
                f"the files of a pack are at most {bytes_for_people(_MOST_BYTES)} together"
            )
        return found

    def character(self, symbol: dict[str, Any], at: YamlNode) -> str:
        """What stands for something that a legend could say."""
        key = repr(symbol)
        if key not in self._known:
            self._known[key] = next(self._free)
            self.legend[self._known[key]] = Builder(Problems("")).from_python(symbol, at)
        return self._known[key]


_SYMBOL = "object", "state", "color", "agent", "room"
"""Properties of a tile that mean something; its class is the object, if none says."""


def _tiled(file: Path, reading: _Reading) -> Iterator[PackLevel]:
    try:
        level = read_tiled(file, reading.read)
        rows = _rows_of(level, reading, YamlNode(None, file=str(file)))
    except OSError:
        raise
    except Exception as error:  # whatever comes of damaged bytes
        raise ValueError(f"no map of Tiled that can be read ({error})") from None
    told: dict[str, Any] = {
        key: level.properties.get(key, "") for key in ("title", "author", "solution")
    }
    yield PackLevel(_map(file, rows), **told)


def _rows_of(level: TiledMap, reading: _Reading, at: YamlNode) -> list[str]:
    """The characters of a map of Tiled; of several layers, the uppermost tile of each cell."""
    rows = np.full(level.shape, ".")
    for layer in level.layers:
        numbers, first, where = np.unique(layer.tiles, return_index=True, return_inverse=True)
        characters = []
        for number, place in zip(numbers.tolist(), first.tolist(), strict=True):
            told = level.tiles.get(number, {})
            symbol = {key: told[key] for key in _SYMBOL if told.get(key)}
            kind = told.get("type") or told.get("class")
            if kind and "object" not in symbol and "agent" not in symbol:
                symbol["object"] = kind
            if number and not symbol:
                y, x = divmod(place, layer.tiles.shape[1])
                raise ValueError(
                    f"layer {layer.name!r}, row {y + 1}, column {x + 1}: "
                    f"this tile says nothing; give it a class, the name of an object"
                )
            characters.append(reading.character(symbol, at) if number else ".")
        shown = np.array(characters)[where.reshape(layer.tiles.shape)]
        rows = np.where(layer.tiles > 0, shown, rows)
    return ["".join(row) for row in rows.tolist()]


_FORMATS: dict[str, Callable[[Path, _Reading], Iterator[PackLevel]]] = {
    **dict.fromkeys((*SOKOBAN, ".txt"), _sokoban),
    ".tmx": _tiled,
}
"""What reads files of levels, by the ends of their names."""
