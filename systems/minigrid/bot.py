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
    GOAL,
    LENGTH,
    OBSTACLE,
    WALLS,
    Scratch,
    estimate_entries,
    holds_key,
    is_obstacle,
    make_scratch,
    search,
    trace,
)
from systems.minigrid.grammar import (
    FIELDS,
    GO_TO,
    KIND,
    OPEN_DOOR,
    ORDINALS,
    PICK_UP_OBJECT,
    PUT_NEXT,
    VERB,
    WORDINGS,
)

ACTIONS = "TURN_LEFT", "TURN_RIGHT", "MOVE_FORWARD", "PICK_UP", "DROP", "TOGGLE", "DONE"
NO_WAY = -1
"""In place of an action: there is no way."""
_MOST_TASKS = 8
_MOST_IDLE = 120


# ---- aims ----------------------------------------------------------------------------------------


def clear_aims(s: Scratch) -> None:
    """Remove all aims and paths."""
    s.aims[:] = 0
    s.path[:] = 0


def aim_at_described(m: Memory, s: Scratch, i: int, k: int, second: int) -> int:
    """Aim at all objects that match a description of clause `k`, and return their number. Only
    portable ones count where the clause is about picking up."""
    count, verb = 0, m.clauses[i, k, VERB]
    needs_portable = second == 0 and verb in (PICK_UP_OBJECT, PUT_NEXT)
    for n in range(1, s.things[0] + 1):
        cell = s.things[n]
        is_usable = not needs_portable or m.kind[i, cell] != DOOR
        if is_usable and is_described(m, i, cell, k, second, s.neighbours):
            s.aims[cell] = 1
            count += 1
    return count


def aim_beside_described(m: Memory, s: Scratch, i: int, k: int, but: int) -> int:
    """Aim at all floor cells beside objects of the second description of clause `k`, but for the
    object in cell `but`, and return the number of these objects. Without such floor cells, aim at
    objects there, which are to be moved."""
    count, is_free = 0, False
    for n in range(1, s.things[0] + 1):
        cell = s.things[n]
        if cell != but and is_described(m, i, cell, k, 1, s.neighbours):
            count += 1
            for way in range(4):
                beside = s.neighbours[way, cell]
                if m.kind[i, beside] == FLOOR:
                    s.aims[beside] = 1
                    is_free = True
    for n in range(1, s.things[0] + 1):
        thing = s.things[n]
        if not is_free and thing != but and m.kind[i, thing] != DOOR:
            for way in range(4):
                cell = s.neighbours[way, thing]
                if is_object(m.kind[i, cell]) and is_described(m, i, cell, k, 1, s.neighbours):
                    s.aims[thing] = 1
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


def first_action(m: Memory, s: Scratch, i: int) -> int:
    """Return the action that goes to the first place of the last path; NO_WAY if an object in hand
    hinders."""
    if s.found[LENGTH] > 0:
        return int(s.plan[0])
    ahead = s.found[FIRST_PLACE] // 4
    if m.kind[i, ahead] == DOOR:
        return TOGGLE
    return PICK_UP if m.held_kind[i] == NONE_GRID_OBJECT else NO_WAY


