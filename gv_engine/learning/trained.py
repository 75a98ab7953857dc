"""What a run has learned, as a policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gv_engine.envs.form import MISSION
from gv_engine.envs.representations import Arrays
from gv_engine.learning.ppo import Hyperparameters, Net, Shape
from gv_engine.learning.run_folder import Run, RunError, _damaged

_NOWHERE = -1


class Trained:
    """Acts in N worlds as a run has learned to, each with chance, and maybe a memory, of its own.

    It reckons in float64: what is rounded depends on how many worlds there are, and is then too
    little to change an action.

    Args:
        path: of the run.
        num_envs: N.
        num_actions: of what it acts in.
        greedy: always the likeliest action, in place of one drawn.

    Raises:
        RunError: there is no run, it is damaged, or it has other actions.
    """

    def __init__(self, path: Path, num_envs: int, num_actions: int, greedy: bool = False) -> None:
        run = Run(path)
        kept = run.checkpoint()
        try:
            policy = kept["policy"]
            self._shape, settings = Shape(*policy["shape"]), Hyperparameters(**policy["settings"])
            net = Net(self._shape, settings)
            net.load_state_dict(policy["net"])
            self._codes = _codes(policy["listed"].numpy())
            self._view = tuple(policy["view"])
        except Exception as error:  # whatever comes of values that may be anything
            raise _damaged(path, error) from None
        if self._shape.actions != num_actions:
            raise RunError(
                f"{path} has learned to choose among {self._shape.actions} actions, and here are "
                f"{num_actions}: it was trained on {run.scenario['name']}"
            )
        self._path, self._name = path, run.scenario["name"]
        self._greedy, self._masks = greedy, settings.masks
        self._net = net.double().eval()
        with torch.no_grad():
            self._table = self._net.table()
        self._memory = torch.zeros(num_envs, settings.hidden, dtype=torch.float64)
        self._rngs = [np.random.default_rng(0)] * num_envs
        self._agents = np.zeros(num_envs, np.int64)
        self._likely: torch.Tensor | None = None

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
            RunError: the agents see other things than the run has, or in another view.
        """
        rows = np.zeros((len(self._rngs), len(self._shape.sizes)), np.int32)
        self._shape.places(self._cells(observation), self._agents, rows)
        masks = torch.from_numpy(info["action_mask"])
        with torch.no_grad():
            features = self._net.features(self._table, torch.from_numpy(rows))
            features, self._memory = self._net.remember(features, self._memory)
            likely, _ = self._net.decide(features, masks if self._masks else masks | 1)
        self._likely = likely
        if self._greedy:
            chosen: NDArray[np.int64] = likely.argmax(1).numpy()
            return chosen
        draws = np.array([rng.random() for rng in self._rngs])
        below = likely.exp().cumsum(1).numpy() <= draws[:, None]
        # the sum of all may be a little less than a draw, and what is shut adds nothing to it
        last = likely.shape[1] - 1 - (likely.numpy()[:, ::-1] > -1e6).argmax(1)
        drawn: NDArray[np.int64] = np.minimum(below.sum(1), last)
        return drawn

    @property
    def chances(self) -> NDArray[np.float64] | None:
        """(N, actions) of the last choice, also where the likeliest action was taken."""
        return None if self._likely is None else self._likely.exp().numpy()

    def _cells(self, observation: Arrays) -> Arrays:
        """The same under `cells`."""
        grid, item = observation["grid"], observation["item"]
        if grid.shape[1:] != (*self._view, 3):
            raise self._other(f"a view of {grid.shape[1]}×{grid.shape[2]} cells")
        if (MISSION in observation) != bool(self._shape.mission):
            raise self._other("such a mission" if MISSION in observation else "no mission")
        found = {}
        for name, cells in (("grid", grid), ("item", item)):
            kind, state, color = (
                np.minimum(cells[..., k], size - 1) for k, size in enumerate(self._codes.shape)
            )
            found[name] = self._codes[kind, state, color]
            if (found[name] == _NOWHERE).any():
                raise self._other(f"the thing {cells[found[name] == _NOWHERE][0].tolist()}")
        return {**observation, **found}

    def _other(self, what: str) -> RunError:
        return RunError(
            f"{self._path} was trained on {self._name} and has never seen {what} that is shown "
            f"here: let it act in {self._name}, or in one that shows the same"
        )


def _codes(listed: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The number of each type, state and colour, with room for one more of each."""
    found = np.full(listed.max(0).astype(int) + 2, _NOWHERE, np.int32)
    found[tuple(listed.T)] = np.arange(len(listed))
    return found
