"""Folders for the player's own files, by the customs of the system."""

from __future__ import annotations

import shutil
import sys
import tomllib
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import platformdirs

from gv_engine.language.errors import shortened
from gv_engine.playing.game import Game
from gv_engine.playing.replay import SUFFIX, Replay
from gv_engine.reading.files import read_bytes, replacing, size_of
from gv_engine.reading.untrusted import file_name_of

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


def level_folder() -> Path:
    """Levels that were pasted as a line of text."""
    return replay_folder().parent / "levels"


def read_toml(file: Path, what: str) -> tuple[dict[str, Any], str, str]:
    """What a file of the player's settings or keys says.

    Returns:
        Its content and its text, empty if there is none; and why it cannot be used, empty if it can
        or is not there.
    """
    try:
        text = read_bytes(file, LARGEST_SETTINGS, "settings and keys").decode()
        return tomllib.loads(text), text, ""
    except FileNotFoundError:
        return {}, "", ""
    except OSError as error:
        why = str(error)
    except UnicodeDecodeError:
        why = f"{file}: it is not a text in UTF-8"
    except RecursionError:
        why = f"{file}: it is not TOML: nested too deep"
    except ValueError as error:  # numbers of too many digits are no TOMLDecodeError
        why = f"{file}: it is not TOML: {shortened(str(error), 200)}"
    return {}, "", f"{why}. The usual {what} are used"


def keep_aside(file: Path) -> str:
    """Keep a file that cannot be used beside itself, before the next save puts an end to it; says
    so, as far as it goes."""
    aside = file.with_name(f"{file.name}.bad")
    with suppress(OSError):
        if size_of(file, sys.maxsize, "settings") > LARGEST_SETTINGS:
            file.replace(aside)  # nothing so large is worth the room twice
        else:
            shutil.copyfile(file, aside)
        return f"; the file is kept as {aside.name}"
    return ""


def progress_file() -> Path:
    """The levels of packs that are solved."""
    return replay_folder().parent / "progress.toml"


def unfinished_file() -> Path:
    """The game that was left in the middle, as a replay to go on with the next time."""
    return replay_folder().parent / f"unfinished{SUFFIX}"


def keep_unfinished(replay: Replay) -> None:
    """Keep a game in place of the one kept before; of one that is over, or not begun, keep none.

    Raises:
        OSError: it cannot be written.
    """
    file = unfinished_file()
    if replay.steps and not replay.outcome:
        file.parent.mkdir(parents=True, exist_ok=True)
        replay.save(file)
    else:
        file.unlink(missing_ok=True)


def keep_unsaved(name: str, text: str) -> Path:
    """Keep what was edited and not saved, in a new file.

    Args:
        name: of the level.
        text: of its file.

    Returns:
        The file.

    Raises:
        OSError: it cannot be written.
    """
    folder = replay_folder().parent / "unsaved"
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}-{datetime.now():%Y%m%d-%H%M%S}.yaml"
    with replacing(file) as draft:
        draft.write_text(text, "utf-8")
    return file


def new_file(folder: Path, game: Game, suffix: str) -> Path:
    """A new file in a folder of the player's, named after the level and the time.

    Raises:
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return (
        folder
        / f"{file_name_of(game.title)}-seed{game.seed}-{datetime.now():%Y%m%d-%H%M%S}{suffix}"
    )
