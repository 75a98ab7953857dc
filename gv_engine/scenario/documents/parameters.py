"""Parameters of scenarios: values that can be set when a scenario is loaded.

    parameters:
      size: {default: 9, min: 5, max: 65, says: "rows and columns of the level"}
      color: {default: YELLOW, choices: [RED, YELLOW]}
      reward: 5.0
    reset_function: {name: empty, shape: [$size, "$(size + 2)"]}

`$size` stands for the parameter's value everywhere except in maps, and `$(…)` for the value of an
expression; within a longer text, both stand for the text of the value, and `$$` for `$`. The names
under `draw`, whose values are sampled for each level, are left as they are, see
`gv_engine.scenario.readers.random_values`.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gv_engine.rules.errors import UnknownOptionError, describe_allowed, shorten, suggest_similar
from gv_engine.scenario.documents.trust import Consent
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable
from gv_engine.scenario.syntax.yaml_parser import NodeBuilder

PARAMETERS = "parameters"
_LITERAL_KEYS = (PARAMETERS, "map", "maps")  # keys below which `$` is an ordinary character
_RESERVED = (*Consent.__annotations__, "source", "folder", "scenario")
"""Names that no parameter may have."""


class _Kind(NamedTuple):
    """Python types of a kind of parameter, and the plural noun for its values in messages."""

    types: tuple[type, ...]
    noun: str


_KINDS = {
    "bool": _Kind((bool,), "true and false"),
    "int": _Kind((int,), "whole numbers"),
    "float": _Kind((int, float), "numbers"),
    "text": _Kind((str,), "texts"),
    "file": _Kind((str,), "paths of files"),
    "list": _Kind((list,), "lists"),
}
_PARAMETER: KeyTable = {
    "default": Key(
        "Default value, which may use the parameters above. `pain: -0.05` is short "
        "for `pain: {default: -0.05}`.",
        {},
        required=True,
    ),
    "type": Key("Type of the values. By default, that of `default`.", schema.enum_schema(_KINDS)),
    "min": Key("Minimum.", schema.NUMBER),
    "max": Key("Maximum.", schema.NUMBER),
    "choices": Key("Allowed values.", schema.list_of({})),
    "says": Key("Description, which `check` prints.", schema.TEXT),
}
PARAMETERS_KEY = Key(
    "Values that the user can set, by name: `$size` or `$(size + 2)` stands for one in any value.",
    schema.map_of(
        schema.any_of(schema.PLAIN, schema.TEXT, schema.object_schema(_PARAMETER)),
        propertyNames={"not": schema.enum_schema(_RESERVED)},
    ),
    nested=_PARAMETER,
)
_MAX_EXPRESSION = 200  # maximum length of an expression, in characters
_MAX_NUMBER = 2**53  # largest magnitude of a number in an expression
_INVALID = object()  # placeholder for the value of a parameter whose declaration has an error
_SAMPLED = object()
"""Placeholder for the value of a name under `draw`, which is sampled for each level."""


@dataclass(frozen=True)
class ScenarioParameter:
    """A parameter of a scenario.

    Attributes:
        name: its name.
        kind: kind of its values: "bool", "int", "float", "text", "file" or "list".
        value: its current value.
        default: its value unless it is set.
        minimum, maximum: bounds of a number; infinite if there are none.
        choices: the allowed values; () for any.
        description: description for people.
    """

    name: str
    kind: str
    value: Any
    default: Any
    minimum: float
    maximum: float
    choices: tuple[Any, ...]
    description: str

    @property
    def allowed_text(self) -> str:
        """The values that the parameter may have, as a text for messages."""
        if self.choices:
            return ", ".join(map(str, self.choices))
        low = "" if self.minimum == -math.inf else f" from {self.minimum:g}"
        high = "" if self.maximum == math.inf else f" to {self.maximum:g}"
        return _KINDS[self.kind].noun + low + high

    @property
    def other_values(self) -> tuple[Any, ...]:
        """Allowed values other than the current one, for tests of the scenario: the bounds of a
        number, or all choices."""
        values = self.choices
        if not values and self.kind in ("int", "float"):
            number = int if self.kind == "int" else float
            bounds = self.minimum, self.maximum
            values = tuple(number(bound) for bound in bounds if math.isfinite(bound))
        return tuple(value for value in values if value != self.value)

    def find_fault(self, value: Any) -> str:
        """Return an error message if `value` is not allowed for the parameter, else ""."""
        is_allowed = isinstance(value, _KINDS[self.kind].types)
        if isinstance(value, bool) and self.kind != "bool":  # bool is a subclass of int
            is_allowed = False
        if is_allowed and self.choices:
            is_allowed = value in self.choices
        elif is_allowed and isinstance(value, int | float):
            is_allowed = self.minimum <= value <= self.maximum
        return "" if is_allowed else f"allowed are {self.allowed_text}"


def apply_settings(
    root: YamlNode, settings: Mapping[str, Any], problems: ErrorCollector, label: str
) -> tuple[YamlNode, tuple[ScenarioParameter, ...]]:
    """Replace `$name` and `$(…)` in a scenario by parameter values: those in `settings`, else the
    defaults. Return the new scenario and the list of its parameters.

    Args:
        root: the whole scenario.
        settings: values by name.
        problems: receives the errors of the scenario.
        label: name of the scenario in messages.

    Raises:
        UnknownOptionError: a setting has no parameter.
        ScenarioError: a parameter does not allow the value of its setting.
    """
    entries = dict(fields.mapping(root))
    declared: dict[str, YamlNode] = {}
    if node := entries.pop(PARAMETERS, None):
        with problems.collect():
            declared = fields.mapping(node)
    for name in settings:
        if name not in declared:
            raise _unknown_option_error(name, declared, label)
    if not declared:
        return replace(root, value=entries), ()
    builder = NodeBuilder(problems)  # one, so that all substitutions count into its totals
    parameters: dict[str, ScenarioParameter] = {}
    values: dict[str, Any] = dict.fromkeys(_list_sampled_names(entries), _SAMPLED)
    for name, node in declared.items():
        with problems.collect():
            if name in values:
                raise node.error(f"{name} is also a drawn value; rename one of the two")
            entry = _substitute(node, values, builder)
            parameters[name] = _read_parameter(name, entry, settings, builder)
        values[name] = parameters[name].value if name in parameters else _INVALID
    for key, node in entries.items():
        if key not in _LITERAL_KEYS:
            entries[key] = _substitute(node, values, builder)
    problems.raise_if_any()  # the rest cannot be read
    return replace(root, value=entries), tuple(parameters.values())


def _list_sampled_names(entries: Mapping[str, YamlNode]) -> Iterable[str]:
    names = entries["draw"].value if "draw" in entries else None
    return names if isinstance(names, dict) else ()


def reject_settings(
    settings: Mapping[str, Any], parameters: Iterable[ScenarioParameter], scenario: str
) -> None:
    """Raise `UnknownOptionError` if `settings` is not empty. It is called for a scenario that is
    already loaded, when parameters can no longer be set."""
    names = [parameter.name for parameter in parameters]
    for name, value in settings.items():
        if name not in names:
            raise _unknown_option_error(name, names, scenario)
        raise UnknownOptionError(
            [
                f"{name}={value!r}: {scenario} is loaded already, with its parameters; set it "
                f"where the name is given"
            ]
        )


_OF_ENVIRONMENTS = ("max_steps", "autoreset_mode", "observation_representation", "render_mode")
"""Options of environments that error messages suggest."""


def _unknown_option_error(name: str, declared: Iterable[str], label: str) -> UnknownOptionError:
    """Return an error: the scenario has no parameter `name`. It suggests the most similar of the
    `declared` parameters; `label` names the scenario."""
    parameters = list(declared)
    has = f"the parameters {', '.join(parameters)}" if parameters else "no parameters"
    hint = suggest_similar(name, [*parameters, *_OF_ENVIRONMENTS])
    for option in {*_OF_ENVIRONMENTS}.difference(parameters):
        if repr(option) in hint:
            kind = "vector " * (option == "autoreset_mode")
            hint = f"; {kind}environments take {option!r};"
    return UnknownOptionError([f"no option {name!r}{hint or ';'} {label} has {has}"])


def _read_parameter(
    name: str, node: YamlNode, settings: Mapping[str, Any], builder: NodeBuilder
) -> ScenarioParameter:
    """Read the declaration of the parameter `name` in a YAML node under `parameters`. Its value
    comes from `settings`, or else is the default. `builder` makes YAML nodes from values."""
    if not name.isidentifier() or name in _RESERVED:
        names = ", ".join(_RESERVED)
        raise node.error(f"found the name {name!r}, expected letters, digits and _, not {names}")
    entries = {"default": node}
    if isinstance(node.value, dict):
        entries = fields.read_fields(builder.problems, node, _PARAMETER)
    if "default" not in entries:
        raise node.error(f"the default is missing: {name}: {{default: …}}")
    default = entries["default"].plain
    kind = _infer_kind(entries["default"])
    if "type" in entries:
        kind = fields.optional_text(entries["type"])
        if kind not in _KINDS:
            raise entries["type"].error(f"no type {kind!r}{describe_allowed(kind, _KINDS)}")
    minimum = _read_bound("min", entries, name, kind, -math.inf)
    maximum = _read_bound("max", entries, name, kind, math.inf)
    choices: tuple[Any, ...] = ()
    if "choices" in entries:
        choices = tuple(item.plain for item in fields.items(entries["choices"]))
    description = fields.optional_text(entries["says"]) if "says" in entries else ""
    parameter = ScenarioParameter(
        name, kind, default, default, minimum, maximum, choices, description
    )
    if fault := parameter.find_fault(default):
        raise entries["default"].error(f"found {entries['default'].summary}, {fault}")
    if name in settings:
        return _set_parameter(parameter, settings[name], node, builder)
    return parameter


def _read_bound(
    key: str, entries: Mapping[str, YamlNode], name: str, kind: str, default: float
) -> float:
    """Return the bound `key` ("min" or "max") in the declaration of a numeric parameter, or
    `default` if it is missing. Raise FieldError if the parameter's `kind` is no number."""
    if key not in entries:
        return default
    if kind not in ("int", "float"):
        found = f"the default of {name}, {entries['default'].summary}, is of the type {kind}"
        raise entries[key].error(f"only numbers have bounds, and {found}")
    return fields.number(entries[key])


