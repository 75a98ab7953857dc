"""Crafter (Hafner, 2021) with the rules of Craftax-Classic (Matthews and others, 2024): a player
gathers, makes tools, fights, eats, drinks and sleeps in a generated world. See docs/worlds.md."""

import math
from enum import IntEnum
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from components.items import Solid
from gv_engine import (
    AGENT,
    NOTHING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Array,
    Bounds,
    Int8,
    Int16,
    World,
    component,
    object_type,
    system,
)
from gv_engine.geometry import BACKWARD, FORWARD, LEFT, MOVE_RIGHT, RIGHT, named_action
from gv_engine.rules.world import View
from systems.building import put_agent
from systems.queries import beside

DO, SLEEP, PLACE_STONE, PLACE_TABLE, PLACE_FURNACE, PLACE_PLANT = map(
    named_action, ("DO", "SLEEP", "PLACE_STONE", "PLACE_TABLE", "PLACE_FURNACE", "PLACE_PLANT")
)
MOST = 9
"""Maximum of health, food, drink, energy, and of each item in the bag."""
DAY = 300
DAYLIGHT = np.array([1 - abs(math.cos(math.pi * (step / DAY + 0.3))) ** 3 for step in range(DAY)])
"""Daylight by step of the day, from 0 at midnight, step 210, to 1."""
FAR = 14
"""Steps from the player, up or down and across, at which creatures vanish."""
MAX_COWS, MAX_ZOMBIES, MAX_SKELETONS, MAX_ARROWS, MAX_PLANTS = 3, 3, 2, 3, 10
RIPE_AGE = 600
TRIES = 32
"""Random cells that are tried for a new creature."""


Item = IntEnum(
    "Item",
    "WOOD STONE COAL IRON DIAMOND SAPLING "
    "WOOD_PICKAXE STONE_PICKAXE IRON_PICKAXE WOOD_SWORD STONE_SWORD IRON_SWORD",
    start=0,
)
"""Item of the bag; the tools come last."""
Deed = IntEnum(
    "Deed",
    "COLLECT_WOOD PLACE_TABLE EAT_COW COLLECT_SAPLING COLLECT_DRINK MAKE_WOOD_PICKAXE "
    "MAKE_WOOD_SWORD PLACE_PLANT DEFEAT_ZOMBIE COLLECT_STONE PLACE_STONE EAT_PLANT DEFEAT_SKELETON "
    "MAKE_STONE_PICKAXE MAKE_STONE_SWORD WAKE_UP PLACE_FURNACE COLLECT_COAL COLLECT_IRON "
    "COLLECT_DIAMOND MAKE_IRON_PICKAXE MAKE_IRON_SWORD",
    start=0,
)
"""Achievement, in the order of Craftax-Classic."""
TOOLS = [item.name for item in Item if item >= Item.WOOD_PICKAXE]
MAKE = tuple(named_action(f"MAKE_{tool}") for tool in TOOLS)
MADE = np.array([Deed[f"MAKE_{tool}"] for tool in TOOLS], np.int64)
"""Action and achievement of each tool."""
COSTS = np.array([(1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 1)])
"""Wood, stone, coal and iron for a tool of wood, of stone, and of iron."""


@component
class Vitals:
    """Needs of the player, and the counters that change them, in half steps."""

    health: Annotated[Int8, Bounds(0, MOST)] = MOST
    food: Annotated[Int8, Bounds(0, MOST)] = MOST
    drink: Annotated[Int8, Bounds(0, MOST)] = MOST
    energy: Annotated[Int8, Bounds(0, MOST)] = MOST
    asleep: bool = False
    hunger: Int8 = 0
    thirst: Int8 = 0
    fatigue: Int8 = 0
    recovery: Int8 = 0


@component
class Bag:
    """Number of each item that the player has."""

    counts: Annotated[Int16, Bounds(0, MOST), Array(Item)] = 0


@component
class Deeds:
    """Achievements that the player has unlocked, and their number."""

    unlocked: Annotated[Int8, Bounds(0, 1), Array(Deed)] = 0
    total: Annotated[Int8, Bounds(0, len(Deed))] = 0


