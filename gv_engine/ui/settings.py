"""Which levels of packs the player has solved, kept from one time to the next."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from pathlib import Path
from typing import Any

import platformdirs

from gv_engine.rules.errors import shorten
from gv_engine.scenario.files import atomic_write, check_file_size, make_file_name, read_bytes
from gv_engine.scenario.packs import PackLevel
from gv_engine.session.replay import SUFFIX, Replay
from gv_engine.session.session import Session
from gv_engine.session.video_writer import FORMATS
from gv_engine.ui.colors import PALETTES, THEMES

# ---- folders -------------------------------------------------------------------------------------

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
        why = f"{file}: it is not TOML: {shorten(str(error), 200)}"
    return {}, "", f"{why}. The usual {what} are used"


def keep_aside(file: Path) -> str:
    """Keep a file that cannot be used beside itself, before the next save puts an end to it; says
    so, as far as it goes."""
    aside = file.with_name(f"{file.name}.bad")
    with suppress(OSError):
        if check_file_size(file, sys.maxsize, "settings") > LARGEST_SETTINGS:
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
    with atomic_write(file) as draft:
        draft.write_text(text, "utf-8")
    return file


def new_file(folder: Path, game: Session, suffix: str) -> Path:
    """A new file in a folder of the player's, named after the level and the time.

    Raises:
        OSError: the folder cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return (
        folder
        / f"{make_file_name(game.title)}-seed{game.seed}-{datetime.now():%Y%m%d-%H%M%S}{suffix}"
    )


# ---- settings ------------------------------------------------------------------------------------

KEPT_RECENT = 12
"""Scenarios that count as recent."""
SCALES = (1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)
CELLS = (16, 24, 32, 48, 64, 96)
"""Pixels of a cell's side, where a replay is exported."""
EXPORTS = tuple(dict.fromkeys((".mp4", *FORMATS)))
"""Kinds of files that a replay is exported as."""
SPEEDS = (1, 2, 4, 8, 16, 30, 60)
"""Steps a second, of a replay and of time that runs."""

STEERING = {"agent": "turn and walk", "screen": "go where the key points"}
"""What the keys that move go by, and what they do then."""


@dataclass
class Settings:
    """The settings in `settings.toml`; a wrong value counts as left out."""

    theme: str = "dark"
    palette: str = "standard"
    view: str = ""
    """A view of the stage; empty for its usual one."""
    animation: bool = True
    steering: str = "agent"
    """What the keys that move go by, a key of `STEERING`."""
    scale: float = 0.0
    """Size of text and panels, from 0.5 to 4; 0 for what suits the screen. `GV_ENGINE_SCALE` goes
    before it."""
    window: list[int] = field(default_factory=list)
    """Width and height in pixels; empty until there has been a window."""
    full_screen: bool = False
    sound: bool = False
    speed: int = 4
    """Steps a second of a replay."""
    time_speed: int = 4
    """Steps a second of a game in which time runs."""
    recording: str = ".mp4"
    """Kind of file that a recording becomes."""
    export_as: str = ".mp4"
    """Kind of file that a replay is exported as."""
    export_view: str = ""
    """A view of what is exported; empty, or one that the level lacks, for its first one."""
    export_cell: int = 32
    """Pixels of a cell's side, exported."""
    export_speed: int = 4
    """Steps a second, exported."""
    recent: list[str] = field(default_factory=list)
    """Names and files of scenarios, the last one first."""

    @classmethod
    def load(cls, file: Path | None = None) -> tuple[Settings, str]:
        """The settings of a file, `settings.toml` in the configuration folder if None.

        Returns:
            The settings and what is wrong with the file, empty if nothing. A wrong file is kept
            beside itself, with `.bad` after its name.
        """
        file = file or settings_file()
        found, _, broken = read_toml(file, "settings")
        made, unfit = cls._of(found, file)
        wrong = broken or unfit
        return made, wrong + keep_aside(file) if wrong else ""

    @classmethod
    def _of(cls, found: Mapping[str, Any], file: Path) -> tuple[Settings, str]:
        made = cls()
        wrong: list[str] = []
        for known in fields(cls):
            usual = getattr(made, known.name)
            value = found.get(known.name, usual)
            kinds = (float, int) if known.name == "scale" else (type(usual),)
            if type(value) in kinds and _CHECKS.get(known.name, lambda _: True)(value):
                setattr(made, known.name, value)
            else:
                wrong.append(shorten(f"{known.name} = {value!r}", 100))
        return made, f"{file}: {', '.join(wrong)} cannot be used and is left out" if wrong else ""

    def save(self, file: Path | None = None) -> None:
        """Write the settings, all of them or none.

        Raises:
            OSError: they cannot be written there.
        """
        file = file or settings_file()
        file.parent.mkdir(parents=True, exist_ok=True)
        # but for one character, numbers, words and lists of them are the same in TOML and JSON
        lines = [
            f"{name} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f")
            for name, value in asdict(self).items()
        ]
        with atomic_write(file) as draft:
            # a name that is no text, as a file's may be, is not worth the rest
            draft.write_text("\n".join(lines) + "\n", "utf-8", errors="replace")

    def played(self, source: str) -> None:
        """Put a scenario's name or file at the front of the recent ones."""
        others = [name for name in self.recent if name != source]
        self.recent = [source, *others][:KEPT_RECENT]


