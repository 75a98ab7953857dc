"""A mission with further fields, of which some are for rules alone, and a reset that sets them."""

from components import Mission as BuiltIn
from gv_engine import AGENT, RESET, World, component, system
from gv_engine.rules.component import NOTHING, Coordinate, EntityId, Int8
from systems.building import build_room, put, put_agent, set_random_target
from systems.queries import all_of


@component
class Mission(BuiltIn):
    """Also names what something is to be put near, how often, and the very thing."""

    target_kind: Int8 = 0
    target_color: Int8 = 0
    count: Int8 = 1
    thing: EntityId = NOTHING
    thing_y: Coordinate = -1


@component
class Errand(BuiltIn):
    """Called otherwise."""


@system(RESET)
def asked_by_rule(w: World, kinds: list[int]) -> None:
    """A row of things; the agent is asked for one of them, in the second wording."""
    build_room(w, (4, 7))
    for x in range(1, 6):
        put(w, kinds[x % len(kinds)], 1, x, 1 + w.rng.integers(0, 4))
    put_agent(w, AGENT, 2, 1, 3)
    thing = set_random_target(w, AGENT, kinds)
    w.mission.wording[AGENT] = 1
    w.mission.count[AGENT] = len(all_of(w, w.kind.value[thing]))
    w.mission.thing[AGENT] = thing
    w.mission.thing_y[AGENT] = w.position.y[thing]
