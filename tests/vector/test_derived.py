"""What is kept beside the rows of a batch is never stale: how cells look, lists by type, ways.

Each of three rules may do anything to a level: to its lists, to both layers of its grid, to how
things look.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.play.validation.differential import find_row_fault
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.world.columns import RowWorld
from gv_engine.world.simulation import LOOK, NEXT_STEP, RESTART, SAME_STEP
from systems.queries import blocks_vision
from tests.world.test_worlds import assert_same_run

pytestmark = [pytest.mark.compiled, pytest.mark.sample("lists-small")]

COMPARE = '''
import numpy as np

from components import Color, Opaque, Solid
from components.objects import DOOR, EXIT, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine import NOTHING, TRANSITION, VISIBILITY, component, object_type, system
from systems.queries import all_of, all_with, first_with, here_with


@system(VISIBILITY)
def some_alone(w, agent, view):
    """Cells with something are seen, of what blocks vision those on the left."""
    for i in range(view.height):
        for j in range(view.width):
            view.seen[i, j] = view.entity[i, j] != 0 and (j <= view.x or not view.opaque[i, j])


def differs(w, columns):
    """Whether a look at every cell finds other objects with a component."""
    found = all_with(w, columns)
    count = 0
    first = NOTHING
    for y in range(w.height):
        for x in range(w.width):
            for e in CELLS:
                if columns.has[e]:
                    if count == len(found) or found[count] != e:
                        return True
                    if count == 0:
                        first = e
                    count += 1
    return count != len(found) or first_with(w, columns) != first


def differs_of(w, kind):
    """Whether a look at every cell finds other objects of a type, up to as many as were placed."""
    found = all_of(w, kind)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            e = w.on_layer_of(kind, y, x)
            if e != NOTHING and w.kind.value[e] == kind and count < w.placed[kind]:
                if count == len(found) or found[count] != e:
                    return True
                count += 1
    return count != len(found)


@system(TRANSITION)
def compare(w, agent):
    """What is kept is what is there."""
    if differs(w, w.telepod) or differs(w, w.moving_obstacle) or differs(w, w.solid):
        w.fail("another list")
    if differs(w, w.position) or differs(w, w.door):
        w.fail("another list")
    if differs_of(w, WALL) or differs_of(w, TELEPOD):
        w.fail("another list of a type")
    y, x = w.position.y[agent], w.position.x[agent]
    kept = w.steps_from(y, x)
    steps = np.empty((w.height, w.width), np.int64)
    w.write_distances(y, x, steps)
    for i in range(w.height):
        for j in range(w.width):
            if steps[i, j] != kept[i, j]:
                w.fail("another way")
'''
LISTS = '''
@system(TRANSITION)
def meddle(w, agent):
    """Something is done to any object, or in any cell."""
    y, x = w.rng.integers(0, w.height), w.rng.integers(0, w.width)
    e = w.at[y, x]
    does = w.rng.integers(0, 12)
    if e == NOTHING:
        kinds = (WALL, DOOR, EXIT, MOVING_OBSTACLE, TELEPOD)
        if does < 5:
            w.place(w.spawn(kinds[does]), y, x)
        elif does < 7:
            new = w.spawn(kinds[w.rng.integers(0, 5)])
            w.at[y - w.at.shape[0], x] = new  # counted from the end
            w.position.y[new] = y
            w.position.x[new] = x
        return
    if does == 0:
        w.remove(e)
    elif does == 1:
        w.at[y, x] = NOTHING
        w.position.y[e] = -1
        w.position.x[e] = -1
    elif does == 2:
        w.add(e, "telepod")
    elif does == 3:
        w.take(e, "telepod")
    elif does == 4:
        w.add(e, "solid")
    elif does == 5:
        w.take(e, "solid")
    elif does == 6 and w.door.has[e]:
        w.door.status[e - w.capacity * w.rng.integers(0, 2)] = w.rng.integers(0, 3)
    elif does == 7:
        w.kind.value[e] = (WALL, EXIT)[w.rng.integers(0, 2)]
    elif does == 8:
        w.lift(e)
        w.add(e, "moving_obstacle")
        w.place(e, y, x)
'''
GROUND = '''
@component
class Wet:
    """Wets feet."""


ICE = object_type("Ice", Wet, layer="ground")
REED = object_type(
    "Reed", Wet, Color, states={"LOW": [], "HIGH": [Opaque], "THICK": [Opaque, Solid]},
    layer="ground",
)


@system(TRANSITION)
def meddle(w, agent):
    """Something is done to what is in any cell, on any layer."""
    y, x = w.rng.integers(0, w.height), w.rng.integers(0, w.width)
    kind = (ICE, REED, WALL, TELEPOD)[w.rng.integers(0, 4)]
    e = w.on_layer_of(kind, y, x)
    does = w.rng.integers(0, 9)
    if e == NOTHING:
        if does < 7:
            w.place(w.spawn(kind), y, x)
    elif does == 0:
        w.remove(e)
    elif does == 1 and w.kind.value[e] != REED:
        w.add(e, "solid")
    elif does == 2 and w.kind.value[e] != REED:
        w.take(e, "solid")
    elif does == 3:
        w.add(e, "wet")
    elif does == 4:
        w.take(e, "wet")
    elif does == 5 and w.color.has[e]:
        w.color.value[e] = w.rng.integers(0, 5)
    elif does == 6:
        w.set_state(e, w.rng.integers(0, w.num_states(w.kind.value[e])))
    elif does == 7:
        w.lift(e)
        to_y, to_x = w.rng.integers(0, w.height), w.rng.integers(0, w.width)
        if w.on_layer_of(w.kind.value[e], to_y, to_x) == NOTHING:
            w.place(e, to_y, to_x)
        else:
            w.remove(e)


@system(TRANSITION)
def compare_wet(w, agent):
    """What is kept of the ground is what is there."""
    if differs(w, w.wet):
        w.fail("another list")
    y, x = w.position.y[agent], w.position.x[agent]
    steps = w.steps_from(y, x)
    for i in range(w.height):
        for j in range(w.width):
            if steps[i, j] > 0 and (w.solid.has[w.at[i, j]] or w.solid.has[w.ground[i, j]]):
                w.fail("a way through what is solid")
    is_wet = w.wet.has[w.at[y, x]] or w.wet.has[w.ground[y, x]]
    if (here_with(w, agent, w.wet) != NOTHING) != is_wet:
        w.fail("wet where nothing is")
'''
LOOKS = '''
@system(TRANSITION)
def meddle(w, agent):
    """Something is done to any object, or in any cell."""
    e = w.rng.integers(2, w.capacity)
    y, x = w.rng.integers(0, w.height), w.rng.integers(0, w.width)
    does = w.rng.integers(0, 15)
    there = w.at[y, x]
    if w.rng.integers(0, 2) == 0 and there != NOTHING:
        e = there
    alive = w.kind.value[e] > 2
    if does == 0 and w.door.has[e]:
        w.door.status[e] = w.rng.integers(0, 3)
    elif does == 1 and alive:
        w.set_state(e, w.rng.integers(0, 3))
    elif does == 2 and w.color.has[e]:
        w.color.value[e] = w.rng.integers(0, 5)
    elif does == 3 and w.color.has[e]:
        w["color"]["value"][e] += 1
    elif does == 4 and alive:
        w.add(e, "opaque")
    elif does == 5 and alive:
        w.take(e, "opaque")
    elif does == 6 and alive:
        w.add(e, "color")
    elif does == 7 and alive:
        w.take(e, "color")
    elif does == 8 and alive:
        w.lift(e)
    elif does == 9 and alive and there == NOTHING:
        w.place(e, y, x)
    elif does == 10 and alive and w.kind.value[e] != 7 and w.kind.value[e] != 5:
        w.kind.value[e] = w.rng.integers(3, 5)
    elif does == 11 and there != NOTHING and w.capacity > 3:
        w.remove(there)
    elif does == 12 and there == NOTHING:
        w.place(w.spawn(5), y, x)
    elif does == 13 and there == NOTHING:
        w.at[y, x] = e if alive and w.position.y[e] < 0 else NOTHING
    elif does == 14 and w.color.has[e - w.capacity]:
        w.color.value[e - w.capacity] = 3
'''
LAYERED = GROUND.replace("(ICE, REED, WALL, TELEPOD)", "(ICE, REED, WALL, TELEPOD, GEM, FOG)")
LAYERED = LAYERED.replace("w.rng.integers(0, 4)]", "w.rng.integers(0, 6)]")
LAYERED = LAYERED.replace("w.solid.has[w.ground[i, j]]", "w.solid.has[w.ground[i, j]] or any_solid")
LAYERED = LAYERED.replace(
    "            if steps[i, j] > 0",
    "            gem, fog = w.between[1][i, j], w.between[0][i, j]\n"
    "            any_solid = w.solid.has[gem] or w.solid.has[fog]\n"
    "            if steps[i, j] > 0",
)
LAYERED = LAYERED.replace(
    "    is_wet = ",
    "    is_wet = w.wet.has[w.between[0][y, x]] or w.wet.has[w.between[1][y, x]] or ",
)
LAYERED = (
    """
