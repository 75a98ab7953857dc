"""Worker processes, which import nothing from the current folder."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

_START_LOCK = Lock()
_VARIABLE = "PYTHONSAFEPATH"


def start_worker(target: Callable[..., None], *args: Any) -> tuple[SpawnProcess, Connection]:
    """Start a process that runs `target(connection, *args)`. Return the process and this end of the
    connection.

    A process that `multiprocessing` spawns runs `python -c`, which imports from the current folder
    first: a `pickle.py` of a stranger would run there. So PYTHONSAFEPATH is set during the start;
    the process then takes over the `sys.path` of this one.

    Ctrl-C in a terminal does not reach the process, except on Windows: it would break off the
    imports with a traceback.

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
    context: Any = multiprocessing.get_context("spawn")  # has types of its own on Windows
    connection, remote_end = context.Pipe()
    process = context.Process(target=target, args=(remote_end, *args), daemon=True)
    with _START_LOCK, ExitStack() as undo:
        undo.callback(os.environ.update, {k: v for k, v in os.environ.items() if k == _VARIABLE})
        undo.callback(os.environ.pop, _VARIABLE)
        os.environ[_VARIABLE] = "1"
        if sys.platform != "win32":
            resource_tracker.ensure_running()  # whose start unblocks SIGINT
            mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            undo.callback(signal.pthread_sigmask, signal.SIG_SETMASK, mask)
        process.start()
    remote_end.close()
    return process, connection


class RequestWorker:
    """Background process that gets requests, of which only the newest one counts. A thread sends
    them, so that the caller never waits for a busy process.

    Args:
        target: function of a module. It runs in the process with a connection, and ends when the
            connection is closed.
    """

    def __init__(self, target: Callable[..., None]) -> None:
        """Start the process."""
        self._process, self._connection = start_worker(target)
        self._requests: SimpleQueue[bytes] = SimpleQueue()
        arguments = self._requests, self._connection
        Thread(target=_send_requests, args=arguments, daemon=True).start()

    @property
    def is_alive(self) -> bool:
        """True unless the process has ended."""
        return self._process.is_alive()

    def send(self, request: Any) -> None:
        """Send a request, an object that can be pickled; requests that are not sent yet are
        dropped."""
        self._requests.put(pickle.dumps(request))

    def receive(self) -> Any:
        """Return the next object that the process has sent; None if there is none yet.

        Raises:
            EOFError, OSError: the process has ended.
        """
        return self._connection.recv() if self._connection.poll() else None

    def close(self) -> int | None:
        """Kill the process; return its exit code."""
        self._requests.put(b"")
        self._process.kill()
        self._process.join()
        return self._process.exitcode


def describe_exit(code: int | None) -> str:
    """Return why a background process has ended, from its exit code."""
    if code == -9:  # SIGKILL, which Windows lacks
        return "its process was killed, perhaps because memory ran out"
    return f"its process has ended with exit code {code}"


def _send_requests(requests: SimpleQueue[bytes], connection: Connection) -> None:
    """Main function of the thread that sends requests to a process. It sends the newest of
    `requests`, and closes the connection at an empty one. Sending may block while the process is
    busy."""
    with connection, suppress(OSError):  # `receive` reports a dead process
        while request := requests.get():
            if requests.empty():
                connection.send_bytes(request)
