"""Check of large sets of levels against the legend, and the tables that their reset rule reads."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import describe_allowed, format_cell
from gv_engine.scenario.levels.level_files import LevelFiles
from gv_engine.scenario.readers.map import LEGEND, LevelSource, Symbol, list_agent_characters
from gv_engine.scenario.syntax.fields import YamlNode

_CHUNK = 4096  # number of levels that one array operation checks
_ASCII_CODES, _BYTE_VALUES = 128, 256


class LevelFilesReader:
    """Levels of text files with the meaning of their characters. The first character that is not
    allowed, and the first level with too many agents, become errors of the scenario.

    Attributes:
        symbols: meanings of all characters that occur, and of the ground below them.
        numbers: (128,) int64: index in `symbols` of each ASCII code; -1 for none.
        below: (128,) int64: index in `symbols` of the object on the ground below; -1 for none.
    """

    def __init__(self, source: LevelSource, levels: LevelFiles) -> None:
        """Check that the legend of `source` explains all characters of the `levels`. Errors are
        collected in `source`."""
        self._source, self._levels = source, levels
        self._legend = {**LEGEND, **source.legend}
        self.symbols: list[Symbol] = []
        self.numbers, self.below = np.full(_ASCII_CODES, -1), np.full(_ASCII_CODES, -1)
        used_codes, self._num_agents = self._scan_characters()
        faults: dict[int, str] = {}
        for code in used_codes:
            if fault := self._add_character(code):
                faults[code] = fault
        self._report_first(faults)
        for index in np.flatnonzero(self._num_agents > source.max_agents)[:1].tolist():
            self._report(index, f"{self._num_agents[index]} agents, allowed is {source.max_agents}")

    def require_agent(self) -> None:
        """Add an error about the first level without an agent."""
        for index in np.flatnonzero(self._num_agents == 0)[:1].tolist():
            characters = list_agent_characters(self._legend)
            self._report(index, f"no agent; put one of {characters} where it starts")

    def make_shapes(self, can_turn: bool) -> NDArray[np.int16]:
        """Return the shapes that levels can have, as (levels, 2, 2): (height, width) as written,
        and the same or, if `can_turn`, after a quarter turn. If all levels have one size, the first
        axis is 1."""
        shapes, length = self._levels.shapes, len(self._levels.characters)
        if (shapes == shapes[0]).all():
            shapes, length = shapes[:1], 1
        table = np.ones((length, 2, 2), np.int16)
        table[: len(shapes), 0] = shapes
        table[: len(shapes), 1] = shapes[:, ::-1] if can_turn else shapes
        return table

    def _scan_characters(self) -> tuple[list[int], NDArray[np.int32]]:
        """Return all character codes of the levels, and the number of agents in each level as
        (levels,) int32."""
        is_agent = np.zeros(_BYTE_VALUES, np.bool_)
        for character, symbol in self._legend.items():
            if symbol and symbol.facing is not None and ord(character) < _ASCII_CODES:
                is_agent[ord(character)] = True
        is_used = np.zeros(_BYTE_VALUES, np.bool_)
        num_agents = np.zeros(len(self._levels), np.int32)
        for start, cells in self._iter_chunks():
            is_used |= np.bincount(cells.reshape(-1), minlength=_BYTE_VALUES) > 0
            num_agents[start : start + len(cells)] = np.count_nonzero(is_agent[cells], (1, 2))
        return np.flatnonzero(is_used).tolist(), num_agents

    def _iter_chunks(self) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        for start in range(0, len(self._levels), _CHUNK):
            stop = min(start + _CHUNK, len(self._levels))
            yield start, self._levels.characters[start:stop]

    def _add_character(self, code: int) -> str:
        """Add a map character, given as ASCII code, to the tables for the reset rule and return "".
        If the legend lacks it, or its object is not allowed, return an error message instead."""
        character = chr(code)
        if code >= _ASCII_CODES or character not in self._legend:
            fault = f"no {character!r} in the legend" if code < _ASCII_CODES else "it is not ASCII"
            allowed = (c if c != " " else "blank" for c in self._legend)
            return fault + describe_allowed(character, allowed)
        symbol = self._legend[character]
        if symbol is None:  # an entry with an error of its own
            return ""
        if fault := self._source.find_fault(symbol):
            return f"{character!r} is {fault}"
        if symbol.room:
            return f"{character!r} is of the room {symbol.room}; rooms are for smaller packs"
        if symbol.between:
            return f"{character!r} has objects `between` layers; those are for smaller packs"
        self.numbers[code] = len(self.symbols)
        self.symbols.append(symbol)
        if symbol.ground:
            self.below[code] = len(self.symbols)
            self.symbols.append(symbol.ground)
        return ""

    def _report_first(self, faults: dict[int, str]) -> None:
        """Find the first cell, in all levels, with one of the wrong characters, and report its
        error. `faults` maps ASCII codes to error messages."""
        if not faults:
            return
        for start, cells in self._iter_chunks():
            for index, y, x in np.argwhere(np.isin(cells, [*faults]))[:1].tolist():
                fault = f"{format_cell(y, x)}: {faults[int(cells[index, y, x])]}"
                self._report(start + index, fault, y)
                return

    def _report(self, index: int, fault: str, y: int = 0) -> None:
        levels = self._levels
        node = YamlNode(None, line=levels.line_of(index) + y, file=str(levels.file_of(index)))
        self._source.draws.problems.add(node, f"level {index + 1} of {len(levels):,}: {fault}")
