"""Scenarios of all families, from names, files and mappings.

>>> load_scenario("keydoor-9x9").name
'keydoor-9x9'
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack, cast

from gv_engine.language.errors import ScenarioError
from gv_engine.reading.document import Document, read_file, read_mapping
from gv_engine.reading.families import FAMILIES, AnyScenario, Family, built_in_levels
from gv_engine.reading.files import exists
from gv_engine.reading.library import Level, find
from gv_engine.reading.trust import Consent, Trust
from gv_engine.reading.values import YamlNode, instead, located


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


def _found(source: str | Path) -> Level:
    known = built_in_levels()
    if source not in known and not exists(Path(source)):
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
        node = cast("dict[str, YamlNode]", document.root.value)["family"]
        message = f"no family {name!r}{instead(name, FAMILIES)}"
        raise ScenarioError([located(document.label, node, message)])
    return FAMILIES[name]


def scenario_of(source: Any, **consent: Unpack[Consent]) -> AnyScenario:
    """A scenario as it is, or loaded from what `load_scenario` takes.

    Raises:
        TypeError: something in `consent` is no option.
    """
    trust = Trust.given(**consent)
    if isinstance(source, str | Path | Mapping):
        return read_scenario(source, trust)
    scenario: AnyScenario = source
    return scenario
