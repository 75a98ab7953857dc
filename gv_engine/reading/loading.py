"""Scenarios of all families, from names, files and mappings.

>>> load_scenario("keydoor-9x9").name
'keydoor-9x9'
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack, cast

from gv_engine.language.errors import ScenarioError
from gv_engine.reading.document import Document, read_file, read_mapping
from gv_engine.reading.families import FAMILIES, AnyScenario, Family
from gv_engine.reading.files import exists
from gv_engine.reading.library import Level, find, gym_id
from gv_engine.reading.trust import Consent, Trust
from gv_engine.reading.values import Node, instead, located


def load_scenario(
    source: str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    **consent: Unpack[Consent],
) -> AnyScenario:
    """Load a scenario of any family.

    Args:
        source: the name of a built-in scenario, or its beginning, which stands for the
            shortest; a Gymnasium id; a YAML file, or a folder with a `scenario.yaml`; or what
            such a file holds, as a mapping.
        folder: where a mapping's rule files are; by default where Python was started.
        consent: which Python may run, see `Scenario.load`.

    Raises:
        ScenarioError: all that is wrong with it, or there is no such scenario.
        MissingExtraError: its family needs a library that is not installed.
    """
    return read_scenario(source, Trust.given(**consent), folder)


def read_scenario(
    source: str | Path | Mapping[str, Any], trust: Trust, folder: str | Path | None = None
) -> AnyScenario:
    """Load a scenario, as `load_scenario` does, that may run so much Python."""
    if isinstance(source, Mapping):
        document = read_mapping(source, Path(folder or "."), trust)
    else:
        document = read_file(_found(source), trust)
    return family_of(document).hooks.read(document)


def reference_to(scenario: AnyScenario) -> dict[str, Any]:
    """What finds a scenario again, as plain values.

    Returns:
        `family` and `name`; `source`, a built-in name, the file, or the content if there is none;
        `folder`, where the rule files of the content are; `changes`, what was changed in it;
        `digest`, that of its `Identity`.
    """
    return {
        "family": scenario.family,
        "name": scenario.name,
        "source": _source(scenario),
        "folder": str(scenario.document.folder),
        "changes": dict(scenario.changes),
        "digest": scenario.identity.digest,
    }


def _source(scenario: AnyScenario) -> Any:
    """The name of a built-in scenario, which holds on any machine, or its file, or its content."""
    level = scenario.document.level
    if level is None:
        return scenario.document.root.plain
    return next((name for name, own in _built_in().items() if own == level), str(level))


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
        ScenarioError: it is no longer there, or no longer right; a `TrustError` if it names
            Python that may not run.
    """
    trust = Trust.given(**consent).of_reference(referrer)
    scenario = read_scenario(known["source"], trust, known["folder"])
    if known["changes"]:
        scenario = scenario.with_(**known["changes"])
    if scenario.identity.digest != known["digest"]:
        warnings.warn(
            f"{scenario.name} is no longer what it was when this was written: worlds may go on in "
            f"another way",
            UserWarning,
            stacklevel=2,
        )
    return scenario


def _built_in() -> dict[str, Level]:
    """Where each built-in scenario stands, by name."""
    return {
        name: found for family in FAMILIES.values() for name, found in family.built_in().items()
    }


def _found(source: str | Path) -> Level:
    known = _built_in()
    for name, found in known.items():
        if source in (name, gym_id(name)):
            return found
    if not exists(Path(source)):
        longer = [name for name in known if name.startswith(f"{source}-")]
        if longer:
            return known[min(longer, key=len)]
    return find(source, known)


def family_of(document: Document) -> Family:
    """The family that a document says it belongs to.

    Raises:
        ScenarioError: there is none of that name.
    """
    name = document.family
    if name not in FAMILIES:
        node = cast("dict[str, Node]", document.root.value)["family"]
        message = f"no family {name!r}{instead(name, FAMILIES)}"
        raise ScenarioError([located(document.label, node, message)])
    return FAMILIES[name]


def scenario_of(source: Any, **consent: Unpack[Consent]) -> AnyScenario:
    """A scenario as it is, or loaded from what `load_scenario` takes."""
    if isinstance(source, str | Path | Mapping):
        return load_scenario(source, **consent)
    scenario: AnyScenario = source
    return scenario
