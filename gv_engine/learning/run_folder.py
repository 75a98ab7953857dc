"""Runs on disk: a folder with what was learned, and all that it takes to go on exactly.

- `run.json`: the `scenario`, as `reference_to` tells of it, the `settings` of the learner, the name
  of the `levels` that it learns on, and their `level_seeds`; `steps` and `until`, its newest aim.
- `checkpoint.pt`: the state of the learner, and the weights that were the best so far; a file of
  torch that holds tensors and plain values alone, so that reading it runs nothing.
- `policy.npz`: the best weights again, to act by without torch, see `policy_file`.
- `progress.csv`: a line for each update.
- `events.*`: the same for TensorBoard, if that is installed.
- `lock`: empty; whoever learns has it to itself, see `gv_engine.reading.files.held`.
"""

from __future__ import annotations

import csv
import json
import math
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, fields, replace
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

import torch

from gv_engine.envs.level_sets import LevelSet, checked_seeds, level_set
from gv_engine.language.errors import shortened
from gv_engine.learning.fit import Fit
from gv_engine.learning.policy_file import POLICY_FILE, Learned, RunError, damaged
from gv_engine.learning.ppo import Figures, Hyperparameters, Learner
from gv_engine.learning.training import Aim
from gv_engine.reading.array_files import ArrayError
from gv_engine.reading.extras import command_line
from gv_engine.reading.files import held, read_bytes, replacing, size_of, sweep
from gv_engine.reading.reference import checked, reference_to
from gv_engine.reading.scenario import Scenario

ABOUT = "run.json"
_CHECKPOINT = "checkpoint.pt"
_PROGRESS = "progress.csv"
_LOCK = "lock"
_FORMAT = 3
_MOST = 2**22
"""Bytes of `run.json`."""
_LARGEST = 2**30
"""Bytes of `checkpoint.pt`."""
_ENOUGH = 100
"""Episodes that it takes to compare two policies."""


