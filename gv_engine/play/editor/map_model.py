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
from gv_engine.play.editor.text_buffer import EditError, KeyPath, has_value, list_length
from gv_engine.rules.errors import ScenarioError
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import (
    ABOVE,
    COLORS,
    GROUND,
    OBJECT_TYPES,
    TERRAIN,
    USUAL_COLORS,
    ObjectTypes,
)
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.readers.definitions import (
    AgentSpecs,
    declare_components,
    read_agents,
    read_layers,
    read_object_types,
)
from gv_engine.scenario.readers.map import LEGEND, LEGEND_KEYS, Legend, Symbol, read_legend
from gv_engine.scenario.readers.random_values import RandomValues
from gv_engine.scenario.readers.resolver import NameResolver, TypeIds, list_referring_nodes
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax.fields import MAX_SIDE, ErrorCollector, FieldError, YamlNode

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
        """Convert the value of a legend character to a dict without default values. `Door` gives
        {"object": "Door"}, for example."""
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
        between = [
            _shorten_entry(self.normalize_entry(entry)) for entry in _list_middle_entries(thing)
        ]
        return _with_middle_entries(thing, between)

    def thing_of_symbol(self, symbol: Symbol) -> CellThing:
        """Convert a parsed legend entry without random values to a dict as in the file (see
        `CellThing`)."""
        thing: dict[str, Any] = {}
        if symbol.kind != FLOOR:
            thing = self.thing_of_type(symbol.kind, symbol.state, symbol.color)
        if symbol.facing is not None:
            thing[AGENT_KEY] = ORIENTATIONS[symbol.facing]
        if symbol.ground:
            thing["ground"] = _shorten_entry(self.thing_of_symbol(symbol.ground))
        between = [_shorten_entry(self.thing_of_symbol(each)) for each in symbol.between]
        return _with_middle_entries(thing, between)

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

    def layer_of(self, thing: CellThing) -> str:
        """Return the layer of the object in the legend entry `thing`: `ABOVE` for an agent or an
        unknown object."""
        name = thing.get("object")
        return self.types[str(name)].layer if name in self.types else ABOVE

    def replace_on_lower_layer(self, before: CellThing, thing: CellThing) -> dict[str, Any]:
        """Return the legend entry `before` with the object of `thing` on its own layer, which is
        below that of the main object of `before`. An object that is there is replaced."""
        layer = self.layer_of(thing)
        if layer in (GROUND, TERRAIN):
            return {**before, "ground": _shorten_entry(thing)}
        others = _list_middle_entries(before)
        others = [entry for entry in others if self.layer_of(_as_entry(entry)) != layer]
        return _with_middle_entries(before, [*others, _shorten_entry(thing)])


def _list_middle_entries(thing: CellThing) -> list[Any]:
    between = thing.get("between", [])
    return between if isinstance(between, list) else [between]


def _with_middle_entries(thing: CellThing, between: list[Any]) -> dict[str, Any]:
    """Return a legend entry with the objects `between`: in the file a list if there are several,
    and no key if there are none."""
    rest = {key: part for key, part in thing.items() if key != "between"}
    return {**rest, "between": between if len(between) > 1 else between[0]} if between else rest


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
    read("components", partial(declare_components, names), None)
    read("layers", partial(read_layers, names), None)
    read("objects", partial(read_object_types, names), None)
    read("draw", draws.read, None)
    legend: Legend = read("legend", partial(read_legend, draws), {})
    agents = read("agents", partial(read_agents, names), AgentSpecs())
    usual = names.list_grid_types()
    objects, colors = usual, USUAL_COLORS
    with suppress(FieldError, ScenarioError):
        space = fields.mapping(entries["state_space"]) if "state_space" in entries else {}
        if "objects" in space:
            objects = tuple(
                names.resolve_object_type(node) for node in fields.items(space["objects"])
            )
        if "colors" in space:
            color_names = [node.text for node in fields.items(space["colors"])]
            colors = tuple(COLORS.index(name) for name in color_names if name in COLORS)
    vocab = Vocabulary(
        names.types,
        objects,
        usual,
        colors=tuple(sorted({NONE, *colors})),
        agents=len(agents.bodies),
        names=names,
        headings=_find_headings(document.root.written),
    )
    legend_nodes: dict[str, YamlNode] = read("legend", fields.mapping, {})
    # the scenario's own characters first
    things = {key: vocab.normalize_entry(node.written) for key, node in legend_nodes.items()}
    for character, symbol in LEGEND.items():
        things.setdefault(character, vocab.thing_of_symbol(symbol))
    symbols = {key: symbol and _fix_symbol(symbol, draws) for key, symbol in legend.items()}
    return replace(vocab, legend={**LEGEND, **symbols}, things=things)


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
    """Return the palette heading for each object type. Types are assigned to headings by name, or
    by the rules that occur in `values`, the scenario as plain data."""
    rules = [part for part in iter_values(values) if isinstance(part, dict)]
    headings = {name: heading for heading, names in _HEADINGS.items() for name in names}
    for key, heading in product(("object_type", "other_type", "ground_type"), _HEADINGS):
        for rule in rules:
            if rule.get("name") in _HEADINGS[heading] and key in rule:
                headings.setdefault(str(rule[key]), heading)
    return headings


