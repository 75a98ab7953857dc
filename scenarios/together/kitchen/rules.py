"""Overcooked (Carroll et al., 2019), with the rules of overcooked-ai 1.1.0.

All cooks act at once. Stations are on the ground layer, what lies on them is above. The colour of
a soup shows where it is: blue in a pot that is not hot, yellow while it cooks, green once it is
ready, and none in a dish.
"""

from collections.abc import Sequence

from components import Color, Solid
from components.core import BLUE, GREEN, NONE, RED, YELLOW
from components.objects import AGENT_TYPE
from gv_engine import (
    NOTHING,
    OBSERVATION,
    REWARD,
    TERMINATING,
    TRANSITION,
    Int8,
    Int16,
    World,
    component,
    object_type,
    system,
)
from gv_engine.geometry import MOVE_RIGHT, NOOP, named_action
from gv_engine.rules.world import View
from systems.queries import beside, can_enter

INTERACT = named_action("INTERACT")
FULL = 3
"""Ingredients of a full pot."""


@component
class Cook:
    """Agent: its reward for helping in this step."""

    helped: float = 0.0


@component
class Soup:
    """Soup: its ingredients, the number of its recipe among the states of its type, and the steps
    until it is ready, -1 before it cooks."""

    recipe: Int8 = 0
    onions: Int8 = 0
    tomatoes: Int8 = 0
    left: Int16 = -1


@component
class Kitchen:
    """Kitchen: the steps until the soups in its first two pots are ready, -1 where none cooks; the
    number of pots that a dish is useful for, and the rewards for soups in this step and so far."""

    first: Int16 = -1
    second: Int16 = -1
    pots: Int16 = 0
    paid: float = 0.0
    earned: float = 0.0


COUNTER = object_type("Counter", Solid, layer="ground")
POT = object_type("Pot", Solid, layer="ground")
ONIONS = object_type("Onions", Solid, layer="ground")
TOMATOES = object_type("Tomatoes", Solid, layer="ground")
DISHES = object_type("Dishes", Solid, layer="ground")
WINDOW = object_type("Window", Solid, layer="ground")
ONION, TOMATO, DISH = object_type("Onion"), object_type("Tomato"), object_type("Dish")
RECIPES = ("O", "OO", "OOO", "T", "OT", "OOT", "TT", "OTT", "TTT")
SOUP = object_type("Soup", Soup, Color, states=RECIPES, state=(Soup, "recipe"))


def find_fault(values: Sequence[float], times: Sequence[int]) -> str:
    """Return an error message about the rewards and times of recipes, "" if they can be."""
    for name, numbers in (("values", values), ("times", times)):
        if len(numbers) != len(RECIPES):
            return f"found {len(numbers)} {name}; expected 9, of {', '.join(RECIPES)}"
    if any(time not in range(1, 1001) for time in times):
        return f"found times {list(times)}; allowed are whole numbers from 1 to 1000"
    return ""


@system(TRANSITION)
def begin(w: World) -> None:
    """Set the rewards of the step to 0."""
    w.kitchen.paid[w.world] = 0
    for agent in w.agents():
        w.cook.helped[agent] = 0


def soup_in(w: World, pot: int) -> int:
    """Return the soup in a pot, or NOTHING."""
    return w.at[w.position.y[pot], w.position.x[pot]]


def count(w: World, soup: int) -> int:
    """Return the number of ingredients of a soup."""
    return w.soup.onions[soup] + w.soup.tomatoes[soup]


def can_interact(w: World, agent: int, action: int, by_hand: bool = True) -> bool:
    """Return True if the action is INTERACT and the station ahead has a use for what the agent
    holds, or for its empty hand."""
    if action != INTERACT:
        return False
    y, x = beside(w.position.y[agent], w.position.x[agent], w.agent.facing[agent])
    station, thing = w.kind.value[w.ground[y, x]], w.at[y, x]
    held = w.agent.holding[agent]
    if station == COUNTER:
        return (held == NOTHING) != (thing == NOTHING)
    if station == WINDOW:
        return w.soup.has[held]
    if station != POT:
        return held == NOTHING and station in (ONIONS, TOMATOES, DISHES)
    if held == NOTHING:
        return by_hand and thing != NOTHING and w.soup.left[thing] < 0
    if w.kind.value[held] == DISH:
        return w.soup.left[thing] == 0
    return not w.soup.has[held] and w.soup.left[thing] < 0 and count(w, thing) < FULL


@system(TRANSITION, when=can_interact, check=find_fault)
def interact(
    w: World,
    agent: int,
    values: Sequence[float],
    times: Sequence[int],
    by_hand: bool = True,
    potting: float = 3.0,
    dish: float = 3.0,
    soup: float = 5.0,
) -> None:
    """Use the station ahead: put down, pick up, take from a box, put an ingredient into a pot, heat
    a pot, take its soup with a dish, or serve a soup.

    Args:
        values: rewards of soups by recipe, 0 for those that nobody has ordered.
        times: steps that soups cook, by recipe.
        by_hand: pots are heated by an empty hand; else `cook` heats full ones.
        potting, dish, soup: rewards of the agent for an ingredient in a pot, for a dish from the
            box that has a use, and for a soup from a pot.
    """
    y, x = beside(w.position.y[agent], w.position.x[agent], w.agent.facing[agent])
    station, thing = w.kind.value[w.ground[y, x]], w.at[y, x]
    held = w.agent.holding[agent]
    if station == COUNTER:
        w.lift(thing)
        w.agent.holding[agent] = thing
        if held != NOTHING:
            w.place(held, y, x)
    elif station == WINDOW:
        w.kitchen.paid[w.world] += values[w.soup.recipe[held]]
        w.agent.holding[agent] = NOTHING
        w.remove(held)
    elif station == ONIONS:
        w.agent.holding[agent] = w.spawn(ONION)
    elif station == TOMATOES:
        w.agent.holding[agent] = w.spawn(TOMATO)
    elif station == DISHES:
        if needs_dish(w):
            w.cook.helped[agent] += dish
        w.agent.holding[agent] = w.spawn(DISH)
    elif held == NOTHING:
        heat(w, thing, times)
    elif w.kind.value[held] == DISH:
        w.remove(held)
        w.lift(thing)
        w.color.value[thing] = NONE
        w.agent.holding[agent] = thing
        w.cook.helped[agent] += soup
    else:
        add_ingredient(w, held, y, x)
        w.agent.holding[agent] = NOTHING
        w.cook.helped[agent] += potting


