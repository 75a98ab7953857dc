"""Function entries of a scenario, read as calls: parameters become arguments.

- name: getting_closer
  object_type: Exit             # converted by its reserved name
  reward_closer: 0.2            # converted by the system's annotation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from gv_engine.rules.call import Call
from gv_engine.rules.geometry import Action, Area
from gv_engine.rules.system import (
    REGISTRIES,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Parameter,
    Phase,
    System,
    marked,
)
from gv_engine.scenario.agents import AgentSpecs
from gv_engine.scenario.fields import (
    ErrorCollector,
    FieldError,
    YamlNode,
    boolean,
    items,
    mapping,
    number,
    read_area,
    read_color,
    read_colors,
    read_int32,
    read_pair,
    read_plain,
    suggestion,
    text,
)
from gv_engine.scenario.json_schema import (
    ACTION,
    AREA,
    BOOLEAN,
    COLOR,
    INTEGER,
    NUMBER,
    OBJECT,
    PAIR,
    PLAIN,
    REFERENCE,
    TEXT,
    JsonSchema,
    Key,
    KeyTable,
    any_of,
    enum_schema,
    function_schema,
    list_of,
    unique_list,
)
from gv_engine.scenario.resolver import DISTANCES, REDUCTIONS, NameResolver
from systems.reset import from_map

NESTED = {
    f"{phase.name.lower()}_function": phase
    for phase in (RESET, TRANSITION, REWARD, TERMINATING, VISIBILITY)
}
"""Names of parameters that take a function, and what kind; with an s, a list of them."""


TYPES = "object_type", "other_type", "ground_type"
"""Names of parameters that take a type of objects."""

TURN_KEYS: KeyTable = {
    "for": Key(
        "The agent or the team in whose turns it runs, or several; all, if left out.",
        any_of(TEXT, list_of(TEXT)),
    )
}
"""What functions of a step take beside their parameters."""
ENDING_KEYS: KeyTable = {
    "says": Key("What the player is told, if this is why the episode is over.", TEXT)
}
"""What terminating functions take beside their parameters."""


class Kind(NamedTuple):
    """A kind of parameter.

    Attributes:
        words: what may be given, for people.
        example: of it, as scenario files write it.
        form: what may be given, for editors.
        reader: of the nodes of such parameters.
    """

    words: str
    example: str
    form: JsonSchema
    reader: Callable[[Calls], Callable[[YamlNode], Any]]


_PLAIN = Kind("a number, true, false, or a list of them", "1", PLAIN, lambda calls: read_plain)

_BY_NAME: dict[str, Kind] = {
    "shape": Kind("[height, width]", "[9, 9]", PAIR, lambda calls: read_pair),
    "layout": Kind("[rows, columns] of rooms", "[2, 2]", PAIR, lambda calls: read_pair),
    "area": Kind(
        "[[ymin, ymax], [xmin, xmax]]", "[[-6, 0], [-3, 3]]", AREA, lambda calls: read_area
    ),
    **dict.fromkeys(
        TYPES,
        Kind(
            "the name of an object", "Door", OBJECT, lambda calls: calls.names.resolve_object_type
        ),
    ),
    "color": Kind("the name of a colour", "RED", COLOR, lambda calls: read_color),
    "colors": Kind(
        "a list of colours", "[RED, BLUE]", unique_list(COLOR), lambda calls: calls.colors
    ),
    "distance_function": Kind(
        "manhattan, euclidean, or a function of (dy, dx)",
        "manhattan",
        any_of(enum_schema(DISTANCES), REFERENCE),
        lambda calls: calls.names.resolve_distance,
    ),
    "reduction": Kind(
        "a function of several numbers",
        "builtins:max",
        any_of(enum_schema(REDUCTIONS), REFERENCE),
        lambda calls: calls.names.resolve_reduction,
    ),
}
"""Kinds of parameters that are understood by their names."""

_BY_TYPE: dict[Any, Kind] = {
    Action: Kind(
        "the name of an action", "ACTUATE", ACTION, lambda calls: calls.names.resolve_action
    ),
    int: Kind("a whole number", "2", INTEGER, lambda calls: read_int32),
    float: Kind("a number", "1.0", NUMBER, lambda calls: number),
    bool: Kind("true or false", "true", BOOLEAN, lambda calls: boolean),
    str: Kind("a text", "text", TEXT, lambda calls: text),
}


def built_in(phase: Phase) -> list[System]:
    """The systems of a phase that scenarios may name, in the order of their declaration."""
    registry = REGISTRIES[phase]
    drawn = marked(from_map).system
    return [registry[name] for name in registry if registry[name] is not drawn]


def kind_of(parameter: Parameter) -> Kind:
    """What a scenario may give a parameter."""
    name, singular = parameter.name, parameter.name.removesuffix("s")
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in NESTED:
        phase = NESTED[name]
        return Kind(
            f"a {phase.label}",
            "{name: …}",
            function_schema(phase),
            lambda calls: lambda node: calls.call(node, phase),
        )
    if singular in NESTED:
        phase = NESTED[singular]
        words = f"a list of {phase.label}s"
        return Kind(
            words,
            "[…]",
            list_of(function_schema(phase)),
            lambda calls: lambda node: calls.calls(node, phase),
        )
    kind = parameter.type
    if kind is Any and not parameter.required:
        kind = Callable if callable(parameter.default) else type(parameter.default)
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if Callable in (kind, get_origin(kind)):
        return Kind(
            "a function",
            "./rules.py:name",
            any_of(enum_schema([*DISTANCES, *REDUCTIONS]), REFERENCE),
            lambda calls: calls.names.resolve_parameter,
        )
    return _BY_TYPE.get(kind, _PLAIN)


class Calls:
    """Reads function entries.

    Attributes:
        area: of the observation, once it is read; crew: all agents.
        names: that the scenario may use.
        warnings: what was ignored, and where.
    """

    def __init__(self, problems: ErrorCollector, names: NameResolver) -> None:
        self.area: Area | None = None
        self.crew = AgentSpecs()
        self.warnings: list[tuple[YamlNode, str]] = []
        self.names: NameResolver = names
        self._problems = problems

    def colors(self, node: YamlNode) -> tuple[int, ...]:
        """Colours in order of index."""
        return read_colors(self._problems, node)

    def calls(self, node: YamlNode, phase: Phase, *, processors: bool = False) -> tuple[Call, ...]:
        """The calls of a list, in its order."""
        found = []
        for item in items(node):
            with self._problems.collect():
                found.append(self.call(item, phase, processors=processors))
        return tuple(found)

    def call(
        self, node: YamlNode, phase: Phase, *, besides: Iterable[str] = (), processors: bool = False
    ) -> Call:
        """The call of an entry `{name: …, parameter: …}`, or of a name alone.

        ErrorCollector with parameters are collected, and the call lacks these arguments.

        Args:
            besides: keys that are allowed next to the parameters.
            processors: whether an esper.Processor may be named.
        """
        if isinstance(node.value, list):
            raise FieldError(node, f"found {node.summary}, expected one function: {{name: …}}")
        entries = mapping(node) if isinstance(node.value, dict) else {"name": node}
        if "name" not in entries:
            raise FieldError(node, f"a {phase.label} needs its name: {{name: …}}")
        system = self.names.resolve_system(entries["name"], phase, processors=processors)
        says = ""
        if phase is TERMINATING and "says" in entries:
            besides = (*besides, *ENDING_KEYS)
            with self._problems.collect():
                says = text(entries["says"])
        whose: tuple[bool, ...] = ()
        if phase in (TRANSITION, REWARD, TERMINATING) and "for" in entries:
            besides = (*besides, *TURN_KEYS)
            with self._problems.collect():
                whose = self.crew.turns_of(entries["for"])
        call = Call(system, {}, says, whose)
        with self._problems.collect():
            call.arguments.update(self._made(node, system))
        for parameter in system.parameters:
            if parameter.name in system.tables:
                continue
            if parameter.name in entries:
                with self._problems.collect():
                    read = kind_of(parameter).reader(self)
                    call.arguments[parameter.name] = read(entries[parameter.name])
            elif not parameter.required:
                call.arguments[parameter.name] = parameter.default
            else:
                fault = f"{system.name} needs {parameter.name!r}, it is missing"
                if parameter.name == "action":  # as conditions have it
                    fault += "; if that of the step is meant, let the rule read w.action instead"
                self._problems.add(node, fault)
        known = [p.name for p in system.parameters if p.name not in system.tables]
        known += besides
        for key, value in entries.items():
            if key not in ("name", *known):
                self._unknown(system, key, value, known)
        if is_complete(call):
            self._check(call, node, entries)
            by_itself = phase is TRANSITION and not call.is_an_agents
            if call.whose and (by_itself or system.is_processor):
                fault = f"{system.name} is nobody's, it runs once a step; leave out `for`"
                self._problems.add(entries["for"], fault)
        return call

    def _made(self, node: YamlNode, system: System) -> dict[str, Any]:
        """The values that a system has worked out ahead for an area, if there is one."""
        try:
            return system.made_for(self.area) if self.area is not None else {}
        except ValueError as error:
            raise FieldError(node, str(error)) from None

    def _unknown(self, system: System, key: str, node: YamlNode, known: list[str]) -> None:
        message = f"{system.name} takes no {key!r}"
        built_in = system in (REGISTRIES[system.phase][name] for name in REGISTRIES[system.phase])
        if built_in and not get_close_matches(key, known, 1):
            # scenarios of the reference give `teleport` a parameter that means nothing
            self.warnings.append((node, f"{message}; ignored"))
        else:
            self._problems.add(node, message + suggestion(key, known))

    def _check(self, call: Call, node: YamlNode, entries: dict[str, YamlNode]) -> None:
        try:
            problem = call.fault(self.area, len(self.crew.bodies), self.names.types)
        except Exception as error:  # whatever an author's check may raise
            problem = f"its check fails: {type(error).__name__}: {error}"
        if problem:
            places = [entries[name] for name in call.system.checked if name in entries]
            place = places[0] if len(places) == 1 else node
            self._problems.add(place, f"{call.name}: {problem}")


def is_complete(call: Call) -> bool:
    """Whether all arguments could be read."""
    return len(call.arguments) == len(call.system.parameters)
