"""Transition rules: the effects of actions and of time (GridVerse specification, section 3)."""

from collections.abc import Sequence

from components.core import FLOOR
from components.items import CLOSED, LOCKED, OPEN
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import (
    BACKWARD,
    FORWARD,
    LEFT,
    RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
    Action,
    rotate,
)
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.system import TRANSITION, system
from gv_engine.rules.world import World
from systems.building import random_free_of
from systems.queries import (
    MOVES,
    ahead,
    all_of,
    all_with,
    any_on_grid,
    beside,
    can_enter,
    has_layer_for,
    has_room,
    here_with,
    is_at,
    is_free,
    neighbours,
    same_color,
    stands_on,
    top_of,
    towards,
)


def can_move(w: World, agent: int, action: int) -> bool:
    """Return True if a MOVE action leads to a cell that the agent can enter."""
    if action not in MOVES:
        return False
    y, x = towards(w, agent, action)
    # checked first for branch prediction: most cells have no agent
    return not w.is_taken(y, x) and can_enter(w, y, x)


@system(TRANSITION, when=can_move)
def move_agent(w: World, agent: int) -> None:
    """Go one cell forward, backward, left or right without turning, unless something blocks the
    way."""
    y, x = towards(w, agent, w.action[agent])
    w.stand(agent, y, x)


def can_turn(w: World, agent: int, action: int) -> bool:
    """Return True for a TURN action, which is always possible."""
    return action in (TURN_LEFT, TURN_RIGHT)


@system(TRANSITION, when=can_turn)
def turn_agent(w: World, agent: int) -> None:
    """Turn left or right by 90 degrees."""
    side = LEFT if w.action[agent] == TURN_LEFT else RIGHT
    w.agent.facing[agent] = rotate(w.agent.facing[agent], side)


def can_open(w: World, agent: int, action: int, on_action: Action = Action.ACTUATE) -> bool:
    """Return True if the door ahead is closed, or is locked and the agent holds a key of its
    colour."""
    if action != on_action:
        return False
    door = ahead(w, agent)
    held = w.agent.holding[agent]
    return w.door.status[door] == CLOSED or (
        w.door.status[door] == LOCKED and w.key.has[held] and same_color(w, held, door)
    )


@system(TRANSITION, when=can_open)
def actuate_door(w: World, agent: int, on_action: Action = Action.ACTUATE) -> None:
    """Open the door ahead. A locked door needs a key of its colour in hand, and the agent keeps
    it."""
    w.door.status[ahead(w, agent)] = OPEN


def can_pick_or_drop(
    w: World, agent: int, action: int, on_action: Action = Action.PICK_N_DROP
) -> bool:
    """Return True if an object ahead can be picked up, or the agent can drop what it holds."""
    if action != on_action:
        return False
    y, x = towards(w, agent, FORWARD)
    if not w.inside(y, x):
        return False
    thing = top_of(w, y, x) if w.between else w.at[y, x]
    if w.between and not has_layer_for(w, w.agent.holding[agent], y, x, thing):
        return False
    if thing == NOTHING:
        return w.agent.holding[agent] != NOTHING and w.agent_at(y, x) == NOTHING
    return w.portable.has[thing]


@system(TRANSITION, when=can_pick_or_drop)
def pickndrop(w: World, agent: int, on_action: Action = Action.PICK_N_DROP) -> None:
    """Pick up the object ahead, drop the object in hand, or swap the two."""
    y, x = towards(w, agent, FORWARD)
    thing = top_of(w, y, x) if w.between else w.at[y, x]
    held = w.agent.holding[agent]
    w.lift(thing)
    if held != NOTHING:
        w.place(held, y, x)
    w.agent.holding[agent] = thing


def can_pick_up(w: World, agent: int, action: int, on_action: Action = Action.PICK_UP) -> bool:
    """Return True if an object ahead can be picked up and the agent's hand is empty."""
    if action != on_action or w.agent.holding[agent] != NOTHING:
        return False
    return w.portable.has[ahead(w, agent)]


