"""What rules may ask and change of a world."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.documented.tables import of_world


@of_world("w.height, width, capacity, steps, terminated", "w.at[y, x], w.ground[y, x]")
@of_world("w.inside(y, x)", "w.agent_at(y, x), w.is_taken(y, x)", "w.agents(), w.world")
@of_world("w.blocks_movement(e), w.blocks_vision(e)")
@of_world("for cells in w.between, w.between_number(kind)")
def look_around(w: Any) -> Any:
    total = 0
    for y in range(w.height):
        for x in range(w.width):
            total = (total * 3 + w.at[y, x] + w.ground[y, x] + w.agent_at(y, x)) % 100003
            for cells in w.between:
                total += cells[y, x]
            if w.inside(y, x + 1) and not w.is_taken(y, x):
                total += w.at[y, x + 1]
            if w.blocks_movement(w.at[y, x]) or w.blocks_vision(w.at[y, x]):
                total += 7
    agents = [agent for agent in w.agents()]  # noqa: C416
    total += w.between_number(3)
    return total, w.capacity > 5, w.steps, w.terminated == 0, len(agents), agents[0], w.world


@of_world("w.key.has[e], w.position.y[e], w.door.status[e] = 1", "w[column][field]")
@of_world("w.reward[agent], w.action[agent]")
def use_columns(w: Any) -> Any:
    total = 0
    for e in range(1, w.capacity):
        if w.door.has[e]:
            w.door.status[e] = 1
            total += w.position.y[e] * 10 + w.position.x[e]
        total += w["color"]["value"][e] + w.kind.value[e]
    w.reward[1] += 0.5
    w.agent.facing[1] = (w.agent.facing[1] + 1) % 4
    return total, w.reward[1], w.action[1], w.position.y[-1]


@of_world("w.numbers(number)[e], w.columns(number).has[e]", "w.maximum_of(number)")
def use_named_numbers(w: Any) -> Any:
    number = "door.status"
    total = 0
    for e in range(1, w.capacity):
        if w.columns(number).has[e]:
            w.numbers(number)[e] += 1
            total += w.numbers(number)[e]
    return total, w.maximum_of(number)


@of_world("w.having(w.key), w.of_type(kind)", "w.unique(kind)", "w.placed[kind], w.recent[kind]")
def find_objects(w: Any) -> Any:
    doors, keys = w.having(w.door), w.of_type(6)
    total = 0
    for e in w.having(w.color):
        total = total * 7 % 1000 + e
    walls = len(w.of_type(3)), w.placed[3], w.recent[3]
    return len(doors), doors[0] % 5, keys[0], w.unique(6) == keys[0], total, walls


@of_world("w.steps_from(y, x)")
def measure(w: Any) -> Any:
    steps = w.steps_from(w.position.y[1], w.position.x[1])
    total = 0
    for y in range(w.height):
        for x in range(w.width):
            total = total * 5 % 10007 + steps[y, x]
    return total


@of_world("w.spawn(kind)", "w.place(e, y, x), w.lift(e)", "w.remove(e), w.use_up(e)")
@of_world("w.stand(agent, y, x)")
def change_objects(w: Any) -> Any:
    wall = w.spawn(3)
    key = w.unique(6)
    w.lift(key)
    w.place(wall, 1, 1) if w.at[1, 1] == 0 else None
    box = w.spawn(8)
    w.remove(box)
    w.use_up(w.having(w.door)[0])
    w.stand(1, 2, 2)
    return wall, box, w.at[1, 1]


@of_world("w.set_shape(height, width)", "w.enclose(kind)")
def build(w: Any) -> Any:
    w.set_shape(4, 5)
    w.enclose(3)
    return w.height, w.width, w.at[0, 0], w.at[1, 1]


@of_world("w.state_of(e), w.set_state(e, state)", "w.num_states(kind), w.left_by(kind)")
@of_world("w.terrain_of(kind), w.is_terrain(e)", "w.on_ground(kind), w.on_layer_of(kind, y, x)")
@of_world("w.pave(y, x, kind)")
def use_types(w: Any) -> Any:
    door = w.having(w.door)[0]
    w.set_state(door, 1)
    w.pave(1, 1, 2)
    types = w.num_states(5), w.left_by(6), w.terrain_of(3), w.is_terrain(door), w.on_ground(3)
    return w.state_of(door), types, w.on_layer_of(3, 0, 0)


@of_world('w.add(e, "key"), w.take(e, "key")', "w.forget(agent)")
def change_components(w: Any) -> Any:
    key = w.unique(6)
    w.add(key, "solid")
    w.take(key, "portable")
    w.forget(1)
    return w.solid.has[key], w.portable.has[key]


@of_world("w.fail(text)")
def fail_world(w: Any) -> Any:
    w.agent.facing[1] = 3
    if w.height > 2:
        w.fail("no way")
    return 1


@of_world("w.rng.integers(a, b), random(), choice(n)", "w.rng.choice(n, size=k, replace=False)")
@of_world("w.rng.random(size), w.rng.shuffle(array)", "w.rng_state(), w.set_rng_state(state)")
def draw(w: Any) -> Any:
    state = w.rng_state()
    first = w.rng.integers(100), w.rng.integers(3, 9), w.rng.random(), w.rng.choice(7)
    w.set_rng_state(state)
    again = w.rng.integers(100)
    few = w.rng.choice(10, size=4, replace=False)
    order = np.arange(6)
    w.rng.shuffle(order)
    total: Any = 0
    for x in order:
        total = total * 7 + int(x)
    many = w.rng.random(3), w.rng.choice(5, size=2)
    return first, again == first[0], int(few[3]), total, float(many[0][2]), int(many[1][1])
