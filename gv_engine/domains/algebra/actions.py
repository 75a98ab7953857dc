"""Actions in a state: their numbers, and which of them are valid."""

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
    """The part of `MathyEnv` that knows its actions.

    Attributes:
        rules: in the order that numbers the actions.
        rng: the one generator.
        invalid_action_response: penalize, raise or terminal.
    """

    rules: RuleSet
    rng: np.random.Generator
    invalid_action_response: str

    @property
    def action_size(self) -> int:
        """The number of rules."""
        return len(self.rules)

    def get_agent_actions_count(self, env_state: MathyEnvState) -> int:
        """The number of all actions, valid or not: rules × nodes."""
        return len(self.rules) * env_state.root.size

    def get_action_indices(self, action: MathyAction) -> tuple[int, int]:
        """(rule, node) of an action `node * number_of_rules + rule`.

        Raises:
            ValueError: it is no action, or negative.
        """
        pair = self.to_action(action)
        if min(pair) < 0:
            raise ValueError(f"action {action!r}: actions count from 0")
        return pair

    def to_action(self, action: MathyAction) -> tuple[int, int]:
        """The pair (rule, node) of an action, however it is given.

        Raises:
            ValueError: it is neither a number nor a pair of numbers.
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

    def checked(self, state: MathyEnvState, action: MathyAction) -> tuple[tuple[int, int], bool]:
        """The pair of an action, and whether it is valid.

        Raises:
            ValueError: it is no action; or it is invalid, in an environment that raises.
        """
        pair = self.to_action(action)
        valid = self.is_valid(state, pair)
        if not valid and self.invalid_action_response == "raise":
            raise ValueError(self._said_of(state, action, pair))
        return pair, valid

    def is_valid(self, state: MathyEnvState, pair: tuple[int, int]) -> bool:
        """Whether the pair (rule, node) is an action that the mask allows."""
        rule, node = pair
        mask = self.mask(state)
        return 0 <= node < len(mask) and 0 <= rule < len(self.rules) and bool(mask[node, rule])

    def mask(self, state: MathyEnvState) -> NDArray[np.int8]:
        """(nodes, rules) int8: 1 where the rule applies to the node; not to be written to."""
        kept = state._mask
        if kept is None or kept[0] is not self.rules:
            kept = state._mask = self.rules, self.rules.mask(state.root)
        return kept[1]

    def get_valid_moves(self, env_state: MathyEnvState) -> list[int]:
        """(nodes × rules,) 0 or 1 for every action, those of the first node first."""
        moves: list[int] = self.mask(env_state).ravel().tolist()
        return moves

    def get_valid_rules(self, env_state: MathyEnvState) -> list[int]:
        """(rules,) 1 for every rule that applies somewhere."""
        rules: list[int] = self.mask(env_state).any(axis=0).astype(int).tolist()
        return rules

    def get_actions_for_node(
        self, expression: lib.MathExpression, rule_list: Sequence[RuleType] | None = None
    ) -> list[int]:
        """`get_valid_moves` of an expression.

        Args:
            expression: any node; actions count from the first one below it.
            rule_list: only these rules are asked, the others' entries are 0.
        """
        mask = self._mask_of(expression, tuple(rule_list) if rule_list is not None else None)
        moves: list[int] = mask.ravel().tolist()
        return moves

    def _mask_of(
        self, expression: lib.MathExpression, only: tuple[RuleType, ...] | None
    ) -> NDArray[np.int8]:
        root = expression.get_root()
        everywhere = root.to_list("inorder")
        first = everywhere.index(expression.to_list("inorder")[0])
        mask = self.rules.mask(from_library(root))[first : first + len(expression.to_list())]
        if only is not None:
            mask[:, [not isinstance(rule, only) for rule in self.rules]] = 0
        return mask

    def random_action(
        self,
        expression: lib.MathExpression,
        rule: RuleType | tuple[RuleType, ...] | None = None,
    ) -> int:
        """Draw one of the valid actions, all alike.

        Args:
            expression: what it is for.
            rule: keep to this rule, or to these.

        Raises:
            ValueError: there is none.
        """
        only = rule if rule is None or isinstance(rule, tuple) else (rule,)
        found = np.flatnonzero(self._mask_of(expression, only))
        if not len(found):
            what = "rule" if only is None else " or ".join(each.__name__ for each in only)
            raise ValueError(f"no {what} applies anywhere in {expression}")
        return int(found[self.rng.integers(len(found))])

    def get_token_at_index(
        self, expression: lib.MathExpression, index: int
    ) -> lib.MathExpression | None:
        """The node that is `index` from the left of an expression; None if there is none."""
        nodes = expression.to_list("inorder")
        return nodes[index] if 0 <= index < len(nodes) else None

    def _said_of(self, state: MathyEnvState, action: MathyAction, pair: tuple[int, int]) -> str:
        rule, node = pair
        text = state.agent.problem
        said = f"action {action!r} is invalid in {text!r}: "
        if not 0 <= rule < len(self.rules):
            return f"{said}rule {rule}, allowed are 0 to {len(self.rules) - 1}"
        if not 0 <= node < state.root.size:
            return f"{said}node {node}, allowed are 0 to {state.root.size - 1}"
        places = np.flatnonzero(self.mask(state)[:, rule]).tolist()
        where = f"to the nodes {', '.join(map(str, places))}" if places else "nowhere"
        return f"{said}{self.rules[rule].name} does not apply to node {node}; it applies {where}"
