"""Base class of the vector environments of all domains: arguments, results and checks."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gv_engine.envs import arg_checks
from gv_engine.envs.render_modes import check_render_mode
from gv_engine.envs.representations import Arrays
from gv_engine.scenario.domains import AnyScenario

_Observation = TypeVar("_Observation")

VectorStep = tuple[Any, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]
"""Observations, rewards, terminated, truncated and info of N worlds."""


class ScenarioVectorEnv(VectorEnv[_Observation, NDArray[np.int64], Any]):
    """Base class of vector environments, with N worlds of one scenario. Subclasses for grids and
    for formulas add the worlds, their spaces and their drawing.

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
        agent_shape: axes of agents behind the axis of worlds: () for a single agent.

    Raises:
        ValueError: a number is too small, or there is no such mode.
    """

    scenario: AnyScenario
    world: str
    num_actions: int
    world_noun = "world"
    _copy: bool
    recorded: tuple[str, ...]
    agent_shape: tuple[int, ...] = ()

    def __init__(
        self,
        num_envs: int,
        autoreset_mode: AutoresetMode | str,
        render_mode: str | None,
        reward_dtype: DTypeLike,
    ) -> None:
        """Check and store the arguments; the class docstring explains them."""
        self.num_envs = arg_checks.check_at_least(1, num_envs=num_envs)
        self.autoreset_mode = arg_checks.parse_autoreset_mode(autoreset_mode)
        check_render_mode(render_mode, ("rgb_array", "ansi"))
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self._reward_dtype = arg_checks.check_reward_dtype(reward_dtype)
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

    def _step_output_specs(self, observation: arg_checks.ArraySpecs) -> arg_checks.ArraySpecs:
        flags = (self.num_envs,), np.dtype(np.bool_)
        reward = (self.num_envs,), self._reward_dtype
        return {**observation, "reward": reward, "terminated": flags, "truncated": flags}

    def _copy_results(self, results: Arrays, outputs: Arrays) -> Arrays:
        """Return the arrays `results`, by name, as the caller of `step` gets them. If the caller
        gave an array for one in `outputs`, it is written there; else it is copied if the
        environment makes copies."""
        copied = {}
        for name, array in results.items():
            if name in outputs:
                np.copyto(outputs[name], array)
                copied[name] = outputs[name]
            else:
                copied[name] = array.copy() if self._copy else array
        return copied

    def _check_reset_arguments(
        self, seed: arg_checks.Seeds, options: dict[str, Any] | None
    ) -> tuple[list[int | None], NDArray[np.bool_]]:
        """Check the arguments of `reset`. Return a seed (or None) for each world, and an (N,) mask
        of the worlds to reset.

        Raises:
            ValueError: seeds or mask have another length or kind, or an option is unknown.
            ClosedEnvironmentError: the environment is closed.
        """
        self._require_open("reset")
        count = self.num_worlds
        seeds = arg_checks.resolve_seeds(seed, count, self.world_noun)
        mask = arg_checks.check_options(options, "reset_mask").get("reset_mask")
        mask = self._all[:count] if mask is None else np.asarray(mask)
        if mask.shape != (count,) or mask.dtype != np.bool_:
            raise ValueError(
                f"reset_mask has shape {mask.shape} and dtype {mask.dtype}: expected "
                f"({count},) bool"
            )
        return seeds, mask if self._started else self._all[:count]

    def _check_actions(self, actions: ArrayLike) -> NDArray[np.int64]:
        """Return the actions as (N,) int64. Raise an error unless each is in the action space.

        Raises:
            ValueError: an action is not in the action space, or `reset` was not called yet.
            ClosedEnvironmentError: the environment is closed.
        """
        self._require_open("step")
        if not self._started:
            raise ValueError("call reset() before the first step()")
        array = np.asarray(actions)
        last = self.num_actions - 1
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise ValueError(arg_checks.describe_action_fault(array, (self.num_envs,)))
        numbers = np.ascontiguousarray(array, np.int64)
        unsigned = numbers.view(np.uint64)  # negative ones are the largest
        if unsigned[unsigned.argmax()] > last:  # faster than `max`
            invalid = int(np.flatnonzero((array < 0) | (array > last))[0])
            raise ValueError(
                f"action {array[invalid]} of {self._name_line(invalid)}: allowed are 0 to {last}"
            )
        return numbers

    def _require_open(self, method: str) -> None:
        if self.closed:
            raise ClosedEnvironmentError(f"{method}() after close(): make a new environment")

    def _name_line(self, line: int) -> str:
        return f"{self.world_noun} {line}"

    def _add_episode(
        self,
        info: dict[str, Any],
        ended: NDArray[np.bool_],
        returns: NDArray[np.float64],
        lengths: NDArray[np.int64],
        success: NDArray[np.bool_],
    ) -> None:
        """Add the statistics of ended episodes to `info`, as Gymnasium's RecordEpisodeStatistics
        does: return, length and success of each world where `ended` is True."""
        episode = {"r": np.where(ended, returns, 0.0), "l": np.where(ended, lengths, 0)}
        if self.scenario.tells_success:
            episode["s"] = ended & success
        info |= add_presence_masks({"episode": episode}, ended, is_deep=False)


def add_presence_masks(
    info: dict[str, Any], info_mask: NDArray[np.bool_], is_deep: bool = True
) -> dict[str, Any]:
    """Return a copy of `info` in which each entry `name` also has `_name`: `info_mask`, True for
    the worlds for which the entry is valid. Gymnasium requires these.

    Args:
        info: arrays and nested mappings by name.
        info_mask: (N,) worlds that the info is about.
        is_deep: add such keys in nested mappings, too.
    """
    masked = {}
    for name, value in info.items():
        is_nested = is_deep and isinstance(value, dict)
        masked[name] = add_presence_masks(value, info_mask) if is_nested else value
        masked[f"_{name}"] = info_mask
    return masked