def _set_parameter(
    parameter: ScenarioParameter, setting: Any, node: YamlNode, builder: NodeBuilder
) -> ScenarioParameter:
    """Return a copy of a parameter with the value `setting`. If the value is not allowed, raise
    ScenarioError at once, as the rest of the file depends on it. `node` is the YAML node of its
    declaration."""
    value = builder.from_python(setting, YamlNode(None, node.path, node.line)).plain
    if parameter.kind == "float" and type(value) is int:
        value = float(value)
    elif parameter.kind == "file" and type(value) is str:  # the default is beside the scenario
        value = str(Path(value).absolute())
    if fault := parameter.find_fault(value):
        message = f"{parameter.name}={shorten(repr(setting), 60)}: {fault}"
        raise builder.problems.error_with(node.error(message))
    return replace(parameter, value=value)


def _infer_kind(node: YamlNode) -> str:
    """Return the kind of a parameter, such as "int" or "bool", from its default value in the YAML
    node."""
    for name, kind in _KINDS.items():
        if isinstance(node.value, kind.types):
            return name
    raise node.error(f"found {node.summary}, expected a number, true, false, a text or a list")


# ---- substitution --------------------------------------------------------------------------------


def _substitute(node: YamlNode, values: Mapping[str, Any], builder: NodeBuilder) -> YamlNode:
    """Return a copy of a YAML node in which `$name` and `$(…)` are replaced by the `values` of
    parameters. `builder` makes the new nodes."""
    if isinstance(node.value, dict):
        entries = {}
        for key, part in node.value.items():
            with builder.problems.collect():
                entries[key] = part if key in _LITERAL_KEYS else _substitute(part, values, builder)
        return replace(node, value=entries)
    if isinstance(node.value, list):
        return replace(node, value=[_substitute(item, values, builder) for item in node.value])
    if not isinstance(node.value, str) or "$" not in node.text:
        return node
    return _substitute_text(node, values, builder)


