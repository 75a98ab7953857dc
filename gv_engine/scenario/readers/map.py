"""Maps: read a level drawn in characters and its legend, and show grids as such text."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT, YELLOW
from components.items import CLOSED, LOCKED, OPEN, Box
from components.objects import BEACON, BOX, DOOR, EXIT, KEY, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine.rules.component import to_snake_case
from gv_engine.rules.errors import (
    describe_allowed,
    escape_unprintable,
    format_cell,
    format_count,
    shorten,
)
from gv_engine.rules.frame import Frame, ShownNumber
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, ORIENTATIONS, RIGHT, step_x, step_y
from gv_engine.rules.objects import ABOVE, COLORS, GROUND, TERRAIN, ObjectType, ObjectTypes
from gv_engine.rules.system import Call, get_system
from gv_engine.scenario.levels.level_files import PackLevel
from gv_engine.scenario.memory.layout import round_up_size
from gv_engine.scenario.readers.random_values import COLOR as A_COLOR
from gv_engine.scenario.readers.random_values import MAX_WEIGHT, WAY, RandomValues, read_weights
from gv_engine.scenario.readers.random_values import OBJECT as AN_OBJECT
from gv_engine.scenario.readers.resolver import NameResolver
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable
from systems.procedural import ANY, ground_of_map
from systems.reset import from_map


@dataclass(frozen=True)
class Symbol:
    """Meaning of a map character: an object, and maybe an agent that faces a direction.

    Attributes:
        kind, state, color: of the object; negative for random values, see `RandomValues`.
        facing: orientation of the agent, `ANY` for a random one; None without an agent.
        one_of: objects of which one is sampled; () for a single object.
        weights: weight of each object in `one_of`.
        room: name of the room that the cell belongs to; "" for none.
        content: object in the box, None for none.
        holds: object that the agent holds, None for none.
        ground: object on the ground layer, None for none.
        between: objects on layers between, one of each layer at most.
    """

    kind: int = FLOOR
    state: int = 0
    color: int = NONE
    facing: int | None = None
    one_of: tuple[Symbol, ...] = ()
    weights: tuple[int, ...] = (1,)
    room: str = ""
    content: Symbol | None = None
    holds: Symbol | None = None
    ground: Symbol | None = None
    between: tuple[Symbol, ...] = ()

    @property
    def below(self) -> tuple[Symbol, ...]:
        """Objects on lower layers: those between, and then the one on the ground."""
        return self.between + ((self.ground,) if self.ground else ())

    @property
    def options(self) -> tuple[Symbol, ...]:
        """All objects that the symbol may stand for."""
        return self.one_of or (self,)

    @property
    def contents(self) -> tuple[Symbol, ...]:
        """Symbols for the objects that lie inside boxes and in the agent's hand."""
        contents = [option.content for option in self.options]
        return tuple(symbol for symbol in (*contents, self.holds) if symbol)

    @property
    def depth(self) -> int:
        """Maximum depth of nested objects, such as 2 for a box with a key."""
        return 1 + max((symbol.depth for symbol in self.contents), default=0)

    @property
    def is_fixed(self) -> bool:
        """True if the map character means the same object, or nothing, in every level. It is False
        with a random part, with contents, or with the name of a room."""
        codes = self.kind, self.state, self.color, self.facing or 0
        is_random = min(codes) < 0 or self.facing == ANY or bool(self.one_of)
        is_below_fixed = all(symbol.is_fixed for symbol in self.below)
        return is_below_fixed and not (is_random or self.room or self.contents)


