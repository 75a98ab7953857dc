"""Packs: many levels with the rules of one scenario, in the scenario or in files of other formats.

    levels: warehouse.xsb          # or a folder, or a list of them and of levels in place
    levels: boxoban-levels/unfiltered/train      # 900 files, kept as `LevelFiles`
    levels:
      - {title: The corner, author: GV Engine, map: "#####\n#>.E#\n#####"}

Each level is a variant named by its number from 1 on: `pack.yaml#3`. Each reset of the scenario
itself samples one level. The scenario's legend defines characters; tiles of Tiled define their
own. A file of Sokoban levels is a scenario by itself, which extends the built-in `sokoban`.
"""

from __future__ import annotations

import re
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count, starmap
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import describe_allowed, shorten
from gv_engine.rules.frame import VIEWS
from gv_engine.scenario import fields
from gv_engine.scenario import json_schema as schema
from gv_engine.scenario.fields import MAX_SIDE, ErrorCollector, YamlNode
from gv_engine.scenario.files import format_bytes, parse_xml, read_bytes
from gv_engine.scenario.json_schema import Key, KeyTable
from gv_engine.scenario.level_files import (
    LevelFiles,
    PackLevel,
    find_level_number,
    open_level_files,
    rows_to_node,
)
from gv_engine.scenario.library import VARIANTS
from gv_engine.scenario.yaml_parser import NodeBuilder

_ENCODED = re.compile(r"[\d#@+$*.\-_ |]*")
_RUN = re.compile(r"(?<!\d)(\d+)(\D)")
_METADATA = re.compile(r"\s*(title|author|solution)\s*:\s*(.*)", re.IGNORECASE)
_MOVES = re.compile(r"[udlrUDLR\s]+")


@dataclass
class SokobanLevel:
    """Level of a Sokoban file.

    Attributes:
        line: line of its first row, from 1.
        title, author: texts of the file, "" for none.
        rows: rows of characters, of different lengths.
        solution: its moves, "" for none.
    """

    line: int
    title: str
    author: str
    rows: list[str] = field(default_factory=list)
    solution: str = ""


def read_sokoban(text: str) -> Iterator[SokobanLevel]:
    """Yield the levels in `text`, the content of a Sokoban level file, in order.

    Raises:
        ValueError: a row is too long, or a level has too many rows.
    """
    last: SokobanLevel | None = None
    author, ahead, solving, drawing = "", "", False, False
    lines = text.splitlines()
    first = next((line.strip() for line in lines if line.strip()), "")
    for number, line in enumerate(lines, 1):
        metadata = _METADATA.fullmatch(line)
        if _is_row(line.lstrip()):
            if not drawing or last is None:
                if last:
                    yield last
                last, ahead = SokobanLevel(number, ahead, author), ""
            last.rows.extend(_expand_row(line, number))
            if len(last.rows) > MAX_SIDE:
                raise ValueError(f"line {number} belongs to a level of more than {MAX_SIDE} rows")
            drawing, solving = True, False
            continue
        drawing = False
        if metadata:
            key, value = metadata[1].lower(), metadata[2].strip()
            solving = key == "solution"
            if last:
                setattr(last, key, value)
            elif key == "author":  # before the first level: of all levels
                author = value
        elif line.startswith(";"):
            solving, title = False, line.strip("; \t")
            if first.startswith(";"):  # such a file has titles above their levels
                ahead = title
            elif last and not last.title:
                last.title = title
        elif solving and last and _MOVES.fullmatch(line):
            last.solution += line.strip()
        elif line.strip():
            solving = False
    if last:
        yield last


def _is_row(line: str) -> bool:
    """Return True if `line`, without blanks at its start, is a row of a Sokoban board and no title
    or comment."""
    usual = "#" in line and _ENCODED.fullmatch(line) is not None
    return usual or (line.startswith("#") and ":" not in line)


