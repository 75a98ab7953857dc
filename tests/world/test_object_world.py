"""The object world by hand: columns, what they refuse, and what stands where."""

from __future__ import annotations

import re
from contextlib import suppress
from random import Random
from typing import Any

import esper
import numpy as np
import pytest

from components.items import Door, Solid
from components.objects import KEY, WALL
from gv_engine import AGENT, GridEnv, RuleError, Scenario, Simulation
from gv_engine.rules.component import _WORLD_ATTRIBUTES, column_name
from gv_engine.rules.world import World
from gv_engine.world.columns import RowWorld
from gv_engine.world.world import ObjectWorld
from tests.boards import scenario


def begun(loaded, seed=0):
    simulation = Simulation(loaded)
    simulation.reset(np.random.default_rng(seed))
    return simulation


@pytest.fixture
def by_hand():
    return begun(scenario("^.\nKd")).world


def test_columns_are_the_fields_of_espers_components(by_hand):
    door = by_hand.at[1, 1]
    with by_hand.context:
        component = esper.component_for_entity(door, Door)
    by_hand.door.status[door] = 0
    assert component.status == 0
    component.status = 2
    assert by_hand.door.status[door] == by_hand.state_of(door) == 2


def test_an_absent_component_reads_its_defaults_and_cannot_be_written(by_hand):
    key = by_hand.at[1, 0]
    assert not by_hand.door.has[key]
    assert by_hand.door.status[key] == 0
    with pytest.raises(RuleError, match=r"writes door\.status of an entity that has no Door"):
        by_hand.door.status[key] = 1
    with pytest.raises(RuleError, match=r"w\.add\(e, 'door'\)"):
        by_hand.door.has[key] = True
    by_hand.add(key, "door")
    by_hand.door.status[key] = 1
    by_hand.take(key, "door")
    assert by_hand.door.status[key] == 0
    with pytest.raises(RuleError, match="did you mean 'door'"):
        by_hand.add(key, "dor")


@pytest.mark.parametrize("name", ["keydoor-5x5", "sokoban", "MiniGrid-DistShift1-v0"])
def test_the_ground_has_a_cell_below_each_of_the_grid(name):
    """Also where nothing can lie on it, and nothing can be put there."""
    scenario = Scenario.load(name)
    world = begun(scenario).world
    # one row and one column more are beyond the grid, wherever a rule looks
    layout = scenario.layout
    assert world.ground.shape == world.at.shape == (layout.height + 1, layout.width + 1)
    beyond = (world.at[world.height :], world.at[:, world.width :])
    assert not any(cells.any() for cells in beyond)
    if "ground" not in layout.layers:
        assert not world.ground.any()
        with pytest.raises(ValueError, match="read-only"):
            world.ground[1, 1] = 1


@pytest.mark.parametrize("kind", [-1, -2, 99, 255, 256])
def test_a_level_is_enclosed_in_objects_alone(by_hand, kind):
    by_hand.clear()
    by_hand.set_shape(2, 2)
    with by_hand.context, pytest.raises(RuleError) as spawned:
        by_hand.spawn(kind)
    with by_hand.context, pytest.raises(RuleError, match=re.escape(str(spawned.value))):
        by_hand.enclose(kind)
    assert not by_hand.at.any()
    by_hand.enclose(KEY)
    with pytest.raises(RuleError, match="holds another"):
        by_hand.enclose(WALL)