GEM = object_type("Gem", Color, layer="item")
FOG = object_type("Fog", states={"THIN": [], "THICK": [Opaque]}, layer="effect")
"""
    + LAYERED
)
ABOVE = COMPARE.replace("CELLS", "(w.at[y, x],)")
BOTH = COMPARE.replace("CELLS", "(w.ground[y, x], w.at[y, x])")
ALL_LAYERS = COMPARE.replace(
    "CELLS", "(w.ground[y, x], w.between[1][y, x], w.between[0][y, x], w.at[y, x])"
)
RULES = {
    "lists": (ABOVE + LISTS, ["meddle", "meddle", "compare"]),
    "ground": (BOTH + GROUND, ["meddle", "meddle", "meddle", "compare", "compare_wet"]),
    "layers": (ALL_LAYERS + LAYERED, ["meddle", "meddle", "meddle", "compare", "compare_wet"]),
    "looks": (ABOVE + LOOKS, ["meddle"]),
}
AREA = [[-6, 0], [-3, 3]]
LARGE = {"max_shape": [65, 70]}
LAYERS = {"layers": ["ground", "item", "effect", "body"]}
LEVELS: dict[str, tuple[dict[str, Any], str, list[list[int]]]] = {
    "lists-small": ({"capacity": 110}, "fully_transparent", AREA),
    "lists-large": (LARGE, "fully_transparent", AREA),
    "ground-9x11": ({"max_shape": [9, 11]}, "./rules.py:some_alone", AREA),
    "ground-65x70": (LARGE, "./rules.py:some_alone", AREA),
    "layers-9x11": ({"max_shape": [9, 11], **LAYERS}, "./rules.py:some_alone", AREA),
    "layers-65x70": ({**LARGE, **LAYERS}, "./rules.py:some_alone", AREA),
    "looks-all": ({"capacity": 99}, "fully_transparent", AREA),
    "looks-some": ({"capacity": 99}, "./rules.py:some_alone", [[-8, 2], [-9, 8]]),
    "looks-occluded": ({"capacity": 99}, "partially_occluded", [[-17, 0], [-20, 12]]),
    "looks-rays": ({"capacity": 99}, "raytracing", [[-17, 2], [-9, 9]]),
}
"""Size, visibility and area of levels, by their rules."""


@pytest.fixture(scope="module", params=LEVELS)
def scenario(request, tmp_path_factory):
    """A level in which anything may happen to what something is derived from."""
    code, names = RULES[request.param.partition("-")[0]]
    size, visibility, area = LEVELS[request.param]
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.py").write_text(code)
    sight = {"area": area, "visibility_function": visibility}
    own = [f"./rules.py:{name}" for name in names]
    level = {
        "name": request.param,
        "reset_function": {"name": "keydoor", "shape": [7, 9]},
        "transition_functions": ["move_agent", "turn_agent", "pickndrop", *own],
        "reward_functions": [],
        "terminating_function": "reach_exit",
        "observation_function": {"name": "from_visibility", **sight},
        "max_steps": 60,
    }
    return Scenario.load({**level, **size}, folder=folder)


WORLDS = 40
ALL = np.arange(WORLDS)


def begun(scenario: Scenario, seed: int = 0) -> CompiledBatch:
    """Checked worlds at the beginning of their first episodes."""
    batch = CompiledBatch(scenario, WORLDS, checked=True)
    batch.prepare()
    for i in range(WORLDS):
        batch.set_generator(i, np.random.default_rng(seed + i))
    batch.step(np.full(WORLDS, RESTART), NEXT_STEP)
    return batch


def go_on(batch: CompiledBatch, turns: int) -> CompiledBatch:
    """Let all agents go forward."""
    for _ in range(turns):
        batch.step(np.zeros(WORLDS, np.int64), NEXT_STEP)
    return batch


def has_ground(scenario: Scenario) -> bool:
    """Whether there are two layers, to which nothing is done that no rule may do."""
    return "ground" in scenario.layout.layers


def packed(world: RowWorld, e: int) -> int:
    kind, state, color = (int(value) & 255 for value in world.appearance(e))
    return kind | state << 8 | color << 16 | int(blocks_vision(world, e)) << 31


def assert_kept(batch: CompiledBatch) -> None:
    """How cells look, and what lies beneath, is what the rows hold.

    But for lists: their rule makes walls of doors, which keep their status.
    """
    if batch.scenario.name.startswith("lists"):
        return
    for i in range(WORLDS):
        world = RowWorld(batch.scenario.layout, batch.snapshot(i))
        for cell in np.ndindex(world.height, world.width):
            if "beneath" in batch.scenario.layout.look_arrays:
                below = packed(world, int(world.ground[cell]))
                assert batch.derived_rows["beneath"][i][cell] == below
            shown = packed(world, NOTHING)
            for layer in (world.ground, *world.between[::-1], world.at):
                if layer[cell]:
                    shown = packed(world, int(layer[cell])) | shown & 1 << 31
            assert batch.looks[i][cell] == shown


@pytest.mark.parametrize("scenario", ["lists-small", "lists-large"], indirect=True)
def test_small_and_large_levels_are_what_they_are_called(scenario, request):
    assert scenario.layout.is_large == ("large" in request.node.callspec.id)


@pytest.mark.thorough
def test_a_restored_first_object_is_found_by_what_it_gained(scenario):
    batch = begun(scenario)
    rows = batch.snapshot(ALL)
    rows["telepod"]["has"][:, AGENT + 1] = 1
    batch.restore(ALL, rows, trusted=True)
    go_on(batch, 2)  # `compare` finds it


@pytest.mark.thorough
def test_a_restored_last_object_is_cleared_by_a_reset(scenario):
    batch = begun(scenario)
    rows = batch.snapshot(ALL)
    rows["alive"][:, -1] = 1
    batch.restore(ALL, rows, trusted=True)
    batch.reset(np.ones(WORLDS, np.bool_))
    assert not batch.rows["alive"][:, -1].any()


@pytest.mark.thorough
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_whatever_a_rule_does_reaches_what_is_kept(scenario, mode):
    batch, actions = begun(scenario), np.random.default_rng(1)
    for _ in range(100):
        batch.step(actions.integers(0, 8, WORLDS), mode)
        assert_kept(batch)
    if has_ground(scenario):
        assert {find_row_fault(scenario, batch.snapshot(i)) for i in range(WORLDS)} == {""}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_both_worlds_have_it_alike(scenario, seed):
    actions = np.random.default_rng(seed).integers(0, 8, 60).tolist()
    assert_same_run(scenario, seed, actions, sound=has_ground(scenario))


@pytest.mark.thorough
def test_other_rows_bring_what_is_derived_from_them(scenario):
    batch, other = begun(scenario), go_on(begun(scenario, seed=100), 40)
    for _ in range(3):
        batch.restore(ALL, other.snapshot(ALL), trusted=not has_ground(scenario))
        assert_kept(batch)
        go_on(batch, 30)
    thawed = pickle.loads(pickle.dumps(other))
    thawed.step(np.full(WORLDS, LOOK), NEXT_STEP)
    assert_kept(thawed)
    np.testing.assert_array_equal(thawed.outputs.grid, other.outputs.grid)
    # after a reset it is what other worlds make of the same rows
    batch.reset(np.ones(WORLDS, np.bool_))
    fresh = begun(scenario)
    fresh.restore(ALL, batch.snapshot(ALL), trusted=True)
    kept = {"looks", "beneath", "listed", "filled", "blocked"}
    for name in kept.intersection(batch.derived_rows.dtype.names):
        np.testing.assert_array_equal(batch.derived_rows[name], fresh.derived_rows[name])
