"""Bot for BabyAI's instructions: chooses actions from what it has seen in an episode.

In each step it adds the observation to its memory (`bot_memory`), chooses the
clause with the least estimated cost, and searches for a path (`bot_search`). If an
object or a locked door blocks the path, the bot first moves the object or fetches the key; if there
is no path, it explores. Functions run interpreted and compiled.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, NONE_GRID_OBJECT
from components.items import LOCKED, OPEN
from components.minigrid import PARCEL
from components.objects import DOOR, KEY
from gv_engine.plugins.minigrid.systems.bot_memory import (
    DONE,
    DROP,
    MOST_ROWS,
    MOVE_FORWARD,
    NOWHERE,
    PICK_UP,
    TOGGLE,
    TURN_LEFT,
    TURN_RIGHT,
    Memory,
    as_object,
    find_side,
    holds_described,
    is_described,
    is_object,
    make_neighbours,
    memory_dtype,
    observe,
)
from gv_engine.plugins.minigrid.systems.bot_search import (
    BLOCKER,
    CARRYING_COST,
    CLAUSE_COST,
    COST,
    DROP_CELL,
    FETCHING_COST,
    FIRST_POSE,
    LENGTH,
    OBSTACLE,
    SEEKS_DOOR,
    WALLS,
    Scratch,
    cell_ahead,
    estimate_entries,
    holds_key,
    is_obstacle,
    list_objects,
    mark_path,
    scratch_dtype,
    search,
)
from gv_engine.plugins.minigrid.systems.grammar import (
    FIELDS,
    KIND,
    MAX_CLAUSES,
    ORDINALS,
    OTHER_KIND,
    PICK_UP_OBJECT,
    PUT_NEXT,
    VERB,
    WORDINGS,
)

ACTIONS = "TURN_LEFT", "TURN_RIGHT", "MOVE_FORWARD", "PICK_UP", "DROP", "TOGGLE", "DONE"
NO_WAY = -1
"""Result instead of an action if there is no path."""
VERB_ACTIONS = NO_WAY, DONE, PICK_UP, TOGGLE, PICK_UP
"""Action that the agent takes when it faces a clause's first object, by the verb of the clause."""
_MOST_TASKS = 8
"""Maximum number of tasks that must come before a task, such as fetching a key."""
_MOST_IDLE = 120
"""Steps without progress before a random walk."""
_PATIENCE = 8
"""Steps of a random walk between two searches if no path was found."""


# ---- aims ----------------------------------------------------------------------------------------


def aim_at(s: Scratch, cell: int) -> None:
    """Make `cell` the only target cell in `s.aims`."""
    s.aims[:] = 0
    s.aims[cell] = 1


def aim_at_described(m: Memory, s: Scratch, k: int) -> int:
    """Mark the cells of all objects that match the first description of clause `k` as targets in
    `s.aims`, and return their number. Doors do not count if the object must be picked up."""
    count, needs_portable = 0, m.clauses[k, VERB] in (PICK_UP_OBJECT, PUT_NEXT)
    s.aims[:] = 0
    for cell in list_objects(s):
        if not (needs_portable and m.kind[cell] == DOOR) and is_described(m, cell, k, 0):
            s.aims[cell] = 1
            count += 1
    return count


def aim_beside_described(m: Memory, s: Scratch, k: int, excluded: int) -> int:
    """Mark the floor cells next to objects that match the second description of clause `k` as
    targets in `s.aims`, and return the number of these objects; the object in the cell `excluded`
    does not count. If there are no such floor cells, mark portable objects next to them, which the
    bot must then move away."""
    count, is_free = 0, False
    s.aims[:] = 0
    for cell in list_objects(s):
        if cell != excluded and is_described(m, cell, k, 1):
            count += 1
            for way in range(4):
                beside = s.neighbours[way, cell]
                if m.kind[beside] == FLOOR:
                    s.aims[beside] = 1
                    is_free = True
    for thing in list_objects(s):
        if not is_free and thing != excluded and m.kind[thing] != DOOR:
            for way in range(4):
                s.aims[thing] |= is_described(m, s.neighbours[way, thing], k, 1)
    return count


