"""Loading of scenarios of all domains, from names, files and mappings.

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
        source: the name of a built-in scenario, or the beginning of the name, which selects the
            shortest match; a Gymnasium id; a YAML file, or a folder with a `scenario.yaml`; or the
            content of such a file as a mapping.
        folder: the folder of a mapping's rule files; the current folder if left out.
        options: values of its parameters, and the Python code that may run, see `Scenario.load`.

    Raises:
        ScenarioError: the scenario does not exist, or has errors; the message lists all of them.
        MissingExtraError: the domain needs a library that is not installed.
    """
    trust, settings = split_options(options)
    return read_scenario(source, trust, folder, settings)


def read_scenario(
    source: str | Path | Mapping[str, Any],
    trust: Trust,
    folder: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
) -> AnyScenario:
    """Load a scenario as `load_scenario` does, with explicit trust and parameter values."""
    document = _read_document(source, trust, folder, settings)
    return get_domain(document).plugin.read_scenario(document)


def _read_document(
    source: str | Path | Mapping[str, Any],
    trust: Trust,
    folder: str | Path | None,
    settings: Mapping[str, Any] | None,
) -> Document:
    """Read the document of a scenario from a name, file or mapping."""
    if isinstance(source, Mapping):
        return read_mapping(source, Path(folder or "."), trust, settings)
    return read_file(find_scenario_ref(source), trust, settings)


def find_scenario_ref(source: str | Path) -> ScenarioRef:
    """Return the file and variant of a scenario of any domain.

    Args:
        source: the name, the beginning of a name (selects the shortest match), or a file.

    Raises:
        ScenarioError: there is no such scenario.
    """
    refs = list_playable_scenarios()
    if source not in refs and not path_exists(Path(source)):
        longer = [name for name in refs if name.startswith(f"{source}-")]
        if longer:
            return refs[min(longer, key=len)]
    return find_ref(source, refs)


def get_domain(document: Document) -> Domain:
    """Return the domain that a document declares.

    Raises:
        ScenarioError: there is no domain of this name.
    """
    name = document.domain
    if name not in DOMAINS:
        node = cast("dict[str, YamlNode]", document.root.value)["domain"]
        message = f"no domain {name!r}{suggestion(name, DOMAINS)}"
        raise ScenarioError([format_message(document.label, node, message)])
    return DOMAINS[name]


def pop_settings(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Remove the values of a scenario's parameters from `options` and return them."""
    if not isinstance(source, str | Path | Mapping):
        return {}
    names = [parameter.name for parameter in _read_document(source, Trust(), None, None).parameters]
    return {name: options.pop(name) for name in names if name in options}


def as_scenario(source: Any, **options: Any) -> AnyScenario:
    """Return a scenario unchanged, or load it from a source that `load_scenario` accepts.

    Raises:
        UnknownOptionError: one of the `options` is unknown, and no parameter of the scenario.
    """
    if isinstance(source, str | Path | Mapping):
        return load_scenario(source, **options)
    scenario: AnyScenario = source
    reject_settings(split_options(options)[1], scenario.document.parameters, scenario.name)
    return scenario
