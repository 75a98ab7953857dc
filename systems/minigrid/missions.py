"""What MiniGrid's agents are asked to do."""

from components.appearance import NONE, NONE_GRID_OBJECT
from components.mission import Mission as PlainMission
from gv_engine.rules.component import Coordinate, Int8, component
from gv_engine.rules.world import World


@component
class Mission(PlainMission):
    """A thing, another one, and the place that counts: where one of them was in the beginning."""

    other_kind: Int8 = NONE_GRID_OBJECT
    other_color: Int8 = NONE
    y: Coordinate = -1
    x: Coordinate = -1


def ask_for(w: World, thing: int) -> None:
    """The agents' mission is about things of the type and colour of this one."""
    for agent in w.agents():
        w.mission.kind[agent] = w.kind.value[thing]
        w.mission.color[agent] = w.color.value[thing]


def ask_also_for(w: World, thing: int) -> None:
    """The agents' mission is about things like this one, too."""
    for agent in w.agents():
        w.mission.other_kind[agent] = w.kind.value[thing]
        w.mission.other_color[agent] = w.color.value[thing]


def keep_place(w: World, thing: int) -> None:
    """What counts for the agents' mission is the place where a thing is now."""
    for agent in w.agents():
        w.mission.y[agent] = w.position.y[thing]
        w.mission.x[agent] = w.position.x[thing]


def say_so(w: World, wording: int) -> None:
    """The agents' mission is said in this one of the texts."""
    for agent in w.agents():
        w.mission.wording[agent] = wording