@component
class Sky:
    """Daylight."""

    daylight: Annotated[float, Bounds(0, 1)] = float(DAYLIGHT[0])


@component
class Creature:
    """Health of a creature, and the steps until it can attack again."""

    health: Int8 = 3
    cooldown: Int8 = 0


@component
class Flight:
    """Direction of an arrow."""

    direction: Annotated[Int8, Bounds(FORWARD, RIGHT)] = FORWARD


@component
class Crop:
    """Age of a plant in steps, and whether it is ripe."""

    age: Int16 = 0
    stage: Annotated[Int8, Bounds(0, 1)] = 0


GRASS, SAND, PATH, LAVA = (
    object_type(name, layer="terrain") for name in ("Grass", "Sand", "Path", "Lava")
)
WATER, STONE, TREE, COAL, IRON, DIAMOND, TABLE, FURNACE = (
    object_type(name, Solid, layer="terrain")
    for name in ("Water", "Stone", "Tree", "Coal", "Iron", "Diamond", "Table", "Furnace")
)
COW, ZOMBIE, SKELETON = (
    object_type(name, Solid, Creature) for name in ("Cow", "Zombie", "Skeleton")
)
ARROW = object_type(
    "Arrow", Solid, Flight, states=("UP", "DOWN", "LEFT", "RIGHT"), state=(Flight, "direction")
)
PLANT = object_type("Plant", Solid, Crop, states=("YOUNG", "RIPE"), state=(Crop, "stage"))
YOUNG, RIPE = 0, 1


# ---- the world -----------------------------------------------------------------------------------


