"""Map of an edited level: its vocabulary, cells and brushes, and edits that return the new text."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, NONE
from gv_engine.play.editor import text_buffer
from gv_engine.play.editor.text_buffer import (
    EditError,
    KeyPath,
    has_value,
    list_length,
    put,
    put_rows,
)
from gv_engine.rules.errors import ScenarioError
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import ABOVE, COLORS, OBJECT_TYPES, USUAL_COLORS, ObjectTypes
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.readers.definitions import AgentSpecs, read_agents, read_object_types
from gv_engine.scenario.readers.map import LEGEND, LEGEND_KEYS, Legend, Symbol, read_legend
from gv_engine.scenario.readers.random_values import RandomValues
from gv_engine.scenario.readers.resolver import NameResolver, TypeIds, list_referring_nodes
from gv_engine.scenario.syntax.fields import (
    MAX_SIDE,
    ErrorCollector,
    FieldError,
    YamlNode,
    items,
    mapping,
)

CellThing = Mapping[str, Any]
"""Content of a cell as a legend entry without default values: {} is bare floor, {"object": "Key",
"color": "RED"}, {"agent": "LEFT", "ground": "Ice"}."""

AGENT_KEY = "agent"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Vocabulary:
    """Object types, colours and legend of a level.

    Attributes:
        types: all object types with a name.
        objects: indices of the object types that the `state_space` allows on the grid.
        usual: indices of the object types that it could allow.
        colors: indices of the allowed colours.
        legend: symbols by character, built-in ones included; None for a faulty entry.
        things: contents by character, the scenario's own characters first.
        agents: number of agents.
        names: resolver of the names in the text.
        headings: headings of the palette by name of the object type.
    """

    types: ObjectTypes = OBJECT_TYPES
    objects: tuple[int, ...] = ()
    usual: tuple[int, ...] = ()
    colors: tuple[int, ...] = USUAL_COLORS
    legend: Legend = field(default_factory=dict)
    things: Mapping[str, CellThing] = field(default_factory=dict)
    agents: int = 1
    names: NameResolver | None = None
    headings: Mapping[str, str] = field(default_factory=dict)

    def normalize_entry(self, entry: Any) -> CellThing:
        """Return the YAML value `entry` of a legend character as a dict, without keys that have
        their default value."""
        thing = {key: part for key, part in _as_entry(entry).items() if part is not None}
        name = str(thing.get("object", ""))
        if name == OBJECT_TYPES[FLOOR].name:
            del thing["object"]
        states = self.types[name].states if name in self.types else ()
        if states and thing.get("state") == states[0]:
            del thing["state"]
        if thing.get("color") == COLORS[NONE]:
            del thing["color"]
        if isinstance(thing.get("ground"), dict):
            thing["ground"] = _shorten_entry(self.normalize_entry(thing["ground"]))
        return thing

    def thing_of_symbol(self, symbol: Symbol) -> CellThing:
        """Convert `symbol`, the content of a cell without random values, to a legend entry (see
        `CellThing`)."""
        thing: dict[str, Any] = {}
        if symbol.kind != FLOOR:
            thing = self.thing_of_type(symbol.kind, symbol.state, symbol.color)
        if symbol.facing is not None:
            thing[AGENT_KEY] = ORIENTATIONS[symbol.facing]
        if symbol.ground:
            thing["ground"] = _shorten_entry(self.thing_of_symbol(symbol.ground))
        return thing

    def thing_of_type(self, kind: int, state: int = 0, color: int = NONE) -> dict[str, Any]:
        """Return the legend entry of an object; `kind` is an index of `types`, `state` an index of
        the type's states, and `color` an index of `COLORS`."""
        object_type = self.types[kind]
        thing: dict[str, Any] = {"object": object_type.name}
        if object_type.states and state:
            thing["state"] = object_type.states[state]
        if object_type.colored and color != NONE:
            thing["color"] = COLORS[color]
        return thing

    def is_ground(self, thing: CellThing) -> bool:
        """Return True if the object in the legend entry `thing` belongs to the ground layer, as ice
        does."""
        name = thing.get("object")
        return name in self.types and self.types[str(name)].layer != ABOVE


