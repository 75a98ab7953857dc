"""Procedural levels: random maps, objects placed in regions, and objects that must be reachable.

    room: [9, 9]
    place:
      - {object: Exit, in: [[1, 7], [7, 7]]}
      - {object: Key, color: $color, count: [1, $n], not_next_to: [Exit]}
      - {agent: any}
    reachable: [agent, Exit]

The reader encodes these keys as arrays for the reset functions of `systems.procedural`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.system import Call, get_system
from gv_engine.scenario.levels.level_files import LevelFiles
from gv_engine.scenario.memory.layout import round_up_size
from gv_engine.scenario.readers.level_files_reader import LevelFilesReader
from gv_engine.scenario.readers.map import SYMBOL_KEYS, LevelSource, MapReader, Symbol, read_symbol
from gv_engine.scenario.readers.random_values import make_padded_table, make_row, make_table
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable
from systems import procedural

_MAX_MAPS = 1000
_SYMMETRIES = {"turn": (0, 1, 2, 3), "mirror": (0, 4)}


def make_symbol_tables(symbols_to_encode: Sequence[Symbol], types: ObjectTypes) -> dict[str, Any]:
    """Encode legend entries, and the objects inside their boxes and hands, as arrays for compiled
    code. Return the arrays as arguments of reset functions, by name."""
    symbols = [*symbols_to_encode]
    indices: dict[Symbol | None, int] = {None: 0}
    for symbol in symbols:  # the list grows in the loop
        for inner in symbol.contents:
            indices[inner] = len(symbols)
            symbols.append(inner)
    max_options = max([1, *(len(symbol.options) for symbol in symbols)])
    looks = make_table(0, len(symbols), max_options, 4)
    weights = make_table(0, len(symbols), max_options)
    looks[..., 0], weights[:, 0] = FLOOR, 1
    for index, symbol in enumerate(symbols):
        looks[index, : len(symbol.options)] = [
            (option.kind, option.state, option.color, indices[option.content])
            for option in symbol.options
        ]
        weights[index, : len(symbol.weights)] = symbol.weights
    no_agent = procedural.NOBODY
    facings = [no_agent if symbol.facing is None else symbol.facing for symbol in symbols]
    oriented = make_table(0, max(kind.index for kind in types) + 1)
    for kind in types:
        oriented[kind.index] = kind.is_oriented
    return {
        "appearances": looks,
        "weights": weights,
        "facings": make_row(facings, no_agent),
        "contents": make_row([indices[symbol.holds] for symbol in symbols], 0),
        "oriented": oriented,
    }


_DEFAULT_TRIES = 100
_MAX_TRIES = 10_000
_MAX_PLACES = _MAX_BOXES = 100
_LIST = schema.list_of(schema.TEXT)
_PLACES: KeyTable = {
    "count": Key("Number, or [minimum, maximum].", {"type": ["integer", "array"]}),
    "in": Key(
        "Cells: rooms, rows and columns `[[1, 3], [5, 7]]`, or `{cells: […]}`.",
        {"type": ["string", "array", "object"]},
    ),
    "not_next_to": Key(
        "`agent` or objects that must not be in a neighbouring cell.", {"type": ["string", "array"]}
    ),
}
_REACHED: KeyTable = {
    "things": Key("Start and ends of the paths: [agent, Exit].", _LIST),
    "through": Key("Objects that paths may cross.", _LIST),
}

PROCEDURAL_KEYS: KeyTable = {
    "draw": Key(
        "Values that each level samples, for `$name` in legend and places: a list of "
        "options, `{one_of: …, weights: …, not: $name}` or `{from: 2, to: 4}`.",
        schema.map_of({"type": ["array", "object"]}),
    ),
    "maps": Key("Maps, one of which is sampled.", schema.list_of(schema.TEXT, minItems=1)),
    "symmetries": Key(
        "If true, maps are rotated and mirrored at random.",
        schema.unique_list(schema.enum_schema(["turn", "mirror"])),
    ),
    "room": Key("[height, width] of a walled room, in place of a map.", schema.PAIR),
    "rooms": Key("Regions by name.", schema.map_of({"type": ["string", "array", "object"]})),
    "place": Key(
        "Objects for random free cells, in order.",
        schema.list_of(
            schema.any_of(schema.OBJECT, schema.object_schema({**SYMBOL_KEYS, **_PLACES}))
        ),
        nested={**SYMBOL_KEYS, **_PLACES},
    ),
    "reachable": Key(
        "Objects to which paths must lead from the first of them: [agent, Exit].",
        schema.any_of(_LIST, schema.object_schema(_REACHED)),
        nested=_REACHED,
    ),
    "tries": Key(
        "Number of sampled levels after which an error is raised.",
        schema.integer_schema(1, _MAX_TRIES),
    ),
}
"""Keys of procedural levels."""
_ANYWHERE = (0, fields.MAX_SIDE, 0, fields.MAX_SIDE)

Box = tuple[int, int, int, int]
"""First and last row, first and last column."""


class Region(NamedTuple):
    """Cells of a map: all cells in `boxes`, and the cells of the rooms `room_numbers`, which the
    legend assigns to characters."""

    boxes: tuple[Box, ...] = (_ANYWHERE,)
    room_numbers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Placement:
    """Entry of `place`: objects to put into free cells.

    Attributes:
        node: node of the entry.
        symbol: object or agent to place.
        count: least and greatest number of objects, negative for random values.
        region: cells where they may be placed.
        keep_apart_from: types that must not be in a neighbouring cell; may include `THE_AGENT`.
    """

    node: YamlNode
    symbol: Symbol
    count: tuple[int, int]
    region: Region
    keep_apart_from: tuple[int, ...]


class ProceduralReader:
    """Reader of a level with random parts; collects all errors.

    Attributes:
        depth: maximum depth of nested objects.
    """

    def __init__(self, source: LevelSource) -> None:
        """Make a reader for a level with random parts. `source` has the legend and collects
        errors."""
        self._source = source
        self._entries, self._draws, self._legend = source.entries, source.draws, source.legend
        self._problems, self._names = source.draws.problems, source.draws.names
        self._shape: tuple[int, int] | None = None  # of the room, None for maps
        self._maps: list[MapReader] = []
        self._files: LevelFilesReader | None = None
        # codes of the map's index and of its symmetry, which may be random values
        self._map_code = self._symmetry_code = 0
        self._rooms: dict[str, Region] = {}
        self._room_numbers: dict[str, int] = {}  # of the rooms that the legend marks
        self.depth = 1

    def read_level(self, reset: Call | None) -> Call:
        """Return the reset function, with its arguments, that builds a whole level. It samples
        random values and places objects, and starts again until all objects under `reachable` can
        be reached.

        Args:
            reset: reset call that builds the level, None for a room or maps.
        """
        resets = (reset,) if reset else self._read_base()
        self._read_rooms()
        places = self._read_places()
        if reset is None and not any(place.symbol.facing is not None for place in places):
            self._require_agent()
        for place in places:
            with self._problems.collect():
                self._check_capacity(place, reset)
        symbols = [*filter(None, self._legend.values()), *(place.symbol for place in places)]
        self.depth = max([1, *(symbol.depth for symbol in symbols)])
        if places:
            resets = (*resets, self._make_placement_call(places))
        if len(self._draws):
            resets = (self._draws.make_call(), *resets)
        things, through = self._read_reachable()
        if "tries" in self._entries and "reachable" not in self._entries:
            self._problems.add(self._entries["tries"], "`tries` goes with `reachable`")
        read_tries = PROCEDURAL_KEYS["tries"].read
        tries = self._problems.read_key(self._entries, "tries", read_tries, _DEFAULT_TRIES)
        return Call(
            get_system(procedural.sample_until_reachable),
            {"reset_functions": resets, "things": things, "through": through, "tries": tries},
        )

    def _read_rooms(self) -> None:
        """Set `self._rooms` to the named regions of cells: rooms marked by map characters, and
        those listed under the key `rooms`."""
        marked = dict.fromkeys(s.room for s in self._legend.values() if s and s.room)
        self._room_numbers = {room: number for number, room in enumerate(marked, 1)}
        self._rooms = {room: Region((), (n,)) for room, n in self._room_numbers.items()}
        with self._problems.collect():
            rooms = fields.mapping(self._entries["rooms"]) if "rooms" in self._entries else {}
            for name, node in rooms.items():
                with self._problems.collect():
                    if name in self._rooms:
                        raise node.error(f"the legend already marks the cells of {name}")
                    self._rooms[name] = self._read_boxes(node)

    def _read_region(self, node: YamlNode) -> Region:
        """Read a region of cells from a YAML node: the name of a room, a list of names such as
        `[west, east]`, or boxes of cells."""
        named = fields.list_or_single(node)
        if isinstance(node.value, dict) or not all(isinstance(n.value, str) for n in named):
            return self._read_boxes(node)
        rooms = []
        for name in named:
            if name.text not in self._rooms:
                hint = describe_allowed(name.text, self._rooms) or "; name it under `rooms`"
                raise name.error(f"no room {name.text!r}{hint}")
            rooms.append(self._rooms[name.text])
        return Region(
            tuple(box for room in rooms for box in room.boxes),
            tuple(number for room in rooms for number in room.room_numbers),
        )

    def _read_boxes(self, node: YamlNode) -> Region:
        """Read a region of cells from ranges of rows and columns, `[[1, 3], [5, 7]]`, or from a
        list of cells, `{cells: [[1, 5], [2, 6]]}`."""
        if isinstance(node.value, dict):
            entries = fields.read_fields(self._problems, node, ("cells",))
            cells = fields.items(entries["cells"]) if "cells" in entries else []
            if not 1 <= len(cells) <= _MAX_BOXES:
                raise node.error(f"found {len(cells)} cells, expected 1 to {_MAX_BOXES}")
            return Region(tuple(self._read_box(cell) for cell in cells))
        return Region((self._read_box(node),))

    def _read_box(self, node: YamlNode) -> Box:
        sides = fields.pair_of(node, "rows and columns, such as [[1, 3], [5, 7]]")
        (top, low), (left, right) = map(_read_range, sides)
        return top, low, left, right

    def _read_places(self) -> tuple[Placement, ...]:
        """Return the valid entries of the key `place`, a list of objects and agents for random
        cells. Report agents that are too many."""
        read_items = partial(fields.limited_items, maximum=_MAX_PLACES, label="places", minimum=0)
        nodes = self._problems.read_key(self._entries, "place", read_items, list[YamlNode]())
        places = self._problems.read_each(nodes, self._read_place)
        agents = [place for place in places if place.symbol.facing is not None]
        max_agents = self._source.max_agents
        for place in agents[max_agents:]:
            fault = "a second agent, expected one" if max_agents == 1 else "one agent too many"
            self._problems.add(place.node, fault)
        return places

    def _read_place(self, node: YamlNode) -> Placement:
        """Read an entry of the key `place`: an object or agent, how many to place, in which region,
        and next to which types they must not be."""
        entries = node.value if isinstance(node.value, dict) else {}
        symbol = read_symbol(self._draws, node, tuple(_PLACES))
        if fault := self._source.find_fault(symbol):
            raise node.error(f"it is {fault}")
        count, region = (1, 1), Region()
        keep_apart_from: tuple[int, ...] = ()
        if "count" in entries:
            count = self._read_count(entries["count"])
            if symbol.facing is not None:
                raise entries["count"].error("an agent is always one; leave out the count")
        if "in" in entries:
            region = self._read_region(entries["in"])
        if "not_next_to" in entries:
            nodes = fields.list_or_single(entries["not_next_to"])
            keep_apart_from = tuple(map(self._read_type, nodes))
        return Placement(node, symbol, count, region, keep_apart_from)

    def _read_count(self, node: YamlNode) -> tuple[int, int]:
        """Read the number of objects to place, a number or `[least, greatest]`, and return both
        limits. Random values give negative codes, which `RandomValues` explains."""
        if not isinstance(node.value, list):
            number = self._draws.read_number(node, fields.MAX_CELLS)
            return number, number
        low, high = fields.pair_of(node, "the least and the greatest: [2, 4]")
        return self._draws.read_range(low, high, fields.MAX_CELLS)

    def _read_type(self, node: YamlNode) -> int:
        """Return the index of the object type that a YAML node names, or `THE_AGENT` for
        `agent`."""
        if fields.text(node) == "agent":
            return procedural.THE_AGENT
        kind = self._names.resolve_object_type(node)
        if kind <= FLOOR:
            raise node.error(f"found {node.text!r}, expected `agent` or an object")
        return kind

    def _check_capacity(self, place: Placement, reset: Call | None) -> None:
        """Raise FieldError if the region of `place` has too few free cells for the largest number
        of its objects. `reset` builds the level; it is None for maps."""
        max_count = max(self._draws.list_possible_values(place.count[1]))
        for index, free in enumerate(self._find_free_cells(reset)):
            inside = np.zeros_like(free)
            for top, bottom, left, right in place.region.boxes:
                inside[top : bottom + 1, left : right + 1] = True
            if place.region.room_numbers:
                for y, x, symbol in self._maps[index].iter_symbols():
                    number = self._room_numbers.get(symbol.room, 0)
                    inside[y, x] |= number in place.region.room_numbers
            num_free = int((free & inside).sum())
            if num_free < max_count:
                where = f" of map {index + 1}" if len(self._maps) > 1 else ""
                available = "no free cell" if num_free == 0 else f"{num_free} free cells"
                raise place.node.error(
                    f"up to {max_count} do not fit: the region{where} has {available}; make the "
                    f"region larger, or the count smaller"
                )

    def _make_placement_call(self, places: Sequence[Placement]) -> Call:
        """Return the system `place_things` with arrays that describe all `places`. It puts the
        objects and agents into the level."""
        rooms = np.zeros((1, 1, 1), np.int64)
        if any(place.region.room_numbers for place in places):
            codes = {c: self._room_numbers[s.room] for c, s in self._legend.items() if s and s.room}
            rooms = self._encode_maps(codes, 0, self._entries["place"])
        return Call(
            get_system(procedural.place_things),
            {
                **self._map_codes,
                "lines": make_row([place.node.line or 0 for place in places], 0),
                "counts": make_padded_table(0, [place.count for place in places]),
                "boxes": make_padded_table(-1, [place.region.boxes for place in places], 4),
                "room_numbers": make_padded_table(-1, [p.region.room_numbers for p in places]),
                "rooms": rooms,
                "apart_from": make_padded_table(-1, [p.keep_apart_from for p in places]),
                **make_symbol_tables([place.symbol for place in places], self._names.types),
            },
        )

    @property
    def _map_codes(self) -> dict[str, int]:
        return {"level_code": self._map_code, "transform_code": self._symmetry_code}

    def _read_reachable(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Read the key `reachable`. Return two arrays of type indices: a start and the types that
        must be reachable from it, and the types that paths may cross."""
        types: dict[str, list[int]] = {"things": [], "through": []}
        if "reachable" in self._entries:
            node = self._entries["reachable"]
            with self._problems.collect():
                entries = {"things": node}
                if isinstance(node.value, dict):
                    entries = fields.read_fields(self._problems, node, types)
                for key, listed in entries.items():
                    types[key] = [*map(self._read_type, fields.items(listed))]
                if not 2 <= len(types["things"]) <= _MAX_PLACES:
                    raise node.error("expected a start and at least one goal: [agent, Exit]")
        return make_row(types["things"]), make_row(types["through"])

    # ---- maps and rooms ------------------------------------------------------------

    def _read_base(self) -> tuple[Call, ...]:
        """Return the reset functions, with their arguments, that build the level before objects are
        placed: from a map, several maps, or an empty room."""
        if "room" in self._entries:
            self._shape = fields.read_pair(self._entries["room"])
            return (Call(get_system(procedural.walled_room), {"shape": self._shape}),)
        if "maps" in self._entries:
            node = self._entries["maps"]
            return self._read_maps(node, fields.limited_items(node, _MAX_MAPS, "maps"))
        if "map" in self._entries:
            return self._read_maps(self._entries["map"], [self._entries["map"]])
        assert isinstance(self._source.levels, LevelFiles)
        return (self._read_level_files(self._source.levels),)

    def _read_maps(self, node: YamlNode, maps: Sequence[YamlNode]) -> tuple[Call, ...]:
        """Return the reset functions, with their arguments, that build one of several maps at
        random. Errors about all maps are reported at the YAML node."""
        self._maps = [MapReader(self._source, each) for each in maps]
        symmetries = self._read_symmetries()
        self._map_code = self._draws.add_numbers(range(len(maps)))
        self._symmetry_code = self._draws.add_numbers(symmetries)
        shapes = make_table(1, len(maps), 2, 2)  # of each map as written, and after a quarter turn
        for index, level in enumerate(self._maps):
            shapes[index] = level.shape, level.shape[::-1] if 1 in symmetries else level.shape
        symbols = {c: s for level in self._maps for c, s in level.legend.items() if s}
        arguments = {**self._map_codes, "shapes": shapes, **self._make_cells(symbols, 0, node)}
        build = Call(get_system(procedural.from_maps), arguments)
        calls = [build]
        for k in range(max(len(symbol.below) for symbol in symbols.values())):
            lower = {c: symbol.below[k] for c, symbol in symbols.items() if len(symbol.below) > k}
            arguments = {**self._map_codes, **self._make_cells(lower, -1, node)}
            calls.append(Call(get_system(procedural.ground_of_maps), arguments))
        return tuple(calls)

    def _make_cells(
        self, symbols: Mapping[str, Symbol], default: int, node: YamlNode
    ) -> dict[str, Any]:
        """Return arguments of reset systems: for each cell of each map the index of its character
        in `symbols`, or `default`, and the tables that describe the symbols."""
        indices = {character: index for index, character in enumerate(symbols)}
        cells = self._encode_maps(indices, default, node)
        return {"cells": cells, **make_symbol_tables([*symbols.values()], self._names.types)}

    def _read_level_files(self, levels: LevelFiles) -> Call:
        """Return the reset function, with its arguments, that builds one of the levels from
        files."""
        self._files = LevelFilesReader(self._source, levels)
        symmetries = self._read_symmetries()
        self._map_code = self._draws.add_index(len(levels))
        self._symmetry_code = self._draws.add_numbers(symmetries)
        return Call(
            get_system(procedural.from_level_files),
            {
                **self._map_codes,
                "shapes": self._files.make_shapes(can_turn=1 in symmetries),
                "cells": levels.characters,
                "object_indices": self._files.numbers,
                "ground_indices": self._files.below,
                **make_symbol_tables(self._files.symbols, self._names.types),
            },
        )

    def _read_symmetries(self) -> tuple[int, ...]:
        """Return the symmetries that may be applied to maps, as numbers: 0 to 3 quarter turns, plus
        4 if mirrored too."""
        read_name = schema.enum_schema(_SYMMETRIES, "symmetry").read
        read_names = partial(fields.read_distinct, self._problems, read=read_name)
        names = self._problems.read_key(self._entries, "symmetries", read_names, ())
        turns = _SYMMETRIES["turn"] if "turn" in names else (0,)
        mirrors = _SYMMETRIES["mirror"] if "mirror" in names else (0,)
        return tuple(mirror + turn for mirror in mirrors for turn in turns)

    def _encode_maps(
        self, codes: Mapping[str, int], default: int, node: YamlNode
    ) -> NDArray[np.int64]:
        """Return the maps as a (maps, H, W) array of codes. `codes` gives the code of a character,
        `default` that of all other legend characters. Unknown characters are 0."""
        height, width = (round_up_size(max(m.shape[axis] for m in self._maps)) for axis in (0, 1))
        if len(self._maps) * height * width > fields.MAX_CELLS:
            raise node.error(f"{len(self._maps)} maps of up to {height}x{width} are too many")
        cells = np.zeros((len(make_table(0, len(self._maps))), height, width), np.int64)
        for index, level in enumerate(self._maps):
            for y, x, _ in level.iter_symbols():
                cells[index, y, x] = codes.get(level.rows[y][x], default)
        return cells

    def _require_agent(self) -> None:
        """Report an error for each map, or for the room, that has no agent."""
        if self._shape and self._source.max_agents:
            node = self._entries["room"]
            self._problems.add(node, "no agent in the room; `place` it: {agent: any}")
        for level in self._maps:
            level.require_agent()
        if self._files:
            self._files.require_agent()

    def _find_free_cells(self, reset: Call | None) -> list[NDArray[np.bool_]]:
        """Return an (H, W) mask for each map, or one for the room, with True for cells in which
        objects can be placed. [] if the size of the level is unknown."""
        if self._shape:
            free = np.zeros(self._shape, np.bool_)
            free[1:-1, 1:-1] = True  # within the walls
            return [free]
        if reset:
            match reset.arguments.get("shape"):
                case [int(height), int(width)]:
                    return [np.ones((height, width), np.bool_)]
        masks = []
        for level in self._maps:
            free = np.zeros(level.shape, np.bool_)
            for y, x, symbol in level.iter_symbols():
                kinds = (self._draws.list_possible_values(option.kind) for option in symbol.options)
                free[y, x] = not symbol.below and any(FLOOR in values for values in kinds)
            masks.append(free)
        return masks


def _read_range(node: YamlNode) -> tuple[int, int]:
    """Return (first, last) of a range of rows or columns in a YAML node. A single number is
    both."""
    if isinstance(node.value, list):
        return fields.read_range(node, 0, fields.MAX_SIDE - 1, "the first and the last one: [1, 3]")
    index = fields.integer(node, 0, fields.MAX_SIDE - 1)
    return index, index


def is_procedural(resets: Sequence[Call]) -> bool:
    """Return True if the reset calls come from `ProceduralReader`, so that worlds store random
    values."""
    return any(call.system is get_system(procedural.sample_until_reachable) for call in resets)
