"""Policy of a trained run; needs NumPy alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays
from gv_engine.learning.numpy_net import NumpyNet
from gv_engine.learning.policy_file import POLICY_FILE, PolicyFile, RunError, damaged_file_error
from gv_engine.learning.spec import ScenarioSpec
from gv_engine.scenario.plugin import AnyScenario
from gv_engine.scenario.scenario import Scenario

_UNKNOWN_CODE = -1


class CheckpointPolicy:
    """Policy of a trained run for N worlds, each with its own generator and GRU state.

    Args:
        path: folder of the run.
        num_envs: N.
        scenario: scenario that the policy acts in.
        greedy: take the most probable action instead of sampling.

    Attributes:
        probabilities: (N, actions) probabilities of the last `act`, also if `greedy`; None before.

    Raises:
        RunError: there is no run, it is damaged, or it does not fit the scenario.
    """

    def __init__(
        self, path: Path, num_envs: int, scenario: AnyScenario | None, greedy: bool = False
    ) -> None:
        file = PolicyFile.read(path)
        spec = file.network_spec
        try:
            net = NumpyNet(spec, file.weights)
            self._memory = np.zeros((num_envs, net.hidden_size))
            rows = np.zeros((1, len(spec.sizes)), np.int32)
            net.forward(rows, self._memory[:1], np.ones((1, spec.actions)))
            self._codes = _codes_by_cell(file.cells)
        except Exception as error:  # weights from a file may be anything
            raise damaged_file_error(path / POLICY_FILE, error) from None
        self._scenario_spec = _check_scenario(path, file, scenario)
        self.probabilities: NDArray[np.float64] | None = None
        self._path, self._file, self._spec, self._net = path, file, spec, net
        self._greedy = greedy
        self._rngs = [np.random.default_rng(0)] * num_envs
        self._agents = np.zeros(num_envs, np.int64)

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Reset the GRU state of some worlds and seed their generators by episode number.

        With A agents, episode n has the numbers A * n to A * n + A - 1.
        """
        self._memory[list(worlds)] = 0
        self._agents[list(worlds)] = np.array(numbers) % self._spec.agents
        for world, number in zip(worlds, numbers, strict=True):
            self._rngs[world] = np.random.default_rng([seed, number])

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return (N,) actions for observations in the representation `default`.

        Raises:
            RunError: an observation shows an object that the run was not trained with.
        """
        rows = np.zeros((len(self._rngs), len(self._spec.sizes)), np.int32)
        self._spec.encode(self._to_codes(observation), self._agents, rows)
        masks = info["action_mask"]
        masks = masks if self._file.mask_actions else np.ones_like(masks)
        probabilities, self._memory = self._net.forward(rows, self._memory, masks)
        self.probabilities = probabilities
        if self._greedy:
            greedy_actions: NDArray[np.int64] = probabilities.argmax(1)
            return greedy_actions
        samples = np.array([rng.random() for rng in self._rngs])
        below = probabilities.cumsum(1) <= samples[:, None]
        # rounding may leave the sum of all below a sample: take the last possible action then
        last = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(1)
        actions: NDArray[np.int64] = np.minimum(below.sum(1), last)
        return actions

    def _to_codes(self, observation: Arrays) -> Arrays:
        """Return the observation with the cell codes that the network was trained with."""
        encoded = {}
        for name in ("grid", "item"):
            cells = observation[name]
            kind, state, color = (
                np.minimum(cells[..., k], size - 1) for k, size in enumerate(self._codes.shape)
            )
            encoded[name] = self._codes[kind, state, color]
            unknown = encoded[name] == _UNKNOWN_CODE
            if unknown.any():
                cell = self._scenario_spec.describe_cell(*cells[unknown][0].tolist())
                trained_on = self._file.scenario
                raise RunError(
                    f"{self._path} was trained on {trained_on} and has never seen {cell}, which is "
                    f"shown here: let it act in {trained_on}, or in one that shows the same"
                )
        return {**observation, **encoded}


def _check_scenario(path: Path, file: PolicyFile, scenario: AnyScenario | None) -> ScenarioSpec:
    """Return the specification of a scenario in which the policy of a file can act.

    Raises:
        RunError: the policy does not fit the scenario.
    """
    if not isinstance(scenario, Scenario):
        raise RunError(f"{path} was trained on {file.scenario}, and acts in grids alone")
    spec = ScenarioSpec.of_scenario(scenario)
    if mismatch := file.scenario_spec.find_mismatch(spec):
        trained_with, found = mismatch
        raise RunError(
            f"{path} was trained on {file.scenario} with {trained_with}, and {scenario.name} has "
            f"{found}: let it act where that is the same, or train a run on {scenario.name}"
        )
    return spec


def _codes_by_cell(cells: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return the code of each type, state and colour, with one unknown entry more on each axis."""
    codes = np.full(cells.max(0).astype(int) + 2, _UNKNOWN_CODE, np.int32)
    codes[tuple(cells.T)] = np.arange(len(cells))
    return codes
