"""Scenarios of mathy worlds: which environment is played, how hard, and with which rules."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gv_engine.families.algebra.env import MathyEnv
from gv_engine.families.algebra.environments import ENVIRONMENTS
from gv_engine.families.algebra.library import BaseRule
from gv_engine.families.algebra.library import rules as lib_rules
from gv_engine.families.algebra.order import SUCCESSES, SYSTEMS, USUAL, Order, bound
from gv_engine.families.algebra.parsing import ExpressionError, parse
from gv_engine.families.algebra.state import MathyEnvState, check_moves
from gv_engine.families.algebra.types import (
    INVALID_ACTION_RESPONSES,
    EnvRewards,
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    ProblemError,
    code_place,
)
from gv_engine.language.call import Call, is_nested
from gv_engine.language.errors import GVEngineError
from gv_engine.language.system import (
    REWARD,
    TERMINATING,
    TRANSITION,
    Phase,
    System,
)
from gv_engine.reading.calls import Calls
from gv_engine.reading.document import Document
from gv_engine.reading.identity import ScenarioIdentity, watched
from gv_engine.reading.names import Names
from gv_engine.reading.rule_files import SourceFile, sources
from gv_engine.reading.values import (
    Problems,
    Wrong,
    YamlNode,
    check_keys,
    instead,
    integer,
    items,
    mapping,
    number,
    one_of,
    truth,
    word,
    words,
)

if TYPE_CHECKING:
    from gv_engine.families.algebra.episode import MathyEpisode
    from gv_engine.families.algebra.world import ExpressionWorld

RULES: dict[str, type[BaseRule]] = {
    getattr(lib_rules, name)().name.lower().replace(" ", "_"): getattr(lib_rules, name)
    for name in lib_rules.__all__
}
"""The rules of mathy_core, by the names that scenario files give them."""

ProblemFunction = Callable[[MathyEnvProblemArgs, np.random.Generator], Any]
"""Draws a problem: a text, (text, complexity), or a `MathyEnvProblem`."""

_MOST_MOVES = 10_000
_LONGEST = 1024


@dataclass(frozen=True, eq=False, repr=False)
class MathyScenario:
    """A game of algebra; never changed.

    Attributes:
        name: by default the file's.
        description: for people; by default the environment's.
        environment: the class that draws problems and says when they are solved.
        difficulty: easy, normal or hard.
        problem: the one expression that every episode begins with; drawn if None.
        problem_function: draws problems instead of the environment.
        max_moves: instead of the environment's.
        max_steps: an episode is cut off after so many; three times its moves if None.
        rules: in the order that numbers the actions; the environment's if None.
        options: what the environment is made with besides.
        order: the systems of each phase with their parameters, in their order.
        success: what is true where an episode ends well; None if the scenario does not say.
        source: the file; None if the scenario came as a mapping.
        document: what was read, to be read again in another process.
        changes: keys that were replaced in it.
        code: the Python files of its own that it uses, as they were when they were loaded.
    """

    family: ClassVar[str] = "mathy"

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
    order: Order
    success: Call | None
    source: Path | None
    document: Document = field(repr=False)
    changes: Mapping[str, Any] = field(default_factory=dict, repr=False)
    code: tuple[SourceFile, ...] = field(default=(), repr=False)

    @classmethod
    def read(cls, document: Document, changes: Mapping[str, Any]) -> MathyScenario:
        """The scenario that a document describes.

        Args:
            document: what a file or a mapping holds.
            changes: keys that are replaced: `difficulty`, `max_steps`.

        Raises:
            ScenarioError: all that is wrong with it.
        """
        reader = _Reader(document, changes)
        scenario = cls(document=document, changes=changes, **reader.fields())
        reader.begin(scenario)
        return scenario

    def with_(self, **changes: Any) -> MathyScenario:
        """The same scenario but for some keys: `scenario.with_(difficulty="hard")`."""
        return MathyScenario.read(self.document, {**self.changes, **changes})

    @property
    def reward_names(self) -> tuple[str, ...]:
        """Names of the systems that can decide what a move is worth."""
        return tuple(call.name for phase in (TERMINATING, REWARD) for call in self.order[phase])

    @property
    def tells_success(self) -> bool:
        """Whether it says of every episode if it was a success."""
        return self.success is not None

    def make_world(self) -> ExpressionWorld:
        """A new world, and an environment in it."""
        from gv_engine.families.algebra.world import ExpressionWorld  # esper is for those who play

        return ExpressionWorld(self.make_env(), self.max_steps, self.success)

    def make_env(self) -> MathyEnv:
        """A new environment; its generator comes from the system's entropy."""
        options = dict(self.options)
        if self.rules is not None:
            options["rules"] = self.rules
        env = self.environment(**options)
        env.order = bound(self.order)
        draw, moves = self.problem_function, self.max_moves
        if draw is not None:
            env.problem_fn = lambda params: _drawn(draw, params, env)  # type: ignore[method-assign]  # for this one
        if moves is not None:
            env.max_moves_fn = lambda problem, config: moves  # type: ignore[method-assign]  # for this one
        return env

    def first_state(
        self, env: MathyEnv, problem: str | None = None, max_moves: int | None = None
    ) -> MathyEnvState:
        """Begin an episode.

        Args:
            env: what `make_env` has made; draws the problem.
            problem: a text to begin with, instead of the scenario's.
            max_moves: instead of the scenario's.

        Raises:
            ProblemError: the text is solved already, or too long, or none.
            ExpressionError: it is no expression.
            ValueError: that is no number of moves.
        """
        if max_moves is not None:
            check_moves(max_moves)
            if not 1 <= max_moves <= _MOST_MOVES:
                raise ValueError(f"max_moves={max_moves}: allowed are 1 to {_MOST_MOVES}")
        text = self.problem if problem is None else problem
        config = MathyEnvProblemArgs(self.difficulty)
        if text is None:
            state = env.get_initial_state(config, print_problem=False)[0]
            if max_moves is None:
                return state
            return MathyEnvState(state.agent.problem, max_moves, state.agent.problem_type)
        if not isinstance(text, str):
            raise ProblemError(f"problem={text!r}: expected the text of an expression")
        given = _problem(text, env)
        state = env.begin(given, max_moves or env.max_moves_fn(given, config))
        if env.is_terminal_state(state):
            raise ProblemError(f"{text!r} is solved already; give another problem")
        return state

    def episode(self) -> MathyEpisode:
        """Something to play it in, for games and replays."""
        from gv_engine.families.algebra.episode import MathyEpisode  # which plays scenarios

        return MathyEpisode(self)

    @cached_property
    def identity(self) -> ScenarioIdentity:
        """Its identity, kept in replays; equal for equal content, wherever the files are."""
        return ScenarioIdentity.of(self.family, self.name, self.document, self.changes, self.code)

    def watched(self) -> tuple[Path, ...]:
        """The files that it was made of, and all Python files that it might come to use."""
        return watched(self.source, self.code)

    def loaded_again(self) -> MathyScenario:
        """The same scenario as its files say it now.

        Raises:
            ScenarioError: all that is wrong with them.
        """
        document = self.document.again()
        return MathyScenario.read(document, self.changes)

    def __repr__(self) -> str:
        return f"<MathyScenario {self.name!r}>"

    def __copy__(self) -> MathyScenario:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> MathyScenario:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return MathyScenario.read, (self.document, self.changes)


