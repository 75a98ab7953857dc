"""Medals of puzzle levels: discs with a check mark, a star or a 1."""

from __future__ import annotations

import math
from collections.abc import Collection

from gv_engine.play.ui.drawing.sprites import Rect, pygame
from gv_engine.play.ui.drawing.widgets import Painter
from gv_engine.play.ui.settings import MEDALS

_COLORS = {"solved": "gain", "par": "accent", "first": "text"}  # theme colours of the discs
# Corners of the check mark, in tenths of the disc's width from its centre.
_CHECK_MARK = ((-2.3, 0.2), (-0.6, 2.0), (2.4, -1.6))


def draw_medal(painter: Painter, disc: Rect, medal: str, is_won: bool = True) -> None:
    """Draw the medal called `medal`, a key of `MEDALS`, into the square `disc`; only its outline
    unless the player has won it."""
    x, y, scale = *disc.center, disc.w / 10
    surface, radius = painter.surface, disc.w // 2
    ink = painter.color("card" if is_won else "outline")
    if is_won:
        pygame.draw.circle(surface, painter.color(_COLORS[medal]), (x, y), radius)
    else:
        pygame.draw.circle(surface, ink, (x, y), radius, max(1, disc.w // 10))
    if medal == "solved":
        points = [(x + dx * scale, y + dy * scale) for dx, dy in _CHECK_MARK]
        pygame.draw.lines(surface, ink, False, points, max(2, disc.w // 8))
    elif medal == "par":
        angles = [(number * math.pi / 5, 3.6 - 2.0 * (number % 2)) for number in range(10)]
        points = [(x + math.sin(a) * r * scale, y - math.cos(a) * r * scale) for a, r in angles]
        pygame.draw.polygon(surface, ink, points)
    else:
        stem = Rect(0, 0, max(2, disc.w // 7), disc.w // 2)
        stem.center = x, y
        pygame.draw.rect(surface, ink, stem)
        tip = stem.x - scale * 1.6, stem.y + scale * 1.6
        pygame.draw.line(surface, ink, stem.topleft, tip, max(2, disc.w // 8))


def draw_medals(painter: Painter, rect: Rect, won: Collection[str], has_all: bool = False) -> None:
    """Draw the medals in `won` from the right end of `rect` to the left, each as high as `rect`;
    with `has_all`, also the outlines of the others."""
    slot = Rect(rect.right - rect.h, rect.y, rect.h, rect.h)
    for medal in reversed(MEDALS):
        if has_all or medal in won:
            draw_medal(painter, slot, medal, medal in won)
            slot.x -= rect.h * 6 // 5
