"""Mixtures: scenarios that are weighted lists of scenarios, of which each reset draws one.

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
from typing import TYPE_CHECKING, Any

from components.appearance import Color
from gv_engine.rules.errors import ScenarioError, TrustError, shortened
from gv_engine.rules.objects import COLORS, ObjectType
from gv_engine.scenario.actions import ACTIONS_OF_ALL
from gv_engine.scenario.document import FILE_KEYS, Document
from gv_engine.scenario.fields import (
    FieldError,
    UntrustedCodeError,
    YamlNode,
    format_message,
    items,
    mapping,
    number,
    read_fields,
    text,
)
from gv_engine.scenario.files import path_exists
from gv_engine.scenario.grid_reader import SHARED_KEYS, TopLevel
from gv_engine.scenario.json_schema import (
    SCENARIO,
    TEXT,
    Key,
    KeyTable,
    any_of,
    list_of,
    map_of,
    object_schema,
)
from gv_engine.scenario.layout import Layout
from gv_engine.scenario.library import ScenarioRef
from gv_engine.scenario.packs import no_file
from gv_engine.scenario.plugin import list_playable_scenarios
from gv_engine.scenario.type_ids import TypeIds

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario

MIXTURE = "mixture"
_MOST_MEMBERS = 1000

_MEMBER: KeyTable = {
    "scenario": Key(
        "A name, a file or folder beside this one, or a scenario in place.",
        any_of(TEXT, SCENARIO),
        required=True,
    ),
    "weight": Key(
        "How often it is drawn beside the others, 1 if left out.",
        {"type": "number", "exclusiveMinimum": 0},
    ),
    "set": Key("Values of its parameters, by name.", map_of({})),
}
MIXTURE_KEYS: KeyTable = {
    **SHARED_KEYS,
    "action_space": SHARED_KEYS["action_space"]._replace(schema=ACTIONS_OF_ALL),
    MIXTURE: Key(
        "A list of scenarios, of which each reset draws one.",
        list_of(any_of(TEXT, object_schema(_MEMBER)), minItems=1, maxItems=_MOST_MEMBERS),
        required=True,
        nested=_MEMBER,
    ),
}
"""Those of mixtures."""

Find = Callable[[Document | str | Path, Document, Mapping[str, Any]], Document]


def is_mixture(document: Document) -> bool:
    """Whether a document describes a mixture."""
    return isinstance(document.root.value, dict) and MIXTURE in document.root.value


def read_mixture(
    document: Document,
    members: tuple[Scenario, ...],
    find: Find,
    read: Callable[[Document, TypeIds], Scenario],
) -> dict[str, Any]:
    """The fields of the `Scenario` that a mixture is.

    Args:
        members: its scenarios, if they were read before.
        find: the document of one for this mixture: a document, or what
            `gv_engine.scenario.library.find_ref` takes.
        read: a scenario, by its document and the numbering of all.

    Raises:
        ScenarioError: with all problems.
    """
    return _Reader(document, find, read).fields(members)


class _Reader(TopLevel):
    def __init__(
        self, document: Document, find: Find, read: Callable[[Document, TypeIds], Scenario]
    ) -> None:
        super().__init__(document)
        self.find = find
        self.read = read
        self.named: dict[str, Document] = {}

    def fields(self, members: tuple[Scenario, ...]) -> dict[str, Any]:
        self.entries = read_fields(self.problems, self.document.root, MIXTURE_KEYS, FILE_KEYS)
        read = self.key(MIXTURE, lambda node: self.members(node, members), [])
        given: dict[str, Any] = {
            "max_steps": self.key("max_steps", self.limit, None),
        }
        own = {own.name: own for _, scenario, _ in reversed(read) for own in scenario.own_actions}
        actions, own_actions = self.actions((), own.values())
        if actions:
            given["actions"] = actions
        changes = {key: value for key, value in given.items() if value is not None}
        name = self.document.default_name if self.document.source else "mixture"
        described = self.described(name)
        self.problems.raise_if_any()
        self.compare(read, own_actions="actions" in changes)
        self.problems.raise_if_any()
        changes["layout"] = self.layout([scenario for _, scenario, _ in read])
        self.problems.raise_if_any()
        mixed = tuple(scenario.with_(**changes) for _, scenario, _ in read)
        whole = {**described, **_union(mixed), "weights": tuple(w for _, _, w in read)}
        whole["warnings"] += self.warnings(mixed)
        whole["own_actions"] = own_actions if actions else whole["own_actions"]
        return whole

    def members(
        self, node: YamlNode, known: tuple[Scenario, ...]
    ) -> list[tuple[YamlNode, Scenario, float]]:
        """(where it stands, scenario, weight) of each."""
        listed = items(node)
        if not 1 <= len(listed) <= _MOST_MEMBERS:
            raise FieldError(node, f"found {node.summary}, expected 1 to {_MOST_MEMBERS} scenarios")
        found = []
        for item in listed:
            with self.problems.collect():
                entries = {"scenario": item}
                if isinstance(item.value, dict):
                    entries = read_fields(self.problems, item, _MEMBER)
                if "scenario" not in entries:
                    raise FieldError(item, "the scenario is missing: {scenario: …, weight: …}")
                weight = 1.0
                with self.problems.collect():  # what is wrong with the scenario is said too
                    weight = _weight(entries["weight"]) if "weight" in entries else 1.0
                document = None if known else self.document_once(entries)
                found.append((item, entries["scenario"], document, weight))
        documents = {id(document): document for _, _, document, _ in found if document}
        numbering = TypeIds.assign([*documents.values()])
        read: dict[int, Scenario] = {}
        for _, node, document, _ in found:
            if document and id(document) not in read:
                with self.problems.collect(), self.told(node):
                    read[id(document)] = self.read(document, numbering)
        return [
            (item, known[position] if known else read[id(document)], weight)
            for position, (item, _, document, weight) in enumerate(found)
            if known or id(document) in read
        ]

    def document_once(self, entries: Mapping[str, YamlNode]) -> Document:
        """That of a member; one that is named several times is read once."""
        node = entries["scenario"]
        settings = mapping(entries["set"]) if "set" in entries else {}
        plain = {name: value.plain for name, value in settings.items()}
        if isinstance(node.value, dict) or settings:
            return self.document_of(node, plain)
        if node.text not in self.named:
            self.named[node.text] = self.document_of(node, plain)
        return self.named[node.text]

    def document_of(self, node: YamlNode, settings: Mapping[str, Any]) -> Document:
        """That of a member, by name, by a file relative to this one, or in place."""
        wanted: Document | str | Path
        if isinstance(node.value, dict):
            wanted = self.document.nested(node, settings)
        else:
            wanted = text(node)
            if self.document.trust.can_name_files(self.document.folder):
                file = self.document.folder / wanted
                wanted = file if path_exists(ScenarioRef.parse(file).file) else wanted
            elif wanted not in list_playable_scenarios():
                raise FieldError(node, no_file(wanted))
        with self.told(node):
            return self.find(wanted, self.document, settings)

    @contextmanager
    def told(self, node: YamlNode) -> Iterator[None]:
        """All that is wrong with a member is said of where it stands."""
        try:
            yield
        except ScenarioError as error:
            for problem in error.problems:
                self.problems.add(node, problem)
            raise (UntrustedCodeError if isinstance(error, TrustError) else FieldError)(
                node, ""
            ) from None

    def compare(self, read: Sequence[tuple[YamlNode, Scenario, float]], own_actions: bool) -> None:
        """What members must have in common."""
        _, first, _ = read[0]
        for node, scenario, _ in read[1:]:
            if scenario.area != first.area:
                self.problems.add(
                    node,
                    f"{scenario.name} observes the area {scenario.area}, {first.name} "
                    f"{first.area}; all scenarios of a mixture need the same",
                )
            if not own_actions and scenario.actions != first.actions:
                ours, theirs = (", ".join(each.action_names) for each in (scenario, first))
                self.problems.add(
                    node,
                    f"{scenario.name} has the actions {ours}, and {first.name} {theirs}; give an "
                    f"action_space beside `mixture`, for all of them",
                )

        largest = _of_most_agents([scenario for _, scenario, _ in read])
        for node, scenario, _ in read:
            if differs := _difference_of_agents(scenario, largest):
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

    def warnings(self, members: Sequence[Scenario]) -> tuple[str, ...]:
        """That nobody hears of successes, because some members say what one is and some do not."""
        saying, silent = (
            shortened(", ".join(m.name for m in members if m.tells_success is says), 200)
            for says in (True, False)
        )
        if not (saying and silent):
            return ()
        message = (
            f"there is no `success`, as {saying} has a success_function and {silent} has none; "
            f"give all members one"
        )
        return (format_message(self.document.label, self.entries[MIXTURE], message),)

    def layout(self, members: Sequence[Scenario]) -> Layout:
        """One for all: the largest sizes, and the components and object types of each."""
        columns: dict[str, type] = {}
        types: dict[int, ObjectType] = {}
        for layout in (scenario.layout for scenario in members):
            types |= {kind.index: kind for kind in layout.types}
            for cls in layout.components:
                self.add_column(columns, cls, self.entries[MIXTURE])
        crew = _of_most_agents(members).layout
        return Layout(
            max(scenario.layout.height for scenario in members),
            max(scenario.layout.width for scenario in members),
            crew.agents + max(each.layout.capacity - each.layout.agents for each in members),
            tuple(columns.values()),
            tuple(types[index] for index in sorted(types)),
            max(scenario.layout.drawn for scenario in members),
            crew.bodies,
            any(scenario.layout.agents < crew.agents for scenario in members),
        )


def _of_most_agents(members: Sequence[Scenario]) -> Scenario:
    """The first of the members that have the most agents."""
    return max(members, key=lambda member: len(member.sharing.names))


def _difference_of_agents(scenario: Scenario, largest: Scenario) -> str:
    """Return the first difference of a scenario's agents from the first ones of another, in names
    or components; "" for none. One agent alone has no name, and gets there what several have."""
    ours, theirs = scenario.sharing.names, largest.sharing.names[: len(scenario.sharing.names)]
    joins = len(ours) == 1 < largest.layout.agents
    if ours != theirs and not joins:
        all_theirs = ", ".join(largest.sharing.names)
        return f"{scenario.name} has the agents {', '.join(ours)}, and {largest.name} {all_theirs}"
    bodies = zip(ours, scenario.layout.bodies, largest.layout.bodies, strict=False)
    for name, body, other_body in bodies:
        own, other = dict(body), dict(other_body)
        for cls in own if joins else own | other:
            if own.get(cls) != other.get(cls):
                found, expected = _component(cls, own), _component(cls, other)
                return f"{name} has {found} in {scenario.name}, and {expected} in {largest.name}"
    return ""


def _component(cls: type, parts: Mapping[type, tuple[Any, ...]]) -> str:
    if cls not in parts:
        return f"no {cls.__name__}"
    return f"Color {COLORS[parts[cls][0]]}" if cls is Color else repr(cls(*parts[cls]))


def _weight(node: YamlNode) -> float:
    weight = number(node)
    if weight <= 0:
        raise FieldError(node, f"found {weight:g}, expected more than 0")
    return weight


def _union(members: tuple[Scenario, ...]) -> dict[str, Any]:
    """The attributes that a mixture gathers from its members."""

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
        "sharing": _of_most_agents(members).sharing,
        "layout": members[0].layout,
        "reward_names": tuple(
            dict.fromkeys(name for member in members for name in member.reward_names)
        ),
        "warnings": tuple(dict.fromkeys(line for member in members for line in member.warnings)),
        "schedule": {},
        "mission_texts": tuple(text for member in members for text in member.mission_texts),
        "mixture": members,
    }
