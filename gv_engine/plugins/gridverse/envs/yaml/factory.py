"""Spaces, functions and environments from the data of YAML files.

Functions and objects of modules are named `module:name`, and the module is imported, so a file can
run any Python that is installed. `Scenario.load` reads the same files, and imports only modules
that it is allowed to.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.envs.gridworld import GridWorld
from gv_engine.plugins.gridverse.envs.yaml.schemas import schemas
from gv_engine.plugins.gridverse.geometry import (
    Area,
    DistanceFunction,
    Shape,
    distance_function_factory,
)
from gv_engine.plugins.gridverse.grid_object import Color, GridObject, grid_object_registry
from gv_engine.plugins.gridverse.registry import FUNCTION_REGISTRIES
from gv_engine.plugins.gridverse.spaces import ActionSpace
from gv_engine.plugins.gridverse.utils.custom import import_if_custom
from gv_engine.plugins.gridverse.utils.space_builders import (
    ObservationSpaceBuilder,
    StateSpaceBuilder,
)
from gv_engine.rules.geometry import USUAL_ACTIONS
from gv_engine.rules.system import Phase
from gv_engine.scenario.documents.document import MAX_SCENARIO_BYTES
from gv_engine.scenario.storage.files import read_bytes

B = TypeVar("B", StateSpaceBuilder, ObservationSpaceBuilder)
Data = Any
"""What a YAML file holds: mappings, lists, texts and numbers."""


def factory_shape(data: Data) -> Shape:
    """Return the shape `[height, width]`."""
    return Shape(*schemas["shape"].validate(data))


def factory_layout(data: Data) -> tuple[int, int]:
    """Return the numbers of rooms `[rows, columns]`."""
    rows, columns = schemas["layout"].validate(data)
    return rows, columns


def factory_area(data: Data) -> Area:
    """Return the area `[[ymin, ymax], [xmin, xmax]]`."""
    return Area(*map(tuple, schemas["area"].validate(data)))


def factory_object_type(data: Data) -> type[GridObject]:
    """Return the class of objects with this name, which may be `module:name`."""
    return grid_object_registry.from_name(import_if_custom(schemas["object_type"].validate(data)))


def factory_object_types(data: Data) -> list[type[GridObject]]:
    """Return the classes of objects with these names."""
    return list(map(factory_object_type, schemas["object_types"].validate(data)))


def factory_colors(data: Data) -> list[Color]:
    """Return the colours with these names."""
    return [Color[name] for name in schemas["colors"].validate(data)]


def factory_distance_function(data: Data) -> DistanceFunction:
    """Return the distance function with this name."""
    return distance_function_factory(schemas["distance_function"].validate(data))


def factory_action_space(data: Data) -> ActionSpace:
    """Return the space of the actions with these names."""
    return ActionSpace(Action[name] for name in schemas["action_space"].validate(data))


def factory_state_space_builder(data: Data) -> StateSpaceBuilder:
    """Return a builder of a state space that lacks only the shape."""
    return _fill_builder(StateSpaceBuilder(), schemas["state_space"].validate(data))


def factory_observation_space_builder(data: Data) -> ObservationSpaceBuilder:
    """Return a builder of an observation space that lacks only the shape."""
    return _fill_builder(ObservationSpaceBuilder(), schemas["observation_space"].validate(data))


def _fill_builder(builder: B, data: Data) -> B:
    builder.set_object_types(factory_object_types(data["objects"]))
    builder.set_colors(factory_colors(data["colors"]))
    return builder


def _make_function(phase: Phase, data: Data) -> Callable[..., Any]:
    """Return the function of this phase that `data` describes: `{name: reach_exit, reward_on: 5.0}`
    gives `reach_exit` with `reward_on` fixed to 5.0.

    Raises:
        SchemaError: the data does not fit.
        ValueError: the name is unknown, or a parameter is missing.
    """
    parameters = schemas[f"{phase.name.lower()}_function"].validate(data)
    name = parameters.pop("name")
    process_reserved_keys(parameters)
    return FUNCTION_REGISTRIES[phase].bind(name, **parameters)


factory_reset_function = partial(_make_function, Phase.RESET)
factory_transition_function = partial(_make_function, Phase.TRANSITION)
factory_reward_function = partial(_make_function, Phase.REWARD)
factory_observation_function = partial(_make_function, Phase.OBSERVATION)
factory_visibility_function = partial(_make_function, Phase.VISIBILITY)
factory_terminating_function = partial(_make_function, Phase.TERMINATING)

_READERS: dict[str, Callable[[Data], Any]] = {
    "shape": factory_shape,
    "layout": factory_layout,
    "area": factory_area,
    "object_type": factory_object_type,
    "colors": factory_colors,
    "distance_function": factory_distance_function,
    **{f"{phase.name.lower()}_function": partial(_make_function, phase) for phase in Phase},
}


def process_reserved_keys(data: dict[str, Any]) -> None:
    """Replace the values of reserved keys in `data`, such as `shape`, by objects, in place: the
    list `[7, 7]` becomes `Shape(7, 7)`."""
    for name, value in data.items():
        if reader := _READERS.get(name):
            data[name] = reader(value)
        elif isinstance(value, list) and (reader := _READERS.get(name.removesuffix("s"))):
            data[name] = list(map(reader, value))


def factory_env_from_data(data: Data) -> GridWorld:
    """Return the environment that `data`, the parsed content of a YAML file, describes.

    Raises:
        SchemaError: the data does not fit.
        ValueError: a name is unknown, or a parameter is missing.
    """
    data = schemas["env"].validate(data)
    state_space = factory_state_space_builder(data["state_space"])
    observation_space = factory_observation_space_builder(data["observation_space"])
    names = data.get("action_space", [Action(action).name for action in USUAL_ACTIONS])
    transitions = {"name": "chain", "transition_functions": data["transition_functions"]}
    rewards = {"name": "reduce_sum", "reward_functions": data["reward_functions"]}
    reset_function = factory_reset_function(data["reset_function"])
    observation_function = factory_observation_function(data["observation_function"])
    state = reset_function()
    state_space.set_grid_shape(state.grid.shape)
    observation_space.set_grid_shape(observation_function(state).grid.shape)
    return GridWorld(
        state_space.build(),
        factory_action_space(names),
        observation_space.build(),
        reset_function,
        factory_transition_function(transitions),
        observation_function,
        factory_reward_function(rewards),
        factory_terminating_function(data["terminating_function"]),
    )


def factory_env_from_yaml(path: str | Path) -> GridWorld:
    """Return the environment that a YAML file describes.

    Raises:
        OSError: the file cannot be read.
        SchemaError: its data does not fit.
        ValueError: a name is unknown, or a parameter is missing.
    """
    raw = read_bytes(Path(path), MAX_SCENARIO_BYTES, "scenario files")
    return factory_env_from_data(yaml.safe_load(raw))