def _problem(given: Any, env: MathyEnv, draw: ProblemFunction | None = None) -> MathyEnvProblem:
    """A problem from a text, or from what a problem function returns."""
    text, complexity, *kind = (given, None) if isinstance(given, str) else _parts(given, draw)
    if complexity is None:
        complexity = max(1, len(parse(text).likes))
    return MathyEnvProblem(text, complexity, kind[0] if kind else env.get_env_namespace())


def _drawn(draw: ProblemFunction, params: MathyEnvProblemArgs, env: MathyEnv) -> MathyEnvProblem:
    try:
        given = draw(params, env.rng)
    except Exception as error:  # whatever an author's function may raise
        file, line, *_ = traceback.extract_tb(error.__traceback__)[-1]
        raise ProblemError(f"{file}:{line}: {type(error).__name__}: {error}") from error
    return _problem(given, env, draw)


def _parts(given: Any, draw: ProblemFunction | None) -> tuple[Any, ...]:
    parts = tuple(given) if isinstance(given, tuple | list) else ()
    if [type(part) for part in parts[:2]] != [str, int]:
        raise ProblemError(
            f"{code_place(draw)}: the problem function {getattr(draw, '__name__', draw)} returned "
            f"{given!r}: expected a text or (text, complexity)"
        )
    return parts


