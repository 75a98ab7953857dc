"""Time flows back: the steps of a game again, as the files of its scenario say them now."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TypeVar

from gv_engine.rules.errors import RuleError, StoppedError
from gv_engine.rules.frame import Scene
from gv_engine.scenario.map import format_reward
from gv_engine.session.episode import Episode, Playable
from gv_engine.session.file_watch import Watch
from gv_engine.session.replay import Difference
from gv_engine.session.timeline import Before, Timeline

Answer = TypeVar("Answer")

_TOLD = 3
"""Differences of a step that are told; of more, how many."""


def to_the_end(work: Generator[None, None, Answer]) -> Answer:
    """What comes of something that is done bit by bit."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            answer: Answer = end.value
            return answer


def flow(
    was: Timeline, scenario: Playable, episode: Episode, watch: Watch
) -> Generator[None, None, Timeline]:
    """Take the steps of a course in a scenario that was loaded anew.

    Args:
        was: how they went; it is left alone.
        scenario, episode, watch: in which they are taken, and what looks after its files.

    Yields:
        None, often; whoever asks for more may do something else first.

    Returns:
        The course, at its end, as far as its steps go; its `before` says where it differs first.

    Raises:
        RuleError: a rule failed; the message says at which step.
    """
    now = Timeline(scenario, episode, was.seed, watch, was.row)
    was = was.apart()
    refused = ""
    for number, taken in enumerate(was.steps, 1):
        yield
        try:
            found = now.take(taken.action)
        except StoppedError:
            raise
        except RuleError as error:
            raise RuleError(f"step {number}: {error}") from error
        if isinstance(found, str):
            refused = found
            break
    now.by_hand = False
    length = now.length
    for position in range(length + 1):
        if _looks_alike(was, now, position):
            continue
        yield
        was.go(position, anew=False)
        now.go(position, anew=False)
        if told := course_differences(was, now):
            end = f"; no step {length + 1}: {refused}" if refused else ""
            now.before = _before(was, position, in_a_line(told) + end, length)
            break
    else:
        if refused:
            now.before = _before(was, length + 1, refused, length)
    if now.before is None:
        now.difference = was.difference
    now.go(length, anew=False)
    return now


def _before(was: Timeline, step: int, told: str, shared: int) -> Before:
    since = f"from step {step} on" if step else "from the beginning on"
    return Before(was, Difference(step, f"{since}: {told}"), shared)


def _looks_alike(was: Timeline, now: Timeline, position: int) -> bool:
    """Whether nothing is different after so many steps; False if it has to be looked at."""
    return (
        was.state_at(position) == now.state_at(position)
        and was.sights[position] == now.sights[position]
        and position > 0  # there the words of the mission count, too
    )


def course_differences(was: Timeline, now: Timeline) -> list[str]:
    """What is different where two courses are now, in words, what matters most first."""
    before, after = was.episode.frame(""), now.episode.frame("")
    if before.domain != after.domain:
        return ["worlds of another domain"]
    told = [*_scene(before, after), *now.episode.differences(was.episode)]
    if before.total != after.total and before.reward == after.reward:
        told.append(f"return {format_reward(after.total)}, was {format_reward(before.total)}")
    return told


def _scene(was: Scene, now: Scene) -> list[str]:
    """What is different in how a game stands, whatever domain it is of."""
    told = []
    if was.reward != now.reward:
        names = dict.fromkeys((*now.terms, *was.terms))
        paid = {name: (now.terms.get(name, 0.0), was.terms.get(name, 0.0)) for name in names}
        terms = {name: pair for name, pair in paid.items() if pair[0] != pair[1]}
        for name, (pays, paid_before) in (terms or {"": (now.reward, was.reward)}).items():
            rule = f" ({name.replace('_', ' ')})" if name else ""
            told.append(f"reward {format_reward(pays)}, was {format_reward(paid_before)}{rule}")
    if (was.outcome, was.ending) != (now.outcome, now.ending):
        told.append(f"{_end(now)}, {'ended before: ' if was.outcome else ''}{_was(was)}")
    if was.mission != now.mission:
        told.append(f"mission {now.mission or 'none'!r}, was {was.mission or 'none'!r}")
    return told


def _end(scene: Scene) -> str:
    return f"over: {scene.ending or scene.outcome}" if scene.outcome else "goes on"


def _was(scene: Scene) -> str:
    return scene.ending or scene.outcome or "went on"


def in_a_line(told: Sequence[str]) -> str:
    """The first few of them."""
    more = len(told) - _TOLD
    return "; ".join(told[:_TOLD]) + (f"; and {more} more" if more > 0 else "")
