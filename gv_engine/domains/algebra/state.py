"""States of mathy environments, and what agents see of them."""

from __future__ import annotations

import functools
import struct
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gv_engine.domains.algebra.expression import CONSTANT, VARIABLE, Node
from gv_engine.domains.algebra.library import expressions as lib
from gv_engine.domains.algebra.parsing import parse

TYPE_BUCKETS = 128
"""Environments are told apart by two numbers below this."""

_LARGEST = float(np.finfo(np.float32).max)
_LETTER_A: int = lib.MathTypeKeys["variable_a"]
_TYPES: dict[type[lib.MathExpression], int] = {
    kind: lib.MathTypeKeys[name]
    for name in lib.MathTypeKeys
    for kind in [getattr(lib, f"{name.capitalize()}Expression", None)]
    if kind is not None
}
NUM_TYPES: int = lib.MathTypeKeysMax
"""Type ids are below this; 0 stands for no node."""
_BYTES = [bytes((number,)) for number in range(NUM_TYPES)]
_NO_NUMBER = struct.pack("=f", 0.0)


class MathyEnvStateStep(NamedTuple):
    """One entry of an episode's history."""

    raw: str
    """The expression."""
    action: tuple[int, int]
    """(rule, node) that led to it; (-1, -1) at the start."""


START = (-1, -1)
"""The action of a history's first entry."""


@dataclass(slots=True)
class MathyAgentState:
    """The state of an episode."""

    moves_remaining: int
    """Until the episode is lost."""
    problem: str
    """The expression."""
    problem_type: str = "mathy.unknown"
    """Namespace of the environment."""
    reward: float = 0.0
    """Of the last move."""
    history: tuple[MathyEnvStateStep, ...] = ()
    """Expressions and the moves that led to them; the start as it was written first."""

    def __post_init__(self) -> None:
        self.history = self.history or (MathyEnvStateStep(self.problem, START),)


def check_moves(max_moves: object) -> None:
    """Make sure that it is a number of moves.

    Raises:
        ValueError: it is none.
    """
    if isinstance(max_moves, bool) or not isinstance(max_moves, int | np.integer) or max_moves < 0:
        raise ValueError(f"max_moves={max_moves!r}: expected a whole number, at least 0")


class MathyEnvState:
    """A state that is never changed: a step makes a new one.

    Args:
        problem: the text of an expression.
        max_moves: of the whole episode.
        problem_type: namespace of the environment.

    Attributes:
        agent: where the episode stands.
        max_moves: of the whole episode.
        root: the tree of the expression, parsed when it is asked for.
        visits: how often the history, now included, holds the text that the expression prints as.

    Raises:
        TypeError: the problem is no text.
        ValueError: `max_moves` is no number of moves.
        ExpressionError: from `root`, for a text that is no expression.
    """

    __slots__ = ("_mask", "_over", "_root", "_visits", "agent", "max_moves")

    def __init__(
        self,
        problem: str,
        max_moves: int = 10,
        problem_type: str = "mathy.unknown",
    ) -> None:
        if not isinstance(problem, str):
            raise TypeError(f"problem={problem!r}: expected the text of an expression")
        check_moves(max_moves)
        self.agent = MathyAgentState(max_moves, problem, problem_type)
        self.max_moves = max_moves
        self._root: Node | None = None
        # (rules, mask) and whether the episode is over, once an environment has found out
        self._mask: tuple[Any, NDArray[np.int8]] | None = None
        self._over: bool | None = None
        self._visits: int | None = None

    @property
    def root(self) -> Node:
        if self._root is None:
            self._root = parse(self.agent.problem)
        return self._root

    @property
    def visits(self) -> int:
        if self._visits is None:
            self._visits = [step.raw for step in self.agent.history].count(self.root.text)
        return self._visits

    def after(self, action: tuple[int, int], text: str, root: Node) -> MathyEnvState:
        """The state after a move that has given this expression."""
        agent = self.agent
        left, history = agent.moves_remaining - 1, (*agent.history, MathyEnvStateStep(text, action))
        return self._with(
            MathyAgentState(left, text, agent.problem_type, agent.reward, history), root
        )

    def without_moves(self) -> MathyEnvState:
        """The same state, but for the moves that are left: none."""
        agent = self.agent
        lost = MathyAgentState(0, agent.problem, agent.problem_type, -1.0, agent.history)
        return self._with(lost, self._root, self._mask, over=True)

    def _with(
        self, agent: MathyAgentState, root: Node | None, mask: Any = None, over: bool | None = None
    ) -> MathyEnvState:
        made = MathyEnvState.__new__(MathyEnvState)
        made.agent, made.max_moves = agent, self.max_moves
        made._root, made._mask, made._over, made._visits = root, mask, over, None
        return made

    @property
    def time(self) -> float:
        """The fraction of the moves that are used, from 0 to 1."""
        if self.max_moves <= 0:
            return 1.0
        used = 1.0 - self.agent.moves_remaining / self.max_moves
        return used if 0.0 <= used <= 1.0 else float(used > 0.0)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.max_moves, self.agent, self._over

    def __setstate__(self, kept: tuple[Any, ...]) -> None:
        self.max_moves, self.agent, self._over = kept
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
    """An observation, with room for L nodes in order."""

    nodes: NDArray[np.int64]
    """(L,) type ids, 0 where there is no node."""
    values: NDArray[np.float32]
    """(L,) the value of every constant, 0 elsewhere."""
    mask: NDArray[np.int8]
    """(L, rules) 1 for every action that is valid."""
    type: NDArray[np.int64]
    """(2,) the environment, by a hash of its namespace, from 0 to 127."""
    time: NDArray[np.float32]
    """(1,) the fraction of the moves that are used."""


