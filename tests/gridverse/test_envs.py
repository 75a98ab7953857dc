"""Inner and outer environments, their spaces, and the checks of debugging."""

from typing import Any

import numpy as np
import pytest

import gv_engine
from gv_engine import GridEnv, RuleError, Scenario
from gv_engine.envs.representations import Representation
from gv_engine.gridverse import (
    ActionSpace,
    GridWorld,
    InnerEnv,
    ObservationSpace,
    OuterEnv,
    Shape,
    StateSpace,
)
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.debugging import gv_debug
from gv_engine.plugins.gridverse.grid_object import Box, Color, Door, Exit, Floor, Key, Wall
from tests.scenario.reading import RULES

TYPES = [Wall, Floor, Exit, Door, Key]


def from_parts(**changes: Any) -> GridWorld:
    rays = gv_engine.visibility_function_registry["stochastic_raytracing"]
    parts: dict[str, Any] = {
        "state_space": StateSpace(Shape(5, 6), TYPES, [Color.YELLOW]),
        "action_space": ActionSpace([a for a in Action if a is not Action.MOVE_BACKWARD]),
        "observation_space": ObservationSpace((4, 5), TYPES, [4]),
        "reset_function": gv_engine.reset_function_registry.factory("keydoor", shape=Shape(5, 6)),
        "transition_function": gv_engine.transition_function_registry["move_agent"],
        "observation_function": gv_engine.observation_function_registry.factory(
            "from_visibility", area=[[-3, 0], [-2, 2]], visibility_function=rays
        ),
        "reward_function": gv_engine.reward_function_registry["living_reward"],
        "termination_function": gv_engine.terminating_function_registry["reach_exit"],
    }
    return GridWorld(**{**parts, **changes})


@pytest.fixture
def env() -> GridWorld:
    env = from_parts()
    env.set_seed(0)
    env.reset()
    return env


def test_a_grid_world_from_parts(env):
    assert isinstance(env, InnerEnv)
    before = env.state
    assert env.step(Action.MOVE_FORWARD) == (-1.0, False)
    assert env.state is not before
    assert env.state_space.contains(env.state)
    assert env.observation.grid.shape == (4, 5)


def test_equal_seeds_give_equal_episodes(env):
    other = from_parts()
    for each in (env, other):
        each.set_seed(7)
        each.reset()
    for action in (Action.MOVE_FORWARD, Action.MOVE_LEFT, Action.MOVE_RIGHT):
        assert env.state == other.state
        assert env.observation == other.observation
        assert env.step(action) == other.step(action)


def test_an_observation_is_made_once_for_each_state(env):
    first = env.observation
    assert env.observation is first
    drawn = env._rng.bit_generator.state
    assert env.observation is first
    assert env._rng.bit_generator.state == drawn
    env.step(Action.ACTUATE)
    assert env.observation is not first


def test_the_functional_trio_leaves_its_inputs_untouched(env):
    kept = env.state.world.snapshot().tobytes()
    state = env.functional_reset()
    row = state.world.snapshot().tobytes()
    next_state, reward, terminal = env.functional_step(state, Action.MOVE_LEFT)
    env.functional_observation(state)
    assert (reward, terminal) == (-1.0, False)
    assert state.world.snapshot().tobytes() == row
    assert next_state is not state
    assert env.state.world.snapshot().tobytes() == kept


@pytest.mark.parametrize("ask", ["state", "observation"])
def test_nothing_is_there_before_the_first_reset(ask):
    env = from_parts()
    for each in (env, OuterEnv(env, *representations())):
        for call in (lambda env: getattr(env, ask), lambda env: env.step(Action.ACTUATE)):
            with pytest.raises(RuntimeError, match="call reset"):
                call(each)


def test_the_first_step_after_the_end_warns():
    env = OuterEnv(Scenario.load({**RULES, "map": ">E"}).inner_env())
    env.reset()
    assert env.step(Action.MOVE_FORWARD)[1]
    with pytest.warns(UserWarning, match=r"step\(\) after the end of the episode"):
        assert env.step(Action.TURN_LEFT)[1]
    env.step(Action.TURN_LEFT)  # and no later one


@pytest.mark.parametrize("action", [Action.MOVE_BACKWARD, 99])
def test_actions_outside_the_action_space(env, action):
    with pytest.raises(ValueError, match=r"is not in ActionSpace\(\[MOVE_FORWARD, MOVE_LEFT"):
        env.step(action)


