"""Autosaves: unsaved edits and running games, written every few seconds, and found again by the
next window."""

from __future__ import annotations

import json
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from gv_engine.play.session.replay import SUFFIX, Replay, ReplayError
from gv_engine.play.ui.settings import replay_folder
from gv_engine.rules.errors import error_text, format_count, shorten
from gv_engine.scenario.documents.document import MAX_SCENARIO_BYTES
from gv_engine.scenario.storage.files import exclusive_lock, parse_json, read_bytes, write_file

SAVE_INTERVAL = 2.0  # seconds between two autosaves at least
_LOCK = "lock"  # name of the file that a running window keeps locked
_STALE_AFTER = 24 * 3600.0  # s after which an empty folder of a killed window is removed
# Start of the last line of an autosave of edits, which names the edited file.
_ABOUT = "\n# unsaved edits of "


class UnsavedEdits(NamedTuple):
    """Text of a scenario file that the user has not saved.

    Attributes:
        text: text of the scenario.
        file: path of the scenario file; empty before the first save.
        variant: edited variant of the scenario; empty for none.
    """

    text: str
    file: str = ""
    variant: str = ""

    def save(self, path: Path) -> None:
        """Write the text and a comment with file and variant into the file `path`, atomically.

        Raises:
            OSError: the file cannot be written.
        """
        about = json.dumps({"file": self.file, "variant": self.variant})
        write_file(path, f"{self.text}{_ABOUT}{about}\n", is_durable=True)

    @classmethod
    def from_bytes(cls, data: bytes) -> UnsavedEdits:
        """Return the edits in `data`, the content of an autosave.

        Raises:
            ValueError: the data are no autosave of edits.
        """
        text, mark, line = data.decode().rpartition(_ABOUT)
        about = parse_json(line) if mark else None
        if not isinstance(about, dict) or not all(isinstance(v, str) for v in about.values()):
            raise ValueError("its last line does not name the edited file")
        return cls(text, str(about.get("file", "")), str(about.get("variant", "")))


Unsaved = Replay | UnsavedEdits  # work of a screen that would be lost if the process were killed


def autosave_folder() -> Path:
    """Return the folder with a folder of autosaves for each window."""
    return replay_folder().parent / "autosave"


class AutosaveWriter:
    """Writer of the autosaves of one window into a folder, which is locked while the window is
    open.

    Attributes:
        error: message about an autosave that could not be written; "" for none.
    """

    def __init__(self) -> None:
        self.error = ""
        self._folder: Path | None = None  # None before the first autosave
        self._folder_lock = ExitStack()
        self._last_written: list[Unsaved | None] = []  # work of each screen
        self._next_save_time = 0.0
        self._thread: Thread | None = None

    def save(self, works: Sequence[Unsaved | None], now: float) -> float | None:
        """Write the entries of `works` that have changed to disk, in a thread as that may be slow.
        Return the seconds until the next call. None if everything is saved.

        Args:
            works: unsaved work of each open screen; None for a screen without.
            now: time in seconds.

        Returns:
            Seconds until the next call; None if everything is saved.
        """
        if not any(works) and not any(self._last_written):
            self._last_written = [*works]
        if [*works] == self._last_written:
            return None
        if now < self._next_save_time or (self._thread and self._thread.is_alive()):
            return max(0.05, self._next_save_time - now)
        self._next_save_time = now + SAVE_INTERVAL
        before, self._last_written = self._last_written, [*works]
        self._thread = Thread(target=self._write, args=(before, self._last_written), daemon=True)
        self._thread.start()
        return None

    def flush(self, works: Sequence[Unsaved | None]) -> None:
        """Write the entries of `works` that have changed, and wait until they are on the disk."""
        if self._thread:
            self._thread.join()
        before, self._last_written = self._last_written, [*works]
        self._write(before, works)

    def close(self, works: Sequence[Unsaved | None]) -> None:
        """Save `works` for the next window to offer. Delete all other autosaves of this window and
        unlock its folder."""
        self.flush(works)
        self._folder_lock.close()
        if self._folder and not any(works):
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder, self._last_written = None, []

    def _write(self, before: Sequence[Unsaved | None], works: Sequence[Unsaved | None]) -> None:
        """Write each entry of `works` that differs from the same entry of `before` to its file.
        Delete the files of entries that are saved elsewhere or gone. Set `error` if that fails."""
        names = [f"{index}{_get_suffix(work)}" for index, work in enumerate(works)]
        try:
            for name, work, work_before in zip_longest(names, works, before[: len(works)]):
                if work and work != work_before:
                    work.save(self._open() / name)
            for file in self._folder.iterdir() if self._folder else ():
                if file.name not in (*names, _LOCK):
                    file.unlink()
        except OSError as error:
            self.error = f"Unsaved work is not kept: {error_text(error)}"

    def _open(self) -> Path:
        """Return the folder of this window; create and lock it first if needed."""
        if self._folder is None:
            name = f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"
            folder = autosave_folder() / name
            folder.mkdir(parents=True)
            self._folder_lock.enter_context(exclusive_lock(folder / _LOCK))
            self._folder = folder
        return self._folder


