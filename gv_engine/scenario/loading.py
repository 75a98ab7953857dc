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
from gv_engine.scenario.fields import YamlNode, format_message, suggestion
from gv_engine.scenario.files import path_exists
from gv_engine.scenario.library import ScenarioRef, find_ref
from gv_engine.scenario.parameters import reject_settings
from gv_engine.scenario.plugin import DOMAINS, AnyScenario, Domain, list_playable_scenarios
from gv_engine.scenario.trust import Trust, split_options


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
    trust, settings = split_options(options)
    return read_scenario(source, trust, folder, settings)


def read_scenario(
    source: str | Path | Mapping[str, Any],
    trust: Trust,
    folder: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AnyScenario:
    """Load a scenario, as `load_scenario` does, that may run so much Python."""
    document = _read_document(source, trust, folder, settings)
    return get_domain(document).plugin.read_scenario(document)


def _read_document(
    source: str | Path | Mapping[str, Any],
    trust: Trust,
    folder: str | Path | None,
    settings: Mapping[str, Any] | None,
) -> Document:
    if isinstance(source, Mapping):
        return read_mapping(source, Path(folder or "."), trust, settings)
    return read_file(find_scenario_ref(source), trust, settings)


def find_scenario_ref(source: str | Path) -> ScenarioRef:
    """Where a scenario of any domain is, by name, beginning of one, or file.

    Raises:
        ScenarioError: there is none.
    """
    known = list_playable_scenarios()
    if source not in known and not path_exists(Path(source)):
        longer = [name for name in known if name.startswith(f"{source}-")]
        if longer:
            return known[min(longer, key=len)]
    return find_ref(source, known)


def get_domain(document: Document) -> Domain:
    """The domain that a document says it belongs to.

    Raises:
        ScenarioError: there is none of that name.
    """
    name = document.domain
    if name not in DOMAINS:
        node = cast("dict[str, YamlNode]", document.root.value)["domain"]
        message = f"no domain {name!r}{suggestion(name, DOMAINS)}"
        raise ScenarioError([format_message(document.label, node, message)])
    return DOMAINS[name]


def pop_settings(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The values of a scenario's parameters, taken out of other options."""
    if not isinstance(source, str | Path | Mapping):
        return {}
    names = [parameter.name for parameter in _read_document(source, Trust(), None, None).parameters]
    return {name: options.pop(name) for name in names if name in options}


def as_scenario(source: Any, **options: Any) -> AnyScenario:
    """A scenario as it is, or loaded from what `load_scenario` takes.

    Raises:
        UnknownOptionError: something among `options` is none, or no parameter of the scenario.
    """
    if isinstance(source, str | Path | Mapping):
        return load_scenario(source, **options)
    scenario: AnyScenario = source
    reject_settings(split_options(options)[1], scenario.document.parameters, scenario.name)
    return scenario
