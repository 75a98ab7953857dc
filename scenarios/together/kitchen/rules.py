"""Overcooked (Carroll et al., 2019), with the rules of overcooked-ai 1.1.0.

All cooks act at once. Stations are on the ground layer, what lies on them is above. The colour of
a soup shows where it is: blue in a pot that is not hot, yellow while it cooks, green once it is
ready, and none in a dish.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

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
from systems.queries import beside, can_enter, is_assisted

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


# ---- a cook that nobody plays --------------------------------------------------------------------

FAR = 1000
"""Steps, more than any way has."""


@system(TRANSITION, when=is_assisted)
def cook_along(w: World, agent: int, values: Sequence[float], by_hand: bool = True) -> None:
    """Choose the action of a cook that nobody plays: it does what is most urgent, and of that the
    nearest, and works with whatever the others have begun. `values` and `by_hand` are those of
    `interact`."""
    y, x = w.position.y[agent], w.position.x[agent]
    ways, free_ways = find_ways(w, agent, y, x, False), find_ways(w, agent, y, x, True)
    best, at_y, at_x = 0, 0, 0
    for i in range(w.height):
        for j in range(w.width):
            if w.ground[i, j] != NOTHING and find_way_to(w, ways, i, j) < FAR:
                steps = min(find_way_to(w, free_ways, i, j) + turns_back(w, agent, i, j), FAR - 1)
                score = FAR * rate_station(w, agent, ways, i, j, values, by_hand) - steps
                if score > best:
                    best, at_y, at_x = score, i, j
    w.action[agent] = approach(w, agent, at_y, at_x, by_hand) if best > 0 else make_way(w, agent)


def turns_back(w: World, agent: int, y: int, x: int) -> int:
    """Return 3 if a cell is behind the cook, so that it keeps to what it has begun, else 0."""
    y, x = y - w.position.y[agent], x - w.position.x[agent]
    facing = w.agent.facing[agent]
    is_behind = (y > 0, y < 0, x > 0, x < 0)[facing]
    return 3 * is_behind


def find_ways(w: World, agent: int, y: int, x: int, around_others: bool) -> NDArray[np.int64]:
    """Return the number of steps between the cell (y, x) and each cell, or `FAR` if no way leads
    there. From a station, ways begin beside it. `around_others` forbids cells of other cooks."""
    ways = np.full((w.height, w.width), FAR)
    queue = np.empty(w.height * w.width + 1, np.int64)
    queue[0], length, done = y * w.width + x, 1, 0
    ways[y, x] = 0 if can_enter(w, y, x) else -1
    while done < length:
        y, x = queue[done] // w.width, queue[done] % w.width
        done += 1
        for direction in range(4):
            to_y, to_x = beside(y, x, direction)
            if can_enter(w, to_y, to_x) and ways[to_y, to_x] == FAR:
                other = w.agent_at(to_y, to_x)
                if not around_others or other in (NOTHING, agent):
                    ways[to_y, to_x] = ways[y, x] + 1
                    queue[length] = to_y * w.width + to_x
                    length += 1
    return ways


def find_way_to(w: World, ways: NDArray[np.int64], y: int, x: int) -> int:
    """Return the least number of steps to a cell beside (y, x), or `FAR`."""
    steps = FAR
    for direction in range(4):
        near_y, near_x = beside(y, x, direction)
        if w.inside(near_y, near_x):
            steps = min(steps, ways[near_y, near_x])
    return steps


def rate_station(
    w: World,
    agent: int,
    ways: NDArray[np.int64],
    y: int,
    x: int,
    values: Sequence[float],
    by_hand: bool,
) -> int:
    """Return how urgent it is for the cook to use the station in a cell, 0 if it has no use now."""
    station, thing = w.kind.value[w.ground[y, x]], w.at[y, x]
    is_free = w.agent.holding[agent] == NOTHING
    held, kind = w.kind.value[w.agent.holding[agent]], w.kind.value[thing]
    cooks = count_pots(w, ways, True) > 0  # else it hands over what others need
    hot, dishes = count_hot(w, ways if cooks else np.zeros_like(ways)), count_around(w, DISH)
    is_idle = station == POT and w.soup.left[thing] < 0
    if station == POT and is_free:
        recipe = choose_recipe(w, thing, values, by_hand)
        is_done = by_hand and is_idle and thing != NOTHING and count_missing(w, thing, recipe) == 0
        return 9 * is_done
    if station == POT and held == DISH:
        return 0 if is_idle else 9 if w.soup.left[thing] == 0 else 8
    if station == POT:
        recipe = choose_recipe(w, thing, values, by_hand)
        return 9 * (is_idle and is_missing(w, thing, recipe, held))
    if station == WINDOW:
        return 9 * (held == SOUP)
    if station == COUNTER and not is_free:
        if thing != NOTHING:
            return 0
        if not cooks or held == SOUP:
            is_last = held in (ONION, TOMATO) and count_shared(w, ways) < 2
            return 5 * (is_shared(w, ways, y, x) and not (is_last and hot > dishes - 1))
        return 1 * (hot == 0 if held == DISH else hot > dishes)
    if not is_free:
        return 0
    if station == DISHES:
        return 6 * (hot > dishes)
    if station == COUNTER and kind == SOUP:
        return 8 * serves(w, ways)
    if station == COUNTER and kind == DISH:
        return 7 * (cooks and hot > dishes - w.placed[DISH])
    ingredient = kind
    if station == ONIONS:
        ingredient = ONION
    elif station == TOMATOES:
        ingredient = TOMATO
    if ingredient not in (ONION, TOMATO):
        return 0
    missing = count_wanted(w, ways, ingredient, values, by_hand, cooks)
    if station == COUNTER:
        return 5 * (cooks and missing > count_around(w, ingredient) - w.placed[ingredient])
    return 4 * (missing > count_around(w, ingredient))


def count_pots(w: World, ways: NDArray[np.int64], is_near: bool) -> int:
    """Return the number of pots to which a way leads, or does not if not `is_near`."""
    pots = 0
    for pot in w.of_type(POT):
        pots += (find_way_to(w, ways, w.position.y[pot], w.position.x[pot]) < FAR) == is_near
    return pots


def count_hot(w: World, ways: NDArray[np.int64]) -> int:
    """Return the number of pots with a soup that cooks or is ready, of those to which a way
    leads."""
    hot = 0
    for pot in w.of_type(POT):
        soup = soup_in(w, pot)
        if soup != NOTHING and w.soup.left[soup] >= 0:
            hot += find_way_to(w, ways, w.position.y[pot], w.position.x[pot]) < FAR
    return hot


def count_around(w: World, kind: int) -> int:
    """Return the number of things of a type in hands and on counters."""
    things = w.placed[kind]
    for other in w.agents():
        things += w.kind.value[w.agent.holding[other]] == kind
    return things


def count_wanted(
    w: World,
    ways: NDArray[np.int64],
    ingredient: int,
    values: Sequence[float],
    by_hand: bool,
    cooks: bool,
) -> int:
    """Return how many of an ingredient are missing in the pots to which a way leads, and one more
    for each that is hot; for a cook who reaches no pot, in all pots, and for their next soups."""
    wanted = 0
    for pot in w.of_type(POT):
        soup = soup_in(w, pot)
        is_hot = soup != NOTHING and w.soup.left[soup] >= 0
        content = NOTHING if is_hot else soup
        recipe = choose_recipe(w, content, values, by_hand)
        missing = count_one(w, content, recipe, ingredient)
        if not cooks:
            wanted += missing
        elif find_way_to(w, ways, w.position.y[pot], w.position.x[pot]) < FAR:
            wanted += min(missing, 1) if is_hot else missing
    return wanted


def choose_recipe(w: World, soup: int, values: Sequence[float], by_hand: bool) -> int:
    """Return the recipe of the highest value that a soup can still become, with the boxes of this
    kitchen, as 4 times its onions plus its tomatoes; without one of any value, the smallest."""
    onions, tomatoes = w.soup.onions[soup], w.soup.tomatoes[soup]
    has_tomatoes = len(w.of_type(TOMATOES)) > 0
    has_onions = len(w.of_type(ONIONS)) > 0
    best, chosen = -1.0, 4 * onions + tomatoes
    for size in range(1 if by_hand else FULL, FULL + 1):
        for number in range(size + 1):
            is_more = size - number >= onions and number >= tomatoes
            can_add = (has_onions or size - number == onions) and (
                has_tomatoes or number == tomatoes
            )
            value = values[size - number + number * (9 - number) // 2 - 1]
            if is_more and can_add and value > best:
                best, chosen = value, 4 * (size - number) + number
    return chosen


def count_one(w: World, soup: int, recipe: int, ingredient: int) -> int:
    """Return how many of an ingredient a soup lacks for a recipe of `choose_recipe`."""
    if ingredient == ONION:
        return recipe // 4 - w.soup.onions[soup]
    return recipe % 4 - w.soup.tomatoes[soup]


def is_missing(w: World, soup: int, recipe: int, held: int) -> bool:
    """Return True if a thing of this type is an ingredient that a soup lacks for a recipe."""
    return held in (ONION, TOMATO) and count_one(w, soup, recipe, held) > 0


def count_missing(w: World, soup: int, recipe: int) -> int:
    """Return how many ingredients a soup lacks for a recipe."""
    return count_one(w, soup, recipe, ONION) + count_one(w, soup, recipe, TOMATO)


def serves(w: World, ways: NDArray[np.int64]) -> bool:
    """Return True if a way leads to a window."""
    for window in w.of_type(WINDOW):
        if find_way_to(w, ways, w.position.y[window], w.position.x[window]) < FAR:
            return True
    return False


def is_shared(w: World, ways: NDArray[np.int64], y: int, x: int) -> bool:
    """Return True if cooks to whom no way leads can use the station in a cell, too."""
    for direction in range(4):
        near_y, near_x = beside(y, x, direction)
        if can_enter(w, near_y, near_x) and ways[near_y, near_x] == FAR:
            return True
    return False


def count_shared(w: World, ways: NDArray[np.int64]) -> int:
    """Return the number of empty counters between the cook and others to whom no way leads."""
    shared = 0
    for counter in w.of_type(COUNTER):
        y, x = w.position.y[counter], w.position.x[counter]
        is_near = w.at[y, x] == NOTHING and find_way_to(w, ways, y, x) < FAR
        shared += is_near and is_shared(w, ways, y, x)
    return shared


def approach(w: World, agent: int, at_y: int, at_x: int, by_hand: bool) -> int:
    """Return the action that leads to the station in a cell, or uses it, or waits for it. Where
    another cook is in the way, it is sometimes a step aside."""
    y, x = w.position.y[agent], w.position.x[agent]
    for direction in range(4):
        if beside(y, x, direction) == (at_y, at_x):
            if w.agent.facing[agent] != direction:
                return direction
            return INTERACT if can_interact(w, agent, INTERACT, by_hand) else NOOP
    for around_others in (True, False):
        ways = find_ways(w, agent, at_y, at_x, around_others)
        for turn in range(4):
            direction = (w.agent.facing[agent] + turn) % 4
            to_y, to_x = beside(y, x, direction)
            is_nearer = can_enter(w, to_y, to_x) and ways[to_y, to_x] < ways[y, x] < FAR
            if is_nearer and w.agent_at(to_y, to_x) == NOTHING:
                return NOOP if gives_way(w, agent, to_y, to_x) else direction
    return step_aside(w, agent, (w.steps // 2 + agent) % 2 == 0)


def gives_way(w: World, agent: int, y: int, x: int) -> bool:
    """Return True in every second step if a cook with a lower number faces the cell, too: if both
    wanted it, both would stay."""
    for other in w.agents():
        place = beside(w.position.y[other], w.position.x[other], w.agent.facing[other])
        if other < agent and place == (y, x):
            return w.steps % 2 == 1
    return False


def make_way(w: World, agent: int) -> int:
    """Return the action of a cook with nothing to do: leave a cell beside a pot, box or window."""
    y, x = w.position.y[agent], w.position.x[agent]
    return step_aside(w, agent, count_stations(w, y, x) > 0)


def count_stations(w: World, y: int, x: int) -> int:
    """Return the number of stations other than counters beside a cell."""
    stations = 0
    for direction in range(4):
        near_y, near_x = beside(y, x, direction)
        kind = w.kind.value[w.ground[near_y, near_x]]
        stations += kind in (POT, ONIONS, TOMATOES, DISHES, WINDOW)
    return stations


def step_aside(w: World, agent: int, goes: bool) -> int:
    """Return a move to a free cell, each time another one, if it `goes` and there is one, else
    NOOP."""
    for turn in range(4):
        direction = (w.steps * 7 + agent * 3 + turn) % 4
        y, x = beside(w.position.y[agent], w.position.x[agent], direction)
        if goes and can_enter(w, y, x) and w.agent_at(y, x) == NOTHING:
            return direction
    return NOOP
