"""BabyAI's instructions: components that hold them, and rules that verify them in each step.

`grammar` has the numbers of an instruction.
"""

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from components.core import GREY, HIDDEN, NONE, NONE_GRID_OBJECT
from components.core import Mission as PlainMission
from components.items import LOCKED, OPEN
from components.objects import DOOR, KEY
from gv_engine.plugins.minigrid.systems.grammar import (
    ANYWHERE,
    BEHIND,
    CLAUSE_LENGTH,
    CLAUSES,
    COLOR,
    DESCRIPTION_LENGTH,
    FIELDS,
    GO_TO,
    IN_FRONT,
    KIND,
    MAX_CLAUSES,
    ON_RIGHT,
    OPEN_DOOR,
    ORDINALS,
    PICK_UP_OBJECT,
    PLACE,
    PLURAL,
    PUT_NEXT,
    VERB,
    count_clauses,
    count_descriptions,
    is_reversed,
    render_description,
)
from gv_engine.plugins.minigrid.systems.steps import success_reward
from gv_engine.rules.component import (
    AGENT,
    NOTHING,
    Bounds,
    Coordinate,
    EntityId,
    Int8,
    Int16,
    Int32,
    component,
)
from gv_engine.rules.geometry import (
    ACTUATE,
    DROP,
    FORWARD,
    PICK_N_DROP,
    PICK_UP,
    TOGGLE,
    Action,
    step_x,
    step_y,
)
from gv_engine.rules.system import OBSERVATION, RESET, REWARD, TERMINATING, TRANSITION, system
from gv_engine.rules.world import View, World
from systems.procedural import resolve_value
from systems.queries import ahead, towards
from systems.transition import can_pick_up, can_toggle, pick_up, toggle

Clauses = NDArray[np.int64]

CONTINUES, SUCCEEDED, FAILED, REJECTED = range(4)
_FIRST_SIDE_DONE = 1 << MAX_CLAUSES
Verb = Annotated[Int8, Bounds(0, PUT_NEXT)]
Place = Annotated[Int8, Bounds(ANYWHERE, BEHIND)]
Plural = Annotated[Int8, Bounds(0, 1)]


@component
class Mission(PlainMission):
    """Instruction of up to four clauses, and its step limit; `kind` and `color` belong to the first
    clause."""

    verb: Verb = 0
    place: Place = 0
    plural: Plural = 0
    other_kind: Int8 = NONE_GRID_OBJECT
    other_color: Int8 = NONE
    other_place: Place = 0
    other_plural: Plural = 0
    second_verb: Verb = 0
    second_kind: Int8 = NONE_GRID_OBJECT
    second_color: Int8 = NONE
    second_place: Place = 0
    second_plural: Plural = 0
    second_other_kind: Int8 = NONE_GRID_OBJECT
    second_other_color: Int8 = NONE
    second_other_place: Place = 0
    second_other_plural: Plural = 0
    third_verb: Verb = 0
    third_kind: Int8 = NONE_GRID_OBJECT
    third_color: Int8 = NONE
    third_place: Place = 0
    third_plural: Plural = 0
    third_other_kind: Int8 = NONE_GRID_OBJECT
    third_other_color: Int8 = NONE
    third_other_place: Place = 0
    third_other_plural: Plural = 0
    fourth_verb: Verb = 0
    fourth_kind: Int8 = NONE_GRID_OBJECT
    fourth_color: Int8 = NONE
    fourth_place: Place = 0
    fourth_plural: Plural = 0
    fourth_other_kind: Int8 = NONE_GRID_OBJECT
    fourth_other_color: Int8 = NONE
    fourth_other_place: Place = 0
    fourth_other_plural: Plural = 0
    max_steps: Int32 = 0

    bot = "gv_engine.plugins.minigrid.systems.bot"
    phrases = CLAUSES


@component
class Progress:
    """Progress of an agent with its instruction."""

    status: Int8 = CONTINUES
    done: Int8 = 0
    """Bit k: clause k of two joined by "and" is done; bit 4: the side that comes first is done."""
    strict: Int8 = 0
    """Bit k: clause k fails if another object is picked up or another door is toggled."""
    removed: EntityId = NOTHING
    """Object that left the grid last since `note_places`; `Target.next` links the earlier ones."""
    held: EntityId = NOTHING
    """Object in hand when the first clause was last verified."""
    second_held: EntityId = NOTHING
    third_held: EntityId = NOTHING
    fourth_held: EntityId = NOTHING


