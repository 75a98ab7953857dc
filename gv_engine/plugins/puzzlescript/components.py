"""Components of PuzzleScript worlds."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from gv_engine.rules.component import Array, Int8, Int16, component


@component
class TurnResult:
    """Outcome of the last turn, of the world as a whole.

    Attributes:
        message: number of the text that the rules show, from 1; 0 for none.
        won: 1 if the level is won.
    """

    message: Int16 = 0
    won: Int8 = 0


@cache
def _make_component(name: str, layers: int) -> type[Any]:
    annotations = {"objects": Annotated[Int16, Array(layers)]}
    text = "Object + 1, or 0, in each collision layer of a cell: now, or after a restart."
    namespace = {"__annotations__": annotations, "__module__": __name__, "__doc__": text}
    return component(type(name, (), {**namespace, "objects": 0}))


def __getattr__(name: str) -> Any:
    """Return the component `Stack5` or `Saved5` for cells with 5 layers; there is one for each
    number of layers, whose columns are called `stack` and `saved`."""
    kind = name.rstrip("0123456789")
    if kind in ("Stack", "Saved") and name != kind:
        return _make_component(kind, int(name.removeprefix(kind)))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
