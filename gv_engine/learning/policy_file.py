"""Policy file of a run: `policy.npz`, which NumPy reads.

- `about`: JSON with `scenario`, the name of the scenario, `scenario_spec` and `mask_actions`;
- `cells` (codes, 3) uint8: type, state and colour that each cell code stands for;
- `net.…`: the weights of `ActorCritic` by their names there, float32.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.learning.spec import NetworkSpec, ScenarioSpec
from gv_engine.rules.errors import GVEngineError, error_text, shorten
from gv_engine.scenario.files import ArrayError, NpzArchive, atomic_write, parse_json

POLICY_FILE = "policy.npz"
_MAX_BYTES = 2**28
"""Bytes of the file, and of each array."""
_MAX_ABOUT = 2**20
_MAX_SIZE = 2**24
"""Of each number in a network specification."""
_NET = "net."


class RunError(GVEngineError):
    """A folder holds no run, a damaged run, or a run that does not fit the scenario."""


class PolicyFile(NamedTuple):
    """Contents of a policy file: all that is needed to act.

    Attributes:
        scenario: name of the scenario that the policy was trained on.
        scenario_spec: specification of that scenario.
        mask_actions: keep to the actions that the action mask allows.
        cells: (codes, 3) uint8 type, state and colour that each cell code stands for.
        weights: weights of the network by their names in `ActorCritic`.
    """

    scenario: str
    scenario_spec: ScenarioSpec
    mask_actions: bool
    cells: NDArray[np.uint8]
    weights: Mapping[str, NDArray[np.float32]]

    @property
    def network_spec(self) -> NetworkSpec:
        """Sizes of the network's inputs and outputs."""
        return NetworkSpec.of_scenario(self.scenario_spec, len(self.cells))

    def write(self, run: Path) -> None:
        """Write the file into the folder of a run, atomically.

        Raises:
            OSError: the file cannot be written; the previous one is unchanged.
        """
        about = {
            "scenario": self.scenario,
            "scenario_spec": self.scenario_spec._asdict(),
            "mask_actions": self.mask_actions,
        }
        weights: dict[str, Any] = {f"{_NET}{name}": each for name, each in self.weights.items()}
        with atomic_write(run / POLICY_FILE) as draft, draft.open("wb") as file:
            np.savez(
                file,
                allow_pickle=False,
                about=np.array(json.dumps(about)),
                cells=self.cells,
                **weights,
            )

    @classmethod
    def read(cls, run: Path) -> PolicyFile:
        """Return the contents of the policy file in the folder of a run.

        Raises:
            RunError: there is no file, or it is damaged.
        """
        path = run / POLICY_FILE
        if not path.exists():
            if several := sorted(run.glob(f"*/{POLICY_FILE}")):
                raise RunError(f"{run} holds several runs: name one, as {several[0].parent}")
            raise RunError(
                f"{run} holds no run that is a policy: there is no {POLICY_FILE}, which gv-engine "
                f"train writes, and gv-engine train --resume where it is gone"
            )
        try:
            with NpzArchive(path, _MAX_BYTES, "policies") as file:
                about = parse_json(file.read_text("about", _MAX_ABOUT))
                weights = {
                    name.removeprefix(_NET): _check_array(file.read_array(name), np.float32)
                    for name in file.array_names
                    if name.startswith(_NET)
                }
                policy = cls(
                    str(about["scenario"]),
                    ScenarioSpec.from_json(about["scenario_spec"]),
                    bool(about["mask_actions"]),
                    _check_array(file.read_array("cells"), np.uint8).reshape(-1, 3),
                    weights,
                )
            cells, codes, mission, actions, agents = spec = policy.network_spec
            sizes = cells, codes, *mission, actions, agents
            if not all(0 < size < _MAX_SIZE for size in sizes):
                raise ArrayError(f"its network sizes are {tuple(spec)}")
            return policy
        except OSError as error:
            raise RunError(error_text(error)) from None
        except Exception as error:  # values from a file may be anything
            raise damaged_file_error(path, error) from None


def _check_array(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    if array.dtype != dtype or not array.size:
        raise ArrayError(f"an array is of {array.dtype}, shape {array.shape}")
    return array


def damaged_file_error(path: Path, error: Exception) -> RunError:
    """Return the error for a file whose reading raised `error`."""
    cause = str(error) if isinstance(error, ArrayError) else f"{type(error).__name__}: {error}"
    return RunError(f"{path} is damaged, or of another version: {shorten(cause, 200)}")
