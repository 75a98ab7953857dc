"""Path search of the bot for BabyAI's instructions.

A pose is a cell and a direction, numbered `4 * cell + direction`. Turning left or right and going
forward cost a step each; opening a door, moving an object out of the way and fetching a key cost
more. Functions run interpreted and compiled.
"""

from typing import Any

import numpy as np

from components.core import FLOOR, NONE_GRID_OBJECT
from components.items import LOCKED, OPEN
from components.objects import DOOR, KEY, WALL
from gv_engine.plugins.minigrid.systems.bot_memory import (
    DOWN,
    MOVE_FORWARD,
    NOWHERE,
    PLAN_LENGTH,
    RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
    UNSEEN,
    Memory,
    is_free,
    is_object,
    wrap,
)
from gv_engine.plugins.minigrid.systems.sight import flood_row

_NUM_LISTS = 64
"""Buckets of the priority queue in `search`; every move must cost less than this."""
NEVER = 1 << 30
CLEARING_COST, CARRYING_COST, FETCHING_COST = 8, 6, 20
"""Estimated steps to move an object out of the way, extra steps if another object is in hand, and
steps to fetch a key."""


BASE_COST, MOST_NEW = 1, 15
"""Exploring takes the pose with the least `score_pose`."""


Scratch = Any
"""Arrays of a search, which all worlds share: a record of `scratch_dtype` in compiled code, else an
object with the same attributes."""


def scratch_dtype(side: int) -> np.dtype[Any]:
    """Return the dtype of the arrays for searches in a map of `side` × `side`
    cells.

    Fields:
        neighbours: neighbour of each cell in each direction.
        entry: estimated steps to enter each cell from the next cell; 0 if that is impossible.
        cost, parent: least cost to each pose, and the pose before it.
        new: unseen cells that the agent would see at each pose.
        first: first node of the list of poses with each cost.
        pose, next: pose of each node, and the next node of its list.
        aims: 1 for target cells, one of which the agent should face.
        path: 1 for cells of the last paths.
        things: number of cells with objects, followed by these cells.
        queue: space for other lists of cells.
        found: results and options, indexed by `FIRST_POSE` to `BLOCKER`.
        view_shape: rows and columns of an observation.
        plan: actions of the last path, up to the first cell that is not free.
    """
    cells = side * side
    return np.dtype(
        [
            ("neighbours", np.int64, (4, cells)),
            *((name, np.int64, (4 * cells,)) for name in ("cost", "parent", "new")),
            # each pose is reached from four others at most
            *((name, np.int64, (16 * cells,)) for name in ("pose", "next")),
            *((name, np.int64, (cells + 1,)) for name in ("entry", "things", "queue")),
            *((name, np.uint8, (cells,)) for name in ("aims", "path")),
            ("first", np.int64, (_NUM_LISTS,)),
            ("found", np.int64, (9,)),
            ("view_shape", np.int64, (2,)),
            ("plan", np.int64, (PLAN_LENGTH,)),
        ]
    )


FIRST_POSE, OBSTACLE, COST, LENGTH, WALLS, SEEKS_DOOR, CLAUSE_COST, DROP_CELL, BLOCKER = range(9)
"""Indices of `Scratch.found`: the pose after the start of a path, the first obstacle on it, its
cost, the number of actions in `Scratch.plan`; 1 if exploring should count unseen walls, 1 if the
instruction is about a door; the cost of a clause; the cell where the object in hand is to be
dropped, and the cell of an obstacle to be moved."""


def list_objects(s: Scratch) -> Any:
    """Return the cells with doors and portable objects."""
    return s.things[1 : s.things[0] + 1]


