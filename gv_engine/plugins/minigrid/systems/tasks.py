"""MiniGrid levels with a task about one of several objects: Fetch, GoToDoor, GoToObject,
PutNear."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.objects import DOOR
from gv_engine.plugins.minigrid.systems.missions import (
    set_second_target,
    set_target,
    set_target_cell,
    set_wording,
)
from gv_engine.plugins.minigrid.systems.placing import (
    MOST_ATTEMPTS,
    PORTABLE_TYPES,
    place,
    place_agent,
    put_door,
    random_cell,
    random_color,
    random_type,
    wall_in,
    whole_grid,
)
from gv_engine.plugins.minigrid.systems.steps import success_reward
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import DONE, DROP, FORWARD, PICK_UP, TOGGLE
from gv_engine.rules.system import RESET, REWARD, TERMINATING, system
from gv_engine.rules.world import World
from systems.building import build_room, put
from systems.queries import holds_wrong_object, towards

Entities = NDArray[np.int64]


def has_type_and_color(w: World, entities: Entities, kind: int, color: int) -> bool:
    """Return True if one of the entities has this type and colour."""
    for e in entities:
        if w.kind.value[e] == kind and w.color.value[e] == color:
            return True
    return False


def random_new_type_and_color(w: World, entities: Entities) -> tuple[int, int]:
    """Return a random (type, colour) pair that none of the entities has."""
    while True:
        kind, color = random_type(w), random_color(w)
        if not has_type_and_color(w, entities, kind, color):
            return kind, color


def type_number(w: World, entity: int) -> int:
    """Return the position of an entity's object type in the tuple PORTABLE_TYPES."""
    number = 0
    while PORTABLE_TYPES[number] != w.kind.value[entity]:
        number += 1
    return number


# ---- Fetch ---------------------------------------------------------------------------------------


@system(RESET)
def some_things(w: World, shape: Sequence[int], num_things: int, num_texts: int) -> None:
    """Build a room with keys and balls, one of which must be fetched."""
    build_room(w, shape)
    entities = np.zeros(num_things, np.int64)
    for k in range(num_things):
        kind = random_type(w, 2)
        entities[k] = place(w, kind, random_color(w), whole_grid(w))
    place_agent(w, whole_grid(w))
    set_target(w, entities[w.rng.integers(0, num_things)])
    set_wording(w, w.rng.integers(0, num_texts))


# ---- GoToDoor, GoToObject ------------------------------------------------------------------------


@system(RESET)
def four_doors(w: World, shape: Sequence[int]) -> None:
    """Build a room of random size with a door of another colour in each wall, one of which must be
    reached."""
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
        color = random_color(w)
        while has_type_and_color(w, doors, DOOR, color):
            color = random_color(w)
        y, x = cells[k]
        doors[k] = put_door(w, y, x, color)
    place_agent(w, (0, 0, height, width))
    target = doors[w.rng.integers(0, 4)]
    set_target(w, target)
    set_target_cell(w, target)


@system(RESET)
def unlike_things(w: World, shape: Sequence[int], num_things: int) -> None:
    """Build a room with objects of different type or colour, one of which must be reached."""
    build_room(w, shape)
    entities = np.zeros(num_things, np.int64)
    for k in range(num_things):
        kind, color = random_new_type_and_color(w, entities)
        entities[k] = place(w, kind, color, whole_grid(w))
    place_agent(w, whole_grid(w))
    target = entities[w.rng.integers(0, num_things)]
    set_target(w, target)
    set_target_cell(w, target)
    set_wording(w, type_number(w, target))


def has_arrived(w: World, agent: int, action: int) -> bool:
    """Return True if the action is DONE next to the target cell of the mission."""
    dy = abs(w.position.y[agent] - w.mission.y[agent])
    dx = abs(w.position.x[agent] - w.mission.x[agent])
    return action == DONE and dy + dx == 1


@system(REWARD, answers=has_arrived)
def arrive(w: World, agent: int, max_steps: int) -> float:
    """Pays for DONE beside the cell of the mission; more for fewer steps."""
    return success_reward(w, max_steps) if has_arrived(w, agent, w.action[agent]) else 0.0


