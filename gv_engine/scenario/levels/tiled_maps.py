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

_MAX_CELLS = 2**20  # maximum number of cells of all layers of a map
_MAX_TILESETS = 100
_FLIPPED_X, _FLIPPED_Y, _TRANSPOSED = 2**31, 2**30, 2**29
"""Flags in the number of a tile; it is transposed first."""
_FLAGS = 2**28  # lowest flag; it concerns hexagonal maps alone
_OBJECT_FACTOR = 2**33  # of an object's own number in the number of its tile
_MAX_TILE_PIXELS = 9999
_BOTTOM_LEFT = (1.0, 0.0)  # see `_Tileset.anchor`
_WINDOW = {"gzip": 31, "zlib": 15}  # window bits that `zlib` needs for each compression format

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

_Point = tuple[float, float]  # (y, x) in pixels, y downwards


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
        """Parse the map in `file`; `read` returns the bytes of a file."""
        root = parse_xml(read(file))
        if root.tag != "map":
            raise ValueError(f"found <{root.tag[:20]}>, expected <map>")
        _check_element(root, "the map", " in Tiled: Map, Map Properties")
        self.shape = _read_size(root, "height"), _read_size(root, "width")
        self.properties = _read_properties(root)
        self._tile_size = (
            _read_size(root, "tileheight", _MAX_TILE_PIXELS),
            _read_size(root, "tilewidth", _MAX_TILE_PIXELS),
        )
        self._layers = [*_iter_shown_layers(root, (0, 0))]
        if len(self._layers) * self.shape[0] * self.shape[1] > _MAX_CELLS:
            raise ValueError(f"its layers have more than {_MAX_CELLS:,} cells together")
        nodes = root.findall("tileset")
        if len(nodes) > _MAX_TILESETS:
            raise ValueError(f"it has more than {_MAX_TILESETS} tilesets")
        tilesets = [_Tileset(file, node, read) for node in nodes]
        self._tilesets = sorted(tilesets, key=lambda tileset: tileset.first_gid)
        self._objects: list[Element] = []  # those that `layers` has placed

    def layers(self) -> Iterator[tuple[str, NDArray[np.int64]]]:
        """Yield (name, tiles) of each visible layer from bottom to top. `tiles` is (H, W) with
        numbers for `read_tile`, or 0 for no tile. A layer is decoded when it is reached.

        Raises:
            ValueError: a layer is damaged, or not all of its tiles are in cells of the map.
        """
        for name, layer, offset in self._layers:
            if layer.tag == "objectgroup":
                yield name, self._place_objects(name, layer, offset)
            else:
                yield name, self._shift(name, _read_tiles(name, layer, self.shape), offset)

    def read_tile(self, number: int) -> dict[str, str]:
        """Return attributes and properties of the tile that has this number in a layer. If the tile
        is drawn rotated or mirrored, so is its property `orientation`.

        Raises:
            ValueError: the tile does not fill exactly one cell.
        """
        object_number, gid = divmod(number, _OBJECT_FACTOR)
        node = self._objects[object_number - 1] if object_number else None
        tile: dict[str, str] = {}
        if tileset := self._find_tileset(gid):
            is_stretched = node is not None and "width" in node.attrib
            tile |= tileset.read_tile(gid % _FLAGS, None if is_stretched else self._tile_size)
        if node is not None:
            if class_name := node.get("type") or node.get("class"):
                tile.pop("object", None)
                tile["type"] = class_name
            tile |= _read_properties(node)
        return tile | {key: _rotate(tile[key], gid) for key in ("agent", "state") if key in tile}

    def _find_tileset(self, gid: int) -> _Tileset | None:
        index = bisect_right([tileset.first_gid for tileset in self._tilesets], gid % _FLAGS)
        return self._tilesets[index - 1] if index else None

    def _shift(self, name: str, tiles: NDArray[np.int64], offset: _Point) -> NDArray[np.int64]:
        """Return the tiles of a layer, (H, W), shifted by the layer's `offset` in pixels. `name` is
        for messages."""
        if not any(offset):
            return tiles
        down, right = self._to_cell(f"{name} has the offset", offset)
        height, width = self.shape
        moved = np.zeros_like(tiles)
        y, x = np.nonzero(tiles)
        if len(y):
            has_row = y.min() >= -down and y.max() < height - down
            has_column = x.min() >= -right and x.max() < width - right
            if not (has_row and has_column):
                raise ValueError(f"the offset of {name} moves a tile out of the map")
            moved[y + down, x + right] = tiles[y, x]
        return moved

    def _place_objects(self, name: str, layer: Element, offset: _Point) -> NDArray[np.int64]:
        """Return the visible objects of an object layer as (H, W) tile numbers. The layer is
        shifted by `offset` pixels."""
        tiles = np.zeros(self.shape, np.int64)
        for node in layer.iterfind("object"):
            if _is_hidden(node):
                continue
            title = f"object {node.get('id', '')[:20]} of {name}"
            _check_element(node, title, ", or hide the object")
            if "gid" not in node.attrib:
                raise ValueError(f"{title} is not a tile; insert tiles, or hide the object")
            gid = _read_number(title, node.get("gid", "")) % 2**32
            y, x = self._find_cell(title, node, gid, offset)
            self._objects.append(node)
            tiles[y, x] = len(self._objects) * _OBJECT_FACTOR + gid
        return tiles

    def _find_cell(self, title: str, node: Element, gid: int, offset: _Point) -> tuple[int, int]:
        """Return the cell (y, x) of an object in a layer that is shifted by `offset` pixels. The
        object shows the tile `gid`. Raise ValueError with its `title` if it does not fill one
        cell."""
        tile_height, tile_width = self._tile_size
        height = _read_float(node, "height", tile_height)
        width = _read_float(node, "width", tile_width)
        if height != tile_height or width != tile_width:
            raise ValueError(
                f"{title} is {width:g}x{height:g} pixels, expected the {tile_width}x{tile_height} "
                f"of a cell"
            )
        tileset = self._find_tileset(gid)
        anchor_y, anchor_x = tileset.anchor if tileset else _BOTTOM_LEFT
        top = _read_float(node, "y") + offset[0] - anchor_y * height
        left = _read_float(node, "x") + offset[1] - anchor_x * width
        y, x = self._to_cell(f"the upper left corner of {title} is at", (top, left))
        if not (0 <= y < self.shape[0] and 0 <= x < self.shape[1]):
            raise ValueError(f"{title} is outside of the map; move it, or hide the object")
        return y, x

    def _to_cell(self, start_of_message: str, point: _Point) -> tuple[int, int]:
        """Convert a point in pixels to a cell (y, x). Raise a ValueError that begins with
        `start_of_message` if it is not the corner of a cell."""
        tile_height, tile_width = self._tile_size
        y, x = point[0] / tile_height, point[1] / tile_width
        if not (y.is_integer() and x.is_integer()):
            raise ValueError(
                f"{start_of_message} x={point[1]:g}, y={point[0]:g}, expected whole cells of "
                f"{tile_width}x{tile_height} pixels"
            )
        return int(y), int(x)


