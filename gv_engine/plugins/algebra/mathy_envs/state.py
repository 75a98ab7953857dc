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


class _AsDict:
    """Base of observations that are tuples with names."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name, as the environments of Gymnasium observe them."""
        return dict(self._asdict())  # type: ignore[attr-defined]  # of a named tuple


class _Graph(NamedTuple):
    node_features: NDArray[np.float32]
    adjacency: NDArray[np.float32]
    action_mask: NDArray[np.float32]
    num_nodes: int


class MathyGraphObservation(_AsDict, _Graph):
    """Observation of the tree as a graph, with room for L nodes in preorder.

    Attributes:
        node_features: (L, 4) type id, value, time, 1 for a leaf.
        adjacency: (L, L) 1 from each node to its operands.
        action_mask: (rules * L,) 1 for valid actions.
        num_nodes: number of nodes.
    """


class _Hierarchical(NamedTuple):
    node_features: NDArray[np.float32]
    level_indices: NDArray[np.int32]
    action_mask: NDArray[np.float32]
    max_depth: int
    num_nodes: int


class MathyHierarchicalObservation(_AsDict, _Hierarchical):
    """Observation of the tree level by level, with room for L nodes.

    Attributes:
        node_features: (L, 4) type id, value, time, 1 for a leaf.
        level_indices: (L,) depth of each node, at most L / 4 - 1.
        action_mask: (rules * L,) 1 for valid actions.
        max_depth: greatest depth of a node, at most L / 4.
        num_nodes: number of nodes.
    """


class _MessagePassing(NamedTuple):
    node_features: NDArray[np.float32]
    edge_index: NDArray[np.int64]
    edge_types: NDArray[np.int64]
    action_mask: NDArray[np.float32]
    num_nodes: int
    num_edges: int


class MathyMessagePassingObservation(_AsDict, _MessagePassing):
    """Observation of the tree as a list of edges, with room for L nodes in preorder.

    Attributes:
        node_features: (L, 4) type id, value, time, 1 for a leaf.
        edge_index: (2, 2 * L) node and operand of each edge.
        edge_types: (2 * L,) 0 for the left operand, 1 for the right one.
        action_mask: (rules * L,) 1 for valid actions.
        num_nodes: number of nodes.
        num_edges: number of edges.
    """


MathyObservationUnion: TypeAlias = (
    NDArray[np.float32]
    | MathyGraphObservation
    | MathyHierarchicalObservation
    | MathyMessagePassingObservation
)


