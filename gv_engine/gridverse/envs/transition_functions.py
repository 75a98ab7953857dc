"""The transition functions: every name in the registry can be imported from here."""

from typing import Any

from gv_engine.gridverse.protocols import TransitionFunction
from gv_engine.gridverse.registry import transition_function_registry

__all__ = ["TransitionFunction", "factory", "transition_function_registry"]

factory = transition_function_registry.factory


def __getattr__(name: str) -> Any:
    if name in transition_function_registry:
        return transition_function_registry[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
