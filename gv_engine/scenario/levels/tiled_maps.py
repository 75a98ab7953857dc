"""Reader of maps of the editor Tiled (.tmx), which reads or refuses everything in a map that may
change its picture.

Source: https://doc.mapeditor.org/en/stable/reference/tmx-map-format/
"""

from __future__ import annotations

import zlib
from base64 import b64decode
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.geometry import ORIENTATIONS, step_x, step_y
from gv_engine.scenario.storage.files import parse_xml
from gv_engine.scenario.syntax.fields import MAX_SIDE

_MAX_TILES = 2**20
"""Maximum number of cells of all layers of a map."""
_MAX_TILESETS = 100
_FLIPPED_X, _FLIPPED_Y, _TRANSPOSED = 2**31, 2**30, 2**29
"""Flags in the number of a tile; it is transposed first."""
_FLAGS = 2**28
"""Lowest flag; it concerns hexagonal maps alone."""
_OBJECT = 2**33
"""Factor of an object's own number in the number of its tile."""
_WINDOW = {"gzip": 31, "zlib": 15}
"""Window bits that `zlib` needs for each compression format."""

_LAYER = "id name class locked visible offsetx offsety"
_LAYERS = "layer objectgroup imagelayer group"
_READ = {
    "map": (
        "version tiledversion class renderorder compressionlevel width height tilewidth tileheight "
        "hexsidelength staggeraxis staggerindex skewx skewy parallaxoriginx parallaxoriginy "
        "backgroundcolor nextlayerid nextobjectid",
        f"properties editorsettings tileset {_LAYERS}",
    ),
    "layer": (f"{_LAYER} width height", "properties data"),
    "objectgroup": (f"{_LAYER} color draworder width height", "properties object"),
    "imagelayer": (f"{_LAYER} repeatx repeaty", "properties"),
    "group": (_LAYER, f"properties {_LAYERS}"),
    "object": ("id name type class x y width height gid visible", "properties"),
    "tileset": (
        "firstgid source name class tilewidth tileheight spacing margin tilecount columns "
        "objectalignment tilerendersize fillmode backgroundcolor version tiledversion",
        "properties image tile wangsets terraintypes grid transformations tileoffset",
    ),
    "tileoffset": ("", ""),
}
"""Attributes and elements of each element that are read, or change no picture of an orthogonal map
whose tiles are as large as its cells."""
_NEUTRAL = {
    "orientation": "orthogonal",
    "infinite": "0",
    "opacity": "1",
    "tintcolor": "#ffffff",
    "parallaxx": "1",
    "parallaxy": "1",
    "mode": "normal",
    "x": "0",
    "y": "0",
    "rotation": "0",
}
"""Values of other attributes that change no picture."""

_Point = tuple[float, float]
"""(y, x) in pixels, y downwards."""


