"""Where what belongs to the player is kept, by the customs of the system."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

import platformdirs

from gv_engine.playing.game import Game

NAME = "gv-engine"


def config_folder() -> Path:
    """Settings and keys."""
    return Path(platformdirs.user_config_dir(NAME, appauthor=False))


def replay_folder() -> Path:
    """Replays."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "replays"


def recording_folder() -> Path:
    """Pictures and videos."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "recordings"


def new_file(folder: Path, game: Game, suffix: str) -> Path:
    """A new file in a folder of the player's, named after the level and the time.

    Raises:
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    title = re.sub(r"[^\w-]+", "-", game.title).strip("-")[:60] or "game"
    return folder / f"{title}-seed{game.seed}-{datetime.now():%Y%m%d-%H%M%S}{suffix}"
