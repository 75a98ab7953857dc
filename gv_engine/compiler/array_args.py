"""Addresses of a batch's arrays, as they are passed to a program.

The arrays are declared once, by the dtypes of their elements. A program gets the address of a
record with the address and length of each array; `addresses` has the Numba type of that record.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Dtypes = Mapping[str, np.dtype[Any]]
"""Dtypes of the elements of a batch's arrays, by array name."""

_ADDRESS_AND_LENGTH = np.dtype([("address", np.int64), ("length", np.int64)])


def get_array_dtypes(arrays: Mapping[str, NDArray[Any]]) -> Dtypes:
    """Return the element dtypes of (n,) arrays; an (n, ...) array has records with one field
    `row`."""
    return {
        name: np.dtype([("row", array.dtype, array.shape[1:])]) if array.ndim > 1 else array.dtype
        for name, array in arrays.items()
    }


def make_address_record(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a () record with the `address` and `length` of each array, both int64.

    The record does not keep the arrays alive.
    """
    record = np.zeros((), address_record_dtype(arrays))
    for name, array in arrays.items():
        record[name] = array.ctypes.data, len(array)
    return record


def address_record_dtype(names: Mapping[str, Any]) -> np.dtype[Any]:
    """Return the dtype of the address record of arrays with these names."""
    return np.dtype([(name, _ADDRESS_AND_LENGTH) for name in names])
