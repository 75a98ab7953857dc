"""MiniGrid's visibility rule where walls hide cells."""

from gv_engine.rules.system import VISIBILITY, system
from gv_engine.rules.world import View, World


@system(VISIBILITY, rows=True)
def occluded(w: World, agent: int, view: View) -> None:
    """Sight spreads to both sides through clear cells, and from these into the row ahead, also
    diagonally between two objects that block it."""
    lit = 1 << view.x
    for i in range(view.y, -1, -1):
        through = flood_row(lit, view.clear_row(i), view.width)
        ahead = through | through << 1 | through >> 1
        view.see_row(i, lit | ahead)
        lit = ahead


def flood_row(lit: int, transparent: int, width: int) -> int:
    """Return a bit mask of the cells in a row that light reaches from its `lit` cells through
    transparent ones, to the left and the right. All arguments but `width` are bit masks."""
    through = lit & transparent
    # the carry of the addition runs to higher bits through neighbouring clear cells
    through |= transparent & ~(through + transparent)
    step = 1
    while step < width:  # to lower bits, doubling the distance
        through |= transparent & through >> step
        transparent &= transparent >> step
        step *= 2
    return through