def cell_ahead(s: Scratch, pose: int) -> int:
    """Return the cell that the agent faces in a pose, 4 * cell + direction."""
    return int(s.neighbours[pose % 4, pose // 4])


# ---- costs ---------------------------------------------------------------------------------------


def holds_key(m: Memory, door: int) -> bool:
    """Return True if the key of a locked door is in hand."""
    return bool(m.held_kind == KEY and m.held_color == m.color[door])


def entry_cost(m: Memory, cell: int, keys: int) -> int:
    """Return the estimated number of steps to enter a cell from a neighbour; 0 if it cannot be
    entered. Bit k of `keys` is 1 if a key of colour k has been seen."""
    kind, state = m.kind[cell], m.state[cell]
    if kind == FLOOR:
        return 1
    if kind in (UNSEEN, WALL):
        return 0
    if kind == DOOR:
        if state != LOCKED or holds_key(m, cell):
            return 1 if state == OPEN else 2
        return FETCHING_COST if keys >> m.color[cell] & 1 else 0
    return 1 + CLEARING_COST + (CARRYING_COST if m.held_kind > NONE_GRID_OBJECT else 0)


def estimate_entries(m: Memory, s: Scratch) -> None:
    """Write the cost of entering each cell into `s.entry`, and list the cells with doors and
    portable objects in `s.things`."""
    count, keys = 0, 0
    for cell in range(m.size * m.size):
        kind = m.kind[cell]
        s.entry[cell] = kind == FLOOR
        if is_object(kind):
            count += 1
            s.things[count] = cell
            if kind == KEY:
                keys |= 1 << m.color[cell]
    s.things[0] = count
    for cell in list_objects(s):
        s.entry[cell] = entry_cost(m, cell, keys)
    blocker = m.blocker - 1
    if blocker >= 0 and s.entry[blocker] > CLEARING_COST:
        s.entry[blocker] -= CLEARING_COST // 2  # prefer it to other obstacles


def is_obstacle(m: Memory, cell: int) -> bool:
    """Return True if a cell has an object that must be moved, or a locked door."""
    kind = m.kind[cell]
    return is_object(kind) and (kind != DOOR or bool(m.state[cell] == LOCKED))


# ---- search --------------------------------------------------------------------------------------


def score_pose(cost: int, new: int) -> int:
    """Return the score of a pose for exploring, in hundredths: its cost per unseen cell. `new` is
    the number of unseen cells that the agent would see there."""
    return 100 * (cost + BASE_COST) // min(new, MOST_NEW)


def rate_view(m: Memory, s: Scratch, pose: int, path_cost: int) -> int:
    """Return the exploration score of a pose (4 * cell + direction) that costs `path_cost` steps to
    reach; NEVER if nothing new would be seen there. The number of unseen cells in view goes to
    `s.new`."""
    ahead = cell_ahead(s, pose)
    opens = m.kind[ahead] == DOOR and m.state[ahead] != OPEN
    extra_cost = s.entry[ahead] - 1 if opens else 0
    is_possible = extra_cost >= 0  # doors that cannot be opened have no cost
    s.new[pose] = count_new(m, s, pose, opens) if is_possible else 0
    return score_pose(path_cost + extra_cost, s.new[pose]) if s.new[pose] > 0 else NEVER


def search(m: Memory, s: Scratch, start: int, explores: bool) -> int:
    """Find the cheapest pose (4 * cell + direction) reachable from `start` that faces a target cell
    of `s.aims`. Return it, and write its cost into `s.found[COST]`; NOWHERE if there is none. If
    `explores`, find the pose with the least cost per unseen cell in view.

    This is Dijkstra's algorithm with a bucket queue: a linked list of poses for each cost modulo
    `_NUM_LISTS`. Every single move costs less than `_NUM_LISTS`.
    """
    neighbours, entry_costs, costs, parents = s.neighbours, s.entry, s.cost, s.parent
    first_nodes, node_poses, next_nodes = s.first, s.pose, s.next
    best, best_score = NOWHERE, NEVER
    costs[: 4 * m.size * m.size] = NEVER
    first_nodes[:] = NOWHERE
    costs[start], parents[start] = 0, NOWHERE
    first_nodes[0], node_poses[0], next_nodes[0] = 0, start, NOWHERE
    num_nodes, num_visited, cost = 1, 0, 0
    # exploring ends where no later pose can have a better score
    while num_visited < num_nodes and (not explores or score_pose(cost, MOST_NEW) < best_score):
        node = first_nodes[cost % _NUM_LISTS]
        first_nodes[cost % _NUM_LISTS] = NOWHERE
        while node != NOWHERE:
            pose = node_poses[node]
            node = next_nodes[node]
            num_visited += 1
            if costs[pose] != cost:  # a cheaper way has been found since
                continue
            cell, facing = pose // 4, pose % 4
            ahead = neighbours[facing, cell]
            if explores:
                score = rate_view(m, s, pose, cost)
                if score < best_score:
                    best, best_score = pose, score
            elif s.aims[ahead]:
                s.found[COST] = cost
                return int(pose)
            for way in range(3):  # turn right, turn left, move forward
                next_pose, next_cost = 4 * cell + (facing + 1 + 2 * way) % 4, cost + 1
                if way == 2:
                    if entry_costs[ahead] == 0:
                        break
                    next_pose, next_cost = 4 * ahead + facing, cost + entry_costs[ahead]
                parent = parents[next_pose]
                if next_cost < costs[next_pose]:
                    costs[next_pose], parents[next_pose] = next_cost, pose
                    bucket = next_cost % _NUM_LISTS
                    node_poses[num_nodes], next_nodes[num_nodes] = next_pose, first_nodes[bucket]
                    first_nodes[bucket] = num_nodes
                    num_nodes += 1
                elif explores and next_cost == costs[next_pose] and s.new[pose] > s.new[parent]:
                    parents[next_pose] = pose  # it sees more on the way
        cost += 1
    return best


def mark_path(m: Memory, s: Scratch, goal: int) -> None:
    """Mark the path to the pose `goal` in `s.path`. Write its first pose and first obstacle into
    `s.found`, and its actions up to the first obstacle into `s.plan`."""
    length, pose = 0, goal
    while s.parent[pose] != NOWHERE:
        length += 1
        pose = s.parent[pose]
    s.path[pose // 4] = 1
    s.found[FIRST_POSE], s.found[OBSTACLE] = NOWHERE, NOWHERE
    s.found[LENGTH] = min(length, PLAN_LENGTH)
    pose = goal
    for n in range(length - 1, -1, -1):
        previous_pose, cell = s.parent[pose], pose // 4
        s.path[cell] = 1
        action = MOVE_FORWARD
        if previous_pose // 4 == cell:
            action = TURN_RIGHT if pose % 4 == (previous_pose + 1) % 4 else TURN_LEFT
        else:
            if is_obstacle(m, cell):
                s.found[OBSTACLE] = cell
            if n < PLAN_LENGTH and not is_free(m, cell):
                s.found[LENGTH] = n
        if n < PLAN_LENGTH:
            s.plan[n] = action
        s.found[FIRST_POSE] = pose
        pose = previous_pose


# ---- exploring -----------------------------------------------------------------------------------


def select_bits(bits: int, first: int, width: int, size: int) -> int:
    """Return `width` bits of a bit mask, starting at bit `first`. The mask has `size` bits and is
    circular: bit 0 follows the last one."""
    part = bits >> first
    if first + width > size:
        part |= bits << (size - first)
    return part & ((1 << width) - 1)


def count_new(m: Memory, s: Scratch, pose: int, opens: bool) -> int:
    """Return how many unseen cells the agent would see in a pose, assuming that walls continue
    straight and other unseen cells are transparent. If `opens`, the door ahead counts as open.
    Expected walls count only if `s.found[WALLS]` is set."""
    cell, facing, size, width = pose // 4, pose % 4, m.size, s.view_shape[1]
    # lines of the map across the agent's direction; sight is the same to both sides
    axis, step = facing % 2, 1 if facing in (RIGHT, DOWN) else -1
    unseen, opaque = m.unseen[axis], m.opaque[axis]
    line, first = cell // size, cell % size
    if axis:
        line, first = first, line
    first = wrap(first - width // 2, size)
    full, middle = (1 << width) - 1, 1 << width // 2
    lit, before, count = middle, 0, 0
    side_walls = 0 if m.kind[cell] == DOOR else full  # beside the agent; none in a door
    for ahead in range(s.view_shape[0]):
        hidden = select_bits(unseen[line], first, width, size)
        closed = select_bits(opaque[line], first, width, size)
        walls = 0
        if ahead > 0:
            walls = hidden if before & closed else hidden & side_walls
        closed |= walls
        side_walls &= closed
        clear = ~closed & full
        if ahead == 1 and opens:
            clear |= middle
        through = flood_row(lit, clear, width)
        beyond = (through | through << 1 | through >> 1) & full
        newly_seen = hidden & (lit | beyond)
        if not s.found[WALLS]:
            newly_seen &= ~walls
        while newly_seen:
            newly_seen &= newly_seen - 1  # clears the lowest bit
            count += 1
        if beyond == 0:
            break
        lit, before = beyond, through & ~hidden
        line = wrap(line + step, size)
    return count
