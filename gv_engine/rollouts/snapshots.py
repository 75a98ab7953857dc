"""Snapshots in files: worlds as rows, and of which scenario.

A file is a `.npz` that NumPy reads by itself:

- `rows` (N,) of `scenario.layout.dtype`: `rows["door"]["status"]` is (N, E);
- `scenario`: JSON that says where the scenario is found again, and a digest of it.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.errors import GVEngineError
from gv_engine.language.modules import is_rule_module
from gv_engine.language.system import Phase
from gv_engine.reading.files import replacing
from gv_engine.reading.library import find, names
from gv_engine.reading.scenario import Scenario
from gv_engine.reading.values import Node


class SnapshotError(GVEngineError):
    """A file is no snapshot, or its scenario is not to be found."""


def identity(scenario: Scenario) -> dict[str, Any]:
    """What finds a scenario again, as plain values.

    Returns:
        `name`; `source`, a built-in name, the file, or the content if there is none; `folder`,
        where the rule files of the content are; `changes`, what `with_` has changed; `digest`, of
        all that was written for it: its file, those of its members, and their rule files.
    """
    document, text = scenario.document, hashlib.sha256()
    for member in (scenario, *scenario.mixture):
        text.update(json.dumps(_plain(member.document.root)).encode())
    for file in sorted(_rule_files(scenario)):
        text.update(file.read_bytes())
    return {
        "name": scenario.name,
        "source": _reference(document.source) if document.source else _plain(document.root),
        "folder": str(document.folder),
        "changes": dict(scenario.changes),
        "digest": text.hexdigest(),
    }


def found_again(known: dict[str, Any]) -> Scenario:
    """The scenario that `identity` told of.

    Warns:
        UserWarning: it, or one of its rule files, is no longer what it was.

    Raises:
        ScenarioError: it is no longer there, or no longer right.
    """
    scenario = Scenario.load(known["source"], known["folder"])
    if known["changes"]:
        scenario = scenario.with_(**known["changes"])
    if identity(scenario)["digest"] != known["digest"]:
        warnings.warn(
            f"{scenario.name} is no longer what it was when this was written: worlds may go on in "
            f"another way",
            UserWarning,
            stacklevel=2,
        )
    return scenario


def save(path: str | Path, scenario: Scenario, rows: NDArray[Any]) -> None:
    """Write worlds to a file.

    Args:
        path: its name ends with `.npz`.
        scenario: what the worlds play.
        rows: () or (N,) of `scenario.layout.dtype`, from `snapshot()` of an environment.

    Raises:
        OSError: the file cannot be written.
        ValueError: the rows have another layout, or the name another ending.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"{path}: the name of a snapshot must end with .npz")
    scenario.check(rows)
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            rows=np.atleast_1d(rows),
            scenario=np.array(json.dumps(identity(scenario))),
        )


def load(path: str | Path, scenario: Scenario | None = None) -> tuple[Scenario, NDArray[Any]]:
    """Read worlds from a file.

    Args:
        path: of a file that `save` has written.
        scenario: what the worlds play; found again where it was, if left out.

    Returns:
        The scenario, and (N,) rows of `scenario.layout.dtype`.

    Raises:
        SnapshotError: the file cannot be read, is no snapshot, or one of worlds of another layout.
        ScenarioError: the scenario is no longer there, or no longer right.

    Warns:
        UserWarning: the scenario is no longer what it was, or another one is given.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            rows, known = file["rows"], json.loads(file["scenario"].item())
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile):
        raise SnapshotError(
            f"{path} is no snapshot of GV Engine; gv_engine.rollouts.snapshots.save writes them"
        ) from None
    if scenario is None:
        scenario = found_again(known)
    try:
        scenario.check(rows)
    except ValueError as error:
        raise SnapshotError(
            f"{path} holds worlds of {known['name']} that {scenario.name} cannot go on with: "
            f"{error}"
        ) from None
    if scenario.name != known["name"]:
        warnings.warn(
            f"{path} holds worlds of {known['name']}; they go on by the rules of {scenario.name}",
            UserWarning,
            stacklevel=2,
        )
    return scenario, rows


def _reference(source: Path) -> str:
    """The name of a built-in scenario, which holds on any machine, or the file."""
    name = source.parent.name if source.name == "scenario.yaml" else source.stem
    return name if name in names() and find(name) == source else str(source)


def _rule_files(scenario: Scenario) -> set[Path]:
    """Files of the systems and components that an author wrote."""
    systems = [
        part.system
        for member in scenario.members
        for phase in Phase
        for call in member.calls(phase)
        for part in call.parts()
    ]
    files = {system.place[0] for system in systems if is_rule_module(system.function.__module__)}
    return {Path(file) for file in files}


def _plain(node: Node) -> Any:
    """The values of a tree, as JSON has them."""
    if isinstance(node.value, dict):
        return {key: _plain(value) for key, value in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(item) for item in node.value]
    return node.value
