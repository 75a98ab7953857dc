"""A move from one state to the next, as the systems of algebra see it."""

from __future__ import annotations

from gv_engine.domains.algebra.goals import Goals
from gv_engine.domains.algebra.library import BaseRule
from gv_engine.domains.algebra.state import START, MathyEnvState
from gv_engine.domains.algebra.types import (
    Late,
    TimeStep,
    is_terminal_transition,
    termination,
    transition,
)
from gv_engine.rules.call import Call
from gv_engine.rules.rewriting import EnvRewards, Rewriting


class Move(Rewriting):
    """A move, or a look at where the last one has led.

    Attributes:
        env: whose rules are played.
        state: before the transition the one that is left, afterwards the one that is reached.
        action: (rule, node); (-1, -1) at the start of an episode.
        valid: whether the rule applies there.
        asked: the system that looks at it now, or has last.
        verdict: what came of it; None until a system has decided.
        decided_by: name of that system.
        reward: what it gave.
    """

    asked: Call

    def __init__(
        self, env: Goals, state: MathyEnvState, action: tuple[int, int], valid: bool = True
    ) -> None:
        self.env = env
        self.reward = 0.0
        self.begin(state, action, valid)

    def begin(self, state: MathyEnvState, action: tuple[int, int], valid: bool = True) -> None:
        """Take up a move, before anything has come of it."""
        self.state = state
        self.action = action
        self.valid = valid
        self.verdict: TimeStep | None = None
        self.decided_by = ""

    @property
    def rule(self) -> BaseRule | None:
        """The rule that was applied, None at the start of an episode."""
        return None if self.action == START else self.env.rules[self.action[0]]

    @property
    def rewards(self) -> EnvRewards:
        return self.env.rewards

    @property
    def tolerates_invalid(self) -> bool:
        return self.env.invalid_action_response != "terminal"

    @property
    def fits_observation(self) -> bool:
        return self.state.root.size <= self.env.max_seq_len

    @property
    def moves_remaining(self) -> int:
        return self.state.agent.moves_remaining

    @property
    def visits(self) -> int:
        """How often the history, now included, holds the text that the expression prints as.

        A rule may leave `7 * a * j`, which prints as `7a * j` once it is parsed: that counts the
        visits of the latter, and none of itself. Nothing is counted where that costs nothing.
        """
        return self.state.visits if self.env.previous_state_penalty else 0

    @property
    def has_rewarded_rule(self) -> bool:
        return isinstance(self.rule, tuple(self.env.get_rewarding_actions(self.state)))

    @property
    def has_penalized_rule(self) -> bool:
        return isinstance(self.rule, tuple(self.env.get_penalizing_actions(self.state)))

    def rewrite(self) -> None:
        """Apply the rule: reach the next state."""
        number, node = self.action
        text, root = self.env.rules.apply(self.state.root, node, number)
        self.state = self.state.after(self.action, text, root)

    def check_goal(self) -> None:
        """Take over what the environment says of where the move has led, if it says something."""
        self.verdict = self.env.goal(self.state)

    def score(self, reward: float, discount: float | None = None) -> None:
        """Decide that the episode goes on, for this reward."""
        discount = self.env.discount if discount is None else discount
        self.verdict = transition(self._observation(), reward, discount)

    def end(self, reward: float) -> None:
        """Decide that the episode is over."""
        self.verdict = termination(self._observation(), reward)

    def lose(self) -> None:
        """Decide that the episode is lost."""
        self.end(self.env.get_lose_signal(self.state))

    def give_up(self) -> None:
        """Lose all moves that are left, and the episode."""
        self.state = self.state.without_moves()
        self.lose()

    def settle(self) -> TimeStep:
        """The verdict, and what the state remembers of it; worth nothing if no system has any."""
        if self.verdict is None:
            self.score(0.0)
        else:
            self.decided_by = self.asked.name  # as nobody is asked after the one that decides
        verdict = self.verdict
        assert verdict is not None
        self.reward = verdict.reward
        self.state._over = is_terminal_transition(verdict)
        if self.valid:
            self.state.agent.reward = verdict.reward
        return verdict

    def _observation(self) -> Late:
        env, state = self.env, self.state
        return Late(lambda: env.state_to_observation(state))
