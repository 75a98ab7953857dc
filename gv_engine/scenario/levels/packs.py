"""Packs: many levels with the rules of one scenario, in the scenario or in files of other formats.

    levels: warehouse.xsb          # or a folder, or a list of them and of levels in place
    levels: boxoban-levels/unfiltered/train      # 900 files, kept as `LevelFiles`
    levels:
      - {title: The corner, author: GV Engine, map: "#####\n#>.E#\n#####"}

Each level is a variant named by its number from 1 on: `pack.yaml#3`. Each reset of the scenario
itself samples one level. The scenario's legend defines characters; tiles of Tiled define their
own. A file of Sokoban levels is a scenario by itself, which extends the built-in `sokoban`.
`sokoban_files.py` and `tiled_maps.py` read the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.rules.errors import describe_allowed, format_cell, shorten
from gv_engine.rules.frame import VIEWS
from gv_engine.scenario import library
from gv_engine.scenario.levels.level_files import (
    LevelFiles,
    PackLevel,
    find_level_number,
    open_level_files,
    rows_to_node,
)
from gv_engine.scenario.levels.sokoban_files import (
    SokobanLevel,
    decode_levels,
    read_slc,
    read_sokoban,
)
from gv_engine.scenario.levels.tiled_maps import TiledMap
from gv_engine.scenario.storage.files import format_bytes, read_bytes
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable
from gv_engine.scenario.syntax.yaml_parser import NodeBuilder

LEVELS = "levels"
_SCENARIO_SUFFIXES = (".xsb", ".sok", ".slc")  # suffixes of files that are scenarios by themselves
_BOARD_ROW = re.compile(rb"^[ \t]*#[#@$.*+_ -]*#[ \t]*\r?$", re.MULTILINE)
"""Pattern of a board's row in a file."""
_SCENARIO_KEY = re.compile(rb"^(extends|levels|maps?|transition_functions)[ \t]*:", re.MULTILINE)
"""Pattern of a key of a scenario."""
_ANY_KEY = re.compile(rb"^\w+[ \t]*:", re.MULTILINE)
_MAX_FILE_BYTES = 2**20  # maximum size of a file that is read level by level, or of a tileset
_MAX_PACK_BYTES = 8 * _MAX_FILE_BYTES
"""Maximum size of all files of a pack that are read level by level."""
_MAX_LEVELS = 1000

VIEW_KEY = Key(
    "First view in the window. `explored` shows the cells that the agent has seen.",
    schema.enum_schema(VIEWS, "view"),
)


LEVEL_KEYS: KeyTable = {
    "map": Key("Level, a character per cell.", schema.TEXT, required=True),
    "title": Key("Name.", schema.TEXT),
    "author": Key("Author.", schema.TEXT),
    "solution": Key(
        "A way to win it: u, d, l and r for steps up, down, left and right, of an agent that looks "
        "up; capitals for pushes, numbers for repetitions, `2rU`.",
        schema.TEXT,
    ),
    "says": Key(
        "What players are told while they play it; `{TURN_LEFT}` is the key of that action.",
        schema.TEXT,
    ),
    "par": Key("Fewest steps to win.", schema.integer_schema(1, fields.INT32_MAX)),
    "view": VIEW_KEY,
}
"""Keys of a level in a list of levels."""
_TEXTS = ("title", "author", "solution", "says")
_LEVEL = schema.any_of(schema.TEXT, schema.object_schema(LEVEL_KEYS))
LEVELS_KEY = Key(
    "Pack, in place of a map: a Sokoban (.xsb, .sok, .txt, .slc) or Tiled (.tmx) file, a "
    "folder of them, or a list of these and of levels. Each reset samples one level. "
    "`file.yaml#3` is the third.",
    schema.any_of(schema.TEXT, schema.list_of(_LEVEL, minItems=1, maxItems=_MAX_LEVELS)),
)


def is_pack(file: Path, raw: bytes = b"") -> bool:
    """Return True if a file contains only levels, such as a Sokoban collection, so that it can be
    loaded as a scenario without a YAML file.

    Args:
        file: path; most formats are recognized by suffix.
        raw: contents of a `.txt` file, which is a pack if it has a board and no key of a scenario.
    """
    suffix = file.suffix.lower()
    if suffix == ".txt":
        return bool(_BOARD_ROW.search(raw) and not _SCENARIO_KEY.search(raw))
    return suffix in _SCENARIO_SUFFIXES