def _as_entry(content: Any) -> dict[str, Any]:
    return content if isinstance(content, dict) else {"object": content}


def _shorten_entry(thing: CellThing) -> Any:
    return thing["object"] if list(thing) == ["object"] else dict(thing)


def read_vocabulary(document: Document) -> Vocabulary:
    """Return the object types, colours and legend that the map of the scenario `document` may use.
    Parts with errors are replaced by defaults and not reported."""
    entries = document.root.value if isinstance(document.root.value, dict) else {}
    names = NameResolver(document, TypeIds.assign([document]), ErrorCollector(document.label))
    draws = RandomValues(names)

    def read(key: str, reader: Callable[[YamlNode], _T], default: _T) -> _T:
        with suppress(FieldError, ScenarioError):
            if key in entries:
                return reader(entries[key])
        return default

    with suppress(FieldError, ScenarioError):
        for node in list_referring_nodes(document.root):
            names.import_references(node)
    names.declared_types = read(
        "objects",
        lambda node: read_object_types(names, node, document.folder),
        names.declared_types,
    )
    read("draw", draws.read, None)
    legend: Legend = read("legend", partial(read_legend, draws), {})
    agents = read("agents", partial(read_agents, names), AgentSpecs())
    usual = names.list_grid_types()
    objects, colors = usual, USUAL_COLORS
    with suppress(FieldError, ScenarioError):
        space = mapping(entries["state_space"]) if "state_space" in entries else {}
        if "objects" in space:
            objects = tuple(names.resolve_object_type(node) for node in items(space["objects"]))
        if "colors" in space:
            color_names = [node.text for node in items(space["colors"])]
            colors = tuple(COLORS.index(name) for name in color_names if name in COLORS)
    colors = tuple(sorted({NONE, *colors}))
    parts = names.types, objects, usual, colors
    headings = _find_headings(document.root.written)
    vocab = Vocabulary(*parts, agents=len(agents.bodies), names=names, headings=headings)
    own_entries: dict[str, YamlNode] = read("legend", mapping, {})
    things = {
        character: vocab.normalize_entry(node.written) for character, node in own_entries.items()
    }
    built_in = {
        character: vocab.thing_of_symbol(symbol)
        for character, symbol in LEGEND.items()
        if character not in things
    }
    symbols = {c: symbol and _fixed_symbol(symbol, draws) for c, symbol in legend.items()}
    return replace(vocab, legend={**LEGEND, **symbols}, things={**things, **built_in})


_OTHERS = "Others"
_HEADINGS = {
    "Basics": ("Floor", AGENT_KEY, "Wall", "Exit"),
    "Doors and keys": ("Door", "Key", "Box"),
    "Switches": ("switch", "hold_down", "follow"),
    "Crates": ("push", "cover", "all_covered"),
    "Hazards": ("overlap", "seen"),
    "To collect": ("use_up", "none_left"),
    "Movers": (
        *("MovingObstacle", "Telepod", "patrol", "chase", "convey", "slide", "elapse", "spread"),
        "let_pass",
    ),
    _OTHERS: (),
}
"""Headings of the palette in order. Each has the names of the object types below it, and names of
rules: the object types that such a rule names are also put below it. The first match counts."""


def _find_headings(values: Any) -> dict[str, str]:
    """Return, by object type, the heading of the palette below which the type is shown. Types are
    assigned by name, or by the rules in `values`, the plain content of a scenario."""
    rules = [part for part in iter_nested(values) if isinstance(part, dict)]
    headings = {name: heading for heading, names in _HEADINGS.items() for name in names}
    for key, heading in product(("object_type", "other_type", "ground_type"), _HEADINGS):
        for rule in rules:
            if rule.get("name") in _HEADINGS[heading] and key in rule:
                headings.setdefault(str(rule[key]), heading)
    return headings