class _Tileset:
    """Tileset of a map.

    Attributes:
        first_gid: number of its first tile in the map.
        anchor: (y, x) of the point of an object that is at the object's position, in heights and
            widths from its upper left corner.
    """

    def __init__(self, file: Path, node: Element, read: Callable[[Path], bytes]) -> None:
        """Read a tileset of the map `file` from the XML element `node`. `read` returns the content
        of a file."""
        self.first_gid = _read_number("firstgid of a tileset", node.get("firstgid", ""))
        if source := node.get("source"):
            node = _read_tileset_file(file, source, read)
        self._node, self._name = node, f"tileset {node.get('name', '')[:40]!r}"
        self._tiles: dict[int, Element] = {}
        for tile in node.iterfind("tile"):
            self._tiles[_read_number("id of a tile", tile.get("id", ""))] = tile
        alignment = node.get("objectalignment", "unspecified")
        if alignment == "unspecified":
            alignment = "bottomleft"  # Tiled's default on orthogonal maps
        # the middle if neither edge is named, from 0 at the top or left to 1 at the bottom or right
        y = 0 if alignment.startswith("top") else 1 if alignment.startswith("bottom") else 0.5
        x = 0 if alignment.endswith("left") else 1 if alignment.endswith("right") else 0.5
        self.anchor = y, x

    @cached_property
    def _is_grid_sized(self) -> bool:
        """True if the tileset's tiles are drawn in the size of a cell. Raise ValueError if they are
        drawn in an unsupported way."""
        _check_element(self._node, self._name)
        for node in self._node.iterfind("tileoffset"):
            _check_element(node, f"the drawing offset of {self._name}")
        return self._node.get("tilerendersize") == "grid"

    def read_tile(self, gid: int, tile_size: tuple[int, int] | None) -> dict[str, str]:
        """Return attributes and properties of the tile with the number `gid`. Raise ValueError if
        its (height, width) in pixels is not `tile_size`; None allows any size."""
        tile = self._tiles.get(gid - self.first_gid, Element("tile"))
        if not self._is_grid_sized and tile_size:
            sizes = {"height": self._node.get("tileheight"), "width": self._node.get("tilewidth")}
            for part in (tile.find("image"), tile):
                if part is not None:
                    sizes |= {side: part.get(side) for side in sizes if side in part.attrib}
            height, width = tile_size
            if (sizes["height"], sizes["width"]) != (str(height), str(width)):
                raise ValueError(
                    f"{self._name} has a tile of {sizes['width']}x{sizes['height']} pixels, "
                    f"expected the {width}x{height} of a cell; set its Tile Render Size to Map "
                    f"Grid Size in Tiled"
                )
        return {**tile.attrib, **_read_properties(tile)}