class _Place(NamedTuple):
    """Node in preorder, with its depth, the number of its parent, and 0 or 1 for its side."""

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
        """Return the state after `action` led to the text `problem`; this state does not change."""
        state = self.clone()
        state.agent.history = (*self.agent.history, MathyEnvStateStep(problem, action))
        state.agent.problem = problem
        state.agent.moves_remaining = moves_remaining
        return state

    def get_problem_hash(self) -> list[float]:
        """Return four numbers from 0 to 1 that depend on the environment's namespace."""
        return list(_hash_namespace(self.agent.problem_type))

    def _replaced(self, *args: Any, **kwargs: Any) -> MathyEnvState:
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
        """Return an observation of the state.

        Args:
            move_mask: action mask, such as from `get_valid_moves`; zeros if None.
            hash_type: four numbers for the environment in flat observations.
            parser: ignored; all texts are read by the engine's parser.
            normalize: scale type ids and values to 0 to 1.
            max_seq_len: room for nodes, 128 if None.
            obs_type: kind of the observation.

        Raises:
            ValueError: the kind is unknown, or the expression has more nodes than fit.
        """
        length = _MAX_SEQ_LEN if max_seq_len is None else max_seq_len
        if obs_type == ObservationType.FLAT:
            return self.to_flat_observation(move_mask, hash_type, parser, normalize, length)
        if obs_type == ObservationType.GRAPH:
            return self.to_graph_observation(move_mask, hash_type, parser, normalize, length)
        if obs_type == ObservationType.HIERARCHICAL:
            return self.to_hierarchical_observation(move_mask, parser, length, normalize)
        if obs_type == ObservationType.MESSAGE_PASSING:
            return self.to_message_passing_observation(move_mask, parser, length, normalize)
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
        """Return the observation as one array: the hash of the environment (4), the tenths of the
        moves that are used (1), type ids and values of L nodes in preorder, and the action mask
        (rules * L)."""
        length = _MAX_SEQ_LEN if max_seq_len is None else max_seq_len
        features = self._features(list(_walk(self.root)), length, normalize)
        tenths = int(self._used_moves() * 10)
        hashes = self.get_problem_hash() if hash_type is None else hash_type
        return np.concatenate(
            ([*hashes, tenths], features[:, 0], features[:, 1], self._pad_mask(move_mask, length))
        ).astype(np.float32)

    def to_graph_observation(
        self,
        move_mask: Mask | None = None,
        hash_type: Sequence[float] | None = None,
        parser: object = None,
        normalize: bool = True,
        max_seq_len: int | None = None,
    ) -> MathyGraphObservation:
        """Return the observation as a graph."""
        length = _MAX_SEQ_LEN if max_seq_len is None else max_seq_len
        places = list(_walk(self.root))
        features = self._features(places, length, normalize)
        adjacency = np.zeros((length, length), np.float32)
        for number, place in enumerate(places[1:], 1):
            adjacency[place.parent, number] = 1.0
        mask = self._pad_mask(move_mask, length)
        return MathyGraphObservation(features, adjacency, mask, len(places))

    def to_hierarchical_observation(
        self,
        move_mask: Mask | None = None,
        parser: object = None,
        max_seq_len: int | None = None,
        normalize: bool = True,
    ) -> MathyHierarchicalObservation:
        """Return the observation level by level."""
        length = _MAX_SEQ_LEN if max_seq_len is None else max_seq_len
        places = sorted(_walk(self.root), key=lambda place: place.depth)
        features = self._features(places, length, normalize)
        levels = np.zeros(length, np.int32)
        levels[: len(places)] = [max(0, min(p.depth, length // 4 - 1)) for p in places]
        mask = self._pad_mask(move_mask, length)
        depth = min(places[-1].depth, length // 4)
        return MathyHierarchicalObservation(features, levels, mask, depth, len(places))

    def to_message_passing_observation(
        self,
        move_mask: Mask | None = None,
        parser: object = None,
        max_seq_len: int | None = None,
        normalize: bool = True,
    ) -> MathyMessagePassingObservation:
        """Return the observation as a list of edges."""
        length = _MAX_SEQ_LEN if max_seq_len is None else max_seq_len
        places = list(_walk(self.root))
        features = self._features(places, length, normalize)
        edges = sorted((p.parent, p.side, number) for number, p in enumerate(places[1:], 1))
        edge_index = np.zeros((2, 2 * length), np.int64)
        edge_types = np.zeros(2 * length, np.int64)
        if edges:
            edge_index[0, : len(edges)], edge_types[: len(edges)], edge_index[1, : len(edges)] = (
                np.array(edges).T
            )
        mask = self._pad_mask(move_mask, length)
        return MathyMessagePassingObservation(
            features, edge_index, edge_types, mask, len(places), len(edges)
        )

    def _features(
        self, places: Sequence[_Place], length: int, normalize: bool
    ) -> NDArray[np.float32]:
        """Return the features of nodes, (length, 4); raise ValueError if they are too many."""
        if len(places) > length:
            raise ValueError(
                f"{self.agent.problem!r} has {len(places)} nodes, allowed are "
                f"max_seq_len={length}; make max_seq_len larger"
            )
        nodes = [place.node for place in places]
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
        """Return an action mask with room for `length` nodes and at least `num_rules` rules, as one
        row."""
        rows = () if mask is None else mask
        padded = np.zeros((max(self.num_rules, len(rows)), length), np.float32)
        for number, row in enumerate(rows):
            padded[number, : len(row)] = row
        return padded.reshape(-1)

    # ---- texts and arrays -----------------------------------------------------------------------

    def to_string(self) -> str:
        """Return the state as text, for `from_string`."""
        agent = self.agent
        numbers = self.max_moves, self.num_rules, agent.moves_remaining
        steps = [f"{raw},{action[0]},{action[1]}" for raw, action in agent.history]
        return "@".join(
            map(str, (*numbers, agent.problem, agent.problem_type, agent.reward, *steps))
        )

    @classmethod
    def from_string(cls, input_string: str) -> MathyEnvState:
        """Return the state that `to_string` made a text of; raise ValueError for another text."""
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
        """Return the text of `to_string` as an array of bytes, with spaces up to `pad_to`; raise
        ValueError if it is longer."""
        text = self.to_string().encode()
        if pad_to is not None and len(text) > pad_to:
            raise ValueError(f"the state has {len(text)} bytes, allowed are pad_to={pad_to}")
        return np.frombuffer(text.ljust(pad_to or 0), np.uint8).copy()

    @classmethod
    def from_np(cls, input_bytes: NDArray[np.uint8]) -> MathyEnvState:
        """Return the state that `to_np` made an array of."""
        return cls.from_string(bytes(input_bytes.astype(np.uint8)).decode())


def _walk(root: Node) -> Iterator[_Place]:
    """Yield the nodes of a tree in preorder."""
    ahead = [_Place(root, 0, -1, 0)]  # the next one last
    number = 0
    while ahead:
        place = ahead.pop()
        yield place
        for side, child in ((1, place.node.right), (0, place.node.left)):
            if child is not None:
                ahead.append(_Place(child, place.depth + 1, number, side))
        number += 1


def _scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return numbers scaled to 0 to 1; unchanged if their sum is 0, as in mathy_envs."""
    if values.sum() == 0:
        return values
    scaled: NDArray[np.float64] = (values - values.min()) / (values.max() - values.min() + 1e-32)
    return scaled


@cache
def _hash_namespace(namespace: str) -> tuple[float, ...]:
    """Return four hashes of a namespace, scaled to 0 to 1."""
    texts = namespace, namespace[::-1], namespace.upper(), namespace.replace(".", "")
    hashes = np.array([adler32(text.encode()) for text in texts], np.float32)
    scaled = (hashes - hashes.min()) / (hashes.max() - hashes.min())
    return tuple(scaled.tolist())
