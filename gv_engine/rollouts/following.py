"""Ways that are known ahead, such as those of games that were played, as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays
from gv_engine.rollouts.policy import PolicyError


class KnownWay(NamedTuple):
    """An episode from its beginning to its end.

    Attributes:
        seed: its level is that of `reset(seed=…)`.
        actions: numbers in the scenario's action space, (A,) of A agents.
    """

    seed: int
    actions: tuple[Any, ...]


class Following:
    """Goes way k in episode k.

    Args:
        ways: of all episodes.
        num_envs: N.
    """

    chances: NDArray[np.float64] | None = None

    def __init__(self, ways: Sequence[KnownWay], num_envs: int) -> None:
        self._ways = ways
        self._number, self._step = np.zeros(num_envs, np.int64), np.zeros(num_envs, np.int64)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Go these ways from now on."""
        self._number[list(worlds)] = numbers
        self._step[list(worlds)] = 0

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """(N,) actions, (N, A) of A agents.

        Raises:
            PolicyError: a way is at its end, and the episode is not.
        """
        chosen = np.zeros((len(self._step), *np.shape(self._ways[0].actions[0])), np.int64)
        each = zip(self._number.tolist(), self._step.tolist(), strict=True)
        for world, (number, step) in enumerate(each):
            actions = self._ways[number].actions
            if step >= len(actions):
                raise PolicyError(f"way {number} ends after {step} steps, and its episode does not")
            chosen[world] = actions[step]
        self._step += 1
        return chosen
