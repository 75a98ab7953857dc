"""Terminal view of grids: two characters per cell, for the type and the colour of an object.

Terminal colours repeat what the characters say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, zip_longest
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

from components.core import FLOOR, HIDDEN
from components.items import Opaque
from gv_engine.play.grid.episode import GridHint, describe_action
from gv_engine.play.grid.input_map import list_steerings, resolve_action, steer
from gv_engine.play.ui.colors import PALETTES, Theme
from gv_engine.play.ui.terminal.tty import TerminalPicture
from gv_engine.rules.errors import escape_unprintable
from gv_engine.rules.frame import Frame, group_checklists
from gv_engine.rules.objects import COLORS, ObjectTypes
from gv_engine.scenario.domains import KeyCommand
from gv_engine.scenario.readers.map import (
    describe_object,
    format_mission,
    format_numbers,
    grid_to_text,
)

_BAR_LENGTH = 9  # characters
CELL_WIDTH = 2
"""Characters per cell."""
GAP = 3
"""Characters between state and observation."""
MIN_COLUMNS = 7
"""Minimum number of columns of the state that must fit beside the observation."""


def _format_bar(share: float) -> str:
    filled = round(_BAR_LENGTH * min(1.0, max(0.0, share)))
    return f"[{'#' * filled}{'-' * (_BAR_LENGTH - filled)}]"


class GridTerminalView(TerminalPicture):
    """Terminal view of grid frames; see `gv_engine.play.ui.terminal.tty.TerminalPicture`.

    Args:
        game: session to show.
        theme: colours.
    """

    has_hints = True

    def __init__(self, game: Any, theme: Theme) -> None:
        self._game, self._theme = game, theme
        self._view = ""
        actions = getattr(game, "actions", ())
        self._steerings = list_steerings(game, actions)
        self._steering = self._steerings[0]
        self._hint = GridHint(game, self._describe_action)

    def draw(self, frame: Frame, view: str, width: int, height: int) -> list[Text]:
        """Return lines of text that show state, observation or both, according to `view`; if they
        do not fit into `width` × `height` characters, the part around the agent."""
        theme, self._view = self._theme, view
        if view == "explored":
            frame, view = frame.limit_to_explored(), "state"
        seen = np.ones(frame.observation.shape[:2], np.bool_)
        watched = chain.from_iterable(frame.watched.values())
        marks = dict.fromkeys(watched, f"{theme.background} on {theme.loss}")
        if self._hint.cell:
            marks[self._hint.cell] = f"bold {theme.background} on {theme.gain}"
        seen_marks = ((cell, style) for cell, style in marks.items() if frame.seen[cell])
        view_marks = {frame.to_view_cell(*cell): style for cell, style in seen_marks}
        cells = frame.observation, frame.observer, seen, frame.visible_ground
        observation = _grid_lines(frame.types, *cells, height, width, theme, view_marks)
        if view == "observation":
            return observation
        state_width = width - len(observation[0]) - GAP if view == "both" else width
        if view == "both" and state_width < CELL_WIDTH * min(frame.grid.shape[1], MIN_COLUMNS):
            return self.draw(frame, "state", width, height)
        self._steering.follow(frame)
        facing = self._steering.facing if self.steering else frame.agent[2]
        cells = frame.grid, (*frame.agent[:2], facing), frame.seen, frame.beneath
        state = _grid_lines(frame.types, *cells, height, state_width, theme, marks)
        if view == "state":
            return state
        left_width = len(state[0]) + GAP
        return [
            Text.assemble(left, " " * (left_width - len(left)), right)
            for left, right in zip_longest(state, observation, fillvalue=Text())
        ]

    def facts(self, frame: Frame) -> list[str]:
        """Return lines of text with the mission, the state vector and the held object; a number
        with limits has a line with a bar."""
        lines = [format_mission(frame.mission)] if frame.mission else []
        lists = group_checklists((*frame.numbers, *frame.display))
        for title, items in lists.items():
            done = [item.label for item in items if item.is_ticked]
            lines.append(f"{title}: {len(done)} of {len(items)} {', '.join(done)}".strip())
        shown = (*frame.numbers, *frame.display)
        lines += [escape_unprintable(n.text) for n in shown if n.is_text and n.text]
        numbers = [n for n in shown if not (n.checklist or n.is_text)]
        for number in numbers:
            if number.share is not None:
                bar = f"{number.label} {_format_bar(number.share)} {number.text}"
                lines.append(escape_unprintable(bar))
        if others := format_numbers(number for number in numbers if number.share is None):
            lines.append(others)
        item = describe_object(frame.types, *frame.item) if frame.item[0] else "nothing"
        return [*lines, f"holding {item}"]

    def legend(self, frame: Frame) -> list[Text]:
        """Return a line of text for each kind of object on the screen, with its character and
        description; walls, floor and hidden cells are left out."""
        frame = frame.limit_to_explored() if self._view == "explored" else frame
        both = np.concatenate([frame.grid.reshape(-1, 3), frame.observation.reshape(-1, 3)])
        cells = np.unique(both, axis=0)
        lines: dict[str, Text] = {}
        letters = grid_to_text(cells[None], frame.types)
        for letter, (kind, state, color) in zip(letters, cells.tolist(), strict=True):
            if letter not in "#.?":
                text = Text(no_wrap=True)
                text.append(
                    *_cell_text(frame.types, letter, (kind, state, color), True, self._theme)
                )
                description = describe_object(frame.types, kind, state, color)
                text.append(f" {description}", self._theme.muted)
                lines.setdefault(text.plain, text)
        return list(lines.values())

    def ask_hint(self) -> None:
        """Search for a hint, or make the hint stronger."""
        if not self._game.outcome:
            self._hint.search()

    def drop_hint(self) -> None:
        """Forget the hint, and get ready for another one."""
        self._hint.clear()
        self._hint.prepare()

    def close(self) -> None:
        """End the background process that searches for hints."""
        self._hint.close()

    @property
    def hint_text(self) -> str:
        """Text of the hint, or a note that the search for a hint is still running."""
        self._hint.update()
        return self._hint.message

    def _describe_action(self, action: str) -> str:
        facing = self._game.frame().agent[2]
        direction = self._steering.direction_of(action, facing) if self.steering else ""
        return direction or describe_action(action, self._game.commands)

    def command(self, name: str) -> str:
        """Return the action for the key command `name`, see `resolve_action`."""
        return resolve_action(name, self._game.actions)

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """Return the steering commands if the agent is shown from above, else none."""
        if not self.steers or self._view == "observation":
            return ()
        return [command for steering in self._steerings for command in steering.commands]

    def actions(self, name: str) -> Iterator[str]:
        """Yield the actions of a key command: several for a steering command such as "go left",
        else one."""
        if self.steering:
            look_first = self._view == "explored"  # the agent sees only what is ahead
            yield from steer(self._steerings, name, self._game.frame, self._game, look_first)
        if name not in (command.name for command in self.steering):
            yield from super().actions(name)

    def has_command(self, name: str) -> bool:
        """Return True if the command `name` is available in this level."""
        if self.steering and any(name in steering.replaces for steering in self._steerings):
            return False
        commands = (*self.steering, *self._game.commands)
        return name in self._game.actions or any(command.name == name for command in commands)


def _grid_lines(
    types: ObjectTypes,
    grid: NDArray[np.uint8],
    agent: tuple[int, int, int],
    seen: NDArray[np.bool_],
    beneath: NDArray[np.uint8] | None,
    height: int,
    width: int,
    theme: Theme,
    marks: Mapping[Any, str],
) -> list[Text]:
    """Return a grid as lines of text; if it does not fit into `height` lines of `width` characters,
    the part around the agent. `seen` are the bright cells, `beneath` the ground objects, and
    `marks` the Rich styles of marked cells (y, x)."""
    agent_y, agent_x, _ = agent
    columns = _visible_range(agent_x, grid.shape[1], max(1, width // CELL_WIDTH))
    letters = grid_to_text(grid, types, agent).split("\n")
    is_covered = np.zeros(grid.shape[:2], np.bool_)  # cells with an object on a ground object
    if beneath is not None:
        is_covered = (beneath != grid).any(-1) & (beneath[..., 0] > FLOOR)
        ground_letters = grid_to_text(beneath, types).lower().split("\n")
    lines = []
    for y in _visible_range(agent_y, grid.shape[0], height):
        cells = []
        for x in columns:
            letter, look = letters[y][x], grid[y, x].tolist()
            text, style = _cell_text(types, letter, look, bool(seen[y, x]), theme)
            style = marks.get((y, x), style)
            if (y, x) == (agent_y, agent_x):
                text, style = f"{letter} ", f"bold {theme.on_accent} on {theme.accent}"
            if is_covered[y, x]:
                text = text[0] + ground_letters[y][x] if text[1] == " " else text
                style = f"{style} underline"
            cells.append((text, style))
        line = Text(no_wrap=True)
        for style, alike in groupby(cells, itemgetter(1)):
            line.append("".join(text for text, _ in alike), style)
        lines.append(line)
    return lines


def _cell_text(
    types: ObjectTypes, letter: str, look: Sequence[int], is_lit: bool, theme: Theme
) -> tuple[str, str]:
    """Return (characters, Rich style) for a cell; `look` is (type, state, colour) of its object,
    `letter` stands for the type if it has no word, and `is_lit` cells are bright."""
    kind, state, color = look
    word = types[kind].glyph_of(state)
    letter = word[0] if word.isascii() and word else letter
    ground = theme.card if is_lit else theme.background
    if kind == HIDDEN:
        return letter * CELL_WIDTH, f"dim {theme.muted} on {theme.background}"
    if not color and Opaque in dict(types[kind].components):
        return letter * CELL_WIDTH, f"{theme.muted} on {theme.outline}"
    if color:
        shades = PALETTES[theme.palette][color]
        is_dark = int(theme.background[1:3], 16) < 128  # the red of `#rrggbb`
        text_color = shades.light if is_dark else shades.dark
        return letter + COLOR_LETTERS[color], f"bold {text_color} on {ground}"
    if letter == ".":
        return (letter if is_lit else " ") + " ", f"{theme.muted} on {ground}"
    second = word[1] if word.isascii() and len(word) > 1 else " "
    return letter + second, f"{'bold ' if is_lit else ''}{theme.text} on {ground}"


def _choose_color_letters() -> str:
    """Return for each colour the first letter of its name that no earlier colour uses."""
    letters = ""
    for name in COLORS:
        letters += next(letter for letter in name.lower() if letter not in letters)
    return letters


COLOR_LETTERS = _choose_color_letters()


def _visible_range(middle: int, size: int, max_length: int) -> range:
    """Return at most `max_length` indices below `size`, with `middle` as near to the middle as
    possible."""
    first = min(max(0, middle - max_length // 2), max(0, size - max_length))
    return range(first, min(size, first + max_length))
