"""Checks of arguments by name."""

from collections.abc import Collection, Container, Mapping
from typing import Any


def checkraise_kwargs(kwargs: Mapping[str, Any], required_keys: Collection[str]) -> None:
    """Raise ValueError if one of the required names is missing in `kwargs`."""
    for key in required_keys:
        if key not in kwargs:
            raise ValueError(f"missing keyword argument {key!r}")


def select_kwargs(kwargs: Mapping[str, Any], keys: Container[str]) -> dict[str, Any]:
    """Return the arguments with these names."""
    return {key: value for key, value in kwargs.items() if key in keys}
