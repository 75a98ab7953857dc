"""References: what replays and other files say of their scenario, to find it again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Unpack

from gv_engine.rules.errors import ScenarioError, shortened
from gv_engine.rules.geometry import is_action
from gv_engine.scenario.files import check_digest, check_line
from gv_engine.scenario.library import add_whole_files
from gv_engine.scenario.loading import read_scenario
from gv_engine.scenario.plugin import AnyScenario, list_playable_scenarios
from gv_engine.scenario.trust import Consent, Trust


def make_reference(scenario: AnyScenario) -> dict[str, Any]:
    """The reference to a scenario, as plain values.

    Returns:
        `domain` and `name`; `source`, a built-in name, the file, or the content if there is none;
        `folder`, where the rule files of the content are; `settings`, the values of its parameters
        that were set; `changes`, what was changed in it; `digest`, that of its `ScenarioIdentity`.
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
    """The name of a built-in scenario, which holds on any machine, or its file, or its content."""
    level = scenario.document.ref
    if level is None:
        return scenario.document.root.plain
    known = add_whole_files(list_playable_scenarios())
    return next((name for name, own in known.items() if own == level), str(level))


def load_reference(
    known: Mapping[str, Any], referrer: str | Path = "a file", **consent: Unpack[Consent]
) -> AnyScenario:
    """The scenario that `make_reference` told of.

    Args:
        known: what it told.
        referrer: where that is written, for messages.
        consent: as for `load_scenario`; without `trust=True` it runs no Python of its own.

    Warns:
        UserWarning: it, or one of the Python files that it uses, is no longer what it was.

    Raises:
        ScenarioError: `make_reference` has not told that, or it is no longer there, or no longer
            right; a `TrustError` if it names Python that may not run.
    """
    try:
        check_reference(known)
    except ValueError as error:
        raise ScenarioError([f"{referrer} refers to no scenario: {error}"]) from None
    trust = Trust.from_options(**consent).for_reference(referrer)
    scenario = read_scenario(known["source"], trust, known["folder"], known["settings"])
    changes = known["changes"]
    if unknown := [number for number in changes.get("actions", ()) if not is_action(number)]:
        raise ScenarioError([f"{referrer}: {scenario.name} has no action of number {unknown[0]}"])
    if changes:
        scenario = scenario.with_(**changes)
    if scenario.identity.digest != known["digest"]:
        warnings.warn(
            f"{scenario.name} is no longer what it was when this was written: worlds may go on in "
            f"another way",
            UserWarning,
            stacklevel=2,
        )
    return scenario


def check_reference(known: Any) -> dict[str, Any]:
    """A reference made by `make_reference`, read back from a file.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(known, dict):
        raise ValueError("its scenario is no mapping in JSON")
    for name, kinds in _REFERENCE_FIELDS.items():
        if not isinstance(known.get(name), kinds):
            raise ValueError(f"its scenario has no {name}")
    check_line(known["name"], "name of its scenario")
    check_digest(known["digest"])
    for name, value in known["changes"].items():
        if name not in _CHANGE_CHECKS or not _CHANGE_CHECKS[name](value):
            raise ValueError(f"no file keeps such a change of {shortened(name, 40)!r}")
    return known


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_line(value: Any) -> bool:
    with suppress(ValueError):
        return bool(check_line(value, "name"))
    return False


def _is_step_limit(value: Any) -> bool:
    return value is None or (type(value) is int and 1 <= value < 2**31)


def _are_actions(value: Any) -> bool:
    if not (isinstance(value, list) and value and all(type(each) is int for each in value)):
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
