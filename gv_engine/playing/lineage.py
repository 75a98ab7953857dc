"""Games that were left for another one, and those that come after it."""

from __future__ import annotations

from typing import NamedTuple

from gv_engine.playing.course import Course, Played

_KEPT = 20
"""Games that were left and can be gone back to."""


class Left(NamedTuple):
    """A game that was left for another one."""

    course: Course
    played: Played | None
    """None where no step was taken."""


class Lineage:
    """The games before and after the present one, oldest first."""

    def __init__(self) -> None:
        self.before: list[Left] = []
        self.after: list[Left] = []
        self._forgotten: list[tuple[str, Played]] = []

    def leave(self, left: Left) -> None:
        """Keep a game as the one before this, those that came after it before it."""
        self.before += [*self.after, left]
        self.after = []
        while len(self.before) > _KEPT:
            self._forgotten += _titled(self.before.pop(0))

    def back(self, present: Left) -> Course:
        """The game before, in place of the present one, which comes after it."""
        self.after.insert(0, present)
        return self.before.pop().course

    def on(self, present: Left) -> Course:
        """The game after, in place of the present one, which comes before it."""
        self.before.append(present)
        return self.after.pop(0).course

    def titled(self, present: Left) -> list[tuple[str, Played]]:
        """All that were played, in their order, each with what its scenario is called."""
        games = (*self.before, present, *self.after)
        return self._forgotten + [told for left in games for told in _titled(left)]


def _titled(left: Left) -> list[tuple[str, Played]]:
    return [(left.course.scenario.name, left.played)] if left.played else []
