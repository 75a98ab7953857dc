"""Policies of trained runs, which need NumPy alone: the file `policy.npz`, and the policy that acts
with it, `TrainedPolicy`.

- `about`: JSON with `scenario`, the name of the scenario, `scenario_spec`, `mask_actions`,
  `layer_norm`, `epsilon` and `activation`;
- `cells` (codes, 3) uint8: type, state and colour that each cell code stands for;
- `net.…`: the weights of `ActorCritic` by their names there, float32, or float16 in policies that
  come with scenarios. Weights that only training needs are in `checkpoint.pt` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.seeding import POLICY, make_rng
from gv_engine.envs.representations import MISSION, STATE, Arrays
from gv_engine.envs.rollout.network_spec import (
    UNKNOWN_CODE,
    NetworkSpec,
    ScenarioSpec,
    cells_to_codes,
    codes_by_cell,
)
from gv_engine.envs.rollout.numpy_net import NumpyNet
from gv_engine.rules.errors import GVEngineError, describe_allowed, error_text, shorten
from gv_engine.scenario.domains import AnyScenario
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.array_files import ArrayError, NpzArchive
from gv_engine.scenario.storage.files import atomic_write, parse_json, to_path

POLICY_FILE = "policy.npz"
_MAX_BYTES = 2**28
"""Maximum number of bytes of the file, and of each array."""
_MAX_ABOUT = 2**20
_MAX_SIZE = 2**24
"""Maximum of each number in a network specification."""
_NET = "net."
TRAINING_ONLY = "critic_", "central_", "predictor_", "target"
"""Beginnings of the names of weights that acting does not need: of a separate critic, of one that
reads the observations of all agents, see `mappo.py`, and of the networks that measure novelty, see
`rnd.py`.
"""


class RunError(GVEngineError):
    """A folder holds no trained policy, a damaged one, or one that does not fit the scenario."""


class PolicyFile(NamedTuple):
    """Content of the file of a trained policy: everything that it needs to act.

    Attributes:
        scenario: name of the scenario that the policy was trained on.
        scenario_spec: specification of that scenario.
        mask_actions: keep to the actions that the action mask allows.
        cells: (codes, 3) uint8 type, state and colour that each cell code stands for.
        weights: weights of the network by their names in `ActorCritic`.
        layer_norm, epsilon, activation: see `NumpyNet`.
    """

    scenario: str
    scenario_spec: ScenarioSpec
    mask_actions: bool
    cells: NDArray[np.uint8]
    weights: Mapping[str, NDArray[np.float32]]
    layer_norm: bool = False
    epsilon: float | None = None
    activation: str = "relu"

    @property
    def network_spec(self) -> NetworkSpec:
        """Sizes of the network's inputs and outputs."""
        return NetworkSpec.of_scenario(self.scenario_spec, len(self.cells))

    def write(self, run: Path, dtype: type[np.floating[Any]] = np.float32) -> None:
        """Write the file into `run`, the folder of a training run. The write is atomic: readers see
        the old file or the new one.

        Args:
            run: the folder.
            dtype: float32, or float16 for half the size.

        Raises:
            OSError: the file cannot be written; the previous one is unchanged.
        """
        about = {
            "scenario": self.scenario,
            "scenario_spec": self.scenario_spec._asdict(),
            "mask_actions": self.mask_actions,
            "layer_norm": self.layer_norm,
            "epsilon": self.epsilon,
            "activation": self.activation,
        }
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about)), "cells": self.cells}
        for name, weights in self.weights.items():
            if not name.startswith(TRAINING_ONLY):
                arrays[f"{_NET}{name}"] = weights.astype(dtype)
        with atomic_write(run / POLICY_FILE, follow_links=False) as draft, draft.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    @classmethod
    def read(cls, run: Path) -> PolicyFile:
        """Return the content of the policy file in `run`, the folder of a training run.

        Raises:
            RunError: there is no file, or it is damaged.
        """
        path = run / POLICY_FILE
        if not path.exists():
            raise _missing_file_error(run)
        try:
            with NpzArchive(path, _MAX_BYTES, "policies") as file:
                policy = cls._read_archive(file)
            spec = policy.network_spec
            sizes = spec.cells, spec.codes, *spec.extra_sizes, spec.actions, spec.agents
            if not all(0 < size < _MAX_SIZE for size in sizes):
                raise ArrayError(f"its network sizes are {tuple(spec)}")
            return policy
        except OSError as error:
            raise RunError(error_text(error)) from None
        except Exception as error:  # values from a file may be anything
            raise damaged_file_error(path, error) from None

    @classmethod
    def _read_archive(cls, file: NpzArchive) -> PolicyFile:
        """Return the content of an open policy file. Raise an error of any class if it is
        damaged."""
        about = parse_json(file.read_text("about", _MAX_ABOUT))
        epsilon = about["epsilon"]
        return cls(
            scenario=str(about["scenario"]),
            scenario_spec=ScenarioSpec.from_json(about["scenario_spec"]),
            mask_actions=bool(about["mask_actions"]),
            cells=_check_array(file.read_array("cells"), np.uint8).reshape(-1, 3),
            weights={
                name.removeprefix(_NET): _check_weights(file.read_array(name))
                for name in file.array_names
                if name.startswith(_NET)
            },
            layer_norm=bool(about["layer_norm"]),
            epsilon=None if epsilon is None else float(epsilon),
            activation=str(about.get("activation", "relu")),
        )


