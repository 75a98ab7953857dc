"""Arrays that a backend overwrites at every step and environments return."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


_OBSERVATION_ARRAYS = "grid", "item", "ground", "whole", "mission"


@dataclass
class StepArrays:
    """Arrays of N worlds after a step, overwritten by the next step.

    With A agents, each agent has a line: N * A in place of N, agent by agent within a world. Values
    of a world are repeated for each agent.

    Attributes:
        grid: (N, h, w, 3) uint8 type, state and colour of each observed cell.
        item: (N, 3) uint8 held object.
        ground: (N, h, w, 3) uint8, like `grid` for the ground only, Floor for nothing; (N, 0) if
            not requested.
        whole: (N, H, W, 3) uint8, like `grid` for the whole grid, seen or not: Hidden beyond it,
            and NoneGridObject at the agent, with its direction as state; (N, 0) if not requested.
        mission: (N, k) int32 numbers of the agent's mission; k is 0 without missions.
        mask: (N, actions) int8, 1 for each action with an effect.
        terms: (N, functions) float64 reward of each reward function.
        member: (N,) int64 index of the member of a mixture.
        facing: (N,) uint8 direction of the agent.
        rewards: (N,) float64.
        terminated, truncated: (N,) bool.
        returns, lengths: (N,) float64 and int64 sum of rewards and number of steps up to the last
            step, even if a SAME_STEP reset has already started a new episode.
        final_grid, final_item, final_ground, final_whole, final_mission, final_mask, final_terms,
            final_member, final_facing: the same at the end of an episode that a SAME_STEP reset has
            just replaced.
        success: (N,) bool, True if the last step ended an episode with success, even if a SAME_STEP
            reset has already started a new one.
    """

    grid: NDArray[np.uint8]
    item: NDArray[np.uint8]
    ground: NDArray[np.uint8]
    whole: NDArray[np.uint8]
    mission: NDArray[np.int32]
    mask: NDArray[np.int8]
    terms: NDArray[np.float64]
    member: NDArray[np.int64]
    facing: NDArray[np.uint8]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    final_grid: NDArray[np.uint8]
    final_item: NDArray[np.uint8]
    final_ground: NDArray[np.uint8]
    final_whole: NDArray[np.uint8]
    final_mission: NDArray[np.int32]
    final_mask: NDArray[np.int8]
    final_terms: NDArray[np.float64]
    final_member: NDArray[np.int64]
    final_facing: NDArray[np.uint8]
    success: NDArray[np.bool_]

    @classmethod
    def make(cls, scenario: Scenario, num_worlds: int, more: Collection[str] = ()) -> StepArrays:
        """Return arrays of zeros for this many worlds; `ground` and `whole` only if they are in
        `more`."""
        n = num_worlds * scenario.layout.agents
        actions, terms = len(scenario.actions), len(scenario.reward_names)
        mission_size = len(scenario.missions.names) if scenario.missions else 0
        view, whole = (*scenario.area.shape, 3), (*scenario.largest_shape, 3)

        def make() -> tuple[Any, ...]:
            """Return the arrays that exist for the last step and for the end of an episode."""
            return (
                np.zeros((n, *view), np.uint8),
                np.zeros((n, 3), np.uint8),
                np.zeros((n, *(view if "ground" in more else (0,))), np.uint8),
                np.zeros((n, *(whole if "whole" in more else (0,))), np.uint8),
                np.zeros((n, mission_size), np.int32),
                np.zeros((n, actions), np.int8),
                np.zeros((n, terms)),
                np.zeros(n, np.int64),
                np.zeros(n, np.uint8),
            )

        flags = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        sums = np.zeros(n), np.zeros(n, np.int64)
        arrays: list[Any] = [*make(), np.zeros(n), *flags, *sums, *make(), np.zeros(n, np.bool_)]
        return cls(*arrays)

    @property
    def observed(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that observations are made of: `grid`, `item`, and `ground`, `whole`
        and `mission` if in use."""
        return _drop_empty(self.get_arrays(_OBSERVATION_ARRAYS))

    @property
    def final_observed(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that observations at the end of episodes are made of."""
        return _drop_empty(self.get_arrays(_OBSERVATION_ARRAYS, "final_"))

    def get_arrays(self, names: Iterable[str], prefix: str = "") -> list[NDArray[Any]]:
        """Return the arrays with these names, each name with the prefix."""
        return [getattr(self, prefix + name) for name in names]

    @property
    def unused_names(self) -> set[str]:
        """Return the names of observation arrays that stay empty."""
        empty = [name for name in _OBSERVATION_ARRAYS if not getattr(self, name).shape[1]]
        return {*empty, *(f"final_{name}" for name in empty)}

    def reshape_by_world(self, name: str, num_worlds: int) -> NDArray[Any]:
        """Return the array of this name as (N, A, ...), by world and agent."""
        array: NDArray[Any] = getattr(self, name)
        return array.reshape(num_worlds, len(array) // num_worlds, *array.shape[1:])

    def copy_from(self, other: StepArrays) -> None:
        """Copy the values of other arrays into these arrays."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[...] = theirs


def _drop_empty(arrays: Iterable[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    """Return the arrays whose second axis is not empty."""
    return tuple(array for array in arrays if array.shape[1])
