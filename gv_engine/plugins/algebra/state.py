"""State of an algebra game, and the types of its parts."""

from __future__ import annotations

import enum
import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.algebra.expression import CONSTANT, VARIABLE, Node
from gv_engine.plugins.algebra.library import expressions as lib
from gv_engine.plugins.algebra.parser import parse
from gv_engine.plugins.algebra.systems import EnvRewards as EnvRewards
from gv_engine.rules.errors import GVEngineError

MathyAction = int | tuple[int, int]
"""Action: `node * number_of_rules + rule`, or the pair `(rule, node)`. Nodes are numbered in order.
"""

INVALID_ACTION_RESPONSES = ("penalize", "raise", "terminal")
"""Allowed values of `invalid_action_response`."""


class MathyEnvDifficulty(enum.StrEnum):
    """Difficulty of the problems that an environment samples. A plain string is accepted in its
    place."""

    easy = "easy"
    normal = "normal"
    hard = "hard"


@dataclass(frozen=True)
class MathyEnvProblemArgs:
    """Arguments of `problem_fn`, which samples a problem.

    Raises:
        ValueError: the difficulty is unknown.
    """

    difficulty: MathyEnvDifficulty | str = MathyEnvDifficulty.easy

    def __post_init__(self) -> None:
        """Convert a difficulty given as text to the enum. Raise ValueError for an unknown one."""
        allowed = [difficulty.value for difficulty in MathyEnvDifficulty]
        if self.difficulty not in allowed:
            raise ValueError(f"difficulty={self.difficulty!r}: allowed are {', '.join(allowed)}")
        object.__setattr__(self, "difficulty", MathyEnvDifficulty(self.difficulty))


class ProblemError(GVEngineError, ValueError):
    """A problem cannot begin an episode."""


class MathyEnvProblem(NamedTuple):
    """Problem that an environment has sampled.

    Attributes:
        text: text of the expression.
        complexity: number of terms by default; the number of allowed moves depends on it.
        type: namespace of the environment, such as `mathy.polynomials.simplify`.
    """

    text: str
    complexity: int
    type: str


class StepType(enum.IntEnum):
    """Position of a timestep in its episode: first, middle or last."""

    FIRST = 0
    MID = 1
    LAST = 2


class TimeStep:
    """Outcome of a move.

    Attributes:
        step_type: LAST at the end of an episode.
        reward: reward of the move.
        discount: discount of future rewards; reported, not applied.
        observation: observation of the state after the move; a `functools.partial` is called when
            the attribute is first read.
    """

    __slots__ = ("_observation", "discount", "reward", "step_type")

    def __init__(self, step_type: int, reward: float, discount: float, observation: Any) -> None:
        """Create a timestep; `observation` may be a `functools.partial` that computes it on first
        access."""
        self.step_type = step_type if type(step_type) is StepType else StepType(step_type)
        self.reward = reward
        self.discount = discount
        self._observation = observation

    @property
    def observation(self) -> Any:
        """Return the observation of the state, which is computed on first access."""
        if isinstance(self._observation, partial):
            self._observation = self._observation()
        return self._observation

    def __iter__(self) -> Iterator[Any]:
        return iter((self.step_type, self.reward, self.discount, self.observation))

    def __repr__(self) -> str:
        return f"TimeStep({self.step_type.name}, reward={self.reward}, discount={self.discount})"


def transition(observation: Any, reward: float, discount: float = 1.0) -> TimeStep:
    """Return a timestep after which the episode goes on."""
    return TimeStep(StepType.MID, reward, discount, observation)


def termination(observation: Any, reward: float) -> TimeStep:
    """Return a timestep that ends the episode."""
    return TimeStep(StepType.LAST, reward, 0.0, observation)


def is_terminal_transition(timestep: TimeStep) -> bool:
    """Return True if a timestep ends the episode."""
    return timestep.step_type is StepType.LAST


TYPE_BUCKETS = 128
"""Number of values of each of the two hashes that identify an environment in observations."""

MAX_FLOAT = float(np.finfo(np.float32).max)
"""Largest absolute value of a number in an observation."""
_LETTER_A: int = lib.MathTypeKeys["variable_a"]
_TYPES: dict[type[lib.MathExpression], int] = {
    kind: lib.MathTypeKeys[name]
    for name in lib.MathTypeKeys
    for kind in [getattr(lib, f"{name.capitalize()}Expression", None)]
    if kind is not None
}
NUM_TYPES: int = lib.MathTypeKeysMax
"""Number of type ids; 0 stands for no node."""
_TERM: int = lib.MathTypeKeys["term"]
_BYTES = [struct.pack("=q", number) for number in range(NUM_TYPES)]
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

    @property
    def action(self) -> tuple[int, int]:
        """Return the last action as (rule, node); (-1, -1) at the start."""
        return self.history[-1].action


