"""Packs: many levels under one scenario's rules, written in it or in files of other formats.

    levels: warehouse.xsb          # or a folder, or a list of them and of levels in place
    levels:
      - {title: The corner, author: GV Engine, map: "#####\n#>.E#\n#####"}

Each level is a variant whose name is its number, from 1 on: `pack.yaml#3`. The scenario itself
draws one of them with each reset. What a character stands for is said by the scenario's legend;
those of Tiled's tiles by the tiles. A file of Sokoban levels is a scenario by itself, which extends
the built-in `sokoban`.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import shortened
from gv_engine.rules.frame import VIEWS
from gv_engine.scenario.fields import (
    INT32_MAX,
    MAX_CELLS,
    MAX_SIDE,
    ErrorCollector,
    FieldError,
    NodeBuilder,
    YamlNode,
    integer,
    mapping,
    optional_text,
    read_fields,
    suggestion,
    text,
)
from gv_engine.scenario.files import format_bytes, parse_xml, read_bytes
from gv_engine.scenario.json_schema import (
    TEXT,
    Key,
    KeyTable,
    any_of,
    enum_schema,
    integer_schema,
    list_of,
    object_schema,
)
from gv_engine.scenario.variants import VARIANTS

# ---- sokoban -------------------------------------------------------------------------------------

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


# ---- tiled ---------------------------------------------------------------------------------------

_MOST_TILES = 2**20
"""Cells of all layers of a map."""
_MOST_TILESETS = 100
_FLAGS = 2**28
"""From this bit on, a number in a layer says how its tile is turned or mirrored."""
_WINDOW = {"gzip": 31, "zlib": 15}
"""What `zlib` calls these formats."""


class TileLayer(NamedTuple):
    """Layer that is shown.

    Attributes:
        tiles: (H, W) int64, numbers of `TiledMap.tiles`; 0 where there is none.
    """

    name: str
    tiles: NDArray[np.int64]


class TiledMap(NamedTuple):
    """Map of Tiled.

    Attributes:
        shape: (H, W).
        properties: of the map, by name.
        layers: from the lowest to the uppermost, each unpacked when its turn comes.
        tiles: attributes and properties of tiles, by number.
    """

    shape: tuple[int, int]
    properties: dict[str, str]
    layers: Iterator[TileLayer]
    tiles: dict[int, dict[str, str]]


def read_tiled(file: Path, read: Callable[[Path], bytes]) -> TiledMap:
    """Return a map of Tiled.

    Args:
        file: the map, in whose folder or below its tilesets are.
        read: returns the bytes of a file.

    Raises:
        ValueError: the map is damaged, larger than a grid may be, or of a kind that is not known;
            also while its layers are read.
        Exception: what `read` raises.
    """
    root = parse_xml(read(file))
    if root.tag != "map":
        raise ValueError(f"found <{root.tag[:20]}>, expected <map>")
    if root.get("infinite", "0") != "0":
        raise ValueError("the map is infinite; switch that off in Tiled: Map, Map Properties")
    shape = _side(root, "height"), _side(root, "width")
    shown = [each for each in root.iter("layer") if each.get("visible") not in ("0", "false")]
    if len(shown) * shape[0] * shape[1] > _MOST_TILES:
        raise ValueError(f"its layers have more than {_MOST_TILES:,} cells together")
    tiles: dict[int, dict[str, str]] = {}
    tilesets = root.findall("tileset")
    if len(tilesets) > _MOST_TILESETS:
        raise ValueError(f"it has more than {_MOST_TILESETS} tilesets")
    for node in tilesets:
        tiles.update(_tileset(file, node, read))
    layers = (TileLayer(each.get("name", ""), _tiles_of(each, shape)) for each in shown)
    return TiledMap(shape, _properties(root), layers, tiles)


def _side(root: Element, name: str) -> int:
    found = root.get(name, "")
    if not (found.isdecimal() and len(found) < 5 and 1 <= int(found) <= MAX_SIDE):
        raise ValueError(f"its {name} is {found[:20]!r}, expected 1 to {MAX_SIDE}")
    return int(found)


def _tiles_of(layer: Element, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return (H, W) the tiles of a layer, 0 where there is none."""
    data = layer.find("data")
    name, cells = f"layer {layer.get('name', '')[:40]!r}", shape[0] * shape[1]
    if data is None:
        raise ValueError(f"{name} has no data")
    text, encoding, packed = data.text or "", data.get("encoding"), data.get("compression")
    if encoding == "csv":
        numbers = np.array([int(number) for number in text.split(",")], np.int64)
    elif encoding == "base64" and (not packed or packed in _WINDOW):
        found = b64decode(text)
        if packed:
            found = zlib.decompressobj(_WINDOW[packed]).decompress(found, 4 * (cells + 1))
        numbers = np.frombuffer(found, "<u4").astype(np.int64)
    else:
        how = " ".join(filter(None, (encoding, packed))) or "XML"
        raise ValueError(
            f"{name} has the format {how[:40]!r}; choose CSV, or Base64 that is not compressed or "
            "by zlib or gzip, in Tiled: Map, Map Properties, Tile Layer Format"
        )
    if numbers.size != cells:
        raise ValueError(f"{name} has not as many tiles as its map has cells, {cells}")
    return numbers.reshape(shape) % _FLAGS


