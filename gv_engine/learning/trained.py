"""What a run has learned, as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays
from gv_engine.learning.array_net import ArrayNet
from gv_engine.learning.fit import Fit
from gv_engine.learning.policy_file import POLICY_FILE, Learned, RunError, damaged
from gv_engine.reading.families import AnyScenario
from gv_engine.reading.scenario import Scenario

_NOWHERE = -1


class Trained:
    """Acts in N worlds as a run has learned to, each with chance, and maybe a memory, of its own.

    Args:
        path: of the run.
        num_envs: N.
        scenario: that it acts in.
        greedy: always the likeliest action, in place of one drawn.

    Attributes:
        chances: (N, actions) of the last choice, also where the likeliest action was taken.

    Raises:
        RunError: there is no run, it is damaged, or does not fit the scenario.
    """

    def __init__(
        self, path: Path, num_envs: int, scenario: AnyScenario | None, greedy: bool = False
    ) -> None:
        learned = Learned.read(path)
        shape = learned.shape
        try:
            net = ArrayNet(shape, learned.weights)
            self._memory = np.zeros((num_envs, net.hidden))
            seen = np.zeros((1, len(shape.sizes)), np.int32)
            net.look(seen, self._memory[:1], np.ones((1, shape.actions)))
            self._codes = _codes(learned.listed)
        except Exception as error:  # whatever comes of values that may be anything
            raise damaged(path / POLICY_FILE, error) from None
        self._here = _checked(path, learned, scenario)
        self.chances: NDArray[np.float64] | None = None
        self._path, self._learned, self._shape, self._net = path, learned, shape, net
        self._greedy = greedy
        self._rngs = [np.random.default_rng(0)] * num_envs
        self._agents = np.zeros(num_envs, np.int64)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Draw from these generators from now on, and remember nothing.

        Of A agents, episode n has the numbers A * n to A * n + A - 1.
        """
        self._memory[list(worlds)] = 0
        self._agents[list(worlds)] = np.array(numbers) % self._shape.agents
        for world, number in zip(worlds, numbers, strict=True):
            self._rngs[world] = np.random.default_rng([seed, number])

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """(N,) actions, for observations in the representation `default`.

        Raises:
            RunError: the agents see other things than the run has.
        """
        rows = np.zeros((len(self._rngs), len(self._shape.sizes)), np.int32)
        self._shape.places(self._cells(observation), self._agents, rows)
        masks = info["action_mask"]
        masks = masks if self._learned.masks else np.ones_like(masks)
        chances, self._memory = self._net.look(rows, self._memory, masks)
        self.chances = chances
        if self._greedy:
            likeliest: NDArray[np.int64] = chances.argmax(1)
            return likeliest
        draws = np.array([rng.random() for rng in self._rngs])
        below = chances.cumsum(1) <= draws[:, None]
        # the sum of all may be a little less than a draw, and what is shut adds nothing to it
        last = chances.shape[1] - 1 - (chances[:, ::-1] > 0).argmax(1)
        drawn: NDArray[np.int64] = np.minimum(below.sum(1), last)
        return drawn

    def _cells(self, observation: Arrays) -> Arrays:
        """The same under `cells`."""
        grid, item = observation["grid"], observation["item"]
        found = {}
        for name, cells in (("grid", grid), ("item", item)):
            kind, state, color = (
                np.minimum(cells[..., k], size - 1) for k, size in enumerate(self._codes.shape)
            )
            found[name] = self._codes[kind, state, color]
            if (found[name] == _NOWHERE).any():
                thing = self._here.thing(*cells[found[name] == _NOWHERE][0].tolist())
                known = self._learned.scenario
                raise RunError(
                    f"{self._path} was trained on {known} and has never seen {thing}, which is "
                    f"shown here: let it act in {known}, or in one that shows the same"
                )
        return {**observation, **found}


def _checked(path: Path, learned: Learned, scenario: AnyScenario | None) -> Fit:
    """What numbers stand for in a scenario, in which a run can act.

    Raises:
        RunError: it does not fit.
    """
    if not isinstance(scenario, Scenario):
        raise RunError(f"{path} was trained on {learned.scenario}, and acts in grids alone")
    here = Fit.of(scenario)
    if lacking := learned.fit.lacking(here):
        theirs, ours = lacking
        raise RunError(
            f"{path} was trained on {learned.scenario} with {theirs}, and {scenario.name} has "
            f"{ours}: let it act where that is the same, or train a run on {scenario.name}"
        )
    return here


def _codes(listed: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The number of each type, state and colour, with room for one more of each."""
    found = np.full(listed.max(0).astype(int) + 2, _NOWHERE, np.int32)
    found[tuple(listed.T)] = np.arange(len(listed))
    return found
