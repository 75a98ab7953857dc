"""Training runs on disk: a folder with the policy, its progress, and the state to resume from.

- `run.json`: `scenario`, a reference as in `gv_engine.scenario.documents.loading`; `settings`, the
  hyperparameters; `levels` and `level_seeds`, the level set; `steps` and `until`, the newest stop
  condition; `imitates`, whether it begins with the imitation of a rollout.
- `checkpoint.pt`: the state of the learner and the best weights so far; a torch file with tensors
  and plain values only, so that reading it runs no code.
- `policy.npz`: the best weights, to act without torch, see `policy_file`.
- `progress.csv`: a line of `TrainingMetrics` for each update.
- `events.*`: the same for TensorBoard, if it is installed.
- `lock`: an empty lock file, held by the process that trains.
"""

from __future__ import annotations

import csv
import json
import math
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile

from gv_engine.envs.level_sets import LevelSet, check_level_seeds
from gv_engine.envs.rollout.network_spec import ScenarioSpec
from gv_engine.envs.rollout.policy_file import POLICY_FILE, PolicyFile, RunError, damaged_file_error
from gv_engine.plugins.learning.checkpoint import check_checkpoint
from gv_engine.plugins.learning.config import Hyperparameters, StopCondition
from gv_engine.plugins.learning.network import select_acting_weights
from gv_engine.plugins.learning.ppo import Learner
from gv_engine.plugins.learning.survival_estimate import TrainingMetrics
from gv_engine.plugins.learning.torch_library import torch
from gv_engine.rules.errors import shorten
from gv_engine.scenario.documents.loading import check_reference, make_reference
from gv_engine.scenario.domains import format_command
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.array_files import ArrayError
from gv_engine.scenario.storage.files import (
    atomic_write,
    check_file_size,
    check_inner_folder,
    check_regular_file,
    exclusive_lock,
    make_folder,
    make_write_error,
    open_regular_file,
    parse_json,
    read_bytes,
    remove_stale_drafts,
    write_file,
)

RUN_FILE = "run.json"
_CHECKPOINT = "checkpoint.pt"
_PROGRESS = "progress.csv"
_LOCK = "lock"
_COLUMNS = "seconds", *TrainingMetrics._fields
"""Columns of `progress.csv`."""
_FORMAT = 8
_MAX_RUN_FILE = 2**22
"""Bytes of `run.json`."""
_MAX_CHECKPOINT = 2**30
"""Bytes of `checkpoint.pt`."""
_MIN_EPISODES = 100
"""Finished episodes before weights can become the best ones."""


