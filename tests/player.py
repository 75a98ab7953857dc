"""Somebody with a keyboard in front of the real game, and a twin who plays the same at a desk."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.screens.start import StartScreen
from tests import ROOT
from tests.desk import Desk
from tests.screen import PATIENCE, Screen

XDOTOOL = {
    **{"Space": "space", "PageUp": "Prior", "Period": "period", "Slash": "question"},
    **{"LeftBracket": "bracketleft", "RightBracket": "bracketright"},
}

NO_REPEATS = "from gv_engine.play.ui.screens import keyboard; keyboard.REPEAT_AFTER = 600_000"
"""Code by which a key that a busy machine lets go late does not count as held."""


class Player:
    """Somebody with a keyboard in front of the game, whose twin plays at a desk."""

    def __init__(self, screen: Screen, process: subprocess.Popen[str], folder: Path) -> None:
        self.screen, self.process, self.folder = screen, process, folder
        self.window = screen.find(process)
        screen.xdotool("windowfocus", "--sync", self.window)
        screen.xdotool("mousemove", "1399", "999")  # what it is over looks different
        self.desk = Desk()

    def does(self, *actions: str) -> None:
        """Take actions by their keys."""
        self.presses(*(Bindings().keys("grid", action)[0] for action in actions))

    def presses(self, *keys: str) -> None:
        """Press keys, as bindings name them; the twin too."""
        self.screen.xdotool("key", "--delay", "30", *map(_for_xdotool, keys))
        self.desk.press(*keys)

    def types(self, text: str) -> None:
        self.screen.xdotool("type", "--delay", "30", text)
        self.desk.type(text)

    def area(self) -> tuple[int, int, int, int]:
        words = self.screen.xdotool("getwindowgeometry", "--shell", self.window).split()
        values = {name: int(value) for name, value in (word.split("=") for word in words)}
        return values["X"], values["Y"], values["WIDTH"], values["HEIGHT"]

    def picture(self) -> np.ndarray:
        x, y, width, height = self.area()
        return self.screen.pixels()[y : y + height, x : x + width]

    def sees_the_same(self) -> bool:
        self.desk.surface = pygame.Surface(self.area()[2:], 0, 32)
        return np.array_equal(self.desk.look(), self.picture())

    def files(self, pattern: str) -> list[Path]:
        """The files that were saved on request."""
        found = (self.folder / "data" / "gv-engine").rglob(pattern)
        return sorted(file for file in found if "autosave" not in file.parts)

    def leaves(self) -> str:
        """Close the window, and the twin's; returns what the game says at the end."""
        self.screen.close(self.window)
        self.desk.app.quit()
        said, wrong = self.process.communicate(timeout=PATIENCE)
        assert (self.process.returncode, wrong) == (0, "")
        return said


def _for_xdotool(key: str) -> str:
    *modifiers, name = key.split("+")
    name = name.lower() if len(name) == 1 else XDOTOOL.get(name, name)
    return "+".join([*(modifier.lower() for modifier in modifiers), name])


@contextmanager
def started(
    screen: Screen, folder: Path, *words: str, before: str = NO_REPEATS, **extra: str
) -> Iterator[Player]:
    """The command in another process, its settings and files in a folder of their own.

    Args:
        screen: screen of the window.
        folder: folder of the process, its settings and files.
        words: arguments of the command.
        before: code that the process runs first.
        extra: environment variables.
    """
    environment = {**os.environ, "DISPLAY": screen.display, "PYTHONPATH": str(ROOT), **extra}
    for name in ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER", "WAYLAND_DISPLAY", "GV_ENGINE_SCALE"):
        environment.pop(name, None)
    environment |= {"XDG_CONFIG_HOME": str(folder / "config")}
    environment |= {"XDG_DATA_HOME": str(folder / "data")}
    settings = folder / "config" / "gv-engine" / "settings.toml"
    if not settings.exists():
        settings.parent.mkdir(parents=True)
        settings.write_text('arrow_keys = "turn"\n')  # each key is one action
    code = f"{before}; from gv_engine.cli import main; raise SystemExit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", code, *words],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Player(screen, process, folder)
        finally:
            process.kill()


@contextmanager
def playing(
    screen: Screen, folder: Path, scenario: str | Path, seed: int, before: str = NO_REPEATS
) -> Iterator[Player]:
    """Play a level that the twin plays too; `before` is code that the process runs first."""
    words = "play", str(scenario), "--seed", str(seed)
    with started(screen, folder, *words, before=before) as player:
        player.desk.app.push(StartScreen(player.desk.app))
        player.desk.app.play(str(scenario), seed)
        yield player