@component
class Target:
    """Object that an instruction describes, and the cell where it was before it left the grid."""

    descriptions: Int16 = 0
    """Bit 2 * k + i: description i of clause k matched at the reset."""
    y: Coordinate = -1
    x: Coordinate = -1
    next: EntityId = NOTHING
    """Object that left the grid before this one."""


# ---- descriptions --------------------------------------------------------------------------------


def is_in_place(w: World, e: int, place: int, room_size: int) -> bool:
    """Return True if an object is in the agent's room and at this place relative to the agent."""
    if place == ANYWHERE:
        return True
    step = room_size - 1
    agent_y, agent_x = w.position.y[AGENT], w.position.x[AGENT]
    y, x = w.position.y[e], w.position.x[e]
    down, right = y - agent_y // step * step, x - agent_x // step * step
    if not (0 <= down <= step and 0 <= right <= step):
        return False
    facing = w.agent.facing[AGENT]
    dy, dx = step_y(facing), step_x(facing)
    if place in (IN_FRONT, BEHIND):
        side = (y - agent_y) * dy + (x - agent_x) * dx
    else:
        side = (y - agent_y) * dx - (x - agent_x) * dy
    return side > 0 if place in (IN_FRONT, ON_RIGHT) else side < 0


def is_described(w: World, e: int, kind: int, color: int, place: int, room_size: int) -> bool:
    """Return True if an object on the grid has this type, colour and place, where
    NONE_GRID_OBJECT, NONE and ANYWHERE stand for any."""
    return (
        (kind == NONE_GRID_OBJECT or kind == w.kind.value[e])
        and (color == NONE or color == w.color.value[e])
        and is_in_place(w, e, place, room_size)
    )


def description_bit(k: int, i: int) -> int:
    """Return the bit of description `i`, 0 or 1, of clause `k` in `target.descriptions`."""
    return 1 << 2 * k + i


def mark_described(w: World, bit: int, kind: int, color: int, place: int, room_size: int) -> int:
    """Set the mask `bit` in `target.descriptions` of every object with this type, colour and
    place, and return the number of these objects and of the walls that match.

    `kind` may be NONE_GRID_OBJECT, `color` NONE and `place` ANYWHERE, which match everything; a
    place is relative to the agent, in its room.
    """
    count = 0
    for e in w.having(w.color):
        if is_described(w, e, kind, color, place, room_size):
            count += 1
            if not w.target.has[e]:
                w.add(e, "target")
            w.target.descriptions[e] |= bit
    # walls are grey objects in the reference
    return count + 2 * (kind == NONE_GRID_OBJECT and color in (NONE, GREY))


def can_put_next(w: World, first: int, second: int) -> bool:
    """Return True if no object matches both descriptions, and no object that matches the first is
    next to one that matches the second. `first` and `second` are their bits in
    `target.descriptions`."""
    things = w.having(w.target)
    for e in things:
        for other in things:
            is_pair = is_target(w, e, first) and is_target(w, other, second)
            if is_pair and manhattan_distance(w, e, other) <= 1:
                return False
    return True


def manhattan_distance(w: World, e: int, other: int) -> int:
    """Return the Manhattan distance between two objects."""
    return abs(w.position.y[e] - w.position.y[other]) + abs(w.position.x[e] - w.position.x[other])


def opens_a_door(w: World, kind: int, color: int) -> bool:
    """Return True if the type is Key and the level has a locked door of this colour."""
    if kind == KEY:
        for door in w.of_type(DOOR):
            if w.door.status[door] == LOCKED and w.color.value[door] == color:
                return True
    return False