@system(TRANSITION, when=can_pick_up)
def pick_up(w: World, agent: int, on_action: Action = Action.PICK_UP) -> None:
    """Pick up the object ahead with an empty hand."""
    pickndrop(w, agent)


def can_drop(w: World, agent: int, action: int, on_action: Action = Action.DROP) -> bool:
    """Return True if the agent holds an object and the cell ahead has no object and no agent."""
    if action != on_action or w.agent.holding[agent] == NOTHING:
        return False
    y, x = towards(w, agent, FORWARD)
    if w.between and not has_layer_for(w, w.agent.holding[agent], y, x):
        return False
    return is_free(w, y, x) and w.agent_at(y, x) == NOTHING


@system(TRANSITION, when=can_drop)
def drop(w: World, agent: int, on_action: Action = Action.DROP) -> None:
    """Drop the object in hand into the free cell ahead."""
    pickndrop(w, agent)


def can_unbox(w: World, agent: int, action: int, on_action: Action = Action.ACTUATE) -> bool:
    """Return True if a box is ahead."""
    return action == on_action and w.box.has[ahead(w, agent)]


@system(TRANSITION, when=can_unbox)
def actuate_box(w: World, agent: int, on_action: Action = Action.ACTUATE) -> None:
    """Open the box ahead: its content takes its place."""
    box = ahead(w, agent)
    content = w.box.content[box]
    y, x = w.position.y[box], w.position.x[box]
    w.remove(box)
    if content != NOTHING:
        w.place(content, y, x)


def can_toggle(w: World, agent: int, action: int, on_action: Action = Action.TOGGLE) -> bool:
    """Return True if ahead is a box, a door that can be opened, or an open door with no agent in
    it."""
    if action != on_action:
        return False
    thing = ahead(w, agent)
    if w.door.has[thing] and w.door.status[thing] == OPEN:
        return w.agent_at(w.position.y[thing], w.position.x[thing]) == NOTHING
    return w.box.has[thing] or can_open(w, agent, action, on_action)


@system(TRANSITION, when=can_toggle)
def toggle(w: World, agent: int, on_action: Action = Action.TOGGLE) -> None:
    """Open the door ahead as `actuate_door` does, or close it, or open the box ahead."""
    thing = ahead(w, agent)
    if w.box.has[thing]:
        actuate_box(w, agent)
    else:
        w.door.status[thing] = CLOSED if w.door.status[thing] == OPEN else OPEN


@system(TRANSITION)
def move_obstacles(w: World) -> None:
    """Move every moving obstacle to a random free cell beside it."""
    for obstacle in all_with(w, w.moving_obstacle):
        cells = neighbours(w.position.y[obstacle], w.position.x[obstacle])
        y, x = random_free_of(w, cells, w.kind.value[obstacle])
        if w.inside(y, x):
            w.place(obstacle, y, x)


def is_on_telepod(w: World, agent: int) -> bool:
    """Return True if the agent stands on a telepod."""
    return here_with(w, agent, w.telepod) != NOTHING


@system(TRANSITION, when=is_on_telepod)
def teleport(w: World, agent: int) -> None:
    """Move an agent on a telepod to another free telepod of the same colour, if there is one."""
    telepod = here_with(w, agent, w.telepod)
    targets = [
        other
        for other in all_with(w, w.telepod)
        if other != telepod
        and same_color(w, other, telepod)
        and not w.is_taken(w.position.y[other], w.position.x[other])
    ]
    if len(targets) > 0:
        target = targets[w.rng.choice(len(targets))]
        w.stand(agent, w.position.y[target], w.position.x[target])


def _check_has_states(types: ObjectTypes, object_type: int, other_type: int = FLOOR) -> str:
    kinds = [types[kind] for kind in (object_type, other_type) if kind != FLOOR]
    missing = [kind.name for kind in kinds if kind.num_states == 1]
    return f"{missing[0]} has only one state" if missing else ""


