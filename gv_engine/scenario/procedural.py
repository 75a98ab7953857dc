"""Levels by chance: maps of several, things in regions, and what must be reachable in the end.

    room: [9, 9]
    place:
      - {object: Exit, in: [[1, 7], [7, 7]]}
      - {object: Key, color: $color, count: [1, $n], not_next_to: [Exit]}
      - {agent: any}
    reachable: [agent, Exit]

All of it becomes tables of a few resets, see `systems.chance`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.rules.call import Call
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.system import marked
from gv_engine.scenario.fields import (
    MAX_CELLS,
    MAX_SIDE,
    ErrorCollector,
    FieldError,
    YamlNode,
    integer,
    items,
    mapping,
    read_choice,
    read_distinct,
    read_fields,
    read_pair,
    suggestion,
    text,
)
from gv_engine.scenario.json_schema import (
    OBJECT,
    PAIR,
    TEXT,
    JsonSchema,
    Key,
    KeyTable,
    any_of,
    enum_schema,
    integer_schema,
    list_of,
    map_of,
    object_schema,
    unique_list,
)
from gv_engine.scenario.layout import rounded
from gv_engine.scenario.map import SYMBOL_KEYS, Legend, MapReader, Symbol, read_symbol
from gv_engine.scenario.random_values import RandomValues, make_table
from gv_engine.scenario.resolver import NameResolver
from systems.chance import (
    NOBODY,
    THE_AGENT,
    draw_level,
    from_maps,
    ground_of_maps,
    place_things,
    walled_room,
)

# ---- drawn maps ----------------------------------------------------------------------------------

_MOST_MAPS = 1000
_WAYS = {"turn": (0, 1, 2, 3), "mirror": (0, 4)}


class Tables:
    """What stands in cells, as tables: things by their numbers, then what is in them."""

    def __init__(self, given: Sequence[Symbol], types: ObjectTypes) -> None:
        symbols = [*given]
        numbers: dict[Symbol | None, int] = {None: 0}
        for symbol in symbols:  # which grows
            for inner in symbol.inner:
                numbers[inner] = len(symbols)
                symbols.append(inner)
        most = max([1, *(len(symbol.options) for symbol in symbols)])
        looks, weights = make_table(0, len(symbols), most, 4), make_table(0, len(symbols), most)
        looks[..., 0], weights[:, 0] = FLOOR, 1
        facings, holds = make_table(NOBODY, len(symbols)), make_table(0, len(symbols))
        for number, symbol in enumerate(symbols):
            looks[number, : len(symbol.options)] = [
                (each.kind, each.state, each.color, numbers[each.content])
                for each in symbol.options
            ]
            holds[number] = numbers[symbol.holds]
            weights[number, : len(symbol.weights)] = symbol.weights
            if symbol.facing is not None:
                facings[number] = symbol.facing
        oriented = make_table(0, max(kind.index for kind in types) + 1)
        for kind in types:
            oriented[kind.index] = kind.is_oriented
        self.arguments = {
            "looks": looks,
            "weights": weights,
            "facings": facings,
            "holds": holds,
            "oriented": oriented,
        }


class DrawnMaps:
    """Reads maps of which one is drawn, or a room; none of them where another reset builds levels.

    Args:
        entries: the scenario's top.
        draws: what its `draw` says.
        legend: what its `legend` says.
        allowed, agents: as for `read_map`.
        types: of the scenario.

    Attributes:
        shape: of the room, if there is one.
        maps: in their order.
        which, way: the places of drawn values, which map and how it lies.
    """

    def __init__(
        self,
        problems: ErrorCollector,
        entries: Mapping[str, YamlNode],
        draws: RandomValues,
        legend: Legend,
        allowed: Callable[[Symbol], str],
        types: ObjectTypes,
        agents: int = 1,
    ) -> None:
        self._types = types
        self._most = agents
        self._problems = problems
        self._entries = entries
        self._draws = draws
        self._legend = legend
        self._allowed = allowed
        self.shape: tuple[int, int] | None = None
        self.maps: list[MapReader] = []
        self.which = self.way = 0

    def read(self) -> tuple[Call, ...]:
        """The resets that build the level."""
        if "room" in self._entries:
            self.shape = read_pair(self._entries["room"])
            return (Call(marked(walled_room).system, {"shape": self.shape}),)
        node = self._entries.get("maps", self._entries.get("map"))
        assert node
        drawn = items(node) if "maps" in self._entries else [node]
        if not 1 <= len(drawn) <= _MOST_MAPS:
            raise FieldError(node, f"found {len(drawn)} maps, expected 1 to {_MOST_MAPS}")
        self.maps = [
            MapReader(self._problems, each, self._legend, self._allowed, self._most)
            for each in drawn
        ]
        ways = self._ways()
        self.which = self._draws.add_numbers(range(len(drawn)))
        self.way = self._draws.add_numbers(ways)
        shapes = make_table(1, len(drawn), 2, 2)
        shapes[: len(drawn)] = [
            (level.shape, level.shape[::-1] if 1 in ways else level.shape) for level in self.maps
        ]
        symbols = {c: s for level in self.maps for c, s in level.legend.items() if s}
        characters = list(symbols)
        cells = self.over_maps(lambda character: characters.index(character), node)
        lies = {"which": self.which, "way": self.way}
        level = Call(
            marked(from_maps).system,
            {
                **lies,
                "shapes": shapes,
                "cells": cells,
                **Tables(list(symbols.values()), self._types).arguments,
            },
        )
        below = {c: symbol.ground for c, symbol in symbols.items() if symbol.ground}
        if not below:
            return (level,)
        numbers = {c: number for number, c in enumerate(below)}
        cells = self.over_maps(lambda character: numbers.get(character, -1), node)
        tables = Tables(list(below.values()), self._types).arguments
        return level, Call(marked(ground_of_maps).system, {**lies, "cells": cells, **tables})

    def _ways(self) -> tuple[int, ...]:
        """How maps may lie."""
        if "symmetries" not in self._entries:
            return (0,)
        named: list[str] = []
        with self._problems.collect():
            node = self._entries["symmetries"]
            numbers = read_distinct(
                self._problems, node, lambda n: read_choice(n, _WAYS, "symmetry")
            )
            named = [list(_WAYS)[number] for number in numbers]
        turns = _WAYS["turn"] if "turn" in named else (0,)
        mirrors = _WAYS["mirror"] if "mirror" in named else (0,)
        return tuple(mirror + turn for mirror in mirrors for turn in turns)

    def over_maps(self, number: Callable[[str], int], node: YamlNode) -> NDArray[np.int64]:
        """A number for each character of all maps."""
        height, width = (rounded(max(m.shape[axis] for m in self.maps)) for axis in (0, 1))
        if len(self.maps) * height * width > MAX_CELLS:
            raise FieldError(node, f"{len(self.maps)} maps of up to {height}x{width} are too many")
        cells = np.zeros((len(make_table(0, len(self.maps))), height, width), np.int64)
        for k, level in enumerate(self.maps):
            known = {c: number(c) for row in level.rows for c in {*row} if level.legend.get(c)}
            for y, row in enumerate(level.rows):
                cells[k, y, : len(row)] = [known.get(character, 0) for character in row]
        return cells

    def ask_for_agent(self) -> None:
        """Note that nobody stands in the room, or in which of the maps."""
        if self.shape:
            node = self._entries["room"]
            self._problems.add(node, "no agent in the room; `place` it: {agent: any}")
        for level in self.maps:
            level.ask_for_agent()

    def free(self, reset: Call | None) -> list[NDArray[np.bool_]]:
        """The cells of each map that may be free; () if nothing is known."""
        if self.shape:
            free = np.zeros(self.shape, np.bool_)
            free[1:-1, 1:-1] = True
            return [free]
        found = []
        for level in self.maps:
            free = np.zeros(level.shape, np.bool_)
            for y, x, symbol in level.symbols():
                kinds = [
                    kind
                    for o in symbol.options
                    for kind in self._draws.list_possible_values(o.kind)
                ]
                free[y, x] = FLOOR in kinds and symbol.ground is None
            found.append(free)
        match reset and reset.arguments.get("shape"):
            case [int(height), int(width)]:
                found.append(np.ones((height, width), np.bool_))
        return found

    def rooms(self, number: int, marks: list[str]) -> NDArray[np.int64]:
        """(H, W) the room of each cell of a map, from 1 on; 0 for none."""
        level = self.maps[number]
        rooms = np.zeros(level.shape, np.int64)
        for y, x, symbol in level.symbols():
            rooms[y, x] = 1 + marks.index(symbol.room) if symbol.room else 0
        return rooms


# ---- chance --------------------------------------------------------------------------------------

_TRIES = 100
_MOST_TRIES = 10_000
_MOST_PLACES = _MOST_BOXES = 100
_LIST = list_of(TEXT)
_PLACES: KeyTable = {
    "count": Key(
        "How many: a number, or the least and the greatest.", {"type": ["integer", "array"]}
    ),
    "in": Key(
        "Where: a room, several, rows and columns from 0 on `[[1, 3], [5, 7]]`, or `{cells: […]}`.",
        {"type": ["string", "array", "object"]},
    ),
    "not_next_to": Key(
        "What must not stand in a cell beside it: `agent`, or objects.",
        {"type": ["string", "array"]},
    ),
}
_REACHED: KeyTable = {
    "things": Key("Where ways begin, and where they lead: [agent, Exit].", _LIST),
    "through": Key("Objects that are in nobody's way.", _LIST),
}
_REGIONS: JsonSchema = map_of({"type": ["string", "array", "object"]})

CHANCE_KEYS: KeyTable = {
    "draw": Key(
        "Values that a level draws once, for `$name` in legend and places: a list of options, "
        "`{one_of: …, weights: …, not: $name}` or `{from: 2, to: 4}`.",
        map_of({"type": ["array", "object"]}),
    ),
    "maps": Key("Maps of which one is drawn.", list_of(TEXT, minItems=1)),
    "symmetries": Key(
        "Whether maps are turned and mirrored by chance.",
        unique_list(enum_schema(["turn", "mirror"])),
    ),
    "room": Key("[height, width] of a room with walls around, in place of a map.", PAIR),
    "rooms": Key("Names for regions.", _REGIONS),
    "place": Key(
        "Things that are put into free cells, in this order.",
        list_of(any_of(OBJECT, object_schema({**SYMBOL_KEYS, **_PLACES}))),
        nested={**SYMBOL_KEYS, **_PLACES},
    ),
    "reachable": Key(
        "Ways must lead from the first to all others: [agent, Exit].",
        any_of(_LIST, object_schema(_REACHED)),
        nested=_REACHED,
    ),
    "tries": Key(
        "How many levels are drawn before that is an error.", integer_schema(1, _MOST_TRIES)
    ),
}
"""Those of levels by chance."""
_ANYWHERE = (0, MAX_SIDE, 0, MAX_SIDE)

Box = tuple[int, int, int, int]
"""First and last row, first and last column."""


class Region(NamedTuple):
    """Cells of a map: those of some boxes, and those of rooms that the map marks."""

    boxes: tuple[Box, ...] = (_ANYWHERE,)
    marks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Placement:
    """Things that are placed.

    Attributes:
        node: where it stands.
        symbol: what is placed.
        count: least and greatest number of things, as tables have them.
        region: where they may stand.
        apart: types that stand in no cell beside, `THE_AGENT` among them.
    """

    node: YamlNode
    symbol: Symbol
    count: tuple[int, int]
    region: Region
    apart: tuple[int, ...]


class ChanceReader:
    """Reads the level of a scenario in which something is drawn.

    Args:
        entries: the scenario's top.
        draws: what its `draw` says.
        legend: what its `legend` says.
        allowed, agents: as for `read_map`.

    Attributes:
        depth: how many objects are at most one in the other.
    """

    def __init__(
        self,
        problems: ErrorCollector,
        names: NameResolver,
        entries: Mapping[str, YamlNode],
        draws: RandomValues,
        legend: Legend,
        allowed: Callable[[Symbol], str],
        agents: int = 1,
    ) -> None:
        self._problems = problems
        self._most = agents
        self._names = names
        self._entries = entries
        self._draws = draws
        self._legend = legend
        self._allowed = allowed
        self._maps = DrawnMaps(problems, entries, draws, legend, allowed, names.types, agents)
        self._rooms: dict[str, Region] = {}
        self.depth = 1

    def call(self, reset: Call | None) -> Call:
        """The reset of the level.

        Args:
            reset: what builds the level, None for a room or maps.
        """
        levels = (reset,) if reset else self._maps.read()
        marked_rooms = [symbol.room for symbol in self._legend.values() if symbol and symbol.room]
        self._rooms = {room: Region((), (room,)) for room in marked_rooms}
        with self._problems.collect():
            self._read_rooms()
        places = self._places()
        if reset is None and not any(place.symbol.facing is not None for place in places):
            self._maps.ask_for_agent()
        for place in places:
            with self._problems.collect():
                self._check_room(place, reset)
        shown = [*filter(None, self._legend.values()), *(place.symbol for place in places)]
        self.depth = max([1, *(symbol.depth for symbol in shown)])
        resets = (*levels, *([self._placing(places)] if places else []))
        if len(self._draws):
            resets = (self._draws.make_call(), *resets)
        things, through = self._reachable()
        tries = _TRIES
        if "tries" in self._entries:
            if "reachable" not in self._entries:
                self._problems.add(self._entries["tries"], "`tries` goes with `reachable`")
            with self._problems.collect():
                tries = integer(self._entries["tries"], 1, _MOST_TRIES)
        return Call(
            marked(draw_level).system,
            {"reset_functions": resets, "things": things, "through": through, "tries": tries},
        )

    # ---- regions -----------------------------------------------------------------------------

    def _read_rooms(self) -> None:
        if "rooms" not in self._entries:
            return
        for name, node in mapping(self._entries["rooms"]).items():
            with self._problems.collect():
                if name in self._rooms:
                    raise FieldError(node, f"the legend marks the cells of {name} already")
                self._rooms[name] = self._area(node)

    def _region(self, node: YamlNode) -> Region:
        """A room, several `[west, east]`, or an area."""
        named = node.value if isinstance(node.value, list) else [node]
        if isinstance(node.value, dict) or not all(isinstance(n.value, str) for n in named):
            return self._area(node)
        rooms = []
        for each in named:
            if each.text not in self._rooms:
                known = suggestion(each.text, self._rooms) or "; name it under `rooms`"
                raise FieldError(each, f"no room {each.text!r}{known}")
            rooms.append(self._rooms[each.text])
        boxes = tuple(box for room in rooms for box in room.boxes)
        return Region(boxes, tuple(mark for room in rooms for mark in room.marks))

    def _area(self, node: YamlNode) -> Region:
        """`[[1, 3], [5, 7]]`, rows and columns, or `{cells: [[1, 5], [2, 6]]}`."""
        if isinstance(node.value, dict):
            entries = read_fields(self._problems, node, ("cells",))
            cells = items(entries["cells"]) if "cells" in entries else []
            if not 1 <= len(cells) <= _MOST_BOXES:
                raise FieldError(node, f"found {len(cells)} cells, expected 1 to {_MOST_BOXES}")
            return Region(tuple(self._box(cell) for cell in cells))
        return Region((self._box(node),))

    def _box(self, node: YamlNode) -> Box:
        sides = items(node)
        if len(sides) != 2:
            hint = "expected rows and columns, as in [[1, 3], [5, 7]]"
            raise FieldError(node, f"found {node.summary}, {hint}")
        (top, low), (left, right) = map(_limits, sides)
        return top, low, left, right

    # ---- places ------------------------------------------------------------------------------

    def _places(self) -> list[Placement]:
        found: list[Placement] = []
        with self._problems.collect():
            listed = items(self._entries["place"]) if "place" in self._entries else []
            if len(listed) > _MOST_PLACES:
                node = self._entries["place"]
                raise FieldError(
                    node, f"found {len(listed)} places, expected at most {_MOST_PLACES}"
                )
            for node in listed:
                with self._problems.collect():
                    found.append(self._place(node))
        agents = [place for place in found if place.symbol.facing is not None]
        for place in agents[self._most :]:
            which = "a second agent; there is one" if self._most == 1 else "an agent too many"
            self._problems.add(place.node, which)
        return found

    def _place(self, node: YamlNode) -> Placement:
        entries = node.value if isinstance(node.value, dict) else {}
        symbol = read_symbol(self._problems, self._names, self._draws, node, tuple(_PLACES))
        if fault := self._allowed(symbol):
            raise FieldError(node, f"it is {fault}")
        count, region, apart = (1, 1), Region(), list[int]()
        if "count" in entries:
            count = self._count(entries["count"])
            if symbol.facing is not None:
                raise FieldError(entries["count"], "it is one agent; leave it out")
        if "in" in entries:
            region = self._region(entries["in"])
        if "not_next_to" in entries:
            near = entries["not_next_to"]
            listed = near.value if isinstance(near.value, list) else [near]
            apart = [self._thing(each) for each in listed]
        return Placement(node, symbol, count, region, tuple(apart))

    def _count(self, node: YamlNode) -> tuple[int, int]:
        if not isinstance(node.value, list):
            number = self._draws.read_number(node, MAX_CELLS)
            return number, number
        if len(node.value) != 2:
            raise FieldError(
                node, f"found {node.summary}, expected the least and the greatest: [2, 4]"
            )
        return self._draws.read_range(node.value[0], node.value[1], MAX_CELLS)

    def _thing(self, node: YamlNode) -> int:
        """The agent, or a type of objects."""
        if text(node) == "agent":
            return THE_AGENT
        kind = self._names.resolve_object_type(node)
        if kind <= FLOOR:
            raise FieldError(node, f"found {node.text!r}, expected `agent` or an object")
        return kind

    def _check_room(self, place: Placement, reset: Call | None) -> None:
        """Refuse a region that has no room for all things of a place, as far as that is known."""
        most = max(self._draws.list_possible_values(place.count[1]))
        marks = [*self._rooms]
        for number, free in enumerate(self._maps.free(reset), 1):
            inside = np.zeros_like(free)
            for top, low, left, right in place.region.boxes:
                inside[top : low + 1, left : right + 1] = True
            if place.region.marks:
                rooms = self._maps.rooms(number - 1, marks)
                inside |= np.isin(rooms, [1 + marks.index(m) for m in place.region.marks])
            left_over = int((free & inside).sum())
            if left_over < most:
                where = f" of map {number}" if len(self._maps.maps) > 1 else ""
                room = "no free cell" if left_over == 0 else f"{left_over} free cells"
                raise FieldError(
                    place.node, f"up to {most} of it, where its region{where} has {room}"
                )

    def _placing(self, places: list[Placement]) -> Call:
        marks = [*self._rooms]
        lines, counts = make_table(0, len(places)), make_table(0, len(places), 2)
        boxes = make_table(
            -1, len(places), max(len(place.region.boxes) for place in places) or 1, 4
        )
        inside = make_table(-1, len(places), max(len(place.region.marks) for place in places) or 1)
        apart = make_table(-1, len(places), max(len(place.apart) for place in places) or 1)
        for k, place in enumerate(places):
            lines[k] = place.node.line or 0
            counts[k] = place.count
            for number, box in enumerate(place.region.boxes):
                boxes[k, number] = box
            inside[k, : len(place.region.marks)] = [1 + marks.index(m) for m in place.region.marks]
            apart[k, : len(place.apart)] = place.apart
        rooms = np.zeros((1, 1, 1), np.int64)
        if any(place.region.marks for place in places):
            node = self._entries["place"]
            room_of = {c: s.room for c, s in self._legend.items() if s and s.room}
            rooms = self._maps.over_maps(
                lambda c: 1 + marks.index(room_of[c]) if c in room_of else 0, node
            )
        return Call(
            marked(place_things).system,
            {
                "which": self._maps.which,
                "way": self._maps.way,
                "lines": lines,
                "counts": counts,
                "boxes": boxes,
                "marks": inside,
                "rooms": rooms,
                "apart": apart,
                **Tables([place.symbol for place in places], self._names.types).arguments,
            },
        )

    # ---- what must be reachable --------------------------------------------------------------

    def _reachable(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Types that ways must lead to, from the first one, and types that are in no way."""
        found: dict[str, list[int]] = {"things": [], "through": []}
        with self._problems.collect():
            if "reachable" in self._entries:
                node = self._entries["reachable"]
                entries = {"things": node}
                if isinstance(node.value, dict):
                    entries = read_fields(self._problems, node, found)
                for key, listed in entries.items():
                    found[key] = [self._thing(each) for each in items(listed)]
                if not 2 <= len(found["things"]) <= _MOST_PLACES:
                    raise FieldError(
                        node, "expected where ways begin, and where they lead: [agent, Exit]"
                    )
        tables = []
        for numbers in found.values():
            made = make_table(-1, len(numbers) or 1)
            made[: len(numbers)] = numbers
            tables.append(made)
        return tables[0], tables[1]


def _limits(node: YamlNode) -> tuple[int, int]:
    """One row or column, or the first and the last one."""
    if not isinstance(node.value, list):
        only = integer(node, 0, MAX_SIDE - 1)
        return only, only
    if len(node.value) != 2:
        raise FieldError(node, f"found {node.summary}, expected the first and the last one: [1, 3]")
    low, high = (integer(limit, 0, MAX_SIDE - 1) for limit in node.value)
    if low > high:
        raise FieldError(node, f"found [{low}, {high}], expected the smaller number first")
    return low, high


def is_by_chance(reset: Sequence[Call]) -> bool:
    """Whether `ChanceReader` has read a level, so that its worlds hold what is drawn."""
    return any(call.system is marked(draw_level).system for call in reset)
