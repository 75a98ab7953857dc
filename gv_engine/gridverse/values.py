"""Values: things that are equal when what they show is, and whose copies are independent."""

from __future__ import annotations

from typing import Any, Self


class Value:
    """The base of grids, agents, objects, states and observations."""

    def _key(self) -> tuple[Any, ...]:
        """Its class, and all by which it is compared with others of it."""
        raise NotImplementedError

    def copy(self) -> Self:
        """One like it, of which nothing is shared."""
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
