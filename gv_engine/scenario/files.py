"""Arrays in files of NumPy's, of which nothing is believed before it has been checked."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import struct
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from gv_engine.rules.errors import shortened

# ---- untrusted -----------------------------------------------------------------------------------

_DIGEST = re.compile(r"[0-9a-f]{64}")
_INVALID_CHARACTERS = re.compile("[\0\ud800-\udc7f\udd00-\udfff]")
"""NUL and surrogates; but for those that stand for bytes of file names that are no UTF-8."""
_CONTROL_CHARACTERS = re.compile(
    "[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, line breaks, surrogates, and characters that turn the direction of others."""
_FILE_NAME = re.compile(r"\w[\w .+-]{0,80}(?<![ .])")
_MAX_FILE_NAME_BYTES = 200
"""Bytes; file systems have room for 255, with an ending."""
_DEVICE_NAME = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""


def parse_json(data: bytes | str) -> Any:
    """Return the values of JSON, whose texts hold characters only.

    Raises:
        ValueError: it is no JSON in UTF-8, or a text in it holds NUL or a lone surrogate.
    """
    text = data if isinstance(data, str) else data.decode("utf-8-sig")
    text.encode()
    values = json.loads(text)
    waiting = [values] if "\\u" in text else []
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and _INVALID_CHARACTERS.search(value):
            raise ValueError(f"{shortened(value, 60)!r} holds NUL, or half of a character")
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return values


def check_digest(value: Any) -> str:
    """Return a digest of a scenario.

    Raises:
        ValueError: it is none.
    """
    if not (isinstance(value, str) and _DIGEST.fullmatch(value)):
        raise ValueError(
            f"the digest is {shortened(repr(value), 80)}, expected 64 hexadecimal digits"
        )
    return value


def check_line(value: Any, label: str) -> str:
    """Return a text that prints as one line, such as a name.

    Args:
        what: it is, for the message.

    Raises:
        ValueError: it is no text, or holds a line break or another control character.
    """
    if not isinstance(value, str) or _CONTROL_CHARACTERS.search(value):
        raise ValueError(
            f"the {label} is {shortened(repr(value), 60)}, expected one line of text, without "
            f"control characters"
        )
    return value


def is_file_name(text: str) -> bool:
    """Return True for one component of a path, which every system takes for a file's name."""
    fits = _FILE_NAME.fullmatch(text) and len(text.encode()) <= _MAX_FILE_NAME_BYTES
    return bool(fits) and not _DEVICE_NAME.fullmatch(text)


def make_file_name(text: str) -> str:
    """Return a file's name made of a text, "game" if no letter is left."""
    name = re.sub(r"[^\w-]+", "-", text).strip("-")[:50] or "game"
    return name if is_file_name(name) else f"game-{name}"


# ---- files ---------------------------------------------------------------------------------------

_FILE_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_DRAFT_PREFIX = ".gv-draft-"
"""How the names of drafts begin."""


def path_exists(path: Path) -> bool:
    """Whether there is something of this name, which may be too long or no name at all."""
    try:
        return path.exists()
    except OSError:
        return False


def check_file_size(path: Path, max_bytes: int, label: str) -> int:
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
    if kind := _FILE_KINDS.get(stat.S_IFMT(found.st_mode)):
        raise OSError(f"{path} is {kind}, not a file")
    if found.st_size > max_bytes:
        raise OSError(
            f"{path} is {format_bytes(found.st_size)}; {_limit_message(label, max_bytes)}"
        )
    return found.st_size


