"""Arrays in files of NumPy's, of which nothing is believed before it has been checked."""

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

from gv_engine.reading.files import bytes_for_people, size_of

_LONGEST_HEAD = 100_000
"""Characters; that of a world has a few thousand."""
_CHUNK = 2**20
_READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_END = struct.Struct("<4s4H2LH")
"""The end of an archive: mark, disks and files, bytes and place of the list of files, comment."""
_LOCATOR_OF_64 = 20
"""Bytes of what names the end of a ZIP64 archive, right before it."""
_LONGEST_LIST = 4096
"""Bytes; that of a snapshot has a hundred."""


class ArrayError(ValueError):
    """Bytes that are no array, or not all of one; says which."""


class Head(NamedTuple):
    """What a `.npy` file says of its array."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Bytes of the array."""
        return self.dtype.itemsize * prod(self.shape)


def read_head(file: BinaryIO) -> Head:
    """The head of a `.npy` file; what is read next is the array.

    Raises:
        ArrayError: it has none, or one of Python objects or of columns one after the other.
    """
    try:
        shape, by_columns, dtype = _READERS[npy.read_magic(file)](
            file, max_header_size=_LONGEST_HEAD
        )
    except Exception as error:  # whatever NumPy, and Python's parser, make of damaged bytes
        raise ArrayError(f"its head is none of NumPy's: {type(error).__name__}") from None
    if dtype.hasobject or by_columns:
        raise ArrayError("it holds objects of Python, or columns one after the other")
    return Head(dtype, shape)


class Archive:
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

    def __init__(self, path: Path, most: int, what: str) -> None:
        self._left, self._what = most, what
        size_of(path, most, what)
        with path.open("rb") as file:
            _check_end(file)
        try:
            self._zip = zipfile.ZipFile(path)
        except Exception as error:  # whatever zipfile makes of damaged bytes
            raise ArrayError(f"it is no archive: {error}") from None

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """The names of its arrays."""
        return [name.removesuffix(".npy") for name in self._zip.namelist()]

    def text(self, name: str, most: int) -> str:
        """A text that is in it as an array.

        Args:
            name: of the array.
            most: bytes that it may have, four for each character.

        Raises:
            ArrayError: it is not there, damaged, too large, or no text.
        """
        found = self.read(name, most=most)
        if found.dtype.kind != "U" or found.shape:
            raise ArrayError(f"{name} is no text")
        numbers = np.frombuffer(found.tobytes(), found.dtype.str[0] + "u4")
        if (numbers > sys.maxunicode).any():
            raise ArrayError(f"{name} is damaged: it has characters beyond all that there are")
        return str(found)

    def read(self, name: str, most: int = 0) -> NDArray[Any]:
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
            if about.file_size > (most or self._left):
                raise ArrayError(
                    f"{name} is {bytes_for_people(about.file_size)}, in {self._what} at most "
                    f"{bytes_for_people(most or self._left)}"
                )
            if not most:  # a few bytes can unpack to as many as these, array by array
                self._left -= about.file_size
            with self._zip.open(about) as file:
                head = read_head(file)  # type: ignore[arg-type]  # read is all that it needs
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


def _check_end(file: BinaryIO) -> None:
    """Look at how long the list of files is, before zipfile reads it."""
    file.seek(0, 2)
    file.seek(max(0, file.tell() - _END.size - _LOCATOR_OF_64))
    data = file.read()
    if len(data) >= _END.size:
        mark, *_, size, _, _ = _END.unpack(data[-_END.size :])
        is_64 = data.startswith(b"PK\6\7")  # its record would replace this one
        if mark == b"PK\5\6" and size <= _LONGEST_LIST and not is_64:
            return
    raise ArrayError("it is no archive of NumPy's")