def drop_held(m: Memory, s: Scratch, i: int) -> int:
    """Return the next action for dropping the object in hand near the agent and beside the last
    path; the next steps go on with it."""
    for n in range(1, s.things[0] + 1):
        if m.kind[i, s.things[n]] != DOOR:
            s.entry[s.things[n]] = 0
    goal = NOWHERE
    for is_strict in (True, False):
        if goal != NOWHERE:
            break
        s.aims[:] = 0
        for cell in range(len(s.aims)):
            if m.kind[i, cell] == FLOOR and cell != m.cell[i]:
                s.aims[cell] = is_spare(m, s, i, cell) or (not is_strict and s.path[cell] == 0)
        goal = search(m, s, i, place_of(m, i), False)
    estimate_entries(m, s, i)
    s.found[LENGTH] = 0
    if goal == NOWHERE:
        return DROP
    s.found[DROP_CELL] = s.neighbours[goal % 4, goal // 4]
    return approach(m, s, i, goal, DROP)


def approach(m: Memory, s: Scratch, i: int, goal: int, action: int) -> int:
    """Return the first action of the path to `goal`, the result of the last search; `action` if the
    agent is there."""
    trace(m, s, i, goal)
    return action if goal == place_of(m, i) else first_action(m, s, i)


def go_on_dropping(m: Memory, s: Scratch, i: int) -> int:
    """Return the next action for dropping the object in hand where that was planned; NO_WAY if it
    is not possible."""
    target = m.dropping[i] - 1
    clear_aims(s)
    if target < 0 or m.kind[i, target] != FLOOR:
        return NO_WAY
    s.aims[target] = 1
    goal = search(m, s, i, place_of(m, i), False)
    if goal == NOWHERE:
        return NO_WAY
    s.found[DROP_CELL] = target
    return approach(m, s, i, goal, DROP)


def do_task(m: Memory, s: Scratch, i: int, action: int, target: int) -> int:
    """Return the next action for facing the cell `target` and taking `action` there, with all that
    comes before it: objects in the way, keys, an object in hand.

    Args:
        action: PICK_UP, TOGGLE, DONE; or DROP, for which the aims are set.
    """
    for _ in range(_MOST_TASKS):
        is_locked = m.kind[i, target] == DOOR and m.state[i, target] == LOCKED
        if action == TOGGLE and is_locked and not holds_key(m, i, target):
            # the way of the key comes first
            key = find_key(m, s, i, target)
            if key == NOWHERE:
                return NO_WAY
            blocker = find_obstacle(m, s, i, key, target)
            if blocker == NOWHERE:
                action, target = PICK_UP, key
            elif m.kind[i, blocker] == DOOR:
                target = blocker
            else:
                action, target = PICK_UP, blocker
            continue
        if action != DROP:
            s.aims[:] = 0
            s.aims[target] = 1
        goal = search(m, s, i, place_of(m, i), False)
        if goal == NOWHERE:
            return NO_WAY
        trace(m, s, i, goal)
        ahead = s.neighbours[goal % 4, goal // 4]
        s.path[ahead] = 1
        obstacle, has_item = s.found[OBSTACLE], m.held_kind[i] > NONE_GRID_OBJECT
        if obstacle != NOWHERE and m.kind[i, obstacle] == DOOR:
            action, target = TOGGLE, obstacle
            continue
        if action == DROP and (obstacle != NOWHERE or m.kind[i, ahead] != FLOOR):
            return drop_held(m, s, i)
        if goal == place_of(m, i):
            if action == PICK_UP and has_item:
                return drop_held(m, s, i)
            s.found[LENGTH] = 0
            return action
        step = first_action(m, s, i)
        if step == NO_WAY:
            return drop_held(m, s, i)
        if has_item and action == PICK_UP:
            s.found[LENGTH] = 0  # drop it as soon as that costs least
            ahead = s.neighbours[m.facing[i], m.cell[i]]
            if step in (TURN_LEFT, TURN_RIGHT) and is_spare(m, s, i, ahead):
                return DROP
        return step
    return NO_WAY


def find_key(m: Memory, s: Scratch, i: int, door: int) -> int:
    """Return the cell of the nearest key for a locked door; NOWHERE if none can be reached."""
    s.aims[:] = 0
    for n in range(1, s.things[0] + 1):
        cell = s.things[n]
        if m.kind[i, cell] == KEY and m.color[i, cell] == m.color[i, door]:
            s.aims[cell] = 1
    s.entry[door], cost = 0, s.entry[door]  # a key behind the door itself is none
    place = search(m, s, i, place_of(m, i), False)
    s.entry[door] = cost
    return NOWHERE if place == NOWHERE else s.neighbours[place % 4, place // 4]


def find_obstacle(m: Memory, s: Scratch, i: int, item: int, target: int) -> int:
    """Return the first obstacle on the way of an object that is to be carried from the place of the
    last search, which faces its cell `item`, to a place that faces `target`, or one of the aims if
    that is NOWHERE. Return NOWHERE if there is none, and the object's own cell if there is no way.
    The path is marked."""
    start = s.found[GOAL]
    if target != NOWHERE:
        s.aims[:] = 0
        s.aims[target] = 1
    kind, cost = m.kind[i, item], s.entry[item]
    m.kind[i, item], s.entry[item] = FLOOR, 1
    goal = search(m, s, i, start, False)
    if goal != NOWHERE:
        trace(m, s, i, goal)
        ahead = s.neighbours[goal % 4, goal // 4]
        s.path[ahead] = 1
        if s.found[OBSTACLE] == NOWHERE and target == NOWHERE and m.kind[i, ahead] != FLOOR:
            s.found[OBSTACLE] = ahead
    m.kind[i, item], s.entry[item] = kind, cost
    s.found[BLOCKER] = NOWHERE if goal == NOWHERE else s.found[OBSTACLE]
    return int(s.found[BLOCKER])


# ---- clauses -------------------------------------------------------------------------------------


def put_next(m: Memory, s: Scratch, i: int, k: int) -> int:
    """Return the next action for clause `k`, which puts an object next to another one; NO_WAY if
    one of them is unknown."""
    if holds_described(m, i, k, 0, s.neighbours):
        if aim_beside_described(m, s, i, k, NOWHERE) == 0:
            return NO_WAY
        search(m, s, i, place_of(m, i), False)
        s.found[CLAUSE_COST] = s.found[COST]
        return do_task(m, s, i, DROP, NOWHERE)
    if aim_at_described(m, s, i, k, 0) == 0:
        return NO_WAY
    place = search(m, s, i, place_of(m, i), False)
    if place == NOWHERE:
        return NO_WAY
    item = s.neighbours[place % 4, place // 4]
    s.found[CLAUSE_COST] = s.found[COST]
    if m.held_kind[i] > NONE_GRID_OBJECT:
        s.found[CLAUSE_COST] += CARRYING_COST
    s.aims[:] = 0
    if aim_beside_described(m, s, i, k, item) == 0:
        if holds_described(m, i, k, 1, s.neighbours):
            trace(m, s, i, place)
            return drop_held(m, s, i)
        if needs_clearing(m, s, i):
            return NO_WAY
        s.found[CLAUSE_COST] += FETCHING_COST  # and the way to the unknown one
        return do_task(m, s, i, PICK_UP, item)
    obstacle = find_obstacle(m, s, i, item, NOWHERE)
    s.found[CLAUSE_COST] += s.found[COST]
    if obstacle == NOWHERE:
        return do_task(m, s, i, PICK_UP, item)
    return do_task(m, s, i, TOGGLE if m.kind[i, obstacle] == DOOR else PICK_UP, obstacle)


def needs_clearing(m: Memory, s: Scratch, i: int) -> bool:
    """Return True if the way to what is new leads through an obstacle."""
    goal = search(m, s, i, place_of(m, i), True)
    if goal == NOWHERE:
        return False
    trace(m, s, i, goal)
    is_blocked = is_obstacle(m, i, s.neighbours[goal % 4, goal // 4])
    return is_blocked or bool(s.found[OBSTACLE] != NOWHERE)


def follow_clause(m: Memory, s: Scratch, i: int, k: int) -> int:
    """Return the next action for clause `k`; NO_WAY if its objects are unknown or out of reach."""
    verb = m.clauses[i, k, VERB]
    clear_aims(s)
    if verb == PUT_NEXT:
        return put_next(m, s, i, k)
    if aim_at_described(m, s, i, k, 0) == 0:
        if verb in (GO_TO, PICK_UP_OBJECT) and holds_described(m, i, k, 0, s.neighbours):
            return drop_held(m, s, i)
        return NO_WAY
    place = search(m, s, i, place_of(m, i), False)
    if place == NOWHERE:
        return NO_WAY
    target = s.neighbours[place % 4, place // 4]
    s.found[CLAUSE_COST] = s.found[COST]
    if verb == PICK_UP_OBJECT and m.held_kind[i] > NONE_GRID_OBJECT:
        s.found[CLAUSE_COST] += CARRYING_COST
    action = DONE
    if verb == OPEN_DOOR:
        action = TOGGLE
    elif verb == PICK_UP_OBJECT:
        action = PICK_UP
    return do_task(m, s, i, action, target)


def explore_more(m: Memory, s: Scratch, i: int, doors: bool) -> int:
    """Return the next action for seeing more; NO_WAY if there is nothing to see."""
    clear_aims(s)
    for n in range(1, s.things[0] + 1):
        cell = s.things[n]
        if m.kind[i, cell] == DOOR and m.state[i, cell] != OPEN and not doors:
            s.entry[cell] = 0
    goal = search(m, s, i, place_of(m, i), True)
    estimate_entries(m, s, i)
    if goal == NOWHERE:
        return NO_WAY
    trace(m, s, i, goal)
    obstacle, ahead = s.found[OBSTACLE], s.neighbours[goal % 4, goal // 4]
    if obstacle != NOWHERE and m.kind[i, obstacle] == DOOR:
        return do_task(m, s, i, TOGGLE, obstacle)
    if m.kind[i, ahead] == DOOR and m.state[i, ahead] != OPEN and doors:
        return do_task(m, s, i, TOGGLE, ahead)
    if goal == place_of(m, i):
        return NO_WAY
    action = first_action(m, s, i)
    return drop_held(m, s, i) if action == NO_WAY else action


def open_box(m: Memory, s: Scratch, i: int) -> int:
    """Return the next action for opening a box; NO_WAY if there is none."""
    clear_aims(s)
    for n in range(1, s.things[0] + 1):
        if m.kind[i, s.things[n]] == PARCEL:
            s.aims[s.things[n]] = 1
    place = search(m, s, i, place_of(m, i), False)
    if place == NOWHERE:
        return NO_WAY
    return do_task(m, s, i, TOGGLE, s.neighbours[place % 4, place // 4])


def begin_plan(s: Scratch) -> None:
    """Begin a plan without actions."""
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
    if not m.changed[i] and index < m.plan_length[i]:
        m.plan_index[i] += 1
        return int(m.plan[i, index])
    estimate_entries(m, s, i)
    first, count = find_side(m, i)
    begin_plan(s)
    best, least, seeks_door = go_on_dropping(m, s, i), 0, False
    if best != NO_WAY:
        keep_plan(m, s, i)
        return best
    for k in range(first, first + count):
        if m.done[i] >> k & 1:
            continue
        begin_plan(s)
        action = follow_clause(m, s, i, k)
        cost = s.found[CLAUSE_COST]
        seeks_door |= m.clauses[i, k, KIND] == DOOR or m.clauses[i, k, 4 + KIND] == DOOR
        if action != NO_WAY and (best == NO_WAY or cost < least):
            best, least = action, cost
            keep_plan(m, s, i)
    for doors, walls in ((False, True), (True, False), (True, True)):
        # doors are in walls; where one is sought, none is opened before all walls are seen
        if best == NO_WAY and (walls if seeks_door else doors):
            begin_plan(s)
            s.found[WALLS] = walls
            best = explore_more(m, s, i, doors)
            keep_plan(m, s, i)
    if best == NO_WAY:
        begin_plan(s)
        best = open_box(m, s, i)
        keep_plan(m, s, i)
    if best == NO_WAY or (m.idle[i] > _MOST_IDLE and m.idle[i] % 40 < 10):
        m.plan_length[i] = 0
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
        found = tuple(scenario.action_names)
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
