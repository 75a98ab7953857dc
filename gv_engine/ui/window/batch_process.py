"""Batch viewer in a process of its own, so that stepping and drawing do not wait for each other."""

from __future__ import annotations

import multiprocessing
import time
from collections import deque
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import complain
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.batch_viewer import BatchSnapshot, CurvePoint, cell_codes
from gv_engine.vector.compiled_backend import CompiledBatch

_PICTURE_TIME = 1 / 30
"""Minimum seconds between two pictures."""


class BatchProcess:
    """Window in another process that shows worlds which this process steps; closing the window
    stops nothing.

    Args:
        batch: worlds to show.
        title: text about the worlds, such as the policy.
    """

    def __init__(self, batch: CompiledBatch, title: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._batch = batch
        shape = (len(batch), *batch.scenario.largest_shape)
        memory = context.RawArray("I", int(np.prod(shape)))
        self._codes = _codes_array(memory, shape)
        self._connection, remote_end = context.Pipe()
        self._due, self._steps = 0.0, 0
        args = batch.scenario, memory, shape, remote_end, title
        self._process = context.Process(target=_run_window, args=args, daemon=True)
        self._process.start()
        remote_end.close()

    def send_state(self) -> None:
        """Send the state of the worlds after a step, if the last picture is old enough."""
        self._steps += 1
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _PICTURE_TIME
            self._codes[...] = cell_codes(self._batch)
            self._send(self._steps)

    def send_means(self, means: CurvePoint) -> None:
        """Send another point of the curves."""
        self._send(means)

    def _send(self, message: int | CurvePoint) -> None:
        """Send a message, unless the window is closed."""
        with suppress(OSError):  # the window has been closed
            self._connection.send(message)

    def close(self) -> None:
        """End the process and its window."""
        self._process.kill()
        self._process.join()
        self._connection.close()


class RemoteWorlds:
    """Worlds of another process, as the batch viewer shows them; see
    `gv_engine.session.batch_viewer.BatchSource`."""

    def __init__(self, scenario: Scenario, codes: NDArray[np.uint32], messages: Connection) -> None:
        self.scenario, self.trouble = scenario, ""
        self.curves: deque[CurvePoint] = deque(maxlen=600)
        self._codes, self._messages = codes, messages
        self._look: BatchSnapshot | None = None

    def latest_snapshot(self) -> BatchSnapshot | None:
        """Return the last state that was sent, or None."""
        try:
            while self._messages.poll():
                message = self._messages.recv()
                if isinstance(message, CurvePoint):
                    self.curves.append(message)
                else:
                    self._look = BatchSnapshot(self._codes.copy(), message)
        except (EOFError, OSError):
            self.trouble = "It has ended"
        return self._look


def _codes_array(memory: Any, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """Return the (N, H, W) uint32 cell codes in memory that two processes share."""
    return np.frombuffer(memory, np.uint32).reshape(shape)


def _run_window(
    scenario: Scenario, memory: Any, shape: tuple[int, ...], messages: Connection, title: str
) -> None:
    """Open the window; the entry point of the process."""
    from gv_engine.ui.screens.batch import BatchScreen
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    app = App.load()
    worlds = RemoteWorlds(scenario, _codes_array(memory, shape), messages)
    try:
        app.run(lambda app: app.push(BatchScreen(app, worlds, title)))
    except NoDisplay as error:
        complain(error)