def check_text_file(document: YamlNode, file: Path, raw: bytes) -> None:
    """Raise FieldError if a `.txt` file contains neither a board nor a YAML key. `raw` is its
    content, `document` its YAML node."""
    if file.suffix.lower() == ".txt" and not (_BOARD_ROW.search(raw) or _ANY_KEY.search(raw)):
        raise document.error(
            "found neither Sokoban boards, with rows such as #@ $.# on lines of their own, nor "
            "keys of a scenario"
        )


_SOK_LETTERS = {
    "p": {"agent": "FORWARD"},
    "P": {"agent": "FORWARD", "ground": "Target"},
    "b": "Crate",
    "B": {"object": "Crate", "ground": "Target"},
}
"""Letters of the format .sok, which in other scenarios are other objects."""


def wrap_in_scenario(file: Path, problems: ErrorCollector) -> YamlNode:
    """Return the scenario for a file that holds only levels: it extends the built-in scenario
    `sokoban`."""
    entries = {"extends": "sokoban", "legend": _SOK_LETTERS, LEVELS: file.name}
    return NodeBuilder(problems).from_python(entries, YamlNode(None, line=1))


def expand_pack(
    root: YamlNode, folder: Path | None, level_name: str
) -> tuple[YamlNode, Sequence[PackLevel]]:
    """Replace the key `levels` of a scenario by `maps` and `variants`, one for each level. Return
    the scenario and the levels; () without this key. Very large packs stay `LevelFiles`, of which
    only the level `level_name` becomes a variant.

    Args:
        root: the whole scenario.
        folder: folder of its files; None for a scenario that may not name files.
        level_name: name of a level, "" for none.

    Raises:
        FieldError: a level cannot be read, there is none, or none called `level_name`.
    """
    if LEVELS not in (entries := dict(fields.mapping(root))):
        return root, ()
    node = entries.pop(LEVELS)
    if library.VARIANTS in entries:
        raise entries[library.VARIANTS].error("a scenario has either `levels` or `variants`")
    files = _PackFiles()
    levels = _read_levels(node, _list_sources(node, folder), files)
    if level_name and not find_level_number(level_name, levels):
        raise YamlNode(None, line=root.line).error(_no_level_message(level_name, levels))
    if files.legend:
        own_legend = fields.mapping(entries["legend"]) if "legend" in entries else {}
        entries["legend"] = replace(node, value={**files.legend, **own_legend})
    if isinstance(levels, LevelFiles):
        # of the files' names nothing is left, so that the scenario is the same in any folder
        entries[LEVELS] = replace(node, value=len(levels))
        names = [level_name] if level_name else []
    else:
        entries["maps"] = replace(node, value=[level.map for level in levels], path=LEVELS)
        names = [str(number) for number in range(1, len(levels) + 1)]
    description = fields.optional_text(entries["description"]) if "description" in entries else ""
    variants = {name: _make_variant(node, levels[int(name) - 1], description) for name in names}
    if variants:
        entries[library.VARIANTS] = replace(node, value=variants)
    return replace(root, value=entries), levels


def _make_variant(node: YamlNode, level: PackLevel, description: str) -> YamlNode:
    """Return the YAML node of a variant that plays one level of a pack. `description` is that of
    the pack."""
    text = "\n".join(filter(None, (f"{level.credit}.", description)))
    entries = {
        "map": level.map,
        "description": YamlNode(text, "description", node.line, text, file=node.file),
    }
    if level.view:
        entries["view"] = level.view
    return replace(node, value=entries)


def no_file_message(name: str) -> str:
    """Return the error message for a scenario that names a file but came as pasted text, without a
    folder."""
    return f"found {shorten(name, 60)!r}, but a pasted line may not name other files"


def _no_level_message(name: str, levels: Sequence[PackLevel]) -> str:
    """Return the error message for a pack without a level `name`, with a list of its levels."""
    if isinstance(levels, LevelFiles):
        return f"no level {name!r}; there are 1 to {len(levels):,}"
    numbered = [f"{number} {level.title}".strip() for number, level in enumerate(levels, 1)]
    return f"no level {name!r}; there are {', '.join(numbered)}"


