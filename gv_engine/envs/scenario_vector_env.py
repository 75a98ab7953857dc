"""The base of vector environments of all domains: many worlds of one scenario."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gv_engine.envs.arg_checks import (
    Seeds,
    Wanted,
    at_least,
    autoreset_mode_of,
    floats_of,
    known_options,
    seeds_of,
)
from gv_engine.scenario.plugin import AnyScenario

_Observation = TypeVar("_Observation")

VectorStep = tuple[Any, NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]
"""Observations, rewards, terminated, truncated and info of N worlds."""


class ScenarioVectorEnv(VectorEnv[_Observation, NDArray[np.int64], Any]):
    """N worlds of one scenario. Domains add the worlds, their spaces and how they are drawn.

    Args:
        num_envs: N.
        autoreset_mode: when a finished world begins anew.
        render_mode: "rgb_array", "ansi" or None.
        reward_dtype: of rewards, float64 or float32.

    Attributes:
        scenario: what is played.
        world: the name of the backend that steps, such as "compiled".
        num_actions: of the action space of one.
        called: what messages call a world.
        recorded: names of the arrays in an observation that rollouts keep.

    Raises:
        ValueError: a number is too small, or there is no such mode.
    """

    scenario: AnyScenario
    world: str
    num_actions: int
    called = "world"
    recorded: tuple[str, ...]

    def __init__(
        self,
        num_envs: int,
        autoreset_mode: AutoresetMode | str,
        render_mode: str | None,
        reward_dtype: DTypeLike,
    ) -> None:
        self.num_envs = at_least(1, num_envs=num_envs)
        self.autoreset_mode = autoreset_mode_of(autoreset_mode)
        if render_mode not in (None, "rgb_array", "ansi"):
            raise ValueError(f"render_mode={render_mode!r}: allowed are None, 'rgb_array', 'ansi'")
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self._reward_dtype = floats_of(reward_dtype)
        self._all = np.ones(self.num_envs, np.bool_)
        self._all.flags.writeable = False
        self._started = False

    # a space of all worlds takes as much memory as all that they show, so that it waits for a use

    @cached_property
    def action_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]  # an attribute there
        """One action for each world."""
        return batch_space(self.single_action_space, self.num_envs)

    @cached_property
    def observation_space(self) -> gymnasium.Space[Any]:  # type: ignore[override]  # the same
        """What all worlds show."""
        return batch_space(self.single_observation_space, self.num_envs)

    seats: tuple[int, ...] = ()
    """The axes that arrays have behind that of worlds: none for the only agent."""

    @property
    def num_worlds(self) -> int:
        """How many worlds there are, of one agent each."""
        return self.num_envs

    @property
    def labels(self) -> dict[str, list[str]]:
        """What numbers in the data of rollouts stand for, as `rollout.json` says it."""
        raise NotImplementedError

    def __repr__(self) -> str:
        worlds = f"{self.num_envs:,} {self.called}s"
        return f"<{type(self).__name__} {self.scenario.name}, {worlds}, {self.world}>"

    def _wanted(self, observation: Wanted) -> Wanted:
        """What `out` may hold: arrays of observations, and what else a step returns."""
        flags = (self.num_envs,), np.dtype(np.bool_)
        reward = (self.num_envs,), self._reward_dtype
        return {**observation, "reward": reward, "terminated": flags, "truncated": flags}

    def _asked(
        self, seed: Seeds, options: dict[str, Any] | None
    ) -> tuple[list[int | None], NDArray[np.bool_]]:
        """What a reset is asked for: the seed of every world, and (N,) which begin anew.

        Raises:
            ValueError: seeds or mask have another length or kind, or an option is not known.
        """
        count = self.num_worlds
        seeds = seeds_of(seed, count, self.called)
        asked = known_options(options, "reset_mask").get("reset_mask")
        chosen = self._all[:count] if asked is None else np.asarray(asked)
        if chosen.shape != (count,) or chosen.dtype != np.bool_:
            raise ValueError(
                f"reset_mask has shape {chosen.shape} and dtype {chosen.dtype}: expected "
                f"({count},) bool"
            )
        return seeds, chosen if self._started else self._all[:count]

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        """(N,) numbers of actions.

        Raises:
            ValueError: an action is none of the action space, or nothing was reset yet.
        """
        if not self._started:
            raise ValueError("call reset() before the first step()")
        given = np.asarray(actions)
        last = self.num_actions - 1
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions have shape {given.shape} and dtype {given.dtype}: expected "
                f"({self.num_envs},) integers"
            )
        chosen = np.ascontiguousarray(given, np.int64)
        if chosen.view(np.uint64).max() > last:  # where those below 0 are the largest
            wrong = int(np.flatnonzero((given < 0) | (given > last))[0])
            raise ValueError(
                f"action {given[wrong]} of {self._line(wrong)}: allowed are 0 to {last}"
            )
        return chosen

    def _line(self, number: int) -> str:
        """What people call a line of the arrays."""
        return f"{self.called} {number}"

    def _add_episode(
        self,
        info: dict[str, Any],
        ended: NDArray[np.bool_],
        returns: NDArray[np.float64],
        lengths: NDArray[np.int64],
        success: NDArray[np.bool_],
    ) -> None:
        """Return, length and success of the episodes that have just ended."""
        episode = {"r": np.where(ended, returns, 0.0), "l": np.where(ended, lengths, 0)}
        if self.scenario.tells_success:
            episode["s"] = ended & success
        info |= masked({"episode": episode}, ended, deep=False)


def masked(info: dict[str, Any], which: NDArray[np.bool_], deep: bool = True) -> dict[str, Any]:
    """An info with the key `_name` beside every `name`, as Gymnasium has it.

    Args:
        which: (N,) the worlds that the info is about.
        deep: whether keys of mappings within it have one, too.
    """
    found = {}
    for name, value in info.items():
        nested = deep and isinstance(value, dict)
        found[name] = masked(value, which) if nested else value
        found[f"_{name}"] = which
    return found
