"""Import lines, as the documents of the GridVerse family print them, run with another package."""

from importlib import import_module
from pkgutil import resolve_name
from typing import Any

import pytest

import gv_engine.gridverse
from gv_engine.gridverse.functions import PROTOCOLS

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
        ("snapshots:load", "rollout.snapshots"),
        ("episode_folder:read", "rollout.episode_folder"),
        ("recording:Recorder", "ui.drawing.recording"),
        ("mathy:MathyEnv", "domains.algebra.env"),
    ],
)
def test_a_public_path_has_the_thing_itself(path, name):
    pytest.importorskip("mathy_core")
    pytest.importorskip("pygame")
    thing = path.partition(":")[2]
    assert resolve_name(f"gv_engine.{path}") is resolve_name(f"gv_engine.{name}:{thing}")


def test_both_protocols_of_representations_are_those_of_the_outer_environment():
    module = import_module("gv_engine.gridverse.representations.representation")
    assert module.OuterEnv is gv_engine.gridverse.OuterEnv


def test_modules_of_functions_offer_what_they_list():
    for phase, protocol in PROTOCOLS.items():
        kind = phase.name.lower()
        found: dict[str, Any] = {}
        exec(f"from gv_engine.gridverse.envs.{kind}_functions import *", found)
        assert found[protocol.__name__] is protocol
        assert found["factory"].__self__ is found[f"{kind}_function_registry"]