class Run:
    """Folder of a training run.

    Args:
        path: a folder that `create` has made.

    Attributes:
        settings: hyperparameters of the learner.
        scenario: reference to the scenario, see `gv_engine.scenario.documents.loading`.
        levels: name of the level set; None for all levels.
        level_seeds: seeds of the level set.
        stop_condition: saved stop condition of the training.
        imitates: the run begins with the imitation of a rollout.
        best: the best weights: `net`; their `score`: success rate, return, negative length; and
            `steps`, the step they are from. Empty until enough episodes have ended.

    Raises:
        RunError: there is no run, or it is damaged.
    """

    def __init__(self, path: Path) -> None:
        """Open the training run in the folder `path`. Raise RunError if there is none."""
        self.path = path
        about = _read(path / RUN_FILE, _read_run_file)
        self.settings: Hyperparameters = about["settings"]
        self.scenario: dict[str, Any] = about["scenario"]
        self.levels: str | None = about["levels"]
        self.level_seeds: tuple[int, ...] | None = about["level_seeds"]
        self.stop_condition: StopCondition = about["stop_condition"]
        self.imitates: bool = about["imitates"]
        self.best: dict[str, Any] = {}
        self._tensorboard: Any = None

    @classmethod
    def create(
        cls,
        path: Path,
        scenario: Scenario,
        settings: Hyperparameters,
        levels: str | None = None,
        loaded_levels: LevelSet | None = None,
        stop_condition: StopCondition | None = None,
        imitates: bool = False,
    ) -> Run:
        """Create a new training run: its folder, and `run.json` with its scenario and settings.

        Args:
            levels: name of the level set to train on; None for all levels.
            loaded_levels: the level set; None for all levels.
            stop_condition: end of training; the default one if None.
            imitates: the run begins with the imitation of a rollout.

        Raises:
            FileExistsError: the folder is not empty.
            OSError: the folder cannot be written.
            RunError: a setting or the stop condition could not be read back.
        """
        check_new_run_folder(path)
        stop_condition = stop_condition or StopCondition()
        try:
            _check_stop_condition(stop_condition)
        except ValueError as error:
            raise RunError(f"{path} cannot begin: {error}") from None
        make_folder(path)
        played = loaded_levels.scenario if loaded_levels else scenario
        about: dict[str, Any] = {"format": _FORMAT, "scenario": make_reference(played)}
        about |= {"settings": asdict(settings), "levels": levels}
        about["level_seeds"] = loaded_levels and loaded_levels.seeds
        about["imitates"] = imitates
        _write_run_file(path, about | stop_condition._asdict())
        return cls(path)

    def require_finished_imitation(self) -> None:
        """Raise RunError if the run starts with imitation and that was interrupted, or if its
        result, the checkpoint, is missing."""
        if self.imitates and not self._has_checkpoint():
            raise RunError(
                f"{self.path} was stopped while it imitated, and has learned nothing: remove it, "
                f"and train again"
            )

    def set_stop_condition(self, stop_condition: StopCondition) -> None:
        """Replace the stop condition of the training, in this object and in `run.json`.

        Raises:
            OSError: the file cannot be written.
            RunError: another process holds the run, the run is damaged, or its checkpoint is gone.
        """
        if stop_condition != self.stop_condition:
            self._has_checkpoint()
            with self.lock():
                about = _read(self.path / RUN_FILE, _load_run_file)
                _write_run_file(self.path, about | stop_condition._asdict())
            self.stop_condition = stop_condition

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Within a `with` block, lock the run's folder, so that no other process writes to it.

        Raises:
            OSError: the lock file cannot be written, or a file of the run is a link or no file.
            RunError: another process holds the lock.
        """
        self._check_files()
        with ExitStack() as stack:
            try:
                stack.enter_context(exclusive_lock(self.path / _LOCK))
            except BlockingIOError:
                raise RunError(
                    f"{self.path} is being learned by another process: wait for its end, or stop it"
                ) from None
            yield

    def _check_files(self) -> None:
        for name in (RUN_FILE, _CHECKPOINT, _PROGRESS, POLICY_FILE):
            check_regular_file(self.path / name)

    def load_checkpoint(self) -> dict[str, Any]:
        """Return the saved state of the training from `checkpoint.pt`.

        Raises:
            RunError: the file is damaged, or there is none.
        """
        checkpoint: dict[str, Any] = _read(self.path / _CHECKPOINT, _load_checkpoint)
        return checkpoint

    def read_files(self) -> dict[str, bytes]:
        """Read the files that are needed to resume the run elsewhere. Return their contents by file
        name.

        Raises:
            OSError: a file of the run is a link or no file.
            RunError: see `restore_learner`.
        """
        self._check_files()
        self._has_checkpoint()
        paths = (self.path / name for name in (RUN_FILE, _PROGRESS, _CHECKPOINT))
        return {path.name: path.read_bytes() for path in paths if path.exists()}

    def restore_learner(self, learner: Learner) -> float:
        """Load the checkpoint into a new learner. Return the training time so far in seconds.

        Without a checkpoint the learner stays at its start.

        Warns:
            UserWarning: the run was killed before its first checkpoint.

        Raises:
            RunError: the checkpoint is damaged, or gone.
        """
        if not self._has_checkpoint():
            if (self.path / _PROGRESS).exists():
                note = f"{self.path} was killed before anything was kept: it begins again"
                warnings.warn(note, UserWarning, stacklevel=2)
                (self.path / _PROGRESS).unlink()
            return 0.0
        checkpoint = self.load_checkpoint()
        try:
            check_checkpoint(checkpoint, learner)
            learner.restore(checkpoint["learner"])
            self.best = checkpoint["best"]
            seconds: float = checkpoint["seconds"]
        except RunError:
            raise
        except Exception as error:  # values from a file may be anything
            raise damaged_file_error(self.path / _CHECKPOINT, error) from None
        if learner.metrics.steps:  # else no update has written a line
            self._truncate_progress(learner.metrics.steps)
        return seconds

    def _has_checkpoint(self) -> bool:
        """Return True if the run's folder contains a checkpoint.

        Raises:
            RunError: there is none, though a later file of the same save is there.
        """
        exists = (self.path / _CHECKPOINT).exists()
        if not exists and (self.path / POLICY_FILE).exists():
            raise RunError(
                f"{self.path} has a {POLICY_FILE}, and no {_CHECKPOINT} any more, from which it "
                f"would go on: put that back, or learn anew, by --out with a new folder"
            )
        return exists

    def _truncate_progress(self, steps: int) -> None:
        """Remove the lines of `progress.csv` after step `steps`. Those updates are not in the
        checkpoint and will be repeated."""
        lines = [
            line
            for line in _read(self.path / _PROGRESS, _read_progress)
            if _steps_of_line(line) <= steps
        ]
        with (
            atomic_write(self.path / _PROGRESS, follow_links=False) as draft,
            draft.open("w", newline="") as file,
        ):
            writer = csv.DictWriter(file, _COLUMNS)
            writer.writeheader()
            writer.writerows(lines)

    def log_update(self, learner: Learner, seconds: float) -> None:
        """Append the metrics of the last update to `progress.csv`. Keep a copy of the weights if
        they are the best so far.

        Args:
            learner: learner of the update.
            seconds: seconds that the run took so far.

        Raises:
            OSError: a file cannot be written.
        """
        metrics, path = learner.metrics, self.path / _PROGRESS
        try:
            lines = [] if path.exists() else [_COLUMNS]
            with open(path, "a", newline="", encoding="utf-8", opener=open_regular_file) as file:
                csv.writer(file).writerows([*lines, (f"{seconds:.3f}", *metrics)])
            self._log_to_tensorboard(metrics)
        except OSError as error:
            raise make_write_error(self.path, error) from None
        self._keep_best_weights(learner, metrics)

    def _keep_best_weights(self, learner: Learner, metrics: TrainingMetrics) -> None:
        """If the learner's weights are the best so far, keep a copy in the attribute `best`."""
        has_learned = not math.isnan(metrics.value_loss)  # curricula begin with other updates
        is_known = metrics.episodes >= _MIN_EPISODES and not math.isnan(metrics.episode_return)
        if not (has_learned and is_known):
            return
        if self.settings.partner == "self":  # scores are no measure: opponents get better, too
            return
        measures = metrics.success_rate, metrics.episode_return, -metrics.episode_length
        score = [0.0 if math.isnan(value) else value for value in measures]
        if score > self.best.get("score", [-math.inf]):
            weights = {name: each.clone() for name, each in learner.net.state_dict().items()}
            self.best = {"score": score, "steps": metrics.steps, "net": weights}

    def _log_to_tensorboard(self, metrics: TrainingMetrics) -> None:
        """Append all metrics other than NaN to the TensorBoard event file. Do nothing if
        TensorBoard is not installed."""
        if not find_spec("tensorboard"):
            return
        if self._tensorboard is None:
            from gv_engine.plugins.learning.tensorboard_writer import TensorBoardWriter

            self._tensorboard = TensorBoardWriter(self.path, metrics.steps)
        known = {name: value for name, value in metrics._asdict().items() if not math.isnan(value)}
        self._tensorboard.add_scalars(known.pop("steps"), known)

    def save_checkpoint(self, learner: Learner, seconds: float) -> None:
        """Save the training state to `checkpoint.pt` and the best weights to the policy file.
        `seconds` is the training time so far.

        Raises:
            OSError: a file cannot be written; the previous ones are unchanged.
        """
        checkpoint = {"learner": learner.state(), "best": self.best, "seconds": seconds}
        data = BytesIO()  # torch itself reports a full disk by another error than OSError
        torch.save(checkpoint, data)
        write_file(self.path / _CHECKPOINT, data.getbuffer(), follow_links=False)
        self.policy_file(learner, self.best["net"] if self.best else None).write(self.path)

    def policy_file(self, learner: Learner, weights: Mapping[str, Any] | None = None) -> PolicyFile:
        """Return a policy file with these weights, by default the current ones of the learner's
        network."""
        net = weights or learner.net.state_dict()
        arrays = {name: weights.numpy(force=True) for name, weights in net.items()}
        settings = self.settings
        return PolicyFile(
            self.scenario["name"],
            ScenarioSpec.of_scenario(learner.env.scenario),
            settings.mask_actions,
            learner.cells,
            select_acting_weights(learner.spec, arrays, settings.hidden_size),
            settings.layer_norm,
            settings.end_epsilon if settings.learner == "pqn" else None,
            settings.activation,
        )

    def close(self) -> None:
        """Close the event file."""
        if self._tensorboard:
            self._tensorboard.close()


