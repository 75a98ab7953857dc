"""Rules about whole numbers of components: hit points, cooldowns, and numbers of things in a bag.

The rules keep a number from 0 to its declared maximum. A `cooldown` is a number that such a rule
sets to `cooldown_steps` when it acts, and the rule does not act again until `cool_down` has lowered
it to 0.
"""

from gv_engine.rules.component import column_name
from gv_engine.rules.geometry import Action
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.system import (
    REWARD,
    TERMINATING,
    TRANSITION,
    AgentNumber,
    ObjectNumber,
    system,
)
from gv_engine.rules.world import World
from systems.queries import ahead, all_with, is_at, neighbours, stands_on


def read_number(w: World, agent: int, number: AgentNumber) -> int:
    """Return a number of the agent."""
    return w.numbers(number)[agent]


def lower(w: World, e: int, number: ObjectNumber, amount: int) -> None:
    """Lower a number of an object or agent by `amount`, but not below 0."""
    numbers = w.numbers(number)
    if numbers[e] > 0:
        numbers[e] = max(numbers[e] - amount, 0)


def is_rested(w: World, agent: int, cooldown: AgentNumber) -> bool:
    """Return True if the agent's number `cooldown` is 0, or if there is no cooldown ("")."""
    return cooldown == "" or w.numbers(cooldown)[agent] <= 0


def start_cooldown(w: World, agent: int, cooldown: AgentNumber, cooldown_steps: int) -> None:
    """Set the agent's number `cooldown`, if there is one, to `cooldown_steps`."""
    if cooldown != "":
        w.numbers(cooldown)[agent] = cooldown_steps


def check_amount(amount: int) -> str:
    """Return an error message if an amount is not positive, else ""."""
    return "" if amount > 0 else f"found amount {amount}, expected at least 1"


def check_cooldown(amount: int, cooldown: AgentNumber, cooldown_steps: int) -> str:
    """Return an error message if an amount is not positive, or if `cooldown_steps` is without
    `cooldown`; else ""."""
    if cooldown_steps != 0 and cooldown == "":
        return "cooldown_steps needs the number that counts it, such as cooldown: Sword.rest"
    if cooldown_steps < 0:
        return f"found cooldown_steps {cooldown_steps}, expected at least 0"
    return check_amount(amount)


def can_be_hurt(
    w: World,
    agent: int,
    object_type: int,
    number: AgentNumber,
    beside: bool = False,
    cooldown: AgentNumber = "",
) -> bool:
    """Return True if an object of a type is in the agent's cell, or also in one next to it if
    `beside`, and the agent's number is above 0 and its cooldown is over."""
    if w.numbers(number)[agent] <= 0 or not is_rested(w, agent, cooldown):
        return False
    y, x = w.position.y[agent], w.position.x[agent]
    is_near = is_at(w, y, x, object_type)
    if beside:
        for to_y, to_x in neighbours(y, x):
            is_near |= w.inside(to_y, to_x) and is_at(w, to_y, to_x, object_type)
    return is_near


@system(TRANSITION, when=can_be_hurt, check=check_cooldown)
def hurt(
    w: World,
    agent: int,
    object_type: int,
    number: AgentNumber,
    amount: int = 1,
    beside: bool = False,
    cooldown: AgentNumber = "",
    cooldown_steps: int = 0,
) -> None:
    """Lower a number of the agent, such as its hit points, if an object of a type is in its cell,
    or on request also if one is beside it. Until a cooldown of
    `cooldown_steps` steps is over, the rule does not hurt the agent again."""
    lower(w, agent, number, amount)
    start_cooldown(w, agent, cooldown, cooldown_steps)


def check_hit(
    types: ObjectTypes,
    object_type: int,
    number: ObjectNumber,
    amount: int,
    cooldown: AgentNumber,
    cooldown_steps: int,
) -> str:
    """Return an error message if objects of the type lack the component of a number, or as
    `check_cooldown` does; else ""."""
    kind, column = types[object_type], number.partition(".")[0]
    for cls in kind.component_classes:
        if column_name(cls) == column:
            return check_cooldown(amount, cooldown, cooldown_steps)
    return f"{kind.name} has no component with this number; list it under its `components`"


def can_hit(
    w: World,
    agent: int,
    action: int,
    object_type: int,
    cooldown: AgentNumber = "",
    on_action: Action = Action.ACTUATE,
) -> bool:
    """Return True if the action hits an object of a type ahead, and the agent's cooldown is
    over."""
    is_ahead = action == on_action and w.kind.value[ahead(w, agent)] == object_type
    return is_ahead and is_rested(w, agent, cooldown)


