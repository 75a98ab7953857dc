"""Scenarios of algebra: the environment, the difficulty, the rules and the rewards."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from gv_engine.plugins.algebra import library
from gv_engine.plugins.algebra.env import MathyEnv
from gv_engine.plugins.algebra.environments import ENVIRONMENTS
from gv_engine.plugins.algebra.library import SUCCESS_SYSTEMS, SYSTEMS, BaseRule, code_location
from gv_engine.plugins.algebra.library import rules as lib_rules
from gv_engine.plugins.algebra.parser import ExpressionError, parse
from gv_engine.plugins.algebra.state import (
    INVALID_ACTION_RESPONSES,
    EnvRewards,
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    MathyEnvState,
    ProblemError,
    check_max_moves,
)
from gv_engine.rules.errors import GVEngineError, describe_allowed
from gv_engine.rules.objects import is_engine_module
from gv_engine.rules.system import REWARD, TERMINATING, Call, Phase, System, is_nested_call
from gv_engine.rules.turns import SINGLE_AGENT, AgentGroup
from gv_engine.scenario.documents.document import (
    FILE_KEYS,
    Document,
    ImmutableScenario,
    ScenarioIdentity,
    list_watched_files,
)
from gv_engine.scenario.documents.rule_files import SourceFile, list_source_files
from gv_engine.scenario.domains import KeyCommand
from gv_engine.scenario.readers.calls import ENDING_KEYS, CallReader
from gv_engine.scenario.readers.grid_keys import SHARED_KEYS
from gv_engine.scenario.readers.grid_reader import TopLevelReader
from gv_engine.scenario.readers.resolver import NameResolver, TypeIds
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import FieldError, YamlNode
from gv_engine.scenario.syntax.json_schema import FunctionSchema, Key, KeyTable

if TYPE_CHECKING:
    from gv_engine.plugins.algebra.world import ExpressionWorld


RULES: dict[str, type[BaseRule]] = {
    getattr(lib_rules, name)().name.lower().replace(" ", "_"): getattr(lib_rules, name)
    for name in lib_rules.__all__
}
"""Rules of mathy_core by their names in scenario files."""

_T = TypeVar("_T")

ProblemFunction = Callable[[MathyEnvProblemArgs, np.random.Generator], Any]
"""Function that samples a problem: a text, (text, complexity), or a `MathyEnvProblem`."""

MAX_MOVES = 10_000
_MAX_NODES = 1024


class _AlgebraNames(NameResolver):
    """Resolver of the names in algebra scenarios."""

    resolves_success = False
    """True while names of success functions are resolved."""

    def resolve_system(
        self, node: YamlNode, phase: Phase, *, allows_processors: bool = False
    ) -> System:
        """Return the system of this phase that a YAML node names: a built-in one such as
        "penalize", or a reference such as "file.py:name"."""
        systems, label = SYSTEMS.get(phase, {}), phase.label
        if self.resolves_success:
            systems, label = SUCCESS_SYSTEMS, "success function"
        if ":" not in fields.text(node):
            return _choose_by_name(node, systems, label)
        system = self._resolve_own_system(node, phase, allows_processors)
        if system not in systems.values() and is_engine_module(system.function.__module__):
            raise FieldError(
                node, f"{system.title} is for grids{describe_allowed(system.name, systems)}"
            )
        return system

    def _adapt_state_function(self, node: YamlNode, value: Any, phase: Phase) -> System:
        raise FieldError(node, f"{node.text} is no system; decorate it with @system({phase.name})")


class AlgebraReader(TopLevelReader):
    """Reader of the keys of a scenario document.

    Args:
        document: content of the file.
        changes: new values of some keys.
    """

    def __init__(self, document: Document, changes: Mapping[str, Any]) -> None:
        """Make a reader for the scenario file `document`. `changes` has values that override keys
        of the file."""
        super().__init__(document)
        self.changes = changes
        self.names = _AlgebraNames(document, TypeIds.assign([document]), self.problems)
        self.entries = fields.read_fields(self.problems, document.root, ALGEBRA_KEYS, FILE_KEYS)
        for key, value in changes.items():
            self.entries[key] = YamlNode(value, key, text=str(value))
        for key in ("environment", "problem_function", "rules", *_PHASES):
            if key in self.entries:
                self.names.import_references(self.entries[key])

    def read_fields(self) -> dict[str, Any]:
        """Read and check all keys of the scenario file. Return them as keyword arguments of
        `AlgebraScenario`.

        Raises:
            ScenarioError: the document has errors; the error lists all of them.
        """
        environment = self.read_key("environment", self.read_environment, None)
        if "environment" not in self.entries:
            node = YamlNode(None, "environment", self.document.root.line)
            self.problems.add(
                node, f"missing; an algebra scenario needs it{describe_allowed('', ENVIRONMENTS)}"
            )
        options: dict[str, Any] = {}
        for name in _OPTIONS:
            value = self.read_key(name, ALGEBRA_KEYS[name].read, None)
            if value is not None:
                options[name] = value
        if "rewards" in self.entries:
            options["rewards"] = self.read_key("rewards", self.read_rewards, EnvRewards())
        order = {
            phase: self.read_key(key, partial(self.read_calls, phase=phase), ())
            for key, phase in _PHASES.items()
            if key in self.entries
        }
        first_paragraph = (inspect.getdoc(environment) or "").split("\n\n")[0]
        arguments = {
            "environment": environment,
            "difficulty": self.read_key("difficulty", _read_difficulty, MathyEnvDifficulty.easy),
            "problem": self.read_key("problem", _read_expression, None),
            "problem_function": self.read_key("problem_function", self.read_problem_function, None),
            "max_moves": self.read_key("max_moves", ALGEBRA_KEYS["max_moves"].read, None),
            "max_steps": self.read_key("max_steps", ALGEBRA_KEYS["max_steps"].read, None),
            "rules": self.read_key("rules", self.read_rules, None),
            "options": options,
            "order": {**library.DEFAULT_ORDER, **order},
            "success": self.read_key("success_function", self.read_success, None),
            "source": self.document.source,
            "code": tuple(list_source_files(self.names.modules.values())),
            "name": self.read_name(),
            "description": self.read_key(
                "description", fields.optional_text, " ".join(first_paragraph.split())
            ),
        }
        self.check_problem_source(environment)
        self.problems.raise_if_any()
        return arguments

    def read_name(self) -> str:
        """Return the scenario's name. The name of a variant ends with "-" and the variant's name.
        That suffix is dropped if `changes` overrides more than the step limit and the
        description."""
        name: str = self.read_key("name", fields.read_name, self.document.default_name)
        if "name" in self.changes or not self.document.variant:
            return name
        original = fields.mapping(self.document.root)
        for key, value in self.changes.items():
            if key in ("max_steps", "description"):
                continue
            if key not in original or original[key].value != value:
                return name.removesuffix(f"-{self.document.variant}")
        return name

    def check_problem_source(self, environment: type[MathyEnv] | None) -> None:
        """Report an error if the scenario defines its problems twice, or if the class `environment`
        must override a method for them but does not."""
        sources = [key for key in ("problem", "problem_function") if key in self.entries]
        if len(sources) == 2:
            self.problems.add(
                self.entries["problem_function"], "`problem` stands there too; keep one of them"
            )
        if environment is None:
            return
        missing = {}  # remedies by method
        if environment.get_env_namespace is MathyEnv.get_env_namespace:
            missing["get_env_namespace"] = "override this method"
        if not sources and environment.problem_fn is MathyEnv.problem_fn:
            missing["problem_fn"] = "override this method, or give a `problem`"
        for name, remedy in missing.items():
            self.problems.add(
                self.entries["environment"],
                f"{environment.__name__} ({code_location(environment)}) has no {name}: {remedy}",
            )

    def try_problem(self, begin: Callable[[], object]) -> None:
        """Check the scenario's fixed problem by calling `begin`, which starts an episode with it.
        An error is reported as an error of the scenario file.

        Raises:
            ScenarioError: no episode can begin with the problem.
        """
        try:
            begin()
        except GVEngineError as error:
            self.problems.add(self.entries["problem"], str(error))
        self.problems.raise_if_any()

    def read_success(self, node: YamlNode) -> Call:
        """Return the call of the success function that a YAML node names: a built-in name, or a
        reference such as "file.py:name"."""
        names = copy.copy(self.names)
        names.resolves_success = True
        return CallReader(names, requires_return=False).read_call(node, Phase.TERMINATING)

    def read_calls(self, node: YamlNode, phase: Phase) -> tuple[Call, ...]:
        """Return the systems of this phase that a YAML list names, in order, each with its
        arguments."""
        calls = CallReader(self.names, requires_return=False).read_calls(node, phase)
        for call in calls:
            if call.system.remember or any(map(is_nested_call, call.arguments.values())):
                raise FieldError(
                    node,
                    f"{call.system.title} remembers something or takes other functions; systems of "
                    f"algebra take numbers and texts",
                )
        return calls

    def read_problem_function(self, node: YamlNode) -> ProblemFunction:
        """Return the user-defined function `(params, rng)` that samples problems. The YAML node is
        a reference to it, such as "file.py:name"."""
        function = self.names.resolve_function(node)
        signature = inspect.signature(function)
        try:
            signature.bind(None, None)
        except TypeError as error:
            raise FieldError(
                node,
                f"{node.text} ({code_location(function)}) takes {signature}, expected "
                f"(params, rng): {error}",
            ) from None
        return function

    def read_environment(self, node: YamlNode) -> type[MathyEnv]:
        """Return the environment class that a YAML node names: a built-in name, or a reference such
        as "file.py:Class"."""
        if ":" not in fields.text(node):
            return _choose_by_name(node, ENVIRONMENTS, "environment")
        environment = self.names.resolve_object(node)
        if not (isinstance(environment, type) and issubclass(environment, MathyEnv)):
            raise FieldError(node, f"{node.text} is no subclass of gv_engine.mathy.MathyEnv")
        return environment

    def read_rules(self, node: YamlNode) -> tuple[BaseRule, ...]:
        """Return the rewrite rules that a YAML node lists, in order."""
        if not fields.items(node):
            raise FieldError(node, "found an empty list, expected at least one rule")
        return self.problems.read_each(fields.items(node), self.read_rule)

    def read_rule(self, node: YamlNode) -> BaseRule:
        """Return the rewrite rule that a YAML node describes: a name, or `{name: …}` with arguments
        for the rule's class."""
        entries = fields.mapping(node) if isinstance(node.value, dict) else {"name": node}
        if "name" not in entries:
            raise FieldError(node, "a rule needs its name: {name: …}")
        name = entries["name"]
        if ":" in fields.text(name):
            rule = self.names.resolve_object(name)
            if not (isinstance(rule, type) and issubclass(rule, BaseRule)):
                raise FieldError(name, f"{name.text} is no subclass of mathy_core.rule.BaseRule")
        else:
            rule = _choose_by_name(name, RULES, "rule")
        arguments = {key: value.value for key, value in entries.items() if key != "name"}
        try:
            inspect.signature(rule).bind(**arguments)
            instance: BaseRule = rule(**arguments)
        except Exception as error:  # a user-defined rule may raise anything
            raise FieldError(node, f"{name.text} cannot be made: {error}") from None
        return instance

    def read_rewards(self, node: YamlNode) -> EnvRewards:
        """Return the rewards in a YAML mapping from name to number. Missing ones have their
        defaults."""
        names = [f.name for f in dataclasses.fields(EnvRewards)]
        entries = fields.read_fields(self.problems, node, names)
        rewards = {}
        for name, value in entries.items():
            with self.problems.collect():
                rewards[name] = fields.number(value)
        return EnvRewards(**rewards)


