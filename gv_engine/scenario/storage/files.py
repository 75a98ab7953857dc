"""Safe file access: checks of sizes, names, JSON and XML from untrusted sources; atomic writes and
lock files."""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from gv_engine.rules.errors import shorten

# ---- checks of untrusted text --------------------------------------------------------------------

_DIGEST = re.compile(r"[0-9a-f]{64}")
_INVALID_CHARACTERS = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
"""NUL and lone surrogates, except the surrogates that stand for bytes of file names that are not
UTF-8."""
_CONTROL_CHARACTERS = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line breaks, surrogates, and characters that change the text direction."""
_FILE_NAME = re.compile(r"\w[\w .+-]{0,80}(?<![ .])")
_MAX_FILE_NAME_BYTES = 200
"""Maximum length of a file name in bytes; file systems allow 255, a suffix included."""
_DEVICE_NAME = re.compile(r"(con|prn|aux|nul|(com|lpt)[\d¹²³]) *(\..*)?", re.IGNORECASE)
"""File names that Windows reserves for devices, as in `ntpath.isreserved` of Python 3.13."""


def parse_json(data: bytes | str) -> Any:
    """Parse a JSON document. Raise an error if a string contains NUL characters or lone surrogates.

    Raises:
        ValueError: the data are no JSON in UTF-8, or a text holds NUL or a lone surrogate.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    text.encode()
    values = json.loads(text)
    pending = [values] if "\\u" in text else []
    while pending:
        value = pending.pop()
        if isinstance(value, str) and _INVALID_CHARACTERS.search(value):
            raise ValueError(f"{shorten(value, 60)!r} holds NUL or a lone surrogate")
        if isinstance(value, dict):
            pending += [*value, *value.values()]
        elif isinstance(value, list):
            pending += value
    return values


def check_digest(value: Any) -> str:
    """Return `value` if it is a scenario's hash, SHA-256 as 64 hexadecimal digits. Raise an error
    otherwise.

    Raises:
        ValueError: the value is not 64 hexadecimal digits.
    """
    if not (isinstance(value, str) and _DIGEST.fullmatch(value)):
        raise ValueError(
            f"the digest is {shorten(repr(value), 80)}, expected 64 hexadecimal digits"
        )
    return value


def check_line(value: Any, label: str) -> str:
    """Return `value`, such as a name, if it is a string that prints as one line. Raise an error
    otherwise; `label` names the value in the message.

    Args:
        label: noun for the text in the message, such as "name".

    Raises:
        ValueError: the value is no text, or holds a line break or another control character.
    """
    if not isinstance(value, str) or _CONTROL_CHARACTERS.search(value):
        raise ValueError(
            f"the {label} is {shorten(repr(value), 60)}, expected one line of text, without "
            f"control characters"
        )
    return value


def is_file_name(text: str) -> bool:
    """Return True if the text is a single path component that every operating system accepts."""
    is_valid = _FILE_NAME.fullmatch(text) and len(text.encode()) <= _MAX_FILE_NAME_BYTES
    return bool(is_valid) and not _DEVICE_NAME.fullmatch(text)


def make_file_name(text: str) -> str:
    """Return a valid file name made from the letters and digits of `text`; "game" if it has
    none."""
    name = re.sub(r"[^\w-]+", "-", text).strip("-")[:50] or "game"
    return name if is_file_name(name) else f"game-{name}"


# ---- files ---------------------------------------------------------------------------------------

_FILE_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
"""Names of everything that is not a regular file, by the type bits of its mode."""
_DRAFT_PREFIX = ".gv-draft-"
_LINE_START = 8
"""Number of bytes at the start of an incomplete line by which `append_line` recognises its own."""


def to_path(value: Any, argument: str) -> Path:
    """Return `value`, that of the argument called `argument`, as a path.

    Raises:
        TypeError: the value is neither a text nor a path.
    """
    if not isinstance(value, str | Path):
        raise TypeError(f"{argument}={shorten(repr(value), 60)}: expected a path, as text or Path")
    return Path(value)


def path_exists(path: Path) -> bool:
    """Return True if a file or folder exists at `path`. False also for an invalid file name."""
    try:
        return path.exists()
    except OSError:
        return False


