"""Layout of a game's screen, and the status panel with held item, steps, rewards and message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gv_engine.rules.frame import Scene
from gv_engine.scenario.map import format_reward
from gv_engine.ui.drawing.sprites import Rect, join_into_lines
from gv_engine.ui.drawing.stage import Stage
from gv_engine.ui.drawing.widgets import Painter, wrap_text

_MISSION_LINES = 6  # lines from which on a panel shows the mission at its top
_MAX_MISSION_LINES = 3  # lines
WIDE_ASPECT = 1.45  # width : height from which on the panel is beside the stage, else below


class ScreenLayout(NamedTuple):
    """Rectangles of the parts of a game's screen; they are disjoint, and a part without room has
    height 0."""

    header: Rect
    stage: Rect
    panel: Rect
    side: Rect
    controls: Rect
    hints: Rect


def is_small_window(area: Rect, line: int) -> bool:
    """Return whether a window has fewer than 28 lines."""
    return area.h < 28 * line


def _panel_lines(area: Rect, line: int) -> float:
    """Return the height of the panel below the stage in lines; small windows get a lower panel."""
    return 3 if area.h < 24 * line else 5.25 if is_small_window(area, line) else 8


def lay_out_screen(
    area: Rect, line: int, has_side_panel: bool, controls: float, hints: int
) -> ScreenLayout:
    """Return the rectangles of the parts of a game's screen.

    Args:
        area: rectangle of the window.
        line: height of a line of text, in pixels.
        has_side_panel: True if a side panel is open.
        controls: height of the controls below the stage, in lines.
        hints: number of lines with hints at the bottom.
    """
    gap = max(3, line // 2)
    inner = area.inflate(-2 * gap, -gap)
    header = Rect(inner.x, inner.y, inner.w, line * 7 // 4)
    hints_rect = Rect(inner.x, inner.bottom - hints * line, inner.w, hints * line)
    stage = Rect(inner.x, header.bottom + gap // 2, inner.w, 0)
    stage.h = hints_rect.y - gap // 2 - stage.y
    is_wide, is_large = area.w >= WIDE_ASPECT * area.h, area.w >= 44 * line
    wide = (is_wide or is_large) if has_side_panel else (is_wide and is_large)
    side_panel = Rect(stage.right, stage.bottom, 0, 0)
    if wide:
        share = max(22 * line, stage.w * 2 // 5) if has_side_panel else max(14 * line, stage.w // 4)
        width = min(share, 40 * line if has_side_panel else 22 * line, stage.w * 3 // 5)
        column = Rect(stage.right - width, stage.y, width, stage.h)
        stage.w -= width + gap
        if has_side_panel:
            side_panel = column
            panel = Rect(stage.x, 0, stage.w, (2 if stage.w >= 24 * line else 4) * line)
        else:
            panel = column
    else:
        panel = Rect(stage.x, 0, stage.w, _panel_lines(area, line) * line)
        if has_side_panel:
            panel.h = 2 * line
            side_panel = Rect(stage.x, 0, stage.w, stage.h // 2)
            side_panel.bottom = stage.bottom
            stage.h -= side_panel.h + gap
    if has_side_panel or not wide:
        panel.bottom = stage.bottom
        stage.h -= panel.h + gap
    controls_rect = Rect(stage.x, 0, stage.w, int(controls * line))
    controls_rect.bottom = stage.bottom
    stage.h -= controls_rect.h + gap // 2
    return ScreenLayout(header, stage, panel, side_panel, controls_rect, hints_rect)


PanelButton = tuple[str, Callable[[], None]]
"""Label of a button, and the function that a press calls."""


def draw_status_panel(
    painter: Painter,
    rect: Rect,
    scene: Scene,
    stage: Stage,
    facts: Sequence[str],
    seed_button: PanelButton | None = None,
) -> bool:
    """Draw the status panel: held item, steps, rewards by rule, facts and message.

    Args:
        painter: painter to draw with.
        rect: rectangle of the panel; parts that do not fit are left out, the least important first.
        scene: frame to describe.
        stage: stage that draws the held item.
        facts: short texts, the first of them the seed.
        seed_button: button beside the seed, if it fits.

    Returns:
        False if there is a message and it did not fit.
    """
    line = painter.line_height
    seed, facts = facts[0] if facts else "", (*stage.facts(), *facts)
    seed_text_and_button = (seed, seed_button) if seed_button else None
    mission = [scene.mission] if scene.mission else []
    painter.draw_card(rect)
    inner = rect.inflate(-line, -line * 3 // 4)
    if inner.w < 4 * line or inner.h < line:
        return not scene.message
    if rect.h < 5 * line:
        inner = _draw_held_item(painter, inner, stage)
        terms = [
            f"{name.replace('_', ' ')} {format_reward(v)}" for name, v in scene.terms.items() if v
        ]
        rows = join_into_lines(
            [*mission, *map(" ".join, _counter_rows(scene)), *facts, *terms], line, inner.w
        )
        for number, row in enumerate(rows[: inner.h // line]):
            painter.draw_text(Rect(inner.x, inner.y + number * line, inner.w, line), row)
        return not scene.message
    if inner.h < _MISSION_LINES * line:
        facts = (*mission, *facts)
    elif mission:
        inner = _draw_mission(painter, inner, scene.mission)
    if rect.w > 2 * rect.h:
        left = Rect(inner.x, inner.y, inner.w * 9 // 20, inner.h)
        right = Rect(left.right + line, inner.y, inner.right - left.right - line, inner.h)
        used = _draw_counters(painter, left, scene, stage, facts, seed_text_and_button)
        left = Rect(left.x, left.y + used, left.w, left.h - used)
        _draw_history(painter, right, scene, stage)
        return _draw_message(painter, left, scene.message)
    used = _draw_counters(painter, inner, scene, stage, facts, seed_text_and_button)
    rest = Rect(inner.x, inner.y + used, inner.w, inner.h - used)
    message_height = (
        min(len(wrap_text(scene.message, line, rest.w)), 6) * line if scene.message else 0
    )
    message = Rect(rest.x, rest.bottom - message_height, rest.w, message_height)
    rest.h -= message_height + line // 2 * bool(message_height)
    _draw_history(painter, rest, scene, stage)
    return _draw_message(painter, message, scene.message)


def _draw_mission(painter: Painter, rect: Rect, mission: str) -> Rect:
    """Draw the mission at the top of a rectangle; return the rectangle that is left below."""
    used = (
        len(wrap_text(mission, painter.line_height, rect.w)[:_MAX_MISSION_LINES])
        * painter.line_height
    )
    painter.draw_lines(Rect(rect.x, rect.y, rect.w, used), mission, "accent")
    used += painter.line_height // 2
    return Rect(rect.x, rect.y + used, rect.w, rect.h - used)


def _draw_held_item(painter: Painter, rect: Rect, stage: Stage) -> Rect:
    """Draw the held item at the left of a low panel; return the rectangle that is left beside
    it."""
    well = Rect(
        rect.x, rect.y, min(rect.h, 2 * painter.line_height), min(rect.h, 2 * painter.line_height)
    )
    if not stage.holds or not stage.draw_item(painter.surface, well):
        return rect
    painter.add_hit_area(well, lambda _: stage.select_held_item())
    used = well.w + painter.line_height // 2
    return Rect(rect.x + used, rect.y, rect.w - used, rect.h)


def _counter_rows(scene: Scene) -> list[tuple[str, str]]:
    """Return (label, value) of steps, reward and return."""
    limit = "" if scene.max_steps is None else f" / {scene.max_steps}"
    return [
        ("Steps", f"{scene.steps}{limit}"),
        ("Reward", format_reward(scene.reward)),
        ("Return", format_reward(scene.total)),
    ]


def _draw_counters(
    painter: Painter,
    rect: Rect,
    scene: Scene,
    stage: Stage,
    facts: Sequence[str],
    seed_button: tuple[str, PanelButton] | None,
) -> int:
    """Draw the held item, the numbers and the facts; return the height used, in pixels.

    Args:
        painter: painter to draw with.
        rect: rectangle to draw in.
        scene: frame to describe.
        stage: stage that draws the held item.
        facts: short texts below the numbers.
        seed_button: text of the seed, and the button beside it.
    """
    line = painter.line_height
    rows = _counter_rows(scene)
    row_height = min(
        line * 5 // 4, (rect.h - line * 5 // 4) // len(rows)
    )  # one more line fits below
    x, item = rect.x, ""
    if stage.holds:
        side = min(len(rows) * row_height, rect.w // 3)
        well = Rect(rect.x, rect.y, side, side)
        painter.draw_card(well, "well")
        item = stage.draw_item(painter.surface, well.inflate(-side // 8, -side // 8))
        if item:
            painter.add_hit_area(well, lambda _: stage.select_held_item())
        else:
            painter.draw_text(well, "-", "muted", "center")
        x = well.right + line // 2
    for number, (label, value) in enumerate(rows):
        slot = Rect(x, rect.y + number * row_height, rect.right - x, row_height)
        text_width = painter.draw_text(slot, label, "muted", size=0.9)
        slot.x += text_width + line // 2
        slot.w -= text_width + line // 2
        ink = _value_color(scene, scene.reward) if label == "Reward" else "text"
        painter.draw_text(slot, value, ink, "right", 1.1)
    used = len(rows) * row_height + line // 4
    held = f"Holding: {item}" if item else ""
    action = scene.action.replace("_", " ").capitalize()
    for text in (*facts, held, action and f"Last action: {action}"):
        if text and used + line <= rect.h:
            text_width = painter.draw_text(
                Rect(rect.x, rect.y + used, rect.w, line), text, "muted", size=0.9
            )
            if seed_button and text == seed_button[0]:
                label, press = seed_button[1]
                x, width = rect.x + text_width + line // 2, painter.text_width(label) + line
                if x + width <= rect.right:
                    painter.draw_button(Rect(x, rect.y + used, width, line), label, press)
            used += line
    return used + line // 4


def _draw_history(painter: Painter, rect: Rect, scene: Scene, stage: Stage) -> None:
    """Draw the stage's history of the episode, or, if it has none, the terms of the last reward."""
    if not stage.draw_history(painter.surface, rect):
        _draw_reward_terms(painter, rect, scene)


