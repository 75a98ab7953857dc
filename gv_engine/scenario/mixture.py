"""Mixtures: scenarios that are weighted lists of scenarios; each reset samples one of them.

name: keys-and-obstacles
action_space: [MOVE_FORWARD, TURN_LEFT, TURN_RIGHT, ACTUATE, PICK_N_DROP]
mixture:
  - scenario: keydoor-5x5          # a name, a file beside this one, or a scenario in place
    weight: 2
  - scenario: dynamic-obstacles-5x5
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.core import Color
from gv_engine.rules.errors import ScenarioError, TrustError, shorten
from gv_engine.rules.objects import COLORS, TERRAIN, ObjectType
from gv_engine.scenario.documents.document import FILE_KEYS, MAX_SCENARIO_BYTES, Document
from gv_engine.scenario.levels.packs import no_file_message
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.plugin import list_playable_scenarios
from gv_engine.scenario.readers.actions import ACTIONS_OF_ALL
from gv_engine.scenario.readers.grid_reader import SHARED_KEYS, STEP_LIMIT, TopLevelReader
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
    """Return the number in `node`, the sampling weight of a scenario in a mixture; raise a
    FieldError unless the weight is positive."""
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
        "Relative frequency; by default 1.",
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

ReadScenario = Callable[[Document, TypeIds], Scenario]
FindDocument = Callable[[Document | str | Path, Document, Mapping[str, Any]], Document]


def is_mixture(document: Document) -> bool:
    """Return True if a document describes a mixture."""
    return isinstance(document.root.value, dict) and MIXTURE in document.root.value


class MixtureReader(TopLevelReader):
    """Reader of a mixture's document; collects all errors.

    Args:
        document: document of the mixture.
        find: function that returns the document of a member, given its nested document, or its name
            or path as `gv_engine.scenario.library.find_ref` takes it.
        read: function that reads a scenario from its document and the shared numbering.
    """

    def __init__(self, document: Document, find: FindDocument, read: ReadScenario) -> None:
        """Read the mixture in `document`; `find` returns the document of a member scenario, and
        `read` the scenario of a document."""
        super().__init__(document)
        self.find = find
        self.read = read
        self.named: dict[str, Document] = {}
        self.num_bytes = 0

    def read_fields(self, members: tuple[Scenario, ...]) -> dict[str, Any]:
        """Return the keyword arguments for the `Scenario` of the mixture. `members` has its
        scenarios if they were loaded before, else (). Raise a ScenarioError with all errors."""
        self.entries = fields.read_fields(
            self.problems, self.document.root, MIXTURE_KEYS, FILE_KEYS
        )
        read = self.key(MIXTURE, lambda node: self.read_members(node, members), [])
        changes: dict[str, Any] = {}
        if limit := self.key("max_steps", STEP_LIMIT.read, None):
            changes["max_steps"] = limit
        own = {own.name: own for _, scenario, _ in reversed(read) for own in scenario.own_actions}
        actions, own_actions = self.read_actions((), own.values())
        if actions:
            changes["actions"] = actions
        name = self.document.default_name if self.document.source else "mixture"
        described = self.read_texts(name)
        self.problems.raise_if_any()
        self.check_compatibility(read, own_actions="actions" in changes)
        self.problems.raise_if_any()
        changes["layout"] = self.make_layout([scenario for _, scenario, _ in read])
        self.problems.raise_if_any()
        mixed = tuple(scenario.with_(**changes) for _, scenario, _ in read)
        whole = {**described, **_merge_fields(mixed), "weights": tuple(w for _, _, w in read)}
        whole["warnings"] += self.list_warnings(mixed)
        whole["own_actions"] = own_actions if actions else whole["own_actions"]
        return whole

    def read_members(
        self, node: YamlNode, members: tuple[Scenario, ...]
    ) -> list[tuple[YamlNode, Scenario, float]]:
        """Return (node, scenario, weight) of each valid entry of the mixture's list in `node`.
        `members` has the scenarios if they were loaded before, else ()."""
        listed = fields.items(node)
        if not 1 <= len(listed) <= _MAX_MEMBERS:
            raise node.error(f"found {node.summary}, expected 1 to {_MAX_MEMBERS} scenarios")
        entries_read = []
        for item in listed:
            with self.problems.collect():
                entries = {"scenario": item}
                if isinstance(item.value, dict):
                    entries = fields.read_fields(self.problems, item, _MEMBER)
                if "scenario" not in entries:
                    raise item.error("the scenario is missing: {scenario: …, weight: …}")
                # an error here is added at once, so that errors in the scenario are reported, too
                weight = self.problems.read_key(entries, "weight", _MEMBER["weight"].read, 1.0)
                document = None if members else self.load_document_once(entries)
                entries_read.append((item, entries["scenario"], document, weight))
        documents = {id(document): document for _, _, document, _ in entries_read if document}
        numbering = TypeIds.assign([*documents.values()])
        read: dict[int, Scenario] = {}
        for _, node, document, _ in entries_read:
            if document and id(document) not in read:
                with self.problems.collect(), self.report_errors_at(node):
                    read[id(document)] = self.read(document, numbering)
        return [
            (item, members[position] if members else read[id(document)], weight)
            for position, (item, _, document, weight) in enumerate(entries_read)
            if members or id(document) in read
        ]

    def load_document_once(self, entries: Mapping[str, YamlNode]) -> Document:
        """Return the document of the member scenario that `entries` describes; a scenario that
        several entries name without parameters is read only once."""
        node = entries["scenario"]
        settings = fields.mapping(entries["set"]) if "set" in entries else {}
        plain = {name: value.plain for name, value in settings.items()}
        if isinstance(node.value, dict) or settings:
            return self.load_document(node, plain)
        if node.text not in self.named:
            self.named[node.text] = self.load_document(node, plain)
        return self.named[node.text]

    def load_document(self, node: YamlNode, settings: Mapping[str, Any]) -> Document:
        """Return the document of a member scenario, given in `node` by name, by relative path, or
        in full; `settings` are values of its parameters."""
        if self.num_bytes > _MAX_MEMBER_BYTES:
            raise FieldError(node, "")
        source: Document | str | Path
        if isinstance(node.value, dict):
            source = self.document.nested(node, settings)
        else:
            source = fields.text(node)
            if self.document.trust.can_name_files(self.document.folder):
                file = self.document.folder / source
                source = file if path_exists(ScenarioRef.parse(file).file) else source
            elif source not in list_playable_scenarios():
                raise node.error(no_file_message(source))
        with self.report_errors_at(node):
            document = self.find(source, self.document, settings)
        self.num_bytes += document.num_bytes
        if self.num_bytes > _MAX_MEMBER_BYTES:
            limit = format_bytes(_MAX_MEMBER_BYTES)
            raise FieldError(node, f"the files of all members are at most {limit} together")
        return document

    @contextmanager
    def report_errors_at(self, node: YamlNode) -> Iterator[None]:
        """Context manager: if a member scenario cannot be loaded, report its errors at `node`, the
        member's entry in the mixture, and raise a FieldError with an empty message, which skips
        the entry."""
        try:
            yield
        except ScenarioError as error:
            for problem in error.problems:
                self.problems.add(node, problem)
            raise (UntrustedCodeError if isinstance(error, TrustError) else FieldError)(
                node, ""
            ) from None

    def check_compatibility(
        self, read: Sequence[tuple[YamlNode, Scenario, float]], own_actions: bool
    ) -> None:
        """Report an error for each member scenario whose view area, actions, agents or class
        `Mission` differ from the others. `read` has (node, scenario, weight) triples; with
        `own_actions` the mixture sets the actions, so that those of the members may differ."""
        _, first, _ = read[0]
        for node, scenario, _ in read[1:]:
            if scenario.area != first.area:
                self.problems.add(
                    node,
                    f"{scenario.name} observes the area {scenario.area}, {first.name} "
                    f"{first.area}; all scenarios of a mixture need the same",
                )
            if scenario.state_numbers != first.state_numbers:
                self.problems.add(
                    node,
                    f"{scenario.name} observes another state than {first.name}: "
                    f"{_list_numbers(scenario)}, not {_list_numbers(first)}; all scenarios of a "
                    f"mixture need the same under `observation`",
                )
            if scenario.layout.world_components != first.layout.world_components:
                self.problems.add(
                    node,
                    f"{scenario.name} and {first.name} have other components under `world`, or "
                    f"other values; all scenarios of a mixture need the same",
                )
            if not own_actions and scenario.actions != first.actions:
                ours, theirs = (", ".join(each.action_names) for each in (scenario, first))
                self.problems.add(
                    node,
                    f"{scenario.name} has the actions {ours}, and {first.name} {theirs}; give an "
                    f"action_space beside `mixture`, for all of them",
                )

        largest = _find_largest_member([scenario for _, scenario, _ in read])
        for node, scenario, _ in read:
            if differs := _describe_agent_difference(scenario, largest):
                self.problems.add(
                    node,
                    f"{differs}; all scenarios of a mixture need the same agents or the first of "
                    f"them, of the same colours and components",
                )

        asking = [(node, member) for node, member, _ in read if member.layout.mission]
        for node, scenario in asking[1:]:
            if scenario.layout.mission is not asking[0][1].layout.mission:
                self.problems.add(
                    node,
                    f"{scenario.name} has another class Mission than {asking[0][1].name}; all "
                    f"scenarios of a mixture that have missions need the same",
                )

    def list_warnings(self, members: Sequence[Scenario]) -> tuple[str, ...]:
        """Return a warning if some members define success and others do not, so that the mixture
        cannot report success; else ()."""
        telling, silent = (
            shorten(", ".join(m.name for m in members if m.tells_success is tells), 200)
            for tells in (True, False)
        )
        if not (telling and silent):
            return ()
        message = (
            f"there is no `success`, as {telling} has a success_function and {silent} has none; "
            f"give all members one"
        )
        return (fields.format_message(self.document.label, self.entries[MIXTURE], message),)

    def make_layout(self, members: Sequence[Scenario]) -> Layout:
        """Return a layout (sizes and columns of the world's arrays) that fits all members: the
        largest sizes, all components and all object types."""
        columns: dict[str, type] = {}
        types: dict[int, ObjectType] = {}
        for layout in (scenario.layout for scenario in members):
            types |= {kind.index: kind for kind in layout.types}
            for cls in layout.components:
                self.add_column(columns, cls, self.entries[MIXTURE])
        largest = _find_largest_member(members).layout
        terrain = sum(kind.layer == TERRAIN for kind in types.values())
        layouts = [scenario.layout for scenario in members]
        others = [each.capacity - each.agents - len(each.terrain) for each in layouts]
        return Layout(
            max(scenario.layout.height for scenario in members),
            max(scenario.layout.width for scenario in members),
            largest.agents + terrain + max(others),
            tuple(columns.values()),
            tuple(types[index] for index in sorted(types)),
            max(scenario.layout.drawn for scenario in members),
            largest.bodies,
            any(scenario.layout.agents < largest.agents for scenario in members),
            largest.world_components,
        )


def _list_numbers(scenario: Scenario) -> str:
    texts = (f"{n.name} from {n.low} to {n.high}" for n in scenario.state_numbers)
    return shorten(", ".join(texts), 200) or "nothing"


def _find_largest_member(members: Sequence[Scenario]) -> Scenario:
    return max(members, key=lambda member: len(member.agent_group.names))


def _describe_agent_difference(scenario: Scenario, largest: Scenario) -> str:
    """Return a text about the first agent of `scenario` that differs from the agent of the same
    index in `largest`, the member with the most agents; "" if none differs. A single agent may have
    another name, and fewer components."""
    ours = scenario.agent_group.names
    theirs = largest.agent_group.names[: len(ours)]
    joins = len(ours) == 1 < largest.layout.agents
    if ours != theirs and not joins:
        all_theirs = ", ".join(largest.agent_group.names)
        return f"{scenario.name} has the agents {', '.join(ours)}, and {largest.name} {all_theirs}"
    bodies = zip(ours, scenario.layout.bodies, largest.layout.bodies, strict=False)
    for name, body, other_body in bodies:
        own, other = dict(body), dict(other_body)
        for cls in own if joins else own | other:
            if own.get(cls) != other.get(cls):
                actual, expected = _describe_component(cls, own), _describe_component(cls, other)
                return f"{name} has {actual} in {scenario.name}, and {expected} in {largest.name}"
    return ""


def _describe_component(cls: type, parts: Mapping[type, tuple[Any, ...]]) -> str:
    if cls not in parts:
        return f"no {cls.__name__}"
    return f"Color {COLORS[parts[cls][0]]}" if cls is Color else repr(cls(*parts[cls]))


def _merge_fields(members: tuple[Scenario, ...]) -> dict[str, Any]:
    """Return the keyword arguments of a mixture's `Scenario` that are combined from its member
    scenarios."""

    def list_of(name: str) -> tuple[int, ...]:
        return tuple(sorted({index for member in members for index in getattr(member, name)}))

    limits = [member.max_steps for member in members]
    lists = ("objects", "colors", "observation_objects", "observation_colors")
    return {
        **{name: list_of(name) for name in lists},
        "max_steps": None if None in limits else max(limit for limit in limits if limit),
        "actions": members[0].actions,
        "own_actions": members[0].own_actions,
        "area": members[0].area,
        "agent_group": _find_largest_member(members).agent_group,
        "layout": members[0].layout,
        "state_numbers": members[0].state_numbers,
        "reward_names": tuple(
            dict.fromkeys(name for member in members for name in member.reward_names)
        ),
        "warnings": tuple(dict.fromkeys(line for member in members for line in member.warnings)),
        "schedule": {},
        "mission_texts": tuple(text for member in members for text in member.mission_texts),
        "mixture": members,
    }