class TiledMap:
    """Map of the editor Tiled.

    Args:
        file: path of the map; tilesets must be in its folder or below.
        read: function that returns the bytes of a file.

    Attributes:
        shape: (H, W).
        properties: properties of the map by name.

    Raises:
        ValueError: the map is damaged, larger than a grid may be, or of an unsupported kind.
        Exception: any exception of `read`.
    """

    def __init__(self, file: Path, read: Callable[[Path], bytes]) -> None:
        root = parse_xml(read(file))
        if root.tag != "map":
            raise ValueError(f"found <{root.tag[:20]}>, expected <map>")
        _check_element(root, "the map", " in Tiled: Map, Map Properties")
        self.shape = _read_side(root, "height"), _read_side(root, "width")
        self.properties = _read_properties(root)
        self._cell = _read_side(root, "tileheight", 9999), _read_side(root, "tilewidth", 9999)
        self._layers = [*_iter_shown_layers(root, (0, 0))]
        if len(self._layers) * self.shape[0] * self.shape[1] > _MAX_TILES:
            raise ValueError(f"its layers have more than {_MAX_TILES:,} cells together")
        nodes = root.findall("tileset")
        if len(nodes) > _MAX_TILESETS:
            raise ValueError(f"it has more than {_MAX_TILESETS} tilesets")
        tilesets = {each.first: each for each in (_Tileset(file, node, read) for node in nodes)}
        self._tilesets = dict(sorted(tilesets.items()))
        self._objects: list[Element] = []

    def layers(self) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield (name, (H, W) numbers for `read_tile`, 0 for no tile) of the visible layers from
        bottom to top, each decoded on iteration.

        Raises:
            ValueError: a layer is damaged, or not all of its tiles are in cells of the map.
        """
        for name, layer, offset in self._layers:
            if layer.tag == "objectgroup":
                yield name, self._place_objects(name, layer, offset)
            else:
                yield name, self._move(name, _read_tiles(name, layer, self.shape), offset)

    def read_tile(self, number: int) -> dict[str, str]:
        """Return attributes and properties of the tile with this `number` in a layer; orientations
        are turned as the tile is.

        Raises:
            ValueError: the tile does not fill exactly one cell.
        """
        own, gid = divmod(number, _OBJECT)
        node = self._objects[own - 1] if own else None
        tileset, tile = self._find_tileset(gid), dict[str, str]()
        if tileset:
            is_stretched = node is not None and "width" in node.attrib
            tile |= tileset.read_tile(gid % _FLAGS, None if is_stretched else self._cell)
        if node is not None:
            if kind := node.get("type") or node.get("class"):
                tile.pop("object", None)
                tile["type"] = kind
            tile |= _read_properties(node)
        return tile | {key: _turn(tile[key], gid) for key in ("agent", "state") if key in tile}

    def _find_tileset(self, gid: int) -> _Tileset | None:
        firsts = [*self._tilesets]
        index = bisect_right(firsts, gid % _FLAGS)
        return self._tilesets[firsts[index - 1]] if index else None

    def _move(self, name: str, tiles: NDArray[np.int64], offset: _Point) -> NDArray[np.int64]:
        """Return the `tiles` of the layer called `name`, moved by its `offset`."""
        if not any(offset):
            return tiles
        down, right = self._to_cell(f"{name} has the offset", offset)
        y, x = np.nonzero(tiles)
        for cells, step, side in zip((y, x), (down, right), self.shape, strict=True):
            if len(cells) and not (cells.min() >= -step and cells.max() < side - step):
                raise ValueError(f"the offset of {name} moves a tile out of the map")
        moved = np.zeros_like(tiles)
        if len(y):
            moved[y + down, x + right] = tiles[y, x]
        return moved

    def _place_objects(self, name: str, layer: Element, offset: _Point) -> NDArray[np.int64]:
        """Return the tiles of the visible objects in the `layer` called `name`."""
        tiles = np.zeros(self.shape, np.int64)
        for node in layer.iterfind("object"):
            if _is_hidden(node):
                continue
            title = f"object {node.get('id', '')[:20]} of {name}"
            _check_element(node, title, ", or hide the object")
            if "gid" not in node.attrib:
                raise ValueError(f"{title} is no tile; insert tiles, or hide the object")
            gid = _read_number(title, node.get("gid", "")) % 2**32
            sides = zip(("height", "width"), self._cell, strict=True)
            size = [_read_float(node, name, side) for name, side in sides]
            if size != [*self._cell]:
                raise ValueError(
                    f"{title} is {size[1]:g}x{size[0]:g} pixels, expected the "
                    f"{self._cell[1]}x{self._cell[0]} of a cell"
                )
            tileset = self._find_tileset(gid)
            anchor = tileset.anchor if tileset else (1, 0)
            top, left = (
                _read_float(node, axis) + moved - part * side
                for axis, moved, part, side in zip("yx", offset, anchor, size, strict=True)
            )
            y, x = self._to_cell(f"the upper left corner of {title} is at", (top, left))
            if not (0 <= y < self.shape[0] and 0 <= x < self.shape[1]):
                raise ValueError(f"{title} is outside of the map; move it, or hide the object")
            self._objects.append(node)
            tiles[y, x] = len(self._objects) * _OBJECT + gid
        return tiles

    def _to_cell(self, said: str, point: _Point) -> tuple[int, int]:
        """Return `point` in cells; raise `ValueError`, which begins with `said`, if it is not at
        the corner of a cell."""
        y, x = (pixels / side for pixels, side in zip(point, self._cell, strict=True))
        if not (y.is_integer() and x.is_integer()):
            raise ValueError(
                f"{said} x={point[1]:g}, y={point[0]:g}, expected whole cells of "
                f"{self._cell[1]}x{self._cell[0]} pixels"
            )
        return int(y), int(x)


class _Tileset:
    """Tileset of a map.

    Attributes:
        first: number of its first tile in the map.
        anchor: point of an object, in its heights and widths from its upper left corner, that is at
            the position of the object.
    """

    def __init__(self, file: Path, node: Element, read: Callable[[Path], bytes]) -> None:
        """Read the tileset that `node` describes in the map `file`; `read` returns a file's
        bytes."""
        self.first = _read_number("firstgid of a tileset", node.get("firstgid", ""))
        if source := node.get("source"):
            node = _read_tileset_file(file, source, read)
        self._node, self._name = node, f"tileset {node.get('name', '')[:40]!r}"
        self._tiles: dict[int, Element] = {}
        for tile in node.iterfind("tile"):
            self._tiles[_read_number("id of a tile", tile.get("id", ""))] = tile
        at = node.get("objectalignment", "unspecified").replace("unspecified", "bottomleft")
        self.anchor = (
            0 if at.startswith("top") else 1 if at.startswith("bottom") else 0.5,
            0 if at.endswith("left") else 1 if at.endswith("right") else 0.5,
        )

    @cached_property
    def _is_grid_sized(self) -> bool:
        """True if its tiles are drawn as large as a cell. Raise `ValueError` if they are drawn in
        an unsupported way; tilesets without tiles in the map are drawn in none."""
        _check_element(self._node, self._name)
        for node in self._node.iterfind("tileoffset"):
            _check_element(node, f"the drawing offset of {self._name}")
        return self._node.get("tilerendersize") == "grid"

    def read_tile(self, gid: int, cell: tuple[int, int] | None) -> dict[str, str]:
        """Return attributes and properties of the tile with the number `gid`. Raise `ValueError` if
        it is not as large as a `cell`, (height, width) in pixels; None for any size."""
        node, tile = self._node, self._tiles.get(gid - self.first, Element("tile"))
        if not self._is_grid_sized and cell:
            sizes = {"height": node.get("tileheight"), "width": node.get("tilewidth")}
            for part in (tile.find("image"), tile):
                if part is not None:
                    sizes |= {side: part.get(side) for side in sizes if side in part.attrib}
            if tuple(sizes.values()) != tuple(map(str, cell)):
                raise ValueError(
                    f"{self._name} has a tile of {sizes['width']}x{sizes['height']} pixels, "
                    f"expected the {cell[1]}x{cell[0]} of a cell; set its Tile Render Size to Map "
                    f"Grid Size in Tiled"
                )
        return {**tile.attrib, **_read_properties(tile)}


def _read_tileset_file(file: Path, source: str, read: Callable[[Path], bytes]) -> Element:
    """Return the root element of the tileset file `source`, a path beside the map `file`; `read`
    returns a file's bytes."""
    beside = Path(source)
    if beside.anchor or ".." in beside.parts:
        raise ValueError(
            f"the tileset {source[:80]!r} is outside of the map's folder; put it beside the map"
        )
    if beside.suffix.lower() in (".tsj", ".json"):
        raise ValueError(f"the tileset {source[:80]!r} is JSON; save it as .tsx in Tiled")
    root = parse_xml(read(file.parent / beside))
    if root.tag != "tileset":
        raise ValueError(f"{source[:80]!r} has <{root.tag[:20]}>, expected <tileset>")
    return root


