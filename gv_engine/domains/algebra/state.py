"""States of algebra environments, their observations as arrays, and their actions: numbers, and the
mask of valid ones."""

from __future__ import annotations

import functools
import operator
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gv_engine.domains.algebra.expression import CONSTANT, VARIABLE, Node
from gv_engine.domains.algebra.library import BaseRule
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.parsing import from_library, parse
from gv_engine.domains.algebra.rule_set import RuleSet
from gv_engine.domains.algebra.types import MathyAction

TYPE_BUCKETS = 128
"""Number of values of each of the two hashes that identify an environment in observations."""

_MAX_FLOAT = float(np.finfo(np.float32).max)
_LETTER_A: int = lib.MathTypeKeys["variable_a"]
_TYPES: dict[type[lib.MathExpression], int] = {
    kind: lib.MathTypeKeys[name]
    for name in lib.MathTypeKeys
    for kind in [getattr(lib, f"{name.capitalize()}Expression", None)]
    if kind is not None
}
NUM_TYPES: int = lib.MathTypeKeysMax
"""Number of type ids; 0 stands for no node."""
_BYTES = [bytes((number,)) for number in range(NUM_TYPES)]
_NO_NUMBER = struct.pack("=f", 0.0)


class MathyEnvStateStep(NamedTuple):
    """Entry of an episode's history.

    Attributes:
        raw: text of the expression.
        action: (rule, node) that led to the expression; (-1, -1) at the start.
    """

    raw: str
    action: tuple[int, int]


START = (-1, -1)
"""Action of the first entry of a history."""


@dataclass(slots=True)
class MathyAgentState:
    """Progress of an episode.

    Attributes:
        moves_remaining: number of moves left; at 0 the episode is lost.
        problem: text of the current expression.
        problem_type: namespace of the environment.
        reward: reward of the last move.
        history: expressions and the moves that led to them, from the initial problem on.
    """

    moves_remaining: int
    problem: str
    problem_type: str = "mathy.unknown"
    reward: float = 0.0
    history: tuple[MathyEnvStateStep, ...] = ()

    def __post_init__(self) -> None:
        self.history = self.history or (MathyEnvStateStep(self.problem, START),)


def check_max_moves(max_moves: object) -> None:
    """Raise an error if a value is no valid number of moves.

    Raises:
        ValueError: the value is no whole number, or negative.
    """
    if isinstance(max_moves, bool) or not isinstance(max_moves, int | np.integer) or max_moves < 0:
        raise ValueError(f"max_moves={max_moves!r}: expected a whole number, at least 0")


class MathyEnvState:
    """Immutable state of an episode. Each move creates a new state.

    Args:
        problem: the text of an expression.
        max_moves: number of moves allowed in the episode.
        problem_type: namespace of the environment.

    Attributes:
        agent: progress of the episode.
        max_moves: number of moves allowed in the episode.
        root: tree of the expression, parsed on first access.
        visits: how often the history contains the printed text of the expression.

    Raises:
        TypeError: the problem is no text.
        ValueError: `max_moves` is no whole number, or negative.
        ExpressionError: on access to `root`, if the text is no expression.
    """

    __slots__ = ("_mask", "_over", "_root", "_visits", "agent", "max_moves")

    def __init__(
        self, problem: str, max_moves: int = 10, problem_type: str = "mathy.unknown"
    ) -> None:
        if not isinstance(problem, str):
            raise TypeError(f"problem={problem!r}: expected the text of an expression")
        check_max_moves(max_moves)
        self.agent = MathyAgentState(max_moves, problem, problem_type)
        self.max_moves = max_moves
        self._root: Node | None = None
        # caches of environments: (rules, mask), and True if the episode is over
        self._mask: tuple[Any, NDArray[np.int8]] | None = None
        self._over: bool | None = None
        self._visits: int | None = None

    @property
    def root(self) -> Node:
        """Return the tree of the expression, parsed on first access."""
        if self._root is None:
            self._root = parse(self.agent.problem)
        return self._root

    @property
    def visits(self) -> int:
        """Return how often the history contains the printed text of the expression."""
        if self._visits is None:
            self._visits = [step.raw for step in self.agent.history].count(self.root.text)
        return self._visits

    def after_move(self, action: tuple[int, int], text: str, root: Node) -> MathyEnvState:
        """Return the state after a move.

        Args:
            action: (rule, node) of the move.
            text: text of the resulting expression.
            root: tree of the resulting expression.
        """
        agent = self.agent
        left, history = agent.moves_remaining - 1, (*agent.history, MathyEnvStateStep(text, action))
        return self._replaced(
            MathyAgentState(left, text, agent.problem_type, agent.reward, history), root
        )

    def without_moves(self) -> MathyEnvState:
        """Return the same state with no moves left."""
        agent = self.agent
        lost = MathyAgentState(0, agent.problem, agent.problem_type, -1.0, agent.history)
        return self._replaced(lost, self._root, self._mask, over=True)

    def _replaced(
        self, agent: MathyAgentState, root: Node | None, mask: Any = None, over: bool | None = None
    ) -> MathyEnvState:
        """Return a state with another agent state, root and caches, and the same `max_moves`."""
        state = MathyEnvState.__new__(MathyEnvState)
        state.agent, state.max_moves = agent, self.max_moves
        state._root, state._mask, state._over, state._visits = root, mask, over, None
        return state

    @property
    def time(self) -> float:
        """Return the fraction of the moves that are used, from 0 to 1."""
        if self.max_moves <= 0:
            return 1.0
        used = 1.0 - self.agent.moves_remaining / self.max_moves
        return used if 0.0 <= used <= 1.0 else float(used > 0.0)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.max_moves, self.agent, self._over

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.max_moves, self.agent, self._over = state
        self._root = self._mask = self._visits = None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MathyEnvState):
            return NotImplemented
        return self.__getstate__()[:2] == other.__getstate__()[:2]

    def __hash__(self) -> int:
        return hash((self.agent.problem, self.agent.moves_remaining))

    def __repr__(self) -> str:
        agent = self.agent
        left = f"{agent.moves_remaining} of {self.max_moves} moves left"
        return f"<MathyEnvState {agent.problem!r}, {left}>"