def _expand_row(line: str, line_number: int) -> list[str]:
    """Return the map rows that a line of a Sokoban file stands for: several if the line is
    run-length encoded. `line_number` is for messages."""
    rows = [line.rstrip()]
    if _ENCODED.fullmatch(line):
        runs = [times for times, _ in _RUN.findall(line)]
        if sum(int(times) if len(times) < 7 else MAX_SIDE**2 + 1 for times in runs) > MAX_SIDE**2:
            raise ValueError(f"line {line_number} is longer than any level")
        rows = _RUN.sub(lambda run: int(run[1]) * run[2], line.rstrip()).split("|")
    if max(map(len, rows)) > MAX_SIDE:
        raise ValueError(f"line {line_number} is longer than {MAX_SIDE} cells")
    return rows


_MAX_TILES = 2**20
"""Maximum number of cells of all layers of a map."""
_MAX_TILESETS = 100
_FLAGS = 2**28
"""Lowest of the flag bits in a layer's numbers, which mark turned and mirrored tiles."""
_WINDOW = {"gzip": 31, "zlib": 15}
"""Window bits that `zlib` needs for each compression format."""


class TiledMap(NamedTuple):
    """Map of the editor Tiled.

    Attributes:
        shape: (H, W).
        properties: properties of the map by name.
        layers: (name, (H, W) int64 keys of `tiles`, 0 for no tile) of the visible layers from
            bottom to top, each decoded on iteration.
        tiles: attributes and properties of tiles by number.
    """

    shape: tuple[int, int]
    properties: dict[str, str]
    layers: Iterator[tuple[str, NDArray[np.int64]]]
    tiles: dict[int, dict[str, str]]


def read_tiled(file: Path, read: Callable[[Path], bytes]) -> TiledMap:
    """Read a map file of the map editor Tiled (suffix .tmx) and return its layers and tiles; layers
    are decoded only on iteration.

    Args:
        file: path of the map; tilesets must be in its folder or below.
        read: function that returns the bytes of a file.

    Raises:
        ValueError: the map is damaged, larger than a grid may be, or of an unsupported
            kind; also while its layers are read.
        Exception: any exception of `read`.
    """
    root = parse_xml(read(file))
    if root.tag != "map":
        raise ValueError(f"found <{root.tag[:20]}>, expected <map>")
    if root.get("infinite", "0") != "0":
        raise ValueError("the map is infinite; switch that off in Tiled: Map, Map Properties")
    shape = _read_side(root, "height"), _read_side(root, "width")
    shown = [each for each in root.iter("layer") if each.get("visible") not in ("0", "false")]
    if len(shown) * shape[0] * shape[1] > _MAX_TILES:
        raise ValueError(f"its layers have more than {_MAX_TILES:,} cells together")
    tiles: dict[int, dict[str, str]] = {}
    tilesets = root.findall("tileset")
    if len(tilesets) > _MAX_TILESETS:
        raise ValueError(f"it has more than {_MAX_TILESETS} tilesets")
    for node in tilesets:
        tiles.update(_read_tileset(file, node, read))
    layers = ((each.get("name", ""), _read_tiles(each, shape)) for each in shown)
    return TiledMap(shape, _read_properties(root), layers, tiles)


def _read_side(root: Element, name: str) -> int:
    """Return the height or width of a map in cells, from the XML attribute `name` of its root
    element."""
    text = root.get(name, "")
    if not (text.isdecimal() and len(text) < 5 and 1 <= int(text) <= MAX_SIDE):
        raise ValueError(f"its {name} is {text[:20]!r}, expected 1 to {MAX_SIDE}")
    return int(text)


def _read_number(place: str, text: str) -> int:
    """Return `text` as a tile number; raise `ValueError`, which names `place`, if it is no whole
    number or too large."""
    number = text.strip()
    if not (number.isdecimal() and len(number) <= 10):
        raise ValueError(
            f"{place}: found {number[:20]!r}, expected a tile's number, from 0 on and of at most "
            f"10 digits; export the map from Tiled again"
        )
    return int(number)


