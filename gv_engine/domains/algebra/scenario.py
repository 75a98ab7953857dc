"""Scenarios of mathy worlds: which environment is played, how hard, and with which rules."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from gv_engine.domains.algebra.env import MathyEnv
from gv_engine.domains.algebra.library import BaseRule, Order, bound
from gv_engine.domains.algebra.parsing import parse
from gv_engine.domains.algebra.reader import MOST_MOVES, ProblemFunction, Reader
from gv_engine.domains.algebra.state import MathyEnvState, check_moves
from gv_engine.domains.algebra.types import (
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    ProblemError,
    code_place,
)
from gv_engine.rules.call import Call
from gv_engine.rules.system import REWARD, TERMINATING
from gv_engine.rules.turns import SINGLE_AGENT, TurnPolicy
from gv_engine.scenario.document import Document, ScenarioIdentity, list_watched_files
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.scenario.rule_modules import SourceFile

if TYPE_CHECKING:
    from gv_engine.domains.algebra.world import ExpressionWorld


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

    domain: ClassVar[str] = "algebra"
    own_actions: ClassVar[tuple[KeyCommand, ...]] = ()
    sharing: ClassVar[TurnPolicy] = SINGLE_AGENT

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
        reader = Reader(document, changes)
        scenario = cls(document=document, changes=changes, **reader.fields())
        if scenario.problem is not None:
            reader.try_problem(lambda: scenario.first_state(scenario.make_env()))
        return scenario

    def with_(self, **changes: Any) -> MathyScenario:
        """The same scenario but for some keys: `scenario.with_(difficulty="hard")`.

        It has the name of a variant only as long as it differs in nothing but its `max_steps`.
        """
        return MathyScenario.read(self.document, {**self.changes, **changes})

    @cached_property
    def reward_names(self) -> tuple[str, ...]:
        """Names of the systems that can decide what a move is worth."""
        return tuple(call.name for phase in (TERMINATING, REWARD) for call in self.order[phase])

    @property
    def tells_success(self) -> bool:
        """Whether it says of every episode if it was a success."""
        return self.success is not None

    def make_world(self) -> ExpressionWorld:
        """A new world, and an environment in it."""
        from gv_engine.domains.algebra.world import ExpressionWorld  # esper is for those who play

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
            if not 1 <= max_moves <= MOST_MOVES:
                raise ValueError(f"max_moves={max_moves}: allowed are 1 to {MOST_MOVES}")
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

    @cached_property
    def identity(self) -> ScenarioIdentity:
        """Its identity, kept in replays; equal for equal content, wherever the files are."""
        return ScenarioIdentity.from_document(
            self.domain, self.name, self.document, self.changes, self.code
        )

    def watched(self) -> tuple[Path, ...]:
        """The files that it was made of, and all Python files that it might come to use."""
        return list_watched_files(self.document, self.code)

    def loaded_again(self) -> MathyScenario:
        """The same scenario as its files say it now.

        Raises:
            ScenarioError: all that is wrong with them.
        """
        document = self.document.reload()
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
