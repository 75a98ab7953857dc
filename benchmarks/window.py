"""`python -m benchmarks.window`: speed of the window on a virtual screen.

- `wall`: pictures per second of 1,024 key-door worlds in a window of 1280 × 800, and the steps of
  these worlds in that time.
- `returned`: worlds that differ after some others were taken out, played and put back; none should.
- `idle`: share of a core that an inactive window uses, on the start screen, in a game and in an
  editor.
- `latency`: time from a key press to the first picture that shows it, in a game.

Needs Xvfb, whose screen it reads, and the tools of the tests. All but `returned` measure a separate
process.
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
"""Pictures and steps per second that are required of a batch viewer."""


def main() -> None:
    """Run all measurements and print lines."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.window", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=[*MEASURES], metavar="NAME", default=MEASURES)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for screen in virtual_screen(Path(folder)):
            for name in options.only:
                for line in MEASURES[name](screen, Path(folder), options.seconds):
                    print(f"{name}: {line}", flush=True)


@contextmanager
def _open_window(screen: Screen, folder: Path, *code: str) -> Iterator[subprocess.Popen[str]]:
    """Context manager for a process with a window and settings in a folder."""
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


# ---- batch viewer --------------------------------------------------------------------------------


def measure_wall(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """Yield pictures and steps per second of a batch viewer; its process counts them."""
    with _open_window(screen, folder, "-m", "benchmarks.window_wall", str(seconds)) as process:
        output, _ = process.communicate(timeout=seconds + 120)
    pictures, steps, cores = (float(word) for word in output.split())
    yield (
        f"{pictures:.1f} pictures a second (at least {PICTURES}), {steps:,.0f} steps a second "
        f"(at least {STEPS:,}), {cores:.2f} cores"
    )


def compare_returned(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """Yield the number of worlds that differ between two runs, one of which plays some worlds by
    hand."""
    from gv_engine import Scenario
    from gv_engine.play.session.batch_viewer import BatchViewer

    scenario = Scenario.load(SCENARIO)
    touched, untouched = (BatchViewer(scenario, WORLDS, seed=3) for _ in range(2))
    taken_out = np.arange(5, WORLDS, 100)
    for _ in range(200):
        touched.step()
    games = {int(world): touched.take_over(int(world)) for world in taken_out}
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
    others = np.setdiff1d(np.arange(WORLDS), taken_out)
    rows, expected = touched._env.snapshot()[others], untouched._env.snapshot()[others]
    differ = sum(not np.array_equal(rows[n], expected[n]) for n in range(len(others)))
    yield f"{len(taken_out)} worlds played and put back; {differ} of {len(others)} others differ"


# ---- one window --------------------------------------------------------------------------------

_COMMANDS = {
    "start screen": ("play",),
    "game": ("play", "keydoor-9x9", "--seed", "3"),
    "editor": ("edit", "ice"),
}


def measure_idle(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """Yield the CPU share of windows in which nothing happens."""
    for name, words in _COMMANDS.items():
        with _open_window(screen, folder, "-m", "gv_engine", *words) as process:
            screen.find(process)
            _wait_until_idle(screen, process)
            before = _cpu_seconds(process)
            time.sleep(seconds)
            share = (_cpu_seconds(process) - before) / seconds
        yield f"{name}: {share:.2%} of a core"


def measure_latency(screen: Screen, folder: Path, seconds: float) -> Iterator[str]:
    """Yield the milliseconds from a key press to the first picture that shows it."""
    with _open_window(screen, folder, "-m", "gv_engine", *_COMMANDS["game"]) as process:
        window = screen.find(process)
        screen.xdotool("windowfocus", "--sync", window)
        _wait_until_idle(screen, process)
        keys = _KeySender(screen)
        memory = np.memmap(screen.memory, np.uint8, "r")
        times = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(0.5)  # until the animation has ended
            before = memory.copy()
            start = time.perf_counter()
            keys.press("Left")
            while np.array_equal(memory, before):
                assert time.perf_counter() < start + PATIENCE, "a key was lost"
            times.append(1000 * (time.perf_counter() - start))
    least, middle, most = quantiles(times, n=20)[0], np.median(times), quantiles(times, n=20)[-1]
    yield f"{middle:.0f} ms in the median of {len(times)} keys, {least:.0f} to {most:.0f}"


def _wait_until_idle(screen: Screen, process: subprocess.Popen[str]) -> None:
    """Wait until a window shows the same picture and uses no CPU time for two seconds."""
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


class _KeySender:
    """Sender of key presses through X11, without a process per key."""

    def __init__(self, screen: Screen) -> None:
        self._x11, self._test = (ctypes.CDLL(f"lib{name}.so.6") for name in ("X11", "Xtst"))
        self._x11.XOpenDisplay.restype = ctypes.c_void_p
        self._x11.XStringToKeysym.restype = ctypes.c_ulong
        self._display = ctypes.c_void_p(self._x11.XOpenDisplay(screen.display.encode()))

    def press(self, name: str) -> None:
        """Press and release a key."""
        sign = ctypes.c_ulong(self._x11.XStringToKeysym(name.encode()))
        code = self._x11.XKeysymToKeycode(self._display, sign)
        for down in (1, 0):
            self._test.XTestFakeKeyEvent(self._display, code, down, ctypes.c_ulong(0))
        self._x11.XFlush(self._display)


MEASURES: dict[str, Callable[[Screen, Path, float], Iterator[str]]] = {
    "wall": measure_wall,
    "returned": compare_returned,
    "idle": measure_idle,
    "latency": measure_latency,
}


if __name__ == "__main__":
    main()
