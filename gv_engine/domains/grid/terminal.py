"""A frame of a grid in letters: one for what a thing is, one for its colour.

Colours come on top, where the terminal has them; nothing is said by them alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from components.appearance import FLOOR, HIDDEN
from components.matter import Opaque
from gv_engine.domains.grid.input_map import Steering, action_of
from gv_engine.rules.frame import Frame
from gv_engine.rules.objects import COLORS, ObjectType, ObjectTypes
from gv_engine.scenario.map import board, mission_line, object_words
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.ui.colors import PALETTES, Theme
from gv_engine.ui.terminal.picture import TerminalPicture

CELL_WIDTH = 2
"""Characters of a cell."""
GAP = 3
"""Characters between state and observation."""


class GridPicture(TerminalPicture):
    """Draws the frames of a grid; see `gv_engine.ui.terminal.picture.TerminalPicture`.

    Args:
        game: what is played.
        theme: the colours.
    """

    def __init__(self, game: Any, theme: Theme) -> None:
        self._game, self._theme = game, theme
        self._view = ""
        self._steering = Steering(getattr(game, "actions", ()), getattr(game, "commands", ()))

    def draw(self, frame: Frame, view: str, width: int, height: int) -> list[Text]:
        """State and observation, cut to the surroundings of the agent where there is no room."""
        theme, self._view = self._theme, view
        if view == "explored":
            frame, view = frame.as_explored(), "state"
        seen = np.ones(frame.observation.shape[:2], np.bool_)
        observation = _board(
            frame.types,
            frame.observation,
            (*frame.observer, 0),
            seen,
            frame.beneath_seen,
            height,
            width,
            theme,
        )
        if view == "observation":
            return observation
        room = width - len(observation[0]) - GAP if view == "both" else width
        if view == "both" and room < _least(frame):
            return self.draw(frame, "state", width, height)
        shown = frame.grid, frame.agent, frame.seen, frame.beneath
        state = _board(frame.types, *shown, height, room, theme)
        if view == "state":
            return state
        across = len(state[0]) + GAP
        return [
            Text.assemble(left, " " * (across - len(left)), right)
            for left, right in zip_longest(state, observation, fillvalue=Text())
        ]

    def facts(self, frame: Frame) -> list[str]:
        """What the agent is asked to do, and what it holds."""
        asked = [mission_line(frame.mission)] if frame.mission else []
        return [
            *asked,
            f"holding {object_words(frame.types, *frame.item) if frame.item[0] else 'nothing'}",
        ]

    def legend(self, frame: Frame) -> list[Text]:
        """What the letters stand for, but for walls and floor."""
        frame = frame.as_explored() if self._view == "explored" else frame
        shown = np.concatenate([frame.grid.reshape(-1, 3), frame.observation.reshape(-1, 3)])
        cells = np.unique(shown, axis=0)
        found: dict[str, Text] = {}
        for letter, (kind, state, color) in zip(
            board(cells[None], frame.types), cells.tolist(), strict=True
        ):
            if letter not in "#.?":
                text = Text(no_wrap=True)
                text.append(*_cell(frame.types, letter, (kind, color), True, self._theme))
                text.append(f" {object_words(frame.types, kind, state, color)}", self._theme.muted)
                found.setdefault(text.plain, text)
        return list(found.values())

    def command(self, name: str) -> str:
        """The action itself."""
        return action_of(name, self._game.actions)

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """Directions, where the agent is seen from above."""
        return self._steering.commands if self.steers and self._view != "observation" else ()

    def actions(self, name: str) -> Iterator[str]:
        """Of a direction of the screen those that lead there, else the one of the command."""
        if any(command.name == name for command in self.steering):
            looks = self._view == "explored"
            return self._steering.lead(name, self._game.frame, self._game, looks)
        return super().actions(name)

    def has_command(self, name: str) -> bool:
        """Whether it is one of the level's actions."""
        if self.steering and name in self._steering.replaces:
            return False
        steers = any(command.name == name for command in self.steering)
        return (
            steers or name in self._game.actions or any(c.name == name for c in self._game.commands)
        )


def _least(frame: Frame) -> int:
    """Columns that a state needs to be of use beside the observation."""
    columns: int = frame.grid.shape[1]
    return CELL_WIDTH * min(columns, 7)


def _board(
    types: ObjectTypes,
    grid: NDArray[np.uint8],
    agent: tuple[int, int, int],
    seen: NDArray[np.bool_],
    beneath: NDArray[np.uint8] | None,
    height: int,
    width: int,
    theme: Theme,
) -> list[Text]:
    y, x, _ = agent
    rows = _around(y, grid.shape[0], height)
    columns = _around(x, grid.shape[1], max(1, width // CELL_WIDTH))
    letters = board(grid, types, agent).split("\n")
    below = None if beneath is None else board(beneath, types).lower().split("\n")
    lines = []
    for i in rows:
        cells = [
            _cell(types, letters[i][j], grid[i, j, ::2].tolist(), bool(seen[i, j]), theme)
            if (i, j) != (y, x)
            else (letters[i][j] + " ", f"bold {theme.on_accent} on {theme.accent}")
            for j in columns
        ]
        if below is not None and beneath is not None:
            covered = (beneath[i] != grid[i]).any(-1) & (beneath[i, :, 0] > FLOOR)
            cells = [
                _upon(*cell, below[i][j]) if covered[j] else cell
                for j, cell in zip(columns, cells, strict=True)
            ]
        line = Text(no_wrap=True)
        for style, alike in groupby(cells, itemgetter(1)):
            line.append("".join(text for text, _ in alike), style)
        lines.append(line)
    return lines


def _upon(text: str, style: str, ground: str) -> tuple[str, str]:
    """Letters of a cell and their style, where a thing lies upon something: it is underlined, and
    the ground has the place that no colour takes."""
    return (text[0] + ground if text[1] == " " else text), f"{style} underline"


def _cell(
    types: ObjectTypes, letter: str, look: Sequence[int], lit: bool, theme: Theme
) -> tuple[str, str]:
    """Letters of a cell and their style.

    Args:
        look: type and colour.
    """
    kind, color = look
    ground = theme.card if lit else theme.background
    if kind == HIDDEN:
        return letter * CELL_WIDTH, f"dim {theme.muted} on {theme.background}"
    if not color and _is_opaque(types[kind]):
        return letter * CELL_WIDTH, f"{theme.muted} on {theme.outline}"
    if color:
        shades = PALETTES[theme.palette][color]
        ink = shades.light if _is_dark(theme.background) else shades.dark
        return letter + COLOR_LETTERS[color], f"bold {ink} on {ground}"
    if letter == ".":
        return (letter if lit else " ") + " ", f"{theme.muted} on {ground}"
    return letter + " ", f"{'bold ' if lit else ''}{theme.text} on {ground}"


def _color_letters() -> Iterator[str]:
    """For each colour a letter of its name that no colour before it has."""
    used = ""
    for name in COLORS:
        used += next(letter for letter in name.lower() if letter not in used)
        yield used[-1]


COLOR_LETTERS = tuple(_color_letters())


def _is_dark(color: str) -> bool:
    return int(color[1:3], 16) < 128


def _is_opaque(kind: ObjectType) -> bool:
    return any(part is Opaque for part, _ in kind.components)


def _around(middle: int, size: int, room: int) -> range:
    """As many cells as there is room for, those around the middle."""
    first = min(max(0, middle - room // 2), max(0, size - room))
    return range(first, min(size, first + room))
