"""Levels of BabyAI: rooms, objects, and an instruction about them."""

from collections.abc import Sequence

import numpy as np

from components.core import BLUE, GREY, NONE, NONE_GRID_OBJECT, RED
from components.items import CLOSED, LOCKED, OPEN
from components.minigrid import BALL, PARCEL
from components.objects import DOOR, KEY
from gv_engine.plugins.minigrid.systems.babyai_rooms import (
    NOWHERE,
    Entities,
    add_object,
    add_objects,
    add_random_door,
    area_of_room,
    begin_level,
    connect_rooms,
    has_object,
    instruct_about_object,
    is_rejected,
    no_clauses,
    put_agent_in_room,
    put_agent_outside_room,
    reject,
    require_reachable,
    sample,
    sample_color,
    sample_subset,
    sample_type,
    set_clause,
    size_of_rooms,
)
from gv_engine.plugins.minigrid.systems.grammar import (
    ANYWHERE,
    COLOR,
    GO_TO,
    KIND,
    MAX_CLAUSES,
    OPEN_DOOR,
    OTHER_KIND,
    PICK_UP_OBJECT,
    PLACE,
    PUT_NEXT,
    VERB,
    number_wording,
)
from gv_engine.plugins.minigrid.systems.instructions import Clauses, instruct, is_described, verb_of
from gv_engine.plugins.minigrid.systems.placing import (
    COLORS,
    LEFT_SIDE,
    MOST_ATTEMPTS,
    RIGHT_SIDE,
    TOP_SIDE,
    set_cell,
)
from gv_engine.plugins.minigrid.systems.room_grid import (
    Doors,
    add_door,
    has_neighbour,
    remove_wall,
    room_area,
)
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.system import RESET, system
from gv_engine.rules.world import World

_MOST_DESCRIPTIONS = 101
"""Descriptions that are sampled before a level is rejected."""
_KINDS = PARCEL, BALL, KEY, DOOR
"""Types in the order in which descriptions are sampled."""
_ALL_KINDS, _PORTABLE_KINDS, _DOORS = (0, 4), (0, 3), (3, 4)
"""Ranges of indices in `_KINDS`."""
_VERBS = GO_TO, PICK_UP_OBJECT, OPEN_DOOR, PUT_NEXT
"""Verbs in the order in which they are sampled."""
_WALKS = 0, 1, 1, 1, 2
"""Number of walks to objects that a clause needs, by its verb."""


# ---- all levels ----------------------------------------------------------------------------------


def is_accepted(w: World, tried: int) -> bool:
    """Return True if the level is not rejected, or if `tried`, the number of levels built so far,
    has reached MOST_ATTEMPTS."""
    return tried >= MOST_ATTEMPTS or not is_rejected(w)


@system(RESET, until=is_accepted)
def sample_until_accepted(
    w: World, reset_function: None, max_steps: int, steps_per_walk: int
) -> None:
    """Build levels until one is not rejected, and set the step limit.

    Args:
        max_steps: step limit; 0 for `steps_per_walk` times the walks that the instruction needs.
        steps_per_walk: steps for each walk; a clause needs one walk, or two if its verb is "put".
    """
    if is_rejected(w):
        w.fail("BabyAI: no level can be completed; make rooms larger or objects fewer")
    walks = 0
    for k in range(MAX_CLAUSES):
        walks += _WALKS[verb_of(w, AGENT, k)]
    w.mission.max_steps[AGENT] = max_steps if max_steps > 0 else walks * steps_per_walk


# ---- one room ------------------------------------------------------------------------------------


@system(RESET)
def red_ball(w: World, shape: Sequence[int], room_size: int, num_things: int, grey: bool) -> None:
    """Build a room with a red ball to go to, and other objects, all of them grey if `grey`."""
    doors = begin_level(w, shape, room_size)
    put_agent_in_room(w, doors)
    ball = add_object(w, doors, 0, 0, BALL, RED)
    others = add_objects(w, doors, num_things)
    if grey and not is_rejected(w):
        for e in others:
            w.color.value[e] = GREY
    require_reachable(w)
    instruct_about_object(w, doors, GO_TO, ball)


@system(RESET)
def red_or_blue_ball(w: World, shape: Sequence[int], room_size: int, num_things: int) -> None:
    """Build a room with objects, one of which is a red or blue ball to go to."""
    doors = begin_level(w, shape, room_size)
    put_agent_in_room(w, doors)
    add_objects(w, doors, num_things)
    if has_object(w, BALL, BLUE) or has_object(w, BALL, RED):
        reject(w)
    color = RED if sample(w, 2) == 0 else BLUE
    ball = add_object(w, doors, 0, 0, BALL, color)
    require_reachable(w)
    instruct_about_object(w, doors, GO_TO, ball)