_INNER = schema.any_of(schema.OBJECT, {"type": "object"})
SYMBOL_KEYS: KeyTable = {
    "object": Key("Object type. By default, Floor.", schema.OBJECT),
    "state": Key("State. By default, the initial one.", schema.TEXT),
    "color": Key("Colour. By default, NONE.", schema.COLOR),
    "content": Key("Content of a box: an object, one of several, or Floor.", _INNER),
    "agent": Key(
        "Orientation of the agent in the cell. `any` is random.",
        schema.enum_schema((*ORIENTATIONS, "any")),
    ),
    "holds": Key("Object in the agent's hand, one of several, or Floor.", _INNER),
    "one_of": Key(
        "Options in place of `object`, one of which is sampled.",
        schema.list_of(_INNER, minItems=1),
    ),
    "weights": Key("Weights of `one_of`.", schema.list_of(schema.integer_schema(1, MAX_WEIGHT))),
}
"""Keys of a mapping that describes a symbol."""
LEGEND_KEYS: KeyTable = {
    **SYMBOL_KEYS,
    "room": Key("Room of the cell.", schema.TEXT),
    "ground": Key("Object on the ground layer of the cell.", _INNER),
    "between": Key(
        "Object on one of the layers between, or a list of them.",
        schema.any_of(_INNER, schema.list_of(_INNER)),
    ),
}

_LOWER_LAYERS = "ground", "between"

Legend = dict[str, Symbol | None]
"""Symbols by character; None for an entry of the scenario with an error."""

LEGEND = {
    "#": Symbol(WALL),
    ".": Symbol(),
    " ": Symbol(),
    "E": Symbol(EXIT),
    "K": Symbol(KEY, color=YELLOW),
    "D": Symbol(DOOR, LOCKED, YELLOW),
    "d": Symbol(DOOR, CLOSED, YELLOW),
    "_": Symbol(DOOR, OPEN, YELLOW),
    "B": Symbol(BOX),
    "T": Symbol(TELEPOD),
    "b": Symbol(BEACON),
    "o": Symbol(MOVING_OBSTACLE),
    "^": Symbol(facing=FORWARD),
    "v": Symbol(facing=BACKWARD),
    "<": Symbol(facing=LEFT),
    ">": Symbol(facing=RIGHT),
}
"""Built-in legend, which a scenario's own entries override."""


def list_agent_characters(legend: Legend) -> str:
    """Return the characters that stand for an agent, with spaces between them."""
    return " ".join(c for c, symbol in legend.items() if symbol and symbol.facing is not None)


def read_legend(draws: RandomValues, node: YamlNode) -> Legend:
    """Read the legend in a YAML node, which gives map characters their meaning: `C: Coin`, `K:
    {object: Key, color: RED}`. `draws` has the scenario's random values."""
    legend: Legend = {}
    for character, entry in fields.mapping(node).items():
        with draws.problems.collect():
            legend[character] = None
            if len(character) != 1 or not character.isprintable():
                raise entry.error(f"found the key {character!r}, expected a single character")
            legend[character] = read_symbol(draws, entry, ("room", *_LOWER_LAYERS))
    return legend


