"""Paths for many agents among random obstacles, with the rules of POGEMA 1.4.

All agents act at once, by a rule of `systems.together` that says who gives way. They reach their
targets one by one, all at the same time, or one target after the other. Levels are random, or
instances from files.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from components.objects import WALL
from gv_engine import (
    NOTHING,
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    Bounds,
    Coordinate,
    EntityId,
    FilePath,
    Int8,
    Int32,
    ObjectTypeIndex,
    World,
    component,
    system,
)
from gv_engine.rules.world import View
from systems.building import cell_of, floor_cells, put
from systems.queries import is_free, neighbours

# the folder has no absolute name
from .instances import MAY_END, MAY_START, OBSTACLE, Instances, read_instances  # noqa: TID252
from .numpy_seeding import seed_generator  # noqa: TID252

Table = NDArray[np.int64]

_TRIES = 100
"""Levels that are drawn until one has room for all agents and targets."""
_MAX_SIDE = 64
"""Largest height and width of a map."""
_SEEDS = 2**31 - 1
"""Number of seeds that the generator of an agent may have."""


@component
class Walker:
    """Agent: its target, the cell of the target, and how far down and to the right that is; whether
    it has arrived in this step; the seed of its generator of targets, and how many numbers this has
    drawn."""

    target: EntityId = NOTHING
    target_y: Coordinate = -1
    target_x: Coordinate = -1
    down: Annotated[Int8, Bounds(-63, 63)] = 0
    right: Annotated[Int8, Bounds(-63, 63)] = 0
    arrived: bool = False
    seed: int = 0
    draws: int = 0


@component
class Run:
    """Agent: index of its instance and of its goal; the steps until it came to its target and
    stayed, and whether it is there."""

    instance: Int32 = 0
    goal: Int32 = 0
    cost: Int32 = 0
    is_there: bool = False


# ---- levels ------------------------------------------------------------------------------------


def find_problem(shape: Sequence[int], agents: int) -> str:
    """Return what is wrong with the numbers of a level; an empty text if nothing is."""
    cells = shape[0] * shape[1]
    if 2 * agents <= cells:
        return ""
    return f"found {agents} agents: with their targets they need {2 * agents} cells of {cells}"


@system(RESET, check=find_problem)
def make_level(
    w: World,
    target: ObjectTypeIndex,
    shape: Sequence[int],
    density: float = 0.3,
    lifelong: bool = False,
) -> None:
    """Make a level: obstacles, each cell with a probability of `density`, then agents and targets.
    A level without room for all is drawn again. With `lifelong` each agent gets a generator of
    targets.

    As in POGEMA, obstacles, places and seeds are drawn from the same random numbers.
    """
    w.set_shape(shape[0], shape[1])
    state = w.rng_state()
    is_complete, tries = False, 0
    while not is_complete and tries < _TRIES:
        for wall in w.of_type(WALL):
            w.remove(wall)
        state = w.rng_state()
        scatter_obstacles(w, density)
        w.set_rng_state(state)
        is_complete = place_agents(w)
        tries += 1
    if not is_complete:
        w.fail("no level of 100 had room for all agents: reduce density or agents")
    if lifelong:
        w.set_rng_state(state)
    make_targets(w, target, lifelong)


def make_targets(w: World, target: int, lifelong: bool) -> None:
    """Create the targets, whose cells are chosen. With `lifelong` each agent gets the seed of a
    generator of more targets."""
    for agent in w.agents():
        thing = w.spawn(target)
        w.color.value[thing] = w.color.value[agent]
        w.walker.target[agent] = thing
        if lifelong:
            w.walker.seed[agent] = w.rng.integers(0, _SEEDS)
        update(w, agent)
    show_targets(w)


def scatter_obstacles(w: World, density: float) -> None:
    """Place obstacles; one random number for each cell decides, as in NumPy's `binomial`."""
    for y in range(w.height):
        for x in range(w.width):
            number = w.rng.random()
            if number > 1 - density if density <= 0.5 else number <= density:
                put(w, WALL, y, x)


