"""Snapshot files: states of worlds as records (rows), with a reference to their scenario.

A file is a `.npz` that NumPy can read:

- `rows` (N,) of `scenario.layout.dtype`: `rows["door"]["status"]` is (N, E); columns of
  components that only agents have end with the agents;
- `scenario`: JSON with the place and the digest of the scenario.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import GVEngineError, error_text, shorten
from gv_engine.scenario.documents.loading import check_reference, load_reference, make_reference
from gv_engine.scenario.documents.trust import Consent
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.array_files import ArrayError, NpzArchive
from gv_engine.scenario.storage.files import atomic_write, format_bytes, parse_json, to_path

__all__ = ["SnapshotError", "load", "load_reference", "save"]

_LARGEST = 128 * 2**20  # maximum bytes of the rows: 58,000 worlds of 9x9 cells
_MAX_REFERENCE = 4 * 2**20  # maximum bytes of the scenario reference, four for each character


class SnapshotError(GVEngineError):
    """Error of a file that is no snapshot, or whose scenario is missing."""


def save(path: str | Path, scenario: Scenario, rows: NDArray[Any]) -> None:
    """Write `rows`, the records of world states, into a snapshot file, with a reference to their
    scenario.

    Args:
        path: file name that ends with `.npz`.
        scenario: scenario of the worlds.
        rows: () or (N,) of `scenario.layout.dtype`, from `snapshot()` of an environment.

    Raises:
        OSError: the file cannot be written.
        ValueError: the rows have another layout, are too many, or the name has another suffix.
    """
    path = to_path(path, "path")
    if not isinstance(scenario, Scenario):
        raise TypeError(f"scenario={scenario!r}: expected the Scenario of the worlds")
    if path.suffix != ".npz":
        raise ValueError(f"{path}: the name of a snapshot must end with .npz")
    rows = scenario.check_rows(rows)
    if rows.nbytes > _LARGEST:
        raise ValueError(
            f"{path}: {len(rows):,} worlds are {format_bytes(rows.nbytes)}, a snapshot holds "
            f"at most {format_bytes(_LARGEST)}; write several"
        )
    with atomic_write(path) as draft, draft.open("wb") as file:
        arrays = {"rows": np.atleast_1d(rows).view(scenario.layout.dtype)}
        arrays["scenario"] = np.array(json.dumps(make_reference(scenario)))
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load(
    path: str | Path, scenario: Scenario | None = None, **consent: Unpack[Consent]
) -> tuple[Scenario, NDArray[Any]]:
    """Return (scenario, records of world states) from a snapshot file.

    Args:
        path: file from `save`.
        scenario: scenario of the worlds; by default the one that the file refers to.
        consent: as for `Scenario.load`; without `trust=True` a scenario that the file refers to
            runs no Python of its own.

    Returns:
        The scenario, and (N,) rows of `scenario.layout.dtype`.

    Raises:
        SnapshotError: the file cannot be read, is no snapshot, or holds worlds of another layout.
        ScenarioError: the scenario is missing or invalid; a `TrustError` if it needs Python that
            may not run.

    Warns:
        UserWarning: the scenario has changed, or another one is given.
    """
    try:
        with NpzArchive(to_path(path, "path"), _LARGEST, "snapshots") as file:
            reference = _read_reference(file)
            loaded = scenario or load_reference(reference, path, **consent)
            if not isinstance(loaded, Scenario):
                raise ArrayError(f"worlds of {loaded.name} are no rows")
            rows = file.read_array("rows")
            if rows.ndim != 1:
                raise ArrayError(f"rows has {rows.ndim} axes, not 1")
    except OSError as error:
        raise SnapshotError(error_text(error)) from None
    except ArrayError as error:
        raise SnapshotError(
            f"{path} is no snapshot of GV Engine, or a damaged one: {error}; "
            f"gv_engine.envs.rollout.snapshots.save writes them"
        ) from None
    name = shorten(reference["name"], 100)
    try:
        rows = loaded.check_rows(rows)
    except ValueError as error:
        raise SnapshotError(
            f"{path} holds worlds of {name} that {loaded.name} cannot go on with: {error}"
        ) from None
    if loaded.name != reference["name"]:
        message = f"{path} holds worlds of {name}; they go on by the rules of {loaded.name}"
        warnings.warn(message, UserWarning, stacklevel=2)
    return loaded, rows


def _read_reference(file: NpzArchive) -> dict[str, Any]:
    """Return the reference to a scenario that a snapshot file holds: its name or file, and its
    parameters.

    Raises:
        ArrayError: it is invalid.
    """
    text = file.read_text("scenario", _MAX_REFERENCE)
    try:
        return check_reference(parse_json(text))
    except (ValueError, RecursionError) as error:
        raise ArrayError(str(error)) from None