def _read_tileset_file(file: Path, source: str, read: Callable[[Path], bytes]) -> Element:
    """Return the root element of the tileset file `source`, a path beside the map `file`; `read`
    returns a file's bytes."""
    path = Path(source)
    if path.anchor or ".." in path.parts:
        raise ValueError(
            f"the tileset {source[:80]!r} is outside of the map's folder; put it beside the map"
        )
    if path.suffix.lower() in (".tsj", ".json"):
        raise ValueError(f"the tileset {source[:80]!r} is JSON; save it as .tsx in Tiled")
    root = parse_xml(read(file.parent / path))
    if root.tag != "tileset":
        raise ValueError(f"{source[:80]!r} has <{root.tag[:20]}>, expected <tileset>")
    return root


def _iter_shown_layers(parent: Element, offset: _Point) -> Iterator[tuple[str, Element, _Point]]:
    """Yield (name, XML element, offset in pixels) of all visible layers in `parent`, the map or a
    group, from bottom to top. `offset` is that of `parent`."""
    for node in parent:
        if node.tag not in _LAYERS.split() or _is_hidden(node):
            continue
        name = f"layer {node.get('name', '')[:40]!r}"
        _check_element(node, name, ", or hide the layer")
        y = offset[0] + _read_float(node, "offsety")
        x = offset[1] + _read_float(node, "offsetx")
        if node.tag == "group":
            yield from _iter_shown_layers(node, (y, x))
        elif node.tag != "imagelayer":  # one without an image, which shows nothing
            yield name, node, (y, x)


def _is_hidden(node: Element) -> bool:
    return node.get("visible") in ("0", "false") or _read_float(node, "opacity", 1) == 0


def _read_float(node: Element, name: str, default: float = 0) -> float:
    """Return the number in the attribute `name` of an XML element. If the attribute is missing,
    return `default`."""
    text = node.get(name, str(default))
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"its {name} is {text[:20]!r}, expected a number") from None


