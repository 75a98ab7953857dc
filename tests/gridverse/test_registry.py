"""Registries: names, the forms of `register`, protocols, factories; and import lines, as the
documents of the GridVerse family print them, run with another package."""

import functools
import inspect
from importlib import import_module
from pkgutil import resolve_name
from typing import Any, cast

import pytest

import gv_engine
import gv_engine.gridverse
from gv_engine import RuleError
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.functions import PROTOCOLS
from gv_engine.plugins.gridverse.geometry import Shape
from gv_engine.plugins.gridverse.grid_object import Exit, Key
from gv_engine.plugins.gridverse.registry import FUNCTION_REGISTRIES
from gv_engine.plugins.gridverse.rng import make_rng
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.system import REGISTRIES, TRANSITION, system
from tests.processes import run_python

RESETS, REWARDS = gv_engine.reset_function_registry, gv_engine.reward_function_registry
TRANSITIONS = gv_engine.transition_function_registry
VISIBILITIES = gv_engine.visibility_function_registry
SIGHTS = gv_engine.observation_function_registry
ANY_STEP = r"\(state, action, next_state, \*, rng=None\)"
SPECIFIED = {
    "reset": "empty rooms dynamic_obstacles keydoor crossing teleport memory memory_rooms",
    "transition": "move_agent turn_agent pickndrop move_obstacles actuate_door actuate_box "
    "teleport chain",
    "reward": "reduce_sum reduce living_reward overlap reach_exit bump_moving_obstacle "
    "proportional_to_distance getting_closer getting_closer_shortest_path bump_into_wall "
    "actuate_door pickndrop reach_exit_memory",
    "terminating": "reduce_any reduce_all reduce overlap reach_exit bump_moving_obstacle "
    "bump_into_wall",
    "observation": "from_visibility fully_transparent partially_occluded raytracing "
    "stochastic_raytracing",
    "visibility": "fully_transparent partially_occluded raytracing stochastic_raytracing",
}


@pytest.fixture(autouse=True)
def registries(monkeypatch):
    """Forget what a test registers."""
    for registry in REGISTRIES.values():
        monkeypatch.setattr(registry, "_systems", dict(registry._systems))


@pytest.mark.parametrize("kind", SPECIFIED)
def test_all_specified_names_are_there(kind):
    registry = getattr(gv_engine, f"{kind}_function_registry")
    assert set(registry.keys()) >= set(SPECIFIED[kind].split())
    module = import_module(f"gv_engine.gridverse.envs.{kind}_functions")
    assert getattr(module, f"{kind}_function_registry") is registry
    for name in registry:
        assert callable(registry[name])
        assert getattr(module, name) is registry[name]
        assert registry[name].__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = module.nothing


def test_registries_are_those_of_the_scenarios():
    for phase, registry in FUNCTION_REGISTRIES.items():
        assert list(registry) == REGISTRIES[phase].keys()
        assert len(registry) == len(list(registry))


# ---- register ------------------------------------------------------------------------------------


def test_three_forms_of_register():
    @TRANSITIONS.register
    def one(state, action, *, rng=None):
        """Does nothing."""

    @TRANSITIONS.register(name="two")
    def _(state, action):
        """Does nothing, and draws nothing."""

    three = functools.partial(lambda state, action, *, often: None, often=3)
    TRANSITIONS.register(three, name="three")
    assert TRANSITIONS["one"] is one
    assert TRANSITIONS["three"] is three
    assert list(TRANSITIONS)[-3:] == ["one", "two", "three"]


def test_systems_of_columns_are_registered_too():
    @TRANSITIONS.register(name="about_turn")
    @system(TRANSITION)
    def about(w, agent):
        """Look back."""
        w.agent.facing[agent] = 1

    state = RESETS["empty"](shape=Shape(4, 4))
    TRANSITIONS["about_turn"](state, Action.ACTUATE)
    assert state.agent.orientation == 1
    with pytest.raises(TypeError, match=r"a TRANSITION system.*reward functions"):
        REWARDS.register(about)


@pytest.mark.parametrize("name", ["move_agent", "mine"])
def test_a_name_is_taken_once(name):
    def mine(state, action):
        """Nothing."""

    TRANSITIONS.register(mine)
    with pytest.raises(ValueError, match=rf"{name}. is registered already, from .*py:\d+"):
        TRANSITIONS.register(lambda state, action: None, name=name)


