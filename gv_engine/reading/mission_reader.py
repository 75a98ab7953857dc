"""Reads what files say of missions.

    mission:
      text: "fetch the {color} {object}"
      object: Key
      color: $color

`systems.chance.set_mission` writes it into the component `Mission` of the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from types import FunctionType
from typing import Any

import numpy as np

from components.appearance import FLOOR
from components.mission import Mission
from gv_engine.language.call import Call
from gv_engine.language.component import Field, column_name, is_component
from gv_engine.language.objects import COLORS
from gv_engine.language.system import System, marked
from gv_engine.reading.draws import COLOR, NUMBER, OBJECT, DrawnValues, table
from gv_engine.reading.forms import OBJECT as OBJECT_FORM
from gv_engine.reading.forms import (
    REFERENCE,
    TEXT,
    WHOLE,
    JsonForm,
    Key,
    KeyTable,
    either,
    keyed,
    list_of,
    several,
)
from gv_engine.reading.missions import is_about, name_in_text, shown_fields
from gv_engine.reading.names import Names
from gv_engine.reading.values import (
    LONGEST_SIDE,
    Problems,
    Wrong,
    YamlNode,
    check_keys,
    distinct,
    instead,
    integer,
    items,
    one_of,
    truth,
    word,
)
from systems.chance import set_mission

ANY, BY_RULE = "any", "by_rule"
_MOST_TEXTS = 100
_LONGEST_TEXT = 1000

MISSION_KEYS: KeyTable = {
    "text": Key(
        "What people read: a template over the mission, `fetch the {color} {object}`; or a list of "
        "several.",
        either(TEXT, list_of(TEXT, minItems=1)),
        required=True,
    ),
    "wording": Key(
        "Which of several texts it is: `any`, a number from 0 on, a drawn value, or `by_rule` if "
        "a reset function says it.",
        TEXT,
    ),
    "among": Key(
        "Types of objects: one of those on the grid is drawn, and the mission is about its type "
        "and colour.",
        either(OBJECT_FORM, several(OBJECT_FORM)),
    ),
    "object": Key("The type of objects that it is about; any, if left out.", OBJECT_FORM),
    "color": Key("The colour of the objects that it is about; any, if left out.", TEXT),
    "component": Key(
        "A class `Mission` made from the built-in one, `./rules.py:Mission`, whose further fields "
        "may stand here, and in texts, too.",
        REFERENCE,
    ),
}
"""What `mission` may say."""
MISSION_FORM: JsonForm = {**keyed(MISSION_KEYS), "additionalProperties": either(TEXT, WHOLE)}


@dataclass(frozen=True)
class AskedMission:
    """What stands under `mission`.

    Attributes:
        component: of the agent, which holds it.
        texts: the templates.
        given: arguments of `set_mission`; None if rules alone say what is asked.
    """

    component: type
    texts: tuple[str, ...]
    given: Mapping[str, Any] | None

    def after(self, reset: Call) -> Call:
        """A reset, and then what the file says of the mission."""
        if self.given is None:
            return reset
        return Call(marked(set_mission).system, {"reset_function": reset, **self.given})


def read_mission(
    problems: Problems,
    names: Names,
    draws: DrawnValues,
    node: YamlNode,
    objects: Sequence[int],
    colors: Sequence[int],
) -> AskedMission:
    """What stands under `mission`.

    Args:
        draws: what is drawn with each level.
        objects, colors: that may occur.
    """
    return _Reader(problems, names, draws, objects, colors).read(node)


class _Reader:
    def __init__(
        self,
        problems: Problems,
        names: Names,
        draws: DrawnValues,
        objects: Sequence[int],
        colors: Sequence[int],
    ) -> None:
        self._problems, self._names, self._draws = problems, names, draws
        self._objects, self._colors = objects, colors

    def read(self, node: YamlNode) -> AskedMission:
        if not isinstance(node.value, dict):
            hint = 'expected a mapping such as {text: "fetch the {color} {object}", object: Key}'
            raise Wrong(node, f"found {node.found}, {hint}")
        component = self._component(node.value["component"]) if "component" in node.value else None
        fields = {name_in_text(f.name): f for f in shown_fields(component or Mission)}
        entries = check_keys(self._problems, node, {**MISSION_KEYS, **fields})
        if "text" not in entries:
            raise Wrong(node, 'the text is missing: {text: "fetch the {color} {object}", …}')
        texts = self._texts(entries["text"], [name for name in fields if name != "wording"])
        values: dict[str, int] = {}
        wordings = 0
        with self._problems.collect():
            wordings = self._wordings(entries, node, texts, values)
        for name, field in fields.items():
            if name in entries and name != "wording":
                with self._problems.collect():
                    values[field.name] = self._value(field, entries[name])
        among: tuple[int, ...] = ()
        if "among" in entries:
            with self._problems.collect():
                among = self._among(entries)
        given = None
        if values or among or wordings:
            numbers, types = table(0, len(values) or 1), table(-1, len(among) or 1)
            numbers[: len(values)], types[: len(among)] = [*values.values()], among
            given = {
                "write": writer_of(values),
                "values": numbers,
                "among": types,
                "wordings": wordings,
            }
        return AskedMission(component or Mission, texts, given)

    def _component(self, node: YamlNode) -> type:
        found: type = self._names.thing(node)
        if not (is_component(found) and issubclass(found, Mission)):
            raise Wrong(
                node,
                f"{node.text} is no mission; make it a @component, and a class of "
                f"components.Mission with more fields",
            )
        if column_name(found) != column_name(Mission):
            raise Wrong(node, f"call the class Mission, as rules read w.mission; found {node.text}")
        return found

    def _texts(self, node: YamlNode, known: Sequence[str]) -> tuple[str, ...]:
        listed = items(node) if isinstance(node.value, list) else [node]
        if not 1 <= len(listed) <= _MOST_TEXTS:
            raise Wrong(node, f"found {len(listed)} texts, expected 1 to {_MOST_TEXTS}")
        found = []
        for each in listed:
            with self._problems.collect():
                found.append(_template(each, known))
        return tuple(found)

    def _wordings(
        self,
        entries: Mapping[str, YamlNode],
        node: YamlNode,
        texts: Sequence[str],
        values: dict[str, int],
    ) -> int:
        """Of how many texts one is drawn, 0 for none; a certain one goes into the values."""
        said = entries.get("wording")
        if said is None:
            if len(texts) > 1:
                raise Wrong(node, "several texts; say which of them it is: `wording: any`")
        elif said.text == ANY:
            return len(texts)
        elif said.text != BY_RULE:
            values["wording"] = self._draws.value(
                said, (NUMBER,), lambda each: integer(each, 0, len(texts) - 1)
            )
            most = max(self._draws.options(values["wording"]))
            if most >= len(texts):
                raise Wrong(said, f"{said.text} may be {most}, texts are 0 to {len(texts) - 1}")
        return 0

    def _value(self, field: Field, node: YamlNode) -> int:
        """What a field is, as tables have it."""
        if is_about(field.name, "kind"):
            value = self._draws.value(node, (OBJECT,), self._names.object_type)
            for kind in self._draws.options(value):
                self._check_object(node, kind)
            return value
        if is_about(field.name, "color"):
            value = self._draws.value(node, (COLOR,), lambda each: one_of(each, COLORS, COLOR))
            for color in self._draws.options(value):
                if color not in self._colors:
                    allowed = ", ".join(COLORS[index] for index in self._colors)
                    raise Wrong(
                        node,
                        f"{COLORS[color]} is not in the scenario, which has {allowed}; add it to "
                        f"the colors of its state_space",
                    )
            return value
        dtype: Any = field.dtype
        if dtype.kind == "b":
            return int(truth(node))
        return self._draws.number(node, int(np.iinfo(dtype).max))

    def _check_object(self, node: YamlNode, kind: int) -> None:
        if kind <= FLOOR or kind not in self._objects:
            raise Wrong(
                node,
                f"{self._names.types[kind].name} is nothing that the scenario has; add it to the "
                f"objects of its state_space, or name another",
            )

    def _among(self, entries: Mapping[str, YamlNode]) -> tuple[int, ...]:
        node = entries["among"]
        for key in ("object", "color"):
            if key in entries:
                raise Wrong(entries[key], f"a mission has either `among` or `{key}`")

        def read(each: YamlNode) -> int:
            kind = self._names.object_type(each)
            self._check_object(each, kind)
            return kind

        if not isinstance(node.value, list):
            return (read(node),)
        if len(items(node)) > LONGEST_SIDE:
            raise Wrong(node, f"found {len(items(node))} types, expected at most {LONGEST_SIDE}")
        return distinct(self._problems, node, read)


def _template(node: YamlNode, known: Sequence[str]) -> str:
    """A text whose `{…}` are fields."""
    text = word(node)
    if len(text) > _LONGEST_TEXT:
        raise Wrong(node, f"found {len(text)} characters, expected at most {_LONGEST_TEXT}")
    try:
        parts = list(Formatter().parse(text))
    except ValueError as error:
        raise Wrong(node, f"{error}; write {{{{ for a brace that is none of a field") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if name not in known:
            raise Wrong(node, f"a mission has no {{{name}}}{instead(name, known)}")
        if form or conversion:
            raise Wrong(node, f"write {{{name}}} alone, without a form of it")
    return text


_Write = Callable[[Any, int, Any], None]


def writer_of(names: Sequence[str] | Mapping[str, Any]) -> _Write:
    """`(w, agent, values)`: write (k,) values into fields of an agent's mission."""
    write: _Write = _nothing
    for number, name in enumerate(names):
        write = _then(write, name, number)
    return write


def _nothing(w: Any, agent: int, values: Any) -> None:
    """Write no field."""


def _then(before: _Write, name: str, number: int) -> _Write:
    def write(w: Any, agent: int, values: Any) -> None:
        before(w, agent, values)
        w["mission"][name][agent] = values[number]

    return write


# ---- rules that ask for it ---------------------------------------------------------------------


def asks_for_mission(system: System) -> bool:
    """Whether a rule of columns, or a helper that it calls, reads `w.mission`."""
    known: set[FunctionType] = set()
    for function in system.functions:
        _reach(function, known)
    column = column_name(Mission)
    return system.objects is None and any(column in each.__code__.co_names for each in known)


def _reach(function: Any, known: set[FunctionType]) -> None:
    """Add a function to those known, and all that it calls by name."""
    if isinstance(function, FunctionType) and function not in known:
        known.add(function)
        for name in function.__code__.co_names:
            _reach(function.__globals__.get(name), known)
