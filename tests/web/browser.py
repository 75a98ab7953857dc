"""Chromium without a window, driven through a pipe as its DevTools protocol describes."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)
KEYS = {"Space": " ", "Enter": "\r"}
"""Texts of keys that are no letters."""


class Browser:
    """One page in Chromium.

    Args:
        process: Chromium, which reads commands from the file descriptor `to` and writes to `of`.
    """

    def __init__(self, to: int, of: int) -> None:
        self._to, self._of = os.fdopen(to, "wb", 0), os.fdopen(of, "rb", 0)
        self._rest, self._count, self._session = b"", 0, ""
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Call a method of the protocol, and return its result."""
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._to.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("method") == "Runtime.exceptionThrown":
                self.errors.append(json.dumps(answer["params"]["exceptionDetails"]))
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self) -> Any:
        """Return the next message."""
        while b"\0" not in self._rest:
            part = self._of.read(2**16)
            assert part, "Chromium has ended"
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(
        self,
        page: Path,
        fragment: str = "",
        size: tuple[int, int] = (1280, 800),
        until: str = "window.player || window.hasFailed",
    ) -> None:
        """Open a page in a viewport of this width and height, and wait until it plays or fails, or
        until other JavaScript is true."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            **{"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False},
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        self.call("Page.navigate", url="about:blank")
        self.errors.clear()
        self.call("Page.navigate", url=page.as_uri() + fragment)
        self.wait(until)

    def close(self) -> None:
        """Close both pipes."""
        self._to.close()
        self._of.close()

    def run(self, code: str) -> Any:
        """Return the value of JavaScript."""
        result = self.call(
            "Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until JavaScript is true, by the pictures of the page; also across a navigation."""
        look = f"try {{ is = {condition} }} catch {{}}"
        code = (
            "new Promise(done => { const look = () => { let is = false; "
            f"{look} is ? done() : setTimeout(look, 20) }}; look() }})"
        )
        try:
            self.run(code)
        except AssertionError as error:
            if "navigated" not in str(error):
                raise
            self.run(code)  # in the next page

    def press(self, *keys: str) -> None:
        """Press and release keys by their codes, such as `ArrowUp`, `KeyZ` or `Shift+Space`."""
        for name in keys:
            key = name.removeprefix("Shift+")
            text = KEYS.get(key, "")
            letter = key.removeprefix("Key").lower() if key.startswith("Key") else text or key
            event = {"code": key, "key": letter, "modifiers": 8 if name != key else 0}
            self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **event)
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def swipe(self, dx: int, dy: int, selector: str = "#boards") -> None:
        """Swipe with a finger, from the middle of an element; (0, 0) is a tap."""
        box = self.run(
            "(({x, y, width, height}) => [x + width / 2, y + height / 2])"
            f"(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        points = [{"x": box[0] + dx * part, "y": box[1] + dy * part} for part in (0, 0.5, 1)]
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=points[:1])
        if dx or dy:
            for point in points[1:]:
                self.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[point])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def text(self, name: str) -> str:
        """Return the text of an element by its id."""
        return str(self.run(f"document.getElementById({name!r}).textContent"))

    def names(self) -> set[tuple[str, str]]:
        """Return the (role, name) of all that a screen reader finds."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        read = lambda node, key: node.get(key, {}).get("value", "")  # noqa: E731
        return {
            (read(node, "role"), read(node, "name").strip())
            for node in nodes
            if not node["ignored"]
        }

    def picture(self, file: Path) -> None:
        """Write a picture of the page into a file."""
        data = self.call("Page.captureScreenshot")["data"]
        file.write_bytes(base64.b64decode(data))


@contextmanager
def chromium(folder: Path) -> Iterator[Browser]:
    """Start Chromium with its files in `folder`, and yield its page."""
    (to_read, to), (of, of_write) = os.pipe(), os.pipe()
    flags = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe")
    command = [CHROMIUM, *flags, "--no-first-run", f"--user-data-dir={folder}"]

    def connect() -> None:
        """Give the new process its ends of the pipes as 3 and 4."""
        ends = os.dup(to_read), os.dup(of_write)
        os.dup2(ends[0], 3)
        os.dup2(ends[1], 4)

    process = subprocess.Popen(
        command, preexec_fn=connect, close_fds=False, stderr=subprocess.DEVNULL
    )
    os.close(to_read)
    os.close(of_write)
    browser = Browser(to, of)
    try:
        yield browser
    finally:
        process.terminate()
        process.wait()
        browser.close()
