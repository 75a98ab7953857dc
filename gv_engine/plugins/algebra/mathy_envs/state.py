"""States of mathy_envs, and its four kinds of observations, which number nodes in preorder."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, TypeAlias
from zlib import adler32

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.algebra import state as own
from gv_engine.plugins.algebra.expression import CONSTANT, Node
from gv_engine.plugins.algebra.mathy_envs.types import ActionType
from gv_engine.plugins.algebra.state import (
    MAX_FLOAT,
    MathyAgentState,
    MathyEnvStateStep,
    MathyObservation,
)

__all__ = [
    "MathyAgentState",
    "MathyEnvState",
    "MathyEnvStateStep",
    "MathyGraphObservation",
    "MathyHierarchicalObservation",
    "MathyMessagePassingObservation",
    "MathyObservation",
    "MathyObservationUnion",
    "ObservationType",
]

Mask: TypeAlias = Sequence[Sequence[int]]
"""Action mask: for each rule a list of 0 and 1, one for each node in order."""

_MAX_SEQ_LEN = 128
NUM_FEATURES = 4
"""Number of features of a node: type id, value, time, 1 for a leaf."""


class ObservationType(Enum):
    """Kind of an observation."""

    FLAT = "flat"
    GRAPH = "graph"
    HIERARCHICAL = "hierarchical"
    MESSAGE_PASSING = "message_passing"


class MathyGraphObservation(NamedTuple):
    """Observation of the tree as a graph, with room for L nodes in preorder.

    Attributes:
        node_features: (L, 4) type id, value, time, 1 for a leaf.
        adjacency: (L, L) 1 from each node to its operands.
        action_mask: (rules * L,) 1 for valid actions.
        num_nodes: number of nodes.
    """

    node_features: NDArray[np.float32]
    adjacency: NDArray[np.float32]
    action_mask: NDArray[np.float32]
    num_nodes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as the environments of Gymnasium observe them."""
        return self._asdict()


class MathyHierarchicalObservation(NamedTuple):
    """Observation of the tree level by level, with room for L nodes.

    Attributes:
        node_features: (L, 4) type id, value, time, 1 for a leaf.
        level_indices: (L,) depth of each node, at most L / 4 - 1.
        action_mask: (rules * L,) 1 for valid actions.
        max_depth: greatest depth of a node, at most L / 4.
        num_nodes: number of nodes.
    """

    node_features: NDArray[np.float32]
    level_indices: NDArray[np.int32]
    action_mask: NDArray[np.float32]
    max_depth: int
    num_nodes: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as the environments of Gymnasium observe them."""
        return self._asdict()


class MathyMessagePassingObservation(NamedTuple):
    """Observation of the tree as a list of edges, with room for L nodes in preorder.

    Attributes:
        node_features: (L, 4) type id, value, time, 1 for a leaf.
        edge_index: (2, 2 * L) node and operand of each edge.
        edge_types: (2 * L,) 0 for the left operand, 1 for the right one.
        action_mask: (rules * L,) 1 for valid actions.
        num_nodes: number of nodes.
        num_edges: number of edges.
    """

    node_features: NDArray[np.float32]
    edge_index: NDArray[np.int64]
    edge_types: NDArray[np.int64]
    action_mask: NDArray[np.float32]
    num_nodes: int
    num_edges: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as the environments of Gymnasium observe them."""
        return self._asdict()


MathyObservationUnion: TypeAlias = (
    NDArray[np.float32]
    | MathyGraphObservation
    | MathyHierarchicalObservation
    | MathyMessagePassingObservation
)


class _TreePosition(NamedTuple):
    """Position of a node in its tree.

    Attributes:
        parent: index of the parent in preorder; -1 for the root.
        side: 0 for a left operand, 1 for a right one; 0 for the root.
    """

    node: Node
    depth: int
    parent: int
    side: int