@system(RESET)
def make_world(w: World, size: int) -> None:
    """Generate a world of `size` rows and columns by smooth noise: grassland with trees, lakes with
    beaches, and mountains with caves, tunnels, ores and lava. The player stands in the middle, on
    grass. There is always a diamond if there is stone. Creatures come later, see `spawn`."""
    w.set_shape(size, size)
    mountain = add_noise(w, add_noise(w, np.zeros((size, size)), 0.8, 14, 14), 0.2, 5, 5)
    water = add_noise(w, add_noise(w, np.zeros((size, size)), 0.85, 14, 14), 0.15, 5, 5)
    cave = add_noise(w, np.zeros((size, size)), 1.0, 6, 6)
    across = add_noise(w, np.zeros((size, size)), 1.0, 4, 16)
    down = add_noise(w, np.zeros((size, size)), 1.0, 16, 4)
    heat = add_noise(w, np.zeros((size, size)), 1.0, 5, 5)
    wood = add_noise(w, np.zeros((size, size)), 1.0, 7, 7)
    middle = size // 2
    for y in range(size):
        for x in range(size):
            start = max(0.0, 1.0 - (abs(y - middle) + abs(x - middle)) / 6)
            height, tunnel = mountain[y, x] - start, max(across[y, x], down[y, x])
            if height > 0.56:
                kind = choose_rock(w, height, cave[y, x], tunnel, heat[y, x])
            else:
                kind = choose_plain(w, water[y, x] - start, wood[y, x])
            w.pave(y, x, kind)
    y, x = w.rng.integers(size), w.rng.integers(size)
    tries = 0
    while w.placed[DIAMOND] == 0 and w.placed[STONE] > 0 and tries < size * size:
        if w.kind.value[w.ground[y, x]] == STONE:
            w.pave(y, x, DIAMOND)
        x += 1
        y, x = (y + x // size) % size, x % size
        tries += 1
    put_agent(w, AGENT, middle, middle, FORWARD)


def add_noise(
    w: World, noise: NDArray[np.float64], strength: float, height: int, width: int
) -> NDArray[np.float64]:
    """Add smooth noise from 0 to `strength` to a (size, size) array and return it: random numbers
    at the corners of tiles of `height` times `width` cells, and values between them."""
    size = len(noise)
    points, lines = np.empty(size // width + 2), np.empty((size // height + 2, size))
    for i in range(len(lines)):
        for j in range(len(points)):
            points[j] = strength * w.rng.random()
        for x in range(size):
            left = x // width
            bend = soften((x - left * width) / width)
            lines[i, x] = points[left] + bend * (points[left + 1] - points[left])
    for y in range(size):
        top = y // height
        down = soften((y - top * height) / height)
        line, above, below = noise[y], lines[top], lines[top + 1]
        for x in range(size):
            line[x] += above[x] + down * (below[x] - above[x])
    return noise


def soften(share: float) -> float:
    """Return a number that rises from 0 to 1 with `share`, slowly at both ends."""
    return share * share * (3 - 2 * share)


def choose_rock(w: World, height: float, cave: float, tunnel: float, heat: float) -> int:
    """Return a type of terrain for a cell in the mountains, from the noise there."""
    if (height > 0.62 and cave > 0.7) or tunnel > 0.79:
        return PATH
    if height > 0.66 and heat > 0.72:
        return LAVA
    chance = w.rng.random()
    if chance < 0.04:
        return COAL
    if chance < 0.065:
        return IRON
    return DIAMOND if height > 0.64 and chance > 0.993 else STONE


def choose_plain(w: World, water: float, wood: float) -> int:
    """Return a type of terrain for a cell outside the mountains, from the noise there."""
    if water > 0.58:
        return WATER if water > 0.63 else SAND
    return TREE if wood > 0.5 and w.rng.random() > 0.75 else GRASS


def is_open(w: World, y: int, x: int) -> bool:
    """Return True if a cell is on the grid, without a creature, plant or arrow, and its terrain
    lets others in, as lava does."""
    return w.inside(y, x) and w.at[y, x] == NOTHING and not w.solid.has[w.ground[y, x]]


# ---- the player ----------------------------------------------------------------------------------


@system(TRANSITION)
def act(w: World, agent: int) -> None:
    """Carry out the action of a player who is awake: walk, use what is ahead, place or make."""
    action = w.action[agent]
    if w.vitals.asleep[agent]:
        return
    if action <= MOVE_RIGHT:
        w.agent.facing[agent] = action
        y, x = beside(w.position.y[agent], w.position.x[agent], action)
        if is_open(w, y, x):
            w.stand(agent, y, x)
        return
    y, x = beside(w.position.y[agent], w.position.x[agent], w.agent.facing[agent])
    if action == DO:
        if w.inside(y, x):
            use(w, agent, y, x)
    elif action == PLACE_STONE:
        is_water = w.kind.value[w.ground[y, x]] == WATER and w.at[y, x] == NOTHING
        if is_water or is_open(w, y, x):
            build(w, agent, y, x, STONE, Item.STONE, 1, Deed.PLACE_STONE)
    elif action == PLACE_TABLE:
        if is_open(w, y, x):
            build(w, agent, y, x, TABLE, Item.WOOD, 2, Deed.PLACE_TABLE)
    elif action == PLACE_FURNACE:
        if is_open(w, y, x):
            build(w, agent, y, x, FURNACE, Item.STONE, 1, Deed.PLACE_FURNACE)
    elif action == PLACE_PLANT:
        plant(w, agent, y, x)
    else:
        for tool in range(len(MAKE)):
            if action == MAKE[tool]:
                make(w, agent, tool)


def unlock(w: World, agent: int, deed: int) -> None:
    """Unlock an achievement, if it is not unlocked yet."""
    if w.deeds.unlocked[agent, deed] == 0:
        w.deeds.unlocked[agent, deed] = 1
        w.deeds.total[agent] += 1


def use(w: World, agent: int, y: int, x: int) -> None:
    """Hit the creature in a cell, eat the ripe plant there, or else collect its terrain."""
    thing = w.at[y, x]
    kind = w.kind.value[thing]
    if w.creature.has[thing]:
        hit(w, agent, thing, kind)
    elif kind == PLANT:
        if w.crop.stage[thing] == RIPE:
            w.crop.stage[thing] = YOUNG
            w.crop.age[thing] = 0
            eat(w, agent, 4, Deed.EAT_PLANT)
    else:
        collect(w, agent, y, x)


def hit(w: World, agent: int, creature: int, kind: int) -> None:
    """Hit a creature of a type with the best sword in the bag; if it dies, remove it and unlock its
    achievement. A cow is eaten."""
    if w.bag.counts[agent, Item.IRON_SWORD] > 0:
        damage = 5
    elif w.bag.counts[agent, Item.STONE_SWORD] > 0:
        damage = 3
    else:
        damage = 2 if w.bag.counts[agent, Item.WOOD_SWORD] > 0 else 1
    w.creature.health[creature] -= damage
    if w.creature.health[creature] <= 0:
        w.remove(creature)
        if kind == COW:
            eat(w, agent, 6, Deed.EAT_COW)
        else:
            unlock(w, agent, Deed.DEFEAT_ZOMBIE if kind == ZOMBIE else Deed.DEFEAT_SKELETON)


def eat(w: World, agent: int, food: int, deed: int) -> None:
    """Raise the player's food, end the hunger, and unlock an achievement."""
    w.vitals.food[agent] = min(MOST, w.vitals.food[agent] + food)
    w.vitals.hunger[agent] = 0
    unlock(w, agent, deed)


def collect(w: World, agent: int, y: int, x: int) -> None:
    """Drink the water in a cell, look for a sapling in its grass, or gather its wood, stone or ore
    if the bag has the pickaxe for it."""
    kind = w.kind.value[w.ground[y, x]]
    if kind == WATER:
        w.vitals.drink[agent] = min(MOST, w.vitals.drink[agent] + 1)
        w.vitals.thirst[agent] = 0
        unlock(w, agent, Deed.COLLECT_DRINK)
    elif kind == GRASS:
        if w.rng.random() < 0.1:
            gain(w, agent, Item.SAPLING, Deed.COLLECT_SAPLING)
    elif kind == TREE:
        w.pave(y, x, GRASS)
        gain(w, agent, Item.WOOD, Deed.COLLECT_WOOD)
    elif kind == STONE:
        mine(w, agent, y, x, Item.WOOD_PICKAXE, Item.STONE, Deed.COLLECT_STONE)
    elif kind == COAL:
        mine(w, agent, y, x, Item.WOOD_PICKAXE, Item.COAL, Deed.COLLECT_COAL)
    elif kind == IRON:
        mine(w, agent, y, x, Item.STONE_PICKAXE, Item.IRON, Deed.COLLECT_IRON)
    elif kind == DIAMOND:
        mine(w, agent, y, x, Item.IRON_PICKAXE, Item.DIAMOND, Deed.COLLECT_DIAMOND)


def gain(w: World, agent: int, item: int, deed: int) -> None:
    """Put an item into the bag, up to the maximum, and unlock an achievement."""
    w.bag.counts[agent, item] = min(MOST, w.bag.counts[agent, item] + 1)
    unlock(w, agent, deed)


def mine(w: World, agent: int, y: int, x: int, pickaxe: int, item: int, deed: int) -> None:
    """Gather an item from a cell and leave a path there, if the bag has the pickaxe."""
    if w.bag.counts[agent, pickaxe] > 0:
        w.pave(y, x, PATH)
        gain(w, agent, item, deed)


def build(
    w: World, agent: int, y: int, x: int, kind: int, item: int, needed: int, deed: int
) -> None:
    """Cover a cell with terrain of a type, if the bag has the items that it needs."""
    if w.bag.counts[agent, item] >= needed:
        w.bag.counts[agent, item] -= needed
        w.pave(y, x, kind)
        unlock(w, agent, deed)


def plant(w: World, agent: int, y: int, x: int) -> None:
    """Plant a sapling of the bag in a cell with grass."""
    is_grass = w.kind.value[w.ground[y, x]] == GRASS and w.at[y, x] == NOTHING
    if is_grass and w.bag.counts[agent, Item.SAPLING] > 0 and w.placed[PLANT] < MAX_PLANTS:
        w.bag.counts[agent, Item.SAPLING] -= 1
        w.place(w.spawn(PLANT), y, x)
        unlock(w, agent, Deed.PLACE_PLANT)


def make(w: World, agent: int, tool: int) -> None:
    """Make a tool, if the bag has what it costs, beside a table; of iron also beside a furnace."""
    material = tool % 3
    for item in range(4):
        if w.bag.counts[agent, item] < COSTS[material, item]:
            return
    if is_near(w, agent, TABLE) and (material < 2 or is_near(w, agent, FURNACE)):
        for item in range(4):
            w.bag.counts[agent, item] -= COSTS[material, item]
        gain(w, agent, Item.WOOD_PICKAXE + tool, MADE[tool])


def is_near(w: World, agent: int, kind: int) -> bool:
    """Return True if one of the eight cells around the player has terrain of a type."""
    for dy in range(-1, 2):
        for dx in range(-1, 2):
            cell = w.ground[w.position.y[agent] + dy, w.position.x[agent] + dx]
            if w.kind.value[cell] == kind:
                return True
    return False


@system(TRANSITION)
def feel(w: World, agent: int) -> None:
    """Fall asleep or wake up, and change food, drink, energy and health by their counters, at half
    speed for a sleeper. Lava kills."""
    if w.action[agent] == SLEEP and w.vitals.energy[agent] < MOST:
        w.vitals.asleep[agent] = True
    if w.vitals.asleep[agent] and w.vitals.energy[agent] == MOST:
        w.vitals.asleep[agent] = False
        unlock(w, agent, Deed.WAKE_UP)
    asleep = w.vitals.asleep[agent]
    pace = 1 if asleep else 2
    w.vitals.hunger[agent] += pace
    if w.vitals.hunger[agent] > 50:
        w.vitals.hunger[agent] = 0
        w.vitals.food[agent] = max(0, w.vitals.food[agent] - 1)
    w.vitals.thirst[agent] += pace
    if w.vitals.thirst[agent] > 40:
        w.vitals.thirst[agent] = 0
        w.vitals.drink[agent] = max(0, w.vitals.drink[agent] - 1)
    fatigue = w.vitals.fatigue[agent]
    fatigue = min(fatigue - 1, 0) if asleep else fatigue + 1
    if fatigue > 30:
        fatigue = 0
        w.vitals.energy[agent] = max(0, w.vitals.energy[agent] - 1)
    elif fatigue < -10:
        fatigue = 0
        w.vitals.energy[agent] = min(MOST, w.vitals.energy[agent] + 1)
    w.vitals.fatigue[agent] = fatigue
    rested = asleep or w.vitals.energy[agent] > 0
    if rested and w.vitals.food[agent] > 0 and w.vitals.drink[agent] > 0:
        w.vitals.recovery[agent] += 4 if asleep else 2
    else:
        w.vitals.recovery[agent] -= pace
    if w.vitals.recovery[agent] > 50:
        w.vitals.recovery[agent] = 0
        w.vitals.health[agent] = min(MOST, w.vitals.health[agent] + 1)
    elif w.vitals.recovery[agent] < -30:
        w.vitals.recovery[agent] = 0
        w.vitals.health[agent] -= 1
    is_in_lava = w.kind.value[w.ground[w.position.y[agent], w.position.x[agent]]] == LAVA
    w.vitals.health[agent] = 0 if is_in_lava else max(0, w.vitals.health[agent])


# ---- creatures -----------------------------------------------------------------------------------


@system(TRANSITION)
def live(w: World, agent: int) -> None:
    """Let arrows fly; then let creatures move, attack, or vanish far from the player, and plants
    grow."""
    arrows, others = w.placed[ARROW], w.placed[COW] + w.placed[ZOMBIE] + w.placed[SKELETON]
    e, others = agent, others + w.placed[PLANT]
    while arrows > 0:
        e += 1
        if w.kind.value[e] == ARROW:
            y, x = beside(w.position.y[e], w.position.x[e], w.flight.direction[e])
            fly(w, agent, e, y, x)
            arrows -= 1
    e = agent
    while others > 0:
        e += 1
        if w.creature.has[e]:
            move(w, agent, e)
            others -= 1
        elif w.kind.value[e] == PLANT:
            w.crop.age[e] = min(RIPE_AGE, w.crop.age[e] + 1)
            if w.crop.age[e] == RIPE_AGE and w.crop.stage[e] != RIPE:
                w.crop.stage[e] = RIPE
            others -= 1


def move(w: World, agent: int, creature: int) -> None:
    """Move a creature by the rules of its type; far from the player it vanishes."""
    dy = w.position.y[agent] - w.position.y[creature]
    dx = w.position.x[agent] - w.position.x[creature]
    distance = abs(dy) + abs(dx)
    kind = w.kind.value[creature]
    w.creature.cooldown[creature] = max(0, w.creature.cooldown[creature] - 1)
    if distance >= FAR:
        w.remove(creature)
    elif kind == COW:
        direction = w.rng.integers(8)
        if direction < 4:
            walk(w, agent, creature, direction)
    elif kind == ZOMBIE:
        haunt(w, agent, creature, dy, dx, distance)
    else:
        stalk(w, agent, creature, dy, dx, distance)


def walk(w: World, agent: int, creature: int, direction: int) -> None:
    """Move a creature one step, unless something is in the way, or lava."""
    y, x = beside(w.position.y[creature], w.position.x[creature], direction)
    if can_walk(w, agent, y, x):
        w.place(creature, y, x)


def can_walk(w: World, agent: int, y: int, x: int) -> bool:
    """Return True if a creature can walk into a cell: it is open, no lava, and not the player's."""
    is_lava = w.kind.value[w.ground[y, x]] == LAVA
    is_players = w.position.y[agent] == y and w.position.x[agent] == x
    return is_open(w, y, x) and not is_lava and not is_players


def find_way(dy: int, dx: int, is_vertical: int) -> int:
    """Return the direction in which an offset is longer; if both are equal, the vertical one if
    `is_vertical` is 1."""
    if abs(dy) > abs(dx) or (abs(dy) == abs(dx) and is_vertical == 1):
        return BACKWARD if dy > 0 else FORWARD
    return RIGHT if dx > 0 else LEFT


def haunt(w: World, agent: int, zombie: int, dy: int, dx: int, distance: int) -> None:
    """Let a zombie beside the player attack, if it is ready to, and wake the player; a sleeper is
    hurt more. Other zombies walk, most towards a player who is near.

    Args:
        w, agent, zombie: the world, the player and the zombie.
        dy, dx: offset of the player from the zombie.
        distance: length of the offset.
    """
    if distance == 1 and w.creature.cooldown[zombie] == 0:
        w.creature.cooldown[zombie] = 6
        w.vitals.health[agent] -= 7 if w.vitals.asleep[agent] else 2
        if w.vitals.asleep[agent]:
            w.vitals.asleep[agent] = False
            unlock(w, agent, Deed.WAKE_UP)
        return
    chance = w.rng.integers(32)
    is_after_player = distance < 10 and chance < 24
    walk(w, agent, zombie, find_way(dy, dx, chance & 1) if is_after_player else chance & 3)


def stalk(w: World, agent: int, skeleton: int, dy: int, dx: int, distance: int) -> None:
    """Let a skeleton shoot at a player who is 4 or 5 steps away, or, if it is cornered, nearer.
    Otherwise it walks, sometimes away from a player who is near. Arguments are those of `haunt`."""
    chance = w.rng.integers(80)
    direction = chance & 3
    if chance < 12 and (distance >= 10 or distance <= 3):
        direction = find_way(dy, dx, chance & 1) ^ int(distance <= 3)
    y, x = beside(w.position.y[skeleton], w.position.x[skeleton], direction)
    can_go = can_walk(w, agent, y, x)
    wants_to_shoot = distance == 4 or distance == 5 or (distance <= 3 and not can_go)
    if wants_to_shoot and w.creature.cooldown[skeleton] == 0:
        w.creature.cooldown[skeleton] = 5
        if w.placed[ARROW] < MAX_ARROWS:
            direction = find_way(dy, dx, chance & 1)
            y, x = beside(w.position.y[skeleton], w.position.x[skeleton], direction)
            arrow = w.spawn(ARROW)
            w.flight.direction[arrow] = direction
            fly(w, agent, arrow, y, x)
    elif can_go:
        w.place(skeleton, y, x)


def fly(w: World, agent: int, arrow: int, y: int, x: int) -> None:
    """Move an arrow into a cell. It hurts and wakes the player, breaks a table or furnace, and is
    gone after that, or if anything else but water is in the way."""
    if w.position.y[agent] == y and w.position.x[agent] == x:
        w.vitals.health[agent] -= 2
        w.vitals.asleep[agent] = False
        w.remove(arrow)
        return
    kind = w.kind.value[w.ground[y, x]]
    if kind in (TABLE, FURNACE):
        w.pave(y, x, PATH)
        w.remove(arrow)
    elif is_open(w, y, x) or (kind == WATER and w.at[y, x] == NOTHING):
        w.place(arrow, y, x)
    else:
        w.remove(arrow)


@system(TRANSITION)
def spawn(w: World, agent: int) -> None:
    """Let creatures appear around the player: cows on grass, zombies on grass and paths, more of
    them in the dark, and skeletons on paths."""
    if w.placed[COW] < MAX_COWS and w.rng.random() < 0.1:
        spawn_near(w, agent, COW, 3, GRASS, GRASS)
    darkness = 1 - w.sky.daylight[w.world]
    if w.placed[ZOMBIE] < MAX_ZOMBIES and w.rng.random() < 0.02 + 0.1 * darkness * darkness:
        spawn_near(w, agent, ZOMBIE, 5, GRASS, PATH)
    if w.placed[SKELETON] < MAX_SKELETONS and w.rng.random() < 0.05:
        spawn_near(w, agent, SKELETON, 3, PATH, PATH)


def spawn_near(w: World, agent: int, kind: int, health: int, ground: int, other: int) -> None:
    """Spawn a creature of a type in a random free cell with terrain of one of two types: cows more
    than 3 steps from the player, others more than 9, all less than `FAR`. No creature appears if
    none of the cells that are tried will do."""
    nearest = 3 if kind == COW else 9
    for _ in range(TRIES):
        cell = w.rng.integers((2 * FAR - 1) * (2 * FAR - 1))
        dy, dx = cell // (2 * FAR - 1) - FAR + 1, cell % (2 * FAR - 1) - FAR + 1
        y, x = w.position.y[agent] + dy, w.position.x[agent] + dx
        if nearest < abs(dy) + abs(dx) < FAR and w.inside(y, x) and w.at[y, x] == NOTHING:
            terrain = w.kind.value[w.ground[y, x]]
            if terrain in (ground, other):
                e = w.spawn(kind)
                w.creature.health[e] = health
                w.place(e, y, x)
                return


# ---- daylight, rewards and ends ------------------------------------------------------------------


@system(TRANSITION)
def pass_time(w: World) -> None:
    """Set the daylight after the step."""
    w.sky.daylight[w.world] = DAYLIGHT[(w.steps + 1) % DAY]


@system(VISIBILITY)
def see_by_daylight(w: World, agent: int, view: View, darkness: bool = True) -> None:
    """See everything by day, with `darkness` less and less of what is far in the dark, and nothing
    but one's own cell asleep."""
    light = w.sky.daylight[w.world]
    asleep = w.vitals.asleep[agent]
    if not darkness or (light > 0.5 and not asleep):
        view.seen.fill(1)
        return
    reach = 0 if asleep else 4 + int(40 * light)
    for i in range(view.height):
        for j in range(view.width):
            dy, dx = i - view.y, j - view.x
            view.seen[i, j] = dy * dy + dx * dx <= reach


def count_deeds(w: World, agent: int) -> int:
    """Return the number of achievements that the player has unlocked."""
    return w.deeds.total[agent]


@system(REWARD, remember=count_deeds)
def achieve(w: World, agent: int, was: int) -> float:
    """Pays 1 for each achievement that the step unlocks."""
    return float(w.deeds.total[agent] - was)


def read_health(w: World, agent: int) -> int:
    """Return the player's health."""
    return w.vitals.health[agent]


@system(REWARD, remember=read_health)
def thrive(w: World, agent: int, was: int) -> float:
    """Pays 0.1 for each point of health that the step gains, and takes 0.1 for each that it
    loses."""
    return 0.1 * (w.vitals.health[agent] - was)


@system(TERMINATING, says="You died")
def die(w: World, agent: int) -> bool:
    """The player has no health left."""
    return w.vitals.health[agent] == 0
