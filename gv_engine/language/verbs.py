"""Verbs of rules: one text for the object world and for compiled rows.

Those of `gv_engine.language.world.World` are its methods; rules add theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

VERBS: dict[str, Callable[..., Any]] = {}
"""Verbs of every world, by name."""


class Verbs:
    """Has all verbs as methods."""


_F = TypeVar("_F", bound=Callable[..., Any])


def verb(function: _F) -> _F:
    """Make a function `(w, …)` a method of every world: `w.blocks_vision(e)`."""
    VERBS[function.__name__] = function
    setattr(Verbs, function.__name__, function)
    return function
