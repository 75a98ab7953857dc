"""Compiling elsewhere: in a process of its own, into the cache, while this one goes on.

A process has at most one such process, in which others wait for their turn. It ends with the one
that it belongs to; units that it has compiled by then are kept.
"""

from __future__ import annotations

import atexit
import json
import os
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gv_engine.compiler.program_cache import alone, cache_folder
from gv_engine.rules.errors import DoesNotCompileError, complain
from gv_engine.vector.compiled_backend import CompiledBatch

# -P and the path of this process: the same modules are found, and no others. Ctrl-C is for this one
_CODE = (
    "import pickle, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    f"sys.path[:] = pickle.load(sys.stdin.buffer); from {__name__} import main; main()"
)
_WATCH = 0.5
"""Seconds between two looks whether the process that asked is still there."""


class Compilation:
    """The programs of worlds, which a process of its own compiles.

    Attributes:
        keys: of the programs.
        failures: why programs do not compile, by key, when it is over; None before. Nothing is
            known of a process that was killed.
    """

    def __init__(self, worlds: CompiledBatch) -> None:
        """Ask for it.

        Raises:
            Exception: whatever comes of a scenario that no other process can have.
        """
        self.keys = keys_of(worlds)
        self.failures: Mapping[str, str] | None = None
        self._name, self._began, self._told = worlds.scenario.name, time.perf_counter(), False
        settings = worlds.checked, worlds.more
        asked = worlds.scenario, settings, self.keys, "numba" in sys.modules
        self._asked = pickle.dumps(sys.path), pickle.dumps(asked)
        self._process: subprocess.Popen[bytes] | None = None

    def over(self) -> bool:
        """Whether it is over, well or not; a look that takes a microsecond."""
        if self.failures is None:
            _go_on()
        return self.failures is not None

    def tell(self) -> None:
        """Say, once, that worlds have moved over."""
        if not self._told:
            took = time.perf_counter() - self._began
            complain(f"{self._name} is compiled after {took:.1f} s, and goes on compiled")
        self._told = True

    def go_on(self) -> None:
        """Start the process, or look what has become of it."""
        try:
            if self._process is None:
                self._process = self._start()
        except OSError:
            self.failures = {}
            return
        if self._process.poll() is not None:
            self.failures = {}
            assert self._process.stdout is not None
            with suppress(ValueError):
                self.failures = json.loads(self._process.stdout.read())
            self._close()

    def _start(self) -> subprocess.Popen[bytes]:
        # a file takes it all at once, where a pipe would wait for its reader
        with tempfile.TemporaryFile() as asked:
            path, worlds = self._asked
            asked.write(path + pickle.dumps(os.getpid()) + worlds)
            asked.seek(0)
            return subprocess.Popen(
                [sys.executable, "-P", "-c", _CODE],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={
                    **os.environ,
                    "GV_ENGINE_CACHE_DIR": str(cache_folder().parent),
                    "PYTHONOPTIMIZE": str(sys.flags.optimize or ""),
                },
            )

    def forget(self) -> None:
        """Forget the process, which belongs to the one that this process was forked from."""
        if self._process is not None:
            self._close()
            self._process.returncode = 0  # nobody here can wait for it
            self._process = None

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._close()

    def _close(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.stdout.close()


_LOCK = threading.Lock()
_COMPILATIONS: dict[tuple[str, ...], Compilation] = {}
"""Those that are not over, by their keys, in the order of their turns."""


def keys_of(worlds: CompiledBatch) -> tuple[str, ...]:
    """The keys of the programs of worlds."""
    return tuple(program.key for program in worlds.programs)


def compilation_of(worlds: CompiledBatch) -> Compilation:
    """The compilation of the programs of worlds: the one under way, or a new one.

    Raises:
        Exception: as for `Compilation`.
    """
    if not sys.executable or hasattr(sys, "frozen"):
        raise OSError("there is no Python to be started")
    with _LOCK:
        found = _COMPILATIONS.get(keys_of(worlds))
        if found is None:
            found = Compilation(worlds)
            _COMPILATIONS[found.keys] = found
            name = worlds.scenario.name
            complain(f"compiling {name} in the background, once; until then objects are stepped")
    found.over()
    return found


def _go_on() -> None:
    """Let the first one go on, and the next ones where it is over."""
    with _LOCK:
        while _COMPILATIONS:
            first = next(iter(_COMPILATIONS.values()))
            first.go_on()
            if first.failures is None:
                return
            del _COMPILATIONS[first.keys]


def _begin_again() -> None:
    """In a process that was just forked: whoever waits asks anew."""
    global _LOCK
    _LOCK = threading.Lock()
    for each in _COMPILATIONS.values():
        each.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_again)


@atexit.register
def _stop() -> None:
    for each in _COMPILATIONS.values():
        each.stop()


# ---- the other process ---------------------------------------------------------------------------


def main() -> None:
    """Compile what stands in the input, and answer with the failures, in JSON."""
    parent = pickle.load(sys.stdin.buffer)
    if os.name == "posix":  # elsewhere the number of the parent stays when that has ended
        threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    answer, sys.stdout = sys.stdout, sys.stderr  # what rule files print is none
    asked: Any = pickle.load(sys.stdin.buffer)
    scenario, (checked, more), keys, numba = asked
    if numba:  # keys are others there
        from gv_engine.compiler import compiler  # noqa: F401
    worlds = CompiledBatch(scenario, 1, checked=checked, more=more)
    failures = {}
    if keys_of(worlds) == keys:  # else something in them is of the process that asks alone
        with alone(keys[0]):
            for program in worlds.programs:
                try:
                    program.prepare()
                except DoesNotCompileError:
                    failures[program.key] = program.failure
    answer.write(json.dumps(failures))


def _watch(parent: int) -> None:
    """End this process when the one that started it has ended."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os._exit(1)
