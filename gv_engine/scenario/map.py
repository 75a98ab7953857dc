"""Boards as text, in the characters of scenario maps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT, YELLOW
from components.doors import CLOSED, LOCKED, OPEN
from components.items import Box
from components.objects import BEACON, BOX, DOOR, EXIT, KEY, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine.rules.call import Call
from gv_engine.rules.component import snake_case
from gv_engine.rules.errors import printable
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, ORIENTATIONS, RIGHT
from gv_engine.rules.objects import ABOVE, COLORS, GROUND, ObjectType, ObjectTypes
from gv_engine.rules.system import marked
from gv_engine.scenario.fields import (
    MAX_SIDE,
    ErrorCollector,
    FieldError,
    YamlNode,
    items,
    mapping,
    read_choice,
    read_color,
    read_fields,
    suggestion,
    text,
)
from gv_engine.scenario.json_schema import (
    COLOR,
    OBJECT,
    TEXT,
    Key,
    KeyTable,
    any_of,
    enum_schema,
    integer_schema,
    list_of,
)
from gv_engine.scenario.layout import rounded
from gv_engine.scenario.random_values import COLOR as A_COLOR
from gv_engine.scenario.random_values import MAX_WEIGHT, WAY, RandomValues, read_weights
from gv_engine.scenario.random_values import OBJECT as AN_OBJECT
from gv_engine.scenario.resolver import NameResolver
from systems.chance import ANY, ground_of_map
from systems.reset import from_map

# ---- map -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Symbol:
    """What a character stands for: an object, and maybe the agent looking in a direction.

    Attributes:
        kind, state, color: of the object; below zero for values that are drawn, see `RandomValues`.
        facing: of the agent, `ANY` for any orientation.
        one_of: what it is one of, in place of the object.
        weights: how likely each of these is.
        room: the name of the room that the cell belongs to.
        content: what is in the object.
        holds: what the agent holds.
        ground: what lies beneath it.
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

    @property
    def options(self) -> tuple[Symbol, ...]:
        """All objects that it may stand for."""
        return self.one_of or (self,)

    @property
    def inner(self) -> tuple[Symbol, ...]:
        """What is in the objects, and in the agent's hand."""
        contents = [option.content for option in self.options]
        return tuple(symbol for symbol in (*contents, self.holds) if symbol)

    @property
    def depth(self) -> int:
        """How many objects it is at most, one in the other."""
        return 1 + max((symbol.depth for symbol in self.inner), default=0)

    @property
    def is_certain(self) -> bool:
        """Whether it stands for the same in every level, and for no more than a cell holds."""
        told = self.kind, self.state, self.color, self.facing or 0
        certain = min(told) >= 0 and self.facing != ANY
        below = self.ground is None or self.ground.is_certain
        return certain and below and not (self.one_of or self.room or self.inner)


_INNER = any_of(OBJECT, {"type": "object"})
SYMBOL_KEYS: KeyTable = {
    "object": Key("The name of what stands there; Floor, if left out.", OBJECT),
    "state": Key("The name of its state; its first, if left out.", TEXT),
    "color": Key("Its colour; NONE, if left out.", COLOR),
    "content": Key("What is in it, if it is a box: an object, one of several, or Floor.", _INNER),
    "agent": Key(
        "The agent stands there and looks that way; `any` of them.",
        enum_schema((*ORIENTATIONS, "any")),
    ),
    "holds": Key("What the agent holds: an object, one of several, or Floor.", _INNER),
    "one_of": Key(
        "What it is one of, by chance, in place of `object`.", list_of(_INNER, minItems=1)
    ),
    "weights": Key("How likely each of `one_of` is.", list_of(integer_schema(1, MAX_WEIGHT))),
}
LEGEND_KEYS: KeyTable = {
    **SYMBOL_KEYS,
    "room": Key("The name of the room that the cell belongs to.", TEXT),
    "ground": Key(
        "What lies beneath it, of a type whose layer is the ground: a name, or as beside it.",
        any_of(OBJECT, {"type": "object"}),
    ),
}

Legend = dict[str, Symbol | None]
"""By character; None where the scenario's own entry is wrong."""

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
"""What characters stand for unless a scenario says otherwise."""


