"""Components of agents, objects and the world, and rules whose parameters are names."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated

from components.core import FLOOR
from gv_engine import (
    REWARD,
    TRANSITION,
    AgentMask,
    Array,
    Bounds,
    ColorIndex,
    Coordinate,
    EntityId,
    Int8,
    Int16,
    ObjectTypeIndex,
    StateIndex,
    World,
    component,
    system,
)
from systems.queries import ahead


@component
class Vitals:
    """Vitals."""

    health: Annotated[Int8, Bounds(0, 9)] = 9
    tired: bool = False
    home: Coordinate = -1
    friend: EntityId = 0


@component
class Warmth:
    """Warmth."""

    degrees: float = 20.0


@component
class Sugar:
    """Sugar."""

    amount: int = 0


@component
class Water:
    """Water."""

    amount: int = 0


@component
class Stock:
    """Stock."""

    soups: Int16 = 3
    health: Int8 = 1


class Item(IntEnum):
    """What a bag holds."""

    WOOD = 0
    STONE = 1
    SAP = 2


@component
class Bag:
    """Bag."""

    counts: Annotated[Int16, Bounds(0, 99), Array(Item)] = 0
    weights: Annotated[float, Array(2)] = 2.0


@component
class Weather:
    """Weather."""

    daylight: Annotated[float, Bounds(0, 1)] = 1.0
    day: int = 0


@system(TRANSITION)
def live(w: World, agent: int) -> None:
    """Lose health and warmth."""
    w.vitals.health[agent] -= 1
    w.vitals.tired[agent] = w.vitals.health[agent] < 7
    w.vitals.home[agent] = w.position.x[agent]
    w.warmth.degrees[agent] /= 2


@system(TRANSITION)
def gather(w: World, agent: int) -> None:
    """Take wood and, in turn, one of all; weigh it; and take sap from each pot."""
    w.bag.counts[agent, Item.WOOD] += 1
    w.bag.counts[agent, w.steps % 3] += agent
    w.bag.weights[agent, 1] = 0.0
    for item in range(3):
        w.bag.weights[agent, 1] += 0.5 * w.bag.counts[agent, item]
    for pot in w.having(w.bag):
        w.bag.counts[pot, Item.SAP] -= 1


@system(TRANSITION)
def cook(w: World) -> None:
    """Cook two soups in each pot."""
    for pot in w.having(w.stock):
        w.stock.soups[pot] += 2


@system(TRANSITION)
def pass_time(w: World) -> None:
    """It gets dark, and a day or two later light again."""
    w.weather.daylight[w.world] *= 0.75
    if w.weather.daylight[w.world] < 0.3:
        w.weather.daylight[w.world] = 1.0
        w.weather.day[w.world] += w.rng.integers(1, 3)


@system(TRANSITION)
def snow(w: World, flakes: ObjectTypeIndex) -> None:
    """Let snow fall on a cell, or melt there."""
    y, x = w.rng.integers(w.height), w.rng.integers(w.width)
    w.pave(y, x, FLOOR if w.is_terrain(w.ground[y, x]) else flakes)


@system(REWARD)
def shine(w: World, agent: int) -> float:
    """Pays for light."""
    return w.weather.daylight[w.world]


@system(REWARD)
def meet(
    w: World,
    agent: int,
    soup: ObjectTypeIndex,
    paint: ColorIndex,
    shut: StateIndex,
    foods: Sequence[ObjectTypeIndex],
    team: AgentMask,
) -> float:
    """Reward what is ahead."""
    e = ahead(w, agent)
    total = 0.0
    for food in foods:
        total += 10 * (w.kind.value[e] == food)
    if team[agent]:
        total += 1000
    return total + (w.kind.value[e] == soup) + 0.5 * (w.color.value[e] == paint) + 100 * shut
