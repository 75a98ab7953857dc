"""Scenario files of algebra, key by key."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeVar

import numpy as np

from gv_engine.domains.algebra.env import MathyEnv
from gv_engine.domains.algebra.environments import ENVIRONMENTS
from gv_engine.domains.algebra.library import SUCCESSES, SYSTEMS, USUAL, BaseRule
from gv_engine.domains.algebra.library import rules as lib_rules
from gv_engine.domains.algebra.parsing import ExpressionError, parse
from gv_engine.domains.algebra.types import (
    INVALID_ACTION_RESPONSES,
    EnvRewards,
    MathyEnvDifficulty,
    MathyEnvProblemArgs,
    code_place,
)
from gv_engine.rules.call import Call, is_nested
from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.modules import is_engine_module
from gv_engine.rules.system import (
    REWARD,
    TERMINATING,
    TRANSITION,
    Phase,
    System,
)
from gv_engine.scenario.calls import ENDING_KEYS, Calls
from gv_engine.scenario.document import FILE_KEYS, Document
from gv_engine.scenario.fields import (
    ErrorCollector,
    FieldError,
    YamlNode,
    boolean,
    integer,
    items,
    mapping,
    number,
    optional_text,
    read_choice,
    read_fields,
    read_name,
    suggestion,
    text,
)
from gv_engine.scenario.grid_reader import SHARED_KEYS
from gv_engine.scenario.json_schema import (
    BOOLEAN,
    NUMBER,
    REFERENCE,
    TEXT,
    FunctionSchema,
    Key,
    KeyTable,
    ScenarioFormat,
    any_of,
    definition_ref,
    enum_schema,
    integer_schema,
    list_of,
    object_schema,
)
from gv_engine.scenario.resolver import NameResolver
from gv_engine.scenario.rule_modules import list_source_files
from gv_engine.scenario.type_ids import TypeIds

RULES: dict[str, type[BaseRule]] = {
    getattr(lib_rules, name)().name.lower().replace(" ", "_"): getattr(lib_rules, name)
    for name in lib_rules.__all__
}
"""The rules of mathy_core, by the names that scenario files give them."""

_T = TypeVar("_T")

ProblemFunction = Callable[[MathyEnvProblemArgs, np.random.Generator], Any]
"""Draws a problem: a text, (text, complexity), or a `MathyEnvProblem`."""

MOST_MOVES = 10_000
_LONGEST = 1024


class _Names(NameResolver):
    """Names that stand for what algebra worlds know."""

    successes = False
    """Whether functions of TERMINATING are asked what a success is."""

    def resolve_system(self, node: YamlNode, phase: Phase, *, processors: bool = False) -> System:
        known, what = SYSTEMS.get(phase, {}), phase.label
        if self.successes:
            known, what = SUCCESSES, "success function"
        if ":" not in text(node):
            return _one(node, known, what)
        found = self._resolve_own_system(node, phase)
        if found not in known.values() and is_engine_module(found.function.__module__):
            raise FieldError(node, f"{found.title} is for grids{suggestion(found.name, known)}")
        return found

    def _adapt_state_function(self, node: YamlNode, thing: Any, phase: Phase) -> System:
        raise FieldError(node, f"{node.text} is no system; decorate it with @system({phase.name})")


class Reader:
    """Reads the keys of a scenario file.

    Args:
        document: what the file holds.
        changes: what replaces some of it.
    """

    def __init__(self, document: Document, changes: Mapping[str, Any]) -> None:
        self.document = document
        self.changes = changes
        self.problems = document.problems or ErrorCollector(document.label)
        self.names = _Names(document, TypeIds.assign([document]))
        self.entries = read_fields(self.problems, document.root, ALGEBRA_KEYS, FILE_KEYS)
        for key, value in changes.items():
            self.entries[key] = YamlNode(value, key, text=str(value))
        for key in ("environment", "problem_function", "rules", *_PHASES):
            if key in self.entries:
                self.names.import_references(self.entries[key])

    def fields(self) -> dict[str, Any]:
        """The fields of the scenario.

        Raises:
            ScenarioError: with all problems.
        """
        environment = self.key("environment", self.environment, None)
        if "environment" not in self.entries:
            node = YamlNode(None, "environment", self.document.root.line)
            self.problems.add(
                node, f"missing; a mathy scenario needs it{suggestion('', ENVIRONMENTS)}"
            )
        options = {
            name: value
            for name, read in _OPTIONS.items()
            for value in [self.key(name, read, None)]
            if value is not None
        }
        if "rewards" in self.entries:
            options["rewards"] = self.key("rewards", self.rewards, EnvRewards())
        order = {
            phase: self.key(key, partial(self.calls, phase=phase), ())
            for key, phase in _PHASES.items()
            if key in self.entries
        }
        said = " ".join((inspect.getdoc(environment) or "").split("\n\n")[0].split())
        found = {
            "environment": environment,
            "difficulty": self.key("difficulty", _difficulty, MathyEnvDifficulty.easy),
            "problem": self.key("problem", _expression, None),
            "problem_function": self.key("problem_function", self.problem_function, None),
            "max_moves": self.key("max_moves", _moves, None),
            "max_steps": self.key("max_steps", _moves, None),
            "rules": self.key("rules", self.rules, None),
            "options": options,
            "order": {**USUAL, **order},
            "success": self.key("success_function", self.success, None),
            "source": self.document.source,
            "code": tuple(list_source_files(self.names.modules.values())),
            "name": self.name(),
            "description": self.key("description", optional_text, said),
        }
        self.check_source_of_problems(environment)
        self.problems.raise_if_any()
        return found

    def name(self) -> str:
        """The name, without that of a variant which something was replaced in."""
        found: str = self.key("name", read_name, self.document.default_name)
        before, variant = mapping(self.document.root), self.document.variant
        replaced = any(
            key not in before or before[key].value != value
            for key, value in self.changes.items()
            if key not in ("max_steps", "description")
        )
        own = "name" in self.changes or not (variant and replaced)
        return found if own else found.removesuffix(f"-{variant}")

    def check_source_of_problems(self, environment: type[MathyEnv] | None) -> None:
        """ErrorCollector come from one place, and the environment has what they need."""
        given = [key for key in ("problem", "problem_function") if key in self.entries]
        if len(given) == 2:
            self.problems.add(
                self.entries["problem_function"], "`problem` stands there too; keep one of them"
            )
        if environment is None:
            return
        missing = {}
        if environment.get_env_namespace is MathyEnv.get_env_namespace:
            missing["get_env_namespace"] = "override this method"
        if not given and environment.problem_fn is MathyEnv.problem_fn:
            missing["problem_fn"] = "override this method, or give a `problem`"
        for name, remedy in missing.items():
            self.problems.add(
                self.entries["environment"],
                f"{environment.__name__} ({code_place(environment)}) has no {name}: {remedy}",
            )

    def try_problem(self, begin: Callable[[], object]) -> None:
        """Begin with the one problem that there is.

        Raises:
            ScenarioError: no episode can begin with it.
        """
        try:
            begin()
        except GVEngineError as error:
            self.problems.add(self.entries["problem"], str(error))
        self.problems.raise_if_any()

    def success(self, node: YamlNode) -> Call:
        """A function of the world, by name or reference."""
        names = copy.copy(self.names)
        names.successes = True
        return Calls(self.problems, names).call(node, TERMINATING)

    def calls(self, node: YamlNode, phase: Phase) -> tuple[Call, ...]:
        """Systems of a phase, in their order."""
        found = Calls(self.problems, self.names).calls(node, phase)
        for call in found:
            if call.system.remember or any(map(is_nested, call.arguments.values())):
                raise FieldError(
                    node,
                    f"{call.system.title} remembers something or takes other functions; systems of "
                    f"algebra take numbers and texts",
                )
        return found

    def problem_function(self, node: YamlNode) -> ProblemFunction:
        """A function of difficulty and generator."""
        found = self.names.resolve_function(node)
        signature = inspect.signature(found)
        try:
            signature.bind(None, None)
        except TypeError as error:
            raise FieldError(
                node,
                f"{node.text} ({code_place(found)}) takes {signature}, expected (params, rng): "
                f"{error}",
            ) from None
        return found

    def key(self, key: str, read: Callable[[YamlNode], Any], default: Any) -> Any:
        """What a key says; the default without it, or if it is wrong."""
        if key in self.entries:
            with self.problems.collect():
                return read(self.entries[key])
        return default

    def environment(self, node: YamlNode) -> type[MathyEnv]:
        """The class of an environment, by name or reference."""
        if ":" not in text(node):
            return _one(node, ENVIRONMENTS, "environment")
        thing = self.names.resolve_object(node)
        if not (isinstance(thing, type) and issubclass(thing, MathyEnv)):
            raise FieldError(node, f"{node.text} is no subclass of gv_engine.mathy.MathyEnv")
        return thing

    def rules(self, node: YamlNode) -> tuple[BaseRule, ...]:
        """Rules, in their order."""
        found = []
        for item in items(node):
            with self.problems.collect():
                found.append(self.rule(item))
        if not items(node):
            raise FieldError(node, "found an empty list, expected at least one rule")
        return tuple(found)

    def rule(self, node: YamlNode) -> BaseRule:
        """A rule: a name, or `{name: …}` with what its class takes."""
        entries = mapping(node) if isinstance(node.value, dict) else {"name": node}
        if "name" not in entries:
            raise FieldError(node, "a rule needs its name: {name: …}")
        name = entries["name"]
        if ":" in text(name):
            rule = self.names.resolve_object(name)
            if not (isinstance(rule, type) and issubclass(rule, BaseRule)):
                raise FieldError(name, f"{name.text} is no subclass of mathy_core.rule.BaseRule")
        else:
            rule = _one(name, RULES, "rule")
        given = {key: value.value for key, value in entries.items() if key != "name"}
        try:
            inspect.signature(rule).bind(**given)
            made: BaseRule = rule(**given)
        except Exception as error:  # whatever a rule of one's own may raise
            raise FieldError(node, f"{name.text} cannot be made: {error}") from None
        return made

    def rewards(self, node: YamlNode) -> EnvRewards:
        """Rewards by name, the others as they are."""
        names = [f.name for f in dataclasses.fields(EnvRewards)]
        entries = read_fields(self.problems, node, names)
        given = {}
        for key, value in entries.items():
            with self.problems.collect():
                given[key] = number(value)
        return EnvRewards(**given)


def _one(node: YamlNode, known: Mapping[str, _T], what: str) -> _T:
    """What one of several names stands for."""
    return list(known.values())[read_choice(node, known, what)]


def _difficulty(node: YamlNode) -> MathyEnvDifficulty:
    return _one(node, MathyEnvDifficulty.__members__, "difficulty")


def _expression(node: YamlNode) -> str:
    try:
        parse(text(node))
    except ExpressionError as error:
        raise FieldError(node, str(error)) from None
    return text(node)


def _moves(node: YamlNode) -> int:
    return integer(node, 1, MOST_MOVES)


def _response(node: YamlNode) -> str:
    return INVALID_ACTION_RESPONSES[read_choice(node, INVALID_ACTION_RESPONSES, "response")]


_PHASES = {f"{phase.name.lower()}_functions": phase for phase in (TRANSITION, TERMINATING, REWARD)}
"""KeyTable that list systems in their order."""
_OPTIONS: dict[str, Callable[[YamlNode], Any]] = {
    "max_seq_len": lambda node: integer(node, 1, _LONGEST),
    "invalid_action_response": _response,
    "previous_state_penalty": boolean,
    "preferred_term_commute": boolean,
    "reward_discount": number,
}
"""KeyTable that the environment itself takes."""
_RULE: KeyTable = {
    "name": Key("Of the rule.", any_of(enum_schema(RULES), REFERENCE), required=True)
}
_REWARDS: KeyTable = {
    field.name: Key(f"{field.default} if left out.", NUMBER)
    for field in dataclasses.fields(EnvRewards)
}
_SYSTEMS = {
    "transition_functions": "What a move does, in this order.",
    "terminating_functions": "When the episode is over: the first that says so ends it.",
    "reward_functions": "What a move is worth: the first that says so.",
}
ALGEBRA_KEYS: KeyTable = {
    "domain": Key("It is `algebra`.", enum_schema(["algebra"]), required=True),
    "name": SHARED_KEYS["name"],
    "description": SHARED_KEYS["description"],
    "environment": Key(
        "Which problems there are, and what one wants of them: a name, or a class.",
        any_of(enum_schema(ENVIRONMENTS), REFERENCE),
        required=True,
    ),
    "difficulty": Key("How hard the problems are.", enum_schema(MathyEnvDifficulty.__members__)),
    "problem": Key("Always this one; drawn, if left out.", TEXT),
    "problem_function": Key("A function of yours that draws the problems.", REFERENCE),
    "max_moves": Key(
        "The moves of an episode, in place of the problem's.", integer_schema(1, MOST_MOVES)
    ),
    "max_steps": Key("After so many steps an episode is cut off.", integer_schema(1, MOST_MOVES)),
    "rules": Key(
        "The rules there are, in this order, which numbers the actions.",
        list_of(
            any_of(
                *_RULE["name"].schema["anyOf"],
                {**object_schema(_RULE), "additionalProperties": True},
            ),
            minItems=1,
        ),
    ),
    "rewards": Key("What moves are worth.", object_schema(_REWARDS), nested=_REWARDS),
    "success_function": Key(
        "Whether the end was a success: `solve`, or one of yours.", definition_ref("mathy_success")
    ),
    **{
        key: Key(_SYSTEMS[key], list_of(definition_ref(f"mathy_{phase.name.lower()}")))
        for key, phase in _PHASES.items()
    },
    "max_seq_len": Key("The most nodes that an expression may have.", integer_schema(1, _LONGEST)),
    "invalid_action_response": Key(
        "What an invalid move leads to.", enum_schema(INVALID_ACTION_RESPONSES)
    ),
    "previous_state_penalty": Key("Whether coming back to an expression costs.", BOOLEAN),
    "preferred_term_commute": Key("Whether 4x may become x * 4.", BOOLEAN),
    "reward_discount": Key("The discount that is reported along the way.", NUMBER),
}
"""Those of scenarios of algebra."""

FORMAT = ScenarioFormat(
    ALGEBRA_KEYS,
    {
        **{
            f"mathy_{phase.name.lower()}": FunctionSchema(phase, tuple(SYSTEMS[phase].values()))
            for phase in _PHASES.values()
        },
        "mathy_success": FunctionSchema(TERMINATING, tuple(SUCCESSES.values()), ENDING_KEYS),
    },
)
