"""The switch of the checks that environments make on what passes through them."""

from __future__ import annotations

_is_on = False


class debugging:
    """Switch the checks on or off, for good or for a `with` block.

    While they are on, every `InnerEnv` makes sure at each step that its state, action and
    observation lie in their spaces, and raises a `ValueError` that says what does not.

    >>> with debugging():
    ...     is_debugging()
    True
    >>> is_debugging()
    False
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
    """Whether the checks are on."""
    return _is_on
