"""The window for real: under a virtual screen, and where there is none."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gv_engine.rules.frame import Frame
from gv_engine.session.replay import Replay
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.settings import unfinished_file
from gv_engine.ui.window import viewer as window
from tests import ROOT
from tests.player import Player, playing, started
from tests.screen import PATIENCE, Screen, until

pytestmark = pytest.mark.window


def corridor(steps: int = 0) -> Frame:
    grid = np.full((3, 9, 3), (3, 0, 0), np.uint8)
    grid[1, 1:-1, 0] = 2
    agent, seen = (1, 1 + steps % 7, 3), grid[..., 0] == 2
    return Frame("Corridor", grid, agent, (0, 0, 0), seen, grid[:2, :3], (1, 1, 0), steps=steps)


@pytest.fixture
def player(screen: Screen, folder: Path) -> Iterator[Player]:
    with playing(screen, folder, "keydoor-5x5", 200) as made:
        until(made.sees_the_same, "the level")
        yield made


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_held_key_walks_on_until_it_is_let_go(player: Player):
    player.screen.xdotool("keydown", "Left")
    for _ in range(8):
        wait_for_change(player)
    player.screen.xdotool("keyup", "Left")
    wait_for_rest(player)
    steps = int(player.leaves().split(" in ")[1].split()[0])
    assert steps > 3


def wait_for_change(player: Player) -> None:
    """Wait until the window shows another picture."""
    before = player.picture().copy()
    until(lambda: not np.array_equal(player.picture(), before), "another picture")


def wait_for_rest(player: Player) -> None:
    """Wait until the window has shown the same picture for longer than a held key repeats."""
    pictures = [player.picture().copy()]

    def rests() -> bool:
        time.sleep(0.5)
        pictures.append(player.picture().copy())
        return np.array_equal(pictures[-2], pictures[-1])

    until(rests, "the last picture")


def test_the_screen_shows_the_picture_at_every_size(player: Player):
    player.presses("Up")
    until(player.sees_the_same, "the picture after a step")
    for width, height in ((500, 900), (1300, 400), (320, 240), (160, 90)):
        player.screen.xdotool("windowsize", player.window, str(width), str(height))
        player.screen.xdotool("windowmove", player.window, "10", "20")
        until(lambda: player.area()[2:] == (width, height), "the size")  # noqa: B023 - called at once
        until(player.sees_the_same, "the picture in another size")


def test_the_mouse_presses_buttons(player: Player):
    before = player.picture().copy()
    x, y, width, _ = player.area()
    player.screen.xdotool("mousemove", str(x + width - 40), str(y + 15), "click", "1")
    until(lambda: (player.picture() != before).mean() > 0.5, "the menu")
    player.screen.xdotool("mousemove", "1399", "999")
    player.presses("Escape")


@pytest.mark.sample("F9")
@pytest.mark.parametrize("moment", ["G", "F9"])
def test_the_close_button_leaves_at_any_moment_and_the_game_is_kept(player: Player, moment: str):
    player.does("TURN_LEFT", "MOVE_FORWARD")
    player.presses(moment)
    player.leaves()
    (file,) = player.files(unfinished_file().name)
    assert len(Replay.load(file).steps) == 2


def test_ctrl_c_in_the_terminal_leaves(player: Player):
    player.process.send_signal(signal.SIGINT)
    _, wrong = player.process.communicate(timeout=PATIENCE)
    assert (player.process.returncode, wrong) == (0, "")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads CPU time from /proc")
def test_waiting_costs_little(player: Player):
    wait_for_rest(player)
    before = cpu_seconds(player.process)
    time.sleep(2)
    assert cpu_seconds(player.process) - before < 0.5  # a loop without waits would spend about 2


# ---- a window in which a program shows its frames ------------------------------------------------


def python(code: str) -> list[str]:
    """Return the command that runs code here, in another process, as if it stood below."""
    return [sys.executable, "-P", __file__, code]  # -P: tests/systems is not systems


def environment(**screen: str) -> dict[str, str]:
    """Variables of a process that has this screen, or none."""
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PYTHONPATH": str(ROOT), **screen}


def run(code: str, **screen: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        python(code), env=environment(**screen), capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.sample("unset")
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen without DISPLAY")
@pytest.mark.parametrize("extra", [{}, {"DISPLAY": ":987"}], ids=["unset", "nobody there"])
def test_no_screen_is_an_error_that_names_the_headless_ways(extra: dict[str, str]):
    code = "try: window.Viewer('')\nexcept window.NoDisplay as error: print(error)"
    done = run(code, **extra)
    assert "gv-engine play --terminal" in done.stdout, done.stderr
    assert "gv-engine record" in done.stdout


@pytest.mark.thorough
def test_a_driver_chosen_by_the_user_is_taken():
    code = """
viewer = window.Viewer("Watched")
for steps in range(3):
    viewer.show(corridor(steps))
print(pygame.display.get_surface().get_size(), pygame.display.get_caption()[0])
pygame.event.post(pygame.event.Event(pygame.QUIT))
viewer.show(corridor())
viewer.show(corridor())
print(viewer.closed, pygame.display.get_init())
viewer.close()
"""
    done = run(code, SDL_VIDEODRIVER="dummy")
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first.endswith("Watched")
    assert second == "True False"


@pytest.mark.thorough
def test_full_screen_and_back(tmp_path: Path):
    # without a window manager X11 has no full screen worth the name
    code = """
from gv_engine.ui.window.app import App
app = App.load()
def first(app):
    for held in (False, True, False):
        app._last_toggle -= 0 if held else 10
        app.toggle_full_screen()
        size = pygame.display.get_surface().get_size()
        print(app.settings.full_screen, size == pygame.display.get_desktop_sizes()[0])
