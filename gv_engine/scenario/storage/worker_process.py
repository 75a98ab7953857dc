"""Starts worker processes, which import nothing from the current folder."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from threading import Lock
from typing import Any

_START_LOCK = Lock()
_VARIABLE = "PYTHONSAFEPATH"


def start_worker(target: Callable[..., None], *args: Any) -> tuple[SpawnProcess, Connection]:
    """Start a process that runs `target(connection, *args)`. Return the process and this end of the
    connection.

    A process that `multiprocessing` spawns runs `python -c`, which imports from the current folder
    first: a `pickle.py` of a stranger would run there. So PYTHONSAFEPATH is set during the start;
    the process then takes over the `sys.path` of this one.

    Args:
        target: function of a module.
        args: arguments that can be pickled.

    Raises:
        RuntimeError: `python -E` ignores PYTHONSAFEPATH, and was given neither -P nor -I.
    """
    if sys.flags.ignore_environment and not sys.flags.safe_path:
        raise RuntimeError(
            "python -E lets worker processes import from the current folder: add -P, or use -I"
        )
    context = multiprocessing.get_context("spawn")
    pipe: Any = context.Pipe()  # has types of its own on Windows
    connection, remote_end = pipe
    process = context.Process(target=target, args=(remote_end, *args), daemon=True)
    with _START_LOCK:
        before = os.environ.get(_VARIABLE)
        os.environ[_VARIABLE] = "1"
        try:
            process.start()  # starts the resource tracker, too
        finally:
            if before is None:
                del os.environ[_VARIABLE]
            else:
                os.environ[_VARIABLE] = before
    remote_end.close()
    return process, connection
