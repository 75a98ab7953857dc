"""A run that is learned: here, update by update, or stretch by stretch wherever there is room."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from gv_engine.envs.level_sets import LevelSet
from gv_engine.reading.scenario import Scenario

if TYPE_CHECKING:
    from gv_engine.learning.ppo import Figures
    from gv_engine.learning.run_folder import Run

_KEEP = 30.0
"""Seconds between two checkpoints."""
_SURE = 500
"""Episodes that have to have ended before success counts."""


class Aim(NamedTuple):
    """When a run has learned enough.

    Attributes:
        steps: of all worlds together.
        until: the success that suffices before, see `Figures`; None if none does.
    """

    steps: int = 1_000_000
    until: float | None = None

    def is_reached(self, figures: Figures) -> bool:
        """Whether it has."""
        sure = self.until is not None and figures.episodes >= _SURE
        return figures.steps >= self.steps or (sure and figures.success >= (self.until or 0))


class Training:
    """A run at work, from where it was kept, or from the beginning.

    Args:
        run: where its progress is written.
        scenario: that it is of.
        levels: that it learns on, if not on all.
        options: that its worlds take besides.

    Attributes:
        learner: that learns.
        kept: the steps that it had made when it was kept last; 0 if it never was.
    """

    def __init__(
        self, run: Run, scenario: Scenario, levels: LevelSet | None, **options: Any
    ) -> None:
        # here, as torch takes its time
        from gv_engine.learning.ppo import Learner, make_worlds

        worlds = make_worlds(scenario, run.settings, levels=levels, **options)
        self.run, self.learner = run, Learner(worlds, run.settings)
        self._before = run.go_on(self.learner)
        self._began = self._kept_at = time.perf_counter()
        self._steps_before = self.kept = self.learner.figures.steps

    @property
    def figures(self) -> Figures:
        """What came of it so far."""
        return self.learner.figures

    @property
    def seconds(self) -> float:
        """That the whole run has taken."""
        return self._before + time.perf_counter() - self._began

    @property
    def steps(self) -> int:
        """That it has made since it began here."""
        return self.figures.steps - self._steps_before

    @property
    def speed(self) -> float:
        """Steps a second, since it began here."""
        return self.steps / (time.perf_counter() - self._began)

    def update(self) -> Figures:
        """Learn a little, note it, and keep it now and then."""
        figures = self.learner.update()
        self.run.note(self.learner, self.seconds)
        if time.perf_counter() - self._kept_at > _KEEP:
            self.keep()
        return figures

    def keep(self) -> None:
        """Write all that it takes to go on, and to act."""
        self.run.keep(self.learner, self.seconds)
        self._kept_at, self.kept = time.perf_counter(), self.figures.steps

    def close(self) -> None:
        """End it."""
        self.run.close()
        self.learner.env.close()


class Stretch(NamedTuple):
    """What came of learning for a while.

    Attributes:
        path: of the run.
        files: of the run by their names, as they are now.
        figures: of the last update.
        seconds: that the whole run has taken.
    """

    path: Path
    files: dict[str, bytes]
    figures: Figures
    seconds: float


@dataclass(frozen=True)
class Stretches:
    """Runs of a scenario that learn stretch by stretch, as it goes to other processes.

    A run that is learned so is the one that is learned in one go, bit for bit: every stretch goes
    on from the files of the one before, and has them to itself.

    Attributes:
        scenario: of the runs.
        levels: that they learn on, if not on all.
        aim: of each.
        seconds: after which a stretch ends.
    """

    scenario: Scenario
    levels: LevelSet | None
    aim: Aim
    seconds: float = math.inf

    def learn(self, path: Path, files: dict[str, bytes]) -> Stretch:
        """Learn for a stretch.

        Args:
            path: of the run.
            files: of it, those that `Run.files` names.
        """
        from gv_engine.learning.run_folder import Run, put_files

        with TemporaryDirectory() as folder:
            put_files(Path(folder), files)
            training = Training(Run(Path(folder)), self.scenario, self.levels)
            try:
                end = time.perf_counter() + self.seconds
                while not self.aim.is_reached(training.figures):
                    training.update()
                    if time.perf_counter() >= end:
                        break
                training.keep()
                seconds = training.seconds
            finally:
                training.close()
            found = {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}
            return Stretch(path, found, training.figures, seconds)
