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

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from gv_engine.language.errors import MissingExtraError
from gv_engine.language.frame import VIEWS
from gv_engine.reading.extras import TILED
from gv_engine.reading.files import read_bytes
from gv_engine.reading.forms import TEXT, Key, KeyTable, either, keyed, list_of, named, whole
from gv_engine.reading.sokoban import read_sokoban
from gv_engine.reading.values import (
    LARGEST,
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
_SOKOBAN_RULES = "sokoban"
_LARGEST = 2**20
"""Bytes of a file of levels."""
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


def is_pack(file: Path) -> bool:
    """Whether a file is one of levels alone, and a scenario by itself."""
    return file.suffix.lower() in SOKOBAN


def scenario_around(file: Path, problems: Problems) -> YamlNode:
    """What a file of levels alone is as a scenario."""
    text = {"extends": _SOKOBAN_RULES, LEVELS: file.name}
    return Builder(problems).from_python(text, YamlNode(None, line=1))


def opened(root: YamlNode, folder: Path) -> tuple[YamlNode, tuple[PackLevel, ...]]:
    """A scenario with the levels of its pack as maps and variants; (root, ()) without a pack.

    Args:
        folder: where its files are.

    Raises:
        Wrong: a level cannot be read, or there is none.
    """
    if LEVELS not in (entries := dict(mapping(root))):
        return root, ()
    node = entries.pop(LEVELS)
    if VARIANTS in entries:
        raise Wrong(entries[VARIANTS], "a scenario has either `levels` or `variants`")
    tiles = _Tiles()
    found = tuple(_levels(node, Path(node.file).parent if node.file else folder, tiles))
    if not 1 <= len(found) <= _MOST:
        raise Wrong(node, f"found {len(found)} levels, expected 1 to {_MOST}")
    if tiles.legend:
        own = mapping(entries["legend"]) if "legend" in entries else {}
        entries["legend"] = replace(node, value={**tiles.legend, **own})
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
    return replace(root, value=entries), found


def no_level(wanted: str, levels: tuple[PackLevel, ...]) -> str:
    """That there is no level of a name, and which there are."""
    numbered = [f"{number} {level.title}".strip() for number, level in enumerate(levels, 1)]
    return f"no level {wanted!r}; there are {', '.join(numbered)}"


def _levels(node: YamlNode, folder: Path, tiles: _Tiles) -> Iterator[PackLevel]:
    """The levels that a node says, in order."""
    if isinstance(node.value, list):
        for item in node.value:
            yield from _levels(item, folder, tiles)
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
    else:
        for file in _files(node, folder / word(node)):
            yield from _levels_of(node, file, tiles)


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


def _levels_of(node: YamlNode, file: Path, tiles: _Tiles) -> Iterator[PackLevel]:
    """The levels in a file."""
    try:
        raw = read_bytes(file, _LARGEST, "files of levels")
        yield from _FORMATS[file.suffix.lower()](file, raw, tiles)
    except (OSError, MissingExtraError) as error:
        raise Wrong(node, str(error)) from None
    except UnicodeDecodeError:
        raise Wrong(node, f"{file}: no UTF-8 text") from None
    except ValueError as error:
        raise Wrong(node, f"{file}: {error}") from None


def _sokoban(file: Path, raw: bytes, tiles: _Tiles) -> Iterator[PackLevel]:
    for level in read_sokoban(raw.decode("utf-8-sig")):
        yield PackLevel(
            _map(file, level.rows, level.line), level.title, level.author, level.solution
        )


def _map(file: Path, rows: list[str], line: int | None = None) -> YamlNode:
    """Rows as a node, each as long as the longest."""
    width = max(map(len, rows))
    text = "\n".join(row.ljust(width) for row in rows)
    return YamlNode(text, "", line, text, first_row=line, file=str(file))


# ---- Tiled ---------------------------------------------------------------------------------------


class _Tiles:
    """Characters for the tiles of Tiled, equal ones of all levels alike.

    Attributes:
        legend: what they stand for.
    """

    def __init__(self) -> None:
        self.legend: dict[str, YamlNode] = {}
        self._known: dict[str, str] = {}
        self._free = (chr(number) for number in count(0x2460) if chr(number).isprintable())

    def character(self, symbol: dict[str, Any], at: YamlNode) -> str:
        """What stands for something that a legend could say."""
        key = repr(symbol)
        if key not in self._known:
            self._known[key] = next(self._free)
            self.legend[self._known[key]] = Builder(Problems("")).from_python(symbol, at)
        return self._known[key]


_SYMBOL = "object", "state", "color", "agent", "room"
"""Properties of a tile that mean something; its class is the object, if none says."""


def _tiled(file: Path, raw: bytes, tiles: _Tiles) -> Iterator[PackLevel]:
    if TILED.missing:
        raise MissingExtraError(TILED.missing)
    import pytmx  # what only readers of Tiled's maps need

    try:
        level = pytmx.TiledMap(str(file), load_all_tiles=False)
        rows = _rows_of(level, tiles, YamlNode(None, file=str(file)))
        keys = "title", "author", "solution"
        told: dict[str, Any] = {key: str(level.properties.get(key, "")) for key in keys}
    except Exception as error:  # whatever a damaged file makes its reader raise
        raise ValueError(f"no map of Tiled that can be read ({error})") from None
    yield PackLevel(_map(file, rows), **told)


def _rows_of(level: Any, tiles: _Tiles, at: YamlNode) -> list[str]:
    """The characters of a map of Tiled; of several layers, the uppermost tile of each cell."""
    rows = [["."] * level.width for _ in range(level.height)]
    for layer in level.visible_tile_layers:
        for y, line in enumerate(level.layers[layer].data):
            for x, gid in enumerate(line):
                if gid:
                    told = level.get_tile_properties_by_gid(gid) or {}
                    symbol = {key: str(told[key]) for key in _SYMBOL if told.get(key)}
                    kind = told.get("type") or told.get("class")
                    if kind and "object" not in symbol and "agent" not in symbol:
                        symbol["object"] = str(kind)
                    if not symbol:
                        raise ValueError(
                            f"layer {level.layers[layer].name!r}, row {y + 1}, column {x + 1}: "
                            f"this tile says nothing; give it a class, the name of an object"
                        )
                    rows[y][x] = tiles.character(symbol, at)
    return ["".join(row) for row in rows]


_FORMATS: dict[str, Callable[[Path, bytes, _Tiles], Iterator[PackLevel]]] = {
    **dict.fromkeys((*SOKOBAN, ".txt"), _sokoban),
    ".tmx": _tiled,
}
"""What reads files of levels, by the ends of their names."""
