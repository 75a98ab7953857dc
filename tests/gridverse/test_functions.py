"""Built-in functions, called by name on states, equal what the reference recorded."""

import numpy as np
import pytest

from gv_engine import RuleError, Scenario
from gv_engine.gridverse import (
    observation_function_registry,
    reset_function_registry,
    reward_function_registry,
    terminating_function_registry,
    transition_function_registry,
    visibility_function_registry,
)
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.geometry import Position, Shape
from gv_engine.plugins.gridverse.grid_object import Box, Color, Exit
from gv_engine.plugins.gridverse.rng import make_rng
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.system import RESET
from tests import DATA
from tests.conformance import REWARDS, TERMINATING, VISIBILITY, entries, load

pytestmark = pytest.mark.slow

RECORDINGS = DATA / "conformance"
ENTRIES = entries(RECORDINGS)
SOUPS = [
    pytest.param(entry, marks=pytest.mark.thorough if "504" in entry["file"] else ())
    for entry in ENTRIES
    if entry["file"] in ("soup.504.npz", "soup.522.npz")
]
EPISODES = [entry for entry in ENTRIES if entry["file"].endswith(".seed1.npz")]
STATES = range(0, 240, 8)  # every eighth state of a soup will do


def factory(registry, entry):
    return registry.factory(entry["name"], **{k: v for k, v in entry.items() if k != "name"})


def read(entry):
    """The arrays of a recording."""
    with np.load(RECORDINGS / entry["file"]) as arrays:
        return dict(arrays.items())


@pytest.fixture(scope="module", params=SOUPS, ids=lambda entry: entry["file"])
def soup(request):
    """Entry of the index, arrays, and all states as objects."""
    recorded = read(request.param)
    keys = ("grid", "agent", "item", "content")
    states = [State.from_arrays(*arrays) for arrays in zip(*(recorded[key] for key in keys))]
    return request.param, recorded, states


def test_states_survive_the_exchange(soup):
    _, recorded, states = soup
    for t, state in enumerate(states):
        for key, array in state.to_arrays().items():
            assert array.dtype == recorded[key].dtype
            assert np.array_equal(array, recorded[key][t]), (key, t)


def test_transitions(soup):
    entry, recorded, states = soup
    rng, state = make_rng(entry["seed"]), states[0].copy()
    functions = [transition_function_registry[name] for name in entry["transitions"]]
    for t, action in enumerate(recorded["action"]):
        for function in functions:
            assert function(state, Action(action), rng=rng) is None
        assert state == states[t + 1], t


@pytest.mark.parametrize("name", REWARDS)
def test_rewards(soup, name):
    _, recorded, states = soup
    reward = factory(reward_function_registry, REWARDS[name])
    for t in STATES:
        step = states[t], Action(recorded["action"][t]), states[t + 1]
        expected = recorded[f"reward_{name}"][t]
        if np.isnan(expected):
            with pytest.raises(RuleError):
                reward(*step)
        else:
            assert reward(*step) == expected, t


@pytest.mark.parametrize("name", TERMINATING)
def test_terminating(soup, name):
    _, recorded, states = soup
    terminating = factory(terminating_function_registry, TERMINATING[name])
    for t in STATES:
        over = terminating(states[t], Action(recorded["action"][t]), states[t + 1])
        assert over is bool(recorded[f"terminal_{name}"][t]), t


@pytest.mark.parametrize("name", VISIBILITY)
def test_observations(soup, name):
    entry, recorded, states = soup
    visibility = factory(visibility_function_registry, VISIBILITY[name])

    def by_grid(grid, position, *, rng=None):
        return visibility(grid, position, rng=rng)

    look = observation_function_registry["from_visibility"]
    for t in STATES:
        for function in (visibility, by_grid):
            how = {"area": entry["area"], "visibility_function": function, "rng": make_rng(t)}
            observation = look(states[t], **how)
            arrays = observation.to_arrays()
            assert np.array_equal(arrays["grid"], recorded[f"observation_{name}"][t]), t
            assert np.array_equal(arrays["item"], recorded["item"][t])
        assert observation.agent.position == (-entry["area"][0][0], -entry["area"][1][0])