def read_legend(
    problems: ErrorCollector, names: NameResolver, draws: RandomValues, node: YamlNode
) -> Legend:
    """The entries of a legend: `C: Coin`, `K: {object: Key, color: RED}`, `a: {agent: LEFT}`."""
    legend: Legend = {}
    for character, entry in mapping(node).items():
        with problems.collect():
            legend[character] = None
            if len(character) != 1 or not character.isprintable():
                raise FieldError(entry, f"found the key {character!r}, expected a single character")
            legend[character] = read_symbol(problems, names, draws, entry, ("room", "ground"))
    return legend


def read_symbol(
    problems: ErrorCollector,
    names: NameResolver,
    draws: RandomValues,
    node: YamlNode,
    besides: tuple[str, ...] = (),
) -> Symbol:
    """An object, one of several, or the agent: what stands in a cell.

    Args:
        besides: keys that are allowed next to those of a symbol.
    """
    if not isinstance(node.value, dict):
        return Symbol(draws.read_value(node, (AN_OBJECT,), names.resolve_object_type))
    entries = read_fields(problems, node, (*SYMBOL_KEYS, *besides))
    if not entries.keys() & {"object", "agent", "one_of", "room", "ground"}:
        misspelled = len(entries) < len(node.value)
        raise FieldError(node, "" if misspelled else "found neither `object` nor `agent`")
    if "ground" in entries:
        above = {key: entry for key, entry in entries.items() if key != "ground"}
        symbol = Symbol()
        if above:
            symbol = read_symbol(problems, names, draws, replace(node, value=above), besides)
        below = read_symbol(problems, names, draws, entries["ground"])
        _check_layers(names, draws, node, symbol, ABOVE)
        _check_layers(names, draws, entries["ground"], below, GROUND)
        return replace(symbol, ground=below)
    room = text(entries["room"]) if "room" in entries else ""
    facing = holds = content = None
    if "agent" in entries:
        facing = draws.read_value(entries["agent"], (WAY,), _facing)
    if "holds" in entries:
        if facing is None:
            raise FieldError(entries["holds"], "only an `agent` holds something")
        holds = _inner(problems, names, draws, entries["holds"])
    if "one_of" in entries:
        several, weights = _one_of(problems, names, draws, entries)
        return Symbol(facing=facing, one_of=several, weights=weights, room=room, holds=holds)
    if "weights" in entries:
        raise FieldError(entries["weights"], "`weights` goes with `one_of`")
    kind, state, color = FLOOR, 0, NONE
    if "object" in entries:
        kind = draws.read_value(entries["object"], (AN_OBJECT,), names.resolve_object_type)
    known = [names.types[option] for option in draws.list_possible_values(kind)]
    if "state" in entries:
        states = {draws.read_state(entries["state"], each.index) for each in known}
        state = states.pop()
        if states:
            where = " and ".join(each.name for each in known)
            raise FieldError(entries["state"], f"this state has another number in {where}")
    if "color" in entries:
        color = draws.read_value(entries["color"], (A_COLOR,), read_color)
        for each in known:
            if draws.list_possible_values(color) != (NONE,) and not each.colored:
                raise FieldError(entries["color"], _uncolored(names, entries, each))
    if "content" in entries:
        for each in known:
            if Box not in each.classes:
                raise FieldError(entries["content"], f"{each.name} has no component Box to hold it")
        content = _inner(problems, names, draws, entries["content"])
    return Symbol(kind, state, color, facing, room=room, content=content, holds=holds)


def _uncolored(names: NameResolver, entries: dict[str, YamlNode], kind: ObjectType) -> str:
    if "object" not in entries:
        return "goes with `object`; what is held has its own, holds: {object: Key, color: RED}"
    hint = (
        f"; give it one by `colored: yes` under objects.{kind.name}"
        if kind in names.declared_types
        else ""
    )
    return f"{kind.name} has no colour{hint}"


def _inner(
    problems: ErrorCollector, names: NameResolver, draws: RandomValues, node: YamlNode
) -> Symbol:
    """What is in a box or in the agent's hand."""
    symbol = read_symbol(problems, names, draws, node)
    if symbol.facing is not None:
        raise FieldError(node, "found an agent, expected an object: {object: Key, color: RED}")
    return symbol


