"""Screens of a game around the stage: where their parts lie, and the panel of how it stands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gv_engine.rules.frame import Scene
from gv_engine.scenario.map import format_reward
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import Stage
from gv_engine.ui.drawing.text import wrapped
from gv_engine.ui.drawing.widgets import Painter, wrap

Rect = pygame.Rect
_ROOMY = 6  # lines of a panel that has room for a mission above all else
_MOST_OF_MISSION = 3  # lines
WIDE_WINDOW = 1.45  # times as wide as high: then the panel stands beside the stage, else below it


class ScreenParts(NamedTuple):
    """Rectangles of a screen's parts; all disjoint, those without room have no height."""

    header: Rect
    stage: Rect
    panel: Rect
    side: Rect
    controls: Rect
    hints: Rect


def is_tight(area: Rect, line: int) -> bool:
    """Whether a window has few lines."""
    return area.h < 28 * line


def _panel_lines(area: Rect, line: int) -> float:
    """How high the panel is below the stage: where there are few lines, the stage needs them."""
    return 3 if area.h < 24 * line else 5.25 if is_tight(area, line) else 8


def place_parts(area: Rect, line: int, beside: bool, controls: float, hints: int) -> ScreenParts:
    """Place the parts of the picture.

    Args:
        area: of the whole window.
        line: height of a line of text, in pixels.
        beside: whether a side panel has a place.
        controls: height of what is below the stage, in lines.
        hints: lines of text at the bottom.
    """
    gap = max(3, line // 2)
    inner = area.inflate(-2 * gap, -gap)
    header = Rect(inner.x, inner.y, inner.w, line * 7 // 4)
    foot = Rect(inner.x, inner.bottom - hints * line, inner.w, hints * line)
    body = Rect(inner.x, header.bottom + gap // 2, inner.w, 0)
    body.h = foot.y - gap // 2 - body.y
    flat, roomy = area.w >= WIDE_WINDOW * area.h, area.w >= 44 * line
    wide = (flat or roomy) if beside else (flat and roomy)
    lens = Rect(body.right, body.bottom, 0, 0)
    if wide:
        share = max(22 * line, body.w * 2 // 5) if beside else max(14 * line, body.w // 4)
        width = min(share, 40 * line if beside else 22 * line, body.w * 3 // 5)
        side = Rect(body.right - width, body.y, width, body.h)
        body.w -= width + gap
        if beside:
            lens, panel = side, Rect(body.x, 0, body.w, (2 if body.w >= 24 * line else 4) * line)
        else:
            panel = side
    else:
        panel = Rect(body.x, 0, body.w, _panel_lines(area, line) * line)
        if beside:
            panel.h = 2 * line
            lens = Rect(body.x, 0, body.w, body.h // 2)
            lens.bottom = body.bottom
            body.h -= lens.h + gap
    if beside or not wide:
        panel.bottom = body.bottom
        body.h -= panel.h + gap
    bar = Rect(body.x, 0, body.w, int(controls * line))
    bar.bottom = body.bottom
    body.h -= bar.h + gap // 2
    return ScreenParts(header, body, panel, lens, bar, foot)


Button = tuple[str, Callable[[], None]]
"""What stands on it, and what a press does."""


def draw_panel(
    pen: Painter,
    rect: Rect,
    scene: Scene,
    stage: Stage,
    facts: Sequence[str],
    beside: Button | None = None,
) -> bool:
    """Draw how the game stands: what is held, steps, rewards term by term, and a message.

    Args:
        pen: to draw with.
        rect: the panel; what has no room in it is left out, the least needed first.
        scene: the frame.
        stage: which draws what is held.
        facts: further short texts, the first of them the seed.
        beside: a button beside the seed, if there is room.

    Returns:
        Whether there was room for the message, if there is one.
    """
    line = pen.line
    seed, facts = facts[0] if facts else "", (*stage.facts(), *facts)
    own = (seed, beside) if beside else None
    asked = [scene.mission] if scene.mission else []
    pen.card(rect)
    inner = rect.inflate(-line, -line * 3 // 4)
    if inner.w < 4 * line or inner.h < line:
        return not scene.message
    if rect.h < 5 * line:
        inner = _draw_held(pen, inner, stage)
        terms = [
            f"{name.replace('_', ' ')} {format_reward(v)}" for name, v in scene.terms.items() if v
        ]
        rows = wrapped([*asked, *map(" ".join, _numbers(scene)), *facts, *terms], line, inner.w)
        for number, row in enumerate(rows[: inner.h // line]):
            pen.text(Rect(inner.x, inner.y + number * line, inner.w, line), row)
        return not scene.message
    if inner.h < _ROOMY * line:
        facts = (*asked, *facts)
    elif asked:
        inner = _draw_mission(pen, inner, scene.mission)
    if rect.w > 2 * rect.h:
        left = Rect(inner.x, inner.y, inner.w * 9 // 20, inner.h)
        right = Rect(left.right + line, inner.y, inner.right - left.right - line, inner.h)
        used = _draw_standing(pen, left, scene, stage, facts, own)
        left = Rect(left.x, left.y + used, left.w, left.h - used)
        _draw_story(pen, right, scene, stage)
        return _draw_message(pen, left, scene.message)
    used = _draw_standing(pen, inner, scene, stage, facts, own)
    rest = Rect(inner.x, inner.y + used, inner.w, inner.h - used)
    said = min(len(wrap(scene.message, line, rest.w)), 6) * line if scene.message else 0
    message = Rect(rest.x, rest.bottom - said, rest.w, said)
    rest.h -= said + line // 2 * bool(said)
    _draw_story(pen, rest, scene, stage)
    return _draw_message(pen, message, scene.message)


def _draw_mission(pen: Painter, rect: Rect, mission: str) -> Rect:
    """Write what the agent is asked to do; returns the room below."""
    used = len(wrap(mission, pen.line, rect.w)[:_MOST_OF_MISSION]) * pen.line
    pen.lines(Rect(rect.x, rect.y, rect.w, used), mission, "accent")
    used += pen.line // 2
    return Rect(rect.x, rect.y + used, rect.w, rect.h - used)


def _draw_held(pen: Painter, rect: Rect, stage: Stage) -> Rect:
    """Draw what is held on the left of a low panel; returns the room beside it."""
    well = Rect(rect.x, rect.y, min(rect.h, 2 * pen.line), min(rect.h, 2 * pen.line))
    if not stage.holds or not stage.draw_item(pen.surface, well):
        return rect
    pen.hot(well, lambda _: stage.hold_out())
    used = well.w + pen.line // 2
    return Rect(rect.x + used, rect.y, rect.w - used, rect.h)


def _numbers(scene: Scene) -> list[tuple[str, str]]:
    of = "" if scene.max_steps is None else f" / {scene.max_steps}"
    return [
        ("Steps", f"{scene.steps}{of}"),
        ("Reward", format_reward(scene.reward)),
        ("Return", format_reward(scene.total)),
    ]


def _draw_standing(
    pen: Painter,
    rect: Rect,
    scene: Scene,
    stage: Stage,
    facts: Sequence[str],
    beside: tuple[str, Button] | None,
) -> int:
    """Draw what is held and the numbers; returns the height used."""
    line = pen.line
    rows = _numbers(scene)
    high = min(line * 5 // 4, (rect.h - line * 5 // 4) // len(rows))  # a line more has room below
    x, item = rect.x, ""
    if stage.holds:
        side = min(len(rows) * high, rect.w // 3)
        well = Rect(rect.x, rect.y, side, side)
        pen.card(well, "well")
        item = stage.draw_item(pen.surface, well.inflate(-side // 8, -side // 8))
        if item:
            pen.hot(well, lambda _: stage.hold_out())
        else:
            pen.text(well, "-", "muted", "center")
        x = well.right + line // 2
    for number, (label, value) in enumerate(rows):
        slot = Rect(x, rect.y + number * high, rect.right - x, high)
        taken = pen.text(slot, label, "muted", size=0.9)
        slot.x += taken + line // 2
        slot.w -= taken + line // 2
        ink = _ink(scene, scene.reward) if label == "Reward" else "text"
        pen.text(slot, value, ink, "right", 1.1)
    used = len(rows) * high + line // 4
    held = f"Holding: {item}" if item else ""
    action = scene.action.replace("_", " ").capitalize()
    for text in (*facts, held, action and f"Last action: {action}"):
        if text and used + line <= rect.h:
            taken = pen.text(Rect(rect.x, rect.y + used, rect.w, line), text, "muted", size=0.9)
            if beside and text == beside[0]:
                label, press = beside[1]
                x, width = rect.x + taken + line // 2, pen.width(label) + line
                if x + width <= rect.right:
                    pen.button(Rect(x, rect.y + used, width, line), label, press)
            used += line
    return used + line // 4


def _draw_story(pen: Painter, rect: Rect, scene: Scene, stage: Stage) -> None:
    """Draw how it came to this: what the domain of worlds tells, or else the last reward."""
    if not stage.draw_story(pen.surface, rect):
        _draw_terms(pen, rect, scene)


def _draw_terms(pen: Painter, rect: Rect, scene: Scene) -> None:
    """Write the terms of the reward, those that are not zero first if there is no room for all."""
    line = pen.line
    rows = rect.h // line - 1
    terms = list(scene.terms.items())
    if rows < 1 or not terms:
        return
    pen.text(Rect(rect.x, rect.y, rect.w, line), "Reward, rule by rule", "muted", size=0.9)
    if len(terms) > rows:
        terms.sort(key=lambda term: not term[1])
    for number, (name, value) in enumerate(terms[:rows]):
        slot = Rect(rect.x, rect.y + (number + 1) * line, rect.w, line)
        taken = pen.text(slot, format_reward(value), _ink(scene, value), "right")
        slot.w -= taken + line // 2
        pen.text(slot, name.replace("_", " "), "text" if value else "muted")


def _draw_message(pen: Painter, rect: Rect, message: str) -> bool:
    """Write the message if there is room; returns whether there is."""
    if message and rect.h >= pen.line:
        pen.lines(rect, message, "accent")
    return not message or rect.h >= pen.line


def _ink(scene: Scene, value: float) -> str:
    below = "loss" if scene.is_loss_highlighted else "text"
    return "gain" if value > 0 else below if value < 0 else "muted"
