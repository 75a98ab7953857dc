"""Rubble, and what can be done about it.

These functions run as they stand in the window, and compiled where many worlds are stepped at once.
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
    """Cracks when it is hit, and is gone when it is hit again."""

    damage: Int8 = WHOLE


# A type of object is a name and what it is made of. Solid blocks movement, Opaque blocks sight.
# Its states are drawn in rubble_whole.svg and rubble_cracked.svg.
RUBBLE = object_type(
    "Rubble", Rubble, Solid, Opaque, states=("WHOLE", "CRACKED"), state=(Rubble, "damage")
)


def rubble_ahead(w: World, agent: int, action: int) -> bool:
    """Whether the action hits rubble."""
    return action == ACTUATE and w.rubble.has[ahead(w, agent)]


# The rule runs `when` this is so, and agents are told ahead of time for which actions it is.
@system(TRANSITION, when=rubble_ahead)
def hit_rubble(w: World, agent: int) -> None:
    """Hit the rubble ahead: it cracks, and is gone the second time."""
    e = ahead(w, agent)
    if w.rubble.damage[e] == WHOLE:
        w.rubble.damage[e] = CRACKED
    else:
        w.remove(e)


def rubble_left(w: World, agent: int) -> int:
    """How much rubble there is."""
    return len(all_with(w, w.rubble))


# What `remember` measures before the transitions, the reward gets as `was`. The arguments after it
# are parameters, for scenarios to set.
@system(REWARD, remember=rubble_left)
def clear_rubble(w: World, agent: int, was: float, reward: float = 1.0) -> float:
    """So much for every piece of rubble that is gone."""
    return reward * (was - rubble_left(w, agent))