def place_agents(w: World) -> bool:
    """Place the agents in random cells, choose a target that each can walk to, and return whether
    there was room for all.

    A cell, in random order, is the target of an agent before that waits for one. Otherwise it is
    the place of the next agent, if another cell for a target is left in its region.
    """
    regions = number_regions(w)
    cells = floor_cells(w)
    w.rng.shuffle(cells)
    left = np.zeros(len(regions) + 1, np.int64)
    waiting = np.zeros(len(regions) + 1, np.int64)
    for cell in cells:
        left[regions[cell]] += 1
    placed = 0
    for cell in cells:
        y, x = cell_of(w, cell)
        region = regions[cell]
        agent = waiting[region]
        if agent != NOTHING:
            w.walker.target_y[agent], w.walker.target_x[agent] = y, x
            waiting[region] = NOTHING
        elif placed < len(w.agents()) and left[region] >= 2:
            left[region] -= 2
            placed += 1
            w.stand(placed, y, x)
            waiting[region] = placed
    return placed == len(w.agents())


def number_regions(w: World) -> NDArray[np.int64]:
    """Return for each cell, row by row, the number of its region, in which all cells can be reached
    from each other; 0 for obstacles."""
    regions = np.zeros(w.height * w.width, np.int64)
    reached = np.zeros(w.height * w.width, np.int64)
    count = 0
    for first in floor_cells(w):
        if regions[first] == 0:
            count += 1
            regions[first] = count
            reached[0] = first
            left = 1
            while left > 0:
                left -= 1
                y, x = cell_of(w, reached[left])
                for near_y, near_x in neighbours(y, x):
                    cell = near_y * w.width + near_x
                    if is_free(w, near_y, near_x) and regions[cell] == 0:
                        regions[cell] = count
                        reached[left] = cell
                        left += 1
    return regions


def reachable_cells(w: World, cell: int) -> NDArray[np.int64]:
    """Return the cells that can be reached from a cell, row by row; cells are numbers y * width +
    x."""
    y, x = cell_of(w, cell)
    steps = w.steps_from(y, x)
    cells = np.zeros(w.height * w.width, np.int64)
    count = 0
    for other in range(len(cells)):
        y, x = cell_of(w, other)
        if steps[y, x] >= 0:
            cells[count] = other
            count += 1
    return cells[:count]


# ---- instances ---------------------------------------------------------------------------------


def read_array(name: str) -> Callable[[str], NDArray[np.int64]]:
    """Return a function that reads an array of `Instances` from the file `instances`."""

    def read(instances: str) -> NDArray[np.int64]:
        array: NDArray[np.int64] = getattr(read_instances(instances), name)
        return array

    return read


ARRAYS = {name: read_array(name) for name in Instances._fields}


def find_misfit(number: int, lifelong: bool, cells: Table, starts: Table, agents: int) -> str:
    """Return why the agents cannot play all instances; an empty text if they can."""
    if not 0 <= number <= len(starts):
        return f"found number {number}, allowed are 1 to {len(starts)}, and 0 for any"
    if max(cells.shape[1:]) > _MAX_SIDE:
        size = f"{cells.shape[1]}x{cells.shape[2]}"
        return (
            f"found a map of {size} cells, at most {_MAX_SIDE} a side: agents observe how far "
            f"their targets are, up to {_MAX_SIDE - 1} cells; cut the map into pieces"
        )
    for k in [number - 1] if number else range(len(starts)):
        num_starts = int((starts[k, :, 0] >= 0).sum())
        if 0 < num_starts < agents:
            return f"found {agents} agents, instance {k + 1} has starts for {num_starts}"
        marks = [int((cells[k] & mark > 0).sum()) for mark in (MAY_START, MAY_END)]
        if any(marks) and min(marks) < agents:
            return f"found {agents} agents, instance {k + 1} has marks for {min(marks)}"
        num_free = int((cells[k] & OBSTACLE == 0).sum())
        if not any(marks) and not num_starts and 2 * agents > num_free:
            return f"found {agents} agents, instance {k + 1} has {num_free} free cells for all"
        if lifelong and num_starts and starts[k, :agents, 3].min() < 2:
            return f"instance {k + 1} has an agent with one goal; `restart` needs two or more"
    return ""


