"""Protocols of a move in an expression, as the systems of algebra use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gv_engine.rules.frame import TreeNode


@dataclass(frozen=True)
class EnvRewards:
    """Rewards of moves by kind."""

    win: float = 1.0
    """Reward of winning, before the bonus for unused moves."""
    lose: float = -1.0
    helpful: float = 0.01
    """Reward of a move with a rule that the environment rewards."""
    unhelpful: float = -0.01
    """Reward of a move with a rule that the environment penalizes."""
    time: float = -0.01
    """Reward of any other move."""
    revisit: float = -0.02
    """Reward of a repeated expression, per visit."""
    invalid: float = -0.5


class Rewriting(Protocol):
    """One move of an episode, and the decisions that systems may take about it.

    Attributes:
        valid: True if the rule applies at the node.
        decided_by: name of the system that decided on the outcome; "" before.
        reward: reward of the move, once it is decided.
    """

    valid: bool
    decided_by: str
    reward: float

    @property
    def rewards(self) -> EnvRewards:
        """Rewards of moves by kind."""

    @property
    def tolerates_invalid(self) -> bool:
        """True if the episode continues after a rule that does not apply."""

    @property
    def fits_observation(self) -> bool:
        """True if the expression is small enough for an observation."""

    @property
    def moves_remaining(self) -> int:
        """Number of moves until the episode is lost."""

    @property
    def visits(self) -> int:
        """Number of times the episode has reached the expression, now included; 0 where revisits do
        not count."""

    @property
    def has_rewarded_rule(self) -> bool:
        """True if the environment rewards moves of this rule."""

    @property
    def has_penalized_rule(self) -> bool:
        """True if the environment penalizes moves of this rule."""

    def rewrite(self) -> None:
        """Apply the rule, so that the world is in the next state."""

    def check_goal(self) -> None:
        """Let the environment decide on win or loss in the new state, if it has a goal for it."""

    def score(self, reward: float, discount: float | None = None) -> None:
        """Decide that the episode continues with this reward."""

    def lose(self) -> None:
        """Decide that the episode is lost."""

    def give_up(self) -> None:
        """Forfeit all remaining moves and lose the episode."""


class ExpressionCanvas(Protocol):
    """Interface that rendering systems draw an expression on."""

    def spans(self, node: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return start and end of a node's own characters, and of its subtree's, in the written
        expression."""

    def rules_at(self, node: int) -> tuple[int, ...]:
        """Return the indices of the rules that apply to a node."""

    def show(self, nodes: tuple[TreeNode, ...]) -> None:
        """Show the picture with these nodes."""
