"""Level-based foraging (Albrecht and Ramamoorthy, 2013), with the rules of lbforaging 2.0.

All agents act at once. A food is taken by the agents beside it that load in the same step, if their
levels together are at least its own. An agent's colour shows its level, a food's state its level.
"""

from collections.abc import Sequence

import numpy as np

from gv_engine import (
    NOTHING,
    RESET,
    REWARD,
    TRANSITION,
    Int8,
    ObjectTypeIndex,
    World,
    component,
    system,
)
from gv_engine.geometry import (
    named_action,
)

LOAD = named_action("LOAD")
_TRIES = 1000
"""Cells that are tried for each agent, and for all foods."""


@component
class Forager:
    """Agent: its level, whether it loads, the reward of this step, and the levels of all foods that
    were there at first."""

    level: Int8 = 1
    loads: bool = False
    earned: float = 0.0
    all_food: int = 0


def find_problem(shape: Sequence[int], foods: int, most: int, agents: int) -> str:
    """What is wrong with the numbers of a level; empty if nothing is."""
    if min(shape) < 3:
        return f"found shape {list(shape)}: it needs 3 rows and columns"
    if agents > shape[0] * shape[1]:
        return f"found {agents} agents: shape {list(shape)} has {shape[0] * shape[1]} cells"
    if not 1 <= foods <= 20:
        return f"found foods {foods}: allowed are 1 to 20"
    return "" if 1 <= most <= 3 else f"found most {most}: allowed are 1 to 3"


@system(RESET, check=find_problem)
def make_level(
    w: World,
    food: ObjectTypeIndex,
    shape: Sequence[int],
    foods: int,
    most: int = 2,
    cooperate: bool = False,
) -> None:
    """Make a level: place agents of levels 1 to `most`, then foods of levels 1 to S, the sum of the
    three lowest levels of agents; of exactly S with `cooperate`. Foods that find no room in 1,000
    tries are left out.

    The draws are those of lbforaging 2.0, in the same order.
    """
    height, width = shape
    w.set_shape(height, width)
    draw_order(w, len(w.agents()))
    levels = np.zeros(len(w.agents()), np.int64)
    for agent in w.agents():
        tries = 0
        while w.position.y[agent] < 0 and tries < _TRIES:
            y, x = w.rng.integers(0, height), w.rng.integers(0, width)
            if w.agent_at(y, x) == NOTHING:
                w.stand(agent, y, x)
                w.forager.level[agent] = w.rng.integers(1, most + 1)
            tries += 1
        levels[agent - 1] = w.forager.level[agent]
        w.color.value[agent] = w.forager.level[agent]
    draw_order(w, foods)
    highest = np.sort(levels)[:3].sum()
    lowest = highest if cooperate else 1
    count, tries, total = 0, 0, 0
    while count < foods and tries < _TRIES:
        tries += 1
        y, x = w.rng.integers(1, height - 1), w.rng.integers(1, width - 1)
        if w.agent_at(y, x) == NOTHING and not has_food_near(w, y, x):
            meal, level = w.spawn(food), w.rng.integers(lowest, highest + 1)
            w.place(meal, y, x)
            w.set_state(meal, level - 1)
            count += 1
            total += level
    for agent in w.agents():
        w.forager.all_food[agent] = total


def draw_order(w: World, count: int) -> None:
    """Draw what lbforaging draws for an order of levels, which is none where all have one range."""
    w.rng.shuffle(np.arange(count))


def has_food_near(w: World, y: int, x: int) -> bool:
    """Whether there is food in a cell, in one of the eight around it, or two cells away in its row
    or column."""
    for dy in range(-2, 3):
        for dx in range(-2, 3):
            near = (abs(dy) < 2 and abs(dx) < 2) or dy == 0 or dx == 0
            if near and w.inside(y + dy, x + dx) and w.at[y + dy, x + dx] != NOTHING:
                return True
    return False


def is_beside(w: World, agent: int, thing: int) -> bool:
    """Whether an object is in a cell beside an agent."""
    dy = w.position.y[thing] - w.position.y[agent]
    dx = w.position.x[thing] - w.position.x[agent]
    return abs(dy) + abs(dx) == 1


def can_load(w: World, agent: int, action: int, food: ObjectTypeIndex) -> bool:
    """Whether an action loads and there is food beside the agent."""
    if action == LOAD:
        for meal in w.of_type(food):
            if is_beside(w, agent, meal):
                return True
    return False


@system(TRANSITION, when=can_load)
def load(w: World, agent: int, food: ObjectTypeIndex) -> None:
    """Note that the agent loads."""
    w.forager.loads[agent] = True


@system(TRANSITION)
def take_food(w: World, food: ObjectTypeIndex, penalty: float = 0.0) -> None:
    """Resolve loading, and note what each agent earns: its share, or minus the `penalty` if the
    levels of those who load do not suffice."""
    for agent in w.agents():
        w.forager.earned[agent] = 0.0
    for meal in w.of_type(food):
        needed, strength = w.state_of(meal) + 1, 0  # state ONE is 0
        for agent in w.agents():
            if w.forager.loads[agent] and is_beside(w, agent, meal):
                strength += w.forager.level[agent]
        for agent in w.agents():
            if w.forager.loads[agent] and is_beside(w, agent, meal):
                whole = strength * w.forager.all_food[agent]
                earned = w.forager.level[agent] * needed / whole
                w.forager.earned[agent] = earned if strength >= needed else -penalty
        if strength >= needed:
            w.remove(meal)
    for agent in w.agents():
        w.forager.loads[agent] = False


@system(REWARD)
def share(w: World, agent: int) -> float:
    """Pays an agent's share of the food that was loaded."""
    return w.forager.earned[agent]