@system(RESET, check=find_misfit, tables=ARRAYS)
def start_instance(
    w: World,
    target: ObjectTypeIndex,
    instances: FilePath,
    shapes: Table,
    cells: Table,
    starts: Table,
    goals: Table,
    seeds: Table,
    number: int = 0,
    lifelong: bool = False,
) -> None:
    """Build an instance from a file: its number, or a random one for 0. Agents stand at its starts
    or, where a map has none, in random cells, as in POGEMA."""
    chosen = number - 1 if number > 0 else w.rng.choice(len(starts))
    w.set_shape(int(shapes[chosen, 0]), int(shapes[chosen, 1]))
    for y in range(w.height):
        for x in range(w.width):
            if cells[chosen, y, x] & OBSTACLE:
                put(w, WALL, y, x)
    episode_state = w.rng_state()
    if seeds[chosen] >= 0:
        seed_generator(w, int(seeds[chosen]))
    state = w.rng_state()
    if starts[chosen, 0, 0] >= 0:
        for agent in w.agents():
            w.stand(agent, int(starts[chosen, agent - 1, 0]), int(starts[chosen, agent - 1, 1]))
            set_goal(w, agent, goals[starts[chosen, agent - 1, 2]])
    elif has_marks(cells[chosen]):
        places, ends = (
            marked_cells(w, cells[chosen], MAY_START),
            marked_cells(w, cells[chosen], MAY_END),
        )
        w.rng.shuffle(places)
        w.rng.shuffle(ends)
        for agent in w.agents():
            y, x = cell_of(w, places[agent - 1])
            w.stand(agent, y, x)
            w.walker.target_y[agent], w.walker.target_x[agent] = cell_of(w, ends[agent - 1])
    elif not place_agents(w):
        w.fail("an instance has no room for all agents: reduce agents")
    w.set_rng_state(state)
    make_targets(w, target, lifelong)
    if seeds[chosen] >= 0:
        w.set_rng_state(episode_state)
    for agent in w.agents():
        w.run.instance[agent] = chosen


def set_goal(w: World, agent: int, cell: Table) -> None:
    """Set the target of an agent to a cell, row and column."""
    w.walker.target_y[agent], w.walker.target_x[agent] = int(cell[0]), int(cell[1])


def has_marks(cells: Table) -> bool:
    """Return True if a map says where agents may start."""
    for y in range(cells.shape[0]):
        for x in range(cells.shape[1]):
            if cells[y, x] & (MAY_START | MAY_END):
                return True
    return False