@pytest.mark.parametrize(
    ("watcher", "put"),
    [((2, 2), (0, 0)), ((2, 2), (0, 1)), ((0, 0), (2, 2)), ((0, 0), (1, 2)), ((0, 0), (-1, -1))],
)
def test_another_agent_is_seen_where_it_is_and_nowhere_when_it_has_left(watcher, put):
    """Also at the edge of the view."""
    room = {
        "map": "...\n.>>\n...",
        "agents": 2,
        "transition_functions": ["turn_agent"],
        "reward_functions": [],
        "terminating_function": "reach_exit",
        "observation_function": {"name": "fully_transparent", "area": [[-2, 2], [-2, 2]]},
    }
    simulation = begun(Scenario.load(room))
    world = simulation.world
    with world.context:
        world.agent.facing[1] = 0
        world.stand(1, *watcher)
        world.stand(2, *put)
    seen = np.argwhere(np.asarray(simulation.look(1).entity) == 2).tolist()
    # it looks up from the middle of five rows and columns
    assert seen == ([[2 + put[0] - watcher[0], 2 + put[1] - watcher[1]]] if put != (-1, -1) else [])


@pytest.mark.parametrize(
    ("bits", "row"),
    [
        ((0,), "......."),
        ((0b11,), "##....."),
        ((0b1000000,), "......#"),
        ((0, 0b11), ".....##"),
        ((0b101, 0b1), "#.#...#"),
    ],
)
def test_a_row_of_a_view_is_seen_by_its_bits(bits, row):
    """From the left, and from the right."""
    view = begun(Scenario.load("keydoor-5x5")).look()
    for i in range(7):
        view.see_row(i, *(bits if i == 2 else (0,)))
    seen = np.asarray(view.seen).astype(bool).tolist()
    assert ["".join(".#"[cell] for cell in line) for line in seen] == [
        row if i == 2 else "......." for i in range(7)
    ]


STRAY = """
from gv_engine import TRANSITION, system

@system(TRANSITION)
def stray(w, agent, how: int = 0):
    if how == 0: w.at[1][1] = 12345
    if how == 1: w.at[1][1] = -3
    if how == 2: w.at[1][1] = None
    if how == 5: w.steps = 10**30
    if how == 6: w.ended_by[agent] = 99999
    if how == 7: w.add(0, "door")
    if how == 8: w.door.status[agent] = 1
    if how == 9: w.dore.status[agent] = 1
    if how == 10: w.agent.facin[agent] = 1
    if how == 11: w.at[1, 1] = -3
    if how == 12: w.agent.holding[agent] = -1
"""


def strayed(folder, how, capacity=64):
    (folder / "rules.py").write_text(STRAY)
    changes = {"transition_functions": [{"name": "./rules.py:stray", "how": how}]}
    env = GridEnv(Scenario.load(LEVEL | changes | {"capacity": capacity}, folder), world="object")
    env.reset(seed=0)
    return env


LEVEL = {
    "map": "#>.E#",
    "reward_functions": ["living_reward"],
    "observation_function": {"name": "fully_transparent", "area": [[0, 0], [0, 0]]},
    "terminating_function": "reach_exit",
}


@pytest.mark.parametrize(
    ("how", "array"),
    [*((how, "at") for how in range(3)), (5, "steps"), (6, "end")],
)
def test_a_row_says_what_it_cannot_hold(tmp_path, how, array):
    for capacity in (64, 300):
        env = strayed(tmp_path, how, capacity)
        with suppress(RuleError):
            env.step(0)
        with pytest.raises(RuleError, match=rf"w\.{array}") as raised:
            env.snapshot()
    last = env.scenario.layout.capacity - 1
    assert how or str(raised.value).endswith(f"12345 is no entity, the last one is {last}")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        (7, "NOTHING"),
        (8, "has no Door"),
        (9, r"this world has no 'dore'; did you mean 'door'\? \(allowed: .*, door"),
        (10, r"Agent has no column 'facin'; did you mean 'facing'\? \(it has: facing, hol"),
        (11, "-3 is no entity: allowed are 1 to 63, and 0 for none"),
        (12, "-1 is no entity"),
    ],
)
def test_what_a_column_refuses_names_the_rule(tmp_path, how, said):
    env = strayed(tmp_path, how)
    with pytest.raises(RuleError, match=rf"^world 0: stray \(.*rules\.py:4\): .*{said}"):
        env.step(0)
    env.snapshot()


