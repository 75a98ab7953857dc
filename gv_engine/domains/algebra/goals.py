"""The goals of environments: what is drawn, when it is won, and what moves are worth."""

from __future__ import annotations

import traceback

from gv_engine.domains.algebra.actions import Actions, RuleType
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.library import rules as lib_rules
from gv_engine.domains.algebra.library import util
from gv_engine.domains.algebra.parsing import to_library
from gv_engine.domains.algebra.state import MathyEnvState, MathyObservation, observe
from gv_engine.domains.algebra.types import (
    EnvRewards,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    TimeStep,
    code_place,
)
from gv_engine.rules.errors import GVEngineError


class GoalError(GVEngineError, TypeError):
    """An environment that says nonsense of a state."""


class Goals(Actions):
    """The part of `MathyEnv` that environments of one's own replace, and what systems ask of it.

    Attributes:
        discount: along the way.
        max_seq_len: L, the most nodes that an expression may have.
        previous_state_penalty: whether coming back to an expression costs.
        rewards: what moves are worth.
    """

    discount: float
    max_seq_len: int
    previous_state_penalty: bool
    rewards: EnvRewards

    def get_env_namespace(self) -> str:
        """A name with dots that no other environment has: `mycompany.envs.differentiate`.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no namespace: override this method")

    def problem_fn(self, params: MathyEnvProblemArgs) -> MathyEnvProblem:
        """Draw a problem, with `self.rng` and nothing else.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} draws no problems: override this method")

    def max_moves_fn(self, problem: MathyEnvProblem, config: MathyEnvProblemArgs) -> int:
        """The most moves that a problem's episode may have."""
        return problem.complexity * 3

    def transition_fn(
        self,
        env_state: MathyEnvState,
        expression: lib.MathExpression,
        features: MathyObservation,
    ) -> TimeStep | None:
        """What the environment itself says of a state, before anything else counts.

        Args:
            env_state: the state that has been reached.
            expression: its tree, of mathy_core's nodes.
            features: its observation.

        Returns:
            A `transition` or `termination`; None if there is nothing to say.
        """
        return None

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Whether `transition_fn` can have something to say: a quick test ahead of it."""
        return type(self).transition_fn is not Goals.transition_fn

    def get_rewarding_actions(self, state: MathyEnvState) -> list[RuleType]:
        """Classes of rules whose moves are rewarded."""
        return [
            lib_rules.ConstantsSimplifyRule,
            lib_rules.DistributiveFactorOutRule,
            lib_rules.VariableMultiplyRule,
            lib_rules.RestateSubtractionRule,
        ]

    def get_penalizing_actions(self, state: MathyEnvState) -> list[RuleType]:
        """Classes of rules whose moves are penalized."""
        return [lib_rules.DistributiveMultiplyRule, lib_rules.AssociativeSwapRule]

    def get_win_signal(self, env_state: MathyEnvState) -> float:
        """The reward of a win after k moves: 1, and 1/k for being quick, at most 2.

        The bonus counts twice where more than ten moves are allowed and fewer than half are used.
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
        """The reward of a loss."""
        return self.rewards.lose

    def goal(self, state: MathyEnvState) -> TimeStep | None:
        """What `transition_fn` says of a state; nothing where mathy_core cannot tell its terms.

        Raises:
            GoalError: it says nonsense.
        """
        if not self.may_decide(state):
            return None
        try:
            said = self.transition_fn(
                state, to_library(state.root).root, self.state_to_observation(state)
            )
        except AssertionError as error:
            if traceback.extract_tb(error.__traceback__)[-1].filename == util.__file__:
                return None
            raise
        if said is None or isinstance(said, TimeStep):
            return said
        raise GoalError(
            f"{code_place(self.transition_fn)}: transition_fn of {type(self).__name__} returned "
            f"{said!r}: expected a transition(...), a termination(...), or None"
        )

    def state_to_observation(self, state: MathyEnvState) -> MathyObservation:
        """The observation of a state."""
        return observe(state, self.mask(state), self.max_seq_len)
