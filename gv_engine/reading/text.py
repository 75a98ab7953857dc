"""Boards as text, in the characters of scenario maps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from components.objects import WALL
from gv_engine.language.component import snake_case
from gv_engine.language.errors import printable
from gv_engine.language.frame import Frame
from gv_engine.language.geometry import FORWARD
from gv_engine.language.objects import COLORS, ObjectTypes
from gv_engine.reading.map import LEGEND

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
