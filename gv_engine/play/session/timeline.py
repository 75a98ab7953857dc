"""Timeline of one episode: its steps, with snapshots to seek through them; and the history of the
timelines of a session."""

from __future__ import annotations

import copy
import time
from collections.abc import Generator, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gv_engine.play.session.episode import Episode, Playable, make_episode
from gv_engine.play.session.replay import Difference, TimelineStep
from gv_engine.rules.errors import RuleError, Stopped, StoppedError
from gv_engine.rules.frame import Scene
from gv_engine.scenario.documents.rule_errors import make_rule_error
from gv_engine.scenario.documents.rule_files import SourceFile
from gv_engine.scenario.readers.map import format_reward

_TIME_RESOLUTION = 2_000_000_000  # ns; the coarsest file times count in two seconds


class _FileState(NamedTuple):
    """State of a file at one time.

    Attributes:
        stamp: time of the last change in ns, and size in bytes; zeros if the file is missing.
        is_unsure: whether the file was so young that the next change may leave the same stamp.
    """

    stamp: tuple[int, int]
    is_unsure: bool
    file: SourceFile


class Watch:
    """State of files at one time, to detect later changes.

    Args:
        files: paths; files may be missing, and may appear or vanish later.
    """

    def __init__(self, files: Iterable[Path]) -> None:
        self._states: dict[Path, _FileState] = {}  # so that unchanged files are not read again
        self._first = {path: self._read_file(path) for path in files}

    def differs(self, files: Iterable[Path]) -> bool:
        """Return whether `files` differ from the watched files in paths or content. Only files
        whose time or size has changed, or that were very new, are read."""
        return {path: self._read_file(path) for path in files} != self._first

    def _read_file(self, path: Path) -> SourceFile:
        """Return path and content hash of a file. The file is read again only if its time or size
        has changed, or if it was less than two seconds old when last read."""
        try:
            stat = path.stat()
            stamp = stat.st_mtime_ns, stat.st_size
        except OSError:
            stamp = 0, 0
        state = self._states.get(path)
        if state is None or state.is_unsure or state.stamp != stamp:
            is_unsure = time.time_ns() - stamp[0] < _TIME_RESOLUTION
            state = self._states[path] = _FileState(stamp, is_unsure, SourceFile.read(path))
        return state.file


_SNAPSHOT_INTERVAL = 16  # steps between two snapshots, for the last `_RECENT_STEPS`
_RECENT_STEPS = 1024
_MAX_HISTORY = 20  # number of timelines that a session can go back to


class EpisodeSummary(NamedTuple):
    """Seed, length, return and end of an episode.

    Attributes:
        ending: sentence about the end, for the player; empty if the episode has not ended.
    """

    seed: int
    steps: int
    total: float
    ending: str


class ReloadComparison(NamedTuple):
    """Comparison of a timeline with the same steps before a reload of the scenario.

    Attributes:
        timeline: timeline before the reload.
        difference: first difference.
        num_steps: number of steps with the same actions in both timelines.
    """

    timeline: Timeline
    difference: Difference
    num_steps: int


