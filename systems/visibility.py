"""Visibility: which cells of its view an agent sees (GridVerse specification, section 6)."""

from typing import Any

from gv_engine.area import Area
from gv_engine.system import VISIBILITY, system


@system(VISIBILITY)
def fully_transparent(w: Any, agent: int, view: Any) -> None:
    """Everything is seen, through walls too."""
    view.seen[:, :] = True


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
