"""Numbers above the board, checklists beside it, and a bar of actions below it, with icons."""

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
BAR_LINES = 3.75
_MIN_STAGE = 40  # width, in lines, of a stage that a checklist leaves room on
_MIN_ROW = 0.8  # height, in lines, of an item
_TICK = "solved"
_ICON_SHARE = 0.52  # of the bar's height
_COST_LINES = 1.2
NUMBER_LINES = 1.5  # height of a row of numbers
_NUMBER_BAR_LINES = 4  # length of the bar of a number

DrawIcon = Callable[[Rect, str], object]
"""Function that draws the sprite of this name into a square."""


HasIcon = Callable[[str], bool]
"""Function that returns True if there is a sprite of this name."""


def _measure_number(painter: Painter, number: ShownNumber, has_icon: HasIcon) -> tuple[int, int]:
    """Return the widths of the icon or label of a number, and of all of it with a gap."""
    line = painter.line_height
    label = line * 5 // 4 if has_icon(number.icon) else painter.text_width(number.label)
    bar = 0 if number.share is None else _NUMBER_BAR_LINES * line + line // 3
    return label, label + line // 3 + bar + painter.text_width(number.text) + line


def wrap_numbers(
    painter: Painter, numbers: Sequence[ShownNumber], width: int, has_icon: HasIcon
) -> list[list[ShownNumber]]:
    """Return `numbers` in rows that are at most `width` pixels wide."""
    rows, rest = list[list[ShownNumber]](), 0
    for number in numbers:
        needed = _measure_number(painter, number, has_icon)[1]
        if not rows or needed > rest:
            rows.append([])
            rest = width + painter.line_height
        rows[-1].append(number)
        rest -= needed
    return rows


def draw_numbers(
    painter: Painter,
    rect: Rect,
    numbers: Sequence[ShownNumber],
    has_icon: HasIcon,
    draw_icon: DrawIcon,
) -> None:
    """Draw `numbers` side by side into `rect`, each as its icon or label, its bar and its value."""
    line, rest = painter.line_height, rect.copy()
    for number in numbers:
        label_width, width = _measure_number(painter, number, has_icon)
        slot = cut(rest, "left", width)
        label = cut(slot, "left", label_width, line // 3)
        if has_icon(number.icon):
            draw_icon(_center(label, label.w), number.icon)
        else:
            painter.draw_text(label, number.label.capitalize(), "muted")
        if number.share is not None:
            bar = cut(slot, "left", _NUMBER_BAR_LINES * line, line // 3)
            painter.draw_bar(_center(bar, bar.w).clip(bar), number.share)
        painter.draw_text(slot, number.text)


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
    """Draw the actions side by side in the middle of `rect`, and the description of the action
    under the mouse."""
    line, width = painter.line_height, min(rect.w // len(slots), 6 * painter.line_height)
    left, words, gap = rect.centerx - width * len(slots) // 2, "", max(2, line // 5)
    for index, slot in enumerate(slots):
        box = Rect(left + index * width, rect.y, width - gap, rect.h)
        painter.draw_card(box, "card" if slot.is_possible else "well")
        if painter.add_hit_area(box, partial(_press, slot)):
            words = slot.command.description
            painter.draw_outline(box, "outline")
        inner = box.inflate(-gap, -gap)
        upper = cut(inner, "top", int(rect.h * _ICON_SHARE), gap // 2)
        draw_icon(_center(upper, upper.h), slot.command.icon)
        color = "text" if slot.is_possible else "muted"
        lower = inner if not slot.cost else Rect(*upper.topleft, upper.w, line)
        align = "left" if slot.cost else "center"
        painter.draw_text(lower.inflate(-gap, 0), slot.key, color, align, 0.9)
        if not slot.is_possible:
            lock = Rect(0, 0, line * 2 // 3, line * 2 // 3)
            lock.topright = inner.right, upper.y
            painter.draw_shape(lock, "lock", color)
        _draw_cost(painter, inner, slot.cost, draw_icon)
    if words:
        plate = Rect(
            0, rect.y - line * 3 // 2, painter.text_width(words, 0.9) + line, line * 5 // 4
        )
        plate.centerx = rect.centerx
        painter.draw_card(plate)
        painter.draw_text(plate, words, "text", "center", 0.9)


def _press(slot: ActionSlot, _: tuple[int, int]) -> None:
    slot.press()


def _draw_cost(
    painter: Painter, rect: Rect, cost: Sequence[tuple[str, int]], draw_icon: DrawIcon
) -> None:
    """Draw what an action costs in the middle of `rect`, as large as all of it fits."""
    amounts = [(name, str(amount) if amount > 1 else "") for name, amount in cost]
    texts_width = sum(painter.text_width(text) for _, text in amounts)
    side = min(rect.h, int(painter.line_height * _COST_LINES))
    side = min(side, (rect.w - texts_width) // max(1, len(amounts)))
    x = rect.centerx - (texts_width + side * len(amounts)) // 2
    for name, text in amounts:
        x += painter.draw_text(Rect(x, rect.y, rect.right - x, rect.h), text)
        draw_icon(Rect(x + 1, rect.centery - side // 2 + 1, side - 2, side - 2), name)
        x += side
