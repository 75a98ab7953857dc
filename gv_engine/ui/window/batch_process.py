"""A wall of worlds that another process steps: in a window of its own, so that neither waits."""

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

_PICTURE_TIME = 1 / 30  # s: no look is handed over sooner after the last one


class BatchProcess:
    """Shows worlds in a window while they are stepped here. Closing it stops nothing.

    Args:
        batch: the worlds.
        says: what acts in them.
    """

    def __init__(self, batch: CompiledBatch, says: str) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._batch = batch
        shape = (len(batch), *batch.scenario.largest_shape)
        memory = spawning.RawArray("I", int(np.prod(shape)))
        self._codes = _codes(memory, shape)
        self._ours, theirs = spawning.Pipe()
        self._due, self._steps = 0.0, 0
        given = batch.scenario, memory, shape, theirs, says
        self._process = spawning.Process(target=_show, args=given, daemon=True)
        self._process.start()
        theirs.close()

    def look(self) -> None:
        """They have taken a step."""
        self._steps += 1
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _PICTURE_TIME
            self._codes[...] = cell_codes(self._batch)
            self._send(self._steps)

    def tell(self, means: CurvePoint) -> None:
        """Draw another point of the curves."""
        self._send(means)

    def _send(self, message: int | CurvePoint) -> None:
        with suppress(OSError):  # the window has been closed
            self._ours.send(message)

    def close(self) -> None:
        """Close the window."""
        self._process.kill()
        self._process.join()
        self._ours.close()


class FarWorlds:
    """Worlds of another process; see `gv_engine.session.batch_viewer.BatchSource`."""

    def __init__(self, scenario: Scenario, codes: NDArray[np.uint32], messages: Connection) -> None:
        self.scenario, self.trouble = scenario, ""
        self.curves: deque[CurvePoint] = deque(maxlen=600)
        self._codes, self._messages = codes, messages
        self._look: BatchSnapshot | None = None

    def latest_snapshot(self) -> BatchSnapshot | None:
        """What they looked like last."""
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


def _codes(memory: Any, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    """(N, H, W) codes in memory that two processes share."""
    return np.frombuffer(memory, np.uint32).reshape(shape)


def _show(
    scenario: Scenario, memory: Any, shape: tuple[int, ...], messages: Connection, says: str
) -> None:
    """Open the window."""
    from gv_engine.ui.screens.batch import BatchScreen
    from gv_engine.ui.window.app import App
    from gv_engine.ui.window.viewer import NoDisplay

    app = App.load()
    worlds = FarWorlds(scenario, _codes(memory, shape), messages)
    try:
        app.run(lambda app: app.push(BatchScreen(app, worlds, says)))
    except NoDisplay as error:
        complain(error)
