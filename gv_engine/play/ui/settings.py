"""Settings and progress of the player, and the folders of the player's files."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import platformdirs

from gv_engine.play.session.catalogue import is_for_agents
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import SUFFIX, Replay
from gv_engine.play.session.video_writer import FORMATS
from gv_engine.play.ui.colors import PALETTES, THEMES
from gv_engine.rules.errors import format_count, shorten
from gv_engine.scenario.levels.level_files import PackLevel
from gv_engine.scenario.storage.files import check_file_size, make_file_name, read_bytes, write_file

# ---- folders -------------------------------------------------------------------------------------

NAME = "gv-engine"
MAX_SETTINGS_SIZE = 64 * 1024  # maximum size in bytes of files with settings or keys


def config_folder() -> Path:
    """Return the folder of settings and keys."""
    return Path(platformdirs.user_config_dir(NAME, appauthor=False))


def replay_folder() -> Path:
    """Return the folder of replays."""
    return Path(platformdirs.user_data_dir(NAME, appauthor=False)) / "replays"


def recording_folder() -> Path:
    """Return the folder of pictures and videos."""
    return replay_folder().parent / "recordings"


def cache_folder() -> Path:
    """Return the folder of files that can be made again."""
    return Path(platformdirs.user_cache_dir(NAME, appauthor=False))


def level_folder() -> Path:
    """Return the folder that keeps level files embedded in replays which the user has pasted."""
    return replay_folder().parent / "levels"


def read_toml(file: Path, noun: str) -> tuple[dict[str, Any], str, str]:
    """Return the values and the text of a TOML file, and an error message or "". A missing file is
    no error.

    Args:
        file: file to read.
        noun: the values in the message, "settings" or "keys".

    Returns:
        The parsed file and its text, both empty if the file is missing or wrong; and a message if
        the file is wrong, else "".
    """
    try:
        text = read_bytes(file, MAX_SETTINGS_SIZE, "settings and keys").decode()
        return tomllib.loads(text), text, ""
    except FileNotFoundError:
        return {}, "", ""
    except OSError as error:
        reason = str(error)
    except UnicodeDecodeError:
        reason = f"{file}: it is not a text in UTF-8"
    except RecursionError:
        reason = f"{file}: it is not TOML: nested too deep"
    except ValueError as error:  # numbers of too many digits are no TOMLDecodeError
        reason = f"{file}: it is not TOML: {shorten(str(error), 200)}"
    return {}, "", f"{reason}. The usual {noun} are used"


def backup_broken_file(file: Path) -> str:
    """Copy an unusable file to `<name>.bad` before the next save overwrites it. Return a note about
    the copy for the error message. "" if copying fails."""
    backup = file.with_name(f"{file.name}.bad")
    with suppress(OSError):
        if check_file_size(file, sys.maxsize, "settings") > MAX_SETTINGS_SIZE:
            file.replace(backup)  # too large to copy
        else:
            shutil.copyfile(file, backup)
        return f"; the file is kept as {backup.name}"
    return ""


def progress_file() -> Path:
    """Return the path of the file with the solved levels of packs."""
    return replay_folder().parent / "progress.toml"


def unfinished_files() -> list[Path]:
    """Return the replays with unfinished games, at most one of a level, the newest first."""
    files = replay_folder().parent.glob(f"unfinished-*{SUFFIX}")
    return sorted(files, key=lambda file: file.stat().st_mtime, reverse=True)


def unfinished_file(source: str) -> Path | None:
    """Return the replay with the unfinished game of the level of `source`, a name or path; None if
    there is none."""
    ending = f"-{_digest_source(source)}"
    return next((file for file in unfinished_files() if file.stem.endswith(ending)), None)


def _digest_source(source: str) -> str:
    return sha256(source.encode()).hexdigest()[:12]


def save_unfinished(title: str, source: str, replay: Replay | None) -> None:
    """Save `replay` as the unfinished game of a level, to be continued later; None deletes the
    saved one. `source` and `title` identify the level. Of more than `MAX_UNFINISHED` games, the
    oldest is deleted.

    Args:
        title: title of the level.
        source: name or path of the level, as levels of several files may have one title.
        replay: game so far.

    Raises:
        OSError: the file cannot be written or removed.
    """
    name = f"{make_file_name(title)}-{_digest_source(source)}"
    file = replay_folder().parent / f"unfinished-{name}{SUFFIX}"
    if replay:
        file.parent.mkdir(parents=True, exist_ok=True)
        replay.save(file)
    else:
        file.unlink(missing_ok=True)
    for old in unfinished_files()[MAX_UNFINISHED:]:
        old.unlink(missing_ok=True)


def write_text(file: Path, text: str, errors: str = "strict") -> Path:
    """Write `text` into `file` as UTF-8, atomically, and return `file`; missing folders are
    created. `errors` is as for `str.encode`.

    Raises:
        OSError: the file cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    write_file(file, text.encode("utf-8", errors))
    return file