def _tileset(
    file: Path, node: Element, read: Callable[[Path], bytes]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of each tile of a tileset with its attributes and properties."""
    first = int(node.get("firstgid", ""))
    if source := node.get("source"):
        beside = Path(source)
        if beside.anchor or ".." in beside.parts:
            raise ValueError(
                f"the tileset {source[:80]!r} is outside of the map's folder; put it beside the map"
            )
        node = parse_xml(read(file.parent / beside))
    for tile in node.findall("tile"):
        yield first + int(tile.get("id", "")), {**tile.attrib, **_properties(tile)}


def _properties(node: Element) -> dict[str, str]:
    """Return the properties of a map or of a tile, by name."""
    found = node.iterfind("properties/property")
    return {each.get("name", ""): each.get("value") or each.text or "" for each in found}


# ---- packs ---------------------------------------------------------------------------------------

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
    "par": Key("The fewest steps in which it can be won.", integer_schema(1, INT32_MAX)),
    "view": Key("How the window shows it at first.", enum_schema(VIEWS)),
}
_TEXTS = ("title", "author", "solution", "says")
_LEVEL = any_of(TEXT, object_schema(_LEVEL_KEYS))
LEVELS_KEY = Key(
    "Many levels, in place of a map: a file of Sokoban levels (.xsb, .sok, .txt) or of Tiled "
    "(.tmx), a folder of such files, or a list of these and of levels in place; each reset draws "
    "one, and `file.yaml#3` is the third.",
    any_of(TEXT, list_of(_LEVEL, minItems=1, maxItems=_MOST)),
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


def scenario_around(file: Path, problems: ErrorCollector) -> YamlNode:
    """What a file of levels alone is as a scenario."""
    text = {"extends": _SOKOBAN_RULES, LEVELS: file.name}
    return NodeBuilder(problems).from_python(text, YamlNode(None, line=1))


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
        raise FieldError(entries[VARIANTS], "a scenario has either `levels` or `variants`")
    reading, found, cells = _Reading(), list[PackLevel](), 0
    for level in _levels(node, Path(node.file).parent if node.file else folder, reading):
        found.append(level)
        cells += len(level.map.text)
        if len(found) > _MOST or cells > MAX_CELLS:
            raise FieldError(
                node, f"found more than {_MOST} levels, or more than {MAX_CELLS:,} cells"
            )
    if not found:
        raise FieldError(node, f"found 0 levels, expected 1 to {_MOST}")
    if reading.legend:
        own = mapping(entries["legend"]) if "legend" in entries else {}
        entries["legend"] = replace(node, value={**reading.legend, **own})
    told = optional_text(entries["description"]) if "description" in entries else ""
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
        problems = ErrorCollector("")
        entries = read_fields(problems, node, _LEVEL_KEYS)
        for key in node.value.keys() - entries.keys():
            raise FieldError(node.value[key], f"unknown key {key!r}{suggestion(key, _LEVEL_KEYS)}")
        if "map" not in entries:
            raise FieldError(node, "the map is missing: {title: …, map: …}")
        told: dict[str, Any] = {
            key: optional_text(entries[key]) for key in _TEXTS if key in entries
        }
        par = integer(entries["par"], 1, INT32_MAX) if "par" in entries else 0
        yield PackLevel(entries["map"], par=par, view=entries.get("view"), **told)
    elif folder is None:
        raise FieldError(node, no_file(text(node)))
    else:
        for file in _files(node, folder / text(node)):
            yield from _levels_of(node, file, reading)


def _files(node: YamlNode, place: Path) -> list[Path]:
    """A file of levels, or those of a folder."""
    try:
        found = sorted(place.iterdir()) if place.is_dir() else [place]
        known = [file for file in found if file.suffix.lower() in _FORMATS]
    except OSError as error:
        raise FieldError(node, f"{place}: {error.strerror}") from None
    if not known:
        ends = ", ".join(_FORMATS)
        what = "there is none in it" if place.is_dir() else "found another one"
        raise FieldError(node, f"{place}: expected a file of levels, named {ends}; {what}")
    return known


def _levels_of(node: YamlNode, file: Path, reading: _Reading) -> Iterator[PackLevel]:
    """The levels in a file."""
    try:
        yield from _FORMATS[file.suffix.lower()](file, reading)
    except OSError as error:
        raise FieldError(node, str(error)) from None
    except UnicodeDecodeError:
        raise FieldError(node, f"{file}: no UTF-8 text") from None
    except ValueError as error:
        raise FieldError(node, f"{file}: {error}") from None


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
            raise OSError(f"the files of a pack are at most {format_bytes(_MOST_BYTES)} together")
        return found

    def character(self, symbol: dict[str, Any], at: YamlNode) -> str:
        """What stands for something that a legend could say."""
        key = repr(symbol)
        if key not in self._known:
            self._known[key] = next(self._free)
            self.legend[self._known[key]] = NodeBuilder(ErrorCollector("")).from_python(symbol, at)
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