def _read_tiles(layer: Element, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return the (H, W) tile numbers of a map layer of the given `shape`, 0 for no tile."""
    data = layer.find("data")
    name, cells = f"layer {layer.get('name', '')[:40]!r}", shape[0] * shape[1]
    if data is None:
        raise ValueError(f"{name} has no data")
    text, encoding, packed = data.text or "", data.get("encoding"), data.get("compression")
    if encoding == "csv":
        numbers = np.array([_read_number(name, number) for number in text.split(",")], np.int64)
    elif encoding == "base64" and (not packed or packed in _WINDOW):
        raw = b64decode(text)
        if packed:
            raw = zlib.decompressobj(_WINDOW[packed]).decompress(raw, 4 * (cells + 1))
        numbers = np.frombuffer(raw, "<u4").astype(np.int64)
    else:
        form = " ".join(filter(None, (encoding, packed))) or "XML"
        raise ValueError(
            f"{name} has the format {form[:40]!r}; choose CSV or Base64, uncompressed or with "
            "zlib or gzip, in Tiled: Map, Map Properties, Tile Layer Format"
        )
    if numbers.size != cells:
        raise ValueError(f"{name} has {numbers.size} tiles, expected one for each of {cells} cells")
    return numbers.reshape(shape) % _FLAGS


def _read_tileset(
    file: Path, node: Element, read: Callable[[Path], bytes]
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield (number, attributes and properties) of each tile in a tileset. `node` is its XML
    element in the map `file`; `read` returns a file's bytes."""
    first = _read_number("firstgid of a tileset", node.get("firstgid", ""))
    if source := node.get("source"):
        beside = Path(source)
        if beside.anchor or ".." in beside.parts:
            raise ValueError(
                f"the tileset {source[:80]!r} is outside of the map's folder; put it beside the map"
            )
        node = parse_xml(read(file.parent / beside))
    for tile in node.findall("tile"):
        number = _read_number("id of a tile", tile.get("id", ""))
        yield first + number, {**tile.attrib, **_read_properties(tile)}


def _read_properties(node: Element) -> dict[str, str]:
    """Return the custom properties of a map or tile, an XML element of the editor Tiled, by
    name."""
    properties = node.iterfind("properties/property")
    return {each.get("name", ""): each.get("value") or each.text or "" for each in properties}


LEVELS = "levels"
SOKOBAN = (".xsb", ".sok")
"""Suffixes of files that are scenarios by themselves."""
_BOARD = re.compile(rb"(?:[ \t]*(?:;.*)?\r?\n)*[ \t]*#[#@$.*+_ -]*\r?(?:\n|$)")
"""Pattern of a file that begins with a row of a board, maybe after comments."""
_MAX_FILE_BYTES = 2**20
"""Maximum size of a file that is read level by level, or of a tileset."""
_MAX_PACK_BYTES = 8 * _MAX_FILE_BYTES
"""Maximum size of all files of a pack that are read level by level."""
_MAX_LEVELS = 1000

LEVEL_KEYS: KeyTable = {
    "map": Key("Level, a character per cell.", schema.TEXT, required=True),
    "title": Key("Name.", schema.TEXT),
    "author": Key("Author.", schema.TEXT),
    "solution": Key(
        "A way to win it: u, d, l and r for steps up, down, left and right, of an agent that looks "
        "up; capitals for pushes.",
        schema.TEXT,
    ),
    "says": Key(
        "What players are told while they play it; `{TURN_LEFT}` is the key of that action.",
        schema.TEXT,
    ),
    "par": Key("Fewest steps to win.", schema.integer_schema(1, fields.INT32_MAX)),
    "view": Key(
        "First view in the window; `explored` shows the cells that the agent has seen.",
        schema.enum_schema(VIEWS),
    ),
}
"""Keys of a level in a list of levels."""
_TEXTS = ("title", "author", "solution", "says")
_LEVEL = schema.any_of(schema.TEXT, schema.object_schema(LEVEL_KEYS))
LEVELS_KEY = Key(
    "Pack, in place of a map: a Sokoban (.xsb, .sok, .txt) or Tiled (.tmx) file, a "
    "folder of them, or a list of these and of levels; each reset samples one, and "
    "`file.yaml#3` is the third.",
    schema.any_of(schema.TEXT, schema.list_of(_LEVEL, minItems=1, maxItems=_MAX_LEVELS)),
)


def is_pack(file: Path, raw: bytes = b"") -> bool:
    """Return True if `file` is a pack: a file that holds only levels, and can be loaded as a
    scenario without a YAML file.

    Args:
        file: path; most formats are recognized by suffix.
        raw: contents of a `.txt` file, which is a pack if it begins with a board.
    """
    kind = file.suffix.lower()
    return kind in SOKOBAN or (kind == ".txt" and bool(_BOARD.match(raw)))


def wrap_in_scenario(file: Path, problems: ErrorCollector) -> YamlNode:
    """Return the scenario for a file that holds only levels: it extends the built-in scenario
    `sokoban`."""
    text = {"extends": "sokoban", LEVELS: file.name}
    return NodeBuilder(problems).from_python(text, YamlNode(None, line=1))


def expand_pack(
    root: YamlNode, folder: Path | None, wanted: str
) -> tuple[YamlNode, Sequence[PackLevel]]:
    """Return the scenario `root` with the levels under its key `levels` turned into `maps` and
    `variants`, and the list of levels; (root, ()) without this key. `LevelFiles` stay under
    `levels`, and only the level called `wanted` becomes a variant.

    Args:
        root: the whole scenario.
        folder: folder of its files; None for a scenario that may not name files.
        wanted: name of a level, "" for none.

    Raises:
        FieldError: a level cannot be read, there is none, or none called `wanted`.
    """
    if LEVELS not in (entries := dict(fields.mapping(root))):
        return root, ()
    node = entries.pop(LEVELS)
    if VARIANTS in entries:
        raise entries[VARIANTS].error("a scenario has either `levels` or `variants`")
    files = _PackFiles()
    levels = _read_levels(node, _list_sources(node, folder), files)
    number = find_level_number(wanted, levels)
    if wanted and not number:
        raise YamlNode(None, line=root.line).error(_no_level_message(wanted, levels))
    if files.legend:
        own = fields.mapping(entries["legend"]) if "legend" in entries else {}
        entries["legend"] = replace(node, value={**files.legend, **own})
    if isinstance(levels, LevelFiles):
        # of the files' names nothing is left, so that the scenario is the same in any folder
        entries[LEVELS] = replace(node, value=len(levels))
        numbers = [number] if wanted else []
    else:
        entries["maps"] = replace(node, value=[level.map for level in levels], path=LEVELS)
        numbers = [*range(1, len(levels) + 1)]
    shared = fields.optional_text(entries["description"]) if "description" in entries else ""
    variants = {}
    for number in numbers:
        level = levels[number - 1]
        description = "\n".join(filter(None, (f"{level.credit}.", shared)))
        says = YamlNode(description, "description", node.line, description, file=node.file)
        own = {"map": level.map, "description": says}
        own |= {"view": level.view} if level.view else {}
        variants[str(number)] = replace(node, value=own)
    if variants:
        entries[VARIANTS] = replace(node, value=variants)
    return replace(root, value=entries), levels


def no_file_message(name: str) -> str:
    """Return the error message for a scenario that names a file but came as pasted text, without a
    folder."""
    return f"found {shorten(name, 60)!r}, and no other file is read for a line that was pasted"


def _no_level_message(name: str, levels: Sequence[PackLevel]) -> str:
    """Return the error message that the pack has no level `name`, with a list of all its levels."""
    if isinstance(levels, LevelFiles):
        return f"no level {name!r}; there are 1 to {len(levels):,}"
    numbered = [f"{number} {level.title}".strip() for number, level in enumerate(levels, 1)]
    return f"no level {name!r}; there are {', '.join(numbered)}"


def _list_sources(node: YamlNode, folder: Path | None) -> list[tuple[YamlNode, Path | None]]:
    """Return (item, file) for each level file that `node` names, and (item, None) for each level
    that is written in the list itself.

    Args:
        node: a path, or a list of paths and of mappings with a map each.
        folder: folder of the scenario's files; None if it may name only files of built-in
            scenarios.
    """
    home = Path(node.file).parent.resolve() if node.file else folder
    sources: list[tuple[YamlNode, Path | None]] = []
    for item in node.value if isinstance(node.value, list) else [node]:
        if isinstance(item.value, dict) and item is not node:
            sources.append((item, None))
            continue
        name = fields.text(item)
        if home is None or (folder is None and not (home / name).resolve().is_relative_to(home)):
            raise item.error(no_file_message(name))
        sources += [(item, file) for file in _list_level_files(item, home / name)]
    return sources


def _read_levels(
    node: YamlNode, sources: list[tuple[YamlNode, Path | None]], files: _PackFiles
) -> Sequence[PackLevel]:
    """Return the levels of `sources`, see `_list_sources`: a tuple, or `LevelFiles` where these are
    too many and all in text files. `files` reads the others; errors are reported at `node`."""
    texts = [file for _, file in sources if file and _FORMATS[file.suffix.lower()] is _read_text]
    are_texts = len(texts) == len(sources)
    levels, cells = list[PackLevel](), 0
    if not (are_texts and _are_too_large(texts)):
        for level in chain.from_iterable(starmap(partial(_read_source, files), sources)):
            levels.append(level)
            cells += len(level.map.text)
            if len(levels) > _MAX_LEVELS or cells > fields.MAX_CELLS:
                break
        else:
            if not levels:
                raise node.error(f"found 0 levels, expected 1 to {_MAX_LEVELS}")
            return tuple(levels)
    if not are_texts:
        raise node.error(
            f"found more than {_MAX_LEVELS} levels, or more than {fields.MAX_CELLS:,} cells; "
            f"larger sets are text files only"
        )
    with node.report(OSError, ValueError):
        return open_level_files(texts)


def _are_too_large(texts: list[Path]) -> bool:
    """Return True if text files are too large to read level by level; False if a file cannot be
    accessed, as the reader then reports the error."""
    try:
        sizes = [0, *(file.stat().st_size for file in texts)]
    except OSError:
        return False
    return max(sizes) > _MAX_FILE_BYTES or sum(sizes) > _MAX_PACK_BYTES


def _read_source(files: _PackFiles, item: YamlNode, file: Path | None) -> Iterator[PackLevel]:
    """Yield the levels in `file`, in the format that its suffix names, or the level that `item`
    describes if there is no file; errors are reported at `item`, and `files` does the reading."""
    if file is None:
        yield _read_level(item, fields.mapping(item))
        return
    try:
        yield from _FORMATS[file.suffix.lower()](file, files)
    except OSError as error:
        raise item.error(str(error)) from None
    except UnicodeDecodeError:
        raise item.error(f"{file}: no UTF-8 text") from None
    except ValueError as error:
        raise item.error(f"{file}: {error}") from None


def _read_level(node: YamlNode, values: Mapping[str, YamlNode]) -> PackLevel:
    """Return the level that the mapping `node` describes; `values` are its values by key."""
    entries = fields.read_fields(ErrorCollector(""), node, LEVEL_KEYS)
    for key in values.keys() - entries.keys():
        raise values[key].error(f"unknown key {key!r}{describe_allowed(key, LEVEL_KEYS)}")
    if "map" not in entries:
        raise node.error("the map is missing: {title: …, map: …}")
    texts: dict[str, Any] = {
        key: fields.optional_text(entries[key]) for key in _TEXTS if key in entries
    }
    par = fields.integer(entries["par"], 1, fields.INT32_MAX) if "par" in entries else 0
    return PackLevel(entries["map"], par=par, view=entries.get("view"), **texts)


def _list_level_files(node: YamlNode, place: Path) -> list[Path]:
    """Return the level files at the path `place`: the file itself, or all files of a known format
    in the folder; errors are reported at `node`."""
    try:
        paths = sorted(place.iterdir()) if place.is_dir() else [place]
        files = [path for path in paths if path.suffix.lower() in _FORMATS]
    except OSError as error:
        raise node.error(f"{place}: {error.strerror}") from None
    if not files:
        ends = ", ".join(_FORMATS)
        folders = [path.name for path in paths if path.is_dir()]
        reason = "there is none in it" if place.is_dir() else "found another one"
        if place.is_dir() and folders:
            reason += f", only folders; name one of them: {shorten(', '.join(folders), 60)}"
        raise node.error(f"{place}: expected a file of levels, named {ends}; {reason}")
    return files


def _read_text(file: Path, files: _PackFiles) -> Iterator[PackLevel]:
    """Yield the levels in a Sokoban text file; `files` reads it and counts its bytes."""
    for level in read_sokoban(files.read(file).decode("utf-8-sig")):
        yield PackLevel(
            rows_to_node(file, level.rows, level.line), level.title, level.author, level.solution
        )


class _PackFiles:
    """Reader of a pack's files, which limits their total size. It also assigns a map character to
    each Tiled tile.

    Attributes:
        legend: nodes of legend entries by character; equal tiles of all levels share one.
    """

    def __init__(self) -> None:
        self._bytes = 0
        self.legend: dict[str, YamlNode] = {}
        self._characters: dict[str, str] = {}
        self._free = (chr(number) for number in count(0x2460) if chr(number).isprintable())

    def read(self, file: Path) -> bytes:
        """Return the bytes of a file, and count them towards the limit on all files of the pack.

        Raises:
            OSError: it cannot be read, or this and the files before it are too large.
        """
        raw = read_bytes(file, _MAX_FILE_BYTES, "files of levels")
        self._bytes += len(raw)
        if self._bytes > _MAX_PACK_BYTES:
            raise OSError(
                f"the files of a pack are at most {format_bytes(_MAX_PACK_BYTES)} together"
            )
        return raw

    def character_for(self, symbol: dict[str, Any], node: YamlNode) -> str:
        """Return the map character that stands for the legend entry `symbol`. A new entry gets the
        next free character and is added to `legend`."""
        key = repr(symbol)
        if key not in self._characters:
            self._characters[key] = next(self._free)
            entry = NodeBuilder(ErrorCollector("")).from_python(symbol, node)
            self.legend[self._characters[key]] = entry
        return self._characters[key]


_SYMBOL = "object", "state", "color", "agent", "room"
"""Properties of a tile that are used; its class is the object if there is no property `object`."""


def _read_tiled_level(file: Path, files: _PackFiles) -> Iterator[PackLevel]:
    """Yield the only level in a map file of the editor Tiled; `files` reads it and assigns
    characters to its tiles."""
    try:
        level = read_tiled(file, files.read)
        rows = _tiles_to_rows(level, files, YamlNode(None, file=str(file)))
    except OSError:
        raise
    except Exception as error:  # damaged bytes may raise anything
        raise ValueError(f"no map of Tiled that can be read ({error})") from None
    title, author, moves = (level.properties.get(k, "") for k in ("title", "author", "solution"))
    yield PackLevel(rows_to_node(file, rows), title, author, moves)


def _tiles_to_rows(level: TiledMap, files: _PackFiles, node: YamlNode) -> list[str]:
    """Return the rows of characters of `level`, a Tiled map, where the topmost tile of a cell
    counts; `files` assigns the characters, errors are reported at `node`."""
    rows = np.full(level.shape, ".")
    for name, tiles in level.layers:
        numbers, first, where = np.unique(tiles, return_index=True, return_inverse=True)
        characters = []
        for number, place in zip(numbers.tolist(), first.tolist(), strict=True):
            tile = level.tiles.get(number, {})
            symbol = {key: tile[key] for key in _SYMBOL if tile.get(key)}
            kind = tile.get("type") or tile.get("class")
            if kind and "object" not in symbol and "agent" not in symbol:
                symbol["object"] = kind
            if number and not symbol:
                y, x = divmod(place, tiles.shape[1])
                raise ValueError(
                    f"layer {name!r}, row {y + 1}, column {x + 1}: "
                    f"this tile says nothing; give it a class, the name of an object"
                )
            characters.append(files.character_for(symbol, node) if number else ".")
        shown = np.array(characters)[where.reshape(tiles.shape)]
        rows = np.where(tiles > 0, shown, rows)
    return ["".join(row) for row in rows.tolist()]


_FORMATS: dict[str, Callable[[Path, _PackFiles], Iterator[PackLevel]]] = {
    **dict.fromkeys((*SOKOBAN, ".txt"), _read_text),
    ".tmx": _read_tiled_level,
}
"""Reader functions of files of levels, by suffix."""
