"""How a game stands: what is seen of it, and what can be done in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.language.errors import Stopped
from gv_engine.playing.catalogue import kin
from gv_engine.playing.course import Course
from gv_engine.playing.drawings import sprite_folders
from gv_engine.playing.episode import AND, Episode, Playable, Seen
from gv_engine.playing.replay import Difference, Taken
from gv_engine.reading.families import Command
from gv_engine.reading.packs import PackLevel
from gv_engine.reading.rule_files import failure

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


class PresentGame:
    """A game where it is now, forward of which and before which there may be more.

    Args:
        course: that is played.

    Attributes:
        message: what the frame says to the player.
    """

    def __init__(self, course: Course) -> None:
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
        """The frame of the present state, in a grid a `gv_engine.language.frame.Frame`.

        Raises:
            RuleError: a rendering system failed.
        """
        try:
            return self._episode.frame(self.message)
        except (Exception, Stopped) as error:  # whatever an author's system may raise
            raise failure(error) from error

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
    def commands(self) -> tuple[Command, ...]:
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


_KNOWS: dict[str, Callable[[PresentGame], bool]] = {
    "kin": lambda game: len(kin(game.scenario.name)) > 1,
    "next_agent": lambda game: len(game.agents) > 1,
    "real_time": lambda game: bool(game.wait),
    "first_change": lambda game: game.difference is not None,
    "compare": lambda game: game.compared is not None,
}
"""Whether a level has what some commands are about."""
