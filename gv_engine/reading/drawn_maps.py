"""Maps of which one is drawn, and how it lies; or a room in place of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.language.call import Call
from gv_engine.language.objects import ObjectTypes
from gv_engine.language.system import marked
from gv_engine.reading.draws import DrawnValues, table
from gv_engine.reading.layout import rounded
from gv_engine.reading.map import Legend, MapReader, Symbol
from gv_engine.reading.values import (
    MOST_CELLS,
    Problems,
    Wrong,
    YamlNode,
    distinct,
    items,
    one_of,
    read_pair,
)
from systems.chance import NOBODY, from_maps, ground_of_maps, walled_room

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
        looks, weights = table(0, len(symbols), most, 4), table(0, len(symbols), most)
        looks[..., 0], weights[:, 0] = FLOOR, 1
        facings, holds = table(NOBODY, len(symbols)), table(0, len(symbols))
        for number, symbol in enumerate(symbols):
            looks[number, : len(symbol.options)] = [
                (each.kind, each.state, each.color, numbers[each.content])
                for each in symbol.options
            ]
            holds[number] = numbers[symbol.holds]
            weights[number, : len(symbol.weights)] = symbol.weights
            if symbol.facing is not None:
                facings[number] = symbol.facing
        oriented = table(0, max(kind.index for kind in types) + 1)
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
        problems: Problems,
        entries: Mapping[str, YamlNode],
        draws: DrawnValues,
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
            raise Wrong(node, f"found {len(drawn)} maps, expected 1 to {_MOST_MAPS}")
        self.maps = [
            MapReader(self._problems, each, self._legend, self._allowed, self._most)
            for each in drawn
        ]
        ways = self._ways()
        self.which = self._draws.add_numbers(range(len(drawn)))
        self.way = self._draws.add_numbers(ways)
        shapes = table(1, len(drawn), 2, 2)
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
            numbers = distinct(self._problems, node, lambda n: one_of(n, _WAYS, "symmetry"))
            named = [list(_WAYS)[number] for number in numbers]
        turns = _WAYS["turn"] if "turn" in named else (0,)
        mirrors = _WAYS["mirror"] if "mirror" in named else (0,)
        return tuple(mirror + turn for mirror in mirrors for turn in turns)

    def over_maps(self, number: Callable[[str], int], node: YamlNode) -> NDArray[np.int64]:
        """A number for each character of all maps."""
        height, width = (rounded(max(m.shape[axis] for m in self.maps)) for axis in (0, 1))
        if len(self.maps) * height * width > MOST_CELLS:
            raise Wrong(node, f"{len(self.maps)} maps of up to {height}x{width} are too many")
        cells = np.zeros((len(table(0, len(self.maps))), height, width), np.int64)
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
                kinds = [kind for o in symbol.options for kind in self._draws.options(o.kind)]
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
