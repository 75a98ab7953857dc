"""Text for language models, in the wording of BabyAI-Text (Carta et al., 2023): one sentence for
each object that an agent sees, and names of actions.

>>> action_to_text("MOVE_FORWARD"), action_to_text("PICK_UP")
('go forward', 'pick up')
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from components.objects import DOOR, PARCEL, WALL
from gv_engine.rules.errors import GVEngineError, describe_allowed, format_count, shorten
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import step_x, step_y
from gv_engine.rules.objects import ObjectTypes
from gv_engine.scenario.readers.map import (
    describe_object,
    format_mission,
    format_numbers,
    view_to_text,
)

_WAYS = (1, 0, "forward"), (0, -1, "left"), (0, 1, "right"), (-1, 0, "backward")
"""(ahead, right) of one step in each direction, and its name."""
_LONGEST_ACTION = 100
"""Maximum number of characters of an unknown action in an error message."""


class ActionTextError(GVEngineError):
    """A text names no action."""


def view_to_sentences(
    grid: NDArray[np.uint8],
    item: NDArray[np.uint8],
    types: ObjectTypes,
    observer: tuple[int, int, int],
) -> str:
    """Describe an observation in English, with one line for each visible thing, in the order and
    wording of BabyAI-Text. "" if nothing is visible. The arguments are those of `view_to_text`.

    In BabyAI's levels, where agents stand only on floor or doors, the lines equal the list
    `descriptions` of BabyAI-Text. The article is always `a`, never `an`, as in BabyAI-Text.

    >>> from gv_engine.rules.geometry import FORWARD
    >>> from gv_engine.rules.objects import OBJECT_TYPES
    >>> grid = np.full((3, 3, 3), (2, 0, 0), np.uint8)
    >>> grid[0, 2], grid[2, 0] = (5, 2, 4), (3, 0, 0)
    >>> print(view_to_sentences(grid, np.zeros(3, np.uint8), OBJECT_TYPES, (2, 1, FORWARD)))
    You see a wall 1 step left
    You see a locked yellow door 1 step right and 2 steps forward
    """
    down, aside = step_y(observer[2]), step_x(observer[2])
    looks = {}  # by steps ahead and to the right
    for (y, x), _ in np.ndenumerate(grid[..., 0]):
        dy, dx = y - observer[0], x - observer[1]
        looks[dy * down + dx * aside, dy * aside - dx * down] = tuple(grid[y, x].tolist())
    unnamed = {look for look in looks.values() if look[0] == HIDDEN} | {(FLOOR, 0, NONE)}
    held = item.tolist()
    lines = [f"You carry {_name_thing(types, held)}"] * (held[0] != NONE_GRID_OBJECT)
    here = looks.get((0, 0), (DOOR, 0, NONE))
    if here not in unnamed and here[0] != DOOR:
        lines.append(f"You stand on {_name_thing(types, here)}")
    for ahead, right, way in _WAYS:
        steps = 1
        while looks.get((ahead * steps, right * steps)) in unnamed:
            steps += 1
        if looks.get((ahead * steps, right * steps), (NONE_GRID_OBJECT,))[0] == WALL:
            lines.append(f"You see a wall {format_count(steps, 'step')} {way}")
    for (ahead, right), look in sorted(looks.items(), key=lambda cell: (cell[0][1], -cell[0][0])):
        if look not in unnamed and look[0] != WALL and (ahead, right) != (0, 0):
            lines.append(f"You see {_name_thing(types, look)} {_format_offset(ahead, right)}")
    return "\n".join(lines)


VIEW_STYLES = {"map": view_to_text, "sentences": view_to_sentences}
"""Functions that write a view as text, by style."""


def observation_to_text(frame: Frame, style: str) -> str:
    """Return what the agent of a frame observes as text in a style of `VIEW_STYLES`: its view, its
    mission and its state vector."""
    view = VIEW_STYLES[style](frame.observation, np.array(frame.item), frame.types, frame.observer)
    lines = [view, frame.mission and format_mission(frame.mission), format_numbers(frame.numbers)]
    return "\n".join(filter(None, lines))


def _name_thing(types: ObjectTypes, look: Iterable[int]) -> str:
    kind, state, color = look
    words = describe_object(types, kind, state, color)
    return f"a {words.replace('parcel', 'box') if kind == PARCEL else words}"


def _format_offset(ahead: int, right: int) -> str:
    aside = f"{format_count(abs(right), 'step')} {'right' if right > 0 else 'left'}"
    along = f"{format_count(abs(ahead), 'step')} {'forward' if ahead > 0 else 'backward'}"
    return " and ".join([aside] * (right != 0) + [along] * (ahead != 0))


def action_to_text(name: str) -> str:
    """Return an action's name in words: `go forward` for MOVE_FORWARD, `turn left`, `toggle`."""
    words = name.lower().replace("_", " ")
    return f"go {words.removeprefix('move ')}" if words.startswith("move ") else words


def find_action(text: str, names: Iterable[str]) -> str:
    """Return the action that `text` means, in words such as "go forward" or by its name. Case is
    ignored, and `names` are the possible actions.

    Raises:
        ActionTextError: no action has these words.
    """
    texts = {action_to_text(name): name for name in names}
    by_words = texts | {name.lower().replace("_", " "): name for name in texts.values()}
    words = " ".join(str(text).replace("_", " ").split()).lower()
    if words not in by_words:
        shown = shorten(repr(text), _LONGEST_ACTION)
        raise ActionTextError(f"no action {shown}{describe_allowed(words, texts)}")
    return by_words[words]
