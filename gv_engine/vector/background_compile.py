"""Background compilation: programs are compiled into the cache by a subprocess while this process
goes on.

At most one subprocess runs; other compilations wait in a queue. The subprocess ends with this
process; the units that it has compiled stay in the cache.
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

from gv_engine.compiler.program_cache import cache_folder, compile_lock
from gv_engine.rules.errors import DoesNotCompileError, complain
from gv_engine.vector.compiled_backend import CompiledBatch

# -P and this process's path: the same modules are found, no others. Ctrl-C is for this process only
_CODE = (
    "import pickle, signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    f"sys.path[:] = pickle.load(sys.stdin.buffer); from {__name__} import main; main()"
)
_POLL_SECONDS = 0.5
"""Seconds between two checks if the parent process still runs."""


class Compilation:
    """Compilation of a batch's programs in a subprocess.

    Attributes:
        keys: cache keys of the programs.
        failures: reasons why programs do not compile, by key, after the end; None before. Empty if
            the subprocess was killed.
    """

    def __init__(self, worlds: CompiledBatch) -> None:
        """Pickle the description from which a subprocess compiles the programs of `worlds`; the
        subprocess is started later.

        Raises:
            Exception: the scenario cannot be pickled.
        """
        self.keys = get_program_keys(worlds)
        self.failures: Mapping[str, str] | None = None
        self._name, self._start_time = worlds.scenario.name, time.perf_counter()
        self._is_announced = False
        settings = worlds.checked, worlds.more
        request = worlds.scenario, settings, self.keys, "numba" in sys.modules
        self._request = pickle.dumps(sys.path), pickle.dumps(request)
        self._process: subprocess.Popen[bytes] | None = None

    def is_over(self) -> bool:
        """Return True if the compilation has ended, with or without success; this check takes a
        microsecond."""
        if self.failures is None:
            _poll_compilations()
        return self.failures is not None

    def announce(self) -> None:
        """Print, in the first call only, that the scenario runs compiled from now on."""
        if not self._is_announced:
            took = time.perf_counter() - self._start_time
            complain(f"{self._name} is compiled after {took:.1f} s, and goes on compiled")
        self._is_announced = True

    def poll(self) -> None:
        """Start the subprocess if it does not run yet; read its result if it has ended."""
        try:
            self._process = self._process or self._start()
        except OSError:
            self.failures = {}
            return
        if self._process.poll() is not None:
            self.failures = {}
            with suppress(ValueError):
                self.failures = json.loads(self._process.communicate()[0])

    def _start(self) -> subprocess.Popen[bytes]:
        """Start the subprocess that compiles, and return it."""
        # a file, as a write to a pipe would wait for its reader
        with tempfile.TemporaryFile() as file:
            path, worlds = self._request
            file.write(path + pickle.dumps(os.getpid()) + worlds)
            file.seek(0)
            command = [sys.executable, "-P", "-c", _CODE]
            env = {**os.environ, "PYTHONOPTIMIZE": str(sys.flags.optimize or "")}
            env["GV_ENGINE_CACHE_DIR"] = str(cache_folder().parent)
            pipe, null = subprocess.PIPE, subprocess.DEVNULL
            return subprocess.Popen(command, stdin=file, stdout=pipe, stderr=null, env=env)

    def detach(self) -> None:
        """Forget the subprocess without ending it; called after a fork, as the subprocess belongs
        to the parent process."""
        if self._process is not None:
            assert self._process.stdout is not None
            self._process.stdout.close()
            self._process.returncode = 0  # only the parent process can wait for it
            self._process = None

    def stop(self) -> None:
        """Kill the subprocess that compiles, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()


_LOCK = threading.Lock()
_COMPILATIONS: dict[tuple[str, ...], Compilation] = {}
"""Compilations that are not over, by their keys, in queue order."""


def get_program_keys(worlds: CompiledBatch) -> tuple[str, ...]:
    """Return the cache keys of a batch's programs."""
    return tuple(program.key for program in worlds.programs)


def get_compilation(worlds: CompiledBatch) -> Compilation:
    """Return the background compilation for the programs of `worlds`: the one that was started
    earlier, or a new one.

    Raises:
        Exception: as for `Compilation`.
    """
    if not sys.executable or hasattr(sys, "frozen"):
        raise OSError("there is no Python executable to start")
    with _LOCK:
        compilation = _COMPILATIONS.get(get_program_keys(worlds))
        if compilation is None:
            compilation = Compilation(worlds)
            _COMPILATIONS[compilation.keys] = compilation
            name = worlds.scenario.name
            complain(f"compiling {name} in the background, once; until then objects are stepped")
    compilation.is_over()
    return compilation


def _poll_compilations() -> None:
    """Start or check the first background compilation that is not over; only one of them runs at a
    time."""
    with _LOCK:
        while _COMPILATIONS:
            first = next(iter(_COMPILATIONS.values()))
            first.poll()
            if first.failures is None:
                return
            del _COMPILATIONS[first.keys]


def _detach_after_fork() -> None:
    """Reset the lock and forget all background compilations in a process that was just forked; it
    then starts its own."""
    global _LOCK
    _LOCK = threading.Lock()
    for compilation in _COMPILATIONS.values():
        compilation.detach()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_detach_after_fork)


@atexit.register
def _stop_all() -> None:
    """Kill the subprocesses of all background compilations; Python calls this when the process
    exits."""
    for compilation in _COMPILATIONS.values():
        compilation.stop()


# ---- subprocess ----------------------------------------------------------------------------------


def main() -> None:
    """Entry point of the subprocess: compile the programs that the pickle on stdin describes, and
    print failures as JSON."""
    parent = pickle.load(sys.stdin.buffer)
    if os.name == "posix":  # elsewhere getppid does not change when the parent ends
        threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    answer, sys.stdout = sys.stdout, sys.stderr  # output of rule files must not mix with the answer
    request: Any = pickle.load(sys.stdin.buffer)
    scenario, (checked, more), keys, has_numba = request
    if has_numba:  # keys differ after Numba is imported
        from gv_engine.compiler import compiler  # noqa: F401
    worlds = CompiledBatch(scenario, 1, checked=checked, more=more)
    failures = {}
    if get_program_keys(worlds) == keys:  # else the keys depend on the state of the parent process
        with compile_lock(keys[0]):
            for program in worlds.programs:
                try:
                    program.prepare()
                except DoesNotCompileError:
                    failures[program.key] = program.failure
    answer.write(json.dumps(failures))


def _exit_with_parent(parent: int) -> None:
    """Poll until the parent process, whose id is `parent`, has ended; then exit this process."""
    while os.getppid() == parent:
        time.sleep(_POLL_SECONDS)
    os._exit(1)