def _draw_reward_terms(painter: Painter, rect: Rect, scene: Scene) -> None:
    """Draw the terms of the last reward by rule; if they do not all fit, the terms that are not
    zero."""
    line = painter.line_height
    rows = rect.h // line - 1
    terms = list(scene.terms.items())
    if rows < 1 or not terms:
        return
    painter.draw_text(Rect(rect.x, rect.y, rect.w, line), "Reward, rule by rule", "muted", size=0.9)
    if len(terms) > rows:
        terms.sort(key=lambda term: not term[1])
    for number, (name, value) in enumerate(terms[:rows]):
        slot = Rect(rect.x, rect.y + (number + 1) * line, rect.w, line)
        text_width = painter.draw_text(
            slot, format_reward(value), _value_color(scene, value), "right"
        )
        slot.w -= text_width + line // 2
        painter.draw_text(slot, name.replace("_", " "), "text" if value else "muted")


def _draw_message(painter: Painter, rect: Rect, message: str) -> bool:
    """Draw the message if the rectangle is high enough; return False if the message did not fit."""
    if message and rect.h >= painter.line_height:
        painter.draw_lines(rect, message, "accent")
    return not message or rect.h >= painter.line_height


def _value_color(scene: Scene, value: float) -> str:
    """Return the theme's colour name for a reward: gain, loss, text or muted."""
    below = "loss" if scene.is_loss_highlighted else "text"
    return "gain" if value > 0 else below if value < 0 else "muted"
