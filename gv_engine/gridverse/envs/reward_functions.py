"""The reward functions: every name in the registry can be imported from here."""

from typing import Any

from gv_engine.gridverse.protocols import RewardFunction
from gv_engine.gridverse.registry import reward_function_registry

__all__ = ["RewardFunction", "factory", "reward_function_registry"]

factory = reward_function_registry.factory


def __getattr__(name: str) -> Any:
    if name in reward_function_registry:
        return reward_function_registry[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
