"""References: what replays and other files say of their scenario, to find it again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Unpack

from gv_engine.rules.errors import ScenarioError, shorten
from gv_engine.rules.geometry import is_action
from gv_engine.scenario.files import checked_digest, checked_line
from gv_engine.scenario.library import with_whole_files
from gv_engine.scenario.loading import read_scenario
from gv_engine.scenario.plugin import AnyScenario, playable_levels
from gv_engine.scenario.trust import Consent, Trust


def reference_to(scenario: AnyScenario) -> dict[str, Any]:
    """The reference to a scenario, as plain values.

    Returns:
        `domain` and `name`; `source`, a built-in name, the file, or the content if there is none;
        `folder`, where the rule files of the content are; `settings`, the values of its parameters
        that were set; `changes`, what was changed in it; `digest`, that of its `ScenarioIdentity`.
    """
    return {
        "domain": scenario.domain,
        "name": scenario.name,
        "source": _source(scenario),
        "folder": str(scenario.document.folder),
        "settings": dict(scenario.document.settings),
        "changes": dict(scenario.changes),
        "digest": scenario.identity.digest,
    }


def _source(scenario: AnyScenario) -> Any:
    """The name of a built-in scenario, which holds on any machine, or its file, or its content."""
    level = scenario.document.level
    if level is None:
        return scenario.document.root.plain
    known = with_whole_files(playable_levels())
    return next((name for name, own in known.items() if own == level), str(level))


def found_again(
    known: Mapping[str, Any], referrer: str | Path = "a file", **consent: Unpack[Consent]
) -> AnyScenario:
    """The scenario that `reference_to` told of.

    Args:
        known: what it told.
        referrer: where that is written, for messages.
        consent: as for `load_scenario`; without `trust=True` it runs no Python of its own.

    Warns:
        UserWarning: it, or one of the Python files that it uses, is no longer what it was.

    Raises:
        ScenarioError: `reference_to` has not told that, or it is no longer there, or no longer
            right; a `TrustError` if it names Python that may not run.
    """
    try:
        checked(known)
    except ValueError as error:
        raise ScenarioError([f"{referrer} refers to no scenario: {error}"]) from None
    trust = Trust.given(**consent).of_reference(referrer)
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


def checked(known: Any) -> dict[str, Any]:
    """A reference made by `reference_to`, read back from a file.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(known, dict):
        raise ValueError("its scenario is no mapping in JSON")
    for name, kinds in _KNOWN.items():
        if not isinstance(known.get(name), kinds):
            raise ValueError(f"its scenario has no {name}")
    checked_line(known["name"], "name of its scenario")
    checked_digest(known["digest"])
    for name, value in known["changes"].items():
        if name not in _CHANGES or not _CHANGES[name](value):
            raise ValueError(f"no file keeps such a change of {shorten(name, 40)!r}")
    return known


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_line(value: Any) -> bool:
    with suppress(ValueError):
        return bool(checked_line(value, "name"))
    return False


def _is_limit(value: Any) -> bool:
    return value is None or (type(value) is int and 1 <= value < 2**31)


def _are_actions(value: Any) -> bool:
    if not (isinstance(value, list) and value and all(type(each) is int for each in value)):
        return False
    return len(set(value)) == len(value)


_KNOWN = {
    **dict.fromkeys(("domain", "name", "folder", "digest"), str),
    "source": str | dict,
    "settings": dict,
    "changes": dict,
}
_CHANGES: dict[str, Callable[[Any], bool]] = {
    "name": _is_line,
    "description": _is_text,
    "difficulty": _is_text,
    "max_steps": _is_limit,
    "actions": _are_actions,
}
