"""Visibility rules: select the cells of the view that an agent sees (GridVerse specification,
section 6)."""

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.geometry import Area, count_bits, flat_view
from gv_engine.rules.system import VISIBILITY, system
from gv_engine.rules.world import View, World

WIDEST = 97
"""Greatest number of rows and columns of a view with rays; computing them takes cubic time."""


@system(VISIBILITY)
def fully_transparent(w: World, agent: int, view: View) -> None:
    """The agent sees everything, also through walls."""
    view.seen.fill(1)


def _check_agent_row(area: Area) -> str:
    if area.ymax == 0 and area.xmin <= 0 <= area.xmax:
        return ""
    return f"found rows {area.ymin} to {area.ymax}: the agent must be in the bottom row, row 0"


@system(VISIBILITY, check=_check_agent_row, rows=True)
def partially_occluded(w: World, agent: int, view: View) -> None:
    """Sight spreads forward and to either side, up to the first cell that blocks it. The `area`
    must end at the agent's row, 0."""
    # Row by row from the agent, as bits: the cells that the spread to either side has reached; to
    # the left counted from the right, so that both grow towards higher bits.
    right, left = 1 << view.x, 1 << view.width - 1 - view.x
    for i in range(view.y, -1, -1):
        seen, right = spread_along_row(right, view.clear_row(i))
        from_right, left = spread_along_row(left, view.clear_row_from_right(i))
        view.see_row(i, seen, from_right)


def spread_along_row(reached: int, transparent: int) -> tuple[int, int]:
    """Spread light in one row of cells, given as bit masks, towards higher bits: from the `reached`
    cells through `transparent` ones, up to the first opaque cell, which is lit, too.

    Returns:
        Bits that are reached in this row, and bits that its clear cells reach in the next row.
    """
    through = reached & transparent
    # the carry of the addition runs through neighbouring clear cells and stops behind them
    carried = through + transparent
    through |= transparent & ~carried
    return reached | carried ^ transparent, through | through << 1


def _steps_to_border(start: int, size: int, step: float) -> float:
    cells = size - start if step > 0 else start + 1
    return cells / abs(step) if step else math.inf


@lru_cache(maxsize=16)
def trace_rays(area: Area) -> NDArray[np.int32]:
    """Return the cells along each ray from the agent's cell to the border of a view of `area`, as
    an array (rays, cells) of indices i * w + j, padded with -1.

    There is one ray per corner of a cell, in order of direction; -1 stands behind the last cell.

    Raises:
        ValueError: the area is too large.
    """
    height, width = area.shape
    if max(height, width) > WIDEST:
        raise ValueError(f"rays take views of up to {WIDEST} rows and columns")
    y, x = area.observer
    step = 0.01  # cells between two points of a ray, as in the reference
    angles = sorted(
        math.atan2(i - 0.5 - y, j - 0.5 - x) for i in range(height + 1) for j in range(width + 1)
    )
    cells_by_ray = []
    for angle in angles:
        dy, dx = step * math.sin(angle), step * math.cos(angle)
        ticks = np.arange(int(min(_steps_to_border(y, height, dy), _steps_to_border(x, width, dx))))
        i, j = np.rint(y + ticks * dy), np.rint(x + ticks * dx)
        outside = (i < 0) | (i >= height) | (j < 0) | (j >= width)
        cells = (i * width + j)[: outside.argmax()]
        cells_by_ray.append(cells[np.diff(cells, prepend=-1) != 0])
    table = np.full((len(cells_by_ray), max(1, *map(len, cells_by_ray))), -1, np.int32)
    for row, ray in zip(table, cells_by_ray, strict=True):
        row[: len(ray)] = ray
    table.flags.writeable = False
    return table


def count_crossings(area: Area) -> NDArray[np.integer]:
    """Return (h * w,) the number of rays that cross each cell of the view."""
    height, width = area.shape
    table = trace_rays(area)
    return np.bincount(table[table >= 0], minlength=height * width)


RAYS_PER_WORD = 64
"""Number of rays in a bit mask of type uint64."""


def order_outward(area: Area) -> NDArray[np.uint16]:
    """Return (h * w,) the indices of the view's cells by distance from the agent; every ray crosses
    cells in this order."""
    cells: NDArray[np.int64] = np.indices(area.shape).reshape(2, -1).T
    order: NDArray[np.int64] = np.abs(cells - area.observer).sum(axis=1).argsort(kind="stable")
    return order.astype(np.uint16)  # unsigned indices are faster in compiled code


def pack_rays(area: Area) -> NDArray[np.uint64]:
    """Return a (words, h * w) array of bit masks: which rays cross each cell of a view of `area`,
    64 rays per word. The cells have the order of `order_outward`."""
    height, width = area.shape
    table = trace_rays(area)
    words = np.zeros((-(-len(table) // RAYS_PER_WORD), height * width), np.uint64)
    for number, ray in enumerate(table):
        words[number // RAYS_PER_WORD, ray[ray >= 0]] |= np.uint64(1 << number % RAYS_PER_WORD)
    return words[:, order_outward(area)]


def cast_light(
    view: View, outward: NDArray[np.uint16], beams: NDArray[np.uint64]
) -> NDArray[np.int32]:
    """Return an (h * w,) array with the number of rays that reach each cell of the view. Opaque
    cells stop rays. `outward` and `beams` are the results of `order_outward` and `pack_rays`."""
    lit, opaque = view.lit, flat_view(view.opaque)
    for number in range(len(beams)):
        beam = beams[number]
        shining = beam[0]  # all rays start in the agent's cell
        for k in range(len(outward)):
            cell = outward[k]
            reached = count_bits(beam[k] & shining)
            lit[cell] = reached if number == 0 else lit[cell] + reached
            shining &= ~(beam[k] * opaque[cell])
    return lit


_RAY_TABLES = {"outward": order_outward, "beams": pack_rays, "crossings": count_crossings}
"""Arrays that the ray rules take, by parameter."""


@system(VISIBILITY, tables=_RAY_TABLES)
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
    """The agent sees each cell that enough rays of light reach: at least `threshold` rays
    or, without `absolute_counts`, that share of the rays that cross the cell."""
    lit, seen = cast_light(view, outward, beams), flat_view(view.seen)
    if absolute_counts:
        for k in range(len(lit)):
            seen[k] = lit[k] >= threshold
        return
    for k in range(len(lit)):
        seen[k] = crossings[k] > 0 and lit[k] / crossings[k] >= threshold


@system(VISIBILITY, tables=_RAY_TABLES)
def stochastic_raytracing(
    w: World,
    agent: int,
    view: View,
    outward: NDArray[np.uint16],
    beams: NDArray[np.uint64],
    crossings: NDArray[np.int64],
) -> None:
    """The agent sees each cell with a probability equal to the share of the rays through it that
    reach it."""
    lit, seen = cast_light(view, outward, beams), flat_view(view.seen)
    for k in range(len(lit)):
        likely = lit[k] / crossings[k] if crossings[k] > 0 else 0.0
        seen[k] = w.rng.random() <= likely