def check_file_size(path: Path, max_bytes: int, label: str) -> int:
    """Return the size of a file in bytes. Raise OSError if it is larger than `max_bytes`. It is
    called before the file is read.

    Args:
        path: a regular file; nothing else may be opened, since that could block for ever.
        max_bytes: the allowed size.
        label: plural noun for such files in messages, such as "scenario files".

    Raises:
        OSError: the file is missing, is no regular file, or is too large; the message is one line
            with the path.
    """
    try:
        status = path.stat()
    except ValueError as error:  # a NUL in its name
        raise OSError(f"{path}: {error}") from None
    except OSError as error:
        hint = _suggest_path(path) if isinstance(error, FileNotFoundError) else ""
        raise type(error)(f"{path} cannot be read: {error.strerror}{hint}") from None
    _check_kind(path, status)
    if status.st_size > max_bytes:
        raise OSError(
            f"{path} is {format_bytes(status.st_size)}; {_limit_message(label, max_bytes)}"
        )
    return status.st_size


def _suggest_path(path: Path) -> str:
    """Return a hint for the message about a missing file: its folder if that is missing too, else
    the most similar name in the folder; "" if there is none."""
    if not path_exists(path.parent):
        return f"; there is no folder {path.parent}"
    with suppress(OSError), os.scandir(path.parent) as entries:
        names = {Path(entry.name).stem: entry.name for entry in entries}
        # of the names alone: equal suffixes would make all files similar
        if similar := get_close_matches(path.stem, names, 1):
            return f"; did you mean {names[similar[0]]!r}?"
    return ""


def read_bytes(path: Path, max_bytes: int, label: str) -> bytes:
    """Return the content of a file. Raise OSError if it has more than `max_bytes`. `label` names
    this kind of file in messages.

    Args:
        path, max_bytes, label: see `check_file_size`.

    Raises:
        OSError: as for `check_file_size`, or the file cannot be read.
    """
    check_file_size(path, max_bytes, label)
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > max_bytes:  # the file has grown, or is virtual (/proc)
        raise OSError(f"{path} is larger than its size says; {_limit_message(label, max_bytes)}")
    return data


def check_regular_file(path: Path) -> None:
    """Raise OSError unless nothing exists at `path`, or a regular file that is no symbolic link.
    Called before a file is written.

    All files of a training run, a rollout or a benchmark entry are checked before the first one is
    written: a folder from somebody else may contain links that lead out of it.

    Raises:
        OSError: there is a link, or anything else that is no regular file.
    """
    with suppress(FileNotFoundError):
        _check_kind(path, path.lstat())


def check_inner_folder(path: Path) -> None:
    """Raise OSError if `path` exists and is a link or not a folder. It is called before files are
    written into a subfolder of the user's folder.

    Raises:
        OSError: there is a link, or a file.
    """
    with suppress(FileNotFoundError):
        if not stat.S_ISDIR(mode := path.lstat().st_mode):
            kind = _FILE_KINDS.get(stat.S_IFMT(mode), "a file")
            raise OSError(f"{path} is {kind}, not a folder")


def _check_kind(path: Path, status: os.stat_result) -> None:
    if kind := _FILE_KINDS.get(stat.S_IFMT(status.st_mode)):
        raise OSError(f"{path} is {kind}, not a file")


def open_regular_file(path: str | Path, flags: int) -> int:
    """Open a regular file with these `os.open` flags and return its descriptor. Raise an error for
    a file with a second name (hard link). It can be the argument `opener` of `open`.

    Nothing is written through links into other folders.

    Raises:
        OSError: the file is a link, has other names (hard links), or is no regular file.
    """
    if not Path(path).is_symlink():
        flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a FIFO would block
        file = os.open(path, flags, 0o666)
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            return file
        os.close(file)
    raise OSError(errno.EINVAL, "it is a link, has other names, or is no file", str(path))


def append_whole(file: FileIO, data: bytes) -> None:
    """Append all of `data` to an unbuffered file. If that fails, cut the file back to its former
    length.

    Raises:
        OSError: the data cannot be written.
    """
    length, remaining = file.seek(0, os.SEEK_END), memoryview(data)
    try:
        while remaining:
            num_written = file.write(remaining)  # less than all on a nearly full disk
            remaining = remaining[num_written:]
    except OSError:
        file.truncate(length)
        raise


def _limit_message(label: str, max_bytes: int) -> str:
    return f"{label} are at most {format_bytes(max_bytes)}"