def read_symbol(draws: RandomValues, node: YamlNode, extra_keys: tuple[str, ...] = ()) -> Symbol:
    """Read the meaning of a map character from a YAML node: the name of an object, or a mapping for
    an object, a choice of objects, or an agent. `draws` has the scenario's random values.

    Args:
        extra_keys: keys that are allowed besides those of a symbol.
    """
    if not isinstance(node.value, dict):
        return Symbol(draws.read_value(node, (AN_OBJECT,), draws.names.resolve_object_type))
    entries = fields.read_fields(draws.problems, node, (*SYMBOL_KEYS, *extra_keys))
    if not entries.keys() & {"object", "agent", "one_of", "room", *_LOWER_LAYERS}:
        is_misspelled = len(entries) < len(node.value)  # reported as an unknown key
        raise node.error("" if is_misspelled else "found neither `object` nor `agent`")
    if not entries.keys().isdisjoint(_LOWER_LAYERS):
        above = {key: entry for key, entry in entries.items() if key not in _LOWER_LAYERS}
        symbol = read_symbol(draws, replace(node, value=above), extra_keys) if above else Symbol()
        ground, between = None, list[Symbol]()
        if "ground" in entries:
            ground = read_symbol(draws, entries["ground"])
            _check_layer(draws, entries["ground"], ground, GROUND, TERRAIN)
        taken = _check_layer(draws, node, symbol, ABOVE, *draws.names.between)
        for item in fields.list_or_single(entries["between"]) if "between" in entries else ():
            between.append(read_symbol(draws, item))
            layers = _check_layer(draws, item, between[-1], *draws.names.between)
            for layer in layers & taken:
                raise item.error(f"a second object on the layer `{layer}`; a cell holds one")
            taken |= layers
        return replace(symbol, ground=ground, between=tuple(between))
    room = fields.text(entries["room"]) if "room" in entries else ""
    facing = holds = None
    if "agent" in entries:
        facing = draws.read_value(entries["agent"], (WAY,), _read_facing)
    if "holds" in entries:
        if facing is None:
            raise entries["holds"].error("only an `agent` holds something")
        holds = _read_content(draws, entries["holds"])
    if "one_of" in entries:
        options, weights = _read_options(draws, entries)
        return Symbol(facing=facing, one_of=options, weights=weights, room=room, holds=holds)
    if "weights" in entries:
        raise entries["weights"].error("`weights` goes with `one_of`")
    return replace(_read_object(draws, entries), facing=facing, room=room, holds=holds)


def _read_object(draws: RandomValues, entries: dict[str, YamlNode]) -> Symbol:
    """Return the object that a legend entry describes by the keys `object`, `state`, `color` and
    `content`. `draws` has the scenario's random values."""
    names = draws.names
    kind, state, color, content = FLOOR, 0, NONE, None
    if "object" in entries:
        kind = draws.read_value(entries["object"], (AN_OBJECT,), names.resolve_object_type)
    types = [names.types[index] for index in draws.list_possible_values(kind)]
    if "state" in entries:
        state, *other_states = {draws.read_state(entries["state"], t.index) for t in types}
        if other_states:
            type_names = " and ".join(object_type.name for object_type in types)
            raise entries["state"].error(f"this state has another number in {type_names}")
    if "color" in entries:
        color = draws.read_value(entries["color"], (A_COLOR,), fields.read_color)
        for object_type in types:
            if draws.list_possible_values(color) != (NONE,) and not object_type.colored:
                raise entries["color"].error(_no_color_message(names, entries, object_type))
            if object_type.layer == TERRAIN:
                raise entries["color"].error(
                    f"{object_type.name} is terrain, which has one colour; declare a type for each "
                    f"colour"
                )
    if "content" in entries:
        for object_type in types:
            if Box not in object_type.component_classes:
                fault = f"{object_type.name} has no component Box to hold it"
                raise entries["content"].error(fault)
        content = _read_content(draws, entries["content"])
    return Symbol(kind, state, color, content=content)


def _no_color_message(names: NameResolver, entries: dict[str, YamlNode], kind: ObjectType) -> str:
    """Return the error message for a legend entry that gives a colour to an object without colours.
    `entries` are the entry's keys."""
    if "object" not in entries:
        return "goes with `object`; a held object has its own, holds: {object: Key, color: RED}"
    if kind in names.declared_types:
        hint = f"; give it one by `colored: yes` under objects.{kind.name}"
        return f"{kind.name} has no colour{hint}"
    return f"{kind.name} has no colour"


def _read_content(draws: RandomValues, node: YamlNode) -> Symbol:
    """Read the object inside a box or in the agent's hand from a YAML node. Raise FieldError if it
    describes an agent. `draws` has the scenario's random values."""
    symbol = read_symbol(draws, node)
    if symbol.facing is not None:
        raise node.error("found an agent, expected an object: {object: Key, color: RED}")
    _check_layer(draws, node, symbol, ABOVE, *draws.names.between, GROUND)
    return symbol


