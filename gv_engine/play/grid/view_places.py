"""Rectangles in which the views of a grid are drawn, side by side or one above the other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.drawing.stage import default_cell_size

SHARES = tuple(part / 40 for part in range(8, 37))  # shares of the area to try for the state
MIN_OBSERVATION_SHARE = 0.6  # smallest cells of the observation beside a whole state, in readable
MAX_OBSERVATION_FACTOR = 1.5  # useful cells of the observation, in cells of a cut-off state
MIN_MAP_SIZE = 96  # pixels; a smaller map is drawn over the state instead

GridShape = tuple[int, int]
"""Height and width of a grid in cells."""


class ViewPlace(NamedTuple):
    """Rectangle of a view and of the label above; a label of height 0 is not drawn."""

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
    has_labels: bool = True,
) -> Mapping[str, ViewPlace]:
    """Return the rectangles for drawing state and observation, by view name. They are side by side
    or one above the other, whichever uses the space better. `grid` and `seen` are their shapes in
    cells.

    Args:
        view: both, state or observation.
        rect: left, top, width and height of the available area, in pixels.
        line: height of a line of text, in pixels.
        grid: shape of the state.
        seen: shape of the observation.
        readable: smallest cell side in pixels; a state that needs smaller cells is shown in part.
        has_labels: True if there is a label above each view.

    Returns:
        Places of "state" and "observation", if the view has them; and of "map", if the state is
        shown in part and there is room for a map below the observation.
    """
    area = pygame.Rect(rect)
    label = line if area.h > 8 * line and has_labels else 0
    if view != "both":
        shape, min_cell = (grid, readable) if view == "state" else (seen, 0)
        _, size = _fit(shape, area.w, area.h - label, min_cell)
        return {view: _place(_centered(area, size[0], size[1] + label), size, label)}
    beside, above = (area.w - line, area.h - label), (area.w, area.h - line - 2 * label)
    plans = [
        _plan_views(is_beside, free_size, share, grid, seen, readable)
        for share in SHARES
        for is_beside, free_size in ((True, beside), (False, above))
    ]
    _, is_beside, is_part, state, shown = max(plans, key=lambda plan: plan.score)
    if not is_beside:
        top = _centered(area, 0, state[1] + line + shown[1] + 2 * label)
        below = top.move(0, label + state[1] + line)
        return {"state": _place(top, state, label), "observation": _place(below, shown, label)}
    both = _centered(area, state[0] + line + shown[0], max(state[1], shown[1]) + label)
    left = pygame.Rect(both.x, both.y, state[0], 0)
    right = pygame.Rect(left.right + line, both.y, shown[0], 0)
    places = {"state": _place(left, state, label), "observation": _place(right, shown, label)}
    map_height = both.h - shown[1] - line - 2 * label
    if is_part and min(shown[0], map_height) >= MIN_MAP_SIZE:
        below = right.move(0, label + shown[1] + line)
        places["map"] = _place(below, (shown[0], map_height), label)
    return places


class _ViewPlan(NamedTuple):
    """Sizes in pixels of state and observation, side by side or one above the other; `is_part` is
    True if only a part of the state is shown. Plans with a higher `score` are better."""

    score: tuple[bool, float]
    is_beside: bool
    is_part: bool
    state: tuple[int, int]
    observation: tuple[int, int]


def _plan_views(
    is_beside: bool,
    free_size: tuple[int, int],
    share: float,
    grid: GridShape,
    seen: GridShape,
    readable: int,
) -> _ViewPlan:
    """Plan how state and observation share `free_size`, (width, height) in pixels. The state gets
    `share` of it; `grid` and `seen` are the shapes in cells."""
    width, height = free_size
    if is_beside:
        cell, state = _fit(grid, int(width * share), height, readable)
        seen_cell, observation = _fit(seen, width - state[0], height, 0)
    else:
        cell, state = _fit(grid, width, int(height * share), readable)
        seen_cell, observation = _fit(seen, width, height - state[1], 0)
    is_part = state[0] < grid[1] * int(cell) or state[1] < grid[0] * int(cell)
    is_good = not is_part and seen_cell >= readable * MIN_OBSERVATION_SHARE
    useful_cell = MAX_OBSERVATION_FACTOR * cell if is_part else cell
    score = state[0] * state[1] * min(seen_cell, useful_cell) ** 2
    return _ViewPlan((is_good, score), is_beside, is_part, state, observation)


def _centered(area: pygame.Rect, width: int, height: int) -> pygame.Rect:
    rect = pygame.Rect(0, 0, width, height)
    rect.center = area.center
    return rect


def _place(at: pygame.Rect, size: tuple[int, int], label: int) -> ViewPlace:
    """Return the place of a view of `size` in pixels below a label that is `label` pixels high, at
    the top of `at` and in its middle."""
    rect = pygame.Rect(0, at.y + label, *size)
    rect.centerx = at.centerx
    return ViewPlace(pygame.Rect(rect.x, at.y, rect.w, label), rect)


def _fit(shape: GridShape, width: int, height: int, readable: int) -> tuple[float, tuple[int, int]]:
    """Return the side of a cell in pixels, less than 1 if there are more cells than pixels, with
    which a grid of `shape` is shown in `width` × `height` pixels; and the (width, height) of the
    visible part. Cells are at least `readable` pixels wide, even if the grid is then cut off."""
    width, height = max(1, width), max(1, height)
    cell = default_cell_size(shape, (height, width), readable)
    ideal = cell or min(height / shape[0], width / shape[1])
    cell = max(1, cell)
    return ideal, (min(width, shape[1] * cell), min(height, shape[0] * cell))
