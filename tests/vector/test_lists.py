"""Lists by type, and ways, are kept beside the rows of a batch, and are never stale."""

from __future__ import annotations

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.rules.component import AGENT
from tests.vector.turns import ALL, DIFFERS_OF, WORLDS, assert_as_fresh, begun, by_chance, go_on
from tests.world.test_worlds import assert_same_run

pytestmark = [pytest.mark.compiled, pytest.mark.sample("small")]

RULES = (
    '''
import numpy as np

from components.objects import DOOR, EXIT, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine import NOTHING, TRANSITION, system
from systems.queries import all_of, all_with, can_enter, first_with


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


def differs(w, columns):
    """Whether a look at every cell finds other objects with a component."""
    found = all_with(w, columns)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if columns.has[w.at[y, x]]:
                if count == len(found) or found[count] != w.at[y, x]:
                    return True
                count += 1
    first = found[0] if count > 0 else NOTHING
    return count != len(found) or first_with(w, columns) != first


@system(TRANSITION)
def compare(w, agent):
    """What is kept is what is there."""
    if differs(w, w.telepod) or differs(w, w.moving_obstacle) or differs(w, w.solid):
        w.fail("another list")
    if differs(w, w.position) or differs(w, w.door):
        w.fail("another list")
    for kind in (WALL, TELEPOD):
        if differs_of(w, kind):
            w.fail("another list of a type")
    y, x = w.position.y[agent], w.position.x[agent]
    kept = w.steps_from(y, x)
    steps = np.empty((w.height, w.width), np.int64)
    w.walk_from(y, x, steps)
    for i in range(w.height):
        for j in range(w.width):
            if steps[i, j] != kept[i, j]:
                w.fail("another way")
'''
    + DIFFERS_OF
)


@pytest.fixture(scope="module", params=["small", "large"])
def scenario(request, tmp_path_factory):
    """Levels in which anything may happen to what lists and ways are made of."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.py").write_text(RULES)
    large = {"max_shape": [65, 70]}
    return Scenario.load(
        {
            **(large if request.param == "large" else {"capacity": 110}),
            "reset_function": {"name": "keydoor", "shape": [7, 9]},
            "transition_functions": [
                *("move_agent", "turn_agent", "pickndrop"),
                *("./rules.py:meddle", "./rules.py:meddle", "./rules.py:compare"),
            ],
            "reward_functions": [],
            "terminating_function": {"name": "reach_exit"},
            "observation_function": {
                "name": "fully_transparent",
                "area": [[-6, 0], [-3, 3]],
            },
            "max_steps": 60,
        },
        folder=folder,
    )


def test_small_and_large_levels_are_what_they_are_called(scenario, request):
    assert scenario.layout.is_large == (request.node.callspec.params["scenario"] == "large")


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
def test_whatever_a_rule_writes_reaches_lists_and_ways(scenario):
    assert [*by_chance(begun(scenario), 150)][-1] == 149, "and `compare` has found nothing"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_both_worlds_have_them_alike(scenario, seed):
    assert_same_run(
        scenario, seed, np.random.default_rng(seed).integers(0, 8, 50).tolist(), sound=False
    )


@pytest.mark.thorough
def test_other_rows_bring_their_lists_and_ways(scenario):
    batch, other = begun(scenario), go_on(begun(scenario, seed=100), 40)
    for _ in range(3):
        batch.restore(ALL, other.snapshot(ALL), trusted=True)
        go_on(batch, 30)
    assert_as_fresh(batch, ("looks", "listed", "filled", "blocked"))
