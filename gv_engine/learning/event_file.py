"""Files of events, as TensorBoard reads them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter


class EventFile:
    """A new file of events, each of which is on disk when `add` returns.

    TensorBoard's own writers have a thread for that, which tells nobody of a full disk.

    Args:
        folder: that it is in.
        step: from which on events of other files in the folder no longer count.

    Raises:
        OSError: it cannot be written.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self._file = (folder / f"events.out.tfevents.{time.time_ns()}").open("xb", buffering=0)
        self._records = RecordWriter(self._file)
        self._write(file_version="brain.Event:2")
        self._write(step=step, session_log=SessionLog(status=SessionLog.START))

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Write values by their names.

        Raises:
            OSError: they cannot be written.
        """
        told = [Summary.Value(tag=name, simple_value=value) for name, value in values.items()]
        self._write(step=step, summary=Summary(value=told))

    def _write(self, **values: Any) -> None:
        self._records.write(Event(wall_time=time.time(), **values).SerializeToString())

    def close(self) -> None:
        """Let go of it."""
        self._file.close()