def _check_layer(draws: RandomValues, node: YamlNode, symbol: Symbol, *layers: str) -> set[str]:
    """Return the layers of the objects that `symbol` describes. Raise FieldError at the YAML node
    if one of them is not among `layers`. `draws` has the scenario's random values."""
    if not layers:
        raise node.error("there are no layers between: name some, `layers: [ground, item, body]`")
    found = set()
    if ABOVE not in layers and symbol.facing is not None:
        raise node.error("the agent stands on the ground: write `agent` beside `ground`")
    for option in symbol.options:
        for index in draws.list_possible_values(option.kind):
            kind = draws.names.types[index]
            if kind.index != FLOOR and kind.layer not in layers:
                hint = f"only a type with `layer: {'` or `'.join(layers)}` may stand here"
                raise node.error(f"{kind.name} has the layer `{kind.layer}`; {hint}")
            found.add(kind.layer)
    return found


def _read_facing(node: YamlNode) -> int:
    return fields.read_choice(node, (*ORIENTATIONS, "any"), "orientation")


def _read_options(
    draws: RandomValues, entries: dict[str, YamlNode]
) -> tuple[tuple[Symbol, ...], tuple[int, ...]]:
    """Return (symbols, weights) of a legend entry `{one_of: […], weights: […]}`, which picks one of
    its objects at random. `entries` are its keys; `draws` has the scenario's random values."""
    for key in ("object", "state", "color", "content"):
        if key in entries:
            raise entries[key].error(f"`{key}` belongs in the items of `one_of`")
    items = fields.items(entries["one_of"])
    if not 1 <= len(items) <= _MAX_OPTIONS:
        raise entries["one_of"].error(f"found {len(items)}, expected 1 to {_MAX_OPTIONS}")
    symbols = tuple(read_symbol(draws, item) for item in items)
    for item, symbol in zip(items, symbols, strict=True):
        if symbol.one_of or symbol.facing is not None:
            raise item.error("an item of `one_of` is an object; put all else beside `one_of`")
    if "weights" in entries:
        return symbols, read_weights(entries["weights"], len(symbols))
    return symbols, (1,) * len(symbols)


_MAX_OPTIONS = 100


@dataclass(frozen=True)
class LevelSource:
    """Input of the readers of a level: the parts of its scenario that the level depends on.

    Attributes:
        entries: top-level nodes of the scenario by key.
        draws: random values of its key `draw`.
        legend: the scenario's own symbols; `LEGEND` applies to all other characters.
        objects, colors: type and colour indices that the state space allows on the grid.
        max_agents: maximum number of agents in the level.
        levels: levels of the pack, if it is a scenario with the key `levels`.
    """

    entries: Mapping[str, YamlNode]
    draws: RandomValues
    legend: Legend
    objects: Collection[int]
    colors: Collection[int]
    max_agents: int = 1
    levels: Sequence[PackLevel] = ()

    def find_fault(self, symbol: Symbol) -> str:
        """Return an error message if the type or colour of a map character's object is not in the
        state space, else ""."""
        for option in chain.from_iterable(part.options for part in (symbol, *symbol.below)):
            for kind in self.draws.list_possible_values(option.kind):
                name = self.draws.names.types[kind].name
                if kind not in self.objects:
                    return f"{name}, {_UNLISTED.format('objects')}"
                for color in self.draws.list_possible_values(option.color):
                    if color not in self.colors:
                        return f"{name} in {COLORS[color]}, {_UNLISTED.format('colors')}"
        return next(filter(None, map(self.find_fault, symbol.contents)), "")


