"""A component, an object type and rules of one's own: things that come, change and go."""

from typing import Any

import numpy as np

from components.core import Color
from components.items import Portable
from gv_engine import (
    NOTHING,
    REWARD,
    TRANSITION,
    EntityId,
    Float64,
    Int8,
    Int16,
    World,
    component,
    object_type,
    system,
)
from gv_engine.rules.geometry import step_x, step_y
from systems.queries import blocks_movement


@component
class Flower:
    """Comes up by itself, opens, and withers."""

    stage: Int8 = 0
    age: Int16 = 0
    scent: Float64 = 0.25
    mother: EntityId = NOTHING


FLOWER = object_type(
    "Flower", Flower, Portable, Color, states=("BUD", "BLOOM"), state=(Flower, "stage")
)


@system(TRANSITION)
def sow(w: World, agent: int, seeds: int = 1) -> None:
    """Flowers come up on free floor, each the child of the one before."""
    mother = NOTHING
    for _ in range(seeds):
        y = w.rng.integers(w.height)
        x = w.rng.integers(0, w.width)
        if w.at[y, x] == NOTHING:
            e = w.spawn(FLOWER)
            w.color.value[e] = 1 + w.rng.choice(4)
            w.flower.mother[e] = mother
            w.place(e, y, x)
            mother = e


@system(TRANSITION)
def wither(w: World, agent: int, opens: int = 2, withers: int = 5) -> None:
    """Flowers open, gain scent, and go, unless they are held."""
    for e in range(1, w.capacity):
        if w.flower.has[e]:
            w.flower.age[e] += 1
            w.flower.scent[e] += w.rng.random()
            if w.flower.age[e] == opens:
                w.set_state(e, 1)
            if w.flower.age[e] >= withers and w.position.y[e] >= 0:
                w.remove(e)


@system(TRANSITION)
def gust(w: World, agent: int, strength: float = 0.5) -> None:
    """The wind blows the agent one cell away, to whichever side is open."""
    if w.rng.random() < strength:
        sides: Any = np.arange(4)
        w.rng.shuffle(sides)
        for side in sides:
            y, x = w.position.y[agent] + step_y(side), w.position.x[agent] + step_x(side)
            if w.inside(y, x) and not blocks_movement(w, w.at[y, x]):
                w.stand(agent, y, x)
                break


@system(TRANSITION)
def rattle(w: World, agent: int, every: int = 3) -> None:
    """Now and then a few doors change by themselves."""
    if w.steps % every == 0:
        for e in w.rng.choice(w.capacity, size=w.capacity // 2, replace=False):
            if w.door.has[e]:
                w.door.status[e] = w.rng.integers(3)


@system(TRANSITION)
def misbehave(w: World, agent: int, how: int = 0) -> None:
    """Break one of the promises that rules make."""
    if how == 1:
        w.place(w.spawn(FLOWER), -1, 0)
    if how == 2:
        w.place(w.spawn(FLOWER), 0, w.width)
    if how == 3:
        w.place(w.spawn(FLOWER), 0, 0)
        w.place(w.spawn(FLOWER), 0, 0)
    if how == 4:
        w.spawn(99)
    if how == 5:
        w.spawn(1)
    if how == 6:
        w.set_shape(10, 3)
    if how == 7:
        w.fail("the meadow is closed")
    if how == 8:
        for _ in range(w.capacity):
            w.spawn(FLOWER)


def scent_ahead(w: World, agent: int) -> float:
    """What is to be smelled on the grid."""
    total = 0.0
    for e in range(1, w.capacity):
        if w.flower.has[e] and w.position.y[e] >= 0:
            total += w.flower.scent[e]
    return total


@system(REWARD, remember=scent_ahead)
def fragrance(w: World, agent: int, was: float, worth: float = 1.0) -> float:
    """How much more there is to be smelled than before."""
    return worth * (scent_ahead(w, agent) - was)
