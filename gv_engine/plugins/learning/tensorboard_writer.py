"""Event files in TensorBoard's format."""

from __future__ import annotations

import time
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from gv_engine.scenario.storage.files import append_whole


class TensorBoardWriter:
    """New event file whose events are on disk when `add_scalars` returns.

    TensorBoard's own writers use a thread, which does not report a full disk.

    Args:
        folder: folder of the new file.
        step: step from which events of earlier files in the folder are superseded.

    Raises:
        OSError: the file cannot be written.
    """

    def __init__(self, folder: Path, step: int) -> None:
        self._file = (folder / f"events.out.tfevents.{time.time_ns()}").open("xb", buffering=0)
        self._write(file_version="brain.Event:2")
        self._write(step=step, session_log=SessionLog(status=SessionLog.START))

    def add_scalars(self, step: int, scalars: Mapping[str, float]) -> None:
        """Write the scalars of training step `step`, given by name.

        Raises:
            OSError: the file cannot be written.
        """
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
        self._write(step=step, summary=Summary(value=values))

    def _write(self, **fields: Any) -> None:
        """Append an event with these protobuf fields and the current time to the TensorBoard
        file."""
        record = BytesIO()
        event = Event(wall_time=time.time(), **fields)
        RecordWriter(record).write(event.SerializeToString())
        append_whole(self._file, record.getvalue())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
