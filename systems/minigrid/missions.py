"""What MiniGrid's agents are asked to do."""

from components.appearance import NONE, NONE_GRID_OBJECT
from components.mission import Mission as PlainMission
from gv_engine.language.component import AGENT, Coordinate, Int8, component
from gv_engine.language.world import World


@component
class Mission(PlainMission):
    """A thing, another one, and the place that counts: where one of them was in the beginning."""

    other_kind: Int8 = NONE_GRID_OBJECT
    other_color: Int8 = NONE
    y: Coordinate = -1
    x: Coordinate = -1


def ask_for(w: World, thing: int) -> None:
    """The agent's mission is about things of the type and colour of this one."""
    w.mission.kind[AGENT] = w.kind.value[thing]
    w.mission.color[AGENT] = w.color.value[thing]


def ask_also_for(w: World, thing: int) -> None:
    """The agent's mission is about things like this one, too."""
    w.mission.other_kind[AGENT] = w.kind.value[thing]
    w.mission.other_color[AGENT] = w.color.value[thing]


def keep_place(w: World, thing: int) -> None:
    """What counts for the agent's mission is the place where a thing is now."""
    w.mission.y[AGENT] = w.position.y[thing]
    w.mission.x[AGENT] = w.position.x[thing]
