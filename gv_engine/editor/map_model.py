"""The map of a level that is edited, with the characters that stand for what is in its cells."""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR, NONE
from gv_engine.editor.symbols import AGENT_KEY, CellThing, Vocabulary
from gv_engine.editor.yaml_text import (
    EditError,
    KeyPath,
    has,
    insert,
    is_remarked,
    length,
    put,
    put_rows,
    remove,
    scalar,
)
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.document import Document
from gv_engine.scenario.fields import MAX_SIDE
from gv_engine.scenario.map import LEGEND, LEGEND_KEYS, Symbol

# ---- brushes -------------------------------------------------------------------------------------

_USUAL = {symbol.kind: symbol for symbol in reversed(LEGEND.values()) if symbol.facing is None}
"""How the characters that are built in show the objects of each type."""
_LOOKING = Symbol(state=ORIENTATIONS.index("RIGHT"))


class Brushes:
    """The things that can be put into cells, and the one that is chosen.

    Attributes:
        names: of all of them: the floor, the agent, and types of objects.
        chosen: the name of one of them.
        all_things: whether those are among them that the level's `state_space` does not list.
    """

    def __init__(self, words: Vocabulary) -> None:
        self.chosen, self.all_things = "Wall", False
        self._words = words
        self._colors: dict[str, int] = {}
        self._states: dict[str, int] = {}
        self.names: list[str] = []
        self.adopt(words)

    def adopt(self, words: Vocabulary) -> None:
        """Take what may stand in cells now."""
        self._words = words
        kinds = dict.fromkeys((*words.objects, *(words.usual if self.all_things else ())))
        objects = [words.types[kind].name for kind in kinds if kind != FLOOR]
        self.names = [words.types[FLOOR].name, AGENT_KEY, *objects]
        if self.chosen not in self.names:
            self.chosen = self.names[-1]

    def step(self, by: int) -> None:
        """Choose the next thing, or the one before."""
        self.chosen = self.names[(self.names.index(self.chosen) + by) % len(self.names)]

    def states(self, name: str) -> tuple[str, ...]:
        """The states of a thing; of the agent, ways to look."""
        return ORIENTATIONS if name == AGENT_KEY else self._words.types[name].states

    def colors(self, name: str) -> tuple[int, ...]:
        """The colours that a thing may have; () if it has none."""
        if name == AGENT_KEY or not self._words.types[name].colored:
            return ()
        return self._words.colors

    def state(self, name: str) -> int:
        """The number of the state that it is painted in."""
        usual = _USUAL.get(self._words.types[name].index) if name != AGENT_KEY else _LOOKING
        return min(
            self._states.get(name, usual.state if usual else 0), max(0, len(self.states(name)) - 1)
        )

    def color(self, name: str) -> int:
        """The index of the colour that it is painted in."""
        if not (colors := self.colors(name)):
            return NONE
        usual = _USUAL.get(self._words.types[name].index)
        found = self._colors.get(name, usual.color if usual else colors[-1])
        return found if found in colors else colors[-1]

    def set_state(self, number: int) -> None:
        """Paint the chosen thing in another state."""
        if count := len(self.states(self.chosen)):
            self._states[self.chosen] = number % count

    def set_color(self, color: int) -> None:
        """Paint the chosen thing in another colour."""
        self._colors[self.chosen] = color

    def next_color(self) -> None:
        """Paint the chosen thing in the next colour."""
        if colors := self.colors(self.chosen):
            self.set_color(colors[(colors.index(self.color(self.chosen)) + 1) % len(colors)])

    def thing(self, name: str = "") -> CellThing:
        """What is painted: the chosen thing, or another one."""
        name = name or self.chosen
        if name == AGENT_KEY:
            return {AGENT_KEY: ORIENTATIONS[self.state(name)]}
        kind = self._words.types[name].index
        look = self.state(name), self.color(name)
        return {} if kind == FLOOR else self._words.object_thing(kind, *look)

    def symbol(self, name: str) -> Symbol:
        """How a thing looks."""
        if name == AGENT_KEY:
            return Symbol(facing=self.state(name))
        return Symbol(self._words.types[name].index, self.state(name), self.color(name))

    def take(self, thing: CellThing) -> None:
        """Choose what is in a cell: the thing, else the agent, else the ground."""
        told = thing
        if "object" not in thing and AGENT_KEY not in thing and "ground" in thing:
            ground = thing["ground"]
            told = ground if isinstance(ground, dict) else {"object": ground}
        name = str(
            told.get("object", AGENT_KEY if AGENT_KEY in told else self._words.types[FLOOR].name)
        )
        if name not in self.names:
            self.all_things = True
            self.adopt(self._words)
        if name not in self.names:
            return
        self.chosen = name
        state, color = told.get(AGENT_KEY, told.get("state")), told.get("color")
        states = self.states(name)
        self._states[name] = states.index(state) if state in states else 0
        if self.colors(name):
            self._colors[name] = COLORS.index(color) if color in COLORS else NONE


