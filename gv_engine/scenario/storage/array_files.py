"""Reader of NumPy's files `.npy` and `.npz`, which may be damaged or hostile."""

from __future__ import annotations

import struct
import sys
import zipfile
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from gv_engine.scenario.storage.files import check_file_size, format_bytes

_MAX_HEADER_CHARACTERS = 100_000
"""Maximum length of a `.npy` header in characters; the header of a world's array has a few
thousand."""
_CHUNK = 2**20
_HEADER_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_ZIP_END = struct.Struct("<4s4H2LH")
"""End record of a ZIP file: signature, disk and file counts, size and offset of the directory,
length of the comment."""
_ZIP64_LOCATOR_BYTES = 20  # size of the locator record of ZIP64 files, right before the end record
_MAX_DIRECTORY_BYTES = 4096
"""Maximum size of a ZIP directory in bytes; the directory of a snapshot has about a hundred."""


class ArrayError(ValueError):
    """The bytes of a file are not a complete array; the message says why."""


class NpyHeader(NamedTuple):
    """Header of a `.npy` file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Size of the array in bytes."""
        return self.dtype.itemsize * prod(self.shape)


def read_npy_header(file: BinaryIO) -> NpyHeader:
    """Read the header of a `.npy` file. Afterwards, `file` is positioned at the array's data.

    Raises:
        ArrayError: the header is damaged, or the array holds Python objects or is in Fortran order.
    """
    try:
        shape, fortran_order, dtype = _HEADER_READERS[npy.read_magic(file)](
            file, max_header_size=_MAX_HEADER_CHARACTERS
        )
    except Exception as error:  # NumPy and Python's parser raise anything for damaged bytes
        raise ArrayError(f"it has no NumPy header: {type(error).__name__}") from None
    if dtype.hasobject or fortran_order:
        raise ArrayError("it holds Python objects, or is in Fortran order")
    return NpyHeader(dtype, shape)


class NpzArchive:
    """Reader of a `.npz` file of a few arrays, with size limits.

    Args:
        path: the file.
        max_bytes: limit of the file's size, and of the total size of the arrays that are read
            without a limit of their own.
        label: plural noun for such files in messages, such as "snapshots".

    Raises:
        ArrayError: the file is no `.npz` archive.
        OSError: the file cannot be read, is no regular file, or is too large.
    """

    def __init__(self, path: Path, max_bytes: int, label: str) -> None:
        """Open a `.npz` archive. Raise an error if the file has more than `max_bytes`. `label`
        names this kind of file in messages."""
        self._bytes_left = max_bytes
        self._label = label
        check_file_size(path, max_bytes, label)
        with path.open("rb") as file:
            _check_zip_end(file)
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as error:  # zipfile raises anything for damaged bytes
            raise ArrayError(f"it is not an archive: {error}") from None

    def __enter__(self) -> NpzArchive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def array_names(self) -> list[str]:
        """Names of the arrays."""
        return [name.removesuffix(".npy") for name in self._zip.namelist()]

    def read_text(self, name: str, max_bytes: int) -> str:
        """Return a text from the archive, which is stored under `name` as an array of one string.

        Args:
            name: the array.
            max_bytes: limit of the array's size, four bytes per character.

        Raises:
            ArrayError: the array is missing, damaged, too large, or no text.
        """
        array = self.read_array(name, max_bytes=max_bytes)
        if array.dtype.kind != "U" or array.shape:
            raise ArrayError(f"{name} is not text")
        byte_order = array.dtype.str[0]
        code_points = np.frombuffer(array.tobytes(), f"{byte_order}u4")
        if (code_points > sys.maxunicode).any():
            raise ArrayError(f"{name} is damaged: it has characters beyond U+10FFFF")
        return str(array)

    def read_array(self, name: str, max_bytes: int = 0) -> NDArray[Any]:
        """Return the array that the archive stores under `name`.

        Args:
            name: the array.
            max_bytes: limit of the array's size; 0 for the rest of the archive's limit.

        Raises:
            ArrayError: the array is missing, damaged, or too large.
        """
        try:
            entry = self._zip.getinfo(f"{name}.npy")
            if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ArrayError(f"{name} is compressed in a way that NumPy does not use")
            limit = max_bytes or self._bytes_left
            if entry.file_size > limit:
                raise ArrayError(
                    f"{name} is {format_bytes(entry.file_size)}, in {self._label} at most "
                    f"{format_bytes(limit)}"
                )
            if not max_bytes:  # small arrays can unpack to large ones, one after the other
                self._bytes_left -= entry.file_size
            return _read_entry(self._zip, entry, name)
        except ArrayError:
            raise
        except Exception as error:  # zipfile and zlib raise anything for damaged bytes
            raise ArrayError(f"{name} is missing or damaged: {error}") from None


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """Read an array from an archive in chunks, so that a header with a false size does not allocate
    too much memory. `name` is for messages."""
    with archive.open(entry) as file:
        header = read_npy_header(file)  # type: ignore[arg-type]  # only read() is used
        if file.tell() + header.size != entry.file_size:
            raise ArrayError(f"{name} is truncated, or longer than its header says")
        data = bytearray()
        while chunk := file.read(_CHUNK):
            data += chunk
    return np.frombuffer(data, header.dtype).reshape(header.shape)


def _check_zip_end(file: BinaryIO) -> None:
    """Raise ArrayError if the directory at the end of a ZIP file is missing, too long or in ZIP64
    format. It is called before `zipfile` reads the file."""
    file.seek(0, 2)
    file.seek(max(0, file.tell() - _ZIP_END.size - _ZIP64_LOCATOR_BYTES))
    data = file.read()
    if len(data) >= _ZIP_END.size:
        signature, *_, size, _, _ = _ZIP_END.unpack(data[-_ZIP_END.size :])
        is_64 = data.startswith(b"PK\6\7")  # the ZIP64 record would replace this one
        if signature == b"PK\5\6" and size <= _MAX_DIRECTORY_BYTES and not is_64:
            return
    raise ArrayError("it is not a NumPy archive")
