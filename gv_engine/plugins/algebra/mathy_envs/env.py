"""Environment of mathy_envs, with an action mask for each rule and actions as pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gv_engine.plugins.algebra import env as own
from gv_engine.plugins.algebra.env import RuleType
from gv_engine.plugins.algebra.library import BaseRule
from gv_engine.plugins.algebra.library import ExpressionParser as _LibraryParser
from gv_engine.plugins.algebra.library import expressions as lib
from gv_engine.plugins.algebra.mathy_envs import time_step
from gv_engine.plugins.algebra.mathy_envs.state import (
    MathyEnvState,
    MathyObservationUnion,
    ObservationType,
)
from gv_engine.plugins.algebra.mathy_envs.types import (
    ActionType,
    EnvRewards,
    MathyEnvProblem,
    MathyEnvProblemArgs,
)
from gv_engine.plugins.algebra.parser import parse
from gv_engine.plugins.algebra.rule_set import RuleSet, to_library
from gv_engine.plugins.algebra.state import INVALID_ACTION_RESPONSES as _RESPONSES
from gv_engine.plugins.algebra.state import MathyEnvState as _OwnState
from gv_engine.plugins.algebra.state import MathyEnvStateStep

__all__ = [
    "INVALID_ACTION_RESPONSES",
    "EnvRewards",
    "ExpressionParser",
    "MathyEnv",
    "MathyEnvProblem",
    "MathyEnvProblemArgs",
    "MathyEnvState",
    "time_step",
]

INVALID_ACTION_RESPONSES = list(_RESPONSES)


class ExpressionParser(_LibraryParser):
    """Parser with mathy_core's methods that reads texts as the engine does."""

    def parse(self, input_text: str) -> lib.MathExpression:
        """Return the tree of a text in mathy_core's nodes.

        Raises:
            ExpressionError: the text is no expression.
        """
        return to_library(parse(input_text)).root


class MathyEnv(own.MathyEnv):
    """Environment with the methods of mathy_envs 0.12.5. They differ from those of
    `gv_engine.mathy.MathyEnv` in masks, actions, observations and in the default for invalid moves.

    Args:
        rules: rewrite rules in the order of their numbers; None for those of `core_rules`.
        invalid_action_response: "raise" (ValueError), "penalize" or "terminal".
        options: other arguments of `gv_engine.mathy.MathyEnv`, by name.

    Attributes:
        parser: parser with mathy_core's methods.
    """

    def __init__(
        self,
        *,
        rules: Sequence[BaseRule] | None = None,
        invalid_action_response: str = "raise",
        **options: Any,
    ) -> None:
        self.parser = ExpressionParser()
        super().__init__(rules, invalid_action_response=invalid_action_response, **options)

    @property
    def rules(self) -> RuleSet:
        """Return the rules; a list may be assigned."""
        return self._rules

    @rules.setter
    def rules(self, rules: Sequence[BaseRule]) -> None:
        self._rules = rules if isinstance(rules, RuleSet) else RuleSet(rules)

    @property
    def action_size(self) -> int:
        """Return the number of action numbers: rules × `max_seq_len`."""
        return len(self.rules) * self.max_seq_len

    def to_action(self, action: Any) -> ActionType:
        """Convert an action to a pair (rule, node). An action is such a pair already, or the number
        `rule * max_seq_len + node`.

        Raises:
            ValueError: the value is no action.
        """
        if isinstance(action, int | np.integer):
            rule, node = divmod(int(action), self.max_seq_len)
            return rule, node
        return super().to_action(action)

    def get_valid_moves(self, env_state: _OwnState) -> list[list[int]]:  # type: ignore[override]
        """Return the action mask: for each rule a list of 0 and 1, one for each node in order."""
        return list(self.mask(env_state).T.tolist())

    def get_actions_for_node(  # type: ignore[override]  # a list for each rule
        self, expression: lib.MathExpression, rule_list: Sequence[RuleType] | None = None
    ) -> list[list[int]]:
        """Return the action mask of a subtree: for each rule a list of 0 and 1, one for each node.

        Args:
            expression: root of the subtree; actions count from its first node in order.
            rule_list: classes of rules; the lists of other rules are 0. None for all.
        """
        rule_types = None if rule_list is None else tuple(rule_list)
        return list(self._subtree_mask(expression, rule_types).T.tolist())

    def random_action(  # type: ignore[override]  # a pair
        self, expression: lib.MathExpression, rule: RuleType | tuple[RuleType, ...] | None = None
    ) -> ActionType:
        """Sample one of the valid actions on the nodes of a subtree; return it as (rule, node).

        Args:
            expression: root of the subtree.
            rule: class or classes of rules to choose from; None for all.

        Raises:
            ValueError: no such action is valid.
        """
        node, number = divmod(super().random_action(expression, rule), len(self.rules))
        return number, node

    def get_rule_from_timestep(self, time_step: MathyEnvStateStep) -> BaseRule:
        """Return the rule that led to an entry of a history."""
        rule: BaseRule = self.rules[time_step.action[0]]
        return rule

    def get_initial_state(
        self, params: MathyEnvProblemArgs | str | None = None, print_problem: bool = True
    ) -> tuple[MathyEnvState, MathyEnvProblem]:
        """Sample a problem; return the first state of its episode, and the problem. For the
        arguments see `gv_engine.mathy.MathyEnv`."""
        state, problem = super().get_initial_state(params, print_problem)
        return MathyEnvState(state, num_rules=len(self.rules)), problem

    def state_to_observation(  # type: ignore[override]  # of another kind
        self,
        state: _OwnState,
        max_seq_len: int | None = None,
        obs_type: ObservationType = ObservationType.FLAT,
    ) -> MathyObservationUnion:
        """Return the observation of a state, including its action mask, in the format
        `obs_type`."""
        if not isinstance(state, MathyEnvState):
            state = MathyEnvState(state, num_rules=len(self.rules))
        return state.to_observation(
            self.get_valid_moves(state), max_seq_len=max_seq_len, obs_type=obs_type
        )

    def _is_over(self, state: _OwnState) -> bool:
        return False