_NAME = re.compile(r"[A-Za-z_]\w*")


def _substitute_text(node: YamlNode, values: Mapping[str, Any], builder: NodeBuilder) -> YamlNode:
    """Return a copy of a YAML text with `$name` and `$(…)` replaced by the `values` of parameters.
    If the whole text is one of these, the copy has the value itself: `$size` gives the number 9, `a
    $size` the text "a 9"."""
    text, pieces, end = node.text, list[str](), 0
    while (sign := text.find("$", end)) >= 0:
        pieces.append(text[end:sign])
        start = sign + 1
        name = _NAME.match(text, start)
        if name and values.get(name[0]) is not _SAMPLED:
            value, end = _get_value(node, name[0], values), name.end()
        elif text.startswith("(", start):
            closing = _find_closing(node, text, start)
            value, end = _evaluate_text(node, text[start + 1 : closing], values), closing + 1
        else:  # `$$`, a sampled name, or a lone sign
            pieces.append("$")
            end = start + text.startswith("$", start)
            continue
        if sign == 0 and end == len(text):
            place = YamlNode(None, node.path, node.line, file=node.file)
            return replace(builder.from_python(value, place), line=node.line, file=node.file)
        pieces.append(str(value))
        builder.count_value(node, 0, len(pieces[-1]))
    result = "".join((*pieces, text[end:]))
    return replace(node, value=result, text=result)


