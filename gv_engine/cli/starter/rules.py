"""Rubble, an object with a rule and a reward.

These functions are interpreted in the window, and compiled when many worlds are stepped at once.
"""

from components import Opaque, Solid
from gv_engine import REWARD, TRANSITION, Int8, World, component, object_type, system
from gv_engine.rules.geometry import ACTUATE
from systems.queries import ahead, all_with

WHOLE, CRACKED = range(2)


# A component is a small dataclass of numbers. Its field is the column w.rubble.damage, with one
# value per entity; w.rubble.has is True for entities with the component.
@component
class Rubble:
    """Cracks when it is hit once, and is removed when it is hit again."""

    damage: Int8 = WHOLE


# An object type has a name and components. Solid blocks movement, Opaque blocks sight.
# rubble_whole.svg and rubble_cracked.svg are the sprites of its states.
RUBBLE = object_type(
    "Rubble", Rubble, Solid, Opaque, states=("WHOLE", "CRACKED"), state=(Rubble, "damage")
)


def rubble_ahead(w: World, agent: int, action: int) -> bool:
    """Return whether the action hits rubble."""
    return action == ACTUATE and w.rubble.has[ahead(w, agent)]


# The rule runs when the function `when` returns True; action masks are computed from it, too.
@system(TRANSITION, when=rubble_ahead)
def hit_rubble(w: World, agent: int) -> None:
    """Crack the rubble ahead; remove it if it is cracked already."""
    e = ahead(w, agent)
    if w.rubble.damage[e] == WHOLE:
        w.rubble.damage[e] = CRACKED
    else:
        w.remove(e)


def rubble_left(w: World, agent: int) -> int:
    """Return the number of rubble objects."""
    return len(all_with(w, w.rubble))


# The result of `remember` before the transitions is passed as `was`. The arguments after it are
# parameters, which scenarios can set.
@system(REWARD, remember=rubble_left)
def clear_rubble(w: World, agent: int, was: float, reward: float = 1.0) -> float:
    """Return `reward` for each rubble object that was removed in this step."""
    return reward * (was - rubble_left(w, agent))
