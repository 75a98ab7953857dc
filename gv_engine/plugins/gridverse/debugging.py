"""Switch for the checks that states, actions and observations lie in their spaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_is_on = False


class debugging:
    """Switch for the checks that states, actions and observations lie in their spaces: it turns
    them on or off, permanently or for a `with` block.

    While the checks are on, every `InnerEnv` checks each step and raises a `ValueError` that
    describes the fault.
    """

    def __init__(self, on: bool = True) -> None:
        self._before = _is_on
        reset_gv_debug(on)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        reset_gv_debug(self._before)


def reset_gv_debug(debug: bool | None = None) -> bool:
    """Turn the checks on or off, and return True if they are on; None for on, unless Python runs
    with `-O`."""
    global _is_on
    _is_on = __debug__ if debug is None else debug
    return _is_on


def gv_debug() -> bool:
    """Return True if the checks are on. They are off at first."""
    return _is_on


def checkraise(
    condition_f: Callable[[], bool],
    error_type: type[Exception],
    error_message_fmt: str,
    *args: Any,
    **kwargs: Any,
) -> None:
    """Raise an error of `error_type` if the checks are on and `condition_f` returns False.

    Args:
        error_message_fmt: message; `format` fills in the further arguments.
    """
    if gv_debug() and not condition_f():
        raise error_type(error_message_fmt.format(*args, **kwargs))