# ---- sketch --------------------------------------------------------------------------------------

MapCell = tuple[int, int]
"""y, x."""

FLOOR_THING: CellThing = {}
WALL_THING: CellThing = {"object": "Wall"}
_BUILDS_LEVELS = (
    *("reset_function", "maps", "symmetries", "room", "rooms", "place", "reachable", "tries"),
)
"""Keys of levels that are made with each reset."""
_SPACES = ("state_space", "observation_space")


class MapModel:
    """The level that a text draws, and changes of it; each makes a new text.

    Args:
        text: of the file.
        document: the same, read, with what it extends.
        words: what may stand in cells.
        variant: which of those in the file is edited.

    Attributes:
        path: to the map.
        rows: of characters, as long as each other; () if there is no map.
    """

    def __init__(
        self, text: str, document: Document | None, words: Vocabulary, variant: str = ""
    ) -> None:
        self._text, self._words = text, words
        self.path = _map_path(text, variant)
        drawn = scalar(text, self.path)
        if drawn is None and document is not None and isinstance(document.root.value, dict):
            below = document.root.value.get("map")  # of what it extends
            drawn = below.text if below else None
        lines = drawn.rstrip("\n").split("\n") if drawn and drawn.strip() else []
        width = max(map(len, lines), default=0)
        self.rows: Sequence[str] = [line.ljust(width, " ")[:MAX_SIDE] for line in lines]

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return len(self.rows), len(self.rows[0]) if self.rows else 0

    def __contains__(self, cell: MapCell) -> bool:
        height, width = self.shape
        return 0 <= cell[0] < height and 0 <= cell[1] < width

    def thing(self, cell: MapCell) -> CellThing:
        """What stands in a cell; nothing where its character stands for nothing."""
        return self._words.things.get(self.rows[cell[0]][cell[1]], FLOOR_THING)

    def symbol(self, cell: MapCell) -> Symbol | None:
        """How it looks; None for a character that stands for nothing."""
        return self._words.legend.get(self.rows[cell[0]][cell[1]])

    def looks(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """(H, W, 3) type, state and colour of every cell, and of what lies on the ground there."""
        grid = np.zeros((*self.shape, 3), np.uint8)
        grid[..., 0] = FLOOR
        ground = grid.copy()
        for cell in self.cells():
            if symbol := self.symbol(cell):
                below = symbol.ground
                if below:
                    ground[cell] = below.kind, below.state, below.color
                bare = below and symbol.kind == FLOOR
                grid[cell] = ground[cell] if bare else (symbol.kind, symbol.state, symbol.color)
        return grid, ground

    def cells(self) -> Iterator[MapCell]:
        """All of them, row by row."""
        height, width = self.shape
        return ((y, x) for y in range(height) for x in range(width))

    def agents(self) -> list[tuple[int, int, int]]:
        """y, x and facing of the agents that stand on the map."""
        found = ((cell, self.symbol(cell)) for cell in self.cells())
        return [(*cell, it.facing) for cell, it in found if it and it.facing is not None]

    def cells_of(self, character: str) -> list[MapCell]:
        """Where a character stands."""
        return [(y, x) for y, x in self.cells() if self.rows[y][x] == character]

    def alike(self, cell: MapCell) -> list[MapCell]:
        """The cells around one that have the same in them, and ways through such to it."""
        character, found, open_ = self.rows[cell[0]][cell[1]], {cell}, [cell]
        while open_:
            y, x = open_.pop()
            for near in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if near in self and near not in found and self.rows[near[0]][near[1]] == character:
                    found.add(near)
                    open_.append(near)
        return sorted(found)

    # ---- changes -------------------------------------------------------------------------

    def painted(self, things: Iterable[tuple[MapCell, CellThing]], over: bool = True) -> str:
        """The text with things in cells; characters for them are made as needed.

        Args:
            things: cells of the map, and what is put there.
            over: whether a thing leaves the ground beneath it, or is all there is.

        Raises:
            EditError: all characters are taken.
        """
        rows = [list(row) for row in self.rows]
        legend = dict(self._words.things)
        text = self._text
        for (y, x), thing in things:
            wanted = _laid(self.thing((y, x)), thing, self._words) if over else dict(thing)
            if AGENT_KEY in thing and self._words.agents == 1:
                for row, column in self.cells():
                    here = legend.get(rows[row][column], FLOOR_THING)
                    if AGENT_KEY in here and (row, column) != (y, x):
                        left = {key: here[key] for key in here if key not in (AGENT_KEY, "holds")}
                        text, rows[row][column] = self._character(text, legend, rows, left)
            text, rows[y][x] = self._character(text, legend, rows, wanted)
        text = self._allowed(text, (thing for _, thing in things))
        return self._tidied(self._with_rows(text, ["".join(row) for row in rows]), rows)

    def _with_rows(self, text: str, rows: list[str]) -> str:
        if self.path[0] == "levels" and not has(text, self.path):
            raise EditError("This level is in a file of another format; edit it there")
        return put_rows(text, self.path, rows)

    def _character(
        self, text: str, legend: dict[str, CellThing], rows: list[list[str]], thing: CellThing
    ) -> tuple[str, str]:
        """The character that stands for a thing, and a text whose legend has it."""
        for character, known in legend.items():
            if known == thing:
                return text, character
        taken = {*legend, *(character for row in rows for character in row)}
        character = next((c for c in _preferred(thing) if c not in taken), "")
        if not character:
            raise EditError("all characters stand for something; take some out of the legend")
        legend[character] = thing
        ordered = {key: thing[key] for key in LEGEND_KEYS if key in thing}
        entry = ordered["object"] if list(ordered) == ["object"] else ordered
        if not has(text, ("legend",)):
            return put(text, ("legend",), {character: entry}, after=str(self.path[0])), character
        return put(text, ("legend", character), entry), character

    def _allowed(self, text: str, things: Iterable[CellThing]) -> str:
        """The text with what its spaces lack of these things."""
        said = [part for thing in things for part in _parts(thing)]
        wanted = {
            "objects": dict.fromkeys(str(thing["object"]) for thing in said if "object" in thing),
            "colors": dict.fromkeys(str(thing["color"]) for thing in said if "color" in thing),
        }
        for space in _SPACES:
            for key, names in wanted.items():
                path: KeyPath = (space, key)
                count = length(text, path)
                known = [scalar(text, (*path, number)) for number in range(count)]
                for name in names:
                    if count and name not in known and not name.startswith("$"):
                        text = insert(text, path, length(text, path), name)
        return text

    def _tidied(self, text: str, rows: list[list[str]]) -> str:
        """The text without characters that were drawn before, and are no longer, in a legend of
        one map."""
        if self.path != ("map",):
            return text
        before = {character for row in self.rows for character in row}
        for character in before - {character for row in rows for character in row}:
            path: KeyPath = ("legend", character)
            if has(text, path) and not is_remarked(text, path):
                text = remove(text, path)
        return text

    def room(self, one: MapCell, other: MapCell) -> str:
        """The text with a room: walls around floor, one corner here and one there."""
        (top, bottom), (left, right) = (sorted(pair) for pair in zip(one, other, strict=True))
        cells = box(one, other)
        edge = {
            (y, x): WALL_THING if y in (top, bottom) or x in (left, right) else FLOOR_THING
            for y, x in cells
        }
        return self.painted(list(edge.items()), over=False)

    def resized(self, height: int, width: int) -> str:
        """The text with a map of another size; walls around it stay around it.

        Raises:
            EditError: it is too small or too large.
        """
        if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
            raise EditError(f"a map has 1 to {MAX_SIDE} rows and columns")
        old_height, old_width = self.shape
        rows = list(self.rows)
        edge = {*rows[0], *rows[-1], *(row[0] for row in rows), *(row[-1] for row in rows)}
        walls = [c for c in edge if self._words.things.get(c) == WALL_THING]
        around = len(edge) == len(walls) == 1 and min(height, width, old_height, old_width) > 2
        ring = int(around)
        inner = [row[ring : old_width - ring] for row in rows[ring : old_height - ring]]
        inner = [row[: width - 2 * ring].ljust(width - 2 * ring, ".") for row in inner]
        inner = inner[: height - 2 * ring]
        inner += ["." * (width - 2 * ring)] * (height - 2 * ring - len(inner))
        if around:
            wall = walls[0]
            inner = [wall * width, *(f"{wall}{row}{wall}" for row in inner), wall * width]
        return self._with_rows(self._text, inner)

    def drawn(self, grid: Any, ground: Any, agents: Iterable[tuple[int, int, int]]) -> str:
        """The text with a map in place of what makes its levels.

        Args:
            grid: (H, W, 3) type, state and colour of what is in every cell.
            ground: the same of what lies on the ground; None if nothing does.
            agents: y, x and facing of all who stand there.
        """
        words, text = self._words, self._text
        for key in _BUILDS_LEVELS:
            if has(text, (key,)):
                text = remove(text, (key,))
        text = put_rows(text, ("map",), ["." * grid.shape[1]] * grid.shape[0])
        standing = {(y, x): facing for y, x, facing in agents}
        things = []
        for y, x in np.ndindex(*grid.shape[:2]):
            below = None
            if ground is not None and ground[y, x, 0] > FLOOR:
                below = Symbol(*ground[y, x].tolist())
            look = Symbol(*grid[y, x].tolist())
            if below == look:
                look = Symbol(FLOOR, 0, NONE)
            symbol = replace(look, facing=standing.get((y, x)), ground=below)
            things.append(((y, x), words.thing_of(symbol)))
        made = MapModel(text, None, replace(words, agents=0))
        return made.painted(things, over=False)


def box(one: MapCell, other: MapCell) -> list[MapCell]:
    """The cells of a rectangle, row by row."""
    (top, bottom), (left, right) = (sorted(pair) for pair in zip(one, other, strict=True))
    return [(y, x) for y in range(top, bottom + 1) for x in range(left, right + 1)]


def _laid(before: CellThing, thing: CellThing, words: Vocabulary) -> dict[str, Any]:
    """What is in a cell when something has been put there; the ground and the room stay."""
    stays = {key: before[key] for key in ("ground", "room") if key in before}
    if words.is_ground(thing):
        ground = dict(thing)
        name = ground["object"] if list(ground) == ["object"] else ground
        return {**before, "ground": name}
    if not thing and before.keys() <= stays.keys():  # of a bare cell the ground goes, too
        return _room(before)
    return {**thing, **stays}


def _room(thing: CellThing) -> dict[str, Any]:
    return {"room": thing["room"]} if "room" in thing else {}


def _parts(thing: CellThing) -> Iterator[CellThing]:
    """A thing, and what is in, below or with it."""
    yield thing
    for key in ("ground", "content", "holds"):
        inner = thing.get(key)
        if inner is not None:
            yield from _parts(inner if isinstance(inner, dict) else {"object": inner})


def _preferred(thing: CellThing) -> Iterator[str]:
    """Characters for a thing, those first that remind of it."""
    ground = thing.get("ground")
    ground = ground.get("object", "") if isinstance(ground, dict) else ground
    names = [str(part) for part in (thing.get("object"), ground, thing.get("color")) if part]
    for name in (*names, *(["agent"] if AGENT_KEY in thing else [])):
        yield from (name[0].upper(), name[0].lower())
    yield from "".join(names)
    yield from string.ascii_letters + string.digits
    yield from "~+*=%&@$!?:;,/|()[]{}-"
    yield from (chr(code) for code in range(0xC0, 0x180) if chr(code).isprintable())


def _map_path(text: str, variant: str) -> KeyPath:
    """Where the map of a level stands, or would stand."""
    own: KeyPath = ("variants", variant, "map")
    if variant and has(text, own):
        return own
    if count := length(text, ("levels",)):
        number = int(variant) - 1 if variant.isdecimal() else 0
        return ("levels", min(number, count - 1), "map")
    if has(text, ("levels",)):
        return ("levels", 0, "map")
    return ("maps", 0) if length(text, ("maps",)) and not has(text, ("map",)) else ("map",)
