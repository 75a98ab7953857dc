"""Procedural levels: random placement, maps and values that scenario files describe.

The scenario reader turns such descriptions into tables. A value in a table is a number, or -1 - k
for the sampled value `w.drawn[k]`. Random object i is sampled from `appearances[i]`, (options, 4)
type, state, colour and content, with the weights `weights[i]`. If `facings[i]` is not NOBODY, an
agent is put on top of the object, and `contents[i]` is the object in its hand. Contents and held
objects are indices of other random objects, 0 for none. `transform` is the orientation of a map in
the world: quarter turns clockwise + 4 * mirrored.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, NONE, NONE_GRID_OBJECT
from gv_engine.rules.component import NOTHING
from gv_engine.rules.errors import NoRoomError
from gv_engine.rules.geometry import BACKWARD, LEFT, ORIENTATIONS, RIGHT, rotate
from gv_engine.rules.system import RESET, system
from gv_engine.rules.world import World
from systems.building import (
    build_room,
    cell_of,
    next_agent,
    put_agent,
    put_cells,
    reachable_cells,
    set_random_target,
)
from systems.queries import blocks_movement, can_enter, is_at, neighbours, top_of

ANY = len(ORIENTATIONS)
"""Facing of an agent with a random orientation."""
NOBODY = ANY + 1
"""Facing that stands for no agent."""
THE_AGENT = NONE_GRID_OBJECT
"""Type index that stands for the agent."""

Table = NDArray[np.int64]

RandomObjects = tuple[Table, Table, Table, Table, Table]
"""Tables of random objects: appearances, weights, facings, contents, oriented; see `from_maps`."""


def resolve_value(w: World, value: int) -> int:
    """Return the value of a table entry: the entry itself, or, if it is negative (-1 - k), the
    sampled value `w.drawn[k]`."""
    return value if value >= 0 else w.drawn[-1 - value]


def sample_by_weight(w: World, weights: Table) -> int:
    """Return a random index of `weights`. Its probability is proportional to its weight: [3, 1]
    gives 0 three times as often as 1."""
    remaining = w.rng.integers(0, weights.sum())
    index = 0
    while remaining >= weights[index]:
        remaining -= weights[index]
        index += 1
    return index


@system(RESET)
def sample_values(w: World, options: Table, weights: Table, unlike: Table) -> None:
    """Sample the random values that a scenario file names, one after the other; several places of
    the level can use the same value.

    Args:
        options: (values, options) allowed values; without weights, first and last of a range.
        weights: (values, options) weight of each option, 0 where there is none.
        unlike: (values, values) 1 where a value must differ from an earlier one.
    """
    for k in range(len(options)):
        remaining = weights[k].copy()
        for other in range(k):
            if unlike[k, other]:
                remaining[options[k] == w.drawn[other]] = 0
        if remaining.sum() > 0:
            w.drawn[k] = options[k, sample_by_weight(w, remaining)]
        else:
            low, high = resolve_value(w, options[k, 0]), resolve_value(w, options[k, 1])
            w.drawn[k] = w.rng.integers(low, high + 1)


@system(RESET)
def walled_room(w: World, shape: Sequence[int]) -> None:
    """Build a room with walls around it and no agent."""
    build_room(w, shape)


def to_map_cell(w: World, transform: int, y: int, x: int) -> tuple[int, int]:
    """Return the cell of the map from which the grid cell (y, x) was made. `transform` says how the
    map was rotated or mirrored."""
    height, width = w.height, w.width
    for _ in range(transform % 4):  # undo a quarter turn
        y, x = width - 1 - x, y
        height, width = width, height
    return y, width - 1 - x if transform >= 4 else x


def to_world_direction(transform: int, direction: int) -> int:
    """Return the direction in the world for a direction on the map. `transform` says how the map
    was rotated or mirrored."""
    if transform >= 4 and direction in (LEFT, RIGHT):
        direction = rotate(direction, BACKWARD)
    quarters = transform % 4
    turn = RIGHT if quarters == 1 else BACKWARD if quarters == 2 else LEFT
    return direction if quarters == 0 else rotate(direction, turn)


def spawn_random(w: World, index: int, tables: RandomObjects, transform: int) -> int:
    """Create the random object number `index` of the scenario: its type, state, colour and content
    are sampled by `tables`. Return its entity, which is in no cell yet.

    Returns the outermost entity, or NOTHING for Floor.
    """
    appearances, weights, _, _, oriented = tables
    outer = box = NOTHING
    while True:  # each turn spawns the content of the box before
        option = appearances[index, sample_by_weight(w, weights[index])]
        kind, state = resolve_value(w, option[0]), resolve_value(w, option[1])
        color = resolve_value(w, option[2])
        if kind == FLOOR:
            return outer
        entity = w.spawn(kind)
        if color != NONE:
            w.color.value[entity] = color
        w.set_state(entity, to_world_direction(transform, state) if oriented[kind] else state)
        if box == NOTHING:
            outer = entity
        else:
            w.box.content[box] = entity
        box, index = entity, option[3]
        if index == 0:
            return outer


def place_random(
    w: World, y: int, x: int, index: int, tables: RandomObjects, transform: int
) -> None:
    """Create the random object number `index` of the scenario, as `spawn_random` does, and put it
    into cell (y, x). If `tables.facings` says so, put the next agent on top."""
    _, _, facings, contents, _ = tables
    entity = spawn_random(w, index, tables, transform)
    if entity != NOTHING:
        w.place(entity, y, x)
    facing, agent = resolve_value(w, facings[index]), next_agent(w)
    if facing == ANY:
        put_agent(w, agent, y, x, w.rng.choice(4))
    elif facing != NOBODY:
        put_agent(w, agent, y, x, to_world_direction(transform, facing))
    if contents[index] > 0:
        w.agent.holding[agent] = spawn_random(w, contents[index], tables, transform)


def build_map(w: World, transform: int, cells: Table, tables: RandomObjects) -> None:
    """Build the level that a map describes: `cells` (height, width) has the number of the random
    object in each cell, see `spawn_random`. `transform` says how the map is rotated or mirrored."""
    for y in range(w.height):
        for x in range(w.width):
            map_y, map_x = to_map_cell(w, transform, y, x)
            thing = cells[map_y, map_x]
            if thing >= 0:
                place_random(w, y, x, thing, tables, transform)


@system(RESET)
def from_maps(
    w: World,
    level_code: int,
    transform_code: int,
    shapes: Table,
    cells: Table,
    appearances: Table,
    weights: Table,
    facings: Table,
    contents: Table,
    oriented: Table,
) -> None:
    """Build one of several maps, rotated or mirrored.

    Args:
        level_code, transform_code: table values: index of the map, and its `transform`.
        shapes: (maps, 2, 2) height and width of each map, and both after a quarter turn.
        cells: (maps, at least height, at least width) random object of each cell.
        appearances, weights: (objects, options, 4) and (objects, options).
        facings, contents: (objects,) facing and held object of the agent.
        oriented: (types,) 1 for types whose states are orientations.
    """
    number, transform = resolve_value(w, level_code), resolve_value(w, transform_code)
    w.set_shape(shapes[number, transform % 2, 0], shapes[number, transform % 2, 1])
    build_map(w, transform, cells[number], (appearances, weights, facings, contents, oriented))


@system(RESET)
def from_level_files(
    w: World,
    level_code: int,
    transform_code: int,
    shapes: NDArray[np.int16],
    cells: NDArray[np.uint8],
    object_indices: Table,
    ground_indices: Table,
    appearances: Table,
    weights: Table,
    facings: Table,
    contents: Table,
    oriented: Table,
) -> None:
    """Build level number `level_code` of many levels that were read from text files, rotated or
    mirrored by `transform_code`. The tables hold all levels: `cells` the characters of their maps,
    and the others what each character stands for.

    Args:
        level_code, transform_code: table values: index of the level, and its `transform`.
        shapes: (levels or 1, 2, 2) height and width of each level, and both after a quarter turn.
        cells: (levels, at least height, at least width) ASCII code of each cell.
        object_indices, ground_indices: (128,) random object of each ASCII code, and the one on the
            ground below; -1 for none.
        appearances, weights, facings, contents, oriented: as for `from_maps`.
    """
    number, transform = resolve_value(w, level_code), resolve_value(w, transform_code)
    sides = shapes[min(number, len(shapes) - 1), transform % 2]
    w.set_shape(int(sides[0]), int(sides[1]))
    things = appearances, weights, facings, contents, oriented
    build_map(w, transform, np.take(object_indices, cells[number]), things)
    build_map(w, transform, np.take(ground_indices, cells[number]), things)


@system(RESET)
def ground_of_map(w: World, cells: Table) -> None:
    """Place the ground objects below the level that a scenario file draws.

    Args:
        cells: (at least height, at least width, 3) type, state and colour of each cell.
    """
    put_cells(w, cells)


@system(RESET)
def ground_of_maps(
    w: World,
    level_code: int,
    transform_code: int,
    cells: Table,
    appearances: Table,
    weights: Table,
    facings: Table,
    contents: Table,
    oriented: Table,
) -> None:
    """Place the ground objects below one of several maps.

    Args:
        level_code, transform_code, appearances, weights, facings, contents, oriented: as for
            `from_maps`.
        cells: (maps, at least height, at least width) random object of each cell; -1 for none.
    """
    number, transform = resolve_value(w, level_code), resolve_value(w, transform_code)
    build_map(w, transform, cells[number], (appearances, weights, facings, contents, oriented))


def is_beside_any(w: World, y: int, x: int, types: Table) -> bool:
    """Return True if one of the four neighbours of cell (y, x) has an object of one of `types`;
    THE_AGENT in `types` stands for an agent."""
    for near_y, near_x in neighbours(y, x):
        has_agent = w.agent_at(near_y, near_x) != NOTHING
        if (has_agent and THE_AGENT in types) or w.kind.value[w.at[near_y, near_x]] in types:
            return True
        if w.between and is_any_between(w, near_y, near_x, types):
            return True
        below = w.ground[near_y, near_x]
        if below != NOTHING and w.kind.value[below] in types:
            return True
    return False


def is_any_between(w: World, y: int, x: int, types: Table) -> bool:
    """Return True if cell (y, x) has an object of one of `types` on a layer between."""
    for cells in w.between:
        if w.kind.value[cells[y, x]] in types:
            return True
    return False


Region = tuple[Table, Table, Table]
"""Part of a map: boxes (first and last row, first and last column), numbers of rooms that belong to
it, and (rows, columns) the number of each cell's room."""


