"""The contest: a process for every contestant, and rounds in which they take turns."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.peers import PeerError, python_for
from benchmarks.roster import ROSTER, Entry

ROOT = Path(__file__).resolve().parent.parent
TEN_MILLION = 10_000_000


class Worker:
    """The process of a contestant, see `benchmarks.worker`.

    Attributes:
        started: seconds from the start of the process to the end of its first step.
    """

    def __init__(self, entry: Entry, **variables: str) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed with the process
        before = time.perf_counter()
        self._process = subprocess.Popen(
            [
                python_for(entry.packages),
                *("-m", "benchmarks.worker", entry.function, json.dumps(entry.settings)),
            ],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._answer()
        self.started = time.perf_counter() - before

    def ask(self, *question: object) -> Any:
        """What it measures.

        Raises:
            PeerError: it has failed; the last line that it printed.
        """
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):  # the answer says why
            print(json.dumps(question), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise PeerError(self.close())
        return json.loads(line)

    def close(self) -> str:
        """End the process; the last line that it printed."""
        self._process.communicate()
        self._errors.seek(0)
        lines = self._errors.read().split("\n")
        self._errors.close()
        return next((line for line in reversed(lines) if line.strip()), "it ended without a word")


def measure(names: list[str], rounds: int, seconds: float, steps_only: bool) -> dict[str, Any]:
    """Let contestants take turns.

    Args:
        names: of the contestants, in `ROSTER`.
        rounds: how often everything is measured.
        seconds: CPU time of one measurement.
        steps_only: whether starts, memory and resets are left out.

    Returns:
        For every name what it is ("task", "worlds", "versions") and what was measured: "step" and
        "reset", a pair for every round: times in a second of CPU time, and in one of the clock;
        "start" and "cold", seconds for every round; "memory", bytes of the process and of one more
        world; "growth", bytes. Or "failed", the reason.
    """
    results: dict[str, Any] = {}
    workers: dict[str, Worker] = {}

    def turn(name: str, what: str) -> Any:
        """One measurement of one contestant; from the first that fails on it is out."""
        entry = ROSTER[name]
        try:
            if what == "start":
                return _start(entry)
            if what == "cold":
                with tempfile.TemporaryDirectory() as empty:
                    return _start(entry, GV_ENGINE_CACHE_DIR=empty)
            if name not in workers:
                workers[name] = Worker(entry)
            return workers[name].ask(what, *_ARGUMENTS.get(what, lambda *_: ())(entry, seconds))
        except PeerError as error:
            results[name] = {"failed": str(error)}
            workers.pop(name, None)
            return None

    def all_turns(what: str, rounds: int) -> None:
        for number in range(rounds):
            for name in names:
                if what in ROSTER[name].measures and "failed" not in results[name]:
                    _say(f"{what} {number + 1}/{rounds}: {name}")
                    value = turn(name, what)
                    if value is not None:
                        results[name].setdefault(what, []).append(value)

    for name in names:
        _say(f"setting up {name}")
        results[name] = {}
        about = turn(name, "about")
        results[name] |= about or {}
    all_turns("step", rounds)
    if not steps_only:
        all_turns("reset", rounds)
        all_turns("memory", 1)
        all_turns("growth", 1)
    for worker in workers.values():
        worker.close()
    if not steps_only:
        all_turns("start", rounds)
        all_turns("cold", 1)
    _say("")
    return results


_ARGUMENTS: dict[str, Any] = {
    "about": lambda entry, seconds: [entry.packages],
    "step": lambda entry, seconds: [seconds],
    "reset": lambda entry, seconds: [seconds],
    "growth": lambda entry, seconds: [TEN_MILLION],
}
"""What a measurement has to know."""


def _start(entry: Entry, **variables: str) -> float:
    worker = Worker(entry, **variables)
    worker.close()
    return worker.started


def _say(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
