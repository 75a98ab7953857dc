"""Maps of Tiled (`.tmx`) with their tilesets (`.tsx`), read within bounds; no image is opened."""

from __future__ import annotations

import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from gv_engine.reading.values import LONGEST_SIDE
from gv_engine.reading.xml_trees import parse_xml

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
    if not (found.isdecimal() and len(found) < 5 and 1 <= int(found) <= LONGEST_SIDE):
        raise ValueError(f"its {name} is {found[:20]!r}, expected 1 to {LONGEST_SIDE}")
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