def test_unknown_names():
    with pytest.raises(KeyError, match="did you mean 'reach_exit'"):
        REWARDS["reach_exits"]


def no_action(state, *, rng=None): ...
def swapped(action, state, *, rng=None): ...
def too_many(state, action, next_state, *, rng=None): ...
def many(state, action, *others): ...
def anything(state, action, **others): ...
def rng_first(rng, state): ...
def needs_rng(state, action, *, rng): ...
def of_world(w, agent): ...
def returning(state: State, action: Action, *, rng=None) -> State:
    return state


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (no_action, r"no_action\(state, \*, rng=None\) lacks 'action'"),
        (swapped, "'action' is argument 1"),
        (too_many, "takes 'next_state' too"),
        (many, r"it takes \*others"),
        (anything, r"it takes \*\*others"),
        (rng_first, "'rng' stands where 'state' is expected"),
        (needs_rng, "'rng' needs the default None"),
        (of_world, r"it takes a world w; decorate it with @system\(TRANSITION\)"),
        (returning, "edit the state instead"),
        (3, "not callable"),
        (State, "it is a class"),
        (functools.partial(cast(Any, no_action), colour=1), "unexpected keyword|incorrect"),
    ],
)
def test_signatures_are_checked(function, says):
    with pytest.raises(TypeError, match=says) as caught:
        TRANSITIONS.register(function, name="mine")
    assert "(state, action, *, rng=None)" in str(caught.value)
    assert "mine" not in TRANSITIONS


@pytest.mark.parametrize(
    ("registry", "expected"),
    [
        (RESETS, r"\(\*, rng=None\)"),
        (REWARDS, ANY_STEP),
        (gv_engine.terminating_function_registry, ANY_STEP),
        (VISIBILITIES, r"\(grid, position, \*, rng=None\)"),
        (SIGHTS, r"\(state, \*, rng=None\)"),
    ],
)
def test_every_kind_says_what_it_expects(registry, expected):
    with pytest.raises(TypeError, match=expected):
        registry.register(many, name="mine")


# ---- factories -----------------------------------------------------------------------------------


def test_factories_bind_parameters():
    overlap = REWARDS.factory("overlap", object_type=Exit, reward_on=3)
    state = RESETS["empty"](shape=Shape(4, 4), random_exit=False)
    state.agent.position = (2, 2)
    assert overlap(state, Action.ACTUATE, state) == 3.0
    assert REWARDS.factory("living_reward")(state, Action.ACTUATE, state) == -1


@pytest.mark.parametrize(
    ("name", "parameters", "says"),
    [
        ("overlap", {}, "overlap needs 'object_type'"),
        ("overlap", {"object_typ": Key}, "did you mean 'object_type'.*reward_on"),
        ("reduce_sum", {"rng": None}, "takes no parameter 'rng'"),
    ],
)
def test_factories_name_the_parameters(name, parameters, says):
    with pytest.raises(TypeError, match=says):
        REWARDS.factory(name, **parameters)


def test_signatures_are_those_of_the_documents():
    shown = str(inspect.signature(VISIBILITIES["raytracing"]))
    assert shown == "(grid, position, *, absolute_counts=True, threshold=1.0, rng=None)"


# ---- errors of built-in functions ----------------------------------------------------------------


def pay(name, state, object_type):
    return REWARDS[name](state, Action.ACTUATE, state, object_type=object_type)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda s: TRANSITIONS["move_agent"](s), TypeError, "'action'"),
        (lambda s: RESETS["empty"](shape=(3, 3)), ValueError, r"at least \[4, 4\]"),
        (lambda s: RESETS["empty"](shape=3), TypeError, "empty: shape=3"),
        (lambda s: pay("overlap", s, "Exits"), TypeError, "did you mean 'Exit'"),
        (lambda s: pay("getting_closer", s, Key), RuleError, "exactly one"),
        (lambda s: VISIBILITIES["partially_occluded"](s.grid, (0, 0)), ValueError, "bottom row"),
        (lambda s: SIGHTS["raytracing"](s, area=3), TypeError, "area=3"),
    ],
)
def test_wrong_calls(call, error, says):
    state = RESETS["empty"](shape=Shape(4, 4))
    with pytest.raises(error, match=says):
        call(state)


