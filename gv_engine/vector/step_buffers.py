"""Arrays that batches write at every step, and environments hand out."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


_OBSERVED = "grid", "item", "ground", "whole", "mission"


@dataclass
class StepArrays:
    """The arrays of N worlds after a step, overwritten by the next one.

    Where there are A agents, each has a line: N * A in place of N, those of one world one after the
    other. What is a world's own is told to each of them.

    Attributes:
        grid: (N, h, w, 3) uint8, type, state and colour of every observed cell.
        item: (N, 3) uint8, the held object.
        ground: (N, h, w, 3) uint8, the same as `grid` of what lies on the ground alone, Floor for
            nothing; (N, 0) if nobody asks for it.
        whole: (N, H, W, 3) uint8, the same as `grid` of the whole grid, seen or not: Hidden beyond
            it, and NoneGridObject where the agent stands, whose direction is the state; (N, 0) if
            nobody asks for it.
        mission: (N, k) int32, what the agent is asked to do; k is 0 if it is asked nothing.
        mask: (N, actions) int8, 1 for every action that would do something.
        terms: (N, functions) float64, the reward function by function.
        member: (N,) int64, which member of a mixture is played.
        facing: (N,) uint8, the direction in which the agent looks.
        rewards: (N,) float64.
        terminated, truncated: (N,) bool.
        returns, lengths: (N,) float64 and int64, rewards and steps of the episode up to the last
            step, even if a SAME_STEP reset has already begun another one.
        final_grid, final_item, final_ground, final_whole, final_mission, final_mask, final_terms,
            final_member, final_facing: the same at the end of the episodes that a SAME_STEP reset
            has just ended.
        success: (N,) bool, whether an episode has ended well with the last step, even if a
            SAME_STEP reset has already begun another one.
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
    def of(cls, scenario: Scenario, num_worlds: int, more: Collection[str] = ()) -> StepArrays:
        """Empty arrays for this many worlds; of `ground` and `whole` those that are in `more`."""
        n = num_worlds * scenario.layout.agents
        actions, terms = len(scenario.actions), len(scenario.reward_names)
        asked = len(scenario.missions.names) if scenario.missions else 0
        view, whole = (*scenario.area.shape, 3), (*scenario.largest_shape, 3)

        def shown() -> tuple[Any, ...]:
            return (
                np.zeros((n, *view), np.uint8),
                np.zeros((n, 3), np.uint8),
                np.zeros((n, *(view if "ground" in more else (0,))), np.uint8),
                np.zeros((n, *(whole if "whole" in more else (0,))), np.uint8),
                np.zeros((n, asked), np.int32),
                np.zeros((n, actions), np.int8),
                np.zeros((n, terms)),
                np.zeros(n, np.int64),
                np.zeros(n, np.uint8),
            )

        flags = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        sums = np.zeros(n), np.zeros(n, np.int64)
        arrays: list[Any] = [*shown(), np.zeros(n), *flags, *sums, *shown(), np.zeros(n, np.bool_)]
        return cls(*arrays)

    @property
    def observed(self) -> tuple[NDArray[Any], ...]:
        """What observations are made of: `grid`, `item`, `ground` and `whole` if somebody asks for
        them, and `mission` if agents are asked something."""
        return _wanted(self.named(_OBSERVED))

    @property
    def final_observed(self) -> tuple[NDArray[Any], ...]:
        """The same at the end of episodes."""
        return _wanted(self.named(_OBSERVED, "final_"))

    def named(self, names: Iterable[str], prefix: str = "") -> list[NDArray[Any]]:
        """The arrays of these names, each with the prefix."""
        return [getattr(self, prefix + name) for name in names]

    @property
    def unwanted(self) -> set[str]:
        """The names of the arrays of observations into which nothing is ever written."""
        empty = [name for name in _OBSERVED if not getattr(self, name).shape[1]]
        return {*empty, *(f"final_{name}" for name in empty)}

    def of_worlds(self, name: str, num_worlds: int) -> NDArray[Any]:
        """(N, A, …) the array of this name, by world and agent."""
        array: NDArray[Any] = getattr(self, name)
        return array.reshape(num_worlds, len(array) // num_worlds, *array.shape[1:])

    def become(self, other: StepArrays) -> None:
        """Show what another one shows, in the same arrays."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[...] = theirs


def _wanted(arrays: Iterable[NDArray[Any]]) -> tuple[NDArray[Any], ...]:
    return tuple(array for array in arrays if array.shape[1])
