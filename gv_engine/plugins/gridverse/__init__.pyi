from .action import Action
from .agent import Agent
from .envs.gridworld import GridWorld
from .envs.inner_env import InnerEnv
from .geometry import Area, Orientation, Position, Shape, Transform
from .grid import Grid
from .grid_object import (
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
from .observation import Observation
from .outer_env import OuterEnv
from .registry import (
    FunctionRegistry,
    observation_function_registry,
    reset_function_registry,
    reward_function_registry,
    terminating_function_registry,
    transition_function_registry,
    visibility_function_registry,
)
from .rng import choice, choices, get_gv_rng_if_none, make_rng, shuffle
from .spaces import ActionSpace, ObservationSpace, StateSpace
from .state import State

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
