"""Environment of algebra: rewrite an expression, one rule at one node per move."""

from __future__ import annotations

import operator
import traceback
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.algebra import library, rule_set, state
from gv_engine.plugins.algebra.expression import POINTS, compare_values
from gv_engine.plugins.algebra.library import BaseRule, ExpressionChangeRule, code_location, util
from gv_engine.plugins.algebra.library import expressions as lib
from gv_engine.plugins.algebra.library import rules as lib_rules
from gv_engine.plugins.algebra.parser import find_spans
from gv_engine.plugins.algebra.rule_set import LazyChange, RuleSet, from_library
from gv_engine.plugins.algebra.state import (
    START,
    EnvRewards,
    MathyAction,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    MathyEnvState,
    MathyObservation,
    ProblemError,
    TimeStep,
    check_max_moves,
    observe,
)
from gv_engine.plugins.algebra.systems import Rewriting
from gv_engine.rules.component import NOTHING
from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION, Call, Phase

RuleType = type[BaseRule]


class GoalError(GVEngineError, TypeError):
    """`transition_fn` returned something that is no timestep."""


class Move(Rewriting):
    """Move of an environment: the state, the action and the outcome that systems decide.

    Attributes:
        env: environment with the rules and rewards.
        state: state before the transition; afterwards the state reached.
        action: (rule, node); (-1, -1) at the start of an episode.
        valid: the rule applies to the node.
        last_call: call of the system that decided, or drew, last.
        verdict: resulting timestep; None until a system has decided.
        decided_by: name of the system that decided.
        reward: reward of the verdict.
    """

    last_call: Call

    def __init__(
        self, env: MathyEnv, state: MathyEnvState, action: tuple[int, int], valid: bool = True
    ) -> None:
        self.env = env
        self.reward = 0.0
        self.begin(state, action, valid)

    def begin(self, state: MathyEnvState, action: tuple[int, int], valid: bool = True) -> None:
        """Reuse this object for a new move from `state`. `action` is a pair (rule, node). `valid`
        is False if the rule does not apply to the node."""
        self.state = state
        self.action = action
        self.valid = valid
        self.verdict: TimeStep | None = None
        self.decided_by = ""

    @property
    def rule(self) -> BaseRule | None:
        """Return the rule of the action; None at the start of an episode."""
        return None if self.action == START else self.env.rules[self.action[0]]

    @property
    def rewards(self) -> EnvRewards:
        """Return the rewards of the environment."""
        return self.env.rewards

    @property
    def tolerates_invalid(self) -> bool:
        """Return True if an invalid action does not end the episode."""
        return self.env.invalid_action_response != "terminal"

    @property
    def fits_observation(self) -> bool:
        """Return True if the expression has at most `max_seq_len` nodes."""
        return self.state.root.size <= self.env.max_seq_len

    @property
    def moves_remaining(self) -> int:
        """Return the number of moves left."""
        return self.state.agent.moves_remaining

    @property
    def visits(self) -> int:
        """Return how often the history of the episode contains the current expression, compared by
        its printed text.

        A rule may leave `7 * a * j`, which prints as `7a * j` once it is parsed. The visits of the
        latter text are counted. Returns 0 if the environment has no penalty for revisits.
        """
        return self.state.visits if self.env.previous_state_penalty else 0

    @property
    def has_rewarded_rule(self) -> bool:
        """Return True if moves of this rule are rewarded."""
        return isinstance(self.rule, tuple(self.env.get_rewarding_actions(self.state)))

    @property
    def has_penalized_rule(self) -> bool:
        """Return True if moves of this rule are penalised."""
        return isinstance(self.rule, tuple(self.env.get_penalizing_actions(self.state)))

    def rewrite(self) -> None:
        """Apply the rule of the move to its node, and set `state` to the resulting state."""
        number, node = self.action
        text, root = self.env.rules.apply(self.state.root, node, number)
        self.state = self.state.after_move(self.action, text, root)

    def check_goal(self) -> None:
        """Set `verdict` to the timestep that the environment's `goal` returns for the state; None
        if the goal decides nothing."""
        self.verdict = self.env.goal(self.state)

    def score(self, reward: float, discount: float | None = None) -> None:
        """Set `verdict` to a timestep with this reward, after which the episode goes on; `discount`
        is by default the environment's."""
        discount = self.env.discount if discount is None else discount
        self.verdict = state.transition(self._lazy_observation(), reward, discount)

    def end(self, reward: float) -> None:
        """Set the verdict: the episode ends, with this reward."""
        self.verdict = state.termination(self._lazy_observation(), reward)

    def lose(self) -> None:
        """Set the verdict: the episode is lost."""
        self.end(self.env.get_lose_signal(self.state))

    def give_up(self) -> None:
        """Set the number of moves left to 0, and `verdict` to a loss."""
        self.state = self.state.without_moves()
        self.lose()

    def finish(self) -> TimeStep:
        """Return the timestep with the reward and end of episode that the systems have decided; the
        reward is 0 if none has. Store both in the state too."""
        if self.verdict is None:
            self.score(0.0)
        else:
            self.decided_by = self.last_call.name  # no system runs after the one that decides
        verdict = self.verdict
        assert verdict is not None
        self.reward = verdict.reward
        self.state._over = state.is_terminal_transition(verdict)
        if self.valid:
            self.state.agent.reward = verdict.reward
        return verdict

    def _lazy_observation(self) -> partial[MathyObservation]:
        return partial(self.env.state_to_observation, self.state)