@system(RESET)
def go_to_local(w: World, shape: Sequence[int], room_size: int, num_things: int) -> None:
    """Build a room with objects; the agent must go to one of them."""
    doors = begin_level(w, shape, room_size)
    put_agent_in_room(w, doors)
    things = add_objects(w, doors, num_things)
    require_reachable(w)
    instruct_about_object(w, doors, GO_TO, things[sample(w, num_things)])


@system(RESET)
def put_next_local(w: World, shape: Sequence[int], room_size: int, num_things: int) -> None:
    """Build a room with different objects; the agent must put one of them next to another."""
    doors = begin_level(w, shape, room_size)
    put_agent_in_room(w, doors)
    things = add_objects(w, doors, num_things, all_different=True)
    require_reachable(w)
    pair = sample_subset(w, things, 2)
    clauses = no_clauses()
    set_clause(w, clauses, 0, PUT_NEXT, pair[0], pair[1])
    instruct(w, clauses, room_size)


@system(RESET)
def pick_up_by_feature(
    w: World, shape: Sequence[int], room_size: int, num_things: int, strict: bool = False
) -> None:
    """Build a room with different objects; the agent must pick up one of them, described by its
    type, its colour, or both. If `strict`, picking up any object ends the episode."""
    doors = begin_level(w, shape, room_size)
    things = add_objects(w, doors, num_things, all_different=True)
    put_agent_in_room(w, doors)
    clauses = no_clauses()
    set_clause(w, clauses, 0, PICK_UP_OBJECT, things[sample(w, num_things)])
    feature = sample(w, 3)
    if feature == 0:
        clauses[0, COLOR] = NONE
    elif feature == 1:
        clauses[0, KIND] = NONE_GRID_OBJECT
    instruct(w, clauses, room_size, strict=int(strict))


@system(RESET)
def one_ball(w: World, shape: Sequence[int], room_size: int) -> None:
    """Build a room with a ball to pick up."""
    doors = begin_level(w, shape, room_size)
    ball = add_object(w, doors, 0, 0, BALL, sample_color(w))
    put_agent_in_room(w, doors)
    instruct_about_object(w, doors, PICK_UP_OBJECT, ball, include_color=False)


# ---- mazes ---------------------------------------------------------------------------------------


@system(RESET)
def maze(
    w: World,
    shape: Sequence[int],
    room_size: int,
    num_things: int,
    verb: int,
    doors_open: bool = False,
    blocked: bool = False,
) -> None:
    """Build connected rooms with objects, and an instruction about one of the objects, or about a
    door if the verb is OPEN_DOOR; if `blocked`, at least one object is out of reach."""
    doors = begin_level(w, shape, room_size)
    put_agent_in_room(w, doors)
    connect_rooms(w, doors)
    things = add_objects(w, doors, num_things)
    require_reachable(w, not blocked)
    if verb == OPEN_DOOR:
        things = list_room_doors(w, doors)
    target = things[sample(w, len(things))]
    if doors_open:
        for door in w.of_type(DOOR):
            w.door.status[door] = OPEN
    instruct_about_object(w, doors, verb, target)


def list_room_doors(w: World, door_positions: Doors) -> Entities:
    """Return the doors of each room, column by column; a door between two rooms is listed twice."""
    entities = np.zeros(door_positions.size, np.int64)
    count = 0
    for column in range(len(door_positions[0])):
        for row in range(len(door_positions)):
            for side in range(4):
                y, x = door_positions[row, column, side]
                if has_neighbour(door_positions, row, column, side) and w.door.has[w.at[y, x]]:
                    entities[count] = w.at[y, x]
                    count += 1
    return entities[: max(1, count)]  # entity 0 in a rejected level: callers sample one


