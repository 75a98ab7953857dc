"""Environments with GridVerse's own interface for OpenAI Gym.

`reset` returns an observation, and `step` returns four values: observation, reward, done, info.
`gymnasium.make` takes the same ids, and returns environments with the interface of Gymnasium; new
code should use those. If the package `gym` is installed, `gym.make` finds the ids by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces

from gv_engine.envs.representations import Arrays
from gv_engine.plugins.gridverse.envs.gridworld import GridWorld
from gv_engine.plugins.gridverse.envs.yaml.factory import factory_env_from_yaml
from gv_engine.plugins.gridverse.outer_env import OuterEnv
from gv_engine.plugins.gridverse.representations.observation_representations import (
    make_observation_representation,
)
from gv_engine.plugins.gridverse.representations.spaces import Space, SpaceType
from gv_engine.plugins.gridverse.representations.state_representations import (
    make_state_representation,
)
from gv_engine.plugins.gridverse.spaces import ObservationSpace, StateSpace
from gv_engine.rules.errors import describe_allowed
from gv_engine.scenario import library
from gv_engine.scenario.scenario import Scenario

OuterEnvFactory = Callable[[], OuterEnv]


_OTHER_GRIDS = library.list_plugin_grids().keys()
STRING_TO_YAML_FILE = {
    library.gym_id(name): name for name in library.list_built_in_grids() if name not in _OTHER_GRIDS
}
"""Name of the built-in scenario of each id, for `outer_env_factory`."""

env_ids = list(STRING_TO_YAML_FILE)


def outer_space_to_gym_space(space: dict[str, Space]) -> spaces.Dict:
    """Convert a dict of spaces, one for each array of an observation or state, to a Gymnasium Dict
    space."""
    return spaces.Dict(
        {
            name: spaces.Box(
                part.lower_bound,
                part.upper_bound,
                dtype=np.float64 if part.space_type is SpaceType.CONTINUOUS else np.int64,
            )
            for name, part in space.items()
        }
    )


def from_factory(factory: OuterEnvFactory) -> GymEnvironment:
    """Return the environment for the outer environment that `factory` makes."""
    return GymEnvironment(factory())


def outer_env_factory(source: str | Path) -> OuterEnv:
    """Return the environment described by a YAML file, or the built-in one with this name. Its
    observations are arrays in the representation "default".

    Args:
        source: YAML file, or the name of a built-in scenario.
    """
    env = (
        factory_env_from_yaml(source)
        if Path(source).suffix
        else GridWorld.from_scenario(Scenario.load(source))
    )
    representation = make_observation_representation("default", env.observation_space)
    return OuterEnv(env, observation_representation=representation)


_VIEWS = "state", "observation"
_MODES = {
    f"{output}{suffix}": (output, views)
    for output in ("human", "rgb_array")
    for suffix, views in (("", _VIEWS), ("_state", ("state",)), ("_observation", ("observation",)))
}
"""Render modes by name: "human" for windows or "rgb_array" for pictures, and what they show."""


class GymEnvironment:
    """Environment with the interface of OpenAI Gym for an outer environment.

    Attributes:
        outer_env: outer environment.
        action_space: space of the action's numbers.
        state_space, observation_space: spaces of the arrays; None without a representation.

    Args:
        outer_env: outer environment.
    """

    metadata: ClassVar[dict[str, list[str]]] = {
        "render.modes": [*_MODES],
        "render_modes": [*_MODES],
    }
    reward_range = (-float("inf"), float("inf"))
    spec: Any = None
    render_mode: str | None = None

    def __init__(self, outer_env: OuterEnv) -> None:
        """Give `outer_env`, an environment with array observations, the interface of the package
        `gym`."""
        self.outer_env = outer_env
        self.action_space = spaces.Discrete(outer_env.action_space.num_actions)
        self.state_space = _make_gym_space(outer_env.state_representation)
        self.observation_space = _make_gym_space(outer_env.observation_representation)
        self._viewers: dict[str, Any] = {}

    @property
    def unwrapped(self) -> GymEnvironment:
        """Return the environment itself."""
        return self

    def seed(self, seed: int | None = None) -> list[int]:
        """Seed the random generator, with a random number if `seed` is None; return the seed."""
        number = int(np.random.default_rng().integers(2**31)) if seed is None else seed
        self.outer_env.set_seed(number)
        return [number]

    def set_state_representation(self, name: str) -> None:
        """Choose the representation of states: "default", "no-overlap" or "compact"."""
        space: StateSpace = self.outer_env.inner_env.state_space
        self.outer_env.state_representation = make_state_representation(name, space)
        self.state_space = _make_gym_space(self.outer_env.state_representation)

    def set_observation_representation(self, name: str) -> None:
        """Choose the representation of observations: "default", "no-overlap" or "compact"."""
        space: ObservationSpace = self.outer_env.inner_env.observation_space
        self.outer_env.observation_representation = make_observation_representation(name, space)
        self.observation_space = _make_gym_space(self.outer_env.observation_representation)

    @property
    def state(self) -> Arrays:
        """Return the current state as arrays by name."""
        return self.outer_env.state

    @property
    def observation(self) -> Arrays:
        """Return the current observation as arrays by name."""
        return self.outer_env.observation

    def reset(self) -> Arrays:
        """Begin an episode and return the first observation."""
        self.outer_env.reset()
        return self.observation

    def step(self, action: int) -> tuple[Arrays, float, bool, dict[str, Any]]:
        """Take the action with this index; return observation, reward, True at the end of the
        episode, and an empty dictionary."""
        reward, done = self.outer_env.step(self.outer_env.action_space.int_to_action(int(action)))
        return self.observation, reward, done, {}

    def render(self, mode: str = "human") -> Any:
        """Render state and observation: show both in windows, or return both as images, depending
        on `mode`.

        Args:
            mode: "human" for two windows; "rgb_array" for two (H, W, 3) uint8 pictures; with
                `_state` or `_observation` at the end for one of them.

        Raises:
            ValueError: the mode is unknown.
        """
        from gv_engine.plugins.gridverse.rendering import GridVerseViewer  # imports pygame

        if mode not in _MODES:
            raise ValueError(f"mode={mode!r}{describe_allowed(mode, _MODES)}")
        output, views = _MODES[mode]
        inner = self.outer_env.inner_env
        pictures = []
        for view in views:
            shown = inner.state if view == "state" else inner.observation
            if view not in self._viewers:
                self._viewers[view] = GridVerseViewer(shown.grid.shape, caption=view.title())
            viewer = self._viewers[view]
            pictures.append(viewer.render(shown, return_rgb_array=output == "rgb_array"))
        if output == "human":
            return None
        return tuple(pictures) if len(pictures) > 1 else pictures[0]

    def close(self) -> None:
        """Close the windows."""
        for viewer in self._viewers.values():
            viewer.close()
        self._viewers.clear()


def _make_gym_space(representation: Any) -> spaces.Dict | None:
    space = getattr(representation, "space", None)
    return outer_space_to_gym_space(space) if isinstance(space, dict) else space


class GymStateWrapper:
    """Environment that returns states instead of observations, which are in `info["observation"]`.

    Args:
        env: environment with a representation of states.

    Raises:
        ValueError: the environment has none.
    """

    def __init__(self, env: GymEnvironment) -> None:
        """Wrap `env` so that `reset` and `step` return the full state instead of the
        observation."""
        if env.unwrapped.state_space is None:
            raise ValueError("the environment represents no states: set_state_representation(…)")
        self.env = env
        self.observation_space = env.unwrapped.state_space

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the environment."""
        return getattr(self.env, name)

    @property
    def observation(self) -> Arrays:
        """Return the current state as arrays by name."""
        return self.env.unwrapped.state

    def reset(self) -> Arrays:
        """Begin an episode and return the first state."""
        self.env.reset()
        return self.observation

    def step(self, action: int) -> tuple[Arrays, float, bool, dict[str, Any]]:
        """Take the action with this index; return state, reward, True at the end of the episode,
        and a dictionary with the observation."""
        observation, reward, done, info = self.env.step(action)
        return self.observation, reward, done, {**info, "observation": observation}


def register_envs() -> None:
    """Register the ids of the built-in gridworlds with the package `gym`, which calls this function
    when it is imported."""
    gym: Any = import_module("gym.envs.registration")
    for env_id, name in STRING_TO_YAML_FILE.items():
        gym.register(
            env_id,
            entry_point="gv_engine.plugins.gridverse.gym:from_factory",
            kwargs={"factory": partial(outer_env_factory, name)},
            # they are for environments that return five values
            disable_env_checker=True,
            order_enforce=False,
        )
