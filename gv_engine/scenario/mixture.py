"""Builder of grid scenarios, and mixtures: weighted lists of scenarios, of which each reset samples
one.

name: keys-and-obstacles
action_space: [MOVE_FORWARD, TURN_LEFT, TURN_RIGHT, ACTUATE, PICK_N_DROP]
mixture:
  - scenario: keydoor-5x5          # a name, a file beside this one, or a scenario in place
    weight: 2
  - scenario: dynamic-obstacles-5x5
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from components.core import Color
from gv_engine.rules.errors import ScenarioError, TrustError, shorten
from gv_engine.rules.geometry import WAIT
from gv_engine.rules.objects import COLORS, TERRAIN, ObjectType
from gv_engine.scenario.documents.document import (
    FILE_KEYS,
    MAX_SCENARIO_BYTES,
    Document,
    read_file,
)
from gv_engine.scenario.domains import list_playable_scenarios
from gv_engine.scenario.levels.packs import no_file_message
from gv_engine.scenario.library import ScenarioRef, find_ref
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.readers.actions import ACTIONS_OF_ALL
from gv_engine.scenario.readers.grid_keys import SHARED_KEYS, STEP_LIMIT
from gv_engine.scenario.readers.grid_reader import GridReader, TopLevelReader
from gv_engine.scenario.readers.resolver import TypeIds
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import format_bytes, path_exists
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import FieldError, UntrustedCodeError, YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable

MIXTURE = "mixture"
_MAX_MEMBERS = 1000
_MAX_MEMBER_BYTES = 8 * MAX_SCENARIO_BYTES
"""Maximum size of the files of all members in bytes; a file that is read several times counts each
time."""


def _read_weight(node: YamlNode) -> float:
    """Return the sampling weight of a mixture's scenario, the number in a YAML node. Raise
    FieldError if it is not positive."""
    weight = fields.number(node)
    if weight <= 0:
        raise node.error(f"found {weight:g}, expected more than 0")
    return weight


_MEMBER: KeyTable = {
    "scenario": Key(
        "Name, file or folder beside this one, or a scenario in place.",
        schema.any_of(schema.TEXT, schema.SCENARIO),
        required=True,
    ),
    "weight": Key(
        "Relative frequency. By default, 1.",
        schema.ValueSchema({"type": "number", "exclusiveMinimum": 0}, _read_weight),
    ),
    "set": Key("Values of parameters, by name.", schema.map_of({})),
}
MIXTURE_KEYS: KeyTable = {
    **SHARED_KEYS,
    "action_space": SHARED_KEYS["action_space"]._replace(schema=ACTIONS_OF_ALL),
    MIXTURE: Key(
        "Scenarios, one of which each reset samples.",
        schema.list_of(
            schema.any_of(schema.TEXT, schema.object_schema(_MEMBER)),
            minItems=1,
            maxItems=_MAX_MEMBERS,
        ),
        required=True,
        nested=_MEMBER,
    ),
}
"""Keys of mixtures."""


def is_mixture(document: Document) -> bool:
    """Return True if a document describes a mixture."""
    return isinstance(document.root.value, dict) and MIXTURE in document.root.value


def build_scenario(
    document: Document,
    changes: Mapping[str, Any] = MappingProxyType({}),
    members: tuple[Scenario, ...] = (),
    numbering: TypeIds | None = None,
) -> Scenario:
    """Build a scenario from a parsed file. `changes` are attributes to replace. `members` are the
    scenarios of a mixture, and `numbering` the type indices; both are loaded if not given."""
    if is_mixture(document):
        arguments = MixtureReader(document).read_fields(members)
    else:
        numbering = numbering or TypeIds.assign([document])
        arguments = {**GridReader(document, numbering).read_fields(), "numbering": numbering}
    scenario = Scenario(document=document, **arguments)
    return scenario.with_(**changes) if changes else scenario


class Member(NamedTuple):
    """Entry of a mixture: its node, scenario and sampling weight."""

    node: YamlNode
    scenario: Scenario
    weight: float


class MixtureReader(TopLevelReader):
    """Reader of a mixture's document; collects all errors."""

    def __init__(self, document: Document) -> None:
        super().__init__(document)
        self.documents_by_name: dict[str, Document] = {}
        self.num_bytes = 0  # of all files of members

    def read_fields(self, scenarios: tuple[Scenario, ...]) -> dict[str, Any]:
        """Return the arguments of `Scenario` for the mixture, by name. `scenarios` are its member
        scenarios if they have been loaded already, else (). Raise a ScenarioError with all
        errors."""
        self.entries = fields.read_fields(
            self.problems, self.document.root, MIXTURE_KEYS, FILE_KEYS
        )
        read_members = partial(self.read_members, scenarios=scenarios)
        members = self.read_key(MIXTURE, read_members, list[Member]())
        changes: dict[str, Any] = {}
        if max_steps := self.read_key("max_steps", STEP_LIMIT.read, None):
            changes["max_steps"] = max_steps
        known = {own.name: own for m in reversed(members) for own in m.scenario.own_actions}
        actions, own_actions = self.read_actions((), known.values())
        if actions:
            has_time = any(member.scenario.beat for member in members)
            changes["actions"] = (*actions, WAIT) if has_time else actions
        texts = self.read_texts(self.document.default_name if self.document.source else "mixture")
        self.problems.raise_if_any()
        self.check_compatibility(members, sets_actions=bool(actions))
        self.problems.raise_if_any()
        changes["layout"] = self.make_layout([member.scenario for member in members])
        self.problems.raise_if_any()
        mixed = tuple(member.scenario.with_(**changes) for member in members)
        merged = {**texts, **_merge_fields(mixed)}
        merged["weights"] = tuple(member.weight for member in members)
        merged["warnings"] += self.list_warnings(mixed)
        if actions:
            merged["own_actions"] = own_actions
        return merged

    def read_members(self, node: YamlNode, scenarios: tuple[Scenario, ...]) -> list[Member]:
        """Return the valid entries of the YAML list of member scenarios. `scenarios` are those
        scenarios if they have been loaded already, else ()."""
        items = fields.items(node)
        if not 1 <= len(items) <= _MAX_MEMBERS:
            raise node.error(f"found {node.summary}, expected 1 to {_MAX_MEMBERS} scenarios")
        weighted_items: list[tuple[YamlNode, float]] = []
        documents: list[tuple[YamlNode, Document]] = []
        for item in items:
            with self.problems.collect():
                entries = {"scenario": item}
                if isinstance(item.value, dict):
                    entries = fields.read_fields(self.problems, item, _MEMBER)
                if "scenario" not in entries:
                    raise item.error("the scenario is missing: {scenario: …, weight: …}")
                # an error here is added at once, so that errors in the scenario are reported, too
                weight = self.problems.read_key(entries, "weight", _MEMBER["weight"].read, 1.0)
                if not scenarios:
                    document = self.load_document_once(entries)
                    documents.append((entries["scenario"], document))
                weighted_items.append((item, weight))
        members = scenarios or self.build_members(documents)
        return [
            Member(item, scenario, weight)
            for (item, weight), scenario in zip(weighted_items, members, strict=True)
            if scenario is not None
        ]

    def build_members(
        self, documents: Sequence[tuple[YamlNode, Document]]
    ) -> list[Scenario | None]:
        """Build the member scenario of each (YAML node, document) pair. Documents that are listed
        several times are built once. An error is reported at its node, and the scenario is None."""
        different = {id(document): document for _, document in documents}
        numbering = TypeIds.assign([*different.values()])
        built: dict[int, Scenario] = {}
        for node, document in documents:
            if id(document) not in built:
                with self.problems.collect(), self.report_errors_at(node):
                    built[id(document)] = build_scenario(document, numbering=numbering)
        return [built.get(id(document)) for _, document in documents]

    def load_document_once(self, entries: Mapping[str, YamlNode]) -> Document:
        """Return the parsed file of a member scenario, given the entries of its YAML mapping. A
        file that several entries name without parameters is read once."""
        node = entries["scenario"]
        settings = fields.mapping(entries["set"]) if "set" in entries else {}
        values = {name: value.plain for name, value in settings.items()}
        if isinstance(node.value, dict) or values:
            return self.load_document(node, values)
        if node.text not in self.documents_by_name:
            self.documents_by_name[node.text] = self.load_document(node, values)
        return self.documents_by_name[node.text]

    def load_document(self, node: YamlNode, settings: Mapping[str, Any]) -> Document:
        """Return the parsed file of a member scenario. The YAML node has its name, its relative
        path, or its whole content. `settings` are parameters by name."""
        if self.num_bytes > _MAX_MEMBER_BYTES:
            raise FieldError(node, "")  # reported before
        if isinstance(node.value, dict):
            document = self.document.nested(node, settings)
            with self.report_errors_at(node):
                _require_mixable(document, document.label)
        else:
            source: str | Path = fields.text(node)
            if self.document.trust.can_name_files(self.document.folder):
                file = self.document.folder / source
                source = file if path_exists(ScenarioRef.parse(file).file) else source
            elif source not in list_playable_scenarios():
                raise node.error(no_file_message(str(source)))
            with self.report_errors_at(node):
                ref = find_ref(source, list_playable_scenarios())
                trust = self.document.trust.for_member(
                    ref.file, self.document.folder, self.document.label
                )
                document = read_file(ref, trust, settings)
                _require_mixable(document, str(source))
        self.num_bytes += document.num_bytes
        if self.num_bytes > _MAX_MEMBER_BYTES:
            limit = format_bytes(_MAX_MEMBER_BYTES)
            raise FieldError(node, f"the files of all members are at most {limit} together")
        return document

    @contextmanager
    def report_errors_at(self, node: YamlNode) -> Iterator[None]:
        """Within a `with` block, report errors in a member scenario at `node`, its YAML node in the
        mixture, and then raise an empty FieldError, so that the member is skipped."""
        try:
            yield
        except ScenarioError as error:
            for problem in error.problems:
                self.problems.add(node, problem)
            error_class = UntrustedCodeError if isinstance(error, TrustError) else FieldError
            raise error_class(node, "") from None

    def check_compatibility(self, members: Sequence[Member], sets_actions: bool) -> None:
        """Report an error for each member scenario that does not fit the others: in view area,
        actions, agents or mission class. If `sets_actions`, the mixture itself defines the
        actions."""
        first = members[0].scenario
        for node, scenario, _ in members[1:]:
            for difference in _iter_differences(scenario, first, sets_actions):
                self.problems.add(node, difference)
        largest = _find_largest_member([member.scenario for member in members])
        for node, scenario, _ in members:
            if difference := _describe_agent_difference(scenario, largest):
                self.problems.add(
                    node,
                    f"{difference}; all scenarios of a mixture need the same agents or the first "
                    f"of them, of the same colours and components",
                )
        with_mission = [member for member in members if member.scenario.layout.mission]
        for node, scenario, _ in with_mission[1:]:
            first = with_mission[0].scenario
            if scenario.layout.mission is not first.layout.mission:
                self.problems.add(
                    node,
                    f"{scenario.name} has another class Mission than {first.name}; all "
                    f"scenarios of a mixture that have missions need the same",
                )

    def list_warnings(self, members: Sequence[Scenario]) -> tuple[str, ...]:
        """If only some member scenarios define success, return a tuple with a warning that the
        mixture cannot report success. Else return ()."""
        telling = ", ".join(member.name for member in members if member.tells_success)
        silent = ", ".join(member.name for member in members if not member.tells_success)
        if not (telling and silent):
            return ()
        message = (
            f"there is no `success`, as {shorten(telling, 200)} has a success_function and "
            f"{shorten(silent, 200)} has none; give all members one"
        )
        return (fields.format_message(self.document.label, self.entries[MIXTURE], message),)

    def make_layout(self, members: Sequence[Scenario]) -> Layout:
        """Return a memory layout into which worlds of all member scenarios fit. It has the largest
        sizes, all components and all object types."""
        layouts = [scenario.layout for scenario in members]
        columns: dict[str, type] = {}
        types: dict[int, ObjectType] = {}
        for layout in layouts:
            types |= {kind.index: kind for kind in layout.types}
            for cls in layout.components:
                self.add_column(columns, cls, self.entries[MIXTURE])
        largest = _find_largest_member(members).layout
        num_terrain = sum(kind.layer == TERRAIN for kind in types.values())
        num_others = max(each.capacity - each.agents - len(each.terrain) for each in layouts)
        return Layout(
            max(layout.height for layout in layouts),
            max(layout.width for layout in layouts),
            largest.agents + num_terrain + num_others,
            tuple(columns.values()),
            tuple(types[index] for index in sorted(types)),
            max(layout.drawn for layout in layouts),
            largest.bodies,
            any(layout.agents < largest.agents for layout in layouts),
            largest.world_components,
            between=largest.between,
        )


