"""`gv-engine train`: learn a scenario."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gv_engine.commands import tables
from gv_engine.commands.arguments import (
    INTERRUPTED,
    Commands,
    UsageError,
    add_command,
    add_consent,
    add_levels,
    complain,
    consent,
    natural,
    positive,
    say,
    scenario_options,
    share,
)
from gv_engine.commands.progress import progress, undisturbed
from gv_engine.language.errors import MissingExtraError
from gv_engine.playing.runaway import heeded
from gv_engine.reading.extras import RL
from gv_engine.reading.families import hooks_of
from gv_engine.reading.loading import load_scenario
from gv_engine.reading.reference import found_again
from gv_engine.reading.scenario import Scenario

if TYPE_CHECKING:
    from gv_engine.frontend.window.wall_process import WallProcess
    from gv_engine.learning.ppo import Figures, Learner
    from gv_engine.learning.run_folder import Run

_STEPS = 1_000_000
_KEEP = 30.0
"""Seconds between two checkpoints."""
_HEEDS = 30.0
"""Seconds in which an update has to end after Ctrl-C."""
_ENDLESS = "interrupted in an update that does not come to an end; the last checkpoint is kept"
_SURE = 500
"""Episodes that have to have ended before --until counts."""
_EXAMPLES = """\
gv-engine train keydoor-9x9
gv-engine train keydoor-9x9 --watch
gv-engine train memory-9x9 --memory --steps 3000000 --out remembers
gv-engine train --resume remembers --steps 6000000
gv-engine rollout memory-9x9 --policy remembers --episodes 1000
gv-engine play memory-9x9 --policy remembers:greedy"""
_EPILOG = """
RUN gets run.json, with the scenario and all settings; checkpoint.pt, from which it goes on exactly,
and which holds what was the best so far; progress.csv, a line for each update; and the same for
TensorBoard, if that is installed. Ctrl-C keeps all of it. The folder is a policy wherever --policy
is taken.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, run, "train", "Learn a level (needs the extra rl)", _EXAMPLES)
    parser.epilog += _EPILOG
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml",
    )
    parser.add_argument(
        "--out", metavar="RUN", type=Path, help="a new folder (default: SCENARIO-run)"
    )
    parser.add_argument(
        "--resume", metavar="RUN", type=Path, help="go on with a run, as if it had never stopped"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=positive,
        default=_STEPS,
        help=f"of all worlds together, those before --resume included (default: {_STEPS:,})",
    )
    parser.add_argument(
        "--until",
        metavar="SHARE",
        type=share,
        help="stop before that if so many of the last 500 episodes were a success, as 0.98",
    )
    parser.add_argument(
        "--memory", action="store_true", help="remember what is seen within an episode (a GRU)"
    )
    parser.add_argument(
        "--no-masks",
        dest="masks",
        action="store_false",
        help="choose also actions that would do nothing now",
    )
    parser.add_argument(
        "--num-envs",
        metavar="M",
        type=positive,
        help="worlds at once (default: 128, with --memory 256)",
    )
    parser.add_argument(
        "--threads", metavar="T", type=positive, help="that learn and step (default: 1)"
    )
    parser.add_argument(
        "--max-steps", metavar="T", type=positive, help="an episode's, in place of the scenario's"
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=natural,
        help="of levels, weights and all chance; on one machine a run with the same repeats bit "
        "for bit (default: 0)",
    )
    add_levels(parser, "learn on these levels alone")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="show its worlds in a window, as `gv-engine watch` does",
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Learn, say how it goes, and keep what was learned."""
    if RL.missing:
        raise MissingExtraError(RL.missing)
    scenario, kept = _resumed(options) if options.resume else _begun(options)
    # here, as torch takes its time
    from gv_engine.learning.ppo import Learner, make_worlds

    watched = {"world": "compiled"} if options.watch else {}
    worlds = make_worlds(scenario, kept.settings, levels=kept.levels, **watched)
    learner = Learner(worlds, kept.settings)
    before = kept.go_on(learner) if options.resume else 0.0
    training = _Training(learner, kept, before)
    wall = training.hang_wall() if options.watch else None
    try:
        code = training.learn(options.steps, options.until)
    finally:
        if wall:
            wall.close()
        kept.close()
        learner.env.close()
    tables.print_table(("", ">"), training.rows(), scenario.name)
    say(f"{kept.path}: gv-engine rollout {scenario.name} --policy {kept.path}")
    return code


def _begun(options: argparse.Namespace) -> tuple[Scenario, Run]:
    """A scenario, and a new run of it.

    Raises:
        UsageError: there is none, or it cannot be learned.
        OSError: the folder cannot be made.
    """
    if options.scenario is None:
        raise UsageError("no SCENARIO: name one to train on, or a run to go on with by --resume")
    from gv_engine.envs.level_sets import level_set
    from gv_engine.learning.ppo import Hyperparameters
    from gv_engine.learning.run_folder import Run

    loaded = load_scenario(options.scenario, **scenario_options(options))
    if not isinstance(loaded, Scenario):
        raise UsageError(f"{loaded.name} is of the family {loaded.family}: train learns grids")
    try:
        scenario = hooks_of(loaded).limited(loaded, options.max_steps)
    except ValueError as error:
        raise UsageError(f"{error}; give --max-steps") from None
    out = options.out or Path(f"{scenario.name}-run")
    if options.levels is not None:
        level_set(scenario, options.levels)  # or an error, before there is a folder
    settings = replace(Hyperparameters(), **_asked(options))
    return scenario, Run.begin(out, scenario, settings, options.levels)


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of a learner that were given."""
    from gv_engine.learning.ppo import REMEMBERS

    given = {name: getattr(options, name) for name in ("num_envs", "threads", "seed")}
    given["env_threads"] = options.threads
    asked = {name: value for name, value in given.items() if value is not None}
    return {**(REMEMBERS if options.memory else {}), **asked, "masks": options.masks}


