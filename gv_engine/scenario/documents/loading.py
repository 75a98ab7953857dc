"""Loading of scenarios of all domains: from names, files and mappings, and from references to
scenarios in replays and other files.

>>> load_scenario("keydoor-9x9").name
'keydoor-9x9'
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack, cast

from gv_engine.rules.errors import ScenarioError, describe_allowed, shorten
from gv_engine.rules.geometry import is_action
from gv_engine.scenario.documents.document import Document, read_file, read_mapping
from gv_engine.scenario.documents.parameters import reject_settings
from gv_engine.scenario.documents.trust import Consent, Trust, split_options
from gv_engine.scenario.domains import DOMAINS, AnyScenario, Domain, list_playable_scenarios
from gv_engine.scenario.library import ScenarioRef, add_whole_files, find_ref
from gv_engine.scenario.storage.files import check_digest, check_line, path_exists
from gv_engine.scenario.syntax.fields import YamlNode, format_message


def load_scenario(
    source: str | Path | Mapping[str, Any], folder: str | Path | None = None, **options: Any
) -> AnyScenario:
    """Load a scenario of any domain (kind of environment) by name, from a file or from a mapping.

    Args:
        source: as for `Scenario.load`; if no scenario has this name, the one with the shortest name
            that begins with it is loaded, for example for "dynamic".
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
    """Load the scenario `source` as `load_scenario` does; `trust` says which Python code may run,
    and `settings` has values of parameters by name."""
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
    """Return which file, and which variant in it, `source` selects: a name such as "empty-8x8", or
    a path. Scenarios of all domains are found.

    Args:
        source: as for `load_scenario`.

    Raises:
        ScenarioError: there is no such scenario.
    """
    refs = add_whole_files(list_playable_scenarios())
    if isinstance(source, str) and source not in refs and not path_exists(Path(source)):
        longer = [name for name in refs if name.startswith(f"{source}-")]
        if longer:
            return refs[min(longer, key=len)]
    return find_ref(source, refs)


def get_domain(document: Document) -> Domain:
    """Return the domain of a scenario file: the kind of environment, such as gridworld or algebra,
    that its key `domain` declares.

    Raises:
        ScenarioError: there is no domain of this name.
    """
    name = document.domain
    if name not in DOMAINS:
        node = cast("dict[str, YamlNode]", document.root.value)["domain"]
        message = f"no domain {name!r}{describe_allowed(name, DOMAINS)}"
        raise ScenarioError([format_message(document.label, node, message)])
    return DOMAINS[name]


def pop_settings(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Remove the values of the scenario's own parameters from `options`, keyword arguments of an
    environment, and return them by name."""
    if not isinstance(source, str | Path | Mapping):
        return {}
    names = [parameter.name for parameter in _read_document(source, Trust(), None, None).parameters]
    return {name: options.pop(name) for name in names if name in options}


def as_scenario(source: Any, **options: Any) -> AnyScenario:
    """Load `source` with `options`, as `load_scenario` does. If `source` is already a scenario,
    return it.

    Raises:
        UnknownOptionError: one of the `options` is unknown, and no parameter of the scenario.
    """
    if isinstance(source, str | Path | Mapping):
        return load_scenario(source, **options)
    if not hasattr(source, "document"):
        raise ScenarioError(
            f"scenario={source!r}: expected a scenario, a name, a file or a mapping"
        )
    scenario: AnyScenario = source
    reject_settings(split_options(options)[1], scenario.document.parameters, scenario.name)
    return scenario


def make_reference(scenario: AnyScenario) -> dict[str, Any]:
    """Return a dict of plain values that identifies a scenario in a saved file. `load_reference`
    loads the scenario from it again.

    Returns:
        `domain` and `name`; `source`, a built-in name, the file, or the content if there is no
        file; `folder`, the folder of the content's rule files, or ""; `settings`, the values of its
        parameters that were set; `changes`, the other changed values; `digest`, the digest of its
        `ScenarioIdentity`.
    """
    document = scenario.document
    return {
        "domain": scenario.domain,
        "name": scenario.name,
        "source": _reference_source(document),
        "folder": str(document.folder) if document.ref is None else "",
        "settings": dict(document.settings),
        "changes": dict(scenario.changes),
        "digest": scenario.identity.digest,
    }


def _reference_source(document: Document) -> Any:
    """Return what is needed to load a scenario again: its built-in name if it has one, else the
    path of its file, else its whole content."""
    if document.ref is None:
        return document.root.plain
    built_in = add_whole_files(list_playable_scenarios())
    return next((name for name, ref in built_in.items() if ref == document.ref), str(document.ref))


def load_reference(
    reference: Mapping[str, Any], referrer: str | Path = "a file", **consent: Unpack[Consent]
) -> AnyScenario:
    """Load the scenario that `reference`, a dict from `make_reference`, identifies. `referrer` is
    the file with the reference, for messages.

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
    for action in changes.get("actions", ()):
        if not is_action(action):
            raise ScenarioError([f"{referrer}: {scenario.name} has no action of number {action}"])
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
    """Check that a value read from a file has the form of `make_reference`, and return it. Raise an
    error if it has not.

    Raises:
        ValueError: the value is no reference of `make_reference`.
    """
    if not isinstance(reference, dict):
        raise ValueError("its scenario is not a JSON mapping")
    for name, kinds in _REFERENCE_FIELDS.items():
        if not isinstance(reference.get(name), kinds):
            raise ValueError(f"its scenario has no {name}")
    check_line(reference["name"], "name of its scenario")
    check_digest(reference["digest"])
    for name, value in reference["changes"].items():
        if name not in _CHANGE_CHECKS or not _CHANGE_CHECKS[name](value):
            raise ValueError(f"no reference holds such a change of {shorten(name, 40)!r}")
    return reference


def _is_line(value: Any) -> bool:
    """Return True if `value` is a string without line breaks or unprintable characters."""
    try:
        return bool(check_line(value, "name"))
    except ValueError:
        return False


def _is_action_list(value: Any) -> bool:
    is_list = isinstance(value, list) and all(type(number) is int for number in value)
    return is_list and 0 < len(set(value)) == len(value)


def _is_limit(value: Any) -> bool:
    return value is None or (type(value) is int and 1 <= value < 2**31)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


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
    "max_steps": _is_limit,
    "time_limit": _is_limit,
    "actions": _is_action_list,
}
