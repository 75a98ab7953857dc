"""Rays of light: the cells that lie on a straight line from a cell.

The rules `raytracing` and `stochastic_raytracing` have compiled tables of their own, see
`systems.visibility`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import count, takewhile
from typing import TypeAlias

from gv_engine.plugins.gridverse.geometry import Area, Position

Ray: TypeAlias = list[Position]
"""Positions from near to far."""

_STEP = 0.01


def compute_ray(
    position: Position, area: Area, *, radians: float, step_size: float, unique: bool = True
) -> Ray:
    """Return the cells that a ray from the centre of `position` crosses in the direction `radians`,
    until it leaves `area`.

    Args:
        position: first cell.
        area: area that the ray stays in.
        radians: direction; 0 is to the right, π/2 downward.
        step_size: distance of the points on the line, in cells.
        unique: list each position only once.

    Raises:
        ValueError: the position is not in the area.
    """
    if not area.contains(position):
        raise ValueError(f"{position} is not in {area!r}")
    dy, dx = step_size * math.sin(radians), step_size * math.cos(radians)
    points = (Position(round(position.y + i * dy), round(position.x + i * dx)) for i in count())
    ray = list(takewhile(area.contains, points))
    return list(dict.fromkeys(ray)) if unique else ray


def compute_rays(position: Position, area: Area) -> list[Ray]:
    """Return the rays in 360 directions, one degree apart."""
    return _compute_all(position, area, [math.radians(degrees) for degrees in range(360)])


def compute_rays_fancy(position: Position, area: Area) -> list[Ray]:
    """Return the rays to the corners of all cells of the area, by direction."""
    ys = [y - 0.5 - position.y for y in range(area.ymin, area.ymax + 2)]
    xs = [x - 0.5 - position.x for x in range(area.xmin, area.xmax + 2)]
    return _compute_all(position, area, sorted(math.atan2(y, x) for y in ys for x in xs))


def _compute_all(position: Position, area: Area, directions: list[float]) -> list[Ray]:
    return [compute_ray(position, area, radians=each, step_size=_STEP) for each in directions]


cached_compute_rays = lru_cache(compute_rays)
cached_compute_rays_fancy = lru_cache(compute_rays_fancy)
