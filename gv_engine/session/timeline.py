"""Games that were left for another one, and those that come after it."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

from gv_engine.rules.errors import Stopped
from gv_engine.scenario.rule_modules import make_rule_error
from gv_engine.session.episode import Episode, Playable, episode_of
from gv_engine.session.file_watch import Watch
from gv_engine.session.replay import Difference, TimelineStep

# ---- course --------------------------------------------------------------------------------------

_EVERY = 16
"""Steps between two snapshots of the last `_LATELY` steps."""
_LATELY = 1024


class EpisodeSummary(NamedTuple):
    """An episode that was played, in figures."""

    seed: int
    steps: int
    total: float
    ending: str
    """How it ended, for the player; empty if it was left."""


class Before(NamedTuple):
    """How the same steps went before the files of a scenario were changed."""

    course: Timeline
    difference: Difference
    """The first one."""
    shared: int
    """So many steps of both courses have the same actions."""


class Timeline:
    """An episode that is played, forward and back.

    Args:
        scenario: what is played.
        episode: of the scenario; other courses may have played in it.
        seed: of the level.
        watch: over the files of the scenario.
        row: the state it begins with in place of the seed's level, see `Episode.row`.

    Attributes:
        scenario, episode, seed, watch, row: the same.
        start: the digest of the state at the beginning.
        steps: all of them, those that were undone too.
        sights: what stands for what agents were shown, at the beginning and after each step.
        position: steps from the beginning to where the episode is.
        difference: where a replay that is watched went another way, None if it did not.
        before: how it went before the files were changed, None if it went the same way.
        by_hand: whether any step was taken since the files were changed.
        told: what had been played when it was left, None if it was not.
    """

    def __init__(
        self, scenario: Playable, episode: Episode, seed: int, watch: Watch, row: Any = None
    ) -> None:
        if row is None:
            episode.reset(seed)
        else:
            episode.become(row)
        self.scenario, self.episode, self.seed = scenario, episode, seed
        self.watch, self.row = watch, row
        self.start = episode.state()
        self.steps: list[TimelineStep] = []
        self.sights = [episode.sight]
        self.position = 0
        self.difference: Difference | None = None
        self.before: Before | None = None
        self.by_hand = False
        self.told: EpisodeSummary | None = None
        self._keys: dict[int, Any] = {}
        self._keep()

    def copy(self) -> Timeline:
        """The same course, which goes on as it likes."""
        course = copy.copy(self)
        course.steps, course.sights = [*self.steps], [*self.sights]
        return course

    def apart(self) -> Timeline:
        """The same course in an episode of its own."""
        course = self.copy()
        course.episode = episode_of(self.scenario)
        course.episode.controlled = self.episode.controlled
        course.go(self.position)
        return course

    @property
    def length(self) -> int:
        """Steps so far, those that were undone included."""
        return len(self.steps)

    def state_at(self, position: int) -> str:
        """The digest of the state after so many steps."""
        return self.steps[position - 1].state if position else self.start

    def take(self, action: str) -> TimelineStep | str:
        """Take an action; the steps that had been undone are forgotten.

        Returns:
            The step, or why there is none.

        Raises:
            RuleError: a rule failed, and the course is as it was before.
        """
        episode = self.episode
        if refusal := episode.refusal(action):
            return refusal
        if episode.outcome:
            return "the episode is over"
        try:
            episode.step(action)
            taken = TimelineStep(action, float(episode.reward), episode.outcome, episode.state())
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            self.go(self.position)
            raise make_rule_error(error) from error
        self._parts_from_before(action)
        self.forget_beyond(self.position)
        self.steps.append(taken)
        self.sights.append(episode.sight)
        self.position += 1
        self.by_hand = True
        self._keep()
        return taken

    def _parts_from_before(self, action: str) -> None:
        """Compare no further than the same actions were taken."""
        before, here = self.before, self.position
        if before and here < before.shared and before.course.steps[here].action != action:
            self.before = before._replace(shared=here) if here >= before.difference.step else None

    def go(self, position: int, anew: bool = True) -> None:
        """Be at a position.

        Args:
            position: steps from the beginning.
            anew: from the nearest snapshot before, whatever was played in the episode; else from
                where it is, if that is not beyond.
        """
        nearest = max(at for at in self._keys if at <= position)
        if anew or not nearest <= self.position <= position:
            self.position = nearest
            self.episode.restore(self._keys[nearest])
        for taken in self.steps[self.position : position]:
            self.episode.step(taken.action)
        self.position = position

    def forget_beyond(self, position: int) -> None:
        """Forget the steps after so many."""
        del self.steps[position:], self.sights[position + 1 :]
        self._keys = {at: key for at, key in self._keys.items() if at <= position}

    def _keep(self) -> None:
        """Keep a snapshot now and then; of those long ago, fewer and fewer."""
        if self.position % _EVERY:
            return
        self._keys[self.position] = self.episode.snapshot()
        self._keys = {
            at: key for at, key in self._keys.items() if at % _distance(self.position - at) == 0
        }

    def played(self) -> EpisodeSummary | None:
        """What was played, in figures, now or when it was left; None without a step."""
        episode = self.episode
        here = EpisodeSummary(self.seed, episode.steps, episode.total, episode.ending)
        furthest = max(self.told or here, here, key=lambda played: played.steps)
        return furthest if furthest.steps else None


def _distance(age: int) -> int:
    """Steps between two snapshots that were made so many steps ago."""
    return int(_EVERY << (age // _LATELY).bit_length())


# ---- lineage -------------------------------------------------------------------------------------

_KEPT = 20
"""Games that were left and can be gone back to."""


class LeftSession(NamedTuple):
    """A game that was left for another one."""

    course: Timeline
    played: EpisodeSummary | None
    """None where no step was taken."""


class SessionHistory:
    """The games before and after the present one, oldest first."""

    def __init__(self) -> None:
        self.before: list[LeftSession] = []
        self.after: list[LeftSession] = []
        self._forgotten: list[tuple[str, EpisodeSummary]] = []

    def leave(self, left: LeftSession) -> None:
        """Keep a game as the one before this, those that came after it before it."""
        self.before += [*self.after, left]
        self.after = []
        while len(self.before) > _KEPT:
            self._forgotten += _titled(self.before.pop(0))

    def back(self, present: LeftSession) -> Timeline:
        """The game before, in place of the present one, which comes after it."""
        self.after.insert(0, present)
        return self.before.pop().course

    def on(self, present: LeftSession) -> Timeline:
        """The game after, in place of the present one, which comes before it."""
        self.before.append(present)
        return self.after.pop(0).course

    def titled(self, present: LeftSession) -> list[tuple[str, EpisodeSummary]]:
        """All that were played, in their order, each with what its scenario is called."""
        games = (*self.before, present, *self.after)
        return self._forgotten + [told for left in games for told in _titled(left)]


def _titled(left: LeftSession) -> list[tuple[str, EpisodeSummary]]:
    return [(left.course.scenario.name, left.played)] if left.played else []
