"""A virtual screen: keys in, pictures out."""

import ctypes
import os
import select
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

PATIENCE = 300.0  # seconds until something that should happen counts as missing


def until(happened: Callable[[], bool], what: str) -> None:
    """Wait until something has happened, on a machine that may have much else to do."""
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end, f"waited in vain for {what}"
        time.sleep(0.05)


class Screen(NamedTuple):
    display: str
    memory: Path

    def xdotool(self, *words: str) -> str:
        done = subprocess.run(
            ["xdotool", *words],
            env={**os.environ, "DISPLAY": self.display},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        return done.stdout

    def find(self, process: subprocess.Popen[str]) -> str:
        pid = str(process.pid)  # xdotool does not find names in every locale
        return self.xdotool("search", "--sync", "--onlyvisible", "--pid", pid).split()[0]

    def close(self, window: str) -> None:
        """Send what a close button sends; not every xdotool can."""
        x11 = ctypes.CDLL("libX11.so.6")
        x11.XOpenDisplay.restype = ctypes.c_void_p
        x11.XInternAtom.restype = ctypes.c_ulong
        display = ctypes.c_void_p(x11.XOpenDisplay(self.display.encode()))
        protocols, delete = (
            x11.XInternAtom(display, name, 0) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW")
        )
        client_message = 33
        # type, serial, send_event, display, window, message type, format, data, as longs
        event = (ctypes.c_long * 24)(client_message, 0, 1, 0, int(window), protocols, 32, delete)
        x11.XSendEvent(display, ctypes.c_ulong(int(window)), 0, ctypes.c_long(0), event)
        x11.XCloseDisplay(display)

    def pixels(self) -> np.ndarray:
        """(height, width, 3) red, green, blue: what Xvfb keeps in the format of xwd."""
        raw = self.memory.read_bytes()
        header = np.frombuffer(raw, ">u4", 25)
        start, width, height, row, colors = header[[0, 4, 5, 12, 19]].tolist()
        bytes_ = np.frombuffer(raw, np.uint8, height * row, start + colors * 12)
        return bytes_.reshape(height, row // 4, 4)[:, :width, 2::-1]


def virtual_screen(folder: Path) -> Iterator[Screen]:
    """Yield a screen of 1400 × 1000 pixels, whose memory is a file in the folder."""
    missing = [tool for tool in ("Xvfb", "xdotool") if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)} to press keys on a virtual screen")
    reader, writer = os.pipe()
    command = [
        "Xvfb",
        "-displayfd",
        str(writer),
        "-screen",
        "0",
        "1400x1000x24",
        "-noreset",  # whoever comes while it starts anew, as the last one has left, is turned away
        "-nolisten",
        "tcp",
    ]
    with subprocess.Popen(
        [*command, "-fbdir", str(folder)], pass_fds=[writer], stderr=subprocess.DEVNULL
    ) as server:
        os.close(writer)
        try:
            ready, _, _ = select.select([reader], [], [], PATIENCE)
            assert ready, "Xvfb does not start"
            yield Screen(f":{os.read(reader, 16).decode().strip()}", folder / "Xvfb_screen0")
        finally:
            os.close(reader)
            server.terminate()
