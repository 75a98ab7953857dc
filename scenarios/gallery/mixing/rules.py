"""Colours that mix."""

from components import Color, Solid
from components.core import BLUE, GREEN, GREY, NONE, ORANGE, PURPLE, RED, YELLOW
from gv_engine import TRANSITION, World, component, object_type, system
from gv_engine.geometry import ACTUATE
from systems.queries import ahead

MIXED = (NONE, RED, YELLOW, ORANGE, BLUE, PURPLE, GREEN, GREY)
"""Colours by what is in them: 1 for red, 2 for yellow, 4 for blue."""


@component
class Vat:
    """Holds paint, or water if it has no colour."""


VAT = object_type("Vat", Vat, Solid, Color)


def vat_ahead(w: World, agent: int, action: int) -> bool:
    """Whether what the agent holds can be dipped into a vat ahead."""
    return action == ACTUATE and w.vat.has[ahead(w, agent)] and w.agent.holding[agent] != 0


@system(TRANSITION, when=vat_ahead)
def dip(w: World, agent: int) -> None:
    """What is dipped into paint takes its colour beside its own; water washes it off."""
    held, vat = w.agent.holding[agent], ahead(w, agent)
    paint, own = w.color.value[vat], w.color.value[held]
    w.color.value[held] = NONE if paint == NONE else MIXED[made_of(paint) | made_of(own)]


def made_of(color: int) -> int:
    """What is in a colour."""
    for parts in range(len(MIXED)):
        if MIXED[parts] == color:
            return parts
    return 0