def needs_dish(w: World) -> bool:
    """Return True if there are two cooks, no dish is on a counter, and fewer are in hands than
    there were pots with a use for one when the step began."""
    dishes = 0
    for agent in w.agents():
        dishes += w.kind.value[w.agent.holding[agent]] == DISH
    return len(w.agents()) == 2 and w.placed[DISH] == 0 and dishes < w.kitchen.pots[w.world]


def heat(w: World, soup: int, times: Sequence[int]) -> None:
    """Let a soup begin to cook."""
    w.soup.left[soup] = times[w.soup.recipe[soup]]
    w.color.value[soup] = YELLOW


def add_ingredient(w: World, ingredient: int, y: int, x: int) -> None:
    """Put an ingredient into the pot in a cell."""
    if w.at[y, x] == NOTHING:
        w.place(w.spawn(SOUP), y, x)
        w.color.value[w.at[y, x]] = BLUE
    soup = w.at[y, x]
    if w.kind.value[ingredient] == ONION:
        w.soup.onions[soup] += 1
    else:
        w.soup.tomatoes[soup] += 1
    w.remove(ingredient)
    tomatoes = w.soup.tomatoes[soup]
    w.soup.recipe[soup] = w.soup.onions[soup] + tomatoes * (9 - tomatoes) // 2 - 1


def can_turn(w: World, agent: int, action: int) -> bool:
    """Return True if an action moves or does nothing."""
    return action <= MOVE_RIGHT or action == NOOP


@system(TRANSITION, when=can_turn)
def turn(w: World, agent: int) -> None:
    """Face the way of a move, and aim at the cell there if nothing is in it."""
    if w.action[agent] <= MOVE_RIGHT:
        w.agent.facing[agent] = w.action[agent]
        y, x = beside(w.position.y[agent], w.position.x[agent], w.agent.facing[agent])
        if can_enter(w, y, x):
            w.aim.y[agent], w.aim.x[agent] = y, x


@system(TRANSITION)
def cook(w: World, times: Sequence[int], by_hand: bool = True) -> None:
    """Cook the soups in hot pots for a step, and heat full pots unless that is done `by_hand`. Note
    for the next step how many pots a dish is useful for: all but those that are empty, or full and
    not hot."""
    w.kitchen.earned[w.world] += w.kitchen.paid[w.world]
    w.kitchen.first[w.world] = w.kitchen.second[w.world] = -1
    w.kitchen.pots[w.world] = 0
    for number, pot in enumerate(w.of_type(POT)):
        soup = soup_in(w, pot)
        if not by_hand and w.soup.left[soup] < 0 and count(w, soup) == FULL:
            heat(w, soup, times)
        if w.soup.left[soup] > 0:
            w.soup.left[soup] -= 1
            if w.soup.left[soup] == 0:
                w.color.value[soup] = GREEN
        if soup != NOTHING and (w.soup.left[soup] >= 0 or count(w, soup) < FULL):
            w.kitchen.pots[w.world] += 1
        if number == 0:
            w.kitchen.first[w.world] = w.soup.left[soup]
        elif number == 1:
            w.kitchen.second[w.world] = w.soup.left[soup]


@system(REWARD)
def serve(w: World) -> float:
    """Pays all agents for the soups that any of them has served."""
    return w.kitchen.paid[w.world]


@system(REWARD)
def help_along(w: World, agent: int, share: float = 1.0) -> float:
    """Pays a share of the rewards for ingredients in pots, dishes, and soups from pots."""
    return share * w.cook.helped[agent]


@system(TERMINATING)
def has_earned(w: World, goal: float) -> bool:
    """The kitchen has earned the goal, unless that is 0."""
    return 0 < goal <= w.kitchen.earned[w.world]


@system(OBSERVATION)
def show_hands(w: World, agent: int, view: View, out: tuple) -> None:
    """Show what other cooks hold in place of their colours: nothing, a tomato (red), a soup
    (green), a dish (blue) or an onion (yellow)."""
    grid, _ = out
    for other in w.agents():
        i = w.position.y[other] - w.position.y[agent] + view.y
        j = w.position.x[other] - w.position.x[agent] + view.x
        if 0 <= i < view.height and 0 <= j < view.width and grid[i, j, 0] == AGENT_TYPE:
            kind = w.kind.value[w.agent.holding[other]]
            color = YELLOW * (kind == ONION) + RED * (kind == TOMATO)
            grid[i, j, 2] = color + GREEN * (kind == SOUP) + BLUE * (kind == DISH)