def _check_layers(
    names: NameResolver, draws: RandomValues, node: YamlNode, symbol: Symbol, layer: str
) -> None:
    """Refuse what does not live on a layer of a cell."""
    if layer == GROUND and symbol.facing is not None:
        raise FieldError(node, "the agent stands on the ground: write `agent` beside `ground`")
    for kind in (
        kind for option in symbol.options for kind in draws.list_possible_values(option.kind)
    ):
        known = names.types[kind]
        if kind != FLOOR and known.layer != layer:
            hint = f"only a type with `layer: {layer}` may stand here"
            raise FieldError(node, f"{known.name} has the layer `{known.layer}`; {hint}")


def _facing(node: YamlNode) -> int:
    return read_choice(node, (*ORIENTATIONS, "any"), "orientation")


def _one_of(
    problems: ErrorCollector, names: NameResolver, draws: RandomValues, entries: dict[str, YamlNode]
) -> tuple[tuple[Symbol, ...], tuple[int, ...]]:
    for key in ("object", "state", "color", "content"):
        if key in entries:
            raise FieldError(entries[key], f"`{key}` belongs into the items of `one_of`")
    several = items(entries["one_of"])
    if not 1 <= len(several) <= _MOST_OPTIONS:
        raise FieldError(entries["one_of"], f"found {len(several)}, expected 1 to {_MOST_OPTIONS}")
    found = tuple(read_symbol(problems, names, draws, item) for item in several)
    for item, symbol in zip(several, found, strict=True):
        if symbol.one_of or symbol.facing is not None:
            raise FieldError(item, "an item of `one_of` is an object; put all else beside `one_of`")
    weights = (1,) * len(found)
    if "weights" in entries:
        weights = read_weights(entries["weights"], len(found))
    return found, weights


_MOST_OPTIONS = 100


def read_map(
    problems: ErrorCollector,
    node: YamlNode,
    legend: Legend,
    allowed: Callable[[Symbol], str],
    agents: int = 1,
) -> tuple[Call, ...]:
    """The resets that a map draws.

    Args:
        agents: how many there are, at most, in it.
        legend: the scenario's own entries; `LEGEND` holds for all other characters.
        allowed: what keeps a symbol out of the state space, as `outside` says it.
    """
    level = MapReader(problems, node, legend, allowed, agents)
    level.ask_for_agent()
    height, width = level.shape
    cells = np.zeros((rounded(height), rounded(width), 3), np.uint8)
    cells[..., 0] = FLOOR
    starts = []
    for y, x, symbol in level.symbols():
        cells[y, x] = symbol.kind, symbol.state, symbol.color
        if symbol.facing is not None:
            starts.append((y, x, symbol.facing))
    cells.flags.writeable = False
    given = {"shape": level.shape, "cells": cells, "starts": np.array(starts or [(0, 0, FORWARD)])}
    reset = Call(marked(from_map).system, given)
    if not any(symbol.ground for _, _, symbol in level.symbols()):
        return (reset,)
    ground = np.zeros((*cells.shape[:2], 3), np.uint8)
    ground[..., 0] = FLOOR
    for y, x, symbol in level.symbols():
        if below := symbol.ground:
            ground[y, x] = below.kind, below.state, below.color
    ground.flags.writeable = False
    return reset, Call(marked(ground_of_map).system, {"cells": ground})


_UNLISTED = "not among the state space's {0}; list it under `state_space: {0}`"


def outside(
    names: NameResolver, draws: RandomValues, kinds: Collection[int], colors: Collection[int]
) -> Callable[[Symbol], str]:
    """Makes what says of a symbol why it is outside of the state space; "" if it is not.

    Args:
        kinds, colors: what the state space allows on the grid.
    """

    def fault(symbol: Symbol) -> str:
        for option in (*symbol.options, *(symbol.ground.options if symbol.ground else ())):
            for number in draws.list_possible_values(option.kind):
                kind = names.types[number].name
                if number not in kinds:
                    return f"{kind}, {_UNLISTED.format('objects')}"
                for color in draws.list_possible_values(option.color):
                    if color not in colors:
                        return f"{kind} in {COLORS[color]}, {_UNLISTED.format('colors')}"
        return next(filter(None, map(fault, symbol.inner)), "")

    return fault


