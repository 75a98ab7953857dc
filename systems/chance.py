"""Levels by chance, as scenario files say them: what stands there comes as tables.

A value in a table is a number, or -1 - k for the value `w.drawn[k]`. A thing is a number of rows
of `looks`, (type, state, colour, content), of which one is drawn by their `weights`; and where
`facings` is not NOBODY, the agent on top of it. A content, and what the agent `holds`, are things
in turn, 0 for none. How a map lies is 4 * mirrored + quarter turns clockwise.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR, NONE, NONE_GRID_OBJECT
from gv_engine.rules.component import NOTHING
from gv_engine.rules.errors import NoRoomError
from gv_engine.rules.geometry import BACKWARD, LEFT, ORIENTATIONS, RIGHT, rotate
from gv_engine.rules.system import RESET, system
from gv_engine.rules.world import World
from systems.building import (
    ask_for_one_of,
    build_room,
    cell_of,
    floor_cells,
    next_agent,
    put_agent,
    put_cells,
)
from systems.queries import blocks_movement, has_room, is_at, neighbours

ANY = len(ORIENTATIONS)
"""An agent that looks in any direction."""
NOBODY = ANY + 1
"""No agent."""
THE_AGENT = NONE_GRID_OBJECT
"""Stands for the agent among object types."""

Table = NDArray[np.int64]


def value_of(w: World, value: int) -> int:
    """A number as it is, or the drawn value that it stands for."""
    return value if value >= 0 else w.drawn[-1 - value]


def one_by_weight(w: World, weights: Table) -> int:
    """The number of one of several, as likely as their weights; of one, nothing is drawn."""
    left = w.rng.integers(0, weights.sum())
    number = 0
    while left >= weights[number]:
        left -= weights[number]
        number += 1
    return number


@system(RESET)
def draw_values(w: World, options: Table, weights: Table, unlike: Table) -> None:
    """Draw the values that a level uses in several places, in their order.

    Args:
        options: (values, options) what each may be; without weights, first and last of a range.
        weights: (values, options) how likely each option is, 0 where there is none.
        unlike: (values, values) 1 where a value differs from an earlier one.
    """
    for k in range(len(options)):
        left = weights[k].copy()
        for other in range(k):
            if unlike[k, other]:
                left[options[k] == w.drawn[other]] = 0
        if left.sum() > 0:
            w.drawn[k] = options[k, one_by_weight(w, left)]
        else:
            low, high = value_of(w, options[k, 0]), value_of(w, options[k, 1])
            w.drawn[k] = w.rng.integers(low, high + 1)


@system(RESET)
def walled_room(w: World, shape: Sequence[int]) -> None:
    """A room with walls around, and nobody in it."""
    build_room(w, shape)


def cell_on_map(w: World, lies: int, y: int, x: int) -> tuple[int, int]:
    """Where a cell of the world stands on the map, which may lie turned or mirrored in it."""
    height, width = w.height, w.width
    for _ in range(lies % 4):  # back by a quarter
        y, x = width - 1 - x, y
        height, width = width, height
    return y, width - 1 - x if lies >= 4 else x


def way_on_map(lies: int, way: int) -> int:
    """Where an orientation of a map that is turned or mirrored leads in the world."""
    if lies >= 4 and way in (LEFT, RIGHT):
        way = rotate(way, BACKWARD)
    quarters = lies % 4
    by = RIGHT if quarters == 1 else BACKWARD if quarters == 2 else LEFT
    return way if quarters == 0 else rotate(way, by)


def new_thing(
    w: World, thing: int, looks: Table, weights: Table, lies: int, oriented: Table
) -> int:
    """One of several things without a place, then what is in it, from the outside in."""
    outer = box = NOTHING
    while True:
        look = looks[thing, one_by_weight(w, weights[thing])]
        kind, state, color = value_of(w, look[0]), value_of(w, look[1]), value_of(w, look[2])
        if kind == FLOOR:
            return outer
        e = w.spawn(kind)
        if color != NONE:
            w.color.value[e] = color
        w.set_state(e, way_on_map(lies, state) if oriented[kind] else state)
        if box == NOTHING:
            outer = e
        else:
            w.box.content[box] = e
        box, thing = e, look[3]
        if thing == 0:
            return outer


def put_thing(
    w: World,
    y: int,
    x: int,
    thing: int,
    looks: Table,
    weights: Table,
    facings: Table,
    holds: Table,
    lies: int,
    oriented: Table,
) -> None:
    """Put one of several things into a cell, and the agent, if it looks in a direction."""
    e = new_thing(w, thing, looks, weights, lies, oriented)
    if e != NOTHING:
        w.place(e, y, x)
    facing, agent = value_of(w, facings[thing]), next_agent(w)
    if facing == ANY:
        put_agent(w, agent, y, x, w.rng.choice(4))
    elif facing != NOBODY:
        put_agent(w, agent, y, x, way_on_map(lies, facing))
    if holds[thing] > 0:
        w.agent.holding[agent] = new_thing(w, holds[thing], looks, weights, lies, oriented)


def put_map(
    w: World,
    lies: int,
    cells: Table,
    looks: Table,
    weights: Table,
    facings: Table,
    holds: Table,
    oriented: Table,
) -> None:
    """Put the things of a map, numbered in its cells, into the grid, row by row as it lies; nothing
    where the number is -1."""
    for y in range(w.height):
        for x in range(w.width):
            map_y, map_x = cell_on_map(w, lies, y, x)
            thing = cells[map_y, map_x]
            if thing >= 0:
                put_thing(w, y, x, thing, looks, weights, facings, holds, lies, oriented)


@system(RESET)
def from_maps(
    w: World,
    which: int,
    way: int,
    shapes: Table,
    cells: Table,
    looks: Table,
    weights: Table,
    facings: Table,
    holds: Table,
    oriented: Table,
) -> None:
    """One of several maps, turned or mirrored, row by row as it lies.

    Args:
        which, way: values: the number of the map, and how it lies.
        shapes: (maps, 2, 2) height and width of each, and turned by a quarter.
        cells: (maps, at least height, at least width) the things of each.
        looks, weights: (things, options, 4) and (things, options).
        facings, holds: (things,) of the agent.
        oriented: (types,) 1 for those whose states are orientations.
    """
    number, lies = value_of(w, which), value_of(w, way)
    w.set_shape(shapes[number, lies % 2, 0], shapes[number, lies % 2, 1])
    put_map(w, lies, cells[number], looks, weights, facings, holds, oriented)


@system(RESET)
def ground_of_map(w: World, cells: Table) -> None:
    """What lies beneath the things of the level that a scenario file draws.

    Args:
        cells: (at least height, at least width, 3) type, state and colour of every cell.
    """
    put_cells(w, cells)


@system(RESET)
def ground_of_maps(
    w: World,
    which: int,
    way: int,
    cells: Table,
    looks: Table,
    weights: Table,
    facings: Table,
    holds: Table,
    oriented: Table,
) -> None:
    """What lies beneath the things of one of several maps, row by row as it lies.

    Args:
        which, way, looks, weights, facings, holds, oriented: as for `from_maps`.
        cells: (maps, at least height, at least width) what lies there; -1 for nothing.
    """
    number, lies = value_of(w, which), value_of(w, way)
    put_map(w, lies, cells[number], looks, weights, facings, holds, oriented)


def is_near(w: World, y: int, x: int, kinds: Table) -> bool:
    """Whether one of these types, or the agent, is in a cell beside this one."""
    for beside_y, beside_x in neighbours(y, x):
        agent = w.agent_at(beside_y, beside_x) != NOTHING
        if (agent and THE_AGENT in kinds) or w.kind.value[w.at[beside_y, beside_x]] in kinds:
            return True
        below = w.ground[beside_y, beside_x]
        if below != NOTHING and w.kind.value[below] in kinds:
            return True
    return False


def is_in_region(y: int, x: int, boxes: Table, marks: Table, rooms: Table) -> bool:
    """Whether a cell of a map is in one of several boxes, or in one of several rooms."""
    for box in boxes:
        if box[0] <= y <= box[1] and box[2] <= x <= box[3]:
            return True
    return y < rooms.shape[0] and x < rooms.shape[1] and rooms[y, x] in marks


def free_cells(
    w: World, lies: int, boxes: Table, marks: Table, rooms: Table, apart: Table, agent: bool
) -> Table:
    """Numbers y * width + x of the cells of a region that are free, the ground included, and apart
    from things, row by row.

    Args:
        boxes, marks: of the region, and numbers of rooms that belong to it.
        rooms: (rows, columns) the room of each cell of the map.
        apart: types of which none stands beside.
        agent: whether it is for the agent, whose own cell is free then.
    """
    cells = np.empty(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if w.at[y, x] != NOTHING or w.ground[y, x] != NOTHING:
                continue
            other = w.agent_at(y, x)
            if other != NOTHING and not (agent and other == next_agent(w)):
                continue
            map_y, map_x = cell_on_map(w, lies, y, x)
            if is_in_region(map_y, map_x, boxes, marks, rooms) and not is_near(w, y, x, apart):
                cells[count] = y * w.width + x
                count += 1
    return cells[:count]


@system(RESET)
def place_things(
    w: World,
    which: int,
    way: int,
    lines: Table,
    counts: Table,
    boxes: Table,
    marks: Table,
    rooms: Table,
    apart: Table,
    looks: Table,
    weights: Table,
    facings: Table,
    holds: Table,
    oriented: Table,
) -> None:
    """Things in free cells of regions, in their order: how many, then for each, where and what.

    Args:
        which, way: values: the number of the map, and how it lies.
        lines: (places,) where they stand in the scenario file, for messages.
        counts: (places, 2) values: the least and the greatest number of things.
        boxes: (places, boxes, 4) first and last row, first and last column of each region.
        marks: (places, rooms) numbers of rooms that belong to each region; -1 for none.
        rooms: (maps, rows, columns) the room of each cell of a map.
        apart: (places, types) what stands in no cell beside; -1 for none.
        looks, weights, facings, holds, oriented: as for `from_maps`, one thing for each place.
    """
    number, lies = value_of(w, which), value_of(w, way)
    rooms_here = rooms[min(number, len(rooms) - 1)]
    for k in range(len(counts)):
        low, high = value_of(w, counts[k, 0]), value_of(w, counts[k, 1])
        count = w.rng.integers(low, high + 1)
        if count == 0:
            continue
        agent = facings[k] != NOBODY
        cells = free_cells(w, lies, boxes[k], marks[k], rooms_here, apart[k], agent)
        left = len(cells)
        for _ in range(count):
            if left == 0:
                raise NoRoomError(k, lines[k])
            picked = w.rng.choice(left)
            y, x = cell_of(w, cells[picked])
            put_thing(w, y, x, k, looks, weights, facings, holds, lies, oriented)
            left -= 1
            cells[picked] = cells[left]
            if apart[k, 0] >= 0:  # which may be what has just been put there
                cells = free_cells(w, lies, boxes[k], marks[k], rooms_here, apart[k], agent)
                left = len(cells)


def is_passable(w: World, y: int, x: int, through: Table) -> bool:
    """Whether a way may lead through a cell: nothing blocks there but maybe one of some types."""
    if not w.inside(y, x):
        return False
    return lets_through(w, w.at[y, x], through) and lets_through(w, w.ground[y, x], through)


def lets_through(w: World, e: int, through: Table) -> bool:
    """Whether an object, or NOTHING, does not block or is of one of some types."""
    return e == NOTHING or not blocks_movement(w, e) or w.kind.value[e] in through


def is_there(w: World, y: int, x: int, kind: int) -> bool:
    """Whether an object of a type, or the agent, is in a cell."""
    if kind == THE_AGENT:
        return w.agent_at(y, x) != NOTHING
    return is_at(w, y, x, kind)


def all_reached(w: World, things: Table, through: Table) -> bool:
    """Whether ways lead from the first of these things to all objects of the other types.

    Args:
        things: types, THE_AGENT among them; -1 for none.
        through: types that are in nobody's way.
    """
    if things[0] < 0:
        return True
    width = w.width
    reached = np.zeros((w.height, w.width), np.uint8)
    cells = np.empty(w.height * w.width, np.int64)
    count = at = 0
    for number in range(w.height * w.width):
        if count == 0 and is_there(w, number // width, number % width, things[0]):
            reached[number // width, number % width] = 1
            cells[0] = number
            count = 1
    while at < count:
        beside = neighbours(cells[at] // width, cells[at] % width)
        at += 1
        for y, x in beside:
            if w.inside(y, x) and not reached[y, x]:
                # what blocks is reached, but nothing behind it
                reached[y, x] = 1
                if is_passable(w, y, x, through):
                    cells[count] = y * width + x
                    count += 1
    for kind in things:
        found = kind < 0
        for y in range(w.height):
            for x in range(w.width):
                if kind >= 0 and is_there(w, y, x, kind):
                    found = True
                    if not reached[y, x]:
                        return False
        if not found:
            return False
    return True


def reached_or_tired(w: World, tried: int, things: Table, through: Table, tries: int) -> bool:
    """Whether a level is good, or enough of them have been drawn."""
    return tried >= tries or all_reached(w, things, through)


@system(RESET, until=reached_or_tired)
def draw_level(
    w: World, reset_functions: Sequence[None], things: Table, through: Table, tries: int
) -> None:
    """Several resets in turn, and all of them again until what must be reached can be."""
    if not all_reached(w, things, through):
        w.fail(
            "reachable: no level of all that were tried has the ways that the scenario asks for; "
            "give it more `tries`, or more room"
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
    """After the level, what each agent is asked to do.

    Args:
        write: puts values into fields of the mission.
        values: for these fields.
        among: types of objects, of which one is drawn that is on the grid; -1 for none.
        wordings: of how many texts one is drawn; 0 for none.
    """
    own = values.copy()
    for agent in w.agents():
        if among[0] >= 0:
            ask_for_one_of(w, agent, among)
        if wordings > 0:
            w.mission.wording[agent] = w.rng.choice(wordings)
        for k in range(len(own)):
            own[k] = value_of(w, values[k])
        write(w, agent, own)


@system(RESET)
def settle(w: World) -> None:
    """Agents that stand nowhere are put by chance into free cells to which the first can walk."""
    steps = w.steps_from(w.position.y[1], w.position.x[1])
    for agent in w.agents():
        if w.position.y[agent] < 0:
            cells = floor_cells(w)
            count = 0
            for number in cells:
                y, x = cell_of(w, number)
                if steps[y, x] >= 0 and has_room(w, y, x):
                    cells[count] = number
                    count += 1
            if count == 0:
                w.fail("there are more agents than cells that they could stand in")
                return
            y, x = cell_of(w, cells[w.rng.choice(count)])
            put_agent(w, agent, y, x, w.rng.choice(4))