class _Names(Names):
    """Names that stand for what algebra worlds know."""

    successes = False
    """Whether functions of TERMINATING are asked what a success is."""

    def system(self, node: YamlNode, phase: Phase, *, processors: bool = False) -> System:
        if ":" in word(node):
            return super().system(node, phase)
        known, what = SYSTEMS.get(phase, {}), phase.label
        if self.successes:
            known, what = SUCCESSES, "success function"
        return list(known.values())[one_of(node, known, what)]

    def _function_of_states(self, node: YamlNode, thing: Any, phase: Phase) -> System:
        raise Wrong(node, f"{node.text} is no system; decorate it with @system({phase.name})")


class _Reader:
    """Reads the keys of a scenario file."""

    def __init__(self, document: Document, changes: Mapping[str, Any]) -> None:
        self.document = document
        self.changes = changes
        self.problems = document.problems or Problems(document.label)
        self.names = _Names(document.folder, document.trust)
        self.entries = check_keys(self.problems, document.root, [*_KEYS, *_OPTIONS])
        for key, value in changes.items():
            self.entries[key] = YamlNode(value, key, text=str(value))
        for key in ("environment", "problem_function", "rules", *_PHASES):
            if key in self.entries:
                self.names.preload(self.entries[key])

    def fields(self) -> dict[str, Any]:
        """The fields of the scenario.

        Raises:
            ScenarioError: with all problems.
        """
        environment = self.key("environment", self.environment, None)
        if "environment" not in self.entries:
            node = YamlNode(None, "environment", self.document.root.line)
            self.problems.add(
                node, f"missing; a mathy scenario needs it{instead('', ENVIRONMENTS)}"
            )
        options = {
            name: value
            for name, read in _OPTIONS.items()
            for value in [self.key(name, read, None)]
            if value is not None
        }
        if "rewards" in self.entries:
            options["rewards"] = self.key("rewards", self.rewards, EnvRewards())
        found = {
            "environment": environment,
            "difficulty": self.key("difficulty", _difficulty, MathyEnvDifficulty.easy),
            "problem": self.key("problem", _expression, None),
            "problem_function": self.key("problem_function", self.problem_function, None),
            "max_moves": self.key("max_moves", _moves, None),
            "max_steps": self.key("max_steps", _moves, None),
            "rules": self.key("rules", self.rules, None),
            "options": options,
            "order": {**USUAL, **self.order()},
            "success": self.key("success_function", self.success, None),
            "source": self.document.source,
            "code": tuple(sources(self.names.modules.values())),
        }
        self.check_source_of_problems(environment)
        self.problems.raise_if_any()
        doc = inspect.getdoc(environment) or ""
        found["name"] = self.key("name", word, self.document.default_name)
        found["description"] = self.key(
            "description", words, " ".join(doc.split("\n\n")[0].split())
        )
        self.problems.raise_if_any()
        return found

    def check_source_of_problems(self, environment: type[MathyEnv] | None) -> None:
        """Problems come from one place, and the environment has what they need."""
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

    def begin(self, scenario: MathyScenario) -> None:
        """Begin with the one problem that there is, if there is one.

        Raises:
            ScenarioError: no episode can begin with it.
        """
        if scenario.problem is not None:
            try:
                scenario.first_state(scenario.make_env())
            except GVEngineError as error:
                self.problems.add(self.entries["problem"], str(error))
        self.problems.raise_if_any()

    def success(self, node: YamlNode) -> Call:
        """A function of the world, by name or reference."""
        names = copy.copy(self.names)
        names.successes = True
        return Calls(self.problems, names).call(node, TERMINATING)

    def order(self) -> Order:
        """The systems of the phases that the file lists."""
        return {
            phase: self.key(key, partial(self.calls, phase=phase), ())
            for key, phase in _PHASES.items()
            if key in self.entries
        }

    def calls(self, node: YamlNode, phase: Phase) -> tuple[Call, ...]:
        """Systems of a phase, in their order."""
        found = Calls(self.problems, self.names).calls(node, phase)
        for call in found:
            if call.system.remember or any(map(is_nested, call.arguments.values())):
                raise Wrong(
                    node,
                    f"{call.system.title} remembers something or takes other functions; systems of "
                    f"algebra take numbers and texts",
                )
        return found

    def problem_function(self, node: YamlNode) -> ProblemFunction:
        """A function of difficulty and generator."""
        found = self.names.function(node)
        signature = inspect.signature(found)
        try:
            signature.bind(None, None)
        except TypeError as error:
            raise Wrong(
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
        if ":" not in word(node):
            return list(ENVIRONMENTS.values())[one_of(node, ENVIRONMENTS, "environment")]
        thing = self.names.thing(node)
        if not (isinstance(thing, type) and issubclass(thing, MathyEnv)):
            raise Wrong(node, f"{node.text} is no subclass of gv_engine.mathy.MathyEnv")
        return thing

    def rules(self, node: YamlNode) -> tuple[BaseRule, ...]:
        """Rules, in their order."""
        found = []
        for item in items(node):
            with self.problems.collect():
                found.append(self.rule(item))
        if not items(node):
            raise Wrong(node, "found an empty list, expected at least one rule")
        return tuple(found)

    def rule(self, node: YamlNode) -> BaseRule:
        """A rule: a name, or `{name: …}` with what its class takes."""
        entries = mapping(node) if isinstance(node.value, dict) else {"name": node}
        if "name" not in entries:
            raise Wrong(node, "a rule needs its name: {name: …}")
        name = entries["name"]
        if ":" in word(name):
            rule = self.names.thing(name)
            if not (isinstance(rule, type) and issubclass(rule, BaseRule)):
                raise Wrong(name, f"{name.text} is no subclass of mathy_core.rule.BaseRule")
        else:
            rule = list(RULES.values())[one_of(name, RULES, "rule")]
        given = {key: value.value for key, value in entries.items() if key != "name"}
        try:
            inspect.signature(rule).bind(**given)
            made: BaseRule = rule(**given)
        except Exception as error:  # whatever a rule of one's own may raise
            raise Wrong(node, f"{name.text} cannot be made: {error}") from None
        return made

    def rewards(self, node: YamlNode) -> EnvRewards:
        """Rewards by name, the others as they are."""
        names = [f.name for f in dataclasses.fields(EnvRewards)]
        entries = check_keys(self.problems, node, names)
        given = {}
        for key, value in entries.items():
            with self.problems.collect():
                given[key] = number(value)
        return EnvRewards(**given)


def _difficulty(node: YamlNode) -> MathyEnvDifficulty:
    return list(MathyEnvDifficulty)[
        one_of(node, [d.value for d in MathyEnvDifficulty], "difficulty")
    ]


def _expression(node: YamlNode) -> str:
    try:
        parse(word(node))
    except ExpressionError as error:
        raise Wrong(node, str(error)) from None
    return word(node)


def _moves(node: YamlNode) -> int:
    return integer(node, 1, _MOST_MOVES)


def _response(node: YamlNode) -> str:
    return INVALID_ACTION_RESPONSES[one_of(node, INVALID_ACTION_RESPONSES, "response")]


_PHASES = {f"{phase.name.lower()}_functions": phase for phase in (TRANSITION, TERMINATING, REWARD)}
"""Keys that list systems in their order."""
_KEYS = (
    "family",
    "name",
    "description",
    "environment",
    "difficulty",
    "problem",
    "problem_function",
    "max_moves",
    "max_steps",
    "rules",
    "rewards",
    "success_function",
    *_PHASES,
)
_OPTIONS: dict[str, Callable[[YamlNode], Any]] = {
    "max_seq_len": lambda node: integer(node, 1, _LONGEST),
    "invalid_action_response": _response,
    "previous_state_penalty": truth,
    "preferred_term_commute": truth,
    "reward_discount": number,
}
"""Keys that the environment itself takes."""