def iter_values(value: Any) -> Iterator[Any]:
    """Yield `value` and, if it is a list or mapping, all values nested in it, without keys."""
    yield value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from iter_values(part)


def _fix_symbol(symbol: Symbol, draws: RandomValues) -> Symbol:
    """Return a parsed legend entry in which each random value is replaced by the first of its
    possible values."""
    option, facing = symbol.options[0], symbol.facing
    kind, state, color = (
        draws.list_possible_values(value)[0] for value in (option.kind, option.state, option.color)
    )
    if facing is not None:  # agents with any direction face up
        facing = draws.list_possible_values(facing)[0] % len(ORIENTATIONS)
    ground = symbol.ground and _fix_symbol(symbol.ground, draws)
    between = tuple(_fix_symbol(each, draws) for each in symbol.between)
    return Symbol(kind, state, color, facing, room=symbol.room, ground=ground, between=between)


# ---- brushes -------------------------------------------------------------------------------------

# Built-in symbols by object type: the usual state and colour of each
_USUAL_SYMBOLS = {
    symbol.kind: symbol for symbol in reversed(LEGEND.values()) if symbol.facing is None
}
_USUAL_FACING = ORIENTATIONS.index("RIGHT")


class Brushes:
    """Contents that can be painted into cells, and the selected one.

    Attributes:
        names: names of all brushes: the floor, the agent, and object types.
        selected: name of the selected brush.
        shows_all_types: whether to offer object types that the `state_space` does not list.
    """

    def __init__(self, vocab: Vocabulary) -> None:
        self.selected = "Wall"
        self.shows_all_types = False
        self._color_by_brush: dict[str, int] = {}
        self._state_by_brush: dict[str, int] = {}
        self.set_vocabulary(vocab)

    def set_vocabulary(self, vocab: Vocabulary) -> None:
        """Offer brushes for the object types and colours of `vocab`; if the selected brush is no
        longer offered, select the last one."""
        self._vocab = vocab
        kinds = (*vocab.objects, *vocab.usual) if self.shows_all_types else vocab.objects
        objects = [vocab.types[kind].name for kind in dict.fromkeys(kinds) if kind != FLOOR]
        headings = [*_HEADINGS]
        names = [vocab.types[FLOOR].name, AGENT_KEY, *objects]
        self.names = sorted(names, key=lambda name: headings.index(self.palette_heading(name)))
        if self.selected not in self.names:
            self.selected = self.names[-1]

    def palette_heading(self, name: str) -> str:
        """Return the heading of the palette below which the brush called `name` is shown."""
        return self._vocab.headings.get(name, _OTHERS)

    def choose(self, name: str, *_: object) -> None:
        """Select the brush called `name`; further arguments, such as the position of the mouse, are
        ignored."""
        self.selected = name

    def select_next(self, offset: int) -> None:
        """Select the brush `offset` positions after the current one, wrapping around."""
        self.selected = self.names[(self.names.index(self.selected) + offset) % len(self.names)]

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
        if name == AGENT_KEY:
            return self._state_by_brush.get(name, _USUAL_FACING)
        usual = _USUAL_SYMBOLS.get(self._vocab.types[name].index, Symbol())
        state = self._state_by_brush.get(name, usual.state)
        return min(state, max(0, len(self.states(name)) - 1))  # states may have become fewer

    def color(self, name: str) -> int:
        """Return the index in `COLORS` of the colour in which the brush called `name` currently
        paints."""
        if not (colors := self.colors(name)):
            return NONE
        usual = _USUAL_SYMBOLS.get(self._vocab.types[name].index)
        color = self._color_by_brush.get(name, usual.color if usual else colors[-1])
        return color if color in colors else colors[-1]

    def set_state(self, index: int) -> None:
        """Let the selected brush paint its object in the state with this index, which wraps
        around."""
        if count := len(self.states(self.selected)):
            self._state_by_brush[self.selected] = index % count

    def next_state(self) -> None:
        """Switch the selected brush to the next of its states."""
        self.set_state(self.state(self.selected) + 1)

    def toggle_all_types(self) -> None:
        """Switch between brushes for all object types and brushes for the object types that the
        level allows."""
        self.shows_all_types = not self.shows_all_types
        self.set_vocabulary(self._vocab)

    def next_color(self) -> None:
        """Switch the selected brush to the next of its colours; nothing happens if it has none."""
        if colors := self.colors(self.selected):
            index = colors.index(self.color(self.selected)) + 1
            self._color_by_brush[self.selected] = colors[index % len(colors)]

    def thing(self, name: str = "") -> CellThing:
        """Return the legend entry that the brush called `name` paints; "" stands for the selected
        brush."""
        name = name or self.selected
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
        colour; if the entry has no object, its agent, else the object below."""
        layer = thing
        lower = [*_list_middle_entries(thing), *([thing["ground"]] if "ground" in thing else [])]
        if "object" not in thing and AGENT_KEY not in thing and lower:
            layer = _as_entry(lower[0])
        default_name = AGENT_KEY if AGENT_KEY in layer else self._vocab.types[FLOOR].name
        name = str(layer.get("object", default_name))
        if name not in self.names:
            self.shows_all_types = True
            self.set_vocabulary(self._vocab)
        if name not in self.names:
            return
        self.selected = name
        state, color = layer.get(AGENT_KEY, layer.get("state")), layer.get("color")
        states = self.states(name)
        self._state_by_brush[name] = states.index(state) if state in states else 0
        if self.colors(name):
            self._color_by_brush[name] = COLORS.index(color) if color in COLORS else NONE


# ---- map -----------------------------------------------------------------------------------------

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

    Attributes:
        path: path to the map.
        rows: rows of equal length; () if there is no map.
    """

    def __init__(
        self, text: str, document: Document | None, vocab: Vocabulary, variant: str = ""
    ) -> None:
        self._text, self._vocab = text, vocab
        self.path = _map_path(text, variant)
        map_text = text_buffer.read_scalar(text, self.path)
        if map_text is None and document is not None and isinstance(document.root.value, dict):
            node = document.root.value.get("map")  # inherited from the extended file
            map_text = node.text if node else None
        lines = map_text.rstrip("\n").split("\n") if map_text and map_text.strip() else []
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
        entry = _shorten_entry({key: thing[key] for key in LEGEND_KEYS if key in thing})
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
    for inner in (*_list_middle_entries(thing), *map(thing.get, ("ground", "content", "holds"))):
        if inner is not None:
            yield from _nested_things(_as_entry(inner))


def _candidate_characters(thing: CellThing) -> Iterator[str]:
    """Yield map characters for a legend entry, best first: letters of the names of its object,
    ground and colour, then any others."""
    lower = [
        _as_entry(entry).get("object")
        for entry in (thing.get("ground"), *_list_middle_entries(thing))
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
    variant_path: KeyPath = ("variants", variant, "map")
    if variant and has_value(text, variant_path):
        return variant_path
    if has_value(text, ("levels",)):
        index = int(variant) - 1 if variant.isdecimal() else 0
        last = max(0, list_length(text, ("levels",)) - 1)
        return ("levels", min(index, last), "map")
    has_maps = list_length(text, ("maps",)) and not has_value(text, ("map",))
    return ("maps", 0) if has_maps else ("map",)