def _read_progress(path: Path) -> list[dict[str, str | None]]:
    """Return the lines of `progress.csv` as dicts by column. Raise ValueError if the columns are
    not the expected ones."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        lines = [*reader]
    if (names := reader.fieldnames or ()) != [*_COLUMNS]:
        raise ValueError(f"its columns are {shorten(', '.join(names), 100)}")
    return lines


def _steps_of_line(line: Mapping[str, str | None]) -> float:
    """Return the number of steps in a line of `progress.csv`; infinity if the line was not written
    to its end."""
    is_complete = all(line.values()) and len(line) == len(_COLUMNS)
    steps = str(line["steps"])
    return int(steps) if is_complete and steps.isdecimal() else math.inf


def check_new_run_folder(path: Path) -> None:
    """Raise FileExistsError if `path` exists and is not an empty folder. Leftover temporary files
    of dead processes are deleted first."""
    remove_stale_drafts(path)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        is_run = (path / RUN_FILE).exists() or any(path.glob(f"*/{RUN_FILE}"))
        command = format_command(["gv-engine", "train", "--resume", str(path)])
        resume_hint = f", or go on with it: {command}" if is_run else ""
        raise FileExistsError(
            f"{path} is there already: give the name of a new folder by --out{resume_hint}"
        )


@contextmanager
def undo_runs_on_error(runs: Sequence[Run]) -> Iterator[None]:
    """Context manager for the creation of runs. If an error ends the block before any of the `runs`
    has saved something, delete their folders."""
    try:
        yield
    except Exception:
        if not any((run.path / name).exists() for run in runs for name in (_CHECKPOINT, _PROGRESS)):
            for run in runs:
                for name in (RUN_FILE, _LOCK):
                    (run.path / name).unlink(missing_ok=True)
            with suppress(OSError):  # there are other files
                for run in runs:
                    run.path.rmdir()
                if runs[1:]:
                    runs[0].path.parent.rmdir()
        raise


def write_run_files(run: Path, files: Mapping[str, bytes]) -> None:
    """Write files, given as contents by name, into the folder of a run, in the order in which
    `save_checkpoint` writes them.

    Raises:
        OSError: a file cannot be written.
    """
    last = [name for name in (_CHECKPOINT, POLICY_FILE) if name in files]
    for name in [*(name for name in files if name not in last), *last]:
        write_file(run / name, files[name], follow_links=False)


def find_runs(path: Path) -> list[Run]:
    """Return the training run in the folder `path`. If there is none, return the runs in its
    subfolders, in numerical order.

    Raises:
        OSError: a subfolder is a link.
        RunError: there is none, or one is damaged.
    """
    folders = [file.parent for file in path.glob(f"*/{RUN_FILE}")]
    if not folders or (path / RUN_FILE).exists():
        return [Run(path)]
    for each in folders:
        check_inner_folder(each)
    return [Run(each) for each in sorted(folders, key=lambda each: (len(each.name), each.name))]


def _write_run_file(run: Path, about: Mapping[str, Any]) -> None:
    write_file(run / RUN_FILE, json.dumps(about, indent=2) + "\n", follow_links=False)


def _load_run_file(path: Path) -> dict[str, Any]:
    about: dict[str, Any] = parse_json(read_bytes(path, _MAX_RUN_FILE, "descriptions of runs"))
    return about


def _read_run_file(path: Path) -> dict[str, Any]:
    """Read `run.json` and return its values by attribute of `Run`. Raise ValueError if a value is
    invalid."""
    about = _load_run_file(path)
    if about["format"] != _FORMAT:
        raise ValueError(f"its format is {about['format']!r}, and this version reads {_FORMAT}")
    levels, seeds = about["levels"], about["level_seeds"]
    if not isinstance(levels, str | None):
        raise ValueError(f"its levels are {shorten(repr(levels), 40)}")
    return {
        "scenario": check_reference(about["scenario"]),
        "settings": Hyperparameters(**about["settings"]),
        "stop_condition": _check_stop_condition(StopCondition(about["steps"], about["until"])),
        "levels": levels,
        "level_seeds": None if levels is None else check_level_seeds(seeds),
        "imitates": about["imitates"] is True,
    }


def _check_stop_condition(stop_condition: StopCondition) -> StopCondition:
    """Return the stop condition unchanged. Raise ValueError if a field has the wrong type or is out
    of range."""
    steps, until = stop_condition
    if type(steps) is not int or steps < 0:
        raise ValueError(f"steps is {shorten(repr(steps), 40)}; expected an integer from 0")
    if until is not None and not (type(until) is float and 0 < until <= 1):
        text = shorten(repr(until), 40)
        raise ValueError(f"until is {text}; expected None, or a float above 0 and at most 1")
    return stop_condition


def _load_checkpoint(path: Path) -> dict[str, Any]:
    """Load a checkpoint file, verifying its checksums."""
    check_file_size(path, _MAX_CHECKPOINT, "checkpoints")
    with ZipFile(path) as archive:  # torch writes checksums, and does not check them
        for info in archive.infolist():
            if info.compress_type != ZIP_STORED:
                raise ArrayError(f"{info.filename} is compressed, as torch never does")
        if damaged_name := archive.testzip():
            raise ArrayError(f"the checksum of {damaged_name} is another one")
    checkpoint = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(checkpoint, dict):
        raise ValueError("it holds no mapping")
    return checkpoint


def _read(path: Path, read: Callable[[Path], Any]) -> Any:
    """Return `read(path)`, the content of a file of a run. If reading fails, raise a RunError with
    the reason."""
    try:
        return read(path)
    except FileNotFoundError:
        raise RunError(f"{path.parent} holds no run: there is no {path.name}") from None
    except OSError as error:
        raise RunError(f"{path} cannot be read: {error}") from None
    except pickle.UnpicklingError:
        raise RunError(f"{path} is damaged: it holds more than tensors and plain values") from None
    except Exception as error:  # values from a file may be anything
        raise damaged_file_error(path, error) from None
