"""What a run has learned, in a file that NumPy reads: `policy.npz` in its folder.

- `about`: JSON of the name of its `scenario`, what it has to `fit`, and whether it keeps to
  `masks`;
- `listed` (codes, 3) uint8: type, state and colour that each code of a cell stands for;
- `net.…`: the weights of `Net` by their names there, float32.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.errors import GVEngineError, reason, shortened
from gv_engine.learning.fit import Fit
from gv_engine.learning.shape import Shape
from gv_engine.reading.array_files import Archive, ArrayError
from gv_engine.reading.files import replacing

POLICY_FILE = "policy.npz"
_LARGEST = 2**28
"""Bytes of the file, and of each array."""
_LONGEST_ABOUT = 2**20
_MOST = 2**24
"""Of whatever a shape counts."""
_NET = "net."


class RunError(GVEngineError):
    """A folder holds no run, or a damaged one, or one that does not fit."""


class Learned(NamedTuple):
    """What it takes to act as a run has learned to.

    Attributes:
        scenario: the name of what it was trained on.
        fit: what it has to have in common with what it acts in.
        masks: whether it keeps to the actions that would do something.
        listed: (codes, 3) uint8 type, state and colour that each code of a cell stands for.
        weights: of the net, by their names in `Net`.
    """

    scenario: str
    fit: Fit
    masks: bool
    listed: NDArray[np.uint8]
    weights: Mapping[str, NDArray[np.float32]]

    @property
    def shape(self) -> Shape:
        """Of the net."""
        return Shape.of(self.fit, len(self.listed))

    def write(self, run: Path) -> None:
        """Write it into the folder of a run.

        Raises:
            OSError: it cannot be written; what was there before is still there.
        """
        about = {
            "scenario": self.scenario,
            "fit": self.fit._asdict(),
            "masks": self.masks,
        }
        weights: dict[str, Any] = {f"{_NET}{name}": each for name, each in self.weights.items()}
        with replacing(run / POLICY_FILE) as draft, draft.open("wb") as file:
            np.savez(
                file,
                allow_pickle=False,
                about=np.array(json.dumps(about)),
                listed=self.listed,
                **weights,
            )

    @classmethod
    def read(cls, run: Path) -> Learned:
        """What was written into the folder of a run.

        Raises:
            RunError: nothing was, or it is damaged.
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
            with Archive(path, _LARGEST, "policies") as file:
                about = json.loads(file.text("about", _LONGEST_ABOUT))
                named = [name for name in file.names if name.startswith(_NET)]
                weights = [_array(file.read(name), np.float32) for name in named]
                learned = cls(
                    str(about["scenario"]),
                    Fit.read(about["fit"]),
                    bool(about["masks"]),
                    _array(file.read("listed"), np.uint8).reshape(-1, 3),
                    dict(zip((name.removeprefix(_NET) for name in named), weights)),
                )
            cells, codes, mission, actions, agents = shape = learned.shape
            if not all(0 < number < _MOST for number in (cells, codes, *mission, actions, agents)):
                raise ArrayError(f"its shape is {tuple(shape)}")
            return learned
        except OSError as error:
            raise RunError(reason(error)) from None
        except Exception as error:  # whatever comes of values that may be anything
            raise damaged(path, error) from None


def _array(array: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    if array.dtype != kind or not array.size:
        raise ArrayError(f"an array is of {array.dtype}, shape {array.shape}")
    return array


def damaged(path: Path, error: Exception) -> RunError:
    """The error that says so."""
    told = str(error) if isinstance(error, ArrayError) else f"{type(error).__name__}: {error}"
    return RunError(f"{path} is damaged, or of another version: {shortened(told, 200)}")