def can_switch(
    w: World,
    agent: int,
    action: int,
    object_type: int,
    again: bool = True,
    on_action: Action = Action.ACTUATE,
) -> bool:
    """Return True if the action acts on an object of this type ahead that has a next state; if
    `again`, the first state follows the last."""
    thing = ahead(w, agent)
    if action != on_action or w.kind.value[thing] != object_type:
        return False
    return again or w.state_of(thing) < w.num_states(object_type) - 1


@system(TRANSITION, when=can_switch, check=_check_has_states)
def switch(
    w: World, agent: int, object_type: int, again: bool = True, on_action: Action = Action.ACTUATE
) -> None:
    """Set the object of a type ahead to its next state. If states repeat, the first follows the
    last."""
    thing = ahead(w, agent)
    w.set_state(thing, (w.state_of(thing) + 1) % w.num_states(object_type))


@system(TRANSITION, check=_check_has_states)
def elapse(w: World, object_type: int, again: bool = True) -> None:
    """Set all objects of a type to their next state in each step. If states repeat, the first
    follows the last."""
    last = w.num_states(object_type) - 1
    for thing in all_of(w, object_type):
        state = w.state_of(thing)
        if again or state < last:
            w.set_state(thing, 0 if state == last else state + 1)


@system(TRANSITION, check=_check_has_states)
def follow(w: World, object_type: int, other_type: int, every: bool = False) -> None:
    """Set objects of a type to the highest state that an object of another type in the same colour
    has, or to the lowest if every object has to reach it, but at most to their own last state."""
    others = all_of(w, other_type)
    last = w.num_states(object_type) - 1
    for thing in all_of(w, object_type):
        new_state = -1  # none yet
        for other in others:
            if same_color(w, other, thing):
                state = min(w.state_of(other), last)
                is_lower = state < new_state
                if new_state < 0 or is_lower == every:
                    new_state = state
        if new_state >= 0 and new_state != w.state_of(thing):
            w.set_state(thing, new_state)


RELEASED, PRESSED = range(2)
"""States of an object that `hold_down` changes."""


@system(TRANSITION, when=any_on_grid, check=_check_has_states)
def hold_down(w: World, object_type: int) -> None:
    """Set objects of a type to their second state while an agent stands on them, else to their
    first state. On the ground, another object holds them down, too. Objects in later states stay in
    their state."""
    for thing in all_of(w, object_type):
        if w.state_of(thing) in (RELEASED, PRESSED):
            y, x = w.position.y[thing], w.position.x[thing]
            is_pressed = w.agent_at(y, x) != NOTHING
            if w.on_ground(object_type):
                is_pressed |= (top_of(w, y, x) if w.between else w.at[y, x]) != NOTHING
            w.set_state(thing, PRESSED if is_pressed else RELEASED)


def find_row_end(
    w: World, agent: int, action: int, object_type: int, rows: bool
) -> tuple[int, int]:
    """Return the cell (y, x) of the last object that a MOVE action pushes: usually the object
    ahead. If `rows` is True, a row of objects of this type is pushed together, and the cell is that
    of the last one."""
    y, x = towards(w, agent, action)
    if rows:
        next_y, next_x = cell_behind(w, agent, action, y, x)
        while w.inside(next_y, next_x) and w.kind.value[w.at[next_y, next_x]] == object_type:
            y, x = next_y, next_x
            next_y, next_x = cell_behind(w, agent, action, y, x)
    return y, x


def cell_behind(w: World, agent: int, action: int, y: int, x: int) -> tuple[int, int]:
    """Return the cell beside (y, x) in the direction of a MOVE action."""
    return beside(y, x, rotate(w.agent.facing[agent], action))


