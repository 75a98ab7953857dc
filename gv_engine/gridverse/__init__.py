"""Object API of GridVerse: states, grids and objects for writing rules and levels.

Names and module paths are those of the GridVerse documents: `gv_engine.gridverse.grid` has `Grid`,
and `gv_engine.gridverse.envs.reset_functions` has the registry of reset functions. This package
exports all of them.
"""

import sys

from gv_engine.envs import representations as representation_classes
from gv_engine.gridverse import action, outer_env, registry
from gv_engine.gridverse.action import Action
from gv_engine.gridverse.agent import Agent
from gv_engine.gridverse.envs.gridworld import GridWorld
from gv_engine.gridverse.envs.inner_env import InnerEnv
from gv_engine.gridverse.geometry import Area, Orientation, Position, Shape, Transform
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.grid_object import (
    Beacon,
    Box,
    Color,
    Door,
    Exit,
    Floor,
    GridObject,
    Hidden,
    Key,
    MovingObstacle,
    NoneGridObject,
    Telepod,
    Wall,
)
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.outer_env import OuterEnv
from gv_engine.gridverse.registry import (
    FunctionRegistry,
    observation_function_registry,
    reset_function_registry,
    reward_function_registry,
    terminating_function_registry,
    transition_function_registry,
    visibility_function_registry,
)
from gv_engine.gridverse.rng import choice, choices, get_gv_rng_if_none, make_rng, shuffle
from gv_engine.gridverse.spaces import ActionSpace, ObservationSpace, StateSpace, debugging
from gv_engine.gridverse.state import State

__all__ = [
    "Action",
    "ActionSpace",
    "Agent",
    "Area",
    "Beacon",
    "Box",
    "Color",
    "Door",
    "Exit",
    "Floor",
    "FunctionRegistry",
    "Grid",
    "GridObject",
    "GridWorld",
    "Hidden",
    "InnerEnv",
    "Key",
    "MovingObstacle",
    "NoneGridObject",
    "Observation",
    "ObservationSpace",
    "Orientation",
    "OuterEnv",
    "Position",
    "Shape",
    "State",
    "StateSpace",
    "Telepod",
    "Transform",
    "Wall",
    "choice",
    "choices",
    "debugging",
    "get_gv_rng_if_none",
    "make_rng",
    "observation_function_registry",
    "reset_function_registry",
    "reward_function_registry",
    "shuffle",
    "terminating_function_registry",
    "transition_function_registry",
    "visibility_function_registry",
]

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
