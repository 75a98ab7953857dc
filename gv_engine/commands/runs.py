"""Runs that learn, one after the other or all at once on a cluster, and what is said of them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.commands import tables
from gv_engine.commands.arguments import complain, say
from gv_engine.commands.progress import code_after, progress, undisturbed
from gv_engine.envs.level_sets import LevelSet
from gv_engine.learning.training import Aim, Stretches, Training
from gv_engine.playing.runaway import heeded
from gv_engine.reading.scenario import Scenario

if TYPE_CHECKING:
    from gv_engine.frontend.window.wall_process import WallProcess
    from gv_engine.learning.ppo import Figures
    from gv_engine.learning.run_folder import Run

_HEEDS = 30.0
"""Seconds in which an update has to end after Ctrl-C or SIGTERM."""
_UNKNOWN = "–"
_STRETCH = 20.0
"""Seconds that a run learns on a cluster before it is kept, and may go on elsewhere."""


class Lesson(NamedTuple):
    """What runs are to learn.

    Attributes:
        scenario: of all of them.
        levels: that they learn on, if not on all.
        aim: of each.
        acting: the command that lets the run act, for people.
        resuming: the one that goes on with all of them.
    """

    scenario: Scenario
    levels: LevelSet | None
    aim: Aim
    acting: str
    resuming: str


class _Outcome(NamedTuple):
    """How far a run has come."""

    path: Path
    figures: Figures
    seconds: float


def learn_here(lesson: Lesson, runs: Sequence[Run], watch: bool = False) -> int:
    """Let runs learn one after the other; the exit code.

    Args:
        lesson: that they learn.
        runs: where their progress is written.
        watch: show the worlds in a window.
    """
    code, steps, outcomes = 0, 0, []
    rows: list[tuple[str, str]] = []
    options = {"world": "compiled"} if watch else {}
    for run in runs:
        what = f"steps of {run.path}" if runs[1:] else "steps"
        with (
            run.held(),
            closing(Training(run, lesson.scenario, lesson.levels, **options)) as training,
        ):
            code = _learn(training, lesson, what, watch)
            outcomes.append(_Outcome(run.path, training.figures, training.seconds))
            rows, steps = _rows(training), steps + training.steps
        if code:
            break
    if not (steps or code):
        made = min(outcome.figures.steps for outcome in outcomes)
        until = f" or --until {lesson.aim.until:g}" if lesson.aim.until else ""
        aim = f"--steps {lesson.aim.steps:,}{until}"
        complain(f"nothing to learn: {made:,} steps are made, and {aim} is reached; ask for more")
    if runs[1:]:
        _print(lesson, outcomes)
    else:
        tables.print_table(("", ">"), rows, lesson.scenario.name)
        say(f"{runs[0].path}: {lesson.acting}")
    _tell_unknown(lesson, runs, outcomes)
    return code


def _learn(training: Training, lesson: Lesson, what: str, watch: bool) -> int:
    """Learn, and keep what was learned; the exit code."""
    aim, code = lesson.aim, 0
    wall = _hang_wall(training) if watch else None
    try:
        with undisturbed() as came:  # until all is kept
            with progress(what, aim.steps) as advance:
                advance(training.figures.steps)
                while not (came or aim.is_reached(training.figures)):
                    number = training.figures.steps
                    with heeded(_HEEDS, _cut_short(training, lesson)):
                        figures = training.update()
                    if wall:
                        _tell(wall, training)
                    says = f"{_means(figures)}{training.speed:,.0f} steps/s"
                    advance(figures.steps - number, says)
            training.keep()
    except KeyboardInterrupt as interrupt:
        code = code_after(interrupt)
        complain(f"interrupted; go on by: {lesson.resuming}")
    finally:
        if wall:
            wall.close()
    return code


def _cut_short(training: Training, lesson: Lesson) -> str:
    """What to say where an update is not waited for."""
    kept = f"{training.run.path} is kept as it was after {training.kept:,} steps"
    return f"interrupted in the midst of an update; {kept}; go on by: {lesson.resuming}"


def learn_on_ray(lesson: Lesson, runs: Sequence[Run], address: str) -> int:
    """Let runs learn all at once, wherever there is room; the exit code.

    Each learns stretch by stretch. One that is lost with its machine is learned again, the same;
    after Ctrl-C or SIGTERM a run is what has come back of it.

    Args:
        lesson: that they learn.
        runs: where their progress is written.
        address: see `gv_engine.rollouts.on_ray.results`.
    """
    from gv_engine.learning.run_folder import put_files
    from gv_engine.rollouts.on_ray import results  # here, as Ray takes its time

    aim, cores = lesson.aim, runs[0].settings.threads
    by_path = {run.path: run for run in runs}
    waiting = deque((run.path, run.files) for run in runs)
    outcomes: dict[Path, _Outcome] = {}
    learn = Stretches(lesson.scenario, lesson.levels, aim, _STRETCH).learn
    parts = (waiting.popleft() if waiting else None for _ in count())
    code = done = 0
    try:
        with progress("steps", aim.steps * len(runs)) as advance:
            for path, files, figures, seconds in results(learn, parts, address, cores, False):
                with undisturbed():
                    put_files(path, files)
                before = outcomes[path].figures.steps if path in outcomes else 0
                outcomes[path] = _Outcome(path, figures, seconds)
                now = figures.steps
                if aim.is_reached(figures):
                    done, now = done + 1, aim.steps
                else:  # before those that have not begun
                    waiting.appendleft((path, by_path[path].files))
                says = f"{_means(figures)}{path}, {done} of {len(runs)} runs done"
                advance(now - before, says)
    except KeyboardInterrupt as interrupt:
        code = code_after(interrupt)
        complain(f"interrupted; go on by: {lesson.resuming}")
    known = [outcomes[run.path] for run in runs if run.path in outcomes]
    _print(lesson, known)
    _tell_unknown(lesson, runs, known)
    return code


def _hang_wall(training: Training) -> WallProcess:
    """Show the worlds in a window, for as long as it is open."""
    from gv_engine.batches.compiled.batch import CompiledBatch
    from gv_engine.frontend.window.wall_process import WallProcess

    batch = training.learner.env.batch
    assert isinstance(batch, CompiledBatch)  # it was asked for
    wall = WallProcess(batch, f"{len(batch):,} worlds")
    training.learner.on_step = wall.look
    return wall


def _tell(wall: WallProcess, training: Training) -> None:
    """Let those who watch know how it goes."""
    from gv_engine.playing.wall_worlds import Means

    figures = training.figures
    wall.tell(Means(figures.success, figures.total, figures.length, training.speed))


def _means(figures: Figures) -> str:
    told = zip(("success", "return"), _texts(figures), strict=False)
    return "".join(f"{name} {text}  " for name, text in told if text != _UNKNOWN)


def _texts(figures: Figures) -> list[str]:
    """Success, return and length."""
    told = f"{figures.success:.1%}", f"{figures.total:.4g}", f"{figures.length:.4g}"
    return [_UNKNOWN if text.startswith("nan") else text for text in told]


def _tell_unknown(lesson: Lesson, runs: Sequence[Run], outcomes: Sequence[_Outcome]) -> None:
    """Say of runs that have no means why that is so."""
    unknown = [outcome for outcome in outcomes if math.isnan(outcome.figures.total)]
    if unknown:
        longest = max(member.max_steps or 0 for member in lesson.scenario.members)
        enough = longest * runs[0].settings.num_envs * lesson.scenario.layout.agents
        complain(
            f"{unknown[0].path} acts with its last weights, not its best: success and return are "
            f"not known before most episodes can have ended, after {enough:,} steps at the latest"
        )


def _rows(training: Training) -> list[tuple[str, str]]:
    """(what, value) of what came of one run."""
    figures, best, spent = training.figures, training.run.best, training.learner.spent
    rows = [
        ("steps", f"{figures.steps:,}"),
        ("episodes", f"{figures.episodes:,}"),
        ("seconds", f"{training.seconds:.1f}"),
        ("steps per second", f"{training.speed:,.0f}" if training.steps else "nan"),
        *_told("", figures.success, figures.total),
        ("length, mean", f"{figures.length:.4g}"),
    ]
    if best:
        success = math.nan if math.isnan(figures.success) else best["score"][0]
        rows += _told("best ", success, best["score"][1])
    whole = sum(spent.values()) or math.nan
    rows += [(f"share of {what}", f"{part / whole:.1%}") for what, part in spent.items()]
    return [row for row in rows if not row[1].startswith("nan")]


def _told(which: str, success: float, total: float) -> list[tuple[str, str]]:
    return [(f"{which}success", f"{success:.1%}"), (f"{which}return, mean", f"{total:.4g}")]


def _print(lesson: Lesson, outcomes: Sequence[_Outcome]) -> None:
    """A line for each of several runs."""
    if not outcomes:
        return
    heads = "run", "steps>", "episodes>", "seconds>", "success>", "return, mean>", "length, mean>"
    rows = [
        (
            path,
            f"{figures.steps:,}",
            f"{figures.episodes:,}",
            f"{seconds:.1f}",
            *_texts(figures),
        )
        for path, figures, seconds in outcomes
    ]
    tables.print_table(heads, rows, lesson.scenario.name)
