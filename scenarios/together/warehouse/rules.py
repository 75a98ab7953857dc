"""Multi-robot warehouse (Papoudakis and others, 2021), with the rules of rware 2.0.

All robots act at once. A robot drives below shelves, and lifts the one above it; with a shelf it
keeps to cells without shelves. Its colour shows its load: BLUE none, GREEN a wanted shelf, YELLOW
another one.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import BLUE, GREEN, YELLOW
from gv_engine import (
    NOTHING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    ObjectTypeIndex,
    World,
    component,
    system,
)
from gv_engine.geometry import MOVE_FORWARD, NOOP, PICK_N_DROP
from systems.building import put, put_agent
from systems.queries import beside

STORED, WANTED = range(2)
"""States of a shelf."""
Cells = NDArray[np.int64]
"""Numbers of cells, row by row from 0, or one number for each robot; robots are numbered from 1."""
_HEIGHT, _WIDTH = 66, 28
"""Largest warehouse."""
_HASHES = np.array([[hash((x, y)) for x in range(_WIDTH)] for y in range(_HEIGHT)], np.int64)
"""Python's hash of the tuple (x, y), by row and column."""


@component
class Robot:
    """Robot: whether it drives forward in this step, what it earns in this step, and whether it has
    delivered the shelf that it carries."""

    drives: bool = False
    earned: float = 0.0
    has_delivered: bool = False


@component
class Office:
    """Deliveries of an episode, and the steps since the last one."""

    delivered: int = 0
    idle: int = 0


# ---- the building --------------------------------------------------------------------------------


