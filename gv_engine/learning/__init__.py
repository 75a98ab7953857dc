"""Learners, and training runs on disk, which need torch; and policies of trained networks, which
act without torch.

The public names are listed in `__init__.pyi`; each is imported on first use.
"""

from pkgutil import resolve_name
from typing import Any

from gv_engine.late_imports import LEARNING_NAMES
from gv_engine.scenario.plugin import RL


def __getattr__(name: str) -> Any:
    """Return the public object called `name`."""
    if name not in LEARNING_NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "export_policy":
        RL.require()
    return resolve_name(LEARNING_NAMES[name])


def __dir__() -> list[str]:
    """Return the public names."""
    return [*LEARNING_NAMES]
