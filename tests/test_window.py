"""The window for real: under a virtual screen, with keys pressed by xdotool."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Queue
from threading import Thread

import numpy as np
import pytest

from gv_engine.frame import Frame
from gv_engine.frontend import drawing, window
from gv_engine.frontend.sprites import SpriteSheet, pygame
from tests.screen import PATIENCE, Screen, until

NAMES = {1: "hidden", 2: "floor", 3: "wall", 4: "exit"}
SHEET = SpriteSheet()


def names(kind: int, state: int) -> str:
    return NAMES.get(kind, "unknown")


class FakeGame:
    """A corridor; says what it was asked to do; over after the action ACTUATE."""

    title = "Fake game"
    sprite_folders: tuple[Path, ...] = ()
    names = staticmethod(names)

    def __init__(self) -> None:
        self.steps = 0
        self.outcome = ""

    def frame(self) -> Frame:
        grid = np.full((3, 9, 3), (3, 0, 0), np.uint8)
        grid[1, 1:-1, 0] = 2
        return Frame(
            title=self.title,
            grid=grid,
            agent=(1, 1 + self.steps % 7, 3),
            item=(0, 0, 0),
            seen=grid[..., 0] == 2,
            observation=grid[:2, :3],
            observer=(1, 1),
            steps=self.steps,
            outcome=self.outcome,
        )

    def step(self, action: str) -> None:
        self.steps += 1
        self.outcome = "terminated" if action == "ACTUATE" else ""
        print(action, flush=True)

    def reset(self) -> None:
        self.__init__()  # type: ignore[misc]  # once more from the start
        print("RESET", flush=True)


def python(code: str) -> list[str]:
    """Return the command that runs code here, in another process, as if it stood below."""
    return [sys.executable, "-P", __file__, code]  # -P: tests/systems is not systems


class Player:
    """A process that plays the fake game, its window, and the keyboard."""

    def __init__(self, screen: Screen, process: subprocess.Popen[str]) -> None:
        self.screen, self.process = screen, process
        self.id = screen.find(process)
        screen.xdotool("windowfocus", "--sync", self.id)
        self.heard: Queue[str] = Queue()
        Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.heard.put(line.strip())

    def press(self, *keys: str) -> None:
        self.screen.xdotool("key", "--delay", "30", *keys)

    def hears(self, *actions: str) -> None:
        for action in actions:
            assert self.heard.get(timeout=PATIENCE) == action

    def area(self) -> tuple[int, int, int, int]:
        words = self.screen.xdotool("getwindowgeometry", "--shell", self.id).split()
        values = dict(word.split("=") for word in words)
        return (int(values["X"]), int(values["Y"]), int(values["WIDTH"]), int(values["HEIGHT"]))

    def size(self) -> tuple[int, int]:
        return self.area()[2:]

    def shows(self, game: FakeGame) -> bool:
        x, y, width, height = self.area()
        picture = drawing.draw_frame(
            game.frame(), (width, height), SHEET, names, keys=window.HELP, again=window.AGAIN
        )
        expected = pygame.surfarray.array3d(picture).swapaxes(0, 1)
        found = self.screen.pixels()[y : y + height, x : x + width]
        return np.array_equal(found, expected)

    def cpu_ticks(self) -> int:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])

    def leaves(self) -> None:
        assert self.process.wait(PATIENCE) == 0
        assert self.heard.empty()


@pytest.fixture
def player(screen: Screen) -> Iterator[Player]:
    environment = {**os.environ, "DISPLAY": screen.display}
    for name in ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER", "WAYLAND_DISPLAY"):
        environment.pop(name, None)
    command = python("window.play(FakeGame())")
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Player(screen, process)
        finally:
            process.kill()


def test_every_key_does_what_the_help_says(player: Player):
    player.press("Up", "w", "Down", "s", "Left", "a", "Right", "d")
    player.hears("MOVE_FORWARD", "MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_BACKWARD")
    player.hears("TURN_LEFT", "TURN_LEFT", "TURN_RIGHT", "TURN_RIGHT")
    player.press("shift+Left", "shift+a", "shift+Right", "shift+d", "p", "r")
    player.hears("MOVE_LEFT", "MOVE_LEFT", "MOVE_RIGHT", "MOVE_RIGHT", "PICK_N_DROP", "RESET")
    player.press("x", "ctrl+w", "shift+Up", "space")
    player.hears("MOVE_FORWARD", "ACTUATE")
    player.press("Up", "p", "r", "Up")  # the episode is over: only R is heard
    player.hears("RESET", "MOVE_FORWARD")
    player.press("Escape")
    player.leaves()


def test_a_held_key_walks_on_but_does_not_use_again(player: Player):
    player.screen.xdotool("keydown", "Up")
    player.hears("MOVE_FORWARD", "MOVE_FORWARD", "MOVE_FORWARD")
    player.screen.xdotool("keyup", "Up")
    player.press("p")
    while player.heard.get(timeout=PATIENCE) != "PICK_N_DROP":
        pass
    player.screen.xdotool("keydown", "p", "sleep", "1", "keyup", "p")
    player.press("r")
    player.hears("PICK_N_DROP", "RESET")


def test_the_screen_shows_the_picture_at_every_size(player: Player):
    game = FakeGame()
    until(lambda: player.shows(game), "the first picture")
    player.press("Up")
    game.steps = 1
    until(lambda: player.shows(game), "the picture after a step")
    for width, height in ((500, 900), (1300, 400)):
        player.screen.xdotool("windowsize", player.id, str(width), str(height))
        player.screen.xdotool("windowmove", player.id, "10", "20")
        until(lambda: player.size() == (width, height), "the size")  # noqa: B023 - called at once
        until(lambda: player.shows(game), "the picture in another size")
    player.press("space")
    game.steps, game.outcome = 2, "terminated"
    until(lambda: player.shows(game), "the end")


def test_a_window_too_small_for_the_picture_shows_it_smaller(player: Player):
    player.screen.xdotool("windowsize", player.id, "160", "90")
    until(lambda: player.size() == (160, 90), "the size")
    x, y, width, height = player.area()

    def in_small() -> bool:
        pixels = player.screen.pixels()[y : y + height, x : x + width].astype(int)
        large = drawing.draw_frame(FakeGame().frame(), (427, 240), SHEET, names, keys=window.HELP)
        small = pygame.transform.smoothscale(large, (width, height))
        away = np.abs(pixels - pygame.surfarray.array3d(small).swapaxes(0, 1))
        return bool(away.max() < 3)

    until(in_small, "the picture, smaller")
    player.press("Escape")
    player.leaves()


def test_close_button_leaves(player: Player):
    player.screen.close(player.id)
    player.leaves()


def test_ctrl_c_in_the_terminal_leaves(player: Player):
    until(lambda: player.shows(FakeGame()), "the first picture")
    player.process.send_signal(signal.SIGINT)
    player.leaves()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads CPU time from /proc")
def test_waiting_costs_no_cpu(player: Player):
    until(lambda: player.shows(FakeGame()), "the first picture")
    before = player.cpu_ticks()
    time.sleep(2)
    spent = (player.cpu_ticks() - before) / os.sysconf("SC_CLK_TCK")
    assert spent < 0.5  # a loop that polls would spend about 2


def run_without_screen(code: str, **extra: str) -> subprocess.CompletedProcess[str]:
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(
        python(code),
        env={**environment, **extra},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen without DISPLAY")
@pytest.mark.parametrize("extra", [{}, {"DISPLAY": ":987"}], ids=["unset", "nobody there"])
@pytest.mark.parametrize("opened", ["window.play(FakeGame())", "window.Viewer('', names)"])
def test_no_screen_is_an_error_that_names_the_headless_way(opened: str, extra: dict[str, str]):
    code = f"try: {opened}\nexcept window.NoDisplay as error: print(error)"
    done = run_without_screen(code, **extra)
    assert "gv-engine rollout" in done.stdout, done.stderr
    assert "gv-engine record" in done.stdout


def test_a_driver_chosen_by_the_user_is_taken():
    code = """
