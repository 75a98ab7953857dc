"""A scenario as a game for somebody at a keyboard: episode after episode, forward and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gv_engine import __version__
from gv_engine.language.errors import RuleError, ScenarioError, Stopped, StoppedError
from gv_engine.playing.drawings import sprite_folders
from gv_engine.playing.episode import Episode, Playable, episode_of
from gv_engine.playing.reloading import Watch
from gv_engine.playing.replay import Difference, Replay, ReplayError, Taken
from gv_engine.reading.rule_files import failure

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SEEDS = 10_000  # drawn ones are short enough to be typed again
_INEXACT = "This is not how it was: a rule remembers something outside of the world"
_EVERY = 16
"""Steps between two snapshots of the last `_LATELY` steps."""
_LATELY = 1024


class Played(NamedTuple):
    """An episode that was played, in figures."""

    seed: int
    steps: int
    total: float
    ending: str
    """How it ended, for the player; empty if it was left."""


class Game:
    """One scenario being played, without a window.

    Episode k is that of an environment with `reset(seed=seed + k)`: the same actions lead to the
    same rewards, observations and end. Every earlier step can be gone back to, exactly, the
    generator included.

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
        self._earlier: list[Played] = []
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
                found = game._try(said.action)
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

    def step(self, action: str) -> None:
        """Take an action; steps that had been undone are gone from then on.

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
        before = self.position
        try:
            found = self._try(action)
            self.message = found if isinstance(found, str) else ""
            self.frame()
        except RuleError as error:
            if self.position != before:
                self.seek(before)
                self._forget_beyond(before)
            if isinstance(error, StoppedError):
                raise StoppedError(f"{error}; the step was taken back") from error
            raise

    def _try(self, action: str) -> Taken | str:
        """The step, or why there is none."""
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
        try:
            self._go(position, anew=not nearest <= self.position <= position)
            exact = self._episode.state() == self.state()
        except (Exception, Stopped):  # whatever a rule may raise, which it did not the first time
            exact = False
        self.message = _INEXACT if not exact else "" if position else self._goal()

    def undo(self, steps: int = 1) -> None:
        """Go back."""
        self.seek(self.position - steps)

    def redo(self, steps: int = 1) -> None:
        """Go forward again through steps that were undone."""
        self.seek(self.position + steps)

    def go_on(self) -> None:
        """Begin the next episode if this one is over.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        if self._episode.outcome:
            self.reset()

    def reset(self, seed: int | None = None) -> None:
        """Begin the next episode: that of this seed, or of the one after the present seed.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        present = self._present()
        self._begin(self.seed + 1 if seed is None else seed)
        self._earlier += present

    def again(self) -> None:
        """Begin the same episode again.

        Raises:
            RuleError: a rule failed, and the game is as it was before.
        """
        present, row = self._present(), self._row
        if row is None:
            self._begin(self.seed)
        else:
            self.restore(row)
        self._earlier += present

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
        """All episodes that had a step, the present one last."""
        return self._earlier + self._present()

    def replay(self) -> Replay:
        """The present episode, with the steps that were undone.

        Raises:
            ReplayError: it began with a row, and a replay begins with a seed.
        """
        if self._row is not None:
            raise ReplayError(
                "a game that began with a snapshot has no replay, only one with a seed"
            )
        settings = self.scenario.document.settings
        played = self.seed, self._start, tuple(self._steps), __version__, settings
        return Replay(self.scenario.identity, *played)

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
                found = self._try(action)
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
        del self._steps[position:]
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

    def _present(self) -> list[Played]:
        episode = self._episode
        present = Played(self.seed, episode.steps, episode.total, episode.ending)
        return [present] if episode.steps else []


GAME_COMMANDS: dict[str, Callable[[Game], None]] = {
    "undo": Game.undo,
    "redo": Game.redo,
    "first": lambda game: game.seek(0),
    "last": lambda game: game.seek(game.length),
    "again": Game.again,
    "next_level": Game.reset,
    "go_on": Game.go_on,
}
"""What keys do with a game alone, by the names of their commands."""


def _distance(age: int) -> int:
    """Steps between two snapshots that were made so many steps ago."""
    return int(_EVERY << (age // _LATELY).bit_length())