class MathyObservation(NamedTuple):
    """Observation with room for L nodes, in order.

    Attributes:
        nodes: (L,) type ids, 0 where there is no node.
        values: (L,) value of every constant, 0 elsewhere.
        mask: (L, rules) 1 for every valid action.
        type: (2,) hash of the environment's namespace, from 0 to 127.
        time: (1,) fraction of the moves that are used.
    """

    nodes: NDArray[np.int64]
    values: NDArray[np.float32]
    mask: NDArray[np.int8]
    type: NDArray[np.int64]
    time: NDArray[np.float32]


def observe(state: MathyEnvState, mask: NDArray[np.int8], length: int) -> MathyObservation:
    """Return the observation of a state. Nodes beyond the length are left out.

    Args:
        mask: (nodes, rules) int8 valid actions.
        length: number of nodes L.
    """
    types, numbers = _encode_tree(state.root)
    nodes = np.frombuffer(types[:length].ljust(length, b"\0"), np.uint8).astype(np.int64)
    values = np.frombuffer(bytearray(numbers[: 4 * length].ljust(4 * length, b"\0")), np.float32)
    shown = np.zeros((length, mask.shape[1]), np.int8)
    shown[: len(mask)] = mask[:length]
    time = np.array([state.time], np.float32)
    return MathyObservation(nodes, values, shown, problem_hash(state.agent.problem_type), time)


def _encode_tree(node: Node) -> tuple[bytes, bytes]:
    """Return (size,) uint8 type ids and (size,) float32 values in order, cached in the nodes."""
    if node.encoding is None:
        types, numbers = _BYTES[type_id(node)], _NO_NUMBER
        if node.kind is CONSTANT:
            number = min(max(node.value, -_MAX_FLOAT), _MAX_FLOAT)  # type: ignore[type-var]
            numbers = struct.pack("=f", number)
        if node.left is not None:
            before = _encode_tree(node.left)
            types, numbers = before[0] + types, before[1] + numbers
        if node.right is not None:
            after = _encode_tree(node.right)
            types, numbers = types + after[0], numbers + after[1]
        node.encoding = types, numbers
    return node.encoding


def type_id(node: Node) -> int:
    """Return the id of a node's type in mathy_core. Each letter has its own."""
    if node.kind is VARIABLE:
        return _LETTER_A + ord(str(node.value)[0].lower()) - ord("a")
    return _TYPES.get(node.kind, int(lib.MathTypeKeys["term"]))


def tree_edges(root: Node) -> NDArray[np.int64]:
    """Return (2, size - 1) int64 indices of parent and child of every edge, ordered by child."""
    pairs: list[tuple[int, int]] = []

    def walk(node: Node, first: int) -> int:
        """Collect the edges of a subtree whose nodes count from `first`; return its root's
        index."""
        own = first + (0 if node.left is None else node.left.size)
        if node.left is not None:
            pairs.append((own, walk(node.left, first)))
        if node.right is not None:
            pairs.append((own, walk(node.right, own + 1)))
        return own

    walk(root, 0)
    pairs.sort(key=lambda edge: edge[1])
    return np.array(pairs, np.int64).reshape(-1, 2).T


def problem_hash(namespace: str) -> NDArray[np.int64]:
    """Return a (2,) hash of a namespace below `TYPE_BUCKETS`, equal in every process."""
    return _hash_namespace(namespace).copy()


@functools.cache
def _hash_namespace(namespace: str) -> NDArray[np.int64]:
    """Return the cached (2,) hash of a namespace."""
    texts = namespace, namespace[::-1]
    return np.array([crc32(text.encode()) % TYPE_BUCKETS for text in texts], np.int64)


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
