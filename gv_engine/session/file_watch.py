"""Watching files: whether what was loaded still stands there."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gv_engine.scenario.rule_modules import SourceFile

_COARSE = 2_000_000_000
"""ns within which two changes may leave the same time and size: some disks count in two seconds."""


class _Look(NamedTuple):
    """What one look at a file found."""

    stamp: tuple[int, int]
    """Time of the last change in ns, and size in bytes; zeros if it is not there."""
    doubtful: bool
    """Whether it was so young that the next change may not show in the stamp."""
    file: SourceFile


class Watch:
    """Files as they were at one moment.

    Args:
        files: any of them may come or go later.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._looks: dict[Path, _Look] = {}
        self._before = {path: self._look(path) for path in files}

    def differs(self, files: Iterable[Path]) -> bool:
        """Whether these are not the same files with the same content; opens only those in doubt."""
        return {path: self._look(path) for path in files} != self._before

    def _look(self, path: Path) -> SourceFile:
        try:
            stat = path.stat()
            stamp = stat.st_mtime_ns, stat.st_size
        except OSError:
            stamp = 0, 0
        known = self._looks.get(path)
        if known is None or known.doubtful or known.stamp != stamp:
            doubtful = time.time_ns() - stamp[0] < _COARSE
            known = self._looks[path] = _Look(stamp, doubtful, SourceFile.read(path))
        return known.file
