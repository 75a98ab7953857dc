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
from string import Formatter, digits
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR, NONE
from components.mission import Mission
from gv_engine.rules.call import Call
from gv_engine.rules.component import Field, column_name, fields_of, is_component, snake_case
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import System, marked
from gv_engine.scenario.fields import (
    MAX_SIDE,
    ErrorCollector,
    FieldError,
    YamlNode,
    boolean,
    integer,
    items,
    read_choice,
    read_distinct,
    read_fields,
    suggestion,
    text,
)
from gv_engine.scenario.json_schema import (
    INTEGER,
    REFERENCE,
    TEXT,
    JsonSchema,
    Key,
    KeyTable,
    any_of,
    list_of,
    object_schema,
    unique_list,
)
from gv_engine.scenario.json_schema import OBJECT as OBJECT_FORM
from gv_engine.scenario.layout import Layout
from gv_engine.scenario.random_values import COLOR, NUMBER, OBJECT, RandomValues, make_table
from gv_engine.scenario.resolver import NameResolver
from systems.chance import set_mission

# ---- missions ------------------------------------------------------------------------------------


def is_about(field: str, what: str) -> bool:
    """Whether a field, by its name in rules, holds a `kind` or a `color`."""
    return field == what or field.endswith(f"_{what}")


def name_in_text(field: str) -> str:
    """What a field is called in files and texts: `target_kind` is `target_object`."""
    return f"{field.removesuffix('kind')}object" if is_about(field, "kind") else field


def shown_fields(component: type) -> tuple[Field, ...]:
    """Those that agents see: whole numbers, and no place or entity."""
    return tuple(
        field
        for field in fields_of(component)
        if isinstance(field.dtype, np.dtype) and field.dtype.kind in "ib"
    )


class Missions:
    """What the agents of a scenario are asked, in numbers and in words.

    Args:
        layout: of its worlds.
        texts: templates of each of its members, () for one that asks nothing.

    Attributes:
        names: of the numbers: `wording` is one more than the number of the text among those of all
            members, which have equal ones in common, 0 if nothing is asked; the others are fields
            as they are.
        texts: the templates of all members; `wording` k + 1 is text k.
        firsts: for each member what `wording` is with its first text, 0 if it asks nothing.
        low, high: (k,) int32 the least and the greatest that they can be.
    """

    def __init__(self, layout: Layout, texts: Sequence[tuple[str, ...]]) -> None:
        assert layout.mission
        fields = shown_fields(layout.mission)
        self._agents = layout.agents + 1
        self._wordings = np.array([max(1, len(own)) for own in texts])
        self.names = tuple(field.name for field in fields)
        self.firsts: tuple[int, ...] = ()
        self.texts: list[str] = []
        for own in texts:
            starts = (k for k in range(len(self.texts)) if self.texts[k : k + len(own)] == [*own])
            start = next(starts, len(self.texts))  # what is asked alike has one number
            self.firsts += (start + 1 if own else 0,)
            self.texts[start : start + len(own)] = own
        self._types = {kind.index: snake_case(kind.name).replace("_", " ") for kind in layout.types}
        limits = [self._limits(field, layout) for field in fields]
        self.low, self.high = (np.array(ends, np.int32) for ends in zip(*limits, strict=True))

    def _limits(self, field: Field, layout: Layout) -> tuple[int, int]:
        if field.name == "wording":
            return 0, len(self.texts)
        if is_about(field.name, "kind"):
            return 0, layout.kinds - 1
        if is_about(field.name, "color"):
            return 0, len(COLORS) - 1
        kind: Any = field.dtype
        return (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)

    def numbers(self, w: Any, agent: int = 1) -> NDArray[np.int32]:
        """(k,) what an agent of a world is asked; of a `World` or a `RowWorld`."""
        found = np.array([getattr(w.mission, name)[agent] for name in self.names], np.int32)
        found[0] += self.firsts[w.member]
        return found

    def find_fault(self, rows: NDArray[Any]) -> str:
        """Return what agents of (n,) rows are asked that nobody is, as a clause; empty if nothing.

        Args:
            rows: of the layout, whose members there are.
        """
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            asked = rows["mission"][name][:, 1 : self._agents]
            most = self._wordings[rows["member"]][:, None] - 1 if name == "wording" else high
            if (wrong := (asked < low) | (asked > most)).any():
                return f"mission.{name} is {asked[wrong][0]}"
        return ""

    def text(self, numbers: NDArray[np.int32]) -> str:
        """What these numbers ask, in words; empty if it is nothing."""
        wording, *values = numbers.tolist()
        if not 0 < wording <= len(self.texts):
            return ""
        words = {
            name_in_text(name): self._word(name, value)
            for name, value in zip(self.names[1:], values, strict=True)
        }
        # a colour that is NONE leaves two blanks
        return " ".join(self.texts[wording - 1].format_map(words).split())

    def _word(self, field: str, value: int) -> str:
        if is_about(field, "kind"):
            return self._types.get(value, "object")
        if is_about(field, "color"):
            return COLORS[value].lower() if NONE < value < len(COLORS) else ""
        return str(value)

    @property
    def characters(self) -> frozenset[str]:
        """All that texts may be made of."""
        return frozenset("".join((*self.texts, *self._types.values(), *COLORS)).lower()).union(
            "".join(self.texts), digits, "-"
        )

    @property
    def longest(self) -> int:
        """At least as many characters as the longest text has."""
        word = max(map(len, (*self._types.values(), *COLORS, str(np.iinfo(np.int32).min))))
        return max(len(text) + text.count("{") * word for text in self.texts)


