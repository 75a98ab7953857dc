"""A scenario as a game for somebody at a keyboard: episode after episode, forward and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gv_engine import __version__
from gv_engine.rules.errors import RuleError, ScenarioError, Stopped, StoppedError
from gv_engine.scenario.packs import PackLevel
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.scenario.rule_modules import make_rule_error
from gv_engine.session.catalogue import beside_in_pack, kin
from gv_engine.session.episode import AND, Episode, Playable, Seen, episode_of
from gv_engine.session.file_watch import Watch
from gv_engine.session.hot_reload import course_differences, flow, to_the_end
from gv_engine.session.replay import Difference, Replay, ReplayError, TimelineStep
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.session.timeline import EpisodeSummary, LeftSession, SessionHistory, Timeline

if TYPE_CHECKING:
    from gv_engine.rollout.policy import Policy


# ---- present -------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class SessionView:
    """A game where it is now, forward of which and before which there may be more.

    Args:
        course: that is played.

    Attributes:
        message: what the frame says to the player.
    """

    def __init__(self, course: Timeline) -> None:
        self._course = course
        self.message = self._goal()

    @property
    def scenario(self) -> Playable:
        """What is played now; `reload` may replace it."""
        return self._course.scenario

    @property
    def title(self) -> str:
        """What it is called."""
        return self.scenario.name

    @property
    def sprite_folders(self) -> tuple[Path, ...]:
        """Where its own drawings are."""
        return sprite_folders(self.scenario)

    @property
    def seed(self) -> int:
        """Of the episode that is played now."""
        return self._course.seed

    @property
    def position(self) -> int:
        """Steps from the beginning to what is seen now."""
        return self._course.position

    @property
    def _episode(self) -> Episode:
        return self._course.episode

    def frame(self) -> Any:
        """The frame of the present state, in a grid a `gv_engine.rules.frame.Frame`.

        Raises:
            RuleError: a rendering system failed.
        """
        try:
            return self._episode.frame(self.message)
        except (Exception, Stopped) as error:  # whatever an author's system may raise
            raise make_rule_error(error) from error

    def row(self) -> Any:
        """The state at this position, see `Episode.row`; independent of the game."""
        return self._episode.row()

    def state(self) -> str:
        """The digest of the state at this position, see `Episode.state`."""
        return self._course.state_at(self.position)

    @property
    def actions(self) -> Sequence[str]:
        """The actions that the level has."""
        return self._episode.actions

    def knows(self, name: str) -> bool:
        """Whether a command that players give to games means something in this level."""
        return name not in _KNOWS or _KNOWS[name](self)

    @property
    def agents(self) -> Sequence[str]:
        """The names of those who act."""
        return self._episode.agents

    @property
    def controlled(self) -> str:
        """The name of the agent that a player's actions are for."""
        return self._episode.agents[self._episode.controlled]

    @property
    def commands(self) -> tuple[KeyCommand, ...]:
        """What keys do in this level alone."""
        return self._episode.commands

    def action_of(self, numbers: Any) -> str:
        """The action of a number of `actions`, () or of one for each agent, (A,)."""
        each = [self.actions[number] for number in np.ravel(numbers)[: len(self.agents)]]
        named = (f"{name} {does}" for name, does in zip(self.agents, each, strict=True))
        return each[0] if len(each) == 1 else AND.join(named)

    def numbers_of(self, action: str) -> Any:
        """What `action_of` makes this action of; see `Episode.numbers`."""
        return self._episode.numbers(action)

    def among(self, action: str, others: str) -> str:
        """A player's action, and what others would do beside; see `Episode.among`."""
        return self._episode.among(action, others)

    @property
    def wait(self) -> str:
        """The action that lets time pass, for real-time play; empty if the level has none."""
        return self._episode.wait

    def mask(self) -> Mapping[str, bool]:
        """Whether each of the actions would do something now.

        Raises:
            RuleError: a rule failed to say so.
        """
        try:
            return self._episode.mask()
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            raise make_rule_error(error) from error

    def seen(self) -> Seen:
        """What an agent is handed in the present state, see `Episode.seen`.

        Raises:
            RuleError: a rule failed to say so.
        """
        try:
            return self._episode.seen()
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            raise make_rule_error(error) from error

    @property
    def taken(self) -> Sequence[TimelineStep]:
        """The steps from the beginning to this position."""
        return self._course.steps[: self.position]

    def way(self) -> tuple[str, ...]:
        """The digests of the states from the beginning to this position, see `state`."""
        return (self._course.start, *(taken.state for taken in self.taken))

    @property
    def length(self) -> int:
        """Steps of the episode so far, those that were undone included."""
        return self._course.length

    @property
    def pack_level(self) -> PackLevel | None:
        """The level of a pack that is played, None without one."""
        return self.scenario.document.pack_level

    @property
    def is_lost(self) -> bool:
        """Whether a level of a pack is over, and not won."""
        return bool(self.pack_level and self._episode.outcome and not self.frame().success)

    @property
    def difference(self) -> Difference | None:
        """Where the steps went another way than before the files of the scenario were changed, or
        than the replay that is watched says; None if they did not."""
        before = self._course.before
        return before.difference if before else self._course.difference

    @property
    def compared(self) -> int | None:
        """So many steps can be compared with how they went before the files were changed; None
        where they went the same way."""
        return self._course.before and self._course.before.shared

    def _goal(self) -> str:
        # the line is short, and the goal stands at the end of a description
        return _SENTENCE_END.split(self.scenario.description)[-1]