def new_file(folder: Path, game: Game, suffix: str) -> Path:
    """Return a path for a new file in `folder`, named after the level and seed of the session
    `game` and the time. The folder is created, the file is not.

    Args:
        folder: folder of the file; created if missing.
        game: session that the file is for.
        suffix: suffix of the file name.

    Raises:
        OSError: the folder cannot be created.
    """
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{make_file_name(game.title)}-seed{game.seed}-{datetime.now():%Y%m%d-%H%M%S}"
    return folder / (name + suffix)


def save_replay(game: Game) -> Path:
    """Save the episode of `game` as a new file in the folder of replays, and return its path.

    Raises:
        OSError: the file cannot be written.
        ReplayError: the episode began from a saved state.
    """
    file = new_file(replay_folder(), game, SUFFIX)
    game.replay().save(file)
    return file


# ---- settings ------------------------------------------------------------------------------------

MAX_RECENT = 12  # number of recent scenarios to remember
MAX_UNFINISHED = 6  # number of unfinished games to keep, one of a level
SCALES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
CELLS = (16, 24, 32, 48, 64, 96)  # sides of cells in pixels, for exports of replays
EXPORTS = tuple(dict.fromkeys((".mp4", *FORMATS)))  # file types for exports of replays
VOLUMES = (10, 25, 50, 75, 100)  # percent
SPEEDS = (1, 2, 4, 8, 16, 30, 60)  # steps per second of replays and of real time

# Descriptions of how arrow keys move the agent, by value of the setting.
ARROW_KEYS = {
    "usual": "depends on level",
    "point": "go where the key points",
    "turn": "turn and walk",
}


@dataclass
class Settings:
    """Settings of the player, stored in `settings.toml`; invalid values are replaced by the
    defaults.

    Attributes:
        view: view of the stage in research; empty for the default view.
        arrow_keys: meaning of arrow keys, a key of `ARROW_KEYS`.
        opponents: policy of agents outside the player's team; "" for none, so that they wait for
            keys.
        scale: scale of text and panels, from 0.5 to 4; 0 for automatic. `GV_ENGINE_SCALE` overrides
            it.
        window: width and height of the window in pixels; empty before the first window.
        volume: volume of sounds in percent, one of `VOLUMES`.
        captions: True to show a caption for each sound, also while sound is off.
        asks_about_sound: True until the player has chosen whether to play with sound.
        research: True to show rewards, observation and seed to somebody who studies agents.
        speed: steps per second of a replay.
        time_speed: steps per second of real time.
        recording: file type of recordings.
        export_as: file type of exports.
        export_view: view of exports; empty for the level's first view.
        export_cell: side of a cell in exports, in pixels.
        export_speed: steps per second of exports.
        recent: names and files of scenarios, the most recent first.
    """

    theme: str = "dark"
    palette: str = "standard"
    view: str = ""
    animation: bool = True
    arrow_keys: str = "usual"
    opponents: str = "best"
    scale: float = 0.0
    window: list[int] = field(default_factory=list)
    full_screen: bool = False
    sound: bool = False
    volume: int = 75
    captions: bool = False
    asks_about_sound: bool = True
    research: bool = False
    speed: int = 4
    time_speed: int = 4
    recording: str = ".mp4"
    export_as: str = ".mp4"
    export_view: str = ""
    export_cell: int = 32
    export_speed: int = 4
    recent: list[str] = field(default_factory=list)

    @classmethod
    def load(cls, file: Path | None = None) -> tuple[Settings, str]:
        """Return the player's settings read from `file`, by default `settings.toml`, and a message
        about errors in the file, or "".

        Args:
            file: file to read; `settings.toml` in the configuration folder if None.

        Returns:
            The settings, and a message if the file is wrong, else "". A wrong file is copied to a
            file with `.bad` after its name.
        """
        file = file or settings_file()
        values, _, message = read_toml(file, "settings")
        settings, invalid = cls(), list[str]()
        for setting in fields(cls):
            default = getattr(settings, setting.name)
            value = values.get(setting.name, default)
            types = (float, int) if setting.name == "scale" else (type(default),)
            if type(value) in types and _CHECKS.get(setting.name, lambda _: True)(value):
                setattr(settings, setting.name, value)
            else:
                invalid.append(shorten(f"{setting.name} = {value!r}", 100))
        if invalid:
            message = f"{file}: {', '.join(invalid)} cannot be used and is left out"
        return settings, message + backup_broken_file(file) if message else ""

    def save(self, file: Path | None = None) -> None:
        """Write the settings atomically into `file`, by default `settings.toml`.

        Args:
            file: file to write; `settings.toml` in the configuration folder if None.

        Raises:
            OSError: the file cannot be written.
        """
        file = file or settings_file()
        # numbers, strings and lists have the same text in TOML and JSON, except one character
        lines = [
            f"{name} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
            for name, value in asdict(self).items()
        ]
        # a file name may not be valid UTF-8
        write_text(file, "\n".join(lines) + "\n", errors="replace")

    def steers(self, scenario: Playable) -> bool:
        """Return whether arrow keys go where they point in a level of `scenario`."""
        if self.arrow_keys == "usual":
            return not is_for_agents(scenario)
        return self.arrow_keys == "point"

    def add_recent(self, source: str) -> None:
        """Put `source`, the name or file of a scenario, at the front of the list of recent
        scenarios."""
        older = [name for name in self.recent if name != source]
        self.recent = [source, *older][:MAX_RECENT]


