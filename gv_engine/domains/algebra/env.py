"""Algebra as a game: rewrite an expression, one rule at one node at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gv_engine.domains.algebra.expression import same_value
from gv_engine.domains.algebra.goals import Goals
from gv_engine.domains.algebra.library import USUAL, BaseRule, Bound, ExpressionChangeRule, bound
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.move import Move
from gv_engine.domains.algebra.rule_set import LazyChange, RuleSet, core_rules
from gv_engine.domains.algebra.state import MathyEnvState, check_moves
from gv_engine.domains.algebra.types import (
    INVALID_ACTION_RESPONSES,
    EnvRewards,
    MathyAction,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    ProblemError,
    TimeStep,
    code_place,
    is_terminal_transition,
)
from gv_engine.rules.component import NOTHING
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION, Phase

_MOST_DRAWS = 100
"""ErrorCollector that may be solved already or too long, one after the other."""


class MathyEnv(Goals):
    """A game of simplifying expressions, as functions from state to state.

    The player applies one rewrite rule to one node per move and wins by reaching the goal of the
    environment, in as few moves as possible. States are never changed; the only thing an
    environment changes is its generator, when it draws problems or random actions.

    Args:
        rules: in their order, which numbers the actions; the seven of `core_rules` if None.
        max_moves: of episodes that begin without a problem of the environment's own.
        verbose: print every state.
        error_invalid: raise on an invalid action, whatever `invalid_action_response` says.
        reward_discount: reported along the way.
        max_seq_len: L, the most nodes that an expression may have.
        previous_state_penalty: whether coming back to an expression costs.
        preferred_term_commute: whether 4x may become x * 4, with the rules of `core_rules`.
        invalid_action_response: penalize (nothing changes, and it costs), raise, or terminal (the
            episode is lost).
        rewards: what moves are worth.
        seed: of everything that is drawn; from the system's entropy if None.

    Attributes:
        rng: the one generator.
        discount: along the way.

    Raises:
        ValueError: no such response or rule, no number of moves, or nothing fits into
            `max_seq_len`.
    """

    order: Bound = bound(USUAL)
    """The systems of a move; the first of TERMINATING and REWARD that decides, does."""

    takes_equations = True
    """Whether a problem may be an equation."""

    def __init__(
        self,
        rules: Sequence[BaseRule] | None = None,
        max_moves: int = 20,
        verbose: bool = False,
        error_invalid: bool = False,
        reward_discount: float = 0.99,
        *,
        max_seq_len: int = 128,
        previous_state_penalty: bool = True,
        preferred_term_commute: bool = False,
        invalid_action_response: str = "penalize",
        rewards: EnvRewards | None = None,
        seed: int | None = None,
    ) -> None:
        if invalid_action_response not in INVALID_ACTION_RESPONSES:
            raise ValueError(
                f"invalid_action_response={invalid_action_response!r}: allowed are "
                f"{', '.join(INVALID_ACTION_RESPONSES)}"
            )
        if max_seq_len < 1:
            raise ValueError(f"max_seq_len={max_seq_len}: at least one node must fit")
        self.rules = RuleSet(core_rules(preferred_term_commute) if rules is None else rules)
        check_moves(max_moves)
        self.max_moves = max_moves
        self.verbose = verbose
        self.discount = reward_discount
        self.max_seq_len = max_seq_len
        self.previous_state_penalty = previous_state_penalty
        self.invalid_action_response = "raise" if error_invalid else invalid_action_response
        self.rewards = rewards or EnvRewards()
        self.rng = np.random.default_rng(seed)

    # ---- episodes -----------------------------------------------------------------------------

    def get_initial_state(
        self, params: MathyEnvProblemArgs | str | None = None, print_problem: bool = True
    ) -> tuple[MathyEnvState, MathyEnvProblem]:
        """Draw a problem that is not solved yet, and begin an episode with it.

        Args:
            params: or a difficulty alone; easy if None.
            print_problem: print it, in an environment that is verbose.

        Raises:
            ProblemError: nothing is drawn but what is solved already or too long; or what is drawn
                is no problem, or an equation where there is none to be.
        """
        config = MathyEnvProblemArgs(params) if isinstance(params, str) else params
        config = config or MathyEnvProblemArgs()
        for _ in range(_MOST_DRAWS):
            problem = self.problem_fn(config)
            if not isinstance(problem, MathyEnvProblem):
                raise ProblemError(
                    f"{code_place(self.problem_fn)}: problem_fn of {type(self).__name__} returned "
                    f"{problem!r}: expected a MathyEnvProblem"
                )
            moves = self.max_moves_fn(problem, config)
            state = self._opened(problem, moves)
            if state.root.size <= self.max_seq_len and not self.is_terminal_state(state):
                break
        else:
            raise ProblemError(
                f"{_MOST_DRAWS} problems in a row were solved already or had more than "
                f"max_seq_len={self.max_seq_len} nodes: {problem.text}"
            )
        self.max_moves = state.max_moves
        if print_problem and self.verbose:
            self.print_state(state, "initial-state")
        return state, problem

    def begin(self, problem: MathyEnvProblem, max_moves: int) -> MathyEnvState:
        """The first state of an episode.

        Raises:
            ProblemError: the expression has more than `max_seq_len` nodes, or is an equation where
                there is none to be.
            ExpressionError: it is none.
        """
        state = self._opened(problem, max_moves)
        if state.root.size > self.max_seq_len:
            raise ProblemError(
                f"{problem.text!r} has {state.root.size} nodes, and max_seq_len={self.max_seq_len} "
                f"is all there is room for; make max_seq_len larger"
            )
        return state

    def _opened(self, problem: MathyEnvProblem, max_moves: int) -> MathyEnvState:
        state = MathyEnvState(problem.text, max_moves, problem.type)
        if state.root.kind is lib.EqualExpression and not self.takes_equations:
            raise ProblemError(
                f"{problem.text!r} is an equation, and {type(self).__name__} takes none; give an "
                f"expression without ="
            )
        return state

    def get_next_state(
        self, env_state: MathyEnvState, action: MathyAction, searching: bool = False
    ) -> tuple[MathyEnvState, TimeStep, ExpressionChangeRule]:
        """Take a move.

        Args:
            env_state: stays as it is.
            action: a number or a pair.
            searching: nothing is printed.

        Returns:
            The next state; what came of the move; and the change that mathy_core made, whose
            `result` is None after an invalid move.

        Raises:
            ValueError: the episode is over; or the move is invalid, in an environment that raises.
        """
        if self._is_over(env_state):
            raise ValueError(f"the episode is over: {env_state.agent.problem!r} has no next state")
        pair, valid = self.checked(env_state, action)
        move = Move(self, env_state, pair, valid)
        verdict = self._judged(move, TRANSITION, TERMINATING, REWARD)
        state = move.state
        if not valid:
            return state, verdict, ExpressionChangeRule(BaseRule())
        change = LazyChange(self.rules, env_state.root, pair[1], pair[0])
        if self.verbose and not searching:
            rule = self.rules[pair[0]].name
            self.print_state(state, rule, pair[1], change, verdict.reward)
        return state, verdict, change

    def get_state_transition(self, env_state: MathyEnvState, searching: bool = False) -> TimeStep:
        """The timestep of a state, given the move that has led to it."""
        move = Move(self, env_state, env_state.agent.history[-1].action)
        return self._judged(move, TERMINATING, REWARD)

    def _judged(self, move: Move, *phases: Phase) -> TimeStep:
        """The timestep of a move: systems look at it until one of them decides."""
        for phase in phases:
            for call in self.order[phase]:
                move.asked = call.call
                call.run(move, NOTHING)
                if move.verdict is not None:
                    return move.settle()
        return move.settle()

    def is_terminal_state(self, env_state: MathyEnvState) -> bool:
        """Whether the episode is over."""
        return is_terminal_transition(self.get_state_transition(env_state))

    def _is_over(self, state: MathyEnvState) -> bool:
        if state._over is None:
            state._over = state.agent.moves_remaining <= 0 or self.is_terminal_state(state)
        return state._over

    def finalize_state(self, state: MathyEnvState) -> None:
        """Make sure that the last expression has the variables and the value of the first.

        Raises:
            ValueError: it has not.
        """
        history = state.agent.history
        first, last = (MathyEnvState(step.raw).root for step in (history[0], history[-1]))
        names = [
            sorted({n.name for n in root.in_order() if n.kind is lib.VariableExpression})
            for root in (first, last)
        ]
        if names[0] != names[1]:
            raise ValueError(f"{first.text} and {last.text} have different variables")
        points = tuple(
            {name: int(self.rng.integers(1, 101)) for name in names[0]} for _ in range(3)
        )
        if not same_value(first, last, points):
            raise ValueError(f"{first.text} and {last.text} have different values")

    # ---- what is seen -------------------------------------------------------------------------

    def to_hash_key(self, env_state: MathyEnvState) -> str:
        """A text that is the same for states of the same expression only."""
        return env_state.agent.problem

    def render_state(
        self,
        env_state: MathyEnvState,
        action_name: str,
        token_index: int = -1,
        change: ExpressionChangeRule | None = None,
        change_reward: float = 0.0,
        pretty: bool = False,
    ) -> str:
        """One line: valid actions | rules that apply | moves left | reward | move | expression.

        Args:
            env_state: what is shown.
            action_name: what has led to it.
            token_index: the node that was acted on.
            change: what is coloured in the expression.
            change_reward: of the move.
            pretty: only the last two columns.
        """
        shown = env_state.agent.problem
        if change is not None and change.result is not None:
            shown = change.result.get_root().terminal_text
        line = f"{f'{action_name.lower()}({token_index})':<25} | {shown}"
        if pretty:
            return line
        mask = self.mask(env_state)
        somewhere = self.get_valid_rules(env_state)
        codes = " ".join(
            rule.code.lower() if usable else "--"
            for rule, usable in zip(self.rules, somewhere, strict=True)
        )
        left = env_state.agent.moves_remaining
        return f"{mask.sum():03} | {codes} | {left:02} | {f'{change_reward:.2}':<5} | {line}"

    def print_state(self, *shown: Any, **how: Any) -> None:
        """Print what `render_state` returns for these arguments."""
        print(self.render_state(*shown, **how), flush=True)

    def print_history(self, env_state: MathyEnvState, pretty: bool = True) -> None:
        """Print the episode that has led to a state, a line for each expression."""
        first, *steps = env_state.agent.history
        state = MathyEnvState(first.raw, env_state.max_moves, env_state.agent.problem_type)
        self.print_state(state, "initial-state", pretty=pretty)
        for step in steps:
            state, timestep, change = self.get_next_state(state, step.action, searching=True)
            rule = self.rules[step.action[0]]
            self.print_state(state, rule.name, step.action[1], change, timestep.reward, pretty)
