"""A scenario as a game for somebody at a keyboard: episode after episode, forward and back."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gv_engine.episode import Playable
from gv_engine.frame import Frame
from gv_engine.pictures import sprite_folders, sprite_name
from gv_engine.replay import Difference, Replay, Taken

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SEEDS = 10_000  # drawn ones are short enough to be typed again


class Played(NamedTuple):
    """How an episode went."""

    seed: int
    steps: int
    total: float
    outcome: str
    """`terminated`, `truncated`, or empty if it was left."""


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

    names = staticmethod(sprite_name)

    def __init__(self, scenario: Playable, seed: int | None = None) -> None:
        self.scenario = scenario
        self.title = scenario.name
        self.sprite_folders: tuple[Path, ...] = sprite_folders(scenario)
        self.seed = int(np.random.default_rng().integers(_SEEDS)) if seed is None else seed
        self.message = ""
        self.position = 0
        self.difference: Difference | None = None

    @classmethod
    def of(cls, replay: Replay, scenario: Playable) -> Game:
        """A game in which a replay has been played, at its beginning.

        Where a state is another than the replay says, `difference` tells, and the game ends there.

        Args:
            replay: see `gv_engine.replay`.
            scenario: the one that it was played in; see `Replay.find`.

        Raises:
            ReplayError: the scenario is another one.
        """

    def frame(self) -> Frame:
        """Return what is to be seen now."""

    @property
    def actions(self) -> Sequence[str]:
        """The actions that the level has."""

    @property
    def wait(self) -> str:
        """The action that lets time pass, for real-time play; empty if the level has none."""

    def mask(self) -> Mapping[str, bool]:
        """Whether each of the actions would do something now."""

    def step(self, action: str) -> None:
        """Take an action; steps that had been undone are gone from then on.

        One that the level does not have leaves no more than a message, and nothing at all happens
        when the episode is over.

        Args:
            action: one of `actions`, or `wait`.

        Raises:
            RuleError: a rule failed; the message names its file and line where there is one, and
                the game is as it was before.
        """

    @property
    def length(self) -> int:
        """Steps of the episode so far, those that were undone included."""

    def seek(self, position: int) -> None:
        """Show how it was after so many steps; 0 is the beginning, `length` the last one."""

    def undo(self, steps: int = 1) -> None:
        """Go back."""

    def redo(self, steps: int = 1) -> None:
        """Go forward again through steps that were undone."""

    def reset(self, seed: int | None = None) -> None:
        """Begin the next episode: that of this seed, or of the one after the present seed."""

    def again(self) -> None:
        """Begin the same episode again."""

    @property
    def played(self) -> list[Played]:
        """All episodes that had a step, the present one last."""

    def replay(self) -> Replay:
        """The present episode, with the steps that were undone."""

    def changed(self) -> bool:
        """Whether a file of the scenario has changed since it was loaded, or since the last try.

        Costs a look at the files' times, so it may be asked several times a second.
        """

    def reload(self) -> str:
        """Load the scenario anew and take the same steps in it, as far as they go.

        Returns:
            What the player should know, in one or more lines: `Reloaded`, or how far the steps
            went, or what is wrong, with file and line; then the game is as it was before.
        """
