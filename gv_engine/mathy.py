"""Public path of algebra, as MathyEnv's documents print it; see `gv_engine.domains.algebra`."""

from typing import Any

from gv_engine.domains import algebra

__all__ = algebra.__all__


def __getattr__(name: str) -> Any:
    return getattr(algebra, name)