def iter_nested(value: Any) -> Iterator[Any]:
    """Yield `value` and, if it is a list or mapping, all values nested in it, without keys."""
    yield value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from iter_nested(part)


def _fixed_symbol(symbol: Symbol, draws: RandomValues) -> Symbol:
    """Return `symbol`, the content of a cell, with each random value replaced by the first of its
    possible values in `draws`."""
    option, facing = symbol.options[0], symbol.facing
    values = (option.kind, option.state, option.color)
    kind, state, color = (draws.list_possible_values(value)[0] for value in values)
    if facing is not None:  # agents with any direction face up
        facing = draws.list_possible_values(facing)[0] % len(ORIENTATIONS)
    ground = symbol.ground and _fixed_symbol(symbol.ground, draws)
    return Symbol(kind, state, color, facing, room=symbol.room, ground=ground)


# ---- brushes -------------------------------------------------------------------------------------

# Built-in symbols by object type
_USUAL = {symbol.kind: symbol for symbol in reversed(LEGEND.values()) if symbol.facing is None}
_AGENT_SYMBOL = Symbol(state=ORIENTATIONS.index("RIGHT"))


class Brushes:
    """Contents that can be painted into cells, and the selected one.

    Attributes:
        names: names of all brushes: the floor, the agent, and object types.
        chosen: name of the selected brush.
        all_things: whether to offer object types that the `state_space` does not list.
    """

    def __init__(self, vocab: Vocabulary) -> None:
        self.chosen, self.all_things = "Wall", False
        self._colors: dict[str, int] = {}
        self._states: dict[str, int] = {}
        self.set_vocabulary(vocab)

    def set_vocabulary(self, vocab: Vocabulary) -> None:
        """Offer brushes for the object types and colours of `vocab`; if the selected brush is no
        longer offered, select the last one."""
        self._vocab = vocab
        kinds = dict.fromkeys((*vocab.objects, *(vocab.usual if self.all_things else ())))
        objects = [vocab.types[kind].name for kind in kinds if kind != FLOOR]
        headings = [*_HEADINGS]
        names = [vocab.types[FLOOR].name, AGENT_KEY, *objects]
        self.names = sorted(names, key=lambda name: headings.index(self.palette_heading(name)))
        if self.chosen not in self.names:
            self.chosen = self.names[-1]

    def palette_heading(self, name: str) -> str:
        """Return the heading of the palette below which the brush called `name` is shown."""
        return self._vocab.headings.get(name, _OTHERS)

    def choose(self, name: str, *_: object) -> None:
        """Select the brush called `name`; further arguments, such as the position of the mouse, are
        ignored."""
        self.chosen = name

    def select_next(self, offset: int) -> None:
        """Select the brush `offset` positions after the current one, wrapping around."""
        self.chosen = self.names[(self.names.index(self.chosen) + offset) % len(self.names)]

    def states(self, name: str) -> tuple[str, ...]:
        """Return the names of the states in which the brush called `name` can paint its object; for
        the agent, the four directions."""
        return ORIENTATIONS if name == AGENT_KEY else self._vocab.types[name].states

    def colors(self, name: str) -> tuple[int, ...]:
        """Return the indices in `COLORS` with which the brush called `name` can paint; () if its
        object has no colour."""
        if name == AGENT_KEY or not self._vocab.types[name].colored:
            return ()
        return self._vocab.colors

    def state(self, name: str) -> int:
        """Return the index of the state in which the brush called `name` currently paints its
        object; for the agent, the index of the direction."""
        usual = _USUAL.get(self._vocab.types[name].index) if name != AGENT_KEY else _AGENT_SYMBOL
        state = self._states.get(name, usual.state if usual else 0)
        return min(state, max(0, len(self.states(name)) - 1))

    def color(self, name: str) -> int:
        """Return the index in `COLORS` of the colour in which the brush called `name` currently
        paints."""
        if not (colors := self.colors(name)):
            return NONE
        usual = _USUAL.get(self._vocab.types[name].index)
        color = self._colors.get(name, usual.color if usual else colors[-1])
        return color if color in colors else colors[-1]

    def set_state(self, index: int) -> None:
        """Let the selected brush paint its object in the state with this index, which wraps
        around."""
        if count := len(self.states(self.chosen)):
            self._states[self.chosen] = index % count

    def next_state(self) -> None:
        """Switch the selected brush to the next of its states."""
        self.set_state(self.state(self.chosen) + 1)

    def toggle_all_things(self) -> None:
        """Switch between brushes for all object types and brushes for the object types that the
        level allows."""
        self.all_things = not self.all_things
        self.set_vocabulary(self._vocab)

    def next_color(self) -> None:
        """Switch the selected brush to the next of its colours; nothing happens if it has none."""
        if colors := self.colors(self.chosen):
            number = colors.index(self.color(self.chosen)) + 1
            self._colors[self.chosen] = colors[number % len(colors)]

    def thing(self, name: str = "") -> CellThing:
        """Return the legend entry that the brush called `name` paints; "" stands for the selected
        brush."""
        name = name or self.chosen
        if name == AGENT_KEY:
            return {AGENT_KEY: ORIENTATIONS[self.state(name)]}
        kind = self._vocab.types[name].index
        appearance = self.state(name), self.color(name)
        return {} if kind == FLOOR else self._vocab.thing_of_type(kind, *appearance)

    def symbol(self, name: str) -> Symbol:
        """Return the `Symbol` that the brush called `name` paints: type, state and colour of an
        object, or an agent with its direction."""
        if name == AGENT_KEY:
            return Symbol(facing=self.state(name))
        return Symbol(self._vocab.types[name].index, self.state(name), self.color(name))

    def pick(self, thing: CellThing) -> None:
        """Select the brush that paints the object of the legend entry `thing`, in its state and
        colour; if the entry has no object, its agent, else its ground."""
        layer = thing
        if "object" not in thing and AGENT_KEY not in thing and "ground" in thing:
            layer = _as_entry(thing["ground"])
        default_name = AGENT_KEY if AGENT_KEY in layer else self._vocab.types[FLOOR].name
        name = str(layer.get("object", default_name))
        if name not in self.names:
            self.all_things = True
            self.set_vocabulary(self._vocab)
        if name not in self.names:
            return
        self.chosen = name
        state, color = layer.get(AGENT_KEY, layer.get("state")), layer.get("color")
        states = self.states(name)
        self._states[name] = states.index(state) if state in states else 0
        if self.colors(name):
            self._colors[name] = COLORS.index(color) if color in COLORS else NONE


