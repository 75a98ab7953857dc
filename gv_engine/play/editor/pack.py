"""Packs of levels in the text of a scenario file; edits return the new text."""

from __future__ import annotations

from collections.abc import Sequence

from gv_engine.play.editor import text_buffer
from gv_engine.play.editor.text_buffer import EditError, KeyPath, has_value, list_length
from gv_engine.scenario.levels.packs import LEVELS

_NOT_COPIED_KEYS = ("title", "solution", "says", "par")
"""Keys of a level that a copy of it does not get."""
_PLACEHOLDER = "the_levels_of_the_pack"
"""Value that stands for the list of levels until the list is written."""


def level_path(number: int, key: str = "") -> KeyPath:
    """Return the key path of level `number`, from 1, of a pack, or of its key `key`."""
    return (LEVELS, number - 1, key) if key else (LEVELS, number - 1)


def level_titles(text: str) -> list[str]:
    """Return the titles of the levels listed in the scenario `text`, such as "Level 3" for a level
    without a title; [] if no levels are listed."""
    count = list_length(text, (LEVELS,))
    titles = (text_buffer.read_scalar(text, level_path(n, "title")) for n in range(1, count + 1))
    return [title or f"Level {number}" for number, title in enumerate(titles, 1)]


def edited_level(text: str, variant: str, default: str) -> str:
    """Return the variant to edit after the scenario `text` has changed. `variant` is the name of
    a variant, or a level number as text. Without levels, return `default`; otherwise `variant` if
    it is a name, the nearest existing level number if it is a number, and "1" if it is neither."""
    count = list_length(text, (LEVELS,))
    if not count:
        return default
    if variant and has_value(text, ("variants", variant)):
        return variant
    number = int(variant) if variant.isdecimal() else 1
    return str(min(max(1, number), count))


def make_pack(text: str, rows: Sequence[str]) -> str:
    """Return the scenario `text` as a pack whose only level has the map `rows`.

    Raises:
        EditError: the scenario has no map.
    """
    if not rows:
        raise EditError("A pack is made of a level with a map; draw it as a map first")
    text = text_buffer.put(text, (LEVELS,), _PLACEHOLDER, after="map")
    text = text.replace(f" {_PLACEHOLDER}", "\n  - title: Level 1\n    map: .", 1)
    text = text_buffer.put_rows(text, level_path(1, "map"), [*rows])
    return text_buffer.remove(text, ("map",)) if has_value(text, ("map",)) else text


def add_level(text: str, number: int) -> str:
    """Return the scenario `text` with a copy of level `number` right after it, without the keys
    that describe the original map: solution, texts and number of steps. If there are N levels then,
    the title of the copy is "Level N".

    Raises:
        EditError: the level is in a file of another format.
    """
    if not has_value(text, level_path(number, "map")):
        raise EditError("This level is in a file of another format; copy it there")
    text = text_buffer.duplicate(text, (LEVELS,), number - 1)
    title = f"Level {list_length(text, (LEVELS,))}"
    for key in _NOT_COPIED_KEYS:
        if has_value(text, level_path(number + 1, key)):
            text = text_buffer.remove(text, level_path(number + 1, key))
    return text_buffer.put(text, level_path(number + 1, "title"), title)


def remove_level(text: str, number: int) -> str:
    """Return the scenario `text` without level `number` of its pack.

    Raises:
        EditError: it is the only level.
    """
    if list_length(text, (LEVELS,)) == 1:
        raise EditError("The only level of a pack stays; put another beside it first")
    return text_buffer.remove(text, level_path(number))


def move_level(text: str, number: int, offset: int) -> str:
    """Return the scenario `text` with level `number` of its pack moved by `offset` places."""
    return text_buffer.move(text, (LEVELS,), number - 1, number - 1 + offset)
