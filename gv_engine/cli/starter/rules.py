"""Rubble, and a rule and a reward for clearing it.

These functions run as plain Python in the window, and compiled in vector environments.
"""

from components import Opaque, Solid
from gv_engine import REWARD, TRANSITION, Int8, World, component, object_type, system
from gv_engine.rules.geometry import ACTUATE
from systems.queries import ahead, all_with

WHOLE, CRACKED = range(2)


# A component is a small dataclass of numbers. Its field is the column w.rubble.damage, with one
# value per entity; w.rubble.has says which entities are rubble.
@component
class Rubble:
    """Cracks when it is hit, and is removed when it is hit again."""

    damage: Int8 = WHOLE


# A type of object is a name and what it is made of. Solid blocks movement, Opaque blocks sight.
# Its states are drawn in rubble_whole.svg and rubble_cracked.svg.
RUBBLE = object_type(
    "Rubble", Rubble, Solid, Opaque, states=("WHOLE", "CRACKED"), state=(Rubble, "damage")
)


def rubble_ahead(w: World, agent: int, action: int) -> bool:
    """Return True if the action hits rubble."""
    return action == ACTUATE and w.rubble.has[ahead(w, agent)]


# The rule runs if the `when` function returns True; it also gives the action mask.
@system(TRANSITION, when=rubble_ahead)
def hit_rubble(w: World, agent: int) -> None:
    """Hit the rubble ahead: it cracks, and is removed the second time."""
    e = ahead(w, agent)
    if w.rubble.damage[e] == WHOLE:
        w.rubble.damage[e] = CRACKED
    else:
        w.remove(e)


def rubble_left(w: World, agent: int) -> int:
    """Return the number of rubble objects on the grid."""
    return len(all_with(w, w.rubble))


# The `remember` function is called before the transitions; its result is passed as `was`. The
# arguments after it are parameters that scenarios can set.
@system(REWARD, remember=rubble_left)
def clear_rubble(w: World, agent: int, was: float, reward: float = 1.0) -> float:
    """Pays the reward for every piece of rubble that is removed."""
    return reward * (was - rubble_left(w, agent))