def _iter_shown_layers(parent: Element, offset: _Point) -> Iterator[tuple[str, Element, _Point]]:
    """Yield (name for messages, element, offset in pixels) of the visible layers of tiles and
    objects in `parent`, the map or a group of layers, from bottom to top; `offset` is that of
    `parent`."""
    for node in parent:
        if node.tag in _LAYERS.split() and not _is_hidden(node):
            name = f"layer {node.get('name', '')[:40]!r}"
            _check_element(node, name, ", or hide the layer")
            y, x = (_read_float(node, f"offset{axis}") for axis in "yx")
            own = offset[0] + y, offset[1] + x
            if node.tag == "group":
                yield from _iter_shown_layers(node, own)
            elif node.tag != "imagelayer":  # one without an image
                yield name, node, own


def _is_hidden(node: Element) -> bool:
    return node.get("visible") in ("0", "false") or _read_float(node, "opacity", 1) == 0


def _read_float(node: Element, name: str, default: float = 0) -> float:
    """Return the number in the attribute `name` of an element, `default` if it has none."""
    text = node.get(name, str(default))
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"its {name} is {text[:20]!r}, expected a number") from None


def _check_element(node: Element, name: str, hint: str = "") -> None:
    """Raise `ValueError` if the element `node`, called `name`, has an attribute or an element that
    may change the picture and is not read. `hint` ends the message."""
    attributes, elements = (names.split() for names in _READ[node.tag])
    for key, value in node.attrib.items():
        neutral = _NEUTRAL.get(key)
        if key not in attributes and value.lower() != neutral:
            advice = f"set it to {neutral}" if neutral else "remove it"
            raise ValueError(
                f"{name} has {key[:40]} {value[:40]!r}, which is not read; {advice}{hint}"
            )
    for child in node:
        if child.tag not in elements:
            raise ValueError(
                f"{name} has the element <{child.tag[:40]}>, which is not read; remove it{hint}"
            )