class Timeline:
    """Steps of one episode, with a position that can be moved to every step.

    Args:
        scenario: scenario of the episode.
        episode: runs the scenario; timelines may share one, if only one is in use at a time.
        seed: seed of the episode.
        watch: watch over the scenario files.
        row: state to start with in place of the level of the seed, see `Episode.row`.

    Attributes:
        scenario, episode, seed, watch, row: as above.
        start: digest of the first state.
        steps: all steps, undone steps included.
        view_hashes: `Episode.view_hash` of the first state and after each step.
        position: number of steps from the beginning to the current state of the episode.
        difference: first difference from a watched replay; None without one.
        comparison: comparison with the timeline before a reload; None if nothing differs.
        has_new_steps: whether steps were taken since the last reload.
        summary: summary of the furthest position when the session left the timeline; None before.
        is_listed: whether the history lists the summary.
    """

    def __init__(
        self, scenario: Playable, episode: Episode, seed: int, watch: Watch, row: Any = None
    ) -> None:
        if row is None:
            episode.reset(seed)
        else:
            episode.load_row(row)
        self.scenario, self.episode, self.seed = scenario, episode, seed
        self.watch, self.row = watch, row
        self.start = episode.state_digest()
        self.steps: list[TimelineStep] = []
        self.view_hashes = [episode.view_hash]
        self.position = 0
        self.difference: Difference | None = None
        self.comparison: ReloadComparison | None = None
        self.has_new_steps = False
        self.summary: EpisodeSummary | None = None
        self.is_listed = True
        self._snapshots: dict[int, Any] = {}
        self._save_snapshot()

    def copy(self) -> Timeline:
        """Return a copy with its own list of steps; it shares the running episode with the
        original."""
        timeline = copy.copy(self)
        timeline.steps, timeline.view_hashes = [*self.steps], [*self.view_hashes]
        return timeline

    def copy_with_episode(self) -> Timeline:
        """Return a copy that runs an episode of its own, moved to the same position."""
        timeline = self.copy()
        timeline.episode = make_episode(self.scenario)
        timeline.episode.controlled = self.episode.controlled
        timeline.seek(self.position)
        return timeline

    @property
    def length(self) -> int:
        """Number of steps, undone steps included."""
        return len(self.steps)

    def state_at(self, position: int) -> str:
        """Return the hash of the state after `position` steps."""
        return self.steps[position - 1].state if position else self.start

    def step(self, action: str) -> TimelineStep | str:
        """Take `action` at the current position, and drop all undone steps after it. Return the
        step, or the reason why the action is refused.

        Raises:
            RuleError: a rule failed, and the timeline is unchanged.
        """
        episode = self.episode
        if reason := episode.refusal_reason(action):
            return reason
        if episode.outcome:
            return "the episode is over"
        try:
            episode.step(action)
            step = TimelineStep(
                action, float(episode.reward), episode.outcome, episode.state_digest()
            )
        except (Exception, Stopped) as error:  # any error of a custom rule
            self.seek(self.position)
            raise make_rule_error(error) from error
        self._limit_comparison(action)
        self.truncate(self.position)
        self.steps.append(step)
        self.view_hashes.append(episode.view_hash)
        self.position += 1
        self.has_new_steps = True
        self._save_snapshot()
        return step

    def _limit_comparison(self, action: str) -> None:
        """End the comparison with the other timeline at this position if `action` differs from its
        action. Drop the comparison if its first difference comes later."""
        comparison, position = self.comparison, self.position
        if comparison is None or position >= comparison.num_steps:
            return
        if comparison.timeline.steps[position].action != action:
            has_difference = position >= comparison.difference.step
            self.comparison = comparison._replace(num_steps=position) if has_difference else None

    def seek(self, position: int, from_snapshot: bool = True) -> None:
        """Move the episode to the state after `position` steps.

        Args:
            position: number of steps from the beginning.
            from_snapshot: always restore the nearest earlier snapshot, as needed if another
                timeline has used the episode; else continue from the current state if possible.
        """
        nearest = max(start for start in self._snapshots if start <= position)
        if from_snapshot or not nearest <= self.position <= position:
            self.position = nearest
            self.episode.restore(self._snapshots[nearest])
        for step in self.steps[self.position : position]:
            self.episode.step(step.action)
        self.position = position

    def truncate(self, position: int) -> None:
        """Drop all steps after the first `position` ones."""
        del self.steps[position:], self.view_hashes[position + 1 :]
        self._snapshots = {at: key for at, key in self._snapshots.items() if at <= position}

    def _save_snapshot(self) -> None:
        """Save the state if the position is a multiple of 16 steps, and drop some of the older
        saved states."""
        if self.position % _SNAPSHOT_INTERVAL:
            return
        self._snapshots[self.position] = self.episode.snapshot()
        self._snapshots = {
            at: snapshot
            for at, snapshot in self._snapshots.items()
            if at % _snapshot_interval(self.position - at) == 0
        }

    def summarize(self) -> EpisodeSummary | None:
        """Return a summary (seed, steps, return, end) of the episode at the furthest position
        reached; None if no step was taken."""
        episode = self.episode
        current = EpisodeSummary(self.seed, episode.steps, episode.total, episode.ending)
        furthest = max(self.summary or current, current, key=lambda summary: summary.steps)
        return furthest if furthest.steps else None


