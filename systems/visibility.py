"""Visibility: which cells of its view an agent sees (GridVerse specification, section 6)."""

from typing import Any

from gv_engine.area import Area
from gv_engine.system import VISIBILITY, system


@system(VISIBILITY)
def fully_transparent(w: Any, agent: int, view: Any) -> None:
    """Everything is seen, through walls too."""
    for i in range(view.height):
        for j in range(view.width):
            view.seen[i, j] = True


def _agent_not_at_the_bottom(area: Area) -> str:
    if area.ymax == 0 and area.xmin <= 0 <= area.xmax:
        return ""
    return f"found rows {area.ymin} to {area.ymax}: the agent must be in the bottom row, row 0"


@system(VISIBILITY, check=_agent_not_at_the_bottom)
def partially_occluded(w: Any, agent: int, view: Any) -> None:
    """Sight spreads forward and to either side through whatever does not block it."""
    for i in range(view.height):
        for j in range(view.width):
            view.seen[i, j] = 0
    spread(view, -1, 1)
    spread(view, 1, 2)


def spread(view: Any, side: int, mark: int) -> None:
    """From the agent's cell to the front, to one side and diagonally between the two."""
    view.seen[view.y, view.x] |= mark
    for i in range(view.y, -1, -1):
        j = view.x
        while 0 <= j < view.width:
            if view.seen[i, j] & mark and not view.opaque[i, j]:
                beside = 0 <= j + side < view.width
                if beside:
                    view.seen[i, j + side] |= mark
                if i > 0:
                    view.seen[i - 1, j] |= mark
                    if beside:
                        view.seen[i - 1, j + side] |= mark
            j += side
