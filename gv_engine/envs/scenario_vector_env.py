"""Base class of vector environments of all domains: many worlds of one scenario."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gv_engine.envs.arg_checks import (
    ArraySpecs,
    Seeds,
    check_at_least,
    check_options,
    check_reward_dtype,
    parse_autoreset_mode,
    resolve_seeds,
)
from gv_engine.scenario.plugin import AnyScenario

_Observation = TypeVar("_Observation")

VectorStep = tuple[Any, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]
"""Observations, rewards, terminated, truncated and info of N worlds."""


class ScenarioVectorEnv(VectorEnv[_Observation, NDArray[np.int64], Any]):
    """Vector environment with N worlds of one scenario. Domains add the worlds, their spaces and
    their rendering.

    Args:
        num_envs: N.
        autoreset_mode: time at which a finished world is reset.
        render_mode: "rgb_array", "ansi" or None.
        reward_dtype: float64 or float32.

    Attributes:
        scenario: scenario that is played.
        world: name of the current backend, such as "compiled".
        num_actions: size of the action space of one world.
        world_noun: word for a world in messages.
        recorded: names of the observation arrays that rollouts record.

    Raises:
        ValueError: a number is too small, or there is no such mode.
    """

    scenario: AnyScenario
    world: str
    num_actions: int
    world_noun = "world"
    recorded: tuple[str, ...]

    def __init__(
        self,
        num_envs: int,
        autoreset_mode: AutoresetMode | str,
        render_mode: str | None,
        reward_dtype: DTypeLike,
    ) -> None:
        self.num_envs = check_at_least(1, num_envs=num_envs)
        self.autoreset_mode = parse_autoreset_mode(autoreset_mode)
        if render_mode not in (None, "rgb_array", "ansi"):
            raise ValueError(f"render_mode={render_mode!r}: allowed are None, 'rgb_array', 'ansi'")
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self._reward_dtype = check_reward_dtype(reward_dtype)
        self._all = np.ones(self.num_envs, np.bool_)
        self._all.flags.writeable = False
        self._started = False

    # cached on first use: a batched space takes as much memory as all observations

    @cached_property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]  # an attribute there
        """Space of the actions of all worlds."""
        return batch_space(self.single_action_space, self.num_envs)

    @cached_property
    def observation_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]  # the same
        """Space of the observations of all worlds."""
        return batch_space(self.single_observation_space, self.num_envs)

    agent_shape: tuple[int, ...] = ()
    """Axes of agents behind the axis of worlds: () for a single agent."""

    @property
    def num_worlds(self) -> int:
        """Number of worlds."""
        return self.num_envs

    @property
    def labels(self) -> dict[str, list[str]]:
        """Names of the numbers in rollout data, as `rollout.json` stores them."""
        raise NotImplementedError

    def __repr__(self) -> str:
        worlds = f"{self.num_envs:,} {self.world_noun}s"
        return f"<{type(self).__name__} {self.scenario.name}, {worlds}, {self.world}>"

    def _step_output_specs(self, observation: ArraySpecs) -> ArraySpecs:
        """Return the specifications of all arrays that `out` may have, given those of
        observations."""
        flags = (self.num_envs,), np.dtype(np.bool_)
        reward = (self.num_envs,), self._reward_dtype
        return {**observation, "reward": reward, "terminated": flags, "truncated": flags}

    def _check_reset_arguments(
        self, seed: Seeds, options: dict[str, Any] | None
    ) -> tuple[list[int | None], NDArray[np.bool_]]:
        """Return the seed of every world, and an (N,) mask of the worlds to reset.

        Raises:
            ValueError: seeds or mask have another length or kind, or an option is unknown.
        """
        count = self.num_worlds
        seeds = resolve_seeds(seed, count, self.world_noun)
        mask = check_options(options, "reset_mask").get("reset_mask")
        mask = self._all[:count] if mask is None else np.asarray(mask)
        if mask.shape != (count,) or mask.dtype != np.bool_:
            raise ValueError(
                f"reset_mask has shape {mask.shape} and dtype {mask.dtype}: expected "
                f"({count},) bool"
            )
        return seeds, mask if self._started else self._all[:count]

    def _check_actions(self, actions: ArrayLike) -> NDArray[np.int64]:
        """Return (N,) int64 actions.

        Raises:
            ValueError: an action is not in the action space, or `reset` was not called yet.
        """
        if not self._started:
            raise ValueError("call reset() before the first step()")
        array = np.asarray(actions)
        last = self.num_actions - 1
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise ValueError(
                f"actions have shape {array.shape} and dtype {array.dtype}: expected "
                f"({self.num_envs},) integers"
            )
        numbers = np.ascontiguousarray(array, np.int64)
        if numbers.view(np.uint64).max() > last:  # negative ones are the largest
            invalid = int(np.flatnonzero((array < 0) | (array > last))[0])
            raise ValueError(
                f"action {array[invalid]} of {self._describe_line(invalid)}: "
                f"allowed are 0 to {last}"
            )
        return numbers

    def _describe_line(self, number: int) -> str:
        """Return the words for one line of the arrays, for messages."""
        return f"{self.world_noun} {number}"

    def _add_episode(
        self,
        info: dict[str, Any],
        ended: NDArray[np.bool_],
        returns: NDArray[np.float64],
        lengths: NDArray[np.int64],
        success: NDArray[np.bool_],
    ) -> None:
        """Add return, length and success of the episodes that have just ended to `info`."""
        episode = {"r": np.where(ended, returns, 0.0), "l": np.where(ended, lengths, 0)}
        if self.scenario.tells_success:
            episode["s"] = ended & success
        info |= add_presence_masks({"episode": episode}, ended, is_deep=False)


def add_presence_masks(
    info: dict[str, Any], mask: NDArray[np.bool_], is_deep: bool = True
) -> dict[str, Any]:
    """Return an info with a key `_name` beside every `name`, as Gymnasium requires.

    Args:
        info: arrays and nested mappings by name.
        mask: (N,) worlds that the info is about.
        is_deep: add such keys in nested mappings, too.
    """
    masked = {}
    for name, value in info.items():
        nested = is_deep and isinstance(value, dict)
        masked[name] = add_presence_masks(value, mask) if nested else value
        masked[f"_{name}"] = mask
    return masked
