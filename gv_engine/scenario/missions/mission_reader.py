"""Reader of the key `mission` of scenario files.

    mission:
      text: "fetch the {color} {object}"
      object: Key
      color: $color

`systems.procedural.set_mission` writes it into the component `Mission` of the agent. Plugins add
missions in other forms, each a `MissionLanguage`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pkgutil import resolve_name
from string import Formatter
from typing import Any, Protocol

import numpy as np

from components.core import FLOOR, Mission
from gv_engine.late_imports import find_plugins
from gv_engine.rules.component import Field, column_name, is_component
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import Call, System, get_system
from gv_engine.scenario.missions.missions import (
    is_field_for,
    list_observed_fields,
    public_field_name,
)
from gv_engine.scenario.readers.random_values import COLOR, NUMBER, OBJECT, RandomValues, make_row
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.json_schema import JsonSchema, Key, KeyTable
from systems.procedural import set_mission

ANY, BY_RULE = "any", "by_rule"
_MAX_TEXTS = 100
_MAX_TEXT_LENGTH = 1000

MISSION_KEYS: KeyTable = {
    "text": Key(
        "Text with `{color}` and `{object}`, or a list of texts. Needed without clauses.",
        schema.any_of(schema.TEXT, schema.list_of(schema.TEXT, minItems=1)),
    ),
    "wording": Key(
        "Choice of the text: `any`, a number from 0 on, a drawn value, or `by_rule`, "
        "set by a reset function.",
        schema.TEXT,
    ),
    "among": Key(
        "Object types. One object of these types on the grid is sampled, with its colour.",
        schema.any_of(schema.OBJECT, schema.unique_list(schema.OBJECT)),
    ),
    "object": Key("Object type. By default, any.", schema.OBJECT),
    "color": Key("Colour. By default, any.", schema.TEXT),
    "component": Key(
        "Subclass of `Mission` of that name, with further fields: `./rules.py:Mission`.",
        schema.REFERENCE,
    ),
}
"""Keys of a mission with a text, object and colour."""


class MissionLanguage(Protocol):
    """Language of missions beside the engine's own keys, which a plugin adds.

    Attributes:
        components: component classes of worlds with such a mission; the first one, a subclass of
            `Mission`, holds it.
        texts: templates of the missions.
        keys: keys of such a mission in scenario files.
        setter: reset function that writes the mission; its arguments are `reset_function` and
            what `read` returns.
        examples: such missions as they stand in files.
        verifier: name of the transition rule that has to verify it.
    """

    components: tuple[type, ...]
    texts: tuple[str, ...]
    keys: KeyTable
    setter: Callable[..., None]
    examples: tuple[str, ...]
    verifier: str

    def is_written_in(self, node: YamlNode) -> bool:
        """Return True if the value of `mission` in `node` has this form."""

    def read(self, node: YamlNode, objects: MissionObjects) -> Mapping[str, Any] | None:
        """Return the arguments of `setter` for the mission in `node`; None if rules set it."""

    def is_needed_by(self, system: System) -> bool:
        """Return True if the rule `system` works only in scenarios with a mission in this
        language."""

    def find_faults(self, transitions: Sequence[System], num_agents: int) -> Iterator[str]:
        """Yield a message for each reason why a scenario with these transition rules and this
        number of agents cannot have such a mission."""

    def list_unmatched(self, w: Any) -> dict[int, str]:
        """Return the descriptions in the mission of world `w` that no object matched at the reset,
        by numbers that are the same in all worlds."""


@cache
def find_mission_languages() -> tuple[MissionLanguage, ...]:
    """Return the mission languages of all plugins."""
    targets = (plugin.mission_language for plugin in find_plugins())
    return tuple(resolve_name(target)() for target in targets if target)


def list_language_keys() -> KeyTable:
    """Return the keys of missions of all mission languages."""
    return {key: value for each in find_mission_languages() for key, value in each.keys.items()}


def make_mission_key() -> Key:
    """Return the description of the key `mission` of scenario files, including the keys for
    missions of plugins."""
    keys = {**MISSION_KEYS, **list_language_keys()}
    form: JsonSchema = {
        **schema.object_schema(keys),
        "type": ["object", "string"],
        "additionalProperties": schema.any_of(schema.TEXT, schema.INTEGER),
    }
    examples = (
        '`{text: "fetch the {color} {object}", object: Key, color: RED}`',
        *(f"`{example}`" for each in find_mission_languages() for example in each.examples),
    )
    return Key(f"Task of the agent: {' or '.join(examples)}.", form, nested=keys)


@dataclass(frozen=True)
class MissionSpec:
    """Contents of the key `mission`.

    Attributes:
        components: component classes of worlds with the mission; the first one holds it.
        texts: templates.
        setter: reset function that writes the mission.
        arguments: further arguments of `setter`; None if only rules set the mission.
        language: its language, None for a mission of `MISSION_KEYS`.
    """

    components: tuple[type, ...]
    texts: tuple[str, ...]
    setter: Callable[..., None]
    arguments: Mapping[str, Any] | None
    language: MissionLanguage | None = None

    def wrap_reset(self, reset: Call) -> Call:
        """Return a reset call that runs the call `reset` and then gives agents the mission that the
        scenario file describes."""
        if self.arguments is None:
            return reset
        return Call(get_system(self.setter), {"reset_function": reset, **self.arguments})


class MissionObjects:
    """Reader of object types and colours in missions.

    Args:
        draws: random values of the scenario.
        types, colors: type and colour numbers that its levels may contain.
    """

    def __init__(self, draws: RandomValues, types: Sequence[int], colors: Sequence[int]) -> None:
        self.draws, self.problems, self.names = draws, draws.problems, draws.names
        self._types, self._colors = types, colors

    def read_type(self, node: YamlNode) -> int:
        """Return the index of the object type that a YAML node names. A random value gives a
        negative code, which `RandomValues` explains."""
        value = self.draws.read_value(node, (OBJECT,), self.names.resolve_object_type)
        for object_type in self.draws.list_possible_values(value):
            self.check_type(node, object_type)
        return value

    def read_color(self, node: YamlNode) -> int:
        """Return the index of the colour that a YAML node names. A random value gives a negative
        code, which `RandomValues` explains."""
        read = partial(fields.read_choice, choices=COLORS, label=COLOR)
        value = self.draws.read_value(node, (COLOR,), read)
        for color in self.draws.list_possible_values(value):
            self.check_color(node, color)
        return value

    def check_type(self, node: YamlNode, object_type: int) -> None:
        """Raise FieldError at the YAML node if objects of this type cannot occur in the scenario.
        `object_type` is a type index."""
        if object_type <= FLOOR or object_type not in self._types:
            raise node.error(
                f"{self.names.types[object_type].name} is not among the scenario's objects; add "
                f"it to the objects of its state_space, or name another"
            )

    def check_color(self, node: YamlNode, color: int) -> None:
        """Raise FieldError at the YAML node if the colour, given by index, cannot occur in the
        scenario."""
        if color not in self._colors:
            allowed = ", ".join(COLORS[index] for index in self._colors)
            raise node.error(
                f"{COLORS[color]} is not in the scenario, which has {allowed}; add it to the "
                f"colors of its state_space"
            )


class MissionReader:
    """Reader of the key `mission`, whose objects and colours `objects` reads; collects all
    errors."""

    def __init__(self, objects: MissionObjects) -> None:
        self._objects, self._draws, self._problems = objects, objects.draws, objects.problems

    def read(self, node: YamlNode) -> MissionSpec:
        """Read the mission from the YAML value of the key `mission`. Errors in single entries are
        collected."""
        for language in find_mission_languages():
            if language.is_written_in(node):
                arguments = language.read(node, self._objects)
                return MissionSpec(
                    language.components, language.texts, language.setter, arguments, language
                )
        if not isinstance(node.value, dict):
            hint = 'expected a mapping such as {text: "fetch the {color} {object}", object: Key}'
            raise node.error(f"found {node.summary}, {hint}")
        component: type = Mission
        if "component" in node.value:
            component = self._read_component(node.value["component"])
        known = {public_field_name(f.name): f for f in list_observed_fields(component)}
        keys = {**MISSION_KEYS, **known}
        entries = fields.read_fields(self._problems, node, keys, list_language_keys())
        if "text" not in entries:
            raise node.error('the text is missing: {text: "fetch the {color} {object}", …}')
        names = [*known, *getattr(component, "phrases", ())]
        names.remove("wording")
        texts = self._read_texts(entries["text"], names)
        values: dict[str, int] = {}
        wordings = 0
        with self._problems.collect():
            wordings = self._read_wording(entries, node, texts, values)
        for name, field in known.items():
            if name in entries and name != "wording":
                with self._problems.collect():
                    values[field.name] = self._read_value(field, entries[name])
        read_among = partial(self._read_among, entries)
        among: tuple[int, ...] = self._problems.read_key(entries, "among", read_among, ())
        arguments = None
        if values or among or wordings:
            arguments = {
                "write": make_field_writer(values),
                "values": make_row([*values.values()], fill=0),
                "among": make_row(among),
                "wordings": wordings,
            }
        return MissionSpec((component,), texts, set_mission, arguments)

    def _read_component(self, node: YamlNode) -> type:
        """Return the component class to which a YAML node refers, such as `./rules.py:MyMission`.
        Raise FieldError if it is no subclass of `Mission`."""
        component: type = self._objects.names.resolve_object(node)
        if not (is_component(component) and issubclass(component, Mission)):
            raise node.error(
                f"{node.text} is not a mission; make it a @component and a subclass of "
                f"components.Mission with more fields"
            )
        if column_name(component) != column_name(Mission):
            raise node.error(
                f"found {node.text}; name the class Mission, because rules read w.mission"
            )
        return component

    def _read_texts(self, node: YamlNode, names: Sequence[str]) -> tuple[str, ...]:
        is_list = isinstance(node.value, list)
        nodes = fields.limited_items(node, _MAX_TEXTS, "texts") if is_list else [node]
        return self._problems.read_each(nodes, lambda each: _read_template(each, names))

    def _read_wording(
        self,
        entries: Mapping[str, YamlNode],
        node: YamlNode,
        texts: Sequence[str],
        values: dict[str, int],
    ) -> int:
        """Read the key `wording`, which selects one of the mission's `texts`. If a text is to be
        sampled, return the number of texts. Else return 0; a selected index is stored in
        `values`."""
        wording = entries.get("wording")
        if wording is None:
            if len(texts) > 1:
                raise node.error("found several texts; add which of them applies: `wording: any`")
        elif wording.text == ANY:
            return len(texts)
        elif wording.text != BY_RULE:
            values["wording"] = self._draws.read_value(
                wording, (NUMBER,), lambda each: fields.integer(each, 0, len(texts) - 1)
            )
            most = max(self._draws.list_possible_values(values["wording"]))
            if most >= len(texts):
                raise wording.error(
                    f"{wording.text} may be {most}, texts are 0 to {len(texts) - 1}"
                )
        return 0

    def _read_value(self, field: Field, node: YamlNode) -> int:
        """Return the value of a mission field in a YAML node. A random value gives a negative code,
        which `RandomValues` explains."""
        if is_field_for(field.name, "kind"):
            return self._objects.read_type(node)
        if is_field_for(field.name, "color"):
            return self._objects.read_color(node)
        dtype: Any = field.dtype
        if dtype.kind == "b":
            return int(fields.boolean(node))
        return self._draws.read_number(node, int(np.iinfo(dtype).max))

    def _read_among(self, entries: Mapping[str, YamlNode], node: YamlNode) -> tuple[int, ...]:
        """Return the object types listed under `among`, as indices. The mission's object is picked
        from objects of these types. `entries` are all keys of the mission."""
        for key in ("object", "color"):
            if key in entries:
                raise entries[key].error(f"a mission has either `among` or `{key}`")

        def read(each: YamlNode) -> int:
            kind = self._objects.names.resolve_object_type(each)
            self._objects.check_type(each, kind)
            return kind

        if not isinstance(node.value, list):
            return (read(node),)
        fields.limited_items(node, fields.MAX_SIDE, "types", minimum=0)
        return fields.read_distinct(self._problems, node, read)


def _read_template(node: YamlNode, names: Sequence[str]) -> str:
    """Return the text template in a YAML node. Raise FieldError if it contains `{…}` with a name
    that is not in `names`, the mission's fields."""
    template = fields.text(node)
    if len(template) > _MAX_TEXT_LENGTH:
        raise node.error(f"found {len(template)} characters, expected at most {_MAX_TEXT_LENGTH}")
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise node.error(f"{error}; write {{{{ for a literal brace") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if name not in names:
            raise node.error(f"a mission has no {{{name}}}{describe_allowed(name, names)}")
        if form or conversion:
            raise node.error(f"write {{{name}}} alone, without a format")
    return template


_Write = Callable[[Any, int, Any], None]


def make_field_writer(names: Sequence[str] | Mapping[str, Any]) -> _Write:
    """Return a function `(w, agent, values)` for compiled code. It writes `values[k]` into the k-th
    mission field of `names`, for every k."""
    write: _Write = _write_nothing
    for number, name in enumerate(names):
        write = _append_write(write, name, number)
    return write


def _write_nothing(w: Any, agent: int, values: Any) -> None:
    """Write no field."""


def _append_write(write_before: _Write, name: str, index: int) -> _Write:
    """Return a function `(w, agent, values)` that calls `write_before` with these arguments, and
    then writes `values[index]` into the mission field `name`."""

    def write(w: Any, agent: int, values: Any) -> None:
        write_before(w, agent, values)
        w["mission"][name][agent] = values[index]

    return write