@pytest.mark.sample("dynamic_obstacles.5x5", "memory.5x5", "teleport.5x5", "public_empty")
@pytest.mark.parametrize("entry", EPISODES, ids=lambda entry: entry["file"])
def test_episodes(entry):
    recorded = read(entry)
    env = load(entry["config"]).inner_env()
    env.set_seed(entry["seed"])
    env.reset()
    sight = f"observation_{entry['config']['observation_function']['name']}"
    for t, action in enumerate(recorded["action"]):
        for key in ("grid", "agent", "item"):
            assert np.array_equal(env.state.to_arrays()[key], recorded[key][t])
        if sight in recorded:
            assert np.array_equal(env.observation.to_arrays()["grid"], recorded[sight][t])
        reward, terminal = env.step(Action(action))
        assert reward == recorded["reward"][t]
        assert terminal == recorded["terminal"][t]


@pytest.mark.parametrize("name", ["keydoor-5x5", "teleport-5x5", "memory-four-rooms-7x7"])
def test_resets_draw_what_scenarios_draw(name):
    scenario = Scenario.load(name)
    env = scenario.inner_env()
    (call,) = scenario.calls(RESET)
    for seed in range(5):
        env.set_seed(seed)
        env.reset()
        state = reset_function_registry.factory(call.name, **call.arguments)(rng=make_rng(seed))
        assert state == env.state


# ---- parameters as authors write them ------------------------------------------------------------


def test_parameters_of_the_documents():
    memory, colors = reset_function_registry["memory"], {Color.GREEN, Color.RED}
    state = memory(shape=Shape(5, 5), colors=colors, rng=make_rng(0))
    assert state == memory((5, 5), [1, 2], rng=make_rng(0))
    state = reset_function_registry["empty"](Shape(5, 8))
    distance = reward_function_registry["proportional_to_distance"]
    for function in ("manhattan", Position.manhattan_distance, lambda dy, dx: abs(dy) + abs(dx)):
        step = state, Action.ACTUATE, state
        assert distance(*step, object_type=Exit, distance_function=function) == -7.0
    assert distance(*step, object_type="Exit", distance_function="euclidean") == -(29**0.5)


def test_functions_within_functions():
    state = reset_function_registry["empty"](Shape(4, 6))
    twice = transition_function_registry.factory(
        "chain", transition_functions=[transition_function_registry["move_agent"]] * 2
    )
    next_state = state.copy()
    twice(next_state, Action.MOVE_FORWARD)
    assert next_state.agent.position == (1, 3)
    rewards = [
        reward_function_registry["living_reward"],
        reward_function_registry.factory("getting_closer", object_type=Exit, reward_closer=0.25),
        lambda state, action, next_state: float(next_state.agent.position.x),
    ]
    step = state, Action.MOVE_FORWARD, next_state
    assert reward_function_registry["reduce_sum"](*step, reward_functions=rewards) == 2.25
    assert reward_function_registry["reduce"](*step, reward_functions=rewards, reduction=max) == 3
    endings = [terminating_function_registry["reach_exit"], lambda s, a, n: n.agent.position.x == 3]
    reduce_any = terminating_function_registry["reduce_any"]
    assert reduce_any(*step, terminating_functions=endings) is True
    reduce_all = terminating_function_registry["reduce_all"]
    assert reduce_all(*step, terminating_functions=endings) is False


def test_rewards_leave_no_trace():
    state = reset_function_registry["keydoor"](Shape(5, 6), rng=make_rng(1))
    before = state.world.snapshot()
    for name in ("bump_into_wall", "actuate_door", "reach_exit"):
        reward_function_registry[name](state, Action.ACTUATE, state, rng=make_rng(0))
    assert state.world.snapshot().tobytes() == before.tobytes()


def test_nested_boxes_open_one_by_one():
    state = reset_function_registry["empty"](Shape(4, 5))
    state.grid[1, 2] = Box(Box(Exit(Color.RED)))
    open_box = transition_function_registry["actuate_box"]
    for expected in ("Box(Exit(Color.RED))", "Exit(Color.RED)"):
        open_box(state, Action.ACTUATE)
        assert repr(state.grid[1, 2]) == expected
