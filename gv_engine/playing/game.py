"""A scenario as a game for somebody at a keyboard: episode after episode, forward and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gv_engine import __version__
from gv_engine.language.errors import RuleError, ScenarioError, Stopped, StoppedError
from gv_engine.playing.catalogue import beside_in_pack, kin
from gv_engine.playing.drawings import sprite_folders
from gv_engine.playing.episode import AND, Episode, Playable, Seen, episode_of
from gv_engine.playing.reloading import Watch
from gv_engine.playing.replay import Difference, Replay, ReplayError, Taken
from gv_engine.reading.families import Command
from gv_engine.reading.packs import PackLevel
from gv_engine.reading.rule_files import failure

if TYPE_CHECKING:
    from gv_engine.rollouts.policy import Policy

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SEEDS = 10_000  # drawn ones are short enough to be typed again
_INEXACT = "This is not how it was: a rule remembers something outside of the world"
_EVERY = 16
"""Steps between two snapshots of the last `_LATELY` steps."""
_LATELY = 1024
_KEPT = 20
"""Games that were left and can be gone back to."""


class Played(NamedTuple):
    """An episode that was played, in figures."""

    seed: int
    steps: int
    total: float
    ending: str
    """How it ended, for the player; empty if it was left."""


class Left(NamedTuple):
    """A game that was left for another one."""

    state: dict[str, Any]
    """What it was, as attributes of `Game`."""
    played: list[Played]


class Game:
    """One scenario being played, without a window.

    Episode k is that of an environment with `reset(seed=seed + k)`: the same actions lead to the
    same rewards, observations and end. Every earlier step can be gone back to, exactly, the
    generator included, and so can every game that was left: by beginning again, by going on to
    another level, or by a step that took another way than those that had been undone.

    Args:
        scenario: what is played.
        seed: of the first episode; drawn by chance if None.

    Attributes:
        scenario: what is played now; `reload` may replace it.
        title: what it is called.
        seed: of the episode that is played now.
        position: steps from the beginning to what is seen now.
        message: what the frame says to the player.
        difference: where a replay that is watched went another way, None if it did not.
    """

    def __init__(self, scenario: Playable, seed: int | None = None) -> None:
        self.position = 0
        self.difference: Difference | None = None
        self._before: list[Left] = []
        self._after: list[Left] = []
        self._forgotten: list[tuple[str, Played]] = []
        self._told: list[Played] = []
        self._steps: list[Taken] = []
        self._keys: dict[int, Any] = {}
        self._row: Any = None
        self._watch = Watch(scenario.watched())
        self._adopt(scenario, episode_of(scenario))
        self._begin(int(np.random.default_rng().integers(_SEEDS)) if seed is None else seed)

    @classmethod
    def of(cls, replay: Replay, scenario: Playable) -> Game:
        """A game in which a replay has been played, at its beginning.

        Where a state is another than the replay says, `difference` tells, and the game ends there.

        Args:
            replay: see `gv_engine.playing.replay`.
            scenario: the one that it was played in; see `Replay.find`.

        Raises:
            ReplayError: the scenario is another one.
        """
        replay.check(scenario)
        game = cls(scenario, replay.seed)
        game.difference = replay.difference(0, game._start, replay.start)
        for number, said in enumerate(replay.steps, start=1):
            if game.difference:
                break
            try:
                found = game.take_on(said.action)
            except RuleError as error:
                found = str(error)
            game.difference = replay.difference(number, found, said)
        game.seek(0)
        return game

    def frame(self) -> Any:
        """The frame of the present state, in a grid a `gv_engine.language.frame.Frame`.

        Raises:
            RuleError: a rendering system failed.
        """
        try:
            return self._episode.frame(self.message)
        except (Exception, Stopped) as error:  # whatever an author's system may raise
            raise failure(error) from error

    def frames(self) -> Iterator[Any]:
        """The frames of the episode, from its beginning."""
        for position in range(self.length + 1):
            self.seek(position)
            yield self.frame()

    def row(self) -> Any:
        """The state at this position, see `Episode.row`; independent of the game."""
        return self._episode.row()

    def state(self) -> str:
        """The digest of the state at this position, see `Episode.state`."""
        return self._steps[self.position - 1].state if self.position else self._start

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
    def commands(self) -> tuple[Command, ...]:
        """What keys do in this level alone."""
        return self._episode.commands

    def action_of(self, numbers: Any) -> str:
        """The action of a number of `actions`, () or of one for each agent, (A,)."""
        each = [self.actions[number] for number in np.ravel(numbers)[: len(self.agents)]]
        named = (f"{name} {does}" for name, does in zip(self.agents, each, strict=True))
        return each[0] if len(each) == 1 else AND.join(named)

    def among(self, action: str, others: str) -> str:
        """A player's action, and what others would do beside; see `Episode.among`."""
        return self._episode.among(action, others)

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
            raise failure(error) from error

    def seen(self) -> Seen:
        """What an agent is handed in the present state, see `Episode.seen`.

        Raises:
            RuleError: a rule failed to say so.
        """
        try:
            return self._episode.seen()
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            raise failure(error) from error

    @property
    def taken(self) -> Sequence[Taken]:
        """The steps from the beginning to this position."""
        return self._steps[: self.position]

    def way(self) -> tuple[str, ...]:
        """The digests of the states from the beginning to this position, see `state`."""
        return (self._start, *(taken.state for taken in self.taken))

    def follow(self, action: str) -> None:
        """Take an action; where it is the one that was undone, that step again.

        Raises:
            RuleError: as for `step`.
        """
        undone = self._steps[self.position : self.position + 1]
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
        before, state = self.position, self._state()
        undone = self.length - before
        try:
            found = self.take_on(self._episode.joint(action))
            self.message = found if isinstance(found, str) else ""
            self.frame()
        except RuleError as error:
            if self.position != before:
                self._become(state, state["message"])
                if not undone:
                    self._forget_beyond(before)
            if isinstance(error, StoppedError):
                raise StoppedError(f"{error}; the step was taken back") from error
            raise
        if undone and not self.message:
            self._leave(Left(state, []))
            were = "1 undone step is" if undone == 1 else f"{undone} undone steps are"
            self.message = f"{were} kept as the game before"

    def take_on(self, action: str) -> Taken | str:
        """Take an action without showing what came of it, for who plays again what was played.

        Returns:
            The step, or why there is none.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        episode = self._episode
        if refusal := episode.refusal(action):
            return refusal
        if episode.outcome:
            return "the episode is over"
        try:
            episode.step(action)
            taken = Taken(action, float(episode.reward), episode.outcome, episode.state())
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            self._go(self.position)
            raise failure(error) from error
        self._forget_beyond(self.position)
        self._steps.append(taken)
        self.position += 1
        self._keep()
        return taken

    @property
    def length(self) -> int:
        """Steps of the episode so far, those that were undone included."""
        return len(self._steps)

    def seek(self, position: int) -> None:
        """Show how it was after so many steps; 0 is the beginning, `length` the last one."""
        position = min(max(position, 0), self.length)
        nearest = self._key_before(position)
        self._show(position, anew=not nearest <= self.position <= position)

    def _show(self, position: int, anew: bool) -> None:
        try:
            self._go(position, anew)
            exact = self._episode.state() == self.state()
        except (Exception, Stopped):  # whatever a rule may raise, which it did not the first time
            exact = False
        self.message = _INEXACT if not exact else "" if position else self._goal()

    def undo(self, steps: int = 1) -> None:
        """Go back; from the beginning to the game before, if there is one."""
        if self._before and not self.position:
            self.game_before()
        else:
            self.seek(self.position - steps)

    def redo(self, steps: int = 1) -> None:
        """Go forward again through steps that were undone; from their end to the game after."""
        if self._after and self.position == self.length:
            self.game_after()
        else:
            self.seek(self.position + steps)

    def game_before(self) -> None:
        """Go back to the game that was left for this one, as it was then."""
        if not self._before:
            self.message = "There is no game before this"
            return
        self._after.insert(0, self._left())
        self._become(self._before.pop().state, "Back to the game before")

    def game_after(self) -> None:
        """Go on to the game that was left by `game_before`."""
        if not self._after:
            self.message = "There is no game after this"
            return
        self._before.append(self._left())
        self._become(self._after.pop(0).state, "On to the game after")

    @property
    def pack_level(self) -> PackLevel | None:
        """The level of a pack that is played, None without one."""
        return self.scenario.document.pack_level

    @property
    def is_lost(self) -> bool:
        """Whether a level of a pack is over, and not won."""
        return bool(self.pack_level and self._episode.outcome and not self.frame().success)

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
        self._leave(left)

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
        left, begun = self._left(), Game(scenario, self.seed)
        vars(self).update(begun._state())
        self._leave(left)

    def again(self) -> None:
        """Begin the same episode again.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        left, row = self._left(), self._row
        if row is None:
            self._begin(self.seed)
        else:
            self.restore(row)
        if left.state["_steps"]:
            self._leave(left)

    def restore(self, row: Any) -> None:
        """Begin with a state in place of a seed's level.

        Args:
            row: the state as the family has it, see `Episode.row`.

        Raises:
            ValueError: the row is not one of this scenario's.
        """
        self._episode.become(row)
        self._row = row
        self._reset()

    @property
    def played(self) -> list[Played]:
        """All episodes that had a step, in their order; the present one is the last, unless it has
        been gone back to."""
        return [played for _, played in self.titled]

    @property
    def titled(self) -> list[tuple[str, Played]]:
        """What is `played`, each with what its scenario is called."""
        present = Left(self._state(), self._present())
        games = (*self._before, present, *self._after)
        kept = [(left.state["title"], played) for left in games for played in left.played]
        return self._forgotten + kept

    def replay(self) -> Replay:
        """The present episode, with the steps that were undone.

        Raises:
            ReplayError: it began with a row, and a replay begins with a seed.
        """
        if self._row is not None:
            raise ReplayError(
                "a game that began with a snapshot has no replay, only one with a seed"
            )
        document = self.scenario.document
        played = self.seed, self._start, tuple(self._steps), __version__
        return Replay(self.scenario.identity, *played, document.settings, document.variant)

    def changed(self) -> bool:
        """Whether a file of the scenario has changed since it was loaded, or since the last try.

        Costs a look at the files' times, so it may be asked several times a second.
        """
        return self._watch.differs(self.scenario.watched())

    def reload(self) -> str:
        """Load the scenario anew and take the same steps in it, as far as they go.

        Returns:
            What the player should know, in one or more lines: `Reloaded`, or how far the steps
            went, or what is wrong, with file and line, or which rule had to be stopped; then the
            game is as it was before.
        """
        self._watch = Watch(self.scenario.watched())
        try:
            scenario = self.scenario.loaded_again()
            episode = episode_of(scenario)
            episode.reset(self.seed)
            episode.state()
        except ScenarioError as error:
            return str(error)
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            return str(failure(error))
        before = dict(vars(self))
        steps, position = self._steps, self.position
        try:
            self._adopt(scenario, episode)
            self._begin(self.seed)
            said = self._take_again([taken.action for taken in steps], position)
            self.frame()
        except RuleError as error:
            vars(self).update(before)
            return str(error)
        return said

    def _take_again(self, actions: Sequence[str], position: int) -> str:
        for number, action in enumerate(actions, start=1):
            try:
                found = self.take_on(action)
            except StoppedError:
                raise
            except RuleError as error:
                found = str(error)
            if isinstance(found, str):
                self._begin(self.seed)
                return f"Reloaded and begun again: step {number}, {found}"
        self.seek(position)
        return "Reloaded"

    # ---- the steps and the way back ------------------------------------------------------

    def _adopt(self, scenario: Playable, episode: Episode) -> None:
        self.scenario = scenario
        self.title = scenario.name
        self.sprite_folders: tuple[Path, ...] = sprite_folders(scenario)
        before = vars(self).get("_episode")  # whose level has been read again
        if before and len(before.agents) > 1 and before.agents == episode.agents:
            episode.controlled, episode.partners = before.controlled, before.partners
        self._episode = episode

    def _begin(self, seed: int) -> None:
        try:
            self._episode.reset(seed)
            self._episode.state()
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            if self._keys:
                self._go(self.position)
            raise failure(error) from error
        self.seed = seed
        self._row = None
        self._reset()

    def _reset(self) -> None:
        """What the episode shows now is the beginning."""
        self.message = self._goal()
        self.difference = None
        self.position = 0
        self._start = self._episode.state()
        self._steps = []
        self._keys = {}
        self._told = []
        self._keep()

    def _goal(self) -> str:
        # the line is short, and the goal stands at the end of a description
        return _SENTENCE_END.split(self.scenario.description)[-1]

    def _keep(self) -> None:
        """Keep a snapshot now and then; of those long ago, fewer and fewer."""
        if self.position % _EVERY:
            return
        self._keys[self.position] = self._episode.snapshot()
        self._keys = {
            at: key for at, key in self._keys.items() if at % _distance(self.position - at) == 0
        }

    def _forget_beyond(self, position: int) -> None:
        if position < self.length:  # those who left this game keep the list
            self._steps = self._steps[:position]
        self._keys = {at: key for at, key in self._keys.items() if at <= position}

    def _key_before(self, position: int) -> int:
        return max(at for at in self._keys if at <= position)

    def _go(self, position: int, anew: bool = True) -> None:
        """Be at a position: from where the episode is, or from the nearest snapshot before."""
        if anew:
            self.position = self._key_before(position)
            self._episode.restore(self._keys[self.position])
        for taken in self._steps[self.position : position]:
            self._episode.step(taken.action)
        self.position = position

    def _state(self) -> dict[str, Any]:
        """All that this game is, without those that were left."""
        others = ("_before", "_after", "_forgotten")
        return {name: value for name, value in vars(self).items() if name not in others}

    def _become(self, state: dict[str, Any], says: str = "") -> None:
        vars(self).update(state)
        self._show(self.position, anew=True)
        if self.message != _INEXACT:
            self.message = says

    def _left(self) -> Left:
        self._told = self._present()
        return Left(self._state(), self._told)

    def _leave(self, left: Left) -> None:
        """Keep a game as the one before this, those that came after it before it."""
        self._before += [*self._after, left]
        self._after = []
        while len(self._before) > _KEPT:
            oldest = self._before.pop(0)
            self._forgotten += [(oldest.state["title"], played) for played in oldest.played]

    def _present(self) -> list[Played]:
        episode = self._episode
        present = Played(self.seed, episode.steps, episode.total, episode.ending)
        furthest = max([*self._told, present], key=lambda played: played.steps)
        return [furthest] if furthest.steps else []


GAME_COMMANDS: dict[str, Callable[[Game], None]] = {
    "undo": Game.undo,
    "redo": Game.redo,
    "first": lambda game: game.seek(0),
    "last": lambda game: game.seek(game.length),
    "again": Game.again,
    "next_level": Game.next_level,
    "previous_level": Game.previous_level,
    "game_before": Game.game_before,
    "game_after": Game.game_after,
    "go_on": Game.go_on,
    "next_agent": Game.next_agent,
}
"""What keys do with a game alone, by the names of their commands."""


_KNOWS: dict[str, Callable[[Game], bool]] = {
    "kin": lambda game: len(kin(game.scenario.name)) > 1,
    "next_agent": lambda game: len(game.agents) > 1,
    "real_time": lambda game: bool(game.wait),
}
"""Whether a level has what some commands are about."""


def seed_of(text: str) -> int:
    """The seed that a player has typed.

    Raises:
        ScenarioError: it is none.
    """
    if not text.isdecimal():
        raise ScenarioError([f"Seeds are whole numbers from 0 on, such as 7, not {text}"])
    return int(text)


def _distance(age: int) -> int:
    """Steps between two snapshots that were made so many steps ago."""
    return int(_EVERY << (age // _LATELY).bit_length())
