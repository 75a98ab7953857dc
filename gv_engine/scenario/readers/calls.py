"""Reader of function entries in scenarios: parameters become the arguments of calls.

- name: getting_closer
  object_type: Exit             # converted by its reserved name
  reward_closer: 0.2            # converted by the system's annotation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple, get_args, get_origin

from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import Action, Area
from gv_engine.rules.system import (
    REGISTRIES,
    AgentMask,
    Call,
    ColorIndex,
    ObjectTypeIndex,
    Parameter,
    Phase,
    StateIndex,
    System,
)
from gv_engine.scenario.readers.definitions import AgentSpecs
from gv_engine.scenario.readers.resolver import ADDED_SYSTEMS, DISTANCES, REDUCTIONS, NameResolver
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import YamlNode
from gv_engine.scenario.syntax.json_schema import JsonSchema, Key, KeyTable

NESTED = {
    f"{phase.name.lower()}_function": phase
    for phase in (Phase.RESET, Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING, Phase.VISIBILITY)
}
"""Parameter names that take a function of a phase; with an appended s, a list of functions."""


TYPES = "object_type", "other_type", "ground_type"
"""Parameter names that take an object type."""

TURN_KEYS: KeyTable = {
    "for": Key(
        "Agents or teams in whose turns the rule runs; by default all.",
        schema.any_of(schema.TEXT, schema.list_of(schema.TEXT)),
    )
}
"""Extra keys of functions that run in agents' turns."""
ENDING_KEYS: KeyTable = {
    "says": Key("Message for the player if this rule ends the episode.", schema.TEXT)
}
"""Extra keys of terminating functions."""


class ValueKind(NamedTuple):
    """Kind of parameter value: what is allowed and how to read it.

    Attributes:
        words: description of allowed values.
        example: example of a value in a scenario file.
        form: JSON schema of allowed values.
        make_reader: function that takes the `CallReader` and returns the reader of a value's node;
            None if `form` has the reader.
    """

    words: str
    example: str
    form: JsonSchema
    make_reader: Callable[[CallReader], Callable[[YamlNode], Any]] | None = None

    def read(self, calls: CallReader, node: YamlNode) -> Any:
        """Convert `node` to a parameter value of this kind; `calls` reads names and nested systems
        in it."""
        if self.make_reader:
            return self.make_reader(calls)(node)
        return schema.read_value(self.form, node)


_OTHER = ValueKind("a number, true, false, or a list of them", "1", schema.PLAIN)

_BY_NAME: dict[str, ValueKind] = {
    "shape": ValueKind("[height, width]", "[9, 9]", schema.PAIR),
    "layout": ValueKind("[rows, columns] of rooms", "[2, 2]", schema.PAIR),
    "area": ValueKind("[[ymin, ymax], [xmin, xmax]]", "[[-6, 0], [-3, 3]]", schema.AREA),
    **dict.fromkeys(
        TYPES,
        ValueKind(
            "the name of an object",
            "Door",
            schema.OBJECT,
            lambda calls: calls.names.resolve_object_type,
        ),
    ),
    "color": ValueKind("the name of a colour", "RED", schema.COLOR),
    "colors": ValueKind(
        "a list of colours",
        "[RED, BLUE]",
        schema.unique_list(schema.COLOR),
        lambda calls: partial(fields.read_colors, calls.names.problems),
    ),
    "distance_function": ValueKind(
        "manhattan, euclidean, or a function of (dy, dx)",
        "manhattan",
        schema.any_of(schema.enum_schema(DISTANCES), schema.REFERENCE),
        lambda calls: calls.names.resolve_distance,
    ),
    "reduction": ValueKind(
        "a function of several numbers",
        "builtins:max",
        schema.any_of(schema.enum_schema(REDUCTIONS), schema.REFERENCE),
        lambda calls: calls.names.resolve_reduction,
    ),
}
"""Kinds of values by reserved parameter name."""