def is_bay(shape: Sequence[int], column_height: int, y: int, x: int) -> bool:
    """Return True if a cell stores a shelf: it is in one of the columns, which are two cells wide,
    and not on the way to the dock in the middle of the last row."""
    height, width = shape
    on_way = y > height - column_height - 3 and x in (width // 2 - 1, width // 2)
    return x % 3 != 0 and y % (column_height + 1) != 0 and y < height - 1 and not on_way


def find_problem(shape: Sequence[int], column_height: int, requests: int, agents: int) -> str:
    """Return an error message if there is no such warehouse, else ""."""
    height, width = shape
    if height > _HEIGHT or width > _WIDTH:
        return f"found shape {list(shape)}: at most [{_HEIGHT}, {_WIDTH}] is allowed"
    if width % 6 != 4:
        return f"found {width // 3} columns: the number of columns must be odd"
    if agents > height * width:
        return f"found {agents} robots: shape {list(shape)} has {height * width} cells"
    shelves = sum(is_bay(shape, column_height, y, x) for y in range(height) for x in range(width))
    if requests < shelves:
        return ""
    return f"found {requests} requests for {shelves} shelves: there must be more shelves"


@system(RESET, check=find_problem)
def build_warehouse(
    w: World,
    shape: Sequence[int],
    column_height: int,
    requests: int,
    shelf: ObjectTypeIndex,
    bay: ObjectTypeIndex,
    dock: ObjectTypeIndex,
) -> None:
    """Build a warehouse with a shelf in each bay, `requests` of which are wanted, robots in random
    cells, and a dock of two cells.

    The samples are those of rware 2.0, in the same order.
    """
    height, width = shape
    w.set_shape(height, width)
    first = count = 0
    for y in range(height):
        for x in range(width):
            if is_bay(shape, column_height, y, x):
                thing = put(w, shelf, y, x)
                first = first if count else thing
                count += 1
    for y in range(height):
        for x in range(width):
            if is_bay(shape, column_height, y, x):
                put(w, bay, y, x)
    put(w, dock, height - 1, width // 2 - 1)
    put(w, dock, height - 1, width // 2)
    cells = w.rng.choice(height * width, len(w.agents()), False)
    facing = w.rng.choice(4, len(w.agents()))
    for agent in w.agents():
        put_agent(w, agent, cells[agent - 1] // width, cells[agent - 1] % width, facing[agent - 1])
    for number in w.rng.choice(count, requests, False):
        w.set_state(first + number, WANTED)
    show_loads(w)


def show_loads(w: World) -> None:
    """Give each robot the colour of its load."""
    for agent in w.agents():
        held = w.agent.holding[agent]
        color = BLUE if held == NOTHING else GREEN if w.state_of(held) == WANTED else YELLOW
        if w.color.value[agent] != color:
            w.color.value[agent] = color


# ---- driving -------------------------------------------------------------------------------------


def can_start(w: World, agent: int, action: int) -> bool:
    """Return True for NOOP, and for MOVE_FORWARD into a cell of the grid that has no shelf if the
    robot carries one."""
    if action != MOVE_FORWARD:
        return action == NOOP
    y, x = beside(w.position.y[agent], w.position.x[agent], w.agent.facing[agent])
    return w.inside(y, x) and (w.agent.holding[agent] == NOTHING or w.at[y, x] == NOTHING)


@system(TRANSITION, when=can_start)
def start(w: World, agent: int) -> None:
    """Note whether the robot drives forward."""
    w.robot.drives[agent] = w.action[agent] == MOVE_FORWARD


@system(TRANSITION)
def drive(w: World) -> None:
    """Move robots forward, all at once. Who wants the cell of another robot is in its queue.

    A queue moves if its first robot goes to a free cell. Of several robots that want one cell, only
    the one with the longest queue gets it; `rank_robots` orders equal ones. Robots in a ring of
    more than two move, and two robots never exchange their cells.
    """
    place = np.zeros(len(w.agents()) + 1, np.int64)
    wanted, ahead = place.copy(), place.copy()
    for agent in w.agents():
        y, x = w.position.y[agent], w.position.x[agent]
        place[agent] = y * w.width + x
        if w.robot.drives[agent]:
            y, x = beside(y, x, w.agent.facing[agent])
        wanted[agent] = y * w.width + x
        ahead[agent] = w.agent_at(y, x)
        w.robot.drives[agent] = False
        w.robot.earned[agent] = 0.0
    queue, ring, target = measure_queues(wanted, ahead)
    rank = rank_robots(place, wanted, ahead, target, w.width)
    moves = ring > 2
    for agent in w.agents():
        if ahead[agent] == NOTHING:
            robot = choose_robot(wanted[agent], place, wanted, queue, rank)
            while robot != NOTHING:
                moves[robot] = True
                robot = choose_robot(place[robot], place, wanted, queue, rank)
    for agent in w.agents():
        if moves[agent]:
            w.stand(agent, wanted[agent] // w.width, wanted[agent] % w.width)


def measure_queues(wanted: Cells, ahead: Cells) -> tuple[Cells, Cells, Cells]:
    """Return, for each robot, the number of robots in the longest queue that it leads, itself
    included; the size of the ring that it is in, or 0; and the free cell to which its queue goes,
    or -1.

    Args:
        wanted: cell that each robot wants to be in.
        ahead: robot that is in this cell, or NOTHING; a robot that stays is its own.
    """
    queue, ring, target = np.zeros_like(ahead), np.zeros_like(ahead), np.full_like(ahead, -1)
    for agent in range(1, len(ahead)):
        other, steps, cell = agent, 0, -1
        while other != NOTHING and steps < len(ahead):
            steps += 1
            queue[other] = max(queue[other], steps)
            cell = wanted[other]
            other = ahead[other]
            if other == agent:
                ring[agent] = steps
                break
        if other == NOTHING:
            target[agent] = cell
    return queue, ring, target


def choose_robot(cell: int, place: Cells, wanted: Cells, queue: Cells, rank: Cells) -> int:
    """Return the robot that gets a cell: the one with the longest queue, of equal ones the one with
    the lowest rank; NOTHING if no robot elsewhere wants the cell."""
    chosen = NOTHING
    for robot in range(1, len(place)):
        if wanted[robot] == cell and place[robot] != cell:
            order = queue[robot] - queue[chosen], rank[chosen] - rank[robot]
            if chosen == NOTHING or order > (0, 0):
                chosen = robot
    return chosen


# ---- equal queues --------------------------------------------------------------------------------


def rank_robots(place: Cells, wanted: Cells, ahead: Cells, target: Cells, width: int) -> Cells:
    """Return the rank of each robot among robots with equal queues to one cell.

    rware draws a graph of all cells that robots are in or want, in the order of the robots. Each
    part of it that hangs together is searched for its longest path: in the graph's order, or, if
    the part has fewer than half of all cells, in the order in which Python's sets are iterated.
    """
    size = len(place)
    rank, free, count = 2 * np.arange(size), np.zeros(size, np.int64), 0
    for robot in range(1, size):
        rank[ahead[robot]] = min(rank[ahead[robot]], 2 * robot + 1)
        if ahead[robot] == NOTHING:
            count = add_cell(free, count, wanted[robot])
    for cell in free[:count]:
        robots = (target == cell).sum()
        if robots > 1 and 2 * (robots + 1) < size - 1 + count:
            cells = find_part(place, wanted, target, cell)
            cells = order_as_set(order_as_set(cells, width), width)
            for robot in range(1, size):
                for i in range(len(cells)):
                    if place[robot] == cells[i]:
                        rank[robot] = i
    return rank


def add_cell(cells: Cells, count: int, cell: int) -> int:
    """Write a cell behind the first `count` of `cells` if it is none of them; return their new
    number."""
    for i in range(count):
        if cells[i] == cell:
            return count
    cells[count] = cell
    return count + 1


def find_part(place: Cells, wanted: Cells, target: Cells, cell: int) -> Cells:
    """Return all cells in the part of the graph with a free cell, by breadth-first search from the
    place of its first robot, along the wanted cells and then back."""
    cells, count, i = np.zeros(len(place) + 1, np.int64), 0, 0
    for robot in range(len(place)):
        if target[robot] == cell and count == 0:
            count = add_cell(cells, 0, place[robot])
    while i < count:
        for robot in range(1, len(place)):
            if place[robot] == cells[i]:
                count = add_cell(cells, count, wanted[robot])
        for robot in range(1, len(place)):
            if wanted[robot] == cells[i]:
                count = add_cell(cells, count, place[robot])
        i += 1
    return cells[:count]


def order_as_set(cells: Cells, width: int) -> Cells:
    """Return cells in the order in which CPython iterates over a set of tuples (x, y) to which they
    were added one by one."""
    table = np.full(8, -1)
    for k in range(len(cells)):
        add_to_table(table, cells[k], width)
        if 5 * (k + 1) >= 3 * (len(table) - 1):
            size = len(table)
            while size <= 4 * (k + 1):
                size *= 2
            old, table = table, np.full(size, -1)
            for cell in old:
                add_to_table(table, cell, width)
    return table[table >= 0]


def add_to_table(table: Cells, cell: int, width: int) -> None:
    """Write a cell into the place of a hash table where CPython's set would put it; -1 is none."""
    if cell < 0:
        return
    key, mask = _HASHES[cell // width, cell % width], len(table) - 1
    i, rest = key & mask, (key >> 5) & (1 << 59) - 1
    while True:
        last = i + 9 if i + 9 <= mask else i
        for slot in range(i, last + 1):
            if table[slot] < 0:
                table[slot] = cell
                return
        i = (5 * i + 1 + rest) & mask
        rest >>= 5


# ---- shelves -------------------------------------------------------------------------------------


def can_load(w: World, agent: int, action: int, bay: ObjectTypeIndex) -> bool:
    """Return True if the action lifts a shelf or puts one into a bay."""
    y, x = w.position.y[agent], w.position.x[agent]
    if action != PICK_N_DROP or w.agent.holding[agent] == NOTHING:
        return action == PICK_N_DROP and w.at[y, x] != NOTHING
    return w.kind.value[w.ground[y, x]] == bay


@system(TRANSITION, when=can_load)
def load(w: World, agent: int, bay: ObjectTypeIndex, two_stage: bool = False) -> None:
    """Lift the shelf above the robot, or put down the one that it carries; with `two_stage` the
    robot earns half a point when it has delivered this one."""
    y, x = w.position.y[agent], w.position.x[agent]
    shelf, held = w.at[y, x], w.agent.holding[agent]
    if held == NOTHING:
        w.lift(shelf)
        w.agent.holding[agent] = shelf
    else:
        w.place(held, y, x)
        w.agent.holding[agent] = NOTHING
        if two_stage and w.robot.has_delivered[agent]:
            w.robot.earned[agent] += 0.5
        w.robot.has_delivered[agent] = False


@system(TRANSITION)
def deliver(
    w: World,
    shelf: ObjectTypeIndex,
    dock: ObjectTypeIndex,
    shared: bool = False,
    two_stage: bool = False,
) -> None:
    """Accept wanted shelves at the dock, want another shelf for each, and pay the robot: a point,
    or half a point with `two_stage`. With `shared`, all robots are paid."""
    w.office.idle[w.world] += 1
    for place in w.of_type(dock):
        robot = w.agent_at(w.position.y[place], w.position.x[place])
        held = w.agent.holding[robot]
        if robot != NOTHING and held != NOTHING and w.state_of(held) == WANTED:
            want_another(w, shelf)
            w.set_state(held, STORED)
            w.robot.has_delivered[robot] = True
            w.office.delivered[w.world] += 1
            w.office.idle[w.world] = 0
            for agent in w.agents():
                if shared or agent == robot:
                    w.robot.earned[agent] += 0.5 if two_stage else 1.0
    show_loads(w)


def want_another(w: World, shelf: ObjectTypeIndex) -> None:
    """Sample a shelf that is not wanted yet, and want it."""
    others = np.zeros(w.capacity, np.int64)
    count = 0
    for e in range(1, w.capacity):
        if w.kind.value[e] == shelf and w.state_of(e) == STORED:
            others[count] = e
            count += 1
    w.set_state(others[w.rng.choice(count)], WANTED)


@system(REWARD)
def earn(w: World, agent: int) -> float:
    """Pays what the robot has earned in this step."""
    return w.robot.earned[agent]


@system(TERMINATING)
def is_idle(w: World, agent: int, limit: int = 0) -> bool:
    """`limit` steps have passed without a delivery; never with 0."""
    return 0 < limit <= w.office.idle[w.world]


@system(TERMINATING)
def meets_quota(w: World, agent: int, quota: int = 0) -> bool:
    """`quota` shelves have been delivered; never with 0."""
    return 0 < quota <= w.office.delivered[w.world]
