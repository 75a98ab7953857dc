"""Object API of GridVerse: states, grids and objects for writing rules and levels.

Names and module paths are those of the GridVerse documents: `gv_engine.gridverse.grid` has `Grid`,
and `gv_engine.gridverse.envs.reset_functions` has the registry of reset functions. This package
exports all of them.
"""

import sys

from gv_engine.envs import representations as representation_classes
from gv_engine.gridverse import action, outer_env, registry
from gv_engine.gridverse.action import Action as Action
from gv_engine.gridverse.agent import Agent as Agent
from gv_engine.gridverse.envs.gridworld import GridWorld as GridWorld
from gv_engine.gridverse.envs.inner_env import InnerEnv as InnerEnv
from gv_engine.gridverse.geometry import Area as Area
from gv_engine.gridverse.geometry import Orientation as Orientation
from gv_engine.gridverse.geometry import Position as Position
from gv_engine.gridverse.geometry import Shape as Shape
from gv_engine.gridverse.geometry import Transform as Transform
from gv_engine.gridverse.grid import Grid as Grid
from gv_engine.gridverse.grid_object import Beacon as Beacon
from gv_engine.gridverse.grid_object import Box as Box
from gv_engine.gridverse.grid_object import Color as Color
from gv_engine.gridverse.grid_object import Door as Door
from gv_engine.gridverse.grid_object import Exit as Exit
from gv_engine.gridverse.grid_object import Floor as Floor
from gv_engine.gridverse.grid_object import GridObject as GridObject
from gv_engine.gridverse.grid_object import Hidden as Hidden
from gv_engine.gridverse.grid_object import Key as Key
from gv_engine.gridverse.grid_object import MovingObstacle as MovingObstacle
from gv_engine.gridverse.grid_object import NoneGridObject as NoneGridObject
from gv_engine.gridverse.grid_object import Telepod as Telepod
from gv_engine.gridverse.grid_object import Wall as Wall
from gv_engine.gridverse.observation import Observation as Observation
from gv_engine.gridverse.outer_env import OuterEnv as OuterEnv
from gv_engine.gridverse.registry import FunctionRegistry as FunctionRegistry
from gv_engine.gridverse.rng import choice as choice
from gv_engine.gridverse.rng import choices as choices
from gv_engine.gridverse.rng import get_gv_rng_if_none as get_gv_rng_if_none
from gv_engine.gridverse.rng import make_rng as make_rng
from gv_engine.gridverse.rng import shuffle as shuffle
from gv_engine.gridverse.spaces import ActionSpace as ActionSpace
from gv_engine.gridverse.spaces import ObservationSpace as ObservationSpace
from gv_engine.gridverse.spaces import StateSpace as StateSpace
from gv_engine.gridverse.spaces import debugging as debugging
from gv_engine.gridverse.state import State as State

observation_function_registry = registry.observation_function_registry
reset_function_registry = registry.reset_function_registry
reward_function_registry = registry.reward_function_registry
terminating_function_registry = registry.terminating_function_registry
transition_function_registry = registry.transition_function_registry
visibility_function_registry = registry.visibility_function_registry

_PATHS = {
    "actions": action,
    **{
        f"envs.{kind}_functions": getattr(registry, f"{kind}_functions")
        for kind in ("observation", "reset", "reward", "terminating", "transition", "visibility")
    },
    "representations": sys.modules[__name__],
    "representations.observation_representations": representation_classes,
    "representations.representation": outer_env,
    "representations.state_representations": representation_classes,
    "utils": sys.modules[__name__],
    "utils.registry": registry,
}
"""Modules that the GridVerse documents name differently, by their paths there."""

for _path, _module in _PATHS.items():
    sys.modules[f"{__name__}.{_path}"] = _module
    _package, _, _name = f"{__name__}.{_path}".rpartition(".")
    setattr(sys.modules[_package], _name, _module)