def test_a_scenario_without_max_steps():
    scenario = Scenario.load("keydoor-5x5")
    env = scenario.inner_env()
    env.reset()
    assert env.state.grid.shape == (5, 5)
    assert env.action_space.actions == tuple(Action(number) for number in scenario.actions)
    assert env.observation_space.grid_shape == scenario.area.shape


def test_a_reward_is_a_number(tmp_path):
    (tmp_path / "rules.py").write_text("def nothing(state, action, next_state):\n    return None\n")
    level = {**RULES, "map": ">E", "reward_functions": ["./rules.py:nothing"]}
    env = GridEnv(Scenario.load(level, folder=tmp_path), world="object")
    env.reset(seed=0)
    with pytest.raises(
        RuleError, match=r"nothing \(.*rules\.py:1\) returned None; .* every branch"
    ):
        env.step(0)


# ---- arrays --------------------------------------------------------------------------------------


def representations() -> tuple[Representation, Representation]:
    scenario = Scenario.load("keydoor-5x5")
    return Representation.of_state(scenario, (5, 5)), Representation.of_observation(scenario)


def test_an_outer_env_shows_arrays():
    inner = Scenario.load("keydoor-5x5").inner_env()
    of_state, of_observation = representations()
    outer = OuterEnv(inner, of_state, of_observation)
    outer.set_seed(0)
    outer.reset()
    assert outer.action_space is inner.action_space
    assert set(outer.state) == {"grid", "agent_id_grid", "agent", "item"}
    assert of_state.space.contains(outer.state)
    assert np.array_equal(outer.observation["grid"], inner.observation.to_arrays()["grid"])
    assert outer.step(Action.TURN_LEFT) == (-0.05, False)


@pytest.mark.parametrize("ask", ["state", "observation"])
def test_what_no_representation_was_given_for(env, ask):
    with pytest.raises(RuntimeError, match=f"no {ask}_representation"):
        getattr(OuterEnv(env), ask)


# ---- spaces --------------------------------------------------------------------------------------


def test_action_spaces():
    space = ActionSpace([Action.ACTUATE, Action.TURN_LEFT])
    assert space.contains(Action.TURN_LEFT)
    assert not space.contains(Action.TURN_RIGHT)
    assert space.num_actions == 2


def test_state_and_observation_spaces(env):
    state, observation = env.state, env.observation
    assert env.state_space.contains(state)
    assert env.observation_space.contains(observation)
    assert not StateSpace((5, 5), TYPES, [4]).contains(state)
    assert not StateSpace(None, [Wall, Floor, Exit, Door], [4]).contains(state)
    assert not StateSpace(None, TYPES, []).contains(state)
    state.agent.grid_object = Box(Floor())
    assert "Box is in the hand" in env.state_space.find_fault(state)
    state.agent.grid_object = Key(Color.RED)
    assert "colour RED is in the hand" in env.state_space.find_fault(state)


def test_spaces_are_checked_while_debugging():
    no_door = StateSpace(Shape(5, 6), [Wall, Floor, Exit, Key], [Color.YELLOW])
    env = from_parts(state_space=no_door)
    env.reset()
    with gv_engine.debugging():
        with pytest.raises(ValueError, match="state space: the type Door is in the grid"):
            env.reset()
        with pytest.raises(ValueError, match="not in the state space"):
            env.step(Action.ACTUATE)
    env.step(Action.ACTUATE)
    small = from_parts(observation_space=ObservationSpace((3, 3), [Wall], []))
    small.reset()
    with gv_engine.debugging(), pytest.raises(ValueError, match="not in the observation space"):
        _ = small.observation
    assert small.observation is not None


def test_debugging_can_be_switched_for_good():
    gv_engine.debugging(True)
    try:
        assert gv_debug()
        with gv_engine.debugging(False):
            assert not gv_debug()
        assert gv_debug()
    finally:
        gv_engine.debugging(False)
    assert not gv_debug()


MEMORY = """
import numpy as np

def remembers(state, action, next_state, *, seen=[]):
    seen.append(1)
    return float(len(seen))

def draws(state, action):
    if np.random.default_rng().random() < 0.5:
        state.agent.orientation = state.agent.orientation.__class__.L
"""


@pytest.mark.parametrize(
    ("kind", "name"), [("reward_functions", "remembers"), ("transition_functions", "draws")]
)
def test_what_equal_seeds_do_not_repeat_is_found(tmp_path, kind, name):
    (tmp_path / "rules.py").write_text(MEMORY)
    level = {**RULES, "map": ">..E", "max_steps": 50, kind: [f"./rules.py:{name}"]}
    report = run_differential_test(Scenario.load(level, folder=tmp_path), compiled=False)
    assert "when the same seed is played a second time" in report.fault
