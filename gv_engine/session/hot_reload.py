"""Hot reload: replay the steps of a timeline with changed scenario files, and report the first
difference."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from gv_engine.rules.errors import RuleError, StoppedError
from gv_engine.rules.frame import Scene
from gv_engine.scenario.map import format_reward
from gv_engine.session.episode import Episode, Playable
from gv_engine.session.replay import Difference
from gv_engine.session.timeline import ReloadComparison, Timeline, Watch

Result = TypeVar("Result")

_MAX_DIFFERENCES = 3  # number of differences in a message


def run_generator(work: Generator[None, None, Result]) -> Result:
    """Run the generator `work` to its end without pause, and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


def replay_timeline(
    old: Timeline, scenario: Playable, episode: Episode, watch: Watch
) -> Generator[None, None, Timeline]:
    """Take the steps of the timeline `old` again in `scenario`, its changed version, and return the
    new timeline, which tells the first difference. `episode` runs the scenario, and `watch` watches
    its files.

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
    refused = ""
    for number, step in enumerate(old.steps, 1):
        yield
        try:
            result = new.step(step.action)
        except StoppedError:
            raise
        except RuleError as error:
            raise RuleError(f"step {number}: {error}") from error
        if isinstance(result, str):
            refused = result
            break
    new.has_new_steps = False
    length = new.length
    for position in range(length + 1):
        if _looks_equal(old, new, position):
            continue
        yield
        old.seek(position, from_snapshot=False)
        new.seek(position, from_snapshot=False)
        if differences := timeline_differences(old, new):
            end = f"; no step {length + 1}: {refused}" if refused else ""
            new.comparison = _comparison(old, position, join_differences(differences) + end, length)
            break
    else:
        if refused:
            new.comparison = _comparison(old, length + 1, refused, length)
    if new.comparison is None:
        new.difference = old.difference
    new.seek(length, from_snapshot=False)
    return new


def _comparison(old: Timeline, step: int, message: str, num_steps: int) -> ReloadComparison:
    """Return the comparison with the timeline `old`: its first difference is at `step` and
    described by `message`, and `num_steps` steps have the same actions."""
    start = f"from step {step} on" if step else "from the beginning on"
    return ReloadComparison(old, Difference(step, f"{start}: {message}"), num_steps)


def _looks_equal(old: Timeline, new: Timeline, position: int) -> bool:
    """Return whether the states of the timelines `old` and `new` after `position` steps are surely
    equal. The first states never are, as they do not include the words of the mission."""
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
        pairs = {name: (after.terms.get(name, 0.0), before.terms.get(name, 0.0)) for name in names}
        terms = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        for name, (new, old) in (terms or {"": (after.reward, before.reward)}).items():
            rule = f" ({name.replace('_', ' ')})" if name else ""
            differences.append(f"reward {format_reward(new)}, was {format_reward(old)}{rule}")
    if (before.outcome, before.ending) != (after.outcome, after.ending):
        new_end = f"over: {after.ending or after.outcome}" if after.outcome else "goes on"
        old_end = before.ending or before.outcome or "went on"
        verb = "ended before: " if before.outcome else ""
        differences.append(f"{new_end}, {verb}{old_end}")
    if before.mission != after.mission:
        differences.append(f"mission {after.mission or 'none'!r}, was {before.mission or 'none'!r}")
    return differences


def join_differences(differences: Sequence[str]) -> str:
    """Return the first three sentences about differences in one line, and the number of the
    remaining ones."""
    more = len(differences) - _MAX_DIFFERENCES
    text = "; ".join(differences[:_MAX_DIFFERENCES])
    return text + (f"; and {more} more" if more > 0 else "")
