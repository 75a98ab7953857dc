"""Reader of the function lists in scenario files: each entry becomes a call, a system (rule
function) with its arguments.

- name: getting_closer
  object_type: Exit             # converted by its reserved name
  reward_closer: 0.2            # converted by the system's annotation
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple, get_args, get_origin

import numpy as np

from gv_engine.rules.component import column_name, fields_of
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import Action, Area
from gv_engine.rules.objects import is_engine_module
from gv_engine.rules.system import (
    REGISTRIES,
    AgentMask,
    AgentNumber,
    Call,
    ColorIndex,
    FilePath,
    ObjectNumber,
    ObjectTypeIndex,
    PackedNumbers,
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
from gv_engine.scenario.syntax.packed_numbers import read_packed_numbers

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
PAYING_KEYS: KeyTable = {
    "pays": Key(
        "no: the rule only measures. Its value is in `reward_terms` and in the table of `rollout`, "
        "but no part of the reward.",
        schema.BOOLEAN,
    )
}
"""Extra keys of the reward functions of a grid."""


class ValueKind(NamedTuple):
    """Kind of parameter value: what is allowed and how to read it.

    Attributes:
        description: the allowed values in words.
        example: example of a value in a scenario file.
        json_schema: JSON schema of allowed values.
        read_node: function that reads a value from its node with the help of a `CallReader`; None
            if `json_schema` has the reader.
    """

    description: str
    example: str
    json_schema: JsonSchema
    read_node: Callable[[CallReader, YamlNode], Any] | None = None

    def read(self, calls: CallReader, node: YamlNode) -> Any:
        """Convert `node` to a parameter value of this kind; `calls` reads names and nested systems
        in it."""
        if self.read_node:
            return self.read_node(calls, node)
        return schema.read_value(self.json_schema, node)


_OTHER = ValueKind("a number, true, false, or a list of them", "1", schema.PLAIN)
_FUNCTIONS = {**DISTANCES, **REDUCTIONS}
_FUNCTION = ValueKind(
    "a function",
    "./rules.py:name",
    schema.any_of(schema.enum_schema(_FUNCTIONS), schema.REFERENCE),
    lambda calls, node: calls.names.resolve_built_in_or_own(node, _FUNCTIONS, "function"),
)

OBJECT_KIND = ValueKind(
    "the name of an object",
    "Door",
    schema.OBJECT,
    lambda calls, node: calls.names.resolve_object_type(node),
)
_BY_NAME: dict[str, ValueKind] = {
    "shape": ValueKind("[height, width]", "[9, 9]", schema.PAIR),
    "layout": ValueKind("[rows, columns] of rooms", "[2, 2]", schema.PAIR),
    "area": ValueKind("[[ymin, ymax], [xmin, xmax]]", "[[-6, 0], [-3, 3]]", schema.AREA),
    **dict.fromkeys(TYPES, OBJECT_KIND),
    "color": ValueKind("the name of a colour", "RED", schema.COLOR),
    "colors": ValueKind(
        "a list of colours",
        "[RED, BLUE]",
        schema.unique_list(schema.COLOR),
        lambda calls, node: fields.read_colors(calls.names.problems, node),
    ),
    "distance_function": ValueKind(
        "manhattan, euclidean, or a function of (dy, dx)",
        "manhattan",
        schema.any_of(schema.enum_schema(DISTANCES), schema.REFERENCE),
        lambda calls, node: calls.names.resolve_built_in_or_own(
            node, DISTANCES, "distance function", 0, 0
        ),
    ),
    "reduction": ValueKind(
        "a function of several numbers",
        "builtins:max",
        schema.any_of(schema.enum_schema(REDUCTIONS), schema.REFERENCE),
        lambda calls, node: calls.names.resolve_built_in_or_own(node, REDUCTIONS, "reduction", ()),
    ),
}
"""Kinds of values by reserved parameter name."""


def list_whole_numbers(cls: type) -> list[str]:
    """Return the names of the fields of a component that hold one integer each."""
    return [
        field.name
        for field in fields_of(cls)
        if isinstance(field.dtype, np.dtype) and field.dtype.kind == "i" and not field.items
    ]


def _read_number(calls: CallReader, node: YamlNode, of_agent: bool) -> str:
    """Return the name of a number, such as "health.points", for `Health.points` in a YAML node.
    Raise FieldError unless it is an integer of a component of the scenario, which the agents have
    if `of_agent`."""
    owner, _, name = fields.text(node).rpartition(".")
    if not owner or not name:
        raise node.error(f"found {node.summary}, expected a component and its field: Health.points")
    cls = calls.names.resolve_component(replace(node, value=owner, text=owner))
    if is_engine_module(cls.__module__):
        raise node.error(f"{owner} is built in; expected a component that the scenario declares")
    names = list_whole_numbers(cls)
    if name not in names:
        raise node.error(f"{owner} has no whole number {name!r}{describe_allowed(name, names)}")
    if of_agent and not any(cls in dict(body) for body in calls.agents.bodies):
        raise node.error(f"agents have no {owner}; write agents: {{components: [{owner}]}}")
    return f"{column_name(cls)}.{name}"


_BY_ANNOTATION: dict[Any, ValueKind] = {
    AgentNumber: ValueKind(
        "a number of the agent",
        "Health.points",
        schema.TEXT,
        partial(_read_number, of_agent=True),
    ),
    ObjectNumber: ValueKind(
        "a number of a component",
        "Health.points",
        schema.TEXT,
        partial(_read_number, of_agent=False),
    ),
    ObjectTypeIndex: OBJECT_KIND,
    ColorIndex: _BY_NAME["color"],
    StateIndex: ValueKind(
        "a state of an object, as Door.OPEN",
        "Door.OPEN",
        schema.TEXT,
        lambda calls, node: calls.names.resolve_state(node),
    ),
    AgentMask: ValueKind(
        "names of agents or teams",
        "[agent_1]",
        schema.any_of(schema.TEXT, schema.list_of(schema.TEXT)),
        lambda calls, node: calls.agents.read_agent_mask(node),
    ),
    FilePath: ValueKind(
        "the path of a file",
        "data.csv",
        schema.TEXT,
        lambda calls, node: calls.names.resolve_data_file(node),
    ),
    PackedNumbers: ValueKind(
        "a text of packed numbers",
        "eNpjZGBgYAJiZiAGAAA0AAc=",
        schema.TEXT,
        lambda calls, node: read_packed_numbers(node),
    ),
}
"""Kinds of values by annotation, for values that scenarios give by name, such as object types."""

NUMBER_KINDS = _BY_ANNOTATION[AgentNumber], _BY_ANNOTATION[ObjectNumber]

_BY_TYPE: dict[Any, ValueKind] = {
    Action: ValueKind(
        "the name of an action",
        "ACTUATE",
        schema.ACTION,
        lambda calls, node: calls.names.resolve_action(node),
    ),
    int: ValueKind("a whole number", "2", schema.INTEGER),
    float: ValueKind("a number", "1.0", schema.NUMBER),
    bool: ValueKind("true or false", "true", schema.BOOLEAN),
    str: ValueKind("a text", "text", schema.TEXT),
}
"""Kinds of values by annotated type; a parameter may also be a sequence of such values."""


def _list_of(item_kind: ValueKind) -> ValueKind:
    """Return the value kind for lists, given the kind of their items."""
    return ValueKind(
        f"a list, each {item_kind.description}",
        f"[{item_kind.example}]",
        schema.list_of(item_kind.json_schema),
        lambda calls, node: tuple(item_kind.read(calls, item) for item in fields.items(node)),
    )


def list_built_in(phase: Phase) -> list[System]:
    """Return the built-in systems of `phase` that scenario files may name, in order of their
    declaration."""
    registry = REGISTRIES[phase]
    return [registry[name] for name in registry if registry[name] not in ADDED_SYSTEMS]


def find_value_kind(parameter: Parameter) -> ValueKind:
    """Return which kind of YAML value a system's parameter takes. It is inferred from the
    parameter's name or type annotation."""
    if parameter.name in _BY_NAME:
        return _BY_NAME[parameter.name]
    if parameter.name in NESTED:
        phase = NESTED[parameter.name]
        return ValueKind(
            f"a {phase.label}",
            "{name: …}",
            schema.function_schema(phase),
            lambda calls, node: calls.read_call(node, phase),
        )
    singular = parameter.name.removesuffix("s")
    if singular in NESTED:
        phase = NESTED[singular]
        return ValueKind(
            f"a list of {phase.label}s",
            "[…]",
            schema.list_of(schema.function_schema(phase)),
            lambda calls, node: calls.read_calls(node, phase),
        )
    annotation = parameter.type
    is_sequence = get_origin(annotation) in (Sequence, list, tuple)
    for known, value_kind in (_BY_ANNOTATION | _BY_TYPE).items():
        if annotation == known:
            return value_kind
        if is_sequence and get_args(annotation) in ((known,), (known, ...)):
            return _list_of(value_kind)
    if annotation is Any and not parameter.required:
        annotation = Callable if callable(parameter.default) else type(parameter.default)
    if get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if Callable in (annotation, get_origin(annotation)):
        return _FUNCTION
    return _BY_TYPE.get(annotation, _OTHER)