def can_push(
    w: World,
    agent: int,
    action: int,
    object_type: int,
    other_type: int = FLOOR,
    rows: bool = False,
) -> bool:
    """Return True if the MOVE action leads into an object of this type that can be pushed. The cell
    behind it must be free, or have an object of `other_type` that receives it. With `rows`, a row
    of such objects counts as one object."""
    if action not in MOVES:
        return False
    y, x = towards(w, agent, action)
    if not w.inside(y, x) or w.kind.value[w.at[y, x]] != object_type:
        return False
    y, x = find_row_end(w, agent, action, object_type, rows)
    y, x = cell_behind(w, agent, action, y, x)
    return w.inside(y, x) and (find_receiver(w, y, x, other_type) != NOTHING or has_room(w, y, x))


def find_receiver(w: World, y: int, x: int, object_type: int) -> int:
    """Return the object of this type in cell (y, x) if it can receive a pushed object, as a hole
    receives a box. Return NOTHING if it cannot, or if there is none.

    Such an object is not yet in its last state and has no other object on top.
    """
    other, thing = w.on_layer_of(object_type, y, x), w.at[y, x]
    if not is_at(w, y, x, object_type) or (thing != NOTHING and thing != other):
        return NOTHING
    return other if w.state_of(other) < w.num_states(object_type) - 1 else NOTHING


@system(
    TRANSITION, when=can_push, check=lambda types, other_type: _check_has_states(types, other_type)
)
def push(
    w: World,
    agent: int,
    object_type: int,
    other_type: int = FLOOR,
    ground_type: int = FLOOR,
    rows: bool = False,
) -> None:
    """Push an object of a type out of the way of a move, into a free cell or into an object of
    another type. In the second case the pushed object is used up, and the receiving object stays in
    its last state. The pushed object slides on over objects of a third type, such as ice. With
    `rows`, all objects of the type that stand in a row are pushed at once."""
    action = w.action[agent]
    y, x = find_row_end(w, agent, action, object_type, rows)
    push_one(w, agent, y, x, other_type, ground_type)
    from_y, from_x = towards(w, agent, action)
    while (y, x) != (from_y, from_x):
        before_y, before_x = beside(y, x, rotate(w.agent.facing[agent], rotate(action, BACKWARD)))
        w.place(w.at[before_y, before_x], y, x)
        y, x = before_y, before_x


def push_one(w: World, agent: int, y: int, x: int, other_type: int, ground_type: int) -> None:
    """Move the object in cell (y, x) one cell in the direction of the agent's MOVE action, and on
    over objects of `ground_type`. An object of `other_type` in the way uses it up; anything else
    stops it."""
    thing = w.at[y, x]
    y, x = cell_behind(w, agent, w.action[agent], y, x)
    while find_receiver(w, y, x, other_type) == NOTHING and has_room(w, y, x):
        w.place(thing, y, x)
        if not is_at(w, y, x, ground_type):
            return
        y, x = cell_behind(w, agent, w.action[agent], y, x)
    if w.inside(y, x):
        other = find_receiver(w, y, x, other_type)
        if other != NOTHING:
            w.use_up(thing)
            w.set_state(other, w.num_states(other_type) - 1)


def can_slide(w: World, agent: int, action: int, object_type: int) -> bool:
    """Return True if the agent stands on an object of the type and its MOVE action leads to a cell
    that it can enter."""
    return stands_on(w, agent, object_type) and can_move(w, agent, action)


@system(TRANSITION, when=can_slide)
def slide(w: World, agent: int, object_type: int) -> None:
    """Let an agent that moves onto an object of a type, such as ice, slide on in that direction
    until something stops it or the surface ends."""
    while can_slide(w, agent, w.action[agent], object_type):
        y, x = towards(w, agent, w.action[agent])
        w.stand(agent, y, x)


@system(TRANSITION, when=stands_on)
def use_up(w: World, agent: int, object_type: int) -> None:
    """Use up the object of a type on which the agent stands."""
    w.use_up(w.on_layer_of(object_type, w.position.y[agent], w.position.x[agent]))


@system(TRANSITION)
def chain(w: World, transition_functions: Sequence[None]) -> None:
    """Run several transitions in order."""
