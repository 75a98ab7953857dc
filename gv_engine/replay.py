"""Replays: an episode as a file that can be played again and checked, step by step.

A replay runs no code: it names its scenario, and who opens it says where that is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gv_engine.episode import Identity, Playable
from gv_engine.errors import GVEngineError

SUFFIX = ".gvreplay"


class ReplayError(GVEngineError):
    """A file that is no replay, is damaged, or belongs to another scenario; one line says it."""


class Taken(NamedTuple):
    """A step that was taken."""

    action: str
    reward: float
    outcome: str
    """Empty, `terminated` or `truncated`."""
    state: str
    """Stands for the whole state after it, see `Episode.state`."""


class Difference(NamedTuple):
    """Where an episode went another way than its replay says."""

    step: int
    """0 for the beginning."""
    message: str
    """What is different, in one line."""


@dataclass(frozen=True)
class Replay:
    """One episode.

    Attributes:
        scenario: which one it was played in.
        seed: of its level.
        start: stands for the state before the first step.
        steps: all of them.
        engine: version of GV Engine that played it.
    """

    scenario: Identity
    seed: int
    start: str
    steps: tuple[Taken, ...]
    engine: str

    def save(self, path: Path) -> None:
        """Write it as JSON, whole or not at all.

        Raises:
            OSError: it cannot be written.
        """

    @classmethod
    def load(cls, path: Path) -> Replay:
        """Read a file.

        Raises:
            ReplayError: it is none, or any byte of it is not as it was written.
            OSError: it cannot be read.
        """

    def find(self, among: Iterable[Playable] = ()) -> Playable:
        """The scenario that it was played in: a built-in one, or one of those given.

        Raises:
            ReplayError: there is none, or it has changed since.
        """

    @property
    def total(self) -> float:
        """The sum of the rewards."""

    @property
    def outcome(self) -> str:
        """How it ended: `terminated`, `truncated`, or empty if it was left."""