def _choose_by_name(node: YamlNode, options: Mapping[str, _T], label: str) -> _T:
    return list(options.values())[fields.read_choice(node, options, label)]


def _read_difficulty(node: YamlNode) -> MathyEnvDifficulty:
    return _choose_by_name(node, MathyEnvDifficulty.__members__, "difficulty")


def _read_expression(node: YamlNode) -> str:
    with node.report(ExpressionError):
        parse(fields.text(node))
    return fields.text(node)


_PHASES = {
    f"{phase.name.lower()}_functions": phase
    for phase in (Phase.TRANSITION, Phase.TERMINATING, Phase.REWARD)
}
"""Keys that list the systems of a phase, in order."""
_OPTIONS = (
    *("max_seq_len", "invalid_action_response", "previous_state_penalty"),
    *("preferred_term_commute", "reward_discount"),
)
"""Keys that are keyword arguments of the environment."""
_RULE: KeyTable = {
    "name": Key(
        "Name of the rule.",
        schema.any_of(schema.enum_schema(RULES), schema.REFERENCE),
        required=True,
    )
}
_REWARDS: KeyTable = {
    field.name: Key(f"By default, {field.default}.", schema.NUMBER)
    for field in dataclasses.fields(EnvRewards)
}
_SYSTEMS = {
    "transition_functions": "Systems that apply a move, in this order.",
    "terminating_functions": "Systems that may end the episode. The first one that does decides.",
    "reward_functions": "Systems that may reward a move. The first one that does decides.",
}
ALGEBRA_KEYS: KeyTable = {
    "domain": Key("Always `algebra`.", schema.enum_schema(["algebra"]), required=True),
    "name": SHARED_KEYS["name"],
    "description": SHARED_KEYS["description"],
    "environment": Key(
        "Environment that samples problems and defines the goal: a name, or a class.",
        schema.any_of(schema.enum_schema(ENVIRONMENTS), schema.REFERENCE),
        required=True,
    ),
    "difficulty": Key(
        "Difficulty of the problems.", schema.enum_schema(MathyEnvDifficulty.__members__)
    ),
    "problem": Key("Problem of every episode. By default, sampled.", schema.TEXT),
    "problem_function": Key("User-defined function that samples the problems.", schema.REFERENCE),
    "max_moves": Key(
        "Moves allowed in an episode, instead of the problem's.",
        schema.integer_schema(1, MAX_MOVES),
    ),
    "max_steps": Key("Step limit of an episode.", schema.integer_schema(1, MAX_MOVES)),
    "rules": Key(
        "Rules. Their order numbers the actions.",
        schema.list_of(
            schema.any_of(
                *_RULE["name"].schema["anyOf"],
                {**schema.object_schema(_RULE), "additionalProperties": True},
            ),
            minItems=1,
        ),
    ),
    "rewards": Key("Rewards of moves.", schema.object_schema(_REWARDS), nested=_REWARDS),
    "success_function": Key(
        "Condition of success at the end: `solve`, or a user-defined one.",
        schema.definition_ref("mathy_success"),
    ),
    **{
        key: Key(
            _SYSTEMS[key],
            schema.list_of(schema.definition_ref(f"mathy_{phase.name.lower()}")),
        )
        for key, phase in _PHASES.items()
    },
    "max_seq_len": Key(
        "Greatest number of nodes of an expression.", schema.integer_schema(1, _MAX_NODES)
    ),
    "invalid_action_response": Key(
        "Response to an invalid move.",
        schema.enum_schema(INVALID_ACTION_RESPONSES, "response"),
    ),
    "previous_state_penalty": Key(
        "True if returning to an earlier expression is penalised.", schema.BOOLEAN
    ),
    "preferred_term_commute": Key("True if 4x may become x * 4.", schema.BOOLEAN),
    "reward_discount": Key("Discount that is reported while the episode goes on.", schema.NUMBER),
}
"""Keys of algebra scenarios."""

