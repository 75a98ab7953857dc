"""Levels drawn in characters, and the legend that says what these stand for.

map: |
  #######
  #>.K#.#
  #...D.E
  #######
legend:
  K: {object: Key, color: RED}
  D: {object: Door, state: LOCKED, color: RED}
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from components.appearance import FLOOR, NONE, YELLOW
from components.doors import CLOSED, LOCKED, OPEN
from components.objects import BEACON, BOX, DOOR, EXIT, KEY, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine.language.call import Call
from gv_engine.language.geometry import BACKWARD, FORWARD, LEFT, ORIENTATIONS, RIGHT
from gv_engine.language.objects import COLORS, OBJECT_TYPES
from gv_engine.language.system import marked
from gv_engine.reading.forms import COLOR, OBJECT, TEXT, Key, KeyTable, named
from gv_engine.reading.layout import rounded
from gv_engine.reading.names import Names
from gv_engine.reading.values import (
    LONGEST_SIDE,
    Problems,
    Wrong,
    YamlNode,
    check_keys,
    instead,
    mapping,
    one_of,
    read_color,
)
from systems.reset import from_map


@dataclass(frozen=True)
class Symbol:
    """What a character stands for: an object, and maybe the agent looking in a direction."""

    kind: int = FLOOR
    state: int = 0
    color: int = NONE
    facing: int | None = None


SYMBOL_KEYS: KeyTable = {
    "object": Key("The name of what stands there; Floor, if left out.", OBJECT),
    "state": Key("The name of its state; its first, if left out.", TEXT),
    "color": Key("Its colour; NONE, if left out.", COLOR),
    "agent": Key("The agent stands there and looks that way.", named(ORIENTATIONS)),
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


def read_legend(problems: Problems, names: Names, node: YamlNode) -> Legend:
    """The entries of a legend: `C: Coin`, `K: {object: Key, color: RED}`, `a: {agent: LEFT}`."""
    legend: Legend = {}
    for character, entry in mapping(node).items():
        with problems.collect():
            legend[character] = None
            if len(character) != 1 or not character.isprintable():
                raise Wrong(entry, f"found the key {character!r}, expected a single character")
            legend[character] = _symbol(problems, names, entry)
    return legend


def _symbol(problems: Problems, names: Names, node: YamlNode) -> Symbol:
    if not isinstance(node.value, dict):
        return Symbol(names.object_type(node))
    entries = check_keys(problems, node, SYMBOL_KEYS)
    kind = names.object_type(entries["object"]) if "object" in entries else FLOOR
    if not entries.keys() & {"object", "agent"}:
        misspelled = len(entries) < len(node.value)
        raise Wrong(node, "" if misspelled else "found neither `object` nor `agent`")
    known = OBJECT_TYPES[kind]
    state, color, facing = 0, NONE, None
    if "state" in entries:
        if not known.states:
            raise Wrong(entries["state"], f"{known.name} has no states")
        state = one_of(entries["state"], known.states, f"state of {known.name}")
    if "color" in entries:
        color = read_color(entries["color"])
        if color != NONE and not known.colored:
            raise Wrong(entries["color"], f"{known.name} has no colour")
    if "agent" in entries:
        facing = one_of(entries["agent"], ORIENTATIONS, "orientation")
    return Symbol(kind, state, color, facing)


def read_map(
    problems: Problems,
    node: YamlNode,
    legend: Legend,
    kinds: Collection[int],
    colors: Collection[int],
) -> Call:
    """The reset that a map draws.

    Args:
        legend: the scenario's own entries; `LEGEND` holds for all other characters.
        kinds, colors: what the state space allows on the grid.
    """
    level = _Level(problems, node, {**LEGEND, **legend}, kinds, colors)
    return Call(
        marked(from_map).system,
        {"shape": level.shape, "cells": level.cells, "start": level.start},
    )


class _Level:
    def __init__(
        self,
        problems: Problems,
        node: YamlNode,
        legend: Legend,
        kinds: Collection[int],
        colors: Collection[int],
    ) -> None:
        self._problems = problems
        self._node = node
        self._legend = legend
        self._kinds = kinds
        self._colors = colors
        rows = self._rows()
        self.shape = len(rows), len(rows[0])
        self.start = (0, 0, FORWARD)
        self.cells = np.zeros((rounded(len(rows)), rounded(len(rows[0])), 3), np.uint8)
        self.cells[..., 0] = FLOOR
        self._agents: list[str] = []
        self._wrong: set[str] = set()
        for y, row in enumerate(rows):
            for x, character in enumerate(row):
                self._read(y, x, character)
        if not self._agents and not self._wrong:
            looks = " ".join(
                c for c, symbol in legend.items() if symbol and symbol.facing is not None
            )
            problems.add(node, f"no agent; put one of {looks} where it starts")
        self.cells.flags.writeable = False

    def _at(self, y: int) -> YamlNode:
        first = self._node.first_row
        return self._node if first is None else replace(self._node, line=first + y)

    def _rows(self) -> list[str]:
        if self._node.folded:
            raise Wrong(self._node, "its rows are joined into one line; write `map: |`")
        rows = self._node.text.rstrip("\n").split("\n")
        if isinstance(self._node.value, dict | list) or not rows[0]:
            raise Wrong(self._node, f"found {self._node.found}, expected rows of characters")
        for y, row in enumerate(rows):
            if "\t" in row:
                raise Wrong(self._at(y), f"row {y + 1} has a tab; use spaces or dots")
            if len(row) != len(rows[0]):
                self._problems.add(
                    self._at(y),
                    f"row {y + 1} is {len(row)} characters long, row 1 is {len(rows[0])}; all rows "
                    f"must be as long as the first",
                )
        if max(len(rows), len(rows[0])) > LONGEST_SIDE:
            raise Wrong(self._node, f"larger than {LONGEST_SIDE} rows or columns")
        return [row[: len(rows[0])] for row in rows]

    def _read(self, y: int, x: int, character: str) -> None:
        if character in self._wrong:
            return  # said once, or one slip would fill the screen
        place = f"row {y + 1}, column {x + 1}"
        symbol = self._legend.get(character)
        if symbol is None:
            self._wrong.add(character)
            if character not in self._legend:
                hint = instead(character, self._legend)
                self._problems.add(self._at(y), f"{place}: no {character!r} in the legend{hint}")
            return
        kind, color = OBJECT_TYPES[symbol.kind].name, COLORS[symbol.color]
        if symbol.kind not in self._kinds:
            problem = f"{character!r} is {kind}, not among the state space's objects"
        elif symbol.color not in self._colors:
            problem = f"{character!r} is {kind} in {color}, not among the state space's colors"
        else:
            problem = ""
        if problem:
            self._wrong.add(character)
            self._problems.add(self._at(y), f"{place}: {problem}")
        self.cells[y, x] = symbol.kind, symbol.state, symbol.color
        if symbol.facing is not None:
            if self._agents:
                self._problems.add(
                    self._at(y), f"{place}: a second agent, the first is in {self._agents[0]}"
                )
            self._agents.append(place)
            self.start = (y, x, symbol.facing)
