"""`python -m benchmarks.soak`: memory that is kept of environments that were made and forked.

Ten levels take turns, in a process that has imported Numba and in one that need not. Each measures
the memory that it has taken from the system before and after, and the median of the time of a fork,
in seconds of the processor, as other processes may be running.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from statistics import median

from benchmarks.worker import resident
from gv_engine import GridEnv, GridVectorEnv

LEVELS = (
    *("keydoor-9x9", "empty-8x8", "dynamic-obstacles-5x5", "teleport-5x5", "medley-7x7"),
    *("patrol", "ice", "levers", "chase", "sokoban"),
)
MEMORY, FORK = 1024, 3
"""At most: KiB that a process grows by, and milliseconds of a fork."""


def main() -> None:
    """Measure in two processes, print lines; exit with 1 where a limit is passed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--number", type=int, default=2000, help="of environments; default 2000")
    parser.add_argument("--in-process", choices=["with", "without"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.in_process:
        sys.exit(_soak(options.number, options.in_process))
    command = [sys.executable, "-m", __spec__.name, "--number", str(options.number)]
    # the first one compiles what is not kept yet
    codes = [
        subprocess.run([*command, "--in-process", numba], check=False).returncode
        for numba in ("with", "without")
    ]
    sys.exit(max(codes))


def _soak(number: int, numba: str) -> int:
    if numba == "with":
        import numba as _  # noqa: F401  # as a program does that compiles something of its own
    _make_and_fork(4 * len(LEVELS))  # each kind of each level, twice
    before = _memory()
    forks = _make_and_fork(number)
    grown, fork = _memory() - before, 1000 * median(forks)
    imported = "imported" if "numba" in sys.modules else "not imported"
    print(f"Numba {imported}: {number} made and forked, {grown} KiB more, {fork:.2f} ms a fork")
    return int(grown > MEMORY or fork > FORK)


def _make_and_fork(number: int) -> list[float]:
    """Make environments and fork each; return the seconds of each fork."""
    forks = []
    for turn in range(number):
        level = LEVELS[turn // 2 % len(LEVELS)]
        if turn % 2:
            env: GridEnv | GridVectorEnv = GridEnv(level, world="compiled")
        else:
            env = GridVectorEnv(level, 4, world="compiled")
        env.reset(seed=turn)
        begun = time.process_time()
        env.fork()
        forks.append(time.process_time() - begun)
    return forks


def _memory() -> int:
    """Return the KiB of memory that this process has in use."""
    gc.collect()
    return resident() // 1024


if __name__ == "__main__":
    main()
