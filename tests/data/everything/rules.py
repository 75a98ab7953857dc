"""Every rule of the engine behind a number, so that one compiled program plays any scenario.

Which rules run, in which order and with which parameters, is data here: arguments of the systems
below. Only tests want that; scenarios list what they use.
"""

from typing import Any

from components.objects import BEACON, BOX, DOOR, EXIT, KEY, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine import RESET, REWARD, TRANSITION, VISIBILITY, system
from gv_engine.rules.world import World
from systems import reset, reward, transition, visibility
from systems.building import put, put_agent
from systems.queries import distance_to


@system(RESET)
def any_level(w: World, agent: int, which: int, shape: Any, layout: Any, colors: Any, number: int):
    """One of the resets, or a soup of everything."""
    if which == 0:
        reset.empty(w, shape, number % 2 == 1, number > 1)
    elif which == 1:
        reset.keydoor(w, shape)
    elif which == 2:
        reset.rooms(w, shape, layout)
    elif which == 3:
        reset.dynamic_obstacles(w, shape, number, number % 2 == 1)
    elif which == 4:
        reset.crossing(w, shape, number + 1, WALL)
    elif which == 5:
        reset.teleport(w, shape)
    elif which == 6:
        reset.memory(w, shape, colors)
    elif which == 7:
        reset.memory_rooms(w, shape, layout, colors, 1 + number % 2, 2)
    else:
        soup(w, agent, shape)


def soup(w: World, agent: int, shape: Any) -> None:
    """Anything anywhere, without walls around, boxes in boxes."""
    w.set_shape(shape[0], shape[1])
    for y in range(w.height):
        for x in range(w.width):
            kind = w.rng.integers(2, 14)
            color = w.rng.integers(0, 5)
            if kind in (WALL, MOVING_OBSTACLE):
                put(w, kind, y, x)
            elif kind == BOX:
                box = put(w, BOX, y, x)
                inner = w.rng.choice(4)
                if inner > 0:
                    w.box.content[box] = w.spawn(KEY if inner < 3 else BOX)
            elif kind in (EXIT, KEY, TELEPOD, BEACON):
                put(w, kind, y, x, color)
            elif kind == DOOR:
                door = put(w, kind, y, x, color)
                w.set_state(door, w.rng.choice(3))
    put_agent(w, agent, w.rng.choice(w.height), w.rng.choice(w.width), w.rng.choice(4))


@system(TRANSITION)
def any_transitions(w: World, agent: int, order: Any) -> None:
    """The transitions of these numbers, one after the other."""
    for number in order:
        if number == 0 and transition.can_move(w, agent, w.action[agent]):
            transition.move_agent(w, agent)
        elif number == 1 and transition.can_turn(w, agent, w.action[agent]):
            transition.turn_agent(w, agent)
        elif number == 2 and transition.can_open(w, agent, w.action[agent]):
            transition.actuate_door(w, agent)
        elif number == 3 and transition.can_unbox(w, agent, w.action[agent]):
            transition.actuate_box(w, agent)
        elif number == 4 and transition.can_pick_or_drop(w, agent, w.action[agent]):
            transition.pickndrop(w, agent)
        elif number == 5:
            transition.move_obstacles(w)
        elif number == 6 and transition.is_on_telepod(w, agent):
            transition.teleport(w, agent)


def near(w: World, agent: int, object_type: int, distance_function: Any) -> float:
    """The distance to the one object of a type, -1 without such a one."""
    if w.placed[object_type] != 1:
        return -1.0
    return distance_to(w, agent, object_type, distance_function)


def way(w: World, agent: int, object_type: int) -> float:
    """The same along a path."""
    return (
        reward.shortest_path_length(w, agent, object_type) if w.placed[object_type] == 1 else -1.0
    )


@system(REWARD, remember=near)
def nearer(w: World, agent: int, was: float, object_type: int, distance_function: Any) -> float:
    """What `getting_closer` and `proportional_to_distance` measure."""
    return near(w, agent, object_type, distance_function) - was


@system(REWARD, remember=way)
def shorter(w: World, agent: int, was: float, object_type: int) -> float:
    """What `getting_closer_shortest_path` measures."""
    now = way(w, agent, object_type)
    return 1.0 if now < was else -1.0 if now > was else 0.0


@system(REWARD)
def remembered_exit(w: World, agent: int) -> float:
    """`reach_exit_memory` where it is defined."""
    return reward.reach_exit_memory(w, agent, 2.0, -3.0) if w.placed[BEACON] > 0 else 0.0


@system(REWARD)
def signals(w: World, agent: int, terminating_functions: Any) -> float:
    """Which of several functions would end the episode: bit k for function k."""
    total, bit = 0, 1
    for over in terminating_functions:
        total += bit * over
        bit *= 2
    return total


@system(
    VISIBILITY,
    tables={
        "outward": visibility.order_outward,
        "beams": visibility.pack_rays,
        "crossings": visibility.count_crossings,
    },
)
def any_visibility(
    w: World,
    agent: int,
    view: Any,
    outward: Any,
    beams: Any,
    crossings: Any,
    which: int,
    absolute: bool,
    threshold: float,
) -> None:
    """One of the visibility functions."""
    if which == 0:
        visibility.fully_transparent(w, agent, view)
    elif which == 1:
        visibility.partially_occluded(w, agent, view)
    elif which == 2:
        visibility.raytracing(w, agent, view, outward, beams, crossings, absolute, threshold)
    elif which == 3:
        visibility.stochastic_raytracing(w, agent, view, outward, beams, crossings)
    else:
        for i in range(view.height):  # only adds, and sees more when it faces some ways
            for j in range(view.width):
                if i == view.y or j == w.agent.facing[agent]:
                    view.seen[i, j] = 1