def observe(state: MathyEnvState, mask: NDArray[np.int8], length: int) -> MathyObservation:
    """The observation of a state; of an expression that is too long, its first nodes.

    Args:
        mask: (nodes, rules).
        length: L.
    """
    types, numbers = _looks(state.root)
    nodes = np.frombuffer(types[:length].ljust(length, b"\0"), np.uint8).astype(np.int64)
    values = np.frombuffer(bytearray(numbers[: 4 * length].ljust(4 * length, b"\0")), np.float32)
    shown = np.zeros((length, mask.shape[1]), np.int8)
    shown[: len(mask)] = mask[:length]
    time = np.array([state.time], np.float32)
    return MathyObservation(nodes, values, shown, problem_hash(state.agent.problem_type), time)


def _looks(node: Node) -> tuple[bytes, bytes]:
    """(size,) uint8 type ids and (size,) float32 values in order, which the node keeps."""
    if node.looks is None:
        types, numbers = _BYTES[type_id(node)], _NO_NUMBER
        if node.kind is CONSTANT:
            number = min(max(node.value, -_LARGEST), _LARGEST)  # type: ignore[type-var]
            numbers = struct.pack("=f", number)
        if node.left is not None:
            before = _looks(node.left)
            types, numbers = before[0] + types, before[1] + numbers
        if node.right is not None:
            after = _looks(node.right)
            types, numbers = types + after[0], numbers + after[1]
        node.looks = types, numbers
    return node.looks


def type_id(node: Node) -> int:
    """The number of a node's type in mathy_core; letters have one each."""
    if node.kind is VARIABLE:
        return _LETTER_A + ord(str(node.value)[0].lower()) - ord("a")
    return _TYPES.get(node.kind, int(lib.MathTypeKeys["term"]))


def edges(root: Node) -> NDArray[np.int64]:
    """(2, size - 1) indices of every node's parent and of itself, in order of the latter."""
    found: list[tuple[int, int]] = []

    def walk(node: Node, first: int) -> int:
        own = first + (0 if node.left is None else node.left.size)
        if node.left is not None:
            found.append((own, walk(node.left, first)))
        if node.right is not None:
            found.append((own, walk(node.right, own + 1)))
        return own

    walk(root, 0)
    found.sort(key=lambda edge: edge[1])
    return np.array(found, np.int64).reshape(-1, 2).T


def problem_hash(namespace: str) -> NDArray[np.int64]:
    """(2,) numbers below `TYPE_BUCKETS`, the same in every process."""
    return _buckets(namespace).copy()


@functools.cache
def _buckets(namespace: str) -> NDArray[np.int64]:
    texts = namespace, namespace[::-1]
    return np.array([crc32(text.encode()) % TYPE_BUCKETS for text in texts], np.int64)