def _missing_file_error(run: Path) -> RunError:
    """Return the error that says that the folder `run` has no policy file."""
    if files := sorted(run.glob(f"*/{POLICY_FILE}")):
        return RunError(f"{run} holds several runs: name one, as {files[0].parent}")
    if not run.exists():
        names = [file.parent.name for file in run.parent.glob(f"*/{POLICY_FILE}")]
        hint = describe_allowed(run.name, names, "runs beside it")
        return RunError(f"there is no folder {run}{hint}")
    return RunError(
        f"{run} holds no run that is a policy: there is no {POLICY_FILE}, which gv-engine "
        f"train writes, and gv-engine train --resume where it is gone"
    )


def _check_weights(array: NDArray[Any]) -> NDArray[np.float32]:
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    return _check_array(array, np.float32)


def _check_array(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    if array.dtype != dtype or not array.size:
        raise ArrayError(f"an array is of {array.dtype}, shape {array.shape}")
    return array


def damaged_file_error(path: Path, error: Exception) -> RunError:
    """Return the error for a file whose reading raised `error`."""
    cause = str(error) if isinstance(error, ArrayError) else f"{type(error).__name__}: {error}"
    return RunError(f"{path} is damaged, or of another version: {shorten(cause, 200)}")


class TrainedPolicy:
    """A trained policy that acts in any number of worlds: call `act` with observations, infos and
    random generators. If its network has a recurrent layer, it keeps a state for each world.

    Args:
        path: folder of the run, or contents of its policy file.
        scenario: scenario that the policy acts in; None if it need not be checked.
        greedy: take the most probable action instead of sampling.

    Attributes:
        probabilities: (N, actions) float64 probabilities of the last `act`, also if `greedy`; None
            before.
        values: (N,) float64 values of the critic in the last `act`, in units of the scaled rewards
            of the training; None before, and if the critic reads the observations of all agents.
        agents: (N,) index of each row's agent in its world; by default 0, 1 … in turn.
        memory: (N, memory size) state of the recurrent layer.

    Raises:
        RunError: there is no run, it is damaged, or it does not fit the scenario.
    """

    def __init__(
        self,
        path: str | Path | PolicyFile,
        scenario: AnyScenario | None = None,
        greedy: bool = False,
    ) -> None:
        """Load the trained policy; the class docstring explains the arguments."""
        if isinstance(path, PolicyFile):
            file, self._path = path, Path(path.scenario)
        else:
            self._path = to_path(path, "path")
            file = PolicyFile.read(self._path)
        self._file, self._greedy = file, greedy
        self._spec = spec = file.network_spec
        try:
            self._net = NumpyNet(spec, file.weights, *file[5:])
            self.memory = np.zeros((1, self._net.memory_size))
            # fails if weights do not fit together
            self._net.forward(spec.first_rows[None], self.memory, np.ones((1, spec.actions)))
            self._codes = codes_by_cell(file.cells)
        except Exception as error:  # weights from a file may be anything
            raise damaged_file_error(self._path / POLICY_FILE, error) from None
        self._scenario_spec = file.scenario_spec
        if scenario is not None:
            self.require_fit(scenario)
        self.agents = np.zeros(0, np.int64)
        self.probabilities: NDArray[np.float64] | None = None
        self.values: NDArray[np.float64] | None = None

    def require_fit(self, scenario: AnyScenario | None) -> None:
        """Raise an error unless the policy can act in this scenario.

        Raises:
            RunError: the policy does not fit the scenario, or there is none.
        """
        path, file = self._path, self._file
        if not isinstance(scenario, Scenario):
            raise RunError(f"{path} was trained on {file.scenario}, and acts in grids alone")
        spec = ScenarioSpec.of_scenario(scenario)
        if mismatch := file.scenario_spec.find_mismatch(spec):
            expected, found = mismatch
            raise RunError(
                f"{path} was trained on {file.scenario} with {expected}, and {scenario.name} has "
                f"{found}: let it act where that is the same, or train a run on {scenario.name}"
            )
        self._scenario_spec = spec

    def allocate(self, num_envs: int) -> None:
        """Prepare to act in `num_envs` worlds, each at the start of an episode; do nothing if the
        policy acts in as many already."""
        if len(self.agents) != num_envs:
            self.memory = np.zeros((num_envs, self._net.memory_size))
            self.agents = np.arange(num_envs) % self._spec.agents

    def begin(self, worlds: Sequence[int]) -> None:
        """Reset the network's states of worlds where episodes begin."""
        if len(self.agents):
            self.memory[list(worlds)] = 0

    def act(
        self,
        observation: Arrays,
        info: Mapping[str, Any],
        rngs: Sequence[np.random.Generator] = (),
    ) -> NDArray[np.int64]:
        """Return an action for each of N worlds as (N,) int64.

        Args:
            observation: (N, …) arrays in the representation `default`.
            info: infos of the vector environment, with `action_mask`.
            rngs: N random generators; unused by a greedy policy.

        Raises:
            RunError: an observation shows an object that the run was not trained with.
            ValueError: there are not N generators, or the observation or `info` has another form.
        """
        self._check_observation(observation, info)
        num_envs = len(observation["grid"])
        self.allocate(num_envs)
        rows = np.zeros((num_envs, len(self._spec.sizes)), np.int32)
        self._spec.encode(self._to_codes(observation), self.agents, rows)
        if self._file.mask_actions:
            masks = info["action_mask"]
        else:
            masks = np.ones((num_envs, self._spec.actions), np.int8)
        probabilities, self.values, self.memory = self._net.forward(rows, self.memory, masks)
        self.probabilities = probabilities
        if self._greedy:
            actions: NDArray[np.int64] = probabilities.argmax(1)
            return actions
        if len(rngs) != num_envs:
            raise ValueError(
                f"found {len(rngs)} generators, expected {num_envs}, one for each world"
            )
        samples = np.array([rng.random() for rng in rngs])
        is_below = probabilities.cumsum(1) <= samples[:, None]
        # rounding may leave the sum of all below a sample: take the last possible action then
        last_possible = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(1)
        actions = np.minimum(is_below.sum(1), last_possible)
        return actions

    def _check_observation(self, observation: Any, info: Mapping[str, Any]) -> None:
        """Raise ValueError unless the observation has the arrays and shapes that the policy was
        trained with, and `info` has action masks if it needs them."""
        spec = self._scenario_spec
        needed = ["grid", "item"]
        needed += [MISSION] if spec.mission_fields else []
        needed += [STATE] if spec.state else []
        names = [*observation] if isinstance(observation, Mapping) else []
        if missing := [name for name in needed if name not in names]:
            raise ValueError(
                f"the observation has {', '.join(names) or 'no arrays by name'}, and no "
                f'{missing[0]}: make the environment with observation_representation="default"'
            )
        shape, cell_shape = np.shape(observation["grid"]), (*spec.view, 3)
        if shape[1:] != cell_shape:
            expected = ", ".join(map(str, cell_shape))
            raise ValueError(
                f"grid has shape {shape}: expected (N, {expected}), of a vector environment of N "
                f"worlds"
            )
        if self._file.mask_actions and "action_mask" not in info:
            raise ValueError(
                "info has no action_mask, which the run was trained with: make the environment "
                "with action_masks=True, or train with mask_actions=False"
            )

    def _to_codes(self, observation: Arrays) -> Arrays:
        """Return the observation with the code numbers with which the network was trained, in place
        of (type, state, colour)."""
        encoded = {}
        for name in ("grid", "item"):
            cells = observation[name]
            encoded[name] = cells_to_codes(cells, self._codes)
            is_unknown = encoded[name] == UNKNOWN_CODE
            if is_unknown.any():
                cell = self._scenario_spec.describe_cell(*cells[is_unknown][0].tolist())
                trained_on = self._file.scenario
                raise RunError(
                    f"{self._path} was trained on {trained_on} and has never seen {cell}, which is "
                    f"shown here: let it act in {trained_on}, or in one that shows the same"
                )
        return {**observation, **encoded}


class CheckpointPolicy(TrainedPolicy):
    """Policy from a training run for N worlds, with a random generator and a network state for each
    world.

    Args:
        path: folder of the run, or contents of its policy file.
        num_envs: N.
        scenario: scenario that the policy acts in.
        greedy: take the most probable action instead of sampling.

    Raises:
        RunError: there is no run, it is damaged, or it does not fit the scenario.
    """

    def __init__(
        self,
        path: Path | PolicyFile,
        num_envs: int,
        scenario: AnyScenario | None,
        greedy: bool = False,
    ) -> None:
        """Load the policy from a training run, to act in `num_envs` worlds."""
        super().__init__(path, greedy=greedy)
        self.require_fit(scenario)
        self.allocate(num_envs)
        self._rngs = [np.random.default_rng(0)] * num_envs  # `begin` gives each world its own

    def begin(self, worlds: Sequence[int], seed: int = 0, numbers: Sequence[int] = ()) -> None:
        """Start an episode in each of `worlds`: reset its network state, and make its random
        generator from `seed` and its episode number in `numbers`.

        With A agents, episode n has the numbers A * n to A * n + A - 1.
        """
        super().begin(worlds)
        for world, number in zip(worlds, numbers):
            self.agents[world] = number % self._spec.agents
            self._rngs[world] = make_rng(seed, POLICY, number)

    def act(
        self,
        observation: Arrays,
        info: Mapping[str, Any],
        rngs: Sequence[np.random.Generator] = (),
    ) -> NDArray[np.int64]:
        """Return an action for each of N worlds as (N,) int64, see `TrainedPolicy.act`; each world
        has its own generator if there are no `rngs`."""
        return super().act(observation, info, rngs or self._rngs)
