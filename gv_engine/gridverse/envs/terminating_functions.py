"""The terminating functions: every name in the registry can be imported from here."""

from typing import Any

from gv_engine.gridverse.protocols import TerminatingFunction
from gv_engine.gridverse.registry import terminating_function_registry

__all__ = ["TerminatingFunction", "factory", "terminating_function_registry"]

factory = terminating_function_registry.factory


def __getattr__(name: str) -> Any:
    if name in terminating_function_registry:
        return terminating_function_registry[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