def _iter_differences(scenario: Scenario, first: Scenario, sets_actions: bool) -> Iterator[str]:
    """Yield an error message for each way in which `scenario` does not fit `first`, the mixture's
    first scenario. They must agree in view area, state vector and world components, and in actions
    unless `sets_actions`."""
    if scenario.area != first.area:
        yield (
            f"{scenario.name} observes the area {scenario.area}, {first.name} "
            f"{first.area}; all scenarios of a mixture need the same"
        )
    if scenario.state_numbers != first.state_numbers:
        yield (
            f"{scenario.name} observes another state than {first.name}: "
            f"{_list_numbers(scenario)}, not {_list_numbers(first)}; all scenarios of a "
            f"mixture need the same under `observation`"
        )
    if scenario.layout.between != first.layout.between:
        yield (
            f"{scenario.name} has other `layers` than {first.name}; all scenarios of a mixture "
            f"need the same"
        )
    if scenario.layout.world_components != first.layout.world_components:
        yield (
            f"{scenario.name} and {first.name} have other components under `world`, or "
            f"other values; all scenarios of a mixture need the same"
        )
    if scenario.actions != first.actions and not sets_actions:
        names, first_names = ", ".join(scenario.action_names), ", ".join(first.action_names)
        yield (
            f"{scenario.name} has the actions {names}, and {first.name} {first_names}; give an "
            f"action_space beside `mixture`, for all of them"
        )


