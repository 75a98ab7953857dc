"""Detection of changed files by time, size and, where these are unsure, content."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gv_engine.scenario.rule_modules import SourceFile

_TIME_RESOLUTION = 2_000_000_000  # ns; the coarsest file times count in two seconds


class _FileState(NamedTuple):
    """State of a file at one time.

    Attributes:
        stamp: time of the last change in ns, and size in bytes; zeros if the file is missing.
        is_unsure: whether the file was so young that the next change may leave the same stamp.
    """

    stamp: tuple[int, int]
    is_unsure: bool
    file: SourceFile


class Watch:
    """State of files at one time, to detect later changes.

    Args:
        files: paths; files may be missing, and may appear or vanish later.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._states: dict[Path, _FileState] = {}
        self._before = {path: self._read_state(path) for path in files}

    def differs(self, files: Iterable[Path]) -> bool:
        """Return whether `files` differ from the watched files in paths or content; only files with
        a new or unsure stamp are read."""
        return {path: self._read_state(path) for path in files} != self._before

    def _read_state(self, path: Path) -> SourceFile:
        """Return the content of a file, from memory while the stamp is unchanged and sure."""
        try:
            stat = path.stat()
            stamp = stat.st_mtime_ns, stat.st_size
        except OSError:
            stamp = 0, 0
        state = self._states.get(path)
        if state is None or state.is_unsure or state.stamp != stamp:
            is_unsure = time.time_ns() - stamp[0] < _TIME_RESOLUTION
            state = self._states[path] = _FileState(stamp, is_unsure, SourceFile.read(path))
        return state.file
