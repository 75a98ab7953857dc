"""Comparisons: one process per workload, and rounds in which workloads take turns."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.peers import ROOT, PeerError, python_for
from benchmarks.roster import ROSTER, Entry

TEN_MILLION = 10_000_000
OWN = ("llvmlite", "numpy")
"""Packages in the engine's environment that affect its speed."""

STARTS = 3
"""Rounds of start measurements at most; some peers take ten seconds to start."""


class Worker:
    """Process of a workload, see `benchmarks.worker`.

    Args:
        entry: workload.
        settings: arguments of its function.
        cores: number of cores to use; 0 for all.

    Attributes:
        started: seconds from the start of the process to the end of its first step, as wall time
            and CPU time.

    Raises:
        PeerError: the workload cannot be set up.
    """

    def __init__(
        self,
        entry: Entry,
        settings: dict[str, Any],
        cores: int = 0,
    ) -> None:
        python = python_for(entry.packages)
        task = (entry.function, json.dumps(settings), str(cores))
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed with the process
        before = time.perf_counter()
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", *task],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        cpu = self._read_answer()
        self.started = time.perf_counter() - before, cpu

    def ask(self, *question: object) -> Any:
        """Send a question to the process and return its answer.

        Raises:
            PeerError: the process has failed; the message is the last line that it printed.
        """
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # reading the answer raises the error
            print(json.dumps(question), file=self._process.stdin, flush=True)
        return self._read_answer()

    def _read_answer(self) -> Any:
        """Return the next answer of the process.

        Raises:
            PeerError: the process has ended.
        """
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(self.close())
        return json.loads(line)

    def close(self) -> str:
        """End the process and return the last line that it printed."""
        self._process.communicate()
        self._errors.seek(0)
        lines = [line for line in self._errors if line.strip()]
        self._errors.close()
        return lines[-1].strip() if lines else "it ended without a word"


class Comparison:
    """Comparison of workloads that take turns.

    Args:
        names: names of the workloads in `ROSTER`.
        rounds: repetitions of each measurement.
        seconds: CPU time of one measurement.

    Attributes:
        results: by name, a description ("task", "worlds", "versions") and measurements: "step" and
            "reset", a pair per round: number per second of CPU time and of wall time; "start",
            seconds of wall time and CPU time; "memory", bytes of the process and of one
            more world; "growth", bytes. Or "failed", the reason.
    """

    def __init__(self, names: list[str], rounds: int, seconds: float) -> None:
        self.results: dict[str, Any] = {name: {} for name in names}
        self._rounds = rounds
        self._seconds = seconds
        self._settings: dict[str, dict[str, Any]] = {}
        self._workers: dict[str, Worker] = {}

    def run(self, steps_only: bool = False) -> None:
        """Run all measurements, or only steps."""
        for name in self.results:
            with self._guard(name, "set-up"):
                self._set_up(name)
        self._measure("step", self._rounds, self._seconds)
        if not steps_only:
            self._measure("reset", self._rounds, self._seconds)
            self._measure("memory", 1)
            self._measure("growth", 1, TEN_MILLION)
        for worker in self._workers.values():
            worker.close()
        if not steps_only:
            self._measure("start", min(self._rounds, STARTS))

    @contextlib.contextmanager
    def _guard(self, name: str, what: str) -> Iterator[None]:
        """Context manager that excludes a workload after its first failure."""
        if sys.stderr.isatty():
            print(f"\r\033[K{what}: {name} ", end="", file=sys.stderr, flush=True)
        try:
            yield
        except PeerError as error:
            self.results[name] = {"failed": str(error)}

    def _set_up(self, name: str) -> None:
        """Choose the fastest batch size of a workload and start its process."""
        entry = ROSTER[name]
        speeds = {}
        for worlds in entry.batches:
            worker = Worker(entry, {**entry.settings, "worlds": worlds}, entry.cores)
            worker.ask("step", self._seconds / 2)
            speeds[worlds] = worker.ask("step", self._seconds / 2)
            worker.close()
        best = {"worlds": max(speeds, key=lambda worlds: speeds[worlds])} if speeds else {}
        self._settings[name] = entry.settings | best
        self._workers[name] = Worker(entry, self._settings[name], entry.cores)
        self.results[name] |= self._workers[name].ask("about", entry.packages[:2] or OWN)

    def _measure(self, what: str, rounds: int, *arguments: object) -> None:
        """Measure something in all workloads that support it, in turns."""
        for _ in range(rounds):
            for name, figures in self.results.items():
                if what in ROSTER[name].measures and "failed" not in figures:
                    with self._guard(name, what):
                        figures.setdefault(what, []).append(
                            self._measure_once(name, what, *arguments)
                        )

    def _measure_once(self, name: str, what: str, *arguments: object) -> Any:
        """Return one measurement of a workload; starts use a new process."""
        if what != "start":
            return self._workers[name].ask(what, *arguments)
        worker = Worker(ROSTER[name], self._settings[name])
        worker.close()
        return worker.started
