"""The rules of a level for its players, from the docstrings of the systems that run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import components.objects  # noqa: F401  # declares the built-in types
from components.appearance import FLOOR
from components.mission import Mission
from components.objects import DOOR, built_in_components, built_in_types
from gv_engine.rules.call import Call
from gv_engine.rules.component import column_name, fields_of, snake_case
from gv_engine.rules.geometry import Action
from gv_engine.rules.objects import COLORS, OBJECT_TYPES, ObjectTypes
from gv_engine.rules.system import (
    RESET,
    REWARD,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Parameter,
    System,
    source_place,
)
from gv_engine.rules.world import View, World
from gv_engine.scenario.calls import TYPES, built_in, kind_of
from gv_engine.scenario.document import FILE_KEYS
from gv_engine.scenario.json_schema import Key, KeyTable
from gv_engine.scenario.map import LEGEND
from gv_engine.scenario.missions import asks_for_mission
from gv_engine.scenario.plugin import DOMAINS, Schedules
from gv_engine.scenario.resources import HOME
from gv_engine.scenario.schema import load_formats
from systems import building, queries

# ---- handbook ------------------------------------------------------------------------------------

_KEYS = {
    RESET: "reset_function: {}",
    TRANSITION: "transition_functions:\n  - {}",
    REWARD: "reward_functions:\n  - {}",
    TERMINATING: "terminating_function: {}",
    VISIBILITY: "observation_function: {}",
}
"""Where scenarios name the systems of each phase."""


class Topic(NamedTuple):
    """Something that authors can name.

    Attributes:
        name: of it.
        says: what it is, in a sentence.
        told: all that its source says.
        parts: (name, what it may be, default or "") of its parameters, fields or states.
        place: file and line of its source, from the folder of the project on; "" for none.
        example: how it is named.
    """

    name: str
    summary: str
    docstring: str
    parts: tuple[tuple[str, str, str], ...] = ()
    place: str = ""
    example: str = ""


Chapter = tuple[str, list[Topic]]
"""A title, and what stands under it."""


def list_chapters() -> list[Chapter]:
    """All that comes with the engine."""
    found = [("Scenario files: all", _list_key_topics(FILE_KEYS))]
    for name, each in load_formats().items():
        found.append((f"Scenario files: {DOMAINS[name].title}", _list_key_topics(each.keys)))
        if each.mixture_keys:
            found.append(("Scenario files: mixtures", _list_key_topics(each.mixture_keys)))
    found += [
        (f"{phase.name}: {phase.label}s", [_system_topic(system) for system in built_in(phase)])
        for phase in _KEYS
    ]
    found.append(
        ("Objects", [_object_topic(kind.name) for kind in built_in_types() if kind.in_grid])
    )
    found.append(
        ("Components", [_component_topic(cls) for cls in (*built_in_components(), Mission)])
    )
    found.append(("Map characters", list(_iter_character_topics())))
    found.append(("The world: what rules call on `w`", list(_iter_method_topics(World))))
    found.append(("The view: what a visibility fills in", list(_iter_view_topics())))
    found.append(("Questions, in `systems.queries`", list(_iter_function_topics(queries))))
    found.append(("Building, in `systems.building`", list(_iter_function_topics(building))))
    return found


def _list_key_topics(keys: KeyTable) -> list[Topic]:
    return [
        Topic(
            name,
            _describe_key(key),
            _describe_key(key),
            tuple((own, _describe_key(key.nested[own]), "") for own in key.nested),
        )
        for name, key in keys.items()
    ]


def _describe_key(key: Key) -> str:
    return f"{key.description} Needed." if key.required else key.description


def _system_topic(system: System) -> Topic:
    given = [p for p in system.parameters if p.name not in system.tables]
    parts = tuple((p.name, kind_of(p).words, format_default(p)) for p in given)
    values = [f"{p.name}: {format_default(p) or kind_of(p).example}" for p in given]
    if system.phase is VISIBILITY:
        values.insert(0, "area: [[-6, 0], [-3, 3]]")
    named = "{" + ", ".join([f"name: {system.name}", *values]) + "}" if values else system.name
    example = _KEYS[system.phase].format(named)
    if asks_for_mission(system):
        example = f'mission: {{text: "fetch the {{object}}", object: Key}}\n{example}'
    doors = {p.name: DOOR for p in given if p.required and p.name in TYPES}
    if (
        system.check
        and doors.keys() >= {*system.checked} - {"types"}
        and Call(system, doors).fault()
    ):
        example = _BELT + example.replace("object_type: Door", "object_type: Belt")
    return _make_topic(system.name, system.function, parts, example)


_BELT = "objects:\n  Belt: {layer: ground, states: [FORWARD, BACKWARD, LEFT, RIGHT]}\n"
"""For examples of rules that want other types than doors."""


def format_default(parameter: Parameter) -> str:
    """The default of a parameter as scenario files write it; "" if there is none."""
    if parameter.required:
        return ""
    return format_value(parameter.name, parameter.default)


def format_value(name: str, value: Any, types: ObjectTypes = OBJECT_TYPES) -> str:
    """The value of a parameter as scenario files write it; `types` are those of the scenario."""
    if name in TYPES:
        return types[value].name if value in types else str(value)
    if name == "color":
        return str(COLORS[value])
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Action):
        return value.name
    if isinstance(value, tuple | list):
        parts = (format_value(name.removesuffix("s"), item, types) for item in value)
        return f"[{', '.join(parts)}]"
    return str(getattr(value, "__name__", value))


def _object_topic(name: str) -> Topic:
    kind = OBJECT_TYPES[name]
    made_of = ", ".join(cls.__name__ for cls, _ in kind.components) or "nothing"
    colored = ", coloured" if kind.colored else ""
    parts = tuple((state, "state", "") for state in kind.states)
    drawn = [c for c, symbol in LEGEND.items() if symbol.kind == kind.index and name != "Floor"]
    example = f"legend:\n  x: {{object: {name}{f', state: {kind.states[0]}' if parts else ''}}}"
    says = f"Made of {made_of}{colored}."
    if drawn:
        says += f" On maps: {' '.join(drawn)}"
    return Topic(name, says, says, parts, "", example)


def _component_topic(cls: type) -> Topic:
    parts = tuple(
        (field.name, str(describe_dtype(field.dtype)), str(field.default))
        for field in fields_of(cls)
    )
    column = f"w.{column_name(cls)}.{parts[0][0] if parts else 'has'}[e]"
    return _make_topic(cls.__name__, cls, parts, column)


def describe_dtype(dtype: Any) -> str:
    """What a column holds."""
    return {"entity": "an entity", "coordinate": "a row or column, or -1"}.get(
        str(dtype), str(dtype)
    )


def _iter_character_topics() -> Iterator[Topic]:
    for character, symbol in LEGEND.items():
        kind = OBJECT_TYPES[symbol.kind]
        words = [kind.name]
        if kind.states:
            words.append(kind.states[symbol.state])
        if symbol.color:
            words.append(COLORS[symbol.color])
        if symbol.facing is not None:
            words = ["the agent, looking that way"]
        says = ", ".join(words)
        yield Topic(character if character != " " else "blank", says, says)


_ATTRIBUTE = re.compile(r"^    ([\w, ]+): (.+)$", re.MULTILINE)


def _iter_view_topics() -> Iterator[Topic]:
    described = _ATTRIBUTE.findall(inspect.getdoc(View) or "")
    parts = [(names, says, "") for names, says in described]
    yield _make_topic("view", View, parts, "view.seen[i, j] = 1")
    yield from _iter_method_topics(View, "view")


def _iter_method_topics(cls: type, called: str = "w") -> Iterator[Topic]:
    for name, thing in vars(cls).items():
        if name.startswith("_") or not (callable(thing) or isinstance(thing, property)):
            continue
        function = thing.fget if isinstance(thing, property) else thing
        written = name if isinstance(thing, property) else _format_call(name, thing, 1)
        yield _make_topic(f"{called}.{name}", function, (), f"{called}.{written}")


def _iter_function_topics(module: Any) -> Iterator[Topic]:
    for name, thing in vars(module).items():
        if inspect.isfunction(thing) and thing.__module__ == module.__name__ and name[0] != "_":
            yield _make_topic(name, thing, (), _format_call(name, thing, 0))


def _format_call(name: str, function: Callable[..., Any], start: int) -> str:
    return f"{name}({', '.join(list(inspect.signature(function).parameters)[start:])})"


def _make_topic(
    name: str, source: Any, parts: Iterable[tuple[str, str, str]], example: str
) -> Topic:
    told = inspect.getdoc(source) or ""
    says = " ".join(told.partition("\n\n")[0].split())
    file, line = (
        (inspect.getsourcefile(source) or "?", inspect.getsourcelines(source)[1])
        if isinstance(source, type)
        else source_place(source)
    )
    path = Path(file)
    place = path.relative_to(HOME).as_posix() if path.is_relative_to(HOME) else path.name
    return Topic(name, says, told, tuple(parts), f"{place}:{line}", example)


# ---- sentences -----------------------------------------------------------------------------------

Section = tuple[str, list[tuple[str, str]]]
"""A heading, and under it names of rules and their sentences."""

_HEADINGS = {
    TRANSITION: "What happens",
    REWARD: "What pays",
    TERMINATING: "What ends it",
    SUCCESS: "What wins",
}

_TYPE_PHRASE = (
    r"(?i)(?P<before>\b(?:an?|the|one|every|each) )?(?P<objects>objects?|those|one) of {} type"
)
_TYPE_PARAMETERS = {
    name: rf"{_TYPE_PHRASE.format(which)}\b(, such as \w+,?)?"
    for name, which in {
        "object_type": "a",
        "other_type": "another",
        "ground_type": "a third",
    }.items()
}
"""Parameters of rules that are types of objects, and how docstrings speak of these."""
_MASS_NOUNS = ("ice", "lava", "water", "slime", "sand", "mud", "grass", "snow", "fire", "floor")
"""What nobody counts."""


def list_rule_sections(
    schedules: Schedules, types: ObjectTypes = OBJECT_TYPES, lacks: Collection[int] = ()
) -> list[Section]:
    """What happens in a level, what pays, what ends it and what wins, in the order of its rules;
    what several members of a mixture have in common, once.

    Args:
        schedules: the rules, by phase.
        types: those of the level.
        lacks: of these the numbers that it has none of; rules about them are left out.
    """
    found = []
    for phase, heading in _HEADINGS.items():
        calls = [call for _, schedule in schedules for call in schedule.get(phase, ())]
        parts = [part for call in calls for part in _iter_alternatives(call)]
        said = [describe_rule(part, types) for part in parts if not _is_about_types(part, lacks)]
        if said:
            found.append((heading, list(dict.fromkeys(said))))
    return found


def _iter_alternatives(call: Call) -> Iterator[Call]:
    """The rules of one that is met by any of several; else the rule itself."""
    inner = [part for path in call.paths() if len(path) == 2 for part in path[1:]]
    yield from inner if call.name == "reduce_any" and inner else (call,)


def _is_about_types(call: Call, kinds: Collection[int]) -> bool:
    """Whether a rule is about things of one of these types alone."""
    return any(
        call.arguments.get(name, -1) in kinds for name in _TYPE_PARAMETERS if name != "ground_type"
    )


def describe_rule(call: Call, types: ObjectTypes) -> tuple[str, str]:
    """The name of a rule for people, and what it says of the things that the level gives it; with
    the other values, and the rules that it is made of."""
    says = first_sentence(call.system.objects or call.system.function)
    told = dict(call.arguments)
    for name, words in _TYPE_PARAMETERS.items():
        kind = told.get(name)
        if isinstance(kind, int) and FLOOR < kind < len(types) and re.search(words, says):
            says = _name_type(says, words, snake_case(types[kind].name).replace("_", " "))
            del told[name]
    inner = [part for part in call.parts() if part is not call]
    if inner:
        says = f"{says} Made of: {'; '.join(_strip_period(first_sentence(p.system.function)) for p in inner)}."
    values = [
        f"{name.replace('_', ' ')} {format_value(name, value, types).replace('_', ' ')}"
        for name, value in told.items()
        if isinstance(value, int | float)
    ]
    return call.name.replace("_", " "), f"{says} ({', '.join(values)})" if values else says


def _name_type(says: str, words: str, thing: str) -> str:
    """A sentence about objects of a type, with the type's name in their place."""
    vowel = thing[0] in "aeiou" and not thing.startswith("one")
    one = thing if thing in _MASS_NOUNS else f"{'an' if vowel else 'a'} {thing}"
    several = thing if thing in _MASS_NOUNS else f"{thing}es" if thing[-1] in "sxh" else f"{thing}s"

    def named(found: re.Match[str]) -> str:
        before, objects = found["before"] or "", found["objects"]
        if objects.lower() in ("objects", "those"):
            named = before + several
        elif before.lower() in ("an ", ""):
            named = one
        else:
            named = before + thing
        return named[0].upper() + named[1:] if found[0][0].isupper() else named

    return re.sub(words, named, says)


def first_sentence(function: Any) -> str:
    """What a function says of itself first."""
    said = inspect.getdoc(function) or ""
    return " ".join(said.partition("\n\n")[0].split())


def _strip_period(said: str) -> str:
    return said.rstrip(".")