viewer = window.Viewer("Watched", names, fps=1000)
game = FakeGame()
for game.steps in range(3):
    viewer.show(game.frame())
print(pygame.display.get_surface().get_size(), pygame.display.get_caption()[0])
pygame.event.post(pygame.event.Event(pygame.QUIT))
viewer.show(game.frame())
viewer.show(game.frame())
print(viewer.closed, pygame.display.get_init())
viewer.close()
"""
    done = run_without_screen(code, SDL_VIDEODRIVER="dummy")
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first.endswith("Watched")
    assert second == "True False"


def test_viewer_on_a_screen(screen: Screen):
    code = "viewer = window.Viewer('Watched', names)\nviewer.show(FakeGame().frame())\ninput()"
    with subprocess.Popen(
        python(code),
        env={**os.environ, "DISPLAY": screen.display},
        stdin=subprocess.PIPE,
        text=True,
    ) as process:
        screen.find(process)
        until(lambda: len(np.unique(screen.pixels())) > 50, "a picture")
        process.communicate("\n", timeout=PATIENCE)
        assert process.returncode == 0


def test_help_line_and_banner_come_from_the_table():
    for keys in window.KEYS:
        assert any(keys.label in part for part in window.HELP)
    assert window.AGAIN == "R: play again"
    wanted = {"MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT", "TURN_LEFT", "TURN_RIGHT"}
    wanted |= {"ACTUATE", "PICK_N_DROP", window.RESET, window.LEAVE}
    assert {action for keys in window.KEYS for action in keys.actions.values()} == wanted


if __name__ == "__main__":
    exec(sys.argv[1])
