"""BabyAI's instructions as missions of scenario files, as text or as mappings of clauses.

    mission: go to the red ball, then open a door on your left
    mission: {put: {type: Key}, next_to: {type: Ball, color: $c}, after: {go_to: {type: Door}}}

`grammar` has the numbers, `instructions` the rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from components.core import NONE, NONE_GRID_OBJECT
from components.objects import DOOR
from gv_engine.plugins.minigrid.systems import grammar
from gv_engine.plugins.minigrid.systems.instructions import (
    Mission,
    Progress,
    Target,
    follow_instruction,
    followed_instruction,
    list_unmatched,
    set_instruction,
    verify_instruction,
)
from gv_engine.rules.system import REGISTRIES, System, get_system
from gv_engine.scenario.missions.mission_reader import BY_RULE, MissionObjects
from gv_engine.scenario.missions.missions import reads_mission
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable

PLACES = "left", "right", "front", "behind"
"""Places of a description, in the order of their numbers from 1 on."""
_VERB_KEYS = {phrase.replace(" ", "_"): verb for phrase, verb in grammar.VERBS.items()}

DESCRIPTION_KEYS: KeyTable = {
    "type": Key(
        "Ball, Door, Key or Parcel, which texts call a box; by default any.", schema.OBJECT
    ),
    "color": Key("Colour; by default any.", schema.TEXT),
    "place": Key(
        "Side of the agent on which the object is when the level begins; by default any.",
        schema.enum_schema(PLACES, "place"),
    ),
}
_DESCRIPTION = schema.object_schema(DESCRIPTION_KEYS)
_CLAUSE_KEYS: KeyTable = {
    "go_to": Key("Object to stand in front of, facing it.", _DESCRIPTION),
    "pick_up": Key("Object to pick up.", _DESCRIPTION),
    "open": Key("Door to open.", _DESCRIPTION),
    "put": Key("Object to put next to another one.", _DESCRIPTION),
    "next_to": Key("The other object of `put`.", _DESCRIPTION),
}
_CLAUSE = schema.object_schema(_CLAUSE_KEYS)
_SIDE_KEYS: KeyTable = {
    **_CLAUSE_KEYS,
    "and": Key("Second clause, in any order.", _CLAUSE, nested=_CLAUSE_KEYS),
}
_SIDE = schema.object_schema(_SIDE_KEYS)
INSTRUCTION_KEYS: KeyTable = {
    **_SIDE_KEYS,
    "then": Key("Clause that comes next, or two with `and`.", _SIDE, nested=_SIDE_KEYS),
    "after": Key("Clause that comes first, or two with `and`.", _SIDE, nested=_SIDE_KEYS),
}
"""Keys of a mission of clauses."""


class InstructionReader:
    """Reader of missions of clauses, whose objects and colours `objects` reads."""

    def __init__(self, objects: MissionObjects) -> None:
        self._objects, self._draws, self._problems = objects, objects.draws, objects.problems

    def read_instruction(self, node: YamlNode) -> dict[str, Any]:
        """Return the arguments of the system `set_instruction` for the mission in a YAML node. It
        is a text such as "go to the red ball", or a mapping of clauses."""
        if isinstance(node.value, dict):
            return self._read_mapping(node)
        try:
            wording, clauses = grammar.parse_instruction(fields.text(node))
        except ValueError as error:
            hint = 'other missions are mappings: {text: "fetch the {object}", object: Key}'
            raise node.error(f"{error}; {hint}") from None
        for kind, color in np.vstack((clauses[:, 1:3], clauses[:, 5:7])).tolist():
            if kind != NONE_GRID_OBJECT:
                self._objects.check_type(node, kind)
            self._objects.check_color(node, color)
        return {"clauses": clauses, "wording": wording, "has_articles": True}

    def _read_mapping(self, node: YamlNode) -> dict[str, Any]:
        """Return the arguments of the system `set_instruction` for a YAML mapping of clauses."""
        rows = self._read_clauses(node, INSTRUCTION_KEYS)
        entries = fields.mapping(node)
        if "then" in entries and "after" in entries:
            raise entries["after"].error("a mission has either `then` or `after`")
        count = 1 + ("and" in entries)
        wording = grammar.number_wording(count, len(rows) - count, "after" in entries)
        clauses = np.zeros((grammar.MAX_CLAUSES, grammar.CLAUSE_LENGTH), np.int64)
        clauses[: len(rows)] = rows
        return {"clauses": clauses, "wording": wording, "has_articles": False}

    def _read_clauses(self, node: YamlNode, keys: KeyTable) -> list[list[int]]:
        """Encode the clause in a YAML mapping as a row of numbers, followed by a row for each
        clause under its keys `and`, `then` and `after`. `keys` are the keys that the mapping may
        have.

        A row has the verb and two descriptions: type, colour, place, plural; zeros for none.
        """
        entries = fields.read_fields(self._problems, node, keys)
        verbs = [key for key in _VERB_KEYS if key in entries]
        if len(verbs) != 1:
            found = " and ".join(verbs) or "none"
            raise node.error(f"a clause has one of {', '.join(_VERB_KEYS)}; found {found}")
        verb = _VERB_KEYS[verbs[0]]
        if ("next_to" in entries) != (verb == grammar.PUT_NEXT):
            raise node.error("`put` and `next_to` go together: {put: {type: Key}, next_to: {}}")
        clause = [verb, *self._read_description(entries[verbs[0]], verb), 0, 0, 0, 0]
        if verb == grammar.PUT_NEXT:
            clause[5:] = self._read_description(entries["next_to"], grammar.GO_TO)
        rows = [clause]
        for key in ("and", "then", "after"):
            if key in entries:
                rows += self._read_clauses(entries[key], keys[key].nested)
        return rows

    def _read_description(self, node: YamlNode, verb: int) -> list[int]:
        """Encode the description of an object in a YAML node as [type, colour, place, 0]. Raise
        FieldError for a type to which `verb` does not apply."""
        entries = fields.read_fields(self._problems, node, DESCRIPTION_KEYS)
        kind = DOOR if verb == grammar.OPEN_DOOR else NONE_GRID_OBJECT
        if "type" in entries:
            kind, allowed = self._objects.read_type(entries["type"]), grammar.list_kinds(verb)
            if not set(self._draws.list_possible_values(kind)) <= set(allowed.values()):
                names = [
                    self._objects.names.types[number].name for number in allowed.values() if number
                ]
                raise entries["type"].error(
                    f"found {entries['type'].text}, expected {', '.join(names)}: texts have "
                    f"words for no other types"
                )
        color = self._objects.read_color(entries["color"]) if "color" in entries else NONE
        place = entries.get("place")
        number = 1 + fields.read_choice(place, PLACES, "place") if place else 0
        return [kind, color, number, 0]


for _rule in map(get_system, (verify_instruction, follow_instruction, followed_instruction)):
    REGISTRIES[_rule.phase].add(_rule)


class Instructions:
    """BabyAI's instructions, a `MissionLanguage`."""

    components = Mission, Progress, Target
    texts = grammar.WORDINGS
    keys = INSTRUCTION_KEYS
    setter = staticmethod(set_instruction)
    examples = "open the red door", "{go_to: {type: Key, color: RED}}"
    verifier = "verify_instruction"

    def is_written_in(self, node: YamlNode) -> bool:
        """Return True if the mission is a text, or a mapping with one of `INSTRUCTION_KEYS`."""
        if isinstance(node.value, dict):
            return not INSTRUCTION_KEYS.keys().isdisjoint(node.value)
        return isinstance(node.value, str)

    def read(self, node: YamlNode, objects: MissionObjects) -> Mapping[str, Any] | None:
        """Return the arguments of `set_instruction` for the mission in `node`; None if rules set
        it."""
        return None if node.value == BY_RULE else InstructionReader(objects).read_instruction(node)

    def is_needed_by(self, system: System) -> bool:
        """Return True if the rule `system` works only with such missions."""
        return system.function.__module__ == Mission.__module__

    def find_faults(self, transitions: Sequence[System], num_agents: int) -> Iterator[str]:
        """Yield an error message if no transition checks the mission's completion, and one if there
        are several agents."""
        if not any(reads_mission(system, Progress) for system in transitions):
            yield f"nothing verifies it; put {self.verifier} last in transition_functions"
        if num_agents > 1:
            yield "a mission of verbs is for one agent; write one of text"

    def list_unmatched(self, w: Any) -> dict[int, str]:
        """Return the descriptions that no object matched at the reset, by their bits in
        `target.descriptions`."""
        return list_unmatched(w)