OBJECT_KIND = _BY_NAME["object_type"]
_BY_ANNOTATION: dict[Any, ValueKind] = {
    ObjectTypeIndex: OBJECT_KIND,
    ColorIndex: _BY_NAME["color"],
    StateIndex: ValueKind(
        "a state of an object, as Door.OPEN",
        "Door.OPEN",
        schema.TEXT,
        lambda calls: calls.names.resolve_state,
    ),
    AgentMask: ValueKind(
        "names of agents or teams",
        "[agent_1]",
        schema.any_of(schema.TEXT, schema.list_of(schema.TEXT)),
        lambda calls: calls.agents.read_agent_mask,
    ),
}
"""Kinds of values by annotation, for values that scenarios give by name, such as object types."""

_BY_TYPE: dict[Any, ValueKind] = {
    Action: ValueKind(
        "the name of an action",
        "ACTUATE",
        schema.ACTION,
        lambda calls: calls.names.resolve_action,
    ),
    int: ValueKind("a whole number", "2", schema.INTEGER),
    float: ValueKind("a number", "1.0", schema.NUMBER),
    bool: ValueKind("true or false", "true", schema.BOOLEAN),
    str: ValueKind("a text", "text", schema.TEXT),
}
"""Kinds of values by annotated type; a parameter may also be a sequence of such values."""


def _list_of(one: ValueKind) -> ValueKind:
    """Return the kind of values for lists whose items are of the kind `one`."""

    def make_reader(calls: CallReader) -> Callable[[YamlNode], Any]:
        return lambda node: tuple(one.read(calls, item) for item in fields.items(node))

    words = f"a list, each {one.words}"
    return ValueKind(words, f"[{one.example}]", schema.list_of(one.form), make_reader)


def list_built_in(phase: Phase) -> list[System]:
    """Return the built-in systems of `phase` that scenario files may name, in order of their
    declaration."""
    registry = REGISTRIES[phase]
    return [registry[name] for name in registry if registry[name] not in ADDED_SYSTEMS]


def find_value_kind(parameter: Parameter) -> ValueKind:
    """Return the kind of values that a system's parameter takes, inferred from the parameter's name
    or type annotation."""
    name, singular = parameter.name, parameter.name.removesuffix("s")
    if name in _BY_NAME:
        return _BY_NAME[name]
    if name in NESTED:
        phase = NESTED[name]
        return ValueKind(
            f"a {phase.label}",
            "{name: …}",
            schema.function_schema(phase),
            lambda calls: lambda node: calls.read_call(node, phase),
        )
    if singular in NESTED:
        phase = NESTED[singular]
        words = f"a list of {phase.label}s"
        return ValueKind(
            words,
            "[…]",
            schema.list_of(schema.function_schema(phase)),
            lambda calls: lambda node: calls.read_calls(node, phase),
        )
    kind = parameter.type
    is_sequence = get_origin(kind) in (Sequence, list, tuple)
    for annotation, value_kind in (_BY_ANNOTATION | _BY_TYPE).items():
        if kind == annotation:
            return value_kind
        if is_sequence and get_args(kind) in ((annotation,), (annotation, ...)):
            return _list_of(value_kind)
    if kind is Any and not parameter.required:
        kind = Callable if callable(parameter.default) else type(parameter.default)
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if Callable in (kind, get_origin(kind)):
        return ValueKind(
            "a function",
            "./rules.py:name",
            schema.any_of(schema.enum_schema([*DISTANCES, *REDUCTIONS]), schema.REFERENCE),
            lambda calls: calls.names.resolve_parameter,
        )
    return _BY_TYPE.get(kind, _OTHER)


_IGNORED_PARAMETERS = {("teleport", "random_agent")}
"""(function, parameter) that files of GridVerse have and no function reads."""


