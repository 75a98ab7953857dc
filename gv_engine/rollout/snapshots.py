"""Snapshots in files: worlds as rows, and of which scenario.

A file is a `.npz` that NumPy reads by itself:

- `rows` (N,) of `scenario.layout.dtype`: `rows["door"]["status"]` is (N, E);
- `scenario`: JSON that says where the scenario is found again, and a digest of it.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import GVEngineError, error_text, shorten
from gv_engine.scenario.files import ArrayError, NpzArchive, atomic_write, format_bytes, parse_json
from gv_engine.scenario.lookup import check_reference, load_reference, make_reference
from gv_engine.scenario.plugin import AnyScenario
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.trust import Consent

__all__ = ["SnapshotError", "load", "load_reference", "save"]

_LARGEST = 128 * 2**20
"""Bytes of the rows, in memory as in a file; 58,000 worlds of 9x9 cells."""
_LONGEST_ABOUT = 4 * 2**20
"""Bytes of what tells the scenario, four for each character."""


class SnapshotError(GVEngineError):
    """A file is no snapshot, or its scenario is not to be found."""


def save(path: str | Path, scenario: Scenario, rows: NDArray[Any]) -> None:
    """Write worlds to a file.

    Args:
        path: its name ends with `.npz`.
        scenario: what the worlds play.
        rows: () or (N,) of `scenario.layout.dtype`, from `snapshot()` of an environment.

    Raises:
        OSError: the file cannot be written.
        ValueError: the rows have another layout, are more than a file holds, or the name has
            another ending.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"{path}: the name of a snapshot must end with .npz")
    rows = scenario.check_rows(rows)
    if rows.nbytes > _LARGEST:
        raise ValueError(
            f"{path}: {len(rows):,} worlds are {format_bytes(rows.nbytes)}, a snapshot holds "
            f"at most {format_bytes(_LARGEST)}; write several"
        )
    with atomic_write(path) as draft, draft.open("wb") as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            rows=np.atleast_1d(rows),
            scenario=np.array(json.dumps(make_reference(scenario))),
        )


def load(
    path: str | Path, scenario: Scenario | None = None, **consent: Unpack[Consent]
) -> tuple[Scenario, NDArray[Any]]:
    """Read worlds from a file.

    Args:
        path: of a file that `save` has written.
        scenario: what the worlds play; found again where it was, if left out.
        consent: as for `Scenario.load`; without `trust=True` a scenario that the file only refers
            to runs no Python of its own.

    Returns:
        The scenario, and (N,) rows of `scenario.layout.dtype`.

    Raises:
        SnapshotError: the file cannot be read, is no snapshot, or one of worlds of another layout.
        ScenarioError: the scenario is no longer there, or no longer right; a `TrustError` if it
            names Python that may not run.

    Warns:
        UserWarning: the scenario is no longer what it was, or another one is given.
    """
    try:
        with NpzArchive(Path(path), _LARGEST, "snapshots") as file:
            known = _known(file)
            if scenario is None:
                scenario = _of_rows(load_reference(known, path, **consent))
            rows = file.read_array("rows")
            if rows.ndim != 1:
                raise ArrayError(f"rows has {rows.ndim} axes, not 1")
    except OSError as error:
        raise SnapshotError(error_text(error)) from None
    except ArrayError as error:
        raise SnapshotError(
            f"{path} is no snapshot of GV Engine, or a damaged one: {error}; "
            f"gv_engine.rollout.snapshots.save writes them"
        ) from None
    name = shorten(known["name"], 100)
    try:
        rows = scenario.check_rows(rows)
    except ValueError as error:
        raise SnapshotError(
            f"{path} holds worlds of {name} that {scenario.name} cannot go on with: {error}"
        ) from None
    if scenario.name != known["name"]:
        warnings.warn(
            f"{path} holds worlds of {name}; they go on by the rules of {scenario.name}",
            UserWarning,
            stacklevel=2,
        )
    return scenario, rows


def _of_rows(scenario: AnyScenario) -> Scenario:
    """A scenario whose worlds are rows.

    Raises:
        ArrayError: its domain has none.
    """
    if not isinstance(scenario, Scenario):
        raise ArrayError(f"worlds of {scenario.name} are no rows")
    return scenario


def _known(file: NpzArchive) -> dict[str, Any]:
    """The reference that `save` wrote.

    Raises:
        ArrayError: it is something else.
    """
    about = file.read_text("scenario", _LONGEST_ABOUT)
    try:
        return check_reference(parse_json(about))
    except (ValueError, RecursionError) as error:
        raise ArrayError(str(error)) from None
