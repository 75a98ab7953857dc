"""The game that was left in the middle: kept as a replay, to go on with the next time."""

from __future__ import annotations

from pathlib import Path

from gv_engine.frontend.controls.folders import replay_folder
from gv_engine.playing.replay import SUFFIX, Replay


def unfinished_file() -> Path:
    """The file of the unfinished game."""
    return replay_folder().parent / f"unfinished{SUFFIX}"


def keep_unfinished(replay: Replay) -> None:
    """Keep a game in place of the one kept before.

    Raises:
        OSError: it cannot be written.
    """
    file = unfinished_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    replay.save(file)


def forget_unfinished() -> None:
    """Nothing is left in the middle."""
    unfinished_file().unlink(missing_ok=True)
