"""The observation functions: every name in the registry can be imported from here."""

from typing import Any

from gv_engine.gridverse.protocols import ObservationFunction
from gv_engine.gridverse.registry import observation_function_registry

__all__ = ["ObservationFunction", "factory", "observation_function_registry"]

factory = observation_function_registry.factory


def __getattr__(name: str) -> Any:
    if name in observation_function_registry:
        return observation_function_registry[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
