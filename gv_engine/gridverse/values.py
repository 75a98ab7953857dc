"""Base of objects that are compared by content and copied independently."""

from __future__ import annotations

from typing import Any, Self


class Value:
    """Base of grids, agents, objects, states and observations."""

    def _key(self) -> tuple[Any, ...]:
        """Return the class and the content by which objects of the class are compared."""
        raise NotImplementedError

    def copy(self) -> Self:
        """Return an independent copy."""
        raise NotImplementedError

    def __copy__(self) -> Self:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Value):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())