class MathyEnvState(own.MathyEnvState):
    """Immutable state of an episode, as in mathy_envs.

    Args:
        state: state to copy; None to begin with `problem`.
        problem: text of an expression.
        max_moves: number of moves allowed in the episode.
        num_rules: number of rules, for the size of masks in observations.
        problem_type: namespace of the environment.
    """

    __slots__ = ("num_rules",)

    def __init__(
        self,
        state: own.MathyEnvState | None = None,
        problem: str | None = None,
        max_moves: int = 10,
        num_rules: int = 0,
        problem_type: str = "mathy.unknown",
    ) -> None:
        """Make a copy of `state`, or the first state of an episode with the expression
        `problem`."""
        if problem is None and state is not None:
            super().__init__(state.agent.problem, state.max_moves, state.agent.problem_type)
            self.agent = copy.copy(state.agent)
            num_rules = getattr(state, "num_rules", num_rules)
        else:
            super().__init__(problem, max_moves, problem_type)  # type: ignore[arg-type]  # it raises
        self.num_rules = num_rules

    @classmethod
    def copy(cls, from_state: own.MathyEnvState) -> MathyEnvState:
        """Return a copy of a state."""
        return cls(from_state)

    def clone(self) -> MathyEnvState:
        """Return a copy of this state."""
        return MathyEnvState(self)

    def get_out_state(
        self, problem: str, action: ActionType, moves_remaining: int
    ) -> MathyEnvState:
        """Return the state after `action` has changed the expression to `problem`. This state does
        not change."""
        state = self.clone()
        state.agent.history = (*self.agent.history, MathyEnvStateStep(problem, action))
        state.agent.problem = problem
        state.agent.moves_remaining = moves_remaining
        return state

    def get_problem_hash(self) -> list[float]:
        """Return four numbers from 0 to 1 that depend on the environment's namespace."""
        return list(_hash_namespace(self.agent.problem_type))

    def _replaced(self, *args: Any, **kwargs: Any) -> MathyEnvState:
        """Return a copy of this state with some attributes replaced. The arguments are those of the
        base class's method, and the copy has this class."""
        state = super()._replaced(*args, **kwargs)
        assert isinstance(state, MathyEnvState)
        state.num_rules = self.num_rules
        return state

    def __getstate__(self) -> tuple[Any, ...]:
        return *super().__getstate__(), self.num_rules

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        *base, self.num_rules = state
        super().__setstate__(tuple(base))

    # ---- observations ---------------------------------------------------------------------------

    def to_observation(
        self,
        move_mask: Mask | None = None,
        hash_type: Sequence[float] | None = None,
        parser: object = None,
        normalize: bool = True,
        max_seq_len: int | None = None,
        obs_type: ObservationType = ObservationType.FLAT,
    ) -> MathyObservationUnion:
        """Return the observation of this state in the format `obs_type`, such as FLAT or GRAPH,
        with `move_mask` as its action mask.

        Args:
            move_mask: action mask, such as from `get_valid_moves`; zeros if None.
            hash_type: four numbers for the environment in flat observations.
            parser: ignored, as in the methods for each kind: the engine's parser reads all texts.
            normalize: scale type ids and values to 0 to 1.
            max_seq_len: room for nodes, 128 if None.
            obs_type: kind of the observation.

        Raises:
            ValueError: the kind is unknown, or the expression has more nodes than fit.
        """
        options: dict[str, Any] = {"normalize": normalize, "max_seq_len": max_seq_len}
        if obs_type == ObservationType.FLAT:
            return self.to_flat_observation(move_mask, hash_type, **options)
        if obs_type == ObservationType.GRAPH:
            return self.to_graph_observation(move_mask, **options)
        if obs_type == ObservationType.HIERARCHICAL:
            return self.to_hierarchical_observation(move_mask, **options)
        if obs_type == ObservationType.MESSAGE_PASSING:
            return self.to_message_passing_observation(move_mask, **options)
        allowed = ", ".join(f"ObservationType.{kind.name}" for kind in ObservationType)  # type: ignore[unreachable]  # for others
        raise ValueError(f"Unknown observation type: {obs_type!r}; allowed are {allowed}")

    def to_flat_observation(
        self,
        move_mask: Mask | None = None,
        hash_type: Sequence[float] | None = None,
        parser: object = None,
        normalize: bool = True,
        max_seq_len: int | None = None,
    ) -> NDArray[np.float32]:
        """Return the observation as one float array: environment hash (4), used moves (1), type ids
        and values of L nodes in preorder (2 * L), action mask (rules * L)."""
        features = self._features(list(_walk(self.root)), max_seq_len, normalize)
        mask = self._pad_mask(move_mask, len(features))
        hashes = self.get_problem_hash() if hash_type is None else hash_type
        tenths = int(self._used_moves() * 10)
        parts = [*hashes, tenths], features[:, 0], features[:, 1], mask
        return np.concatenate(parts).astype(np.float32)

    def to_graph_observation(
        self,
        move_mask: Mask | None = None,
        hash_type: Sequence[float] | None = None,
        parser: object = None,
        normalize: bool = True,
        max_seq_len: int | None = None,
    ) -> MathyGraphObservation:
        """Return the observation as a graph: node features and an adjacency matrix. `hash_type` is
        ignored."""
        positions = list(_walk(self.root))
        features = self._features(positions, max_seq_len, normalize)
        length = len(features)
        adjacency = np.zeros((length, length), np.float32)
        for child, position in enumerate(positions[1:], 1):
            adjacency[position.parent, child] = 1.0
        mask = self._pad_mask(move_mask, length)
        return MathyGraphObservation(features, adjacency, mask, len(positions))

    def to_hierarchical_observation(
        self,
        move_mask: Mask | None = None,
        parser: object = None,
        max_seq_len: int | None = None,
        normalize: bool = True,
    ) -> MathyHierarchicalObservation:
        """Return the observation with the depth of each node in the tree."""
        positions = sorted(_walk(self.root), key=lambda position: position.depth)
        features = self._features(positions, max_seq_len, normalize)
        length = len(features)
        levels = np.zeros(length, np.int32)
        levels[: len(positions)] = [max(0, min(p.depth, length // 4 - 1)) for p in positions]
        mask = self._pad_mask(move_mask, length)
        depth = min(positions[-1].depth, length // 4)
        return MathyHierarchicalObservation(features, levels, mask, depth, len(positions))

    def to_message_passing_observation(
        self,
        move_mask: Mask | None = None,
        parser: object = None,
        max_seq_len: int | None = None,
        normalize: bool = True,
    ) -> MathyMessagePassingObservation:
        """Return the observation as node features and a list of edges, for message passing
        networks."""
        positions = list(_walk(self.root))
        features = self._features(positions, max_seq_len, normalize)
        length = len(features)
        edges = sorted((p.parent, p.side, child) for child, p in enumerate(positions[1:], 1))
        edge_index = np.zeros((2, 2 * length), np.int64)
        edge_types = np.zeros(2 * length, np.int64)
        if edges:
            parents, sides, children = np.array(edges).T
            edge_index[:, : len(edges)] = parents, children
            edge_types[: len(edges)] = sides
        mask = self._pad_mask(move_mask, length)
        return MathyMessagePassingObservation(
            features, edge_index, edge_types, mask, len(positions), len(edges)
        )

    def _features(
        self, positions: Sequence[_TreePosition], max_seq_len: int | None, normalize: bool
    ) -> NDArray[np.float32]:
        """Return four features of each node as a (max_seq_len, 4) array; None means 128 rows. Raise
        ValueError if there are more nodes than rows."""
        length = _MAX_SEQ_LEN if max_seq_len is None else max_seq_len
        if len(positions) > length:
            raise ValueError(
                f"{self.agent.problem!r} has {len(positions)} nodes, allowed are "
                f"max_seq_len={length}; make max_seq_len larger"
            )
        nodes = [position.node for position in positions]
        values = [
            min(max(node.value, -MAX_FLOAT), MAX_FLOAT) if node.kind is CONSTANT else 0.0  # type: ignore[type-var]
            for node in nodes
        ]
        features = np.zeros((length, NUM_FEATURES), np.float32)
        columns = np.array([[own.type_id(node) for node in nodes], values])
        if normalize:
            columns = np.array([_scale(column) for column in columns])
        features[: len(nodes), :2] = columns.T
        features[: len(nodes), 2] = self._used_moves()
        features[: len(nodes), 3] = [not node.children() for node in nodes]
        return features

    def _used_moves(self) -> float:
        used = min(max(0, self.max_moves - self.agent.moves_remaining), self.max_moves)
        return used / self.max_moves if self.max_moves else 0.0

    def _pad_mask(self, mask: Mask | None, length: int) -> NDArray[np.float32]:
        """Pad an action mask with zeros to `length` nodes and at least `num_rules` rules. Return it
        flattened."""
        rows = () if mask is None else mask
        padded = np.zeros((max(self.num_rules, len(rows)), length), np.float32)
        for number, row in enumerate(rows):
            padded[number, : len(row)] = row
        return padded.reshape(-1)

    # ---- texts and arrays -----------------------------------------------------------------------

    def to_string(self) -> str:
        """Serialise the state to text, which `from_string` reads."""
        agent = self.agent
        numbers = self.max_moves, self.num_rules, agent.moves_remaining
        steps = [f"{raw},{action[0]},{action[1]}" for raw, action in agent.history]
        return "@".join(
            map(str, (*numbers, agent.problem, agent.problem_type, agent.reward, *steps))
        )

    @classmethod
    def from_string(cls, input_string: str) -> MathyEnvState:
        """Return the state that `to_string` has serialised. Raise ValueError for any other text."""
        try:
            moves, rules, left, problem, kind, reward, *steps = input_string.rstrip().split("@")
            state = cls(None, problem, int(moves), int(rules), kind)
            history = (step.rsplit(",", 2) for step in steps)
            entries = (
                MathyEnvStateStep(raw, (int(rule), int(node))) for raw, rule, node in history
            )
            state.agent = MathyAgentState(int(left), problem, kind, float(reward), tuple(entries))
        except ValueError as error:
            raise ValueError(f"{input_string[:80]!r} is no text of to_string: {error}") from None
        return state

    def to_np(self, pad_to: int | None = None) -> NDArray[np.uint8]:
        """Return the text of `to_string` as an array of bytes, padded with spaces to `pad_to`
        bytes. Raise ValueError if the text is longer."""
        text = self.to_string().encode()
        if pad_to is not None and len(text) > pad_to:
            raise ValueError(f"the state has {len(text)} bytes, allowed are pad_to={pad_to}")
        return np.frombuffer(text.ljust(pad_to or 0), np.uint8).copy()

    @classmethod
    def from_np(cls, input_bytes: NDArray[np.uint8]) -> MathyEnvState:
        """Return the state that `to_np` made an array of."""
        return cls.from_string(bytes(input_bytes.astype(np.uint8)).decode())


def _walk(root: Node) -> Iterator[_TreePosition]:
    """Yield the positions of all nodes of a tree in preorder."""
    stack = [_TreePosition(root, depth=0, parent=-1, side=0)]
    index = 0
    while stack:
        position = stack.pop()
        yield position
        for side, child in ((1, position.node.right), (0, position.node.left)):
            if child is not None:
                stack.append(_TreePosition(child, position.depth + 1, index, side))
        index += 1


def _scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale numbers to the range 0 to 1. If their sum is 0 they are returned unchanged, as in
    mathy_envs."""
    if values.sum() == 0:
        return values
    scaled: NDArray[np.float64] = (values - values.min()) / (values.max() - values.min() + 1e-32)
    return scaled


@cache
def _hash_namespace(namespace: str) -> tuple[float, ...]:
    """Return four hashes of an environment's name, scaled to the range 0 to 1."""
    texts = namespace, namespace[::-1], namespace.upper(), namespace.replace(".", "")
    hashes = np.array([adler32(text.encode()) for text in texts], np.float32)
    scaled = (hashes - hashes.min()) / (hashes.max() - hashes.min())
    return tuple(scaled.tolist())