def _snapshot_interval(age: int) -> int:
    """Return the steps between two snapshots that are `age` steps old: twice as many whenever the
    age doubles."""
    return int(_SNAPSHOT_INTERVAL << (age // _RECENT_STEPS).bit_length())


class SessionHistory:
    """Timelines before and after the current one, oldest first."""

    def __init__(self) -> None:
        self.before: list[Timeline] = []
        self.after: list[Timeline] = []
        self._dropped: list[tuple[str, EpisodeSummary]] = []

    def append(self, timeline: Timeline) -> None:
        """Append `timeline`, which the player has left for a new one, to the history, after all
        other timelines; drop the oldest timelines if there are too many."""
        self.before += [*self.after, timeline]
        self.after = []
        while len(self.before) > _MAX_HISTORY:
            self._dropped += _titled_summary(self.before.pop(0))

    def titled_summaries(self, current: Timeline) -> list[tuple[str, EpisodeSummary]]:
        """Return scenario name and summary of all episodes with at least one step, oldest first;
        `current` is the one being played."""
        summary = current.summarize()
        return [
            *self._dropped,
            *chain.from_iterable(map(_titled_summary, self.before)),
            *([(current.scenario.name, summary)] if summary else []),
            *chain.from_iterable(map(_titled_summary, self.after)),
        ]


def _titled_summary(timeline: Timeline) -> list[tuple[str, EpisodeSummary]]:
    if timeline.summary is None or not timeline.is_listed:
        return []
    return [(timeline.scenario.name, timeline.summary)]


Result = TypeVar("Result")

_MAX_DIFFERENCES = 3  # number of differences in a message


def run_generator(work: Generator[float | None, None, Result]) -> Result:
    """Run the generator `work` to its end, sleeping for the seconds that it yields, if any, and
    return its result."""
    while True:
        try:
            if pause := next(work):
                time.sleep(pause)
        except StopIteration as end:
            result: Result = end.value
            return result


def replay_timeline(
    old: Timeline, scenario: Playable, episode: Episode, watch: Watch
) -> Generator[None, None, Timeline]:
    """Take the steps of the timeline `old` again in `scenario`, the changed version of its
    scenario, and return the new timeline.

    Args:
        old: timeline to replay; not changed.
        scenario, episode, watch: parts of the new timeline.

    Yields:
        None after every few steps, so that the caller can do other work.

    Returns:
        The new timeline, at its end; shorter than the old one if an action is refused. Its
        `comparison` names the first difference.

    Raises:
        RuleError: a rule failed; the message names the step.
    """
    new = Timeline(scenario, episode, old.seed, watch, old.row)
    old = old.copy_with_episode()
    refusal = ""
    for number, step in enumerate(old.steps, 1):
        yield
        try:
            result = new.step(step.action)
        except StoppedError:
            raise
        except RuleError as error:
            raise RuleError(f"step {number}: {error}") from error
        if isinstance(result, str):
            refusal = result
            break
    new.has_new_steps = False
    new.comparison = yield from _compare_timelines(old, new, refusal)
    if new.comparison is None:
        new.difference = old.difference
    new.seek(new.length, from_snapshot=False)
    return new


def _compare_timelines(
    old: Timeline, new: Timeline, refusal: str
) -> Generator[None, None, ReloadComparison | None]:
    """Find the first difference between two timelines; None if there is none. The generator yields
    before each slow comparison. `refusal` says why `new` ended early, or is ""."""
    step, message = new.length + 1, refusal
    for position in range(new.length + 1):
        if _looks_equal(old, new, position):
            continue
        yield
        old.seek(position, from_snapshot=False)
        new.seek(position, from_snapshot=False)
        if differences := timeline_differences(old, new):
            end = f"; no step {new.length + 1}: {refusal}" if refusal else ""
            step, message = position, join_differences(differences) + end
            break
    if not message:
        return None
    start = f"from step {step} on" if step else "from the beginning on"
    return ReloadComparison(old, Difference(step, f"{start}: {message}"), new.length)


def _looks_equal(old: Timeline, new: Timeline, position: int) -> bool:
    """Return True if the states of two timelines after `position` steps are known to be equal.
    False for position 0, where only the mission's text may differ."""
    return (
        old.state_at(position) == new.state_at(position)
        and old.view_hashes[position] == new.view_hashes[position]
        and position > 0
    )


def timeline_differences(old: Timeline, new: Timeline) -> list[str]:
    """Return sentences about the differences between the current states of the timelines `old` and
    `new`, from before and after a change of files, the most important first."""
    before, after = old.episode.frame(""), new.episode.frame("")
    if before.domain != after.domain:
        return ["worlds of another domain"]
    differences = [*_scene_differences(before, after), *new.episode.differences(old.episode)]
    if before.total != after.total and before.reward == after.reward:
        differences.append(
            f"return {format_reward(after.total)}, was {format_reward(before.total)}"
        )
    return differences


def _scene_differences(before: Scene, after: Scene) -> list[str]:
    """Return sentences about different rewards, ends and missions in the displayed states before
    and after a change."""
    differences = []
    if before.reward != after.reward:
        names = dict.fromkeys((*after.terms, *before.terms))
        terms = [(name, after.terms.get(name, 0.0), before.terms.get(name, 0.0)) for name in names]
        changed_terms = [(name, new, old) for name, new, old in terms if new != old]
        for name, new, old in changed_terms or [("", after.reward, before.reward)]:
            rule = f" ({name.replace('_', ' ')})" if name else ""
            differences.append(f"reward {format_reward(new)}, was {format_reward(old)}{rule}")
    if (before.outcome, before.ending) != (after.outcome, after.ending):
        new_end = f"over: {after.ending or after.outcome}" if after.outcome else "goes on"
        old_end = (
            f"ended before: {before.ending or before.outcome}" if before.outcome else "went on"
        )
        differences.append(f"{new_end}, {old_end}")
    if before.mission != after.mission:
        differences.append(f"mission {after.mission or 'none'!r}, was {before.mission or 'none'!r}")
    return differences


def join_differences(differences: Sequence[str]) -> str:
    """Return the first three sentences about differences in one line, and the number of the
    remaining ones."""
    num_omitted = len(differences) - _MAX_DIFFERENCES
    text = "; ".join(differences[:_MAX_DIFFERENCES])
    return f"{text}; and {num_omitted} more" if num_omitted > 0 else text
