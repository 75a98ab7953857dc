"""Verbs of rules: one text for the object world and for compiled rows.

Those of `gv_engine.language.world.World` are its methods; rules add theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gv_engine.language.geometry import FORWARD, RIGHT

if TYPE_CHECKING:
    from gv_engine.language.world import World

VERBS: dict[str, Callable[..., Any]] = {}
"""Verbs of every world, by name."""

_F = TypeVar("_F", bound=Callable[..., Any])


def verb(function: _F) -> _F:
    """Make a function `(w, …)` a method of every world: `w.blocks_vision(e)`."""
    VERBS[function.__name__] = function
    return function


def stands_somewhere(w: World, agent: int) -> bool:
    """Whether the agent is on the grid and looks in a direction; fails if it does not."""
    on_grid = w.inside(w.position.y[agent], w.position.x[agent])
    if on_grid and FORWARD <= w.agent.facing[agent] <= RIGHT:
        return True
    w.fail("a rule has put the agent outside the grid, or made it look in no direction")
    return False
