"""Bot for BabyAI's instructions: chooses actions from what it has seen in an episode.

In each step it notes what it sees (`systems.minigrid.bot_memory`), takes the clause that costs
least, and searches for a way (`systems.minigrid.bot_search`). A way that is blocked, or locked,
gives a task that comes first; without a way it explores. Functions run interpreted and compiled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, NONE_GRID_OBJECT
from components.items import LOCKED, OPEN
from components.minigrid import PARCEL
from components.objects import DOOR, KEY
from systems.minigrid.bot_memory import (
    DONE,
    DROP,
    MAX_SIZE,
    MOVE_FORWARD,
    NOWHERE,
    PICK_UP,
    TOGGLE,
    TURN_LEFT,
    TURN_RIGHT,
    Memory,
    find_side,
    forget,
    holds_described,
    is_described,
    is_object,
    make_memory,
    observe,
)
from systems.minigrid.bot_search import (
    BLOCKER,
    CARRYING_COST,
    CLAUSE_COST,
    COST,
    DROP_CELL,
    FETCHING_COST,
    FIRST_PLACE,
    LENGTH,
    OBSTACLE,
    WALLS,
    Scratch,
    cell_ahead,
    estimate_entries,
    holds_key,
    is_obstacle,
    list_objects,
    make_scratch,
    search,
    trace,
)
from systems.minigrid.grammar import (
    FIELDS,
    KIND,
    ORDINALS,
    PICK_UP_OBJECT,
    PUT_NEXT,
    VERB,
    WORDINGS,
)

ACTIONS = "TURN_LEFT", "TURN_RIGHT", "MOVE_FORWARD", "PICK_UP", "DROP", "TOGGLE", "DONE"
NO_WAY = -1
"""In place of an action: there is no way."""
VERB_ACTIONS = NO_WAY, DONE, PICK_UP, TOGGLE, PICK_UP
"""For each verb of a clause, the action at its first object."""
_MOST_TASKS = 8
_MOST_IDLE, _PATIENCE = 120, 8


# ---- aims ----------------------------------------------------------------------------------------


def aim_at(s: Scratch, cell: int) -> None:
    """Aim at one cell."""
    s.aims[:] = 0
    s.aims[cell] = 1


def aim_at_described(m: Memory, s: Scratch, i: int, k: int) -> int:
    """Aim at all objects that match the first description of clause `k`, and return their number.
    Only portable ones count where the clause is about picking up."""
    count, needs_portable = 0, m.clauses[i, k, VERB] in (PICK_UP_OBJECT, PUT_NEXT)
    s.aims[:] = 0
    for cell in list_objects(s):
        if not (needs_portable and m.kind[i, cell] == DOOR) and is_described(m, i, cell, k, 0):
            s.aims[cell] = 1
            count += 1
    return count


def aim_beside_described(m: Memory, s: Scratch, i: int, k: int, but: int) -> int:
    """Aim at all floor cells beside objects of the second description of clause `k`, but for the
    object in cell `but`, and return the number of these objects. Without such floor cells, aim at
    objects there, which are to be moved."""
    count, is_free = 0, False
    s.aims[:] = 0
    for cell in list_objects(s):
        if cell != but and is_described(m, i, cell, k, 1):
            count += 1
            for way in range(4):
                beside = s.neighbours[way, cell]
                if m.kind[i, beside] == FLOOR:
                    s.aims[beside] = 1
                    is_free = True
    for thing in list_objects(s):
        if not is_free and thing != but and m.kind[i, thing] != DOOR:
            for way in range(4):
                s.aims[thing] |= is_described(m, i, s.neighbours[way, thing], k, 1)
    return count


def is_spare(m: Memory, s: Scratch, i: int, cell: int) -> bool:
    """Return True for a floor cell where a dropped object leaves the cells around connected, and
    blocks no door and no object."""
    if m.kind[i, cell] != FLOOR or s.path[cell]:
        return False
    changes = 0
    before = s.neighbours[3, s.neighbours[0, cell]]
    was_free = m.kind[i, before] == FLOOR
    for way in range(4):
        beside = s.neighbours[way, cell]
        corner = s.neighbours[(way + 1) % 4, beside]
        kind = m.kind[i, beside]
        if kind == DOOR:
            return False
        is_free, is_corner_free = kind == FLOOR, m.kind[i, corner] == FLOOR
        changes += int(is_free != was_free) + int(is_corner_free != is_free)
        was_free = is_corner_free
        if is_object(kind):
            free = 0
            for side in range(4):
                free += int(m.kind[i, s.neighbours[side, beside]] == FLOOR)
            if free < 2:
                return False
    return changes <= 2


# ---- ways ----------------------------------------------------------------------------------------


def place_of(m: Memory, i: int) -> int:
    """Return the place of the agent."""
    return int(4 * m.cell[i] + m.facing[i])


def reach(m: Memory, s: Scratch, i: int, cell: int) -> int:
    """Return the nearest place that faces a cell; NOWHERE if there is none."""
    aim_at(s, cell)
    return search(m, s, i, place_of(m, i), False)


def first_action(m: Memory, s: Scratch, i: int, action: int) -> int:
    """Return the first action of the last path, `action` if it has no steps; NO_WAY if an object in
    hand hinders."""
    if s.found[FIRST_PLACE] == NOWHERE:
        return action
    if s.found[LENGTH] > 0:
        return int(s.plan[0])
    if m.kind[i, s.found[FIRST_PLACE] // 4] == DOOR:
        return TOGGLE
    return PICK_UP if m.held_kind[i] == NONE_GRID_OBJECT else NO_WAY


def drop_ahead(m: Memory, s: Scratch, i: int, goal: int) -> int:
    """Return the next action for dropping the object in hand ahead of the place `goal`, the result
    of the last search; the next steps go on with it."""
    s.found[DROP_CELL] = cell_ahead(s, goal)
    trace(m, s, i, goal)
    return first_action(m, s, i, DROP)


def drop_held(m: Memory, s: Scratch, i: int) -> int:
    """Return the next action for dropping the object in hand near the agent and beside the last
    path."""
    for cell in list_objects(s):
        if m.kind[i, cell] != DOOR:
            s.entry[cell] = 0
    goal = NOWHERE
    for is_strict in (True, False):
        if goal == NOWHERE:
            for cell in range(len(s.aims)):
                s.aims[cell] = (
                    m.kind[i, cell] == FLOOR
                    and cell != m.cell[i]
                    and s.path[cell] == 0
                    and (not is_strict or is_spare(m, s, i, cell))
                )
            goal = search(m, s, i, place_of(m, i), False)
    estimate_entries(m, s, i)
    s.found[LENGTH] = 0
    return DROP if goal == NOWHERE else drop_ahead(m, s, i, goal)


def do_task(m: Memory, s: Scratch, i: int, action: int, goal: int) -> int:
    """Return the next action for taking `action` at the place `goal`, the result of the last
    search, with all that comes before it: objects in the way, keys, an object in hand."""
    for _ in range(_MOST_TASKS):
        if goal == NOWHERE:
            return NO_WAY
        target = cell_ahead(s, goal)
        is_locked = m.kind[i, target] == DOOR and m.state[i, target] == LOCKED
        if action == TOGGLE and is_locked and not holds_key(m, i, target):
            key_place = find_key(m, s, i, target)
            if key_place == NOWHERE:
                return NO_WAY
            aim_at(s, target)
            target = find_first(m, s, i, key_place)
        else:
            trace(m, s, i, goal)
            s.path[target] = 1
            obstacle = s.found[OBSTACLE]
            if obstacle == NOWHERE or m.kind[i, obstacle] != DOOR:
                return go_on(m, s, i, action, target)
            target = obstacle
        action = TOGGLE if m.kind[i, target] == DOOR else PICK_UP
        goal = reach(m, s, i, target)
    return NO_WAY


def go_on(m: Memory, s: Scratch, i: int, action: int, target: int) -> int:
    """Return the next action on the last path, which leads to `action` at the cell `target`; no
    locked door is in the way."""
    is_there, has_item = s.found[FIRST_PLACE] == NOWHERE, m.held_kind[i] > NONE_GRID_OBJECT
    is_blocked = s.found[OBSTACLE] != NOWHERE or m.kind[i, target] != FLOOR
    step = first_action(m, s, i, action)
    picks_up = action == PICK_UP and has_item
    if step == NO_WAY or (action == DROP and is_blocked) or (is_there and picks_up):
        return drop_held(m, s, i)
    if picks_up:
        s.found[LENGTH] = 0  # drop it as soon as that costs least
        ahead = s.neighbours[m.facing[i], m.cell[i]]
        if step in (TURN_LEFT, TURN_RIGHT) and is_spare(m, s, i, ahead):
            return DROP
    return step


def find_key(m: Memory, s: Scratch, i: int, door: int) -> int:
    """Return the nearest place that faces a key for a locked door; NOWHERE if there is none."""
    s.aims[:] = 0
    for cell in list_objects(s):
        s.aims[cell] = m.kind[i, cell] == KEY and m.color[i, cell] == m.color[i, door]
    s.entry[door], cost = 0, s.entry[door]  # a key behind the door itself is none
    place = search(m, s, i, place_of(m, i), False)
    s.entry[door] = cost
    return place


def find_first(m: Memory, s: Scratch, i: int, start: int) -> int:
    """Return the cell of what is to be moved or opened first, so that the object ahead of the place
    `start` can be carried to one of the aims: an obstacle on the way there, or the object itself.
    The path is marked."""
    item = cell_ahead(s, start)
    kind, cost = m.kind[i, item], s.entry[item]
    m.kind[i, item], s.entry[item] = FLOOR, 1
    goal = search(m, s, i, start, False)
    s.found[BLOCKER] = NOWHERE
    if goal != NOWHERE:
        trace(m, s, i, goal)
        ahead = cell_ahead(s, goal)
        s.path[ahead] = 1
        s.found[BLOCKER] = s.found[OBSTACLE]
        if s.found[OBSTACLE] == NOWHERE and m.kind[i, ahead] not in (FLOOR, DOOR):
            s.found[BLOCKER] = ahead
    m.kind[i, item], s.entry[item] = kind, cost
    return item if s.found[BLOCKER] == NOWHERE else int(s.found[BLOCKER])


# ---- clauses -------------------------------------------------------------------------------------


def follow_clause(m: Memory, s: Scratch, i: int, k: int) -> int:
    """Return the next action for clause `k`; NO_WAY if its objects are unknown or out of reach."""
    verb = m.clauses[i, k, VERB]
    action, is_held = VERB_ACTIONS[verb], holds_described(m, i, k, 0)
    if verb == PUT_NEXT and is_held:
        action, count = DROP, aim_beside_described(m, s, i, k, NOWHERE)
    else:
        count = aim_at_described(m, s, i, k)
    if count == 0:
        return drop_held(m, s, i) if is_held and verb != PUT_NEXT else NO_WAY
    goal = search(m, s, i, place_of(m, i), False)
    s.found[CLAUSE_COST] = s.found[COST]
    if action == PICK_UP and m.held_kind[i] > NONE_GRID_OBJECT:
        s.found[CLAUSE_COST] += CARRYING_COST
    if goal != NOWHERE and verb == PUT_NEXT and not is_held:
        item = cell_ahead(s, goal)
        if aim_beside_described(m, s, i, k, item) > 0:
            target = find_first(m, s, i, goal)
            s.found[CLAUSE_COST] += s.found[COST]
            action = TOGGLE if m.kind[i, target] == DOOR else PICK_UP
            return do_task(m, s, i, action, reach(m, s, i, target))
        if holds_described(m, i, k, 1):
            trace(m, s, i, goal)
            return drop_held(m, s, i)
        if needs_clearing(m, s, i):
            return NO_WAY
        s.found[CLAUSE_COST] += FETCHING_COST  # and the way to the unknown one
        goal = reach(m, s, i, item)
    return do_task(m, s, i, action, goal)


def needs_clearing(m: Memory, s: Scratch, i: int) -> bool:
    """Return True if the way to what is new leads through an obstacle."""
    goal = search(m, s, i, place_of(m, i), True)
    if goal == NOWHERE:
        return False
    trace(m, s, i, goal)
    return bool(s.found[OBSTACLE] != NOWHERE) or is_obstacle(m, i, cell_ahead(s, goal))


def explore_more(m: Memory, s: Scratch, i: int, doors: bool) -> int:
    """Return the next action for seeing more, also behind closed doors if `doors`; NO_WAY if there
    is nothing to see."""
    for cell in list_objects(s):
        if m.kind[i, cell] == DOOR and m.state[i, cell] != OPEN and not doors:
            s.entry[cell] = 0
    goal = search(m, s, i, place_of(m, i), True)
    estimate_entries(m, s, i)
    if goal == NOWHERE:
        return NO_WAY
    trace(m, s, i, goal)
    obstacle, ahead = s.found[OBSTACLE], cell_ahead(s, goal)
    if obstacle == NOWHERE or m.kind[i, obstacle] != DOOR:
        obstacle = ahead
    if m.kind[i, obstacle] == DOOR and m.state[i, obstacle] != OPEN:
        return do_task(m, s, i, TOGGLE, reach(m, s, i, obstacle))
    if goal == place_of(m, i):
        return NO_WAY
    action = first_action(m, s, i, NO_WAY)
    return drop_held(m, s, i) if action == NO_WAY else action


def open_box(m: Memory, s: Scratch, i: int) -> int:
    """Return the next action for opening a box; NO_WAY if there is none."""
    s.aims[:] = 0
    for cell in list_objects(s):
        s.aims[cell] = m.kind[i, cell] == PARCEL
    return do_task(m, s, i, TOGGLE, search(m, s, i, place_of(m, i), False))


def begin_plan(s: Scratch) -> None:
    """Begin a plan without actions."""
    s.path[:] = 0
    s.found[LENGTH] = s.found[CLAUSE_COST] = 0
    s.found[DROP_CELL] = s.found[BLOCKER] = NOWHERE


def keep_plan(m: Memory, s: Scratch, i: int) -> None:
    """Note the plan for the next steps of world `i`: actions of the last path, where to drop."""
    length = s.found[LENGTH]
    m.dropping[i] = 1 + s.found[DROP_CELL]
    m.blocker[i] = 1 + s.found[BLOCKER]
    m.plan_length[i], m.plan_index[i] = length, 1
    for n in range(length):
        m.plan[i, n] = s.plan[n]


def choose_action(m: Memory, s: Scratch, i: int) -> int:
    """Return the next action of world `i`."""
    index = m.plan_index[i]
    if not m.changed[i]:
        if index < m.plan_length[i]:
            m.plan_index[i] += 1
            return int(m.plan[i, index])
        if m.plan_length[i] == NO_WAY and m.idle[i] % _PATIENCE:
            return stroll(m, s, i)
    first, count = find_side(m, i)
    todo = ~m.done[i] & ((1 << count) - 1) << first
    if todo == 0 or (m.idle[i] > _MOST_IDLE and m.idle[i] % 40 < 10):
        m.plan_length[i] = 0
        return stroll(m, s, i)
    estimate_entries(m, s, i)
    begin_plan(s)
    target = m.dropping[i] - 1
    if target >= 0 and m.kind[i, target] == FLOOR:
        goal = reach(m, s, i, target)
        if goal != NOWHERE:
            action = drop_ahead(m, s, i, goal)
            if action != NO_WAY:
                keep_plan(m, s, i)
                return action
    best, least, seeks_door = NO_WAY, 0, False
    for k in range(first, first + count):
        if todo >> k & 1:
            begin_plan(s)
            action = follow_clause(m, s, i, k)
            cost = s.found[CLAUSE_COST]
            seeks_door |= m.clauses[i, k, KIND] == DOOR or m.clauses[i, k, 4 + KIND] == DOOR
            if action != NO_WAY and (best == NO_WAY or cost < least):
                best, least = action, cost
                keep_plan(m, s, i)
    for tries in range(3):
        if best == NO_WAY:
            begin_plan(s)
            if tries < 2:
                # doors are in walls; where one is sought, none is opened before all walls are seen
                s.found[WALLS] = seeks_door or tries > 0
                best = explore_more(m, s, i, not seeks_door or tries > 0)
            else:
                best = open_box(m, s, i)
            keep_plan(m, s, i)
    if best == NO_WAY:
        m.plan_length[i] = NO_WAY
        return stroll(m, s, i)
    return best


def stroll(m: Memory, s: Scratch, i: int) -> int:
    """Return an action of a walk without aim, which ends a deadlock."""
    ahead = s.neighbours[m.facing[i], m.cell[i]]
    number = (m.idle[i] * 7919 + m.cell[i] * 104729) // 16 % 8
    if m.kind[i, ahead] == FLOOR and number < 5:
        return DROP if number == 0 else MOVE_FORWARD
    return TURN_LEFT if number % 2 else TURN_RIGHT


def act(m: Memory, s: Scratch, grids: Any, items: Any, actions: Any) -> None:
    """Write the next action of each world into `actions`, from the observed cells and objects in
    hand."""
    for i in range(len(actions)):
        observe(m, i, grids[i], items[i], s.neighbours, s.queue)
        actions[i] = choose_action(m, s, i)
        m.action[i] = actions[i]


class Bot:
    """Bot in N worlds at once.

    Args:
        num_envs: N.
        scenario: scenario of the worlds.
        compile_bot: function that compiles `act`, or returns it as it is.

    Raises:
        ValueError: the scenario has other actions, missions or observations than BabyAI's, or
            larger levels than the bot's map.
    """

    def __init__(
        self, num_envs: int, scenario: Any, compile_bot: Callable[[Any], Callable[..., None]]
    ) -> None:
        found = tuple(action.name for action in scenario.actions)
        if found != ACTIONS:
            raise ValueError(f"found actions {', '.join(found)}, expected {', '.join(ACTIONS)}")
        if tuple(scenario.missions.texts) != WORDINGS:
            raise ValueError("found other mission texts than those of scenarios/babyai/common.yaml")
        height, width = scenario.area.shape
        if scenario.area.observer != (height - 1, width // 2) or width % 2 == 0:
            raise ValueError("the agent is not in the middle of the view's last row")
        size = max(*scenario.largest_shape, height, width)
        if size > MAX_SIZE:
            raise ValueError(f"found {size} rows or columns, and the bot's map has {MAX_SIZE}")
        names = scenario.missions.names
        self._columns = [[names.index(f"{each}{name}") for name in FIELDS] for each in ORDINALS]
        self._memory = make_memory(num_envs, size)
        self._scratch = make_scratch(size, (height, width))
        self._act = compile_bot(act)
        self._begun: list[int] = []

    def begin(self, worlds: Sequence[int]) -> None:
        """Forget what was seen in `worlds`, where episodes begin."""
        self._begun += worlds

    def act(self, observation: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Return the next action of each world, from the observations of all."""
        if self._begun:
            forget(self._memory, self._begun)
            missions = observation["mission"][self._begun]
            self._memory.clauses[self._begun] = missions[:, self._columns]
            self._memory.wording[self._begun] = missions[:, 0] - 1
            self._begun = []
        actions = np.zeros(len(self._memory.cell), np.int64)
        self._act(self._memory, self._scratch, observation["grid"], observation["item"], actions)
        return actions
