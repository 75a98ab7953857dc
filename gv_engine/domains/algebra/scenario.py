"""Scenarios of algebra: the environment, the difficulty, the rules and the rewards."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gv_engine.domains.algebra import types
from gv_engine.domains.algebra.env import MathyEnv
from gv_engine.domains.algebra.library import BaseRule, Order, bind_order, code_location
from gv_engine.domains.algebra.parsing import parse
from gv_engine.domains.algebra.reader import MAX_MOVES, AlgebraReader, ProblemFunction
from gv_engine.domains.algebra.state import MathyEnvState, check_max_moves
from gv_engine.domains.algebra.types import MathyEnvProblem, MathyEnvProblemArgs
from gv_engine.rules.system import REWARD, TERMINATING, Call
from gv_engine.rules.turns import SINGLE_AGENT, TurnPolicy
from gv_engine.scenario.document import Document, ScenarioIdentity, list_watched_files
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.scenario.rule_modules import SourceFile

if TYPE_CHECKING:
    from gv_engine.domains.algebra.world import ExpressionWorld


@dataclass(frozen=True, eq=False, repr=False)
class AlgebraScenario:
    """Immutable scenario of algebra.

    Attributes:
        name: name of the scenario, by default that of its file.
        description: text for the reader, by default from the environment's docstring.
        environment: class that samples problems and decides when they are solved.
        difficulty: difficulty of the sampled problems.
        problem: expression that every episode begins with; None to sample problems.
        problem_function: function that samples problems instead of the environment.
        max_moves: moves allowed in an episode; None for those of the problem.
        max_steps: step limit of an episode; None for three times its moves.
        rules: rules, whose order numbers the actions; None for those of the environment.
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
    sharing: ClassVar[TurnPolicy] = SINGLE_AGENT

    name: str
    description: str
    environment: type[MathyEnv]
    difficulty: types.MathyEnvDifficulty
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
    def read(cls, document: Document, changes: Mapping[str, Any]) -> AlgebraScenario:
        """Return the scenario that a scenario file describes, with `changes` in place of the values
        of some keys.

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
        """Return a copy of the scenario in which some keys have other values:
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
        """Return a new object world of the scenario, with a new environment."""
        from gv_engine.domains.algebra.world import ExpressionWorld  # imports esper

        return ExpressionWorld(self.make_env(), self.max_steps, self.success)

    def make_env(self) -> MathyEnv:
        """Return a new environment of the scenario, with a random generator that is seeded by the
        system."""
        options = dict(self.options)
        if self.rules is not None:
            options["rules"] = self.rules
        env = self.environment(**options)
        env.order = bind_order(self.order)
        function, moves = self.problem_function, self.max_moves
        if function is not None:
            env.problem_fn = lambda params: _sample(function, params, env)  # type: ignore[method-assign]  # for this one
        if moves is not None:
            env.max_moves_fn = lambda problem, config: moves  # type: ignore[method-assign]  # for this one
        return env

    def first_state(
        self, env: MathyEnv, problem: str | None = None, max_moves: int | None = None
    ) -> MathyEnvState:
        """Return the first state of a new episode in the environment `env`.

        Args:
            env: environment from `make_env`; samples the problem.
            problem: text of the problem, instead of the scenario's.
            max_moves: number of allowed moves, instead of the scenario's.

        Raises:
            ProblemError: the problem is solved already, too long, or no text.
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
            raise types.ProblemError(f"problem={text!r}: expected the text of an expression")
        env_problem = _to_problem(text, env)
        state = env.begin(env_problem, max_moves or env.max_moves_fn(env_problem, config))
        if env.is_terminal_state(state):
            raise types.ProblemError(f"{text!r} is solved already; give another problem")
        return state

    @cached_property
    def identity(self) -> ScenarioIdentity:
        """Return what replays store to recognise the scenario: equal for equal content, wherever
        its files are."""
        return ScenarioIdentity.from_document(
            self.domain, self.name, self.document, self.changes, self.code
        )

    def watched_files(self) -> tuple[Path, ...]:
        """Return the files that the scenario was read from, and all Python files that it may
        import."""
        return list_watched_files(self.document, self.code)

    def reload(self) -> AlgebraScenario:
        """Return the scenario, read again from its files, which may have changed.

        Raises:
            ScenarioError: the files have errors; the error lists all of them.
        """
        document = self.document.reload()
        return AlgebraScenario.read(document, self.changes)

    def __repr__(self) -> str:
        return f"<AlgebraScenario {self.name!r}>"

    def __copy__(self) -> AlgebraScenario:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> AlgebraScenario:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return AlgebraScenario.read, (self.document, self.changes)


def _to_problem(value: Any, env: MathyEnv, fn: ProblemFunction | None = None) -> MathyEnvProblem:
    """Return a problem for `env` from `value`: a text, or the result of the problem function
    `fn`."""
    text, complexity, *kind = (value, None) if isinstance(value, str) else _parts(value, fn)
    if complexity is None:
        complexity = max(1, len(parse(text).term_keys))
    return MathyEnvProblem(text, complexity, kind[0] if kind else env.get_env_namespace())


def _sample(fn: ProblemFunction, params: MathyEnvProblemArgs, env: MathyEnv) -> MathyEnvProblem:
    """Call the user-defined function `fn`, which samples a problem; return the problem."""
    try:
        value = fn(params, env.rng)
    except Exception as error:  # a user-defined function may raise anything
        file, line, *_ = traceback.extract_tb(error.__traceback__)[-1]
        raise types.ProblemError(f"{file}:{line}: {type(error).__name__}: {error}") from error
    return _to_problem(value, env, fn)


def _parts(value: Any, fn: ProblemFunction | None) -> tuple[Any, ...]:
    """Return the result `value` of the problem function `fn` as a tuple (text, complexity, ...);
    raise ProblemError if it has another form."""
    parts = tuple(value) if isinstance(value, tuple | list) else ()
    if [type(part) for part in parts[:2]] != [str, int]:
        raise types.ProblemError(
            f"{code_location(fn)}: the problem function "
            f"{getattr(fn, '__name__', fn)} returned {value!r}: expected a text or "
            f"(text, complexity)"
        )
    return parts
