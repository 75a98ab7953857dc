"""Map of an edited level: its cells, and edits that return the new text."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.play.editor import text_buffer
from gv_engine.play.editor.text_buffer import EditError, KeyPath, has_value, list_length
from gv_engine.play.editor.vocabulary import (
    AGENT_KEY,
    CellThing,
    Vocabulary,
    as_entry,
    list_middle_entries,
    shorten_entry,
)
from gv_engine.rules.objects import ABOVE, GROUND, TERRAIN
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.readers.map import LEGEND_KEYS, Symbol
from gv_engine.scenario.syntax.fields import MAX_SIDE

MapCell = tuple[int, int]
"""Row and column (y, x)."""

FLOOR_THING: CellThing = {}
WALL_THING: CellThing = {"object": "Wall"}
_GENERATOR_KEYS = (
    *("reset_function", "maps", "symmetries", "room", "rooms", "place", "reachable", "tries"),
)
"""Keys of levels that are generated at reset."""


class MapModel:
    """Map of a level; edits return a new text and leave the map unchanged.

    Args:
        text: text of the file.
        document: parsed text, with files it extends.
        vocab: possible contents of cells.
        variant: variant of the scenario.
        index: index of the map in a level with `maps`; those above the last stand for the last.

    Attributes:
        path: path to the map.
        index: index of the map among the level's `maps`; 0 if it has none.
        num_maps: number of the level's `maps`; 1 if it has none.
        rows: rows of equal length; () if there is no map.
    """

    def __init__(
        self,
        text: str,
        document: Document | None,
        vocab: Vocabulary,
        variant: str = "",
        index: int = 0,
    ) -> None:
        self._text, self._vocab = text, vocab
        self.path = _map_path(text, variant)
        self.index, self.num_maps = 0, 1
        if self.path[-1] != "map":
            maps = self.path[:-1]
            self.num_maps = list_length(text, maps)
            self.index = min(index, self.num_maps - 1)
            self.path = (*maps, self.index)
        map_text = text_buffer.read_scalar(text, self.path)
        if map_text is None and document is not None and isinstance(document.root.value, dict):
            node = document.root.value.get("map")  # inherited from the extended file
            map_text = node.text if node else None
        lines = map_text.rstrip("\n").split("\n") if map_text and map_text.strip() else []
        width = max(map(len, lines), default=0)
        self.rows: Sequence[str] = [line.ljust(width, " ")[:MAX_SIDE] for line in lines]

    def read_all(self, text: str) -> list[str | None]:
        """Return the texts of the level's `maps` in the scenario file; [] if it has one map."""
        maps = self.path[:-1]
        if self.path[-1] == "map":
            return []
        return [text_buffer.read_scalar(text, (*maps, k)) for k in range(self.num_maps)]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return len(self.rows), len(self.rows[0]) if self.rows else 0

    def __contains__(self, cell: MapCell) -> bool:
        height, width = self.shape
        return 0 <= cell[0] < height and 0 <= cell[1] < width

    def thing(self, cell: MapCell) -> CellThing:
        """Return the content of a map cell as a legend entry; {} if its character is unknown."""
        return self._vocab.things.get(self.rows[cell[0]][cell[1]], FLOOR_THING)

    def symbol(self, cell: MapCell) -> Symbol | None:
        """Return the content of a map cell as a `Symbol`; None if its character is unknown."""
        return self._vocab.legend.get(self.rows[cell[0]][cell[1]])

    def cell_arrays(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return two (H, W, 3) uint8 arrays of type, state and colour indices: of the topmost
        object in every cell, and of the ground below."""
        grid = np.zeros((*self.shape, 3), np.uint8)
        grid[..., 0] = FLOOR
        ground = grid.copy()
        for cell in self.cells():
            if symbol := self.symbol(cell):
                below = symbol.ground or Symbol(FLOOR, 0, 0)
                ground[cell] = below.kind, below.state, below.color
                top = symbol.below[0] if symbol.kind == FLOOR and symbol.below else symbol
                grid[cell] = top.kind, top.state, top.color
        return grid, ground

    def cells(self) -> Iterator[MapCell]:
        """Yield all cells, row by row."""
        height, width = self.shape
        return ((y, x) for y in range(height) for x in range(width))

    def agents(self) -> list[tuple[int, int, int]]:
        """Return (y, x, facing) of the agents on the map; `facing` is an index of
        `ORIENTATIONS`."""
        symbols = ((cell, self.symbol(cell)) for cell in self.cells())
        return [(*cell, s.facing) for cell, s in symbols if s and s.facing is not None]

    def cells_of(self, character: str) -> list[MapCell]:
        """Return the cells of the map that have the character `character`."""
        return [(y, x) for y, x in self.cells() if self.rows[y][x] == character]

    def flood_fill(self, cell: MapCell) -> list[MapCell]:
        """Return the connected area of cells around `cell` that have the same map character."""
        character, filled, frontier = self.rows[cell[0]][cell[1]], {cell}, [cell]
        while frontier:
            y, x = frontier.pop()
            for near in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if near in self and near not in filled and self.rows[near[0]][near[1]] == character:
                    filled.add(near)
                    frontier.append(near)
        return sorted(filled)

    # ---- changes -------------------------------------------------------------------------

    def paint(
        self, placements: Iterable[tuple[MapCell, CellThing]], keeps_ground: bool = True
    ) -> str:
        """Paint new contents into map cells and return the file's new text. Contents that have no
        character yet get one in the legend. In a level with a single agent, a new agent replaces
        the old one.

        Args:
            placements: cells with their new contents.
            keeps_ground: whether the ground of a cell stays.

        Raises:
            EditError: all characters are in use.
        """
        rows = [list(row) for row in self.rows]
        legend = dict(self._vocab.things)
        text = self._text
        for (y, x), thing in placements:
            content = thing
            if keeps_ground:
                content = _paint_over(self.thing((y, x)), thing, self._vocab)
            if AGENT_KEY in thing and self._vocab.agents == 1:
                text = self._remove_agent(text, legend, rows, (y, x))
            text, rows[y][x] = self._character_for(text, legend, rows, content)
        text = self._with_allowed_names(text, (thing for _, thing in placements))
        return self._prune_legend(self._with_rows(text, ["".join(row) for row in rows]), rows)

    def _remove_agent(
        self, text: str, legend: dict[str, CellThing], rows: list[list[str]], new_cell: MapCell
    ) -> str:
        """Remove the agent from all cells of `rows`, except `new_cell`, and return the file's text.
        Characters may be added to the text and to `legend`."""
        for y, x in self.cells():
            thing = legend.get(rows[y][x], FLOOR_THING)
            if AGENT_KEY in thing and (y, x) != new_cell:
                content = {key: thing[key] for key in thing if key not in (AGENT_KEY, "holds")}
                text, rows[y][x] = self._character_for(text, legend, rows, content)
        return text

    def _with_rows(self, text: str, rows: list[str]) -> str:
        if self.path[0] == "levels" and not has_value(text, self.path):
            raise EditError("This level is in a file of another format; edit it there")
        return text_buffer.put_rows(text, self.path, rows)

    def _character_for(
        self, text: str, legend: dict[str, CellThing], rows: list[list[str]], thing: CellThing
    ) -> tuple[str, str]:
        """Return (text, character): the map character for a legend entry, and the file's text. If
        no character stands for the entry, an unused one is added to the text and to `legend`.

        Raises:
            EditError: all characters are in use.
        """
        for character, other in legend.items():
            if other == thing:
                return text, character
        taken = {*legend, *(character for row in rows for character in row)}
        character = next((c for c in _candidate_characters(thing) if c not in taken), "")
        if not character:
            raise EditError("all characters stand for something; take some out of the legend")
        legend[character] = thing
        entry = shorten_entry({key: thing[key] for key in LEGEND_KEYS if key in thing})
        if not has_value(text, ("legend",)):
            after = str(self.path[0])
            return text_buffer.put(text, ("legend",), {character: entry}, after), character
        return text_buffer.put(text, ("legend", character), entry), character

    def _with_allowed_names(self, text: str, things: Iterable[CellThing]) -> str:
        """Return the file's text, in which the object types and colours of these legend entries are
        allowed: they are added to the lists in `state_space` and `observation_space`, if the file
        has any."""
        parts = [part for thing in things for part in _nested_things(thing)]
        names_by_key = {
            "objects": dict.fromkeys(str(thing["object"]) for thing in parts if "object" in thing),
            "colors": dict.fromkeys(str(thing["color"]) for thing in parts if "color" in thing),
        }
        for space in ("state_space", "observation_space"):
            for key, names in names_by_key.items():
                path: KeyPath = (space, key)
                count = list_length(text, path)
                listed = [text_buffer.read_scalar(text, (*path, number)) for number in range(count)]
                for name in names:
                    if count and name not in listed and not name.startswith("$"):
                        text = text_buffer.insert(text, path, list_length(text, path), name)
        return text

    def _prune_legend(self, text: str, rows: list[list[str]]) -> str:
        """Remove legend entries that the map does not use any more, and return the file's text.
        `rows` is the new map. Entries with a comment stay; in a file with several maps, all
        stay."""
        if self.path != ("map",):
            return text
        old_characters = {character for row in self.rows for character in row}
        for character in old_characters - {character for row in rows for character in row}:
            path: KeyPath = ("legend", character)
            if has_value(text, path) and not text_buffer.has_comment(text, path):
                text = text_buffer.remove(text, path)
        return text

    def paint_room(self, corner: MapCell, opposite: MapCell) -> str:
        """Return the file's text with a room painted into the map: the rectangle between two
        opposite corner cells, with walls along its sides and floor inside."""
        (y1, x1), (y2, x2) = corner, opposite
        placements = [
            ((y, x), WALL_THING if y in (y1, y2) or x in (x1, x2) else FLOOR_THING)
            for y, x in cells_of_box(corner, opposite)
        ]
        return self.paint(placements, keeps_ground=False)

    def resize(self, height: int, width: int) -> str:
        """Return the file's text with the map cropped or padded with floor to `height` × `width`
        cells, at the right and the bottom. If walls enclose the old map, they enclose the new one.

        Raises:
            EditError: the size is too small or too large.
        """
        if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
            raise EditError(f"a map has 1 to {MAX_SIDE} rows and columns")
        rows = list(self.rows)
        edge = {*rows[0], *rows[-1], *(row[0] for row in rows), *(row[-1] for row in rows)}
        wall = edge.pop()
        is_walled = not edge and self._vocab.things.get(wall) == WALL_THING
        if not is_walled or min(height, width, *self.shape) <= 2:
            return self._with_rows(self._text, _resize_rows(rows, height, width))
        inner = _resize_rows([row[1:-1] for row in rows[1:-1]], height - 2, width - 2)
        walled = [wall * width, *(f"{wall}{row}{wall}" for row in inner), wall * width]
        return self._with_rows(self._text, walled)

    def replace_generator(self, shape: tuple[int, int], symbols: Mapping[MapCell, Symbol]) -> str:
        """Return the file's text with a fixed map of `shape` (height, width) in place of the level
        generator. `symbols` has the objects and agents of each cell."""
        vocab, text = self._vocab, self._text
        for key in _GENERATOR_KEYS:
            if has_value(text, (key,)):
                text = text_buffer.remove(text, (key,))
        text = text_buffer.put_rows(text, ("map",), ["." * shape[1]] * shape[0])
        placements = [(cell, vocab.thing_of_symbol(symbol)) for cell, symbol in symbols.items()]
        generated = MapModel(text, None, replace(vocab, agents=0))
        return generated.paint(placements, keeps_ground=False)


def _resize_rows(rows: Sequence[str], height: int, width: int) -> list[str]:
    """Return `rows` cropped or padded with floor at the right and the bottom."""
    resized = [row[:width].ljust(width, ".") for row in rows[:height]]
    return resized + ["." * width] * (height - len(resized))


def cells_of_box(corner: MapCell, opposite: MapCell) -> list[MapCell]:
    """Return the cells of the rectangle between two opposite corner cells, row by row."""
    (top, bottom), (left, right) = (sorted(pair) for pair in zip(corner, opposite, strict=True))
    return [(y, x) for y in range(top, bottom + 1) for x in range(left, right + 1)]


def cells_of_line(start: MapCell, end: MapCell) -> list[MapCell]:
    """Return the cells of a straight line from the cell `start` to the cell `end`, without `start`
    unless they are equal."""
    (y, x), dy, dx = start, end[0] - start[0], end[1] - start[1]
    num_steps = max(abs(dy), abs(dx), 1)
    shares = [step / num_steps for step in range(1, num_steps + 1)]
    return [(y + round(dy * share), x + round(dx * share)) for share in shares]


def _paint_over(before: CellThing, thing: CellThing, vocab: Vocabulary) -> dict[str, Any]:
    """Return the legend entry of a cell after `thing` is painted over its entry `before`. Lower
    layers and room name stay; if `thing` is of a lower layer, only that layer changes."""
    if vocab.layer_of(before) not in (ABOVE, GROUND, TERRAIN):
        own = {key: part for key, part in before.items() if key in ("object", "state", "color")}
        before = {key: part for key, part in before.items() if key not in own}
        before = vocab.replace_on_lower_layer(before, own)
    kept = {key: before[key] for key in ("ground", "between", "room") if key in before}
    if vocab.layer_of(thing) != ABOVE:
        return vocab.replace_on_lower_layer(before, thing)
    if not thing and before.keys() <= kept.keys():  # of a bare cell the lower layers go, too
        kept = {key: kept[key] for key in kept if key == "room"}
    return {**thing, **kept}


def _nested_things(thing: CellThing) -> Iterator[CellThing]:
    """Yield the legend entry `thing`, and the entries of its lower layers, its content and the
    object it holds."""
    yield thing
    for inner in (*list_middle_entries(thing), *map(thing.get, ("ground", "content", "holds"))):
        if inner is not None:
            yield from _nested_things(as_entry(inner))


def _candidate_characters(thing: CellThing) -> Iterator[str]:
    """Yield map characters for a legend entry, best first: letters of the names of its object,
    ground and colour, then any others."""
    lower = [
        as_entry(entry).get("object")
        for entry in (thing.get("ground"), *list_middle_entries(thing))
    ]
    names = [str(part) for part in (thing.get("object"), *lower, thing.get("color")) if part]
    for name in (*names, *([AGENT_KEY] if AGENT_KEY in thing else [])):
        yield from (name[0].upper(), name[0].lower())
    yield from "".join(names)
    yield from string.ascii_letters + string.digits
    yield from "~+*=%&@$!?:;,/|()[]{}-"
    yield from (chr(code) for code in range(0xC0, 0x180) if chr(code).isprintable())


def _map_path(text: str, variant: str) -> KeyPath:
    """Return the key path of the map in a scenario file, such as `("variants", "big", "map")`. If
    there is no map, it is where one must be added. `variant` is the edited variant, or ""."""
    own: KeyPath = ("variants", variant)
    if variant and has_value(text, (*own, "map")):
        return (*own, "map")
    if variant and list_length(text, (*own, "maps")):
        return (*own, "maps", 0)
    if has_value(text, ("levels",)):
        index = int(variant) - 1 if variant.isdecimal() else 0
        last = max(0, list_length(text, ("levels",)) - 1)
        return ("levels", min(index, last), "map")
    has_maps = list_length(text, ("maps",)) and not has_value(text, ("map",))
    return ("maps", 0) if has_maps else ("map",)
