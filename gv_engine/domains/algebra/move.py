"""Move from one state to the next, in the form that the systems of algebra read and write."""

from __future__ import annotations

from gv_engine.domains.algebra.goals import Goals
from gv_engine.domains.algebra.library import BaseRule
from gv_engine.domains.algebra.state import START, MathyEnvState
from gv_engine.domains.algebra.types import (
    LazyValue,
    TimeStep,
    is_terminal_transition,
    termination,
    transition,
)
from gv_engine.rules.call import Call
from gv_engine.rules.rewriting import EnvRewards, Rewriting


class Move(Rewriting):
    """Move of an environment: the state, the action and the outcome that systems decide.

    Attributes:
        env: environment with the rules and rewards.
        state: state before the transition; afterwards the state reached.
        action: (rule, node); (-1, -1) at the start of an episode.
        valid: the rule applies to the node.
        last_call: call of the system that runs now, or ran last.
        verdict: resulting timestep; None until a system has decided.
        decided_by: name of the system that decided.
        reward: reward of the verdict.
    """

    last_call: Call

    def __init__(
        self, env: Goals, state: MathyEnvState, action: tuple[int, int], valid: bool = True
    ) -> None:
        self.env = env
        self.reward = 0.0
        self.begin(state, action, valid)

    def begin(self, state: MathyEnvState, action: tuple[int, int], valid: bool = True) -> None:
        """Set state and action of a new move, and clear the outcome."""
        self.state = state
        self.action = action
        self.valid = valid
        self.verdict: TimeStep | None = None
        self.decided_by = ""

    @property
    def rule(self) -> BaseRule | None:
        """Return the rule of the action; None at the start of an episode."""
        return None if self.action == START else self.env.rules[self.action[0]]

    @property
    def rewards(self) -> EnvRewards:
        """Return the rewards of the environment."""
        return self.env.rewards

    @property
    def tolerates_invalid(self) -> bool:
        """Return True if an invalid action does not end the episode."""
        return self.env.invalid_action_response != "terminal"

    @property
    def fits_observation(self) -> bool:
        """Return True if the expression has at most `max_seq_len` nodes."""
        return self.state.root.size <= self.env.max_seq_len

    @property
    def moves_remaining(self) -> int:
        """Return the number of moves left."""
        return self.state.agent.moves_remaining

    @property
    def visits(self) -> int:
        """Return how often the history, with this state, contains the printed text of the
        expression.

        A rule may leave `7 * a * j`, which prints as `7a * j` once it is parsed. The visits of the
        latter text are counted. Returns 0 if the environment has no penalty for revisits.
        """
        return self.state.visits if self.env.previous_state_penalty else 0

    @property
    def has_rewarded_rule(self) -> bool:
        """Return True if moves of this rule are rewarded."""
        return isinstance(self.rule, tuple(self.env.get_rewarding_actions(self.state)))

    @property
    def has_penalized_rule(self) -> bool:
        """Return True if moves of this rule are penalised."""
        return isinstance(self.rule, tuple(self.env.get_penalizing_actions(self.state)))

    def rewrite(self) -> None:
        """Apply the rule to the node: replace `state` by the next state."""
        number, node = self.action
        text, root = self.env.rules.apply(self.state.root, node, number)
        self.state = self.state.after_move(self.action, text, root)

    def check_goal(self) -> None:
        """Set the verdict to the timestep that the environment's goal gives for the state, if
        any."""
        self.verdict = self.env.goal(self.state)

    def score(self, reward: float, discount: float | None = None) -> None:
        """Set the verdict: the episode goes on, with this reward."""
        discount = self.env.discount if discount is None else discount
        self.verdict = transition(self._observation(), reward, discount)

    def end(self, reward: float) -> None:
        """Set the verdict: the episode ends, with this reward."""
        self.verdict = termination(self._observation(), reward)

    def lose(self) -> None:
        """Set the verdict: the episode is lost."""
        self.end(self.env.get_lose_signal(self.state))

    def give_up(self) -> None:
        """Set the remaining moves to 0 and the verdict to a loss."""
        self.state = self.state.without_moves()
        self.lose()

    def finish(self) -> TimeStep:
        """Return the verdict and store its effects on the state. Without a verdict, the reward is
        0."""
        if self.verdict is None:
            self.score(0.0)
        else:
            self.decided_by = self.last_call.name  # no system runs after the one that decides
        verdict = self.verdict
        assert verdict is not None
        self.reward = verdict.reward
        self.state._over = is_terminal_transition(verdict)
        if self.valid:
            self.state.agent.reward = verdict.reward
        return verdict

    def _observation(self) -> LazyValue:
        """Return the observation of the state, computed when it is first read."""
        env, state = self.env, self.state
        return LazyValue(lambda: env.state_to_observation(state))