def _check_element(node: Element, name: str, hint: str = "") -> None:
    """Raise ValueError if an XML element has attributes or children that may change the picture but
    are not supported. `name` and `hint` are for the message."""
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


def _rotate(orientation: str, gid: int) -> str:
    """Return an `orientation`, such as "R", after the rotation or reflection that the flags of the
    tile number `gid` describe. A text that is no orientation is returned unchanged."""
    if orientation not in ORIENTATIONS:
        return orientation
    steps = [(step_y(number), step_x(number)) for number in range(len(ORIENTATIONS))]
    y, x = steps[ORIENTATIONS.index(orientation)]
    if gid & _TRANSPOSED:
        y, x = x, y
    if gid & _FLIPPED_Y:
        y = -y
    if gid & _FLIPPED_X:
        x = -x
    return ORIENTATIONS[steps.index((y, x))]


def _read_size(root: Element, name: str, maximum: int = MAX_SIDE) -> int:
    """Return an attribute of the map's root element, such as its height in cells. Raise an error if
    it is not a number from 1 to `maximum`."""
    text = root.get(name, "")
    if not (text.isdecimal() and len(text) < 5 and 1 <= int(text) <= maximum):
        raise ValueError(f"its {name} is {text[:20]!r}, expected 1 to {maximum}")
    return int(text)


def _read_number(label: str, text: str) -> int:
    """Convert text to a tile number. Raise a ValueError that begins with `label` if it is no whole
    number or too large."""
    number = text.strip()
    if not (number.isdecimal() and len(number) <= 10):
        raise ValueError(
            f"{label}: found {number[:20]!r}, expected a tile's number, from 0 on and of at most "
            f"10 digits; export the map from Tiled again"
        )
    return int(number)


def _read_tiles(name: str, layer: Element, shape: tuple[int, int]) -> NDArray[np.int64]:
    """Return the tile numbers, with flags, of a map layer as an array of this shape; 0 for no tile.
    `name` is for messages."""
    data, num_cells = layer.find("data"), shape[0] * shape[1]
    if data is None:
        raise ValueError(f"{name} has no data")
    numbers = _decode_tiles(name, data, num_cells)
    if numbers.size != num_cells:
        raise ValueError(
            f"{name} has {numbers.size} tiles, expected one for each of {num_cells} cells"
        )
    for key, side in zip(("height", "width"), shape, strict=True):
        if layer.get(key, str(side)) != str(side):
            raise ValueError(f"{name} has the {key} {layer.get(key, '')[:20]}, expected the map's")
    return np.where(numbers % _FLAGS, numbers % 2**32, 0).reshape(shape)


def _decode_tiles(name: str, data: Element, num_cells: int) -> NDArray[np.int64]:
    """Decode the XML element `data` of a map layer to a flat array of tile numbers. Stop to
    decompress when there are more than `num_cells`."""
    text, encoding, compression = data.text or "", data.get("encoding"), data.get("compression")
    if encoding == "csv":
        return np.array([_read_number(name, number) for number in text.split(",")], np.int64)
    if encoding == "base64" and (not compression or compression in _WINDOW):
        try:
            raw = b64decode(text)
            if compression:
                decompressor = zlib.decompressobj(_WINDOW[compression])
                raw = decompressor.decompress(raw, 4 * (num_cells + 1))
            return np.frombuffer(raw, "<u4").astype(np.int64)
        except (zlib.error, ValueError) as error:
            raise ValueError(f"the data of {name} are damaged ({error})") from None
    found = " ".join(filter(None, (encoding, compression))) or "XML"
    raise ValueError(
        f"{name} has the format {found[:40]!r}; choose CSV or Base64, uncompressed or with "
        "zlib or gzip, in Tiled: Map, Map Properties, Tile Layer Format"
    )


def _read_properties(node: Element) -> dict[str, str]:
    properties = node.iterfind("properties/property")
    return {each.get("name", ""): each.get("value") or each.text or "" for each in properties}