def _resumed(options: argparse.Namespace) -> tuple[Scenario, Run]:
    """The scenario of a run that was kept, and the run.

    Raises:
        UsageError: there is an option that only a new run takes.
    """
    from gv_engine.learning.run_folder import Run

    given = {
        "SCENARIO": options.scenario,
        "--out": options.out,
        "--memory": options.memory,
        "--no-masks": not options.masks,
        "--num-envs": options.num_envs,
        "--threads": options.threads,
        "--max-steps": options.max_steps,
        "--levels": options.levels,
        "--seed": options.seed,
    }
    if wrong := [name for name, value in given.items() if value not in (None, False)]:
        raise UsageError(
            f"{wrong[0]} is that of the run, which --resume {options.resume} goes on with: leave "
            f"it out (allowed: --steps, --until)"
        )
    kept = Run(options.resume)
    scenario = found_again(kept.scenario, options.resume, **consent(options))
    assert isinstance(scenario, Scenario)  # of a run that began
    return scenario, kept


class _Training:
    """A learner at work, until it has had enough or is interrupted.

    Args:
        learner: that learns.
        kept: where its progress is written.
        before: seconds that the run has taken until now.
    """

    def __init__(self, learner: Learner, kept: Run, before: float) -> None:
        self._learner, self._kept, self._before = learner, kept, before
        self._began = time.perf_counter()
        self._steps_before = learner.figures.steps
        self._wall: WallProcess | None = None

    def hang_wall(self) -> WallProcess:
        """Show the worlds in a window, for as long as it is open."""
        from gv_engine.batches.compiled.batch import CompiledBatch
        from gv_engine.frontend.window.wall_process import WallProcess

        batch = self._learner.env.batch
        assert isinstance(batch, CompiledBatch)  # it was asked for
        self._wall = WallProcess(batch, f"{len(batch):,} worlds")
        self._learner.on_step = self._wall.look
        return self._wall

    def learn(self, steps: int, until: float | None) -> int:
        """Learn for so many steps, and keep what was learned; the exit code."""
        learner, code = self._learner, 0
        last = time.perf_counter()
        try:
            with heeded(_HEEDS, _ENDLESS), progress("steps", steps) as advance:
                advance(self._steps_before)
                while not self._done(learner.figures, steps, until):
                    with undisturbed():
                        number = learner.figures.steps
                        figures = learner.update()
                        self._tell(figures)
                        self._kept.note(learner, self._seconds)
                        if time.perf_counter() - last > _KEEP:
                            self._kept.keep(learner, self._seconds)
                            last = time.perf_counter()
                    advance(figures.steps - number, self._says(figures))
        except KeyboardInterrupt:
            code = INTERRUPTED
            complain(f"interrupted; go on by: gv-engine train --resume {self._kept.path}")
        with undisturbed():
            self._kept.keep(learner, self._seconds)
        return code

    def _tell(self, figures: Figures) -> None:
        """Let those who watch know how it goes."""
        if self._wall is not None:
            from gv_engine.playing.wall_worlds import Means

            told = figures.success, figures.total, figures.length, self._speed
            self._wall.tell(Means(*told))

    @staticmethod
    def _done(figures: Figures, steps: int, until: float | None) -> bool:
        enough = until is not None and figures.episodes >= _SURE and figures.success >= until
        return enough or figures.steps >= steps

    @property
    def _seconds(self) -> float:
        return self._before + time.perf_counter() - self._began

    @property
    def _speed(self) -> float:
        took = time.perf_counter() - self._began
        return (self._learner.figures.steps - self._steps_before) / took

    def _says(self, figures: Figures) -> str:
        """The figures, for people who look on."""
        told = f"return {figures.total:.3g}  {self._speed:,.0f} steps/s"
        return told if math.isnan(figures.success) else f"success {figures.success:.1%}  {told}"

    def rows(self) -> list[tuple[str, str]]:
        """(what, value) of what came of it."""
        figures, best, spent = self._learner.figures, self._kept.best, self._learner.spent
        rows = [
            ("steps", f"{figures.steps:,}"),
            ("episodes", f"{figures.episodes:,}"),
            ("seconds", f"{self._seconds:.1f}"),
            ("steps per second", f"{self._speed:,.0f}"),
            *_told("", figures.success, figures.total),
            ("length, mean", f"{figures.length:.4g}"),
        ]
        if best:
            success = math.nan if math.isnan(figures.success) else best["score"][0]
            rows += _told("best ", success, best["score"][1])
        whole = sum(spent.values()) or 1.0
        rows += [(f"share of {what}", f"{part / whole:.1%}") for what, part in spent.items()]
        return [row for row in rows if not row[1].startswith("nan")]


def _told(which: str, success: float, total: float) -> list[tuple[str, str]]:
    return [(f"{which}success", f"{success:.1%}"), (f"{which}return, mean", f"{total:.4g}")]