@system(RESET)
def locked_room(
    w: World, shape: Sequence[int], room_size: int, num_things: int, inside: bool
) -> None:
    """Build connected rooms, one of them behind a locked door, and an instruction to open that door
    or, if `inside`, to go to an object behind it.

    The key and other objects may also be in the locked room, as in the reference.
    """
    doors = begin_level(w, shape, room_size)
    rows, columns = len(doors), len(doors[0])
    column = sample(w, columns)
    row = sample(w, rows)
    door = add_random_door(w, doors, row, column, LOCKED)
    color = w.color.value[door]
    key_column = sample(w, columns)
    add_object(w, doors, sample(w, rows), key_column, KEY, color)
    excluded_color = NONE
    if not inside and sample(w, 2) == 0:
        excluded_color = color
    connect_rooms(w, doors, (row, column), excluded_color)
    for other_column in range(columns):
        for other_row in range(rows):
            add_objects(w, doors, num_things, other_row, other_column)
    put_agent_outside_room(w, doors, (row, column))
    require_reachable(w)
    if inside:
        thing = add_objects(w, doors, 1, row, column)[0]
        instruct_about_object(w, doors, GO_TO, thing)
    else:
        instruct_about_object(w, doors, OPEN_DOOR, door)


@system(RESET)
def find_object(w: World, shape: Sequence[int], room_size: int) -> None:
    """Build connected rooms with one object to pick up."""
    doors = begin_level(w, shape, room_size)
    # the reference samples the column from the number of rows
    column = sample(w, len(doors))
    row = sample(w, len(doors[0]))
    kind = sample_type(w)
    thing = add_object(w, doors, row, column, kind, sample_color(w))
    put_agent_in_room(w, doors, 1, 1)
    connect_rooms(w, doors)
    instruct_about_object(w, doors, PICK_UP_OBJECT, thing, include_color=False)


@system(RESET)
def pick_up_above(w: World, shape: Sequence[int], room_size: int) -> None:
    """Build connected rooms with an object to pick up in the room above the agent's."""
    doors = begin_level(w, shape, room_size)
    kind = sample_type(w)
    thing = add_object(w, doors, 0, 1, kind, sample_color(w))
    color = sample_color(w)
    if not is_rejected(w):
        add_door(w, doors, (1, 1), TOP_SIDE, color, CLOSED)
    put_agent_in_room(w, doors, 1, 1)
    connect_rooms(w, doors)
    instruct_about_object(w, doors, PICK_UP_OBJECT, thing)


