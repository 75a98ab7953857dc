"""One episode of a scenario, played without a window: `Game` seeks to all of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gv_engine import __version__
from gv_engine.envs.render_modes import NotebookView
from gv_engine.play.session.catalogue import find_goal_sentence, find_heading
from gv_engine.play.session.episode import Episode, Playable, PolicyInput, make_episode
from gv_engine.play.session.replay import Difference, Replay, ReplayError, TimelineStep
from gv_engine.play.session.sprite_paths import SpriteSource, sprite_sources
from gv_engine.play.session.timeline import ReloadComparison, Timeline, Watch
from gv_engine.rules.errors import RuleError, Stopped, StoppedError
from gv_engine.scenario.documents.rule_errors import make_rule_error
from gv_engine.scenario.domains import KeyCommand
from gv_engine.scenario.levels.level_files import PackLevel

if TYPE_CHECKING:
    from typing import Self

    from gv_engine.envs.rollout.policy import Policy

_T = TypeVar("_T")
_MAX_RANDOM_SEED = 10_000  # exclusive, so that random seeds stay short enough to type
_INEXACT = "This is not how it was: a rule remembers something outside of the world"


def _delegate(path: str) -> Any:
    return property(attrgetter(path))


class AssistPolicy:
    """Policy of the scenario's own rule for agents that nobody plays, for one agent of a game."""

    probabilities = values = None

    def __init__(self, game: Game, agent: str) -> None:
        self._game, self._agent = game, agent

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Do nothing: the rule knows only the world."""

    def act(self, observation: Any, info: Any) -> NDArray[np.int64]:
        """Return the index of the action that the rule chooses now, (1,)."""
        return np.array([self._game.timeline.episode.assist(self._agent)])


class Game(NotebookView):
    """Game of one scenario, without a window. It can seek to every step of its episode exactly,
    with the state of the RNG.

    Args:
        scenario: scenario to play.
        seed: seed of the episode; sampled if None.

    Attributes:
        timeline: steps of the episode.
        message: text for the player, shown with the frame.
        scenario: current scenario.
        title: name of the scenario.
        seed: seed of the current episode.
        position: number of steps from the beginning of the episode to the current state.
        length: number of steps of the episode, undone steps included.
        comparison: comparison with the episode before the last reload of the scenario; None if
            nothing differs.
        outcome: end of the episode at the current state: `terminated`, `truncated`, or empty.
        actions: texts of the actions.
        agents: names of the agents.
        commands: key commands of this level only.
        partners: policies of other agents, by name.
        wait: action that lets time pass in real-time play; empty if the level has none.
        pack_level: current level of a pack; None outside of packs.
        format_action, action_indices, merge_actions, row: see `Episode`.
    """

    message: str
    scenario: Playable = _delegate("timeline.scenario")
    title: str = _delegate("scenario.name")
    seed: int = _delegate("timeline.seed")
    position: int = _delegate("timeline.position")
    length: int = _delegate("timeline.length")
    comparison: ReloadComparison | None = _delegate("timeline.comparison")
    _episode: Episode = _delegate("timeline.episode")
    outcome: str = _delegate("_episode.outcome")
    actions: Sequence[str] = _delegate("_episode.actions")
    agents: Sequence[str] = _delegate("_episode.agents")
    commands: tuple[KeyCommand, ...] = _delegate("_episode.commands")
    partners: Mapping[str, Policy] = _delegate("_episode.partners")
    wait: str = _delegate("_episode.wait")
    format_action: Callable[[Any], str] = _delegate("_episode.format_action")
    action_indices: Callable[[str], Any] = _delegate("_episode.action_indices")
    merge_actions: Callable[[str, str], str] = _delegate("_episode.merge_actions")
    row: Callable[[], Any] = _delegate("_episode.row")
    pack_level: PackLevel | None = _delegate("scenario.document.pack_level")

    def __init__(self, scenario: Playable, seed: int | None = None) -> None:
        seed = int(np.random.default_rng().integers(_MAX_RANDOM_SEED)) if seed is None else seed
        watch = self._call(lambda: Watch(scenario.watched_files()))
        self._open(self._call(lambda: Timeline(scenario, make_episode(scenario), seed, watch)))

    def _open(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.message = find_goal_sentence(self.scenario)

    @classmethod
    def from_timeline(cls, timeline: Timeline) -> Self:
        """Return a game that shows `timeline`, the steps of one episode, at its current
        position."""
        game = cls.__new__(cls)
        game._open(timeline)
        return game

    @classmethod
    def from_replay(cls, replay: Replay, scenario: Playable) -> Self:
        """Replay the recorded steps of `replay` in `scenario`, and return the game, moved back to
        the beginning of the episode.

        The game stops at the first state that differs from the replay; `difference` describes the
        state.

        Args:
            replay: see `gv_engine.play.session.replay`.
            scenario: scenario of the replay, see `Replay.find`.

        Raises:
            ReplayError: the replay belongs to another scenario.
        """
        replay.check(scenario)
        game = cls(scenario, replay.seed)
        timeline = game.timeline
        timeline.difference = replay.difference(0, timeline.start, replay.start)
        result: TimelineStep | str
        for number, expected in enumerate(replay.steps, start=1):
            if timeline.difference:
                break
            try:
                result = game.apply_action(expected.action)
            except RuleError as error:
                result = str(error)
            timeline.difference = replay.difference(number, result, expected)
        game.seek(0)
        return game

    # ---- current state -------------------------------------------------------------------

    @property
    def sprite_sources(self) -> tuple[SpriteSource, ...]:
        """Folders with the scenario's own sprites."""
        return sprite_sources(self.scenario)

    @property
    def past_steps(self) -> Sequence[TimelineStep]:
        """Steps from the beginning of the episode to the current state."""
        return self.timeline.steps[: self.position]

    def frame(self) -> Any:
        """Return the frame (data to be drawn) of the current state; in a grid a
        `gv_engine.rules.frame.Frame`.

        Raises:
            RuleError: a rendering system failed.
        """
        return self._call(lambda: self._episode.frame(self.message))

    def frames(self) -> Iterator[Any]:
        """Move the game through all states of the episode from the beginning, and yield the frame
        of each; see `frame`."""
        for position in range(self.length + 1):
            self.seek(position)
            yield self.frame()

    def state_digest(self) -> str:
        """Return a hash of the current state as text; see `Episode.state_digest`."""
        return self.timeline.state_at(self.position)

    def state_digests(self) -> tuple[str, ...]:
        """Return the hashes of all states from the beginning of the episode to the current one."""
        return (self.timeline.start, *(step.state for step in self.past_steps))

    def mask(self, agent: str = "") -> Mapping[str, bool]:
        """Return by action name whether the action of `agent`, by default of the controlled one,
        has an effect in the current state.

        Raises:
            RuleError: a rule failed.
        """
        return self._call(lambda: self._episode.mask(agent))

    def observe(self) -> PolicyInput:
        """Return the agents' observation and info in the current state, as a policy gets them; see
        `Episode.observe`.

        Raises:
            RuleError: a rule failed.
        """
        return self._call(self._episode.observe)

    @staticmethod
    def _call(function: Callable[[], _T]) -> _T:
        """Return the result of `function`; raise a `RuleError` in place of any error of a custom
        rule."""
        try:
            return function()
        except (Exception, Stopped) as error:
            raise make_rule_error(error) from error

    @property
    def difference(self) -> Difference | None:
        """First difference between the episode and its steps before the last reload, or its
        recording if a replay is watched; None if there is none."""
        return self.comparison.difference if self.comparison else self.timeline.difference

    @property
    def is_lost(self) -> bool:
        """True if a level that can be won has ended without success."""
        can_be_won = self.pack_level or getattr(self.scenario, "tells_success", False)
        return bool(can_be_won and self.outcome and not self.frame().success)

    @property
    def heading(self) -> tuple[str, str]:
        """Title of the level, and its place in the pack, see `find_heading`."""
        return find_heading(self.scenario)

    # ---- agents --------------------------------------------------------------------------

    @property
    def controlled(self) -> str:
        """Name of the agent that the player controls."""
        return self.agents[self._episode.controlled]

    def control_next_agent(self) -> None:
        """Let the player control the next agent for which no policy acts."""
        episode = self._episode
        free = [k for k, name in enumerate(self.agents) if name not in episode.partners]
        following = [index for index in free if index > episode.controlled]
        episode.controlled = (following or free or [0])[0]
        self.message = f"You are {self.controlled}"

    @property
    def has_partner(self) -> bool:
        """True if agents that nobody plays work along by a rule of the scenario."""
        return any(isinstance(policy, AssistPolicy) for policy in self.partners.values())

    def join_partner(self) -> None:
        """Let all agents that nobody plays work along by the scenario's own rule, if it has one and
        no other policy acts."""
        if getattr(self.scenario, "partner", None) and not self.partners:
            others = (name for name in self.agents if name != self.controlled)
            self._episode.partners |= {name: AssistPolicy(self, name) for name in others}

    def toggle_partner(self) -> None:
        """Let the partner work along, or wait for the keys of a second player."""
        if not self.has_partner:
            self.join_partner()
            self.message = "Your partner works along"
            return
        for name in [*self.partners]:
            self.release_agent(name)
        self.message = "Your partner waits for a second player"

    def assign_policy(self, agent: str, policy: Policy) -> None:
        """Let `policy` act for the agent named `agent`, and restart the episode.

        Args:
            agent: name of the agent.
            policy: policy for one world.
        """
        self._episode.partners[agent] = policy
        if self.controlled == agent:
            self.control_next_agent()
        self._start_episode(self.seed)

    def release_agent(self, agent: str) -> None:
        """Remove the policy that acts for the agent named `agent`, if there is one, and end its
        background search."""
        policy: Any = self._episode.partners.pop(agent, None)
        if hasattr(policy, "close"):
            policy.close()

    # ---- steps ---------------------------------------------------------------------------

    def step(self, action: str) -> bool:
        """Take `action` in the current state, and drop the undone steps. Return True if a step was
        taken: an unknown action only sets a message, and nothing happens after the end of the
        episode.

        Args:
            action: one of `actions`, or `wait`.

        Raises:
            RuleError: a rule or the rendering failed, and the game is unchanged; the message names
                file and line where known.
        """
        if self.outcome:
            return False
        previous, message = self.timeline.copy(), self.message
        try:
            result = self.apply_action(self._episode.joint_action(action))
            self.message = result if isinstance(result, str) else ""
            self.frame()
        except RuleError as error:
            if self.position != previous.position:
                self._switch_timeline(previous, message)
            if isinstance(error, StoppedError):
                raise StoppedError(f"{error}; the step was taken back") from error
            raise
        return not isinstance(result, str)

    def apply_action(self, action: str) -> TimelineStep | str:
        """Take `action` in the current state without drawing the new state; return the step, or the
        reason why `action` is refused.

        Returns:
            The step, or the reason why the action is refused.

        Raises:
            RuleError: a rule failed, and the game is unchanged.
        """
        return self.timeline.step(action)

    def redo_or_step(self, action: str) -> bool:
        """Take `action`: redo the next undone step if its action is the same, else take a new step.
        Return True if a step was taken or redone.

        Raises:
            RuleError: as for `step`.
        """
        is_undone = self.position < self.length
        if is_undone and self.timeline.steps[self.position].action == action:
            self.seek(self.position + 1)
            return True
        return self.step(action)

    def seek(self, position: int) -> None:
        """Go to the state after `position` steps, clipped to 0 … `length`."""
        self._seek(min(max(position, 0), self.length), from_snapshot=False)

    def _seek(self, position: int, from_snapshot: bool) -> None:
        """Go to the state after `position` steps, from a saved state if `from_snapshot`. Set the
        message for the player: the goal at the beginning, or a warning if the state is not exactly
        as it was."""
        try:
            self.timeline.seek(position, from_snapshot)
            is_exact = self._episode.state_digest() == self.state_digest()
        except (Exception, Stopped):  # any error of a custom rule that did not fail before
            is_exact = False
        if not is_exact:
            self.message = _INEXACT
        else:
            self.message = "" if position else find_goal_sentence(self.scenario)

    def seek_first_difference(self) -> None:
        """Go to the first step that differs from the episode before the last reload, or from the
        recording."""
        if self.difference is None:
            self.message = "No file that was saved has changed a step of this game"
        else:
            self.seek(self.difference.step)

    def restore(self, row: Any) -> None:
        """Start a new episode from a saved state, `row`, in place of the level of the seed; see
        `Episode.row` for such states.

        Args:
            row: state, see `Episode.row`.

        Raises:
            ValueError: the row does not belong to the scenario.
        """
        self._start_episode(self.seed, row)

    def replay(self) -> Replay:
        """Return the current episode as a replay, a recording that can be saved; undone steps are
        included.

        Raises:
            ReplayError: the episode started with a row; replays start with a seed.
        """
        if self.timeline.row is not None:
            raise ReplayError(
                "a game that began with a snapshot has no replay, only one with a seed"
            )
        document = self.scenario.document
        return Replay(
            scenario=self.scenario.identity,
            seed=self.seed,
            start=self.timeline.start,
            steps=tuple(self.timeline.steps),
            engine=__version__,
            settings=document.settings,
            variant=document.variant,
        )

    def _start_episode(self, seed: int, row: Any = None) -> None:
        """Replace the current episode by a new one with the level of `seed`, or from the saved
        state `row` if that is not None."""
        old = self.timeline
        try:
            self.timeline = Timeline(self.scenario, old.episode, seed, old.watch, row)
        except (Exception, Stopped) as error:  # any error of a custom rule
            old.seek(old.position)
            raise make_rule_error(error) from error
        self.message = find_goal_sentence(self.scenario)

    def _switch_timeline(self, timeline: Timeline, message: str) -> None:
        """Show another episode at its own current position, and set `message` for the player,
        unless the position could not be restored exactly; then the warning stays."""
        self.timeline = timeline
        self._seek(timeline.position, from_snapshot=True)
        if self.message != _INEXACT:
            self.message = message