def read_map(source: LevelSource, node: YamlNode) -> tuple[Call, ...]:
    """Return the reset functions, with their arguments, that build the level drawn in a YAML map
    without random parts. `source` has the legend and collects errors."""
    level = MapReader(source, node)
    level.require_agent()
    height, width = map(round_up_size, level.shape)
    cells = np.full((height, width, 3), (FLOOR, 0, 0), np.uint8)
    depth = max((len(symbol.below) for _, _, symbol in level.iter_symbols()), default=0)
    lower, starts = [cells.copy() for _ in range(depth)], []
    for y, x, symbol in level.iter_symbols():
        cells[y, x] = symbol.kind, symbol.state, symbol.color
        if symbol.facing is not None:
            starts.append((y, x, symbol.facing))
        for layer, part in zip(lower, symbol.below):
            layer[y, x] = part.kind, part.state, part.color
    for layer in (cells, *lower):
        layer.flags.writeable = False
    arguments = {
        "shape": level.shape,
        "cells": cells,
        "starts": np.array(starts or [(-1, -1, FORWARD)]),
    }
    reset = Call(get_system(from_map), arguments)
    return reset, *(Call(get_system(ground_of_map), {"cells": layer}) for layer in lower)


_UNLISTED = "not among the state space's {0}; list it under `state_space: {0}`"


_KEY = re.compile(r"[a-z_]{2,}:(?=\s|$)")


class MapReader:
    """Map as rows of characters, checked against the legend; collects all errors.

    Attributes:
        rows: rows of characters.
        shape: (height, width).
        legend: symbols by character, the built-in ones included.
        agents: positions of agents as text, such as "row 2, column 3".
    """

    def __init__(self, source: LevelSource, node: YamlNode) -> None:
        """Read the map in a YAML node. `source` has the legend and collects errors."""
        self._problems = source.draws.problems
        self._source = source
        self._node = node
        self.legend = {**LEGEND, **source.legend}
        self.rows = self._split_rows()
        self.shape = len(self.rows), len(self.rows[0])
        self.agents: list[str] = []
        # reported once, so that one slip does not fill the screen
        self._wrong_characters: set[str] = set()
        for y, row in enumerate(self.rows):
            for x, character in enumerate(row):
                if character not in self._wrong_characters:
                    self._check_cell(y, x, character)

    def require_agent(self) -> None:
        """Add an error if no character of the map stands for an agent."""
        if not self.agents and not self._wrong_characters and self._source.max_agents:
            message = f"no agent; put one of {list_agent_characters(self.legend)} where it starts"
            self._problems.add(self._node, message)

    def iter_symbols(self) -> Iterator[tuple[int, int, Symbol]]:
        """Yield (y, x, legend entry) for each map cell with a valid character, row by row."""
        for y, row in enumerate(self.rows):
            for x, character in enumerate(row):
                if symbol := self.legend.get(character):
                    yield y, x, symbol

    def _cell_node(self, y: int, x: int = 0) -> YamlNode:
        first, cell = self._node.first_row, (y, x)
        return replace(self._node, line=self._node.line if first is None else first + y, cell=cell)

    def _split_rows(self) -> list[str]:
        """Return the rows of the map as strings, cut to the length of the first row. Raise
        FieldError if the YAML node is not a map."""
        node = self._node
        if node.folded:
            raise node.error("its rows are joined into one line; write `map: |`")
        rows = node.text.rstrip("\n").split("\n")
        if not rows[0] and any(rows):
            raise node.error("row 0 is empty; take out the empty line above the rows")
        for y, row in enumerate(rows):
            if ":" not in self.legend and (key := _KEY.match(row)):
                raise self._cell_node(y).error(
                    f"row {y} looks like the key {key[0]!r}; indent keys less than map rows"
                )
        if isinstance(node.value, dict | list) or not rows[0]:
            raise node.error(
                f"found {node.summary}, expected rows of characters: `map: |`, and below it "
                f"the rows, all indented alike"
            )
        for y, row in enumerate(rows):
            if "\t" in row:
                raise self._cell_node(y).error(f"row {y} has a tab; use spaces or dots")
            if len(row) != len(rows[0]):
                self._report_length(y, row, len(rows[0]))
        if max(len(rows), len(rows[0])) > fields.MAX_SIDE:
            found = f"{len(rows)} rows of {len(rows[0])} cells"
            raise node.error(f"found {found}, allowed are at most {fields.MAX_SIDE} of each")
        return [row[: len(rows[0])] for row in rows]

    def _report_length(self, y: int, row: str, width: int) -> None:
        """Report that row `y` does not have `width` characters, as the first row has."""
        if len(row.lstrip(" ")) == width:
            fix = "indent all rows alike"
        elif len(row) < width:
            fix = f"add {format_count(width - len(row), 'character')}"
        else:
            fix = f"take {format_count(len(row) - width, 'character')} away"
        self._problems.add(
            self._cell_node(y, min(len(row), width)),
            f"row {y}, {shorten(row, 40)!r}, is {len(row)} characters long, row 0 is {width}; "
            f"{fix}",
        )

    def _check_cell(self, y: int, x: int, character: str) -> None:
        """Report an error if a map character is unknown, not allowed in maps, or one agent too
        many. The cell is at row `y`, column `x`."""
        symbol = self.legend.get(character)
        if symbol is None:
            self._wrong_characters.add(character)
            if character not in self.legend:  # else its entry has an error of its own
                allowed = (c.replace(" ", "blank") for c in self.legend)
                hint = describe_allowed(character, allowed)
                self._report(y, x, f"no {character!r} in the legend{hint}")
            return
        if fault := self._source.find_fault(symbol):
            self._wrong_characters.add(character)
            self._report(y, x, f"{character!r} is {fault}")
        if symbol.facing is not None:
            self._add_agent(y, x)

    def _add_agent(self, y: int, x: int) -> None:
        """Count the agent at row `y`, column `x`. Report it if there are more agents in the map
        than in the scenario."""
        max_agents = self._source.max_agents
        if len(self.agents) >= max_agents:
            fault = f"agent {len(self.agents) + 1}, and there are {max_agents}"
            if max_agents == 0:
                fault = "an agent, which its component Bodiless keeps off the grid"
            elif max_agents == 1:
                first = f"a second agent, the first is in {self.agents[0]}"
                fault = f"{first}; for more write `agents: {{number: 2}}`"
            self._report(y, x, fault)
        self.agents.append(format_cell(y, x))

    def _report(self, y: int, x: int, message: str) -> None:
        self._problems.add(self._cell_node(y, x), f"{format_cell(y, x)}: {message}")


