"""Layout of a game's screen, and the status panel with held item, steps, rewards and message."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gv_engine.rules.frame import Scene
from gv_engine.scenario.map import format_reward
from gv_engine.ui.drawing.sprites import Rect, join_into_lines
from gv_engine.ui.drawing.stage import Stage
from gv_engine.ui.drawing.widgets import Painter, cut, wrap_text

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
    """Return whether the window `area` has less than 28 lines of text, each `line` pixels high."""
    return area.h < 28 * line


def _panel_lines(area: Rect, line: int) -> float:
    """Return the height of the status panel in the window `area`, in lines of `line` pixels; it is
    lower in small windows."""
    return 3 if area.h < 24 * line else 5.25 if is_small_window(area, line) else 8


def lay_out_screen(
    area: Rect, line: int, has_side_panel: bool, controls: float, hints: int
) -> ScreenLayout:
    """Return the rectangles of the parts of a game's screen in the window `area`, with or without a
    side panel. `line` is the height of a line of text in pixels; `controls` and `hints` are heights
    in lines.

    Args:
        area: rectangle of the window.
        line: height of a line of text, in pixels.
        has_side_panel: True if a side panel is open.
        controls: height of the controls below the stage, in lines.
        hints: number of lines with hints at the bottom.
    """
    gap = max(3, line // 2)
    stage = area.inflate(-2 * gap, -gap)
    header = cut(stage, "top", line * 7 // 4, gap // 2)
    hints_rect = cut(stage, "bottom", hints * line, gap // 2)
    is_wide, is_large = area.w >= WIDE_ASPECT * area.h, area.w >= 44 * line
    wide = (is_wide or is_large) if has_side_panel else (is_wide and is_large)
    side_panel = Rect(stage.right, stage.bottom, 0, 0)
    panel_lines = _panel_lines(area, line)
    if wide:
        share = max(22 * line, stage.w * 2 // 5) if has_side_panel else max(14 * line, stage.w // 4)
        width = min(share, 40 * line if has_side_panel else 22 * line, stage.w * 3 // 5)
        panel = cut(stage, "right", width, gap)
        if has_side_panel:
            side_panel = panel
            panel_lines = 2 if stage.w >= 24 * line else 4
    elif has_side_panel:
        side_panel = cut(stage, "bottom", stage.h // 2, gap)
        panel_lines = 2
    if has_side_panel or not wide:
        panel = cut(stage, "bottom", int(panel_lines * line), gap)
    controls_rect = cut(stage, "bottom", int(controls * line), gap // 2)
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
    """Draw the status panel into `rect`: item held in `stage`, steps, rewards by rule, `facts` and
    message of the state `scene`. Return False if there is a message that did not fit.

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
        _draw_held_item(painter, inner, stage)
        terms = [
            f"{name.replace('_', ' ')} {format_reward(v)}" for name, v in scene.terms.items() if v
        ]
        texts = [*mission, *map(" ".join, _counter_rows(scene)), *facts, *terms]
        for row in join_into_lines(texts, line, inner.w)[: inner.h // line]:
            painter.draw_text(cut(inner, "top", line), row)
        return not scene.message
    if inner.h < _MISSION_LINES * line:
        facts = (*mission, *facts)
    elif mission:
        height = len(wrap_text(scene.mission, line, inner.w)[:_MAX_MISSION_LINES]) * line
        painter.draw_lines(cut(inner, "top", height, line // 2), scene.mission, "accent")
    if rect.w > 2 * rect.h:
        left = cut(inner, "left", inner.w * 9 // 20, line)
        _draw_counters(painter, left, scene, stage, facts, seed_text_and_button)
        _draw_history(painter, inner, scene, stage)
        return _draw_message(painter, left, scene.message)
    _draw_counters(painter, inner, scene, stage, facts, seed_text_and_button)
    height = min(len(wrap_text(scene.message, line, inner.w)), 6) * line
    message = cut(inner, "bottom", height, line // 2 * bool(height))
    _draw_history(painter, inner, scene, stage)
    return _draw_message(painter, message, scene.message)


def _draw_held_item(painter: Painter, rect: Rect, stage: Stage) -> None:
    """Draw the item that the agent in `stage` holds at the left of `rect`, a low status panel, and
    shrink `rect` to the rest."""
    line = painter.line_height
    side = min(rect.h, 2 * line)
    well = Rect(rect.x, rect.y, side, side)
    if stage.holds and stage.draw_item(painter.surface, well):
        painter.add_hit_area(well, lambda _: stage.select_held_item())
        cut(rect, "left", side, line // 2)


def _counter_rows(scene: Scene) -> list[tuple[str, str]]:
    """Return (label, value) pairs for steps, reward and return of the state `scene`."""
    limit = "" if scene.max_steps is None else f" / {scene.max_steps}"
    return [
        ("Steps", f"{scene.steps}{limit}"),
        ("Reward", format_reward(scene.reward)),
        ("Return", format_reward(scene.total)),
    ]


def _draw_counters(
    painter: Painter,
    rest: Rect,
    scene: Scene,
    stage: Stage,
    facts: Sequence[str],
    seed_button: tuple[str, PanelButton] | None,
) -> None:
    """Draw the held item, steps, reward and return of the state `scene` and `facts` at the top of
    `rest`, and shrink `rest` to what is left; `seed_button` is a button beside the seed.

    Args:
        painter: painter to draw with.
        rest: rectangle to draw in.
        scene: frame to describe.
        stage: stage that draws the held item.
        facts: short texts below the numbers.
        seed_button: text of the seed, and the button beside it.
    """
    line = painter.line_height
    rows = _counter_rows(scene)
    # one more line fits below
    row_height = min(line * 5 // 4, (rest.h - line * 5 // 4) // len(rows))
    counters, item = cut(rest, "top", len(rows) * row_height, line // 4), ""
    if stage.holds:
        side = min(counters.h, rest.w // 3)
        well = cut(counters, "left", side, line // 2)
        well.h = side
        painter.draw_card(well, "well")
        item = stage.draw_item(painter.surface, well.inflate(-side // 8, -side // 8))
        if item:
            painter.add_hit_area(well, lambda _: stage.select_held_item())
        else:
            painter.draw_text(well, "-", "muted", "center")
    for label, value in rows:
        slot = cut(counters, "top", row_height)
        cut(slot, "left", painter.draw_text(slot, label, "muted", size=0.9) + line // 2)
        color = _value_color(scene, scene.reward) if label == "Reward" else "text"
        painter.draw_text(slot, value, color, "right", 1.1)
    held = f"Holding: {item}" if item else ""
    action = scene.action.replace("_", " ").capitalize()
    for text in (*facts, held, action and f"Last action: {action}"):
        if text and line <= rest.h:
            row = cut(rest, "top", line)
            cut(row, "left", painter.draw_text(row, text, "muted", size=0.9) + line // 2)
            if seed_button and text == seed_button[0]:
                label, press = seed_button[1]
                width = painter.text_width(label) + line
                if width <= row.w:
                    painter.draw_button(cut(row, "left", width), label, press)
    cut(rest, "top", line // 4)


def _draw_history(painter: Painter, rect: Rect, scene: Scene, stage: Stage) -> None:
    """Draw into `rect` the history of the episode, if the domain's `stage` has one, else the parts
    of the last reward in `scene` by rule."""
    if not stage.draw_history(painter.surface, rect):
        _draw_reward_terms(painter, rect, scene)


def _draw_reward_terms(painter: Painter, rect: Rect, scene: Scene) -> None:
    """Draw into `rect` the parts of the last reward in `scene` by rule; if not all fit, those that
    are not zero come first."""
    line, rest = painter.line_height, rect.copy()
    rows = rect.h // line - 1
    terms = list(scene.terms.items())
    if rows < 1 or not terms:
        return
    painter.draw_text(cut(rest, "top", line), "Reward, rule by rule", "muted", size=0.9)
    if len(terms) > rows:
        terms.sort(key=lambda term: not term[1])
    for name, value in terms[:rows]:
        slot, color = cut(rest, "top", line), _value_color(scene, value)
        slot.w -= painter.draw_text(slot, format_reward(value), color, "right") + line // 2
        painter.draw_text(slot, name.replace("_", " "), "text" if value else "muted")


def _draw_message(painter: Painter, rect: Rect, message: str) -> bool:
    """Draw `message` into `rect` if that is high enough; return False if it did not fit."""
    if message and rect.h >= painter.line_height:
        painter.draw_lines(rect, message, "accent")
    return not message or rect.h >= painter.line_height


def _value_color(scene: Scene, value: float) -> str:
    """Return the name of the theme's colour for the reward `value`: gain, loss, text or muted.
    `scene` says whether losses have a colour of their own."""
    below = "loss" if scene.is_loss_highlighted else "text"
    return "gain" if value > 0 else below if value < 0 else "muted"