def test_no_component_can_take_the_name_of_what_a_world_has(by_hand):
    columns = {column_name(cls) for cls in by_hand.layout.components}
    own = {name for name in {*vars(by_hand), *dir(ObjectWorld)} if not name.startswith("_")}
    assert own - columns <= {*_WORLD_ATTRIBUTES.split()}


def test_nothing_reads_the_defaults_of_everything(by_hand):
    for cls in by_hand.layout.components:
        assert not by_hand[column_name(cls)].has[0]
    assert by_hand.appearance(0) == (2, 0, 0)


def test_place_lift_remove(by_hand):
    key = by_hand.unique(KEY)
    by_hand.place(key, 0, 1)
    assert by_hand.at[0, 1] == key
    assert by_hand.at[1, 0] == 0
    by_hand.lift(key)
    assert by_hand.at[0, 1] == by_hand.unique(KEY) == 0
    assert (by_hand.position.y[key], by_hand.position.x[key]) == (-1, -1)
    by_hand.remove(key)
    assert not by_hand.key.has[key]
    assert by_hand.spawn(WALL) == key
    with pytest.raises(RuleError, match="the cell holds another object"):
        by_hand.place(key, 1, 1)
    for y, x in [(-1, 0), (0, -1), (2, 0), (0, 2)]:
        with pytest.raises(RuleError, match="outside the grid"):
            by_hand.place(key, y, x)


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (3, 1), (2, 2), (4, 5)])
@pytest.mark.parametrize("taken", [0, 1, 2])
def test_walls_put_around_at_once_are_those_put_one_by_one(shape, taken):
    enclosed: list[tuple[Any, list[Any]]] = []
    for how in (ObjectWorld.enclose, World.enclose):
        world = ObjectWorld(Scenario.load("keydoor-5x5").layout)
        world.set_shape(*shape)
        held = [world.spawn(KEY) for _ in range(taken)]
        world.remove(held[0] if held else 0)  # with a hole among those in use, if there are two
        how(world, WALL)
        world.spawn(KEY)
        with world.context:
            solid = esper.get_component(Solid)
            walls: list[Any] = [esper.components_for_entity(e) for e, _ in solid]
        enclosed.append((world.snapshot(), walls))
    assert enclosed[0] == enclosed[1]


def test_a_component_is_no_column(by_hand):
    says = re.escape("w.door[1] reads a component; read one of its columns: w.door.has[e], w.door.")
    with pytest.raises(RuleError, match=says):
        by_hand.door[AGENT]
    with pytest.raises(RuleError, match=says):
        by_hand.door[AGENT] = 1


def on_grid(world):
    """Yield the objects on the grid, row by row, in a cell the one on the ground first."""
    for y in range(world.height):
        for x in range(world.width):
            yield from (e for e in (world.ground[y, x], world.at[y, x]) if e)