_MAX_ATTEMPTS = 100
"""Attempts to sample a problem that can be played."""


class MathyEnv:
    """Environment of algebra problems, with methods that return new states: `get_initial_state`
    samples a problem, and `get_next_state` applies a move.

    A move applies one rewrite rule to one node. An episode is won by reaching the environment's
    goal, in as few moves as possible. States are immutable; only the generator changes when
    problems or random actions are sampled.

    Args:
        rules: rewrite rules in the order of the action numbers; None for the seven of `core_rules`.
        max_moves: moves allowed in episodes without a sampled problem.
        verbose: print every state.
        error_invalid: raise on an invalid action, as with `invalid_action_response="raise"`.
        reward_discount: discount that is reported while the episode goes on.
        max_seq_len: L, the maximum number of nodes of an expression.
        previous_state_penalty: penalise returning to an earlier expression.
        preferred_term_commute: 4x may become x * 4; for the rules of `core_rules`.
        invalid_action_response: "penalize" (negative reward, no change), "raise" (ValueError) or
            "terminal" (the episode is lost).
        rewards: rewards of moves.
        seed: seed of the generator; from the system's entropy if None.

    Attributes:
        rng: generator of all random choices.
        discount: discount that is reported while the episode goes on.

    Raises:
        ValueError: the response, a rule, `max_moves` or `max_seq_len` is not allowed.
    """

    order = library.bind_order(library.DEFAULT_ORDER)
    """Systems of a move. The first of TERMINATING or REWARD that sets the verdict decides."""

    takes_equations = True
    """True if a problem may be an equation."""

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
        """Make an environment with these rewrite rules and rewards. The class docstring explains
        the arguments."""
        if invalid_action_response not in state.INVALID_ACTION_RESPONSES:
            raise ValueError(
                f"invalid_action_response={invalid_action_response!r}: allowed are "
                f"{', '.join(state.INVALID_ACTION_RESPONSES)}"
            )
        if max_seq_len < 1:
            raise ValueError(f"max_seq_len={max_seq_len}: at least one node must fit")
        self.rules = RuleSet(self.core_rules(preferred_term_commute) if rules is None else rules)
        check_max_moves(max_moves)
        self.max_moves = max_moves
        self.verbose = verbose
        self.discount = reward_discount
        self.max_seq_len = max_seq_len
        self.previous_state_penalty = previous_state_penalty
        self.invalid_action_response = "raise" if error_invalid else invalid_action_response
        self.rewards = rewards or EnvRewards()
        self.rng = np.random.default_rng(seed)

    @classmethod
    def core_rules(cls, preferred_term_commute: bool = False) -> list[BaseRule]:
        """Return a new list of the seven default rules, in their order.

        Args:
            preferred_term_commute: 4x may become x * 4.
        """
        return rule_set.core_rules(preferred_term_commute)

    # ---- goals, for subclasses to override ----------------------------------------------------

    def get_env_namespace(self) -> str:
        """Return the unique dotted name of the environment, such as `mycompany.envs.differentiate`.
        Subclasses override this method.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no namespace: override this method")

    def problem_fn(self, params: MathyEnvProblemArgs) -> MathyEnvProblem:
        """Sample a problem of the size and difficulty in `params`, using only `self.rng` for
        randomness. Subclasses override this method.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no problems: override this method")

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """Return the number of moves allowed in an episode with this problem."""
        return problem.complexity * 3

    def transition_fn(
        self, env_state: MathyEnvState, expression: lib.MathExpression, features: MathyObservation
    ) -> TimeStep | None:
        """Return the environment's own timestep (reward and end of episode) for the state after a
        move; None, the default, leaves the decision to the reward rules. Subclasses override this
        method.

        Args:
            env_state: state reached by a move.
            expression: tree of the state, in mathy_core's nodes.
            features: observation of the state.

        Returns:
            A `transition` or `termination`; None to let the reward rules decide.
        """
        return None

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Return False if `transition_fn` would return None for this state: a quick test that saves
        the call."""
        return type(self).transition_fn is not MathyEnv.transition_fn

    def get_rewarding_actions(self, state: MathyEnvState) -> list[RuleType]:
        """Return the classes of the rewrite rules whose moves are rewarded in `state`."""
        return [
            lib_rules.ConstantsSimplifyRule,
            lib_rules.DistributiveFactorOutRule,
            lib_rules.VariableMultiplyRule,
            lib_rules.RestateSubtractionRule,
        ]

    def get_penalizing_actions(self, state: MathyEnvState) -> list[RuleType]:
        """Return the classes of rules whose moves are penalised."""
        return [lib_rules.DistributiveMultiplyRule, lib_rules.AssociativeSwapRule]

    def get_win_signal(self, env_state: MathyEnvState) -> float:
        """Return the reward of a win in the state `env_state`: (1 + 1/k) times `rewards.win`, where
        k is the number of moves used. The factor is at most 2.

        The bonus counts twice if more than ten moves are allowed and fewer than half are used.
        """
        allowed = env_state.max_moves
        used = allowed - env_state.agent.moves_remaining
        if used <= 0:
            return 2.0 * self.rewards.win
        bonus = 1.0 / used
        if allowed > 10 and used < allowed / 2:
            bonus *= 2
        return min(2.0, 1.0 + bonus) * self.rewards.win

    def get_lose_signal(self, env_state: MathyEnvState) -> float:
        """Return the reward of a loss."""
        return self.rewards.lose

    def goal(self, state: MathyEnvState) -> TimeStep | None:
        """Return the result of `transition_fn` for a state. None if that function leaves the state
        undecided, or if mathy_core cannot read the expression's terms.

        Raises:
            GoalError: `transition_fn` returned something else than a timestep or None.
        """
        if not self.may_decide(state):
            return None
        try:
            timestep = self.transition_fn(
                state, rule_set.to_library(state.root).root, self.state_to_observation(state)
            )
        except AssertionError as error:
            if traceback.extract_tb(error.__traceback__)[-1].filename == util.__file__:
                return None
            raise
        if timestep is None or isinstance(timestep, TimeStep):
            return timestep
        raise GoalError(
            f"{code_location(self.transition_fn)}: transition_fn of {type(self).__name__} "
            f"returned {timestep!r}: expected a transition(...), a termination(...), or None"
        )

    def state_to_observation(self, state: MathyEnvState) -> MathyObservation:
        """Return the observation of a state."""
        return observe(state, self.mask(state), self.max_seq_len)

    # ---- actions ------------------------------------------------------------------------------

    @property
    def action_size(self) -> int:
        """Return the number of rules."""
        return len(self.rules)

    def get_agent_actions_count(self, env_state: MathyEnvState) -> int:
        """Return the number of all actions, valid or not: rules × nodes."""
        return len(self.rules) * env_state.root.size

    def get_action_indices(self, action: MathyAction) -> tuple[int, int]:
        """Return the action as a pair (rule, node). An action is such a pair already, or the number
        `node * number_of_rules + rule`.

        Raises:
            ValueError: the value is no action, or negative.
        """
        pair = self.to_action(action)
        if min(pair) < 0:
            raise ValueError(f"action {action!r}: actions count from 0")
        return pair

    def to_action(self, action: MathyAction) -> tuple[int, int]:
        """Convert an action, which is a number or a pair, to a pair (rule, node). The range is not
        checked.

        Raises:
            ValueError: the action is neither a number nor a pair of numbers.
        """
        try:
            if isinstance(action, tuple | list):
                rule, node = map(operator.index, action)
                return rule, node
            node, rule = divmod(operator.index(action), len(self.rules))
            return rule, node
        except (TypeError, ValueError):
            raise ValueError(
                f"action {action!r}: allowed are node * {len(self.rules)} + rule, and (rule, node)"
            ) from None

    def check(self, state: MathyEnvState, action: MathyAction) -> tuple[tuple[int, int], bool]:
        """Convert an action to a pair (rule, node). Return the pair, and True if the rule applies
        to that node in `state`.

        Raises:
            ValueError: the value is no action; or the action is invalid and the environment's
                `invalid_action_response` is "raise".
        """
        pair = self.to_action(action)
        valid = self.is_valid(state, pair)
        if not valid and self.invalid_action_response == "raise":
            raise ValueError(self._explain_invalid(state, action, pair))
        return pair, valid

    def is_valid(self, state: MathyEnvState, pair: tuple[int, int]) -> bool:
        """Return True if, in `state`, the rule of `pair` (rule, node) applies to the node."""
        rule, node = pair
        mask = self.mask(state)
        return 0 <= node < len(mask) and 0 <= rule < len(self.rules) and bool(mask[node, rule])

    def mask(self, state: MathyEnvState) -> NDArray[np.int8]:
        """Return the action mask of a state as (nodes, rules) int8: 1 where the rule applies to the
        node. The array is cached; callers must not write to it."""
        cached = state._mask
        if cached is None or cached[0] is not self.rules:
            cached = state._mask = self.rules, self.rules.mask(state.root)
        return cached[1]

    def get_valid_moves(self, env_state: MathyEnvState) -> list[int]:
        """Return the action mask as a flat list of 0 and 1: the rules at the first node, then the
        rules at the second node, and so on."""
        return list(self.mask(env_state).ravel().tolist())

    def get_valid_rules(self, env_state: MathyEnvState) -> list[int]:
        """Return a list with 1 for each rule that applies to at least one node, else 0."""
        return list(self.mask(env_state).any(axis=0).astype(int).tolist())

    def get_actions_for_node(
        self, expression: lib.MathExpression, rule_list: Sequence[RuleType] | None = None
    ) -> list[int]:
        """Return the action mask of a subtree as a flat list of 0 and 1: the rules at its first
        node, then the rules at its second node, and so on.

        Args:
            expression: root of the subtree; actions count from its first node in order.
            rule_list: classes of rules; the entries of other rules are 0. None for all.
        """
        rule_types = None if rule_list is None else tuple(rule_list)
        return list(self._subtree_mask(expression, rule_types).ravel().tolist())

    def _subtree_mask(
        self, expression: lib.MathExpression, rule_types: tuple[RuleType, ...] | None
    ) -> NDArray[np.int8]:
        """Return the action mask of the subtree `expression` as (nodes, rules) int8. If
        `rule_types` is given, all other rules have 0."""
        root, nodes = expression.get_root(), expression.to_list("inorder")
        first = root.to_list("inorder").index(nodes[0])
        mask = self.rules.mask(from_library(root))[first : first + len(nodes)]
        if rule_types is not None:
            mask[:, [not isinstance(rule, rule_types) for rule in self.rules]] = 0
        return mask

    def random_action(
        self, expression: lib.MathExpression, rule: RuleType | tuple[RuleType, ...] | None = None
    ) -> int:
        """Sample uniformly from the valid actions on the nodes of a subtree. Return the action's
        number, where node 0 is the subtree's first node.

        Args:
            expression: root of the subtree.
            rule: class or classes of rules to choose from; None for all.

        Raises:
            ValueError: no such action is valid.
        """
        rule_types = rule if rule is None or isinstance(rule, tuple) else (rule,)
        actions = np.flatnonzero(self._subtree_mask(expression, rule_types))
        if not len(actions):
            names = " or ".join(each.__name__ for each in rule_types) if rule_types else "rule"
            raise ValueError(f"no {names} applies anywhere in {expression}")
        return int(actions[self.rng.integers(len(actions))])

    def get_token_at_index(
        self, expression: lib.MathExpression, index: int
    ) -> lib.MathExpression | None:
        """Return the node with index `index` of an expression, counted from left to right as
        written; None if there is none."""
        nodes = expression.to_list("inorder")
        return nodes[index] if 0 <= index < len(nodes) else None

    def _explain_invalid(
        self, state: MathyEnvState, action: MathyAction, pair: tuple[int, int]
    ) -> str:
        """Return the error message for an invalid action: why it is invalid, and which values are
        allowed. `pair` is the same action as (rule, node)."""
        rule, node = pair
        start = f"action {action!r} is invalid in {state.agent.problem!r}: "
        if not 0 <= rule < len(self.rules):
            return f"{start}rule {rule}, allowed are 0 to {len(self.rules) - 1}"
        if not 0 <= node < state.root.size:
            return f"{start}node {node}, allowed are 0 to {state.root.size - 1}"
        valid_nodes = ", ".join(map(str, np.flatnonzero(self.mask(state)[:, rule]).tolist()))
        where = f"to the nodes {valid_nodes}" if valid_nodes else "nowhere"
        return f"{start}{self.rules[rule].name} does not apply to node {node}; it applies {where}"

    # ---- episodes -----------------------------------------------------------------------------

    def get_initial_state(
        self, params: MathyEnvProblemArgs | str | None = None, print_problem: bool = True
    ) -> tuple[MathyEnvState, MathyEnvProblem]:
        """Sample a problem whose initial expression is not solved yet. Return the first state of an
        episode with it, and the problem.

        Args:
            params: arguments of `problem_fn`, or a difficulty alone; easy if None.
            print_problem: print the problem if the environment is verbose.

        Raises:
            ProblemError: all sampled problems are solved already, too long, or without a move; or
                the result of `problem_fn` is no problem, or an equation that is not allowed.
        """
        config = MathyEnvProblemArgs(params) if isinstance(params, str) else params
        config = config or MathyEnvProblemArgs()
        for _ in range(_MAX_ATTEMPTS):
            problem = self.problem_fn(config)
            if not isinstance(problem, MathyEnvProblem):
                raise ProblemError(
                    f"{code_location(self.problem_fn)}: problem_fn of {type(self).__name__} "
                    f"returned {problem!r}: expected a MathyEnvProblem"
                )
            state = self._first_state(problem, self.max_moves_fn(problem, config))
            fits = state.root.size <= self.max_seq_len
            if fits and not self.is_terminal_state(state) and self.mask(state).any():
                break
        else:
            raise ProblemError(
                f"{_MAX_ATTEMPTS} problems in a row were solved already, had no move, or more than "
                f"max_seq_len={self.max_seq_len} nodes: {problem.text}"
            )
        self.max_moves = state.max_moves
        if print_problem and self.verbose:
            self.print_state(state, "initial-state")
        return state, problem

    def begin(self, problem: MathyEnvProblem, max_moves: int) -> MathyEnvState:
        """Return the first state of an episode with `problem`, which must be solved in at most
        `max_moves` moves.

        Raises:
            ProblemError: the expression has more than `max_seq_len` nodes, or is an equation that
                is not allowed.
            ExpressionError: the text is no expression.
        """
        state = self._first_state(problem, max_moves)
        if state.root.size > self.max_seq_len:
            raise ProblemError(
                f"{problem.text!r} has {state.root.size} nodes, allowed are "
                f"max_seq_len={self.max_seq_len}; make max_seq_len larger"
            )
        return state

    def _first_state(self, problem: MathyEnvProblem, max_moves: int) -> MathyEnvState:
        """Return the first state of an episode with `problem`. Raise ProblemError if the problem is
        an equation and the environment does not accept equations."""
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
        """Apply an action to a state. Return the next state, the timestep with the reward, and
        mathy_core's description of the change.

        Args:
            env_state: state to move from; unchanged.
            action: number or pair (rule, node).
            searching: print nothing, even if the environment is verbose.

        Returns:
            The next state, the timestep, and mathy_core's change, whose `result` is None after an
            invalid move.

        Raises:
            ValueError: the episode is over, or the move is invalid and the response is "raise".
        """
        if self._is_over(env_state):
            raise ValueError(f"the episode is over: {env_state.agent.problem!r} has no next state")
        pair, valid = self.check(env_state, action)
        move = Move(self, env_state, pair, valid)
        verdict = self.decide(move, TRANSITION, TERMINATING, REWARD)
        state = move.state
        if not valid:
            return state, verdict, ExpressionChangeRule(BaseRule())
        change = LazyChange(self.rules, env_state.root, pair[1], pair[0])
        if self.verbose and not searching:
            rule = self.rules[pair[0]].name
            self.print_state(state, rule, pair[1], change, verdict.reward)
        return state, verdict, change

    def get_state_transition(self, env_state: MathyEnvState, searching: bool = False) -> TimeStep:
        """Return the timestep (reward and end of episode) for the move that led to a state."""
        move = Move(self, env_state, env_state.agent.history[-1].action)
        return self.decide(move, TERMINATING, REWARD)

    def decide(self, move: Move, *phases: Phase) -> TimeStep:
        """Run the systems of the given phases in order until one sets the result of the move:
        reward and end of the episode. Return that result as a timestep, or one with reward 0 if no
        system sets it."""
        for phase in phases:
            for call in self.order[phase]:
                call.run(move, NOTHING)
                if move.verdict is not None:
                    move.last_call = call.call
                    return move.finish()
        return move.finish()

    def is_terminal_state(self, env_state: MathyEnvState) -> bool:
        """Return True if the episode is over in a state."""
        return state.is_terminal_transition(self.get_state_transition(env_state))

    def _is_over(self, state: MathyEnvState) -> bool:
        if state._over is None:
            state._over = state.agent.moves_remaining <= 0 or self.is_terminal_state(state)
        return state._over

    def finalize_state(self, state: MathyEnvState) -> None:
        """Check that the last expression of an episode is equivalent to the first: it has the same
        variables, and equal values at random points. Raise ValueError if it is not.

        Raises:
            ValueError: variables or values differ.
        """
        history = state.agent.history
        first, last = (MathyEnvState(step.raw).root for step in (history[0], history[-1]))
        names = [
            sorted({n.name for n in root.in_order() if n.kind is lib.VariableExpression})
            for root in (first, last)
        ]
        if names[0] != names[1]:
            raise ValueError(f"{first.text} and {last.text} have different variables")
        points = [{name: int(self.rng.integers(1, 101)) for name in names[0]} for _ in range(3)]
        if compare_values(first, last, [*points, *POINTS]) is False:
            raise ValueError(f"{first.text} and {last.text} have different values")

    # ---- output -------------------------------------------------------------------------------

    def to_hash_key(self, env_state: MathyEnvState) -> str:
        """Return a hash key of the state: the text of its expression."""
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
        """Return a state as one line of text, with the columns valid actions, applicable rules,
        moves left, reward, move and expression.

        Args:
            env_state: state to render.
            action_name: name of the move that led to the state.
            token_index: node of that move.
            change: change to highlight in the expression.
            change_reward: reward of that move.
            pretty: return the last two columns only.
        """
        text = env_state.agent.problem
        if change is not None and change.result is not None:
            text = _color_changed_nodes(env_state, change.result.get_root())
        line = f"{f'{action_name.lower()}({token_index})':<25} | {text}"
        if pretty:
            return line
        mask = self.mask(env_state)
        valid_rules = self.get_valid_rules(env_state)
        codes = " ".join(
            rule.code.lower() if usable else "--"
            for rule, usable in zip(self.rules, valid_rules, strict=True)
        )
        left = env_state.agent.moves_remaining
        return f"{mask.sum():03} | {codes} | {left:02} | {f'{change_reward:.2}':<5} | {line}"

    def print_state(
        self,
        env_state: MathyEnvState,
        action_name: str,
        token_index: int = -1,
        change: ExpressionChangeRule | None = None,
        change_reward: float = 0.0,
        pretty: bool = False,
    ) -> None:
        """Print the line that `render_state` returns for these arguments."""
        line = self.render_state(env_state, action_name, token_index, change, change_reward, pretty)
        print(line, flush=True)

    def print_history(self, env_state: MathyEnvState, pretty: bool = True) -> None:
        """Print the expressions of the episode up to a state, one a line. With `pretty`, print only
        moves and expressions."""
        first, *steps = env_state.agent.history
        state = MathyEnvState(first.raw, env_state.max_moves, env_state.agent.problem_type)
        self.print_state(state, "initial-state", pretty=pretty)
        for step in steps:
            state, timestep, change = self.get_next_state(state, step.action, searching=True)
            rule = self.rules[step.action[0]]
            self.print_state(state, rule.name, step.action[1], change, timestep.reward, pretty)


def _color_changed_nodes(state: MathyEnvState, result: lib.MathExpression) -> str:
    """Return the text of a state's expression with ANSI colours for the nodes that the last rule
    changed. `result` is the expression as a mathy_core tree, whose nodes have the change flags."""
    text, nodes = state.agent.problem, result.to_list("inorder")
    if len(nodes) != state.root.size:  # the text parses to another tree
        return text
    pieces = zip(find_spans(text, state.root).node_spans, nodes, strict=True)
    for (start, end), node in sorted(pieces, key=lambda piece: piece[0], reverse=True):
        node._rendering_change = True
        text = text[:start] + node.with_color(text[start:end]) + text[end:]
    return text