def can_drop_in(m: Memory, s: Scratch, cell: int) -> bool:
    """Return True if an object can be dropped in a cell without harm. The cell must be free floor
    off the path, and the object must not separate the cells around it, or block a door or another
    object."""
    if m.kind[cell] != FLOOR or s.path[cell]:
        return False
    changes = 0
    before = s.neighbours[3, s.neighbours[0, cell]]
    was_free = m.kind[before] == FLOOR
    for way in range(4):
        beside = s.neighbours[way, cell]
        corner = s.neighbours[(way + 1) % 4, beside]
        kind = m.kind[beside]
        if kind == DOOR:
            return False
        is_free, is_corner_free = kind == FLOOR, m.kind[corner] == FLOOR
        changes += int(is_free != was_free) + int(is_corner_free != is_free)
        was_free = is_corner_free
        if is_object(kind):
            free = 0
            for side in range(4):
                free += int(m.kind[s.neighbours[side, beside]] == FLOOR)
            if free < 2:
                return False
    return changes <= 2


# ---- ways ----------------------------------------------------------------------------------------


def get_agent_pose(m: Memory) -> int:
    """Return the agent's pose (cell and direction) as one number, 4 * cell + direction."""
    return int(4 * m.cell + m.facing)


def reach(m: Memory, s: Scratch, cell: int) -> int:
    """Make `cell` the only target, and return the cheapest pose (cell and direction) in which the
    agent faces it; NOWHERE if there is none."""
    aim_at(s, cell)
    return search(m, s, get_agent_pose(m), False)