@pytest.mark.parametrize("name", ["keydoor-5x5", "hold-plates", "medley-7x7"])
def test_a_world_agrees_with_itself_after_any_changes(name):
    loaded = Scenario.load(name)
    world, chance = begun(loaded).world, Random(0)
    for _ in range(30):
        things = [e for e in range(1, world.capacity) if world._alive[e]]
        things = [e for e in things if e not in world.everyone]
        y, x = chance.randrange(world.height), chance.randrange(world.width)
        e = chance.choice(things)
        layer = world.ground if world.on_ground(world.kind.value[e]) else world.at
        act = chance.randrange(5)
        if act == 0 and not layer[y, x]:
            world.place(e, y, x)
            assert layer[y, x] == e
        elif act == 1:
            world.lift(e)
            assert (world.position.y[e], world.position.x[e]) == (-1, -1)
        elif act == 2:
            world.remove(e)
            assert e not in list(on_grid(world))
        elif act == 3 and len(things) + 3 < world.capacity:
            kind = world.kind.value[e]
            new = world.spawn(kind)
            free = [k for k in range(1, world.capacity) if k not in (*world.everyone, *things)]
            assert (new, world.kind.value[new]) == (free[0], kind)
            things.append(new)
        elif act == 4:
            state = chance.randrange(world.num_states(world.kind.value[e]))
            world.set_state(e, state)
            assert world.state_of(e) == state
        row = world.snapshot()
        seen = RowWorld(loaded.layout, row)
        there = list(on_grid(world))
        for kind in range(loaded.layout.type_table_length):
            of_kind = [e for e in there if world.kind.value[e] == kind]
            assert world.of_type(kind).tolist() == of_kind
            assert world.placed[kind] == len(of_kind)
        for cls in loaded.layout.components:
            columns, of_row = world[column_name(cls)], getattr(seen, column_name(cls))
            assert world.having(columns).tolist() == [e for e in there if columns.has[e]]
            for e in (*world.everyone, *things):
                assert bool(columns.has[e]) == bool(of_row.has[e])
        for e in there:
            cells = world.ground if world.on_ground(world.kind.value[e]) else world.at
            assert cells[world.position.y[e], world.position.x[e]] == e
        again = world.fork()
        assert again.snapshot() == row
        assert again.of_type(0).tolist() == world.of_type(0).tolist()
        shown, marked = world.cells(), np.indices(world.cells().shape[:2]).sum(0) % 2 == 0
        assert np.array_equal(shown, seen.cells())
        assert np.array_equal(world.cells(marked), shown[marked])
        below = world.beneath()
        assert (below is None) == (not world.ground.any() and "ground" not in loaded.layout.layers)
        if below is not None:
            beneath: Any = seen.beneath()
            some: Any = world.beneath(marked)
            assert np.array_equal(below, beneath)
            assert np.array_equal(some, below[marked])
        assert list(world.agents()) == list(seen.agents())
        for y, x in np.ndindex(*shown.shape[:2]):
            top = world.at[y, x] or world.ground[y, x]
            assert tuple(shown[y, x]) == world.appearance(top)
        for e in (0, *things):  # also what is lifted or removed
            assert world.appearance(e) == seen.appearance(e)


@pytest.mark.parametrize("name", ["medley-7x7", "hold-plates"])
def test_a_new_level_keeps_nothing_of_the_last_one(name):
    loaded = Scenario.load(name)
    simulation, fresh = Simulation(loaded), begun(loaded, 3)
    for seed in range(3):
        simulation.reset(np.random.default_rng(seed))
        for action in loaded.actions:
            simulation.step(*[action] * len(simulation.agents))
    simulation.reset(np.random.default_rng(3))
    world = simulation.world
    assert world.snapshot() == fresh.world.snapshot()
    assert simulation.terms_of() == fresh.terms_of() == (0.0,) * len(loaded.reward_names)
    for e in range(1, world.capacity):
        with world.context:
            components: tuple[Any, ...] = esper.components_for_entity(e)
        assert {type(each) for each in components} == {
            cls for cls in loaded.layout.components if world[column_name(cls)].has[e]
        }


def test_agents_that_a_member_has_not_are_done():
    agents = {"map": "####\n#>>#\n#.E#\n####", "transition_functions": ["move_agent"]}
    members = [{**LEVEL, **agents, "agents": {"names": [*names]}} for names in ("ab", "abc")]
    members[1]["map"] = "####\n#>>#\n#>E#\n####"
    simulation = Simulation(Scenario.load({"mixture": [{"scenario": each} for each in members]}))
    found = set()
    for seed in range(9):
        simulation.reset(np.random.default_rng(seed))
        row, count = simulation.world.snapshot(), len(simulation.member.agent_group.names)
        assert row["done"][1:].tolist() == [0] * count + [1] * (3 - count)
        assert (row["position"]["y"][1:4] >= 0).tolist() == [True] * count + [False] * (3 - count)
        found.add(count)
    assert found == {2, 3}
