"""Both layers of a grid are alike in both worlds, and what is derived from them is never stale."""

from __future__ import annotations

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.validation.differential import find_row_fault
from gv_engine.world.columns import RowWorld
from systems.queries import blocks_vision
from tests.vector.turns import ALL, DIFFERS_OF, WORLDS, assert_as_fresh, begun, by_chance, go_on
from tests.world.test_worlds import assert_same_run

pytestmark = [pytest.mark.compiled, pytest.mark.sample("small")]

RULES = (
    '''
import numpy as np

from components import Color, Opaque, Solid
from components.objects import TELEPOD, WALL
from gv_engine import NOTHING, TRANSITION, VISIBILITY, component, object_type, system
from systems.queries import all_of, all_with, can_enter, here, here_with


@component
class Wet:
    """Wets feet."""


ICE = object_type("Ice", Wet, layer="ground")
REED = object_type(
    "Reed", Wet, Color, states={"LOW": [], "HIGH": [Opaque], "THICK": [Opaque, Solid]},
    layer="ground",
)


@system(VISIBILITY)
def some_alone(w, agent, view):
    """Cells with something are seen, of what blocks vision those on the left."""
    for i in range(view.height):
        for j in range(view.width):
            view.seen[i, j] = view.entity[i, j] != 0 and (j <= view.x or not view.opaque[i, j])


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


def differs(w, columns):
    """Whether a look at every cell finds other objects with a component."""
    found = all_with(w, columns)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            for e in (w.ground[y, x], w.at[y, x]):
                if columns.has[e]:
                    if count == len(found) or found[count] != e:
                        return True
                    count += 1
    return count != len(found)


@system(TRANSITION)
def compare(w, agent):
    """What is kept is what is there."""
    if differs(w, w.wet) or differs(w, w.solid) or differs(w, w.telepod) or differs(w, w.position):
        w.fail("another list")
    for kind in (WALL, TELEPOD):
        if differs_of(w, kind):
            w.fail("another list of a type")
    y, x = w.position.y[agent], w.position.x[agent]
    steps = np.empty((w.height, w.width), np.int64)
    w.walk_from(y, x, steps)
    kept = w.steps_from(y, x)
    for i in range(w.height):
        for j in range(w.width):
            if steps[i, j] != kept[i, j]:
                w.fail("another way")
            if steps[i, j] > 0 and (w.solid.has[w.at[i, j]] or w.solid.has[w.ground[i, j]]):
                w.fail("a way through what is solid")
    is_wet = w.wet.has[w.at[y, x]] or w.wet.has[w.ground[y, x]]
    if (here_with(w, agent, w.wet) != NOTHING) != is_wet:
        w.fail("wet where nothing is")
'''
    + DIFFERS_OF
)


@pytest.fixture(scope="module", params=[[9, 11], [65, 70]], ids=["small", "large"])
def scenario(request, tmp_path_factory):
    """Levels in which anything may happen to either layer."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.py").write_text(RULES)
    return Scenario.load(
        {
            "max_shape": request.param,
            "reset_function": {"name": "keydoor", "shape": [7, 9]},
            "transition_functions": [
                *("move_agent", "turn_agent", "pickndrop"),
                *["./rules.py:meddle"] * 3,
                "./rules.py:compare",
            ],
            "reward_functions": [],
            "terminating_function": {"name": "reach_exit"},
            "observation_function": {
                "name": "from_visibility",
                "area": [[-6, 0], [-3, 3]],
                "visibility_function": "./rules.py:some_alone",
            },
            "max_steps": 60,
        },
        folder=folder,
    )


def packed(world, e):
    kind, state, color = world.appearance(e)
    return kind | state << 8 | color << 16 | int(blocks_vision(world, e)) << 31


def assert_kept(batch):
    """How cells look, and what lies beneath, is what the layers hold."""
    for i in range(len(batch)):
        world = RowWorld(batch.scenario.layout, batch.snapshot(i))
        for cell in np.ndindex(world.height, world.width):
            above, below = (packed(world, int(cells[cell])) for cells in (world.at, world.ground))
            assert batch.derived_rows["beneath"][i][cell] == below
            shown = above | below & 1 << 31 if world.at[cell] else below
            assert batch.looks[i][cell] == shown


@pytest.mark.thorough
def test_whatever_a_rule_does_reaches_looks_lists_and_ways(scenario):
    batch = begun(scenario)
    for turn in by_chance(batch, 120):
        if turn % 20 == 0:
            assert_kept(batch)
    assert {find_row_fault(scenario, batch.snapshot(i)) for i in range(WORLDS)} == {""}


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_both_worlds_have_them_alike(scenario, seed):
    assert_same_run(scenario, seed, np.random.default_rng(seed).integers(0, 8, 50).tolist())


@pytest.mark.thorough
def test_other_rows_bring_what_is_derived_from_them(scenario):
    batch, other = begun(scenario), go_on(begun(scenario, seed=100), 40)
    batch.restore(ALL, other.snapshot(ALL))
    assert_kept(batch)
    assert_as_fresh(go_on(batch, 30), ("looks", "beneath", "listed", "filled", "blocked"))
