"""Drawing over a grid: a policy map with values as colours, likely actions as arrows and visits;
watched cells, light, and soft edges of fog."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.play.grid.input_map import MOVE_DIRECTIONS, TURN_DIRECTIONS
from gv_engine.play.ui.drawing.sprites import clipped, draw_text_line, font, pygame
from gv_engine.rules.frame import PolicyMap
from gv_engine.rules.geometry import rotate, step_x, step_y

LOW_COLOR, HIGH_COLOR = (38, 60, 160), (255, 222, 60)
"""Colours of the lowest and the highest value: blue and yellow differ for everybody."""
VALUE_ALPHA = 130
"""Opacity of the colours, from 0 to 255."""
_WATCHED_ALPHA = 90
_NIGHT_ALPHA = 110
_PARTS = 6  # in which a cell is divided for a soft edge
_GLOW = 0.55  # greatest brightness of a glow
_ARROW_COLOR, _ARROW_EDGE_COLOR = "#fffdf8", "#231f27"
_MIN_TEXT_CELL = 36  # pixels; smaller cells have no numbers
_FACING_NAMES = ("up", "down", "left", "right")
_DOT_RADIUS = 1 / 9
"""Radius, in cells, of the dot that stands for an action that neither moves nor turns."""

CellRect = Callable[[float, float], pygame.Rect]
"""Function from (y, x) to the rectangle of a cell on the surface."""


def value_color(value: float, low: float, high: float) -> tuple[int, int, int]:
    """Return the RGB colour of `value`, mixed from the colours of the lowest value `low` and the
    highest value `high`."""
    share = (value - low) / (high - low) if high > low else 1.0
    channels = zip(LOW_COLOR, HIGH_COLOR, strict=True)
    red, green, blue = (round(dark + share * (light - dark)) for dark, light in channels)
    return red, green, blue


def arrow_points(action: str, facing: int) -> list[tuple[float, float]]:
    """Return the points (x, y) of the arrow that stands for an action, in cells from the centre of
    the cell, the tip last. `facing` is the agent's direction. A turn gives an arrow with a corner,
    any other action that does not move gives []."""
    if action in MOVE_DIRECTIONS:
        direction = rotate(facing, MOVE_DIRECTIONS[action])
        x, y = 0.3 * step_x(direction), 0.3 * step_y(direction)
        return [(-x, -y), (x, y)]
    if action not in TURN_DIRECTIONS:
        return []
    side = rotate(facing, TURN_DIRECTIONS[action])
    corners = ((-0.15, -0.25), (-0.15, 0.1), (0.25, 0.1))  # (aside, ahead)
    return [
        (
            aside * step_x(side) + ahead * step_x(facing),
            aside * step_y(side) + ahead * step_y(facing),
        )
        for aside, ahead in corners
    ]


@lru_cache(maxsize=4)
def make_fog(hidden: bytes, shape: tuple[int, int], cell: int, color: str) -> pygame.Surface:
    """Return a picture of a board with cells of `cell` pixels: `color` on hidden cells and at the
    edges of seen cells beside them, and else transparent. `hidden` is an (H, W) mask of `shape` as
    bytes. The picture is cached, so do not draw on it."""
    mask = np.frombuffer(hidden, np.bool_).reshape(shape)
    large = np.kron(np.pad(mask, 1, constant_values=True), np.ones((_PARTS, _PARTS)))
    blurred: NDArray[Any] = large
    for axis in (0, 1):
        blurred = np.mean([np.roll(blurred, shift, axis) for shift in range(-2, 3)], axis=0)
    opacity = np.maximum(large, np.minimum(1, 2.5 * blurred))[_PARTS:-_PARTS, _PARTS:-_PARTS]
    small = pygame.Surface(opacity.shape[::-1], pygame.SRCALPHA)
    small.fill(color)
    pygame.surfarray.pixels_alpha(small)[:] = (255 * opacity.T).astype(np.uint8)
    return pygame.transform.smoothscale(small, (shape[1] * cell, shape[0] * cell))


def draw_policy_map(surface: pygame.Surface, policy_map: PolicyMap, cell_rect: CellRect) -> None:
    """Draw the policy map over the cells that have an entry: the colour and number of the value, an
    arrow for the most likely action in the best direction, larger for a more likely action, and the
    number of visits."""
    low, high = policy_map.value_range()
    best = policy_map.find_best_directions()
    for y, x in np.argwhere(best >= 0).tolist():
        facing, rect = int(best[y, x]), cell_rect(y, x)
        probabilities = policy_map.probabilities[y, x, facing]
        value, index = float(policy_map.values[y, x, facing]), int(probabilities.argmax())
        if not np.isnan(value):
            _tint(surface, rect, value_color(value, low, high), VALUE_ALPHA)
        action, probability = policy_map.actions[index], float(probabilities[index])
        _draw_arrow(surface, rect, action, facing, probability)
        if rect.w >= _MIN_TEXT_CELL:
            line = max(9, rect.w // 5)
            if not np.isnan(value):
                _draw_number(surface, f"{value:.3g}", rect.move(2, 0), line, "left")
            if visits := policy_map.visits[y, x]:
                corner = pygame.Rect(rect.x, rect.bottom - line, rect.w - 2, line)
                _draw_number(surface, f"×{visits}", corner, line, "right")


def draw_watched_cells(
    surface: pygame.Surface, cells: Iterable[tuple[int, int]], cell_rect: CellRect, color: str
) -> None:
    """Tint `cells`, in which guards see an agent, in `color`; a cell that occurs twice is tinted
    once."""
    for cell in {*cells}:
        _tint(surface, cell_rect(*cell), color, _WATCHED_ALPHA)


def draw_spotlight(
    surface: pygame.Surface, room: pygame.Rect, lit: pygame.Rect | None, color: str, progress: float
) -> None:
    """Shed light in `color` around the rectangle `lit`, or darken `room` if it is None. `progress`
    is from 0 for nothing to 1 for the whole effect."""
    if lit is None:
        _tint(surface, room, "#000000", round(_NIGHT_ALPHA * progress))
        return
    side = round(lit.w * (2 + 3 * progress))
    axis = np.linspace(-1, 1, side)
    distance = np.hypot(axis[:, None], axis)
    shares = _GLOW * progress * np.maximum(0, 1 - distance) ** 2
    shares *= np.clip(4 * distance, 0.3, 1)  # so that the agent keeps its colour
    rgb = np.array(tuple(pygame.Color(color))[:3])
    light = pygame.surfarray.make_surface((shares[..., None] * rgb).astype(np.uint8))
    with clipped(surface, room):
        place = light.get_rect(center=lit.center)
        surface.blit(light, place, special_flags=pygame.BLEND_RGB_ADD)


def _tint(
    surface: pygame.Surface, rect: pygame.Rect, color: str | tuple[int, int, int], alpha: int
) -> None:
    """Fill `rect` with a transparent colour. `alpha` is the opacity from 0 to 255."""
    tile = pygame.Surface(rect.size, 0, 32)
    tile.fill(color)
    tile.set_alpha(alpha)
    surface.blit(tile, rect)


def _draw_number(
    surface: pygame.Surface, text: str, rect: pygame.Rect, line: int, align: str
) -> None:
    """Draw light text with a dark shadow at the top of `rect`. `line` is the height of a line of
    text in pixels."""
    row = pygame.Rect(rect.x, rect.y, rect.w, line)
    row.w = min(row.w, max(1, font(line).size(text)[0] + 1)) if align == "left" else row.w
    for offset, color in ((1, _ARROW_EDGE_COLOR), (0, _ARROW_COLOR)):
        draw_text_line(surface, row.move(offset, offset), text, line, color, align)


def _draw_arrow(
    surface: pygame.Surface, rect: pygame.Rect, action: str, facing: int, probability: float
) -> None:
    """Draw the arrow of an action into the cell `rect`, larger for a larger `probability`. An
    action that neither moves nor turns gets a dot, on the side that the agent faces."""
    size = rect.w * (0.4 + 0.6 * probability)
    width = max(1, round(size / 10))
    points = [
        (rect.centerx + x * size, rect.centery + y * size) for x, y in arrow_points(action, facing)
    ]
    if not points:
        dot = rect.centerx + 0.2 * size * step_x(facing), rect.centery + 0.2 * size * step_y(facing)
        pygame.draw.circle(surface, _ARROW_EDGE_COLOR, dot, size * _DOT_RADIUS + 1)
        pygame.draw.circle(surface, _ARROW_COLOR, dot, size * _DOT_RADIUS)
        return
    previous, tip = map(pygame.Vector2, points[-2:])
    ahead = (tip - previous).normalize() * size * 0.14
    head = [tip + ahead, tip + ahead.rotate(90), tip + ahead.rotate(-90)]
    pygame.draw.lines(surface, _ARROW_EDGE_COLOR, False, points, width + 2)
    pygame.draw.polygon(surface, _ARROW_EDGE_COLOR, head, 3)
    pygame.draw.lines(surface, _ARROW_COLOR, False, points, width)
    pygame.draw.polygon(surface, _ARROW_COLOR, head)


def describe_values(policy_map: PolicyMap) -> str:
    """Return a title for a view with the policy map drawn over it: the range of the values and what
    else the map shows."""
    low, high = policy_map.value_range()
    values = "" if np.isnan(low) else f"values {low:.3g} (blue) to {high:.3g} (yellow), "
    note = f" {policy_map.note}" if policy_map.note else ""
    if (policy_map.find_best_directions() < 0).all():
        return f"no values or actions{note}, visits"
    return f"{values}likely actions{note}, visits"


def describe_cell_policy(policy_map: PolicyMap, cell: tuple[int, int]) -> str:
    """Return the value, the most likely action and the visits of a cell as text; "" if the map has
    no entry for the cell."""
    facing = int(policy_map.find_best_directions()[cell])
    if facing < 0:
        return ""
    value, probabilities = policy_map.values[cell][facing], policy_map.probabilities[cell][facing]
    action = policy_map.actions[int(probabilities.argmax())].replace("_", " ").lower()
    value_text = "" if np.isnan(value) else f"value {value:.3g} "
    pose = f"{value_text}facing {_FACING_NAMES[facing]}"
    return f"; {pose}: {action} {probabilities.max():.0%}; visits: {policy_map.visits[cell]}"
