"""Fights, loot, and stairs to a new floor."""

from typing import Annotated

from components import Solid
from components.objects import EXIT
from gv_engine import AGENT, RESET, TERMINATING, TRANSITION, Bounds, Int8, World, component, system
from gv_engine.geometry import MOVES
from gv_engine.objects import object_type
from systems.building import build_rooms, put, put_agent, random_floor_cell, remove_objects
from systems.queries import all_of, beside, has_room, here, object_steps_from, stands_on, towards


@component
class Stats:
    """What an agent or a monster has, or what loot gives."""

    health: Annotated[Int8, Bounds(0, 9)] = 9
    strength: Annotated[Int8, Bounds(0, 3)] = 1
    gold: Annotated[Int8, Bounds(0, 99)] = 0


@component
class Dungeon:
    """Number of the floor, from the top."""

    floor: Annotated[Int8, Bounds(1, 9)] = 1


RAT = object_type("Rat", Stats(health=2), Solid)
BAT = object_type("Bat", Stats(health=1), Solid)
ARCHER = object_type("Archer", Stats(health=2, strength=2), Solid)
GOLD = object_type("Gold", Stats(health=0, strength=0, gold=1))
POTION = object_type("Potion", Stats(health=4, strength=0))
SWORD = object_type("Sword", Stats(health=0))
STAIRS = object_type("Stairs")


@system(RESET)
def build_floor(w: World, height: int, width: int, floors: int) -> None:
    """Build a floor of four rooms, with an exit on the last floor and stairs on the others."""
    floor = w.dungeon.floor[w.world]
    build_rooms(w, (height, width), (2, 2))
    for kind in (EXIT if floor == floors else STAIRS, RAT, BAT, ARCHER, POTION, SWORD, GOLD):
        for _ in range(floor if kind in (RAT, GOLD) else 1):
            y, x = random_floor_cell(w)
            put(w, kind, y, x)
    y, x = random_floor_cell(w)
    put_agent(w, AGENT, y, x, 0)


@system(TRANSITION, when=stands_on)
def go_down(w: World, agent: int, object_type: int, floors: int) -> None:
    """On an object of a type, go down to the next floor, which is built anew."""
    w.dungeon.floor[w.world] += 1
    remove_objects(w)
    build_floor(w, w.height, w.width, floors)


def can_hit(w: World, agent: int, action: int) -> bool:
    """Return True if the action is a move into a monster."""
    y, x = towards(w, agent, action)
    return action in MOVES and w.stats.has[w.at[y, x]] and w.solid.has[w.at[y, x]]


@system(TRANSITION, when=can_hit)
def hit(w: World, agent: int) -> None:
    """Hit the monster in the way. A dead monster leaves gold."""
    y, x = towards(w, agent, w.action[agent])
    monster = w.at[y, x]
    w.stats.health[monster] = max(0, w.stats.health[monster] - w.stats.strength[agent])
    if w.stats.health[monster] == 0:
        w.remove(monster)
        put(w, GOLD, y, x)


def is_on_loot(w: World, agent: int) -> bool:
    """Return True if the agent stands on loot."""
    return w.stats.has[here(w, agent)]


@system(TRANSITION, when=is_on_loot)
def take_loot(w: World, agent: int) -> None:
    """Drink the potion, or take the sword or the gold."""
    loot = here(w, agent)
    w.stats.health[agent] = min(9, w.stats.health[agent] + w.stats.health[loot])
    w.stats.strength[agent] = min(3, w.stats.strength[agent] + w.stats.strength[loot])
    w.stats.gold[agent] += w.stats.gold[loot]
    w.remove(loot)


def can_reach(w: World, monster: int, y: int, x: int) -> bool:
    """Return True if cell (y, x) is beside the monster, or an archer has a free line to it."""
    for way in range(4):
        to_y, to_x = beside(w.position.y[monster], w.position.x[monster], way)
        while w.kind.value[monster] == ARCHER and has_room(w, to_y, to_x):
            to_y, to_x = beside(to_y, to_x, way)
        if (to_y, to_x) == (y, x):
            return True
    return False


@system(TRANSITION)
def move_monsters(w: World, agent: int) -> None:
    """Monsters that can reach the agent hit it every second time. Other rats come closer, other
    bats flutter."""
    y, x = w.position.y[agent], w.position.x[agent]
    steps = object_steps_from(w, RAT, y, x)
    for kind in (RAT, BAT, ARCHER):
        for monster in all_of(w, kind):
            my, mx, way = w.position.y[monster], w.position.x[monster], w.rng.integers(0, 4)
            if can_reach(w, monster, y, x):
                damage = w.stats.strength[monster] * (way % 2)
                w.stats.health[agent] = max(0, w.stats.health[agent] - damage)
            elif kind == RAT:
                for other_way in range(4):
                    to_y, to_x = beside(my, mx, other_way)
                    if has_room(w, to_y, to_x) and steps[to_y, to_x] == steps[my, mx] - 1:
                        w.place(monster, to_y, to_x)
                        break
            elif kind == BAT and has_room(w, *beside(my, mx, way)):
                w.place(monster, *beside(my, mx, way))


@system(TERMINATING, says="You died")
def die(w: World, agent: int) -> bool:
    """The agent has no health left."""
    return w.stats.health[agent] == 0
