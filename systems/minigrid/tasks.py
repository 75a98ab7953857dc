"""Levels of MiniGrid with things, and what is to be done with one: Fetch, GoTo…, PutNear."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.objects import DOOR
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import DONE, DROP, FORWARD, PICK_UP, TOGGLE
from gv_engine.rules.system import RESET, REWARD, TERMINATING, system
from gv_engine.rules.world import World
from systems.building import build_room, put
from systems.minigrid.missions import ask_also_for, ask_for, keep_place, say_so
from systems.minigrid.placing import (
    ENDLESS,
    THINGS,
    draw_cell,
    draw_color,
    draw_thing,
    place,
    place_agent,
    put_door,
    wall_in,
    whole,
)
from systems.minigrid.steps import worth
from systems.queries import holds_other, towards

Things = NDArray[np.int64]


def is_among(w: World, things: Things, kind: int, color: int) -> bool:
    """Whether one of these things has a type and a colour."""
    for e in things:
        if w.kind.value[e] == kind and w.color.value[e] == color:
            return True
    return False


def draw_new(w: World, things: Things) -> tuple[int, int]:
    """Any type and colour that none of these things has."""
    kind = draw_thing(w)
    color = draw_color(w)
    while is_among(w, things, kind, color):
        kind = draw_thing(w)
        color = draw_color(w)
    return kind, color


def number_of(w: World, thing: int) -> int:
    """The number of a thing's type among THINGS."""
    number = 0
    while THINGS[number] != w.kind.value[thing]:
        number += 1
    return number


# ---- Fetch ---------------------------------------------------------------------------------------


@system(RESET)
def some_things(w: World, shape: Sequence[int], num_things: int, num_texts: int) -> None:
    """Keys and balls, of which one is to be fetched."""
    build_room(w, shape)
    things = np.zeros(num_things, np.int64)
    for k in range(num_things):
        kind = draw_thing(w, 2)
        things[k] = place(w, kind, draw_color(w), whole(w))
    place_agent(w, whole(w))
    ask_for(w, things[w.rng.integers(0, num_things)])
    say_so(w, w.rng.integers(0, num_texts))


# ---- GoToDoor, GoToObject ------------------------------------------------------------------------


@system(RESET)
def four_doors(w: World, shape: Sequence[int]) -> None:
    """A room of any size with a door of another colour in each of its walls."""
    w.set_shape(shape[0], shape[1])
    width = w.rng.integers(5, w.width + 1)
    height = w.rng.integers(5, w.height + 1)
    wall_in(w, (0, 0, height, width))
    top = w.rng.integers(2, width - 2)
    bottom = w.rng.integers(2, width - 2)
    left = w.rng.integers(2, height - 2)
    right = w.rng.integers(2, height - 2)
    cells = (0, top), (height - 1, bottom), (left, 0), (right, width - 1)
    doors = np.zeros(4, np.int64)
    for k in range(4):
        color = draw_color(w)
        while is_among(w, doors, DOOR, color):
            color = draw_color(w)
        y, x = cells[k]
        doors[k] = put_door(w, y, x, color)
    place_agent(w, (0, 0, height, width))
    target = doors[w.rng.integers(0, 4)]
    ask_for(w, target)
    keep_place(w, target)


@system(RESET)
def unlike_things(w: World, shape: Sequence[int], num_things: int) -> None:
    """Things, no two of a type and colour, of which one is to be walked to."""
    build_room(w, shape)
    things = np.zeros(num_things, np.int64)
    for k in range(num_things):
        kind, color = draw_new(w, things)
        things[k] = place(w, kind, color, whole(w))
    place_agent(w, whole(w))
    target = things[w.rng.integers(0, num_things)]
    ask_for(w, target)
    keep_place(w, target)
    say_so(w, number_of(w, target))


def has_arrived(w: World, agent: int, action: int) -> bool:
    """Whether it says by an action that it is done, in a cell beside the place of its mission."""
    dy = abs(w.position.y[agent] - w.mission.y[agent])
    dx = abs(w.position.x[agent] - w.mission.x[agent])
    return action == DONE and dy + dx == 1