# ---- mission reader ------------------------------------------------------------------------------

ANY, BY_RULE = "any", "by_rule"
_MOST_TEXTS = 100
_LONGEST_TEXT = 1000

MISSION_KEYS: KeyTable = {
    "text": Key(
        "What people read: a template over the mission, `fetch the {color} {object}`; or a list of "
        "several.",
        any_of(TEXT, list_of(TEXT, minItems=1)),
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
        any_of(OBJECT_FORM, unique_list(OBJECT_FORM)),
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
MISSION_FORM: JsonSchema = {
    **object_schema(MISSION_KEYS),
    "additionalProperties": any_of(TEXT, INTEGER),
}


@dataclass(frozen=True)
class MissionSpec:
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
    problems: ErrorCollector,
    names: NameResolver,
    draws: RandomValues,
    node: YamlNode,
    objects: Sequence[int],
    colors: Sequence[int],
) -> MissionSpec:
    """What stands under `mission`.

    Args:
        draws: what is drawn with each level.
        objects, colors: that may occur.
    """
    return _Reader(problems, names, draws, objects, colors).read(node)


class _Reader:
    def __init__(
        self,
        problems: ErrorCollector,
        names: NameResolver,
        draws: RandomValues,
        objects: Sequence[int],
        colors: Sequence[int],
    ) -> None:
        self._problems, self._names, self._draws = problems, names, draws
        self._objects, self._colors = objects, colors

    def read(self, node: YamlNode) -> MissionSpec:
        if not isinstance(node.value, dict):
            hint = 'expected a mapping such as {text: "fetch the {color} {object}", object: Key}'
            raise FieldError(node, f"found {node.summary}, {hint}")
        component = self._component(node.value["component"]) if "component" in node.value else None
        fields = {name_in_text(f.name): f for f in shown_fields(component or Mission)}
        entries = read_fields(self._problems, node, {**MISSION_KEYS, **fields})
        if "text" not in entries:
            raise FieldError(node, 'the text is missing: {text: "fetch the {color} {object}", …}')
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
            numbers, types = make_table(0, len(values) or 1), make_table(-1, len(among) or 1)
            numbers[: len(values)], types[: len(among)] = [*values.values()], among
            given = {
                "write": writer_of(values),
                "values": numbers,
                "among": types,
                "wordings": wordings,
            }
        return MissionSpec(component or Mission, texts, given)

    def _component(self, node: YamlNode) -> type:
        found: type = self._names.resolve_object(node)
        if not (is_component(found) and issubclass(found, Mission)):
            raise FieldError(
                node,
                f"{node.text} is no mission; make it a @component, and a class of "
                f"components.Mission with more fields",
            )
        if column_name(found) != column_name(Mission):
            raise FieldError(
                node, f"call the class Mission, as rules read w.mission; found {node.text}"
            )
        return found

    def _texts(self, node: YamlNode, known: Sequence[str]) -> tuple[str, ...]:
        listed = items(node) if isinstance(node.value, list) else [node]
        if not 1 <= len(listed) <= _MOST_TEXTS:
            raise FieldError(node, f"found {len(listed)} texts, expected 1 to {_MOST_TEXTS}")
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
                raise FieldError(node, "several texts; say which of them it is: `wording: any`")
        elif said.text == ANY:
            return len(texts)
        elif said.text != BY_RULE:
            values["wording"] = self._draws.read_value(
                said, (NUMBER,), lambda each: integer(each, 0, len(texts) - 1)
            )
            most = max(self._draws.list_possible_values(values["wording"]))
            if most >= len(texts):
                raise FieldError(
                    said, f"{said.text} may be {most}, texts are 0 to {len(texts) - 1}"
                )
        return 0

    def _value(self, field: Field, node: YamlNode) -> int:
        """What a field is, as tables have it."""
        if is_about(field.name, "kind"):
            value = self._draws.read_value(node, (OBJECT,), self._names.resolve_object_type)
            for kind in self._draws.list_possible_values(value):
                self._check_object(node, kind)
            return value
        if is_about(field.name, "color"):
            value = self._draws.read_value(
                node, (COLOR,), lambda each: read_choice(each, COLORS, COLOR)
            )
            for color in self._draws.list_possible_values(value):
                if color not in self._colors:
                    allowed = ", ".join(COLORS[index] for index in self._colors)
                    raise FieldError(
                        node,
                        f"{COLORS[color]} is not in the scenario, which has {allowed}; add it to "
                        f"the colors of its state_space",
                    )
            return value
        dtype: Any = field.dtype
        if dtype.kind == "b":
            return int(boolean(node))
        return self._draws.read_number(node, int(np.iinfo(dtype).max))

    def _check_object(self, node: YamlNode, kind: int) -> None:
        if kind <= FLOOR or kind not in self._objects:
            raise FieldError(
                node,
                f"{self._names.types[kind].name} is nothing that the scenario has; add it to the "
                f"objects of its state_space, or name another",
            )

    def _among(self, entries: Mapping[str, YamlNode]) -> tuple[int, ...]:
        node = entries["among"]
        for key in ("object", "color"):
            if key in entries:
                raise FieldError(entries[key], f"a mission has either `among` or `{key}`")

        def read(each: YamlNode) -> int:
            kind = self._names.resolve_object_type(each)
            self._check_object(each, kind)
            return kind

        if not isinstance(node.value, list):
            return (read(node),)
        if len(items(node)) > MAX_SIDE:
            raise FieldError(node, f"found {len(items(node))} types, expected at most {MAX_SIDE}")
        return read_distinct(self._problems, node, read)


def _template(node: YamlNode, known: Sequence[str]) -> str:
    """A text whose `{…}` are fields."""
    template = text(node)
    if len(template) > _LONGEST_TEXT:
        raise FieldError(
            node, f"found {len(template)} characters, expected at most {_LONGEST_TEXT}"
        )
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise FieldError(node, f"{error}; write {{{{ for a brace that is none of a field") from None
    for _, name, form, conversion in parts:
        if name is None:
            continue
        if name not in known:
            raise FieldError(node, f"a mission has no {{{name}}}{suggestion(name, known)}")
        if form or conversion:
            raise FieldError(node, f"write {{{name}}} alone, without a form of it")
    return template


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
