"""Visibility: which cells of its view an agent sees (GridVerse specification, section 6)."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.geometry import Area, count_bits, flat_view
from gv_engine.rules.system import VISIBILITY, system
from gv_engine.rules.world import View, World

WIDEST = 97
"""Rows and columns that rays are traced over; the time to find them grows with the third power."""


@system(VISIBILITY)
def fully_transparent(w: World, agent: int, view: View) -> None:
    """Everything is seen, through walls too."""
    view.seen.fill(1)


def _agent_not_at_the_bottom(area: Area) -> str:
    if area.ymax == 0 and area.xmin <= 0 <= area.xmax:
        return ""
    return f"found rows {area.ymin} to {area.ymax}: the agent must be in the bottom row, row 0"


@system(VISIBILITY, check=_agent_not_at_the_bottom, rows=True)
def partially_occluded(w: World, agent: int, view: View) -> None:
    """Sight spreads forward and to either side through whatever does not block it."""
    # Row by row from the agent, as bits: the cells that the spread to either side has reached; to
    # the left counted from the right, so that both grow towards higher bits.
    right, left = 1 << view.x, 1 << view.width - 1 - view.x
    for i in range(view.y, -1, -1):
        seen, right = spread(right, view.clear_row(i))
        from_right, left = spread(left, view.clear_row_from_right(i))
        view.see_row(i, seen, from_right)


def spread(reached: int, clear: int) -> tuple[int, int]:
    """Along a row, to higher bits, through clear cells up to and with the first that is not.

    Returns:
        What is reached of this row, and what of the next one from its clear cells.
    """
    through = reached & clear
    # the carry of the addition runs through neighbouring clear cells and stops behind them
    carried = through + clear
    through |= clear & ~carried
    return reached | carried ^ clear, through | through << 1


def _way(start: int, size: int, step: float) -> float:
    """How many steps lead from a cell to beyond the first or last one."""
    cells = size - start if step > 0 else start + 1
    return cells / abs(step) if step else math.inf


@lru_cache(maxsize=16)
def rays(area: Area) -> NDArray[np.int32]:
    """(rays, cells) numbers i * w + j of the cells along the rays from the agent's cell.

    One ray for every corner of a cell, in order of direction; -1 behind the last cell.

    Raises:
        ValueError: the area is too large.
    """
    height, width = area.shape
    if max(height, width) > WIDEST:
        raise ValueError(f"rays take views of up to {WIDEST} rows and columns")
    y, x = area.observer
    step = 0.01
    angles = sorted(
        math.atan2(i - 0.5 - y, j - 0.5 - x) for i in range(height + 1) for j in range(width + 1)
    )
    found = []
    for angle in angles:
        dy, dx = step * math.sin(angle), step * math.cos(angle)
        ticks = np.arange(int(min(_way(y, height, dy), _way(x, width, dx))))
        i, j = np.rint(y + ticks * dy), np.rint(x + ticks * dx)
        outside = (i < 0) | (i >= height) | (j < 0) | (j >= width)
        cells = (i * width + j)[: outside.argmax()]
        found.append(cells[np.diff(cells, prepend=-1) != 0])
    table = np.full((len(found), max(1, *map(len, found))), -1, np.int32)
    for row, ray in zip(table, found, strict=True):
        row[: len(ray)] = ray
    table.flags.writeable = False
    return table


def crossings(area: Area) -> NDArray[np.integer]:
    """(h * w,) by how many rays every cell is crossed."""
    height, width = area.shape
    table = rays(area)
    return np.bincount(table[table >= 0], minlength=height * width)


BEAM = 64
"""Rays in a number, one a bit."""


def outward(area: Area) -> NDArray[np.uint16]:
    """(h * w,) numbers of the cells by their distance from the agent's, which grows along rays."""
    cells: NDArray[np.int64] = np.indices(area.shape).reshape(2, -1).T
    order: NDArray[np.int64] = np.abs(cells - area.observer).sum(axis=1).argsort(kind="stable")
    return order.astype(np.uint16)  # unsigned, as compiled code then finds cells sooner


def beams(area: Area) -> NDArray[np.uint64]:
    """(words, h * w) bits of the rays that cross each cell, in the order of `outward`."""
    height, width = area.shape
    table = rays(area)
    words = np.zeros((-(-len(table) // BEAM), height * width), np.uint64)
    for number, ray in enumerate(table):
        words[number // BEAM, ray[ray >= 0]] |= np.uint64(1 << number % BEAM)
    return words[:, outward(area)]


def shine(view: View, outward: NDArray[np.uint16], beams: NDArray[np.uint64]) -> NDArray[np.int32]:
    """(h * w,) by how many rays light reaches every cell."""
    lit, opaque = view.lit, flat_view(view.opaque)
    for number in range(len(beams)):
        beam = beams[number]
        shining = beam[0]  # all are in the agent's cell
        for k in range(len(outward)):
            cell = outward[k]
            reached = count_bits(beam[k] & shining)
            lit[cell] = reached if number == 0 else lit[cell] + reached
            shining &= ~(beam[k] * opaque[cell])
    return lit


@system(VISIBILITY, tables={"outward": outward, "beams": beams, "crossings": crossings})
def raytracing(
    w: World,
    agent: int,
    view: View,
    outward: NDArray[np.uint16],
    beams: NDArray[np.uint64],
    crossings: NDArray[np.int64],
    absolute_counts: bool = True,
    threshold: float = 1.0,
) -> None:
    """Seen is what enough rays of light reach, as a number or as a share of those that cross it."""
    lit, seen = shine(view, outward, beams), flat_view(view.seen)
    for k in range(len(lit)):
        if absolute_counts:
            seen[k] = lit[k] >= threshold
        else:
            seen[k] = crossings[k] > 0 and lit[k] / crossings[k] >= threshold


@system(VISIBILITY, tables={"outward": outward, "beams": beams, "crossings": crossings})
def stochastic_raytracing(
    w: World,
    agent: int,
    view: View,
    outward: NDArray[np.uint16],
    beams: NDArray[np.uint64],
    crossings: NDArray[np.int64],
) -> None:
    """Each cell is seen by chance, as likely as the share of its rays that carry light."""
    lit, seen = shine(view, outward, beams), flat_view(view.seen)
    for k in range(len(lit)):
        likely = lit[k] / crossings[k] if crossings[k] > 0 else 0.0
        seen[k] = w.rng.random() <= likely