@system(REWARD, answers=has_arrived)
def arrive(w: World, agent: int, max_steps: int) -> float:
    """Pays for saying that it is done beside the place that the mission is about, the sooner, the
    more."""
    return worth(w, max_steps) if has_arrived(w, agent, w.action[agent]) else 0.0


def is_last(w: World, agent: int, action: int) -> bool:
    """Whether an action says that the agent is done, or toggles anything."""
    return action in (DONE, TOGGLE)


@system(TERMINATING, answers=is_last, says="You were somewhere else")
def says_done(w: World, agent: int) -> bool:
    """The agent says that it is done, or toggles anything."""
    return is_last(w, agent, w.action[agent])


@system(TERMINATING, answers=has_arrived)
def arrived(w: World, agent: int) -> bool:
    """The agent says that it is done, beside the place that its mission is about."""
    return has_arrived(w, agent, w.action[agent])


# ---- PutNear -------------------------------------------------------------------------------------


def is_near(y: int, x: int, other_y: int, other_x: int) -> bool:
    """Whether two cells are the same, or next to each other, or across a corner."""
    return abs(y - other_y) <= 1 and abs(x - other_x) <= 1


def draw_cell_apart(w: World, things: Things) -> tuple[int, int]:
    """Any free cell that is near none of these things."""
    for _ in range(ENDLESS):
        y, x = draw_cell(w, whole(w))
        if w.at[y, x] == NOTHING and not is_near_any(w, y, x, things):
            return y, x
    w.fail("MiniGrid: the level has no room for things that far apart; make it larger")
    return 0, 0


def is_near_any(w: World, y: int, x: int, things: Things) -> bool:
    """Whether one of these things, those that are there, is near a cell."""
    for e in things:
        if e != NOTHING and is_near(y, x, w.position.y[e], w.position.x[e]):
            return True
    return False


@system(RESET)
def things_apart(w: World, shape: Sequence[int], num_things: int) -> None:
    """Unlike things, none near another, of which one is to be put near another."""
    build_room(w, shape)
    things = np.zeros(num_things, np.int64)
    for k in range(num_things):
        kind, color = draw_new(w, things)
        y, x = draw_cell_apart(w, things)
        things[k] = put(w, kind, y, x, color)
    place_agent(w, whole(w))
    moved = w.rng.integers(0, num_things)
    target = w.rng.integers(0, num_things)
    while target == moved:
        target = w.rng.integers(0, num_things)
    ask_for(w, things[moved])
    ask_also_for(w, things[target])
    keep_place(w, things[target])
    numbers = number_of(w, things[moved]), number_of(w, things[target])
    say_so(w, len(THINGS) * numbers[0] + numbers[1])


def held(w: World, agent: int) -> int:
    """What the agent holds."""
    return w.agent.holding[agent]


def has_put_near(w: World, agent: int, was: float) -> bool:
    """Whether the agent has dropped what it held near the place of its mission."""
    dropped = w.action[agent] == DROP and was != NOTHING and w.agent.holding[agent] == NOTHING
    y, x = towards(w, agent, FORWARD)
    return dropped and is_near(y, x, w.mission.y[agent], w.mission.x[agent])


@system(REWARD, remember=held)
def put_near(w: World, agent: int, was: float, max_steps: int) -> float:
    """Pays for dropping anything near the place that the mission is about, the sooner, the more."""
    return worth(w, max_steps) if has_put_near(w, agent, was) else 0.0


def tries_to_drop(w: World, agent: int, action: int) -> bool:
    """Whether an action is to drop what the agent holds, if only it could."""
    return action == DROP and w.agent.holding[agent] != NOTHING


@system(
    TERMINATING,
    remember=held,
    answers=tries_to_drop,
    says="You took another thing, or put it elsewhere",
)
def takes_other_or_drops(w: World, agent: int, was: float) -> bool:
    """The agent takes something that its mission is not about, or drops what it holds or tries
    to."""
    if w.action[agent] == PICK_UP:
        return holds_other(w, agent)
    return w.action[agent] == DROP and was != NOTHING


@system(TERMINATING, remember=held)
def was_put_near(w: World, agent: int, was: float) -> bool:
    """The agent has dropped something near the place that its mission is about."""
    return has_put_near(w, agent, was)
