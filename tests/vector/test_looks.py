"""What cells look like is kept beside the rows of a batch, and is never stale."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.world.columns import RowWorld
from gv_engine.world.simulation import LOOK, NEXT_STEP, SAME_STEP
from systems.queries import blocks_vision
from tests.vector.turns import ALL, WORLDS, begun, by_chance, go_on
from tests.world.test_worlds import assert_same_run

pytestmark = [pytest.mark.compiled, pytest.mark.sample("fully_transparent")]

RULES = '''
from gv_engine import NOTHING, TRANSITION, VISIBILITY, system

@system(VISIBILITY)
def objects_alone(w, agent, view):
    """Objects are seen, of what blocks vision those on the left."""
    for i in range(view.height):
        for j in range(view.width):
            e = view.entity[i, j]
            view.seen[i, j] = e != 0 and (j <= view.x or not view.opaque[i, j])


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


SIGHTS = [
    ("fully_transparent", [[-6, 0], [-3, 3]]),
    ("./rules.py:objects_alone", [[-8, 2], [-9, 8]]),
    ("partially_occluded", [[-17, 0], [-20, 12]]),
    ("raytracing", [[-17, 2], [-9, 9]]),
]


@pytest.fixture(scope="module", params=SIGHTS, ids=str)
def scenario(request, tmp_path_factory):
    """A level in which anything may happen to how things look."""
    visibility, area = request.param
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.py").write_text(RULES)
    return Scenario.load(
        {
            "max_shape": [9, 11],
            "capacity": 99,
            "reset_function": {"name": "keydoor", "shape": [7, 9]},
            "transition_functions": ["move_agent", "turn_agent", "pickndrop", "./rules.py:meddle"],
            "reward_functions": [],
            "terminating_function": {"name": "reach_exit"},
            "observation_function": {
                "name": "from_visibility",
                "area": area,
                "visibility_function": visibility,
            },
            "max_steps": 60,
        },
        folder=folder,
    )


def looks(layout, row):
    """(H, W) what is kept, from what it is derived from."""
    world = RowWorld(layout, row)
    found = np.zeros((world.height, world.width), np.int64)
    for cell in np.ndindex(found.shape):
        e = world.at[cell]
        kind, state, color = world.appearance(e)
        opaque = int(blocks_vision(world, e)) << 31
        found[cell] = kind & 255 | (state & 255) << 8 | (color & 255) << 16 | opaque
    return found


def assert_kept(batch):
    layout = batch.scenario.layout
    for i in range(len(batch)):
        row = batch.snapshot(i)
        expected = looks(layout, row)
        height, width = expected.shape
        np.testing.assert_array_equal(batch.looks[i, :height, :width], expected)


@pytest.mark.thorough
@pytest.mark.parametrize("mode", [NEXT_STEP, SAME_STEP])
def test_whatever_a_rule_writes_reaches_how_cells_look(scenario, mode):
    batch = begun(scenario)
    for _ in by_chance(batch, 100, mode):
        assert_kept(batch)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_both_worlds_show_it_alike(scenario, seed):
    assert_same_run(
        scenario, seed, np.random.default_rng(seed).integers(0, 8, 60).tolist(), sound=False
    )


@pytest.mark.thorough
def test_other_rows_bring_their_looks(scenario):
    batch, other = begun(scenario), go_on(begun(scenario, seed=100), 20)
    batch.restore(ALL, other.snapshot(ALL), trusted=True)
    assert_kept(batch)
    thawed = pickle.loads(pickle.dumps(other))
    thawed.step(np.full(WORLDS, LOOK), NEXT_STEP)
    assert_kept(thawed)
    np.testing.assert_array_equal(thawed.outputs.grid, other.outputs.grid)