@system(TRANSITION, when=can_hit, check=check_hit)
def hit(
    w: World,
    agent: int,
    object_type: int,
    number: ObjectNumber,
    amount: int = 1,
    cooldown: AgentNumber = "",
    cooldown_steps: int = 0,
    on_action: Action = Action.ACTUATE,
) -> None:
    """Lower a number, such as hit points, of the object ahead if it is of a type. At 0, the object
    is used up. `cooldown` is a number of the agent that is set to `cooldown_steps`; the
    agent cannot hit again until it is 0."""
    thing = ahead(w, agent)
    lower(w, thing, number, amount)
    if w.numbers(number)[thing] <= 0:
        w.use_up(thing)
    start_cooldown(w, agent, cooldown, cooldown_steps)


def can_gain(w: World, agent: int, object_type: int, number: AgentNumber) -> bool:
    """Return True if the agent stands on an object of a type, and its number is below the
    maximum."""
    return stands_on(w, agent, object_type) and w.numbers(number)[agent] < w.maximum_of(number)


@system(TRANSITION, when=can_gain, check=check_amount)
def heal(w: World, agent: int, object_type: int, number: AgentNumber, amount: int = 1) -> None:
    """Raise a number of the agent in every step in which it stands on an object of a type, up to
    the maximum of the number. The object stays."""
    numbers = w.numbers(number)
    numbers[agent] = min(numbers[agent] + amount, w.maximum_of(number))


@system(TRANSITION, when=can_gain, check=check_amount)
def collect_into(
    w: World, agent: int, object_type: int, number: AgentNumber, amount: int = 1
) -> None:
    """Use up the object of a type on which the agent stands, and raise a number of the agent. At
    the maximum of the number, the object stays."""
    heal(w, agent, object_type, number, amount)
    w.use_up(w.on_layer_of(object_type, w.position.y[agent], w.position.x[agent]))


def can_spend(
    w: World,
    agent: int,
    action: int,
    object_type: int,
    number: AgentNumber,
    amount: int = 1,
    on_action: Action = Action.ACTUATE,
) -> bool:
    """Return True if the action pays for an object of a type ahead that is not in its last state,
    and the agent's number is at least `amount`."""
    thing = ahead(w, agent)
    if action != on_action or w.kind.value[thing] != object_type:
        return False
    last = w.num_states(object_type) - 1
    return (last == 0 or w.state_of(thing) < last) and w.numbers(number)[agent] >= amount


@system(TRANSITION, when=can_spend, check=check_amount)
def spend(
    w: World,
    agent: int,
    object_type: int,
    number: AgentNumber,
    amount: int = 1,
    on_action: Action = Action.ACTUATE,
) -> None:
    """Lower a number of the agent to pay for the object of a type ahead, which changes to its next
    state. If it has only one state, it is used up."""
    lower(w, agent, number, amount)
    thing = ahead(w, agent)
    if w.num_states(object_type) == 1:
        w.use_up(thing)
    else:
        w.set_state(thing, w.state_of(thing) + 1)


@system(TRANSITION, check=check_amount)
def cool_down(w: World, number: ObjectNumber, amount: int = 1) -> None:
    """Lower a number, such as the rest of a cooldown, of all agents and of all objects on the grid
    that have it, down to 0."""
    columns = w.columns(number)
    for agent in w.agents():
        if columns.has[agent]:
            lower(w, agent, number, amount)
    for thing in all_with(w, columns):
        lower(w, thing, number, amount)


@system(REWARD, remember=read_number)
def gain(w: World, agent: int, was: float, number: AgentNumber, reward: float = 1.0) -> float:
    """Pays `reward` for each unit by which a number of the agent has risen in this step, and takes
    it back for each unit by which it has fallen."""
    return reward * (read_number(w, agent, number) - was)


@system(TERMINATING)
def number_at_least(w: World, agent: int, number: AgentNumber, value: int = 1) -> bool:
    """A number of the agent is at least `value`."""
    return read_number(w, agent, number) >= value


@system(TERMINATING)
def number_at_most(w: World, agent: int, number: AgentNumber, value: int = 0) -> bool:
    """A number of the agent is at most `value`."""
    return read_number(w, agent, number) <= value