def instruct(
    w: World,
    clauses: Clauses,
    room_size: int,
    wording: int = 0,
    strict: int = 0,
    keeps_keys: bool = False,
    has_articles: bool = False,
) -> None:
    """Give the agent an instruction, and reject the level if the instruction makes no sense there;
    do nothing in a level that is rejected already.

    Args:
        clauses: (4, 9) numbers of the clauses; the plurals are overwritten, 1 where several objects
            match.
        wording: index of the text.
        strict: bits of the clauses that fail if another object is used.
        keeps_keys: if True, reject instructions about keys of locked doors.
        has_articles: if True, do not overwrite the plurals in `clauses`.
    """
    if w.progress.status[AGENT] == REJECTED:
        return
    for k in range(MAX_CLAUSES):
        for i in range(count_descriptions(clauses[k, VERB])):
            start = i * DESCRIPTION_LENGTH
            kind, color = clauses[k, start + KIND], clauses[k, start + COLOR]
            place = clauses[k, start + PLACE]
            count = mark_described(w, description_bit(k, i), kind, color, place, room_size)
            if not has_articles:
                clauses[k, start + PLURAL] = count > 1
            if keeps_keys and opens_a_door(w, kind, color):
                w.progress.status[AGENT] = REJECTED
        bits = description_bit(k, 0), description_bit(k, 1)
        if clauses[k, VERB] == PUT_NEXT and not can_put_next(w, bits[0], bits[1]):
            w.progress.status[AGENT] = REJECTED
    w.mission.wording[AGENT] = wording
    w.progress.strict[AGENT] = strict
    for k in range(MAX_CLAUSES):
        write_clause(w, k, clauses[k])


@system(RESET)
def set_instruction(
    w: World, reset_function: None, clauses: Clauses, wording: int, has_articles: bool
) -> None:
    """Give the first agent the instruction of the scenario file, in the level that the scenario's
    reset function has built.

    Args:
        reset_function: builds the level, before this function is called.
        clauses: (4, 9) numbers of the clauses; negative ones stand for random values, see
            `systems.procedural`.
        wording: index of the text.
        has_articles: `clauses` say where the text has "a" and where "the"; otherwise objects are
            counted.
    """
    if not w.progress.has[AGENT]:
        w.add(AGENT, "progress")
    for e in w.having(w.target):  # clear the instruction of the reset function
        w.target.descriptions[e] = 0
    resolved = clauses.copy()
    for k in range(MAX_CLAUSES):
        for i in range(CLAUSE_LENGTH):
            resolved[k, i] = resolve_value(w, clauses[k, i])
    # a room that is larger than the grid, so that places are about all of it
    instruct(w, resolved, w.height + w.width, wording, has_articles=has_articles)
    w.progress.status[AGENT] = CONTINUES


def write_clause(w: World, k: int, clause: Clauses) -> None:
    """Write the numbers of clause `k` into the agent's mission."""
    m = w.mission
    columns = (
        (m.verb, m.second_verb, m.third_verb, m.fourth_verb),
        (m.kind, m.second_kind, m.third_kind, m.fourth_kind),
        (m.color, m.second_color, m.third_color, m.fourth_color),
        (m.place, m.second_place, m.third_place, m.fourth_place),
        (m.plural, m.second_plural, m.third_plural, m.fourth_plural),
        (m.other_kind, m.second_other_kind, m.third_other_kind, m.fourth_other_kind),
        (m.other_color, m.second_other_color, m.third_other_color, m.fourth_other_color),
        (m.other_place, m.second_other_place, m.third_other_place, m.fourth_other_place),
        (m.other_plural, m.second_other_plural, m.third_other_plural, m.fourth_other_plural),
    )
    for i, columns_of_clauses in enumerate(columns):
        write_into_column(columns_of_clauses, k, AGENT, clause[i])


def read_column(columns: tuple[Any, ...], k: int, e: int) -> int:
    """Return `columns[k][e]`. If there are fewer than k + 1 columns, return 0."""
    value = 0
    for j, column in enumerate(columns):
        if j == k:
            value = column[e]
    return value


def write_into_column(columns: tuple[Any, ...], k: int, e: int, value: int) -> None:
    """Set `columns[k][e]` to `value`, or nothing if there is no column `k`.

    Compiled code cannot pick one of several columns by a variable, since each has its own type.
    """
    for j, column in enumerate(columns):
        if j == k:
            column[e] = value


def list_unmatched(w: World) -> dict[int, str]:
    """Return as text each description in the first agent's instruction, such as "a red ball", that
    matched no object at the reset. The keys are the descriptions' bits in `target.descriptions`."""
    matched = 0
    for e in w.having(w.target):
        matched |= w.target.descriptions[e]
    unmatched = {}
    for k, ordinal in enumerate(ORDINALS):
        verb, *numbers = (int(getattr(w.mission, ordinal + name)[AGENT]) for name in FIELDS)
        for i in range(count_descriptions(verb)):
            bit = description_bit(k, i)
            if not matched & bit:
                start = i * DESCRIPTION_LENGTH
                description = numbers[start : start + DESCRIPTION_LENGTH]
                unmatched[bit] = render_description(*description)
    return unmatched


