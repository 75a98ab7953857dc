"""Visibility: which cells of its view an agent sees (GridVerse specification, section 6)."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.area import Area
from gv_engine.system import VISIBILITY, system


@system(VISIBILITY)
def fully_transparent(w: Any, agent: int, view: Any) -> None:
    """Everything is seen, through walls too."""
    view.seen.fill(1)


def _agent_not_at_the_bottom(area: Area) -> str:
    if area.ymax == 0 and area.xmin <= 0 <= area.xmax:
        return ""
    return f"found rows {area.ymin} to {area.ymax}: the agent must be in the bottom row, row 0"


@system(VISIBILITY, check=_agent_not_at_the_bottom)
def partially_occluded(w: Any, agent: int, view: Any) -> None:
    """Sight spreads forward and to either side through whatever does not block it."""
    # Row by row from the agent, as bits: the cells that the spread to either side has reached.
    width = view.seen.shape[1]
    left = right = 1 << view.x
    for i in range(view.y, -1, -1):
        clear = 0
        opaque = view.opaque[i]
        for j in range(width):
            clear |= (opaque[j] == 0) << j
        left = spread_left(left, clear, width)
        right = spread_right(right, clear)
        seen = left | right
        shown = view.seen[i]
        for j in range(width):
            shown[j] = seen >> j & 1
        left &= clear
        left |= left >> 1
        right &= clear
        right |= right << 1 & (2 << width - 1) - 1


def spread_right(reached: int, clear: int) -> int:
    """Within a row, through clear cells up to and with the first that is not."""
    # the carry of the addition runs through neighbouring clear cells and stops behind them
    return reached | ((reached & clear) + clear ^ clear)


def spread_left(reached: int, clear: int, width: int) -> int:
    """The mirror image of `spread_right`."""
    run = clear
    step = 1
    while step < width:
        reached |= (reached & run) >> step
        run &= run << step
        step *= 2
    return reached


def rays(area: Area) -> NDArray[np.int32]:
    """(rays, cells) numbers i * w + j of the cells along the rays from the agent's cell.

    One ray for every corner of a cell, in order of direction; -1 behind the last cell.
    """
    height, width = area.shape
    y, x = area.observer
    step = 0.01
    angles = sorted(
        math.atan2(i - 0.5 - y, j - 0.5 - x) for i in range(height + 1) for j in range(width + 1)
    )
    found = []
    for angle in angles:
        dy, dx = step * math.sin(angle), step * math.cos(angle)
        cells: dict[int, None] = {}
        k = 0
        while 0 <= (i := round(y + k * dy)) < height and 0 <= (j := round(x + k * dx)) < width:
            cells[i * width + j] = None
            k += 1
        found.append(list(cells))
    table = np.full((len(found), max(1, *map(len, found))), -1, np.int32)
    for row, ray in zip(table, found, strict=True):
        row[: len(ray)] = ray
    return table


def shine(view: Any, rays: Any) -> Any:
    """(2, h, w) for every cell: by how many rays light reaches it, and how many cross it."""
    height, width = view.seen.shape
    counts = np.zeros((2, height, width), np.int64)
    for ray in rays:
        light = 1
        for cell in ray:
            if cell < 0:
                break
            i, j = cell // width, cell % width
            counts[0, i, j] += light
            counts[1, i, j] += 1
            if view.opaque[i, j]:
                light = 0
    return counts


@system(VISIBILITY, tables={"rays": rays})
def raytracing(
    w: Any, agent: int, view: Any, rays: Any, absolute_counts: bool = True, threshold: float = 1.0
) -> None:
    """Seen is what enough rays of light reach, as a number or as a share of those that cross it."""
    counts = shine(view, rays)
    for i in range(view.height):
        for j in range(view.width):
            lit, all_rays = counts[0, i, j], counts[1, i, j]
            if absolute_counts:
                view.seen[i, j] = lit >= threshold
            else:
                view.seen[i, j] = all_rays > 0 and lit / all_rays >= threshold


@system(VISIBILITY, tables={"rays": rays})
def stochastic_raytracing(w: Any, agent: int, view: Any, rays: Any) -> None:
    """Each cell is seen by chance, as likely as the share of its rays that carry light."""
    counts = shine(view, rays)
    for i in range(view.height):
        for j in range(view.width):
            lit, all_rays = counts[0, i, j], counts[1, i, j]
            likely = lit / all_rays if all_rays > 0 else 0.0
            view.seen[i, j] = w.rng.random() <= likely
