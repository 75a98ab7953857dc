"""Public path of learning: the names of `gv_engine.plugins.learning`."""

from typing import TYPE_CHECKING, Any

from gv_engine.plugins import learning

if TYPE_CHECKING:
    from gv_engine.plugins.learning import *


def __getattr__(name: str) -> Any:
    return getattr(learning, name)


def __dir__() -> list[str]:
    return dir(learning)
