"""Files of NumPy that grow while they are written."""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np


class GrowingArray:
    """A `.npy` file that rows are appended to.

    Args:
        path: of a new file; or of one that goes on, if it is `known`.
        dtype, shape: of a row.
        known: what `told` has said of it, and how many rows it had then.

    NumPy leaves room in the head of every file for the number of rows to grow.

    Attributes:
        about: dtype and shape of a row, as `rollout.json` has them.
    """

    def __init__(
        self,
        path: Path,
        dtype: Any,
        shape: tuple[int, ...] = (),
        known: tuple[dict[str, Any], int] | None = None,
    ) -> None:
        self._dtype, self._shape = np.dtype(dtype), shape
        self._row = self._dtype.itemsize * int(np.prod(shape))
        self.about = row_kind(dtype, shape)
        about, number = known or ({"crc32": 0}, 0)
        self._sums = {number: int(about["crc32"])}  # of the bytes of so many rows
        self._file = path.open("r+b" if known else "xb")
        self.count(number)
        self._begin = self._file.tell()
        self._file.truncate(self._begin + number * self._row)

    def write(self, start: int, rows: Any) -> None:
        """Put (K, …) rows behind the first `start`; they are not counted yet."""
        data = np.ascontiguousarray(rows, self._dtype)
        self._file.seek(self._begin + start * self._row)
        self._file.write(data.data)
        self._sums[start + len(rows)] = zlib.crc32(data.data, self._sums[start])

    def count(self, number: int) -> None:
        """Say in the head how many rows there are."""
        self._file.flush()
        self._file.seek(0)
        head = {
            "descr": np.lib.format.dtype_to_descr(self._dtype),
            "fortran_order": False,
            "shape": (number, *self._shape),
        }
        np.lib.format.write_array_header_1_0(self._file, head)
        self._file.flush()

    def told(self, number: int) -> dict[str, Any]:
        """What `rollout.json` says of it and its first rows, behind which the next are written."""
        self._sums = {number: self._sums[number]}
        return {**self.about, "crc32": self._sums[number]}

    def close(self) -> None:
        """Let go of the file; what it still holds back is lost if there is no room for it."""
        with suppress(OSError):
            self._file.close()


def row_kind(dtype: Any, shape: tuple[int, ...]) -> dict[str, Any]:
    """dtype and shape of a row, as `rollout.json` has them."""
    return {"dtype": np.dtype(dtype).str, "shape": list(shape)}