def needs_number(system: System) -> bool:
    """Return True if a scenario must give the system a number of a component."""
    return any(p.required and find_value_kind(p) in NUMBER_KINDS for p in system.parameters)


_IGNORED_PARAMETERS = {("teleport", "random_agent")}
"""(function, parameter) that files of GridVerse have and no function reads."""
_TURN_PHASES = (Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING)


class CallReader:
    """Reader of the function lists of a scenario file, such as `reward_functions`; returns `Call`s
    and collects errors and warnings.

    Attributes:
        area: observation area, None before it is read.
        agents: specification of all agents.
        names: names that the scenario may use.
        warnings: (node, message) of each ignored parameter.
    """

    def __init__(self, names: NameResolver, requires_return: bool = True) -> None:
        """Make a reader for systems with their arguments. `names` resolves the names of systems,
        objects and functions. Without `requires_return`, rewards and terminating rules need not
        return anything."""
        self.area: Area | None = None
        self.agents: AgentSpecs = AgentSpecs()
        self.warnings: list[tuple[YamlNode, str]] = []
        self.names: NameResolver = names
        self._problems = names.problems
        self._requires_return = requires_return

    def read_calls(self, node: YamlNode, phase: Phase, **options: Any) -> tuple[Call, ...]:
        """Return the calls of systems of `phase` that the list in `node` describes, in order,
        without entries that have errors. `options` are those of `read_call`."""
        read = partial(self.read_call, phase=phase, **options)
        return self._problems.read_each(fields.items(node), read)

    def read_call(
        self,
        node: YamlNode,
        phase: Phase,
        extra_keys: Iterable[str] = (),
        allows_processors: bool = False,
    ) -> Call:
        """Read a system of this phase with its arguments from a YAML node: a name, or a mapping
        `{name: …, parameter: …}`.

        Errors in parameters are collected; the call then lacks these arguments.

        Args:
            extra_keys: keys that are allowed besides the parameters.
            allows_processors: True if the entry may name an esper.Processor.
        """
        if isinstance(node.value, list):
            raise node.error(f"found {node.summary}, expected one function: {{name: …}}")
        entries = fields.mapping(node) if isinstance(node.value, dict) else {"name": node}
        if "name" not in entries:
            raise node.error(f"a {phase.label} needs its name: {{name: …}}")
        system = self.names.resolve_system(
            entries["name"], phase, allows_processors=allows_processors
        )
        allowed = [p.name for p in system.parameters if p.name not in system.tables]
        allowed += extra_keys
        message = ""
        agent_mask: tuple[bool, ...] = ()
        if phase is Phase.TERMINATING and "says" in entries:
            allowed += ENDING_KEYS
            message = self._problems.read_key(entries, "says", fields.text, "")
        if phase in _TURN_PHASES and "for" in entries:
            allowed += TURN_KEYS
            agent_mask = self._problems.read_key(entries, "for", self.agents.read_agent_mask, ())
        arguments = self._read_arguments(system, node, entries)
        pays = "pays" not in extra_keys or self._problems.read_key(
            entries, "pays", fields.boolean, True
        )
        call = Call(system, arguments, message, agent_mask, pays)
        for key, value in entries.items():
            if key not in ("name", *allowed):
                self._report_unknown(system, key, value, allowed)
        if is_complete(call):
            self._check_call(call, node, entries)
        return call

    def _read_arguments(
        self, system: System, node: YamlNode, entries: dict[str, YamlNode]
    ) -> dict[str, Any]:
        """Return the arguments of `system` by name, from the `entries` of its YAML mapping and from
        defaults. Wrong arguments are reported and left out."""
        arguments: dict[str, Any] = {}
        for parameter in system.parameters:
            name = parameter.name
            if name in system.tables:
                continue
            if name in entries:
                with self._problems.collect():
                    arguments[name] = find_value_kind(parameter).read(self, entries[name])
            elif not parameter.required:
                arguments[name] = parameter.default
            else:
                example = f"{{name: {system.name}, {name}: …}}"
                fault = f"{system.name} needs {name!r}, which is missing: {example}"
                if name == "action":  # conditions have it
                    fault += "; for the action of the step, let the rule read w.action instead"
                self._problems.add(node, fault)
        if len(arguments) + len(system.tables) == len(system.parameters):
            with self._problems.collect(), node.report(ValueError):
                arguments |= system.make_tables(self.area, arguments)
        return arguments

    def _report_unknown(self, system: System, key: str, node: YamlNode, allowed: list[str]) -> None:
        """Report that a system has no parameter `key`. It is only a warning if files of
        gym-gridverse use that key."""
        message = f"{system.name} takes no {key!r}{describe_allowed(key, allowed)}"
        if (system.name, key) in _IGNORED_PARAMETERS:
            self.warnings.append((node, f"{message}; ignored"))
        else:
            self._problems.add(node, message)

    def _check_call(self, call: Call, node: YamlNode, entries: dict[str, YamlNode]) -> None:
        """Run the system's own check of its arguments and report its message. An error in a single
        argument is reported at that argument's YAML node in `entries`, others at `node`."""
        system = call.system
        try:
            problem = call.run_check(self.area, len(self.agents.bodies), self.names.types)
        except Exception as error:  # whatever an author's check may raise
            problem = f"its check fails: {type(error).__name__}: {error}"
        if problem:
            checked = [entries[name] for name in system.check_parameters if name in entries]
            self._problems.add(checked[0] if len(checked) == 1 else node, f"{call.name}: {problem}")
        if self._requires_return:
            self._problems.add(node, system.describe_missing_return())
        runs_once = system.phase is Phase.TRANSITION and not call.is_per_agent
        if call.agent_mask and (runs_once or system.is_processor):
            fault = f"{system.name} runs once a step, not for an agent; leave out `for`"
            self._problems.add(entries["for"], fault)


def is_complete(call: Call) -> bool:
    """Return True if the call has a value for every parameter."""
    return len(call.arguments) == len(call.system.parameters)