# ---- verification --------------------------------------------------------------------------------


def is_target(w: World, e: int, bit: int) -> bool:
    """Return True if an object matched a description at the reset; `bit` is the description's bit
    in `target.descriptions`."""
    return w.target.descriptions[e] & bit != 0


def faces_target(w: World, agent: int, bit: int) -> bool:
    """Return True if the cell ahead of the agent contains an object that matched a description at
    the reset, or if such an object has left that cell and no DROP has followed (see `note_places`).
    `bit` identifies the description."""
    y, x = towards(w, agent, FORWARD)
    if is_target(w, w.at[y, x], bit):
        return True
    e = w.progress.removed[agent]
    while e != NOTHING:
        if is_target(w, e, bit) and w.target.y[e] == y and w.target.x[e] == x:
            return True
        e = w.target.next[e]
    return False


def is_beside_target(w: World, e: int, bit: int) -> bool:
    """Return True if the object `e` is on the grid, next to an object that matched a description at
    the reset. `bit` identifies the description in `target.descriptions`."""
    if w.position.y[e] < 0:
        return False
    for other in w.having(w.target):
        if is_target(w, other, bit) and manhattan_distance(w, e, other) == 1:
            return True
    return False


def verb_of(w: World, agent: int, k: int) -> int:
    """Return the verb of clause `k` of the agent's instruction, 0 if there is no such clause."""
    m = w.mission
    return read_column((m.verb, m.second_verb, m.third_verb, m.fourth_verb), k, agent)


def verify_clause(w: World, agent: int, k: int) -> int:
    """Return the status of clause `k` after the agent's action, and store the object in hand for
    the next step."""
    p = w.progress
    held_columns = (p.held, p.second_held, p.third_held, p.fourth_held)
    held, was_held = w.agent.holding[agent], read_column(held_columns, k, agent)
    write_into_column(held_columns, k, agent, held)
    verb, action, is_strict = verb_of(w, agent, k), w.action[agent], p.strict[agent] >> k & 1
    bit = description_bit(k, 0)
    if verb == GO_TO:
        return SUCCEEDED if faces_target(w, agent, bit) else CONTINUES
    if verb == OPEN_DOOR and action in (TOGGLE, ACTUATE):
        door = ahead(w, agent)
        if is_target(w, door, bit) and w.door.status[door] == OPEN:
            return SUCCEEDED
        return FAILED if is_strict and w.door.has[door] else CONTINUES
    if verb == PICK_UP_OBJECT and action in (PICK_UP, PICK_N_DROP):
        if was_held != held and is_target(w, held, bit):
            return SUCCEEDED
        return FAILED if is_strict and held != NOTHING else CONTINUES
    drops = verb == PUT_NEXT and action in (DROP, PICK_N_DROP) and is_target(w, was_held, bit)
    was_put = drops and is_beside_target(w, was_held, description_bit(k, 1))
    return SUCCEEDED if was_put else CONTINUES


def verify_side(w: World, agent: int, first: int, count: int) -> int:
    """Return the status of `count` clauses from index `first` on: one, or two that are joined by
    "and"."""
    if count == 1:
        return verify_clause(w, agent, first)
    status = SUCCEEDED
    for k in range(first, first + count):
        if not w.progress.done[agent] >> k & 1:
            if verify_clause(w, agent, k) == SUCCEEDED:
                w.progress.done[agent] |= 1 << k
            else:
                status = CONTINUES
    return status


def verify(w: World, agent: int) -> int:
    """Return the status of the agent's instruction after its action."""
    wording = w.mission.wording[agent]
    count, other_count = count_clauses(wording)
    if other_count == 0:
        return verify_side(w, agent, 0, count)
    start, other_start = 0, count
    if is_reversed(wording):
        start, other_start, count, other_count = count, 0, other_count, count
    if not w.progress.done[agent] & _FIRST_SIDE_DONE:
        status = verify_side(w, agent, start, count)
        if status != SUCCEEDED:
            return status
        w.progress.done[agent] |= _FIRST_SIDE_DONE
    return verify_side(w, agent, other_start, other_count)


def has_instruction(w: World, agent: int) -> bool:
    """Return True if the agent has an instruction."""
    return w.mission.verb[agent] > 0


@system(TRANSITION, when=has_instruction)
def verify_instruction(w: World, agent: int) -> None:
    """Record that the agent has followed its mission, or broken a strict one. List this rule after
    all other transitions."""
    w.progress.status[agent] = verify(w, agent)