class MapReader:
    """A map, read; what is wrong with it is collected.

    Attributes:
        rows: of characters.
        shape: (height, width).
        agents: where agents stand, in words.
    """

    def __init__(
        self,
        problems: ErrorCollector,
        node: YamlNode,
        legend: Legend,
        allowed: Callable[[Symbol], str],
        agents: int = 1,
    ) -> None:
        self._problems = problems
        self._most = agents
        self._node = node
        self.legend = {**LEGEND, **legend}
        self._allowed = allowed
        self.rows = self._rows()
        self.shape = len(self.rows), len(self.rows[0])
        self.agents: list[str] = []
        self._wrong: set[str] = set()
        for y, row in enumerate(self.rows):
            for x, character in enumerate(row):
                self._read(y, x, character)

    def ask_for_agent(self) -> None:
        """Make it a problem if no character has the agent."""
        if not self.agents and not self._wrong:
            looks = " ".join(
                c for c, symbol in self.legend.items() if symbol and symbol.facing is not None
            )
            self._problems.add(self._node, f"no agent; put one of {looks} where it starts")

    def symbols(self) -> Iterator[tuple[int, int, Symbol]]:
        """(y, x, symbol) of every cell whose character is understood, row by row."""
        for y, row in enumerate(self.rows):
            for x, character in enumerate(row):
                if symbol := self.legend.get(character):
                    yield y, x, symbol

    def _at(self, y: int, x: int = 0) -> YamlNode:
        first, cell = self._node.first_row, (y, x)
        return replace(self._node, line=self._node.line if first is None else first + y, cell=cell)

    def _rows(self) -> list[str]:
        if self._node.folded:
            raise FieldError(self._node, "its rows are joined into one line; write `map: |`")
        rows = self._node.text.rstrip("\n").split("\n")
        if isinstance(self._node.value, dict | list) or not rows[0]:
            raise FieldError(self._node, f"found {self._node.summary}, expected rows of characters")
        for y, row in enumerate(rows):
            if "\t" in row:
                raise FieldError(self._at(y), f"row {y + 1} has a tab; use spaces or dots")
            if len(row) != len(rows[0]):
                self._problems.add(
                    self._at(y, min(len(row), len(rows[0]))),
                    f"row {y + 1} is {len(row)} characters long, row 1 is {len(rows[0])}; all rows "
                    f"must be as long as the first",
                )
        if max(len(rows), len(rows[0])) > MAX_SIDE:
            raise FieldError(self._node, f"larger than {MAX_SIDE} rows or columns")
        return [row[: len(rows[0])] for row in rows]

    def _read(self, y: int, x: int, character: str) -> None:
        if character in self._wrong:
            return  # said once, or one slip would fill the screen
        place = f"row {y + 1}, column {x + 1}"
        symbol = self.legend.get(character)
        if symbol is None:
            self._wrong.add(character)
            if character not in self.legend:
                hint = suggestion(character, (c if c != " " else "blank" for c in self.legend))
                self._problems.add(self._at(y, x), f"{place}: no {character!r} in the legend{hint}")
            return
        if fault := self._allowed(symbol):
            self._wrong.add(character)
            self._problems.add(self._at(y, x), f"{place}: {character!r} is {fault}")
        if symbol.facing is not None:
            if len(self.agents) >= self._most:
                fault = f"a second agent, the first is in {self.agents[0]}"
                if self._most > 1:
                    fault = f"agent {len(self.agents) + 1}, and there are {self._most}"
                self._problems.add(self._at(y, x), f"{place}: {fault}")
            self.agents.append(place)


# ---- text ----------------------------------------------------------------------------------------

_AGENT = {symbol.facing: char for char, symbol in LEGEND.items() if symbol.facing is not None}
_OBJECT = {
    (symbol.kind, symbol.state): char
    for char, symbol in reversed(LEGEND.items())
    if symbol.facing is None
}
_PLAIN = [[kind, 0, NONE] for kind in (HIDDEN, FLOOR, WALL)]
"""What no words are needed for."""


