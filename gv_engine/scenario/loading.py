"""Scenarios of all domains, from names, files and mappings.

>>> load_scenario("keydoor-9x9").name
'keydoor-9x9'
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.document import Document, read_file, read_mapping
from gv_engine.scenario.fields import YamlNode, located, suggestion
from gv_engine.scenario.files import exists
from gv_engine.scenario.library import ScenarioRef, find
from gv_engine.scenario.parameters import refuse_settings
from gv_engine.scenario.plugin import DOMAINS, AnyScenario, Domain, playable_levels
from gv_engine.scenario.trust import Trust, parted


def load_scenario(
    source: str | Path | Mapping[str, Any],
    folder: str | Path | None = None,
    **options: Any,
) -> AnyScenario:
    """Load a scenario of any domain.

    Args:
        source: the name of a built-in scenario, or its beginning, which stands for the
            shortest; a Gymnasium id; a YAML file, or a folder with a `scenario.yaml`; or what
            such a file holds, as a mapping.
        folder: where a mapping's rule files are; by default where Python was started.
        options: values of its parameters, and which Python may run, see `Scenario.load`.

    Raises:
        ScenarioError: all that is wrong with it, or there is no such scenario.
        MissingExtraError: its domain needs a library that is not installed.
    """
    trust, settings = parted(options)
    return read_scenario(source, trust, folder, settings)


def read_scenario(
    source: str | Path | Mapping[str, Any],
    trust: Trust,
    folder: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AnyScenario:
    """Load a scenario, as `load_scenario` does, that may run so much Python."""
    document = _document(source, trust, folder, settings)
    return domain_of(document).hooks.read(document)


def _document(
    source: str | Path | Mapping[str, Any],
    trust: Trust,
    folder: str | Path | None,
    settings: Mapping[str, Any] | None,
) -> Document:
    if isinstance(source, Mapping):
        return read_mapping(source, Path(folder or "."), trust, settings)
    return read_file(level_of(source), trust, settings)


def level_of(source: str | Path) -> ScenarioRef:
    """Where a scenario of any domain is, by name, beginning of one, or file.

    Raises:
        ScenarioError: there is none.
    """
    known = playable_levels()
    if source not in known and not exists(Path(source)):
        longer = [name for name in known if name.startswith(f"{source}-")]
        if longer:
            return known[min(longer, key=len)]
    return find(source, known)


def domain_of(document: Document) -> Domain:
    """The domain that a document says it belongs to.

    Raises:
        ScenarioError: there is none of that name.
    """
    name = document.domain
    if name not in DOMAINS:
        node = cast("dict[str, YamlNode]", document.root.value)["domain"]
        message = f"no domain {name!r}{suggestion(name, DOMAINS)}"
        raise ScenarioError([located(document.label, node, message)])
    return DOMAINS[name]


def settings_among(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The values of a scenario's parameters, taken out of other options."""
    if not isinstance(source, str | Path | Mapping):
        return {}
    names = [parameter.name for parameter in _document(source, Trust(), None, None).parameters]
    return {name: options.pop(name) for name in names if name in options}


def scenario_of(source: Any, **options: Any) -> AnyScenario:
    """A scenario as it is, or loaded from what `load_scenario` takes.

    Raises:
        UnknownOptionError: something among `options` is none, or no parameter of the scenario.
    """
    if isinstance(source, str | Path | Mapping):
        return load_scenario(source, **options)
    scenario: AnyScenario = source
    refuse_settings(parted(options)[1], scenario.document.parameters, scenario.name)
    return scenario