def can_note_places(w: World, agent: int, action: int) -> bool:
    """Return True if the action is DROP and an object has left the grid since the last DROP."""
    return action == DROP and w.progress.removed[agent] != NOTHING


@system(TRANSITION, when=can_note_places)
def note_places(w: World, agent: int) -> None:
    """With any DROP action, forget the cells of objects that have left the grid: from then on, an
    instruction is not about the cells where they were, as in BabyAI."""
    w.progress.removed[agent] = NOTHING


def note_removal(w: World, agent: int, e: int) -> None:
    """Note the cell of an object that is about to leave the grid, if an instruction describes
    it."""
    if w.target.has[e]:
        w.target.y[e], w.target.x[e] = w.position.y[e], w.position.x[e]
        w.target.next[e] = w.progress.removed[agent]
        w.progress.removed[agent] = e


@system(TRANSITION, when=can_pick_up)
def pick_up_target(w: World, agent: int, on_action: Action = Action.PICK_UP) -> None:
    """Pick up the object ahead with an empty hand, and note its cell."""
    note_removal(w, agent, ahead(w, agent))
    pick_up(w, agent)


@system(TRANSITION, when=can_toggle)
def toggle_target(w: World, agent: int, on_action: Action = Action.TOGGLE) -> None:
    """Open or close the door ahead, or open the box ahead. The opened box leaves the grid but not
    the world, as instructions may be about it."""
    box = ahead(w, agent)
    if not w.box.has[box]:
        toggle(w, agent)
        return
    note_removal(w, agent, box)
    y, x = w.position.y[box], w.position.x[box]
    w.lift(box)
    if w.box.content[box] != NOTHING:
        w.place(w.box.content[box], y, x)
        w.box.content[box] = NOTHING


@system(RESET)
def start_carrying(w: World, reset_function: None, is_active: bool = True) -> None:
    """Put the object that the first clause describes into the agent's hand, and note its cell."""
    if not is_active:
        return
    for e in w.having(w.target):
        if is_target(w, e, description_bit(0, 0)):
            w.target.y[e], w.target.x[e] = w.position.y[e], w.position.x[e]
            w.lift(e)
            w.agent.holding[AGENT] = e
            return


@system(OBSERVATION)
def show_start(w: World, agent: int, view: View, out: Any) -> None:
    """Show the object that the agent holds from the start in the cell where it was before; only the
    first observation of an episode does so, as in BabyAI."""
    e = w.agent.holding[agent]
    if w.steps > 0 or e == NOTHING:
        return
    grid, item = out
    item[0], item[1], item[2] = NONE_GRID_OBJECT, 0, 0
    down, right = w.target.y[e] - w.position.y[agent], w.target.x[e] - w.position.x[agent]
    to_y, to_x = step_y(w.agent.facing[agent]), step_x(w.agent.facing[agent])
    i = view.y - down * to_y - right * to_x
    j = view.x + down * to_x - right * to_y
    if 0 <= i < view.height and 0 <= j < view.width and grid[i, j, 0] != HIDDEN:
        grid[i, j, 0], grid[i, j, 1] = w.kind.value[e], w.state_of(e)
        grid[i, j, 2] = w.color.value[e]


@system(REWARD)
def follow_instruction(w: World, agent: int) -> float:
    """Pays 1 when the agent has followed its mission. If the mission has a step limit, it pays less
    the more steps were taken."""
    if w.progress.status[agent] != SUCCEEDED:
        return 0.0
    limit = w.mission.max_steps[agent]
    return success_reward(w, limit) if limit > 0 else 1.0


def may_violate(w: World, agent: int, action: int) -> bool:
    """Return True if the action toggles a door, which a strict instruction may forbid."""
    is_strict = w.progress.strict[agent] != 0
    return action == TOGGLE and is_strict and w.kind.value[ahead(w, agent)] == DOOR


@system(TERMINATING, answers=may_violate, says="You did not follow the instruction")
def instruction_ends(w: World, agent: int) -> bool:
    """The agent has followed or violated its instruction."""
    return w.progress.status[agent] != CONTINUES


@system(TERMINATING, says="You followed the instruction")
def followed_instruction(w: World, agent: int) -> bool:
    """The agent has followed its mission."""
    return w.progress.status[agent] == SUCCEEDED
