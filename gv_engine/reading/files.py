"""Files that are read within bounds, and files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_DRAFT = ".gv-draft-"
"""How the names of drafts begin."""


def exists(path: Path) -> bool:
    """Whether there is something of this name, which may be too long or no name at all."""
    try:
        return path.exists()
    except OSError:
        return False


def size_of(path: Path, most: int, what: str) -> int:
    """The size of a file that is to be read, in bytes.

    Args:
        path: of a regular file; nothing else is opened, since that may wait for ever.
        most: bytes that it may have.
        what: it is, in the plural: "scenario files".

    Raises:
        OSError: it is not there, not a file, or larger; one line, which names it.
    """
    try:
        found = path.stat()
    except ValueError as error:  # a NUL in its name
        raise OSError(f"{path}: {error}") from None
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}") from None
    if kind := _KINDS.get(stat.S_IFMT(found.st_mode)):
        raise OSError(f"{path} is {kind}, not a file")
    if found.st_size > most:
        raise OSError(f"{path} is {bytes_for_people(found.st_size)}; {_at_most(what, most)}")
    return found.st_size


def read_bytes(path: Path, most: int, what: str) -> bytes:
    """All of a file.

    Args:
        path, most, what: see `size_of`.

    Raises:
        OSError: see `size_of`, or it cannot be read.
    """
    size_of(path, most, what)
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > most:  # it has grown since, or is one of those that the system makes up
        raise OSError(f"{path} is larger than it says; {_at_most(what, most)}")
    return data


def _at_most(what: str, most: int) -> str:
    return f"{what} are at most {bytes_for_people(most)}"


def bytes_for_people(number: int) -> str:
    """
    >>> bytes_for_people(512 * 1024), bytes_for_people(6_500_000)
    ('512 KiB', '6.2 MiB')
    """
    size, unit = float(number), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{round(size, 1):g} {unit}"


# ---- writing -------------------------------------------------------------------------------------


class Draft:
    """A file beside another one, of the same suffix, that may take its place.

    While it is open it is locked, so that drafts of processes that were killed can be told from
    those at work; the next draft in the same folder removes them.

    Replacing a file must not change more than writing into it would. So a draft takes over the
    permissions of the file, and its owner and group where the system lets it, before anything is
    written: a private file never becomes readable to others. Of a symbolic link the file behind it
    is replaced, since the link may be how a user keeps the file elsewhere.

    Attributes:
        path: where to write.

    Raises:
        OSError: nothing can be written there, or something other than a file is there.
    """

    def __init__(self, target: Path) -> None:
        if target.is_symlink():
            target = Path(os.path.realpath(target))
        known = target.stat() if exists(target) else None
        if known and (kind := _KINDS.get(stat.S_IFMT(known.st_mode))):
            raise OSError(f"{target} is {kind}, not a file")
        self._target = target
        try:
            sweep(target.parent)
            self.path, self._lock = _locked_file(target)
            if known:
                _share_as(known, self.path)
        except OSError as error:
            raise OSError(f"{target} cannot be written: {error.strerror}") from None

    def keep(self) -> None:
        """Put it in the other's place."""
        self._lock.close()
        self.path.replace(self._target)

    def discard(self) -> None:
        """Remove it, unless it has been kept."""
        self._lock.close()
        self.path.unlink(missing_ok=True)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when the block is left.

    An error in the block removes it and leaves `path` as it was. `Draft` says which permissions it
    has, and what becomes of a symbolic link.

    Raises:
        OSError: nothing can be written there, known before the block begins; or not all of it.
    """
    draft = Draft(path)
    try:
        yield draft.path
        draft.keep()
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        draft.discard()


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, whole or not at all, in turn with others who do.

    A last line whose end was never written, as the machine went off, gives way to it.

    Raises:
        OSError: it cannot be written.
    """
    try:
        with path.open("ab+", buffering=0) as file:
            _lock(file, wait=True)
            file.seek(0)
            file.truncate(file.readall().rfind(b"\n") + 1)
            file.write(line.encode() + b"\n")
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Have a file that is there to oneself, among those who ask for it in this way.

    The system lets go of it if the process is killed. Where files cannot be locked, all have it.

    Raises:
        BlockingIOError: somebody else has it.
        OSError: it cannot be opened.
    """
    with path.open("rb+") as file:
        _hold(file)
        yield


def _share_as(known: os.stat_result, path: Path) -> None:
    """Give a file the owner, group and permissions of another one, as far as the system lets it."""
    if sys.platform != "win32":
        for owner, group in ((-1, known.st_gid), (known.st_uid, -1)):
            with suppress(OSError):
                os.chown(path, owner, group)
    same_group = path.stat().st_gid == known.st_gid
    path.chmod(known.st_mode & (0o777 if same_group else 0o707))


def _locked_file(target: Path) -> tuple[Path, BinaryIO]:
    while True:
        path = target.with_name(f"{_DRAFT}{secrets.token_hex(4)}{target.suffix}")
        file = path.open("xb")
        _lock(file, wait=True)
        if path.exists():  # nobody has swept it away before it was locked
            return path, file
        file.close()


def sweep(folder: Path) -> None:
    """Remove the drafts in a folder whose processes are gone, with what they had beside them."""
    with suppress(OSError):
        drafts: dict[str, list[Path]] = {}
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name.startswith(_DRAFT) and entry.is_file(follow_symlinks=False):
                    drafts.setdefault(Path(entry.name).stem, []).append(Path(entry.path))
        for files in drafts.values():
            _remove_unlocked(files)


def _remove_unlocked(files: list[Path]) -> None:
    """Remove files, unless one of them is in use."""
    opened = []
    try:
        for path in files:
            file = path.open("rb")
            opened.append(file)
            _lock(file, wait=False)
        for path in files:
            path.unlink()
    except OSError:
        pass  # at work, somebody else's, or gone already
    finally:
        for file in opened:
            file.close()


if sys.platform == "win32":
    import msvcrt

    def _lock(file: BinaryIO, wait: bool) -> None:
        """An open file cannot be removed, so closing it is all that finding out needs."""
        if not wait:
            file.close()

    def _hold(file: BinaryIO) -> None:
        file.seek(2**30)  # beyond its end, as nobody could read what is locked
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None

else:
    import fcntl

    def _lock(file: BinaryIO, wait: bool) -> None:
        """Mark a file as in use; not where the file system knows no locks."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if not wait:
                raise

    def _hold(file: BinaryIO) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # the file system knows no locks
