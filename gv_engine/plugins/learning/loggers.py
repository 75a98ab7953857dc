"""Loggers of training metrics, in addition to the files of a run: Weights & Biases.

A logger is any function of the metrics by name, see `Logger` in `training.py`. The run itself
writes `progress.csv` and, if TensorBoard is installed, event files.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gv_engine.rules.errors import MissingExtraError


def import_wandb() -> Any:
    """Import and return the module wandb. Raise an error that says how to install it if it is
    missing.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return import_module("wandb")
    except ModuleNotFoundError:
        raise MissingExtraError(
            "Weights & Biases is not installed: pip install wandb, or leave the logger out"
        ) from None


class WandbLogger:
    """Logger to a run of Weights & Biases; a context manager that finishes that run.

    Args:
        project: name of the project.
        options: further arguments of `wandb.init`, such as `name`, `config` and `mode="offline"`.

    Raises:
        MissingExtraError: wandb is not installed.
    """

    def __init__(self, project: str, **options: Any) -> None:
        self._run = import_wandb().init(project=project, **options)

    def __call__(self, metrics: Mapping[str, float]) -> None:
        """Send the metrics of an update, with `steps` as the step."""
        self._run.log(dict(metrics), step=int(metrics["steps"]))

    def __enter__(self) -> WandbLogger:
        """Return the logger."""
        return self

    def __exit__(self, *error: object) -> None:
        """Finish the run of Weights & Biases; mark it as failed if the `with` block has raised an
        error."""
        self._run.finish(exit_code=int(error[0] is not None))
