"""Goals of algebra environments: problems, winning conditions and rewards."""

from __future__ import annotations

import traceback

from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.library import rules as lib_rules
from gv_engine.domains.algebra.library import util
from gv_engine.domains.algebra.parsing import to_library
from gv_engine.domains.algebra.state import (
    Actions,
    MathyEnvState,
    MathyObservation,
    RuleType,
    observe,
)
from gv_engine.domains.algebra.types import (
    EnvRewards,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    TimeStep,
    code_location,
)
from gv_engine.rules.errors import GVEngineError


class GoalError(GVEngineError, TypeError):
    """`transition_fn` returned something that is no timestep."""


class Goals(Actions):
    """Base of `MathyEnv`: the methods that user-defined environments override.

    Attributes:
        discount: discount of timesteps at which the episode goes on.
        max_seq_len: L, the most nodes of an expression.
        previous_state_penalty: returning to an earlier expression is penalised.
        rewards: rewards of moves.
    """

    discount: float
    max_seq_len: int
    previous_state_penalty: bool
    rewards: EnvRewards

    def get_env_namespace(self) -> str:
        """Return the unique name of the environment, with dots: `mycompany.envs.differentiate`.

        Raises:
            NotImplementedError: by default.
        """
        raise NotImplementedError(f"{type(self).__name__} has no namespace: override this method")

    def problem_fn(self, params: MathyEnvProblemArgs) -> MathyEnvProblem:
        """Sample a problem, with `self.rng` as the only source of randomness.

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
        """Return the timestep that the environment itself decides for a state, before all reward
        rules.

        Args:
            env_state: state reached by a move.
            expression: tree of the state, in mathy_core's nodes.
            features: observation of the state.

        Returns:
            A `transition` or `termination`; None to let the reward rules decide.
        """
        return None

    def may_decide(self, env_state: MathyEnvState) -> bool:
        """Return False if `transition_fn` returns None for a state: a quick test to skip the
        call."""
        return type(self).transition_fn is not Goals.transition_fn

    def get_rewarding_actions(self, state: MathyEnvState) -> list[RuleType]:
        """Return the classes of rules whose moves are rewarded."""
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
        """Return the reward of a win after k moves: 1 plus a bonus of 1/k for speed, at most 2.

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
        """Return the timestep of `transition_fn` for a state; None if mathy_core cannot read its
        terms.

        Raises:
            GoalError: `transition_fn` returned something else than a timestep or None.
        """
        if not self.may_decide(state):
            return None
        try:
            timestep = self.transition_fn(
                state, to_library(state.root).root, self.state_to_observation(state)
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