def board(
    grid: NDArray[np.uint8], types: ObjectTypes, agent: tuple[int, int, int] | None = None
) -> str:
    """One character per cell of an (H, W, 3) grid, `?` where nothing is seen.

    Objects without a character of their own show the first letter of their type.

    Args:
        types: of the scenario.
        agent: y, x, facing.
    """
    rows = [[_char(types, *look) for look in row] for row in grid[..., :2].tolist()]
    if agent is not None:
        y, x, facing = agent
        if 0 <= y < len(rows) and 0 <= x < len(rows[0]):
            rows[y][x] = _AGENT[facing]
    return "\n".join("".join(row) for row in rows)


def _char(types: ObjectTypes, kind: int, state: int) -> str:
    if kind == HIDDEN:
        return "?"
    return _OBJECT.get((kind, state)) or types[kind].name[0].upper()


def view_text(
    grid: NDArray[np.uint8],
    item: NDArray[np.uint8],
    types: ObjectTypes,
    observer: tuple[int, int],
    mission: str = "",
) -> str:
    """A view as text: its characters, what to do, what is held, and where there is something.

    >>> grid = np.full((3, 3, 3), (2, 0, 0), np.uint8)
    >>> grid[0, 2] = 5, 2, 4
    >>> print(view_text(grid, np.zeros(3, np.uint8), OBJECT_TYPES, (2, 1)))
    ..D
    ...
    .^.
    holding nothing
    locked yellow door: 2 ahead, 1 right
    """
    held = object_words(types, *item.tolist()) if item[0] != NONE_GRID_OBJECT else "nothing"
    asked = [mission_line(mission)] if mission else []
    lines = [board(grid, types, (*observer, FORWARD)), *asked, f"holding {held}"]
    for y, row in enumerate(grid.tolist()):
        for x, look in enumerate(row):
            if look not in _PLAIN:
                where = _where(observer[0] - y, x - observer[1])
                lines.append(f"{object_words(types, *look)}: {where}")
    return "\n".join(lines)


def mission_line(mission: str) -> str:
    """How a text says what the agent is asked to do."""
    return printable(f"mission: {mission}")


def _where(ahead: int, right: int) -> str:
    ways = (ahead, "ahead", "behind"), (right, "right", "left")
    parts = [f"{abs(n)} {there if n > 0 else back}" for n, there, back in ways if n]
    return ", ".join(parts) or "here"


def grid_text(frame: Frame) -> str:
    """State and observation side by side, and a line with what happened."""
    left = board(frame.grid, frame.types, frame.agent).split("\n")
    right = board(frame.observation, frame.types, (*frame.observer, 0)).split("\n")
    height, width = max(len(left), len(right)), len(left[0])
    left += [" " * width] * (height - len(left))
    right += [""] * (height - len(right))
    kind, _, color = frame.item
    held = "nothing"
    if kind:
        held = " ".join(filter(None, (COLORS[color] if color else "", frame.types[kind].name)))
    last = f"{frame.action}: {frame.reward:+g}, " if frame.action else ""
    line = f"{last}return {frame.total:+g}, step {frame.steps}, holding {held}"
    if frame.outcome:
        line += f", {frame.outcome}"
    lines = [*(f"{a}   {b}".rstrip() for a, b in zip(left, right, strict=True)), line]
    return "\n".join([*lines, *([mission_line(frame.mission)] if frame.mission else [])])


def object_words(types: ObjectTypes, kind: int, state: int, color: int) -> str:
    """What people call an object.

    >>> object_words(OBJECT_TYPES, 5, 2, 4)
    'locked yellow door'
    """
    shown = types[kind]
    state_name = shown.states[state].lower() if shown.states else ""
    color_name = COLORS[color].lower() if color else ""
    name = snake_case(shown.name).replace("_", " ")
    return " ".join(filter(None, (state_name, color_name, name)))


def signed(value: float) -> str:
    """A reward as text: +1, -0.05, 0."""
    return f"{value:+.6g}" if value else "0"
