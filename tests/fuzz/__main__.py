"""`make fuzz SECONDS=60`, or `python -m tests.fuzz --seconds 60 --seed 1`.

`python -m tests.fuzz --hostile --cases 10000` puts hostile values into what names files, modules
and commands, or is printed, while a sandbox records which paths are written. `--only KIND` runs one
kind of files, such as `puzzlescript`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tests import ROOT
from tests.fuzz.worker import SHARES

_HANGS_AFTER = 120.0
"""Seconds without a word of the worker."""
_MOST_FAILURES = 20


class Run:
    """Cases of one seed, in a worker that is started again where one ended it.

    Args:
        levels: how many are compiled for damaged rows; all that there are by default.
        only: the only kind to run; "" for all.

    Attributes:
        ran: how many of each kind.
        failures: by fault, what was told of the first case that has it.
    """

    def __init__(
        self,
        seed: int,
        folder: Path,
        hostile: bool = False,
        levels: int = sys.maxsize,
        only: str = "",
    ) -> None:
        self.seed, self.folder, self.hostile = seed, folder, hostile
        self._levels, self._only = levels, only
        self.ran: Counter[str] = Counter()
        self.failures: dict[tuple[str, str], dict[str, Any]] = {}
        self.slowest: dict[str, float] = {}
        self.largest = 0
        self._next = 0

    def go(self, seconds: float, count: int = sys.maxsize) -> None:
        """Run cases for so long, or so many."""
        until = time.time() + seconds
        while time.time() < until and self._next < count and len(self.failures) < _MOST_FAILURES:
            self._work(until, count - self._next)

    def _work(self, until: float, count: int) -> None:
        folder = self.folder / "work"
        folder.mkdir(exist_ok=True)
        numbers = self.seed, self._next, until, count, self._levels
        words = [str(folder), *map(str, numbers), self._only, *["hostile"] * self.hostile]
        with subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.worker", *words],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as worker:
            assert worker.stdout is not None
            assert worker.stderr is not None
            # it makes what cases are made of first
            watch = threading.Timer(5 * _HANGS_AFTER, worker.kill)
            watch.start()
            for line in worker.stdout:
                watch.cancel()
                watch = threading.Timer(_HANGS_AFTER, worker.kill)
                watch.start()
                self._hear(json.loads(line))
            watch.cancel()
            said = worker.stderr.read()
        if worker.returncode:
            self._ended(folder, f"the worker ended with {worker.returncode}: {said[-2000:]}")

    def _hear(self, told: dict[str, Any]) -> None:
        if name := told.get("ran"):
            self.ran[name] += 1
            self.slowest[name] = max(self.slowest.get(name, 0.0), told["took"])
            self.largest = max(self.largest, told["peak"])
            self._next = told["index"] + 1
        else:
            self.failures.setdefault((told["failed"], told["fault"]), told)

    def _ended(self, folder: Path, why: str) -> None:
        if not (folder / "case").exists():  # it has not come to any
            raise SystemExit(why)
        index, name = json.loads((folder / "now").read_text())
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        (folder / "case").rename(place / "case")
        told = {"failed": name, "fault": f"ended {index}", "told": why, "path": str(place / "case")}
        self.failures[name, told["fault"]] = told
        self._next = index + 1

    def report(self) -> str:
        """Counts, and what failed."""
        lines = [
            f"{name:10} {number:8,} cases, at most {self.slowest[name]:.2f} s of CPU"
            for name, number in self.ran.items()
        ]
        lines.append(f"{self.largest >> 20} MiB of memory at most, {len(self.failures)} faults")
        for told in self.failures.values():
            lines += ["", f"{told['failed']}: {told['fault']}", told["told"], told["path"]]
        return "\n".join(lines)


def main() -> int:
    """1 if anything failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--seconds", type=float, help="by default 60, or as long as --cases take")
    parser.add_argument("--cases", type=int, default=sys.maxsize)
    parser.add_argument("--hostile", action="store_true", help="hostile values in place of damage")
    parser.add_argument("--seed", type=int, help="by default another one each time")
    parser.add_argument("--only", choices=[*SHARES], default="", help="one kind of files")
    options = parser.parse_args()
    seed = time.time_ns() % 10**6 if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="gv-fuzz-"))
    run = Run(seed, folder, options.hostile, only=options.only)
    print(f"seed {seed}")
    seconds = options.seconds or (60 if options.cases == sys.maxsize else 10**6)
    run.go(seconds, options.cases)
    print(run.report())
    return 1 if run.failures else 0


if __name__ == "__main__":
    sys.exit(main())