FORMAT = schema.ScenarioFormat(
    ALGEBRA_KEYS,
    {
        **{
            f"mathy_{phase.name.lower()}": FunctionSchema(phase, tuple(SYSTEMS[phase].values()))
            for phase in _PHASES.values()
        },
        "mathy_success": FunctionSchema(
            Phase.TERMINATING, tuple(SUCCESS_SYSTEMS.values()), ENDING_KEYS
        ),
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class AlgebraScenario(ImmutableScenario):
    """Immutable scenario of algebra.

    Attributes:
        name: name of the scenario, by default that of its file.
        description: text for the reader, by default from the environment's docstring.
        environment: class that samples problems and decides when they are solved.
        difficulty: difficulty of the sampled problems.
        problem: expression that every episode begins with; None to sample problems.
        problem_function: function that samples problems instead of the environment.
        max_moves: number of moves allowed in an episode; None to derive it from the problem.
        max_steps: step limit of an episode; None for three times its moves.
        rules: rewrite rules in the order of the action numbers; None for the environment's rules.
        options: other keyword arguments of the environment.
        order: calls of the systems of each phase, in order.
        success: condition of a successful episode; None if the scenario defines none.
        source: scenario file; None if the scenario was given as a mapping.
        document: content that the scenario was read from.
        changes: replaced keys of the document.
        code: user-defined Python files that the scenario uses, as loaded.
    """

    domain: ClassVar[str] = "algebra"
    own_actions: ClassVar[tuple[KeyCommand, ...]] = ()
    agent_group: ClassVar[AgentGroup] = SINGLE_AGENT
    view: ClassVar[str] = ""
    mission_texts: ClassVar[tuple[str, ...]] = ()

    name: str
    description: str
    environment: type[MathyEnv]
    difficulty: MathyEnvDifficulty
    problem: str | None
    problem_function: ProblemFunction | None
    max_moves: int | None
    max_steps: int | None
    rules: tuple[BaseRule, ...] | None
    options: Mapping[str, Any]
    order: library.Order
    success: Call | None
    source: Path | None
    document: Document = field(repr=False)
    changes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    code: tuple[SourceFile, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, document: Document, changes: Mapping[str, Any]) -> AlgebraScenario:
        """Build the scenario from the file `document`. `changes` has values that override keys of
        the file.

        Args:
            document: content of a file or a mapping.
            changes: new values of some keys, such as `difficulty` or `max_steps`.

        Raises:
            ScenarioError: the document has errors; the error lists all of them.
        """
        reader = AlgebraReader(document, changes)
        scenario = cls(document=document, changes=changes, **reader.read_fields())
        if scenario.problem is not None:
            reader.try_problem(lambda: scenario.first_state(scenario.make_env()))
        return scenario

    def with_(self, **changes: Any) -> AlgebraScenario:
        """Return a copy of the scenario with other values of some keys:
        `scenario.with_(difficulty="hard")`.

        The result keeps the name of a variant only if nothing but `max_steps` differs.
        """
        return AlgebraScenario.read(self.document, {**self.changes, **changes})

    @cached_property
    def reward_names(self) -> tuple[str, ...]:
        """Return the names of the systems that can decide the reward of a move."""
        return tuple(call.name for phase in (TERMINATING, REWARD) for call in self.order[phase])

    @property
    def tells_success(self) -> bool:
        """Return True if the scenario defines the success of an episode."""
        return self.success is not None

    def make_world(self) -> ExpressionWorld:
        """Return a new world with entities and components (an object world) that plays the scenario
        in a new environment."""
        from gv_engine.plugins.algebra.world import ExpressionWorld  # imports esper

        return ExpressionWorld(self.make_env(), self.max_steps, self.success)

    def make_env(self) -> MathyEnv:
        """Return a new environment for the scenario. Its random generator has a random seed."""
        options = dict(self.options)
        if self.rules is not None:
            options["rules"] = self.rules
        env = self.environment(**options)
        env.order = library.bind_order(self.order)
        function, max_moves = self.problem_function, self.max_moves
        if function is not None:
            env.problem_fn = lambda params: _sample_problem(function, params, env)  # type: ignore[method-assign]  # for this one
        if max_moves is not None:
            env.max_moves_fn = lambda problem, config: max_moves  # type: ignore[method-assign]  # for this one
        return env

    def first_state(
        self, env: MathyEnv, problem: str | None = None, max_moves: int | None = None
    ) -> MathyEnvState:
        """Return the first state of a new episode. The problem is `problem` if given, else the
        scenario's fixed problem, else sampled by `env`.

        Args:
            env: environment from `make_env`; samples the problem.
            problem: text of the problem, instead of the scenario's.
            max_moves: number of allowed moves, instead of the scenario's.

        Raises:
            ProblemError: the problem is solved already, too long, or no text; or no rule applies.
            ExpressionError: the text is no expression.
            ValueError: `max_moves` is out of range.
        """
        if max_moves is not None:
            check_max_moves(max_moves)
            if not 1 <= max_moves <= MAX_MOVES:
                raise ValueError(f"max_moves={max_moves}: allowed are 1 to {MAX_MOVES}")
        text = self.problem if problem is None else problem
        config = MathyEnvProblemArgs(self.difficulty)
        if text is None:
            state = env.get_initial_state(config, print_problem=False)[0]
            if max_moves is None:
                return state
            return MathyEnvState(state.agent.problem, max_moves, state.agent.problem_type)
        if not isinstance(text, str):
            raise ProblemError(f"problem={text!r}: expected the text of an expression")
        env_problem = _make_problem(env, text)
        state = env.begin(env_problem, max_moves or env.max_moves_fn(env_problem, config))
        if env.is_terminal_state(state):
            raise ProblemError(f"{text!r} is solved already; give another problem")
        if not env.mask(state).any():
            failures = "".join(f"; {failure}" for failure in env.rules.failures.values())
            raise ProblemError(
                f"no rule applies anywhere in {text}; give another problem or other rules{failures}"
            )
        return state

    @cached_property
    def identity(self) -> ScenarioIdentity:
        """Return the identity by which replays recognise the scenario; it depends on the content of
        its files, not on their location."""
        return ScenarioIdentity.from_document(
            self.domain, self.name, self.document, self.changes, self.code
        )

    def watched_files(self) -> tuple[Path, ...]:
        """Return the files that the scenario was read from, and all Python files that it may
        import, to watch them for changes."""
        return list_watched_files(self.document, self.code)

    def reload(self) -> AlgebraScenario:
        """Return a new scenario, read from the current content of the files.

        Raises:
            ScenarioError: the files have errors; the error lists all of them.
        """
        return AlgebraScenario.read(self.document.reload(), self.changes)

    def __reduce__(self) -> tuple[Any, ...]:
        return AlgebraScenario.read, (self.document, self.changes)


def _make_problem(
    env: MathyEnv, text: str, complexity: int | None = None, problem_type: str | None = None
) -> MathyEnvProblem:
    """Return a problem for `env`. By default its complexity is its number of terms, and its type
    the namespace of `env`."""
    if complexity is None:
        complexity = max(1, len(parse(text).term_keys))
    return MathyEnvProblem(text, complexity, problem_type or env.get_env_namespace())


def _sample_problem(
    function: ProblemFunction, params: MathyEnvProblemArgs, env: MathyEnv
) -> MathyEnvProblem:
    """Sample a problem by calling the user-defined `function`. Raise ProblemError if the function
    raises or does not return a problem."""
    try:
        value = function(params, env.rng)
    except Exception as error:  # a user-defined function may raise anything
        file, line, *_ = traceback.extract_tb(error.__traceback__)[-1]
        raise ProblemError(f"{file}:{line}: {type(error).__name__}: {error}") from error
    if isinstance(value, str):
        return _make_problem(env, value)
    parts = tuple(value) if isinstance(value, tuple | list) else ()
    if [type(part) for part in parts[:2]] != [str, int]:
        raise ProblemError(
            f"{code_location(function)}: the problem function "
            f"{getattr(function, '__name__', function)} returned {value!r}: expected a text or "
            f"(text, complexity)"
        )
    return _make_problem(env, *parts[:3])