def marked_cells(w: World, cells: Table, mark: int) -> NDArray[np.int64]:
    """Return the cells with a mark as numbers y * width + x, row by row."""
    marked = np.zeros(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if cells[y, x] & mark:
                marked[count] = y * w.width + x
                count += 1
    return marked[:count]


# ---- targets -----------------------------------------------------------------------------------


def choose_target(w: World, agent: int, cells: NDArray[np.int64]) -> None:
    """Draw the next target of an agent with its own generator: any of `cells`, numbers y * width +
    x, except its own."""
    own = w.position.y[agent] * w.width + w.position.x[agent]
    state = w.rng_state()
    seed_generator(w, w.walker.seed[agent])
    for _ in range(w.walker.draws[agent]):
        w.rng.integers(0, len(cells))
    cell = own
    while cell == own:
        cell = cells[w.rng.integers(0, len(cells))]
        w.walker.draws[agent] += 1
    w.set_rng_state(state)
    w.walker.target_y[agent], w.walker.target_x[agent] = cell_of(w, cell)


def show_targets(w: World) -> None:
    """Place all targets in their cells; of several in one cell only the first agent's is placed."""
    for agent in w.agents():
        w.lift(w.walker.target[agent])
    for agent in w.agents():
        y, x = w.walker.target_y[agent], w.walker.target_x[agent]
        if w.at[y, x] == NOTHING:
            w.place(w.walker.target[agent], y, x)


def update(w: World, agent: int) -> None:
    """Note how far the target of an agent is that has not left."""
    if w.position.y[agent] >= 0:
        w.walker.down[agent] = w.walker.target_y[agent] - w.position.y[agent]
        w.walker.right[agent] = w.walker.target_x[agent] - w.position.x[agent]


# ---- a step ------------------------------------------------------------------------------------


@system(TRANSITION)
def arrive(w: World, together: bool = False, lifelong: bool = False) -> None:
    """Note who has arrived: agents at their targets or, with `together`, all agents once all are
    there. With `lifelong` they get their next targets. Without either their targets are taken
    away."""
    all_there = True
    for agent in w.agents():
        y, x = w.position.y[agent], w.position.x[agent]
        is_there = y == w.walker.target_y[agent] and x == w.walker.target_x[agent]
        w.walker.arrived[agent] = is_there
        all_there = all_there and is_there
    is_changed = False
    for agent in w.agents():
        if together:
            w.walker.arrived[agent] = all_there
        elif w.walker.arrived[agent] and lifelong:
            own = w.position.y[agent] * w.width + w.position.x[agent]
            choose_target(w, agent, reachable_cells(w, own))
            is_changed = True
        update(w, agent)
        if w.walker.arrived[agent] and not (together or lifelong):
            w.lift(w.walker.target[agent])
    if is_changed:
        show_targets(w)


@system(TRANSITION, tables={name: ARRAYS[name] for name in ("cells", "starts", "goals")})
def follow_goals(w: World, instances: FilePath, cells: Table, starts: Table, goals: Table) -> None:
    """Note who has arrived. These agents get the next goal of their instance, after the last one
    the first. Where it has none, they draw a target."""
    is_changed = False
    for agent in w.agents():
        y, x = w.position.y[agent], w.position.x[agent]
        is_there = y == w.walker.target_y[agent] and x == w.walker.target_x[agent]
        w.walker.arrived[agent] = is_there
        if is_there:
            is_changed = True
            chosen = w.run.instance[agent]
            if starts[chosen, 0, 0] >= 0:
                first, number = starts[chosen, agent - 1, 2], starts[chosen, agent - 1, 3]
                w.run.goal[agent] = (w.run.goal[agent] + 1) % number
                set_goal(w, agent, goals[first + w.run.goal[agent]])
            elif has_marks(cells[chosen]):
                choose_target(w, agent, marked_cells(w, cells[chosen], MAY_END))
            else:
                choose_target(w, agent, reachable_cells(w, y * w.width + x))
        update(w, agent)
    if is_changed:
        show_targets(w)


@system(TRANSITION)
def show_waypoints(w: World, ahead: int) -> None:
    """Let `down` and `right` of each agent lead to the cell that is `ahead` steps away on a
    shortest path to its target. For 0 they lead to the target, as `update` has set them."""
    if ahead > 0:
        for agent in w.agents():
            if w.position.y[agent] >= 0:
                set_waypoint(w, agent, ahead)


def set_waypoint(w: World, agent: int, ahead: int) -> None:
    """Let `down` and `right` lead to the cell that is `ahead` steps away on a shortest path, or to
    the target if that is nearer."""
    y, x = w.position.y[agent], w.position.x[agent]
    steps = w.steps_from(w.walker.target_y[agent], w.walker.target_x[agent])
    for _ in range(ahead):
        remaining = steps[y, x]
        if remaining <= 0:  # there, or walled off
            break
        if y > 0 and steps[y - 1, x] == remaining - 1:
            y -= 1
        elif y + 1 < w.height and steps[y + 1, x] == remaining - 1:
            y += 1
        elif x > 0 and steps[y, x - 1] == remaining - 1:
            x -= 1
        else:  # one of the four is nearer
            x += 1
    w.walker.down[agent] = y - w.position.y[agent]
    w.walker.right[agent] = x - w.position.x[agent]


@system(TRANSITION)
def count_cost(w: World, steps: int) -> None:
    """Note who is at its target, and the step in which it came there to stay. As in POGEMA, who
    leaves in the last of `steps` has stayed."""
    for agent in w.agents():
        y, x = w.position.y[agent], w.position.x[agent]
        if y >= 0:
            is_there = y == w.walker.target_y[agent] and x == w.walker.target_x[agent]
            is_last = w.steps + 1 == steps
            if not w.run.is_there[agent] or not (is_there or is_last):
                w.run.cost[agent] = w.steps + 1
            w.run.is_there[agent] = is_there


def is_at_target(w: World, agent: int) -> float:
    """Return 1 if the agent is at its target, else 0."""
    return 1.0 if w.run.is_there[agent] else 0.0


@system(REWARD, remember=is_at_target)
def individual_success(w: World, agent: int, was: float) -> float:
    """Changes of being at the target, as a share of all agents: the sum over an episode is the
    individual success rate."""
    return (is_at_target(w, agent) - was) / len(w.agents())


def get_cost(w: World, agent: int) -> float:
    """Return the steps until the agent came to its target and stayed, or the steps so far."""
    return float(w.run.cost[agent])


@system(REWARD, remember=get_cost)
def sum_of_costs(w: World, agent: int, was: float) -> float:
    """Changes of the agent's cost: the sum over an episode is the sum of costs."""
    return get_cost(w, agent) - was


@system(REWARD)
def throughput(w: World, agent: int, steps: int) -> float:
    """The share of `steps` for each target reached: the sum over an episode is the throughput."""
    return 1 / steps if w.walker.arrived[agent] else 0.0


@system(REWARD)
def reach_target(w: World, agent: int) -> float:
    """Pays 1 to an agent that arrives."""
    return 1.0 if w.walker.arrived[agent] else 0.0


@system(TERMINATING)
def has_arrived(w: World, agent: int, lifelong: bool = False) -> bool:
    """The agent has arrived; never true with `lifelong`."""
    return w.walker.arrived[agent] and not lifelong


@system(TERMINATING)
def has_been_paid(w: World, agent: int) -> bool:
    """The agent has reached a target."""
    return w.total[agent] + w.reward[agent] > 0


@system(OBSERVATION)
def own_target(w: World, agent: int, view: View, out: tuple, target: ObjectTypeIndex) -> None:
    """Show the whole view, but of the targets only the agent's own."""
    grid, _ = out
    for other in w.agents():
        i, j = cell_in_view(w, agent, view, w.walker.target_y[other], w.walker.target_x[other])
        if i >= 0 and grid[i, j, 0] == target:
            grid[i, j] = (FLOOR, 0, 0)
    i, j = cell_in_view(w, agent, view, w.walker.target_y[agent], w.walker.target_x[agent])
    if i >= 0 and grid[i, j, 0] == FLOOR:
        grid[i, j, 0], grid[i, j, 2] = target, w.color.value[agent]


def cell_in_view(w: World, agent: int, view: View, y: int, x: int) -> tuple[int, int]:
    """Return row and column in an agent's view of a cell (y, x) of the grid; (-1, -1) if the cell
    is outside the view."""
    i, j = view.y + y - w.position.y[agent], view.x + x - w.position.x[agent]
    return (i, j) if 0 <= i < view.height and 0 <= j < view.width else (-1, -1)