class CallReader:
    """Reader of the function lists of a scenario file, such as `reward_functions`; returns `Call`s
    and collects errors and warnings.

    Attributes:
        area: observation area, None before it is read.
        agents: specification of all agents.
        names: names that the scenario may use.
        warnings: (node, message) of each ignored parameter.
    """

    def __init__(self, names: NameResolver) -> None:
        self.area: Area | None = None
        self.agents: AgentSpecs = AgentSpecs()
        self.warnings: list[tuple[YamlNode, str]] = []
        self.names: NameResolver = names
        self._problems = names.problems

    def read_calls(
        self, node: YamlNode, phase: Phase, processors: bool = False
    ) -> tuple[Call, ...]:
        """Return the calls of systems of `phase` that the list in `node` describes, in order,
        without entries that have errors; with `processors`, esper.Processors are allowed."""
        return self._problems.read_each(
            fields.items(node), lambda item: self.read_call(item, phase, processors=processors)
        )

    def read_call(
        self, node: YamlNode, phase: Phase, extra_keys: Iterable[str] = (), processors: bool = False
    ) -> Call:
        """Return the call (a system of `phase` with its arguments) that `node` describes: the
        system's name, or a mapping `{name: …, parameter: …}`.

        Errors in parameters are collected; the call then lacks these arguments.

        Args:
            extra_keys: keys that are allowed besides the parameters.
            processors: True if the entry may name an esper.Processor.
        """
        if isinstance(node.value, list):
            raise node.error(f"found {node.summary}, expected one function: {{name: …}}")
        entries = fields.mapping(node) if isinstance(node.value, dict) else {"name": node}
        if "name" not in entries:
            raise node.error(f"a {phase.label} needs its name: {{name: …}}")
        system = self.names.resolve_system(entries["name"], phase, processors=processors)
        message = ""
        if phase is Phase.TERMINATING and "says" in entries:
            extra_keys = (*extra_keys, *ENDING_KEYS)
            with self._problems.collect():
                message = fields.text(entries["says"])
        mask: tuple[bool, ...] = ()
        if phase in (Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING) and "for" in entries:
            extra_keys = (*extra_keys, *TURN_KEYS)
            with self._problems.collect():
                mask = self.agents.read_agent_mask(entries["for"])
        call = Call(system, {}, message, mask)
        with self._problems.collect():
            call.arguments.update(self._make_tables(node, system))
        for parameter in system.parameters:
            if parameter.name in system.tables:
                continue
            if parameter.name in entries:
                with self._problems.collect():
                    value = find_value_kind(parameter).read(self, entries[parameter.name])
                    call.arguments[parameter.name] = value
            elif not parameter.required:
                call.arguments[parameter.name] = parameter.default
            else:
                example = f"{{name: {system.name}, {parameter.name}: …}}"
                fault = f"{system.name} needs {parameter.name!r}, it is missing: {example}"
                if parameter.name == "action":  # conditions have it
                    fault += "; for the action of the step, let the rule read w.action instead"
                self._problems.add(node, fault)
        allowed = [p.name for p in system.parameters if p.name not in system.tables]
        allowed += extra_keys
        for key, value in entries.items():
            if key not in ("name", *allowed):
                self._report_unknown(system, key, value, allowed)
        if is_complete(call):
            self._run_check(call, node, entries)
            runs_once = phase is Phase.TRANSITION and not call.is_per_agent
            if call.agent_mask and (runs_once or system.is_processor):
                fault = f"{system.name} runs once a step, not for an agent; leave out `for`"
                self._problems.add(entries["for"], fault)
        return call

    def _make_tables(self, node: YamlNode, system: System) -> dict[str, Any]:
        with node.report(ValueError):
            return system.make_tables(self.area) if self.area is not None else {}

    def _report_unknown(self, system: System, key: str, node: YamlNode, allowed: list[str]) -> None:
        """Report that the parameter `key` at `node` is none of `allowed`; only warn if files of
        GridVerse have it."""
        message = f"{system.name} takes no {key!r}{describe_allowed(key, allowed)}"
        if (system.name, key) in _IGNORED_PARAMETERS:
            self.warnings.append((node, f"{message}; ignored"))
        else:
            self._problems.add(node, message)

    def _run_check(self, call: Call, node: YamlNode, entries: dict[str, YamlNode]) -> None:
        """Run the argument check of the call's system, and report its error message: at the
        argument's node in `entries` if only one is checked, else at `node`."""
        try:
            problem = call.run_check(self.area, len(self.agents.bodies), self.names.types)
        except Exception as error:  # whatever an author's check may raise
            problem = f"its check fails: {type(error).__name__}: {error}"
        if problem:
            places = [entries[name] for name in call.system.check_parameters if name in entries]
            place = places[0] if len(places) == 1 else node
            self._problems.add(place, f"{call.name}: {problem}")


def is_complete(call: Call) -> bool:
    """Return True if the call has a value for every parameter."""
    return len(call.arguments) == len(call.system.parameters)
