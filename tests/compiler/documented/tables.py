"""An example for each line of the tables in `docs/compiling.md`.

`EXAMPLES` has a function by the code in the first cell of a line; `REFUSED` has a function that
does not compile, with a part of its error. Each function takes two numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

EXAMPLES: dict[str, list[tuple[Callable[..., Any], type]]] = {}
"""Functions, and the types of their arguments, by the code that they show."""
REFUSED: dict[str, tuple[Callable[..., Any], str]] = {}
"""Functions that do not compile, and a part of the error, by the code that they show."""
OF_WORLD: dict[str, list[Callable[..., Any]]] = {}
"""Functions of a world by the code that they show; the world is the start of `keydoor-5x5`."""
SETTLED: dict[str, tuple[Callable[..., Any], str]] = {}
"""Functions of a world by what they do, and what both worlds do about it: "same" result, "error" in
both, "compiled" for an error where Python goes on, or "refused" when the rule is compiled."""
PRICES = {1: 5, 4: 7, -3: 0}
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
WEIGHTS = np.array([3, 1, 4, 1, 5])


class Item(IntEnum):
    """Items with numbers."""

    APPLE = 1
    PEAR = 2


def shows(*codes: str, of: type = int) -> Callable[[Any], Any]:
    """Return a decorator for a function of two numbers of type `of` that shows some code."""

    def add(function: Any) -> Any:
        for code in codes:
            EXAMPLES.setdefault(code, []).append((function, of))
        return function

    return add


def refused(code: str, error: str) -> Callable[[Any], Any]:
    """Return a decorator for a function that does not compile."""

    def add(function: Any) -> Any:
        REFUSED[code] = function, error
        return function

    return add


def of_world(*codes: str) -> Callable[[Any], Any]:
    """Return a decorator for a function of a world that shows some code."""

    def add(function: Any) -> Any:
        for code in codes:
            OF_WORLD.setdefault(code, []).append(function)
        return function

    return add


def settled(text: str, outcome: str) -> Callable[[Any], Any]:
    """Return a decorator for a function of a world whose results could differ."""

    def add(function: Any) -> Any:
        SETTLED[text] = function, outcome
        return function

    return add