def test_a_reset_leaves_the_generator_where_it_came_from():
    rng = make_rng(0)
    state = RESETS["keydoor"](Shape(5, 6), rng=rng)
    assert state.world.rng is not rng
    assert state == RESETS["keydoor"](Shape(5, 6), rng=make_rng(0))


# ---- paths ---------------------------------------------------------------------------------------

PRINTED = """
from gym_gridverse.agent import Agent
from gym_gridverse.envs.reset_functions import reset_function_registry
from gym_gridverse.geometry import Orientation, Position
from gym_gridverse.grid import Grid
from gym_gridverse.grid_object import Exit, Floor, Wall
from gym_gridverse.state import State
from gym_gridverse.grid_object import Color, Door, Exit, Floor, Key, Wall
from gym_gridverse.rng import choice, get_gv_rng_if_none, shuffle
from gym_gridverse.actions import Actions
""".strip()
NAMED = """
action.Action agent geometry grid grid_object observation.Observation state.State
outer_env.OuterEnv.action_space outer_env.OuterEnv.observation outer_env.OuterEnv.state
outer_env.OuterEnv.step rng.get_gv_rng_if_none utils.registry.FunctionRegistry.register
envs.gridworld.GridWorld envs.inner_env.InnerEnv.observation envs.inner_env.InnerEnv.reset
envs.inner_env.InnerEnv.set_seed envs.inner_env.InnerEnv.state envs.inner_env.InnerEnv.step
envs.observation_functions.ObservationFunction envs.reset_functions.ResetFunction
envs.reward_functions.RewardFunction envs.reward_functions.factory
envs.terminating_functions.TerminatingFunction envs.transition_functions.TransitionFunction
envs.transition_functions.transition_function_registry
representations.observation_representations representations.state_representations
representations.representation.ObservationRepresentation.convert
representations.representation.StateRepresentation.convert
"""


@pytest.mark.parametrize("line", PRINTED.splitlines())
def test_printed_imports_run(line):
    found: dict[str, Any] = {}
    exec(line.replace("gym_gridverse", "gv_engine.gridverse"), found)
    for name in line.partition(" import ")[2].split(", "):
        assert found[name] is getattr(gv_engine.gridverse, name.removesuffix("s"), found[name])


@pytest.mark.parametrize("path", NAMED.split())
def test_named_paths_lead_somewhere(path):
    assert resolve_name(f"gv_engine.gridverse.{path}")


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("errors:ScenarioError", "rules.errors"),
        ("geometry:Action", "rules.geometry"),
        ("objects:object_type", "rules.objects"),
        ("representations:Representation", "envs.representations"),
        ("snapshots:load", "envs.rollout.snapshots"),
        ("episode_folder:read", "envs.rollout.episode_folder"),
        ("recording:Recorder", "play.ui.drawing.recording"),
        ("gridverse.gym:GymEnvironment", "plugins.gridverse.gym"),
        ("learning:Config", "plugins.learning.config"),
        ("mathy:MathyEnv", "plugins.algebra.env"),
        ("mathy_envs.gym:MathyGymEnv", "plugins.algebra.mathy_envs.gym"),
    ],
)
def test_a_public_path_has_the_thing_itself(path, name):
    pytest.importorskip("mathy_core")
    pytest.importorskip("pygame")
    thing = path.partition(":")[2]
    assert resolve_name(f"gv_engine.{path}") is resolve_name(f"gv_engine.{name}:{thing}")


def test_a_public_path_has_no_module_twice():
    script = """
import sys, gv_engine.gridverse.envs.yaml.factory
from gv_engine.plugins.gridverse import gym, state
assert gv_engine.gridverse is sys.modules["gv_engine.plugins.gridverse"]
assert gv_engine.gridverse.state is state
assert gv_engine.gridverse.gym is gym
assert "imageio" not in sys.modules
import gv_engine.gridverse.recording
assert "imageio" in sys.modules
assert "plugins" in gv_engine.gridverse.recording.DataBuilder.__module__
"""
    run_python("-c", script)


def test_modules_of_functions_offer_what_they_list():
    for phase, protocol in PROTOCOLS.items():
        kind = phase.name.lower()
        found: dict[str, Any] = {}
        exec(f"from gv_engine.gridverse.envs.{kind}_functions import *", found)
        assert found[protocol.__name__] is protocol
        assert found["factory"].__self__ is found[f"{kind}_function_registry"]