def _list_sources(node: YamlNode, folder: Path | None) -> list[tuple[YamlNode, Path | None]]:
    """Return (item, file) for each level file that an item of the YAML list names, and (item, None)
    for each level written in the list itself.

    Args:
        node: a path, or a list of paths and of mappings with a map each.
        folder: folder of the scenario's files; None if it may name only files of built-in
            scenarios.
    """
    base = Path(node.file).parent.resolve() if node.file else folder
    sources: list[tuple[YamlNode, Path | None]] = []
    for item in node.value if isinstance(node.value, list) else [node]:
        if isinstance(item.value, dict) and item is not node:
            sources.append((item, None))
            continue
        name = fields.text(item)
        if base is None or (folder is None and not (base / name).resolve().is_relative_to(base)):
            raise item.error(no_file_message(name))
        sources += [(item, file) for file in _list_level_files(item, base / name)]
    return sources


def _read_levels(
    node: YamlNode, sources: list[tuple[YamlNode, Path | None]], files: _PackFiles
) -> Sequence[PackLevel]:
    """Read all levels of a pack. `sources` are (item, file) pairs of `_list_sources`. Return a
    tuple of levels, or `LevelFiles` if there are too many and all are in text files. Errors are
    reported at the YAML node."""
    texts = [file for _, file in sources if file and _FORMATS[file.suffix.lower()] is _read_text]
    are_all_texts = len(texts) == len(sources)
    if not (are_all_texts and _are_too_large(texts)):
        levels = _read_limited(sources, files)
        if levels:
            return tuple(levels)
        if levels is not None:
            raise node.error(
                f"found 0 levels, expected 1 to {_MAX_LEVELS}, with rows such as #@ $.#"
            )
    if not are_all_texts:
        raise node.error(
            f"found more than {_MAX_LEVELS} levels, or more than {fields.MAX_CELLS:,} cells; "
            f"write larger sets as text files"
        )
    with node.report(OSError, ValueError):
        return open_level_files(texts)


def _read_limited(
    sources: list[tuple[YamlNode, Path | None]], files: _PackFiles
) -> list[PackLevel] | None:
    """Read levels one by one from `sources`, (item, file) pairs of `_list_sources`. Return None if
    there are too many."""
    levels, num_cells = list[PackLevel](), 0
    for item, file in sources:
        for level in _read_source(files, item, file):
            levels.append(level)
            num_cells += len(level.map.text)
            if len(levels) > _MAX_LEVELS or num_cells > fields.MAX_CELLS:
                return None
    return levels


def _are_too_large(text_files: list[Path]) -> bool:
    """Return True if text files are too large to be read level by level. False if one cannot be
    accessed, as the reader then reports that."""
    try:
        sizes = [0, *(file.stat().st_size for file in text_files)]
    except OSError:
        return False
    return max(sizes) > _MAX_FILE_BYTES or sum(sizes) > _MAX_PACK_BYTES


def _read_source(files: _PackFiles, item: YamlNode, file: Path | None) -> Iterator[PackLevel]:
    """Yield the levels of one source: those in `file`, or, if that is None, the level written in
    the YAML node `item`. Errors are reported at `item`; `files` does the reading."""
    if file is None:
        yield _read_level(item, fields.mapping(item))
        return
    try:
        yield from _FORMATS[file.suffix.lower()](file, files)
    except OSError as error:
        raise item.error(str(error)) from None
    except UnicodeDecodeError:
        raise item.error(f"{file}: not UTF-8 text") from None
    except ValueError as error:
        raise item.error(f"{file}: {error}") from None


def _read_level(node: YamlNode, values: Mapping[str, YamlNode]) -> PackLevel:
    """Return the level written in a YAML mapping, whose entries are `values`."""
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


def _list_level_files(node: YamlNode, path: Path) -> list[Path]:
    """Return the level files at `path`: the file itself, or all files of a known format if it is a
    folder. Errors are reported at the YAML node."""
    try:
        candidates = sorted(path.iterdir()) if path.is_dir() else [path]
        files = [file for file in candidates if file.suffix.lower() in _FORMATS]
    except OSError as error:
        raise node.error(f"{path}: {error.strerror}") from None
    if not files:
        if message := library.find_other_file(path):
            raise node.error(message)
        reason = "there is none in it" if path.is_dir() else "found another one"
        folders = ", ".join(file.name for file in candidates if file.is_dir())
        if path.is_dir() and folders:
            reason += f", only folders; name one of them: {shorten(folders, 60)}"
        suffixes = ", ".join(_FORMATS)
        raise node.error(f"{path}: expected a file of levels, named {suffixes}; {reason}")
    return files


