"""Switch for the checks of states, actions and observations against their spaces."""

from __future__ import annotations

_is_on = False


class debugging:
    """Switch the checks on or off, permanently or for a `with` block.

    While the checks are on, every `InnerEnv` checks at each step that its state, action and
    observation lie in their spaces, and raises a `ValueError` that describes the fault.
    """

    def __init__(self, on: bool = True) -> None:
        global _is_on
        self._before = _is_on
        _is_on = on

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        global _is_on
        _is_on = self._before


def is_debugging() -> bool:
    """Return True if the checks are on."""
    return _is_on
