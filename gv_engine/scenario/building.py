"""Builder of grid scenarios, mixtures included, from their documents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.documents.document import Document, read_file
from gv_engine.scenario.library import find_ref
from gv_engine.scenario.mixture import MixtureReader, is_mixture
from gv_engine.scenario.plugin import list_playable_scenarios
from gv_engine.scenario.readers.grid_reader import GridReader
from gv_engine.scenario.readers.resolver import TypeIds
from gv_engine.scenario.scenario import Scenario


def build_scenario(
    document: Document,
    changes: Mapping[str, Any] = MappingProxyType({}),
    members: tuple[Scenario, ...] = (),
    numbering: TypeIds | None = None,
) -> Scenario:
    """Return the scenario of a parsed file, with the attributes in `changes` replaced. `members`
    (of a mixture) and `numbering` (of object types) are read if not given."""
    if is_mixture(document):
        reader = MixtureReader(
            document, _load_member_document, lambda d, n: build_scenario(d, numbering=n)
        )
        fields = reader.read_fields(members)
    else:
        numbering = numbering or TypeIds.assign([document])
        fields = {**GridReader(document, numbering).read_fields(), "numbering": numbering}
    scenario = Scenario(document=document, **fields)
    return scenario.with_(**changes) if changes else scenario


def _load_member_document(
    source: Document | str | Path, mixture: Document, settings: Mapping[str, Any]
) -> Document:
    """Read `source`, a member of `mixture`, with parameter values `settings`, and return its
    document; raise an error for another domain or a nested mixture."""
    if isinstance(source, Document):
        document, called = source, source.label
    else:
        level, called = find_ref(source, list_playable_scenarios()), str(source)
        trust = mixture.trust.for_member(level.file, mixture.folder, mixture.label)
        document = read_file(level, trust, settings)
    if document.domain != Scenario.domain:
        fault = f"of the domain {document.domain}, which cannot be mixed"
        raise ScenarioError([f"{called} is {fault}; members of mixtures are grids"])
    if is_mixture(document):
        raise ScenarioError([f"{document.label} is a mixture itself; list its members instead"])
    return document
