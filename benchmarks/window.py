"""`python -m benchmarks.window`: the window, as somebody at it meets it, on a screen of its own.

- `wall`: pictures a second of 1,024 key-door worlds in a window of 1280 × 800, and the steps that
  these worlds take meanwhile.
- `returned`: whether all other worlds are bit for bit what they would have been, when some are
  taken out, played and put back.
- `idle`: the share of a core that a window takes in which nothing happens, over the start screen,
  in a game, before an editor.
- `latency`: from a key to the first picture that shows it, in a game.

Needs Xvfb, whose screen it reads, and the tools of the tests; what is measured is a process of its
own in all but `returned`.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import quantiles

import numpy as np

from tests.screen import PATIENCE, Screen, virtual_screen

SIZE = (1280, 800)
SCENARIO, WORLDS = "keydoor-9x9", 1024
PICTURES, STEPS = 30, 100_000
"""A second: what is asked of a wall."""


def main() -> None:
    """Measure, print lines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.window", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*MEASURED], metavar="NAME", default=MEASURED)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for screen in virtual_screen(Path(folder)):
            for name in options.only:
                for line in MEASURED[name](screen, Path(folder), options.seconds):
                    print(f"{name}: {line}", flush=True)


@contextmanager
def _window(screen: Screen, folder: Path, *code: str) -> Iterator[subprocess.Popen[str]]:
    """A process with a window, whose settings are in a folder."""
    config = folder / "config" / "gv-engine"
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.toml").write_text(f"window = {[*SIZE]}\nscale = 1.0\n")
    environment = {**os.environ, "DISPLAY": screen.display}
    for name in ("SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER", "WAYLAND_DISPLAY", "GV_ENGINE_SCALE"):
        environment.pop(name, None)
    environment |= {"XDG_CONFIG_HOME": str(folder / "config")}
    environment |= {"XDG_DATA_HOME": str(folder / "data")}
    command = [sys.executable, *code]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


# ---- the wall ----------------------------------------------------------------------------------


def wall(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """Pictures and steps a second; the process counts what it has flipped."""
    with _window(screen, folder, "-m", "benchmarks.window_wall", str(seconds)) as process:
        said, _ = process.communicate(timeout=seconds + 120)
    pictures, steps, used = (float(word) for word in said.split())
    yield (
        f"{pictures:.1f} pictures a second (at least {PICTURES}), {steps:,.0f} steps a second "
        f"(at least {STEPS:,}), {used:.2f} cores"
    )


def returned(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """Two runs, one with worlds that are taken out, played and put back."""
    from gv_engine import Scenario
    from gv_engine.session.batch_viewer import BatchViewer

    scenario = Scenario.load(SCENARIO)
    touched, untouched = (BatchViewer(scenario, WORLDS, seed=3) for _ in range(2))
    taken = np.arange(5, WORLDS, 100)
    for _ in range(200):
        touched.step()
    games = {int(world): touched.take_over(int(world)) for world in taken}
    for _ in range(200):
        touched.step()
    for world, game in games.items():
        game.undo(3)
        game.step("TURN_LEFT")
        touched.give_back(world, game)
    for _ in range(600):
        touched.step()
    for _ in range(1000):
        untouched.step()
    others = np.setdiff1d(np.arange(WORLDS), taken)
    mine, theirs = touched._env.snapshot()[others], untouched._env.snapshot()[others]
    differ = sum(not np.array_equal(mine[n], theirs[n]) for n in range(len(others)))
    yield f"{len(taken)} worlds played and put back; {differ} of {len(others)} others differ"


# ---- one window --------------------------------------------------------------------------------

_BEFORE = {
    "start screen": ("play",),
    "game": ("play", "keydoor-9x9", "--seed", "3"),
    "editor": ("edit", "ice"),
}


def idle(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """CPU time of windows in which nothing happens."""
    for name, words in _BEFORE.items():
        with _window(screen, folder, "-m", "gv_engine", *words) as process:
            screen.find(process)
            _settle(screen, process)
            before = _cpu_seconds(process)
            time.sleep(seconds)
            share = (_cpu_seconds(process) - before) / seconds
        yield f"{name}: {share:.2%} of a core"


def latency(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """Milliseconds from a key to the first picture that shows it."""
    with _window(screen, folder, "-m", "gv_engine", *_BEFORE["game"]) as process:
        window = screen.find(process)
        screen.xdotool("windowfocus", "--sync", window)
        _settle(screen, process)
        keys = _Keys(screen)
        memory = np.memmap(screen.memory, np.uint8, "r")
        found = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.5)  # until nothing glides
            before = memory.copy()
            pressed = time.perf_counter()
            keys.press("Left")
            while np.array_equal(memory, before):
                assert time.perf_counter() < pressed + PATIENCE, "a key was lost"
            found.append(1000 * (time.perf_counter() - pressed))
    least, middle, most = quantiles(found, n=20)[0], np.median(found), quantiles(found, n=20)[-1]
    yield f"{middle:.0f} ms in the median of {len(found)} keys, {least:.0f} to {most:.0f}"


def _settle(screen: Screen, process: subprocess.Popen[str]) -> None:
    """Wait until a window shows the same, and takes no time, for two seconds."""
    quiet = 0
    before, used = b"", 0.0
    while quiet < 2:
        now, spent = screen.memory.read_bytes(), _cpu_seconds(process)
        quiet = quiet + 1 if now == before and spent < used + 0.1 else 0
        before, used = now, spent
        time.sleep(1)


def _cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class _Keys:
    """Keys without a process for each."""

    def __init__(self, screen: Screen) -> None:
        self._x11, self._test = (ctypes.CDLL(f"lib{name}.so.6") for name in ("X11", "Xtst"))
        self._x11.XOpenDisplay.restype = ctypes.c_void_p
        self._x11.XStringToKeysym.restype = ctypes.c_ulong
        self._display = ctypes.c_void_p(self._x11.XOpenDisplay(screen.display.encode()))

    def press(self, name: str) -> None:
        """Press a key and let it go."""
        sign = ctypes.c_ulong(self._x11.XStringToKeysym(name.encode()))
        code = self._x11.XKeysymToKeycode(self._display, sign)
        for down in (1, 0):
            self._test.XTestFakeKeyEvent(self._display, code, down, ctypes.c_ulong(0))
        self._x11.XFlush(self._display)


MEASURED: dict[str, Callable[[Screen, Path, float], Iterator[str]]] = {
    "wall": wall,
    "returned": returned,
    "idle": idle,
    "latency": latency,
}


if __name__ == "__main__":
    main()
