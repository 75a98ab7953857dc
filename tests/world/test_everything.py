"""Object world and batch over scenarios assembled from everything in the registries."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gv_engine import RuleError, Scenario
from gv_engine.envs.backends import compiled_backend
from gv_engine.envs.backends.backend import make_batch
from gv_engine.world.simulation import KEEP, NEXT_STEP, RESTART, SAME_STEP
from tests import DATA
from tests.strategies import numbers
from tests.world.test_worlds import assert_same_rows, assert_same_run

LEVELS = 9
KINDS = ["Exit", "Door", "Key", "MovingObstacle", "Box", "Telepod", "Beacon", "Wall", "Floor"]
kinds = st.sampled_from(KINDS)


@st.composite
def scenarios(draw):
    """Any level, transitions in any order, all rewards, any end, any visibility."""
    side = st.sampled_from([5, 7, 9])
    on, off = draw(numbers(0, 3)), draw(numbers(-3, 0))
    sight = {"name": "./rules.py:any_visibility", "which": draw(st.integers(0, 4))}
    sight["absolute"], sight["threshold"] = draw(
        st.sampled_from([(True, 1.0), (True, 3.0), (False, 0.5), (False, 1.0)])
    )
    living = {"name": "living_reward", "reward": on}
    bumping = {"name": "bump_into_wall", "reward": off}
    bumps = ["bump_into_wall", "bump_moving_obstacle"]
    nearer = {"name": "./rules.py:nearer", "distance_function": "euclidean"}
    return Scenario.load(
        {
            "max_shape": [9, 9],
            "capacity": 190,
            "max_steps": draw(st.sampled_from([3, 20, 500])),
            "reset_function": {
                "name": "./rules.py:any_level",
                "which": draw(st.integers(0, LEVELS - 1)),
                "shape": [draw(side), draw(side)],
                "layout": draw(st.sampled_from([[1, 2], [2, 2], [2, 1]])),
                "colors": ["RED", "GREEN", "BLUE"],
                "number": draw(st.integers(0, 3)),
            },
            "transition_functions": [
                {"name": "./rules.py:any_transitions", "order": draw(st.permutations(range(7)))}
            ],
            "reward_functions": [
                {"name": "living_reward", "reward": draw(numbers(-1, 1))},
                {"name": "overlap", "object_type": draw(kinds), "reward_on": on, "reward_off": off},
                {"name": "reach_exit", "reward_on": on, "reward_off": off},
                {"name": "bump_moving_obstacle", "reward": off},
                bumping,
                {"name": "actuate_door", "reward_open": on, "reward_close": off},
                {"name": "pickndrop", "object_type": draw(kinds), "reward_pick": on},
                {"name": "./rules.py:remembered_exit"},
                nearer | {"object_type": draw(kinds)},
                {"name": "./rules.py:shorter", "object_type": draw(kinds)},
                {"name": "reduce_sum", "reward_functions": [living, bumping]},
            ],
            "terminating_function": {
                "name": "reduce_any",
                "terminating_functions": [
                    {"name": "overlap", "object_type": draw(kinds)},
                    {"name": "reduce_all", "terminating_functions": bumps},
                    {"name": "reach_exit"},
                ],
            },
            "observation_function": {
                "name": "from_visibility",
                "area": [[-4, 0], [-2, 2]],
                "turns": False,  # views that turn are compiled by test_worlds
                "visibility_function": sight,
            },
        },
        folder=DATA / "everything",
    )


@pytest.mark.compiled
@pytest.mark.optimized
@settings(max_examples=25)
@given(scenarios(), st.integers(0, 2**40), st.lists(st.integers(0, 7), max_size=25))
def test_both_worlds_play_it_alike(scenario, seed, actions):
    assert_same_run(scenario, seed, actions)


WORLDS = 5
DOES = [*range(8), RESTART, KEEP]


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("kind", ["object", "compiled"])
@settings(max_examples=60)
@given(
    played=scenarios(),
    seed=st.integers(0, 2**40),
    order=st.permutations(range(WORLDS)),
    number=st.integers(1, WORLDS),
    threads=st.integers(1, 3),
    mode=st.sampled_from([NEXT_STEP, SAME_STEP]),
    turns=st.lists(st.integers(0, len(DOES) ** WORLDS - 1), max_size=15),
)
def test_no_world_depends_on_those_around_it(
    kind, played, seed, order, number, threads, mode, turns
):
    """Whatever their order, their number, who begins anew, and which thread they are on."""
    chosen = np.array(order[:number])
    with mock.patch.object(compiled_backend, "_MIN_CHUNK", 1):
        every = make_batch(played, WORLDS, "compiled")
        some = make_batch(played, number, kind, num_threads=threads)
    for i in range(WORLDS):
        every.set_generator(i, np.random.default_rng(seed + i))
    for k, i in enumerate(chosen.tolist()):
        some.set_generator(k, np.random.default_rng(seed + i))
    actions = np.full(WORLDS, RESTART)
    for turn in [*turns, 0]:
        try:
            every.step(actions, mode)
        except RuleError:
            return
        some.step(actions[chosen], mode)
        for name, shown in vars(every.outputs).items():
            if not name.startswith("final_"):
                np.testing.assert_array_equal(getattr(some.outputs, name), shown[chosen], name)
        assert_same_rows(some.snapshot(np.arange(number)), every.snapshot(chosen))
        actions = np.array([DOES[turn // len(DOES) ** i % len(DOES)] for i in range(WORLDS)])
