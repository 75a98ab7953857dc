"""References to scenarios in replays and other files, and loading of the scenarios that they refer
to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Unpack

from gv_engine.rules.errors import ScenarioError, shorten
from gv_engine.rules.geometry import is_action
from gv_engine.scenario.files import check_digest, check_line
from gv_engine.scenario.library import add_whole_files
from gv_engine.scenario.loading import read_scenario
from gv_engine.scenario.plugin import AnyScenario, list_playable_scenarios
from gv_engine.scenario.trust import Consent, Trust


def make_reference(scenario: AnyScenario) -> dict[str, Any]:
    """Return a reference to a scenario as plain values.

    Returns:
        `domain` and `name`; `source`, a built-in name, the file, or the content if there is no
            file;
        `folder`, the folder of the content's rule files; `settings`, the values of its parameters
            that
        were set; `changes`, the other changed values; `digest`, the digest of its
            `ScenarioIdentity`.
    """
    return {
        "domain": scenario.domain,
        "name": scenario.name,
        "source": _reference_source(scenario),
        "folder": str(scenario.document.folder),
        "settings": dict(scenario.document.settings),
        "changes": dict(scenario.changes),
        "digest": scenario.identity.digest,
    }


def _reference_source(scenario: AnyScenario) -> Any:
    """Return a scenario's built-in name, valid on every machine, or its file, or its content."""
    ref = scenario.document.ref
    if ref is None:
        return scenario.document.root.plain
    built_in = add_whole_files(list_playable_scenarios())
    return next((name for name, other in built_in.items() if other == ref), str(ref))


def load_reference(
    reference: Mapping[str, Any], referrer: str | Path = "a file", **consent: Unpack[Consent]
) -> AnyScenario:
    """Load the scenario that a reference of `make_reference` refers to.

    Args:
        reference: the reference.
        referrer: the file that holds the reference, for messages.
        consent: as for `load_scenario`; without `trust=True` the scenario runs no Python of its
            own.

    Warns:
        UserWarning: the scenario, or a Python file that it uses, has changed since.

    Raises:
        ScenarioError: the reference is malformed, or the scenario is missing or has errors; a
            `TrustError` if it names Python code that may not run.
    """
    try:
        check_reference(reference)
    except ValueError as error:
        raise ScenarioError([f"{referrer} refers to no scenario: {error}"]) from None
    trust = Trust.from_options(**consent).for_reference(referrer)
    scenario = read_scenario(reference["source"], trust, reference["folder"], reference["settings"])
    changes = reference["changes"]
    if unknown := [number for number in changes.get("actions", ()) if not is_action(number)]:
        raise ScenarioError([f"{referrer}: {scenario.name} has no action of number {unknown[0]}"])
    if changes:
        scenario = scenario.with_(**changes)
    if scenario.identity.digest != reference["digest"]:
        warnings.warn(
            f"{scenario.name} is no longer what it was when this was written: worlds may go on in "
            f"another way",
            UserWarning,
            stacklevel=2,
        )
    return scenario


def check_reference(reference: Any) -> dict[str, Any]:
    """Return a reference from a file unchanged if it is well-formed.

    Raises:
        ValueError: the value is no reference of `make_reference`.
    """
    if not isinstance(reference, dict):
        raise ValueError("its scenario is no mapping in JSON")
    for name, kinds in _REFERENCE_FIELDS.items():
        if not isinstance(reference.get(name), kinds):
            raise ValueError(f"its scenario has no {name}")
    check_line(reference["name"], "name of its scenario")
    check_digest(reference["digest"])
    for name, value in reference["changes"].items():
        if name not in _CHANGE_CHECKS or not _CHANGE_CHECKS[name](value):
            raise ValueError(f"no reference holds such a change of {shorten(name, 40)!r}")
    return reference


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_line(value: Any) -> bool:
    with suppress(ValueError):
        return bool(check_line(value, "name"))
    return False


def _is_step_limit(value: Any) -> bool:
    return value is None or (type(value) is int and 1 <= value < 2**31)


def _are_actions(value: Any) -> bool:
    """Return True for a non-empty list of different action numbers."""
    if not (isinstance(value, list) and value and all(type(number) is int for number in value)):
        return False
    return len(set(value)) == len(value)


_REFERENCE_FIELDS = {
    **dict.fromkeys(("domain", "name", "folder", "digest"), str),
    "source": str | dict,
    "settings": dict,
    "changes": dict,
}
_CHANGE_CHECKS: dict[str, Callable[[Any], bool]] = {
    "name": _is_line,
    "description": _is_text,
    "difficulty": _is_text,
    "max_steps": _is_step_limit,
    "actions": _are_actions,
}
