"""A move in an expression, as the systems of algebra see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from gv_engine.rules.frame import TreeNode


@dataclass(frozen=True)
class EnvRewards:
    """Rewards of moves."""

    win: float = 1.0
    """Before the bonus for few moves."""
    lose: float = -1.0
    helpful: float = 0.01
    """A move of a rewarding rule."""
    unhelpful: float = -0.01
    """A move of a penalized rule."""
    time: float = -0.01
    """Any other move."""
    revisit: float = -0.02
    """For each time that the expression has been there."""
    invalid: float = -0.5


class Rewriting(Protocol):
    """A move, and what may be done about it.

    Attributes:
        valid: whether the rule applies there.
        decided_by: name of the system that has decided what came of it; empty before.
        reward: what it was worth, once that is decided.
    """

    valid: bool
    decided_by: str
    reward: float

    @property
    def rewards(self) -> EnvRewards:
        """What moves are worth."""

    @property
    def forgives(self) -> bool:
        """Whether the episode goes on after a rule that does not apply."""

    @property
    def fits(self) -> bool:
        """Whether the expression has room in an observation."""

    @property
    def moves_remaining(self) -> int:
        """Until the episode is lost."""

    @property
    def visits(self) -> int:
        """How often the episode has come to this expression; 0 where that does not count."""

    @property
    def helps(self) -> bool:
        """Whether the environment rewards moves of this rule."""

    @property
    def hinders(self) -> bool:
        """Whether it penalizes them."""

    def rewrite(self) -> None:
        """Apply the rule: reach the next state."""

    def ask_goal(self) -> None:
        """Let the environment decide, if it has something to say of where the move has led."""

    def score(self, reward: float, discount: float | None = None) -> None:
        """Decide that the episode goes on, for this reward."""

    def lose(self) -> None:
        """Decide that the episode is lost."""

    def give_up(self) -> None:
        """Lose all moves that are left, and the episode."""


class ExpressionCanvas(Protocol):
    """What takes the picture of an expression."""

    def spans(self, node: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """The characters of a node, and of all below it, in the written expression."""

    def rules_at(self, node: int) -> tuple[int, ...]:
        """Numbers of the rules that apply to a node."""

    def show(self, nodes: tuple[TreeNode, ...]) -> None:
        """Show the picture with these nodes."""
