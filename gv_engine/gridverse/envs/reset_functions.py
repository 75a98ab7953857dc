"""The reset functions: every name in the registry can be imported from here."""

from typing import Any

from gv_engine.gridverse.protocols import ResetFunction
from gv_engine.gridverse.registry import reset_function_registry

__all__ = ["ResetFunction", "factory", "reset_function_registry"]

factory = reset_function_registry.factory


def __getattr__(name: str) -> Any:
    if name in reset_function_registry:
        return reset_function_registry[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