def _get_suffix(work: Unsaved | None) -> str:
    if work is None:
        return ""
    return SUFFIX if isinstance(work, Replay) else ".yaml"


class Autosave(NamedTuple):
    """Autosave of a window that is no longer open.

    Attributes:
        file: file of the autosave.
        saved: time of the last change.
        work: the game or the edits; a message if the file cannot be read.
    """

    file: Path
    saved: datetime
    work: Unsaved | str

    @property
    def title(self) -> str:
        """Name of the level."""
        if isinstance(self.work, UnsavedEdits):
            return Path(self.work.file).name or "a new level"
        return self.work.scenario.name if isinstance(self.work, Replay) else self.file.name

    def describe(self) -> str:
        """Return a sentence that says what was saved (edits of a level, or an episode) and when."""
        when = f"{self.saved:%Y-%m-%d %H:%M:%S}"
        if isinstance(self.work, UnsavedEdits):
            return f"Unsaved edits of {self.work.file or self.title}, {when}."
        if isinstance(self.work, Replay):
            steps = format_count(len(self.work.steps), "step")
            return f"A game of {self.title}, {steps}, {when}."
        return f"{self.file}, {when}, cannot be read: {shorten(self.work, 200)}"

    def discard(self) -> None:
        """Delete the autosave, and its folder if that is then empty.

        Raises:
            OSError: the file cannot be deleted.
        """
        self.file.unlink(missing_ok=True)
        _remove_if_empty(self.file.parent)


def find_autosaves() -> list[Autosave]:
    """Return the autosaves of windows that are no longer open, the newest first."""
    found = [autosave for folder in _find_closed_folders() for autosave in _read_folder(folder)]
    return sorted(found, key=lambda autosave: autosave.saved, reverse=True)


def _find_closed_folders() -> Iterator[Path]:
    """Yield the folders of windows that are no longer open; remove old empty ones."""
    try:
        folders = [folder for folder in autosave_folder().iterdir() if folder.is_dir()]
    except OSError:
        return
    for folder in folders:
        with suppress(OSError), exclusive_lock(folder / _LOCK):  # an open window has the lock
            yield folder
        with suppress(OSError):
            if time.time() > folder.stat().st_mtime + _STALE_AFTER:
                _remove_if_empty(folder)


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        if all(file.name == _LOCK for file in folder.iterdir()):
            shutil.rmtree(folder)


def _read_folder(folder: Path) -> Iterator[Autosave]:
    """Yield the autosaves in the folder of one window."""
    for file in sorted(folder.glob("*.*")):
        if file.name.startswith("."):  # the rest of a write that was killed
            continue
        with suppress(FileNotFoundError):
            saved = datetime.fromtimestamp(file.stat().st_mtime)
            try:
                yield Autosave(file, saved, _read(file))
            except (OSError, ValueError, ReplayError) as error:
                yield Autosave(file, saved, str(error))


def _read(file: Path) -> Unsaved:
    if file.suffix == SUFFIX:
        return Replay.load(file)
    return UnsavedEdits.from_bytes(read_bytes(file, 2 * MAX_SCENARIO_BYTES, "autosaves"))