# The functions below show grids and objects as text.

_AGENT_CHARACTERS = {
    symbol.facing: char for char, symbol in LEGEND.items() if symbol.facing is not None
}
_OBJECT_CHARACTERS = {
    (symbol.kind, symbol.state): char
    for char, symbol in reversed(LEGEND.items())
    if symbol.facing is None
}
_UNDESCRIBED = [[kind, 0, NONE] for kind in (HIDDEN, FLOOR, WALL)]
"""Cells that the text of a view does not describe: hidden, floor and walls."""


def grid_to_text(
    grid: NDArray[np.uint8], types: ObjectTypes, agent: tuple[int, int, int] | None = None
) -> str:
    """Draw a grid as text with one character per cell; `?` stands for a hidden cell. `grid` is an
    (H, W, 3) array of (type, state, colour) indices, `agent` its (y, x, facing).

    Objects without a character of their own show the first letter of their type's name.

    Args:
        types: object types of the scenario.
        agent: (y, x, facing) of the agent to draw, None for no agent.
    """
    rows = [
        [_object_character(types, kind, state) for kind, state in row]
        for row in grid[..., :2].tolist()
    ]
    if agent is not None:
        y, x, facing = agent
        if 0 <= y < len(rows) and 0 <= x < len(rows[0]):
            rows[y][x] = _AGENT_CHARACTERS[facing]
    return "\n".join("".join(row) for row in rows)


def _object_character(types: ObjectTypes, kind: int, state: int) -> str:
    if kind == HIDDEN:
        return "?"
    return _OBJECT_CHARACTERS.get((kind, state)) or types[kind].name[0].upper()