# ---- map -----------------------------------------------------------------------------------------

MapCell = tuple[int, int]
"""Row and column (y, x)."""

FLOOR_THING: CellThing = {}
WALL_THING: CellThing = {"object": "Wall"}
_BUILDS_LEVELS = (
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

    Attributes:
        path: path to the map.
        rows: rows of equal length; () if there is no map.
    """

    def __init__(
        self, text: str, document: Document | None, vocab: Vocabulary, variant: str = ""
    ) -> None:
        """Read the map in the scenario file's `text`; if there is none, the map that the file
        inherits, from `document`. `variant` is the named version of the scenario to edit."""
        self._text, self._vocab = text, vocab
        self.path = _map_path(text, variant)
        drawn = text_buffer.read_scalar(text, self.path)
        if drawn is None and document is not None and isinstance(document.root.value, dict):
            below = document.root.value.get("map")  # the map of the extended file
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
                top = below if symbol.kind == FLOOR and symbol.ground else symbol
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

    def paint(self, things: Iterable[tuple[MapCell, CellThing]], over: bool = True) -> str:
        """Return the file's text with `things`, pairs of a cell and its new legend entry, painted
        into the map. New contents get a character in the legend; with `over`, cells keep their
        ground.

        Args:
            things: cells with their new contents.
            over: whether the ground of a cell stays.

        Raises:
            EditError: all characters are in use.
        """
        rows = [list(row) for row in self.rows]
        legend = dict(self._vocab.things)
        text = self._text
        for (y, x), thing in things:
            content = _paint_over(self.thing((y, x)), thing, self._vocab) if over else dict(thing)
            if AGENT_KEY in thing and self._vocab.agents == 1:
                for row, column in self.cells():
                    other = legend.get(rows[row][column], FLOOR_THING)
                    if AGENT_KEY in other and (row, column) != (y, x):
                        rest = {key: other[key] for key in other if key not in (AGENT_KEY, "holds")}
                        text, rows[row][column] = self._character_for(text, legend, rows, rest)
            text, rows[y][x] = self._character_for(text, legend, rows, content)
        text = self._with_allowed_names(text, (thing for _, thing in things))
        return self._prune_legend(self._with_rows(text, ["".join(row) for row in rows]), rows)

    def _with_rows(self, text: str, rows: list[str]) -> str:
        if self.path[0] == "levels" and not has_value(text, self.path):
            raise EditError("This level is in a file of another format; edit it there")
        return put_rows(text, self.path, rows)

    def _character_for(
        self, text: str, legend: dict[str, CellThing], rows: list[list[str]], thing: CellThing
    ) -> tuple[str, str]:
        """Return `(text, character)`: the character that stands for the legend entry `thing`, and
        the file's text. A new character, not used in `rows`, is added to the text and to `legend`.

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
        entry = _shorten_entry({key: thing[key] for key in LEGEND_KEYS if key in thing})
        if not has_value(text, ("legend",)):
            return put(text, ("legend",), {character: entry}, after=str(self.path[0])), character
        return put(text, ("legend", character), entry), character

    def _with_allowed_names(self, text: str, things: Iterable[CellThing]) -> str:
        """Return `text` with the object types and colours of the legend entries `things` added to
        the lists in `state_space` and `observation_space`, as far as the file has such lists."""
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
        """Return `text` without the legend entries of characters that the edit has removed from the
        map, whose new rows are `rows`. Entries with a comment stay; if the file has several maps,
        all stay."""
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
        things = [
            ((y, x), WALL_THING if y in (y1, y2) or x in (x1, x2) else FLOOR_THING)
            for y, x in cells_of_box(corner, opposite)
        ]
        return self.paint(things, over=False)

    def resize(self, height: int, width: int) -> str:
        """Return the file's text with the map cropped or padded with floor to `height` × `width`
        cells, at the right and the bottom. If walls enclose the old map, they enclose the new one.

        Raises:
            EditError: the size is too small or too large.
        """
        if not (1 <= height <= MAX_SIDE and 1 <= width <= MAX_SIDE):
            raise EditError(f"a map has 1 to {MAX_SIDE} rows and columns")
        old_height, old_width = self.shape
        rows = list(self.rows)
        edge = "".join({*rows[0], *rows[-1], *(row[0] for row in rows), *(row[-1] for row in rows)})
        is_walled = len(edge) == 1 and self._vocab.things.get(edge) == WALL_THING
        ring = int(is_walled and min(height, width, old_height, old_width) > 2)
        inner_height, inner_width = height - 2 * ring, width - 2 * ring
        inner = [row[ring : old_width - ring] for row in rows[ring : old_height - ring]]
        inner = [row[:inner_width].ljust(inner_width, ".") for row in inner[:inner_height]]
        inner += ["." * inner_width] * (inner_height - len(inner))
        if ring:
            inner = [edge * width, *(f"{edge}{row}{edge}" for row in inner), edge * width]
        return self._with_rows(self._text, inner)

    def replace_generator(
        self, grid: Any, ground: Any, agents: Iterable[tuple[int, int, int]]
    ) -> str:
        """Return the file's text with a fixed map in place of the level generator. `grid` and
        `ground` are (H, W, 3) type, state and colour, and `agents` are (y, x, facing).

        Args:
            grid: (H, W, 3) type, state and colour of the objects in every cell.
            ground: the same of the ground; None without ground.
            agents: (y, x, facing) of the agents.
        """
        vocab, text = self._vocab, self._text
        for key in _BUILDS_LEVELS:
            if has_value(text, (key,)):
                text = text_buffer.remove(text, (key,))
        text = put_rows(text, ("map",), ["." * grid.shape[1]] * grid.shape[0])
        facing_by_cell = {(y, x): facing for y, x, facing in agents}
        things = []
        for y, x in np.ndindex(*grid.shape[:2]):
            has_ground = ground is not None and ground[y, x, 0] > FLOOR
            below = Symbol(*ground[y, x].tolist()) if has_ground else None
            symbol = Symbol(*grid[y, x].tolist())
            if below == symbol:
                symbol = Symbol(FLOOR, 0, NONE)
            symbol = replace(symbol, facing=facing_by_cell.get((y, x)), ground=below)
            things.append(((y, x), vocab.thing_of_symbol(symbol)))
        return MapModel(text, None, replace(vocab, agents=0)).paint(things, over=False)


def cells_of_box(corner: MapCell, opposite: MapCell) -> list[MapCell]:
    """Return the cells of the rectangle between two opposite corner cells, row by row."""
    (top, bottom), (left, right) = (sorted(pair) for pair in zip(corner, opposite, strict=True))
    return [(y, x) for y in range(top, bottom + 1) for x in range(left, right + 1)]


def cells_of_line(start: MapCell, end: MapCell) -> list[MapCell]:
    """Return the cells of a straight line from the cell `start` to the cell `end`, without `start`
    unless they are equal."""
    (y, x), (down, right) = start, (end[0] - start[0], end[1] - start[1])
    steps = max(abs(down), abs(right), 1)
    shares = [number / steps for number in range(1, steps + 1)]
    return [(y + round(down * share), x + round(right * share)) for share in shares]


def _paint_over(before: CellThing, thing: CellThing, vocab: Vocabulary) -> dict[str, Any]:
    """Return the legend entry of a cell with the entry `before` after `thing` is painted over it.
    The cell keeps its ground and the name of its room; if `thing` is ground, only the ground
    changes."""
    kept = {key: before[key] for key in ("ground", "room") if key in before}
    if vocab.is_ground(thing):
        return {**before, "ground": _shorten_entry(thing)}
    if not thing and before.keys() <= kept.keys():  # of a bare cell the ground goes, too
        kept.pop("ground", None)
    return {**thing, **kept}


def _nested_things(thing: CellThing) -> Iterator[CellThing]:
    """Yield the legend entry `thing`, and the entries of its ground, its content and the object it
    holds."""
    yield thing
    for key in ("ground", "content", "holds"):
        inner = thing.get(key)
        if inner is not None:
            yield from _nested_things(_as_entry(inner))


def _candidate_characters(thing: CellThing) -> Iterator[str]:
    """Yield characters that could stand for the legend entry `thing` on the map, letters of its
    object, ground and colour names first."""
    ground = _as_entry(thing.get("ground")).get("object")
    names = [str(part) for part in (thing.get("object"), ground, thing.get("color")) if part]
    for name in (*names, *([AGENT_KEY] if AGENT_KEY in thing else [])):
        yield from (name[0].upper(), name[0].lower())
    yield from "".join(names)
    yield from string.ascii_letters + string.digits
    yield from "~+*=%&@$!?:;,/|()[]{}-"
    yield from (chr(code) for code in range(0xC0, 0x180) if chr(code).isprintable())


def _map_path(text: str, variant: str) -> KeyPath:
    """Return the key path, such as `("variants", "big", "map")`, of the map in a scenario's `text`,
    or of the map to add if there is none; `variant` is the edited version of the scenario, or
    ""."""
    variant_path: KeyPath = ("variants", variant, "map")
    if variant and has_value(text, variant_path):
        return variant_path
    if count := list_length(text, ("levels",)):
        number = int(variant) - 1 if variant.isdecimal() else 0
        return ("levels", min(number, count - 1), "map")
    if has_value(text, ("levels",)):
        return ("levels", 0, "map")
    has_maps = list_length(text, ("maps",)) and not has_value(text, ("map",))
    return ("maps", 0) if has_maps else ("map",)