def is_in_region(y: int, x: int, region: Region) -> bool:
    """Return True if cell (y, x) of the map is in one of the region's boxes or rooms."""
    boxes, room_numbers, rooms = region
    for box in boxes:
        if box[0] <= y <= box[1] and box[2] <= x <= box[3]:
            return True
    return y < rooms.shape[0] and x < rooms.shape[1] and rooms[y, x] in room_numbers


def find_free_cells(
    w: World,
    transform: int,
    region: Region,
    keep_apart_from: Table,
    is_for_agent: bool,
    without_terrain: bool,
) -> Table:
    """Return the free cells of a region as numbers y * width + x, in row order. Cells beside
    objects of the types `keep_apart_from` are left out.

    A free cell has no object on either layer, except terrain that agents can enter; it has no
    agent, and no object of a type in `keep_apart_from` in a neighbouring cell.

    Args:
        transform: number of the rotation or reflection that turned the map into the level.
        region: region of the map before it was rotated or mirrored.
        keep_apart_from: types that may not be in a neighbouring cell.
        is_for_agent: if True, the cell of the next agent counts as free, too.
        without_terrain: if True, cells with terrain are not free, as for a ground object.
    """
    cells = np.empty(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if w.between and top_of(w, y, x) != NOTHING:
                continue
            below = w.ground[y, x]
            if w.at[y, x] != NOTHING or (below != NOTHING and not w.is_terrain(below)):
                continue
            if below != NOTHING and (without_terrain or not can_enter(w, y, x)):
                continue
            other = w.agent_at(y, x)
            if other != NOTHING and not (is_for_agent and other == next_agent(w)):
                continue
            map_y, map_x = to_map_cell(w, transform, y, x)
            if is_in_region(map_y, map_x, region) and not is_beside_any(w, y, x, keep_apart_from):
                cells[count] = y * w.width + x
                count += 1
    return cells[:count]


@system(RESET)
def place_things(
    w: World,
    level_code: int,
    transform_code: int,
    lines: Table,
    counts: Table,
    boxes: Table,
    room_numbers: Table,
    rooms: Table,
    apart_from: Table,
    appearances: Table,
    weights: Table,
    facings: Table,
    contents: Table,
    oriented: Table,
) -> None:
    """Place random objects, as the list `place` of a scenario file says: for each of its entries,
    sample how many objects to place, then a free cell of its region and an object for each. The
    tables hold one line per entry.

    Args:
        level_code, transform_code: table values: index of the map, and its `transform`.
        lines: (places,) line of each placement in the scenario file, for messages.
        counts: (places, 2) table values: least and greatest number of objects.
        boxes: (places, boxes, 4) first and last row, first and last column of each region.
        room_numbers: (places, rooms) numbers of the rooms that belong to each region; -1 for none.
        rooms: (maps, rows, columns) room of each cell of a map.
        apart_from: (places, types) types that may not be in a neighbouring cell; -1 for none.
        appearances, weights, facings, contents, oriented: as for `from_maps`, one random object per
            placement.
    """
    number, transform = resolve_value(w, level_code), resolve_value(w, transform_code)
    rooms_here = rooms[min(number, len(rooms) - 1)]
    things = appearances, weights, facings, contents, oriented
    for k in range(len(counts)):
        low, high = resolve_value(w, counts[k, 0]), resolve_value(w, counts[k, 1])
        count = w.rng.integers(low, high + 1)
        if count == 0:
            continue
        has_agent = facings[k] != NOBODY
        is_ground = may_lie_on_ground(w, appearances[k], weights[k])
        region = boxes[k], room_numbers[k], rooms_here
        cells = find_free_cells(w, transform, region, apart_from[k], has_agent, is_ground)
        num_free = len(cells)
        for _ in range(count):
            if num_free == 0:
                if lines[k] == 0:  # compiled, the message is chosen by the branch
                    raise NoRoomError(k, 0)
                raise NoRoomError(k, lines[k])
            picked = w.rng.choice(num_free)
            y, x = cell_of(w, cells[picked])
            place_random(w, y, x, k, things, transform)
            num_free -= 1
            cells[picked] = cells[num_free]
            if apart_from[k, 0] >= 0:  # the new object may be one of these types
                cells = find_free_cells(w, transform, region, apart_from[k], has_agent, is_ground)
                num_free = len(cells)


def may_lie_on_ground(w: World, appearances: Table, weights: Table) -> bool:
    """Return True if a random object may be of a type that lies on the ground. `appearances`
    (options, 4) and `weights` (options,) describe what it can be."""
    for option in range(len(weights)):
        if weights[option] > 0 and w.on_ground(resolve_value(w, appearances[option, 0])):
            return True
    return False


def can_pass(w: World, entity: int, passable: Table) -> bool:
    """Return True if the entity is NOTHING, does not block, or is of one of the `passable`
    types."""
    return entity == NOTHING or not blocks_movement(w, entity) or w.kind.value[entity] in passable


def can_pass_between(w: World, y: int, x: int, passable: Table) -> bool:
    """Return True if `can_pass` is true for the objects of a cell on all layers between."""
    for cells in w.between:
        if not can_pass(w, cells[y, x], passable):
            return False
    return True


def is_type_at(w: World, y: int, x: int, kind: int) -> bool:
    """Return True if an object of a type, or the agent for THE_AGENT, is in a cell."""
    if kind == THE_AGENT:
        return w.agent_at(y, x) != NOTHING
    return is_at(w, y, x, kind)


def all_reachable(w: World, object_types: Table, passable: Table) -> bool:
    """Return True if the grid has an object of each type in `object_types`, and paths lead from the
    first of them to all of them. Objects block paths unless their type is in `passable`.

    Args:
        object_types: type indices, THE_AGENT allowed; -1 for none.
        passable: types that do not block paths.
    """
    if object_types[0] < 0:
        return True
    is_reached = find_reached_cells(w, object_types[0], passable)
    for kind in object_types:
        is_on_grid = kind < 0
        for y in range(w.height):
            for x in range(w.width):
                if kind >= 0 and is_type_at(w, y, x, kind):
                    is_on_grid = True
                    if not is_reached[y, x]:
                        return False
        if not is_on_grid:
            return False
    return True


def find_reached_cells(w: World, start_type: int, passable: Table) -> NDArray[np.uint8]:
    """Return a (height, width) array with 1 in each cell that can be reached from the first object
    of type `start_type` (from the agent for THE_AGENT). Objects block paths unless their type is in
    `passable`."""
    width = w.width
    is_reached = np.zeros((w.height, w.width), np.uint8)
    queue = np.empty(w.height * w.width, np.int64)
    queue_length = num_visited = 0
    for number in range(w.height * w.width):
        if queue_length == 0 and is_type_at(w, number // width, number % width, start_type):
            is_reached[number // width, number % width] = 1
            queue[0] = number
            queue_length = 1
    while num_visited < queue_length:
        near_cells = neighbours(queue[num_visited] // width, queue[num_visited] % width)
        num_visited += 1
        for y, x in near_cells:
            if w.inside(y, x) and not is_reached[y, x]:
                # a blocking cell is reached, but not the cells behind it
                is_reached[y, x] = 1
                if w.between and not can_pass_between(w, y, x, passable):
                    continue
                if can_pass(w, w.at[y, x], passable) and can_pass(w, w.ground[y, x], passable):
                    queue[queue_length] = y * width + x
                    queue_length += 1
    return is_reached


def is_level_accepted(w: World, tried: int, things: Table, through: Table, tries: int) -> bool:
    """Return True if the sampled level is valid, or `tries` levels have been sampled."""
    return tried >= tries or all_reachable(w, things, through)


@system(RESET, until=is_level_accepted)
def sample_until_reachable(
    w: World, reset_functions: Sequence[None], things: Table, through: Table, tries: int
) -> None:
    """Run several reset rules in turn, which build a level, and repeat them until all objects of
    the types `things` can be reached. Objects of the types `through` do not block paths. After
    `tries` levels, fail."""
    if not all_reachable(w, things, through):
        w.fail(
            "reachable: none of the levels that were tried has the required paths; "
            "allow more `tries`, or more room"
        )


@system(RESET)
def set_mission(
    w: World,
    reset_function: None,
    write: Callable[[World, int, Table], None],
    values: Table,
    among: Table,
    wordings: int,
) -> None:
    """Let `reset_function` build the level, then give each agent a mission: `write` sets its fields
    to `values`. If `among` has types of objects, a random one of these objects becomes the target
    of the mission.

    Args:
        write: writes `values` into fields of the mission.
        values: table values of these fields.
        among: object types; one that is on the grid is sampled; -1 for none.
        wordings: number of texts of which one is sampled; 0 for none.
    """
    resolved = values.copy()
    for agent in w.agents():
        if among[0] >= 0:
            set_random_target(w, agent, among)
        if wordings > 0:
            w.mission.wording[agent] = w.rng.choice(wordings)
        for k in range(len(resolved)):
            resolved[k] = resolve_value(w, values[k])
        write(w, agent, resolved)


@system(RESET)
def settle(w: World) -> None:
    """Place agents that have no cell yet into random free cells that the first agent can walk
    to."""
    steps = w.steps_from(w.position.y[1], w.position.x[1])
    for agent in w.agents():
        if w.position.y[agent] < 0:
            cells = reachable_cells(w, steps)
            if len(cells) == 0:
                w.fail("there are more agents than free cells for them")
                return
            y, x = cell_of(w, cells[w.rng.choice(len(cells))])
            put_agent(w, agent, y, x, w.rng.choice(4))