def first_action(m: Memory, s: Scratch, action: int) -> int:
    """Return the first action on the path of the last search, or `action` if the path has no steps.
    If a door blocks the first step, return TOGGLE; if an object does, PICK_UP, or NO_WAY if the
    hand is not empty."""
    if s.found[FIRST_POSE] == NOWHERE:
        return action
    if s.found[LENGTH] > 0:
        return int(s.plan[0])
    if m.kind[s.found[FIRST_POSE] // 4] == DOOR:
        return TOGGLE
    return PICK_UP if m.held_kind == NONE_GRID_OBJECT else NO_WAY


def drop_ahead(m: Memory, s: Scratch, goal: int) -> int:
    """Return the next action for going to the pose (cell and direction) `goal`, the result of the
    last search, and dropping the object in hand ahead of it. Write the cell of the drop into
    `s.found[DROP_CELL]`, so that the bot continues with it in the next steps."""
    s.found[DROP_CELL] = cell_ahead(s, goal)
    mark_path(m, s, goal)
    return first_action(m, s, DROP)


def drop_held(m: Memory, s: Scratch) -> int:
    """Return the next action for dropping the object in hand near the agent, but not on the path of
    the last search."""
    for cell in list_objects(s):
        if m.kind[cell] != DOOR:
            s.entry[cell] = 0
    goal = NOWHERE
    for is_strict in (True, False):
        if goal == NOWHERE:
            for cell in range(m.size * m.size):
                s.aims[cell] = (
                    m.kind[cell] == FLOOR
                    and cell != m.cell
                    and s.path[cell] == 0
                    and (not is_strict or can_drop_in(m, s, cell))
                )
            goal = search(m, s, get_agent_pose(m), False)
    estimate_entries(m, s)
    s.found[LENGTH] = 0
    return DROP if goal == NOWHERE else drop_ahead(m, s, goal)


def do_task(m: Memory, s: Scratch, action: int, goal: int) -> int:
    """Return the next action for taking `action` at the pose (cell and direction) `goal`, the
    result of the last search, or for a task that must come first: move an obstacle, fetch a key,
    drop the object in hand. Return NO_WAY if there is no path."""
    for _ in range(_MOST_TASKS):
        if goal == NOWHERE:
            return NO_WAY
        target = cell_ahead(s, goal)
        is_locked = m.kind[target] == DOOR and m.state[target] == LOCKED
        if action == TOGGLE and is_locked and not holds_key(m, target):
            key_pose = find_key(m, s, target)
            if key_pose == NOWHERE:
                return NO_WAY
            aim_at(s, target)
            target = find_first_target(m, s, key_pose)
        else:
            mark_path(m, s, goal)
            s.path[target] = 1
            obstacle = s.found[OBSTACLE]
            if obstacle == NOWHERE or m.kind[obstacle] != DOOR:
                return follow_path(m, s, action, target)
            target = obstacle
        action = TOGGLE if m.kind[target] == DOOR else PICK_UP
        goal = reach(m, s, target)
    return NO_WAY


def follow_path(m: Memory, s: Scratch, action: int, target: int) -> int:
    """Return the next action on the path of the last search, at whose end the agent takes `action`
    facing the cell `target`. The path must not lead through a locked door."""
    is_there, has_item = s.found[FIRST_POSE] == NOWHERE, m.held_kind > NONE_GRID_OBJECT
    is_blocked = s.found[OBSTACLE] != NOWHERE or m.kind[target] != FLOOR
    step = first_action(m, s, action)
    picks_up = action == PICK_UP and has_item
    if step == NO_WAY or (action == DROP and is_blocked) or (is_there and picks_up):
        return drop_held(m, s)
    if picks_up:
        s.found[LENGTH] = 0  # drop it as soon as that costs least
        ahead = s.neighbours[m.facing, m.cell]
        if step in (TURN_LEFT, TURN_RIGHT) and can_drop_in(m, s, ahead):
            return DROP
    return step


def find_key(m: Memory, s: Scratch, door: int) -> int:
    """Return the nearest pose (cell and direction) in which the agent faces a key for a locked
    door; NOWHERE if there is none."""
    s.aims[:] = 0
    for cell in list_objects(s):
        s.aims[cell] = m.kind[cell] == KEY and m.color[cell] == m.color[door]
    s.entry[door], cost = 0, s.entry[door]  # a key behind the door itself does not count
    pose = search(m, s, get_agent_pose(m), False)
    s.entry[door] = cost
    return pose


def find_first_target(m: Memory, s: Scratch, start: int) -> int:
    """Return the cell of the object or door that must be moved or opened first, so that the object
    ahead of the pose `start` can be carried to a target in `s.aims`: an obstacle on the path, or
    else the object itself. Mark the path in `s.path`."""
    item = cell_ahead(s, start)
    kind, cost = m.kind[item], s.entry[item]
    m.kind[item], s.entry[item] = FLOOR, 1
    goal = search(m, s, start, False)
    s.found[BLOCKER] = NOWHERE
    if goal != NOWHERE:
        mark_path(m, s, goal)
        ahead = cell_ahead(s, goal)
        s.path[ahead] = 1
        s.found[BLOCKER] = s.found[OBSTACLE]
        if s.found[OBSTACLE] == NOWHERE and m.kind[ahead] not in (FLOOR, DOOR):
            s.found[BLOCKER] = ahead
    m.kind[item], s.entry[item] = kind, cost
    return item if s.found[BLOCKER] == NOWHERE else int(s.found[BLOCKER])


# ---- clauses -------------------------------------------------------------------------------------


def follow_clause(m: Memory, s: Scratch, k: int) -> int:
    """Return the next action to fulfil clause `k` of the instruction, and write the estimated cost
    into `s.found[CLAUSE_COST]`. NO_WAY if its objects are unknown or out of reach."""
    verb = m.clauses[k, VERB]
    action, is_held = VERB_ACTIONS[verb], holds_described(m, k, 0)
    if verb == PUT_NEXT and is_held:
        action, count = DROP, aim_beside_described(m, s, k, NOWHERE)
    else:
        count = aim_at_described(m, s, k)
    if count == 0:
        return drop_held(m, s) if is_held and verb != PUT_NEXT else NO_WAY
    goal = search(m, s, get_agent_pose(m), False)
    s.found[CLAUSE_COST] = s.found[COST]
    if action == PICK_UP and m.held_kind > NONE_GRID_OBJECT:
        s.found[CLAUSE_COST] += CARRYING_COST
    if goal != NOWHERE and verb == PUT_NEXT and not is_held:
        return fetch_object(m, s, k, goal)
    return do_task(m, s, action, goal)


def fetch_object(m: Memory, s: Scratch, k: int, goal: int) -> int:
    """Return the next action for fetching the first object of the "put" clause `k`; NO_WAY if the
    bot should look for the second object first. At the pose (cell and direction) `goal` the agent
    would face the first object."""
    item = cell_ahead(s, goal)
    if aim_beside_described(m, s, k, item) > 0:
        target = find_first_target(m, s, goal)
        s.found[CLAUSE_COST] += s.found[COST]
        action = TOGGLE if m.kind[target] == DOOR else PICK_UP
        return do_task(m, s, action, reach(m, s, target))
    if holds_described(m, k, 1):  # the second one is in hand
        mark_path(m, s, goal)
        return drop_held(m, s)
    # two clauses with unknown second objects would put one object down for the other for ever
    if needs_clearing(m, s) or (m.held_kind > NONE_GRID_OBJECT and 3 * m.idle > _MOST_IDLE):
        return NO_WAY
    s.found[CLAUSE_COST] += FETCHING_COST  # for finding the second object, too
    return do_task(m, s, PICK_UP, reach(m, s, item))


def find_new(m: Memory, s: Scratch, is_last: bool) -> int:
    """Return the pose (cell and direction) with the best ratio of unseen cells to cost; NOWHERE if
    there is none. If a door is sought and `is_last` is False, closed doors stay closed until all
    walls in reach have been seen, as the door may be in one of them."""
    seeks_door = s.found[SEEKS_DOOR] != 0
    s.found[WALLS] = seeks_door or is_last
    for cell in list_objects(s):
        if m.kind[cell] == DOOR and m.state[cell] != OPEN and seeks_door and not is_last:
            s.entry[cell] = 0
    goal = search(m, s, get_agent_pose(m), True)
    estimate_entries(m, s)
    return goal


def needs_clearing(m: Memory, s: Scratch) -> bool:
    """Return True if the path to the best pose (cell and direction) for exploring leads through an
    obstacle."""
    goal = find_new(m, s, False)
    if goal == NOWHERE:
        goal = find_new(m, s, True)
    if goal == NOWHERE:
        return False
    mark_path(m, s, goal)
    return bool(s.found[OBSTACLE] != NOWHERE) or is_obstacle(m, cell_ahead(s, goal))


def explore_more(m: Memory, s: Scratch, is_last: bool) -> int:
    """Return the next action for exploring; NO_WAY if nothing new can be seen. If a door is sought
    and `is_last` is False, closed doors stay closed until all walls in reach have been seen."""
    goal = find_new(m, s, is_last)
    if goal == NOWHERE:
        return NO_WAY
    mark_path(m, s, goal)
    obstacle, ahead = s.found[OBSTACLE], cell_ahead(s, goal)
    if obstacle == NOWHERE or m.kind[obstacle] != DOOR:
        obstacle = ahead
    if m.kind[obstacle] == DOOR and m.state[obstacle] != OPEN:
        return do_task(m, s, TOGGLE, reach(m, s, obstacle))
    if goal == get_agent_pose(m):
        return NO_WAY
    action = first_action(m, s, NO_WAY)
    return drop_held(m, s) if action == NO_WAY else action


def open_box(m: Memory, s: Scratch) -> int:
    """Return the next action for opening a box; NO_WAY if there is none."""
    s.aims[:] = 0
    for cell in list_objects(s):
        s.aims[cell] = m.kind[cell] == PARCEL
    return do_task(m, s, TOGGLE, search(m, s, get_agent_pose(m), False))


def begin_plan(s: Scratch) -> None:
    """Clear the path and the results of an earlier plan in `s`."""
    s.path[:] = 0
    s.found[LENGTH] = s.found[CLAUSE_COST] = 0
    s.found[DROP_CELL] = s.found[BLOCKER] = NOWHERE


def keep_plan(m: Memory, s: Scratch) -> None:
    """Copy the plan from `s` into the memory for the next steps: the actions on the path of the
    last search, the cell to drop in, and the obstacle to move."""
    m.dropping, m.blocker = 1 + s.found[DROP_CELL], 1 + s.found[BLOCKER]
    m.plan_length, m.plan_index = s.found[LENGTH], 1
    m.plan[:] = s.plan


def choose_action(m: Memory, s: Scratch) -> int:
    """Return the next action: the next one of the plan if no seen cell has changed, else the first
    of a new plan, or of a random walk after a long time without progress."""
    if not m.changed:
        if m.plan_index < m.plan_length:
            m.plan_index += 1
            return int(m.plan[m.plan_index - 1])
        if m.plan_length == NO_WAY and m.idle % _PATIENCE:
            return stroll(m, s)
    first, count = find_side(m)
    todo = ~m.done & ((1 << count) - 1) << first  # bit k: clause k must still be done
    if todo == 0 or (m.idle > _MOST_IDLE and m.idle % 40 < 10):
        m.plan_length = 0
        return stroll(m, s)
    return make_plan(m, s, todo)


def make_plan(m: Memory, s: Scratch, pending: int) -> int:
    """Make a new plan for one of the pending clauses, store it in the memory, and return its first
    action. Bit k of `pending` is 1 if clause k is not done."""
    estimate_entries(m, s)
    action = continue_drop(m, s)
    if action == NO_WAY:
        action = follow_cheapest_clause(m, s, pending)
    for attempt in range(3):
        if action == NO_WAY:
            begin_plan(s)
            action = open_box(m, s) if attempt == 2 else explore_more(m, s, attempt == 1)
            keep_plan(m, s)
    if action == NO_WAY:
        m.plan_length = NO_WAY
        return stroll(m, s)
    return action


def continue_drop(m: Memory, s: Scratch) -> int:
    """Return the next action for dropping the object in hand into the cell that an earlier plan has
    chosen; NO_WAY if there is no such cell, or no path to it."""
    begin_plan(s)
    target = m.dropping - 1
    if target < 0 or m.kind[target] != FLOOR:
        return NO_WAY
    goal = reach(m, s, target)
    if goal == NOWHERE:
        return NO_WAY
    action = drop_ahead(m, s, goal)
    if action != NO_WAY:
        keep_plan(m, s)
    return action


def follow_cheapest_clause(m: Memory, s: Scratch, pending: int) -> int:
    """Return the next action for the pending clause with the least estimated cost. Bit k of
    `pending` is 1 if clause k is not done. NO_WAY if no clause can be followed now."""
    best, least, s.found[SEEKS_DOOR] = NO_WAY, 0, 0
    for k in range(MAX_CLAUSES):
        if pending >> k & 1 and DOOR in (m.clauses[k, KIND], m.clauses[k, OTHER_KIND]):
            s.found[SEEKS_DOOR] = 1
    for k in range(MAX_CLAUSES):
        if pending >> k & 1:
            begin_plan(s)
            action = follow_clause(m, s, k)
            cost = s.found[CLAUSE_COST]
            if action != NO_WAY and (best == NO_WAY or cost < least):
                best, least = action, cost
                keep_plan(m, s)
    return best


def stroll(m: Memory, s: Scratch) -> int:
    """Return the next action of a pseudo-random walk, which gets the bot out of a deadlock."""
    ahead = s.neighbours[m.facing, m.cell]
    number = (m.idle * 7919 + m.cell * 104729) // 16 % 8
    if m.kind[ahead] == FLOOR and number < 5:
        return DROP if number == 0 else MOVE_FORWARD
    return TURN_LEFT if number % 2 else TURN_RIGHT


def act(memory: Any, scratch: Any, grids: Any, items: Any, actions: Any) -> None:
    """Compute the next action of the bot in each of N worlds and write it into `actions`, (N,).
    `grids` and `items` are the observations; `memory` and `scratch` are the bots' records."""
    s = scratch[0]
    for i in range(len(actions)):
        m = memory[i]
        observe(m, grids[i], items[i], s.neighbours, s.queue)
        m.action = choose_action(m, s)
        actions[i] = m.action


class Bot:
    """Bot that plays BabyAI's levels in N worlds at once.

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
        """Make a bot for N worlds of `scenario`; `compile_bot` compiles the function `act`, or
        returns it unchanged."""
        found = tuple(scenario.action_names)
        if found != ACTIONS:
            raise ValueError(f"found actions {', '.join(found)}, expected {', '.join(ACTIONS)}")
        if tuple(scenario.missions.texts) != WORDINGS:
            raise ValueError("found other mission texts than those of scenarios/babyai/common.yaml")
        height, width = scenario.area.shape
        if scenario.area.observer != (height - 1, width // 2) or width % 2 == 0:
            raise ValueError("the agent is not in the middle of the view's last row")
        size = max(*scenario.largest_shape, height, width)
        if size > MOST_ROWS[-1]:
            raise ValueError(f"found {size} rows or columns, and the bot's map has {MOST_ROWS[-1]}")
        names = scenario.missions.names
        self._columns = [[names.index(f"{each}{name}") for name in FIELDS] for each in ORDINALS]
        most = min(each for each in MOST_ROWS if each >= size)
        self._empty = np.zeros(1, memory_dtype(most))
        for name, value in {"size": size, "unseen": (1 << size) - 1, "action": -1}.items():
            self._empty[name] = value
        self._memory = np.repeat(self._empty, num_envs)
        scratch = np.zeros(1, scratch_dtype(most))
        scratch["neighbours"][0, :, : size * size] = make_neighbours(size)
        scratch["view_shape"] = height, width
        self._act = compile_bot(act)
        self._is_compiled = self._act is not act
        self._worlds: Any = self._memory if self._is_compiled else [None] * num_envs
        self._scratch: Any = scratch if self._is_compiled else [as_object(scratch[0])]
        self._begun: list[int] = []

    def begin(self, worlds: Sequence[int]) -> None:
        """Forget what was seen in `worlds`, where episodes begin."""
        self._begun += worlds

    def act(self, observation: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """Return the next action of each world, (N,), given the batched observation of all
        worlds."""
        if self._begun:
            missions = observation["mission"][self._begun]
            self._memory[self._begun] = self._empty
            self._memory["clauses"][self._begun] = missions[:, self._columns]
            self._memory["wording"][self._begun] = missions[:, 0] - 1
            for i in () if self._is_compiled else self._begun:
                self._worlds[i] = as_object(self._memory[i])
            self._begun = []
        actions = np.zeros(len(self._memory), np.int64)
        self._act(self._worlds, self._scratch, observation["grid"], observation["item"], actions)
        return actions