def _require_mixable(document: Document, label: str) -> None:
    """Raise ScenarioError if a parsed scenario file cannot be a member of a mixture: it is itself a
    mixture, or of another domain. `label` names it."""
    if document.domain != Scenario.domain:
        fault = f"of the domain {document.domain}, which cannot be mixed"
        raise ScenarioError([f"{label} is {fault}; members of mixtures are grids"])
    if is_mixture(document):
        raise ScenarioError([f"{document.label} is a mixture itself; list its members instead"])


def _list_numbers(scenario: Scenario) -> str:
    texts = (f"{n.name} from {n.low} to {n.high}" for n in scenario.state_numbers)
    return shorten(", ".join(texts), 200) or "nothing"


def _find_largest_member(members: Sequence[Scenario]) -> Scenario:
    return max(members, key=lambda member: len(member.agent_group.names))


def _describe_agent_difference(scenario: Scenario, largest: Scenario) -> str:
    """Describe the first agent of `scenario` that differs from the same agent of `largest`, the
    scenario with the most agents; "" if none does. A single agent may have another name and fewer
    components."""
    names = scenario.agent_group.names
    expected_names = largest.agent_group.names[: len(names)]
    is_single = len(names) == 1 < largest.layout.agents
    if names != expected_names and not is_single:
        all_names = ", ".join(largest.agent_group.names)
        return f"{scenario.name} has the agents {', '.join(names)}, and {largest.name} {all_names}"
    bodies = zip(names, scenario.layout.bodies, largest.layout.bodies, strict=False)
    for name, parts, expected_parts in bodies:
        own, expected = dict(parts), dict(expected_parts)
        for cls in own if is_single else own | expected:
            if own.get(cls) != expected.get(cls):
                found, wanted = _describe_component(cls, own), _describe_component(cls, expected)
                return f"{name} has {found} in {scenario.name}, and {wanted} in {largest.name}"
    return ""


