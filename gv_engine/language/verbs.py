"""What rules can ask of a world: one text for the object world and for compiled rows.

`World` has these functions as methods, and so have the rows of a compiled batch, next to
`w.spawn(kind)`, `w.remove(e)`, `w.fail(message)` and the generator `w.rng`.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from gv_engine.language.component import NOTHING
from gv_engine.language.geometry import FORWARD, RIGHT

VERBS: dict[str, Callable[..., Any]] = {}
"""What every world can be asked or told, by name."""

_F = TypeVar("_F", bound=Callable[..., Any])


def verb(function: _F) -> _F:
    """Make a function `(w, …)` a method of every world: `w.blocks_vision(e)`."""
    VERBS[function.__name__] = function
    return function


@verb
def inside(w: Any, y: int, x: int) -> bool:
    """Whether the grid has a cell (y, x)."""
    return 0 <= y < w.height and 0 <= x < w.width  # type: ignore[no-any-return]


@verb
def set_shape(w: Any, height: int, width: int) -> None:
    """Give the grid its size, at the beginning of a reset; all cells are free floor."""
    if not (0 < height < w.at.shape[0] and 0 < width < w.at.shape[1]):
        w.fail("w.set_shape: larger than the scenario's max_shape (or not positive)")
        return
    w.height = height
    w.width = width


@verb
def place(w: Any, e: int, y: int, x: int) -> None:
    """Put an entity into a free cell, out of the cell where it stood."""
    if not w.inside(y, x):
        w.fail("w.place: the cell is outside the grid; ask w.inside(y, x) first")
        return
    if w.at[y, x] != NOTHING:
        w.fail("w.place: the cell holds another object; w.lift or w.remove that first")
        return
    w.lift(e)
    w.at[y, x] = e
    w.position.y[e] = y
    w.position.x[e] = x
    kind = w.kind.value[e]
    w.placed[kind] += 1
    w.recent[kind] = e


@verb
def lift(w: Any, e: int) -> None:
    """Take an entity off the grid; it stays alive, without a place."""
    y = w.position.y[e]
    if e == NOTHING or y < 0:
        return
    w.at[y, w.position.x[e]] = NOTHING
    w.position.y[e] = -1
    w.position.x[e] = -1
    w.placed[w.kind.value[e]] -= 1


@verb
def unique(w: Any, kind: int) -> int:
    """The one object of a type on the grid, or NOTHING if there is none or more than one."""
    if w.placed[kind] != 1:
        return NOTHING
    e: int = w.recent[kind]
    if w.kind.value[e] == kind and w.position.y[e] >= 0:
        return e
    for other in range(1, w.capacity):
        if w.kind.value[other] == kind and w.position.y[other] >= 0:
            return other
    return NOTHING


def stands_somewhere(w: Any, agent: int) -> bool:
    """Whether the agent is on the grid and looks in a direction; fails if it does not."""
    on_grid = w.inside(w.position.y[agent], w.position.x[agent])
    if on_grid and FORWARD <= w.agent.facing[agent] <= RIGHT:
        return True
    w.fail("a rule has put the agent outside the grid, or made it look in no direction")
    return False