def settings_file() -> Path:
    """Return the path of `settings.toml`."""
    return config_folder() / "settings.toml"


def forced_scale() -> float | None:
    """Return the scale of text and panels set by the environment variable `GV_ENGINE_SCALE`, such
    as `2` or `200%`; None if unset or invalid."""
    text = os.environ.get("GV_ENGINE_SCALE", "").strip()
    try:
        number = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return number if _is_scale(number) else None


def _is_scale(value: float) -> bool:
    return 0.5 <= value <= 4


def _is_size(value: list[Any]) -> bool:
    return not value or (
        len(value) == 2 and all(isinstance(side, int) and 100 <= side <= 20_000 for side in value)
    )


# Checks of values by name of the setting, in addition to the check of the type.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "theme": THEMES.__contains__,
    "arrow_keys": ARROW_KEYS.__contains__,
    "palette": PALETTES.__contains__,
    "scale": lambda value: value == 0 or _is_scale(value),
    "window": _is_size,
    **dict.fromkeys(("speed", "time_speed", "export_speed"), SPEEDS.__contains__),
    "volume": VOLUMES.__contains__,
    "export_as": EXPORTS.__contains__,
    "export_cell": CELLS.__contains__,
    "recording": (".mp4", ".gif").__contains__,
    "recent": lambda value: all(isinstance(item, str) for item in value),
}


# ---- progress ------------------------------------------------------------------------------------

_MAX_LEVELS = 2000  # maximum number of levels to remember; the levels solved last are kept
_MAX_FILE_SIZE = 2**20  # maximum size of the file in bytes
# Line of the file: `DIGEST = STEPS`, the digest of a level's map and the fewest steps of a
# solution; or `MARKDIGEST = 1`, a mark from `_MARKS` and the digest.
_LEVEL_LINE = re.compile(rb'\s*"?(\w{1,64})"?\s*=\s*([1-9]\d{0,8})\s*(#.*)?')
# Marks of levels with a failed try, and of levels solved at the first try.
_MARKS = _TRIED, _FIRST = "tried_", "first_"
# Medals of a level, with their names.
MEDALS = {"solved": "Done", "par": "Par", "first": "First try"}


OPEN_LEVELS = 3  # number of levels of a pack that are open and not solved
# Note on a locked level, with the key that plays it.
LOCKED_NOTE = "Solve one more of the open levels first; {} again plays it now"


