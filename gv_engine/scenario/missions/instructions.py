"""Missions of clauses in scenario files: BabyAI's verbs and descriptions, as text or as mappings.

    mission: go to the red ball, then open a door on your left
    mission: {put: {type: Key}, next_to: {type: Ball, color: $c}, after: {go_to: {type: Door}}}

`systems.minigrid.grammar` has the numbers, `systems.minigrid.instructions` the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from components.core import FLOOR, NONE, NONE_GRID_OBJECT
from components.objects import DOOR
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.readers.random_values import COLOR, OBJECT, RandomValues
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable
from systems.minigrid import grammar

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


def is_instruction(node: YamlNode) -> bool:
    """Return True if the mission in `node` consists of clauses: it is a text, or a mapping with one
    of `INSTRUCTION_KEYS`."""
    if isinstance(node.value, dict):
        return not INSTRUCTION_KEYS.keys().isdisjoint(node.value)
    return isinstance(node.value, str)


class InstructionReader:
    """Reader of missions of clauses.

    Args:
        draws: random values of the scenario.
        objects, colors: type and colour numbers that its levels may contain.
    """

    def __init__(self, draws: RandomValues, objects: Sequence[int], colors: Sequence[int]) -> None:
        self._problems, self._names, self._draws = draws.problems, draws.names, draws
        self._objects, self._colors = objects, colors

    def read_instruction(self, node: YamlNode) -> dict[str, Any]:
        """Return the arguments of `set_instruction` for the mission of clauses in `node`."""
        if isinstance(node.value, dict):
            return self._read_mapping(node)
        try:
            wording, clauses = grammar.parse_instruction(fields.text(node))
        except ValueError as error:
            hint = 'other missions are mappings: {text: "fetch the {object}", object: Key}'
            raise node.error(f"{error}; {hint}") from None
        for kind, color in np.vstack((clauses[:, 1:3], clauses[:, 5:7])).tolist():
            if kind != NONE_GRID_OBJECT:
                self._check_object(node, kind)
            self._check_color(node, color)
        return {"clauses": clauses, "wording": wording, "has_articles": True}

    def _read_mapping(self, node: YamlNode) -> dict[str, Any]:
        """Return the arguments of `set_instruction` for a mapping of clauses."""
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
        """Return one row of numbers for the clause in `node`, a mapping with `keys`, then one for
        each clause under its keys `and`, `then` and `after`.

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
        """Return [type, colour, place, 0], the description of an object in `node`; raise a
        FieldError for a type that `verb` cannot have as its object."""
        entries = fields.read_fields(self._problems, node, DESCRIPTION_KEYS)
        kind = DOOR if verb == grammar.OPEN_DOOR else NONE_GRID_OBJECT
        if "type" in entries:
            kind, allowed = self._read_kind(entries["type"]), grammar.list_kinds(verb)
            if not set(self._draws.list_possible_values(kind)) <= set(allowed.values()):
                names = [self._names.types[number].name for number in allowed.values() if number]
                raise entries["type"].error(
                    f"found {entries['type'].text}, expected {', '.join(names)}: texts have "
                    f"words for no other types"
                )
        color = self._read_color(entries["color"]) if "color" in entries else NONE
        place = entries.get("place")
        number = 1 + fields.read_choice(place, PLACES, "place") if place else 0
        return [kind, color, number, 0]

    def _read_kind(self, node: YamlNode) -> int:
        """Return the index of the object type in `node`; a negative number is the code of a random
        value, see `RandomValues`."""
        value = self._draws.read_value(node, (OBJECT,), self._names.resolve_object_type)
        for kind in self._draws.list_possible_values(value):
            self._check_object(node, kind)
        return value

    def _read_color(self, node: YamlNode) -> int:
        """Return the index of the colour in `node`; a negative number is the code of a random
        value, see `RandomValues`."""
        read = partial(fields.read_choice, choices=COLORS, label=COLOR)
        value = self._draws.read_value(node, (COLOR,), read)
        for color in self._draws.list_possible_values(value):
            self._check_color(node, color)
        return value

    def _check_object(self, node: YamlNode, kind: int) -> None:
        """Raise a FieldError at `node` if objects of the type with index `kind` cannot occur in the
        scenario."""
        if kind <= FLOOR or kind not in self._objects:
            raise node.error(
                f"{self._names.types[kind].name} is nothing that the scenario has; add it to the "
                f"objects of its state_space, or name another"
            )

    def _check_color(self, node: YamlNode, color: int) -> None:
        """Raise a FieldError at `node` if the colour with index `color` cannot occur in the
        scenario."""
        if color not in self._colors:
            allowed = ", ".join(COLORS[index] for index in self._colors)
            raise node.error(
                f"{COLORS[color]} is not in the scenario, which has {allowed}; add it to the "
                f"colors of its state_space"
            )