def ends_episode(w: World, agent: int, action: int) -> bool:
    """Return True if the action ends the episode: DONE or TOGGLE."""
    return action in (DONE, TOGGLE)


@system(TERMINATING, answers=ends_episode, says="You were somewhere else")
def says_done(w: World, agent: int) -> bool:
    """The agent does DONE or TOGGLE anywhere."""
    return ends_episode(w, agent, w.action[agent])


@system(TERMINATING, answers=has_arrived)
def arrived(w: World, agent: int) -> bool:
    """The agent does DONE beside the cell of its mission."""
    return has_arrived(w, agent, w.action[agent])


# ---- PutNear -------------------------------------------------------------------------------------


def is_adjacent(y: int, x: int, other_y: int, other_x: int) -> bool:
    """Return True if two cells are the same or adjacent, diagonals included."""
    return abs(y - other_y) <= 1 and abs(x - other_x) <= 1


def random_separate_cell(w: World, entities: Entities) -> tuple[int, int]:
    """Return a random free cell (y, x) that is not adjacent to any of the entities; the level fails
    if no cell is found."""
    for _ in range(MOST_ATTEMPTS):
        y, x = random_cell(w, whole_grid(w))
        if w.at[y, x] == NOTHING and not is_adjacent_to_any(w, y, x, entities):
            return y, x
    w.fail("MiniGrid: the level has no room for objects that far apart; make it larger")
    return 0, 0


def is_adjacent_to_any(w: World, y: int, x: int, entities: Entities) -> bool:
    """Return True if one of the entities on the grid is adjacent to a cell."""
    for e in entities:
        if e != NOTHING and is_adjacent(y, x, w.position.y[e], w.position.x[e]):
            return True
    return False


@system(RESET)
def things_apart(w: World, shape: Sequence[int], num_things: int) -> None:
    """Build a room with different objects, none adjacent to another, one of which must be put near
    another."""
    build_room(w, shape)
    entities = np.zeros(num_things, np.int64)
    for k in range(num_things):
        kind, color = random_new_type_and_color(w, entities)
        y, x = random_separate_cell(w, entities)
        entities[k] = put(w, kind, y, x, color)
    place_agent(w, whole_grid(w))
    moved = w.rng.integers(0, num_things)
    target = w.rng.integers(0, num_things)
    while target == moved:
        target = w.rng.integers(0, num_things)
    set_target(w, entities[moved])
    set_second_target(w, entities[target])
    set_target_cell(w, entities[target])
    numbers = type_number(w, entities[moved]), type_number(w, entities[target])
    set_wording(w, len(PORTABLE_TYPES) * numbers[0] + numbers[1])


def held_object(w: World, agent: int) -> int:
    """Return the object that the agent holds."""
    return w.agent.holding[agent]


@system(REWARD, remember=held_object)
def put_near(w: World, agent: int, was: float, max_steps: int) -> float:
    """Pays for dropping any object near the cell of the mission; more for fewer steps."""
    return success_reward(w, max_steps) if was_put_near(w, agent, was) else 0.0


def tries_to_drop(w: World, agent: int, action: int) -> bool:
    """Return True if the action is to drop the object in hand, even if there is no room."""
    return action == DROP and w.agent.holding[agent] != NOTHING


@system(
    TERMINATING,
    remember=held_object,
    answers=tries_to_drop,
    says="You took another thing, or put it elsewhere",
)
def takes_other_or_drops(w: World, agent: int, was: float) -> bool:
    """The agent picks up an object that its mission does not name, or drops or tries to drop the
    object in hand."""
    if w.action[agent] == PICK_UP:
        return holds_wrong_object(w, agent)
    return w.action[agent] == DROP and was != NOTHING


@system(TERMINATING, remember=held_object)
def was_put_near(w: World, agent: int, was: float) -> bool:
    """The agent has dropped an object near the cell of its mission."""
    dropped = w.action[agent] == DROP and was != NOTHING and w.agent.holding[agent] == NOTHING
    y, x = towards(w, agent, FORWARD)
    return dropped and is_adjacent(y, x, w.mission.y[agent], w.mission.x[agent])
