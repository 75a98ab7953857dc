"""Checklists beside the board, and a bar of actions below it, each with its icon, key and cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.cards import draw_medal
from gv_engine.rules.frame import ShownNumber
from gv_engine.scenario.domains import KeyCommand

CHECKLIST_WIDTH = 13  # lines
BAR_LINES = 3.25
_MIN_STAGE = 40  # width, in lines, of a stage that a checklist leaves room on
_MIN_ROW = 0.8  # height, in lines, of an item
_TICK = "solved"
_ICON_SHARE = 0.55  # of the bar's height

DrawIcon = Callable[[Rect, str, bool], object]
"""Function that draws the sprite of this name into a square, dark if the last argument is False."""


def has_room(stage: Rect, line: int, lists: Mapping[str, Sequence[ShownNumber]]) -> bool:
    """Return True if all checklists fit beside the board on `stage`."""
    rows = sum(1 + len(items) for items in lists.values())
    return stage.w >= _MIN_STAGE * line and rows * line * _MIN_ROW <= stage.h


def count_ticked(title: str, items: Sequence[ShownNumber]) -> str:
    """Return a checklist in short, such as `Achievements 3 of 22`."""
    return f"{title} {sum(item.is_ticked for item in items)} of {len(items)}"


def draw_checklists(
    painter: Painter, rect: Rect, lists: Mapping[str, Sequence[ShownNumber]]
) -> None:
    """Draw all items of the checklists below each other into `rect`, those that are done with a
    tick."""
    rows = sum(1 + len(items) for items in lists.values())
    height = min(painter.line_height * 5 // 4, rect.h // rows)
    size = min(0.9, height / painter.line_height)
    painter.draw_card(rect)
    rest = rect.inflate(-painter.line_height, 0)
    for title, items in lists.items():
        heading = cut(rest, "top", height)
        painter.draw_text(heading, count_ticked(title, items), "accent", size=size)
        for item in items:
            row = cut(rest, "top", height)
            disc = cut(row, "left", height, painter.line_height // 4)
            side = height * 3 // 4
            if item.is_ticked:
                draw_medal(painter, _center(disc, side), _TICK)
            else:
                painter.draw_outline(_center(disc, side), "outline")
            painter.draw_text(row, item.label, "text" if item.is_ticked else "muted", size=size)


def _center(rect: Rect, side: int) -> Rect:
    square = Rect(0, 0, side, side)
    square.center = rect.center
    return square


class ActionSlot(NamedTuple):
    """Action in the bar.

    Attributes:
        command: the action.
        key: key that takes it.
        cost: sprite and amount of what it costs.
        is_possible: False if it has no effect now.
        press: called by a click.
    """

    command: KeyCommand
    key: str
    cost: Sequence[tuple[str, int]]
    is_possible: bool
    press: Callable[[], None]


def draw_actions(
    painter: Painter, rect: Rect, slots: Sequence[ActionSlot], draw_icon: DrawIcon
) -> None:
    """Draw the actions side by side in the middle of `rect`, and in words the one under the
    mouse."""
    line, width = painter.line_height, min(rect.w // len(slots), 6 * painter.line_height)
    left, words, gap = rect.centerx - width * len(slots) // 2, "", max(2, line // 5)
    for index, slot in enumerate(slots):
        box = Rect(left + index * width, rect.y, width - gap, rect.h)
        painter.draw_card(box, "card" if slot.is_possible else "well")
        if painter.add_hit_area(box, partial(_press, slot)):
            words = slot.command.description
            painter.draw_outline(box, "outline")
        inner = box.inflate(-gap, -gap)
        icon = cut(inner, "top", int(rect.h * _ICON_SHARE), gap // 2)
        draw_icon(_center(icon, icon.h), slot.command.icon, slot.is_possible)
        _draw_key_and_cost(painter, inner, slot, draw_icon)
    if words:
        plate = Rect(
            0, rect.y - line * 3 // 2, painter.text_width(words, 0.9) + line, line * 5 // 4
        )
        plate.centerx = rect.centerx
        painter.draw_card(plate)
        painter.draw_text(plate, words, "text", "center", 0.9)


def _press(slot: ActionSlot, _: tuple[int, int]) -> None:
    slot.press()


def _draw_key_and_cost(painter: Painter, rect: Rect, slot: ActionSlot, draw_icon: DrawIcon) -> None:
    """Draw key and cost of an action in the middle of `rect`; the cost is left out if it does not
    fit."""
    color, side = "text" if slot.is_possible else "muted", min(rect.h, painter.line_height)
    size = min(0.9, rect.h / painter.line_height)
    amounts = [(name, str(amount) if amount > 1 else "") for name, amount in slot.cost]
    widths = [side + painter.text_width(text, size) for _, text in amounts]
    key_width = painter.text_width(slot.key, size)
    cost_width = sum(widths) + side // 3
    if not amounts or key_width + cost_width > rect.w:
        amounts, cost_width = [], 0
    x = rect.centerx - (key_width + cost_width) // 2
    painter.draw_text(Rect(x, rect.y, rect.right - x, rect.h), slot.key, color, size=size)
    x += key_width + side // 3
    for (name, text), width in zip(amounts, widths, strict=False):
        painter.draw_text(Rect(x, rect.y, width, rect.h), text, color, size=size)
        draw_icon(Rect(x + width - side, rect.centery - side // 2, side, side), name, True)
        x += width
