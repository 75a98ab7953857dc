"""Snapshots in files: worlds as rows, and of which scenario.

A file is a `.npz` that NumPy reads by itself:

- `rows` (N,) of `scenario.layout.dtype`: `rows["door"]["status"]` is (N, E);
- `scenario`: JSON that says where the scenario is found again, and a digest of it.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.errors import GVEngineError, reason, shortened
from gv_engine.language.geometry import ACTIONS
from gv_engine.language.modules import is_rule_module
from gv_engine.language.system import Phase
from gv_engine.reading.array_files import Archive, ArrayError
from gv_engine.reading.files import bytes_for_people, replacing
from gv_engine.reading.library import find, names
from gv_engine.reading.scenario import Scenario, document_of
from gv_engine.reading.trust import Consent, Trust
from gv_engine.reading.values import Node

_LARGEST = 128 * 2**20
"""Bytes of the rows, in memory as in a file; 58,000 worlds of 9x9 cells."""
_LONGEST_ABOUT = 4 * 2**20
"""Bytes of what tells the scenario, four for each character."""


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


def found_again(
    known: dict[str, Any], referrer: str | Path = "a file", **consent: Unpack[Consent]
) -> Scenario:
    """The scenario that `identity` told of.

    Args:
        known: what it told.
        referrer: where that is written, for messages.
        consent: as for `Scenario.load`; without `trust=True` it runs no Python of its own.

    Warns:
        UserWarning: it, or one of its rule files, is no longer what it was.

    Raises:
        SnapshotError: `identity` has not told that, or of another family.
        ScenarioError: it is no longer there, or no longer right; a `TrustError` if it names
            Python that may not run.
    """
    try:
        checked(known)
    except ValueError as error:
        raise SnapshotError(f"{referrer} tells of no scenario of grids: {error}") from None
    trust = Trust.given(**consent).of_reference(referrer)
    scenario = Scenario.read(document_of(known["source"], known["folder"], trust))
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
        ValueError: the rows have another layout, are more than a file holds, or the name has
            another ending.
    """
    path = Path(path)
    if path.suffix != ".npz":
        raise ValueError(f"{path}: the name of a snapshot must end with .npz")
    scenario.check(rows)
    if rows.nbytes > _LARGEST:
        raise ValueError(
            f"{path}: {len(rows):,} worlds are {bytes_for_people(rows.nbytes)}, a snapshot holds "
            f"at most {bytes_for_people(_LARGEST)}; write several"
        )
    with replacing(path) as draft, draft.open("wb") as file:
        np.savez_compressed(
            file,
            allow_pickle=False,
            rows=np.atleast_1d(rows),
            scenario=np.array(json.dumps(identity(scenario))),
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
        with Archive(Path(path), _LARGEST, "snapshots") as file:
            known = _known(file)
            if scenario is None:
                scenario = found_again(known, path, **consent)
            rows = file.read("rows")
            if rows.ndim != 1:
                raise ArrayError(f"rows has {rows.ndim} axes, not 1")
    except OSError as error:
        raise SnapshotError(reason(error)) from None
    except ArrayError as error:
        raise SnapshotError(
            f"{path} is no snapshot of GV Engine, or a damaged one: {error}; "
            f"gv_engine.rollouts.snapshots.save writes them"
        ) from None
    name = shortened(known["name"], 100)
    try:
        scenario.check(rows)
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


def _known(file: Archive) -> dict[str, Any]:
    """What `identity` told, and `save` wrote.

    Raises:
        ArrayError: it is something else.
    """
    try:
        known = json.loads(file.text("scenario", _LONGEST_ABOUT))
    except (json.JSONDecodeError, RecursionError):
        known = None
    try:
        return checked(known)
    except ValueError as error:
        raise ArrayError(str(error)) from None


def checked(known: Any) -> dict[str, Any]:
    """What `identity` told, after it has been in a file.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(known, dict):
        raise ValueError("its scenario is no mapping in JSON")
    for name, kinds in _KNOWN.items():
        if not isinstance(known.get(name), kinds):
            raise ValueError(f"its scenario has no {name}")
    for name, value in known["changes"].items():
        if name not in _CHANGES or not _CHANGES[name](value):
            raise ValueError(f"no file keeps such a change of {shortened(name, 40)!r}")
    return known


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_limit(value: Any) -> bool:
    return value is None or (type(value) is int and 1 <= value < 2**31)


def _are_actions(value: Any) -> bool:
    numbers = range(len(ACTIONS))
    return (
        isinstance(value, list)
        and 0 < len(value) <= len(numbers)
        and all(type(number) is int and number in numbers for number in value)
    )


_KNOWN = {"name": str, "source": str | dict, "folder": str, "changes": dict, "digest": str}
_CHANGES: dict[str, Callable[[Any], bool]] = {
    "name": _is_text,
    "description": _is_text,
    "max_steps": _is_limit,
    "actions": _are_actions,
}


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
