"""Arrays as lines, in rules that go through all of one."""

from typing import Any

from numpy.typing import NDArray


def in_line(array: NDArray[Any]) -> NDArray[Any]:
    """All values of an array, row by row; what is written to them is written to the array."""
    return array.reshape(-1)