def view_to_text(
    grid: NDArray[np.uint8],
    item: NDArray[np.uint8],
    types: ObjectTypes,
    observer: tuple[int, int, int],
) -> str:
    """Return an observation as text: the visible cells as characters, the held object, and a list
    of objects with their positions relative to the agent. `grid` is (h, w, 3), `item` (3,),
    `observer` the agent's (y, x, facing).

    >>> from gv_engine.objects import OBJECT_TYPES
    >>> grid = np.full((3, 3, 3), (2, 0, 0), np.uint8)
    >>> grid[0, 2] = 5, 2, 4
    >>> print(view_to_text(grid, np.zeros(3, np.uint8), OBJECT_TYPES, (2, 1, FORWARD)))
    ..D
    ...
    .^.
    holding nothing
    locked yellow door: 2 ahead, 1 right
    """
    held = describe_object(types, *item.tolist()) if item[0] != NONE_GRID_OBJECT else "nothing"
    lines = [grid_to_text(grid, types, observer), f"holding {held}"]
    agent_y, agent_x, facing = observer
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    for y, row in enumerate(grid.tolist()):
        for x, cell in enumerate(row):
            if cell not in _UNDESCRIBED:
                dy, dx = y - agent_y, x - agent_x
                offset = _format_offset(dy * ahead_y + dx * ahead_x, dy * ahead_x - dx * ahead_y)
                lines.append(f"{describe_object(types, *cell)}: {offset}")
    return "\n".join(lines)


def format_mission(mission: str) -> str:
    """Return the line of a text observation that states the mission."""
    return escape_unprintable(f"mission: {mission}")


def format_numbers(numbers: Iterable[ShownNumber]) -> str:
    """Return the line of a text observation that lists the numbers of the agent's state vector."""
    return escape_unprintable(", ".join(f"{number.label} {number.text}" for number in numbers))


def _format_offset(ahead: int, right: int) -> str:
    directions = (ahead, "ahead", "behind"), (right, "right", "left")
    parts = [f"{abs(n)} {word if n > 0 else opposite}" for n, word, opposite in directions if n]
    return ", ".join(parts) or "here"


def frame_to_text(frame: Frame) -> str:
    """Return a frame, the drawn state of an episode after one step, as text: state and observation
    side by side, and a line about the step."""
    left = grid_to_text(frame.grid, frame.types, frame.agent).split("\n")
    right = grid_to_text(frame.observation, frame.types, frame.observer).split("\n")
    rows = zip_longest(left, right, fillvalue="")
    lines = [f"{a:{len(left[0])}}   {b}".rstrip() for a, b in rows]
    kind, _, color = frame.item
    held = "nothing"
    if kind != NONE_GRID_OBJECT:
        held = " ".join(filter(None, (COLORS[color] if color else "", frame.types[kind].name)))
    last_step = f"{frame.action}: {frame.reward:+g}, " if frame.action else ""
    outcome = f", {frame.outcome}" if frame.outcome else ""
    lines.append(f"{last_step}return {frame.total:+g}, step {frame.steps}, holding {held}{outcome}")
    if frame.mission:
        lines.append(format_mission(frame.mission))
    if frame.numbers:
        lines.append(format_numbers(frame.numbers))
    return "\n".join(lines)


def describe_object(types: ObjectTypes, kind: int, state: int, color: int) -> str:
    """Return an object in words, such as "locked yellow door". `kind`, `state` and `color` are
    indices.

    >>> from gv_engine.objects import OBJECT_TYPES
    >>> describe_object(OBJECT_TYPES, 5, 2, 4)
    'locked yellow door'
    """
    object_type = types[kind]
    state_name = object_type.states[state].lower() if object_type.states else ""
    color_name = COLORS[color].lower() if color else ""
    name = to_snake_case(object_type.name).replace("_", " ")
    return " ".join(filter(None, (state_name, color_name, name)))


def format_reward(value: float) -> str:
    """Return a reward with its sign: +1, -0.05, 0."""
    value = round(value, 9)  # a sum of floats may miss 0
    return f"{value:+.6g}" if value else "0"