def _get_value(node: YamlNode, name: str, values: Mapping[str, Any]) -> Any:
    """Return the value of a parameter. Raise FieldError at the YAML node if there is no valid one,
    or if `name` is a random value, which is sampled only when a level begins."""
    if name not in values:
        raise node.error(f"no parameter {name!r}{describe_allowed(name, values)}")
    if values[name] is _INVALID:
        raise node.error("")
    if values[name] is _SAMPLED:
        raise node.error(f"{name} is sampled with each level, after $(…) is evaluated")
    return values[name]


def _find_closing(node: YamlNode, text: str, start: int) -> int:
    """Return the index in `text` of the parenthesis that closes the one at index `start`. Raise
    FieldError at the YAML node if there is none."""
    depth = 0
    for index in range(start, len(text)):
        if text[index] == "(":
            depth += 1
        elif text[index] == ")":
            depth -= 1
        if depth == 0:
            return index
    hint = "; put it in quotes, because a comma within {…} or […] ends a value"
    raise node.error(f"found {node.summary}, with a parenthesis that is not closed{hint}")


_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {"min": min, "max": max, "abs": abs, "int": int}


def _evaluate_text(node: YamlNode, text: str, values: Mapping[str, Any]) -> Any:
    """Evaluate an expression of parameters such as `size * 2 + 1`. It may contain arithmetic,
    comparisons, `and`, `or`, `not` and `if`. `values` are the parameters' values."""
    if len(text) > _MAX_EXPRESSION:
        raise node.error(f"an expression of more than {_MAX_EXPRESSION} characters")
    try:
        return _evaluate(ast.parse(text.strip(), mode="eval").body, node, values)
    except SyntaxError as error:
        raise node.error(f"$({text}) cannot be read: {error.msg}") from None
    except (ArithmeticError, TypeError, ValueError, RecursionError, MemoryError) as error:
        raise node.error(f"$({text}) cannot be evaluated: {error}") from None


def _evaluate(tree: ast.AST, node: YamlNode, values: Mapping[str, Any]) -> Any:
    """Evaluate `tree`, the syntax tree of an expression. `values` are the parameters' values,
    `node` is the expression's YAML node for messages. Raise ValueError for forbidden syntax or a
    number that is too large."""
    evaluate = partial(_evaluate, node=node, values=values)
    match tree:
        case ast.Constant(value=bool() | int() | float() | str() as value):
            result = value
        case ast.Name(id=name):
            result = _get_value(node, name, values)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            a, b = _check_number(evaluate(left)), _check_number(evaluate(right))
            result = _OPERATORS[type(op)](a, b)
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            result = _OPERATORS[type(op)](evaluate(operand))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            result = _OPERATORS[type(op)](evaluate(left), evaluate(right))
        case ast.BoolOp(op=ast.And(), values=operands):
            result = all(bool(evaluate(operand)) for operand in operands)
        case ast.BoolOp(values=operands):
            result = any(bool(evaluate(operand)) for operand in operands)
        case ast.IfExp(test=test, body=body, orelse=other):
            result = evaluate(body) if evaluate(test) else evaluate(other)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            result = _FUNCTIONS[name](*(_check_number(evaluate(part)) for part in args))
        case _:
            raise ValueError(f"{ast.unparse(tree)!r} is not arithmetic")
    if isinstance(result, int | float) and not abs(result) <= _MAX_NUMBER:  # also for NaN
        raise ValueError("the numbers grow too large")
    return result


def _check_number(value: Any) -> Any:
    if not isinstance(value, int | float):
        raise TypeError(f"{shorten(repr(value), 40)} is no number")
    return value