app.run(first)
"""
    home = {"XDG_CONFIG_HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    done = run(code, SDL_VIDEODRIVER="dummy", **home)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["True True", "True True", "False False"]


def test_full_screen_fills_the_screen_without_a_window_manager(player: Player):
    size = player.area()[2:]
    for shown, fills in (("F11", True), ("F11", False)):
        player.screen.xdotool("key", shown)
        until(lambda fills=fills: filled(player.screen) == fills, "another window")  # type: ignore[misc]
        before = player.screen.pixels()
        player.screen.xdotool("key", "Left")
        until(lambda before=before: (player.screen.pixels() != before).any(), "a step")  # type: ignore[misc]
        time.sleep(0.7)  # the key is dead for half a second
    player.window = player.screen.find(player.process)
    assert player.area()[2:] == size


def filled(screen: Screen) -> bool:
    """Whether something is to be seen in all corners."""
    corners = screen.pixels()[[2, 2, -2, -2], [2, -2, 2, -2]]
    return bool(corners.any(1).all())


def test_viewer_on_a_screen(screen: Screen):
    code = "viewer = window.Viewer('Watched')\nviewer.show(corridor())\ninput()"
    shown = environment(DISPLAY=screen.display)
    with subprocess.Popen(python(code), env=shown, stdin=subprocess.PIPE, text=True) as process:
        screen.find(process)
        until(lambda: len(np.unique(screen.pixels())) > 50, "a picture")
        process.communicate("\n", timeout=PATIENCE)
        assert process.returncode == 0


def test_an_environment_is_copied_while_its_window_is_open(screen: Screen):
    code = """
import copy, pickle
from gv_engine import GridEnv
env = GridEnv("keydoor-5x5", world="object", render_mode="human")
env.reset(seed=0)
env.render()
kept = env.snapshot()
copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
for one in (env, *copies):
    print(one.step(0)[1:4], end=" ")
env.restore(kept)
print(env.step(0)[1:4])
env.close()
"""
    done = run(code, DISPLAY=screen.display)
    assert done.stderr == ""
    assert len(set(done.stdout.replace(") (", ")|(").strip().split("|"))) == 1


@pytest.mark.thorough
def test_a_window_follows_an_environment_of_algebra():
    code = """
import gymnasium, gv_engine
env = gymnasium.make("GV-MathyPolySimplify-easy-v0", render_mode="human")
env.reset(seed=0, options={"problem": "4x + 2x"})
pictures = [pygame.surfarray.array3d(pygame.display.get_surface())]
env.step(24)
pictures.append(pygame.surfarray.array3d(pygame.display.get_surface()))
print(pygame.display.get_caption()[0], (pictures[0] != pictures[1]).any(), env.render())
env.close()
print(pygame.display.get_init())
"""
    done = run(code, SDL_VIDEODRIVER="dummy")
    assert (done.stderr, done.stdout) == ("", "mathy-poly-simplify-easy True None\nFalse\n")


def test_a_window_follows_at_the_pace_of_the_environment_and_has_keys():
    code = """
import gymnasium, gv_engine
from gv_engine.ui.window import viewer
from tests.desk import _event
class Clock:
    now = 100.0
    naps = 0
    presses = {}
    def monotonic(self):
        return self.now
    def sleep(self, seconds):
        self.now += seconds
        self.naps += 1
        if self.naps in self.presses:
            press(self.presses[self.naps])
clock = viewer.time = Clock()
def press(*keys):
    for key in keys:
        pygame.event.post(_event(key, True)), pygame.event.post(_event(key, False))
def takes(count):
    begun = clock.now
    for _ in range(count):
        env.step(2)
    return clock.now - begun
def seen():
    return pygame.surfarray.array3d(pygame.display.get_surface())
env = gymnasium.make("GV-Empty-4x4-v0", render_mode="human")
env.reset(seed=0)
print(0.9 < takes(8) < 1.2)
env.render()
print(takes(8) < 1.2)
press("Up", "Up", "Up")
print(takes(16) < 0.5)
before = seen()
press("V")
takes(1)
print((before != seen()).any())
clock.naps, clock.presses = 0, {100: "Right", 200: "Space"}
press("Space")
takes(1)
print(clock.naps == 100)
takes(1)
print(clock.naps == 200)
press("Escape")
takes(1)
print(pygame.display.get_init())
"""
    done = run(code, SDL_VIDEODRIVER="dummy")
    assert (done.stderr, done.stdout.split()) == ("", ["True"] * 6 + ["False"])


def test_two_at_one_keyboard_hold_the_plates(screen: Screen, folder: Path):
    with playing(screen, folder, "hold-plates", 0) as player:
        until(player.sees_the_same, "the level")
        player.presses(*(["Up"] * 3), *(["W"] * 6), "Tab")
        until(player.sees_the_same, "the view of the other one")
        player.presses("Tab", *(["Up"] * 5), *(["W"] * 2))
        until(player.sees_the_same, "the end")
        assert "well done, return +1.7 in 16 steps" in player.leaves()


def test_one_plays_with_a_policy(screen: Screen, folder: Path):
    words = ["play", "hold-plates", "--seed", "1", "--policy", "bob=random"]
    with started(screen, folder, *words) as player:
        for _ in range(3):
            player.screen.xdotool("key", "--delay", "30", "Up")
        said = player.leaves()
    assert "seed 1, left" in said
    assert "in 3 steps" in said


if __name__ == "__main__":
    exec(sys.argv[1], {**globals(), "pygame": pygame, "window": window})
