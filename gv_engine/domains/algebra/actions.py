"""Actions of algebra environments: their numbers, and the mask of valid ones."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gv_engine.domains.algebra.library import BaseRule
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.parsing import from_library
from gv_engine.domains.algebra.rule_set import RuleSet
from gv_engine.domains.algebra.state import MathyEnvState
from gv_engine.domains.algebra.types import MathyAction

RuleType = type[BaseRule]


class Actions:
    """Base of `MathyEnv`: number, check and mask actions.

    Attributes:
        rules: rule set, whose order numbers the actions.
        rng: generator of all random choices.
        invalid_action_response: penalize, raise or terminal.
    """

    rules: RuleSet
    rng: np.random.Generator
    invalid_action_response: str

    @property
    def action_size(self) -> int:
        """Return the number of rules."""
        return len(self.rules)

    def get_agent_actions_count(self, env_state: MathyEnvState) -> int:
        """Return the number of all actions, valid or not: rules × nodes."""
        return len(self.rules) * env_state.root.size

    def get_action_indices(self, action: MathyAction) -> tuple[int, int]:
        """Return (rule, node) of an action `node * number_of_rules + rule`.

        Raises:
            ValueError: the value is no action, or negative.
        """
        pair = self.to_action(action)
        if min(pair) < 0:
            raise ValueError(f"action {action!r}: actions count from 0")
        return pair

    def to_action(self, action: MathyAction) -> tuple[int, int]:
        """Return (rule, node) of an action that is given as a number or as a pair.

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
        """Return (rule, node) of an action, and True if the action is valid.

        Raises:
            ValueError: the value is no action; or the action is invalid and the environment's
                `invalid_action_response` is "raise".
        """
        pair = self.to_action(action)
        valid = self.is_valid(state, pair)
        if not valid and self.invalid_action_response == "raise":
            raise ValueError(self._explain(state, action, pair))
        return pair, valid

    def is_valid(self, state: MathyEnvState, pair: tuple[int, int]) -> bool:
        """Return True if the mask allows the pair (rule, node)."""
        rule, node = pair
        mask = self.mask(state)
        return 0 <= node < len(mask) and 0 <= rule < len(self.rules) and bool(mask[node, rule])

    def mask(self, state: MathyEnvState) -> NDArray[np.int8]:
        """Return (nodes, rules) int8: 1 where the rule applies to the node. Callers must not write
        to it."""
        cached = state._mask
        if cached is None or cached[0] is not self.rules:
            cached = state._mask = self.rules, self.rules.mask(state.root)
        return cached[1]

    def get_valid_moves(self, env_state: MathyEnvState) -> list[int]:
        """Return (nodes × rules,) 0 or 1 for every action, those of the first node first."""
        moves: list[int] = self.mask(env_state).ravel().tolist()
        return moves

    def get_valid_rules(self, env_state: MathyEnvState) -> list[int]:
        """Return (rules,) 1 for every rule that applies to any node."""
        rules: list[int] = self.mask(env_state).any(axis=0).astype(int).tolist()
        return rules

    def get_actions_for_node(
        self, expression: lib.MathExpression, rule_list: Sequence[RuleType] | None = None
    ) -> list[int]:
        """Return 0 or 1 for every action on the nodes of a subtree.

        Args:
            expression: root of the subtree; actions count from its first node in order.
            rule_list: classes of rules; the entries of other rules are 0. None for all.
        """
        mask = self._subtree_mask(expression, tuple(rule_list) if rule_list is not None else None)
        moves: list[int] = mask.ravel().tolist()
        return moves

    def _subtree_mask(
        self, expression: lib.MathExpression, only: tuple[RuleType, ...] | None
    ) -> NDArray[np.int8]:
        """Return (nodes, rules) int8 for the nodes of a subtree; 0 for rules of other classes than
        `only`."""
        root = expression.get_root()
        everywhere = root.to_list("inorder")
        first = everywhere.index(expression.to_list("inorder")[0])
        mask = self.rules.mask(from_library(root))[first : first + len(expression.to_list())]
        if only is not None:
            mask[:, [not isinstance(rule, only) for rule in self.rules]] = 0
        return mask

    def random_action(
        self, expression: lib.MathExpression, rule: RuleType | tuple[RuleType, ...] | None = None
    ) -> int:
        """Sample one of the valid actions on a subtree, all with equal probability.

        Args:
            expression: root of the subtree.
            rule: class or classes of rules to choose from; None for all.

        Raises:
            ValueError: no such action is valid.
        """
        only = rule if rule is None or isinstance(rule, tuple) else (rule,)
        actions = np.flatnonzero(self._subtree_mask(expression, only))
        if not len(actions):
            names = "rule" if only is None else " or ".join(kind.__name__ for kind in only)
            raise ValueError(f"no {names} applies anywhere in {expression}")
        return int(actions[self.rng.integers(len(actions))])

    def get_token_at_index(
        self, expression: lib.MathExpression, index: int
    ) -> lib.MathExpression | None:
        """Return the node at an index of an expression, in order; None if there is none."""
        nodes = expression.to_list("inorder")
        return nodes[index] if 0 <= index < len(nodes) else None

    def _explain(self, state: MathyEnvState, action: MathyAction, pair: tuple[int, int]) -> str:
        """Return the error message for an invalid action: what is wrong, and what is allowed."""
        rule, node = pair
        text = state.agent.problem
        start = f"action {action!r} is invalid in {text!r}: "
        if not 0 <= rule < len(self.rules):
            return f"{start}rule {rule}, allowed are 0 to {len(self.rules) - 1}"
        if not 0 <= node < state.root.size:
            return f"{start}node {node}, allowed are 0 to {state.root.size - 1}"
        places = np.flatnonzero(self.mask(state)[:, rule]).tolist()
        where = f"to the nodes {', '.join(map(str, places))}" if places else "nowhere"
        return f"{start}{self.rules[rule].name} does not apply to node {node}; it applies {where}"