_KNOWS: dict[str, Callable[[SessionView], bool]] = {
    "kin": lambda game: len(kin(game.scenario.name)) > 1,
    "next_agent": lambda game: len(game.agents) > 1,
    "real_time": lambda game: bool(game.wait),
    "first_change": lambda game: game.difference is not None,
    "compare": lambda game: game.compared is not None,
}
"""Whether a level has what some commands are about."""


# ---- game ----------------------------------------------------------------------------------------

_SEEDS = 10_000  # drawn ones are short enough to be typed again
_TRIES = 2  # to take steps again while more of them are taken
_INEXACT = "This is not how it was: a rule remembers something outside of the world"


class Session(SessionView):
    """One scenario being played, without a window.

    Episode k is that of an environment with `reset(seed=seed + k)`: the same actions lead to the
    same rewards, observations and end. Every earlier step can be gone back to, exactly, the
    generator included, and so can every game that was left: by beginning again, by going on to
    another level, or by a step that took another way than those that had been undone.

    Args:
        scenario: what is played.
        seed: of the first episode; drawn by chance if None.

    Attributes:
        message: what the frame says to the player.
    """

    def __init__(self, scenario: Playable, seed: int | None = None) -> None:
        seed = int(np.random.default_rng().integers(_SEEDS)) if seed is None else seed
        try:
            watch = Watch(scenario.watched_files())
            super().__init__(Timeline(scenario, episode_of(scenario), seed, watch))
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            raise make_rule_error(error) from error
        self._lineage = SessionHistory()

    @classmethod
    def showing(cls, course: Timeline) -> Session:
        """A game where a course is."""
        game = cls.__new__(cls)
        SessionView.__init__(game, course)
        game._lineage = SessionHistory()
        return game

    @classmethod
    def of(cls, replay: Replay, scenario: Playable) -> Session:
        """A game in which a replay has been played, at its beginning.

        Where a state is another than the replay says, `difference` tells, and the game ends there.

        Args:
            replay: see `gv_engine.session.replay`.
            scenario: the one that it was played in; see `Replay.find`.

        Raises:
            ReplayError: the scenario is another one.
        """
        replay.check(scenario)
        game = cls(scenario, replay.seed)
        course = game._course
        course.difference = replay.difference(0, course.start, replay.start)
        for number, said in enumerate(replay.steps, start=1):
            if course.difference:
                break
            try:
                found = game.take_on(said.action)
            except RuleError as error:
                found = str(error)
            course.difference = replay.difference(number, found, said)
        game.seek(0)
        return game

    def frames(self) -> Iterator[Any]:
        """The frames of the episode, from its beginning."""
        for position in range(self.length + 1):
            self.seek(position)
            yield self.frame()

    def next_agent(self) -> None:
        """Let the player's actions be for the next agent that no policy acts for."""
        episode, names = self._episode, self.agents
        own = [number for number, name in enumerate(names) if name not in episode.partners]
        later = [number for number in own if number > episode.controlled]
        episode.controlled = (later or own or [0])[0]
        self.message = f"You are {self.controlled}"

    def give(self, name: str, policy: Policy) -> None:
        """Let a policy act for an agent, from the beginning of this level on.

        Args:
            name: of the agent.
            policy: for one world.
        """
        self._episode.partners[name] = policy
        if self.controlled == name:
            self.next_agent()
        self._begin(self.seed)

    def follow(self, action: str) -> None:
        """Take an action; where it is the one that was undone, that step again.

        Raises:
            RuleError: as for `step`.
        """
        undone = self._course.steps[self.position : self.position + 1]
        if undone and undone[0].action == action:
            self.redo()
        else:
            self.step(action)

    def step(self, action: str) -> None:
        """Take an action; steps that had been undone are kept as the game before.

        One that the level does not have leaves no more than a message, and nothing at all happens
        when the episode is over.

        Args:
            action: one of `actions`, or `wait`.

        Raises:
            RuleError: a rule failed, or the step cannot be shown; the message names file and line
                where there is one, and the game is as it was before.
        """
        if self._episode.outcome:
            return
        before, message = self._course.copy(), self.message
        undone = self.length - self.position
        try:
            found = self.take_on(self._episode.joint(action))
            self.message = found if isinstance(found, str) else ""
            self.frame()
        except RuleError as error:
            if self.position != before.position:
                self._become(before, message)
            if isinstance(error, StoppedError):
                raise StoppedError(f"{error}; the step was taken back") from error
            raise
        if undone and not self.message:
            self._lineage.leave(LeftSession(before, None))
            were = "1 undone step is" if undone == 1 else f"{undone} undone steps are"
            self.message = f"{were} kept as the game before"

    def take_on(self, action: str) -> TimelineStep | str:
        """Take an action without showing what came of it, for who plays again what was played.

        Returns:
            The step, or why there is none.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        return self._course.take(action)

    def seek(self, position: int) -> None:
        """Show how it was after so many steps; 0 is the beginning, `length` the last one."""
        self._show(min(max(position, 0), self.length), anew=False)

    def _show(self, position: int, anew: bool) -> None:
        try:
            self._course.go(position, anew)
            exact = self._episode.state() == self.state()
        except (Exception, Stopped):  # whatever a rule may raise, which it did not the first time
            exact = False
        self.message = _INEXACT if not exact else "" if position else self._goal()

    def undo(self, steps: int = 1) -> None:
        """Go back; from the beginning to the game before, if there is one."""
        if self._lineage.before and not self.position:
            self.game_before()
        else:
            self.seek(self.position - steps)

    def redo(self, steps: int = 1) -> None:
        """Go forward again through steps that were undone; from their end to the game after."""
        if self._lineage.after and self.position == self.length:
            self.game_after()
        else:
            self.seek(self.position + steps)

    def game_before(self) -> None:
        """Go back to the game that was left for this one, as it was then."""
        if not self._lineage.before:
            self.message = "There is no game before this"
            return
        self._become(self._lineage.back(self._left()), "Back to the game before")

    def game_after(self) -> None:
        """Go on to the game that was left by `game_before`."""
        if not self._lineage.after:
            self.message = "There is no game after this"
            return
        self._become(self._lineage.on(self._left()), "On to the game after")

    def go_on(self) -> None:
        """Begin the next level if this one is over; one of a pack that is lost, again.

        Raises:
            GVEngineError: a rule failed, or the next level cannot be read; the game is as it was.
        """
        if self.is_lost:
            self.again()
        elif self._episode.outcome:
            self.next_level()

    def next_level(self) -> None:
        """Begin the next level: of a pack the one after this, else that of the next seed.

        Raises:
            GVEngineError: as for `go_on`.
        """
        following = beside_in_pack(self.scenario, 1)
        if following is not None:
            self.change(following)
        elif self.pack_level:
            self.message = "This was the last level"
        else:
            self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Begin the next episode: that of this seed, or of the one after the present seed.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        left = self._left()
        self._begin(self.seed + 1 if seed is None else seed)
        self._lineage.leave(left)

    def previous_level(self) -> None:
        """Begin the level before: of a pack the one before this, else that of the seed before.

        Raises:
            GVEngineError: as for `go_on`.
        """
        before = beside_in_pack(self.scenario, -1)
        if before is not None:
            self.change(before)
        elif self.pack_level:
            self.message = "This is the first level"
        elif self.seed:
            self.reset(self.seed - 1)
        else:
            self.message = "There is no level before that of seed 0"

    def change(self, scenario: Playable) -> None:
        """Play another scenario from here on, with the same seed.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        left, begun = self._left(), Session(scenario, self.seed)
        self._course, self.message = begun._course, begun.message
        self._lineage.leave(left)

    def again(self) -> None:
        """Begin the same episode again.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        left = self._left()
        self._begin(self.seed, self._course.row)
        if left.course.steps:
            self._lineage.leave(left)

    def restore(self, row: Any) -> None:
        """Begin with a state in place of a seed's level.

        Args:
            row: the state as the domain has it, see `Episode.row`.

        Raises:
            ValueError: the row is not one of this scenario's.
        """
        self._begin(self.seed, row)

    @property
    def played(self) -> list[EpisodeSummary]:
        """All episodes that had a step, in their order; the present one is the last, unless it has
        been gone back to."""
        return [played for _, played in self.titled]

    @property
    def titled(self) -> list[tuple[str, EpisodeSummary]]:
        """What is `played`, each with what its scenario is called."""
        return self._lineage.titled(LeftSession(self._course, self._course.played()))

    def replay(self) -> Replay:
        """The present episode, with the steps that were undone.

        Raises:
            ReplayError: it began with a row, and a replay begins with a seed.
        """
        if self._course.row is not None:
            raise ReplayError(
                "a game that began with a snapshot has no replay, only one with a seed"
            )
        document, course = self.scenario.document, self._course
        played = self.seed, course.start, tuple(course.steps), __version__
        return Replay(self.scenario.identity, *played, document.settings, document.variant)

    # ---- files that change ---------------------------------------------------------------

    def goes_another_way(self, difference: Difference) -> None:
        """What was recorded of it is another game from here on."""
        self._course.difference = difference

    def was(self) -> Session | None:
        """How the same steps went before the files were changed, here or at the last step that can
        be compared; None where they went the same way. It is moved wherever it is asked for."""
        before = self._course.before
        if before is None:
            return None
        game = Session.showing(before.course)
        game.seek(min(self.position, before.shared))
        return game

    def differences(self) -> list[str]:
        """What is different here from how it was before the files were changed, in words."""
        was = self.was()
        here = was is not None and was.position == self.position
        return course_differences(was._course, self._course) if was and here else []

    def first_change(self) -> None:
        """Go to the first step that goes another way, see `difference`."""
        if self.difference is None:
            self.message = "No file that was saved has changed a step of this game"
        else:
            self.seek(self.difference.step)

    def changed(self) -> bool:
        """Whether a file of the scenario has changed since it was loaded, or since the last try.

        Costs a look at the files' times, so it may be asked several times a second.
        """
        return self._course.watch.differs(self.scenario.watched_files())

    def reload(self) -> str:
        """Load the scenario anew and take the same steps in it, as far as they go; see `flow`."""
        return to_the_end(self.flow())

    def flow(self) -> Generator[None, None, str]:
        """Load the scenario anew and take the same steps in it, as far as they go, bit by bit.

        Until it has come to its end the game goes on as it was. What it is compared with is the
        game as the player has played it last.

        Yields:
            None, often; whoever asks for more may let the player play meanwhile.

        Returns:
            What the player should know, in one or more lines: `Reloaded` and what is different, or
            what is wrong, with the step, file and line, or which rule had to be stopped; then the
            game is as it was before.
        """
        for turn in count():
            played, steps = self._course, [*self._course.steps]
            watch = Watch(played.scenario.watched_files())
            try:
                work = self._flowing(played, watch)
                # whoever plays on all the time waits in the end
                now = (yield from work) if turn < _TRIES else to_the_end(work)
            except ScenarioError as error:
                now, wrong = played, str(error)
            except (Exception, Stopped) as error:  # whatever an author's rule may raise
                now, wrong = played, str(make_rule_error(error))
            if self._course is not played:
                return ""  # the player has gone on to another game, which looks for itself
            if now is played:
                played.watch = watch
                return wrong
            if played.steps == steps:
                break
        at_end = played.position == len(steps)
        self._course = now
        self.seek(now.length if at_end else played.position)
        difference = self.difference
        if difference is None:
            return "Reloaded"
        return f"Reloaded: {difference.message}"

    def _flowing(self, played: Timeline, watch: Watch) -> Generator[None, None, Timeline]:
        """The steps of a course again, as the files are now."""
        scenario = played.scenario.reload()
        episode, others = episode_of(scenario), played.episode
        if len(others.agents) > 1:
            episode.controlled, episode.partners = others.controlled, others.partners
        was = played if played.by_hand or not played.before else played.before.course
        now = yield from flow(was, scenario, episode, watch)
        episode.frame("")
        return now

    # ---- the steps and the way back ------------------------------------------------------

    def _begin(self, seed: int, row: Any = None) -> None:
        course = self._course
        try:
            self._course = Timeline(self.scenario, course.episode, seed, course.watch, row)
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            course.go(course.position)
            raise make_rule_error(error) from error
        self.message = self._goal()

    def _become(self, course: Timeline, says: str = "") -> None:
        self._course = course
        self._show(course.position, anew=True)
        if self.message != _INEXACT:
            self.message = says

    def _left(self) -> LeftSession:
        self._course.told = self._course.played()
        return LeftSession(self._course, self._course.told)


GAME_COMMANDS: dict[str, Callable[[Session], None]] = {
    "undo": Session.undo,
    "redo": Session.redo,
    "first": lambda game: game.seek(0),
    "last": lambda game: game.seek(game.length),
    "again": Session.again,
    "next_level": Session.next_level,
    "previous_level": Session.previous_level,
    "game_before": Session.game_before,
    "game_after": Session.game_after,
    "go_on": Session.go_on,
    "first_change": Session.first_change,
    "next_agent": Session.next_agent,
}
"""What keys do with a game alone, by the names of their commands."""


def seed_of(text: str) -> int:
    """The seed that a player has typed.

    Raises:
        ScenarioError: it is none.
    """
    if not text.isdecimal():
        raise ScenarioError([f"Seeds are whole numbers from 0 on, such as 7, not {text}"])
    return int(text)
