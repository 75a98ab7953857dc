"""Folders for the player's own files, by the customs of the system."""

from __future__ import annotations

import re
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Any

import platformdirs

from gv_engine.language.errors import shortened
from gv_engine.playing.game import Game
from gv_engine.reading.files import read_bytes

NAME = "gv-engine"
LARGEST_SETTINGS = 64 * 1024
"""Bytes of settings or keys."""


def config_folder() -> Path:
    """Settings and keys."""
    return Path(platformdirs.user_config_dir(NAME, appauthor=False))


def replay_folder() -> Path:
    """Replays."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "replays"


def recording_folder() -> Path:
    """Pictures and videos."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "recordings"


def read_toml(file: Path) -> tuple[dict[str, Any], str]:
    """What a file of the player's says, and its text.

    Raises:
        OSError: it cannot be read, or is no file.
        ValueError: it is no TOML, and why.
    """
    data = read_bytes(file, LARGEST_SETTINGS, "settings and keys")
    try:
        text = data.decode()
        return tomllib.loads(text), text
    except UnicodeDecodeError:
        raise ValueError("it is not a text in UTF-8") from None
    except RecursionError:
        raise ValueError("it is not TOML: nested too deep") from None
    except ValueError as error:  # numbers of too many digits are no TOMLDecodeError
        raise ValueError(f"it is not TOML: {shortened(str(error), 200)}") from None


def new_file(folder: Path, game: Game, suffix: str) -> Path:
    """A new file in a folder of the player's, named after the level and the time.

    Raises:
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    title = re.sub(r"[^\w-]+", "-", game.title).strip("-")[:60] or "game"
    return folder / f"{title}-seed{game.seed}-{datetime.now():%Y%m%d-%H%M%S}{suffix}"
