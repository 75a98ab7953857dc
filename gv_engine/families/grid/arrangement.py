"""Places of the views of a grid: the state, the observation, and a map of the whole."""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gv_engine.frontend.drawing.camera import usual
from gv_engine.frontend.drawing.sprites import pygame

SHARES = tuple(part / 40 for part in range(8, 37))  # of the room, tried for the state
SMALLER = 0.6  # than is well readable may cells of the observation be, so that all of a state shows
LARGER = 1.5  # than the cells of a state in parts, those of the observation may well be
LEAST_MAP = 96  # pixels: a smaller map is better laid over the state

GridShape = tuple[int, int]
"""Height and width of a grid in cells."""


class Place(NamedTuple):
    """Where a view lies, and its name above it; without a height if there is no room for it."""

    label: pygame.Rect
    rect: pygame.Rect


@lru_cache(maxsize=8)
def place_views(
    view: str,
    rect: tuple[int, int, int, int],
    line: int,
    grid: GridShape,
    seen: GridShape,
    readable: int,
) -> Mapping[str, Place]:
    """Place the views: next to or above one another, whichever shows more.

    Args:
        view: both, state or observation.
        rect: left, top, width and height of the room, in pixels.
        line: height of a line of text, in pixels.
        grid: of the state.
        seen: of the observation.
        readable: pixels of a cell's side below which the state is shown in parts.

    Returns:
        "state" and "observation", as the view has them; and "map", if the state is shown in parts
        and there is room for a map below the observation.
    """
    room = pygame.Rect(rect)
    label = line if room.h > 8 * line else 0
    if view != "both":
        shape, least = (grid, readable) if view == "state" else (seen, 0)
        size = _fit(shape, room.w, room.h - label, least)[1]
        return {view: _place(_centered(room, size[0], size[1] + label), size, label)}
    plans = []
    for share in SHARES:
        for beside in (True, False):
            wide = int((room.w - line) * share) if beside else room.w
            tall = room.h - label if beside else int((room.h - line - 2 * label) * share)
            cell, state = _fit(grid, wide, tall, readable)
            wide = room.w - line - state[0] if beside else room.w
            tall = room.h - label if beside else room.h - line - 2 * label - state[1]
            other, shown = _fit(seen, wide, tall, 0)
            is_part = _is_part(state, grid, cell)
            useful = LARGER * cell if is_part else cell
            worth = state[0] * state[1] * min(other, useful) ** 2
            fine = not is_part and other >= readable * SMALLER
            plans.append(((fine, worth), beside, is_part, state, shown))
    _, beside, is_part, state, shown = max(plans, key=lambda plan: plan[0])
    if not beside:
        whole = _centered(room, 0, state[1] + line + shown[1] + 2 * label)
        below = whole.move(0, label + state[1] + line)
        return {
            "state": _place(whole, state, label),
            "observation": _place(below, shown, label),
        }
    whole = _centered(room, state[0] + line + shown[0], max(state[1], shown[1]) + label)
    left = pygame.Rect(whole.x, whole.y, state[0], 0)
    right = pygame.Rect(left.right + line, whole.y, shown[0], 0)
    places = {"state": _place(left, state, label), "observation": _place(right, shown, label)}
    rest = whole.h - label - shown[1] - line
    if is_part and min(shown[0], rest - label) >= LEAST_MAP:
        below = right.move(0, label + shown[1] + line)
        places["map"] = _place(below, (shown[0], rest - label), label)
    return places


def _is_part(size: tuple[int, int], grid: GridShape, cell: float) -> bool:
    """Whether a state with cells of that side is larger than what is shown."""
    return size[0] < grid[1] * int(cell) or size[1] < grid[0] * int(cell)


def _centered(room: pygame.Rect, width: int, height: int) -> pygame.Rect:
    rect = pygame.Rect(0, 0, width, height)
    rect.center = room.center
    return rect


def _place(at: pygame.Rect, size: tuple[int, int], label: int) -> Place:
    """A label, and a view of that size below it, in the middle of the width."""
    rect = pygame.Rect(0, at.y + label, *size)
    rect.centerx = at.centerx
    return Place(pygame.Rect(rect.x, at.y, rect.w, label), rect)


def _fit(shape: GridShape, wide: int, tall: int, readable: int) -> tuple[float, tuple[int, int]]:
    """Pixels of a cell's side, and width and height of what can be shown of a grid."""
    wide, tall = max(1, wide), max(1, tall)
    cell = usual(shape, (tall, wide), readable)
    worth = cell or min(tall / shape[0], wide / shape[1])
    cell = max(1, cell)
    return worth, (min(wide, shape[1] * cell), min(tall, shape[0] * cell))