def check_max_moves(max_moves: object) -> None:
    """Raise ValueError unless `max_moves` is a whole number of at least 0.

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
        """Make the first state of an episode by parsing `problem`, an expression such as "4x +
        2x"."""
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
        """Return the expression as a tree, which is parsed on first access."""
        if self._root is None:
            self._root = parse(self.agent.problem)
        return self._root

    @property
    def visits(self) -> int:
        """Return how often the history of the episode contains the current expression, compared by
        its printed text."""
        if self._visits is None:
            self._visits = [step.raw for step in self.agent.history].count(self.root.text)
        return self._visits

    def after_move(self, action: tuple[int, int], text: str, root: Node) -> MathyEnvState:
        """Return the state after a move. `action` is the pair (rule, node); `text` and `root` are
        the new expression and its tree. This state does not change.

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
        """Return a copy of this state with no moves left, which counts as lost."""
        agent = self.agent
        lost = MathyAgentState(0, agent.problem, agent.problem_type, -1.0, agent.history)
        return self._replaced(lost, self._root, self._mask, over=True)

    def _replaced(
        self, agent: MathyAgentState, root: Node | None, mask: Any = None, over: bool | None = None
    ) -> MathyEnvState:
        """Return a new state with the given progress (`agent`) and expression tree. `mask` and
        `over` are cached: the action mask, and True at the end of the episode."""
        state = object.__new__(type(self))
        state.agent, state.max_moves = agent, self.max_moves
        state._root, state._mask, state._over, state._visits = root, mask, over, None
        return state

    @property
    def time(self) -> float:
        """Return the fraction of the allowed moves that has been used, from 0 to 1."""
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
    """Return the observation of a state with room for `length` nodes. Smaller expressions are
    padded, larger ones are cut off. `mask` is the (nodes, rules) action mask.

    Args:
        mask: (nodes, rules) int8 valid actions.
        length: number of nodes L.
    """
    types, numbers = _encode_tree(state.root)
    nodes = np.frombuffer(bytearray(types[: 8 * length].ljust(8 * length, b"\0")), np.int64)
    values = np.frombuffer(bytearray(numbers[: 4 * length].ljust(4 * length, b"\0")), np.float32)
    shown = np.zeros((length, mask.shape[1]), np.int8)
    shown[: len(mask)] = mask[:length]
    time = np.array([state.time], np.float32)
    return MathyObservation(nodes, values, shown, problem_hash(state.agent.problem_type), time)


def _encode_tree(node: Node) -> tuple[bytes, bytes]:
    """Return type ids (int64) and values (float32) of all nodes of a tree as bytes, from left to
    right. The result is cached in the root node."""
    if node.encoding is None:
        types, numbers = _BYTES[type_id(node)], _NO_NUMBER
        if node.kind is CONSTANT:
            numbers = struct.pack("=f", min(max(node.value, -MAX_FLOAT), MAX_FLOAT))  # type: ignore[type-var]
        if (left := node.left) is not None:
            before, numbers_before = left.encoding or _encode_tree(left)
            types, numbers = before + types, numbers_before + numbers
        if (right := node.right) is not None:
            after, numbers_after = right.encoding or _encode_tree(right)
            types, numbers = types + after, numbers + numbers_after
        node.encoding = types, numbers
    return node.encoding


def type_id(node: Node) -> int:
    """Return the id of a node's type in observations, the same as in mathy_core; each letter of a
    variable has an id of its own."""
    if node.kind is VARIABLE:
        return _LETTER_A + ord(str(node.value)[0].lower()) - ord("a")
    return _TYPES.get(node.kind, _TERM)


def tree_edges(root: Node) -> NDArray[np.int64]:
    """Return the edges of a tree as (2, size - 1) int64. Row 0 has the index of the parent, row 1
    that of the child. Edges are sorted by child."""
    pairs: list[tuple[int, int]] = []

    def write_edges(node: Node, first: int) -> int:
        own = first + (0 if node.left is None else node.left.size)
        if node.left is not None:
            pairs.append((own, write_edges(node.left, first)))
        if node.right is not None:
            pairs.append((own, write_edges(node.right, own + 1)))
        return own

    write_edges(root, 0)
    pairs.sort(key=lambda edge: edge[1])
    return np.array(pairs, np.int64).reshape(-1, 2).T


def problem_hash(namespace: str) -> NDArray[np.int64]:
    """Return two hashes of `namespace`, an environment's dotted name, as (2,) int64 from 0 to
    `TYPE_BUCKETS` - 1; they are the same in every process."""
    return _hash_namespace(namespace).copy()


@functools.cache
def _hash_namespace(namespace: str) -> NDArray[np.int64]:
    texts = namespace, namespace[::-1]
    return np.array([crc32(text.encode()) % TYPE_BUCKETS for text in texts], np.int64)