def _read_text(file: Path, files: _PackFiles) -> Iterator[PackLevel]:
    levels = read_sokoban(decode_levels(files.read(file)), _MAX_LEVELS + 1)
    return _convert_levels(file, levels)


def _read_collection(file: Path, files: _PackFiles) -> Iterator[PackLevel]:
    return _convert_levels(file, read_slc(files.read(file)))


def _convert_levels(file: Path, levels: Iterator[SokobanLevel]) -> Iterator[PackLevel]:
    for level in levels:
        node = rows_to_node(file, level.rows, level.line or None)
        yield PackLevel(node, level.title, level.author, level.solution)


class _PackFiles:
    """Reader of a pack's files, which limits their total size. It also assigns a map character to
    each Tiled tile.

    Attributes:
        legend: nodes of legend entries by character; equal tiles of all levels share one.
    """

    def __init__(self) -> None:
        """Make a reader that has read nothing yet."""
        self._bytes = 0
        self.legend: dict[str, YamlNode] = {}
        self._characters: dict[str, str] = {}
        self._free = (chr(number) for number in count(0x2460) if chr(number).isprintable())

    def read(self, file: Path) -> bytes:
        """Return the content of a file. Raise an error if all files of the pack together exceed a
        limit.

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
        """Return the map character for a legend entry such as `{object: Key, color: RED}`. A new
        entry gets the next free character and is added to `legend`."""
        key = repr(symbol)
        if key not in self._characters:
            self._characters[key] = next(self._free)
            entry = NodeBuilder(ErrorCollector("")).from_python(symbol, node)
            self.legend[self._characters[key]] = entry
        return self._characters[key]


_TILE_PROPERTIES = "object", "state", "color", "agent", "room"


def _read_tiled_level(file: Path, files: _PackFiles) -> Iterator[PackLevel]:
    """Yield the level in a map file of the editor Tiled. `files` reads the file and chooses
    characters for its tiles."""
    try:
        level = TiledMap(file, files.read)
        rows = _tiles_to_rows(level, files, YamlNode(None, file=str(file)))
    except OSError:
        raise
    except Exception as error:  # damaged bytes may raise anything
        raise ValueError(f"cannot be read as a map of Tiled: {error}") from None
    node, texts = rows_to_node(file, rows), level.properties
    title, author = texts.get("title", ""), texts.get("author", "")
    yield PackLevel(node, title, author, texts.get("solution", ""))


def _tiles_to_rows(level: TiledMap, files: _PackFiles, node: YamlNode) -> list[str]:
    """Convert a Tiled map to rows of map characters. The topmost tile of a cell counts. `files`
    chooses the characters; errors are reported at the YAML node."""
    rows = np.full(level.shape, ".")
    for layer_name, tiles in level.layers():
        numbers, first_cells, inverse = np.unique(tiles, return_index=True, return_inverse=True)
        characters = []
        for number, cell in zip(numbers.tolist(), first_cells.tolist(), strict=True):
            if number == 0:
                characters.append(".")
                continue
            symbol = _read_tile_symbol(level.read_tile(number))
            if not symbol:
                y, x = divmod(cell, tiles.shape[1])
                raise ValueError(
                    f"{layer_name}, {format_cell(y, x)}: "
                    f"this tile has no class; set its class to the name of an object"
                )
            characters.append(files.character_for(symbol, node))
        layer_rows = np.array(characters)[inverse.reshape(tiles.shape)]
        rows = np.where(tiles > 0, layer_rows, rows)
    return ["".join(row) for row in rows.tolist()]


def _read_tile_symbol(tile: dict[str, str]) -> dict[str, str]:
    """Convert attributes and properties of a Tiled tile to a legend entry. The object is named by
    the property `object`, or else by the tile's class."""
    symbol = {key: tile[key] for key in _TILE_PROPERTIES if tile.get(key)}
    class_name = tile.get("type") or tile.get("class")
    if class_name and "object" not in symbol and "agent" not in symbol:
        symbol["object"] = class_name
    return symbol


_FORMATS: dict[str, Callable[[Path, _PackFiles], Iterator[PackLevel]]] = {
    **dict.fromkeys((".xsb", ".sok", ".txt"), _read_text),
    ".slc": _read_collection,
    ".tmx": _read_tiled_level,
}
"""Reader functions of files of levels, by suffix."""
