"""Places of a batch's arrays, each under its name, as they cross into a program.

They are declared once, by what their elements are. A program is given the address of a record that
says where each array is and how long; `addresses` says what it is in compiled code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Elements = Mapping[str, np.dtype[Any]]
"""Dtypes of a batch's arrays, by their names."""

_PLACE = np.dtype([("address", np.int64), ("length", np.int64)])


def elements_of(arrays: Mapping[str, NDArray[Any]]) -> Elements:
    """Dtypes of (n,) arrays; of (n, …) ones, records with one field `row`."""
    return {
        name: np.dtype([("row", array.dtype, array.shape[1:])]) if array.ndim > 1 else array.dtype
        for name, array in arrays.items()
    }


def places_of(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """() record with the `address` and the `length` of each array; it does not keep them alive."""
    places = np.zeros((), places_in(arrays))
    for name, array in arrays.items():
        places[name] = array.ctypes.data, len(array)
    return places


def places_in(names: Mapping[str, Any]) -> np.dtype[Any]:
    """dtype of the record of places of arrays with these names."""
    return np.dtype([(name, _PLACE) for name in names])