def settings_file() -> Path:
    """Where the settings are kept."""
    return config_folder() / "settings.toml"


def forced_scale() -> float | None:
    """What the variable `GV_ENGINE_SCALE` says, 2 or 200%; None if it says nothing of use."""
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


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "theme": THEMES.__contains__,
    "steering": STEERING.__contains__,
    "palette": PALETTES.__contains__,
    "scale": lambda value: value == 0 or _is_scale(value),
    "window": _is_size,
    "speed": SPEEDS.__contains__,
    "time_speed": SPEEDS.__contains__,
    "export_as": EXPORTS.__contains__,
    "export_cell": CELLS.__contains__,
    "export_speed": SPEEDS.__contains__,
    "recording": (".mp4", ".gif").__contains__,
    "recent": lambda value: all(isinstance(item, str) for item in value),
}
"""What a value has to be besides being of the usual kind."""


# ---- progress ------------------------------------------------------------------------------------

_KEPT = 2000
"""Levels; those that were solved last."""
_LARGEST = 2**20
"""Bytes."""
_MARK = re.compile(rb'\s*"?(\w{1,64})"?\s*=\s*([1-9]\d{0,8})\s*(#.*)?')
"""A line: the digest of a map, and steps."""


class Progress:
    """The levels in `progress.toml`, by the digests of their maps; a wrong line counts as left out.

    Args:
        file: `progress.toml` in the data folder if None.

    Attributes:
        fewest: in how many steps each was solved at best.
        wrong: what is wrong with the file, empty if nothing; then it is kept beside itself, with
            `.bad` after its name.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file or progress_file()
        self.fewest, self.wrong = self._read()

    def _read(self) -> tuple[dict[str, int], str]:
        """The marks of all lines that can be made out, and what is wrong with others."""
        fewest: dict[str, int] = {}
        try:
            lines = read_bytes(self._file, _LARGEST, "marks of solved levels").splitlines()
        except FileNotFoundError:
            return fewest, ""
        except OSError as error:
            return fewest, f"{error}. Levels count as not solved{keep_aside(self._file)}"
        unfit = 0
        for line in lines:
            if mark := _MARK.fullmatch(line):
                digest, steps = mark[1].decode(), int(mark[2])
                fewest[digest] = min(steps, fewest.get(digest, steps))
            else:
                unfit += bool(line.strip()) and not line.lstrip().startswith(b"#")
        if not unfit:
            return fewest, ""
        some = "1 line" if unfit == 1 else f"{unfit} lines"
        wrong = f"{self._file}: {some} cannot be used and left out{keep_aside(self._file)}"
        return fewest, wrong

    def goal(self, level: PackLevel) -> str:
        """The par of a level of a pack beside the player's best."""
        best = self.fewest.get(level.digest, 0)
        par, least = f"par {level.par}" * bool(level.par), f"your best {best}" * bool(best)
        return " · ".join(filter(None, (par, least)))

    def told(self, game: Session, steps: int) -> str:
        """The steps of a level of a pack beside its par and the player's best; "" elsewhere."""
        level = game.pack_level
        if level is None:
            return ""
        return " · ".join(filter(None, (f"{steps} steps", self.goal(level))))

    def solved(self, game: Session, steps: int) -> None:
        """Keep in how many steps the level of a pack was solved, if that is the fewest.

        Raises:
            OSError: it cannot be written; it counts all the same until the end.
        """
        if not game.pack_level:
            return
        digest = game.pack_level.digest
        with suppress(OSError):  # somebody may be playing in another window, too
            for other, least in self._read()[0].items():
                self.fewest[other] = min(least, self.fewest.get(other, least))
        before = self.fewest.pop(digest, steps)
        self.fewest[digest] = min(steps, before)
        lines = [f"{known} = {least}\n" for known, least in [*self.fewest.items()][-_KEPT:]]
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(self._file) as draft:
            draft.write_text("".join(lines), "utf-8")
