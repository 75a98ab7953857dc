"""Interactive sessions: play the episodes of a scenario with undo, redo and hot reload, without a
window. Start with `Session`; `timeline.py` has the steps of one episode."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import count
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from gv_engine import __version__
from gv_engine.envs.render_modes import NotebookView
from gv_engine.rules.errors import RuleError, ScenarioError, Stopped, StoppedError
from gv_engine.scenario.documents.rule_modules import make_rule_error
from gv_engine.scenario.levels.level_files import PackLevel
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.session import timeline
from gv_engine.session.catalogue import find_level_at_offset, size_variants
from gv_engine.session.episode import ACTION_SEPARATOR, Episode, Playable, PolicyInput, make_episode
from gv_engine.session.replay import Difference, Replay, ReplayError, TimelineStep
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.session.timeline import EpisodeSummary, SessionHistory, Timeline, run_generator

if TYPE_CHECKING:
    from gv_engine.rollout.policy import Policy

_T = TypeVar("_T")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SEEDS = 10_000  # random seeds stay short enough to type
_TRIES = 2  # reloads that let the player step meanwhile, before one blocks
_INEXACT = "This is not how it was: a rule remembers something outside of the world"


def _delegate(path: str) -> Any:
    """Return a property that reads the attribute at `path`."""
    return property(attrgetter(path))


class Session(NotebookView):
    """Interactive session of one scenario, without a window.

    Episode k equals that of an environment with `reset(seed=seed + k)`: the same actions give the
    same rewards, observations and end. The session can seek to every earlier step exactly, with
    the state of the RNG. It can also go back to every timeline that was left: by a restart, by a
    change of the level, or by a step that differs from the undone one.

    Args:
        scenario: scenario to play.
        seed: seed of the first episode; sampled if None.

    Attributes:
        message: text for the player, shown with the frame.
        scenario: current scenario; `reload` and `change_scenario` replace it.
        title: name of the scenario.
        seed: seed of the current episode.
        position: number of steps from the beginning of the episode to the current state.
        length: number of steps of the episode, undone steps included.
        outcome: end of the episode at the current state: `terminated`, `truncated`, or empty.
        actions: texts of the actions.
        agents: names of the agents.
        commands: key commands of this level only.
        partners: policies of other agents, by name.
        wait: action that lets time pass in real-time play; empty if the level has none.
        pack_level: current level of a pack; None outside of packs.
    """

    message: str
    scenario: Playable = _delegate("_timeline.scenario")
    title: str = _delegate("scenario.name")
    seed: int = _delegate("_timeline.seed")
    position: int = _delegate("_timeline.position")
    length: int = _delegate("_timeline.length")
    _episode: Episode = _delegate("_timeline.episode")
    outcome: str = _delegate("_episode.outcome")
    actions: Sequence[str] = _delegate("_episode.actions")
    agents: Sequence[str] = _delegate("_episode.agents")
    commands: tuple[KeyCommand, ...] = _delegate("_episode.commands")
    partners: Mapping[str, Policy] = _delegate("_episode.partners")
    wait: str = _delegate("_episode.wait")
    pack_level: PackLevel | None = _delegate("scenario.document.pack_level")

    def __init__(self, scenario: Playable, seed: int | None = None) -> None:
        seed = int(np.random.default_rng().integers(_SEEDS)) if seed is None else seed
        try:
            watch = timeline.Watch(scenario.watched_files())
            self._open(Timeline(scenario, make_episode(scenario), seed, watch))
        except (Exception, Stopped) as error:  # any error of a custom rule
            raise make_rule_error(error) from error

    def _open(self, timeline: Timeline) -> None:
        """Show `timeline`, the steps of one episode, with an empty history of earlier episodes."""
        self._timeline, self._history = timeline, SessionHistory()
        self.message = self._get_goal_sentence()

    @classmethod
    def from_timeline(cls, timeline: Timeline) -> Session:
        """Return a session that shows `timeline`, the steps of one episode, at its current
        position."""
        session = cls.__new__(cls)
        session._open(timeline)
        return session

    @classmethod
    def from_replay(cls, replay: Replay, scenario: Playable) -> Session:
        """Replay the recorded steps of `replay` in `scenario`, and return the session, moved back
        to the beginning of the episode.

        The session stops at the first state that differs from the replay; `difference` describes
        the state.

        Args:
            replay: see `gv_engine.session.replay`.
            scenario: scenario of the replay, see `Replay.find`.

        Raises:
            ReplayError: the replay belongs to another scenario.
        """
        replay.check(scenario)
        session = cls(scenario, replay.seed)
        timeline = session._timeline
        timeline.difference = replay.difference(0, timeline.start, replay.start)
        result: TimelineStep | str
        for number, expected in enumerate(replay.steps, start=1):
            if timeline.difference:
                break
            try:
                result = session.apply_action(expected.action)
            except RuleError as error:
                result = str(error)
            timeline.difference = replay.difference(number, result, expected)
        session.seek(0)
        return session

    # ---- current state -------------------------------------------------------------------

    @property
    def sprite_folders(self) -> tuple[Path, ...]:
        """Folders with the scenario's own sprites."""
        return sprite_folders(self.scenario)

    @property
    def past_steps(self) -> Sequence[TimelineStep]:
        """Steps from the beginning of the episode to the current state."""
        return self._timeline.steps[: self.position]

    def frame(self) -> Any:
        """Return the frame (data to be drawn) of the current state; in a grid a
        `gv_engine.rules.frame.Frame`.

        Raises:
            RuleError: a rendering system failed.
        """
        return self._call(lambda: self._episode.frame(self.message))

    def frames(self) -> Iterator[Any]:
        """Move the session through all states of the episode from the beginning, and yield the
        frame of each; see `frame`."""
        for position in range(self.length + 1):
            self.seek(position)
            yield self.frame()

    def row(self) -> Any:
        """Return the current state as a copy that can be saved and restored; see `Episode.row`."""
        return self._episode.row()

    def state_digest(self) -> str:
        """Return a hash of the current state as text; see `Episode.state_digest`."""
        return self._timeline.state_at(self.position)

    def state_digests(self) -> tuple[str, ...]:
        """Return the hashes of all states from the beginning of the episode to the current one."""
        return (self._timeline.start, *(step.state for step in self.past_steps))

    def mask(self) -> Mapping[str, bool]:
        """Return by action name whether the action has an effect in the current state.

        Raises:
            RuleError: a rule failed.
        """
        return self._call(self._episode.mask)

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

    def _get_goal_sentence(self) -> str:
        """Return the last sentence of the description, which names the goal; "" if the agents have
        missions, which are shown all the time."""
        if getattr(self.scenario, "mission_texts", ()):  # algebra has none
            return ""
        return _SENTENCE_END.split(self.scenario.description)[-1]

    # ---- agents and actions --------------------------------------------------------------

    @property
    def controlled(self) -> str:
        """Name of the agent that the player controls."""
        return self._episode.agents[self._episode.controlled]

    def supports_command(self, name: str) -> bool:
        """Return whether the key command called `name` can do something in the current level."""
        return name not in _COMMAND_CONDITIONS or _COMMAND_CONDITIONS[name](self)

    def format_action(self, indices: Any) -> str:
        """Return the text of an action, such as `FORWARD`; `indices` is its index in the
        environment's action space, or one index for each agent.

        Args:
            indices: () index of an action, or (A,) one for each agent.
        """
        indices = np.ravel(indices)[: len(self.agents)]
        names = [self._episode.action_name(int(index)) for index in indices]
        parts = (f"{agent} {name}" for agent, name in zip(self.agents, names, strict=True))
        return names[0] if len(names) == 1 else ACTION_SEPARATOR.join(parts)

    def action_indices(self, action: str) -> Any:
        """Return the indices of an action given as text; the inverse of `format_action`."""
        return self._episode.action_indices(action)

    def merge_actions(self, action: str, others: str) -> str:
        """Return the text with the actions of all agents: `action` of the player's agent, and for
        all others their actions in `others`."""
        return self._episode.merge_actions(action, others)

    def control_next_agent(self) -> None:
        """Let the player control the next agent for which no policy acts."""
        episode, names = self._episode, self.agents
        free = [index for index, name in enumerate(names) if name not in episode.partners]
        later = [index for index in free if index > episode.controlled]
        episode.controlled = (later or free or [0])[0]
        self.message = f"You are {self.controlled}"

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

    def step(self, action: str) -> None:
        """Take `action` in the current state. Steps that were undone before are kept as an earlier
        game, to which `previous_timeline` returns.

        An unknown action only sets a message. Nothing happens after the end of the episode.

        Args:
            action: one of `actions`, or `wait`.

        Raises:
            RuleError: a rule or the rendering failed, and the session is unchanged; the message
                names file and line where known.
        """
        if self._episode.outcome:
            return
        before, message = self._timeline.copy(), self.message
        undone = self.length - self.position
        try:
            result = self.apply_action(self._episode.joint_action(action))
            self.message = result if isinstance(result, str) else ""
            self.frame()
        except RuleError as error:
            if self.position != before.position:
                self._switch_timeline(before, message)
            if isinstance(error, StoppedError):
                raise StoppedError(f"{error}; the step was taken back") from error
            raise
        if undone and not self.message:
            before.is_listed = False
            self._history.append(before)
            steps = "1 undone step is" if undone == 1 else f"{undone} undone steps are"
            self.message = f"{steps} kept as the game before"

    def apply_action(self, action: str) -> TimelineStep | str:
        """Take `action` in the current state without drawing the new state; return the step, or the
        reason why `action` is refused.

        Returns:
            The step, or the reason why the action is refused.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        return self._timeline.step(action)

    def redo_or_step(self, action: str) -> None:
        """Take `action`: redo the next undone step if its action is the same, else take a new step.

        Raises:
            RuleError: as for `step`.
        """
        undone = self._timeline.steps[self.position : self.position + 1]
        if undone and undone[0].action == action:
            self.redo()
        else:
            self.step(action)

    def seek(self, position: int) -> None:
        """Go to the state after `position` steps, clipped to 0 … `length`."""
        self._seek(min(max(position, 0), self.length), from_snapshot=False)

    def _seek(self, position: int, from_snapshot: bool) -> None:
        """Go to the state after `position` steps, from a saved state if `from_snapshot`. Set the
        message for the player: the goal at the beginning, or a warning if the state is not exactly
        as it was."""
        try:
            self._timeline.seek(position, from_snapshot)
            is_exact = self._episode.state_digest() == self.state_digest()
        except (Exception, Stopped):  # any error of a custom rule that did not fail before
            is_exact = False
        self.message = _INEXACT if not is_exact else "" if position else self._get_goal_sentence()

    def undo(self, steps: int = 1) -> None:
        """Go back `steps` steps of the episode; at its beginning, go back to the game played
        before, if there is one."""
        if self._history.before and not self.position:
            self.previous_timeline()
        else:
            self.seek(self.position - steps)

    def redo(self, steps: int = 1) -> None:
        """Go forward `steps` undone steps of the episode; at its last step, go on to the game
        played after it, if there is one."""
        if self._history.after and self.position == self.length:
            self.next_timeline()
        else:
            self.seek(self.position + steps)

    def previous_timeline(self) -> None:
        """Go back to the game (timeline) before the current one in the history; only set a message
        if there is none."""
        if self._history.before:
            self._history.after.insert(0, self._leave_timeline())
            self._switch_timeline(self._history.before.pop(), "Back to the game before")
        else:
            self.message = "There is no game before this"

    def next_timeline(self) -> None:
        """Go forward to the game (timeline) that `previous_timeline` left; only set a message if
        there is none."""
        if self._history.after:
            self._history.before.append(self._leave_timeline())
            self._switch_timeline(self._history.after.pop(0), "On to the game after")
        else:
            self.message = "There is no game after this"

    # ---- episodes and levels -------------------------------------------------------------

    @property
    def is_lost(self) -> bool:
        """True if the current level of a pack has ended without success."""
        return bool(self.pack_level and self._episode.outcome and not self.frame().success)

    @property
    def heading(self) -> tuple[str, str]:
        """Title of the level, and its place in the pack, such as `tutorial 3 of 6`; "" for none."""
        level = self.pack_level
        if not level or not level.title:
            return self.title, ""
        pack, _, number = self.title.rpartition("-")
        return level.title, f"{pack} {number} of {len(self.scenario.document.levels):,}"

    @property
    def titled_summaries(self) -> list[tuple[str, EpisodeSummary]]:
        """Scenario name and summary of each episode with at least one step, in order of the
        history."""
        return self._history.titled_summaries(self._timeline)

    def continue_play(self) -> None:
        """Start the next level if the episode has ended; start the same level again if it is one of
        a pack (file of levels) and was lost. Do nothing before the end.

        Raises:
            GVEngineError: a rule failed, or the next level cannot be read; the session is
                unchanged.
        """
        if self.is_lost:
            self.restart()
        elif self._episode.outcome:
            self.next_level()

    def next_level(self) -> None:
        """Start the next level of the current pack (file of levels), or without a pack the level of
        the next seed.

        Raises:
            GVEngineError: as for `continue_play`.
        """
        self._go_to_level(1, "This was the last level")

    def previous_level(self) -> None:
        """Start the level before the current one in its pack (file of levels), or without a pack
        the level of the seed before.

        Raises:
            GVEngineError: as for `continue_play`.
        """
        self._go_to_level(-1, "This is the first level")

    def _go_to_level(self, step: int, end_message: str) -> None:
        """Start another level: in a pack, the one at the current index plus `step`; without a pack,
        that of the current seed plus `step`. Show `end_message` if the pack has no such level."""
        level = find_level_at_offset(self.scenario, step)
        if level is not None:
            self.change_scenario(level)
        elif self.pack_level:
            self.message = end_message
        elif self.seed + step < 0:
            self.message = "There is no level before that of seed 0"
        else:
            self.reset(self.seed + step)

    def reset(self, seed: int | None = None) -> None:
        """Start a new episode with the level of `seed`; None stands for the current seed plus 1.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        left = self._leave_timeline()
        self._start_episode(self.seed + 1 if seed is None else seed)
        self._history.append(left)

    def restart(self) -> None:
        """Start the current episode again from its first state.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        left = self._leave_timeline()
        self._start_episode(self.seed, self._timeline.row)
        if left.steps:
            self._history.append(left)

    def restore(self, row: Any) -> None:
        """Start a new episode from a saved state, `row`, in place of the level of the seed; see
        `Episode.row` for such states.

        Args:
            row: state, see `Episode.row`.

        Raises:
            ValueError: the row does not belong to the scenario.
        """
        self._start_episode(self.seed, row)

    def change_scenario(self, scenario: Playable) -> None:
        """Start an episode of another scenario with the current seed.

        Raises:
            RuleError: a rule failed, and the session is unchanged.
        """
        left, other = self._leave_timeline(), Session(scenario, self.seed)
        self._timeline, self.message = other._timeline, other.message
        self._history.append(left)

    def replay(self) -> Replay:
        """Return the current episode as a replay, a recording that can be saved; undone steps are
        included.

        Raises:
            ReplayError: the episode started with a row; replays start with a seed.
        """
        if self._timeline.row is not None:
            raise ReplayError(
                "a game that began with a snapshot has no replay, only one with a seed"
            )
        document, timeline = self.scenario.document, self._timeline
        episode = self.seed, timeline.start, tuple(timeline.steps)
        identity = self.scenario.identity
        return Replay(identity, *episode, __version__, document.settings, document.variant)

    def _start_episode(self, seed: int, row: Any = None) -> None:
        """Replace the current episode by a new one with the level of `seed`, or from the saved
        state `row` if that is not None."""
        old = self._timeline
        try:
            self._timeline = Timeline(self.scenario, old.episode, seed, old.watch, row)
        except (Exception, Stopped) as error:  # any error of a custom rule
            old.seek(old.position)
            raise make_rule_error(error) from error
        self.message = self._get_goal_sentence()

    def _switch_timeline(self, timeline: Timeline, message: str) -> None:
        """Show another game (timeline) at its own current position, and set `message` for the
        player."""
        self._timeline = timeline
        self._seek(timeline.position, from_snapshot=True)
        if self.message != _INEXACT:
            self.message = message

    def _leave_timeline(self) -> Timeline:
        """Update the summary of the current timeline, and return the timeline, to be put into the
        history."""
        self._timeline.summary = self._timeline.summarize()
        self._timeline.is_listed = True
        return self._timeline

    # ---- hot reload ----------------------------------------------------------------------

    @property
    def difference(self) -> Difference | None:
        """First difference between the episode and its steps before the last reload, or its
        recording if a replay is watched; None if there is none."""
        comparison = self._timeline.comparison
        return comparison.difference if comparison else self._timeline.difference

    def set_difference(self, difference: Difference) -> None:
        """Set `difference`, the first difference between the episode and its recording."""
        self._timeline.difference = difference

    @property
    def num_comparable_steps(self) -> int | None:
        """Number of steps with the same actions as before the last reload; None if the reload
        changed nothing."""
        return self._timeline.comparison and self._timeline.comparison.num_steps

    def before_reload(self) -> Session | None:
        """Return a session that shows the episode as it was before the last reload of the scenario
        files, at the current position or the last comparable step before it; None if the reload
        changed nothing."""
        if (comparison := self._timeline.comparison) is None:
            return None
        session = Session.from_timeline(comparison.timeline)
        session.seek(min(self.position, comparison.num_steps))
        return session

    def differences(self) -> list[str]:
        """Return sentences about the differences between the current state and the same state
        before the last reload of the scenario files; [] if there is no such state."""
        old = self.before_reload()
        if old is None or old.position != self.position:
            return []
        return timeline.timeline_differences(old._timeline, self._timeline)

    def seek_first_difference(self) -> None:
        """Go to the first step that differs from the episode before the last reload, or from the
        recording."""
        if self.difference is None:
            self.message = "No file that was saved has changed a step of this game"
        else:
            self.seek(self.difference.step)

    def has_file_changes(self) -> bool:
        """Return whether a file of the scenario has changed on disk since the scenario was last
        read.

        Cheap enough for several calls a second: only file times are read.
        """
        return self._timeline.watch.differs(self.scenario.watched_files())

    def reload(self) -> str:
        """Read the scenario files again, take the steps of the episode again, and return a message
        for the player; see `reload_incrementally`."""
        return run_generator(self.reload_incrementally())

    def reload_incrementally(self) -> Generator[None, None, str]:
        """Read the scenario files again, take the steps of the episode again with the new rules,
        and return a message. The generator pauses after each small part, so that the window stays
        responsive.

        The session does not change before the end, so the player can go on meanwhile. The result
        is compared with the timeline of the player's last steps.

        Yields:
            None after each part.

        Returns:
            Message for the player, one or more lines: `Reloaded` and the first difference, or an
            error with step, file and line, or the rule that was stopped; after an error the
            session is unchanged.
        """
        for attempt in count():
            old, steps = self._timeline, [*self._timeline.steps]
            watch = timeline.Watch(old.scenario.watched_files())
            try:
                work = self._replay_reloaded(old, watch)
                # the last attempt blocks, so that further steps cannot delay the end
                new = (yield from work) if attempt < _TRIES else run_generator(work)
            except ScenarioError as error:
                new, problem = old, str(error)
            except (Exception, Stopped) as error:  # any error of a custom rule
                new, problem = old, str(make_rule_error(error))
            if self._timeline is not old:
                return ""  # the player has switched to a timeline with a watch of its own
            if new is old:
                old.watch = watch
                return problem
            if old.steps == steps:
                break
        at_end = old.position == len(steps)
        self._timeline = new
        self.seek(new.length if at_end else old.position)
        difference = self.difference
        return "Reloaded" if difference is None else f"Reloaded: {difference.message}"

    def _replay_reloaded(
        self, old: Timeline, watch: timeline.Watch
    ) -> Generator[None, None, Timeline]:
        """Read the scenario of the timeline `old` again, take its steps again with the new rules,
        and return the new timeline; `watch` has the state of the files that are read.

        A generator that yields between steps, so that the window stays responsive; `watch` guards
        the rules that run.
        """
        scenario = old.scenario.reload()
        episode = make_episode(scenario)
        if len(old.episode.agents) > 1:
            episode.controlled, episode.partners = old.episode.controlled, old.episode.partners
        base = old if old.has_new_steps or not old.comparison else old.comparison.timeline
        new = yield from timeline.replay_timeline(base, scenario, episode, watch)
        episode.frame("")
        return new


# Conditions of the commands that only some levels support
_COMMAND_CONDITIONS: dict[str, Callable[[Session], bool]] = {
    "kin": lambda session: len(size_variants(session.scenario.name)) > 1,
    "next_agent": lambda session: len(session.agents) > 1,
    "real_time": lambda session: bool(session.wait),
    "first_change": lambda session: session.difference is not None,
    "compare": lambda session: session.num_comparable_steps is not None,
}

SESSION_COMMANDS: dict[str, Callable[[Session], None]] = {
    "undo": Session.undo,
    "redo": Session.redo,
    "first": lambda session: session.seek(0),
    "last": lambda session: session.seek(session.length),
    "again": Session.restart,
    "next_level": Session.next_level,
    "previous_level": Session.previous_level,
    "game_before": Session.previous_timeline,
    "game_after": Session.next_timeline,
    "go_on": Session.continue_play,
    "first_change": Session.seek_first_difference,
    "next_agent": Session.control_next_agent,
}
"""Methods for key commands that need a session only, by command name."""


def parse_seed(text: str) -> int:
    """Return the seed, a whole number from 0 on, that a player typed as `text`.

    Raises:
        ScenarioError: the text is no seed.
    """
    if not text.isdecimal():
        raise ScenarioError([f"Seeds are whole numbers from 0 on, such as 7, not {text}"])
    return int(text)