def read_bytes(path: Path, max_bytes: int, label: str) -> bytes:
    """All of a file.

    Args:
        path, most, what: see `check_file_size`.

    Raises:
        OSError: see `check_file_size`, or it cannot be read.
    """
    check_file_size(path, max_bytes, label)
    try:
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
    except OSError as error:
        raise type(error)(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > max_bytes:  # it has grown since, or is one of those that the system makes up
        raise OSError(f"{path} is larger than it says; {_limit_message(label, max_bytes)}")
    return data


def _limit_message(what: str, most: int) -> str:
    return f"{what} are at most {format_bytes(most)}"


def format_bytes(number: int) -> str:
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


class AtomicFile:
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
        known = target.stat() if path_exists(target) else None
        if known and (kind := _FILE_KINDS.get(stat.S_IFMT(known.st_mode))):
            raise OSError(f"{target} is {kind}, not a file")
        self._target = target
        try:
            remove_stale_drafts(target.parent)
            self.path, self._lock = _create_draft(target)
            if known:
                _copy_permissions(known, self.path)
        except OSError as error:
            raise OSError(f"{target} cannot be written: {error.strerror}") from None

    def commit(self) -> None:
        """Put it in the other's place."""
        self._lock.close()
        self.path.replace(self._target)

    def discard(self) -> None:
        """Remove it, unless it has been kept."""
        self._lock.close()
        self.path.unlink(missing_ok=True)


@contextmanager
def atomic_write(path: Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when the block is left.

    An error in the block removes it and leaves `path` as it was. `AtomicFile` says which permissions it
    has, and what becomes of a symbolic link.

    Raises:
        OSError: nothing can be written there, known before the block begins; or not all of it.
    """
    draft = AtomicFile(path)
    try:
        yield draft.path
        draft.commit()
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
            _lock_draft(file, wait=True)
            file.seek(0)
            file.truncate(file.readall().rfind(b"\n") + 1)
            file.write(line.encode() + b"\n")
    except OSError as error:
        raise OSError(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Have a file that is there to oneself, among those who ask for it in this way.

    The system lets go of it if the process is killed. Where files cannot be locked, all have it.

    Raises:
        BlockingIOError: somebody else has it.
        OSError: it cannot be opened.
    """
    with path.open("rb+") as file:
        _lock_exclusively(file)
        yield


def _copy_permissions(known: os.stat_result, path: Path) -> None:
    """Give a file the owner, group and permissions of another one, as far as the system lets it."""
    if sys.platform != "win32":
        for owner, group in ((-1, known.st_gid), (known.st_uid, -1)):
            with suppress(OSError):
                os.chown(path, owner, group)
    same_group = path.stat().st_gid == known.st_gid
    path.chmod(known.st_mode & (0o777 if same_group else 0o707))


def _create_draft(target: Path) -> tuple[Path, BinaryIO]:
    while True:
        path = target.with_name(f"{_DRAFT_PREFIX}{secrets.token_hex(4)}{target.suffix}")
        file = path.open("xb")
        _lock_draft(file, wait=True)
        if path.exists():  # nobody has swept it away before it was locked
            return path, file
        file.close()


def remove_stale_drafts(folder: Path) -> None:
    """Remove the drafts in a folder whose processes are gone, with what they had beside them."""
    with suppress(OSError):
        drafts: dict[str, list[Path]] = {}
        with os.scandir(folder) as found:
            for entry in found:
                if entry.name.startswith(_DRAFT_PREFIX) and entry.is_file(follow_symlinks=False):
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
            _lock_draft(file, wait=False)
        for path in files:
            path.unlink()
    except OSError:
        pass  # at work, somebody else's, or gone already
    finally:
        for file in opened:
            file.close()


if sys.platform == "win32":
    import msvcrt

    def _lock_draft(file: BinaryIO, wait: bool) -> None:
        """An open file cannot be removed, so closing it is all that finding out needs."""
        if not wait:
            file.close()

    def _lock_exclusively(file: BinaryIO) -> None:
        file.seek(2**30)  # beyond its end, as nobody could read what is locked
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError from None

else:
    import fcntl

    def _lock_draft(file: BinaryIO, wait: bool) -> None:
        """Mark a file as in use; not where the file system knows no locks."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if not wait:
                raise

    def _lock_exclusively(file: BinaryIO) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise
        except OSError:
            pass  # the file system knows no locks


# ---- xml trees -----------------------------------------------------------------------------------

_MAX_XML_DEPTH = 50


def parse_xml(raw: bytes) -> Element:
    """Return the root of an XML file.

    Raises:
        ValueError: it is damaged, nested deeply, or declares something, which could make a short
            file a huge one: entities, and values that attributes have by default.
    """
    builder, parser, depth = TreeBuilder(), expat.ParserCreate(), 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MAX_XML_DEPTH:
            raise ValueError(f"nested deeper than {_MAX_XML_DEPTH} levels")
        builder.start(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(name)

    def check(name: str, system: str | None, public: str | None, declares: int) -> None:
        if declares:
            raise ValueError(
                "its DOCTYPE declares entities or attributes; remove what is in its brackets"
            )

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, check
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise ValueError(f"no XML: {error}") from None
    except LookupError as error:  # the name of an encoding
        raise ValueError(f"no XML: {error}") from None
    return builder.close()


# ---- array files ---------------------------------------------------------------------------------

_MAX_HEADER_CHARACTERS = 100_000
"""Characters; that of a world has a few thousand."""
_CHUNK = 2**20
_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_ZIP_END = struct.Struct("<4s4H2LH")
"""The end of an archive: mark, disks and files, bytes and place of the list of files, comment."""
_ZIP64_LOCATOR_BYTES = 20
"""Bytes of what names the end of a ZIP64 archive, right before it."""
_MAX_DIRECTORY_BYTES = 4096
"""Bytes; that of a snapshot has a hundred."""


class ArrayError(ValueError):
    """Bytes that are no array, or not all of one; says which."""


class NpyHeader(NamedTuple):
    """What a `.npy` file says of its array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return self.dtype.itemsize * prod(self.shape)


def read_npy_header(file: BinaryIO) -> NpyHeader:
    """The head of a `.npy` file; what is read next is the array.

    Raises:
        ArrayError: it has none, or one of Python objects or of columns one after the other.
    """
    try:
        shape, by_columns, dtype = _HEADER_READERS[npy.read_magic(file)](
            file, max_header_size=_MAX_HEADER_CHARACTERS
        )
    except Exception as error:  # whatever NumPy, and Python's parser, make of damaged bytes
        raise ArrayError(f"its head is none of NumPy's: {type(error).__name__}") from None
    if dtype.hasobject or by_columns:
        raise ArrayError("it holds objects of Python, or columns one after the other")
    return NpyHeader(dtype, shape)


class NpzArchive:
    """A `.npz` file of few arrays.

    Args:
        path: where it is.
        most: bytes that the file may have, and that its arrays without a limit of their own have
            together.
        what: it is, in the plural, for messages.

    Raises:
        ArrayError: it is no archive.
        OSError: it cannot be read, is no file, or larger.
    """

    def __init__(self, path: Path, max_bytes: int, label: str) -> None:
        self._bytes_left, self._label = max_bytes, label
        check_file_size(path, max_bytes, label)
        with path.open("rb") as file:
            _check_zip_end(file)
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as error:  # whatever zipfile makes of damaged bytes
            raise ArrayError(f"it is no archive: {error}") from None

    def __enter__(self) -> NpzArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def array_names(self) -> list[str]:
        """The names of its arrays."""
        return [name.removesuffix(".npy") for name in self._zip.namelist()]

    def read_text(self, name: str, max_bytes: int) -> str:
        """A text that is in it as an array.

        Args:
            name: of the array.
            most: bytes that it may have, four for each character.

        Raises:
            ArrayError: it is not there, damaged, too large, or no text.
        """
        found = self.read_array(name, max_bytes=max_bytes)
        if found.dtype.kind != "U" or found.shape:
            raise ArrayError(f"{name} is no text")
        numbers = np.frombuffer(found.tobytes(), found.dtype.str[0] + "u4")
        if (numbers > sys.maxunicode).any():
            raise ArrayError(f"{name} is damaged: it has characters beyond all that there are")
        return str(found)

    def read_array(self, name: str, max_bytes: int = 0) -> NDArray[Any]:
        """One of its arrays.

        Args:
            name: of the array.
            most: bytes that it may have; as many as are left of the archive's if 0.

        Raises:
            ArrayError: it is not there, damaged, or too large.
        """
        try:
            about = self._zip.getinfo(f"{name}.npy")
            if about.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ArrayError(f"{name} is compressed in a way that NumPy does not use")
            if about.file_size > (max_bytes or self._bytes_left):
                raise ArrayError(
                    f"{name} is {format_bytes(about.file_size)}, in {self._label} at most "
                    f"{format_bytes(max_bytes or self._bytes_left)}"
                )
            if not max_bytes:  # a few bytes can unpack to as many as these, array by array
                self._bytes_left -= about.file_size
            with self._zip.open(about) as file:
                head = read_npy_header(file)  # type: ignore[arg-type]  # read is all that it needs
                if file.tell() + head.size != about.file_size:
                    raise ArrayError(f"{name} is cut, or longer than it says")
                data = bytearray()
                while chunk := file.read(_CHUNK):
                    data += chunk
                return np.frombuffer(data, head.dtype).reshape(head.shape)
        except ArrayError:
            raise
        except Exception as error:  # whatever zipfile and zlib make of damaged bytes
            raise ArrayError(f"{name} is missing or damaged: {error}") from None


def _check_zip_end(file: BinaryIO) -> None:
    """Look at how long the list of files is, before zipfile reads it."""
    file.seek(0, 2)
    file.seek(max(0, file.tell() - _ZIP_END.size - _ZIP64_LOCATOR_BYTES))
    data = file.read()
    if len(data) >= _ZIP_END.size:
        mark, *_, size, _, _ = _ZIP_END.unpack(data[-_ZIP_END.size :])
        is_64 = data.startswith(b"PK\6\7")  # its record would replace this one
        if mark == b"PK\5\6" and size <= _MAX_DIRECTORY_BYTES and not is_64:
            return
    raise ArrayError("it is no archive of NumPy's")