@system(RESET)
def corridor(w: World, shape: Sequence[int], room_size: int) -> None:
    """Build rooms on both sides of a corridor, with a ball to pick up in the locked one."""
    doors = begin_level(w, shape, room_size)
    rows = len(doors)
    for row in range(1, rows):
        remove_wall(w, area_of_room(w, doors, row, 1), TOP_SIDE)
    row = sample(w, rows)
    color = sample_color(w)
    add_door(w, doors, (row, 2), LEFT_SIDE, color)
    ball = add_object(w, doors, row, 2, BALL, sample_color(w))
    add_object(w, doors, sample(w, rows), 0, KEY, color)
    put_agent_in_room(w, doors, rows // 2, 1)
    connect_rooms(w, doors, (row, 2))
    instruct_about_object(w, doors, PICK_UP_OBJECT, ball, include_color=False)


# ---- doors of the middle room --------------------------------------------------------------------


@system(RESET)
def go_to_door(w: World, shape: Sequence[int], room_size: int, num_things: int) -> None:
    """Build a room with objects and four doors; the agent must go to one of them."""
    doors = begin_level(w, shape, room_size)
    things = np.zeros(num_things + 4, np.int64)
    if num_things > 0:
        put_agent_in_room(w, doors, 1, 1)
        things[:num_things] = add_objects(w, doors, num_things, 1, 1)
    for k in range(num_things, num_things + 4):
        things[k] = add_random_door(w, doors, 1, 1)
    if num_things > 0:
        require_reachable(w)
    else:
        put_agent_in_room(w, doors, 1, 1)
    instruct_about_object(w, doors, GO_TO, things[sample(w, len(things))])


@system(RESET)
def use_object_or_door(w: World, shape: Sequence[int], room_size: int, num_things: int) -> None:
    """Build a room with different objects and four closed doors; the agent must go to one of them,
    pick up an object or open a door."""
    doors = begin_level(w, shape, room_size)
    things = np.zeros(num_things + 4, np.int64)
    things[:num_things] = add_objects(w, doors, num_things, 1, 1, all_different=True)
    for k in range(num_things, num_things + 4):
        things[k] = add_random_door(w, doors, 1, 1, CLOSED)
    put_agent_in_room(w, doors, 1, 1)
    target = things[sample(w, len(things))]
    verb = GO_TO
    if sample(w, 2) != 0:
        verb = OPEN_DOOR if w.door.has[target] else PICK_UP_OBJECT
    instruct_about_object(w, doors, verb, target)


ANY_FEATURE, BY_COLOR, BY_PLACE = range(3)


@system(RESET)
def open_door(
    w: World, shape: Sequence[int], room_size: int, feature: int = ANY_FEATURE, strict: bool = False
) -> None:
    """Build a room with four doors of different colours; the agent must open one of them, described
    by its colour or place. If `strict`, the episode ends with the first door that is toggled.

    Args:
        feature: 1 for the colour, 2 for the place, 0 for a random one of both.
    """
    doors = begin_level(w, shape, room_size)
    colors = sample_subset(w, np.array(COLORS), 4)
    for side in range(4):
        add_door(w, doors, (1, 1), side, colors[side], CLOSED)
    if feature == ANY_FEATURE:
        feature = 1 + sample(w, 2)
    clauses = no_clauses()
    clauses[0, VERB], clauses[0, KIND] = OPEN_DOOR, DOOR
    if feature == BY_COLOR:
        clauses[0, COLOR] = colors[0]
    else:
        clauses[0, PLACE] = 1 + sample(w, 4)
    put_agent_in_room(w, doors, 1, 1)
    instruct(w, clauses, room_size, strict=int(strict))


@system(RESET)
def open_two_doors(
    w: World, shape: Sequence[int], room_size: int, red_and_blue: bool = False, strict: bool = False
) -> None:
    """Build a room with two doors; the agent must open the left one, then the right one. If
    `strict`, toggling the wrong door first ends the episode."""
    doors = begin_level(w, shape, room_size)
    colors = sample_subset(w, np.array(COLORS), 2)
    if red_and_blue:
        colors[0], colors[1] = RED, BLUE
    first = add_door(w, doors, (1, 1), LEFT_SIDE, colors[0], CLOSED)
    second = add_door(w, doors, (1, 1), RIGHT_SIDE, colors[1], CLOSED)
    put_agent_in_room(w, doors, 1, 1)
    clauses = no_clauses()
    set_clause(w, clauses, 0, OPEN_DOOR, first)
    set_clause(w, clauses, 1, OPEN_DOOR, second)
    instruct(w, clauses, room_size, number_wording(1, 1, False), int(strict))


@system(RESET)
def open_doors_in_order(
    w: World, shape: Sequence[int], room_size: int, num_doors: int, strict: bool = False
) -> None:
    """Build a room with doors of different colours; the agent must open one or two of them. If
    `strict`, toggling a wrong door ends the episode."""
    doors = begin_level(w, shape, room_size)
    colors = sample_subset(w, np.array(COLORS), num_doors)
    entities = np.zeros(num_doors, np.int64)
    for k in range(num_doors):
        entities[k] = add_random_door(w, doors, 1, 1, CLOSED, colors[k])
    put_agent_in_room(w, doors, 1, 1)
    pair = sample_subset(w, entities, 2)
    order = sample(w, 3)
    clauses = no_clauses()
    set_clause(w, clauses, 0, OPEN_DOOR, pair[0])
    if order > 0:
        set_clause(w, clauses, 1, OPEN_DOOR, pair[1])
    wording = number_wording(1, min(order, 1), order == 2)
    instruct(w, clauses, room_size, wording, 3 if strict else 0)


@system(RESET)
def unlock_local(
    w: World, shape: Sequence[int], room_size: int, num_things: int, boxed: bool = False
) -> None:
    """Build a room with a locked door to open and its key, in a box if `boxed`."""
    doors = begin_level(w, shape, room_size)
    door = add_random_door(w, doors, 1, 1, LOCKED)
    color = w.color.value[door]
    if boxed:
        key = w.spawn(KEY)
        w.color.value[key] = color
        box = add_object(w, doors, 1, 1, PARCEL, sample_color(w))
        if box != NOTHING:
            w.box.content[box] = key
    else:
        add_object(w, doors, 1, 1, KEY, color)
    add_objects(w, doors, num_things, 1, 1, all_different=True)
    put_agent_in_room(w, doors, 1, 1)
    instruct_about_object(w, doors, OPEN_DOOR, door, include_color=False)


# ---- two or three rooms --------------------------------------------------------------------------


@system(RESET)
def open_red_door(w: World, shape: Sequence[int], room_size: int) -> None:
    """Build two rooms with a red door between them, which the agent must open."""
    doors = begin_level(w, shape, room_size)
    door = add_door(w, doors, (0, 0), RIGHT_SIDE, RED, CLOSED)
    put_agent_in_room(w, doors, 0, 0)
    instruct_about_object(w, doors, OPEN_DOOR, door)


@system(RESET)
def unlock_and_pick_up(
    w: World, shape: Sequence[int], room_size: int, num_things: int, blocked: bool = False
) -> None:
    """Build two rooms with a locked door between them and a box to pick up behind it; if `blocked`,
    a ball lies in front of the door, and the colour of the box does not count."""
    doors = begin_level(w, shape, room_size)
    box = add_object(w, doors, 0, 1, PARCEL, sample_color(w))
    color = sample_color(w)
    add_door(w, doors, (0, 0), RIGHT_SIDE, color)
    if blocked:
        y, x = doors[0, 0, RIGHT_SIDE]
        set_cell(w, BALL, y, x - 1, sample_color(w))
    add_object(w, doors, 0, 0, KEY, color)
    add_objects(w, doors, num_things, all_different=True)
    put_agent_in_room(w, doors, 0, 0)
    instruct_about_object(w, doors, PICK_UP_OBJECT, box, include_color=not blocked)


@system(RESET)
def unlock_to_unlock(w: World, shape: Sequence[int], room_size: int) -> None:
    """Build three rooms in a row with locked doors between them, and the agent in the middle one
    with the key of the second door. The key of the first door is behind the second door, and a ball
    to pick up is behind the first one."""
    doors = begin_level(w, shape, room_size)
    colors = sample_subset(w, np.array(COLORS), 2)
    add_door(w, doors, (0, 0), RIGHT_SIDE, colors[0])
    add_object(w, doors, 0, 2, KEY, colors[0])
    add_door(w, doors, (0, 1), RIGHT_SIDE, colors[1])
    add_object(w, doors, 0, 1, KEY, colors[1])
    ball = add_object(w, doors, 0, 0, BALL, sample_color(w))
    put_agent_in_room(w, doors, 0, 1)
    instruct_about_object(w, doors, PICK_UP_OBJECT, ball, include_color=False)


@system(RESET)
def put_next(
    w: World, shape: Sequence[int], room_size: int, num_things: int, both_ways: bool = False
) -> None:
    """Build a room of two halves with different objects; the agent must put an object of one half
    next to an object of the other half. If `both_ways`, it must then put another object of the
    second half next to another object of the first half."""
    doors = begin_level(w, shape, room_size)
    put_agent_in_room(w, doors, 0, 0)
    left = add_objects(w, doors, num_things, 0, 0, all_different=True)
    right = add_objects(w, doors, num_things, 0, 1, all_different=True)
    remove_wall(w, area_of_room(w, doors, 0, 0), RIGHT_SIDE)
    clauses = no_clauses()
    if both_ways:
        left = sample_subset(w, left, 2)
        right = sample_subset(w, right, 2)
        set_clause(w, clauses, 0, PUT_NEXT, left[0], right[0])
        set_clause(w, clauses, 1, PUT_NEXT, right[1], left[1])
        instruct(w, clauses, room_size, number_wording(1, 1, False))
        return
    moved = left[sample(w, num_things)]
    fixed = right[sample(w, num_things)]
    if sample(w, 2) == 0:
        moved, fixed = fixed, moved
    set_clause(w, clauses, 0, PUT_NEXT, moved, fixed)
    instruct(w, clauses, room_size)


# ---- random instructions -------------------------------------------------------------------------

_TWO_SIDES = 2
"""Structure of an instruction with one or two clauses on each side of ", then" or "after you"; 0
and 1 stand for one clause, and for two that are joined by "and"."""


def count_described(
    w: World, doors: Doors, kind: int, color: int, place: int, excluded_room: tuple[int, int]
) -> int:
    """Return the number of objects on the grid that match the description (type, colour and place),
    not counting the objects in the room `excluded_room`, (row, column)."""
    size = size_of_rooms(w, doors)
    top, left, _, _ = room_area(excluded_room[0], excluded_room[1], size)
    count = 0
    for e in w.having(w.color):
        down, right = w.position.y[e] - top, w.position.x[e] - left
        is_inside = excluded_room != NOWHERE and 0 <= down < size and 0 <= right < size
        count += not is_inside and is_described(w, e, kind, color, place, size)
    return count


def sample_description(
    w: World,
    doors: Doors,
    clause: Clauses,
    start: int,
    kinds: tuple[int, int],
    with_place: bool,
    excluded_room: tuple[int, int],
) -> None:
    """Write the type, colour and place of a random description into `clause` from index `start` on,
    such that an object matches it; reject the level if no such description is found.

    Args:
        clause: the CLAUSE_LENGTH numbers of one clause.
        start: index in `clause` of the description's type; colour and place follow.
        kinds: (first, end) indices of the allowed types in `_KINDS`.
        with_place: if True, the description may have a place.
        excluded_room: room (row, column) whose objects do not count.
    """
    for _ in range(_MOST_DESCRIPTIONS):
        color_number = sample(w, 1 + len(COLORS))
        color = COLORS[color_number - 1] if color_number > 0 else NONE
        kind = _KINDS[kinds[0] + sample(w, kinds[1] - kinds[0])]
        place = ANYWHERE
        if with_place and sample(w, 2) == 0:
            place = 1 + sample(w, 4)
        if is_rejected(w) or count_described(w, doors, kind, color, place, excluded_room) > 0:
            clause[start], clause[start + 1], clause[start + 2] = kind, color, place
            return
    reject(w)


def sample_clauses(
    w: World,
    doors: Doors,
    clauses: Clauses,
    first: int,
    count: int,
    verb: int,
    with_place: bool,
    excluded_room: tuple[int, int],
) -> None:
    """Write `count` random clauses (parts of the instruction) into `clauses` from index `first` on,
    all with the verb `verb`, or with random verbs if it is 0. `with_place` and `excluded_room` are
    as for `sample_description`."""
    for k in range(first, first + count):
        clause = clauses[k]
        clause[VERB] = verb if verb > 0 else _VERBS[sample(w, len(_VERBS))]
        kinds = _PORTABLE_KINDS
        if clause[VERB] == GO_TO:
            kinds = _ALL_KINDS
        elif clause[VERB] == OPEN_DOOR:
            kinds = _DOORS
        sample_description(w, doors, clause, KIND, kinds, with_place, excluded_room)
        if clause[VERB] == PUT_NEXT:
            sample_description(w, doors, clause, OTHER_KIND, _ALL_KINDS, with_place, excluded_room)


def add_locked_room(w: World, doors: Doors) -> tuple[int, int]:
    """Add a locked door to a random side of a random room, place its key into another room, and
    return the locked room as (row, column)."""
    rows, columns = len(doors), len(doors[0])
    # columns are sampled before rows, as in the reference
    column, row, side = sample(w, columns), sample(w, rows), sample(w, 4)
    while not has_neighbour(doors, row, column, side):
        column, row, side = sample(w, columns), sample(w, rows), sample(w, 4)
    color = sample_color(w)
    add_door(w, doors, (row, column), side, color)
    key_column, key_row = sample(w, columns), sample(w, rows)
    while (key_row, key_column) == (row, column):
        key_column, key_row = sample(w, columns), sample(w, rows)
    add_object(w, doors, key_row, key_column, KEY, color)
    return row, column


@system(RESET)
def random_instruction(
    w: World,
    shape: Sequence[int],
    room_size: int,
    num_things: int,
    locked_chance: float = 0.5,
    places: bool = True,
    verb: int = 0,
    sequences: bool = True,
    unblocking: bool = True,
    implicit_unlock: bool = True,
) -> None:
    """Build connected rooms with objects, and a random instruction about them.

    Args:
        locked_chance: probability of a locked room.
        places: descriptions may say where an object is.
        verb: verb of all clauses; 0 for random ones.
        sequences: instructions may have up to four clauses, instead of one.
        unblocking: objects may be in the way; the keys of locked doors are not asked for.
        implicit_unlock: all objects of a description may be in the locked room.
    """
    doors = begin_level(w, shape, room_size)
    locked = NOWHERE
    if w.rng.random() < locked_chance:
        locked = add_locked_room(w, doors)
    connect_rooms(w, doors, locked)
    add_objects(w, doors, num_things)
    put_agent_outside_room(w, doors, locked)
    if not unblocking:
        require_reachable(w)
    clauses = no_clauses()
    outside = NOWHERE if implicit_unlock else locked
    structure = sample(w, 3 if sequences else 1)
    has_two_sides = structure == _TWO_SIDES
    count, other_count, has_after_you = 1 + structure, 0, False
    if has_two_sides:
        count = 1 + sample(w, 2)
    sample_clauses(w, doors, clauses, 0, count, verb, places, outside)
    if has_two_sides:
        other_count = 1 + sample(w, 2)
        sample_clauses(w, doors, clauses, count, other_count, verb, places, outside)
        has_after_you = sample(w, 2) == 1
    wording = number_wording(count, other_count, has_after_you)
    instruct(w, clauses, room_size, wording, keeps_keys=unblocking)