class Run:
    """A folder that a learner's progress is written to.

    Args:
        path: of a folder that `begin` has made.

    Attributes:
        settings: of the learner.
        scenario: what refers to its scenario, see `gv_engine.reading.reference`.
        levels: the name of the set of levels that it learns on; None for all that there are.
        level_seeds: the seeds of the set.
        aim: when it has learned enough, if nothing else is asked for.

    Raises:
        RunError: there is no run, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        about = _read(path / ABOUT, _about)
        self.settings: Hyperparameters = about["settings"]
        self.scenario: dict[str, Any] = about["scenario"]
        self.levels: str | None = about["levels"]
        self.level_seeds: tuple[int, ...] | None = about["level_seeds"]
        self.aim: Aim = about["aim"]
        self._best: dict[str, Any] = {}
        self._columns = ("seconds", *Figures._fields)
        self._events: Any = None

    @classmethod
    def begin(
        cls,
        path: Path,
        scenario: Scenario,
        settings: Hyperparameters,
        levels: str | None = None,
        found: LevelSet | None = None,
        aim: Aim | None = None,
    ) -> Run:
        """The run of a new folder.

        Args:
            levels: the set of levels that it learns on, if not on all.
            found: the levels of this set, where they are known already.
            aim: when it has learned enough; the usual one if None.

        Raises:
            FileExistsError: there is something already.
            LevelsError: there is no such set.
            OSError: it cannot be written.
            RunError: a setting, or the aim, is none that could be read back.
        """
        check_new(path)
        aim = aim or Aim()
        try:
            _settings(asdict(settings))
            _checked_aim(aim)
        except ValueError as error:
            raise RunError(f"{path} cannot begin: {error}") from None
        if levels is not None and found is None:
            found = level_set(scenario, levels)
        path.mkdir(parents=True, exist_ok=True)
        about = {
            "format": _FORMAT,
            "scenario": reference_to(found.scenario if found else scenario),
            "settings": asdict(settings),
            "levels": levels,
            "level_seeds": found and found.seeds,
            **aim._asdict(),
        }
        _write_about(path, about)
        return cls(path)

    def pursue(self, aim: Aim) -> None:
        """Have another aim from now on.

        Raises:
            OSError: it cannot be written.
            RunError: another process has it, it is damaged, or what was kept is gone.
        """
        if aim != self.aim:
            self._is_kept()
            with self.held():
                _write_about(self.path, _read(self.path / ABOUT, _written) | aim._asdict())
            self.aim = aim

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have it to oneself, to write to it.

        Raises:
            OSError: it cannot be written.
            RunError: another process has it.
        """
        with ExitStack() as stack:
            try:
                (self.path / _LOCK).touch()
                stack.enter_context(held(self.path / _LOCK))
            except BlockingIOError:
                raise RunError(
                    f"{self.path} is being learned by another process: wait for its end, or stop it"
                ) from None
            yield

    def checkpoint(self) -> dict[str, Any]:
        """What `keep` has written last.

        Raises:
            RunError: it is damaged, or nothing was kept.
        """
        return _read(self.path / _CHECKPOINT, _tensors)

    @property
    def files(self) -> dict[str, bytes]:
        """All that it takes to go on, by the names of files; they fit together while nothing is
        written.

        Raises:
            RunError: see `go_on`.
        """
        self._is_kept()
        names = (ABOUT, _PROGRESS, _CHECKPOINT)
        there = (self.path / name for name in names if (self.path / name).exists())
        return {file.name: file.read_bytes() for file in there}

    def go_on(self, learner: Learner) -> float:
        """Put a learner where the last one was kept; seconds that were spent until then.

        Where nothing was kept yet, the learner is where it begins.

        Warns:
            UserWarning: it has learned before that.

        Raises:
            RunError: what was kept is damaged, or gone.
        """
        if not self._is_kept():
            if (self.path / _PROGRESS).exists():
                warnings.warn(
                    f"{self.path} was killed before anything was kept: it begins again",
                    UserWarning,
                    stacklevel=2,
                )
                (self.path / _PROGRESS).unlink()
            return 0.0
        kept = self.checkpoint()
        try:
            learner.restore(kept["learner"])
            self._best = kept["best"]
            seconds = float(kept["seconds"])
        except Exception as error:  # whatever comes of values that may be anything
            raise damaged(self.path / _CHECKPOINT, error) from None
        self._cut(learner.figures.steps)
        return seconds

    def _is_kept(self) -> bool:
        """Whether something was kept.

        Raises:
            RunError: it is gone, while what is written behind it is there.
        """
        kept = (self.path / _CHECKPOINT).exists()
        if not kept and (self.path / POLICY_FILE).exists():
            raise RunError(
                f"{self.path} has a {POLICY_FILE}, and no {_CHECKPOINT} any more, from which it "
                f"would go on: put that back, or learn anew, by --out with a new folder"
            )
        return kept

    def _cut(self, steps: int) -> None:
        """Forget the lines of updates that are to be made again."""
        with (self.path / _PROGRESS).open(newline="", encoding="utf-8") as file:
            lines = [each for each in csv.DictReader(file) if _steps(each) <= steps]
        with replacing(self.path / _PROGRESS) as draft, draft.open("w", newline="") as file:
            writer = csv.DictWriter(file, self._columns)
            writer.writeheader()
            writer.writerows(lines)

    def note(self, learner: Learner, seconds: float) -> None:
        """Write a line about the last update, and remember the best.

        Args:
            learner: that has made it.
            seconds: that the whole run has taken.

        Raises:
            OSError: it cannot be written.
        """
        figures = learner.figures
        file = self.path / _PROGRESS
        try:
            new = not file.exists()
            with file.open("a", newline="", encoding="utf-8") as opened:
                writer = csv.writer(opened)
                if new:
                    writer.writerow(self._columns)
                writer.writerow([f"{seconds:.3f}", *figures])
            self._show(figures)
        except OSError as error:
            raise OSError(f"{self.path} cannot be written: {error.strerror}") from None
        told = figures.success, figures.total, -figures.length
        score = [0.0 if math.isnan(each) else each for each in told]
        enough = figures.episodes >= _ENOUGH and not math.isnan(figures.total)
        if enough and score > self._best.get("score", [-math.inf]):
            weights = {name: each.clone() for name, each in learner.net.state_dict().items()}
            self._best = {"score": score, "steps": figures.steps, "net": weights}

    def _show(self, figures: Figures) -> None:
        """Tell TensorBoard, if it is installed."""
        if not find_spec("tensorboard"):
            return
        if self._events is None:
            from gv_engine.learning.event_file import EventFile

            self._events = EventFile(self.path, figures.steps)
        told = {name: value for name, value in figures._asdict().items() if not math.isnan(value)}
        self._events.add(told.pop("steps"), told)

    @property
    def best(self) -> dict[str, Any]:
        """`score`: success, return, and length below 0; `steps`, after which that was; `net`, its
        weights. Empty if too few episodes have ended, see `Figures`."""
        return self._best

    def keep(self, learner: Learner, seconds: float) -> None:
        """Write all that it takes to go on, and to act.

        Raises:
            OSError: it cannot be written; what was kept before is still there.
        """
        best = self._best or {"net": learner.net.state_dict()}
        whole = {"learner": learner.state(), "best": self._best, "seconds": seconds}
        data = BytesIO()  # as torch tells of a full disk by no OSError
        torch.save(whole, data)
        with replacing(self.path / _CHECKPOINT) as draft:
            draft.write_bytes(data.getbuffer())
        Learned(
            self.scenario["name"],
            Fit.of(learner.env.scenario),
            self.settings.masks,
            learner.listed,
            {name: weights.numpy() for name, weights in best["net"].items()},
        ).write(self.path)

    def close(self) -> None:
        """Let go of what is open."""
        if self._events is not None:
            self._events.close()


