"""The visibility functions: every name in the registry can be imported from here."""

from typing import Any

from gv_engine.gridverse.protocols import VisibilityFunction
from gv_engine.gridverse.registry import visibility_function_registry

__all__ = ["VisibilityFunction", "factory", "visibility_function_registry"]

factory = visibility_function_registry.factory


def __getattr__(name: str) -> Any:
    if name in visibility_function_registry:
        return visibility_function_registry[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