def format_bytes(num_bytes: int) -> str:
    """Return a number of bytes as text with a suitable unit, such as "512 KiB".

    >>> format_bytes(512 * 1024), format_bytes(6_500_000)
    ('512 KiB', '6.2 MiB')
    """
    size, unit = float(num_bytes), "bytes"
    for larger in ("KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{round(size, 1):g} {unit}"


# ---- writing -------------------------------------------------------------------------------------


class AtomicFile:
    """Draft of a file, in the same folder and with the same suffix, that can replace the file
    atomically.

    An open draft is locked, so that the drafts of killed processes can be told from those in use;
    the next draft in the same folder removes them.

    A draft takes over the permissions of the file before anything is written, so that a private
    file never becomes readable to others; it belongs to the user who writes, and the group gets no
    rights if it is another one. For a symbolic link, the target file is replaced, since the link
    may be how a user keeps the file elsewhere. Other names of the file (hard links) keep the old
    content.

    Args:
        target: the file.
        follow_links: False refuses a symbolic link, as in folders that may be from somebody else.

    Attributes:
        path: the draft, to write to.

    Raises:
        OSError: the folder cannot be written to, or the target is no regular file.
    """

    def __init__(self, target: Path, follow_links: bool = True) -> None:
        """Create an empty temporary file beside `target`, which `commit` renames to `target`. With
        `follow_links`, a link at `target` stays a link."""
        if "\0" in str(target):
            raise OSError(f"{target} cannot be written: its path has a NUL")
        if follow_links and target.is_symlink():
            target = Path(os.path.realpath(target))  # still a link if the links form a loop
        self._target = target
        old_status = None
        with suppress(OSError):
            old_status = target.lstat()
        if old_status:
            _check_kind(target, old_status)
        try:
            remove_stale_drafts(target.parent)
            self.path, self._lock = _create_draft(target)
            if old_status:
                has_same_group = self.path.stat().st_gid == old_status.st_gid
                self.path.chmod(old_status.st_mode & (0o777 if has_same_group else 0o707))
        except OSError as error:
            raise make_write_error(target, error) from None

    def commit(self, is_durable: bool = False) -> None:
        """Replace the target file by the temporary file. If `is_durable`, flush the data to the
        disk first, so that a power failure loses neither file."""
        if is_durable:
            os.fsync(self._lock.fileno())
        self._lock.close()
        self.path.replace(self._target)

    def discard(self) -> None:
        """Delete the draft, so that the target file stays as it was; do nothing after `commit`."""
        self._lock.close()
        self.path.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path, follow_links: bool = True, is_durable: bool = False) -> Iterator[Path]:
    """Context manager that yields the path of a temporary file to write. At the end of the block,
    that file replaces `path`. `follow_links` allows `path` to be a link, and `is_durable` flushes
    the data to the disk first.

    An error in the block removes the draft and leaves `path` as it was. See `AtomicFile` for
    permissions and links.

    Raises:
        OSError: the folder cannot be written to (raised before the block), or the draft cannot be
            completed.
    """
    draft = AtomicFile(path, follow_links)
    try:
        yield draft.path
        draft.commit(is_durable)
    except OSError as error:
        raise make_write_error(path, error) from None
    finally:
        draft.discard()


def make_write_error(path: Path, error: OSError) -> OSError:
    """Return an OSError that explains why `path` cannot be written: `error`, or a missing
    folder."""
    why = str(error.strerror or error)
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and not path.parent.is_dir():
        why = f"there is no folder {path.parent}"
    return OSError(f"{path} cannot be written: {why}")


