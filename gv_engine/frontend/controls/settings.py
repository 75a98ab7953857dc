"""Settings of the player, kept from one time to the next; free of any drawing library."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from gv_engine.frontend.controls.folders import config_folder, keep_aside, read_toml
from gv_engine.frontend.controls.palette import PALETTES
from gv_engine.frontend.controls.theme import THEMES
from gv_engine.language.errors import shortened
from gv_engine.playing.picture_files import FORMATS
from gv_engine.reading.files import replacing

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
                wrong.append(shortened(f"{known.name} = {value!r}", 100))
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
        with replacing(file) as draft:
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