def _describe_component(cls: type, parts: Mapping[type, tuple[Any, ...]]) -> str:
    if cls not in parts:
        return f"no {cls.__name__}"
    return f"Color {COLORS[parts[cls][0]]}" if cls is Color else repr(cls(*parts[cls]))


def _merge_fields(members: tuple[Scenario, ...]) -> dict[str, Any]:
    """Combine attributes of the member scenarios to those of the mixture. Return them as arguments
    of `Scenario`, by name."""
    limits = [member.max_steps for member in members]
    first = members[0]
    return {
        "objects": _merge_sorted(member.objects for member in members),
        "colors": _merge_sorted(member.colors for member in members),
        "observation_objects": _merge_sorted(member.observation_objects for member in members),
        "observation_colors": _merge_sorted(member.observation_colors for member in members),
        "max_steps": None if None in limits else max(limit for limit in limits if limit),
        "actions": first.actions,
        "own_actions": first.own_actions,
        "beat": first.beat,
        "area": first.area,
        "agent_group": _find_largest_member(members).agent_group,
        "layout": first.layout,
        "state_numbers": first.state_numbers,
        "reward_names": _merge_distinct(member.reward_names for member in members),
        "warnings": _merge_distinct(member.warnings for member in members),
        "schedule": {},
        "mission_texts": tuple(text for member in members for text in member.mission_texts),
        "mixture": members,
    }


def _merge_sorted(lists: Iterable[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted(set(chain.from_iterable(lists))))


def _merge_distinct(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(lists)))