def make_folder(path: Path) -> None:
    """Create the folder `path` and its parent folders if they are missing.

    Raises:
        OSError: it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise make_write_error(path, error) from None


def write_file(
    path: Path,
    content: str | bytes | memoryview,
    follow_links: bool = True,
    is_durable: bool = False,
) -> None:
    """Replace the file `path` by `content` in one atomic step; a text is written in UTF-8.

    Args:
        path, follow_links, is_durable: see `atomic_write`.
        content: whole content of the file.

    Raises:
        OSError: as for `atomic_write`.
    """
    with atomic_write(path, follow_links, is_durable) as draft:
        draft.write_bytes(content.encode() if isinstance(content, str) else content)


def append_line(path: Path, line: str) -> None:
    """Append a line of text to a file at once, while a lock keeps other processes out. Raise an
    error if the file is a link.

    An incomplete last line, left by a crash, is replaced if it begins like the new one.

    Raises:
        OSError: the file cannot be written, or ends with something else.
    """
    data = line.encode() + b"\n"
    try:
        with open(path, "ab+", buffering=0, opener=open_regular_file) as file:
            _lock_draft(file, wait=True)
            file.seek(0)
            content = file.readall()
            length = content.rfind(b"\n") + 1  # of the complete lines
            start = content[length : length + _LINE_START]
            if start != data[: len(start)]:
                raise OSError(errno.EINVAL, "its last line is not one of ours and has no end")
            file.truncate(length)
            append_whole(file, data)
    except OSError as error:
        raise make_write_error(path, error) from None


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Context manager that holds an exclusive lock on the file at `path`, and creates the file if
    needed; symbolic links are refused.

    The system releases the lock if the process is killed. On a file system without locks, every
    process gets it.

    Raises:
        BlockingIOError: another process holds the lock.
        OSError: the file cannot be opened.
    """
    with open(path, "ab", opener=open_regular_file) as file:
        _lock_exclusively(file)
        yield


def _create_draft(target: Path) -> tuple[Path, BinaryIO]:
    """Create an empty, locked temporary file in the folder of `target`. Return its path and the
    open file."""
    while True:
        path = target.with_name(f"{_DRAFT_PREFIX}{secrets.token_hex(4)}{target.suffix}")
        file = path.open("xb")
        _lock_draft(file, wait=True)
        if path.exists():  # not removed as stale before it was locked
            return path, file
        file.close()


def remove_stale_drafts(folder: Path) -> None:
    """Delete temporary files of `AtomicFile`, and their lock files, that ended processes have left
    in a folder."""
    with suppress(OSError):
        drafts: dict[str, list[Path]] = {}
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith(_DRAFT_PREFIX) and entry.is_file(follow_symlinks=False):
                    drafts.setdefault(Path(entry.name).stem, []).append(Path(entry.path))
        for files in drafts.values():
            _remove_unlocked(files)


def _remove_unlocked(files: list[Path]) -> None:
    """Delete all `files`, unless one of them is locked by a process; then delete none."""
    opened = []
    try:
        for path in files:
            file = path.open("rb")
            opened.append(file)
            _lock_draft(file, wait=False)
        for path in files:
            path.unlink()
    except OSError:
        pass  # in use, owned by another user, or gone
    finally:
        for file in opened:
            file.close()


if sys.platform == "win32":
    import msvcrt

    def _lock_draft(file: BinaryIO, wait: bool) -> None:
        if not wait:
            file.close()

    def _lock_exclusively(file: BinaryIO) -> None:
        """Lock an open file for this process without waiting; raise `BlockingIOError` if another
        process holds the lock."""
        file.seek(2**30)  # beyond the end: locked bytes cannot be read
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None

else:
    import fcntl

    def _lock_draft(file: BinaryIO, wait: bool) -> None:
        """Lock a temporary file. With `wait`, wait for the lock, and do without it if the file
        system has no locks. Else raise OSError if the file cannot be locked at once."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if not wait:
                raise

    def _lock_exclusively(file: BinaryIO) -> None:
        """Lock an open file for this process without waiting; raise `BlockingIOError` if another
        process holds the lock."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # the file system has no locks


# ---- XML -----------------------------------------------------------------------------------------

_MAX_XML_DEPTH = 50


def parse_xml(raw: bytes) -> Element:
    """Parse an XML document and return its root element. Raise an error for a document that
    declares entities.

    Raises:
        ValueError: the document is damaged, nested too deeply, or declares entities or default
            attributes, which could make a short file huge.
    """
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def start_element(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_XML_DEPTH:
            raise ValueError(f"nested deeper than {_MAX_XML_DEPTH} levels")
        builder.start(name, attributes)

    def end_element(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    def check_doctype(name: str, system: str | None, public: str | None, declares: int) -> None:
        if declares:
            raise ValueError(
                "its DOCTYPE declares entities or attributes; remove what is in its brackets"
            )

    parser.StartElementHandler, parser.EndElementHandler = start_element, end_element
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, check_doctype
    try:
        parser.Parse(raw, True)
    except (expat.ExpatError, LookupError) as error:  # LookupError: unknown encoding
        raise ValueError(f"no XML: {error}") from None
    return builder.close()