def _steps(line: Mapping[str, str | None]) -> float:
    """The number in a line of `progress.csv`; beyond all where it was cut, as a disk was full."""
    whole = all(line.values()) and str(line["steps"]).isdecimal()
    return int(line["steps"] or 0) if whole else math.inf


def check_new(path: Path) -> None:
    """Make sure that a folder can take what is new.

    Raises:
        FileExistsError: there is something already.
    """
    sweep(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        known = (path / ABOUT).exists() or any(path.glob(f"*/{ABOUT}"))
        command = command_line(["gv-engine", "train", "--resume", str(path)])
        goes_on = f", or go on with it: {command}" if known else ""
        raise FileExistsError(
            f"{path} is there already: give the name of a new folder by --out{goes_on}"
        )


def put_files(run: Path, files: Mapping[str, bytes]) -> None:
    """Write files into the folder of a run; those last that `keep` writes, in the same order.

    Raises:
        OSError: one cannot be written.
    """
    kept = _CHECKPOINT, POLICY_FILE
    for name in sorted(files, key=lambda name: name in kept and 1 + kept.index(name)):
        with replacing(run / name) as draft:
            draft.write_bytes(files[name])


def runs_in(path: Path) -> list[Run]:
    """The run of a folder, or those of the folders in it, by their numbers.

    Raises:
        RunError: there is none, or one is damaged.
    """
    among = [file.parent for file in path.glob(f"*/{ABOUT}")]
    if not among or (path / ABOUT).exists():
        return [Run(path)]
    return [Run(each) for each in sorted(among, key=lambda each: (len(each.name), each.name))]


def _write_about(run: Path, about: Mapping[str, Any]) -> None:
    with replacing(run / ABOUT) as draft:
        draft.write_text(json.dumps(about, indent=2) + "\n", "utf-8")


def _written(path: Path) -> dict[str, Any]:
    about: dict[str, Any] = json.loads(read_bytes(path, _MOST, "descriptions of runs"))
    return about


def _about(path: Path) -> dict[str, Any]:
    about = _written(path)
    if about["format"] != _FORMAT:
        raise ValueError(f"its format is {about['format']!r}, and this version reads {_FORMAT}")
    levels, seeds = about["levels"], about["level_seeds"]
    if not isinstance(levels, str | None):
        raise ValueError(f"its levels are {shortened(repr(levels), 40)}")
    return {
        "scenario": checked(about["scenario"]),
        "settings": _settings(about["settings"]),
        "aim": _checked_aim(Aim(about["steps"], about["until"])),
        "levels": levels,
        "level_seeds": None if levels is None else checked_seeds(seeds),
    }


def _checked_aim(aim: Aim) -> Aim:
    steps, until = aim
    if type(steps) is not int or steps < 1:
        raise ValueError(f"steps is {shortened(repr(steps), 40)}; expected an integer above 0")
    if until is not None and not (type(until) is float and 0 < until <= 1):
        told = shortened(repr(until), 40)
        raise ValueError(f"until is {told}; expected None, or a float above 0 and at most 1")
    return aim


def _settings(given: dict[str, Any]) -> Hyperparameters:
    usual = Hyperparameters()
    for field in fields(Hyperparameters):
        kind = type(getattr(usual, field.name))
        value = given[field.name]
        if type(value) is not kind or not 0 <= value <= 2**62:
            found = shortened(repr(value), 40)
            raise ValueError(f"{field.name} is {found}, expected {kind.__name__} from 0 to 2**62")
    return replace(usual, **given)


def _tensors(path: Path) -> dict[str, Any]:
    size_of(path, _LARGEST, "checkpoints")
    with ZipFile(path) as archive:  # torch writes checksums, and does not look at them
        for about in archive.infolist():
            if about.compress_type != ZIP_STORED:
                raise ArrayError(f"{about.filename} is compressed, as torch never does")
        if wrong := archive.testzip():
            raise ArrayError(f"the checksum of {wrong} is another one")
    kept = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(kept, dict):
        raise ValueError("it holds no mapping")
    return kept


def _read(path: Path, read: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    try:
        return read(path)
    except FileNotFoundError:
        raise RunError(f"{path.parent} holds no run: there is no {path.name}") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    except pickle.UnpicklingError:
        raise RunError(f"{path} is damaged: it holds more than tensors and plain values") from None
    except Exception as error:  # whatever comes of values that may be anything
        raise damaged(path, error) from None