class Progress:
    """Solved levels of packs by digest of the map, stored in `progress.toml`; invalid lines are
    ignored.

    Args:
        file: file to read and write; `progress.toml` in the data folder if None.

    Attributes:
        fewest: fewest steps of a solution by digest of the level.
        marks: digests of marked levels, each after the prefix of its mark, see `_MARKS`: levels
            with a failed try, and levels solved at the first try.
        error: message if the file is wrong, else ""; a wrong file is copied to a file with `.bad`
            after its name.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or progress_file()
        self.fewest, self.marks, self.error = self._read()

    def _read(self) -> tuple[dict[str, int], set[str], str]:
        """Read the progress file. Return the fewest steps of a solution by level hash, the set of
        marks, and a message about invalid lines or "". A mark is a prefix of `_MARKS` and a level
        hash: "tried_…" is a failed try."""
        fewest, marks = dict[str, int](), set[str]()
        try:
            lines = read_bytes(self._file, _MAX_FILE_SIZE, "marks of solved levels").splitlines()
        except FileNotFoundError:
            return fewest, marks, ""
        except OSError as error:
            backup = backup_broken_file(self._file)
            return fewest, marks, f"{error}. Levels count as not solved{backup}"
        num_invalid = 0
        for line in lines:
            if match := _LEVEL_LINE.fullmatch(line):
                name, steps = match[1].decode(), int(match[2])
                if name.startswith(_MARKS):
                    marks.add(name)
                else:
                    fewest[name] = min(steps, fewest.get(name, steps))
            elif line.strip() and not line.lstrip().startswith(b"#"):
                num_invalid += 1
        if not num_invalid:
            return fewest, marks, ""
        count, backup = format_count(num_invalid, "line"), backup_broken_file(self._file)
        return fewest, marks, f"{self._file}: {count} cannot be used and left out{backup}"

    def find_locked(self, levels: Iterable[PackLevel]) -> set[str]:
        """Return the digests of those of `levels`, of one pack, that are locked: all that are not
        solved, except the first `OPEN_LEVELS`."""
        unsolved = [level.digest for level in levels if not self.fewest.get(level.digest)]
        return {*unsolved[OPEN_LEVELS:]}

    def format_goal(self, level: PackLevel) -> str:
        """Return a text such as `par 20 · your best 25`: the par (number of steps to aim for) of
        `level`, and the player's best."""
        texts = []
        if level.par:
            texts.append(f"par {level.par}")
        if best := self.fewest.get(level.digest):
            texts.append(f"your best {best}")
        return " · ".join(texts)

    def format_result(self, game: Game, steps: int) -> str:
        """Return a text such as `22 steps · par 20 · your best 22` for a solution of the level of
        `game`; "" if the level is in no pack."""
        level = game.pack_level
        if level is None:
            return ""
        texts = format_count(steps, "step"), self.format_goal(level)
        return " · ".join(filter(None, texts))

    def medals(self, level: PackLevel) -> tuple[str, ...]:
        """Return the medals, keys of `MEDALS`, that the player has won in `level`."""
        best = self.fewest.get(level.digest)
        if not best:
            return ()
        is_won = {
            "solved": True,
            "par": best <= level.par,
            "first": f"{_FIRST}{level.digest}" in self.marks,
        }
        return tuple(medal for medal in MEDALS if is_won[medal])

    def format_medals(self, level: PackLevel) -> str:
        """Return the names of the medals that the player has won in `level`, such as `Done,
        Par`."""
        return ", ".join(MEDALS[medal] for medal in self.medals(level))

    def add_failed_try(self, game: Game, at_start: bool = False) -> None:
        """Save that the player has lost, restarted or left the level of `game`, or undone a step in
        it, unless it is solved or in no pack. Before the first step, nothing is saved unless
        `at_start`.

        Raises:
            OSError: as for `add_solution`.
        """
        level = game.pack_level
        if level and (game.position or at_start) and level.digest not in self.fewest:
            self._add({f"{_TRIED}{level.digest}": 1})

    def add_solution(self, game: Game, steps: int) -> None:
        """Save that the player has solved the level of `game` in `steps` steps, unless a shorter
        solution is saved or the level is in no pack.

        Raises:
            OSError: the file cannot be written; number and medals are still remembered in this
                process.
        """
        if not game.pack_level:
            return
        digest = game.pack_level.digest
        is_first = digest not in self.fewest and f"{_TRIED}{digest}" not in self.marks
        self._add({f"{_FIRST}{digest}": 1, digest: steps} if is_first else {digest: steps})

    def _add(self, entries: Mapping[str, int]) -> None:
        """Save `entries`: the fewest steps by a level's hash, unless fewer are saved, and 1 by the
        prefix of a mark, see `_MARKS`, and the hash."""
        if self.marks.issuperset(entries):
            return
        with suppress(OSError):  # another window may have written the file
            fewest, marks, _ = self._read()
            self.marks |= marks
            for digest, other_steps in fewest.items():
                self.fewest[digest] = min(other_steps, self.fewest.get(digest, other_steps))
        for name, steps in entries.items():
            if name.startswith(_MARKS):
                self.marks.add(name)
            else:  # the level solved last is last
                self.fewest[name] = min(steps, self.fewest.pop(name, steps))
        solved = dict([*self.fewest.items()][-_MAX_LEVELS:])
        marks_in_order = sorted(self.marks)
        first = [mark for mark in marks_in_order if mark.removeprefix(_FIRST) in solved]
        tried = [mark for mark in marks_in_order if mark.startswith(_TRIED)][-_MAX_LEVELS:]
        saved = {**solved, **dict.fromkeys((*first, *tried), 1)}
        write_text(self._file, "".join(f"{key} = {value}\n" for key, value in saved.items()))