def _turn(orientation: str, gid: int) -> str:
    """Return the name of an `orientation` after the turn of a tile with the flags of `gid`; other
    names stay as they are."""
    if orientation not in ORIENTATIONS:
        return orientation
    y, x = (step(ORIENTATIONS.index(orientation)) for step in (step_y, step_x))
    if gid & _TRANSPOSED:
        y, x = x, y
    y, x = (-y if gid & _FLIPPED_Y else y), (-x if gid & _FLIPPED_X else x)
    steps = [(step_y(number), step_x(number)) for number in range(len(ORIENTATIONS))]
    return ORIENTATIONS[steps.index((y, x))]


def _read_side(root: Element, name: str, most: int = MAX_SIDE) -> int:
    """Return the XML attribute `name` of the root element of a map, such as its height in cells, a
    number from 1 to `most`."""
    text = root.get(name, "")
    if not (text.isdecimal() and len(text) < 5 and 1 <= int(text) <= most):
        raise ValueError(f"its {name} is {text[:20]!r}, expected 1 to {most}")
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


def _read_tiles(name: str, layer: Element, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return the (H, W) tile numbers, with flags, of the map layer called `name`, which must have
    this `shape`; 0 for no tile."""
    data, cells = layer.find("data"), shape[0] * shape[1]
    if data is None:
        raise ValueError(f"{name} has no data")
    text, encoding, packed = data.text or "", data.get("encoding"), data.get("compression")
    if encoding == "csv":
        numbers = np.array([_read_number(name, number) for number in text.split(",")], np.int64)
    elif encoding == "base64" and (not packed or packed in _WINDOW):
        try:
            raw = b64decode(text)
            if packed:
                raw = zlib.decompressobj(_WINDOW[packed]).decompress(raw, 4 * (cells + 1))
            numbers = np.frombuffer(raw, "<u4").astype(np.int64)
        except (zlib.error, ValueError) as error:
            raise ValueError(f"the data of {name} are damaged ({error})") from None
    else:
        form = " ".join(filter(None, (encoding, packed))) or "XML"
        raise ValueError(
            f"{name} has the format {form[:40]!r}; choose CSV or Base64, uncompressed or with "
            "zlib or gzip, in Tiled: Map, Map Properties, Tile Layer Format"
        )
    if numbers.size != cells:
        raise ValueError(f"{name} has {numbers.size} tiles, expected one for each of {cells} cells")
    for key, side in zip(("height", "width"), shape, strict=True):
        if layer.get(key, str(side)) != str(side):
            raise ValueError(f"{name} has the {key} {layer.get(key, '')[:20]}, expected the map's")
    return np.where(numbers % _FLAGS, numbers % 2**32, 0).reshape(shape)


def _read_properties(node: Element) -> dict[str, str]:
    properties = node.iterfind("properties/property")
    return {each.get("name", ""): each.get("value") or each.text or "" for each in properties}
